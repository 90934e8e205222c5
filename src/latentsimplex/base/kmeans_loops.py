"""K-means of samples with a few coordinates, compiled."""

from __future__ import annotations

import numpy as np

from latentsimplex.base.compiled import compiled
from latentsimplex.base.types import Array


@compiled
def nearest_centres(X: Array, centres: Array, labels: np.ndarray) -> float:  # pragma: no cover
    """Write the nearest centre (k, p) of each sample (n, p) into ``labels``; return the sum of squared distances.

    |x - c|^2 = |x|^2 - 2 x c + |c|^2, and |x|^2 is the same for all centres.
    """
    k = len(centres)
    products = X @ centres.T.copy()
    norms = np.zeros(k)
    for c in range(k):
        for f in range(X.shape[1]):
            norms[c] += centres[c, f] * centres[c, f]
    inertia = 0.0
    for i in range(len(X)):
        row = products[i]
        least, best = norms[0] - 2.0 * row[0], 0
        for c in range(1, k):
            value = norms[c] - 2.0 * row[c]
            if value < least:
                least, best = value, c
        labels[i] = best
        for f in range(X.shape[1]):
            inertia += X[i, f] * X[i, f]
        inertia += least
    return inertia


@compiled
def squared_distances(X: Array, centre: Array, out: Array) -> None:  # pragma: no cover
    """Write the squared distance of each sample (n, p) from a centre (p,) into ``out``."""
    for i in range(len(X)):
        distance = 0.0
        for f in range(X.shape[1]):
            step = X[i, f] - centre[f]
            distance += step * step
        out[i] = distance


@compiled
def spread_centres(X: Array, draws: Array) -> Array:  # pragma: no cover
    """Return k samples as centres, far from each other: k-means++ with several candidates for each.

    Candidates are drawn in proportion to their squared distance from the centres before; the one that leaves the
    least of it is taken. ``draws`` (k, candidates) are uniform numbers in [0, 1).
    """
    n, p = X.shape
    k, tries = draws.shape
    centres = np.empty((k, p))
    nearest, distance, trial, best = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    taken = min(int(draws[0, 0] * n), n - 1)
    for f in range(p):
        centres[0, f] = X[taken, f]
    squared_distances(X, centres[0], nearest)
    for c in range(1, k):
        total, least, taken = nearest.sum(), np.inf, 0
        for t in range(tries):
            aim, reached, pick = draws[c, t] * total, 0.0, n - 1
            for i in range(n):
                reached += nearest[i]
                if reached > aim:
                    pick = i
                    break
            squared_distances(X, X[pick], distance)
            left = 0.0
            for i in range(n):
                trial[i] = min(nearest[i], distance[i])
                left += trial[i]
            if left < least:
                least, taken = left, pick
                for i in range(n):
                    best[i] = trial[i]
        for f in range(p):
            centres[c, f] = X[taken, f]
        for i in range(n):
            nearest[i] = best[i]
    return centres


@compiled
def lloyd(X: Array, centres: Array, most: int) -> tuple[np.ndarray, float]:  # pragma: no cover
    """Return labels (n,) and their inertia after k-means iterations; an empty cluster keeps its centre."""
    n, p = X.shape
    k = len(centres)
    labels, before = np.empty(n, np.intp), np.full(n, -1, np.intp)
    inertia = nearest_centres(X, centres, labels)
    for _ in range(most):
        moving = 0
        for i in range(n):
            moving += labels[i] != before[i]
            before[i] = labels[i]
        if not moving:
            break
        sums, sizes = np.zeros((k, p)), np.zeros(k)
        for i in range(n):
            sizes[labels[i]] += 1.0
            for f in range(p):
                sums[labels[i], f] += X[i, f]
        for c in range(k):
            if sizes[c] > 0:
                for f in range(p):
                    centres[c, f] = sums[c, f] / sizes[c]
        inertia = nearest_centres(X, centres, labels)
    return labels, inertia


@compiled
def best_kmeans(X: Array, some: Array, draws: Array, most: int) -> np.ndarray:  # pragma: no cover
    """Return the labels (n,) of the best of several k-means runs on some samples; ``draws`` (runs, k, candidates)."""
    best, least = np.zeros(len(X), np.intp), np.inf
    for start in range(len(draws)):
        centres = spread_centres(some, draws[start])
        inertia = lloyd(some, centres, most)[1]
        if inertia < least:
            least = inertia
            nearest_centres(X, centres, best)
    return best
