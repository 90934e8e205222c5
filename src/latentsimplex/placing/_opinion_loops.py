"""Compiled loops over the distances of new samples to reference samples: who is nearest, and what they say."""

from __future__ import annotations

import numpy as np

from latentsimplex.base.compiled import compiled
from latentsimplex.base.types import Array, Indices

SMALLEST = 1e-30
"""Added to squared distances that are divided by: samples may coincide."""
CHUNK = 64
"""Distances that are compared at once with the farthest neighbour found so far: most chunks hold none nearer."""


@compiled
def write_narrow_squares(new: np.ndarray, references: np.ndarray, squares: np.ndarray) -> None:
    """Write the squared distances (b, m) of new samples (b, p) and references (p, m), added up one by one."""
    p, m = references.shape
    for i in range(len(new)):
        for f in range(p):
            x, row = new[i, f], references[f]
            if f == 0:
                for j in range(m):
                    squares[i, j] = (row[j] - x) * (row[j] - x)
            else:
                for j in range(m):
                    squares[i, j] += (row[j] - x) * (row[j] - x)


@compiled
def write_squares(products: np.ndarray, new: np.ndarray, references: np.ndarray) -> None:
    """Write over products x^T z (b, m) the squared distances, given the squared lengths of both (b,) and (m,)."""
    b, m = products.shape
    for i in range(b):
        x, row = new[i], products[i]
        for j in range(m):
            row[j] = max(x + references[j] - np.float32(2) * row[j], np.float32(0))


@compiled
def add_squares(squares: np.ndarray, present: np.ndarray, joint: np.ndarray) -> None:
    """Add the squared distances (b, m) of the samples that a view has to those of all views."""
    b, m = squares.shape
    for i in range(b):
        if present[i]:
            for j in range(m):
                joint[i, j] += squares[i, j]


@compiled
def find_nearest_of_one(
    squares: np.ndarray, thinness: np.ndarray, own: int, near: Indices, values: np.ndarray, scaled: np.ndarray
) -> None:
    """Write the references (k,) nearest to a sample, nearest first, by squared distances (m,) times thinness (m,)."""
    m, k = len(squares), len(near)
    near[:] = 0
    values[:] = np.inf
    worst = np.float32(np.inf)
    for start in range(0, m, CHUNK):
        size = min(CHUNK, m - start)
        nearer = 0
        for c in range(size):
            scaled[c] = squares[start + c] * thinness[start + c]
            nearer += scaled[c] < worst
        if nearer == 0:
            continue
        for c in range(size):
            x = scaled[c]
            if x < worst and start + c != own:
                e = k - 1
                while e > 0 and values[e - 1] > x:
                    near[e], values[e] = near[e - 1], values[e - 1]
                    e -= 1
                near[e], values[e] = start + c, x
                worst = values[k - 1]


@compiled
def find_nearest(
    squares: np.ndarray,
    thinness: np.ndarray,
    skipped: int,
    present: np.ndarray,
    near: Indices,
    values: np.ndarray,
) -> None:
    """Write the references (b, k) nearest to samples, by squared distances (b, m).

    Sample i skips reference ``skipped + i``, and none if that is negative.
    """
    scaled = np.empty(CHUNK, dtype=np.float32)
    for i in range(len(squares)):
        if present[i]:
            own = skipped + i if skipped >= 0 else -1
            find_nearest_of_one(squares[i], thinness, own, near[i], values[i], scaled)


@compiled
def add_mean_of_one(
    near: Indices,
    values: np.ndarray,
    W: Array,
    shares: Array,
    smoothing: float,
    prior: float,
    sharpness: Array,
    mean: Array,
    means: Array,
) -> None:
    """Add to ``means`` (s, g) what the nearest references (k,) of a sample say, sharpened in each of some ways (s,).

    They say m, the mean of their memberships W (m, g), the nearer ones weighing more; of sharpness c that is
    pi ((m / pi + prior) / (1 + prior))^c, scaled to a sum of 1, where pi are the shares of clusters.
    """
    k, g = len(near), len(shares)
    farthest = smoothing * values[k - 1] + SMALLEST
    total = 0.0
    mean[:] = 0.0
    for e in range(k):
        weight = 1.0 / (values[e] + farthest)
        total += weight
        for l in range(g):
            mean[l] += weight * W[near[e], l]
    for l in range(g):
        mean[l] = (mean[l] / total / shares[l] + prior) / (1.0 + prior)
    for s in range(len(sharpness)):
        total = 0.0
        for l in range(g):
            total += shares[l] * mean[l] ** sharpness[s]
        for l in range(g):
            means[s, l] += shares[l] * mean[l] ** sharpness[s] / total


@compiled
def add_means(
    near: Indices,
    values: np.ndarray,
    present: np.ndarray,
    W: Array,
    shares: Array,
    smoothing: float,
    prior: float,
    sharpness: Array,
    means: Array,
) -> None:
    """Add to ``means`` (b, s, g) what the nearest references (b, k) of samples say."""
    mean = np.empty(len(shares))
    for i in range(len(near)):
        if present[i]:
            add_mean_of_one(near[i], values[i], W, shares, smoothing, prior, sharpness, mean, means[i])


@compiled
def ask_narrow_views(
    new: np.ndarray,
    references: np.ndarray,
    starts: Indices,
    skipped: int,
    n_nearest: int,
    W: Array,
    shares: Array,
    smoothing: float,
    prior: float,
    sharpness: Array,
    means: Array,
    counts: Indices,
    joint: np.ndarray,
) -> None:
    """Add what neighbours say in each of many views of few features, and the squared distances.

    View v has the features ``starts[v]`` to ``starts[v + 1]`` of new samples (b, p), NaN where missing, and of
    references (p, m), whose squared differences are added up one by one, as if there were those of all features. Views
    are counted (b,).
    """
    m = references.shape[1]
    squares, flat = np.empty(m, dtype=np.float32), np.ones(m, dtype=np.float32)
    scaled, mean = np.empty(CHUNK, dtype=np.float32), np.empty(len(shares))
    near, values = np.empty(n_nearest, dtype=np.int64), np.empty(n_nearest, dtype=np.float32)
    for i in range(len(new)):
        own = skipped + i if skipped >= 0 else -1
        for v in range(len(starts) - 1):
            squares[:] = 0.0
            n_known = 0
            for f in range(starts[v], starts[v + 1]):
                x, row = new[i, f], references[f]
                if not np.isnan(x):
                    n_known += 1
                    for j in range(m):
                        squares[j] += (row[j] - x) * (row[j] - x)
            if n_known == 0:
                continue
            counts[i] += 1
            share = np.float32((starts[v + 1] - starts[v]) / n_known)
            for j in range(m):
                squares[j] *= share
                joint[i, j] += squares[j]
            find_nearest_of_one(squares, flat, own, near, values, scaled)
            add_mean_of_one(near, values, W, shares, smoothing, prior, sharpness, mean, means[i])
