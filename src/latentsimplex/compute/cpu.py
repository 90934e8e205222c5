"""The hot loops on the CPU: co-assignments and their gradient over tiles of the upper triangle,
products of pair values over chunks of pairs.

============ ================= ========== ==========================================
symbol       name              shape      meaning
============ ================= ========== ==========================================
W            ``W``             n x g      memberships of one pattern
B            ``B``             g x g      response of the pattern, symmetric; the identity in the paper
q            ``q``             m          packed expected similarities w_i^T B w_j for i < j
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


def _tile_similarities(W: Array, WB: Array, start: int, stop: int) -> Array:
    q = (WB[start:stop] @ W[start + 1 :].T)[_upper(stop - start, len(W) - start - 1)]
    return np.clip(q, P_CLIP, 1 - P_CLIP, out=q)


def pair_terms(
    memberships: Array, responses: Array, divergence: Divergence, workers: Workers
) -> tuple[Array, Array]:
    """Return A (d x m), the packed a(q) of each pattern, and H (d), the sums of h(q)."""
    d, n, _ = memberships.shape
    products = memberships @ responses
    A = np.empty((d, n_pairs(n)))

    def tile(l: int, start: int, stop: int) -> float:
        a, h = divergence.a_h(_tile_similarities(memberships[l], products[l], start, stop))
        A[l, row_start(start, n) : row_start(stop, n)] = a
        return float(h.sum())

    sums = workers.starmap(tile, [(l, *rows) for l in range(d) for rows in tiles(n)])
    return A, np.reshape(sums, (d, -1)).sum(axis=1)


def pair_objective(
    memberships: Array, responses: Array, gamma: Array, stat: Array, divergence: Divergence, workers: Workers
) -> tuple[Array, Array, Array]:
    """Return sum_{i<j} [gamma h(q) - stat a(q)] of each pattern and its gradients in W and in B.

    With G the symmetric matrix of slopes, dW = G W B and dB = W^T G W / 2, B taken as a free matrix.
    Shapes: ``memberships`` (d, n, g), ``responses`` (d, g, g), ``gamma`` (d,), ``stat`` (d, m); the
    results have shapes (d,), (d, n, g) and (d, g, g). A clipped q takes the slope at the clipped
    value, so that a pair that has saturated against its statistic is still pulled back.
    """
    d, n, _ = memberships.shape
    products = memberships @ responses

    def tile(l: int, start: int, stop: int) -> tuple[float, Array, Array]:
        W = memberships[l]
        q = _tile_similarities(W, products[l], start, stop)
        value, slope = divergence.value_slope(q, gamma[l], stat[l, row_start(start, n) : row_start(stop, n)])
        G = np.zeros((stop - start, n - start - 1))
        G[_upper(*G.shape)] = slope
        return float(value.sum()), G @ W[start + 1 :], G.T @ W[start:stop]

    values = np.zeros(d)
    GW = np.zeros_like(memberships)
    jobs = [(l, *rows) for l in range(d) for rows in tiles(n)]
    results = workers.imap(lambda job: tile(*job), jobs)
    for (l, start, stop), (value, upper, lower) in zip(jobs, results, strict=True):
        values[l] += value
        GW[l, start:stop] += upper
        GW[l, start + 1 :] += lower
    return values, GW @ responses, memberships.transpose(0, 2, 1) @ GW / 2


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
