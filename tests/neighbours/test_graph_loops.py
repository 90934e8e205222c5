"""Compiled loops over neighbour graphs, beside plain NumPy."""

import numpy as np
import pytest
from scipy import sparse

from latentsimplex.neighbours._graph_loops import count_crossed, join_rows
from latentsimplex.neighbours.neighbour_graphs import (
    FEW_SAMPLES,
    find_neighbours,
    join_neighbours,
    leaving_share,
    slow_modes,
)


def draw_neighbours(n=60, k=5, seed=0):
    return find_neighbours(np.random.default_rng(seed).normal(size=(n, 3)), k)


def test_graphs_of_views_are_joined_as_dense_ones_are():
    views = [draw_neighbours(seed=seed) for seed in range(3)]
    expected = np.zeros((60, 60))
    for near in views:
        one_way = np.zeros((60, 60))
        one_way[np.arange(60)[:, None], near] = 1
        expected += np.maximum(one_way, one_way.T)
    assert np.array_equal(join_neighbours(views, 5).toarray(), expected)
    starts, ends, weights = join_rows(np.array(views))
    assert starts[-1] == len(ends) == len(weights) == (expected > 0).sum()


def test_crossed_edges_are_those_between_both_sides():
    graph = join_neighbours([draw_neighbours()], 5)
    ranks = np.random.default_rng(1).permutation(60)
    A = graph.toarray()
    expected = [A[np.ix_(ranks < cut, ranks >= cut)].sum() for cut in range(1, 60)]
    np.testing.assert_allclose(
        count_crossed((graph.indptr, graph.indices, graph.data), ranks), expected, atol=1e-9
    )


@pytest.mark.parametrize("shape", ["cloud", "ring"])
def test_modes_of_many_samples_are_those_of_the_dense_matrix(shape):
    n = FEW_SAMPLES + 200
    rng = np.random.default_rng(0)
    turn = 2 * np.pi * rng.random(n)
    X = np.column_stack([np.cos(turn), np.sin(turn)]) if shape == "ring" else np.empty((n, 2))
    X = X + 0.02 * rng.normal(size=(n, 2)) if shape == "ring" else rng.normal(size=(n, 2))
    graph = join_neighbours([find_neighbours(X, 15)], 15)
    A = graph.toarray()
    root = np.sqrt(A.sum(axis=1))
    values = np.linalg.eigvalsh(A / root / root[:, None])[::-1]
    found = slow_modes(graph, 8)
    np.testing.assert_allclose(found.rates, -np.log((1 + values[1:9]) / 2), rtol=0.02)
    vectors = found.values * root[:, None]
    residuals = (A / root / root[:, None]) @ vectors - vectors * values[1:9]
    assert np.linalg.norm(residuals, axis=0).max() < 0.01


def test_the_share_of_edges_that_leave_is_least_for_real_clusters():
    labels = np.arange(100) // 50
    X = np.random.default_rng(0).normal(size=(100, 2)) + 8 * labels[:, None]
    graph = join_neighbours([find_neighbours(X, 10)], 10)
    assert leaving_share(graph, labels) < 0.01 < leaving_share(graph, np.arange(100) % 2)


def test_a_graph_of_which_the_first_vector_leads_to_little_has_all_its_modes():
    """Copies of one cluster, joined all alike: symmetry ends the first walk early."""
    blocks, size = 8, 50
    A = np.kron(np.eye(blocks), np.ones((size, size))) - np.eye(blocks * size)
    for b in range(blocks - 1):
        A[b * size, (b + 1) * size] = A[(b + 1) * size, b * size] = 1
    found = slow_modes(sparse.csr_matrix(A), blocks + 2)
    assert np.isfinite(found.values).all()
    root = np.sqrt(A.sum(axis=1))
    values = np.linalg.eigvalsh(A / root / root[:, None])[::-1]
    np.testing.assert_allclose(found.rates[: blocks - 1], -np.log((1 + values[1:blocks]) / 2), rtol=0.05)
    np.testing.assert_allclose(np.linalg.norm(found.values * root[:, None], axis=0), 1, rtol=1e-6)
