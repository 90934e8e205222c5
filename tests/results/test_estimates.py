"""From the end of EM to what is alive, in which order, constant views included."""

import numpy as np

from latentsimplex.model.problem import State
from latentsimplex.results.estimates import NO_PATTERNS, add_constant_views, estimate_patterns
from problems import mixed_memberships


def memberships(d, n=6, g=3):
    rng = np.random.default_rng(0)
    return np.array([mixed_memberships(rng, n, g) for _ in range(d)])


def state_of(lam, W):
    """Return a state whose responses tell patterns and clusters apart."""
    d, _, g = W.shape
    B = np.arange(d)[:, None, None] + np.add.outer(np.arange(g), np.arange(g)) / 10
    return State(W, B, np.asarray(lam, dtype=float), np.ones(d))


def test_live_patterns_come_heaviest_first():
    eta = np.array([[0.1, 0.0, 0.9], [0.8, 0.1, 0.1], [0.2, 0.2, 0.6]])
    found = estimate_patterns(eta, state_of([0.3, 0.3, 0.4], memberships(3)))
    assert found.view_patterns.tolist() == [0, 1, 0]
    np.testing.assert_allclose(found.weights, [4 / 7, 3 / 7])
    np.testing.assert_allclose(found.responsibilities, [[0.9, 0.1], [1 / 9, 8 / 9], [0.75, 0.25]])


def test_responses_follow_their_patterns_and_columns():
    W = np.array([np.eye(3)[[0, 2, 2, 2, 0, 2]], np.eye(3)[[1, 1, 1, 1, 1, 1]]]) * 0.9 + 0.1 / 3
    state = state_of([0.3, 0.7], W)
    found = estimate_patterns(np.eye(2)[[0, 1]], state)
    assert [B.shape for B in found.responses] == [(1, 1), (2, 2)]
    assert found.responses[0].tolist() == [[state.B[1, 1, 1]]]
    # the third column is heavier than the first
    assert np.array_equal(found.responses[1], state.B[0][np.ix_([2, 0], [2, 0])])


def test_constant_views_bring_a_response_of_one():
    found = estimate_patterns(np.eye(2)[[0, 1]], state_of([0.7, 0.3], memberships(2)))
    every = add_constant_views(found, np.array([0, 3]), 5, 6)
    assert every.responses[0].tolist() == [[1.0]]
    for own, expected in zip(every.responses[1:], found.responses, strict=True):
        assert np.array_equal(own, expected)
    assert add_constant_views(NO_PATTERNS, np.array([], dtype=int), 3, 4).responses[0].tolist() == [[1.0]]


def test_ties_of_weight_go_to_the_first_view():
    eta = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    W = memberships(3)
    found = estimate_patterns(eta, state_of(np.full(3, 1 / 3), W))
    assert found.view_patterns.tolist() == [0, 1, 2]
    again = estimate_patterns(np.eye(3), state_of(np.full(3, 1 / 3), W[[2, 0, 1]]))
    for a, b in zip(found.memberships, again.memberships, strict=True):
        assert np.array_equal(a, b)


def test_without_constant_views_nothing_changes():
    found = estimate_patterns(np.eye(2), state_of([0.5, 0.5], memberships(2)))
    assert add_constant_views(found, np.arange(2), 2, 6) is found


def test_constant_views_join_the_pattern_that_has_one_cluster():
    W = memberships(2)
    W[1] = np.eye(3)[0]
    found = estimate_patterns(np.eye(2)[[0, 1, 0]], state_of([0.75, 0.25], W))
    every = add_constant_views(found, np.array([0, 2, 3]), 4, 6)
    assert every.view_patterns.tolist() == [0, 1, 1, 0]
    assert [w.shape[1] for w in every.memberships] == [3, 1]
    np.testing.assert_allclose(every.weights, [0.75 * 0.75, 0.25 * 0.75 + 0.25])
    assert every.responsibilities[1].tolist() == [0, 1]


def test_constant_views_bring_a_pattern_if_none_has_one_cluster():
    found = estimate_patterns(np.eye(2)[[0, 1]], state_of([0.7, 0.3], memberships(2)))
    every = add_constant_views(found, np.array([0, 3]), 5, 6)
    # three of five views are constant: their pattern is the heaviest
    assert every.view_patterns.tolist() == [1, 0, 0, 2, 0]
    np.testing.assert_allclose(every.weights, [0.6, 0.28, 0.12])
    assert np.array_equal(every.memberships[0], np.ones((6, 1)))
    np.testing.assert_allclose(every.responsibilities.sum(axis=1), 1)


def test_ties_with_a_constant_view_go_to_the_first_view_too():
    found = estimate_patterns(np.ones((1, 1)), state_of([1.0], memberships(1)))
    every = add_constant_views(found, np.array([1]), 2, 6)
    assert every.weights.tolist() == [0.5, 0.5]
    assert every.view_patterns.tolist() == [0, 1]
    assert [w.shape[1] for w in every.memberships] == [1, 3]


def test_all_views_constant():
    every = add_constant_views(NO_PATTERNS, np.array([], dtype=int), 3, 4)
    assert every.view_patterns.tolist() == [0, 0, 0]
    assert every.responsibilities.tolist() == [[1.0]] * 3
    assert every.weights.tolist() == [1.0]
    assert every.memberships[0].tolist() == [[1.0]] * 4
