"""K-means of samples with a few coordinates, compiled.

Coordinates come before samples, (p, n), so that loops run along the samples and work on several at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex.base.compiled import compiled
from latentsimplex.base.types import Array

NO_STEPS: Any = np.int64(0)
"""A literal 0 would be a type of its own, for which loops are compiled once more."""


@compiled
def squared_distances(X: Array, centre: Array, out: Array) -> None:  # pragma: no cover
    """Write the squared distance of each sample (p, n) from a centre (p,) into ``out``."""
    for i in range(len(out)):
        out[i] = 0.0
    for f in range(len(X)):
        column, own = X[f], centre[f]
        for i in range(len(out)):
            out[i] += (column[i] - own) * (column[i] - own)


@compiled
def nearest_centres(X: Array, centres: Array, labels: np.ndarray) -> float:  # pragma: no cover
    """Write the nearest centre (k, p) of each sample (p, n) into ``labels``; return the sum of squared distances."""
    n = X.shape[1]
    least, distance, inertia = np.full(n, np.inf), np.empty(n), 0.0
    for c in range(len(centres)):
        squared_distances(X, centres[c], distance)
        for i in range(n):
            labels[i] = c if distance[i] < least[i] else labels[i]
            least[i] = min(distance[i], least[i])
    for i in range(n):
        inertia += least[i]
    return inertia


@compiled
def spread_centres(X: Array, draws: Array) -> Array:  # pragma: no cover
    """Return k samples of (p, n) as centres (k, p), far from each other: k-means++ with several candidates for each.

    Candidates are drawn in proportion to their squared distance from the centres before; the one that leaves the
    least of it is taken. ``draws`` (k, candidates) are uniform numbers in [0, 1).
    """
    p, n = X.shape
    k, tries = draws.shape
    centres, candidate = np.empty((k, p)), np.empty(p)
    nearest, distance, best = np.empty(n), np.empty(n), np.empty(n)
    taken = min(int(draws[0, 0] * n), n - 1)
    for f in range(p):
        centres[0, f] = X[f, taken]
    squared_distances(X, centres[0], nearest)
    for c in range(1, k):
        total, least, taken = 0.0, np.inf, 0
        for i in range(n):
            total += nearest[i]
        for t in range(tries):
            aim, reached, pick = draws[c, t] * total, 0.0, n - 1
            for i in range(n):
                reached += nearest[i]
                if reached > aim:
                    pick = i
                    break
            for f in range(p):
                candidate[f] = X[f, pick]
            squared_distances(X, candidate, distance)
            left = 0.0
            for i in range(n):
                distance[i] = min(nearest[i], distance[i])
                left += distance[i]
            if left < least:
                least, taken = left, pick
                for i in range(n):
                    best[i] = distance[i]
        for f in range(p):
            centres[c, f] = X[f, taken]
        for i in range(n):
            nearest[i] = best[i]
    return centres


@compiled
def lloyd(X: Array, centres: Array, most: int) -> tuple[np.ndarray, float]:  # pragma: no cover
    """Return labels (n,) of samples (p, n) and their inertia after k-means; an empty cluster keeps its centre.

    The centres (k, p) move.
    """
    p, n = X.shape
    labels, before = np.zeros(n, np.intp), np.full(n, -1, np.intp)
    inertia = nearest_centres(X, centres, labels)
    for _ in range(most):
        moving = 0
        for i in range(n):
            moving += labels[i] != before[i]
            before[i] = labels[i]
        if not moving:
            break
        for c in range(len(centres)):
            size = 0
            for i in range(n):
                size += labels[i] == c
            if size > 0:
                for f in range(p):
                    column, total = X[f], 0.0
                    for i in range(n):
                        total += column[i] if labels[i] == c else 0.0
                    centres[c, f] = total / size
        inertia = nearest_centres(X, centres, labels)
    return labels, inertia


@compiled
def best_kmeans(
    X: Array, some: Array, given: Array, draws: Array, most: int, last: int
) -> np.ndarray:  # pragma: no cover
    """Return labels (n,) of samples (p, n) by the best of several k-means runs on some of them, ``last`` steps on.

    Runs begin with centres that are given (runs, k, p), which move, and with such as draws (runs, at least k,
    candidates) make of :func:`spread_centres`. All is one loop that Python calls, because each is compiled for itself.
    """
    n_given, k, p = given.shape
    best, least = np.zeros((k, p)), np.inf
    for start in range(n_given + len(draws)):
        centres = given[start] if start < n_given else spread_centres(some, draws[start - n_given, :k])
        inertia = lloyd(some, centres, most)[1]
        if inertia < least:
            best, least = centres, inertia
    return lloyd(X, best, last)[0]
