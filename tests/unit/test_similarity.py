"""Kernels: what they give, what they refuse, and how a user brings one."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from latentsimplex.compute.pairs import unpack
from latentsimplex.similarity import (
    Diffusion,
    FunctionKernel,
    LocalScaling,
    Precomputed,
    Readings,
    as_kernel,
    checked_exponents,
    clip_exponents,
    tables_exponents,
)
from latentsimplex.similarity.kernel import S_CLIP, single
from latentsimplex.similarity.local_scaling import (
    FEW_FEATURES,
    OUTLYING,
    euclidean,
    place_and_scale,
    standardised,
)

X = np.random.default_rng(0).normal(size=(10, 3))
S = rbf_kernel(X, gamma=0.3)


# Local scaling


def test_paper_and_zelnik_manor_forms_by_hand():
    line = np.array([[0.0], [1.0], [3.0]])
    # distances 1, 3, 2; nearest others 1, 1, 2
    nearest = LocalScaling(neighbour=1)
    np.testing.assert_allclose(nearest.exponents(line), [1, 3 / np.sqrt(2), 2 / np.sqrt(2)])
    squared = LocalScaling(neighbour=1, power=2)
    np.testing.assert_allclose(squared.exponents(line), [1, 9 / 2, 4 / 2])
    median = LocalScaling(quantile=0.5)
    np.testing.assert_allclose(median.exponents(line), [1 / np.sqrt(3), 3 / np.sqrt(5), 2 / np.sqrt(3.75)])


def test_does_not_depend_on_scale_place_or_rotation():
    kernel = LocalScaling()
    rotation, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    np.testing.assert_allclose(kernel.exponents(100 * X @ rotation + 7), kernel.exponents(X), rtol=1e-10)


def test_standardising_makes_features_equal():
    stretched = X * [1, 1000, 1e-3]
    kernel = LocalScaling(standardise=True)
    np.testing.assert_allclose(kernel.exponents(stretched), kernel.exponents(X), rtol=1e-10)
    assert not np.allclose(LocalScaling().exponents(stretched), LocalScaling().exponents(X))


def test_standardising_leaves_constant_features_out():
    with_constant = np.column_stack([X, np.full(len(X), 5.0)])
    kernel = LocalScaling(standardise=True)
    np.testing.assert_allclose(kernel.exponents(with_constant), kernel.exponents(X), rtol=1e-10)


def test_constant_view_has_zero_exponents():
    assert not LocalScaling().exponents(np.full((6, 2), 3.0)).any()


def test_duplicates_are_certain_neighbours_and_others_keep_finite_exponents():
    doubled = np.concatenate([X, X[:6], X[:6]])
    r = LocalScaling(quantile=0.1).exponents(doubled)
    assert np.isfinite(r).all()
    i, j = np.triu_indices(len(doubled), 1)
    same = (doubled[i] == doubled[j]).all(axis=1)
    assert (r[same] == 0).all()
    assert (r[~same] > 0).all()


@pytest.mark.parametrize(
    "wrong",
    [{"quantile": 0}, {"quantile": 1.0}, {"quantile": -0.5}, {"power": 0}, {"power": -1.0}, {"neighbour": 0}],
    ids=str,
)
def test_parameters_out_of_range(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name} == "):
        LocalScaling(**wrong)


def test_neighbour_may_be_a_numpy_integer():
    assert np.array_equal(
        LocalScaling(neighbour=np.int64(3)).exponents(X), LocalScaling(neighbour=3).exponents(X)
    )


@pytest.mark.parametrize("settings", [{}, {"power": 2.0, "neighbour": 4}, {"standardise": True}], ids=str)
def test_per_feature_is_the_mean_of_features_alone(settings):
    alone = [np.exp(-LocalScaling(**settings).exponents(X[:, [k]])) for k in range(3)]
    together = np.exp(-LocalScaling(per_feature=True, **settings).exponents(X))
    np.testing.assert_allclose(together, (alone[0] + alone[1] + alone[2]) / 3, rtol=1e-12)


def test_per_feature_needs_no_common_scale():
    kernel = LocalScaling(per_feature=True)
    np.testing.assert_allclose(kernel.exponents(X * [1, 1000, 1e-3]), kernel.exponents(X), rtol=1e-9)


def test_per_feature_bounds_what_one_wild_value_does():
    wild = X.copy()
    wild[0, 0] = 1e9
    before, after = (np.exp(-LocalScaling(per_feature=True).exponents(data)) for data in (X, wild))
    assert np.abs(after - before).max() <= 1 / 3
    assert not LocalScaling(per_feature=True).exponents(np.full((6, 2), 3.0)).any()


def test_exponents_are_clipped_where_similarities_would_be_certain():
    s = np.exp(-clip_exponents(np.array([0.0, 1e-9, 0.5, 100.0, np.inf])))
    np.testing.assert_allclose(s, [1 - S_CLIP, 1 - S_CLIP, np.exp(-0.5), S_CLIP, S_CLIP], rtol=1e-12)


# Precomputed


def test_precomputed_returns_minus_the_logarithm():
    i, j = np.triu_indices(len(S), 1)
    np.testing.assert_allclose(np.exp(-Precomputed().exponents(S)), S[i, j])


def test_precomputed_does_not_read_the_diagonal():
    other = S.copy()
    np.fill_diagonal(other, 0)
    assert np.array_equal(Precomputed().exponents(other), Precomputed().exponents(S))


def test_precomputed_zeros_and_ones():
    r = Precomputed().exponents(np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]]))
    assert r.tolist() == [0, np.inf, np.inf]
    assert not np.signbit(r[0])


ABOVE, BELOW, SKEWED = S.copy(), S.copy(), S.copy()
ABOVE[0, 1] = ABOVE[1, 0] = 1.5
BELOW[0, 1] = BELOW[1, 0] = -0.25
SKEWED[0, 1] += 0.01

REFUSED = {
    "above": (ABOVE, r"to 1\.5: similarities must lie in \[0, 1\]; turn distances into similarities"),
    "below": (BELOW, r"from -0\.25 to 1: similarities must lie in \[0, 1\]"),
    "asymmetric": (SKEWED, r"not symmetric: pass \(S \+ S\.T\) / 2"),
    "not square": (S[:, :4], r"shape \(10, 4\): a similarity matrix is square, one row per sample"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_similarities(case):
    matrix, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        Precomputed().exponents(matrix)
    with pytest.raises(ValueError, match=message):
        FunctionKernel(lambda X: matrix).exponents(X)


def test_asymmetry_of_rounding_is_allowed():
    rounded = S * (1 + 1e-13 * np.random.default_rng(0).normal(size=S.shape))
    np.testing.assert_allclose(
        Precomputed().exponents(np.minimum(rounded, 1)), Precomputed().exponents(S), atol=1e-9
    )


def test_values_beyond_one_by_rounding_are_taken_for_one():
    rounded = np.where(np.eye(4) == 1, 1.0, 0.5) + 4e-16
    rounded[0, 1] = rounded[1, 0] = 1 + 4e-16
    assert Precomputed().exponents(rounded)[0] == 0


@pytest.mark.parametrize("some", [True, False])
def test_a_function_that_returns_nan(some):
    matrix = np.where(np.eye(10) == 1, np.nan, 0.5) if some else np.full((10, 10), np.nan)
    with pytest.raises(ValueError, match="NaN"):
        FunctionKernel(lambda X: matrix).exponents(X)


# A kernel of one's own


class Gaussian:
    def exponents(self, X):
        i, j = np.triu_indices(len(X), 1)
        return ((X[i] - X[j]) ** 2).sum(axis=1) * 0.3


def test_object_and_function_kernels_agree():
    own, function = as_kernel(Gaussian()), as_kernel(lambda X: rbf_kernel(X, gamma=0.3))
    assert isinstance(function, FunctionKernel)
    np.testing.assert_allclose(own.exponents(X), function.exponents(X), rtol=1e-9)


def test_named_kernels():
    assert as_kernel("local-scaling") == LocalScaling()
    assert as_kernel("precomputed") == Precomputed()
    assert as_kernel("diffusion") == Diffusion()
    kernel = LocalScaling(power=2.0, neighbour=7)
    assert as_kernel(kernel) is kernel


@pytest.mark.parametrize("unknown", ["gaussian", "auto", None, 3, LocalScaling, np.eye(3)], ids=repr)
def test_unknown_similarity(unknown):
    with pytest.raises(
        ValueError,
        match=r"is not a way to compare samples: choose one of 'auto', 'local-scaling', 'diffusion', 'precomputed'",
    ):
        as_kernel(unknown)


class Fixed:
    def __init__(self, r):
        self.r = r

    def exponents(self, X):
        return self.r


def test_exponents_are_checked():
    with pytest.raises(
        ValueError, match=r"shape \(3, 3\) for view 'a', but 3 samples have 3 pairs: return one value"
    ):
        checked_exponents(Fixed(np.eye(3)), np.zeros((3, 1)), "view 'a'")
    for bad in (-0.1, np.nan):
        with pytest.raises(ValueError, match=r"for view 'a' that are negative or NaN"):
            checked_exponents(Fixed([1.0, bad, 0.0]), np.zeros((3, 1)), "view 'a'")
    assert checked_exponents(Fixed([1, 0, np.inf]), np.zeros((3, 1)), "view 'a'").dtype == np.float64


def test_piles_of_coinciding_samples_are_told_apart():
    """All positive distances lie between the piles, so only a bandwidth of their own can keep them apart."""
    piles = np.repeat([[0.0], [1.0]], 20, axis=0)
    s = unpack(np.exp(-LocalScaling().exponents(piles)), diagonal=1.0)
    assert s[0, 1] == s[30, 39] == 1
    assert s[0, 39] < 1e-4


# Several tables at once


BATCHED = [
    LocalScaling(),
    LocalScaling(quantile=0.3, power=2.0, standardise=True),
    LocalScaling(neighbour=3, per_feature=True),
    Diffusion(mean=0.3),
    Diffusion(neighbours=3, mean=0.15, balance=True),
    Diffusion(neighbours="sqrt", standardise=False, per_feature=True),
    Readings("broad", ((1, "as they are"), (50, "standardised"))),
]


def tables(n_features, dtype=float):
    """Return six tables of one shape: with and without clusters, with samples that coincide, and a constant one."""
    rng = np.random.default_rng(n_features)
    made = rng.normal(size=(6, 30, n_features))
    made[1] += 5 * (np.arange(30) % 3)[:, None]
    made[2, :12] = made[2, 0]
    made[3] = np.round(made[3])
    made[4] = 2.0
    return made.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_features", [1, FEW_FEATURES, 9])
@pytest.mark.parametrize("kernel", BATCHED, ids=str)
def test_exponents_of_several_tables_are_those_of_each(kernel, n_features, dtype):
    """To the bit: how views are batched must not show."""
    data = tables(n_features, dtype)
    together = kernel.exponents(data)
    assert together.shape == (6, 30 * 29 // 2)
    assert together.dtype == dtype
    for X, r in zip(data, together, strict=True):
        assert np.array_equal(kernel.exponents(X), r)


@pytest.mark.parametrize("kernel", BATCHED, ids=str)
def test_exponents_of_tables_in_single_precision(kernel):
    """They are of the size that double precision gives, whatever unit and origin the features have."""
    data = 1e3 * tables(3) + 1e6
    found = tables_exponents(kernel, data, str)
    assert found.dtype == np.float32
    expected = np.stack([kernel.exponents(X) for X in data])
    np.testing.assert_allclose(clip_exponents(found), clip_exponents(expected), rtol=2e-3, atol=2e-4)


def test_a_kernel_of_ones_own_reads_tables_one_by_one_as_they_are():
    data = tables(3)
    found = tables_exponents(Gaussian(), data, str)
    assert found.dtype == np.float32
    for X, r in zip(data, found, strict=True):
        assert np.array_equal(Gaussian().exponents(X).astype(np.float32), r)


def test_what_goes_wrong_is_said_of_the_table_where_it_does():
    data = tables(3)

    def similarity(X):
        return np.full((30, 30), np.nan if np.array_equal(X, data[1]) else 0.5)

    with pytest.raises(ValueError, match="table 1: the function's result contains NaN"):
        tables_exponents(FunctionKernel(similarity), data, "table {}".format)


def test_numbers_too_large_to_square_are_read_all_the_same():
    data = tables(3)
    large = tables_exponents(LocalScaling(), 2.0**1000 * data, str)
    assert np.array_equal(large, tables_exponents(LocalScaling(), data, str))


@pytest.mark.parametrize("kernel", [LocalScaling(), Diffusion()], ids=str)
def test_tables_may_have_any_axes_before(kernel):
    data = tables(3)
    nested = kernel.exponents(data.reshape(2, 3, 30, 3))
    assert np.array_equal(nested, kernel.exponents(data).reshape(2, 3, -1))


def test_single_precision_keeps_digits_of_differences():
    X = 1e8 + np.arange(6.0).reshape(3, 2)
    assert single(X).dtype == np.float32
    assert single(X).tolist() == [[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]]
    assert not single(np.full((3, 2), 7.0)).any()


@pytest.mark.parametrize("n_features", [1, 2, FEW_FEATURES, FEW_FEATURES + 1, 40])
@pytest.mark.parametrize("place", [0.0, 1e5])
def test_euclidean_distances(n_features, place):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, n_features)) + place
    X[3] = X[7]
    D = euclidean(X)
    np.testing.assert_allclose(D, np.sqrt(((X[:, None] - X) ** 2).sum(axis=-1)), rtol=1e-6, atol=1e-12)
    assert np.array_equal(D, D.T)
    assert D[3, 7] == 0
    assert not np.diag(D).any()


@pytest.mark.parametrize("constant", [2.0, 0.1])
def test_standardised_features_of_each_table(constant):
    """A constant feature is 0, its mean having been rounded or not."""
    data = tables(3) * [1, 50, 1e-4]
    data[4] = constant
    data[:, :, 1] = constant
    for X, found in zip(data, standardised(data), strict=True):
        np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(found.std(axis=0), np.ptp(X, axis=0) > 0, atol=1e-12)


# Outliers


def test_without_outliers_features_have_mean_0_and_variance_1():
    X = np.random.default_rng(0).uniform(size=(500, 3)) ** 2 * [1, 10, 0.1] + 5
    found = standardised(X)
    np.testing.assert_allclose(found, (X - X.mean(axis=0)) / X.std(axis=0), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("wild", [50.0, 1e4, 1e9])
def test_an_outlier_does_not_set_the_scale_of_the_others(wild):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X[0, 1] = wild
    found = standardised(X)
    assert found[1:].std(axis=0) == pytest.approx([1, 1], abs=0.1)
    assert found[0, 1] > 10


def test_the_scale_of_heavy_tails_stands_still():
    """Of Cauchy samples cut at c the variance is about 4 c / pi - 1; with c = 4 s, s solves s^2 = 16 s / pi - 1."""
    X = np.random.default_rng(1).standard_cauchy(size=(20_000, 1))
    _, scale = place_and_scale(X)
    cut = np.clip(X - np.median(X), -OUTLYING * scale[0], OUTLYING * scale[0])
    assert cut.std() == pytest.approx(scale[0, 0], rel=0.02)
    assert scale[0, 0] == pytest.approx(8 / np.pi + np.sqrt(64 / np.pi**2 - 1), rel=0.05)


def test_rare_values_are_no_outliers():
    X = np.zeros((200, 1))
    X[:3] = 1.0
    np.testing.assert_allclose(standardised(X), (X - X.mean()) / X.std())


def test_tables_are_standardised_one_by_one():
    X = np.random.default_rng(2).standard_t(2, size=(3, 40, 2))
    np.testing.assert_allclose(standardised(X), [standardised(one) for one in X], rtol=1e-12)
