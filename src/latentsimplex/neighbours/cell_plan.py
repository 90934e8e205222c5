"""How samples are grouped into cells, and how many cells are looked into: the same for threads and for a device.

Samples are grouped by the nearest of many centres, and look for neighbours in the cells that are nearest to their own
(:mod:`latentsimplex.neighbours.nearest_neighbours`, :mod:`latentsimplex.neighbours.torch_cells`).
"""

from __future__ import annotations

import numpy as np

from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.types import Indices

SMALLEST_CELL, LARGEST_CELL = 32, 256
"""Samples of a cell on average: the square root of all of them, within bounds."""
LOOKED_INTO, CANDIDATES = 48, 8_192
"""Cells that are looked into for the neighbours of a cell's samples, and the candidates that these have at least: in
many features the neighbours of a sample are in many directions."""
TRAINED_BY, ROUNDS = 24, 4
"""Samples for each cell by which centres are found, and how often centres move to the means of their samples."""
CROWDED = 4
"""A cell with more samples than so many averages is cut, as where many samples coincide."""
WIDER = 4
"""How many times more cells are looked into where all of them have too few samples."""


def count_cells(n: int) -> int:
    """Return how many centres n samples have.

    >>> count_cells(100), count_cells(1_000_000)
    (3, 3906)
    """
    return max(1, n // _mean_size(n))


def count_looked_into(n: int, n_cells: int) -> int:
    """Return how many cells are looked into for the neighbours of the samples of one.

    >>> count_looked_into(1_000_000, 3906), count_looked_into(4_000, 63)
    (48, 63)
    """
    return min(max(LOOKED_INTO, -(-CANDIDATES * n_cells // n)), n_cells)


def draw_centres(n: int, n_cells: int) -> tuple[Indices, Indices]:
    """Return the samples by which centres are found, and which of these are the first centres."""
    some = sample_rows(n, TRAINED_BY * n_cells)
    return some, np.random.default_rng(0).permutation(len(some))[:n_cells]


def cut_crowded(counts: Indices) -> tuple[Indices, Indices]:
    """Return where cells start (m + 1,), crowded ones cut, and into how many each was cut, given their samples.

    >>> starts, parts = cut_crowded(np.array([10, 0, 300]))
    >>> starts.tolist(), parts.tolist()
    ([0, 10, 10, 110, 210, 310], [1, 1, 3])
    """
    counts = counts.astype(np.intp)
    parts = np.maximum(1, -(-counts // (CROWDED * _mean_size(int(counts.sum())))))
    bounds = [
        np.linspace(end - count, end, part + 1).astype(np.intp)[1:]
        for end, count, part in zip(np.cumsum(counts), counts, parts, strict=True)
    ]
    return np.concatenate([[0], *bounds]), parts


def _mean_size(n: int) -> int:
    return int(np.clip(np.sqrt(n), SMALLEST_CELL, LARGEST_CELL))
