"""K-means of samples with a few coordinates, such as those of spectral clustering."""

from __future__ import annotations

import numpy as np

from latentsimplex._types import Array

LLOYD_ITERATIONS = 50
STARTS = 3
SAMPLED = 2000
"""Samples that show well enough where the centres of a start are."""
CANDIDATES = 2
"""Samples that are tried as each first centre."""


def kmeans(X: Array, k: int, n_init: int = STARTS, most: int | None = None) -> np.ndarray:
    """Return the labels (n,) with the least inertia of several starts, which are the same for every X.

    Centres are those of ``most`` samples drawn at random, where there are more.

    >>> kmeans(np.array([[0.0], [0.1], [5.0]]), 2).tolist() in ([0, 0, 1], [1, 1, 0])
    True
    """
    from latentsimplex.compute.loops import best_kmeans

    X = np.ascontiguousarray(X, dtype=np.float64)
    rows = some_rows(len(X), len(X) if most is None else most)
    return best_kmeans(X, X[rows], kmeans_draws(n_init, k), LLOYD_ITERATIONS)


def some_rows(n: int, most: int) -> np.ndarray:
    """Return at most so many of n samples, always the same ones, in order."""
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(0).permutation(n)[:most])


def kmeans_draws(n_init: int, k: int) -> Array:
    """Return the uniform numbers (n_init, k, candidates) that choose the first centres of each start."""
    return np.random.default_rng(0).random((n_init, k, CANDIDATES))
