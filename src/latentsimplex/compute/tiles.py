"""Co-assignments of many samples and the gradient in their memberships, compiled: in single precision.

These are :func:`latentsimplex.compute.loops.row_terms` and :func:`~latentsimplex.compute.loops.row_objective` with half
the bytes; the gradient takes two samples at a time and so makes twice the use of what is loaded. Terms are added up in
single precision along a strip of pairs and in double from strip to strip.
"""

from __future__ import annotations

import numpy as np

from latentsimplex.compute.loops import STRIP, compiled
from latentsimplex.compute.singles import NONE, ONE, log_of
from latentsimplex.divergence import P_CLIP

LEAST, MOST = np.float32(P_CLIP), np.float32(1.0 - np.finfo(np.float32).eps)
"""Expected similarities are kept off 0 and, as far as the precision goes, off 1."""


@compiled
def slopes(p: np.ndarray, s: np.ndarray, gamma: float, forward: bool) -> float:  # pragma: no cover
    """Return sum [gamma h(p) - s a(p)] over a strip; write the slope in p over p itself."""
    mass, total = np.float32(gamma), NONE
    if forward:
        for j in range(len(p)):
            q = min(max(p[j], LEAST), MOST)
            rest = ONE - q
            total += (s[j] - mass) * log_of(rest) - s[j] * log_of(q)
            p[j] = (mass * q - s[j]) / (q * rest)
    else:
        for j in range(len(p)):
            q = min(max(p[j], LEAST), MOST)
            log_rest = log_of(ONE - q)
            slope = mass * (log_of(q) - log_rest) - s[j]
            total += mass * log_rest + q * slope
            p[j] = slope
    return np.float64(total)


@compiled
def one_row(
    left: np.ndarray,
    right: np.ndarray,
    i: int,
    first: int,
    s: np.ndarray,
    gamma: float,
    forward: bool,
    GW: np.ndarray,
    p: np.ndarray,
) -> float:  # pragma: no cover
    """Return the terms of sample i with the samples from ``first`` on, as many as s has; add to GW."""
    width = len(s)
    p = p[:width]
    p[:] = NONE
    for k in range(len(left)):
        weight, column = left[k, i], right[k, first : first + width]
        for j in range(width):
            p[j] += weight * column[j]
    total = slopes(p, s, gamma, forward)
    for k in range(len(left)):
        column, gradient = right[k, first : first + width], GW[k, first : first + width]
        weight, own = right[k, i], NONE
        for j in range(width):
            own += p[j] * column[j]
            gradient[j] += p[j] * weight
        GW[k, i] += own
    return total


@compiled
def two_rows(
    left: np.ndarray,
    right: np.ndarray,
    i: int,
    first: int,
    s: np.ndarray,
    t: np.ndarray,
    gamma: float,
    forward: bool,
    GW: np.ndarray,
    p: np.ndarray,
    q: np.ndarray,
) -> float:  # pragma: no cover
    """Return the terms of samples i and i + 1 with those from ``first`` on, as many as s and t have; add to GW."""
    width = len(s)
    p, q = p[:width], q[:width]
    p[:] = NONE
    q[:] = NONE
    g = len(left)
    for k in range(0, g - 1, 2):
        a, b, c, e = left[k, i], left[k, i + 1], left[k + 1, i], left[k + 1, i + 1]
        column, other = right[k, first : first + width], right[k + 1, first : first + width]
        for j in range(width):
            p[j] += a * column[j] + c * other[j]
            q[j] += b * column[j] + e * other[j]
    if g % 2:
        a, b, column = left[g - 1, i], left[g - 1, i + 1], right[g - 1, first : first + width]
        for j in range(width):
            p[j] += a * column[j]
            q[j] += b * column[j]
    total = slopes(p, s, gamma, forward) + slopes(q, t, gamma, forward)
    for k in range(g):
        column, gradient = right[k, first : first + width], GW[k, first : first + width]
        a, b = right[k, i], right[k, i + 1]
        own, next_own = NONE, NONE
        for j in range(width):
            own += p[j] * column[j]
            next_own += q[j] * column[j]
            gradient[j] += p[j] * a + q[j] * b
        GW[k, i] += own
        GW[k, i + 1] += next_own
    return total


@compiled
def tile_objective(
    left: np.ndarray,
    right: np.ndarray,
    gamma: float,
    stat: np.ndarray,
    start: int,
    stop: int,
    forward: bool,
    GW: np.ndarray,
) -> float:  # pragma: no cover
    """Return sum [gamma h(q) - stat a(q)] over the pairs of rows start..stop; add G W to GW (g, n).

    ``left`` is (W B)^T and ``right`` W^T, both (g, n); ``stat`` has the packed pairs of these rows.
    """
    n = left.shape[1]
    p, q = np.empty(STRIP, np.float32), np.empty(STRIP, np.float32)
    total, at, i = 0.0, 0, start
    while i < stop:
        if i + 1 < stop:
            total += one_row(left, right, i, i + 1, stat[at : at + 1], gamma, forward, GW, p)
            row, next_row = stat[at + 1 : at + n - 1 - i], stat[at + n - 1 - i : at + 2 * (n - 1 - i) - 1]
            for first in range(i + 2, n, STRIP):
                here = slice(first - i - 2, min(first + STRIP, n) - i - 2)
                total += two_rows(left, right, i, first, row[here], next_row[here], gamma, forward, GW, p, q)
            at += 2 * (n - 1 - i) - 1
            i += 2
        else:
            row = stat[at : at + n - 1 - i]
            for first in range(i + 1, n, STRIP):
                here = slice(first - i - 1, min(first + STRIP, n) - i - 1)
                total += one_row(left, right, i, first, row[here], gamma, forward, GW, p)
            at += n - 1 - i
            i += 1
    return total


@compiled
def tile_terms(
    left: np.ndarray, right: np.ndarray, start: int, stop: int, forward: bool, A: np.ndarray
) -> float:  # pragma: no cover
    """Write a(q) of the pairs of rows start..stop into A, packed, and return their sum of h(q)."""
    n = left.shape[1]
    total, at = 0.0, 0
    for i in range(start, stop):
        for first in range(i + 1, n, STRIP):
            width = min(STRIP, n - first)
            p, part = A[at : at + width], NONE
            p[:] = NONE
            for k in range(len(left)):
                weight, column = left[k, i], right[k, first : first + width]
                for j in range(width):
                    p[j] += weight * column[j]
            for j in range(width):
                q = min(max(p[j], LEAST), MOST)
                log_p, log_rest = log_of(q), log_of(ONE - q)
                part += -log_rest if forward else q * (log_p - log_rest) + log_rest
                p[j] = log_p - log_rest if forward else q
            total += np.float64(part)
            at += width
    return total
