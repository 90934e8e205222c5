"""What a similarity is to the rest of the package: packed exponents r with s = exp(-r).

Exponents, not similarities, cross this border, because log-odds computed from r keep the digits
that s = exp(-r) has rounded away. A kernel of your own is any object with

``exponents(X) -> (m,) array``
    for one view X (n, p), in SciPy's condensed order, all >= 0;

or, simpler, any function ``X -> (n, n)`` that returns similarities in [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any, Protocol, runtime_checkable

import numpy as np

from latentsimplex._arrays import is_tensor, namespace, on_host
from latentsimplex._types import Array
from latentsimplex.compute.pairs import n_pairs
from latentsimplex.similarity.precomputed import similarity_exponents

S_CLIP = 1e-4
"""Similarities are kept in [S_CLIP, 1 - S_CLIP]: see docs/fidelity.md for how it was chosen."""
LEAST_EXPONENT, MOST_EXPONENT = float(-np.log1p(-S_CLIP)), float(-np.log(S_CLIP))


@runtime_checkable
class Kernel(Protocol):
    """Anything that turns one view into packed exponents."""

    def exponents(self, X: Array) -> Array:
        """Return r (m,) with s = exp(-r), condensed order, all >= 0; all zero for a constant view."""


@dataclass(frozen=True)
class FunctionKernel:
    """A kernel made of a function from a view (n, p) to similarities (n, n)."""

    function: Callable[[Array], Any]

    def exponents(self, X: Array) -> Array:
        """Return -log of the function's similarities, after checking them."""
        return similarity_exponents(np.asarray(self.function(X)), "the function's result")


def clip_exponents(r: Any) -> Any:
    """Return r cut to what keeps s in [S_CLIP, 1 - S_CLIP].

    >>> np.round(np.exp(-clip_exponents(np.array([0.0, 1.0, 1e9]))), 4).tolist()
    [0.9999, 0.3679, 0.0001]
    """
    return namespace(r).clip(r, LEAST_EXPONENT, MOST_EXPONENT)


def single(X: Any) -> Any:
    """Return tables (..., n, p) in single precision, features centred and the largest number 1: digits are kept.

    >>> single(np.array([[1e9 + 1.0], [1e9 - 1.0]])).tolist()
    [[1.0], [-1.0]]
    """
    X = X - X.mean(-2)[..., None, :]
    largest = abs(X).reshape(*X.shape[:-2], -1)
    largest = largest.amax(-1) if is_tensor(X) else largest.max(-1)
    X = X / (largest + (largest == 0))[..., None, None]
    return X.float() if is_tensor(X) else X.astype(np.float32)


def tables_exponents(kernel: Kernel, tables: Any, name: Callable[[int], str], out: Any = None) -> Any:
    """Return a kernel's exponents (b, m) for tables (b, n, p), in single precision; ``name`` is for errors.

    Kernels of this package read them all at once, on a device too: they see only how samples differ, and no
    common scale. Exponents of arrays are written into ``out`` if it is given.
    """
    if getattr(kernel, "reads_many", False):
        numbers = single(tables)
        # compiled loops know no NaN: what is too large to be centred goes the way on which it is refused
        if namespace(numbers).isfinite(numbers).all():
            r = _written(kernel, numbers, out)
            if (r >= 0).all():
                return r
    r = np.empty((len(tables), n_pairs(tables.shape[1])), np.float32) if out is None else out
    for i, X in enumerate(tables):
        own = np.array(on_host(X))  # which a function may change
        r[i] = checked_exponents(kernel, own, name(i))
    return r


def _written(kernel: Any, numbers: Any, out: Any) -> Any:
    """Return exponents, in ``out`` if that is given; a kernel derived from one of ours may not know of it."""
    if out is None:
        return kernel.exponents(numbers)
    if "out" in signature(kernel.exponents).parameters:
        return kernel.exponents(numbers, out)
    out[:] = kernel.exponents(numbers)
    return out


def checked_exponents(kernel: Kernel, X: Array, name: str) -> Array:
    """Return a kernel's exponents for one view, refusing what is not a similarity."""
    try:
        r = np.asarray(kernel.exponents(X), dtype=np.float64)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    m = n_pairs(len(X))
    if r.shape != (m,):
        raise ValueError(
            f"The kernel gave exponents of shape {r.shape} for {name}, but {len(X)} samples have {m} pairs: "
            "return one value per pair, in SciPy's condensed order."
        )
    if not np.all(r >= 0):
        raise ValueError(
            f"The kernel gave exponents for {name} that are negative or NaN: similarities are exp(-r) with r >= 0. "
            "If the kernel is one of ours, the data are too large to square: rescale them."
        )
    return r
