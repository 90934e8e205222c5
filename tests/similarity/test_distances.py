"""Distances and standardised features: of each table, whatever its place, and whatever its outliers."""

import numpy as np
import pytest
from scipy import sparse

from latentsimplex.base.wide_table import WideTable
from latentsimplex.similarity.distances import (
    FEW_FEATURES,
    OUTLYING,
    euclidean_distances,
    feature_sets,
    mean_and_scale,
    prepare_tables,
    rescale,
    root_shares,
    standardise,
)


def tables(n_features):
    """Return six tables of one shape: with clusters and without, with equal samples, and a constant one."""
    rng = np.random.default_rng(n_features)
    made = rng.normal(size=(6, 30, n_features))
    made[1] += 5 * (np.arange(30) % 3)[:, None]
    made[2, :12] = made[2, 0]
    made[3] = np.round(made[3])
    made[4] = 2.0
    return made


# Distances


@pytest.mark.parametrize("n_features", [1, 2, FEW_FEATURES, FEW_FEATURES + 1, 40])
@pytest.mark.parametrize("place", [0.0, 1e5])
def test_euclidean_distances(n_features, place):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, n_features)) + place
    X[3] = X[7]
    D = euclidean_distances(X)
    np.testing.assert_allclose(D, np.sqrt(((X[:, None] - X) ** 2).sum(axis=-1)), rtol=1e-6, atol=1e-12)
    assert np.array_equal(D, D.T)
    assert D[3, 7] == 0
    assert not np.diag(D).any()


@pytest.mark.parametrize("n_features", [1, FEW_FEATURES, 9])
def test_distances_have_the_precision_of_their_tables(n_features):
    X = tables(n_features)
    D = euclidean_distances(X.astype(np.float32))
    assert D.dtype == np.float32
    np.testing.assert_allclose(D, euclidean_distances(X), rtol=1e-4, atol=1e-5)


# Standardised features


@pytest.mark.parametrize("constant", [2.0, 0.1])
def test_standardised_features_of_each_table(constant):
    """A constant feature is 0, its mean having been rounded or not."""
    data = tables(3) * [1, 50, 1e-4]
    data[4] = constant
    data[:, :, 1] = constant
    for X, found in zip(data, standardise(data), strict=True):
        np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(found.std(axis=0), np.ptp(X, axis=0) > 0, atol=1e-12)


def test_tables_are_standardised_one_by_one_whatever_axes_come_before():
    X = np.random.default_rng(2).standard_t(2, size=(2, 3, 40, 2))
    found = standardise(X)
    for i, j in np.ndindex(2, 3):
        np.testing.assert_allclose(found[i, j], standardise(X[i, j]), rtol=1e-12)
        np.testing.assert_allclose(
            euclidean_distances(X)[i, j], euclidean_distances(X[i, j]), rtol=1e-12, atol=0
        )


def test_standardising_is_rescaling_by_mean_and_scale():
    X = tables(3)[0]
    mean, scale = mean_and_scale(X)
    assert mean.shape == scale.shape == (1, 3)
    assert np.array_equal(standardise(X), rescale(X, mean, scale))
    np.testing.assert_allclose(rescale(X, mean, scale), (X - mean) / scale, rtol=1e-12)


def test_without_outliers_features_have_mean_0_and_variance_1():
    X = np.random.default_rng(0).uniform(size=(500, 3)) ** 2 * [1, 10, 0.1] + 5
    found = standardise(X)
    np.testing.assert_allclose(found, (X - X.mean(axis=0)) / X.std(axis=0), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("wild", [50.0, 1e4, 1e9])
def test_an_outlier_does_not_set_the_scale_of_the_others(wild):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X[0, 1] = wild
    found = standardise(X)
    assert found[1:].std(axis=0) == pytest.approx([1, 1], abs=0.1)
    assert found[0, 1] > 10


def test_the_scale_of_heavy_tails_stands_still():
    """Cauchy samples cut at c have a variance of about 4 c / pi - 1; with c = 4 s, s^2 = 16 s / pi - 1."""
    X = np.random.default_rng(1).standard_cauchy(size=(20_000, 1))
    _, scale = mean_and_scale(X)
    cut = np.clip(X - np.median(X), -OUTLYING * scale[0], OUTLYING * scale[0])
    assert cut.std() == pytest.approx(scale[0, 0], rel=0.02)
    assert scale[0, 0] == pytest.approx(8 / np.pi + np.sqrt(64 / np.pi**2 - 1), rel=0.05)


def test_rare_values_are_no_outliers():
    X = np.zeros((200, 1))
    X[:3] = 1.0
    np.testing.assert_allclose(standardise(X), (X - X.mean()) / X.std())


# As compiled loops want them


def test_features_are_standardised_but_for_outliers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 60, 3)) + 3 * rng.integers(2, size=(4, 60, 1))
    X[0, 3, 1], X[1, :, 0], X[2, 5:, 2] = 1e4, 2.5, 7.0
    given = X.astype(np.float32)
    found, _ = prepare_tables(given, True, False)
    np.testing.assert_allclose(found, standardise(X), rtol=1e-4, atol=1e-5)
    assert not found[1, :, 0].any()
    assert np.array_equal(given, X.astype(np.float32))  # what was given is left as it was
    assert np.array_equal(prepare_tables(given, False, False)[0], given)


@pytest.mark.parametrize("standardised", [False, True])
def test_prepared_tables_are_contiguous(standardised):
    turned = np.asfortranarray(tables(3).astype(np.float32))
    found, _ = prepare_tables(turned, standardised, False)
    assert found.flags.c_contiguous
    again, _ = prepare_tables(np.ascontiguousarray(turned), standardised, False)
    np.testing.assert_array_equal(found, again)


def test_features_are_compared_together_or_each_that_varies():
    X = np.ones((2, 5, 3))
    X[0, 0, [0, 2]] = 4.0
    assert feature_sets(X, False) == [[slice(None)]] * 2
    assert feature_sets(X, True) == [[slice(0, 1), slice(2, 3)], []]
    for per_feature in (False, True):
        assert prepare_tables(X, False, per_feature)[1] == feature_sets(X, per_feature)


@pytest.mark.parametrize("make", [np.asarray, sparse.csc_array])
def test_distances_of_root_shares_are_hellingers(make):
    X = np.random.default_rng(0).poisson(1.0, size=(6, 40)).astype(float)
    shares = X / X.sum(axis=1, keepdims=True)
    expected = np.sqrt(2 - 2 * np.sqrt(shares[0] * shares[1]).sum())
    for found in (root_shares(X), root_shares(X[None])[0], root_shares(WideTable(make(X))).to_dense()):
        assert np.linalg.norm(found[0] - found[1]) == pytest.approx(expected)
        np.testing.assert_allclose(root_shares(7 * X), root_shares(X))  # long texts and short ones are alike


def test_negative_numbers_are_no_shares():
    with pytest.raises(ValueError, match="negative numbers, which are no shares"):
        root_shares(np.array([[1.0, -1.0]]))
