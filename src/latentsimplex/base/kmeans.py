"""K-means of samples with a few coordinates, such as those of spectral clustering."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from latentsimplex.base.types import Array

LLOYD_ITERATIONS = 50
STARTS = 3
SAMPLED = 2000
"""Samples that show well enough where the centres of a start are."""
CANDIDATES = 2
"""Samples that are tried as each first centre."""


def kmeans(
    X: Array, k: int, n_init: int = STARTS, most: int | None = None, draws: Array | None = None
) -> np.ndarray:
    """Return the labels (n,) with the least inertia of several starts, which are the same for every X.

    Centres are those of ``most`` samples drawn at random, where there are more. ``draws`` are numbers that choose first
    centres, other than those of :func:`draw_starts`.

    >>> kmeans(np.array([[0.0], [0.1], [5.0]]), 2).tolist() in ([0, 0, 1], [1, 1, 0])
    True
    """
    from latentsimplex.base.kmeans_loops import best_kmeans

    X = _turn(X)
    some = np.ascontiguousarray(X[:, sample_rows(X.shape[1], X.shape[1] if most is None else most)])
    draws = draw_starts(n_init, k) if draws is None else draws
    return best_kmeans(X, some, np.empty((0, k, len(X))), draws, LLOYD_ITERATIONS, 0)


def kmeans_from(X: Array, k: int, labelings: np.ndarray, n_init: int = STARTS) -> np.ndarray:
    """Return the labels (n,) that k-means makes of the best of some labelings (m, n) and of several starts.

    Of labelings those with k clusters count. They and the starts compete on ``SAMPLED`` samples at most; the
    winner goes on with all. That takes a fraction of the time of many starts, and where X has hardly changed
    since it was labelled, so have the labels.

    >>> kmeans_from(np.array([[0.0], [0.1], [5.0]]), 2, np.array([[1, 0, 0]])).tolist()
    [1, 1, 0]
    """
    from latentsimplex.base.kmeans_loops import best_kmeans

    some = _turn(X[sample_rows(len(X), SAMPLED)])
    numbered = [np.unique(own, return_inverse=True)[1] for own in labelings]
    given = [_centres(X, codes) for codes in numbered if codes.max() + 1 == k]
    centres = np.array(given, dtype=np.float64).reshape(-1, k, X.shape[1])
    return best_kmeans(_turn(X), some, centres, draw_starts(n_init, k), LLOYD_ITERATIONS, LLOYD_ITERATIONS)


@lru_cache(maxsize=16)
def sample_rows(n: int, most: int) -> np.ndarray:
    """Return at most so many of n samples, always the same ones, in order: not to change."""
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(0).permutation(n)[:most])


@lru_cache(maxsize=64)
def draw_starts(n_init: int, k: int) -> Array:
    """Return the uniform numbers (n_init, k, candidates) that choose the first centres of each start: not to change."""
    return np.random.default_rng(0).random((n_init, k, CANDIDATES))


def _turn(X: Array) -> Array:
    """Return samples (n, p) as loops take them, (p, n)."""
    return np.ascontiguousarray(X.T, dtype=np.float64)


def _centres(X: Array, codes: np.ndarray) -> Array:
    """Return the mean of each cluster (k, p)."""
    return np.eye(codes.max() + 1)[codes].T @ X / np.bincount(codes)[:, None]
