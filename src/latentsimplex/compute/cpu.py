"""The hot loops on the CPU: co-assignments and their gradient over tiles of the upper triangle,
products of pair values over chunks of pairs.

============ ================= ========== ==========================================
symbol       name              shape      meaning
============ ================= ========== ==========================================
W            ``W``             n x g      memberships of one pattern
p            ``p``             m          packed co-assignments, w_i . w_j for i < j
stat, gamma  ``stat, gamma``   m, scalar  sufficient statistics of the pattern
F            ``F``             b x m      pair values f(s) of a block of views
============ ================= ========== ==========================================

Tiles and chunks have fixed bounds and are reduced in order, so the result does not depend on the
number of threads. Nothing n x n is held: a tile is at most ``TILE_PAIRS`` numbers (or one row).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from latentsimplex._types import Array
from latentsimplex.compute.pairs import n_pairs, row_start
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import P_CLIP, Divergence

TILE_PAIRS = 1 << 17
CHUNK_PAIRS = 1 << 13


@lru_cache(maxsize=64)
def tiles(n: int) -> tuple[tuple[int, int], ...]:
    """Return the row ranges that cut the upper triangle of n samples into tiles.

    >>> tiles(3)
    ((0, 2),)
    """
    return tuple(_tiles(n))


def _tiles(n: int) -> Iterator[tuple[int, int]]:
    start = 0
    while start < n - 1:
        rows = max(1, TILE_PAIRS // (n - start))
        stop = min(n - 1, start + rows)
        yield start, stop
        start = stop


@lru_cache(maxsize=256)
def _upper(n_rows: int, n_columns: int) -> np.ndarray:
    """Return the mask of a tile's pairs: column c of row r is sample start + 1 + c, wanted if c >= r."""
    return np.arange(n_columns) >= np.arange(n_rows)[:, None]


def _tile_probabilities(W: Array, start: int, stop: int) -> Array:
    p = (W[start:stop] @ W[start + 1 :].T)[_upper(stop - start, len(W) - start - 1)]
    return np.clip(p, P_CLIP, 1 - P_CLIP, out=p)


def coassignment_terms(memberships: Array, divergence: Divergence, workers: Workers) -> tuple[Array, Array]:
    """Return A (d x m), the packed a(p) of each pattern, and H (d), the sums of h(p)."""
    d, n, _ = memberships.shape
    A = np.empty((d, n_pairs(n)))

    def tile(l: int, start: int, stop: int) -> float:
        a, h = divergence.a_h(_tile_probabilities(memberships[l], start, stop))
        A[l, row_start(start, n) : row_start(stop, n)] = a
        return float(h.sum())

    sums = workers.starmap(tile, [(l, *rows) for l in range(d) for rows in tiles(n)])
    return A, np.reshape(sums, (d, -1)).sum(axis=1)


def pair_objective(
    memberships: Array, gamma: Array, stat: Array, divergence: Divergence, workers: Workers
) -> tuple[Array, Array]:
    """Return sum_{i<j} [gamma h(p) - stat a(p)] of each pattern and its gradient G W.

    Parameters are ``memberships`` (d, n, g), ``gamma`` (d,) and ``stat`` (d, m); the results have
    shapes (d,) and (d, n, g). A clipped p takes the slope at the clipped value, so that a pair
    that has saturated against its statistic is still pulled back.
    """
    d, n, _ = memberships.shape

    def tile(l: int, start: int, stop: int) -> tuple[float, Array, Array]:
        W = memberships[l]
        p = _tile_probabilities(W, start, stop)
        value, slope = divergence.value_slope(p, gamma[l], stat[l, row_start(start, n) : row_start(stop, n)])
        G = np.zeros((stop - start, n - start - 1))
        G[_upper(*G.shape)] = slope
        return float(value.sum()), G @ W[start + 1 :], G.T @ W[start:stop]

    values = np.zeros(d)
    gradient = np.zeros_like(memberships)
    jobs = [(l, *rows) for l in range(d) for rows in tiles(n)]
    for (l, start, stop), (value, upper, lower) in zip(jobs, workers.starmap(tile, jobs), strict=True):
        values[l] += value
        gradient[l, start:stop] += upper
        gradient[l, start + 1 :] += lower
    return values, gradient


def _chunks(m: int) -> list[tuple[slice]]:
    return [(slice(i, i + CHUNK_PAIRS),) for i in range(0, m, CHUNK_PAIRS)]


def pair_products(F: Array, A: Array, workers: Workers) -> Array:
    """Return F A^T (b, d) for pair values F (b, m) and A (d, m)."""
    parts = workers.starmap(lambda c: F[:, c] @ A[:, c].T, _chunks(F.shape[1]))
    return np.sum(parts, axis=0)


def add_statistics(stat: Array, eta: Array, F: Array, workers: Workers) -> None:
    """Add eta^T F to ``stat`` (d, m) in place, for responsibilities eta (b, d) of the views in F (b, m)."""

    def chunk(c: slice) -> None:
        stat[:, c] += eta.T @ F[:, c]

    workers.starmap(chunk, _chunks(F.shape[1]))
