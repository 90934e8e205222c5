"""The logarithm, of either precision, the exponential of single precision, and the k-th smallest number, compiled.

A library's would be called once for each number. Logarithm and exponential are a few products each, good to rounding,
and loops over them work on many numbers at once. So does selection, by counting: positive numbers of single precision
are in the order of their bits, read as whole numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from latentsimplex.base.compiled import COMPILED, compiled

LN2, PER_LN2 = np.float32(np.log(2.0)), np.float32(1 / np.log(2.0))
LN2_HIGH, LN2_LOW = np.float32(0.693359375), np.float32(np.log(2.0) - 0.693359375)
"""log 2 in two parts: products of the first with small whole numbers are exact."""
HALF_BITS, MANTISSA = np.int32(0x3F000000), np.int32(0x007FFFFF)
"""The bits of 0.5, and those after the exponent."""
WIDE_HALF_BITS, WIDE_MANTISSA = 0x3FE0000000000000, 0x000FFFFFFFFFFFFF
"""The same in double precision."""
ROOT_HALF, WIDE_LN2, WIDE_ROOT_HALF = np.float32(np.sqrt(0.5)), float(np.log(2.0)), float(np.sqrt(0.5))
ZERO, HALF, ONE, TWO = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(2.0)
THIRD, FIFTH, SEVENTH, NINTH = np.float32(1 / 3), np.float32(1 / 5), np.float32(1 / 7), np.float32(1 / 9)
C3, C4, C5 = np.float32(1 / 6), np.float32(1 / 24), np.float32(1 / 120)
C6, C7 = np.float32(1 / 720), np.float32(1 / 5040)

LEAST_WORD, LARGEST_WORD = -(2**31), 2**31 - 1
FIRST_GUESS, FIRST_STRIDE = 0x3F800000, 1 << 20
"""Where selection begins, at the bits of 1, and how far it looks first, a tenth of a number; then eight times that."""
LANES = 64
"""A loop along a row has no rest where its length is whole lanes."""


def log(x: Any) -> Any:
    """Return log x of a positive, normal number, in its own precision; for compiled loops alone.

    x = 2^e m with m in [sqrt(1/2), sqrt(2)), and log m = 2 artanh(t) with t = (m - 1) / (m + 1), as a series in t.
    """
    raise NotImplementedError("this function is for compiled loops")


@overload(log, jit_options=COMPILED)  # type: ignore[arg-type]
def _log(x: Any) -> Any:  # pragma: no cover
    """Return the function that computes the logarithm of a type of numbers."""

    def single(x: Any) -> Any:
        bits = np.float32(x).view(np.int32)
        m = np.int32((bits & MANTISSA) | HALF_BITS).view(np.float32)
        low = m < ROOT_HALF
        m = m + m if low else m
        e = np.float32(np.int32(bits >> 23) - np.int32(126)) - (ONE if low else ZERO)
        t = (m - ONE) / (m + ONE)
        u = t * t
        return e * LN2 + TWO * t * ((((NINTH * u + SEVENTH) * u + FIFTH) * u + THIRD) * u + ONE)

    def double(x: Any) -> Any:
        bits = np.float64(x).view(np.int64)
        m = np.int64((bits & WIDE_MANTISSA) | WIDE_HALF_BITS).view(np.float64)
        low = m < WIDE_ROOT_HALF
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
        return e * WIDE_LN2 + 2.0 * t * (series * u + 1.0)

    return single if x == types.float32 else double


@compiled
def exp_and_rest(x: Any) -> tuple[Any, Any]:  # pragma: no cover
    """Return exp(x) and 1 - exp(x) for x in [-80, 0]; the second has all its digits where x is small too.

    x = k log 2 + t with |t| <= log(2) / 2, and a short series for exp(t) - 1.
    """
    k = np.floor(x * PER_LN2 + HALF)
    t = (x - k * LN2_HIGH) - k * LN2_LOW
    rise = t * ((((((C7 * t + C6) * t + C5) * t + C4) * t + C3) * t + HALF) * t + ONE)
    power = np.int32((np.int32(k) + np.int32(127)) << 23).view(np.float32)
    s = power + power * rise
    return s, -rise if k > -HALF else ONE - s


@compiled
def select_kth(bits: np.ndarray, k: int, near: Any) -> Any:  # pragma: no cover
    """Return the k-th smallest (from 0) of whole numbers; the search begins at ``near``.

    The range that it lies in is narrowed down, by counting the numbers up to three places within, until one of its ends
    has it for its neighbour. The places are around where it would be if the numbers were spread evenly, and quarters of
    the range after a time that did not halve it.
    """
    low: Any = LEAST_WORD - 1
    high: Any = LARGEST_WORD
    place: Any = np.int64(near)
    below, within, stride = np.int64(0), np.int64(len(bits)), np.int64(FIRST_STRIDE)
    while below != k and within != k + 1 and high - low > 1:
        width = high - low
        first = min(max(place - stride, low + 1), high - 1)
        middle = min(max(place, low + 1), high - 1)
        last = min(max(place + stride, low + 1), high - 1)
        a, b, c = np.int32(first), np.int32(middle), np.int32(last)
        up_to_a, up_to_b, up_to_c = np.int32(0), np.int32(0), np.int32(0)
        for j in range(len(bits)):
            up_to_a = np.int32(up_to_a + np.int32(bits[j] <= a))
            up_to_b = np.int32(up_to_b + np.int32(bits[j] <= b))
            up_to_c = np.int32(up_to_c + np.int32(bits[j] <= c))
        if up_to_a > k:
            high, within = first, np.int64(up_to_a)
        elif up_to_b > k:
            low, below, high, within = first, np.int64(up_to_a), middle, np.int64(up_to_b)
        elif up_to_c > k:
            low, below, high, within = middle, np.int64(up_to_b), last, np.int64(up_to_c)
        else:
            low, below = last, np.int64(up_to_c)
        if low < LEAST_WORD:
            stride *= 8
            place = high - 2 * stride
        elif high == LARGEST_WORD:
            stride *= 8
            place = low + 2 * stride
        elif 2 * (high - low) > width:
            place, stride = low + (high - low) // 2, (high - low) // 4
        else:
            inside = within - below
            place = low + np.int64((high - low) * ((k + 0.5 - below) / inside))
            stride = np.int64((high - low) * min(0.25, 1.5 / inside))
    if within == k + 1:
        edge, found = np.int32(high), np.int32(LEAST_WORD)
        for j in range(len(bits)):
            found = max(found, bits[j] if bits[j] <= edge else np.int32(LEAST_WORD))
        return np.int64(found)
    edge, found = np.int32(low + 1), np.int32(LARGEST_WORD)
    for j in range(len(bits)):
        found = min(found, bits[j] if bits[j] >= edge else np.int32(LARGEST_WORD))
    return np.int64(found)
