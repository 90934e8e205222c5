"""Compiled readings beside those written for arrays of any size, and their parts beside NumPy."""

import numpy as np
import pytest

from latentsimplex.compute import graphs
from latentsimplex.similarity import Diffusion, tables_exponents
from latentsimplex.similarity.diffusion import MOST_MULTIPLIED
from latentsimplex.similarity.kernel import single

KERNELS = [
    Diffusion(),
    Diffusion(neighbours=1 / 7, mean=0.2),
    Diffusion(neighbours="sqrt", mean=0.12, standardise=False),
    Diffusion(mean=0.3, balance=True),
    Diffusion(standardise=False, per_feature=True),
]


def tables(n, p, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(3, p))[rng.integers(0, 3, n)] * 3 + rng.normal(size=(n, p))


def similarities(kernel, X):
    return np.exp(-kernel.exponents(X))


@pytest.mark.parametrize("kernel", KERNELS, ids=range(5))
@pytest.mark.parametrize(("n", "p"), [(3, 1), (5, 2), (40, 1), (60, 3), (60, 9)])
def test_single_precision_reads_as_double_does(kernel, n, p):
    X = tables(n, p)
    found = similarities(kernel, single(X))  # compiled
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, similarities(kernel, X), atol=2e-5)


@pytest.mark.parametrize("n", [MOST_MULTIPLIED, MOST_MULTIPLIED + 1])
def test_both_sides_of_the_number_of_samples_whose_walks_are_multiplied(n):
    X = tables(n, 2)
    found = similarities(KERNELS[0], single(X))
    assert found.mean() == pytest.approx(KERNELS[0].mean, abs=0.01)
    np.testing.assert_allclose(found, similarities(KERNELS[0], X), atol=0.02)


@pytest.mark.parametrize("kernel", KERNELS, ids=range(5))
def test_samples_that_coincide_are_as_similar_to_each_other_as_can_be(kernel):
    X = np.repeat(tables(6, 2), 8, axis=0)
    S = similarities(kernel, single(X))
    assert np.isfinite(S).all()
    np.testing.assert_allclose(S, similarities(kernel, X), atol=1e-4)


@pytest.mark.parametrize("kernel", KERNELS, ids=range(5))
def test_constant_views_and_features(kernel):
    constant = np.full((30, 2), 7.0, dtype=np.float32)
    assert not kernel.exponents(constant).any()
    X = np.c_[tables(30, 2), np.full(30, 3.0)]
    np.testing.assert_allclose(similarities(kernel, single(X)), similarities(kernel, X), atol=2e-5)


def test_two_samples():
    X = np.array([[0.0], [1.0]], dtype=np.float32)
    for kernel in KERNELS:
        found = similarities(kernel, X)
        assert found.shape == (1,)
        assert 0 <= found[0] <= 1


def test_several_tables_are_read_one_by_one():
    X = np.stack([single(tables(25, 2, seed)) for seed in range(3)])
    np.testing.assert_array_equal(KERNELS[0].exponents(X), [KERNELS[0].exponents(one) for one in X])


@pytest.mark.parametrize("seed", range(20))
def test_numbers_in_order(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    bits = (
        rng.integers(-5, 6, n, dtype=np.int32)
        if seed % 2
        else rng.integers(-(2**31), 2**31, n, dtype=np.int32)
    )
    assert [graphs.ordered(bits, k) for k in range(n)] == np.sort(bits).tolist()


@pytest.mark.parametrize("seed", range(10))
def test_bandwidths_are_quantiles(seed):
    rng = np.random.default_rng(seed)
    others = rng.integers(1, 6, 30) if seed % 2 else rng.random(30)
    row = np.r_[0.0, others].astype(np.float32)
    below, part = divmod(0.3 * 29, 1)
    expected = np.quantile(row[1:], 0.3)
    assert graphs.bandwidth(row, int(below), part, 0.3) == pytest.approx(expected, rel=1e-6)


def test_the_bandwidth_of_a_pile_is_a_share_of_the_way_out():
    row = np.array([0, 0, 0, 0, 0, 0, 4, 8], dtype=np.float32)
    assert graphs.bandwidth(row, 1, 0.5, 0.3) == pytest.approx(1.2)
    assert graphs.bandwidth(np.zeros(8, dtype=np.float32), 1, 0.5, 0.3) == 1


def test_exponentials():
    x = np.r_[-np.logspace(-8, 2.8, 300), 0.0, -1e9]
    found = np.empty_like(x)
    graphs.exponentials(x, found)
    np.testing.assert_allclose(found[:-1], np.exp(x[:-1]), rtol=1e-9)
    assert found[-1] < 1e-300


@pytest.mark.parametrize("p", [1, 4, 5, 30])
def test_distances(p):
    X = single(tables(20, p))
    found = np.empty((20, 20), dtype=np.float32)
    graphs.distances_between(X, 4, found)
    np.testing.assert_allclose(found, np.linalg.norm(X[:, None] - X, axis=-1), rtol=1e-5, atol=1e-6)


def test_features_on_very_different_scales():
    """Compared one by one, a feature's scale says nothing, even where its squares would vanish."""
    X = tables(40, 2) * [1.0, 1e-25]
    kernel = KERNELS[4]
    np.testing.assert_allclose(similarities(kernel, single(X)), similarities(kernel, X), atol=1e-4)


@pytest.mark.parametrize("p", [1, 3, 6])
@pytest.mark.parametrize(
    "kernel", [Diffusion(), Diffusion(standardise=False)], ids=["standardised", "as they are"]
)
def test_numbers_too_large_to_square_are_refused(p, kernel):
    X = np.where(tables(30, p) > 0, 1.7e308, -1.7e308)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="rescale them"):
        tables_exponents(kernel, X[None], lambda _: "view 'x'")
