"""The consensus: who takes part, with which weight, and how many clusters come out."""

import numpy as np
import pytest

from latentsimplex.results.consensus import form_consensus, weigh_views
from made_model import made_model

TWO = np.eye(2)[[0, 0, 0, 0, 1, 1]]
THREE = np.eye(3)[[0, 0, 1, 1, 2, 2]]
ONE = np.ones((6, 1))


def test_views_of_one_pattern_agree_with_it():
    found = form_consensus(np.array([0, 0]), [TWO], ["a", "b"])
    assert found.labels.tolist() == [0, 0, 0, 0, 1, 1]
    np.testing.assert_allclose(found.coassignment.toarray(), TWO @ TWO.T)
    assert found.excluded == []


def test_two_and_three_clusters_give_three():
    found = form_consensus(np.array([0, 1]), [TWO, THREE], ["a", "b"])
    assert found.n_clusters == 3
    assert found.labels.tolist() == [0, 0, 1, 1, 2, 2]
    np.testing.assert_allclose(found.coassignment.toarray(), (TWO @ TWO.T + THREE @ THREE.T) / 2)


def test_views_without_clusters_are_excluded_by_name():
    found = form_consensus(np.array([1, 0, 1, 0]), [TWO, ONE], ["noise", "x", "hum", "y"])
    assert found.weights.tolist() == [0, 1, 0, 1]
    assert found.excluded == ["noise", "hum"]
    np.testing.assert_allclose(found.coassignment.toarray(), TWO @ TWO.T)


def test_users_weights():
    found = form_consensus(np.array([0, 1, 2]), [TWO, THREE, ONE], ["a", "b", "c"], [3, 1, 5])
    assert found.weights.tolist() == [3, 1, 0]
    assert found.excluded == ["c"]
    np.testing.assert_allclose(found.coassignment.toarray(), (3 * TWO @ TWO.T + THREE @ THREE.T) / 4)


def test_a_view_of_weight_zero_has_no_say_in_the_number_of_clusters():
    found = form_consensus(np.array([0, 1]), [TWO, THREE], ["a", "b"], [1, 0])
    assert found.n_clusters == 2
    assert found.excluded == ["b"]


def test_nothing_to_agree_on():
    found = form_consensus(np.array([0, 0]), [ONE], ["a", "b"])
    assert found.labels.tolist() == [0] * 6
    assert found.weights.tolist() == [0, 0]
    assert found.excluded == ["a", "b"]
    assert (found.coassignment.toarray() == 1).all()
    assert found.n_clusters == 1


def test_refused_weights():
    patterns = np.array([0, 0])
    with pytest.raises(
        ValueError, match=r"weights has shape \(3,\) and there are 2 views: give one weight per view"
    ):
        form_consensus(patterns, [TWO], ["a", "b"], [1, 1, 1])
    for bad in (-1.0, np.nan, np.inf, 1e300):
        with pytest.raises(ValueError, match="weights holds negative, non-finite or vast values"):
            form_consensus(patterns, [TWO], ["a", "b"], [1, bad])


def test_weights_that_are_no_numbers_are_refused():
    for bad in ("ab", ["a", "b"], [{}, {}], [10**400, 1]):
        with pytest.raises(ValueError, match=r"weights is .*: give an array of numbers"):
            made_model([TWO], [0, 0]).consensus(bad)


def test_weights_that_leave_no_clusters_are_refused():
    W = np.eye(2)
    with pytest.raises(ValueError, match="gives 0 to every view that has clusters"):
        form_consensus(np.array([0, 1]), [W, np.ones((2, 1))], ["a", "b"], [0.0, 1.0])


def test_views_weigh_by_the_pairs_that_their_clusters_part():
    halves, few = np.repeat(np.eye(2), [50, 50], axis=0), np.repeat(np.eye(2), [99, 1], axis=0)
    u = weigh_views(np.array([0, 1, 2, 0]), [halves, few, np.ones((100, 1))])
    np.testing.assert_allclose(u, [1, 0.0396, 0, 1], atol=1e-4)
    # a lone sample beside all others says next to nothing of pairs, and does not blur the halves
    P = form_consensus(np.array([0, 1]), [halves, few], ["a", "b"], u[:2]).coassignment
    assert P[0, 99] < 0.001
    assert P[0, 1] > 0.999
    assert 0 < P[0, 98] < 0.05


def test_no_view_weighs_anything_without_clusters():
    assert weigh_views(np.array([0, 0]), [np.ones((5, 1))]).tolist() == [0, 0]


def test_clusters_that_were_asked_for_against_the_evidence_count_as_much_as_it_leaves():
    halves, thirds = np.repeat(np.eye(2), 6, axis=0), np.eye(3)[np.arange(12) % 3]
    against, unlikely = (
        [np.array([0, -0.1]), np.array([0, 0.3, 0.2])],
        [np.array([0, -99.0]), np.array([0, 0, -98])],
    )
    u = weigh_views(np.array([0, 1]), [halves, thirds], against)
    np.testing.assert_allclose(u, [0.75 * np.exp(-1.2), 1])
    u = weigh_views(np.array([0, 1]), [halves, thirds], unlikely)  # of two, one is less so
    np.testing.assert_allclose(u, [0.75 * np.exp(-12), 1])
    # further clusters than evidence is listed for have no more of it
    u = weigh_views(np.array([0, 1]), [halves, thirds], [np.array([0, -0.1]), np.array([0, -0.1])])
    np.testing.assert_allclose(u, [0.75, 1])
    # no evidence is known where clusters were not found by splits, and none is needed for a single cluster
    assert weigh_views(np.array([0, 1]), [halves, halves], [np.empty(0), np.empty(0)]).tolist() == [1, 1]
    assert weigh_views(
        np.array([0, 1]), [halves, np.ones((12, 1))], [np.array([0, -9.0]), np.zeros(1)]
    ).tolist() == [1, 0]
