"""Clouds without clusters: the covariance of a view, and values arranged as those of a cloud."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import rbf_kernel

from latentsimplex.auto.gaussian_clouds import (
    N_CLOUDS,
    SEED,
    draw_cloud,
    draw_clouds,
    measure_shape,
    rearrange_exponents,
)
from latentsimplex.base.condensed import count_pairs
from latentsimplex.similarity import FunctionKernel, LocalScaling, Precomputed


def rng(seed=0):
    return np.random.default_rng(seed)


def view(n=60, p=2, seed=0):
    """Return samples whose features are of different scales, and correlated."""
    X = rng(seed).normal(size=(n, p))
    X[:, -1] += 2 * X[:, 0]
    return 10.0 ** np.arange(p) * X + 5


def test_a_cloud_of_two_features_has_their_covariance():
    X = view(200)
    Y = draw_cloud(measure_shape(X), 40_000, rng(1))
    assert (np.abs(Y.mean(axis=0) - X.mean(axis=0)) < 0.02 * X.std(axis=0)).all()
    np.testing.assert_allclose(np.cov(Y.T), np.cov(X.T), rtol=0.03)


def test_a_cloud_of_one_feature_has_its_variance():
    X = view(100, 1)
    Y = draw_cloud(measure_shape(X), 40_000, rng(1))
    assert Y.shape == (40_000, 1)
    assert Y.std() == pytest.approx(X.std(), rel=0.02)


def test_a_cloud_of_many_features_has_their_two_leading_directions():
    """They are the eigenvectors of the correlations, so that units of measurement do not matter."""
    X = view(300, 4)
    Y = draw_cloud(measure_shape(X), 40_000, rng(1))
    values, vectors = np.linalg.eigh(np.corrcoef(X.T))
    leading = vectors[:, -2:] * values[-2:] @ vectors[:, -2:].T
    scales = X.std(axis=0)
    np.testing.assert_allclose(np.cov(Y.T) / np.outer(scales, scales), leading, atol=0.03)
    assert np.linalg.matrix_rank(Y - Y.mean(axis=0), tol=1e-6 * np.abs(Y).max()) == 2


@pytest.mark.parametrize(("n", "p"), [(5, 30), (3, 3), (2, 1), (2, 7), (40, 1), (40, 2)])
def test_a_cloud_of_any_shape(n, p):
    Y = draw_cloud(measure_shape(view(n, p)), 50, rng())
    assert Y.shape == (50, p)
    assert np.isfinite(Y).all()
    assert np.linalg.matrix_rank(Y - Y.mean(axis=0), tol=1e-9 * np.abs(Y).max()) <= 2


def test_a_cloud_goes_with_units_and_place():
    X = view(50, 3)
    scale, place = np.array([3.0, 0.01, 700.0]), np.array([1.0, -50.0, 0.0])
    np.testing.assert_allclose(
        draw_cloud(measure_shape(scale * X + place), 20, rng()),
        scale * draw_cloud(measure_shape(X), 20, rng()) + place,
        rtol=1e-9,
        atol=1e-9,
    )


@pytest.mark.parametrize("constant", [7.0, 0.1])
def test_a_constant_feature_is_constant_in_the_cloud(constant):
    """And takes none of its two directions, its mean having been rounded or not."""
    X = np.column_stack([view(50, 2), np.full(50, constant)])
    Y = draw_cloud(measure_shape(X), 20, rng())
    np.testing.assert_allclose(Y[:, 2], constant, rtol=1e-14)
    np.testing.assert_allclose(Y[:, :2], draw_cloud(measure_shape(X[:, :2]), 20, rng()), rtol=1e-9)


def test_clouds_are_always_the_same_and_differ_from_each_other():
    shape = measure_shape(view(50))
    first, again = draw_clouds(shape, 30), draw_clouds(shape, 30)
    assert len(first) == N_CLOUDS
    assert np.array_equal(first, again)
    assert len({cloud.tobytes() for cloud in first}) == N_CLOUDS
    expected = [draw_cloud(shape, 30, generator) for generator in np.random.default_rng(SEED).spawn(N_CLOUDS)]
    assert np.array_equal(first, expected)


def test_a_shape_is_a_mean_and_two_directions_as_long_as_the_spread_along_them():
    X = view(300, 3)
    shape = measure_shape(X)
    np.testing.assert_allclose(shape.mean, X.mean(axis=0), rtol=0.01)
    assert shape.directions.shape == (2, 3)
    assert measure_shape(view(30, 1)).directions.shape == (1, 1)


@pytest.mark.parametrize("wild", [1e3, 1e9])
def test_an_outlier_does_not_stretch_a_cloud(wild):
    X = view(200)
    expected = measure_shape(X)
    X[0, 0] = wild
    found = measure_shape(X)
    np.testing.assert_allclose(
        abs(found.directions).max(axis=0), abs(expected.directions).max(axis=0), rtol=0.15
    )


# Values of kernels that read no clouds


class Recorded:
    """A kernel of the user's own, which remembers what it was given."""

    def __init__(self):
        self.given = []

    def exponents(self, X):
        self.given.append(X)
        return pdist(X)


def rearranged(X, kernel, n):
    """Return the exponents of a kernel that reads no clouds, and the distances that they are arranged by."""
    found = rearrange_exponents(X, kernel, n)[0]
    generator = np.random.default_rng(SEED).spawn(1)[0]
    generator.permutation(len(X))
    return found, pdist(generator.normal(size=(n, 2)))


@pytest.mark.parametrize(
    "kernel",
    [Recorded(), FunctionKernel(lambda X: rbf_kernel(X, gamma=0.01)), LocalScaling(metric="cityblock")],
    ids=["object", "function", "metric"],
)
def test_values_of_other_kernels_are_arranged_as_a_cloud_would_have_them(kernel):
    X = view(40)
    found, distances = rearranged(X, kernel, 40)
    np.testing.assert_allclose(np.sort(found), np.sort(kernel.exponents(X)), rtol=1e-12)
    # the nearest two samples of the cloud are the most similar, and so on
    assert (np.diff(found[np.argsort(distances)]) >= 0).all()


def test_precomputed_similarities_are_rearranged_too():
    S = rbf_kernel(view(40) / 30)
    found, distances = rearranged(S, Precomputed(), 40)
    np.testing.assert_allclose(np.sort(np.exp(-found)), np.sort(S[np.triu_indices(40, 1)]), rtol=1e-12)
    assert (np.diff(found[np.argsort(distances)]) >= 0).all()


def test_some_samples_stand_for_all():
    kernel, X = Recorded(), view(40)
    found, _ = rearranged(X, kernel, 15)
    assert found.shape == (count_pairs(15),)
    assert np.isin(found, pdist(X)).all()


def test_each_cloud_has_an_arrangement_of_its_own():
    found = rearrange_exponents(view(40), LocalScaling(metric="cityblock"), 40)
    assert len(found) == N_CLOUDS
    assert len({one.tobytes() for one in found}) == N_CLOUDS
    for one in found[1:]:
        np.testing.assert_array_equal(np.sort(one), np.sort(found[0]))
