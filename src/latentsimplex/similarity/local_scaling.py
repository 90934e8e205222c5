"""The paper's similarity (section 2.1): exponential decay with a bandwidth of its own for each sample.

s_ij = exp(-(dist_ij / sqrt(q_i q_j))^power), q_i a row quantile of the distances from i to the others,
after Zelnik-Manor and Perona, whose own form is power 2 with q_i the distance to the 7th neighbour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_scalar

from latentsimplex._types import Array
from latentsimplex.compute.pairs import n_pairs, pack


def standardised(X: Array) -> Array:
    """Return X with each feature of mean 0 and variance 1; a constant feature is 0."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)


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

    def exponents(self, X: Array) -> Array:
        """Return (dist_ij / sqrt(q_i q_j))^power; all zero when all samples coincide."""
        if not self.per_feature:
            return self._scaled(X)
        features = X.T[np.ptp(X, axis=0) > 0]  # a constant feature compares nothing
        if not len(features):
            return np.zeros(n_pairs(len(X)))
        mean = sum(np.exp(-self._scaled(feature[:, None])) for feature in features) / len(features)
        return np.maximum(-np.log(np.maximum(mean, np.finfo(float).tiny)), 0.0)

    def _scaled(self, X: Array) -> Array:
        distances = self._distances(X)
        q = np.sqrt(self._bandwidths(distances))
        r = pack(distances / q[:, None] / q)
        if self.power == 2:
            return np.square(r)
        return r if self.power == 1 else r**self.power

    def _distances(self, X: Array) -> Array:
        """Return the square matrix of distances."""
        if self.standardise:
            X = standardised(X)
        if self.metric != "euclidean":
            return pairwise_distances(X, metric=self.metric)
        return np.abs(X - X.T) if X.shape[1] == 1 else squareform(pdist(X))

    def _bandwidths(self, distances: Array) -> Array:
        """Return q_i from the square matrix of distances.

        Where more samples coincide with i than the quantile reaches, q_i would be 0 and the similarity
        undefined. Such a pile is tight whatever lies around it: its bandwidth is the same share of the
        distance to the nearest sample outside. If there is none, 1 leaves all distances at 0.
        """
        n = len(distances)
        q = self._row_bandwidth(distances)
        share = self.quantile if self.neighbour is None else min(self.neighbour / (n - 1), 1.0)
        for i in np.flatnonzero(q == 0):
            positive = distances[i][distances[i] > 0]
            q[i] = share * positive.min() if len(positive) else 1.0
        return q

    def _row_bandwidth(self, rows: Array) -> Array:
        """Return the quantile, or the distance to the neighbour; the 0 of a sample to itself comes first of all."""
        n = len(rows)
        if self.neighbour is not None:
            k = min(self.neighbour, n - 1)
            return np.partition(rows, k, axis=1)[:, k]
        below, share = divmod(self.quantile * (n - 2), 1)
        ranks = [int(below) + 1, min(int(below) + 2, n - 1)]
        low, high = np.partition(rows, ranks, axis=1)[:, ranks].T
        return low + share * (high - low)
