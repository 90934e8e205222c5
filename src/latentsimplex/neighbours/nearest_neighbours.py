"""Nearest neighbours of very many samples: each sample looks into the cells that are nearest to its own.

Samples are grouped into cells, those nearest to one of many centres. All samples of a cell are compared, as one product
of matrices, with the members of the cells whose centres are nearest to theirs. The cost of a sample is that of the
candidates it is compared with, whatever the number of samples, and most of its neighbours are among them.

Cells are compared one by one, each on one thread, so that the number of threads changes nothing; nor does it matter
which worker of a cluster is sent which chunk of them. Numbers are of single precision and relative to the centre of a
cell: samples that are near one another, and far from others, keep their digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.neighbors import KDTree, NearestNeighbors

from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.neighbours.cell_plan import (
    ROUNDS,
    WIDER,
    count_cells,
    count_looked_into,
    cut_crowded,
    draw_centres,
)

COMPARED, COMPARED_QUICKLY, FEW_NEIGHBOURS = 10_000, 2_000, 50
"""Among no more samples than this all are compared with all, and among fewer where that should be quick, if no more
than a few neighbours are wanted."""
TREE_FEATURES, LEAF = 15, 30
"""The most features in which landmarks are put into a k-d tree, and the samples in a leaf of one."""
BLOCK = 1 << 22
"""Distances that are held at a time."""
CHUNK = 1024
"""Samples, at least, that look for their neighbours as one piece of work: some hundredths of a second."""


@dataclass(frozen=True)
class Cells:
    """Samples grouped into cells.

    Attributes
    ----------
    X : (n, p) array
        Coordinates of single precision, cell by cell.
    rows : (n,) array
        The sample of each row of X.
    starts : (m + 1,) array
        Where each cell begins in X.
    centres : (m, p) array
    middle : (p,) array
        What was subtracted from coordinates.
    """

    X: np.ndarray
    rows: np.ndarray
    starts: Indices
    centres: np.ndarray
    middle: Array

    def members(self, cell: int) -> slice:
        """Return the rows of X that are of a cell."""
        return slice(self.starts[cell], self.starts[cell + 1])

    def near(self, cells: Indices) -> Indices:
        """Return the cells (b, c) nearest to each of some cells, itself first."""
        c = count_looked_into(len(self.X), len(self.centres))
        heights = _heights(self.centres[cells], self.centres)
        heights[np.arange(len(cells)), cells] = -np.inf
        return order_least(heights, c)


def order_least(heights: np.ndarray, c: int) -> Indices:
    """Return the columns of the c least numbers of each row, the least first.

    >>> order_least(np.array([[3.0, 1.0, 2.0]]), 2).tolist()
    [[1, 2]]
    """
    some = np.argpartition(heights, c - 1, axis=1)[:, :c]
    some.sort(axis=1)
    order = np.argsort(np.take_along_axis(heights, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1)


class CellSearch(NamedTuple):
    """What neighbours are searched in: cells, those near each of them (m, c), and how many neighbours are wanted."""

    cells: Cells
    near: Indices
    n_neighbours: int


class Chunk(NamedTuple):
    """Samples that look for neighbours, cell by cell: coordinates Y (b, p), and which samples they are, -1 for others.

    Those of cell ``first`` + i are from ``starts[i]`` to ``starts[i + 1]``.
    """

    first: int
    starts: Indices
    Y: np.ndarray
    own: np.ndarray


def search_neighbours(coordinates: Array, n_neighbours: int, workers: Workers | None = None) -> np.ndarray:
    """Return the nearest neighbours of each sample (n, k), the nearest first, nearly all of them right.

    >>> line = np.arange(20000.0)[:, None]
    >>> sorted(search_neighbours(line, 2)[100].tolist())
    [99, 101]
    """
    workers = workers or Workers(1)
    if workers.device is not None and len(coordinates) > COMPARED:
        from latentsimplex.neighbours.torch_cells import has_room_to_search, search_on_device

        if has_room_to_search(workers.device, coordinates, n_neighbours):
            return search_on_device(coordinates, n_neighbours, workers.device)
    cells = group_into_cells(coordinates, workers)
    found = np.empty((len(coordinates), n_neighbours), dtype=np.int32)
    found[cells.rows] = _search_cells(cells, cells.starts, cells.X, cells.rows, n_neighbours, workers)
    return found


def search_exactly(points: Array, asked: Array, n_neighbours: int, by_tree: bool) -> tuple[Array, Indices]:
    """Return distances (m, k) and indices (m, k) of the nearest points, by a k-d tree or by comparing all.

    A tree is asked directly: `NearestNeighbors` would set Python's filters of warnings anew while it asks one, and
    threads share these.

    >>> search_exactly(np.array([[0.0], [2.0], [5.0]]), np.array([[4.0]]), 2, True)[1].tolist()
    [[2, 1]]
    """
    if by_tree:
        return KDTree(points, leaf_size=LEAF).query(asked, n_neighbours)
    return NearestNeighbors(n_neighbors=n_neighbours, algorithm="brute").fit(points).kneighbors(asked)


def search_among(
    coordinates: Array, landmarks: Indices, others: Indices, n_neighbours: int, workers: Workers | None = None
) -> np.ndarray:
    """Return the nearest landmarks (m, k) of some other samples, as indices into the landmarks, the nearest first.

    Where there are very many samples, nearly all are right.
    """
    if len(coordinates) <= COMPARED:
        by_tree = coordinates.shape[1] <= TREE_FEATURES and n_neighbours < len(landmarks) // 2
        return search_exactly(coordinates[landmarks], coordinates[others], n_neighbours, by_tree)[1]
    workers = workers or Workers(1)
    if workers.device is not None:
        from latentsimplex.neighbours.torch_cells import has_room_to_search, search_among_on_device

        if has_room_to_search(workers.device, coordinates, n_neighbours):
            return search_among_on_device(coordinates, landmarks, others, n_neighbours, workers.device)
    cells = group_into_cells(coordinates[landmarks], workers)
    Y = centre_singly(coordinates[others], cells.middle)
    cell_of = nearest_centre(Y, cells.centres, workers)
    order = np.argsort(cell_of, kind="stable")
    starts = np.searchsorted(cell_of[order], np.arange(len(cells.centres) + 1))
    nobody = np.full(len(others), -1, dtype=np.int32)
    found = np.empty((len(others), n_neighbours), dtype=np.int32)
    found[order] = _search_cells(cells, starts, Y[order], nobody, n_neighbours, workers)
    return found


def _search_cells(
    cells: Cells, starts: Indices, Y: np.ndarray, own: np.ndarray, k: int, workers: Workers
) -> np.ndarray:
    """Return the nearest neighbours (n, k) of samples Y (n, p), which are given cell by cell."""
    search = CellSearch(cells, cells.near(np.arange(len(cells.centres))), k)

    def take(bounds: tuple[int, int]) -> Chunk:
        first, last = bounds
        rows = slice(starts[first], starts[last])
        return Chunk(first, starts[first : last + 1] - starts[first], Y[rows], own[rows])

    bounds = cut_into_chunks(starts)
    if len(Y) > COMPARED:
        found = workers.spread(search_chunk, search, bounds, take)
    else:
        found = workers.map(lambda each: search_chunk(search, take(each)), bounds)
    return np.concatenate(list(found))


def cut_into_chunks(starts: Indices) -> list[tuple[int, int]]:
    """Return runs of cells with at least ``CHUNK`` samples each, but for the last, given where samples of cells start.

    >>> cut_into_chunks(np.array([0, 600, 1200, 1300]))
    [(0, 2), (2, 3)]
    """
    bounds, first = [], 0
    while first < len(starts) - 1:
        last = min(int(np.searchsorted(starts, starts[first] + CHUNK)), len(starts) - 1)
        bounds.append((first, last))
        first = last
    return bounds


def search_chunk(search: CellSearch, chunk: Chunk) -> np.ndarray:
    """Return the nearest neighbours (b, k) of a chunk of samples."""
    cells, near, k = search
    found = np.empty((len(chunk.Y), k), dtype=np.int32)
    for i in np.flatnonzero(np.diff(chunk.starts)).tolist():
        rows = slice(chunk.starts[i], chunk.starts[i + 1])
        found[rows] = _search_cell(cells, near[chunk.first + i], chunk.Y[rows], chunk.own[rows], k)
    return found


def _search_cell(cells: Cells, near: Indices, Y: np.ndarray, own: np.ndarray, k: int) -> np.ndarray:
    """Return the nearest neighbours (b, k) of samples Y (b, p) among the members of some cells, the first their own."""
    from latentsimplex.neighbours._neighbour_loops import keep_nearest

    sizes = np.diff(cells.starts)[near]
    enough = int(np.searchsorted(np.cumsum(sizes), k + 1)) + 1
    if enough > len(near):  # cells so small that more of them are needed
        heights = _heights(cells.centres[near[:1]], cells.centres)[0]
        heights[near[0]] = -np.inf
        near = np.argsort(heights, kind="stable")[: WIDER * len(near)]
    candidates = np.concatenate([cells.rows[cells.members(cell)] for cell in near])
    centre = cells.centres[near[0]]
    B = np.concatenate([cells.X[cells.members(cell)] for cell in near]) - centre
    norms = np.einsum("ij,ij->i", B, B)
    found = np.empty((len(Y), k), dtype=np.int32)
    for part in cut(len(Y), len(B)):
        A = Y[part] - centre
        heights = A @ (-2 * B.T)
        heights += norms
        keep_nearest(heights, candidates, own[part], found[part], np.empty((len(A), k), dtype=np.float32))
    return found


def group_into_cells(coordinates: Array, workers: Workers) -> Cells:
    """Return samples grouped by the nearest of many centres."""
    middle = coordinates.mean(axis=0)
    X = centre_singly(coordinates, middle)
    centres = find_centres(X, count_cells(len(X)), workers)
    cell_of = nearest_centre(X, centres, workers)
    rows = np.argsort(cell_of, kind="stable").astype(np.int32)
    starts, parts = cut_crowded(np.bincount(cell_of, minlength=len(centres)))
    return Cells(X[rows], rows, starts, np.repeat(centres, parts, axis=0), middle)


def centre_singly(coordinates: Array, middle: Array) -> np.ndarray:
    """Return coordinates less their middle in single precision, without another copy of double precision.

    >>> centre_singly(np.array([[1e9 + 1.0]]), np.array([1e9])).tolist()
    [[1.0]]
    """
    out = np.empty(coordinates.shape, dtype=np.float32)
    return np.subtract(coordinates, middle, out=out, casting="same_kind")


def find_centres(X: np.ndarray, m: int, workers: Workers) -> np.ndarray:
    """Return m centres (m, p): samples drawn at random, moved to the means of those around them a few times."""
    rows, first = draw_centres(len(X), m)
    some = X[rows]
    centres = some[first]
    for _ in range(ROUNDS if m > 1 else 0):
        cell_of = nearest_centre(some, centres, workers)
        filled, counts = np.unique(cell_of, return_counts=True)
        ordered = some[np.argsort(cell_of, kind="stable")]
        centres[filled] = np.add.reduceat(ordered, np.cumsum(counts) - counts) / counts[:, None]
    return centres


def nearest_centre(X: np.ndarray, centres: np.ndarray, workers: Workers) -> Indices:
    """Return the nearest centre of each sample (n,)."""

    def search(part: slice) -> Indices:
        return _heights(X[part], centres).argmin(axis=1)

    return np.concatenate(list(workers.map(search, list(cut(len(X), len(centres))))))


def _heights(X: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return squared distances (n, m) from centres, but for the squares of X."""
    heights = X @ (-2 * centres.T)
    heights += np.einsum("ij,ij->i", centres, centres)
    return heights


def cut(n: int, m: int) -> Iterator[slice]:
    """Yield parts of n rows with m numbers each, so many that ``BLOCK`` numbers are held at a time."""
    step = max(1, BLOCK // max(m, 1))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))
