"""Nearest-neighbour graphs of views, compiled: distances, local scaling, and the lazy walk on the neighbours.

Each function is the compiled form of one in :mod:`latentsimplex.similarity` that is written for arrays of any size
and for tensors; matrices are of single precision and symmetric.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex.compute.loops import LN2, compiled

EXPONENT_ONE = 1023
LARGEST_WORD = np.int32(2**31 - 1)
ROWS_AT_ONCE = 256
"""Rows of a product of matrices in double precision that are held at a time."""
TIED = 8
"""Affinities that differ by so many of their last bits are tied: rounding made the difference."""
LEAST_EXPONENT = -700.0
"""Below this a number has an exponential of 0."""
LARGEST_MISS = 1e-13
"""Squared distances below this share of the squares they are the difference of are rounding."""


@compiled
def exponentials(x: np.ndarray, out: np.ndarray) -> None:  # pragma: no cover
    """Write exp(x) into ``out``; x is not positive.

    x = k log 2 + t with |t| <= log(2) / 2, a short series for exp(t), and k added to the exponent's bits.
    """
    for i in range(len(x)):
        y = max(np.float64(x[i]), LEAST_EXPONENT)
        k = np.floor(y / LN2 + 0.5)
        t = y - k * LN2
        series = 1 / 40320
        series = series * t + 1 / 5040
        series = series * t + 1 / 720
        series = series * t + 1 / 120
        series = series * t + 1 / 24
        series = series * t + 1 / 6
        series = series * t + 1 / 2
        series = series * t + 1.0
        series = series * t + 1.0
        power = np.int64((np.int64(k) + EXPONENT_ONE) << 52).view(np.float64)
        out[i] = series * power


@compiled
def distances_between(X: np.ndarray, few: int, out: np.ndarray) -> None:  # pragma: no cover
    """Write the Euclidean distances between the rows of X (n, p) into ``out`` (n, n)."""
    n, p = X.shape
    if p > few:  # differences of squares need the digits
        wide = np.empty((n, p))
        for f in range(p):
            mean = 0.0
            for i in range(n):
                mean += X[i, f]
            for i in range(n):
                wide[i, f] = X[i, f] - mean / n
        norms = np.zeros(n)
        for i in range(n):
            for f in range(p):
                norms[i] += wide[i, f] * wide[i, f]
        for start in range(0, n, ROWS_AT_ONCE):
            products = np.dot(wide[start : start + ROWS_AT_ONCE], wide.T)
            for i in range(start, min(start + ROWS_AT_ONCE, n)):
                norm, row, into = norms[i], products[i - start], out[i]
                for j in range(n):
                    both = norm + norms[j]
                    square = both - 2.0 * row[j]
                    into[j] = np.sqrt(square) if square > LARGEST_MISS * both else 0.0
                into[i] = 0.0
        return
    columns = X.T.copy()
    if p == 1:  # squares could vanish
        for i in range(n):
            into, column, own = out[i], columns[0], X[i, 0]
            for j in range(n):
                into[j] = abs(column[j] - own)
        return
    for i in range(n):
        into = out[i]
        into[:] = 0.0
        for f in range(p):
            column, own = columns[f], X[i, f]
            for j in range(n):
                into[j] += (column[j] - own) * (column[j] - own)
        for j in range(n):
            into[j] = np.sqrt(into[j])


@compiled
def ordered(bits: np.ndarray, k: int) -> Any:  # pragma: no cover
    """Return the k-th smallest (from 0) of whole numbers, by halving the range it lies in until it is alone there."""
    least, most = bits[0], bits[0]
    for j in range(len(bits)):
        least, most = min(least, bits[j]), max(most, bits[j])
    low, high = np.int64(least), np.int64(most)
    while low < high:
        middle = np.int32((low + high) >> 1)
        count = np.int32(0)
        for j in range(len(bits)):
            count = np.int32(count + np.int32(bits[j] <= middle))
        if count == k + 1:
            found = least
            for j in range(len(bits)):
                found = max(found, bits[j] if bits[j] <= middle else least)
            return np.int64(found)
        if count > k:
            high = np.int64(middle)
        else:
            low = np.int64(middle) + 1
    return low


@compiled
def bandwidth(row: np.ndarray, below: int, part: float, share: float) -> Any:  # pragma: no cover
    """Return the quantile of a sample's distances (n,), its own 0 among them, between two in order.

    Where that is 0, it is a share of the distance to the nearest sample elsewhere. Positive numbers of single precision
    are in the order of their bits.
    """
    bits = row.view(np.int32)
    edges = np.full(2, ordered(bits, below + 1), np.int32)
    low_edge, high_edge, reached = edges[0], LARGEST_WORD, np.int32(0)
    for j in range(len(row)):
        reached = np.int32(reached + np.int32(bits[j] <= low_edge))
    if reached <= below + 2 and reached < len(row):
        for j in range(len(row)):
            high_edge = min(high_edge, bits[j] if bits[j] > low_edge else LARGEST_WORD)
        edges[1] = high_edge
    low, high = edges.view(np.float32)
    q = low + part * (high - low)
    if q > 0:
        return q
    nearest = np.inf
    for j in range(len(row)):
        if row[j] > 0:
            nearest = min(nearest, row[j])
    return share * nearest if nearest < np.inf else 1.0


@compiled
def add_affinities(
    X: np.ndarray, few: int, below: int, part: float, share: float, distances: np.ndarray, total: np.ndarray
) -> None:  # pragma: no cover
    """Add exp(-dist^2 / (q_i q_j)) of each pair i < j of samples of X (n, p) to ``total`` (n, n)."""
    n = len(X)
    q, exponents = np.empty(n), np.empty(n)
    distances_between(X, few, distances)
    for i in range(n):
        q[i] = 1.0 / bandwidth(distances[i], below, part, share)
    for i in range(n - 1):
        width = n - 1 - i
        row, others, into, values = distances[i, i + 1 :], q[i + 1 :], total[i, i + 1 :], exponents[:width]
        for j in range(width):
            values[j] = -np.float64(row[j]) * row[j] * q[i] * others[j]
        exponentials(values, values)
        for j in range(width):
            into[j] += values[j]


@compiled
def make_walk(affinity: np.ndarray, k: int, tiny: float) -> None:  # pragma: no cover
    """Make M = (I + N) / 2 of affinities i < j, in place, N the normalised graph of k nearest neighbours."""
    n = len(affinity)
    least, degree = np.empty(n, np.int32), np.zeros(n)
    for i in range(n):
        affinity[i, i] = -1.0  # no sample is its own neighbour
        for j in range(i):
            affinity[i, j] = affinity[j, i]
    for i in range(n):
        least[i] = ordered(affinity[i].view(np.int32), n - k) - TIED
    for i in range(n):
        row, own = affinity[i], least[i]
        bits = row.view(np.int32)
        for j in range(n):
            row[j] = (row[j] if bits[j] >= min(own, least[j]) else np.float32(0.0)) + np.float32(tiny)
        row[i] = tiny
        for j in range(n):
            degree[i] += row[j]
    for i in range(n):
        degree[i] = 1.0 / np.sqrt(degree[i])
    for i in range(n):
        row, own = affinity[i], 0.5 * degree[i]
        for j in range(n):
            row[j] *= own * degree[j]
        row[i] += 0.5


@compiled
def varying_features(X: np.ndarray) -> np.ndarray:  # pragma: no cover
    """Return the features of X (n, p) that are not the same for all samples."""
    found, many = np.empty(X.shape[1], np.intp), 0
    for f in range(X.shape[1]):
        differing = 0
        for i in range(1, len(X)):
            differing += X[i, f] != X[0, f]
        if differing:
            found[many] = f
            many += 1
    return found[:many]


@compiled
def make_walk_of(
    X: np.ndarray,
    per_feature: bool,
    few: int,
    below: int,
    part: float,
    share: float,
    k: int,
    tiny: float,
    distances: np.ndarray,
    affinity: np.ndarray,
) -> None:  # pragma: no cover
    """Write M of a view X (n, p) into ``affinity`` (n, n), which is 0: :meth:`latentsimplex.similarity.Diffusion.walk`.

    What is in ``distances`` (n, n) is lost.
    """
    n = len(X)
    if per_feature:
        varying = varying_features(X)
        for f in varying:
            add_affinities(X[:, f : f + 1].copy(), few, below, part, share, distances, affinity)
        scale = np.float32(1.0 / max(len(varying), 1))
        for i in range(n):
            row = affinity[i]
            for j in range(n):
                row[j] *= scale
    else:
        add_affinities(X, few, below, part, share, distances, affinity)
    make_walk(affinity, k, tiny)
