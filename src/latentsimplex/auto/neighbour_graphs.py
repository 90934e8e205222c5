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
from scipy.sparse.linalg import eigsh
from sklearn.neighbors import NearestNeighbors

from latentsimplex.base.arrays import has_missing
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import WideTable
from latentsimplex.similarity.distances import euclidean_distances, scale_rows, standardise
from latentsimplex.similarity.wide_tables import compare_together

FEW_SAMPLES = 300
"""With no more samples all eigenvectors are found sooner than a few."""
TOLERANCE = 1e-4
"""Of the eigenvalues of many samples: relative to the largest, which is 1."""
FASTEST, SLOWEST = 1e-12, 1 - 1e-9
"""Bounds of eigenvalues, so that every rate is a number above 0."""
FEW_FEATURES = 15
"""Trees find neighbours in fewer features sooner than products of matrices do."""


class Modes(NamedTuple):
    """The slowest modes of a walk: rates (m,) and values at the samples (n, m), but for the first mode, a constant."""

    rates: Array
    values: Array
    constant: float


def compare_samples(table: Array | WideTable, comparison: str) -> Array:
    """Return coordinates (n, r) in which samples are as far apart as a comparison of their features says."""
    if comparison == "length one":
        table = scale_rows(table)
    if isinstance(table, WideTable):
        return compare_together(table, comparison == "standardised")
    return standardise(table) if comparison == "standardised" else table


def find_neighbours(coordinates: Array, n_neighbours: int) -> Indices:
    """Return the nearest neighbours of each sample (n, k), the nearest first; no sample is its own.

    >>> find_neighbours(np.array([[0.0], [1.0], [3.0]]), 1).tolist()
    [[1], [0], [1]]
    """
    n, p = coordinates.shape
    if has_missing(coordinates):
        distances = euclidean_distances(coordinates)
        np.fill_diagonal(distances, np.inf)
        return np.argsort(distances, axis=1, kind="stable")[:, :n_neighbours]
    algorithm = "kd_tree" if p < FEW_FEATURES else "brute"
    found = NearestNeighbors(n_neighbors=min(n_neighbours + 1, n), algorithm=algorithm).fit(coordinates)
    near = found.kneighbors(coordinates, return_distance=False)
    own = near == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True  # one of many that coincide: the last one is left out in its place
    return near[~own].reshape(n, -1)


def join_neighbours(neighbours: Sequence[Indices], n_neighbours: int) -> sparse.csr_matrix:
    """Return the graph (n, n) with an edge for each view in which one of two samples is a neighbour of the other."""
    graph: sparse.csr_matrix | None = None
    for near in neighbours:
        some = near[:, :n_neighbours]
        n, k = some.shape
        ends = np.repeat(np.arange(n), k), some.ravel()
        one_way = sparse.csr_matrix((np.ones(n * k), ends), shape=(n, n))
        both_ways = one_way.maximum(one_way.T)
        graph = both_ways if graph is None else graph + both_ways
    assert graph is not None
    return graph.tocsr()


def slow_modes(graph: sparse.csr_matrix, n_modes: int) -> Modes:
    """Return so many of the slowest modes of the lazy walk on a graph, slowest first.

    Parts of a graph that no edge joins have modes of their own, and between them modes that never fade: one fewer than
    there are parts.
    """
    n = graph.shape[0]
    root = np.sqrt(np.maximum(np.asarray(graph.sum(axis=1)).ravel(), FASTEST))
    scale = sparse.diags(1 / root)
    N = sparse.csr_array(scale @ graph @ scale)
    n_parts, part = connected_components(graph, directed=False)
    between = np.column_stack([root, np.eye(n_parts)[part][:, 1:] * root[:, None]])
    lasting = np.linalg.qr(between[:, : n_modes + 1])[0][:, 1:]
    values, vectors = [np.ones(lasting.shape[1])], [lasting]
    for k in range(n_parts if n_parts <= n_modes else 0):
        rows = np.flatnonzero(part == k)
        own, of_part = _leading_pairs(N[rows][:, rows], n_modes + 1)
        spread = np.zeros((n, len(own) - 1))
        spread[rows] = of_part[:, 1:]
        values.append(own[1:])
        vectors.append(spread)
    every, columns = np.concatenate(values), np.hstack(vectors)
    slowest = np.argsort(-every, kind="stable")[:n_modes]
    lazy = np.clip((1 + every[slowest]) / 2, FASTEST, SLOWEST)
    return Modes(-np.log(lazy), columns[:, slowest] / root[:, None], float(1 / np.linalg.norm(root)))


def _leading_pairs(N: sparse.csr_array, m: int) -> tuple[Array, Array]:
    """Return the m largest eigenvalues of a matrix (n, n), or n - 1 if these are fewer, and their vectors (n, m)."""
    n = N.shape[0]
    m = min(m, max(n - 1, 1))
    if n <= FEW_SAMPLES or n < 3 * m:
        values, vectors = np.linalg.eigh(N.toarray())
    else:
        start = np.random.default_rng(0).normal(size=n)
        size = min(n - 1, max(2 * m + 1, m + 40))
        values, vectors = eigsh(N + sparse.identity(n), k=m, which="LA", tol=TOLERANCE, v0=start, ncv=size)
        values = values - 1
    order = np.argsort(-values)[:m]
    return values[order], vectors[:, order]


def support(neighbours: Indices, labels: np.ndarray) -> float:
    """Return how far clusters are those of a view's neighbours: 0 by chance, 1 if all neighbours share a cluster.

    >>> support(np.array([[1], [0], [3], [2]]), np.array([0, 0, 1, 1]))
    1.0
    """
    n = len(labels)
    sizes = np.bincount(labels)
    chance = float((sizes * (sizes - 1)).sum() / (n * (n - 1)))
    shared = float((labels[neighbours] == labels[:, None]).mean())
    return (shared - chance) / (1 - chance) if chance < 1 else 0.0
