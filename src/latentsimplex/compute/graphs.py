"""Nearest-neighbour graphs of views, compiled: affinities, and the lazy walk on the neighbours.

Each function is the compiled form of one in :mod:`latentsimplex.similarity.diffusion` that is written for arrays of any
size and for tensors; matrices are of single precision and symmetric.
"""

from __future__ import annotations

import numpy as np

from latentsimplex.compute.loops import compiled
from latentsimplex.compute.scaling import (
    FIRST_GUESS,
    LANES,
    LEAST_EXPONENT,
    bandwidths,
    distances_between,
    ordered,
)
from latentsimplex.compute.singles import exp_and_rest

TIED = 8
"""Affinities that differ by so many of their last bits are tied: rounding made the difference."""


@compiled
def add_affinities(
    X: np.ndarray,
    few: int,
    below: int,
    part: float,
    share: float,
    weight: float,
    distances: np.ndarray,
    total: np.ndarray,
) -> None:  # pragma: no cover
    """Add exp(-dist^2 / (q_i q_j)) of each pair i < j of samples of X (n, p), times a weight, to ``total``.

    What is in ``distances`` (n, n) is lost. ``total`` has at least n rows and columns, of which others are not touched.
    """
    n, of_all = len(X), np.float32(weight)
    q = np.empty(n)
    distances_between(X, few, 0, n, distances)
    bandwidths(distances, below, part, share, q)
    for i in range(n):
        q[i] = 1.0 / q[i]
    for i in range(n - 1):
        row, others, into, own = distances[i, i + 1 : n], q[i + 1 :], total[i, i + 1 : n], q[i]
        for j in range(len(into)):
            exponent = np.float32(-row[j] * own * (row[j] * others[j]))
            into[j] += of_all * exp_and_rest(max(exponent, LEAST_EXPONENT))[0]


@compiled
def make_walk(affinity: np.ndarray, n: int, k: int, tiny: float) -> None:  # pragma: no cover
    """Make M = (I + N) / 2 of n samples' affinities i < j, in place, N the normalised graph of k nearest neighbours."""
    least, degree = np.empty(n, np.int32), np.empty(n)
    row = np.full(-(-n // LANES) * LANES, np.inf, np.float32)
    bits, edges, near = row.view(np.int32), least.view(np.float32), np.int64(FIRST_GUESS)
    for i in range(n):
        affinity[i, i] = -1.0  # no sample is its own neighbour
        for j in range(i):
            affinity[i, j] = affinity[j, i]
        row[:n] = affinity[i, :n]
        near = ordered(bits, n - k, near)
        least[i] = max(near - TIED, 0)
    for i in range(n):
        row, own = affinity[i, :n], edges[i]
        for j in range(n):
            row[j] = (row[j] if row[j] >= min(own, edges[j]) else np.float32(0.0)) + np.float32(tiny)
        row[i] = tiny
        total = 0.0
        for j in range(n):
            total += row[j]
        degree[i] = total
    for i in range(n):
        degree[i] = 1.0 / np.sqrt(degree[i])
    for i in range(n):
        row, own = affinity[i], 0.5 * degree[i]
        for j in range(n):
            row[j] *= own * degree[j]
        row[i] += 0.5
