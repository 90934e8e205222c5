"""Dependence between columns, and how much of it there is by chance."""

import numpy as np
import pytest

from latentsimplex.columns.dependence import (
    chance_of,
    dependence_at,
    make_polynomials,
    measure_dependence,
    normal_scores,
    strongest_dependence,
)


def dependence(X):
    columns = np.arange(X.shape[1])
    return measure_dependence(make_polynomials(normal_scores(X)), columns, columns)


def test_units_outliers_and_monotone_changes_do_not_matter():
    X = np.random.default_rng(0).normal(size=(100, 3))
    assert dependence(np.exp(3 * X)) == pytest.approx(dependence(X), rel=1e-4)


def test_dependence_is_the_sum_of_weighted_squared_correlations():
    X = np.random.default_rng(1).normal(size=(80, 2))
    h = make_polynomials(normal_scores(X)).astype(float)
    correlations = [[np.corrcoef(h[a, :, 0], h[b, :, 1])[0, 1] for b in range(3)] for a in range(3)]
    expected = 80 * sum(0.5 ** (a + b) * correlations[a][b] ** 2 for a in range(3) for b in range(3))
    assert dependence(X)[0, 1] == pytest.approx(expected, rel=1e-4)


def test_clusters_without_correlation_are_dependence():
    """Three clusters at the corners of a triangle."""
    rng = np.random.default_rng(2)
    corner = np.array([[2, -1], [-2, -1], [0, 2]])[np.arange(300) % 3]
    X = corner + 0.6 * rng.normal(size=(300, 2))
    assert abs(np.corrcoef(X.T)[0, 1]) < 0.1
    assert chance_of(dependence(X)[0, 1]) < 1e-4


def test_chance_is_right_for_independent_columns():
    S = dependence(np.random.default_rng(3).normal(size=(300, 150)))
    pairs = S[np.triu_indices(150, 1)]
    for chance in (0.01, 0.001):
        share = (pairs > dependence_at(chance)).mean()
        assert chance / 2 < share < 2 * chance


def test_blocks_find_the_strongest_partner(monkeypatch):
    X = np.random.default_rng(4).normal(size=(50, 9))
    h = make_polynomials(normal_scores(X))
    S = dependence(X)
    np.fill_diagonal(S, 0)
    monkeypatch.setattr("latentsimplex.columns.dependence.BLOCK_ENTRIES", 20)
    assert strongest_dependence(h) == pytest.approx(S.max(axis=1), rel=1e-4)


def test_missing_cells_and_constant_columns_say_nothing():
    X = np.random.default_rng(5).normal(size=(60, 3))
    X[:, 2] = 1.0
    X[:5, 0] = np.nan
    scores = normal_scores(X)
    assert np.isnan(scores[:5, 0]).all()
    assert (scores[:, 2] == 0).all()
    S = dependence(X)
    assert np.isfinite(S).all()
    assert (S[2] == 0).all()
