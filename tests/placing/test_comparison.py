"""Features of a view as coordinates, for the samples of a fit and for new ones."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

from latentsimplex.base.wide_table import WideTable
from latentsimplex.placing.comparison import (
    FARTHEST,
    MOST_COORDINATES,
    Way,
    find_way,
    learn_alike,
    learn_comparison,
)
from latentsimplex.similarity import AutoDiffusion, Diffusion, LocalScaling
from latentsimplex.similarity.distances import standardise

AS_THEY_ARE, STANDARDISED = Way(False, False, False), Way(True, False, False)
CUT, DIRECTION = Way(True, True, False), Way(False, False, True)
SHARES = Way(False, False, False, as_shares=True)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(50, 4)) * [1, 10, 0.1, 0] + [0, 5, 1e4, 3]


@pytest.mark.parametrize(
    ("kernel", "way"),
    [
        (AutoDiffusion("local", ((3, "standardised"),)), STANDARDISED),
        (AutoDiffusion("local", ((3, "as they are"),)), AS_THEY_ARE),
        (AutoDiffusion("local", ((3, "one by one"),)), CUT),
        (AutoDiffusion("local", ((3, "as shares"),)), SHARES),
        (LocalScaling(metric="cosine"), DIRECTION),
        (Diffusion(standardise=False), AS_THEY_ARE),
        (LocalScaling(per_feature=True), CUT),
        (np.corrcoef, STANDARDISED),
    ],
)
def test_features_are_compared_as_the_fit_compared_them(kernel, way):
    assert find_way(kernel, 3) == way


@pytest.mark.parametrize("way", [AS_THEY_ARE, STANDARDISED, CUT, DIRECTION, SHARES])
def test_samples_of_the_fit_come_out_where_they_were(table, way):
    table = np.abs(table)  # shares are not negative
    rows = np.arange(0, 50, 2)
    learnt, Z = learn_comparison(table, way, rows)
    np.testing.assert_allclose(learnt.place(table[rows]), Z, rtol=1e-6)
    np.testing.assert_allclose(learnt.place(sparse.csr_array(table[rows])), Z, rtol=1e-6)
    assert np.square(pdist(Z.astype(float))).mean() == pytest.approx(2, rel=0.05)


def test_standardised_coordinates_are_those_of_fits_up_to_their_scale(table):
    _, Z = learn_comparison(table, STANDARDISED, np.arange(50))
    expected = standardise(table)
    np.testing.assert_allclose(Z / np.linalg.norm(Z), expected / np.linalg.norm(expected), atol=1e-5)


def test_cut_features_bound_what_one_of_them_can_do(table):
    learnt, Z = learn_comparison(table, CUT, np.arange(50))
    wild = table[:1] * [1, 1, 1e6, 1]
    assert np.abs(learnt.place(wild)).max() < 5 * np.abs(Z).max()
    assert np.abs(learn_comparison(table, STANDARDISED, np.arange(50))[0].place(wild)).max() <= FARTHEST


@pytest.mark.parametrize("form", [np.asarray, WideTable, lambda X: WideTable(sparse.csc_array(X))])
@pytest.mark.parametrize("way", [AS_THEY_ARE, STANDARDISED, DIRECTION, SHARES])
def test_many_features_become_principal_coordinates(form, way):
    rng = np.random.default_rng(1)
    X = np.where(rng.random((40, 400)) < 0.3, rng.normal(size=(40, 400)), 0.0)
    X = np.abs(X) if way == SHARES else X
    learnt, Z = learn_comparison(form(X), way, np.arange(40))
    assert Z.shape[1] == 39 < MOST_COORDINATES
    np.testing.assert_allclose(learnt.place(X), Z, atol=1e-4)
    if way == AS_THEY_ARE:  # as many axes as samples keep all distances
        np.testing.assert_allclose(pdist(Z), pdist(X) * (pdist(Z)[0] / pdist(X)[0]), rtol=1e-3)


def test_missing_cells_stay_missing(table):
    table[3, 1] = np.nan
    learnt, Z = learn_comparison(table, STANDARDISED, np.arange(50))
    assert np.isnan(Z).sum() == 1
    assert np.isnan(learnt.place(table)).sum() == 1


def test_a_constant_feature_says_nothing(table):
    learnt, Z = learn_comparison(table, AS_THEY_ARE, np.arange(50))
    other = table[:1].copy()
    other[0, 3] = 1e9
    np.testing.assert_array_equal(learnt.place(other), Z[:1])


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("way", [AS_THEY_ARE, STANDARDISED, CUT])
def test_narrow_views_are_learnt_at_once_as_one_by_one(table, p, way):
    rows, table = np.arange(0, 50, 3), table[:, : 2 * (table.shape[1] // 2)]
    found = list(learn_alike(table, p, way, rows))
    assert len(found) == table.shape[1] // p
    for v, (learnt, Z) in enumerate(found):
        own = table[:, v * p : (v + 1) * p]
        alone, coordinates = learn_comparison(own, way, rows)
        np.testing.assert_allclose(Z, coordinates, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(learnt.place(own), alone.place(own), rtol=1e-5, atol=1e-6)
