"""Memberships from neighbours' votes, pooled with those of EM."""

import numpy as np
import pytest

from latentsimplex.auto.cluster_tree import ClusterTree, Level, Node
from latentsimplex.auto.neighbour_votes import (
    count_votes,
    place_rare,
    pool,
    settle_memberships,
)
from latentsimplex.auto.splits import Split
from latentsimplex.neighbours.neighbour_graphs import find_neighbours


def two_clusters(distance, n=300, p=2, seed=0):
    labels = np.arange(n) % 2
    X = np.random.default_rng(seed).normal(size=(n, p))
    X[:, 0] += distance * labels
    return X, labels


def test_votes_are_sure_where_there_is_a_gap_and_not_on_a_border():
    X, labels = two_clusters(10.0)
    assert count_votes([find_neighbours(X, 20)], labels).max(axis=1).min() > 0.99
    X, labels = two_clusters(2.0)
    cut = (X[:, 0] > 1).astype(int)
    W = count_votes([find_neighbours(X, 20)], cut)
    border = np.abs(X[:, 0] - 1) < 0.1
    assert W[border].max(axis=1).mean() < 0.9 < W[~border].max(axis=1).mean()


def test_votes_of_several_views_count_for_what_they_predict():
    """Many neighbours that agree only half the time make a sure verdict together, as in many dimensions."""
    views = [two_clusters(2.0, p=30, seed=seed)[0] for seed in range(6)]
    labels = np.arange(300) % 2
    near = [find_neighbours(X, 20) for X in views]
    alone, together = count_votes(near[:1], labels), count_votes(near, labels)
    right = np.arange(300), labels
    assert together[right].mean() > alone[right].mean() + 0.1
    assert (together.argmax(axis=1) == labels).mean() > 0.95


def test_a_pool_is_between_two_memberships():
    one, other = np.array([[0.9, 0.1]]), np.array([[0.6, 0.4]])
    assert 0.6 < pool(one, other, 1 / 3)[0, 0] < pool(one, other, 1 / 2)[0, 0] < 0.9
    np.testing.assert_allclose(pool(one, one, 1 / 3), one)
    assert pool(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), 1 / 2).sum() == pytest.approx(1)


def test_em_that_overturns_or_empties_clusters_is_not_followed():
    X, labels = two_clusters(8.0)
    near = [find_neighbours(X, 20)]
    emptied = np.tile([0.9, 0.1], (300, 1))
    overturned = np.eye(2)[np.random.default_rng(1).integers(0, 2, 300)]
    for W in (emptied, overturned):
        assert np.array_equal(settle_memberships(near, labels, W).argmax(axis=1), labels)


def test_of_two_clusterings_votes_are_for_the_one_that_fewer_edges_leave():
    X, labels = two_clusters(8.0)
    near = [find_neighbours(X, 20)]
    wrong = labels.copy()
    wrong[:20] = 1 - wrong[:20]
    refined = 0.9 * np.eye(2)[labels] + 0.05
    assert np.array_equal(settle_memberships(near, wrong, refined).argmax(axis=1), labels)
    refined = 0.9 * np.eye(2)[wrong] + 0.05
    assert np.array_equal(settle_memberships(near, labels, refined).argmax(axis=1), labels)


def test_clusters_that_overlap_keep_the_memberships_of_em():
    X, labels = two_clusters(2.0)
    W = 0.6 * np.eye(2)[labels] + 0.2
    assert np.array_equal(settle_memberships([find_neighbours(X, 20)], labels, W, is_broad=True), W)


def test_columns_beyond_the_clusters_stay_empty():
    X, labels = two_clusters(8.0)
    W = np.hstack([0.9 * np.eye(2)[labels] + 0.05, np.zeros((300, 3))])
    found = settle_memberships([find_neighbours(X, 20)], labels, W)
    assert found.shape == (300, 5)
    assert not found[:, 2:].any()


def test_a_sample_has_no_more_votes_than_its_cluster_has_others():
    """Three groups of ten in a row: half of the twenty neighbours of those in the middle are of one other group."""
    rng, labels = np.random.default_rng(1), np.repeat([0, 1, 2], 10)
    X = 40.0 * labels[:, None] + rng.normal(size=(30, 2))
    W = count_votes([find_neighbours(X, 20)] * 3, labels)
    np.testing.assert_array_equal(W.argmax(axis=1), labels)
    assert W.max(axis=1).min() > 0.95


def test_memberships_in_a_rare_cluster_are_pooled_with_those_by_its_tail():
    """Of eight samples the last two were cut off from the first six, of which the first four are a cluster."""
    labels, W = np.array([0, 0, 0, 0, 1, 1, 2, 2]), np.full((8, 3), [0.6, 0.3, 0.1])
    sureness = np.array([0.0, 0.0, 0.0, 0.2, 0.0, 0.0, 0.9, 0.8])
    rare = Split(np.repeat([0, 1], [6, 2]), 4.0, 3.0, 1.3, "as they are", False, sureness=sureness)
    nodes = [Node(np.arange(8), -1, rare), Node(np.arange(6), 0, None), Node(np.array([6, 7]), 0, None)]
    tree = ClusterTree([Level(labels, 1.0)], np.zeros(3), nodes, "as they are", False, 1.3)
    placed = place_rare(W, tree)
    np.testing.assert_allclose(placed.sum(axis=1), 1)
    np.testing.assert_allclose(placed[:, 0] / placed[:, 1], 2)
    np.testing.assert_allclose(placed[:6][sureness[:6] == 0, 2], 0, atol=1e-9)
    assert 0.1 < placed[7, 2] < 0.8
    assert placed[6, 2] > placed[7, 2]
    assert (W[0] == [0.6, 0.3, 0.1]).all()
    # a sample that votes and EM are certain of keeps a row that adds up to 1
    certain = place_rare(np.eye(3)[labels], tree)
    np.testing.assert_allclose(certain.sum(axis=1), 1)
    # a group that was cut further, or was not taken, changes nothing
    further = ClusterTree(
        [Level(np.array([0, 0, 0, 0, 1, 1, 2, 3]), 1.0)], np.zeros(4), nodes, "", False, 1.3
    )
    assert (place_rare(W, further) == W).all()
    refused = ClusterTree([Level(np.zeros(8, dtype=int), 0.0)], np.zeros(1), nodes[:1], "", False, 0.5)
    assert (place_rare(W[:, :1], refused) == W[:, :1]).all()
