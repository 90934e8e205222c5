"""Memberships: the cluster of each sample, and columns that hold nothing or that no sample prefers."""

import numpy as np
import pytest

from latentsimplex.model.backends import count_filled_columns
from latentsimplex.model.problem import EMPTY, drop_unused_columns, most_probable_clusters, used_columns


def test_of_clusters_that_are_as_probable_the_first_is_taken():
    assert most_probable_clusters(np.array([[0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [0.1, 0.1, 0.8]])).tolist() == [
        0,
        1,
        2,
    ]


def test_columns_are_counted_up_to_the_last_that_holds_something():
    W = np.zeros((5, 4, 3))
    for l, columns in enumerate([[0], [0, 1], [0, 1, 2], [2], [1]]):
        W[l][:, columns] = 1 / len(columns)
    assert count_filled_columns(W).tolist() == [1, 2, 3, 3, 2]


@pytest.mark.parametrize(("share", "expected"), [(EMPTY, 1), (2 * EMPTY, 2), (1e-300, 1), (1e-9, 2)])
def test_a_column_is_filled_where_one_sample_has_some_of_it(share, expected):
    W = np.array([[[1.0, 0.0], [1.0 - share, share], [1.0, 0.0]]])
    assert count_filled_columns(W).tolist() == [expected]


def blurred(seed):
    """Return memberships of 30 samples in 5 clusters, few of them sure."""
    return (2 * np.random.default_rng(seed).dirichlet(np.ones(5), size=30) + np.eye(5)[np.arange(30) % 5]) / 3


def test_columns_that_lead_nowhere_are_dropped():
    W = np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6], [0.2, 0.3, 0.5]])
    # the middle column leads nowhere; of the others the last is heavier
    np.testing.assert_allclose(drop_unused_columns(W), [[2 / 7, 5 / 7], [6 / 7, 1 / 7], [5 / 7, 2 / 7]])


def test_used_columns_are_those_that_are_not_dropped():
    W = blurred(1)
    W[:, 2] = 1e-3
    columns = used_columns(W)
    assert 2 not in columns
    kept = W[:, columns]
    assert np.array_equal(kept / kept.sum(axis=1, keepdims=True), drop_unused_columns(W))
    # columns of the same weight come by their first sample
    assert used_columns(np.eye(3)[[2, 0, 0, 2]]).tolist() == [2, 0]


def test_unused_columns_are_dropped_all_at_once():
    W = blurred(0)
    once = drop_unused_columns(W)
    np.testing.assert_allclose(drop_unused_columns(once), once, rtol=1e-14)
    assert set(most_probable_clusters(once)) == set(range(once.shape[1]))
    assert (np.diff(once.sum(axis=0)) <= 1e-12).all()
