"""Compiled readings beside those written for arrays of any size, and their parts beside NumPy."""

import numpy as np
import pytest

from latentsimplex.compute import walks
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


def powers(n: int = 70) -> tuple[np.ndarray, np.ndarray]:
    """Return a walk of n samples and its square, as wide as the loops want them."""
    wide = -(-n // walks.LANES) * walks.LANES
    M = np.zeros((wide, wide), dtype=np.float32)
    M[:n, :n] = Diffusion(neighbours=4).walk(single(tables(n, 2))[None])[0]
    return M, M @ M


@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize("listed", [True, False])
def test_products_of_powers_are_of_unit_mean_return(left, listed):
    n = 70
    both = powers(n)
    half, right = both[left], both[1]
    who, share = np.empty((n, n + walks.EIGHT), np.uint16), np.empty((n, n + walks.EIGHT), np.float32)
    many, out = np.empty(n, np.int64), np.zeros_like(right)
    found = walks.significant(half, n, walks.NEGLIGIBLE, who, share, many)
    assert found == (half > walks.NEGLIGIBLE).sum() / n**2 < 0.9
    walks.multiply(half, listed, who, share, many, right, out)
    expected = half.astype(float) @ right
    np.testing.assert_allclose(out, expected * n / np.trace(expected), atol=1e-5)


@pytest.mark.parametrize("mean", [0.2, 0.5])
def test_parts_that_never_meet_are_joined_in_very_long_walks(mean):
    """Eight groups on a line have a mean of about an eighth while walks stay within them."""
    X = np.repeat(np.arange(8.0) * 100, 6)[:, None] + np.tile(np.arange(6.0), 8)[:, None]
    kernel = Diffusion(neighbours=2, mean=mean)
    assert similarities(kernel, single(X)).mean() == pytest.approx(mean, abs=0.04)


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
