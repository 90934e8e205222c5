"""Samples with missing cells are compared on the features that both have."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import nan_euclidean_distances

from latentsimplex.base.arrays import has_missing
from latentsimplex.base.wide_table import find_varying
from latentsimplex.similarity import AutoDiffusion, Diffusion, LocalScaling
from latentsimplex.similarity.distances import (
    euclidean_distances,
    mean_and_scale,
    shared_feature_distances,
    standardise,
)
from latentsimplex.similarity.kernel import read_exponents

KERNELS = [
    Diffusion(),
    Diffusion(per_feature=True, standardise=False),
    LocalScaling(),
    LocalScaling(standardise=True, power=2.0),
    LocalScaling(per_feature=True),
    AutoDiffusion("broad", ((6, "one by one"),)),
]


def two_groups(share=0.2, n=60, p=6, seed=0):
    """Return two groups of samples far apart, whole and with a share of the cells missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[n // 2 :] += 4
    return X, np.where(rng.random(X.shape) < share, np.nan, X)


def test_distances_are_those_of_scikit_learn_where_features_are_shared():
    _, X = two_groups()
    expected = nan_euclidean_distances(X)
    known = ~np.isnan(expected)
    np.testing.assert_allclose(shared_feature_distances(X)[known], expected[known], atol=1e-10)
    assert np.array_equal(euclidean_distances(X), shared_feature_distances(X))
    stacked = np.stack([X, X[::-1]])
    np.testing.assert_allclose(euclidean_distances(stacked)[1], shared_feature_distances(X[::-1]))


def test_samples_that_share_nothing_are_as_far_apart_as_others_on_average():
    X = np.array([[0.0, np.nan], [np.nan, 1.0], [3.0, 5.0]])
    D = shared_feature_distances(X)
    assert D[0, 2] == pytest.approx(np.sqrt(18))
    assert D[0, 1] ** 2 == pytest.approx((D[0, 2] ** 2 + D[1, 2] ** 2) / 2)
    assert np.array_equal(D, D.T)
    assert not D.diagonal().any()


def test_where_no_two_samples_share_a_feature_all_coincide():
    assert not shared_feature_distances(np.array([[1.0, np.nan], [np.nan, 2.0]])).any()


def test_missing_cells_do_not_count_for_mean_and_scale():
    X, holey = two_groups()
    mean, scale = mean_and_scale(holey)
    for j in range(X.shape[1]):
        own = holey[~np.isnan(holey[:, j]), j][:, None]
        assert (mean[0, j], scale[0, j]) == tuple(np.ravel(mean_and_scale(own)))
    found = standardise(holey)
    assert np.array_equal(np.isnan(found), np.isnan(holey))
    np.testing.assert_allclose(np.nanmean(found, axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(standardise(np.stack([holey, holey]))[1], found)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_similarities_with_a_few_cells_missing_are_near_those_without(kernel):
    X, holey = two_groups(0.02)
    r = read_exponents(kernel, np.stack([X, holey]), str)
    whole, found = np.exp(-r)
    assert np.isfinite(r).all()
    assert np.corrcoef(whole, found)[0, 1] > 0.95


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_view_that_is_constant_where_it_is_known_has_no_similarities(kernel):
    X = np.full((20, 6), 3.0)
    X[[1, 4], [0, 2]] = np.nan
    assert not read_exponents(kernel, X[None], str).any()


def test_features_vary_by_what_is_known_of_them():
    X = np.array([[1.0, 2.0, np.nan], [1.0, np.nan, np.nan], [np.nan, 3.0, np.nan]])
    assert find_varying(X).tolist() == [False, True, False]
    assert has_missing(X)
    assert not has_missing(X[:, :1][:2])
