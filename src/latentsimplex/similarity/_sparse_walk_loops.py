"""Squared distances of many samples, compiled: their quantiles, and who is nearest when they are scaled.

Positive numbers of single precision are in the order of their bits, and what fills a row up to whole lanes comes after
all of them.
"""

from __future__ import annotations

import numpy as np

from latentsimplex.base.compiled import compiled
from latentsimplex.base.float_math import FIRST_GUESS, LANES, LARGEST_WORD, select_kth
from latentsimplex.base.types import Array


@compiled
def write_squares(
    heights: Array,
    lengths: Array,
    first: int,
    coincident: float,
    rank: int,
    squares: np.ndarray,
    quantiles: np.ndarray,
) -> None:  # pragma: no cover
    """Write squared distances (b, n) of samples from ``first`` on, and two of each in order, ``quantiles`` (2, b).

    Those from samples before these are there. Others are ``heights`` (b, n - first) and the ``lengths`` (n,) of both
    samples, 0 below so small a share of these. The two are those of a rank, from 0, and of the next.
    """
    n_rows, n = squares.shape
    row = np.full(-(-n // LANES) * LANES, np.inf, np.float32)
    bits, near, ends = row.view(np.int32), np.int64(FIRST_GUESS), np.empty(2, np.int32)
    for i in range(n_rows):
        own, into = lengths[first + i], squares[i]
        for j in range(first):
            row[j] = into[j]
        for j in range(first, n):
            both = own + lengths[j]
            square = both + heights[i, j - first]
            row[j] = square if square > coincident * both else 0.0
        row[first + i] = 0.0
        for j in range(n):
            into[j] = row[j]
        near = select_kth(bits, rank, near)
        low, high, reached = np.int32(near), np.int32(LARGEST_WORD), np.int32(0)
        for j in range(len(bits)):
            reached = np.int32(reached + np.int32(bits[j] <= low))
            high = min(high, bits[j] if bits[j] > low else np.int32(LARGEST_WORD))
        ends[0] = low
        ends[1] = high if reached <= rank + 1 and reached < n else low
        quantiles[0, i], quantiles[1, i] = ends.view(np.float32)


@compiled
def scale_squares(
    squares: np.ndarray, inverse: Array, k: int, most: float, edges: np.ndarray
) -> None:  # pragma: no cover
    """Multiply squares (n, n) by a factor of each of two samples, in place, and write the k-th least into ``edges``.

    They are ``most`` at most, and infinite for a sample and itself.
    """
    n = len(squares)
    row = np.full(-(-n // LANES) * LANES, np.inf, np.float32)
    bits, near, ends = row.view(np.int32), np.int64(FIRST_GUESS), edges.view(np.int32)
    for i in range(n):
        into, own = squares[i], inverse[i]
        for j in range(n):
            row[j] = min(into[j] * own * inverse[j], most)
        row[i] = np.inf
        for j in range(n):
            into[j] = row[j]
        near = select_kth(bits, k - 1, near)
        ends[i] = near
