"""The parts of compiled mirror descent against NumPy and against the M step's own coordinates."""

import numpy as np
import pytest

from latentsimplex.base.condensed import count_pairs
from latentsimplex.base.threads import Workers
from latentsimplex.model import _descent_compiled as compiled
from latentsimplex.model import descent
from latentsimplex.model._pair_loops import find_first_row
from latentsimplex.model.backends import NumbaBackend
from latentsimplex.model.em import Coordinates
from latentsimplex.model.problem import EMPTY, Patterns
from latentsimplex.pairs.divergence import DIVERGENCES, P_CLIP
from problems import KINDS, identities, interior_memberships, random_responses

KIND = pytest.mark.parametrize("kind", KINDS)
LEARNED = pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
PRICES = np.array([0.0, 3.0, 5.0])
FIRST_ROW = find_first_row(12)


def a_pattern(learned, n=12, g=3, seed=0):
    """Return a pattern as the M step has it, and as compiled loops start from it."""
    rng = np.random.default_rng(seed)
    B = random_responses(rng, 1, g) if learned else identities(1, g)
    patterns = Patterns(
        interior_memberships(rng, 1, n, g), B, np.array([2.5]), rng.normal(size=(1, count_pairs(n)))
    )
    return patterns, compiled.start_descent(np.ascontiguousarray(patterns.W[0].T), B[0], learned)


def test_memberships_are_a_softmax():
    theta = 50 * np.random.default_rng(0).normal(size=(4, 30))
    W = np.empty_like(theta)
    compiled.write_memberships(theta, W)
    expected = np.exp(theta - theta.max(axis=0))
    np.testing.assert_allclose(W, expected / expected.sum(axis=0), rtol=1e-12)
    assert compiled.count_used_clusters(W) == len(np.unique(W.argmax(axis=0)))


def test_clusters_are_used_where_some_sample_prefers_them():
    W = np.array([[0.6, 0.5, 0.2], [0.1, 0.5, 0.3], [0.3, 0.0, 0.5]])
    assert compiled.count_used_clusters(W) == 2  # of two that are as probable the first
    assert compiled.count_used_clusters(np.full((3, 5), 1 / 3)) == 1


@LEARNED
def test_a_start_has_the_memberships_and_responses_it_was_made_of(learned):
    columns = np.array([[1.0, 0.2, 0.0], [0.0, 0.8, 1.0]])
    B = np.array([[0.0, 0.3], [0.3, 1.0]])
    theta, phi = compiled.start_descent(columns, B, learned)
    assert np.isfinite(theta).all()
    W, left = np.empty_like(columns), np.empty_like(columns)
    response = compiled.write_sides(theta, phi, learned, W, left)
    np.testing.assert_allclose(W, columns, atol=1e-15)
    np.testing.assert_allclose(response, np.clip(B, P_CLIP, 1 - P_CLIP) if learned else B, rtol=1e-12)
    np.testing.assert_allclose(left, response @ W, rtol=1e-12)
    assert phi is not B


@LEARNED
def test_natural_gradients_are_those_of_the_m_step(learned):
    patterns, _ = a_pattern(learned)
    W, B, mass, *_ = patterns
    W[0, 0] = [1.0 - EMPTY, EMPTY, 0.0]
    GW = np.random.default_rng(1).normal(size=(1, 12, 3))
    coordinates = Coordinates(patterns, learned, np.zeros(0))
    expected = coordinates.natural_gradient(W, B, GW @ B, W.swapaxes(-1, -2) @ GW / 2)[0]
    along, beside = np.full((3, 12), 7.0), np.full((3, 3), 7.0)
    compiled.write_natural_gradients(
        np.ascontiguousarray(W[0].T), B[0], np.ascontiguousarray(GW[0].T), mass[0], learned, along, beside
    )
    np.testing.assert_allclose(along.T.ravel(), expected[:36], rtol=1e-10, atol=1e-14)
    if learned:
        rows, columns = np.tril_indices(3)
        np.testing.assert_allclose(beside[rows, columns], expected[36:], rtol=1e-10)
    else:
        assert (beside == 7).all()


@KIND
@LEARNED
@pytest.mark.parametrize(
    ("precision", "rtol"), [(np.float64, 1e-10), (np.float32, 1e-4)], ids=["double", "single"]
)
def test_a_look_has_the_objective_and_its_natural_gradients(kind, learned, precision, rtol):
    patterns, (theta, phi) = a_pattern(learned)
    evaluate, _ = NumbaBackend(12, Workers(1)).pair_objective(patterns.mass, patterns.stat, DIVERGENCES[kind])
    values, dW, dB = evaluate(patterns.W, patterns.B)
    coordinates = Coordinates(patterns, learned, np.zeros(0))
    expected = coordinates.natural_gradient(patterns.W, patterns.B, dW, dB)[0]
    along, beside = np.zeros((3, 12)), np.zeros((3, 3))
    value = compiled.look(
        theta,
        phi,
        2.5,
        patterns.stat[0].astype(precision),
        FIRST_ROW,
        kind == "forward",
        learned,
        PRICES,
        along,
        beside,
    )
    used = len(np.unique(patterns.W[0].argmax(axis=1)))
    assert value == pytest.approx(values[0] + PRICES[used - 1], rel=rtol)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(along.T.ravel(), expected[:36], rtol=rtol, atol=rtol * scale)
    if learned:
        np.testing.assert_allclose(beside[np.tril_indices(3)], expected[36:], rtol=rtol, atol=rtol * scale)


@pytest.mark.parametrize("failed", [False, True])
def test_a_step_goes_on_from_where_it_looked_or_back_to_the_best(failed):
    rng = np.random.default_rng(0)
    point, looked_at, best, along, best_along = rng.normal(size=(5, 2, 3))
    base, slope = (best, best_along) if failed else (looked_at, along)
    stepped = base - 0.3 * slope
    expected_look, expected_point = stepped + 0.7 * (stepped - point), best.copy() if failed else stepped
    compiled.advance(point, looked_at, best, along, best_along, failed, 0.3, 0.7)
    np.testing.assert_allclose(looked_at, expected_look, rtol=1e-12)
    np.testing.assert_allclose(point, expected_point, rtol=1e-12)


def test_the_pace_of_compiled_descent_is_that_of_all_descent():
    rng = np.random.default_rng(0)
    for _ in range(200):
        value, last, least, age, rate = (
            rng.uniform(-2, 2, size=3).tolist() + rng.uniform(1, 40, size=2).tolist()
        )
        found, expected = (
            pace(value, last, least, age, rate) for pace in (compiled.next_pace, descent.next_pace)
        )
        assert found[0] is expected[0]
        assert found[1:] == pytest.approx(expected[1:], rel=1e-15)


@KIND
@LEARNED
def test_no_steps_return_the_start_and_its_rate(kind, learned):
    patterns, (theta, phi) = a_pattern(learned)
    W, B, rate = compiled.descend(
        theta, phi, 2.5, patterns.stat[0], FIRST_ROW, kind == "forward", learned, PRICES, 0, 4.0
    )
    np.testing.assert_allclose(W.T, patterns.W[0], rtol=1e-12)
    np.testing.assert_allclose(B, patterns.B[0], rtol=1e-12)
    assert rate == 4.0


@KIND
@pytest.mark.parametrize("rate", [0.1, 4.0, 1e4])
def test_descent_never_ends_above_its_start(kind, rate):
    patterns, start = a_pattern(True)

    def value_at(W, B):
        evaluate, _ = NumbaBackend(12, Workers(1)).pair_objective(
            patterns.mass, patterns.stat, DIVERGENCES[kind]
        )
        return evaluate(W[None], B[None])[0][0] + PRICES[len(np.unique(W.argmax(axis=1))) - 1]

    before = value_at(patterns.W[0], patterns.B[0])
    for n_steps in (1, 2, 15):
        arguments = [part.copy() for part in start]
        W, B, _ = compiled.descend(
            *arguments, 2.5, patterns.stat[0], FIRST_ROW, kind == "forward", True, PRICES, n_steps, rate
        )
        assert value_at(np.ascontiguousarray(W.T), B) <= before + 1e-9 * abs(before)
