"""Similarity by diffusion: how much of a random walk's mass two samples share after a while.

A graph joins each sample to its nearest neighbours, with their local-scaling similarity as weight. Its
symmetric normalisation N, the lazy walk M = (I + N) / 2 and K = M^(2t) give

    s_ij = K_ij / sqrt(K_ii K_jj),

positive semi-definite and in [0, 1]. The walk follows clusters of any shape, and far samples of one
cluster become similar once it has had the time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.utils import check_scalar

from latentsimplex._types import Array
from latentsimplex.compute.pairs import n_pairs, pack, unpack
from latentsimplex.similarity.local_scaling import LocalScaling

LONGEST = 40.0
"""Most doublings of the walk's length; a connected graph has mixed long before."""
TINY = 1e-12
"""Keeps divisors off 0, components of the graph joined and exponents of different samples positive."""
BALANCING_STEPS = 20
QUANTILE, POWER = 0.3, 2.0
"""The local scaling that chooses and weighs neighbours: as wide as the author's notebook has it, and smooth."""


@dataclass(frozen=True)
class Diffusion:
    """Random walks on a nearest-neighbour graph.

    Parameters
    ----------
    neighbours : int, float in (0, 1) or "sqrt"
        Neighbours of each sample in the graph: a number, a share of the samples, or the square root of
        their number.
    mean : float in (0, 1)
        The length of the walk is the one at which the mean similarity of a view is this. A partition into
        k equal clusters has a mean co-assignment of 1/k.
    balance : bool
        Scale the similarities of each sample by a factor of its own, so that all samples have the same mean
        similarity to the others: what is left is with whom, not how well, a sample is connected.
    standardise : bool
        Give each feature of a view mean 0 and variance 1 first.
    per_feature : bool
        Compare samples feature by feature and take the mean, as :class:`LocalScaling` does: for features
        with heavy tails.

    Examples
    --------
    >>> X = np.r_[np.arange(10.0), np.arange(100.0, 110.0)][:, None]
    >>> s = np.exp(-Diffusion(neighbours=3, mean=0.4).exponents(X))
    >>> bool(s[0] > 0.5), bool(s[-1] > 0.5), bool(s.min() < 1e-6), round(float(s.mean()), 2)
    (True, True, True, 0.4)
    """

    neighbours: Any = 10
    mean: float = 0.1
    balance: bool = False
    standardise: bool = True
    per_feature: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.neighbours, Integral):
            check_scalar(self.neighbours, "neighbours", Integral, min_val=1)
        elif self.neighbours != "sqrt":
            check_scalar(
                self.neighbours, "neighbours", Real, min_val=0, max_val=1, include_boundaries="neither"
            )
        check_scalar(self.mean, "mean", Real, min_val=0, max_val=1, include_boundaries="neither")

    def exponents(self, X: Array) -> Array:
        """Return -log s of every pair; all zero when all samples coincide."""
        if not np.ptp(X, axis=0).any():
            return np.zeros(n_pairs(len(X)))
        s = self._by_mean(self._walk(X))
        if self.balance:
            s = balanced(s)
        # a walk that has mixed makes all samples alike, but only samples that coincide have exponent 0
        return TINY - np.log(np.clip(s, np.finfo(float).tiny, 1.0))

    def n_neighbours(self, n: int) -> int:
        """Return the number of neighbours among n samples."""
        if self.neighbours == "sqrt":
            k = math.isqrt(n)
        else:
            k = int(self.neighbours if isinstance(self.neighbours, Integral) else self.neighbours * n)
        return min(max(k, 2), n - 1)

    def _walk(self, X: Array) -> Array:
        """Return M = (I + N) / 2 of the nearest-neighbour graph."""
        scaling = LocalScaling(QUANTILE, POWER, standardise=self.standardise, per_feature=self.per_feature)
        affinity = unpack(np.exp(-scaling.exponents(X)), diagonal=-1.0)  # no sample is its own neighbour
        n, k = len(X), self.n_neighbours(len(X))
        nearest = np.argpartition(-affinity, k - 1, axis=1)[:, :k]
        rows = np.arange(n)[:, None]
        weights = np.zeros((n, n))
        weights[rows, nearest] = affinity[rows, nearest]
        weights = np.maximum(weights, weights.T) + TINY
        degree = np.sqrt(weights.sum(axis=1))
        return (np.eye(n) + weights / degree[:, None] / degree) / 2

    def _by_mean(self, walk: Array) -> Array:
        """Return the similarities at the length where their mean is ``mean``, or the nearest there is."""
        values, vectors = np.linalg.eigh(walk)
        values = np.clip(values, 0.0, 1.0)
        n = len(walk)

        def half(doublings: float) -> Array:
            rows = vectors * values ** (2.0**doublings)
            return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), TINY)

        def excess(doublings: float) -> float:
            # the sum over all pairs of rows is the squared length of their sum
            return (np.square(half(doublings).sum(axis=0)).sum() - n) / (n * (n - 1)) - self.mean

        if excess(0.0) >= 0:
            length = 0.0
        else:
            length = LONGEST if excess(LONGEST) <= 0 else float(brentq(excess, 0.0, LONGEST, xtol=0.02))
        rows = half(length)
        return pack(rows @ rows.T)


def balanced(s: Array) -> Array:
    """Return the similarities with a factor for each sample that gives all samples the same mean.

    >>> unpack(balanced(np.array([0.2, 0.2, 0.8]))).sum(axis=0).round(2).tolist()
    [0.8, 0.8, 0.8]
    """
    S = unpack(s)
    aim = S.sum() / len(S)
    factor = np.ones(len(S))
    for _ in range(BALANCING_STEPS):
        factor *= np.sqrt(aim / np.maximum(factor * (S @ factor), TINY))
    return np.minimum(pack(S * factor[:, None] * factor), 1.0)
