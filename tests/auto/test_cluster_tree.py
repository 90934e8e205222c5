"""Clusters from coarse to fine, as many as there is evidence for or as were asked for."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from latentsimplex.auto.cluster_tree import Bounds, grow_tree
from latentsimplex.base.threads import Workers


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
