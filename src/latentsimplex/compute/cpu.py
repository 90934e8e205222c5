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
from numpy.lib.stride_tricks import as_strided

from latentsimplex._types import Array
from latentsimplex.compute.pairs import n_pairs, row_start
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import Divergence

TILE_PAIRS = 1 << 17
MANY_PAIRS = 1 << 12
"""Rounding in single precision averages out over more pairs than this."""
CHUNK_VIEWS, CHUNK_PAIRS, LEAST_PAIRS = 96, 1 << 15, 1 << 10
"""Views and pairs of a piece of a pass, and the fewest pairs of one: each is enough to do for a thread."""
SUMMED_VALUES = 1 << 20
"""Pair values that one piece of a sum over views adds up."""
FEW_VIEWS = 4
"""Fewer views than this are multiplied with patterns without a copy of those."""
EMPTY = 1e-100
"""Columns that hold no more than this add nothing to any pair."""
THREADED_PAIRS, THREADED_SINGLES = 1 << 16, 1 << 19
"""Fewer pairs than this, in double or in single precision, are done sooner than threads are woken."""


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


def _jobs(d: int, n: int, precision: Any) -> tuple[list[tuple[int, int, int]], bool]:
    """Return a job for each pattern and tile, and whether threads are worth it."""
    many = THREADED_PAIRS if precision == np.float64 else THREADED_SINGLES
    return [(l, *rows) for l in range(d) for rows in tiles(n)], d * n_pairs(n) >= many


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
    from latentsimplex.compute.tiles import tile_terms

    d, n, _ = memberships.shape
    precision = precision_of(n_pairs(n))
    terms = row_terms if precision == np.float64 else tile_terms
    left, right = _sides(memberships.astype(precision, copy=False), responses.astype(precision, copy=False))
    A: Array = np.empty((d, n_pairs(n)), dtype=precision)

    def tile(job: tuple[int, int, int]) -> float:
        l, start, stop = job
        out = A[l, row_start(start, n) : row_start(stop, n)]
        return terms(left[l], right[l], start, stop, divergence.name == "forward", out)

    jobs, threaded = _jobs(d, n, precision)
    sums = list(workers.imap(tile, jobs, threaded))
    return A, np.reshape(sums, (d, -1)).sum(axis=1)


def precision_of(m: int) -> type:
    """Return the precision of an E step's terms of m pairs: single where they are many."""
    return np.float64 if m <= MANY_PAIRS else np.float32


def prepared(stat: Array) -> Array:
    """Return the statistics (d, m), packed, in the precision of :func:`pair_objective`; equal rows share one.

    It is single where there is more than a tile of pairs.
    """
    precision = np.float64 if stat.shape[1] <= TILE_PAIRS else np.float32
    if len(stat) > 1 and stat.strides[0] == 0:
        row = stat[0].astype(precision, copy=False)
        return as_strided(row, stat.shape, (0, row.strides[0]))
    return stat.astype(precision, copy=False)


def pair_objective(
    memberships: Array, responses: Array, gamma: Array, stat: Array, divergence: Divergence, workers: Workers
) -> tuple[Array, Array, Array]:
    """Return sum_{i<j} [gamma h(q) - stat a(q)] of each pattern and its gradients in W and in B; ``stat`` is prepared.

    With G the symmetric matrix of slopes, dW = G W B and dB = W^T G W / 2, B taken as a free matrix.
    Shapes: ``memberships`` (d, n, g), ``responses`` (d, g, g), ``gamma`` (d,), ``stat`` (d, m); the
    results have shapes (d,), (d, n, g) and (d, g, g). A clipped q takes the slope at the clipped
    value, so that a pair that has saturated against its statistic is still pulled back.
    """
    from latentsimplex.compute.loops import row_objective
    from latentsimplex.compute.tiles import tile_objective

    d, n, g = memberships.shape
    left, right = _sides(memberships.astype(stat.dtype, copy=False), responses.astype(stat.dtype, copy=False))
    filled = filled_columns(right)
    objective = row_objective if stat.dtype == np.float64 else tile_objective
    forward = divergence.name == "forward"

    def tile(job: tuple[int, int, int]) -> tuple[float, Array]:
        l, start, stop = job
        k = filled[l]
        GW = np.zeros((k, n), dtype=stat.dtype)
        packed = stat[l, row_start(start, n) : row_start(stop, n)]
        return objective(left[l, :k], right[l, :k], float(gamma[l]), packed, start, stop, forward, GW), GW

    jobs, threaded = _jobs(d, n, stat.dtype)
    values, GW = np.zeros(d), np.zeros((d, g, n))
    for (l, _, _), (value, part) in zip(jobs, workers.imap(tile, jobs, threaded), strict=True):
        values[l] += value
        GW[l, : len(part)] += part
    return values, GW.transpose(0, 2, 1) @ responses, right @ GW.transpose(0, 2, 1) / 2


def pair_products(F: Array, A: Any, workers: Workers) -> Array:
    """Return F A^T (b, d) for pair values F (b, m) and A (d, m), added up in double precision."""
    from latentsimplex.compute.passes import products

    (b, m), d = F.shape, len(A)
    if F.size < THREADED_PAIRS or m < LEAST_PAIRS:  # rounding of few pairs does not average out
        return F.astype(np.float64, copy=False) @ np.asarray(A).T
    if b < FEW_VIEWS:
        A = np.asarray(A, dtype=F.dtype)
        chunks = [slice(i, i + CHUNK_PAIRS) for i in range(0, m, CHUNK_PAIRS)]
        return np.sum(list(workers.imap(lambda c: F[:, c] @ A[:, c].T, chunks)), axis=0, dtype=np.float64)
    padded = np.zeros((-(-d // 4) * 4, m), dtype=F.dtype)
    padded[:d] = A
    F = np.ascontiguousarray(F)
    jobs = [
        (rows, min(rows + CHUNK_VIEWS, b), pairs, min(pairs + CHUNK_PAIRS, m))
        for rows in range(0, b, CHUNK_VIEWS)
        for pairs in range(0, m, CHUNK_PAIRS)
    ]
    total = np.zeros((b, d))
    parts = workers.imap(lambda job: products(F, padded, *job), jobs)
    for (start, stop, _, _), part in zip(jobs, parts, strict=True):
        total[start:stop] += part[:, :d]
    return total


def add_statistics(stat: Array, eta: Array, F: Array, workers: Workers) -> None:
    """Add eta^T F to ``stat`` (d, m) in place, for responsibilities eta (b, d) of the views in F (b, m)."""
    from latentsimplex.compute.passes import add_sums

    b, m = F.shape
    if F.size < THREADED_PAIRS or m < LEAST_PAIRS:
        stat += eta.T @ F
        return
    F, eta = np.ascontiguousarray(F), np.ascontiguousarray(eta)
    size = max(LEAST_PAIRS, SUMMED_VALUES // b)
    jobs = [(i, min(i + size, m)) for i in range(0, m, size)]
    for _ in workers.imap(lambda job: add_sums(F, eta, job[0], job[1], stat), jobs):
        pass
