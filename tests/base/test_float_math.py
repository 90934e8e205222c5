"""Our own logarithm, in both precisions, and exponential, as compiled loops call them."""

import numpy as np
import pytest

from latentsimplex.base.compiled import compiled
from latentsimplex.base.float_math import exp_and_rest, log
from latentsimplex.pairs.divergence import P_CLIP


@compiled
def write_logarithms(x, out):
    for i in range(len(x)):
        out[i] = log(x[i])


@compiled
def precision_of_logarithms(x):
    return np.array([log(x[0])]).dtype


def logarithms(x):
    out = np.empty_like(x)
    write_logarithms(x, out)
    return out


def test_logarithms_of_double_precision_to_rounding():
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [
            rng.uniform(size=20_000),
            10.0 ** rng.uniform(-300, 300, size=20_000),
            1 + rng.normal(size=1000) * 10.0 ** rng.uniform(-12, -1, size=1000) / 5,
            [1.0, 0.5, 2.0, np.sqrt(0.5), np.sqrt(2.0), np.finfo(float).tiny, np.finfo(float).max, P_CLIP],
            np.nextafter([1.0, 1.0, 2.0, 0.5], [0.0, 2.0, 0.0, 1.0]),
        ]
    )
    np.testing.assert_allclose(logarithms(x), np.log(x), rtol=1e-14, atol=0)
    assert logarithms(np.ones(3)).tolist() == [0, 0, 0]


def test_logarithms_of_single_precision_to_rounding():
    one = np.float32(1.0)
    x = np.concatenate(
        [
            np.logspace(-9, 0, 400),
            np.exp(np.linspace(-80, 80, 301)),
            [np.finfo(np.float32).tiny, np.finfo(np.float32).max, P_CLIP, np.sqrt(0.5), np.sqrt(2.0)],
            np.nextafter([one, one], [np.float32(0.0), np.float32(2.0)]),
        ]
    ).astype(np.float32)
    np.testing.assert_allclose(logarithms(x), np.log(x.astype(float)), rtol=5e-7, atol=1e-7)
    assert logarithms(np.ones(3, np.float32)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_a_logarithm_has_the_precision_of_its_number(precision):
    assert precision_of_logarithms(np.ones(1, precision)) == precision


@pytest.mark.parametrize("n", [0, 1, 7, 1025])
@pytest.mark.parametrize(("precision", "rtol"), [(np.float64, 1e-14), (np.float32, 1e-6)])
def test_logarithms_of_any_number_of_numbers_and_in_place(n, precision, rtol):
    x = np.random.default_rng(n).uniform(0.1, 3, size=n).astype(precision)
    expected = np.log(x.astype(float))
    np.testing.assert_allclose(logarithms(x), expected, rtol=rtol, atol=rtol / 10)
    write_logarithms(x, x)
    np.testing.assert_allclose(x, expected, rtol=rtol, atol=rtol / 10)


def test_the_logarithm_is_for_compiled_loops():
    with pytest.raises(NotImplementedError, match="this function is for compiled loops"):
        log(1.0)


def test_exponentials_and_what_they_leave_of_one():
    x = -np.r_[np.logspace(-7, np.log10(80), 300), 0.0].astype(np.float32)
    both = np.array([exp_and_rest(value) for value in x])
    np.testing.assert_allclose(both[:, 0], np.exp(x.astype(float)), rtol=5e-7)
    np.testing.assert_allclose(both[:, 1], -np.expm1(x.astype(float)), rtol=5e-7)
