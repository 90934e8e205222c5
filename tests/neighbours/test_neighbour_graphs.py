"""Neighbour graphs, their slow modes, and what they say of clusters."""

import numpy as np
import pytest
from scipy import sparse

from latentsimplex.base.wide_table import WideTable
from latentsimplex.neighbours.neighbour_graphs import (
    compare_samples,
    find_neighbours,
    join_neighbours,
    slow_modes,
    support,
    support_within,
)


def test_neighbours_are_the_nearest_and_never_the_sample_itself():
    X = np.random.default_rng(0).normal(size=(40, 3))
    near = find_neighbours(X, 5)
    distances = np.linalg.norm(X[:, None] - X, axis=-1)
    np.fill_diagonal(distances, np.inf)
    assert np.array_equal(np.sort(near, axis=1), np.sort(np.argsort(distances, axis=1)[:, :5], axis=1))


def test_samples_that_coincide_have_as_many_neighbours_as_others():
    near = find_neighbours(np.zeros((30, 2)), 4)
    assert near.shape == (30, 4)
    assert not (near == np.arange(30)[:, None]).any()


def test_missing_cells_are_compared_on_what_samples_share():
    X = np.array([[0.0, np.nan], [0.1, 5.0], [9.0, np.nan], [9.1, 5.0]])
    assert find_neighbours(X, 1).ravel().tolist() == [1, 0, 3, 2]


@pytest.mark.parametrize("make", [np.asarray, sparse.csc_array])
def test_wide_tables_are_compared_as_narrow_ones_are(make):
    X = np.random.default_rng(0).poisson(1.0, size=(12, 50)).astype(float)
    for comparison in ("as they are", "standardised", "as shares"):
        wide = compare_samples(WideTable(make(X)), comparison)
        distances = [np.linalg.norm(Z[:, None] - Z, axis=-1) for Z in (wide, compare_samples(X, comparison))]
        ratio = distances[0][0, 1:] / distances[1][0, 1:]  # a table may be measured in another unit
        np.testing.assert_allclose(ratio, ratio[0])


def test_edges_of_views_add_up():
    one, other = np.array([[1], [0], [1]]), np.array([[2], [2], [1]])
    graph = join_neighbours([one, other], 1).toarray()
    assert graph.tolist() == [[0, 1, 1], [1, 0, 2], [1, 2, 0]]


@pytest.mark.parametrize("n", [200, 500])
def test_two_far_clusters_have_one_mode_that_hardly_fades(n):
    X = np.random.default_rng(0).normal(size=(n, 2))
    X[: n // 2] += 50
    modes = slow_modes(join_neighbours([find_neighbours(X, 10)], 10), 3)
    assert modes.rates[0] < 1e-4 < modes.rates[1]
    side = modes.values[:, 0] > modes.values[:, 0].mean()
    assert len(set(side[: n // 2])) == len(set(side[n // 2 :])) == 1
    assert side[0] != side[-1]


def test_support_is_none_for_clusters_that_have_nothing_to_do_with_the_view():
    rng = np.random.default_rng(0)
    near = find_neighbours(rng.normal(size=(400, 2)), 10)
    assert abs(support(near, rng.integers(0, 3, 400))) < 0.05
    assert support(near, np.zeros(400, dtype=int)) == 0


def test_support_within_clusters_that_a_view_has_as_one_is_none():
    """One view has two of the other's three clusters as one: its neighbours do not tell them apart."""
    rng, three = np.random.default_rng(0), np.arange(600) % 3
    two = (three == 2).astype(int)
    coarse, fine = (find_neighbours(9.0 * y[:, None] + rng.normal(size=(600, 1)), 10) for y in (two, three))
    assert abs(support_within(coarse, two, three)) < 2 / np.sqrt(600)
    assert support_within(fine, three, two) > 0.9
    assert support_within(fine, np.zeros(600, dtype=int), three) > 0.9
    absent = np.where(np.arange(600) < 50, -1, three)
    assert abs(support_within(coarse, two, absent)) < 2.5 / np.sqrt(600)
