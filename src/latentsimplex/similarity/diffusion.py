"""Similarity by diffusion: how much of a random walk's mass two samples share after a while.

A nearest-neighbour graph with self-tuning weights, its symmetric normalisation N, the lazy walk
M = (I + N) / 2 and K = M^(2t) give

    s_ij = K_ij / sqrt(K_ii K_jj),

positive semi-definite and in [0, 1]. The walk follows clusters of any shape, and far samples of one
cluster become similar once it has had the time. That time is chosen per view.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from scipy.optimize import brentq
from scipy.spatial.distance import pdist, squareform
from sklearn.utils import check_scalar

from latentsimplex._types import Array
from latentsimplex.compute.pairs import n_pairs, pack
from latentsimplex.similarity.local_scaling import standardised

LONGEST = 40.0
"""Most doublings of the walk's length; a connected graph has mixed long before."""
TINY = 1e-12
"""Keeps divisors off 0, components of the graph joined and exponents of different samples positive."""


@dataclass(frozen=True)
class Diffusion:
    """Random walks on a nearest-neighbour graph.

    Parameters
    ----------
    neighbours : int
        Neighbours of each sample in the graph (its weights are scaled by the 7th, or the last).
    mean : float in (0, 1)
        The length of the walk is the one at which the mean similarity of a view is this. A partition into
        k equal clusters has a mean co-assignment of 1/k.
    standardise : bool
        Give each feature of a view mean 0 and variance 1 first.

    Examples
    --------
    >>> X = np.r_[np.arange(10.0), np.arange(100.0, 110.0)][:, None]
    >>> s = np.exp(-Diffusion(neighbours=3, mean=0.4).exponents(X))
    >>> bool(s[0] > 0.5), bool(s[-1] > 0.5), bool(s.min() < 1e-6), round(float(s.mean()), 2)
    (True, True, True, 0.4)
    """

    neighbours: int = 10
    mean: float = 0.1
    standardise: bool = True

    def __post_init__(self) -> None:
        check_scalar(self.neighbours, "neighbours", Integral, min_val=1)
        check_scalar(self.mean, "mean", Real, min_val=0, max_val=1, include_boundaries="neither")

    def exponents(self, X: Array) -> Array:
        """Return -log s of every pair; all zero when all samples coincide."""
        if not np.ptp(X, axis=0).any():
            return np.zeros(n_pairs(len(X)))
        values, vectors = np.linalg.eigh(self._walk(standardised(X) if self.standardise else X))
        values = np.clip(values, 0.0, 1.0)

        def similarity(doublings: float) -> Array:
            half = vectors * values ** (2.0**doublings)
            half /= np.maximum(np.linalg.norm(half, axis=1, keepdims=True), TINY)
            return pack(half @ half.T)

        s = similarity(self._length(similarity))
        # a walk that has mixed makes all samples alike, but only samples that coincide have exponent 0
        return TINY - np.log(np.clip(s, np.finfo(float).tiny, 1.0))

    def _walk(self, X: Array) -> Array:
        """Return M = (I + N) / 2 of the self-tuning nearest-neighbour graph."""
        n = len(X)
        distances = squareform(pdist(X))
        k = min(self.neighbours, n - 1)
        np.fill_diagonal(distances, np.inf)  # a sample is not its own neighbour, whatever coincides with it
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
        rows = np.arange(n)[:, None]
        scale = np.maximum(distances[rows[:, 0], nearest[:, min(7, k) - 1]], TINY)
        weights = np.zeros((n, n))
        weights[rows, nearest] = np.exp(-(distances[rows, nearest] ** 2) / (scale[:, None] * scale[nearest]))
        weights = np.maximum(weights, weights.T) + TINY
        degree = np.sqrt(weights.sum(axis=1))
        return (np.eye(n) + weights / degree[:, None] / degree) / 2

    def _length(self, similarity: Callable[[float], Array]) -> float:
        """Return log2 of the length at which the mean similarity is ``mean``, or the nearest there is."""

        def excess(doublings: float) -> float:
            return float(similarity(doublings).mean()) - self.mean

        if excess(0.0) >= 0:
            return 0.0
        return LONGEST if excess(LONGEST) <= 0 else float(brentq(excess, 0.0, LONGEST, xtol=0.02))
