"""Local scaling of views, compiled: standardised features, distances, bandwidths by selection, exponents, graphs.

Each function is the compiled form of one in :mod:`latentsimplex.similarity.distances` or
:mod:`latentsimplex.similarity.local_scaling`, which are written for arrays of any kind and for tensors; numbers are of
single precision, but for what needs more digits.
"""

from __future__ import annotations

import numpy as np

from latentsimplex.base.compiled import compiled
from latentsimplex.base.float_math import (
    FIRST_GUESS,
    LANES,
    LARGEST_WORD,
    ONE,
    exp_and_rest,
    log,
    select_kth,
)
from latentsimplex.similarity.kernel import COINCIDENT

SMALLEST_LOG = np.float32(-80.0)
"""The logarithm of a similarity so small that it is nothing; smaller ones are taken for it."""
TIED = 8
"""Affinities that differ by so many of their last bits are tied: rounding made the difference."""


@compiled
def standardise_tables(
    tables: np.ndarray, centres: np.ndarray, rare: np.ndarray, outlying: float, cuts: int, still: float
) -> None:  # pragma: no cover
    """Give each feature of tables (b, n, p) mean 0 and variance 1, but for outliers, in place; a constant one is 0.

    ``centres`` (b, p) are medians, ``rare`` (b, p) says where most samples have that one value. See
    :func:`latentsimplex.similarity.distances.mean_and_scale`.
    """
    b, n, p = tables.shape
    away = np.empty(n)
    for at in range(b * p):
        v, f = at // p, at % p
        differing = 0
        for i in range(n):
            away[i] = tables[v, i, f] - centres[v, f]
            differing += tables[v, i, f] != tables[v, 0, f]
        edge, spread, mean = np.inf, np.inf, 0.0
        for _ in range(cuts + 1):
            before, total, squares = spread, 0.0, 0.0
            for i in range(n):
                total += min(max(away[i], -edge), edge)
            mean = total / n
            for i in range(n):
                gap = min(max(away[i], -edge), edge) - mean
                squares += gap * gap
            spread = np.sqrt(squares / n)
            if not spread < still * before:
                break
            edge = np.inf if rare[v, f] else outlying * spread
        scale = 1.0 / spread if differing and spread > 0 else 0.0
        for i in range(n):
            tables[v, i, f] = (away[i] - mean) * scale


@compiled
def write_distances(
    X: np.ndarray, few: int, start: int, stop: int, out: np.ndarray
) -> None:  # pragma: no cover
    """Write the Euclidean distances of rows start..stop of X (n, p) from all rows into the first rows of ``out``."""
    n, p = X.shape
    if p > few:  # differences of squares need the digits
        wide, norms = np.empty((n, p)), np.zeros(n)
        for f in range(p):
            mean = 0.0
            for i in range(n):
                mean += X[i, f]
            for i in range(n):
                wide[i, f] = X[i, f] - mean / n
        for i in range(n):
            for f in range(p):
                norms[i] += wide[i, f] * wide[i, f]
        products = np.dot(wide[start:stop], wide.T)
        for i in range(start, stop):
            norm, row, into = norms[i], products[i - start], out[i - start]
            for j in range(n):
                both = norm + norms[j]
                square = both - 2.0 * row[j]
                into[j] = np.sqrt(square) if square > COINCIDENT * both else 0.0
            into[i] = 0.0
        return
    columns = X.T.copy()
    for i in range(start, stop):
        into = out[i - start]
        if p == 1:  # squares could vanish
            column, own = columns[0], X[i, 0]
            for j in range(n):
                into[j] = abs(column[j] - own)
            continue
        into[:] = 0.0
        for f in range(p):
            column, own = columns[f], X[i, f]
            for j in range(n):
                into[j] += (column[j] - own) * (column[j] - own)
        for j in range(n):
            into[j] = np.sqrt(into[j])


@compiled
def write_bandwidths(
    distances: np.ndarray, below: int, part: float, share: float, q: np.ndarray
) -> None:  # pragma: no cover
    """Write the quantile of a few samples' distances (rows, n), each one's own 0 among them, into q (rows,).

    It is between two distances in order; where it is 0, it is a share of the distance to the nearest sample elsewhere.
    Positive numbers of single precision are in the order of their bits, and what fills a row up to whole lanes comes
    after all of them.
    """
    n = distances.shape[1]
    row = np.full(-(-n // LANES) * LANES, np.inf, np.float32)
    bits, edges, near = row.view(np.int32), np.empty(2, np.int32), np.int64(FIRST_GUESS)
    for i in range(len(q)):
        for j in range(n):
            row[j] = distances[i, j]
        near = select_kth(bits, below + 1, near)
        low_edge, high_edge, reached = np.int32(near), np.int32(LARGEST_WORD), np.int32(0)
        for j in range(len(bits)):
            reached = np.int32(reached + np.int32(bits[j] <= low_edge))
            high_edge = min(high_edge, bits[j] if bits[j] > low_edge else np.int32(LARGEST_WORD))
        edges[0] = low_edge
        edges[1] = high_edge if reached <= below + 2 and reached < n else low_edge
        low, high = edges.view(np.float32)
        q[i] = low + part * (high - low)
        if q[i] <= 0:
            nearest = np.inf
            for j in range(n):
                if row[j] > 0:
                    nearest = min(nearest, row[j])
            q[i] = share * nearest if nearest < np.inf else 1.0


@compiled
def sort_numbers(x: np.ndarray, ordered: np.ndarray, order: np.ndarray) -> None:  # pragma: no cover
    """Write a few numbers (n,) in order into ``ordered``, and where each one stood into ``order``, by counting."""
    for i in range(len(x)):
        own, place = x[i], np.int32(0)
        for j in range(len(x)):
            place = np.int32(place + np.int32(x[j] < own))
        for j in range(i):
            place = np.int32(place + np.int32(x[j] == own))
        ordered[place], order[place] = own, i


@compiled
def write_line_bandwidths(
    column: np.ndarray, below: int, part: float, share: float, q: np.ndarray
) -> None:  # pragma: no cover
    """Write what :func:`write_bandwidths` does for samples with one feature (n,), without their distances.

    In order, the nearest samples of one are beside it, and from one sample to the next they move on by a few.
    """
    n, k, first = len(column), below + 1, 0
    x, order = np.empty(n, np.float32), np.empty(n, np.int64)
    sort_numbers(column, x, order)
    for i in range(n):
        own = x[i]
        while first + k + 1 < n and x[first + k + 1] - own < own - x[first]:
            first += 1
        low = max(own - x[first], x[first + k] - own)
        high = x[first + k + 1] - own if first + k + 1 < n else np.float32(np.inf)
        high = min(high, own - x[first - 1]) if first > 0 else high
        width = low + part * (high - low) if high < np.inf else float(low)
        if width <= 0:
            nearest = np.inf
            for j in range(n):
                if x[j] != own:
                    nearest = min(nearest, abs(x[j] - own))
            width = share * nearest if nearest < np.inf else 1.0
        q[order[i]] = width


@compiled
def write_scaled_distances(
    X: np.ndarray,
    few: int,
    below: int,
    part: float,
    share: float,
    power: float,
    distances: np.ndarray,
    r: np.ndarray,
) -> None:  # pragma: no cover
    """Write (dist_ij / sqrt(q_i q_j))^power of each pair of samples of X (n, p) into r (m,).

    What is in ``distances`` (rows, n) is lost. Where it has fewer than n rows, distances are computed twice.
    """
    n, rows = len(X), len(distances)
    roots = np.empty(n)
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        write_distances(X, few, start, stop, distances)
        write_bandwidths(distances, below, part, share, roots[start:stop])
    for i in range(n):
        roots[i] = 1.0 / np.sqrt(roots[i])
    at = 0
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        if rows < n:
            write_distances(X, few, start, stop, distances)
        for i in range(start, stop):
            row, others, into = distances[i - start, i + 1 :], roots[i + 1 :], r[at : at + n - 1 - i]
            for j in range(len(into)):
                into[j] = row[j] * (roots[i] * others[j])
            if power == 2.0:
                for j in range(len(into)):
                    into[j] *= into[j]
            elif power != 1.0:
                for j in range(len(into)):
                    into[j] = into[j] ** power
            at += len(into)


@compiled
def add_similarities(r: np.ndarray, weight: float, total: np.ndarray) -> None:  # pragma: no cover
    """Add exp(-r) times a weight to ``total``."""
    share = np.float32(weight)
    for j in range(len(r)):
        total[j] += share * exp_and_rest(max(-r[j], SMALLEST_LOG))[0]


@compiled
def take_logarithms(s: np.ndarray, floor: float) -> None:  # pragma: no cover
    """Make -log s of similarities, in place."""
    least = np.float32(floor)
    for j in range(len(s)):
        s[j] = -log(min(max(s[j], least), ONE))


@compiled
def add_affinities(
    X: np.ndarray | None,
    column: np.ndarray | None,
    few: int,
    below: int,
    part: float,
    share: float,
    weight: float,
    distances: np.ndarray,
    total: np.ndarray,
) -> None:  # pragma: no cover
    """Add exp(-dist^2 / (q_i q_j)) of each pair i < j of samples, times a weight, to ``total``.

    Samples are given as X (n, p) or, with a single feature, as a ``column`` (n,): only what the one that is not None
    needs is compiled. What is in ``distances`` (n, n) is lost. ``total`` has at least n rows and columns, of which
    others are not touched.
    """
    n, of_all = len(distances), np.float32(weight)
    q, roots = np.empty(n), np.empty(n, np.float32)
    if column is not None:
        write_line_bandwidths(column, below, part, share, q)
    if X is not None:
        write_distances(X, few, 0, n, distances)
        write_bandwidths(distances, below, part, share, q)
    for i in range(n):
        roots[i] = 1.0 / np.sqrt(q[i])
    for i in range(n - 1):
        row, others, into, own = distances[i, i + 1 : n], roots[i + 1 :], total[i, i + 1 : n], roots[i]
        if column is not None:
            here, there = column[i], column[i + 1 :]
            for j in range(len(into)):
                row[j] = abs(there[j] - here)
        for j in range(len(into)):
            scaled = row[j] * own * others[j]
            into[j] += of_all * exp_and_rest(max(-scaled * scaled, SMALLEST_LOG))[0]


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
        for j in range(n):
            row[j] = affinity[i, j]
        near = select_kth(bits, n - k, near)
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
