"""Graphs that join each sample to its nearest neighbours, and the slow modes of the random walk on them.

All edges weigh the same, so that an outlier, which is nobody's neighbour, is no cluster, and the graphs of several
views add up to one. With N the symmetric normalisation of a graph, the lazy walk (I + N) / 2 has eigenvalues
1 = l_1 >= l_2 >= ..., and its j-th mode fades at the rate -log l_j. Clusters are what slow modes tell apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from latentsimplex.base.arrays import fill_missing, has_missing
from latentsimplex.base.partial_table import PartialTable
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.neighbours.nearest_neighbours import (
    COMPARED,
    COMPARED_QUICKLY,
    FEW_NEIGHBOURS,
    search_neighbours,
)
from latentsimplex.similarity.distances import euclidean_distances

FEW_SAMPLES = 300
"""With no more samples all eigenvectors are found sooner than a few."""
BASIS, RESTARTS = 40, 20
"""Vectors of Lanczos' method beyond the modes that are looked for, and how often it starts again from what it found."""
SETTLED, EXACT, ROUGH = 0.05, 1e-6, 5e-4
"""A mode is known when its residual is such a share of how far its eigenvalue is from the largest, within bounds."""
FASTEST, SLOWEST = 1e-12, 1 - 1e-9
"""Bounds of eigenvalues, so that every rate is a number above 0."""
FEW_FEATURES = 15
"""Fewer features are compared one by one, which keeps all digits, as quickly as by products of matrices."""
COMPARED_AT_ONCE = 1 << 18
"""Distances that are held at a time: they stay in a cache near by."""
FEW_OF = 10
"""Trees find neighbours sooner than products of matrices do: in few features, and fewer than one sample in ten."""


class Modes(NamedTuple):
    """The slowest modes of a walk: rates (m,) and values at the samples (n, m), but for the first mode, a constant."""

    rates: Array
    values: Array
    constant: float


def find_neighbours(
    coordinates: Array | PartialTable,
    n_neighbours: int,
    workers: Workers | None = None,
    quickly: bool = False,
    sizes: Sequence[int] = (),
) -> Indices:
    """Return the nearest neighbours of each sample (n, k), no sample being its own.

    Up to ``FEW_NEIGHBOURS`` are in order, the nearest first. Of more, the nearest of each of the ``sizes`` come first,
    in no order: they are chosen by counting, in a sixth of the time that a heap of them takes.
    Absent samples have none, and where too few are present some are missing: both are -1. Of very many samples, or of
    many ``quickly``, nearly all neighbours are found (:mod:`latentsimplex.neighbours.nearest_neighbours`), and missing
    cells count as means.

    >>> find_neighbours(np.array([[0.0], [1.0], [3.0]]), 1).tolist()
    [[1], [0], [1]]
    >>> find_neighbours(PartialTable(np.array([[0.0], [3.0]]), np.array([0, 2]), 3), 1).tolist()
    [[2], [-1], [0]]
    """
    if isinstance(coordinates, PartialTable):
        k = min(n_neighbours, len(coordinates.rows) - 1)
        near = coordinates.rows[find_neighbours(coordinates.values, k, workers, quickly, sizes)]
        return coordinates.spread(np.pad(near, ((0, 0), (0, n_neighbours - k)), constant_values=-1), -1)
    quickly = quickly and n_neighbours <= FEW_NEIGHBOURS
    if len(coordinates) > (COMPARED_QUICKLY if quickly else COMPARED):
        return search_neighbours(fill_missing(coordinates), n_neighbours, workers)
    if n_neighbours <= FEW_NEIGHBOURS or has_missing(coordinates):
        return measure_neighbours(coordinates, n_neighbours)[1]
    k = min(n_neighbours, len(coordinates) - 1)
    return compare_all(coordinates, [*(size for size in sizes if size < k), k])


def measure_neighbours(coordinates: Array, n_neighbours: int) -> tuple[Array, Indices]:
    """Return the distances (n, k) of the nearest neighbours of each sample, and the neighbours (n, k)."""
    n, p = coordinates.shape
    if has_missing(coordinates):
        distances = euclidean_distances(coordinates)
        np.fill_diagonal(distances, np.inf)
        near = np.argsort(distances, axis=1, kind="stable")[:, :n_neighbours]
        return np.take_along_axis(distances, near, axis=1), near
    algorithm = "kd_tree" if p < FEW_FEATURES and FEW_OF * n_neighbours < n else "brute"
    found = NearestNeighbors(n_neighbors=min(n_neighbours + 1, n), algorithm=algorithm).fit(coordinates)
    distances, near = found.kneighbors(coordinates)
    own = near == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True  # one of many that coincide: the last one is left out in its place
    return distances[~own].reshape(n, -1), near[~own].reshape(n, -1)


def compare_all(coordinates: Array, sizes: Sequence[int]) -> Indices:
    """Return the neighbours (n, k) of each sample, k the largest of the sizes; no sample is its own.

    The nearest of each size come before the others, in no order.

    >>> compare_all(np.array([[0.0], [1.0], [3.0], [9.0]]), [1, 2]).tolist()
    [[1, 2], [0, 2], [1, 0], [2, 1]]
    """
    from latentsimplex.neighbours._graph_loops import choose_nearest

    n, p = coordinates.shape
    X = coordinates - coordinates.mean(axis=0)
    X /= max(np.abs(X).max(), np.finfo(float).tiny)  # squares are kept in single precision
    lengths = np.einsum("ij,ij->i", X, X) if p >= FEW_FEATURES else np.zeros(n)
    near, rising = np.empty((n, max(sizes)), dtype=np.intp), np.unique(sizes)
    step, doubled = max(1, COMPARED_AT_ONCE // n), -2 * X.T
    for first in range(0, n, step):
        rows = slice(first, min(first + step, n))
        heights = X[rows] @ doubled if p >= FEW_FEATURES else cdist(X[rows], X, "sqeuclidean")
        choose_nearest(heights, lengths, first, rising, near[rows])
    return near


def join_neighbours(neighbours: Sequence[Indices], n_neighbours: int) -> sparse.csr_matrix:
    """Return the graph (n, n) with an edge for each view in which one of two samples is a neighbour of the other."""
    from latentsimplex.neighbours._graph_loops import join_rows

    n = len(neighbours[0])
    starts, ends, weights = join_rows(np.array([near[:, :n_neighbours] for near in neighbours]))
    if len(ends) <= np.iinfo(ends.dtype).max:  # one type for both, or all of it would be copied
        starts = starts.astype(ends.dtype)
    return sparse.csr_matrix((weights, ends, starts), shape=(n, n), copy=False)


def slow_modes(graph: sparse.csr_matrix, n_modes: int) -> Modes:
    """Return so many of the slowest modes of the lazy walk on a graph, slowest first.

    Parts of a graph that no edge joins have modes of their own, and between them modes that never fade: one fewer than
    there are parts.
    """
    n = graph.shape[0]
    root = np.sqrt(np.add.reduceat(graph.data, graph.indptr[:-1]))  # no sample is without neighbours
    n_parts, part = connected_components(graph, directed=False)
    if n_parts == 1:
        every, columns = _modes_of_part(graph, root, n_modes)
    else:
        apart = part[:, None] == np.arange(1, min(n_parts, n_modes + 1))
        lasting = np.linalg.qr(np.column_stack([root, apart * root[:, None]]))[0][:, 1:]
        values, vectors = [np.ones(lasting.shape[1])], [lasting]
        for k in range(n_parts if n_parts <= n_modes else 0):
            rows = np.flatnonzero(part == k)
            own, of_part = _modes_of_part(graph[rows][:, rows], root[rows], n_modes)
            spread = np.zeros((n, len(own)))
            spread[rows] = of_part
            values.append(own)
            vectors.append(spread)
        every, columns = np.concatenate(values), np.hstack(vectors)
    slowest = np.argsort(-every, kind="stable")[:n_modes]
    lazy = np.clip((1 + every[slowest]) / 2, FASTEST, SLOWEST)
    return Modes(-np.log(lazy), columns[:, slowest] / root[:, None], float(1 / np.linalg.norm(root)))


def _modes_of_part(graph: sparse.csr_matrix, root: Array, n_modes: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of N (m,) and their vectors (n, m) after the first, which is ``root``; m < n."""
    n = len(root)
    m = min(n_modes, n - 1)
    if n > FEW_SAMPLES and n > 3 * m:
        return _lanczos(graph, root, m)
    N = graph.toarray() / root / root[:, None]
    values, vectors = np.linalg.eigh(N)
    order = np.argsort(-values)[1 : m + 1]
    return values[order], vectors[:, order]


def _lanczos(graph: sparse.csr_matrix, root: Array, m: int) -> tuple[Array, Array]:
    """Return what :func:`_modes_of_part` does, for many samples, by Lanczos' method.

    All vectors of the basis are kept orthogonal, and a full basis gives way to the leading vectors found in it. Of an
    eigenvalue that a graph's symmetry repeats, one vector may be found.
    """
    from latentsimplex.neighbours._graph_loops import extend_basis

    n, size = len(root), min(m + BASIS, len(root) - 1)
    rows = (graph.indptr, graph.indices, graph.data)
    constant = root / np.linalg.norm(root)
    start = np.random.default_rng(0).normal(size=n)
    start -= constant * (constant @ start)
    basis, H = np.zeros((size + 1, n)), np.zeros((size, size))
    basis[0] = start / np.linalg.norm(start)
    values, vectors, filled = np.zeros(size), np.eye(size), 0
    for until in [m + (size - m) // 2, size, *[size] * RESTARTS]:
        if filled == size:
            filled = m + (size - m) // 3
            basis[:filled] = vectors[:, :filled].T @ basis[:size]
            basis[filled] = basis[size]
            H[:filled, :filled] = np.diag(values[:filled])
        length = extend_basis(rows, 1 / root, constant, basis, H, filled, until)
        filled = until
        values, vectors = np.linalg.eigh(H[:filled, :filled])
        values, vectors = values[::-1], vectors[:, ::-1]
        residuals = length * np.abs(vectors[-1, :m])
        if (residuals <= np.clip(SETTLED * (2 - values[:m]), EXACT, ROUGH)).all():
            break
    return values[:m] - 1, basis[:filled].T @ vectors[:, :m]


def count_crossed_edges(graph: sparse.csr_matrix, ranks: Indices) -> Array:
    """Return the weight of the edges that a cut after 1, 2, ..., n - 1 samples crosses (n - 1,), samples ranked.

    >>> chain = sparse.csr_matrix(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]]))
    >>> count_crossed_edges(chain, np.arange(3)).tolist()
    [1.0, 2.0]
    """
    from latentsimplex.neighbours._graph_loops import count_crossed

    return count_crossed((graph.indptr, graph.indices, graph.data), ranks)


def leaving_share(graph: sparse.csr_matrix, labels: np.ndarray) -> float:
    """Return the share of a cluster's edges that leave it, a mean over clusters: the normalised cut.

    >>> leaving_share(sparse.csr_matrix(np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]])), np.array([0, 0, 1]))
    0.6
    """
    indicators = sparse.csr_matrix((np.ones(len(labels)), (np.arange(len(labels)), labels)))
    between = (indicators.T @ graph @ indicators).toarray()
    return float(np.mean(1 - between.diagonal() / np.maximum(between.sum(axis=1), np.finfo(float).tiny)))
