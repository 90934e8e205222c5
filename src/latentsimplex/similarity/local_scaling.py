"""The paper's similarity (section 2.1): exponential decay with a bandwidth of its own for each sample.

s_ij = exp(-(dist_ij / sqrt(q_i q_j))^power), q_i a row quantile of the distances from i to the others,
after Zelnik-Manor and Perona, whose own form is power 2 with q_i the distance to the 7th neighbour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_scalar

from latentsimplex._arrays import is_single, is_tensor, like, namespace, ranked, ranked_pair, widened
from latentsimplex._types import Array
from latentsimplex.compute.pairs import n_pairs, pack

FEW_FEATURES = 4
"""Distances in so few features are added up one by one, in more by a product of matrices."""
OUTLYING, CUTS, STILL = 4.0, 60, 0.999
"""Values so many standard deviations from the median are outliers: among thousands of normal samples there is hardly
one. They are cut, and the standard deviation is taken anew, so often at most, or until it does not fall below that
share of itself."""
LEAST_SIMILARITY = float(np.finfo(np.float32).tiny)
"""Smaller similarities have no logarithm in single precision."""
ROWS_AT_ONCE = 256
"""Rows of a matrix of distances that compiled loops hold at a time."""
COINCIDENT = 1e-13
"""Squared distances below this share of the squares they are the difference of are rounding."""


def standardised(X: Any) -> Any:
    """Return X with each feature of mean 0 and variance 1, but for outliers; a constant feature is 0.

    >>> standardised(np.array([[0.0], [1.0], [2.0]])).round(2).tolist()
    [[-1.22], [0.0], [1.22]]
    """
    return rescaled(X, *place_and_scale(X))


def rescaled(X: Any, place: Any, scale: Any) -> Any:
    """Return X with each feature less its place and over its scale; a constant feature is 0."""
    varying = (X[..., :1, :] != X).any(-2)[
        ..., None, :
    ]  # the mean of equal numbers may differ from them by rounding
    return (X - place) * varying / (scale + (scale == 0))


def place_and_scale(X: Any) -> tuple[Any, Any]:
    """Return the mean and the standard deviation (..., 1, p) of each feature, but for outliers.

    They are those of values cut at ``OUTLYING`` standard deviations from the median, so that no outlier decides the
    scale of the others. Where most samples have one value, rare others are no outliers, and nothing is cut.
    """
    xp, centre = namespace(X), middle(X)
    away = X - centre
    rare = middle(abs(away)) == 0
    mean, spread = mean_and_spread(away)
    falling = ~rare
    for _ in range(CUTS):
        edge = xp.where(rare, np.inf, OUTLYING * spread)
        next_mean, next_spread = mean_and_spread(xp.clip(away, -edge, edge))
        fell = falling & (next_spread < STILL * spread)
        mean, spread = xp.where(falling, next_mean, mean), xp.where(falling, next_spread, spread)
        falling = fell
        if not falling.any():
            break
    return centre + mean, spread


def mean_and_spread(X: Any) -> tuple[Any, Any]:
    """Return the mean and the standard deviation of each feature (..., 1, p)."""
    mean = X.mean(-2)[..., None, :]
    return mean, ((X - mean) ** 2).mean(-2)[..., None, :] ** 0.5


def middle(X: Any) -> Any:
    """Return the median of each feature (..., 1, p), the lower of two."""
    k = (X.shape[-2] - 1) // 2
    return ranked(X.swapaxes(-1, -2), k)[..., None, :]


@dataclass(frozen=True)
class LocalScaling:
    """Local scaling of distances.

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
        the features, and bounds what one wild feature can do to a sample (heavy tails).

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
    def reads_many(self) -> bool:
        """Whether :meth:`exponents` takes several tables at once."""
        return self.metric == "euclidean"

    def exponents(self, X: Any, out: Any = None) -> Any:
        """Return (dist_ij / sqrt(q_i q_j))^power; all zero when all samples coincide.

        X may have axes before the last two, and be a tensor: exponents are then those of each table. Those of arrays of
        single precision are written into ``out`` if it is given.
        """
        if not self.reads_many or not is_single(X):
            return pack(self.square(X))
        n = X.shape[-2]
        tables = compared(X.reshape(-1, *X.shape[-2:]), self.standardise)
        r = np.empty((len(tables), n_pairs(n)), np.float32) if out is None else out
        distances = np.empty((min(n, ROWS_AT_ONCE), n), np.float32)
        for table, sets, into in zip(tables, feature_sets(tables, self.per_feature), r, strict=True):
            self._write_exponents(table, sets, distances, into)
        return r.reshape(*X.shape[:-2], n_pairs(n))

    def _write_exponents(
        self, X: np.ndarray, sets: list[slice], distances: np.ndarray, r: np.ndarray
    ) -> None:
        """Write the exponents of one table of single precision into r (m,)."""
        from latentsimplex.compute.scaling import add_similarities, make_exponents, scaled_exponents

        settings = (FEW_FEATURES, *self._rank(len(X)), float(self.power), distances)
        if not self.per_feature:
            scaled_exponents(X, *settings, r)
            return
        one = np.empty_like(r)
        r[:] = 0.0
        for features in sets:
            scaled_exponents(np.ascontiguousarray(X[:, features]), *settings, one)
            add_similarities(one, 1 / len(sets), r)
        if sets:
            make_exponents(r, LEAST_SIMILARITY)

    def square(self, X: Any) -> Any:
        """Return the exponents as symmetric matrices (..., n, n)."""
        if not self.per_feature:
            return self._scaled(X)
        xp = namespace(X)
        varying = (X[..., :1, :] != X).any(-2)  # a constant feature compares nothing
        total: Any = 0.0
        for j in range(X.shape[-1]):
            total = total + xp.exp(-self._scaled(X[..., j : j + 1])) * varying[..., j, None, None]
        some = varying.any(-1)[..., None, None]
        mean = total / like(varying.sum(-1)[..., None, None] + ~some, total)
        r = -xp.log(xp.clip(mean, LEAST_SIMILARITY, 1.0))
        return xp.where(some, r, 0 * r)

    def _scaled(self, X: Any) -> Any:
        distances = self._distances(X)
        q = self._bandwidths(distances) ** 0.5
        r = distances / (q[..., :, None] * q[..., None, :])
        return r if self.power == 1 else r**self.power

    def _distances(self, X: Any) -> Any:
        """Return the square matrices of distances."""
        if self.standardise:
            X = standardised(X)
        if self.metric != "euclidean":
            return pairwise_distances(X, metric=self.metric)
        return euclidean(X)

    def _bandwidths(self, distances: Any) -> Any:
        """Return q_i from the square matrices of distances.

        Where more samples coincide with i than the quantile reaches, q_i would be 0 and the similarity
        undefined. Such a pile is tight whatever lies around it: its bandwidth is the same share of the
        distance to the nearest sample outside. If there is none, 1 leaves all distances at 0.
        """
        xp, n = namespace(distances), distances.shape[-1]
        below, part, share = self._rank(n)
        low, high = ranked_pair(distances, below + 1)  # after the 0 of a sample to itself
        q = low + part * (high - low)
        if not (q == 0).any():
            return q
        nearest = xp.where(distances > 0, distances, np.inf)
        nearest = nearest.amin(-1) if is_tensor(nearest) else nearest.min(-1)
        outside = xp.where(xp.isfinite(nearest), share * nearest, 1.0)
        return xp.where(q == 0, outside, q)

    def _rank(self, n: int) -> tuple[int, float, float]:
        """Return the rank of q_i among n - 1 distances, its part beyond that, and the share it stands for."""
        if self.neighbour is not None:
            k = min(self.neighbour, n - 1)
            return k - 1, 0.0, k / (n - 1)
        below, part = divmod(self.quantile * (n - 2), 1)
        return int(below), part, self.quantile


def compared(tables: np.ndarray, standardise: bool) -> np.ndarray:
    """Return tables (b, n, p) of single precision as the compiled loops want them, standardised or not."""
    from latentsimplex.compute.scaling import standardise_tables

    if not standardise:
        return np.ascontiguousarray(tables)
    standard, k = tables.copy(), (tables.shape[1] - 1) // 2
    centres = np.partition(tables, k, axis=1)[:, k]
    rare = np.partition(np.abs(tables - centres[:, None]), k, axis=1)[:, k] == 0
    standardise_tables(standard, centres, rare, OUTLYING, CUTS, STILL)
    return standard


def feature_sets(tables: np.ndarray, per_feature: bool) -> list[list[slice]]:
    """Return for each table the sets of features that are compared together: all, or each one that varies.

    >>> feature_sets(np.array([[[0.0, 1.0], [0.0, 2.0]]]), True)
    [[slice(1, 2, None)]]
    """
    if not per_feature:
        return [[slice(None)]] * len(tables)
    varying = (tables != tables[:, :1]).any(axis=1)
    return [[slice(f, f + 1) for f in np.flatnonzero(some).tolist()] for some in varying]


def euclidean(X: Any) -> Any:
    """Return the square matrices of Euclidean distances; samples that coincide have distance 0.

    >>> euclidean(np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0]])).tolist()
    [[0.0, 5.0, 5.0], [5.0, 0.0, 0.0], [5.0, 0.0, 0.0]]
    """
    if X.shape[-1] == 1:
        return abs(X - X.swapaxes(-1, -2))
    if X.shape[-1] <= FEW_FEATURES:
        squares = sum((X[..., j, None] - X[..., None, :, j]) ** 2 for j in range(X.shape[-1]))
        return squares**0.5
    wide = widened(X)  # differences of squares need the digits
    wide = wide - wide.mean(-2)[..., None, :]
    norms = (wide**2).sum(-1)
    both = norms[..., :, None] + norms[..., None, :]
    squares = both - 2 * wide @ wide.swapaxes(-1, -2)
    distances = (squares * (squares > COINCIDENT * both)) ** 0.5
    return distances.to(X.dtype) if is_tensor(X) else distances.astype(X.dtype)
