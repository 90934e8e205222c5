"""Adam and mirror descent: the best point of each problem, step sizes that adapt, caps, and which is faster."""

import numpy as np
import pytest

from latentsimplex import em
from latentsimplex.compute.threads import Workers
from latentsimplex.descent import LONGER, MOST_MOMENTUM, adam, mirror
from latentsimplex.divergence import DIVERGENCES
from latentsimplex.em import OPTIMIZERS, Model, Schedule
from latentsimplex.objective import PENALTIES
from problems import KINDS, identities, interior_memberships, random_responses

DESCENTS = pytest.mark.parametrize("descend", [adam, mirror], ids=["adam", "mirror"])


def bowl(x):
    return (x**2).sum(axis=1), 2 * x


def counted(slopes):
    """Return the function and the list of the values that it has returned."""
    values = []

    def function(x):
        value, direction = slopes(x)
        values.append(value)
        return value, direction

    return function, values


# Both


@DESCENTS
def test_a_slope_that_leads_nowhere_leaves_the_start(descend):
    points, _ = descend(np.zeros((3, 2)), lambda x: (np.zeros(len(x)), np.ones_like(x)), 5, np.full(3, 0.1))
    assert not points.any()


@DESCENTS
@pytest.mark.parametrize("rate", [0.01, 0.7, 30.0])
def test_no_point_that_was_looked_at_is_better_than_the_one_returned(descend, rate):
    rng = np.random.default_rng(1)
    start = rng.normal(size=(6, 3))

    def rugged(x):
        return (np.cos(3 * x) + x**2).sum(axis=1), 2 * x - 3 * np.sin(3 * x)

    function, values = counted(rugged)
    best, _ = descend(start, function, 15, np.full(6, rate))
    assert len(values) == 16
    assert np.array_equal(rugged(best)[0], np.min(values, axis=0))
    assert (rugged(best)[0] <= rugged(start)[0]).all()


@DESCENTS
def test_each_problem_is_solved_by_itself_with_a_rate_of_its_own(descend):
    start, rate = np.array([[3.0, 1.0], [-2.0, 0.5], [1e-3, 4.0]]), np.array([0.1, 0.03, 1.7])
    together, rates = descend(start, bowl, 10, rate)
    apart = [descend(start[l : l + 1], bowl, 10, rate[l : l + 1]) for l in range(3)]
    assert np.array_equal(together, np.concatenate([best for best, _ in apart]))
    assert np.array_equal(rates, np.concatenate([rate for _, rate in apart]))


@DESCENTS
def test_descent_leaves_what_it_was_given(descend):
    start, rate = np.array([[3.0, 1.0]]), np.array([0.1])
    descend(start, bowl, 5, rate)
    assert start.tolist() == [[3.0, 1.0]]
    assert rate.tolist() == [0.1]


@DESCENTS
def test_no_steps_return_the_start(descend):
    start = np.array([[3.0, 1.0]])
    best, _ = descend(start, bowl, 0, np.array([0.1]))
    assert np.array_equal(best, start)


# Adam


def test_adam_halves_the_step_where_nothing_better_was_found():
    start = np.array([[0.01, 0.0], [4.0, -4.0]])
    best, rate = adam(start, bowl, 3, np.ones(2))
    assert np.array_equal(best[0], start[0])
    assert bowl(best)[0][1] < 32
    assert rate.tolist() == [0.5, 1.0]


def test_adams_first_step_has_the_size_of_its_rate():
    best, _ = adam(np.array([[3.0], [3.0]]), bowl, 1, np.array([0.25, 0.5]))
    assert best[:, 0] == pytest.approx([2.75, 2.5])


# Mirror descent


def test_mirrors_first_step_goes_along_the_slope_a_little_longer_than_its_rate():
    best, rate = mirror(np.array([[3.0], [3.0]]), bowl, 1, np.array([0.1, 0.2]))
    assert best[:, 0] == pytest.approx([3 - 6 * LONGER * 0.1, 3 - 6 * LONGER * 0.2])
    assert rate == pytest.approx([LONGER * 0.1, LONGER * 0.2])


def nesterov(x, rate, n_steps, cap=np.inf):
    """Return where n steps down x^2 end while none fails, and the last rate, in plain numbers."""
    point, age = x, 1.0
    for _ in range(n_steps):
        rate *= LONGER
        stepped = x - min(rate, cap) * 2 * x
        older = (1 + np.sqrt(1 + 4 * age**2)) / 2
        x, point, age = stepped + min((age - 1) / older, MOST_MOMENTUM) * (stepped - point), stepped, older
    return x, rate


def test_mirror_follows_nesterov_until_a_step_fails():
    best, rate = mirror(np.array([[5.0]]), bowl, 6, np.array([0.01]))
    assert (best[0, 0], rate[0]) == pytest.approx(nesterov(5.0, 0.01, 6), rel=1e-12)


def test_a_step_that_fails_is_taken_back_and_halved():
    """From 1 on x^2 a step of size 2 lands at -3.2; the next one, half as long, starts from 1 again."""
    visited = []

    def watched(x):
        visited.append(x[0, 0])
        return bowl(x)

    mirror(np.array([[1.0]]), watched, 2, np.array([2.0]))
    long = LONGER * 2.0
    assert visited == pytest.approx([1.0, 1 - 2 * long, 1 - 2 * long / 2])


def test_mirror_ends_with_half_the_step_after_a_failure():
    best, rate = mirror(np.array([[1.0], [1.0]]), bowl, 1, np.array([2.0, 0.1]))
    assert best[0] == 1.0
    assert rate == pytest.approx([LONGER, LONGER * 0.1])


def test_mirror_honours_a_cap_on_each_coordinate():
    caps = np.array([np.inf, 0.0, 0.003, 0.03])
    best, rate = mirror(np.full((1, 4), 3.0), bowl, 6, np.array([0.01]), caps)
    expected = [nesterov(3.0, 0.01, 6, cap)[0] for cap in caps]
    assert expected[0] == expected[3]  # a cap that no step reaches changes nothing
    assert best[0] == pytest.approx(expected, rel=1e-12)
    assert rate[0] == pytest.approx(0.01 * LONGER**6)


def test_mirror_finds_the_bottom_of_a_long_valley():
    """Values along one axis matter a hundred times as much as along the other."""
    scales = np.array([100.0, 1.0])

    def valley(x):
        return (scales * x**2).sum(axis=1), 2 * scales * x

    best, _ = mirror(np.array([[1.0, 1.0]]), valley, 100, np.array([1.0]))
    assert np.abs(best).max() < 1e-2


# Which needs fewer looks at the pairs


@pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
@pytest.mark.parametrize("kind", KINDS)
def test_mirror_reaches_what_adam_reaches_with_fewer_evaluations(kind, learned, monkeypatch):
    """Memberships of 24 samples, from three of which views were made; the least that a long run of Adam finds."""
    rng = np.random.default_rng(3)
    d, n, g = 3, 24, 3
    truth = np.array([rng.dirichlet(np.full(g, 0.3), size=n) for _ in range(d)])
    B = random_responses(rng, d, g) if learned else identities(d, g)
    i, j = np.triu_indices(n, 1)
    q = np.clip(np.einsum("dia,dab,dib->di", truth[:, i], B, truth[:, j]), 0.02, 0.98)
    divergence, gamma = DIVERGENCES[kind], np.array([1.0, 5.0, 40.0])
    stat = gamma[:, None] * divergence.f(-np.log(q))
    W = 0.8 * truth + 0.2 * interior_memberships(rng, d, n, g)
    model = Model(divergence, PENALTIES[None], learned_response=learned)

    def curve(name, n_steps):
        """Return the least value (steps, d) after each evaluation of the objective."""
        schedule = Schedule(**OPTIMIZERS[name])
        descend, values = getattr(em, name), []

        def watched(start, slopes, *arguments):
            function, seen = counted(slopes)
            found = descend(start, function, *arguments)
            values.extend(seen)
            return found

        with monkeypatch.context() as patch:
            patch.setattr(em, name, watched)
            patch.setattr(em, "has_compiled_descent", lambda stat: False)  # so that every step is seen
            em.m_step(W, B, gamma, stat, model, Workers(1), schedule, n_steps, np.full(d, schedule.rate))
        return np.minimum.accumulate(values)

    by_adam, by_mirror = curve("adam", 400), curve("mirror", 400)
    assert np.abs(by_adam[-1] - by_mirror[-1]).max() <= 0.01 * (by_adam[0] - by_adam[-1]).min()
    gain = by_adam[0] - np.minimum(by_adam[-1], by_mirror[-1])
    for l in range(d):
        near = np.minimum(by_adam[-1, l], by_mirror[-1, l]) + 0.01 * gain[l]
        steps = [int(np.argmax(values[:, l] <= near)) for values in (by_adam, by_mirror)]
        assert all(values[-1, l] <= near for values in (by_adam, by_mirror))
        assert steps[1] < 0.7 * steps[0]
