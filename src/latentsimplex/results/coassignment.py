"""Co-assignment probabilities as a low-rank object: P = X X^T is never n x n unless asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from latentsimplex.base.checks import as_numbers
from latentsimplex.base.types import Array

MAX_DENSE_BYTES = 2 * 10**9


@dataclass(frozen=True, eq=False, repr=False)
class CoAssignment:
    """Probabilities that pairs of samples share a cluster, from a factor X (n, k) with P = X X^T.

    Entries off the diagonal are the probabilities. The diagonal is the low-rank matrix's own,
    sum_k x_ik^2, which is less than 1 for a sample between clusters.

    Examples
    --------
    >>> co = CoAssignment(np.array([[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]]))
    >>> float(co[0, 1]), co.row(1).tolist(), co.shape
    (0.75, [0.75, 0.625, 0.25], (3, 3))
    """

    factor: Array
    __array_ufunc__: ClassVar[None] = None  # leaves x @ co to __rmatmul__

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of P."""
        return len(self.factor), len(self.factor)

    @property
    def rank(self) -> int:
        """The number of columns of the factor, an upper bound on the rank of P."""
        return self.factor.shape[1]

    def __repr__(self) -> str:
        return f"CoAssignment({self.shape[0]} samples, rank at most {self.rank})"

    def __len__(self) -> int:
        return len(self.factor)

    def __getitem__(self, index: Any) -> Any:
        """Return entries as NumPy indexing of P would, for integers, slices, and arrays of them."""
        if not isinstance(index, tuple):
            return self.factor[index] @ self.factor.T
        if len(index) != 2:
            raise IndexError(
                f"Co-assignments have two axes, and {len(index)} indices were given: use co[i, j]."
            )
        rows, columns = self.factor[index[0]], self.factor[index[1]]
        if isinstance(index[0], slice) or isinstance(index[1], slice):
            return rows @ columns.T
        return (rows * columns).sum(axis=-1)

    def row(self, i: int) -> Array:
        """Return P[i, :] (n,)."""
        return self.factor @ self.factor[i]

    def block(self, rows: Any, columns: Any) -> Array:
        """Return the sub-matrix of the given rows and columns."""
        return np.atleast_2d(self.factor[rows]) @ np.atleast_2d(self.factor[columns]).T

    def take(self, samples: Any) -> CoAssignment:
        """Return the co-assignments of some samples.

        >>> float(CoAssignment(np.array([[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]])).take([0, 2])[0, 1])
        0.0
        """
        return CoAssignment(self.factor[samples])

    def __matmul__(self, x: Array) -> Array:
        """Return P x in O(n k)."""
        x = as_numbers(x, "The right side of @")
        if x.ndim not in (1, 2) or len(x) != len(self):
            raise ValueError(
                f"P of {len(self)} samples cannot multiply an array of shape {x.shape}: give a row per sample."
            )
        return self.factor @ (self.factor.T @ x)

    def __rmatmul__(self, x: Array) -> Array:
        """Return x P in O(n k)."""
        x = as_numbers(x, "The left side of @")
        if x.ndim not in (1, 2) or x.shape[-1] != len(self):
            raise ValueError(
                f"An array of shape {x.shape} cannot multiply P of {len(self)} samples: give a column per sample."
            )
        return x @ self.factor @ self.factor.T

    def mean_by_cluster(self, labels: np.ndarray) -> Array:
        """Return the mean of p_ij over the samples j != i of each cluster (n, clusters); 0 where there are none.

        Labels are whole numbers from 0. It takes O(n clusters) for each column of the factor.

        >>> co = CoAssignment(np.array([[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]]))
        >>> co.mean_by_cluster(np.array([0, 0, 1])).tolist()
        [[0.75, 0.0], [0.75, 0.25], [0.125, 0.0]]
        """
        members = np.eye(labels.max() + 1)[labels]
        others = members.sum(axis=0) - members
        with_others = self @ members - members * np.square(self.factor).sum(axis=1, keepdims=True)
        return np.where(others > 0, with_others / np.maximum(others, 1), 0.0)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the dense matrix, with the guard of :meth:`toarray`."""
        return np.asarray(self.toarray(), dtype=dtype)

    def packed(self) -> Array:
        """Return the pairs i < j in SciPy's condensed order."""
        n = len(self)
        return np.concatenate([self.factor[i + 1 :] @ self.factor[i] for i in range(n - 1)])

    def toarray(self, max_bytes: int = MAX_DENSE_BYTES) -> Array:
        """Return P as a dense matrix, or raise MemoryError if it would take more than ``max_bytes``."""
        need = 8 * len(self) ** 2
        if need > max_bytes:
            raise MemoryError(
                f"The dense co-assignment matrix of {len(self):,} samples takes {need / 1e9:.3g} GB and the limit is "
                f"{max_bytes / 1e9:.3g} GB: use row(i), block(rows, columns) or @, or raise max_bytes."
            )
        return self.factor @ self.factor.T
