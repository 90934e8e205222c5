"""The pairs of one pattern, compiled: their expected similarities, divergence and gradient, in either precision.

The precision is that of the arrays that come in. Samples run along the last axis of every array that a loop walks, in
strips that stay in the nearest cache, so that it works on many samples at once; the gradient takes two rows of pairs
at a time, so that what is loaded is used twice. Terms are added up in the precision of the arrays along a strip and in
double from strip to strip.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex.base.compiled import STRIP, compiled
from latentsimplex.pairs.divergence import P_CLIP
from latentsimplex.pairs.divergence_loops import (
    forward_a_and_h,
    forward_value_and_slope,
    reverse_a_and_h,
    reverse_value_and_slope,
)

FEW_SAMPLES = 160
"""With no more samples than this the expected similarities of all pairs are one product of matrices."""


def find_first_row(n_samples: int) -> int | None:
    """Return where :func:`add_gradient` starts with all pairs: nowhere if they are one product."""
    return None if n_samples <= FEW_SAMPLES else 0


@compiled
def clip_bounds(x: np.ndarray) -> tuple[Any, Any]:  # pragma: no cover
    """Return how near to 0 and to 1 expected similarities may come, as far as the precision of x goes."""
    kind = x.dtype.type
    return kind(P_CLIP), kind(1.0 - max(P_CLIP, np.finfo(x.dtype).eps))


@compiled
def write_slopes(q: np.ndarray, s: np.ndarray, mass: Any, forward: bool) -> Any:  # pragma: no cover
    """Return sum [mass h(q) - s a(q)] over a strip; write the slope in q over q itself."""
    least, most = clip_bounds(q)
    total = q.dtype.type(0.0)
    if forward:
        for j in range(len(q)):
            value, q[j] = forward_value_and_slope(min(max(q[j], least), most), mass, s[j])
            total += value
    else:
        for j in range(len(q)):
            value, q[j] = reverse_value_and_slope(min(max(q[j], least), most), mass, s[j])
            total += value
    return np.float64(total)


@compiled
def one_row(
    left: np.ndarray,
    right: np.ndarray,
    i: int,
    first: int,
    s: np.ndarray,
    mass: Any,
    forward: bool,
    GW: np.ndarray,
    p: np.ndarray,
) -> float:  # pragma: no cover
    """Return the terms of sample i with the samples from ``first`` on, as many as s has; add to GW."""
    width = len(s)
    p = p[:width]
    p[:] = 0.0
    for k in range(len(left)):
        weight, column = left[k, i], right[k, first : first + width]
        for j in range(width):
            p[j] += weight * column[j]
    total = write_slopes(p, s, mass, forward)
    for k in range(len(left)):
        column, gradient = right[k, first : first + width], GW[k, first : first + width]
        weight, own = right[k, i], right.dtype.type(0.0)
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
    mass: Any,
    forward: bool,
    GW: np.ndarray,
    p: np.ndarray,
    q: np.ndarray,
) -> float:  # pragma: no cover
    """Return the terms of samples i and i + 1 with those from ``first`` on, as many as s and t have; add to GW."""
    width, g = len(s), len(left)
    p, q = p[:width], q[:width]
    p[:] = 0.0
    q[:] = 0.0
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
    total = write_slopes(p, s, mass, forward) + write_slopes(q, t, mass, forward)
    for k in range(g):
        column, gradient = right[k, first : first + width], GW[k, first : first + width]
        a, b = right[k, i], right[k, i + 1]
        own, next_own = right.dtype.type(0.0), right.dtype.type(0.0)
        for j in range(width):
            own += p[j] * column[j]
            next_own += q[j] * column[j]
            gradient[j] += p[j] * a + q[j] * b
        GW[k, i] += own
        GW[k, i + 1] += next_own
    return total


@compiled
def all_pairs(
    left: np.ndarray, right: np.ndarray, s: np.ndarray, mass: Any, forward: bool, GW: np.ndarray
) -> float:  # pragma: no cover
    """Return the terms of all pairs of few samples, s; add to GW.

    Their matrix fits into a near cache, and the slopes of all are one loop: those along short rows are mostly rest.
    """
    (g, n), at, total = left.shape, 0, 0.0
    G, p, more = np.empty((n, n), left.dtype), np.empty(len(s), left.dtype), np.empty((g, n), left.dtype)
    turned = np.empty((n, g), left.dtype)
    for k in range(g):
        for i in range(n):
            turned[i, k] = left[k, i]
    np.dot(turned, right, G)  # in the one form of products that is compiled
    for i in range(n - 1):
        row, into = G[i, i + 1 :], p[at : at + n - 1 - i]
        for j in range(len(into)):
            into[j] = row[j]
        at += n - 1 - i
    for first in range(0, at, STRIP):
        last = min(first + STRIP, at)
        total += write_slopes(p[first:last], s[first:last], mass, forward)
    at = 0
    for i in range(n):
        row, slopes = G[i], p[at : at + n - 1 - i]
        for j in range(i):
            row[j] = G[j, i]
        row[i] = 0.0
        for j in range(len(slopes)):
            row[i + 1 + j] = slopes[j]
        at += n - 1 - i
    np.dot(right, G, more)
    for k in range(g):
        for j in range(n):
            GW[k, j] += more[k, j]
    return total


@compiled
def add_gradient(
    left: np.ndarray,
    right: np.ndarray,
    mass: float,
    stat: np.ndarray,
    start: int | None,
    stop: int,
    forward: bool,
    GW: np.ndarray,
) -> float:  # pragma: no cover
    """Return sum [mass h(q) - stat a(q)] over the pairs of rows start..stop; add G W to GW (g, n).

    ``left`` is (W B)^T and ``right`` W^T, both (g, n); ``stat`` has the packed pairs of these rows. No start is the way
    of all pairs of few samples: which way it is is known when loops are compiled, each without the other.
    """
    n, own_mass = left.shape[1], left.dtype.type(mass)
    if start is None:
        return all_pairs(left, right, stat, own_mass, forward, GW)
    p, q = np.empty(STRIP, left.dtype), np.empty(STRIP, left.dtype)
    total, at, i = 0.0, 0, start
    while i < stop:
        if i + 1 < stop:
            total += one_row(left, right, i, i + 1, stat[at : at + 1], own_mass, forward, GW, p)
            row, next_row = stat[at + 1 : at + n - 1 - i], stat[at + n - 1 - i : at + 2 * (n - 1 - i) - 1]
            for first in range(i + 2, n, STRIP):
                here = slice(first - i - 2, min(first + STRIP, n) - i - 2)
                total += two_rows(
                    left, right, i, first, row[here], next_row[here], own_mass, forward, GW, p, q
                )
            at += 2 * (n - 1 - i) - 1
            i += 2
        else:
            row = stat[at : at + n - 1 - i]
            for first in range(i + 1, n, STRIP):
                here = slice(first - i - 1, min(first + STRIP, n) - i - 1)
                total += one_row(left, right, i, first, row[here], own_mass, forward, GW, p)
            at += n - 1 - i
            i += 1
    return total


@compiled
def write_terms(
    left: np.ndarray, right: np.ndarray, start: int, stop: int, forward: bool, A: np.ndarray
) -> float:  # pragma: no cover
    """Write a(q) of the pairs of rows start..stop into A, packed, and return their sum of h(q)."""
    n, (least, most) = left.shape[1], clip_bounds(A)
    total, at, zero = 0.0, 0, A.dtype.type(0.0)
    for i in range(start, stop):
        for first in range(i + 1, n, STRIP):
            width = min(STRIP, n - first)
            p, part = A[at : at + width], zero
            p[:] = zero
            for k in range(len(left)):
                weight, column = left[k, i], right[k, first : first + width]
                for j in range(width):
                    p[j] += weight * column[j]
            if forward:
                for j in range(width):
                    p[j], h = forward_a_and_h(min(max(p[j], least), most))
                    part += h
            else:
                for j in range(width):
                    p[j], h = reverse_a_and_h(min(max(p[j], least), most))
                    part += h
            total += np.float64(part)
            at += width
    return total
