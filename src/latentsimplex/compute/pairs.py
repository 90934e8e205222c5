"""Pairs of samples as one flat vector, in SciPy's condensed order (0,1), (0,2), ..., (1,2), ...

A symmetric n x n matrix without its diagonal is m = n(n-1)/2 numbers. Rows of the upper triangle
are contiguous, so a tile of rows is a slice.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import squareform

from latentsimplex._types import Array


def n_pairs(n: int) -> int:
    """Return the number of pairs of n samples.

    >>> n_pairs(4)
    6
    """
    return n * (n - 1) // 2


def row_start(i: int, n: int) -> int:
    """Return where the pairs (i, i+1), (i, i+2), ... start in the flat vector.

    >>> row_start(1, 4)
    3
    """
    return i * n - i * (i + 1) // 2


def pack(square: Array) -> Array:
    """Return the pairs of a symmetric matrix; its diagonal is dropped."""
    return squareform(square, checks=False)


def unpack(packed: Array, diagonal: float = 0.0) -> Array:
    """Return the symmetric matrix of packed pairs.

    >>> unpack(np.array([0.5]), diagonal=1.0).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    square = squareform(packed, checks=False)
    np.fill_diagonal(square, diagonal)
    return square
