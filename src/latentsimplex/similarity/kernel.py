"""The kernel protocol: from a view to packed exponents r, with similarities s = exp(-r).

Exponents, not similarities, cross this border, because log-odds computed from r keep the digits
that s = exp(-r) has rounded away. A kernel of your own is any object with

``exponents(X) -> (m,) array``
    for one view X (n, p), in SciPy's condensed order, all >= 0;

or, simpler, any function ``X -> (n, n)`` that returns similarities in [0, 1]. Kernels of this package also read many
views at once, :class:`BatchKernel`, which is nobody else's business.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from latentsimplex.base.arrays import array_namespace, is_tensor, to_host
from latentsimplex.base.condensed import count_pairs
from latentsimplex.base.types import Array
from latentsimplex.base.wide_table import WideTable
from latentsimplex.similarity.precomputed import similarity_exponents

S_CLIP = 1e-4
"""Similarities are kept in [S_CLIP, 1 - S_CLIP]: see docs/fidelity.md for how it was chosen."""
COINCIDENT = 1e-13
"""Squared distances below this share of the squares they are the difference of are rounding."""
FEW_SAMPLES = 300
"""Of so few samples a few tables are read in less time than it takes to compile loops."""
LEAST_EXPONENT, MOST_EXPONENT = float(-np.log1p(-S_CLIP)), float(-np.log(S_CLIP))


@runtime_checkable
class Kernel(Protocol):
    """What a similarity kernel must have: a method that turns one view into packed exponents."""

    def exponents(self, X: Array) -> Array:
        """Return r (m,) with s = exp(-r), condensed order, all >= 0; all zero for a constant view."""


@dataclass(frozen=True)
class FunctionKernel:
    """A kernel made of a function from a view (n, p) to similarities (n, n)."""

    function: Callable[[Array], Any]

    def exponents(self, X: Array) -> Array:
        """Return -log of the function's similarities, after checking them."""
        return similarity_exponents(np.asarray(self.function(X)), "the function's result")


class BatchKernel:
    """A kernel of this package: it reads tables (b, n, p) at once, arrays or tensors, of either precision."""

    @property
    def sees_differences_alone(self) -> bool:
        """Whether only differences between samples count, and no common scale of theirs: Euclidean distances do so."""
        return True

    @property
    def narrows(self) -> bool:
        """Whether a wide table has a narrow one that the kernel takes for it."""
        return self.sees_differences_alone

    def exponents(self, X: Array) -> Array:
        """Return r (m,) with s = exp(-r), condensed order, all >= 0; all zero for a constant view."""
        return self.batch_exponents(np.asarray(X)[None])[0]

    def kernel(self, n_features: int) -> BatchKernel:
        """Return the kernel that reads views with so many features."""
        return self

    def by_differences(self, tables: Any) -> tuple[BatchKernel, Any]:
        """Return tables (b, n, p), and the kernel that sees in their differences alone what this one does, if any."""
        return self, tables

    def narrow(self, table: WideTable) -> tuple[BatchKernel, Any]:
        """Return a table with no more features than samples, and the kernel that sees in it what this one does."""
        raise NotImplementedError

    def batch_exponents(self, tables: Any, out: Any = None) -> Any:
        """Return exponents (b, m) of tables (b, n, p), in ``out`` if it is given."""
        raise NotImplementedError


def accepts_batches(kernel: Any) -> bool:
    """Return whether many tables, centred and rescaled, can be read at once.

    A kernel that derives from one of ours and has exponents of its own is asked for those, view by view.
    """
    return (
        isinstance(kernel, BatchKernel)
        and kernel.sees_differences_alone
        and type(kernel).exponents is BatchKernel.exponents
    )


def narrow_tables(kernel: Kernel, tables: Any) -> tuple[Kernel, Any]:
    """Return tables (b, n, p) as arrays with the kernel that reads them: a wide table is alone, and not wide then."""
    if not isinstance(tables, WideTable):
        return kernel, tables
    if not can_narrow(kernel):
        return kernel, tables.to_dense()[None]
    kernel, table = kernel.kernel(tables.shape[1]).narrow(tables)  # type: ignore[attr-defined]
    return kernel, table[None]


def can_narrow(kernel: Any) -> bool:
    """Return whether a kernel reads a wide table without making it dense."""
    return (
        isinstance(kernel, BatchKernel) and kernel.narrows and type(kernel).exponents is BatchKernel.exponents
    )


def read_exponents(
    kernel: Kernel,
    tables: Any,
    name: Callable[[int], str],
    out: Any = None,
    without_loops: bool = False,
) -> Any:
    """Return a kernel's exponents (b, m) for tables (b, n, p), in single precision; ``name`` is for errors.

    Exponents of arrays are written into ``out`` if it is given. Few samples may be read ``without_loops`` that would
    have to be compiled first: in double precision.
    """
    if not accepts_batches(kernel) and can_narrow(kernel):
        kernel, tables = kernel.by_differences(tables)  # type: ignore[attr-defined]
    if accepts_batches(kernel):
        numbers = (rescale if without_loops and tables.shape[-2] <= FEW_SAMPLES else to_single)(tables)
        # compiled loops know no NaN: what is too large to be centred goes the way on which it is refused
        if array_namespace(numbers).isfinite(numbers).all():
            r = kernel.batch_exponents(numbers, out)  # type: ignore[attr-defined]
            if r.min() >= 0:  # which no NaN is
                return r
    r = np.empty((len(tables), count_pairs(tables.shape[1])), np.float32) if out is None else out
    for i, X in enumerate(tables):
        r[i] = checked_exponents(kernel, to_host(X), name(i))
    return r


def checked_exponents(kernel: Kernel, X: Array, name: str) -> Array:
    """Return a kernel's exponents for one view, refusing what is not a similarity."""
    own = np.array(X)  # which a function may change
    try:
        r = np.asarray(kernel.exponents(own), dtype=np.float64)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    m = count_pairs(len(X))
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


def rescale(tables: Any) -> Any:
    """Return tables (..., n, p) with features centred and the largest number 1: single precision keeps their digits.

    >>> rescale(np.array([[1e9 + 1.0], [1e9 - 1.0]])).tolist()
    [[1.0], [-1.0]]
    """
    X = tables - tables.mean(-2)[..., None, :]
    largest = array_namespace(X).amax(abs(X), (-2, -1))[..., None, None]
    return X / (largest + (largest == 0))


def to_single(tables: Any) -> Any:
    """Return tables moved and scaled like those of :func:`rescale`, in single precision."""
    X = rescale(tables)
    return X.float() if is_tensor(X) else X.astype(np.float32)


def clip_exponents(r: Any) -> Any:
    """Return r cut to what keeps s in [S_CLIP, 1 - S_CLIP].

    >>> np.round(np.exp(-clip_exponents(np.array([0.0, 1.0, 1e9]))), 4).tolist()
    [0.9999, 0.3679, 0.0001]
    """
    return array_namespace(r).clip(r, LEAST_EXPONENT, MOST_EXPONENT)
