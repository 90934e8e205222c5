"""Local scaling in compiled loops, against NumPy and the same kernels in double precision."""

import numpy as np
import pytest

from latentsimplex.compute import scaling, singles, values
from latentsimplex.divergence import DIVERGENCES
from latentsimplex.similarity import LocalScaling, clip_exponents
from latentsimplex.similarity.kernel import LEAST_EXPONENT, MOST_EXPONENT, single
from latentsimplex.similarity.local_scaling import ROWS_AT_ONCE, compared, standardised


def tables(n: int, p: int, seed: int = 0, b: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(b, n, p)) + 3 * rng.integers(2, size=(b, n, 1))


@pytest.mark.parametrize("seed", range(20))
def test_numbers_in_order(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    bits = (
        rng.integers(-5, 6, n, dtype=np.int32)
        if seed % 2
        else rng.integers(-(2**31), 2**31, n, dtype=np.int32)
    )
    if seed % 3 == 0:
        bits[0], bits[-1] = -(2**31), 2**31 - 1
    for near in (0, 0x3F800000, -(2**31), 2**31 - 1, int(bits[0])):
        assert [scaling.ordered(bits, k, near) for k in range(n)] == np.sort(bits).tolist()


@pytest.mark.parametrize("seed", range(10))
def test_bandwidths_are_quantiles(seed):
    rng = np.random.default_rng(seed)
    others = (
        rng.integers(1, 6, (4, 30)) if seed % 2 else rng.random((4, 30)) * 10.0 ** rng.integers(-3, 4, (4, 1))
    )
    rows = np.insert(others, 0, 0.0, axis=1).astype(np.float32)
    below, part = divmod(0.3 * 29, 1)
    q = np.empty(4)
    scaling.bandwidths(rows, int(below), part, 0.3, q)
    np.testing.assert_allclose(q, np.quantile(rows[:, 1:], 0.3, axis=1), rtol=1e-6)


def test_the_bandwidth_of_a_pile_is_a_share_of_the_way_out():
    rows = np.array([[0, 0, 0, 0, 0, 0, 4, 8], np.zeros(8)], dtype=np.float32)
    q = np.empty(2)
    scaling.bandwidths(rows, 1, 0.5, 0.3, q)
    np.testing.assert_allclose(q, [1.2, 1.0])


@pytest.mark.parametrize("p", [1, 4, 5, 30])
def test_distances(p):
    X = single(tables(20, p)[0])
    found = np.empty((20, 20), dtype=np.float32)
    scaling.distances_between(X, 4, 0, 20, found)
    np.testing.assert_allclose(found, np.linalg.norm(X[:, None] - X, axis=-1), rtol=1e-5, atol=1e-6)
    part = np.empty((8, 20), dtype=np.float32)
    scaling.distances_between(X, 4, 5, 12, part)
    np.testing.assert_array_equal(part[:7], found[5:12])


def test_features_are_standardised_but_for_outliers():
    X = tables(60, 3, b=4)
    X[0, 3, 1], X[1, :, 0], X[2, 5:, 2] = 1e4, 2.5, 7.0
    found = compared(X.astype(np.float32), True)
    np.testing.assert_allclose(found, standardised(X), rtol=1e-4, atol=1e-5)
    assert not found[1, :, 0].any()
    assert np.array_equal(compared(X.astype(np.float32), False), X.astype(np.float32))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"quantile": 0.3, "power": 2.0},
        {"quantile": 0.3, "power": 1.5, "standardise": True},
        {"neighbour": 7},
        {"per_feature": True, "quantile": 0.3},
    ],
    ids=str,
)
@pytest.mark.parametrize(("n", "p"), [(30, 1), (30, 3), (30, 9), (2 * ROWS_AT_ONCE + 3, 6)])
def test_exponents_are_those_of_double_precision(settings, n, p):
    kernel, X = LocalScaling(**settings), single(tables(n, p, b=2))
    expected = kernel.exponents(X.astype(np.float64))
    np.testing.assert_allclose(kernel.exponents(X), expected, rtol=2e-4, atol=2e-6)
    out = np.empty(expected.shape, dtype=np.float32)
    assert kernel.exponents(X, out).base is out or kernel.exponents(X, out) is out
    np.testing.assert_array_equal(out, kernel.exponents(X))


def test_a_constant_feature_compares_nothing():
    X = single(tables(20, 2))
    with_constant = np.concatenate([X, np.full((1, 20, 1), 0.5, np.float32)], axis=2)
    kernel = LocalScaling(per_feature=True)
    np.testing.assert_array_equal(kernel.exponents(with_constant), kernel.exponents(X))
    assert not kernel.exponents(np.full((1, 5, 2), 0.5, np.float32)).any()


def test_logarithms_and_exponentials():
    x = -np.r_[np.logspace(-7, np.log10(80), 300), 0.0].astype(np.float32)
    both = np.array([singles.exp_and_rest(value) for value in x])
    np.testing.assert_allclose(both[:, 0], np.exp(x.astype(float)), rtol=5e-7)
    np.testing.assert_allclose(both[:, 1], -np.expm1(x.astype(float)), rtol=5e-7)
    y = np.exp(np.linspace(-80, 80, 301)).astype(np.float32)
    np.testing.assert_allclose(
        [singles.log_of(value) for value in y], np.log(y.astype(float)), rtol=5e-7, atol=1e-7
    )


@pytest.mark.parametrize("name", DIVERGENCES)
def test_pair_values_are_those_of_the_divergence(name):
    rng = np.random.default_rng(0)
    r = rng.exponential(2.0, (3, 2500)).astype(np.float32)
    r[0, :40], r[1, :40] = 0.0, 1e6
    r[2] *= 1e-3
    F, constants = np.empty_like(r), np.empty(3)
    values.pair_values(r, LEAST_EXPONENT, MOST_EXPONENT, name == "forward", F, constants)
    clipped = clip_exponents(r.astype(np.float64))
    np.testing.assert_allclose(F, DIVERGENCES[name].f(clipped), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(constants, DIVERGENCES[name].const(clipped).sum(axis=1), rtol=1e-5)
    values.pair_values(r, LEAST_EXPONENT, MOST_EXPONENT, name == "forward", r, constants)
    np.testing.assert_array_equal(r, F)
