"""The innermost loops, compiled: the pairs of one pattern.

Samples run along the last axis of every array that a loop walks, and a loop walks slices from 0 on, so that it
works on several samples at once. The logarithm is our own: exponent bits and a short series, good to rounding, where
a library's would be called once for each number. Compiled code is cached beside this file.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from latentsimplex._types import Array
from latentsimplex.divergence import P_CLIP

LN2 = float(np.log(2.0))
HALF = 0x3FE0000000000000
"""The bits of 0.5."""
MANTISSA = 0x000FFFFFFFFFFFFF
ROOT_HALF = float(np.sqrt(0.5))
STRIP = 1024
"""Samples of a row that are dealt with at a time: what a strip needs stays in the nearest cache."""

compiled = njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy")


@compiled
def logarithms(x: np.ndarray, out: np.ndarray) -> None:  # pragma: no cover
    """Write log x into ``out``; x is positive and normal.

    x = 2^e m with m in [sqrt(1/2), sqrt(2)), and log m = 2 artanh(t) with t = (m - 1) / (m + 1).
    """
    for i in range(len(x)):
        bits = np.float64(x[i]).view(np.int64)
        m = np.int64((bits & MANTISSA) | HALF).view(np.float64)
        low = m < ROOT_HALF
        m = m + m if low else m
        e = np.float64((bits >> 52) - 1022) - (1.0 if low else 0.0)
        t = (m - 1.0) / (m + 1.0)
        u = t * t
        series = 1 / 19
        series = series * u + 1 / 17
        series = series * u + 1 / 15
        series = series * u + 1 / 13
        series = series * u + 1 / 11
        series = series * u + 1 / 9
        series = series * u + 1 / 7
        series = series * u + 1 / 5
        series = series * u + 1 / 3
        out[i] = e * LN2 + 2.0 * t * (series * u + 1.0)


@compiled
def expected_similarities(
    left: Array, right: Array, i: int, q: Array, first: int
) -> None:  # pragma: no cover
    """Write sum_k left[k, i] right[k, first + j], kept off 0 and 1, into q[j]; both (g, n)."""
    g, width = len(left), len(q)
    q[:] = 0.0
    for k in range(0, g - 1, 2):
        one, two = left[k, i], left[k + 1, i]
        first_column, second_column = right[k, first : first + width], right[k + 1, first : first + width]
        for j in range(width):
            q[j] += one * first_column[j] + two * second_column[j]
    if g % 2:
        weight, column = left[g - 1, i], right[g - 1, first : first + width]
        for j in range(width):
            q[j] += weight * column[j]
    for j in range(width):
        q[j] = min(max(q[j], P_CLIP), 1.0 - P_CLIP)


@compiled
def row_terms(
    left: Array, right: Array, start: int, stop: int, forward: bool, A: Array
) -> float:  # pragma: no cover
    """Write a(q) of the pairs of rows start..stop into A, packed, and return their sum of h(q)."""
    n = left.shape[1]
    q, log_p, log_q = np.empty(STRIP), np.empty(STRIP), np.empty(STRIP)
    total, at = 0.0, 0
    for i in range(start, stop):
        for first in range(i + 1, n, STRIP):
            width = min(STRIP, n - first)
            p = q[:width]
            expected_similarities(left, right, i, p, first)
            logarithms(p, log_p[:width])
            rest = A[at : at + width]
            for j in range(width):
                rest[j] = 1.0 - p[j]
            logarithms(rest, log_q[:width])
            part = 0.0
            if forward:
                for j in range(width):
                    rest[j] = log_p[j] - log_q[j]
                    part -= log_q[j]
            else:
                for j in range(width):
                    rest[j] = p[j]
                    part += p[j] * (log_p[j] - log_q[j]) + log_q[j]
            total += part
            at += width
    return total


@compiled
def row_objective(
    left: Array,
    right: Array,
    gamma: float,
    stat: Array,
    start: int,
    stop: int,
    forward: bool,
    GW: Array,
) -> float:  # pragma: no cover
    """Return sum [gamma h(q) - stat a(q)] over the pairs of rows start..stop; add G W to GW (g, n).

    ``left`` is (W B)^T and ``right`` W^T, both (g, n); ``stat`` has the packed pairs of these rows.
    """
    g, n = left.shape
    q, log_p, log_q = np.empty(STRIP), np.empty(STRIP), np.empty(STRIP)
    total, at = 0.0, 0
    for i in range(start, stop):
        for first in range(i + 1, n, STRIP):
            width = min(STRIP, n - first)
            p, s = q[:width], stat[at : at + width]
            expected_similarities(left, right, i, p, first)
            logarithms(p, log_p[:width])
            slope = log_q[:width]
            for j in range(width):
                slope[j] = 1.0 - p[j]
            logarithms(slope, slope)
            part = 0.0
            if forward:
                for j in range(width):
                    part += (s[j] - gamma) * log_q[j] - s[j] * log_p[j]
                    slope[j] = (gamma * p[j] - s[j]) / (p[j] * (1.0 - p[j]))
            else:
                for j in range(width):
                    rest = log_q[j]
                    slope[j] = gamma * (log_p[j] - rest) - s[j]
                    part += gamma * rest + p[j] * slope[j]
            total += part
            for k in range(g):
                column, gradient = right[k, first : first + width], GW[k, first : first + width]
                weight, own = right[k, i], 0.0
                for j in range(width):
                    own += slope[j] * column[j]
                    gradient[j] += slope[j] * weight
                GW[k, i] += own
            at += width
    return total
