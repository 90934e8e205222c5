"""Functions that NumPy and torch name differently, so that the rest is written once for arrays and tensors."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from latentsimplex.base.types import Array


def array_namespace(x: Any) -> Any:
    """Return the module whose functions take ``x``: torch for its tensors, NumPy for everything else."""
    return sys.modules["torch"] if is_tensor(x) else np


def is_tensor(x: Any) -> bool:
    """Return whether ``x`` is a torch tensor, without importing torch."""
    return type(x).__module__.partition(".")[0] == "torch"


def runs_triton(x: Any) -> bool:
    """Return whether ``x`` is a tensor of single precision on an NVIDIA GPU for which loops can be compiled."""
    return is_tensor(x) and x.is_cuda and x.dtype == array_namespace(x).float32 and triton_works()


@cache
def triton_works() -> bool:
    """Return whether Triton is here, which comes with torch for NVIDIA GPUs, and what it needs to compile."""
    compiler = any(map(shutil.which, (os.environ.get("CC", "gcc"), "gcc", "clang")))
    # Debian's own Python has its headers at the second
    schemes = (sysconfig.get_default_scheme(), "posix_prefix")
    headers = any(Path(sysconfig.get_path("include", scheme), "Python.h").exists() for scheme in schemes)
    return importlib.util.find_spec("triton") is not None and compiler and headers


def convert_like(values: Any, x: Any) -> Any:
    """Return an array of ``values`` of the kind that ``x`` is: library, device and precision.

    >>> convert_like([1, 2], np.zeros(2, dtype=np.float32)).dtype
    dtype('float32')
    """
    if not is_tensor(x):
        return np.asarray(to_host(values) if is_tensor(values) else values, dtype=x.dtype)
    plain = values if is_tensor(values) else np.asarray(values)
    return array_namespace(x).as_tensor(plain, dtype=x.dtype, device=x.device)


def to_host(x: Any) -> Array:
    """Return ``x`` as a NumPy array of double precision."""
    return (x.cpu().numpy() if is_tensor(x) else np.asarray(x)).astype(np.float64, copy=False)


def to_double(x: Any) -> Any:
    """Return ``x`` in double precision, where its device has that: Apple's graphics processors do not."""
    if is_tensor(x):
        return x if x.device.type == "mps" else x.double()
    return x.astype(np.float64, copy=False)


SORTED = 1000
"""No more numbers than this are sorted as soon as the k-th of them is found."""


def kth_smallest(x: Any, k: int) -> Any:
    """Return the k-th smallest number, from 0, along the last axis."""
    if is_tensor(x):
        return x.kthvalue(k + 1, dim=-1).values
    return (np.sort(x, axis=-1) if x.shape[-1] <= SORTED else np.partition(x, k, axis=-1))[..., k]


def kth_and_next_smallest(x: Any, k: int) -> tuple[Any, Any]:
    """Return the k-th and the next smallest number, from 0, along the last axis; the last one twice at the end.

    >>> [float(y) for y in kth_and_next_smallest(np.array([3.0, 1.0, 2.0, 2.0]), 1)]
    [2.0, 2.0]
    """
    n = x.shape[-1]
    if not is_tensor(x):
        rows = np.sort(x, axis=-1)
        return rows[..., k], rows[..., min(k + 1, n - 1)]
    torch = array_namespace(x)
    low = kth_smallest(x, k)
    above = x > low[..., None]
    high = torch.where(above, x, torch.inf).amin(-1)
    return low, torch.where((~above).sum(-1) > k + 1, low, torch.where(high < torch.inf, high, low))


def stack(vectors: list[Any]) -> Any:
    """Return vectors of one kind as the rows of an array."""
    return array_namespace(vectors[0]).stack(vectors)


def diagonals(x: Any) -> Any:
    """Return a view of the diagonal of each matrix (..., n, n).

    >>> x = np.zeros((1, 2, 2))
    >>> diagonals(x)[:] = 3.0
    >>> x.tolist()
    [[[3.0, 0.0], [0.0, 3.0]]]
    """
    if is_tensor(x):
        return x.diagonal(dim1=-2, dim2=-1)
    return np.einsum("...ii->...i", x)


def softmax(x: Any) -> Any:
    """Return exp(x) with the last axis scaled to a sum of 1."""
    return x.softmax(-1) if is_tensor(x) else special.softmax(x, axis=-1)


def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(-x))."""
    return x.sigmoid() if is_tensor(x) else special.expit(x)


def has_missing(X: Any) -> bool:
    """Return whether an array has missing cells; tensors never have."""
    return not is_tensor(X) and bool(np.isnan(X).any())


def fill_missing(X: Any) -> Any:
    """Return a table (n, p) whose missing cells are the means of their features, 0 where a feature has no cell.

    >>> fill_missing(np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])).tolist()
    [[1.0, 0.0], [3.0, 0.0], [2.0, 0.0]]
    """
    missing = np.isnan(X)
    if not missing.any():
        return X
    means = np.where(missing, 0.0, X).sum(axis=0) / np.maximum((~missing).sum(axis=0), 1)
    return np.where(missing, means, X)


def fix_signs(scores: Any) -> Any:
    """Return 1 or -1 for each column (n, d) so that its cubes add up to no less than 0, in whatever order samples come.

    >>> fix_signs(np.array([[-2.0, 3.0], [1.0, -1.0], [1.0, -2.0]])).tolist()
    [-1.0, 1.0]
    """
    return np.where((scores * scores * scores).sum(axis=0) < 0, -1.0, 1.0)
