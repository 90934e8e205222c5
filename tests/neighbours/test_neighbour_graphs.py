"""Neighbour graphs and their slow modes."""

import warnings

import numpy as np
import pytest

from latentsimplex.neighbours.nearest_neighbours import search_among
from latentsimplex.neighbours.neighbour_graphs import find_neighbours, join_neighbours, slow_modes


@pytest.mark.parametrize("p", [3, 8, 40])
@pytest.mark.parametrize("n", [40, 200, 400])
@pytest.mark.parametrize("sizes", [(), (3, 5)])
def test_neighbours_are_the_nearest_and_never_the_sample_itself(n, p, sizes):
    """However they are found: by a tree, by counting, in order, or by comparing all."""
    X = np.random.default_rng(0).normal(size=(n, p))
    near = find_neighbours(X, 5, sizes=sizes)
    distances = np.linalg.norm(X[:, None] - X, axis=-1)
    np.fill_diagonal(distances, np.inf)
    order = np.argsort(distances, axis=1)
    for k in (*sizes, 5):
        assert np.array_equal(np.sort(near[:, :k], axis=1), np.sort(order[:, :k], axis=1))
    if not sizes:
        assert np.array_equal(near, order[:, :5])


@pytest.mark.parametrize("n_features", [2, 30])
def test_filters_of_warnings_that_threads_share_are_left_alone(monkeypatch, n_features):
    X = np.random.default_rng(0).normal(size=(600, n_features))
    monkeypatch.setattr(warnings, "resetwarnings", lambda: pytest.fail("filters were reset"))
    assert (
        find_neighbours(X, 5).shape
        == search_among(X, np.arange(500), np.arange(500, 600), 5).repeat(6, 0).shape
    )


@pytest.mark.parametrize("n", [100, 200])
@pytest.mark.parametrize("sizes", [(), (5,)])
def test_of_samples_as_near_the_first_are_neighbours(n, sizes):
    """Which of them are chosen depends on nothing else, not on the processor's instructions."""
    X = np.random.default_rng(0).integers(3, size=(n, 6)).astype(float)
    distances = np.linalg.norm(X[:, None] - X, axis=-1)
    np.fill_diagonal(distances, np.inf)
    expected = np.argsort(distances, axis=1, kind="stable")[:, :5]
    assert np.array_equal(np.sort(find_neighbours(X, 5, sizes=sizes)), np.sort(expected))


def test_samples_that_coincide_have_as_many_neighbours_as_others():
    near = find_neighbours(np.zeros((30, 2)), 4)
    assert near.shape == (30, 4)
    assert not (near == np.arange(30)[:, None]).any()


def test_missing_cells_are_compared_on_what_samples_share():
    X = np.array([[0.0, np.nan], [0.1, 5.0], [9.0, np.nan], [9.1, 5.0]])
    assert find_neighbours(X, 1).ravel().tolist() == [1, 0, 3, 2]


def test_edges_of_views_add_up():
    one, other = np.array([[1], [0], [1]]), np.array([[2], [2], [1]])
    graph = join_neighbours([one, other], 1).toarray()
    assert graph.tolist() == [[0, 1, 1], [1, 0, 2], [1, 2, 0]]


@pytest.mark.parametrize(("n", "m"), [(100, 3), (100, 40), (200, 3), (200, 40), (300, 3)])
def test_modes_of_few_samples_are_those_of_all_eigenvectors(n, m):
    X = np.random.default_rng(0).normal(size=(n, 5))
    graph = join_neighbours([find_neighbours(X, 8)], 8)
    root = np.sqrt(graph.toarray().sum(axis=0))
    values, vectors = np.linalg.eigh(graph.toarray() / root / root[:, None])
    found = slow_modes(graph, m)
    np.testing.assert_allclose(found.rates, -np.log((1 + values[::-1][1 : m + 1]) / 2), rtol=1e-9)
    expected = vectors[:, ::-1][:, 1 : m + 1] / root[:, None]
    overlap = np.abs((found.values * root[:, None] ** 2 * expected).sum(axis=0))
    np.testing.assert_allclose(overlap, 1, rtol=1e-8)


def test_modes_have_the_same_signs_in_whatever_order_samples_come():
    X = np.random.default_rng(0).normal(size=(250, 3))
    order = np.random.default_rng(1).permutation(len(X))
    found, other = (
        slow_modes(join_neighbours([find_neighbours(Z, 10)], 10), 3).values for Z in (X, X[order])
    )
    np.testing.assert_allclose(other, found[order], atol=1e-7)


@pytest.mark.parametrize("n", [200, 500])
def test_two_far_clusters_have_one_mode_that_hardly_fades(n):
    X = np.random.default_rng(0).normal(size=(n, 2))
    X[: n // 2] += 50
    modes = slow_modes(join_neighbours([find_neighbours(X, 10)], 10), 3)
    assert modes.rates[0] < 1e-4 < modes.rates[1]
    side = modes.values[:, 0] > modes.values[:, 0].mean()
    assert len(set(side[: n // 2])) == len(set(side[n // 2 :])) == 1
    assert side[0] != side[-1]
