"""EM's steps one at a time: gradients, descent, the stopping rule, what happens to dead patterns."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from latentsimplex import em
from latentsimplex.compute import cpu
from latentsimplex.compute.pairs import n_pairs, pack, row_start, unpack
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import DIVERGENCES
from latentsimplex.em import OPTIMIZERS, Model, Schedule
from latentsimplex.objective import PENALTIES
from problems import (
    KINDS,
    PENALTY_NAMES,
    ArrayPairs,
    identities,
    interior_memberships,
    make_problem,
    random_responses,
)

ADAM, MIRROR = (Schedule(**OPTIMIZERS[name]) for name in ("adam", "mirror"))
SCHEDULES = pytest.mark.parametrize("schedule", [ADAM, MIRROR], ids=["adam", "mirror"])


def m_step_function(monkeypatch, W, B, gamma, stat, model, schedule=ADAM):
    """Return the point that the M step starts from and the function it descends."""
    seen = []

    def descend(start, slopes, n_steps, rate, caps=None):
        seen.append((start, slopes))
        return start, rate

    with monkeypatch.context() as patch:
        patch.setattr(em, schedule.optimizer, descend)
        patch.setattr(
            em, "has_compiled_descent", lambda stat: False
        )  # the compiled form has tests of its own
        em.m_step(W, B, gamma, stat, model, Workers(1), schedule, 1, np.full(len(W), 0.1))
    return seen[0]


@pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
@pytest.mark.parametrize("penalty", PENALTY_NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_gradient_in_theta_and_phi_against_finite_differences(kind, penalty, learned, monkeypatch):
    rng = np.random.default_rng(5)
    d, n, g = 2, 7, 3
    W = interior_memberships(rng, d, n, g)
    gamma = np.array([3.0, 1.5])
    similarities = rng.uniform(0.05, 0.95, size=(d, n_pairs(n)))
    stat = gamma[:, None] * DIVERGENCES[kind].f(-np.log(similarities))
    B = random_responses(rng, d, g) if learned else identities(d, g)
    model = Model(DIVERGENCES[kind], PENALTIES[penalty], learned_response=learned)
    start, function = m_step_function(monkeypatch, W, B, gamma, stat, model)
    assert start.shape == (d, n * g + (g * (g + 1) // 2 if learned else 0))
    _, gradient = function(start)
    step = 1e-5
    for index in np.ndindex(start.shape):
        moved = np.zeros_like(start)
        moved[index] = step
        difference = (function(start + moved)[0] - function(start - moved)[0]) / (2 * step)
        assert gradient[index] == pytest.approx(difference[index[0]], rel=1e-6, abs=1e-6)
        assert np.delete(difference, index[0]) == pytest.approx(0)


@SCHEDULES
@pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
@pytest.mark.parametrize("kind", KINDS)
def test_m_step_lowers_its_objective_and_stays_where_parameters_live(kind, learned, schedule, monkeypatch):
    problem = make_problem(3, kind, learned=learned)
    found = em.e_step(problem.pairs(), problem.state, problem.model)
    data = (found.gamma, found.stat, problem.model)
    rate = np.full(len(problem.state.W), schedule.rate)
    W, B, new_rate = em.m_step(*problem.state[:2], *data, Workers(1), schedule, 20, rate)

    def objective(W, B):
        start, function = m_step_function(monkeypatch, W, B, *data)
        return function(start)[0]

    before, after = objective(*problem.state[:2]), objective(W, B)
    assert (after < before).all()
    if schedule is ADAM:
        assert np.array_equal(new_rate, rate)
    np.testing.assert_allclose(W.sum(axis=-1), 1, rtol=1e-14)
    assert np.array_equal(B, B.transpose(0, 2, 1))
    assert np.array_equal(B, problem.state.B) == (not learned)
    assert ((B >= 0) & (B <= 1)).all()


def test_clipped_pairs_are_still_pulled_back():
    """Two samples that are surely apart, under a statistic that wants them together."""
    W = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    _, gradient, _ = cpu.pair_objective(
        W, identities(1, 2), np.array([1.0]), np.array([[3.0]]), DIVERGENCES["reverse"], Workers(1)
    )
    assert gradient[0, 0, 1] < 0
    assert gradient[0, 1, 0] < 0


def test_logits_invert_softmax_and_survive_zeros():
    W = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    theta = em.softmax_parameters(W)
    assert np.isfinite(theta).all()
    np.testing.assert_allclose(softmax(theta, axis=-1), W, atol=1e-15)


def test_dead_patterns_take_no_part():
    problem = make_problem(2, unused=True)
    pairs, (W, _, lam, _) = problem.pairs(), problem.state
    found = em.e_step(pairs, problem.state, problem.model)
    assert (found.eta[:, -1] == 0).all()
    assert len(found.stat) == (lam > 0).sum() == len(lam) - 1

    following = em.maximisation(problem.state, found, problem.model, Schedule(), Workers(1))
    assert following.lam[-1] == 0
    assert np.array_equal(following.W[-1], W[-1])
    assert not np.array_equal(following.W[0], W[0])


def test_a_pattern_that_dies_leaves_the_others_their_own_statistics():
    """The first pattern dies in the update: the second must be fitted to the second row of stat."""
    problem = make_problem(4)
    d, n, _ = problem.state.W.shape
    gamma = np.full(d, 1.5)
    gamma[0] = 0.1
    stat = np.arange(d)[:, None] * np.ones((d, n_pairs(n)))
    mass = 2 * gamma
    expectation = em.Expectation(np.zeros((3, d)), gamma, mass, stat, 0.0, 0.0)
    found = em.maximisation(problem.state, expectation, problem.model, Schedule(steps=3), Workers(1))
    assert found.lam[0] == 0
    W, B, rate = problem.state.W[1:], problem.state.B[1:], problem.state.rate[1:]
    expected, _, expected_rate = em.m_step(
        W, B, mass[1:], stat[1:], problem.model, Workers(1), Schedule(), n_steps=3, rate=rate
    )
    assert np.array_equal(found.W[1:], expected)
    assert np.array_equal(found.rate[1:], expected_rate)
    assert found.rate[0] == problem.state.rate[0]


def test_maximisation_leaves_the_state_it_was_given():
    problem = make_problem(0, learned=True)
    before = [part.copy() for part in problem.state]
    found = em.e_step(problem.pairs(), problem.state, problem.model)
    em.maximisation(problem.state, found, problem.model, Schedule(), Workers(1))
    for part, was in zip(problem.state, before, strict=True):
        assert np.array_equal(part, was)


@pytest.mark.parametrize("gamma", [[3.0, 1.0], [4.0, 0.3, 1.7], [0.5, 0.5, 5.0, 0.0]])
def test_weights_are_a_distribution_and_small_patterns_get_none(gamma):
    lam = em.update_weights(np.array(gamma))
    assert lam.sum() == pytest.approx(1)
    assert ((lam > 0) == (np.array(gamma) > 1 - 1 / len(gamma))).all()


def test_weights_when_no_pattern_has_enough():
    assert em.update_weights(np.array([0.3, 0.4, 0.3])).tolist() == [0, 1, 0]


def test_low_temperature_is_certain_and_high_temperature_is_the_prior():
    problem = make_problem(1)
    d = len(problem.state.lam)
    state = problem.state._replace(lam=np.full(d, 1 / d))
    cold, hot = (
        em.e_step(problem.pairs(), state, Model(problem.model.divergence, problem.model.penalty, t)).eta
        for t in (1e-6, 1e9)
    )
    assert ((cold > 0.999) | (cold < 1e-3)).all()
    np.testing.assert_allclose(hot, 1 / len(state.lam), rtol=1e-6)


@SCHEDULES
def test_first_state_fits_each_pattern_to_its_own_views(schedule):
    problem = make_problem(6)
    F = np.concatenate([F for _, F in problem.pairs().blocks()]).astype(float)
    labels = np.arange(len(F)) % 2
    schedule = replace(schedule, first_steps=4)
    state = em.first_state(ArrayPairs(F), labels, problem.state.W[:2], problem.model, schedule)
    stat = np.array([F[labels == l].sum(axis=0) for l in range(2)])
    expected, _, _ = em.m_step(
        problem.state.W[:2],
        problem.state.B[:2],
        np.bincount(labels).astype(float),
        stat,
        problem.model,
        Workers(1),
        schedule,
        n_steps=4,
        rate=np.full(2, schedule.rate),
    )
    np.testing.assert_allclose(state.W, expected, rtol=1e-8)
    assert state.lam.tolist() == [0.5, 0.5]
    assert state.rate.tolist() == [schedule.rate] * 2
    assert np.array_equal(state.B, problem.state.B[:2])


def test_run_ends_with_the_e_step_of_the_state_it_returns():
    problem = make_problem(7)
    pairs, seen = problem.pairs(), []
    fit = em.run(
        pairs, problem.state, problem.model, Schedule(max_iter=8), lambda i, e: seen.append((i, e.loss))
    )
    again = em.e_step(pairs, fit.state, problem.model)
    assert again.loss == fit.expectation.loss == fit.loss_curve[-1]
    assert again.expected_loss == fit.expected_loss_curve[-1]
    assert np.array_equal(again.eta, fit.expectation.eta)
    assert seen == list(enumerate(fit.loss_curve))
    assert len(fit.loss_curve) == 9
    assert not fit.converged


def test_run_stops_by_the_papers_rule():
    problem = make_problem(7)
    schedule = Schedule(max_iter=300, window=10, tol=0.05)
    fit = em.run(problem.pairs(), problem.state, problem.model, schedule)
    curve = np.array(fit.loss_curve)
    assert fit.converged
    assert len(curve) < 300
    assert curve[-11] - curve[-1] < 0.05 * abs(curve[-11])
    earlier = curve[:-11] - curve[10:-1]
    assert (earlier >= 0.05 * np.abs(curve[:-11])).all()


@pytest.mark.parametrize(
    ("curve", "expected"),
    [([10.0], False), ([10.0, 9.0, 8.0], False), ([10.0, 9.95, 9.92], True), ([-10.0, -10.01, -10.05], True)],
)
def test_stopping_rule(curve, expected):
    assert em.has_converged(curve, Schedule(window=2, tol=0.01)) is expected


def test_steps_that_do_not_help_are_halved():
    """A certain pattern that agrees with its statistic cannot improve; a mixed one can."""
    W = np.array([np.eye(2)[[0, 0, 1, 1]], np.full((4, 2), 0.5)])
    W[1, 0] = [0.6, 0.4]
    together = np.equal.outer([0, 0, 1, 1], [0, 0, 1, 1])
    stat = np.tile(pack(np.where(together, 9.0, -9.0)), (2, 1))
    model = Model(DIVERGENCES["reverse"], PENALTIES[None])
    arguments = (np.ones(2), stat, model, Workers(1), Schedule(), 5, np.array([0.1, 0.04]))
    found, _, rate = em.m_step(W, identities(2, 2), *arguments)
    np.testing.assert_allclose(found[0], W[0], atol=1e-15)
    assert rate.tolist() == [0.05, 0.04]


def test_run_stands_still_when_live_patterns_can_take_no_step():
    problem = make_problem(2, unused=True)
    schedule = Schedule(max_iter=50)
    shortest = em.SHORTEST_STEP * schedule.rate
    dead = problem.state.lam == 0
    short = problem.state._replace(rate=np.where(dead, schedule.rate, 0.9 * shortest))
    fit = em.run(problem.pairs(), short, problem.model, schedule)
    assert fit.converged
    assert len(fit.loss_curve) == 1
    long = problem.state._replace(rate=np.where(np.arange(len(dead)) == 0, shortest, short.rate))
    assert not em.stands_still(long, schedule)


# Pairs and tiles


def test_packed_pairs_are_in_scipys_order():
    square = np.arange(25).reshape(5, 5)
    square = square + square.T
    packed = pack(square)
    i, j = np.triu_indices(5, 1)
    assert np.array_equal(packed, square[i, j])
    assert [row_start(k, 5) for k in range(5)] == [0, 4, 7, 9, 10]
    np.fill_diagonal(square, 7)
    assert np.array_equal(unpack(packed, diagonal=7), square)


@pytest.mark.parametrize("n", [2, 3, 50, 1000])
def test_tiles_cover_the_triangle_once(n):
    rows = [row for start, stop in cpu.tiles(n) for row in range(start, stop)]
    assert rows == list(range(n - 1))
    assert all((stop - start) * (n - start) <= cpu.TILE_PAIRS for start, stop in cpu.tiles(n))


def test_the_loss_does_not_rise_where_a_weight_falls_below_the_floor():
    """A pattern of weight 1e-5 that dies earns nothing from the floored T, so its weight must stay."""
    n_views, n, d = 30_000, 6, 10
    rng = np.random.default_rng(0)
    f = np.tile(rng.normal(size=n * (n - 1) // 2), (n_views, 1))
    f[0] = -f[0]

    pairs = ArrayPairs(f, block=n_views)
    pairs.constants = np.zeros(n_views)
    model = em.Model(DIVERGENCES["reverse"], PENALTIES[None])
    schedule = em.Schedule(max_iter=5, steps=1, rate=1e-12)
    lam = np.zeros(d)
    lam[:2] = 1 - 1e-5, 1e-5
    W = softmax(rng.normal(size=(d, n, 2)), axis=-1)
    state = em.State(W, np.tile(np.eye(2), (d, 1, 1)), lam, np.full(d, 1e-12))
    curve = em.run(pairs, state, model, schedule).loss_curve
    assert np.diff(curve).max() <= 1e-9 * abs(curve[0])
