"""Searches that keep the clusters that are believed, and no others."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import load_leukaemia

N = 90


def draw_table(seed=0, n_factors=2, p=80):
    """Columns that follow factors."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, n_factors)) @ rng.normal(size=(n_factors, p)) + rng.normal(size=(N, p))


def fit(X, *bounds, **settings):
    settings = {"views": "columns", "n_init": 1, "random_state": 0, "n_jobs": 1, **settings}
    return LatentSimplexPosition(*bounds, **settings).fit(X)


@pytest.mark.parametrize("seed", range(3))
def test_columns_that_rise_and_fall_together_have_no_clusters(seed):
    assert fit(draw_table(seed)).n_clusters_.tolist() == [1]


def test_clusters_are_kept_beside_columns_that_follow_factors():
    truth = np.arange(N) % 3
    X = draw_table()
    rng = np.random.default_rng(1)
    X[:, :30] = 2.5 * rng.normal(size=(3, 30))[truth] + rng.normal(size=(N, 30))
    model = fit(X)
    best = model.n_clusters_.argmax()
    assert model.n_clusters_[best] == 3
    assert adjusted_rand_score(truth, model.pattern_labels_[best]) > 0.95
    assert (model.n_clusters_[model.view_patterns_] > 1)[:30].sum() >= 20
    assert (model.n_clusters_[model.view_patterns_[30:]] == 1).all()


def test_as_many_clusters_as_are_asked_for_whatever_is_believed():
    with pytest.warns(UserWarning, match="no evidence for clusters"):
        model = fit(draw_table(), 3, min_clusters=3)
    assert set(model.n_clusters_.tolist()) == {3}


def test_b_and_t_cells_are_told_apart_and_genes_are_not_cut_into_dozens():
    data = load_leukaemia()
    model = fit(data.expression, n_init=3)
    cells = np.array([str(name)[0] for name in data.covariates["BT"]])
    assert model.n_clusters_.max() <= 3
    assert max(adjusted_rand_score(cells, labels) for labels in model.pattern_labels_) > 0.9
