"""Clouds without clusters: the shape of the features, one hump, and the dimension of the data."""

import numpy as np
import pytest

from latentsimplex.auto.unimodal_clouds import (
    RANKS,
    leading_coordinates,
    measure_cloud_shape,
    measure_local_dimension,
    one_humped_quantiles,
)


@pytest.mark.parametrize("p", [1, 2, 5])
def test_the_local_dimension_is_that_of_the_data(p):
    X = np.random.default_rng(0).normal(size=(1000, p)) @ np.eye(p, 8)
    assert measure_local_dimension(X) == pytest.approx(p, rel=0.2)


def test_a_one_humped_feature_keeps_its_distribution():
    x = np.random.default_rng(0).exponential(size=4000)
    np.testing.assert_allclose(one_humped_quantiles(x)[50:-50], np.quantile(x, RANKS)[50:-50], rtol=0.15)


def test_two_humps_become_one():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(-6, 1, 2000), rng.normal(6, 1, 2000)])
    drawn = np.interp(rng.random(4000), RANKS, one_humped_quantiles(x))
    assert np.mean(np.abs(x) < 3) < 0.01 < 0.2 < np.mean(np.abs(drawn) < 3)


def test_clouds_have_the_covariance_of_the_features_and_the_views_of_the_data():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(2000, 1))
    tables = [shared + 0.3 * rng.normal(size=(2000, 2)), -shared]
    first, second = measure_cloud_shape(tables).draw(4000, np.random.default_rng(1))
    assert (first.shape, second.shape) == ((4000, 2), (4000, 1))
    assert np.corrcoef(first[:, 0], second[:, 0])[0, 1] < -0.8


def test_discrete_features_have_discrete_clouds():
    X = np.random.default_rng(0).poisson(3.0, size=(500, 2)).astype(float)
    (cloud,) = measure_cloud_shape([X]).draw(300, np.random.default_rng(1))
    assert set(np.unique(cloud)) <= set(np.unique(X))


def test_many_features_are_taken_by_their_leading_coordinates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 200)) + 0.01 * rng.normal(size=(300, 200))
    shape = measure_cloud_shape([X])
    assert shape.local_dimension < 5
    (cloud,) = shape.draw(300, rng)
    distances = [np.linalg.norm(Z[:150] - Z[150:], axis=1).mean() for Z in (X, cloud)]
    assert distances[1] == pytest.approx(distances[0], rel=0.15)


@pytest.mark.parametrize("shape", [(40, 90), (90, 40)])
def test_leading_coordinates_are_those_of_the_singular_value_decomposition(shape):
    Z = np.random.default_rng(0).normal(size=shape) * np.geomspace(1, 30, shape[1])
    U, lengths, _ = np.linalg.svd(Z, full_matrices=False)
    found = leading_coordinates(Z, 5)
    np.testing.assert_allclose(np.abs(found), np.abs(U * lengths)[:, :5], atol=1e-9)
    assert ((found**3).sum(axis=0) >= 0).all()
