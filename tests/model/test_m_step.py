"""The M step: coordinates, gradients, descent by either optimizer, the same steps compiled or not."""

from dataclasses import replace

import numpy as np
import pytest

from latentsimplex.base.condensed import count_pairs, pack_pairs
from latentsimplex.base.threads import Workers
from latentsimplex.model import backends as numba_backend
from latentsimplex.model import em as of_m_step
from latentsimplex.model.backends import NumbaBackend
from latentsimplex.model.cluster_prices import ClusterPrice
from latentsimplex.model.em import Coordinates, count_weighted_pairs, m_step
from latentsimplex.model.penalties import PENALTIES, NoPenalty
from latentsimplex.model.problem import OPTIMIZERS, Model, Patterns, Problem, Schedule
from latentsimplex.pairs.divergence import DIVERGENCES, P_CLIP
from latentsimplex.search.states import make_random_state, random_memberships
from problems import (
    KINDS,
    PENALTY_NAMES,
    ArrayPairs,
    identities,
    interior_memberships,
    make_case,
    random_responses,
)

ADAM, MIRROR = (Schedule(**OPTIMIZERS[name]) for name in ("adam", "mirror"))
SCHEDULES = pytest.mark.parametrize("schedule", [ADAM, MIRROR], ids=["adam", "mirror"])
KIND = pytest.mark.parametrize("kind", KINDS)
LEARNED = pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
PRICES = ClusterPrice((0.0, 3.0, 5.0, 20.0))


class Stepwise(NumbaBackend):
    """The processor without compiled descent, so that every step is asked for."""

    descend = None


def pose(n, model, schedule, backend=None):
    """Return a problem of n samples for M steps, which see nothing of its views."""
    pairs = ArrayPairs(np.zeros((1, count_pairs(n))))
    pairs.backend = backend or NumbaBackend(n, Workers(1))
    return Problem(pairs, model, schedule)


def m_step_function(monkeypatch, patterns, model, schedule=ADAM):
    """Return the point that the M step starts from and the function it descends."""
    seen, n = [], patterns.W.shape[1]

    def descend(start, slopes, n_steps, rate, caps=None):
        seen.append((start, slopes))
        return start, rate

    with monkeypatch.context() as patch:
        patch.setattr(of_m_step, schedule.optimizer, descend)
        problem = pose(n, model, schedule, Stepwise(n, Workers(1)))
        m_step(problem, patterns, 1, np.full(len(patterns.W), 0.1))
    return seen[0]


@LEARNED
@pytest.mark.parametrize("penalty", PENALTY_NAMES)
@KIND
def test_gradient_in_theta_and_phi_against_finite_differences(kind, penalty, learned, monkeypatch):
    rng = np.random.default_rng(5)
    d, n, g = 2, 7, 3
    W = interior_memberships(rng, d, n, g)
    mass = np.array([3.0, 1.5])
    similarities = rng.uniform(0.05, 0.95, size=(d, count_pairs(n)))
    stat = mass[:, None] * DIVERGENCES[kind].f(-np.log(similarities))
    B = random_responses(rng, d, g) if learned else identities(d, g)
    model = Model(DIVERGENCES[kind], PENALTIES[penalty], learned_response=learned)
    start, function = m_step_function(monkeypatch, Patterns(W, B, mass, stat), model)
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
@LEARNED
@KIND
def test_m_step_lowers_its_objective_and_stays_where_parameters_live(kind, learned, schedule, monkeypatch):
    case = make_case(3, kind, learned=learned)
    found, state = case.e_step(), case.state
    patterns = Patterns(state.W, state.B, found.mass, found.stat)
    rate = np.full(len(state.W), schedule.rate)
    W, B, new_rate = m_step(case.problem(schedule=schedule), patterns, 20, rate)

    def objective(W, B):
        start, function = m_step_function(monkeypatch, patterns._replace(W=W, B=B), case.model)
        return function(start)[0]

    before, after = objective(state.W, state.B), objective(W, B)
    assert (after < before).all()
    if schedule is ADAM:
        assert np.array_equal(new_rate, rate)
    np.testing.assert_allclose(W.sum(axis=-1), 1, rtol=1e-14)
    assert np.array_equal(B, B.transpose(0, 2, 1))
    assert np.array_equal(B, state.B) == (not learned)
    assert ((B >= 0) & (B <= 1)).all()


def test_steps_that_do_not_help_are_halved():
    """A certain pattern that agrees with its statistic cannot improve; a mixed one can."""
    W = np.array([np.eye(2)[[0, 0, 1, 1]], np.full((4, 2), 0.5)])
    W[1, 0] = [0.6, 0.4]
    together = np.equal.outer([0, 0, 1, 1], [0, 0, 1, 1])
    stat = np.tile(pack_pairs(np.where(together, 9.0, -9.0)), (2, 1))
    problem = pose(4, Model(DIVERGENCES["reverse"], PENALTIES[None]), Schedule())
    patterns = Patterns(W, identities(2, 2), np.ones(2), stat)
    found, _, rate = m_step(problem, patterns, 5, np.array([0.1, 0.04]))
    np.testing.assert_allclose(found[0], W[0], atol=1e-15)
    assert rate.tolist() == [0.05, 0.04]


@SCHEDULES
def test_a_random_state_is_the_first_m_step_of_each_pattern_on_its_own_views(schedule):
    case = make_case(6)
    F = np.concatenate([F for _, F in case.pairs().blocks()]).astype(float)
    labels, (_, n, g) = np.arange(len(F)) % 2, case.state.W.shape
    problem = Problem(ArrayPairs(F), case.model, replace(schedule, first_steps=4))
    state = make_random_state(problem, labels, g, 2, np.random.default_rng(0))
    patterns = Patterns(
        random_memberships(2, n, g, np.random.default_rng(0)),
        identities(2, g),
        np.bincount(labels).astype(float),
        np.array([F[labels == l].sum(axis=0) for l in range(2)]),
    )
    expected, _, _ = m_step(problem, patterns, 4, np.full(2, schedule.rate))
    np.testing.assert_allclose(state.W, expected, rtol=1e-8)
    assert state.lam.tolist() == [0.5, 0.5]
    assert state.rate.tolist() == [schedule.rate] * 2
    assert np.array_equal(state.B, identities(2, g))


# Coordinates


@LEARNED
def test_a_point_has_the_memberships_and_responses_it_was_made_of(learned):
    rng = np.random.default_rng(0)
    W = np.array([[[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], interior_memberships(rng, 1, 2, 3)[0]])
    B = random_responses(rng, 2, 3)
    B[0, 0, 0], B[0, 1, 1] = 0.0, 1.0
    coordinates = Coordinates(Patterns(W, B, np.ones(2), np.zeros((2, 1))), learned, np.zeros(0))
    x = coordinates.pack(W, B)
    assert np.isfinite(x).all()
    found_W, found_B = coordinates.unpack(x)
    np.testing.assert_allclose(found_W, W, atol=1e-15)
    np.testing.assert_allclose(found_B, np.clip(B, P_CLIP, 1 - P_CLIP) if learned else B, rtol=1e-12)
    assert np.array_equal(found_B, found_B.transpose(0, 2, 1))


def test_a_response_takes_no_step_longer_than_one():
    patterns = Patterns(np.full((1, 4, 3), 1 / 3), identities(1, 3), np.ones(1), np.zeros((1, 6)))
    learned, given = (Coordinates(patterns, learned, np.zeros(0)).longest_steps for learned in (True, False))
    assert learned.tolist() == [np.inf] * 12 + [1.0] * 6
    assert given.tolist() == [np.inf] * 12


def test_natural_gradients_leave_what_is_empty():
    W = np.array([[[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]]])
    patterns = Patterns(W, identities(1, 3), np.array([2.0]), np.zeros((1, 1)))
    coordinates = Coordinates(patterns, False, np.zeros(0))
    direction = coordinates.natural_gradient(W, patterns.B, np.ones_like(W) * [1.0, 2.0, 30.0], patterns.B)
    # less its mean under W, over mass (n - 1)
    np.testing.assert_allclose(direction, [[-0.25, 0.25, 0, -0.375, 0.125, 0]], atol=1e-15)


def test_weighted_pairs_of_clusters_by_hand():
    W = interior_memberships(np.random.default_rng(0), 2, 9, 3)
    expected = np.zeros((2, 3, 3))
    for l, k, m in np.ndindex(2, 3, 3):
        for i in range(9):
            for j in range(i + 1, 9):
                expected[l, k, m] += (W[l, i, k] * W[l, j, m] + W[l, i, m] * W[l, j, k]) / 2
    np.testing.assert_allclose(count_weighted_pairs(W), np.maximum(expected, 1.0), rtol=1e-12)
    assert (count_weighted_pairs(np.full((1, 2, 3), 1 / 3)) == 1).all()  # at least one


# Which needs fewer looks at the pairs


@LEARNED
@KIND
def test_mirror_reaches_what_adam_reaches_with_fewer_evaluations(kind, learned, monkeypatch):
    """Memberships of 24 samples, from which views were made; the least that a long run of Adam finds."""
    rng = np.random.default_rng(3)
    d, n, g = 3, 24, 3
    truth = np.array([rng.dirichlet(np.full(g, 0.3), size=n) for _ in range(d)])
    B = random_responses(rng, d, g) if learned else identities(d, g)
    i, j = np.triu_indices(n, 1)
    q = np.clip(np.einsum("dia,dab,dib->di", truth[:, i], B, truth[:, j]), 0.02, 0.98)
    divergence, mass = DIVERGENCES[kind], np.array([1.0, 5.0, 40.0])
    stat = mass[:, None] * divergence.f(-np.log(q))
    W = 0.8 * truth + 0.2 * interior_memberships(rng, d, n, g)
    model = Model(divergence, PENALTIES[None], learned_response=learned)

    def curve(name, n_steps):
        """Return the least value (steps, d) after each evaluation of the objective."""
        schedule = Schedule(**OPTIMIZERS[name])
        descend, values = getattr(of_m_step, name), []

        def watched(start, slopes, *arguments):
            def counted(x):
                value, direction = slopes(x)
                values.append(value)
                return value, direction

            return descend(start, counted, *arguments)

        with monkeypatch.context() as patch:
            patch.setattr(of_m_step, name, watched)
            problem = pose(n, model, schedule, Stepwise(n, Workers(1)))
            m_step(problem, Patterns(W, B, mass, stat), n_steps, np.full(d, schedule.rate))
        return np.minimum.accumulate(values)

    by_adam, by_mirror = curve("adam", 400), curve("mirror", 400)
    assert np.abs(by_adam[-1] - by_mirror[-1]).max() <= 0.01 * (by_adam[0] - by_adam[-1]).min()
    gain = by_adam[0] - np.minimum(by_adam[-1], by_mirror[-1])
    for l in range(d):
        near = np.minimum(by_adam[-1, l], by_mirror[-1, l]) + 0.01 * gain[l]
        steps = [int(np.argmax(values[:, l] <= near)) for values in (by_adam, by_mirror)]
        assert all(values[-1, l] <= near for values in (by_adam, by_mirror))
        assert steps[1] < 0.7 * steps[0]


# Compiled, and of tensors


@KIND
@pytest.mark.parametrize("penalty", [NoPenalty(), PRICES], ids=["free", "priced"])
@LEARNED
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_compiled_m_step_takes_the_steps_of_mirror_descent(kind, penalty, learned, n_jobs, monkeypatch):
    """Ten steps from the same start: rounding grows along the way, and by then is far below a millionth."""
    rng = np.random.default_rng(2)
    d, n, g = 3, 18, 4
    W = interior_memberships(rng, d, n, g)
    W[1, :, 2:] = 0.0  # two clusters poured out
    W /= W.sum(axis=-1, keepdims=True)
    B = random_responses(rng, d, g) if learned else identities(d, g)
    mass = np.array([1.0, 4.0, 30.0])
    stat = mass[:, None] * DIVERGENCES[kind].f(-np.log(rng.uniform(0.05, 0.95, size=(d, count_pairs(n)))))
    model = Model(DIVERGENCES[kind], penalty, learned_response=learned)

    def descend(backend):
        problem = pose(n, model, MIRROR, backend)
        return m_step(problem, Patterns(W, B, mass, stat), 10, np.array([4.0, 0.5, 60.0]))

    expected = descend(Stepwise(n, Workers(1)))
    with monkeypatch.context() as patch, Workers(n_jobs) as workers:
        patch.setattr(numba_backend, "THREADED", 1)
        patch.setattr(of_m_step, "mirror", None)  # the compiled form it must be
        found = descend(NumbaBackend(n, workers))
    assert not np.allclose(expected[0], W, atol=1e-3)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-6)
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-12)
    used = W.max(axis=1) > 0
    for l in range(d):
        both = np.ix_(used[l], used[l])
        np.testing.assert_allclose(found[1][l][both], expected[1][l][both], atol=1e-6)


@KIND
@LEARNED
def test_m_steps_of_many_pairs_take_the_steps_of_mirror_descent(kind, learned, monkeypatch):
    """Pairs are of single precision here. Steps that are too long at first are taken back on both ways."""
    rng = np.random.default_rng(3)
    d, n, g = 2, 600, 4
    W = interior_memberships(rng, d, n, g)
    W[1, :, 3] = 0.0
    W /= W.sum(axis=-1, keepdims=True)
    B = random_responses(rng, d, g) if learned else identities(d, g)
    mass = np.array([1.0, 4.0])
    labels = rng.integers(0, 3, n)
    s = pack_pairs(np.where(np.equal.outer(labels, labels), 0.8, 0.2)) * rng.uniform(0.9, 1.1, count_pairs(n))
    stat = mass[:, None] * DIVERGENCES[kind].f(-np.log(s))
    model = Model(DIVERGENCES[kind], PRICES, learned_response=learned)

    def descend(kind_of_backend, n_jobs):
        with Workers(n_jobs) as workers:
            problem = pose(n, model, MIRROR, kind_of_backend(n, workers))
            return m_step(problem, Patterns(W, B, mass, stat), 12, np.array([4.0, 60.0]))

    expected = descend(Stepwise, 1)
    monkeypatch.setattr(of_m_step, "mirror", None)  # the compiled form it must be
    found, threaded = descend(NumbaBackend, 1), descend(NumbaBackend, 3)
    assert not np.allclose(expected[0], W, atol=0.1)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-3)
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-5)
    np.testing.assert_allclose(found[1][:, :3, :3], expected[1][:, :3, :3], atol=1e-3)
    for one, other in zip(found, threaded, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("penalty", ["group", "dirichlet"])
def test_a_penalty_with_a_slope_is_descended_step_by_step(penalty, monkeypatch):
    case = make_case(3, penalty=penalty)
    found = case.e_step()
    patterns = Patterns(case.state.W, case.state.B, found.mass, found.stat)
    monkeypatch.setattr(NumbaBackend, "descend", lambda *_: pytest.fail("compiled loops know no slope"))
    W, _, _ = m_step(case.problem(schedule=MIRROR), patterns, 3, np.full(len(patterns.W), 0.1))
    assert W.shape == patterns.W.shape


@KIND
@pytest.mark.parametrize("optimizer", ["adam", "mirror"])
@LEARNED
def test_m_steps_of_tensors(kind, optimizer, learned):
    torch = pytest.importorskip("torch")
    torch_backend = pytest.importorskip("latentsimplex.model.torch_backend")
    rng = np.random.default_rng(4)
    d, n, g = 2, 20, 3
    W = interior_memberships(rng, d, n, g)
    B = random_responses(rng, d, g) if learned else identities(d, g)
    mass = np.array([2.0, 9.0])
    stat = mass[:, None] * DIVERGENCES[kind].f(-np.log(rng.uniform(0.05, 0.95, size=(d, count_pairs(n)))))
    model = Model(DIVERGENCES[kind], PENALTIES[None], learned_response=learned)
    schedule = Schedule(**OPTIMIZERS[optimizer])

    def descend(backend, stat):
        problem = pose(n, model, schedule, backend)
        return m_step(problem, Patterns(W, B, mass, stat), 6, np.full(d, schedule.rate))

    by_arrays = descend(NumbaBackend(n, Workers(1)), stat)
    for of_precision, atol in ((torch.float64, 1e-6), (torch.float32, 1e-3)):
        by_tensors = descend(torch_backend.TorchBackend("cpu"), torch.as_tensor(stat, dtype=of_precision))
        for found, expected in zip(by_tensors, by_arrays, strict=True):
            assert isinstance(found, np.ndarray)
            assert found.dtype == np.float64
            np.testing.assert_allclose(found, expected, atol=atol)
