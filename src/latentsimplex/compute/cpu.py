"""The hot loops on the CPU: co-assignments and their gradient over tiles of the upper triangle,
products of pair values over chunks of pairs.

============ ================= ========== ==========================================
symbol       name              shape      meaning
============ ================= ========== ==========================================
W            ``W``             n x g      memberships of one pattern
B            ``B``             g x g      response of the pattern, symmetric; the identity in the paper
q            ``q``             m          packed expected similarities w_i^T B w_j for i < j
stat, gamma  ``stat, gamma``   m, scalar  sufficient statistics of the pattern
F            ``F``             b x m      pair values f(s) of a block of views, in single precision
============ ================= ========== ==========================================

Tiles and chunks have fixed bounds and are reduced in order, so the result does not depend on the
number of threads. Nothing n x n is held. :mod:`latentsimplex.compute.torch` has the same functions for tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from latentsimplex._types import Array
from latentsimplex.compute.pairs import n_pairs, row_start
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import Divergence

TILE_PAIRS = 1 << 17
CHUNK_PAIRS = 1 << 13
EMPTY = 1e-100
"""Columns that hold no more than this add nothing to any pair."""
THREADED_PAIRS = 1 << 16
"""Fewer pairs than this are done sooner than threads are woken."""


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


def _jobs(d: int, n: int) -> tuple[list[tuple[int, int, int]], bool]:
    """Return a job for each pattern and tile, and whether threads are worth it."""
    return [(l, *rows) for l in range(d) for rows in tiles(n)], d * n_pairs(n) >= THREADED_PAIRS


def _sides(memberships: Array, responses: Array) -> tuple[Array, Array]:
    """Return (W B)^T and W^T of each pattern, both (d, g, n)."""
    left, right = (memberships @ responses).transpose(0, 2, 1), memberships.transpose(0, 2, 1)
    return np.ascontiguousarray(left), np.ascontiguousarray(right)


def filled_columns(right: Array) -> Array:
    """Return for each pattern how many of its columns come before the empty ones at the end (d,)."""
    full = right.max(axis=2) > EMPTY
    return full.shape[1] - np.argmax(full[:, ::-1], axis=1)


def pair_terms(
    memberships: Array, responses: Array, divergence: Divergence, workers: Workers
) -> tuple[Array, Array]:
    """Return A (d x m), the packed a(q) of each pattern, and H (d), the sums of h(q)."""
    from latentsimplex.compute.loops import row_terms

    d, n, _ = memberships.shape
    left, right = _sides(memberships, responses)
    A = np.empty((d, n_pairs(n)))

    def tile(job: tuple[int, int, int]) -> float:
        l, start, stop = job
        out = A[l, row_start(start, n) : row_start(stop, n)]
        return row_terms(left[l], right[l], start, stop, divergence.name == "forward", out)

    jobs, threaded = _jobs(d, n)
    sums = list(workers.imap(tile, jobs, threaded))
    return A, np.reshape(sums, (d, -1)).sum(axis=1)


def prepared(stat: Array) -> Array:
    """Return the statistics (d, m): packed is how :func:`pair_objective` takes them."""
    return stat


def pair_objective(
    memberships: Array, responses: Array, gamma: Array, stat: Array, divergence: Divergence, workers: Workers
) -> tuple[Array, Array, Array]:
    """Return sum_{i<j} [gamma h(q) - stat a(q)] of each pattern and its gradients in W and in B.

    With G the symmetric matrix of slopes, dW = G W B and dB = W^T G W / 2, B taken as a free matrix.
    Shapes: ``memberships`` (d, n, g), ``responses`` (d, g, g), ``gamma`` (d,), ``stat`` (d, m); the
    results have shapes (d,), (d, n, g) and (d, g, g). A clipped q takes the slope at the clipped
    value, so that a pair that has saturated against its statistic is still pulled back.
    """
    from latentsimplex.compute.loops import row_objective

    d, n, g = memberships.shape
    left, right = _sides(memberships, responses)
    filled = filled_columns(right)

    def tile(job: tuple[int, int, int]) -> tuple[float, Array]:
        l, start, stop = job
        k = filled[l]
        GW = np.zeros((k, n))
        packed = stat[l, row_start(start, n) : row_start(stop, n)]
        forward = divergence.name == "forward"
        return row_objective(left[l, :k], right[l, :k], gamma[l], packed, start, stop, forward, GW), GW

    jobs, threaded = _jobs(d, n)
    values, GW = np.zeros(d), np.zeros((d, g, n))
    for (l, _, _), (value, part) in zip(jobs, workers.imap(tile, jobs, threaded), strict=True):
        values[l] += value
        GW[l, : len(part)] += part
    return values, GW.transpose(0, 2, 1) @ responses, right @ GW.transpose(0, 2, 1) / 2


def _chunks(m: int) -> list[slice]:
    return [slice(i, i + CHUNK_PAIRS) for i in range(0, m, CHUNK_PAIRS)]


def pair_products(F: Array, A: Any, workers: Workers) -> Array:
    """Return F A^T (b, d) for pair values F (b, m) and A (d, m), added up in double precision."""
    A = np.asarray(A, dtype=F.dtype)
    parts = workers.imap(lambda c: F[:, c] @ A[:, c].T, _chunks(F.shape[1]), F.size >= THREADED_PAIRS)
    total = np.zeros((len(F), len(A)))
    for part in parts:
        total += part
    return total


def add_statistics(stat: Array, eta: Array, F: Array, workers: Workers) -> None:
    """Add eta^T F to ``stat`` (d, m) in place, for responsibilities eta (b, d) of the views in F (b, m)."""
    weights = np.ascontiguousarray(eta.T, dtype=F.dtype)

    def chunk(c: slice) -> None:
        stat[:, c] += weights @ F[:, c]

    for _ in workers.imap(chunk, _chunks(F.shape[1]), F.size >= THREADED_PAIRS):
        pass
