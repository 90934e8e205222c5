"""Clusters cut where classes part, and joined where a class was cut."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.metrics import adjusted_rand_score

from latentsimplex.auto.cluster_tree import Bounds, grow_tree
from latentsimplex.base.partial_table import PartialTable
from latentsimplex.base.threads import Workers
from latentsimplex.known.chunks import tie_samples
from latentsimplex.known.informed_clusters import (
    follow_seeds,
    inform_tree,
    join_clusters,
    predict_by_side,
    walk_on,
)
from latentsimplex.known.known_samples import Known, Links

N = 240
UNBOUNDED = Bounds()


def make_overlapping(distance, seed=0):
    """Two clouds too near one another for views to tell them apart by themselves, and a third far away."""
    rng = np.random.default_rng(seed)
    truth = np.arange(N) % 3
    centres = np.array([[0.0, 0.0], [distance, 0.0], [30.0, 0.0]])
    return centres[truth] + rng.normal(size=(N, 2)), truth


def inform(X, labels, bounds=UNBOUNDED):
    known = Known(np.unique(labels[labels >= 0]), labels)
    with Workers(1) as workers:
        tree = grow_tree([X], bounds, workers)
        return tree, inform_tree([X], tree, tie_samples(known), bounds, workers)


def some_labels(truth, per_class, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.full(len(truth), -1)
    for c in np.unique(truth):
        rows = rng.choice(np.flatnonzero(truth == c), per_class, replace=False)
        labels[rows] = c
    return labels


def test_labels_cut_a_cluster_that_views_leave_whole():
    X, truth = make_overlapping(2.6)
    tree, informed = inform(X, some_labels(truth, 8))
    assert tree.n_clusters == 2
    assert informed.n_clusters == 3
    assert adjusted_rand_score(informed.labels, truth) > adjusted_rand_score(tree.labels, truth) + 0.15
    assert len(informed.levels) == len(tree.levels) + 1


def test_labels_that_neighbours_do_not_tell_apart_cut_nothing():
    """Two classes that are one cloud: a cut would be by chance."""
    X, truth = make_overlapping(0.0)
    tree, informed = inform(X, some_labels(truth, 8))
    assert informed is tree


@pytest.mark.parametrize("are_about", [True, False])
def test_a_cluster_that_is_mostly_known_is_cut_where_its_chunks_part(are_about):
    """Two classes that are one cloud, three quarters of which are tied by links: few are left to chance."""
    X, truth = make_overlapping(0.0)
    rng = np.random.default_rng(0)
    named = rng.choice(N, 180, replace=False)
    pairs = rng.choice(named, size=(4_000, 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    must, cannot = (Links(own, np.ones(len(own))) for own in (pairs[same], pairs[~same]))
    chunks = tie_samples(Known(np.array([]), np.full(N, -1), must, cannot))._replace(are_about=are_about)
    with Workers(1) as workers:
        tree = grow_tree([X], UNBOUNDED, workers)
        informed = inform_tree([X], tree, chunks, UNBOUNDED, workers)
    assert tree.n_clusters == 2
    if are_about:
        assert informed.n_clusters == 3
        assert adjusted_rand_score(informed.labels[named], truth[named]) == 1
    else:
        assert informed is tree


def test_a_cluster_whose_samples_belong_elsewhere_is_dissolved():
    """A chain of thirty samples: the middle cluster is made of two chunks that are at home on either side."""
    chain = csr_matrix(np.diag(np.ones(29), 1) + np.diag(np.ones(29), -1))
    labels, truth = np.repeat([0, 1, 2], [13, 4, 13]), np.repeat([0, 1], 15)
    chunks = tie_samples(Known(np.arange(2), truth))
    assert follow_seeds(walk_on(chain), labels, chunks).tolist() == truth.tolist()
    new = tie_samples(Known(np.arange(2), np.where(labels == 1, -1, truth)))
    assert follow_seeds(walk_on(chain), labels, new)[13:17].tolist() == [1] * 4


def test_a_label_of_each_class_is_not_enough_for_a_cut():
    X, truth = make_overlapping(2.6)
    tree, informed = inform(X, some_labels(truth, 1))
    assert informed is tree


def make_divided():
    """Four clouds, the near two of which are one class by their labels; nothing is known of the others."""
    rng = np.random.default_rng(0)
    truth = np.arange(N) % 4
    X = np.array([[0.0, 0], [9, 0], [40, 0], [49, 0]])[truth] + rng.normal(size=(N, 2))
    labels = some_labels(truth, 5)
    labels[truth >= 2] = -1
    labels[labels == 1] = 0
    return X, truth, labels


def test_a_class_that_was_cut_is_joined():
    """Clusters without labels stay."""
    X, truth, labels = make_divided()
    tree, informed = inform(X, labels)
    assert tree.n_clusters == 4
    assert informed.n_clusters == 3
    assert len({*informed.labels[truth < 2].tolist()}) == 1
    assert informed.nodes == []


def test_labels_cut_no_more_than_the_most_clusters_and_join_no_fewer_than_the_least():
    X, truth = make_overlapping(2.6)
    tree, informed = inform(X, some_labels(truth, 8), Bounds(1, 2))
    assert informed is tree
    X, _, labels = make_divided()
    tree, informed = inform(X, labels, Bounds(4, 4))
    assert informed is tree
    assert tree.n_clusters == 4


def test_the_cut_that_saves_most_is_made_where_there_is_room_for_one():
    """The classes of two pairs of clouds: the second pair is farther apart, and has more labels."""
    rng = np.random.default_rng(0)
    truth = np.arange(2 * N) % 4
    X = np.array([[0.0, 0], [2.6, 0], [60, 0], [62.8, 0]])[truth] + rng.normal(size=(2 * N, 2))
    labels = some_labels(truth, 30)
    labels[(truth < 2) & (np.arange(2 * N) % 3 > 0)] = -1
    tree, informed = inform(X, labels, Bounds(1, 3))
    assert tree.n_clusters == 2
    assert informed.n_clusters == 3
    assert adjusted_rand_score(informed.labels[truth >= 2], truth[truth >= 2]) > 0.5
    assert len({*informed.labels[truth < 2].tolist()}) == 1


@pytest.mark.parametrize("make", ["overlapping", "divided"])
def test_samples_in_no_view_stay_without_a_cluster(make):
    if make == "overlapping":
        X, truth = make_overlapping(2.6)
        labels = some_labels(truth, 12)
    else:
        X, truth, labels = make_divided()
    there = np.flatnonzero(np.arange(N) % 7 > 0)
    tree, informed = inform(PartialTable(X[there], there, N), labels)
    _, expected = inform(X[there], labels[there])
    assert informed.n_clusters == 3
    assert tree.n_clusters != 3
    assert (np.delete(informed.labels, there) == -1).all()
    np.testing.assert_array_equal(informed.labels[there], expected.labels)


def test_few_samples_of_a_class_join_nothing():
    labels = np.repeat([0, 1], 4)
    chunks = tie_samples(Known(np.array(["a"]), np.where(np.arange(8) % 4 < 2, 0, -1)))
    found, joined = join_clusters(labels, chunks)
    assert not joined
    assert found.tolist() == labels.tolist()


def test_samples_follow_seeds_and_clusters_without_seeds_stay():
    """A chain of nine samples: the border moves to the middle of the seeds, and the last cluster has none."""
    chain = np.diag(np.ones(8), 1) + np.diag(np.ones(8), -1)
    labels = np.array([0, 1, 1, 1, 1, 1, 2, 2, 2])
    seeds = np.array([0, 0, 0, -1, 1, 1, -1, -1, -1])
    chunks = tie_samples(Known(np.arange(2), np.where(np.arange(9) == 2, -1, seeds)))
    found = follow_seeds(walk_on(csr_matrix(chain)), np.where(np.arange(9) == 1, 0, labels), chunks)
    assert found[:2].tolist() == [0, 0]
    assert found[4:].tolist() == [1, 1, 2, 2, 2]


def test_predictions_by_sides_by_hand():
    """Three of one kind and one of another on a side: each is predicted by the other three, and half a one."""
    table = np.array([[3, 1], [0, 0]])
    expected = 3 * np.log(2.5 / 4) + np.log(0.5 / 4)
    assert predict_by_side(table) == pytest.approx(expected)
