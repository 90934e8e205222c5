"""The two divergences: true divergences, each the other's mirror, with the slopes they claim."""

import numpy as np
import pytest

from latentsimplex.divergence import DIVERGENCES, log1m_similarity

P = np.array([1e-7, 0.01, 0.2, 0.5, 0.8, 0.999])
S = np.array([2e-4, 0.03, 0.2, 0.5, 0.8, 0.9998])


def divergence(name, p, s):
    d, r = DIVERGENCES[name], -np.log(s)
    a, h = d.a_h(p)
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
    value, slope = d.value_slope(P, gamma, stat)
    a, h = d.a_h(P)
    np.testing.assert_allclose(value, gamma * h - stat * a, rtol=1e-12, atol=1e-14)

    inside = P > 1e-3
    above, _ = d.value_slope(P[inside] + step * P[inside], gamma, stat[inside])
    below, _ = d.value_slope(P[inside] - step * P[inside], gamma, stat[inside])
    np.testing.assert_allclose(slope[inside], (above - below) / (2 * step * P[inside]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", DIVERGENCES)
def test_slope_vanishes_at_the_mean_of_the_views(name):
    """The best unconstrained p for several views has a(p)'s partner, f, at its mean over them."""
    r = -np.log(np.array([0.2, 0.4, 0.9]))
    f = DIVERGENCES[name].f(r)
    best = f.mean() if name == "forward" else 1 / (1 + np.exp(-f.mean()))
    _, slope = DIVERGENCES[name].value_slope(np.array([best]), 3.0, np.array([f.sum()]))
    np.testing.assert_allclose(slope, 0, atol=1e-12)


@pytest.mark.parametrize("name", DIVERGENCES)
def test_mean_inverts_f(name):
    d = DIVERGENCES[name]
    np.testing.assert_allclose(d.mean(d.f(-np.log(S))), S, rtol=1e-12)
    _, slope = d.value_slope(d.mean(d.f(-np.log(S))), 2.0, 2 * d.f(-np.log(S)))
    np.testing.assert_allclose(slope, 0, atol=1e-9)


def test_value_slope_leaves_its_arguments_alone():
    p, stat = P.copy(), np.ones(len(P))
    for d in DIVERGENCES.values():
        d.value_slope(p, 2.0, stat)
        d.a_h(p)
    assert np.array_equal(p, P)
    assert (stat == 1).all()


def test_log_of_one_minus_a_similarity_keeps_its_digits():
    small, large = np.array([1e-15, 1e-8]), np.array([5.0, 40.0, 700.0])
    np.testing.assert_allclose(log1m_similarity(small), np.log(small) - small / 2, rtol=1e-15)
    np.testing.assert_allclose(log1m_similarity(large), np.log1p(-np.exp(-large)), rtol=1e-13, atol=1e-16)
