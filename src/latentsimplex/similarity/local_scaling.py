"""The paper's similarity (section 2.1): exponential decay with a bandwidth of its own for each sample.

s_ij = exp(-(dist_ij / sqrt(q_i q_j))^power), q_i a row quantile of the distances from i to the others,
after Zelnik-Manor and Perona, whose own form is power 2 with q_i the distance to the 7th neighbour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_scalar

from latentsimplex.base.arrays import array_namespace, convert_like, kth_and_next_smallest, stack
from latentsimplex.base.condensed import count_pairs, pack_pairs
from latentsimplex.base.types import Array
from latentsimplex.base.wide_table import WideTable
from latentsimplex.similarity.distances import (
    FEW_FEATURES,
    euclidean_distances,
    prepare_tables,
    rank_quantile,
    standardise,
)
from latentsimplex.similarity.kernel import BatchKernel
from latentsimplex.similarity.wide_tables import compare_one_by_one, compare_together

LEAST_SIMILARITY = float(np.finfo(np.float32).tiny)
"""Smaller similarities have no logarithm in single precision."""
ROWS_AT_ONCE = 256
"""Rows of a matrix of distances that compiled loops hold at a time."""


@dataclass(frozen=True)
class LocalScaling(BatchKernel):
    """Similarity by local scaling: distances divided by a bandwidth of each sample.

    Parameters
    ----------
    quantile : float in (0, 1)
        The row quantile that is a sample's bandwidth q_i, over its distances to the other samples.
    power : float
        1 is the paper; 2 is Zelnik-Manor and Perona.
    neighbour : int or None
        Take the distance to this neighbour as q_i in place of the quantile.
    metric : str or callable
        Any metric of :func:`sklearn.metrics.pairwise_distances`.
    standardise : bool
        Give each feature of a view mean 0 and variance 1 first; constant features are left at 0.
    per_feature : bool
        Take the mean over features of the similarity in each feature alone. It needs no common scale of
        the features, and bounds what one wild feature can do to a sample (heavy tails). Of views with more than
        two million numbers, and more features than samples, a random part of the features is taken.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> np.exp(-LocalScaling(quantile=0.5).exponents(X)).round(2).tolist()
    [0.56, 0.26, 0.36]
    """

    quantile: float = 0.1
    power: float = 1.0
    neighbour: int | None = None
    metric: str | Callable[[Array, Array], float] = "euclidean"
    standardise: bool = False
    per_feature: bool = False

    def __post_init__(self) -> None:
        check_scalar(self.quantile, "quantile", Real, min_val=0, max_val=1, include_boundaries="neither")
        check_scalar(self.power, "power", Real, min_val=0, include_boundaries="neither")
        if self.per_feature and self.metric == "precomputed":
            raise ValueError(
                'per_feature=True compares features, and metric="precomputed" has none: choose one.'
            )
        if self.neighbour is not None:
            check_scalar(self.neighbour, "neighbour", Integral, min_val=1)

    @property
    def sees_differences_alone(self) -> bool:
        """Whether distances are Euclidean."""
        return self.metric == "euclidean"

    def narrow(self, table: WideTable) -> tuple[LocalScaling, Any]:
        """Return a table with no more features than samples, or those that vary, and the kernel that reads it."""
        if self.per_feature:
            return self, compare_one_by_one(table)
        return replace(self, standardise=False), compare_together(table, self.standardise)

    def batch_exponents(self, tables: Any, out: Any = None) -> Any:
        """Return (dist_ij / sqrt(q_i q_j))^power (b, m) of tables (b, n, p); all zero where all samples coincide.

        Tables of single precision are read by compiled loops.
        """
        n = tables.shape[-2]
        if not self.sees_differences_alone or tables.dtype != np.float32:  # tensors among them
            squares = (
                self.square(tables) if self.sees_differences_alone else stack([*map(self.square, tables)])
            )
            r = pack_pairs(squares)
            if out is None:
                return r
            out[:] = r
            return out
        tables, sets_of_tables = prepare_tables(tables, self.standardise, self.per_feature)
        r = np.empty((len(tables), count_pairs(n)), np.float32) if out is None else out
        distances = np.empty((min(n, ROWS_AT_ONCE), n), np.float32)
        for table, sets, into in zip(tables, sets_of_tables, r, strict=True):
            self._write_exponents(table, sets, distances, into)
        return r

    def _write_exponents(
        self, X: np.ndarray, sets: list[slice], distances: np.ndarray, r: np.ndarray
    ) -> None:
        """Write the exponents of one table of single precision into r (m,)."""
        from latentsimplex.similarity._scaling_loops import (
            add_similarities,
            take_logarithms,
            write_scaled_distances,
        )

        settings = (FEW_FEATURES, *self._rank(len(X)), float(self.power), distances)
        if not self.per_feature:
            write_scaled_distances(X, *settings, r)
            return
        one = np.empty_like(r)
        r[:] = 0.0
        for features in sets:
            write_scaled_distances(np.ascontiguousarray(X[:, features]), *settings, one)
            add_similarities(one, 1 / len(sets), r)
        if sets:
            take_logarithms(r, LEAST_SIMILARITY)

    def square(self, X: Any) -> Any:
        """Return the exponents as symmetric matrices (..., n, n)."""
        if not self.per_feature:
            return self._scaled_distances(X)
        xp = array_namespace(X)
        varying = (X[..., :1, :] != X).any(-2)  # a constant feature compares nothing
        total: Any = 0.0
        for j in range(X.shape[-1]):
            total = total + xp.exp(-self._scaled_distances(X[..., j : j + 1])) * varying[..., j, None, None]
        some = varying.any(-1)[..., None, None]
        mean = total / convert_like(varying.sum(-1)[..., None, None] + ~some, total)
        r = -xp.log(xp.clip(mean, LEAST_SIMILARITY, 1.0))
        return xp.where(some, r, 0 * r)

    def _scaled_distances(self, X: Any) -> Any:
        distances = self._distances(X)
        q = self._bandwidths(distances) ** 0.5
        r = distances / (q[..., :, None] * q[..., None, :])
        return r if self.power == 1 else r**self.power

    def _distances(self, X: Any) -> Any:
        """Return the square matrices of distances."""
        if self.standardise:
            X = standardise(X)
        if self.metric != "euclidean":
            return pairwise_distances(X, metric=self.metric)
        return euclidean_distances(X)

    def _bandwidths(self, distances: Any) -> Any:
        """Return q_i from the square matrices of distances.

        Where more samples coincide with i than the quantile reaches, q_i would be 0 and the similarity
        undefined. Such a pile is tight whatever lies around it: its bandwidth is the same share of the
        distance to the nearest sample outside. If there is none, 1 leaves all distances at 0.
        """
        xp, n = array_namespace(distances), distances.shape[-1]
        below, part, share = self._rank(n)
        low, high = kth_and_next_smallest(distances, below + 1)  # after the 0 of a sample to itself
        q = low + part * (high - low)
        if not (q == 0).any():
            return q
        nearest = xp.amin(xp.where(distances > 0, distances, np.inf), -1)
        outside = xp.where(xp.isfinite(nearest), share * nearest, 1.0)
        return xp.where(q == 0, outside, q)

    def _rank(self, n: int) -> tuple[int, float, float]:
        """Return the rank of q_i among n - 1 distances, its part beyond that, and the share it stands for."""
        if self.neighbour is not None:
            k = min(self.neighbour, n - 1)
            return k - 1, 0.0, k / (n - 1)
        return rank_quantile(self.quantile, n)
