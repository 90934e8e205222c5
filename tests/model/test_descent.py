"""Adam and mirror descent: the best point of each problem, step sizes that adapt, one pace for all forms."""

import math

import numpy as np
import pytest

from latentsimplex.base.condensed import count_pairs
from latentsimplex.base.threads import Workers
from latentsimplex.model import backends as numba_backend
from latentsimplex.model.backends import NumbaBackend
from latentsimplex.model.cluster_prices import ClusterPrice, list_prices
from latentsimplex.model.descent import LONGER, MOST_MOMENTUM, adam, mirror, next_pace
from latentsimplex.model.em import Coordinates
from latentsimplex.model.penalties import NoPenalty
from latentsimplex.model.problem import Model, Patterns
from latentsimplex.pairs.divergence import DIVERGENCES
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


# The pace of every form of mirror descent


def test_a_step_that_does_not_raise_the_value_makes_the_next_one_longer_and_faster():
    for value in (0.5, 1.0):  # as good as the last is good enough
        failed, rate, momentum, age, last = next_pace(value, last=1.0, least=0.2, age=3.0, rate=4.0)
        older = (1 + math.sqrt(1 + 4 * 9)) / 2
        assert not failed
        assert rate == LONGER * 4.0
        assert momentum == pytest.approx(2 / older)
        assert age == pytest.approx(older)
        assert last == value


def test_a_step_that_raises_the_value_is_taken_back_half_as_long_without_momentum():
    assert next_pace(1.1, last=1.0, least=0.2, age=30.0, rate=4.0) == (True, 2.0, 0.0, 1.0, 0.2)


def test_momentum_grows_with_age_up_to_a_most():
    age, momenta = 1.0, []
    for _ in range(60):
        _, _, momentum, age, _ = next_pace(0.0, 0.0, 0.0, age, 1.0)
        momenta.append(momentum)
    assert momenta[0] == 0
    assert momenta == sorted(momenta)
    assert momenta[-1] == MOST_MOMENTUM


@pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
@pytest.mark.parametrize("penalty", [NoPenalty(), ClusterPrice((0.0, 3.0, 5.0))], ids=["free", "priced"])
@pytest.mark.parametrize("kind", KINDS)
def test_generic_compiled_and_tiled_descent_agree_to_rounding(kind, penalty, learned, monkeypatch):
    """The same problem three ways; of the rates one is so long that its first steps are taken back."""
    rng = np.random.default_rng(2)
    d, n, g = 3, 30, 3
    mass, rate, n_steps = np.array([1.0, 4.0, 30.0]), np.array([0.5, 4.0, 100.0]), 8
    similarities = rng.uniform(0.05, 0.95, size=(d, count_pairs(n)))
    patterns = Patterns(
        interior_memberships(rng, d, n, g),
        random_responses(rng, d, g) if learned else identities(d, g),
        mass,
        mass[:, None] * DIVERGENCES[kind].f(-np.log(similarities)),
    )
    model, prices = Model(DIVERGENCES[kind], penalty, learned_response=learned), list_prices(penalty, g)

    def generic(backend):
        evaluate, like = backend.pair_objective(mass, patterns.stat, model.divergence)
        coordinates, values = Coordinates(patterns, learned, np.zeros(0)), []

        def slopes(x):
            W, B = coordinates.unpack(x)
            value, dW, dB = evaluate(W, B)
            values.append(value + penalty.value_and_gradient(W)[0])
            return values[-1], coordinates.natural_gradient(W, B, dW, dB)

        start = coordinates.pack(patterns.W, patterns.B)
        x, rates = mirror(start, slopes, n_steps, rate, coordinates.longest_steps)
        return like.dtype, values, (*coordinates.unpack(x), rates)

    precision, values, by_mirror = generic(NumbaBackend(n, Workers(1)))
    assert precision == np.float64
    rises = np.diff(values, axis=0) > 0
    assert rises[:, 2].any()
    assert not rises[:, 0].any()
    compiled = NumbaBackend(n, Workers(1)).descend(patterns, model, prices, n_steps, rate, False)
    for found, expected in zip(compiled, by_mirror, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)

    monkeypatch.setattr(numba_backend, "TILE_PAIRS", 0)  # all pairs are many: single precision, and tiles
    precision, _, by_mirror = generic(NumbaBackend(n, Workers(1)))
    assert precision == np.float32
    tiled = NumbaBackend(n, Workers(1)).descend(patterns, model, prices, n_steps, rate, False)
    for found, expected, exact in zip(tiled, by_mirror, compiled, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(found, exact, rtol=1e-3, atol=1e-3)


# Tensors


@DESCENTS
def test_descent_of_tensors(descend):
    torch = pytest.importorskip("torch")
    start, rate = np.random.default_rng(0).normal(size=(4, 3)), np.array([0.1, 0.3, 0.9, 2.0])

    def slopes(x):
        return (x**4 + x**2).sum(-1), 4 * x**3 + 2 * x

    found = descend(torch.as_tensor(start), slopes, 12, torch.as_tensor(rate))
    for one, other in zip(found, descend(start, slopes, 12, rate), strict=True):
        assert isinstance(one, torch.Tensor)
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-10, atol=1e-12)
