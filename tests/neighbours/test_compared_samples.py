"""Neighbours of samples that are all compared: right in any number of features, at any scale, and in any sizes."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from latentsimplex.neighbours import neighbour_graphs
from latentsimplex.neighbours.neighbour_graphs import FEW_FEATURES, compare_all, find_neighbours


def order_all(X):
    """Return all other samples in the order of their distance, by sorting."""
    distances = cdist(X, X)
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1, kind="stable")[:, :-1]


@pytest.mark.parametrize("p", [1, FEW_FEATURES - 1, FEW_FEATURES, 200])
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e150])
def test_the_nearest_are_found(p, scale):
    X = np.random.default_rng(p).normal(size=(150, p)) + 3.0
    np.testing.assert_array_equal(np.sort(compare_all(scale * X, [10])), np.sort(order_all(X)[:, :10]))


def test_those_of_smaller_sizes_come_first_whatever_the_sizes():
    X = np.random.default_rng(0).normal(size=(300, 4))
    order, sizes = order_all(X), [3, 100, 200, 299]
    found = compare_all(X, sizes)
    assert found.shape == (300, 299)
    for size in sizes:
        np.testing.assert_array_equal(np.sort(found[:, :size]), np.sort(order[:, :size]))


def test_of_equally_near_samples_the_first_are_taken():
    X = np.random.default_rng(0).integers(0, 3, size=(200, 2)).astype(float)
    order, found = order_all(X), compare_all(X, [5, 20, 90])
    for size in (5, 20, 90):
        np.testing.assert_array_equal(np.sort(found[:, :size]), np.sort(order[:, :size]))


def test_an_outlier_takes_no_digits_from_the_others():
    X = np.random.default_rng(0).normal(size=(60, 20))
    X[0] = 1e6
    np.testing.assert_array_equal(np.sort(compare_all(X, [5])[1:]), np.sort(order_all(X)[1:, :5]))


def test_blocks_change_nothing(monkeypatch):
    X = np.random.default_rng(0).normal(size=(101, 20))
    whole = compare_all(X, [4, 30])
    monkeypatch.setattr(neighbour_graphs, "COMPARED_AT_ONCE", 250)
    np.testing.assert_array_equal(compare_all(X, [4, 30]), whole)


def test_many_neighbours_of_which_a_graph_takes_two_sizes_are_found_by_counting():
    X = np.random.default_rng(0).normal(size=(200, 3))
    order = order_all(X)
    found = find_neighbours(X, 120, sizes=[60, 120])
    for size in (60, 120):
        np.testing.assert_array_equal(np.sort(found[:, :size]), np.sort(order[:, :size]))
    np.testing.assert_array_equal(find_neighbours(X, 30), order[:, :30])
