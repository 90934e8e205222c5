"""Compiled loops over new views: neighbours in one feature, and how many of them share a cluster."""

from __future__ import annotations

import numpy as np

from latentsimplex.base.compiled import compiled
from latentsimplex.base.types import Array, Indices


@compiled
def find_neighbours_on_lines(values: Array, n_neighbours: int) -> Indices:
    """Return the nearest neighbours (b, n, k) of samples in each of some features (b, n), by sorting."""
    b, n = values.shape
    near = np.empty((b, n, n_neighbours), dtype=np.int64)
    for v in range(b):
        x = values[v]
        order = np.argsort(x)
        for at in range(n):
            i = order[at]
            left, right = at - 1, at + 1
            for e in range(n_neighbours):
                nearer_left = right >= n or (left >= 0 and x[i] - x[order[left]] <= x[order[right]] - x[i])
                if nearer_left:
                    near[v, i, e] = order[left]
                    left -= 1
                else:
                    near[v, i, e] = order[right]
                    right += 1
    return near


@compiled
def count_shared(near: Indices, labels: Indices) -> tuple[Indices, int, float]:
    """Return of neighbours (n, k) how many share a cluster in each of some clusterings (d, n), and what graphs vary by.

    The latter are the pairs that are neighbours of one another, and the sum of squares of k and the times that a sample
    is a neighbour.
    """
    n, k = near.shape
    shared = np.zeros(len(labels), dtype=np.int64)
    for l in range(len(labels)):
        own = labels[l]
        for i in range(n):
            for e in range(k):
                shared[l] += own[near[i, e]] == own[i]
    taken, mutual = np.zeros(n, dtype=np.int64), 0
    for i in range(n):
        for e in range(k):
            j = near[i, e]
            taken[j] += 1
            if j > i:
                for f in range(k):
                    mutual += near[j, f] == i
    squares = 0.0
    for i in range(n):
        squares += (k + taken[i]) ** 2
    return shared, mutual, squares
