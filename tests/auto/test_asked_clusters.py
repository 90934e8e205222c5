"""As many clusters as were asked for."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from latentsimplex.auto.asked_clusters import cut_into
from latentsimplex.auto.cluster_tree import Bounds, grow_tree
from latentsimplex.base.threads import Workers


def test_exactly_k_are_those_of_splits_unless_clearly_fewer_edges_leave_others():
    rng, labels = np.random.default_rng(0), np.repeat([0, 1, 2], 60)
    X = rng.normal(size=(180, 2)) + 12 * np.eye(3)[labels][:, :2]
    np.testing.assert_array_equal(cut_into([X], 3, labels), labels)
    mixed = rng.permutation(labels)
    assert adjusted_rand_score(cut_into([X], 3, mixed), labels) > 0.95


def groups_of_groups(p, seed=0):
    """Three clusters, each of three pieces that no local graph joins; the middle ones are small."""
    rng = np.random.default_rng(seed)
    coarse, fine = np.repeat([0, 1, 2], 110), np.tile(np.repeat([0, 1, 2], [50, 10, 50]), 3)
    centres = 60 * np.eye(3, p)[coarse]
    centres[:, -1] += 12 * (fine - 1)
    return centres + rng.normal(size=(330, p)), coarse


@pytest.mark.parametrize("bounds", [Bounds(3, 3), Bounds(1, 3)])
@pytest.mark.parametrize("p", [8, 40])
def test_pieces_that_are_too_many_are_joined_to_the_nearest(p, bounds):
    X, coarse = groups_of_groups(p)
    with Workers(1) as workers:
        found = grow_tree([X], bounds, workers, compared="as they are")
    assert found.n_clusters == 3
    assert adjusted_rand_score(found.labels, coarse) == 1
