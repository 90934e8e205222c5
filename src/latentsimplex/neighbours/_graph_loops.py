"""Compiled loops over neighbour graphs: who is nearest, edges, steps of Lanczos' method, and edges that cuts cross.

A graph is held by rows (CSR): the neighbours of sample i are ``ends[starts[i] : starts[i + 1]]``, in any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex.base.compiled import compiled, compiled_exactly
from latentsimplex.base.float_math import FIRST_GUESS, LANES, select_kth
from latentsimplex.base.types import Array, Indices

EXHAUSTED = 1e-10
"""The length of a step of Lanczos' method that leads nowhere new."""
ALL: Any = np.int64(0)
"""The first of all vectors; a literal 0 would be a type of its own, for which loops are compiled once more."""
IN_A_ROW, OF = 2, 4
"""Of so many vectors of a basis two in a row are made orthogonal to all before them. What rounding leaves grows a few
times from each vector to the next, and starts anew after these: to 1e-12 at most, where of eight it is lost."""


def make_row(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return room for n numbers of single precision, filled up to whole lanes with infinity, and the same as bits."""
    row = np.full(-(-n // LANES) * LANES, np.inf, np.float32)
    return row, row.view(np.int32)


@compiled
def choose_nearest(
    heights: Array,
    lengths: Array,
    first: int,
    sizes: Indices,
    row: np.ndarray,
    bits: np.ndarray,
    near: Indices,
) -> None:  # pragma: no cover
    """Write the nearest of all samples into ``near`` (b, k), for each of b samples from ``first`` on.

    Squared distances from all samples are ``heights`` (b, n) and the ``lengths`` (n,) of both. Sizes rise to k: the
    nearest of each come before the others, in no order, and of equal ones the first are taken. ``row`` and ``bits`` are
    those of :func:`make_row`: their view takes as long to compile as all that is done here.
    """
    n_rows, n = heights.shape
    k, guesses = near.shape[1], np.empty(len(sizes), np.int64)
    found, others, some = np.empty(n, np.int64), np.empty(k, np.int64), np.empty(k, np.int32)
    for s in range(len(sizes)):
        guesses[s] = FIRST_GUESS
    for i in range(n_rows):
        own = lengths[first + i]
        for j in range(n):
            row[j] = max(heights[i, j] + lengths[j] + own, 0.0)
        row[first + i] = np.inf  # no sample is its own neighbour
        guesses[-1] = select_kth(bits, k - 1, guesses[-1])
        edge, kept, free = np.int32(guesses[-1]), 0, k
        for j in range(n):
            free -= bits[j] < edge
        for j in range(n):  # without a branch, which would often be guessed wrong
            found[kept] = j
            kept += bits[j] <= edge
        who, last = near[i], 0
        for c in range(kept):
            j = found[c]
            is_tied = bits[j] == edge
            if not is_tied or free > 0:
                free -= is_tied
                who[last], some[last] = j, bits[j]
                last += 1
        for s in range(len(sizes) - 2, -1, -1):  # the nearest of fewer are among those of more
            size = sizes[s]
            guesses[s] = select_kth(some[:last], size - 1, guesses[s])
            edge, free, within, beyond = np.int32(guesses[s]), size, 0, 0
            for c in range(last):
                free -= some[c] < edge
            for c in range(last):
                j = who[c]
                is_tied = bits[j] == edge
                if bits[j] < edge or (is_tied and free > 0):
                    free -= is_tied
                    who[within], some[within] = j, bits[j]
                    within += 1
                else:
                    others[beyond] = j
                    beyond += 1
            for c in range(beyond):
                who[within + c] = others[c]
            last = within


@compiled
def join_rows(near: Indices) -> tuple[Indices, Indices, Array]:
    """Return the graph (starts, ends, weights) of neighbours (V, n, k): for each view one edge, whoever is near.

    Neighbours below 0 are none.
    """
    V, n, k = near.shape
    incoming = np.zeros((V, n + 1), dtype=np.int64)
    for v in range(V):
        for i in range(n):
            for c in range(k):
                if near[v, i, c] >= 0:
                    incoming[v, near[v, i, c] + 1] += 1
        for i in range(n):
            incoming[v, i + 1] += incoming[v, i]
    sources = np.empty((V, n * k), dtype=np.int32)
    place = incoming.copy()
    for v in range(V):
        for i in range(n):
            for c in range(k):
                j = near[v, i, c]
                if j >= 0:
                    sources[v, place[v, j]] = i
                    place[v, j] += 1
    most = 2 * V * n * k
    starts, ends, weights = np.zeros(n + 1, dtype=np.int64), np.empty(most, dtype=np.int32), np.empty(most)
    edge_of, seen_in = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    used = 0
    for i in range(n):
        first = used
        for v in range(V):
            stamp, begin = i * V + v, incoming[v, i]
            for c in range(k + incoming[v, i + 1] - begin):
                j = near[v, i, c] if c < k else np.int64(sources[v, begin + c - k])
                if j < 0 or seen_in[j] == stamp:
                    continue  # a view has one edge at most
                seen_in[j] = stamp
                if edge_of[j] >= first:
                    weights[edge_of[j]] += 1.0
                else:
                    edge_of[j], ends[used], weights[used] = used, j, 1.0
                    used += 1
        starts[i + 1] = used
    return starts, ends[:used].copy(), weights[:used].copy()


@compiled
def label_parts(starts: Indices, ends: Indices, part: Indices) -> int:  # pragma: no cover
    """Write the part of each sample into ``part`` (n,), which is -1 until then, and return how many parts there are.

    Parts are numbered by their first samples. Edges are looked at until all samples are known to belong together.
    """
    n = len(part)
    waiting, n_parts, reached = np.empty(n, np.int32), 0, 0
    for i in range(n):
        if part[i] >= 0:
            continue
        done, last = reached, reached + 1
        waiting[reached], part[i] = i, n_parts
        while done < last and last < n:
            j = waiting[done]
            done += 1
            for e in range(starts[j], starts[j + 1]):
                other = ends[e]
                if part[other] < 0:
                    part[other] = n_parts
                    waiting[last] = other
                    last += 1
        reached, n_parts = last, n_parts + 1
    return n_parts


@compiled
def fill_rows(graph: tuple[Indices, Indices, Array], whole: np.ndarray) -> None:  # pragma: no cover
    """Write the weights of a graph into a matrix (n, n) of zeros."""
    starts, ends, weights = graph
    for i in range(len(whole)):
        for e in range(starts[i], starts[i + 1]):
            whole[i, ends[e]] = np.uint8(weights[e])


@compiled
def multiply_whole(whole: np.ndarray, x: Array, product: Array) -> None:  # pragma: no cover
    """Write the product of a matrix (n, n) of bytes and a vector (n,) into another."""
    n = len(x)
    for i in range(n):
        row, total = whole[i], 0.0
        for j in range(n):
            total += row[j] * x[j]
        product[i] = total


@compiled_exactly  # gathering several numbers at once takes longer than one by one
def extend_basis(
    graph: tuple[Indices, Indices, Array],
    whole: np.ndarray,
    scale: Array,
    constant: Array,
    basis: Array,
    H: Array,
    done: int,
    until: int,
) -> float:
    """Take the steps of Lanczos' method that fill ``basis`` (m + 1, n), and H (m, m), from one vector to another.

    H is the matrix I + N in the basis, N the graph with ``scale`` on both sides, without its first eigenvector
    ``constant``. Each vector is made orthogonal to those it shares much with: the last two, and all at the first two
    steps, where H may be that of a restart. Some, the last among them, are then made orthogonal to all before them. The
    length of the last step is returned. ``whole`` is the graph as a matrix (n, n), or has no rows where that would be
    mostly zeros. No weights are 1 each.
    """
    starts, ends, weights = graph
    n = len(scale)
    length, scaled, unused, sums = 0.0, np.empty(n), np.empty(len(H)), np.empty(n)
    for step in range(done, until):
        q, r = basis[step], basis[step + 1]
        for i in range(n):
            scaled[i] = q[i] * scale[i]
        if len(whole):
            multiply_whole(whole, scaled, sums)
        elif len(weights):
            for i in range(n):
                total = 0.0
                for e in range(starts[i], starts[i + 1]):
                    total += weights[e] * scaled[np.uint32(ends[e])]  # which is no place from the end
                sums[i] = total
        else:
            for i in range(n):
                total = 0.0
                for e in range(starts[i], starts[i + 1]):
                    total += scaled[np.uint32(ends[e])]
                sums[i] = total
        for i in range(n):
            r[i] = q[i] + scale[i] * sums[i]
        before = basis[: step + 1]
        H[step, : step + 1] = 0.0
        take_out(r, constant, before, ALL if step == done else step - 1, H[step])
        if step < done + 2 or (until - 1 - step) % OF < IN_A_ROW:
            take_out(r, constant, before, ALL, H[step])
        for e in range(step):
            H[e, step] = H[step, e]
        length = np.sqrt(np.dot(r, r))
        if length > EXHAUSTED:
            over = length
        else:  # the basis holds all that the first vector leads to: go on with another
            length = 0.0
            for i in range(n):
                r[i] = np.sin(1.0 + i * (step + 1.7))
            for _ in range(2):
                take_out(r, constant, before, ALL, unused)
            over = np.sqrt(np.dot(r, r))
        for i in range(n):
            r[i] /= over
    return length


@compiled_exactly
def take_out(r: Array, constant: Array, before: Array, first: int, shares: Array) -> None:
    """Take what a vector (n,) shares with ``constant`` and with some vectors out of it; add what these share up.

    They are ``before[first:]``.
    """
    along = np.dot(constant, r)
    for i in range(len(r)):
        r[i] -= along * constant[i]
    some = before[first:]
    own = np.dot(some, r)
    moved = np.dot(own, some)
    for i in range(len(r)):
        r[i] -= moved[i]
    for e in range(len(own)):
        shares[first + e] += own[e]


@compiled
def count_crossed(graph: tuple[Indices, Indices, Array], ranks: Indices) -> Array:
    """Return the weight of the edges that a cut after 1, 2, ..., n - 1 samples crosses, samples ordered by rank."""
    starts, ends, weights = graph
    n = len(ranks)
    change, crossed, total = np.empty(n), np.empty(n - 1), 0.0
    for i in range(n):
        own, later = ranks[i], 0.0
        for e in range(starts[i], starts[i + 1]):
            other = ranks[ends[e]]
            later += weights[e] * (np.float64(other > own) - np.float64(other < own))
        change[own] = later
    for i in range(n - 1):
        total += change[i]
        crossed[i] = total
    return crossed
