"""Leading coordinates of large tables: all distances where so many coordinates have them, else most of the variance."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

from latentsimplex.base import wide_table
from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.wide_table import WideTable
from latentsimplex.similarity import leading_coordinates, wide_tables
from latentsimplex.similarity.distances import root_shares, standardise
from latentsimplex.similarity.leading_coordinates import find_leading_coordinates

FORMS = [np.array, np.float32, sparse.csc_array, sparse.csr_matrix]
EXPECTED = {"as they are": np.array, "standardised": standardise, "as shares": root_shares}


@pytest.fixture(params=[(60, 30), (30, 60)], ids=["more samples", "more features"])
def X(request):
    """A table of counts: full features, thin ones, one that is constant and one of zeros."""
    rng = np.random.default_rng(0)
    table = rng.poisson(0.1, size=request.param).astype(float)
    table[:, :10] = rng.poisson(3.0, size=(len(table), 10)) + 1
    table[:, 10], table[:, 11] = 2.0, 0.0
    return table


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    for module in (wide_table, leading_coordinates):
        monkeypatch.setattr(module, "PART_ENTRIES", 200)


@pytest.mark.parametrize("form", FORMS, ids=["double", "single", "by column", "by row"])
@pytest.mark.parametrize("comparison", EXPECTED)
def test_distances_are_those_of_compared_features(X, form, comparison):
    held = form(X)
    held = held.tocsc() if sparse.issparse(held) else held
    ratios = pdist(find_leading_coordinates(WideTable(held), comparison)) / pdist(EXPECTED[comparison](X))
    np.testing.assert_allclose(ratios, ratios.mean(), rtol=1e-5)  # of whatever unit


@pytest.mark.parametrize("form", [np.array, sparse.csc_array])
def test_few_coordinates_have_most_of_the_variance_that_they_can(X, form, monkeypatch):
    monkeypatch.setattr(leading_coordinates, "MANY_FEATURES", 5)
    monkeypatch.setattr(leading_coordinates, "FURTHER", 4)
    Z = find_leading_coordinates(WideTable(form(X)), "standardised")
    F = standardise(X)
    most = np.square(np.linalg.svd(F - F.mean(axis=0), compute_uv=False)[:5]).sum()
    assert Z.shape == (len(X), 5)
    assert 0.97 * most < np.square(Z - Z.mean(axis=0)).sum() <= most * (1 + 1e-9)


@pytest.mark.parametrize("shape", [(20, 10), (10, 20)])
@pytest.mark.parametrize("comparison", EXPECTED)
def test_samples_that_are_alike_have_one_coordinate(shape, comparison):
    Z = find_leading_coordinates(WideTable(np.full(shape, 3.0)), comparison)
    assert Z.shape[0] == shape[0]
    np.testing.assert_allclose(Z, Z[:1].repeat(len(Z), axis=0), atol=1e-7)


def test_scales_of_very_many_samples_are_those_of_some(monkeypatch):
    monkeypatch.setattr(wide_tables, "MEASURED", 1000)
    X = np.random.default_rng(0).normal(size=(4000, 6)) * [1.0, 2.0, 3.0, 4.0, 5.0, 0.0]
    odd = np.setdiff1d(np.arange(4000), sample_rows(4000, 1000))[0]
    X[odd, 5] = 1.0
    spread = wide_tables.measure_features(WideTable(X))[1]
    np.testing.assert_allclose(spread[:5], [1, 2, 3, 4, 5], rtol=0.1)
    assert spread[5] == 0
