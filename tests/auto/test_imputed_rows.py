"""Rows of absent samples, filled in from samples that are like them in other views."""

import numpy as np
import pytest

from latentsimplex.auto import imputed_rows
from latentsimplex.auto.cluster_tree import (
    Bounds,
    find_seen,
    find_split_of_seen,
    grow_tree,
    sample_each_view,
)
from latentsimplex.auto.imputed_rows import fill_absent
from latentsimplex.auto.landmarks import place_by_landmarks
from latentsimplex.auto.neighbour_votes import count_votes
from latentsimplex.auto.unimodal_clouds import measure_cloud_shape
from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.partial_table import PartialTable
from latentsimplex.base.threads import Workers
from latentsimplex.neighbours.cluster_support import support
from latentsimplex.neighbours.neighbour_graphs import find_neighbours, join_neighbours


def drop(X, own):
    return PartialTable(X[own], np.flatnonzero(own), len(X))


def draw(n=90, seed=0):
    """Return two views of three clusters, who is where, and the clusters; each sample is in one view at least."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    views = [8.0 * np.eye(3)[labels] + rng.normal(size=(n, 3)) for _ in range(2)]
    present = rng.random((2, n)) > 0.3
    present[0, ~present.any(axis=0)] = True
    return views, present, labels


def test_tables_that_have_everyone_stay_as_they_are():
    X = np.eye(4)
    assert fill_absent([X])[0] is X


def test_absent_rows_are_those_of_like_samples_by_hand(monkeypatch):
    monkeypatch.setattr(imputed_rows, "N_DONORS", 2)
    one = np.array([[0.0], [0.1], [0.3], [9.0], [9.2]])
    two = PartialTable(np.array([[1.0], [2.0], [5.0], [7.0]]), np.array([1, 2, 3, 4]), 5)
    filled = fill_absent([one, two])
    np.testing.assert_array_equal(filled[0], one)
    assert filled[1].ravel().tolist() == [1.5, 1.0, 2.0, 5.0, 7.0]


def test_a_sample_that_shares_no_view_with_donors_is_filled_all_the_same():
    one = PartialTable(np.array([[0.0], [1.0]]), np.array([0, 1]), 4)
    two = PartialTable(np.array([[5.0], [7.0]]), np.array([2, 3]), 4)
    assert all(np.isfinite(Z).all() for Z in fill_absent([one, two]))


@pytest.mark.parametrize("together", [1, 1 << 22])
def test_rows_are_filled_with_their_own_cluster_whatever_is_done_at_a_time(together, monkeypatch):
    views, present, labels = draw()
    tables = [drop(X, own) for X, own in zip(views, present, strict=True)]
    expected = fill_absent(tables)
    monkeypatch.setattr(imputed_rows, "TOGETHER", together)
    for Z, again, X, own in zip(expected, fill_absent(tables), views, present, strict=True):
        np.testing.assert_array_equal(Z, again)
        np.testing.assert_array_equal(Z[own], X[own])
        assert (Z.argmax(axis=1) == labels).mean() > 0.95


def test_few_donors_stand_for_many(monkeypatch):
    monkeypatch.setattr(imputed_rows, "MOST_DONORS", 30)
    views, present, labels = draw()
    filled = fill_absent([drop(X, own) for X, own in zip(views, present, strict=True)])
    assert (filled[0].argmax(axis=1) == labels).mean() > 0.95


def test_clouds_have_the_same_absent_samples():
    views, present, _ = draw()
    shape = measure_cloud_shape([drop(X, own) for X, own in zip(views, present, strict=True)])
    for cloud, own in zip(shape.draw(90, np.random.default_rng(0)), present, strict=True):
        np.testing.assert_array_equal(cloud.present, own)


def test_absent_samples_have_no_neighbours_and_no_edges():
    X = np.arange(6.0)[:, None]
    near = find_neighbours(drop(X, np.array([1, 0, 1, 1, 0, 0], bool)), 3)
    assert near.tolist() == [[2, 3, -1], [-1] * 3, [3, 0, -1], [2, 0, -1], [-1] * 3, [-1] * 3]
    graph = join_neighbours([near, find_neighbours(X, 3)], 1).toarray()
    assert graph[0, 2] == 1  # by the view that lacks what is between
    assert graph[0, 1] == 1
    np.testing.assert_array_equal(graph, graph.T)


def test_support_counts_the_samples_that_have_neighbours_and_clusters():
    near = np.array([[1], [0], [3], [2], [-1], [0]])
    labels = np.array([0, 0, 1, 1, 0, -1])
    assert support(near, labels) == support(near[:4], labels[:4]) == 1
    assert support(near, np.full(6, -1)) == 0


def test_fewer_votes_are_wider_memberships():
    views, _, labels = draw(seed=3)
    near = [find_neighbours(X + np.random.default_rng(5).normal(size=X.shape) * 4, 20) for X in views]
    everyone = count_votes(near, labels)
    near[1] = near[1].copy()
    near[1][:30] = -1
    fewer = count_votes(near, labels)
    assert fewer[:30].max(axis=1).mean() < everyone[:30].max(axis=1).mean()


def test_landmarks_place_a_sample_in_the_views_that_it_is_in():
    X = np.array([[0.0], [10.0], [0.5], [9.5]])
    away = PartialTable(np.array([[10.0], [0.0], [10.2]]), np.array([0, 1, 2]), 4)
    placed = place_by_landmarks([X, away], np.array([0, 1]), np.eye(2))
    np.testing.assert_allclose(placed[3], [0.5, 0.5])  # both landmarks are among the nearest
    alone = PartialTable(np.array([[1.0]]), np.array([3]), 4)
    np.testing.assert_allclose(place_by_landmarks([alone], np.array([0, 1]), np.eye(2))[3], [0.5, 0.5])


def test_a_tree_leaves_out_samples_that_no_view_has():
    views, present, labels = draw(120)
    present[:, :20] = False
    tree = grow_tree([drop(X, own) for X, own in zip(views, present, strict=True)], Bounds(), Workers(1))
    seen = np.arange(120) >= 20
    assert (tree.labels[~seen] == -1).all()
    assert tree.n_clusters == 3
    assert len({(a, b) for a, b in zip(tree.labels[seen].tolist(), labels[seen].tolist(), strict=True)}) <= 5
    assert all((node.rows >= 20).all() for node in tree.nodes)


def test_samples_of_views_that_are_too_few_go_with_most_others():
    views, _, _ = draw(60)
    own = np.arange(60) >= 5
    few = np.arange(60) < 8
    split = find_split_of_seen([drop(views[0], own), drop(views[1], few)], Workers(1))
    assert len(split.labels) == 60
    assert (split.labels[:5] == np.bincount(split.labels[5:]).argmax()).all()


def test_a_view_of_one_value_sees_nobody():
    constant = PartialTable(np.ones((2, 1)), np.array([0, 1]), 3)
    varying = PartialTable(np.array([[0.0], [1.0]]), np.array([1, 2]), 3)
    assert find_seen([constant, varying]).tolist() == [1, 2]
    assert find_seen([constant]) is None


def test_a_view_that_has_nobody_is_left_out():
    nobody = PartialTable(np.zeros((0, 2)), np.array([], dtype=int), 4)
    filled = fill_absent([np.eye(4), nobody])
    assert len(filled) == 1


def test_views_are_grouped_by_samples_of_each():
    assert sample_each_view([np.zeros((2000, 1))], 1000, 100).tolist() == sample_rows(2000, 1000).tolist()
    few = PartialTable(np.zeros((30, 1)), np.arange(1970, 2000), 2000)
    rows = sample_each_view([np.zeros((2000, 1)), few], 1000, 100)
    assert np.isin(few.rows, rows).all()
    assert len(rows) <= 1030
