"""The two divergences: true ones, each the other's mirror, with the slopes they claim, compiled or not."""

import numpy as np
import pytest

from latentsimplex.base.compiled import compiled
from latentsimplex.pairs import divergence_loops as loops
from latentsimplex.pairs._value_loops import write_pair_values
from latentsimplex.pairs.divergence import DIVERGENCES, P_CLIP, log1m_similarity
from latentsimplex.similarity.kernel import LEAST_EXPONENT, MOST_EXPONENT, clip_exponents

torch = pytest.importorskip("torch")

P = np.array([1e-7, 0.01, 0.2, 0.5, 0.8, 0.999])
S = np.array([2e-4, 0.03, 0.2, 0.5, 0.8, 0.9998])


def divergence(name, p, s):
    d, r = DIVERGENCES[name], -np.log(s)
    a, h = d.a_and_h(p)
    return h - d.f(r) * a + d.const(r)


@pytest.mark.parametrize("name", DIVERGENCES)
def test_is_positive_except_where_p_is_s(name):
    p, s = np.meshgrid(P, S)
    values = divergence(name, p, s)
    assert (values[p != s] > 1e-6).all()
    np.testing.assert_allclose(values[p == s], 0, atol=1e-14)


def test_forward_is_reverse_with_p_and_s_exchanged():
    p, s = np.meshgrid(P, S)
    np.testing.assert_allclose(
        divergence("forward", p, s), divergence("reverse", s, p), rtol=1e-9, atol=1e-14
    )


def test_is_not_symmetric():
    assert not np.isclose(divergence("forward", 0.2, 0.7), divergence("reverse", 0.2, 0.7), rtol=1e-2)


@pytest.mark.parametrize("name", DIVERGENCES)
def test_value_and_slope(name):
    gamma, stat, step = 2.5, np.linspace(-3, 2, len(P)), 1e-7
    d = DIVERGENCES[name]
    value, slope = d.value_and_slope(P, gamma, stat)
    a, h = d.a_and_h(P)
    np.testing.assert_allclose(value, gamma * h - stat * a, rtol=1e-12, atol=1e-14)

    inside = P > 1e-3
    above, _ = d.value_and_slope(P[inside] + step * P[inside], gamma, stat[inside])
    below, _ = d.value_and_slope(P[inside] - step * P[inside], gamma, stat[inside])
    np.testing.assert_allclose(slope[inside], (above - below) / (2 * step * P[inside]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", DIVERGENCES)
def test_slope_vanishes_at_the_mean_of_the_views(name):
    """The best unconstrained p for several views has a(p)'s partner, f, at its mean over them."""
    r = -np.log(np.array([0.2, 0.4, 0.9]))
    f = DIVERGENCES[name].f(r)
    best = f.mean() if name == "forward" else 1 / (1 + np.exp(-f.mean()))
    _, slope = DIVERGENCES[name].value_and_slope(np.array([best]), 3.0, np.array([f.sum()]))
    np.testing.assert_allclose(slope, 0, atol=1e-12)


@pytest.mark.parametrize("name", DIVERGENCES)
def test_mean_inverts_f(name):
    d = DIVERGENCES[name]
    np.testing.assert_allclose(d.mean(d.f(-np.log(S))), S, rtol=1e-12)
    _, slope = d.value_and_slope(d.mean(d.f(-np.log(S))), 2.0, 2 * d.f(-np.log(S)))
    np.testing.assert_allclose(slope, 0, atol=1e-9)


def test_value_slope_leaves_its_arguments_alone():
    p, stat = P.copy(), np.ones(len(P))
    for d in DIVERGENCES.values():
        d.value_and_slope(p, 2.0, stat)
        d.a_and_h(p)
    assert np.array_equal(p, P)
    assert (stat == 1).all()


def test_log_of_one_minus_a_similarity_keeps_its_digits():
    small, large = np.array([1e-15, 1e-8]), np.array([5.0, 40.0, 700.0])
    np.testing.assert_allclose(log1m_similarity(small), np.log(small) - small / 2, rtol=1e-15)
    np.testing.assert_allclose(log1m_similarity(large), np.log1p(-np.exp(-large)), rtol=1e-13, atol=1e-16)


# Tensors


@pytest.mark.parametrize("name", DIVERGENCES)
def test_divergences_of_tensors(name):
    d, rng = DIVERGENCES[name], np.random.default_rng(0)
    r, p, stat = rng.uniform(1e-4, 9, size=50), rng.uniform(1e-6, 1 - 1e-6, size=50), rng.normal(size=50)
    pairs = [
        (d.f(torch.as_tensor(r)), d.f(r)),
        (d.const(torch.as_tensor(r)), d.const(r)),
        (d.mean(d.f(torch.as_tensor(r))), d.mean(d.f(r))),
        *zip(d.a_and_h(torch.as_tensor(p)), d.a_and_h(p), strict=True),
        *zip(
            d.value_and_slope(torch.as_tensor(p), 2.5, torch.as_tensor(stat)),
            d.value_and_slope(p, 2.5, stat),
            strict=True,
        ),
    ]
    for found, expected in pairs:
        assert isinstance(found, torch.Tensor)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10, atol=1e-12)


# The same formulas for one pair, compiled, in either precision

PRECISION = pytest.mark.parametrize(
    ("precision", "rtol"), [(np.float64, 1e-12), (np.float32, 2e-6)], ids=["double", "single"]
)


def loop_over(formula):
    """Return a compiled loop that writes both results of a formula for each of some numbers."""

    @compiled
    def loop(numbers, first, second):
        for i in range(len(numbers)):
            first[i], second[i] = formula(numbers[i])

    return loop


def loop_over_three(formula):
    @compiled
    def loop(numbers, mass, stat, first, second):
        for i in range(len(numbers)):
            first[i], second[i] = formula(numbers[i], mass, stat[i])

    return loop


def both(loop, numbers, *others):
    found = np.empty_like(numbers), np.empty_like(numbers)
    loop(numbers, *others, *found)
    return found


def probabilities(precision):
    """Return probabilities as near to 0 and 1 as they may come in a precision."""
    most = 1 - max(P_CLIP, np.finfo(precision).eps)
    inside = np.random.default_rng(0).uniform(size=200)
    return np.concatenate([inside, [P_CLIP, 1e-7, 0.5, 1 - 1e-6, most]]).astype(precision)


@PRECISION
@pytest.mark.parametrize("name", DIVERGENCES)
def test_compiled_a_and_h(name, precision, rtol):
    p = probabilities(precision)
    a, h = both(loop_over(getattr(loops, f"{name}_a_and_h")), p)
    assert a.dtype == h.dtype == precision
    for found, expected in zip((a, h), DIVERGENCES[name].a_and_h(p.astype(float)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


@PRECISION
@pytest.mark.parametrize("name", DIVERGENCES)
def test_compiled_value_and_slope(name, precision, rtol):
    p = probabilities(precision)
    stat = np.random.default_rng(1).normal(size=len(p)).astype(precision)
    loop = loop_over_three(getattr(loops, f"{name}_value_and_slope"))
    value, slope = both(loop, p, precision(2.5), stat)
    assert value.dtype == slope.dtype == precision
    expected = DIVERGENCES[name].value_and_slope(p.astype(float), 2.5, stat.astype(float))
    # rounding is that of the terms, which may cancel
    np.testing.assert_allclose(value, expected[0], rtol=rtol, atol=20 * rtol)
    np.testing.assert_allclose(slope, expected[1], rtol=rtol, atol=20 * rtol)


@pytest.mark.parametrize("name", DIVERGENCES)
def test_compiled_f_and_const(name):
    """Of single precision alone: it is what similarities are read in."""
    r = np.r_[np.geomspace(LEAST_EXPONENT, MOST_EXPONENT, 300), np.linspace(0.01, 80, 100)].astype(np.float32)
    f, const = both(loop_over(getattr(loops, f"{name}_f_and_const")), r)
    assert f.dtype == const.dtype == np.float32
    d = DIVERGENCES[name]
    np.testing.assert_allclose(f, d.f(r.astype(float)), rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(const, d.const(r.astype(float)), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("name", DIVERGENCES)
def test_pair_values_are_those_of_the_divergence(name):
    rng = np.random.default_rng(0)
    r = rng.exponential(2.0, (3, 2500)).astype(np.float32)
    r[0, :40], r[1, :40] = 0.0, 1e6
    r[2] *= 1e-3
    F, constants = np.empty_like(r), np.empty(3)
    write_pair_values(r, LEAST_EXPONENT, MOST_EXPONENT, name == "forward", F, constants)
    clipped = clip_exponents(r.astype(np.float64))
    np.testing.assert_allclose(F, DIVERGENCES[name].f(clipped), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(constants, DIVERGENCES[name].const(clipped).sum(axis=1), rtol=1e-5)
    write_pair_values(r, LEAST_EXPONENT, MOST_EXPONENT, name == "forward", r, constants)
    np.testing.assert_array_equal(r, F)
