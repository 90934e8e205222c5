"""Graphs that join each sample to its nearest neighbours, and the slow modes of the random walk on them.

All edges weigh the same, so that an outlier, which is nobody's neighbour, is no cluster, and the graphs of several
views add up to one. With N the symmetric normalisation of a graph, the lazy walk (I + N) / 2 has eigenvalues
1 = l_1 >= l_2 >= ..., and its j-th mode fades at the rate -log l_j. Clusters are what slow modes tell apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from latentsimplex.base.arrays import fill_missing, fix_signs, has_missing
from latentsimplex.base.partial_table import PartialTable
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.neighbours.lanczos import find_leading, start_basis
from latentsimplex.neighbours.nearest_neighbours import (
    COMPARED,
    COMPARED_QUICKLY,
    FEW_NEIGHBOURS,
    search_exactly,
    search_neighbours,
)
from latentsimplex.similarity.distances import euclidean_distances

FEW_SAMPLES = 150
"""With no more samples eigenvectors are found as quickly without compiled loops."""
FOUND_TO_ROUNDING = 300
"""Of no more samples modes are found to rounding, so that they hardly depend on the order of the samples. Of a rate
that a graph's symmetry repeats, Lanczos' method may find one mode."""
FEW_MODES = 4
"""All eigenvectors are found as quickly as more than one in four."""
FASTEST, SLOWEST = 1e-12, 1 - 1e-9
"""Bounds of eigenvalues, so that every rate is a number above 0."""
FEW_FEATURES = 6
"""Fewer features are compared one by one, which keeps all digits, more of them by products, in a fifth of the time."""
AT_ONCE, FEW_AT_ONCE = 300, 15
"""Samples that are compared at once, by a matrix that stays in a cache: a search would take longer to begin. Of so few,
fewer features than the second number are compared one by one as soon as by products."""
COMPARED_AT_ONCE = 1 << 18
"""Distances that are held at a time: they stay in a cache near by."""
FILLED = 6
"""Of a graph with an edge for one in so many pairs, all pairs are read as quickly as the edges alone; broad ones have
three times as many, and are read four times as fast."""
COINCIDING = 1e-6
"""Samples that are so much nearer to the next one than to others coincide but for rounding: they have no dimension."""
FEW_FOR_TREES, FEW_OF = 5, 10
"""Trees find neighbours sooner than comparing all does: in few features, and fewer than one sample in ten."""
COUNTED = range(FEW_SAMPLES + 1, COMPARED + 1)
"""Of so many samples few neighbours are chosen by counting, too, in half of the time; of fewer it takes no loops."""


Graph = Any
"""A sparse matrix of SciPy, by rows, or a :class:`latentsimplex.neighbours.torch_graphs.TorchGraph`."""


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

    Up to ``FEW_NEIGHBOURS`` are in order, the nearest first. Of more, and where ``sizes`` are given, the nearest of
    each of these come first, in no order: counting chooses them, in a sixth of the time that a heap of many takes.
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
    is_counted = n_neighbours > FEW_NEIGHBOURS or (bool(sizes) and is_counted_sooner(coordinates))
    if not is_counted or has_missing(coordinates):
        return measure_neighbours(coordinates, n_neighbours)[1]
    k = min(n_neighbours, len(coordinates) - 1)
    return compare_all(coordinates, [*(size for size in sizes if size < k), k])


def is_counted_sooner(coordinates: Array) -> bool:
    """Return whether few neighbours of samples (n, p) are found sooner by counting than by a heap or a tree."""
    return coordinates.shape[1] > FEW_FOR_TREES and len(coordinates) in COUNTED


def measure_neighbours(coordinates: Array, n_neighbours: int) -> tuple[Array, Indices]:
    """Return the distances (n, k) of the nearest neighbours of each sample, and the neighbours (n, k)."""
    n, p = coordinates.shape
    if n <= AT_ONCE or has_missing(coordinates):
        one_by_one = p < FEW_AT_ONCE and not has_missing(coordinates)
        distances = cdist(coordinates, coordinates) if one_by_one else euclidean_distances(coordinates)
        np.fill_diagonal(distances, np.inf)
        near = order_nearest(distances, min(n_neighbours, n - 1))
        return np.take_along_axis(distances, near, axis=1), near
    if n_neighbours <= FEW_NEIGHBOURS and is_counted_sooner(coordinates):
        return measure_all(coordinates, min(n_neighbours, n - 1))
    by_tree = p <= FEW_FOR_TREES and FEW_OF * n_neighbours < n
    X = coordinates if by_tree else coordinates - coordinates.mean(axis=0)  # products keep their digits
    distances, near = search_exactly(X, X, min(n_neighbours + 1, n), by_tree)
    own = near == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True  # one of many that coincide: the last one is left out in its place
    return distances[~own].reshape(n, -1), near[~own].reshape(n, -1)


def order_nearest(distances: Array, k: int) -> Indices:
    """Return the k nearest (n, k) by distances (n, n), in order, and of equal ones the first.

    >>> order_nearest(np.array([[np.inf, 2.0, 1.0, 1.0, 2.0]]), 3).tolist()
    [[2, 3, 1]]
    """
    within = distances <= np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    clear = within.sum(axis=1) == k
    near = np.empty((len(distances), k), dtype=np.intp)
    near[clear] = np.nonzero(within[clear])[1].reshape(-1, k)
    near[~clear] = np.sort(np.argsort(distances[~clear], axis=1, kind="stable")[:, :k], axis=1)
    order = np.argsort(np.take_along_axis(distances, near, axis=1), axis=1, kind="stable")
    return np.take_along_axis(near, order, axis=1)


def estimate_dimension(distances: Array, near: int) -> float:
    """Return the intrinsic dimension: the likelihood estimate of Levina and Bickel (2004).

    ``distances`` (n, far) are those to the nearest neighbours, in order; estimates from the first ``near`` of them,
    from one more, and so on to all, are averaged.

    >>> far = np.random.default_rng(0).random((1000, 9)).cumsum(axis=1) ** 0.5  # as many in any ring of the same area
    >>> 1.5 < estimate_dimension(far, 5) < 2.5
    True
    """
    distances = np.maximum(distances, np.finfo(float).tiny)
    distances = distances[distances[:, 0] > COINCIDING * distances[:, -1]]
    far = distances.shape[1]
    if not len(distances) or far <= near:
        return 1.0
    logs = np.log(distances)
    inverse = [(logs[:, k - 1 : k] - logs[:, : k - 1]).mean() for k in range(near, far + 1)]
    return float(1 / max(np.mean(inverse), 1e-6))


def compare_all(coordinates: Array, sizes: Sequence[int]) -> Indices:
    """Return the neighbours (n, k) of each sample, k the largest of the sizes; no sample is its own.

    The nearest of each size come before the others, in no order.

    >>> compare_all(np.array([[0.0], [1.0], [3.0], [9.0]]), [1, 2]).tolist()
    [[1, 2], [0, 2], [1, 0], [2, 1]]
    """
    near = np.empty((len(coordinates), max(sizes)), dtype=np.intp)
    for _ in choose_by_rows(coordinates, sizes, near):
        pass
    return near


def measure_all(coordinates: Array, k: int) -> tuple[Array, Indices]:
    """Return the distances (n, k) of the nearest neighbours of each sample, and these (n, k), the nearest first.

    Of equal ones the first is the nearer.

    >>> [each.tolist() for each in measure_all(np.array([[0.0], [1.0], [3.0]]), 2)]
    [[[1.0, 3.0], [1.0, 2.0], [2.0, 3.0]], [[1, 2], [0, 2], [1, 0]]]
    """
    near = np.empty((len(coordinates), k), dtype=np.intp)
    distances = np.empty(near.shape)
    for rows, heights, lengths, unit in choose_by_rows(coordinates, [k], near):
        squares = np.take_along_axis(heights, near[rows], axis=1) + lengths[near[rows]] + lengths[rows, None]
        order = np.argsort(squares.astype(np.float32), axis=1, kind="stable")
        near[rows] = np.take_along_axis(near[rows], order, axis=1)
        distances[rows] = unit * np.sqrt(np.maximum(np.take_along_axis(squares, order, axis=1), 0.0))
    return distances, near


def choose_by_rows(
    coordinates: Array, sizes: Sequence[int], near: Indices
) -> Iterator[tuple[slice, Array, Array, float]]:
    """Write the nearest of each size into ``near`` (n, k), a few rows at a time, and yield what they were chosen by.

    That is the rows, and squared distances in so long a ``unit``: ``heights`` (rows, n) and the ``lengths`` (n,) of
    both samples.
    """
    from latentsimplex.neighbours._graph_loops import choose_nearest, make_row

    n, p = coordinates.shape
    X = coordinates - np.median(coordinates, axis=0)  # which one huge number does not move
    unit = max(float(np.abs(X).max()), np.finfo(float).tiny)
    X /= unit  # squares are kept in single precision
    lengths = np.einsum("ij,ij->i", X, X) if p >= FEW_FEATURES else np.zeros(n)
    step, doubled, rising, row = max(1, COMPARED_AT_ONCE // n), -2 * X.T, np.unique(sizes), make_row(n)
    for first in range(0, n, step):
        rows = slice(first, min(first + step, n))
        heights = X[rows] @ doubled if p >= FEW_FEATURES else cdist(X[rows], X, "sqeuclidean")
        choose_nearest(heights, lengths, first, rising, *row, near[rows])
        yield rows, heights, lengths, unit


def read_graph(
    neighbours: Sequence[Indices], n_neighbours: int, n_modes: int, workers: Workers | None = None
) -> tuple[Graph, Modes]:
    """Return the graph of so many neighbours, pooled over views, and its slow modes."""
    graph = join_neighbours(neighbours, n_neighbours, workers)
    return graph, slow_modes(graph, n_modes)


def join_neighbours(
    neighbours: Sequence[Indices], n_neighbours: int, workers: Workers | None = None
) -> Graph:
    """Return the graph (n, n) with an edge for each view in which one of two samples is a neighbour of the other.

    That of very many samples is on the device of the workers, where they have one.
    """
    n = len(neighbours[0])
    if workers is not None and workers.device is not None and n > COMPARED:
        from latentsimplex.neighbours.torch_graphs import has_room, join_on_device

        if has_room(workers.device, len(neighbours) * n * n_neighbours):
            return join_on_device(neighbours, n_neighbours, workers.device)
    from latentsimplex.neighbours._graph_loops import join_rows

    starts, ends, weights = join_rows(np.array([near[:, :n_neighbours] for near in neighbours]))
    if len(ends) <= np.iinfo(ends.dtype).max:  # one type for both, or all of it would be copied
        starts = starts.astype(ends.dtype)
    return sparse.csr_matrix((weights, ends, starts), shape=(n, n), copy=False)


def slow_modes(graph: Graph, n_modes: int) -> Modes:
    """Return so many of the slowest modes of the lazy walk on a graph, slowest first.

    Parts of a graph that no edge joins have modes of their own, and between them modes that never fade: one fewer than
    there are parts.
    """
    n, is_here = graph.shape[0], isinstance(graph, sparse.csr_matrix)
    # no sample is without neighbours
    root = np.sqrt(np.add.reduceat(graph.data, graph.indptr[:-1]) if is_here else graph.sum_rows())
    n_parts, part = find_parts(graph)
    if n_parts == 1:
        every, columns = _modes_of_part(graph, root, n_modes)
    else:
        apart = part[:, None] == np.arange(1, min(n_parts, n_modes + 1))
        lasting = np.linalg.qr(np.column_stack([root, apart * root[:, None]]))[0][:, 1:]
        values, vectors = [np.ones(lasting.shape[1])], [lasting]
        for k in range(n_parts if n_parts <= n_modes else 0):
            rows = np.flatnonzero(part == k)
            some = graph[rows][:, rows] if is_here else graph.take(rows)
            own, of_part = _modes_of_part(some, root[rows], n_modes)
            spread = np.zeros((n, len(own)))
            spread[rows] = of_part
            values.append(own)
            vectors.append(spread)
        every, columns = np.concatenate(values), np.hstack(vectors)
    slowest = np.argsort(-every, kind="stable")[:n_modes]
    lazy = np.clip((1 + every[slowest]) / 2, FASTEST, SLOWEST)
    modes = columns[:, slowest] / root[:, None]
    return Modes(-np.log(lazy), modes * fix_signs(modes), float(1 / np.linalg.norm(root)))


def find_parts(graph: Graph) -> tuple[int, np.ndarray]:
    """Return how many parts a symmetric graph has that no edge joins, and the part of each sample (n,).

    >>> find_parts(sparse.csr_matrix(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]])))[1].tolist()
    [0, 1, 0]
    """
    if not isinstance(graph, sparse.csr_matrix):
        return graph.find_parts()
    if graph.shape[0] <= FEW_SAMPLES:  # SciPy makes a copy, but has not to be compiled
        return connected_components(graph, directed=False)
    from latentsimplex.neighbours._graph_loops import label_parts

    part = np.full(graph.shape[0], -1, dtype=np.int32)
    return int(label_parts(graph.indptr, graph.indices, part)), part


def _modes_of_part(graph: Graph, root: Array, n_modes: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of N (m,) and their vectors (n, m) after the first, which is ``root``; m < n."""
    n = len(root)
    m = min(n_modes, n - 1)
    is_here = isinstance(graph, sparse.csr_matrix)
    if n > (FEW_SAMPLES if is_here else FOUND_TO_ROUNDING) and n > 3 * m:
        return _lanczos(graph, root, m) if is_here else graph.find_modes(root, m)
    N = graph.toarray() / root / root[:, None]
    values, vectors = eigh(N, subset_by_index=None if FEW_MODES * m > n else [n - m - 1, n - 1])
    order = np.argsort(-values)[1 : m + 1]
    return values[order], vectors[:, order]


def _lanczos(graph: sparse.csr_matrix, root: Array, m: int) -> tuple[Array, Array]:
    """Return what :func:`_modes_of_part` does, for many samples, by Lanczos' method."""
    from latentsimplex.neighbours._graph_loops import extend_basis, fill_rows

    rows, constant = (graph.indptr, graph.indices, graph.data), root / np.linalg.norm(root)
    if not is_filled(graph) and (graph.data == 1).all():  # of a single view: a third of what is read less
        rows = (graph.indptr, graph.indices, graph.data[:0])
    start, size = start_basis(constant, m)
    basis = np.zeros((size + 1, len(root)))
    basis[0] = start
    n_rows = len(root) if is_filled(graph) else 0
    whole = np.zeros((n_rows, n_rows), dtype=np.uint8)
    fill_rows(rows, whole)
    extend = partial(extend_basis, rows, whole, 1 / root, constant)
    values, vectors = find_leading(basis, extend, np.asarray, m, len(root) <= FOUND_TO_ROUNDING)
    return values - 1, vectors


def is_filled(graph: sparse.csr_matrix) -> bool:
    """Return whether a graph is multiplied with sooner as a whole matrix of bytes: a broad one, of few enough views."""
    n = graph.shape[0]
    return n <= COMPARED and graph.nnz * FILLED >= n * n and graph.data.max() <= np.iinfo(np.uint8).max


def count_crossed_edges(graph: Graph, values: Array) -> tuple[Indices, Array]:
    """Return the ranks of samples (n,) by their values, and the weight of edges that cuts of that order cross (n - 1,).

    Cuts are after 1, 2, ..., n - 1 samples.

    >>> chain = sparse.csr_matrix(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]]))
    >>> [each.tolist() for each in count_crossed_edges(chain, np.array([0.1, 0.2, 0.3]))]
    [[0, 1, 2], [1.0, 2.0]]
    """
    if not isinstance(graph, sparse.csr_matrix):
        return graph.count_crossed(values)
    from latentsimplex.neighbours._graph_loops import count_crossed

    n = len(values)
    ranks = np.empty(n, dtype=np.intp)
    ranks[np.argsort(values, kind="stable")] = np.arange(n)
    return ranks, count_crossed((graph.indptr, graph.indices, graph.data), ranks)


def leaving_share(graph: Graph, labels: np.ndarray) -> float:
    """Return the share of a cluster's edges that leave it, a mean over clusters: the normalised cut.

    >>> leaving_share(sparse.csr_matrix(np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]])), np.array([0, 0, 1]))
    0.6
    """
    if isinstance(graph, sparse.csr_matrix):
        indicators = sparse.csr_matrix((np.ones(len(labels)), (np.arange(len(labels)), labels)))
        between = (indicators.T @ graph @ indicators).toarray()
    else:
        between = graph.sum_between(labels)
    return float(np.mean(1 - between.diagonal() / np.maximum(between.sum(axis=1), np.finfo(float).tiny)))


class Dip(NamedTuple):
    """A dip in an order of samples: its depth z, the two sides of it (n,), and in how many places one could be."""

    depth: float
    sides: np.ndarray
    n_places: float


def find_dip(graph: Graph, values: Array, per_sample: float, least: int) -> Dip:
    """Return the deepest dip in the order of some values, with ``least`` samples or more on either side.

    As many edges as follow one another without overlap are so many places. ``per_sample`` are the edges of a sample.
    """
    n = len(values)
    ranks, crossed = count_crossed_edges(graph, values)
    n_places = n * (float(graph.data.sum()) / 2) / crossed.sum()
    crossed = np.maximum(crossed, 0.5)
    hump = np.minimum(np.maximum.accumulate(crossed), np.maximum.accumulate(crossed[::-1])[::-1])
    depth = 2 * (np.sqrt(hump) - np.sqrt(crossed)) / np.sqrt(per_sample)
    inner = depth[least - 1 : n - least]
    place = int(np.argmax(inner))
    return Dip(float(inner[place]), (ranks >= place + least).astype(np.intp), float(n_places))
