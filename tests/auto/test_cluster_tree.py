"""Clusters from coarse to fine, as many as there is evidence for or as were asked for."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from latentsimplex.auto import cluster_tree
from latentsimplex.auto.cluster_tree import Bounds, believe, find_splits_of, grow_tree
from latentsimplex.base.threads import Workers
from latentsimplex.base.wide_table import WideTable


def grow(*tables, least=1, most=None):
    with Workers(1) as workers:
        return grow_tree(tables, Bounds(least, most), workers)


def nested(n=240):
    """Four clusters, two and two near each other."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 4
    centres = np.array([[0.0, 0], [9, 0], [40, 0], [49, 0]])
    return centres[labels] + rng.normal(size=(n, 2)), labels


def test_levels_lead_from_one_cluster_to_the_finest():
    X, labels = nested()
    tree = grow(X)
    assert [int(level.labels.max()) + 1 for level in tree.levels] == [1, 2, 3, 4]
    assert adjusted_rand_score(tree.levels[1].labels, labels // 2) == 1
    assert adjusted_rand_score(tree.labels, labels) > 0.95
    for coarse, fine in zip(tree.levels[:-1], tree.levels[1:], strict=True):
        pairs = np.unique(np.column_stack([coarse.labels, fine.labels]), axis=0)
        assert len(pairs) == fine.labels.max() + 1  # each fine cluster lies in one coarse cluster


def test_pieces_that_are_looked_at_side_by_side_are_those_looked_at_in_turn(monkeypatch):
    """With a bound, the strongest split is made before others are looked at; without one, all believed ones are."""
    rng, k = np.random.default_rng(1), np.repeat(np.arange(12), 25)
    X = np.column_stack([100 * (k // 6), 10 * (k // 3 % 2) + k % 3]) + 0.08 * rng.normal(size=(300, 2))
    looks, find_splits_of = [], cluster_tree.find_splits_of

    def find(tables, pieces, *how):
        looks[-1].append(len(pieces))
        return find_splits_of(tables, pieces, *how)

    monkeypatch.setattr(cluster_tree, "find_splits_of", find)
    trees = []
    with Workers(2) as workers:
        for most in (None, len(X)):
            looks.append([])
            trees.append(grow_tree([X], Bounds(1, most), workers))
    together, in_turn = looks
    assert sum(together) == sum(in_turn) >= 2 * 11
    assert len(together) < len(in_turn) == len(trees[0].levels) - 1
    for one, other in zip(*(tree.levels for tree in trees), strict=True):
        np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(*(tree.evidence for tree in trees))
    for one, other in zip(*(tree.nodes for tree in trees), strict=True):
        assert one.parent == other.parent
        np.testing.assert_array_equal(one.rows, other.rows)


def test_splits_of_pieces_come_in_their_order_whichever_is_the_largest():
    pieces = [np.arange(10), np.arange(10, 200), np.arange(200, 240)]

    def find(tables):
        return tables[0][0, 0]

    for n_jobs in (1, 2):
        for order in ([0, 1, 2], [1, 0, 2], [2, 0, 1], [0, 2]):
            with Workers(n_jobs) as workers:
                found = find_splits_of([np.arange(240)[:, None]], [pieces[i] for i in order], find, workers)
                assert list(found) == [pieces[i][0] for i in order]


def test_clusters_in_a_row_within_a_piece_are_told_apart():
    rng, labels = np.random.default_rng(4), np.arange(210) % 7
    centres = np.vstack([np.zeros(3), 3 * np.eye(3), -3 * np.eye(3)])
    tree = grow(centres[labels] + 0.45 * rng.normal(size=(210, 3)))
    assert (
        adjusted_rand_score(tree.labels, labels) == 1
    )  # a piece with three in a row would be round if standardised


def test_pieces_of_a_wide_table_are_split_as_those_of_an_array():
    rng, labels = np.random.default_rng(0), np.arange(120) % 3
    shifts = np.array([0.0, 40.0, 41.0])[labels][:, None] * (np.arange(4000) % 2)
    X = (shifts + rng.normal(size=(120, 4000))) * np.where(np.arange(4000) % 2, 1.0, 1000.0)
    for table in (X, WideTable(X)):
        assert adjusted_rand_score(grow(table).labels, labels) == 1


def test_the_evidence_is_largest_for_the_number_of_clusters_that_is_taken():
    tree = grow(nested()[0])
    assert tree.evidence[0] == 0
    assert int(np.argmax(tree.evidence)) + 1 == tree.n_clusters == 4
    assert tree.evidence[3] == tree.levels[-1].evidence


def test_noise_is_one_cluster_with_evidence_against_two():
    tree = grow(np.random.default_rng(0).normal(size=(200, 2)))
    assert tree.n_clusters == 1
    assert tree.strength < 1
    assert tree.evidence[1] < 0


@pytest.mark.parametrize("k", [2, 3, 4, 6])
def test_exactly_as_many_as_were_asked_for(k):
    tree = grow(nested()[0], least=k, most=k)
    assert tree.n_clusters == k
    assert len(np.unique(tree.labels)) == k


def test_no_more_than_allowed_and_no_fewer_than_asked_for():
    X, labels = nested()
    assert adjusted_rand_score(grow(X, most=2).labels, labels // 2) == 1
    assert grow(X, least=5).n_clusters == 5
    assert grow(X, most=100).n_clusters == 4


def test_samples_are_together_with_one_minus_the_belief_in_the_split_that_parts_them():
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[:100] += 12
    tree = grow(X)
    assert tree.n_clusters == 2
    X_factor = tree.average_numbers(np.eye(2)[tree.labels])
    P = X_factor @ X_factor.T
    one, other = np.flatnonzero(tree.labels == 0), np.flatnonzero(tree.labels == 1)
    np.testing.assert_allclose(P[np.ix_(one, other)], 1 - believe(tree.strength), atol=1e-6)
    leaves = [node for node in tree.nodes if node.parent == 0]
    for rows, node in zip((one, other), leaves, strict=True):
        sides = node.split.labels
        parted = P[np.ix_(rows[sides == 0], rows[sides == 1])]
        np.testing.assert_allclose(parted, 1 - believe(node.strength), atol=1e-6)
    np.testing.assert_allclose(np.diag(P), 1, atol=1e-6)


def test_a_table_that_may_hold_groups_is_not_said_to_hold_none():
    """Two clusters that nearly touch are refused, and pairs between them are doubted more than those of noise."""
    rng = np.random.default_rng(3)
    noise, close = rng.normal(size=(150, 2)), rng.normal(size=(150, 2))
    close[::2, 0] += 2.6
    least = []
    for X in (noise, close):
        tree = grow(X)
        if tree.n_clusters > 1:
            least.append(0.0)
            continue
        factor = tree.average_numbers(np.ones((150, 1)))
        least.append((factor @ factor.T).min())
    assert least[1] < least[0]
    assert least[0] > 0.8


def test_beliefs_grow_with_strength():
    beliefs = [believe(strength) for strength in np.linspace(-2, 3, 20)]
    assert beliefs == sorted(beliefs)
    assert believe(-np.inf) == 0 < believe(0.0) < 0.1 < 0.7 < believe(1.0) < 1


def test_exactly_k_clusters_are_those_that_fewest_edges_leave():
    """Four blobs in a cross: greedy cuts in two part the arms unevenly, spectral clustering does not."""
    rng = np.random.default_rng(0)
    labels = np.arange(240) % 4
    X = rng.normal(size=(240, 2)) + 5 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])[labels]
    tree = grow(X, least=4, most=4)
    assert tree.n_clusters == 4
    assert adjusted_rand_score(tree.labels, labels) > 0.95
    assert tree.nodes == []


def test_exactly_k_small_clusters_that_no_piece_can_be_split_into():
    centres = 20 * np.random.default_rng(0).normal(size=(6, 2))
    X = np.repeat(centres, 4, axis=0) + 0.1 * np.random.default_rng(1).normal(size=(24, 2))
    tree = grow(X, least=6, most=6)
    assert adjusted_rand_score(tree.labels, np.repeat(np.arange(6), 4)) == 1
