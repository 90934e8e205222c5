"""Memberships given labels and links, and which of these are probably wrong."""

import numpy as np
import pytest

from latentsimplex.known.known_samples import Known, Links
from latentsimplex.known.placed_chunks import place_chunks
from latentsimplex.known.posterior import doubt_labels, inform_memberships, judge_memberships, solve_links

NONE = np.array([], dtype=object)


def memberships(truth, sure=0.9):
    g = int(truth.max()) + 1
    return np.full((len(truth), g), (1 - sure) / (g - 1)) + np.eye(g)[truth] * (sure - (1 - sure) / (g - 1))


def test_wrong_labels_are_doubted_and_right_ones_are_not():
    truth = np.arange(60) % 3
    labels = truth.copy()
    labels[:4] = (labels[:4] + 1) % 3
    table, doubts, predicted, error = doubt_labels(memberships(truth, 0.98), Known(np.arange(3), labels))
    assert doubts[:4].min() > 0.15 > doubts[4:].max()
    assert predicted.argmax(axis=1).tolist() == truth.tolist()
    assert 0.02 < error < 0.12
    np.testing.assert_allclose(table.sum(axis=1), 1)


def test_a_label_is_predicted_without_itself():
    """The only sample of its class in a cluster of others cannot vouch for itself."""
    truth = np.repeat([0, 1], 10)
    labels = truth.copy()
    labels[0] = 1
    _, _, predicted, _ = doubt_labels(memberships(truth, 0.999), Known(np.arange(2), labels))
    by_hand = 0.1 / (9 + 0.2)  # nine others, all of class 0, and a tenth of a sample of each class beforehand
    assert predicted[0, 1] == pytest.approx(by_hand, abs=3e-3)


def test_labels_move_their_own_samples_alone():
    truth = np.repeat([0, 1], 10)
    W = memberships(truth)
    W[0] = [0.4, 0.6]
    labels = np.where(np.arange(20) < 15, truth, -1)
    informed = inform_memberships(W, Known(np.arange(2), labels))
    assert informed.W[0, 0] > 0.8
    np.testing.assert_array_equal(informed.W[15:], W[15:])
    assert np.isnan(informed.label_doubts[15:]).all()


def test_links_pull_and_push():
    W = np.array([[0.95, 0.05], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    must, cannot = Links(np.array([[0, 1]]), np.ones(1)), Links(np.array([[0, 2]]), np.ones(1))
    informed = inform_memberships(W, Known(NONE, np.full(4, -1), must, cannot))
    assert informed.W[1, 0] > 0.8
    assert informed.W[2, 1] > 0.8
    np.testing.assert_allclose(informed.W[3], 0.5)


def test_links_solve_the_mean_field_equations():
    """At the end each row is what the equations say of the others, by loops."""
    rng = np.random.default_rng(0)
    W = rng.dirichlet(np.ones(3), size=6)
    must, cannot = (
        Links(np.array([[0, 1], [1, 2]]), np.array([1.0, 2.0])),
        Links(np.array([[3, 4]]), np.ones(1)),
    )
    q, _, _, error = solve_links(np.log(W), Known(NONE, np.full(6, -1), must, cannot))
    expected = np.log(W)
    for links, together in ((must, True), (cannot, False)):
        for (i, j), weight in zip(links.pairs, links.weights, strict=True):
            for one, other in ((i, j), (j, i)):
                agreed = q[other] if together else 1 - q[other]
                expected[one] += weight * np.log((1 - error) * agreed + error * (1 - agreed))
    expected = np.exp(expected) / np.exp(expected).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(q, expected, atol=1e-4)


def test_wrong_links_are_doubted():
    truth = np.repeat([0, 1, 2], 10)
    pairs = np.array([[0, 1], [2, 3], [4, 5], [12, 13], [0, 15]])
    far = np.array([[0, 11], [1, 25], [14, 29], [3, 4]])
    known = Known(NONE, np.full(30, -1), Links(pairs, np.ones(5)), Links(far, np.ones(4)))
    informed = inform_memberships(memberships(truth, 0.98), known)
    assert informed.must_doubts[-1] > 0.3 > informed.must_doubts[:-1].max()
    assert informed.cannot_doubts[-1] > 0.3 > informed.cannot_doubts[:-1].max()


@pytest.mark.parametrize("kind", ["labels", "links"])
def test_a_judge_prefers_memberships_that_tell_what_is_known(kind):
    truth = np.arange(20) % 2
    pairs = np.array([[0, 2], [1, 3], [4, 6]])
    known = (
        Known(np.arange(2), truth)
        if kind == "labels"
        else Known(NONE, np.full(20, -1), Links(pairs, np.ones(3)))
    )
    right, even = memberships(truth), np.full((20, 2), 0.5)
    assert judge_memberships(right, known) > judge_memberships(even, known) + 1


def test_tied_samples_settle_in_one_cluster_where_views_do_not_tell_two_classes_apart():
    """Two classes share a cluster of the views, and another is nearly empty: each is somewhere, and whole."""
    rng, truth = np.random.default_rng(0), np.arange(120) % 3
    W = memberships(np.where(truth == 2, 2, 0), 0.9)
    W[:, 1] = rng.uniform(0.02, 0.2, size=120)
    W /= W.sum(axis=1, keepdims=True)
    pairs = np.array([(i, j) for i in range(120) for j in range(i) if rng.random() < 0.2])
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    wrong = rng.random(len(pairs)) < 0.05
    must, cannot = (Links(own, np.ones(len(own))) for own in (pairs[same != wrong], pairs[same == wrong]))
    informed = inform_memberships(W, Known(NONE, np.full(120, -1), must, cannot))
    found = informed.W.argmax(axis=1)
    assert len({tuple(each) for each in zip(truth, found, strict=True)}) == 3
    doubts = np.concatenate([informed.must_doubts, informed.cannot_doubts])
    is_wrong = np.concatenate([wrong[same != wrong], wrong[same == wrong]])
    assert doubts[is_wrong].min() > 0.5 > doubts[~is_wrong].max()


def test_chunks_are_placed_together_and_apart():
    logs = np.log(np.array([[0.8, 0.2], [0.8, 0.2], [0.6, 0.4], [0.6, 0.4], [0.7, 0.3]]))
    must, cannot = (Links(np.array(own), np.ones(len(own))) for own in ([[0, 1], [2, 3]], [[0, 2], [1, 3]]))
    q = place_chunks(logs, Known(NONE, np.full(5, -1), must, cannot), 3.0)
    assert q.argmax(axis=1).tolist() == [0, 0, 1, 1, 0]
    np.testing.assert_allclose(q[4], [0.7, 0.3])
    np.testing.assert_allclose(q.sum(axis=1), 1)
