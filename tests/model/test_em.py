"""EM's steps one at a time: responsibilities, weights, the stopping rule, what happens to dead patterns."""

import numpy as np
import pytest
from scipy.special import softmax

from latentsimplex.base.condensed import count_pairs
from latentsimplex.model import em
from latentsimplex.model.em import m_step
from latentsimplex.model.penalties import PENALTIES
from latentsimplex.model.problem import Expectation, Model, Patterns, Problem, Schedule, State
from latentsimplex.pairs.divergence import DIVERGENCES
from problems import ArrayPairs, identities, make_case


def test_dead_patterns_take_no_part():
    case = make_case(2, unused=True)
    problem, (W, _, lam, _) = case.problem(), case.state
    found = em.e_step(problem, case.state)
    assert (found.eta[:, -1] == 0).all()
    assert len(found.stat) == (lam > 0).sum() == len(lam) - 1

    following = em.maximise(problem, case.state, found)
    assert following.lam[-1] == 0
    assert np.array_equal(following.W[-1], W[-1])
    assert not np.array_equal(following.W[0], W[0])


def test_a_pattern_that_dies_leaves_the_others_their_own_statistics():
    """The first pattern dies in the update: the second must be fitted to the second row of stat."""
    case = make_case(4)
    problem = case.problem(schedule=Schedule(steps=3))
    d, n, _ = case.state.W.shape
    gamma = np.full(d, 1.5)
    gamma[0] = 0.1
    stat = np.arange(d)[:, None] * np.ones((d, count_pairs(n)))
    mass = 2 * gamma
    expectation = Expectation(np.zeros((3, d)), gamma, mass, stat, 0.0, 0.0)
    found = em.maximise(problem, case.state, expectation)
    assert found.lam[0] == 0
    W, B, rate = case.state.W[1:], case.state.B[1:], case.state.rate[1:]
    expected, _, expected_rate = m_step(problem, Patterns(W, B, mass[1:], stat[1:]), n_steps=3, rate=rate)
    assert np.array_equal(found.W[1:], expected)
    assert np.array_equal(found.rate[1:], expected_rate)
    assert found.rate[0] == case.state.rate[0]


def test_maximising_leaves_the_state_it_was_given():
    case = make_case(0, learned=True)
    before = [part.copy() for part in case.state]
    problem = case.problem()
    em.maximise(problem, case.state, em.e_step(problem, case.state))
    for part, was in zip(case.state, before, strict=True):
        assert np.array_equal(part, was)


@pytest.mark.parametrize("gamma", [[3.0, 1.0], [4.0, 0.3, 1.7], [0.5, 0.5, 5.0, 0.0]])
def test_weights_are_a_distribution_and_small_patterns_get_none(gamma):
    lam = em.update_weights(np.array(gamma))
    assert lam.sum() == pytest.approx(1)
    assert ((lam > 0) == (np.array(gamma) > 1 - 1 / len(gamma))).all()


def test_weights_when_no_pattern_has_enough():
    assert em.update_weights(np.array([0.3, 0.4, 0.3])).tolist() == [0, 1, 0]


def test_low_temperature_is_certain_and_high_temperature_is_the_prior():
    case = make_case(1)
    d = len(case.state.lam)
    state, pairs = case.state._replace(lam=np.full(d, 1 / d)), case.pairs()

    def eta_at(temperature):
        model = Model(case.model.divergence, case.model.penalty, temperature)
        return em.e_step(Problem(pairs, model, Schedule()), state).eta

    cold, hot = eta_at(1e-6), eta_at(1e9)
    assert ((cold > 0.999) | (cold < 1e-3)).all()
    np.testing.assert_allclose(hot, 1 / len(state.lam), rtol=1e-6)


def test_a_lone_pattern_keeps_its_statistics():
    case = make_case(0)
    lam = np.eye(len(case.state.lam))[0]
    problem, state = case.problem(), case.state._replace(lam=lam)
    first = em.e_step(problem, state)
    other = state._replace(W=np.roll(state.W, 1, axis=1))
    again, anew = (em.e_step(problem, other, before) for before in (first, None))
    assert again.stat is first.stat
    np.testing.assert_allclose(again.stat, anew.stat, rtol=1e-12)
    assert again.loss == anew.loss


def test_statistics_of_several_patterns_are_collected_anew():
    case = make_case(0)
    problem = case.problem()
    first = em.e_step(problem, case.state)
    again = em.e_step(problem, case.state, first)
    assert again.stat is not first.stat
    assert np.array_equal(again.stat, first.stat)


def test_statistics_are_sums_over_views_by_weight_and_responsibility():
    rng = np.random.default_rng(0)
    pairs = ArrayPairs(rng.normal(size=(5, 15)), block=2)
    pairs.weights, eta = rng.uniform(0.5, 2, size=5), rng.dirichlet(np.ones(3), size=5)
    mass, stat = em.collect_statistics(pairs, eta)
    np.testing.assert_allclose(mass, pairs.weights @ eta, rtol=1e-12)
    np.testing.assert_allclose(stat, (pairs.weights[:, None] * eta).T @ pairs.F, rtol=1e-12)


# Runs


def test_run_ends_with_the_e_step_of_the_state_it_returns():
    case, seen = make_case(7), []
    problem = case.problem(schedule=Schedule(max_iter=8))
    fit = em.run(problem, case.state, lambda i, e: seen.append((i, e.loss)))
    again = em.e_step(problem, fit.state)
    assert again.loss == fit.expectation.loss == fit.loss_curve[-1]
    assert again.expected_loss == fit.expected_loss_curve[-1]
    assert np.array_equal(again.eta, fit.expectation.eta)
    assert seen == list(enumerate(fit.loss_curve))
    assert len(fit.loss_curve) == 9
    assert not fit.converged


def test_run_stops_by_the_papers_rule():
    case = make_case(7)
    fit = em.run(case.problem(schedule=Schedule(max_iter=300, window=10, tol=0.05)), case.state)
    curve = np.array(fit.loss_curve)
    assert fit.converged
    assert len(curve) < 300
    assert curve[-11] - curve[-1] < 0.05 * abs(curve[-11])
    earlier = curve[:-11] - curve[10:-1]
    assert (earlier >= 0.05 * np.abs(curve[:-11])).all()


def test_run_stops_when_it_is_told_to():
    case, asked = make_case(7), []

    def stop():
        asked.append(None)
        return len(asked) > 2

    fit = em.run(case.problem(schedule=Schedule(max_iter=50, stop=stop)), case.state)
    assert len(fit.loss_curve) == 3
    assert not fit.converged


@pytest.mark.parametrize(
    ("curve", "expected"),
    [([10.0], False), ([10.0, 9.0, 8.0], False), ([10.0, 9.95, 9.92], True), ([-10.0, -10.01, -10.05], True)],
)
def test_stopping_rule(curve, expected):
    assert em.has_converged(curve, Schedule(window=2, tol=0.01)) is expected


@pytest.mark.parametrize(("fall", "expected"), [(0.9, False), (1.1, True)])
def test_a_fall_of_so_much_is_enough_whatever_its_share(fall, expected):
    assert em.has_converged([10.0, 9.5, 9.0], Schedule(window=2, tol=1e-9, fall=fall)) is expected


def test_run_stands_still_when_live_patterns_can_take_no_step():
    case = make_case(2, unused=True)
    schedule = Schedule(max_iter=50)
    shortest = em.SHORTEST_STEP * schedule.rate
    dead = case.state.lam == 0
    short = case.state._replace(rate=np.where(dead, schedule.rate, 0.9 * shortest))
    fit = em.run(case.problem(schedule=schedule), short)
    assert fit.converged
    assert len(fit.loss_curve) == 1
    long = case.state._replace(rate=np.where(np.arange(len(dead)) == 0, shortest, short.rate))
    assert not em.stands_still(long, schedule)


def test_the_loss_does_not_rise_where_a_weight_falls_below_the_floor():
    """A pattern of weight 1e-5 that dies earns nothing from the floored T, so its weight must stay."""
    n_views, n, d = 30_000, 6, 10
    rng = np.random.default_rng(0)
    f = np.tile(rng.normal(size=n * (n - 1) // 2), (n_views, 1))
    f[0] = -f[0]

    pairs = ArrayPairs(f, block=n_views)
    pairs.constants = np.zeros(n_views)
    model = Model(DIVERGENCES["reverse"], PENALTIES[None])
    schedule = Schedule(max_iter=5, steps=1, rate=1e-12)
    lam = np.zeros(d)
    lam[:2] = 1 - 1e-5, 1e-5
    W = softmax(rng.normal(size=(d, n, 2)), axis=-1)
    state = State(W, identities(d, 2), lam, np.full(d, 1e-12))
    curve = em.run(Problem(pairs, model, schedule), state).loss_curve
    assert np.diff(curve).max() <= 1e-9 * abs(curve[0])
