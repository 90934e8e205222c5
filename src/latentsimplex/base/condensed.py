"""Pairs of samples as one flat vector, in SciPy's condensed order (0,1), (0,2), ..., (1,2), ...

A symmetric n x n matrix without its diagonal is m = n(n-1)/2 numbers. Rows of the upper triangle
are contiguous, so a tile of rows is a slice.
"""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import squareform

from latentsimplex.base.arrays import array_namespace, is_tensor, stack

MOST_INDEXED = 1024
"""Larger matrices are packed one by one: a table of positions would take more memory than it saves time."""


def count_pairs(n: int) -> int:
    """Return the number of pairs of n samples."""
    return n * (n - 1) // 2


def count_samples(m: int) -> int:
    """Return the number of samples that have m pairs."""
    return (1 + math.isqrt(1 + 8 * m)) // 2


def first_pair_of_row(i: int, n: int) -> int:
    """Return where the pairs (i, i+1), (i, i+2), ... start in the flat vector.

    >>> first_pair_of_row(1, 4)
    3
    """
    return i * n - i * (i + 1) // 2


def pack_pairs(square: Any) -> Any:
    """Return the pairs of a symmetric matrix, or of each of several; diagonals are dropped.

    >>> pack_pairs(np.array([[[1.0, 0.5], [0.5, 1.0]]])).tolist()
    [[0.5]]
    """
    if square.ndim == 3:
        n = square.shape[-1]
        if n > MOST_INDEXED:
            return stack([pack_pairs(one) for one in square])
        flat = square.reshape(len(square), n * n)
        if is_tensor(square):
            return flat[:, _positions(n, str(square.device))]
        return flat.take(_positions(n), axis=1)
    if is_tensor(square):
        return square.masked_select(_above_diagonal(square))
    return squareform(square, checks=False)


@lru_cache(maxsize=16)
def _positions(n: int, device: str = "") -> Any:
    """Return where the pairs are in a flattened matrix, on a device of torch or, without one, in NumPy."""
    rows, columns = np.triu_indices(n, 1)
    positions = rows * n + columns
    return sys.modules["torch"].as_tensor(positions, device=device) if device else positions


def unpack_pairs(packed: Any, diagonal: float = 0.0) -> Any:
    """Return the symmetric matrix of packed pairs.

    >>> unpack_pairs(np.array([0.5]), diagonal=1.0).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    if is_tensor(packed):
        n = count_samples(len(packed))
        square = packed.new_zeros((n, n))
        square.masked_scatter_(_above_diagonal(square), packed)
        square += square.T.clone()
        return square.fill_diagonal_(diagonal)
    square = squareform(packed, checks=False)
    np.fill_diagonal(square, diagonal)
    return square


def _above_diagonal(square: Any) -> Any:
    torch = array_namespace(square)
    return torch.ones_like(square, dtype=torch.bool).triu(1)


TILE_PAIRS = 1 << 17
"""Pairs of a tile: what a thread takes at a time."""


class Tile(NamedTuple):
    """Rows ``start`` to ``stop`` of the upper triangle, which are the pairs ``first`` to ``last``."""

    start: int
    stop: int
    first: int
    last: int


@lru_cache(maxsize=64)
def cut_into_tiles(n: int) -> tuple[Tile, ...]:
    """Return the tiles, of about ``TILE_PAIRS`` pairs each, that make up the upper triangle of n samples.

    >>> cut_into_tiles(3)
    (Tile(start=0, stop=2, first=0, last=3),)
    """
    tiles, start = [], 0
    while start < n - 1:
        stop = min(n - 1, start + max(1, TILE_PAIRS // (n - start)))
        tiles.append(Tile(start, stop, first_pair_of_row(start, n), first_pair_of_row(stop, n)))
        start = stop
    return tuple(tiles)
