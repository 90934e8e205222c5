"""Clouds that share factors as views do, and the clusters that are believed beyond them."""

import numpy as np
import pytest
from scipy.stats import skew

from latentsimplex.auto.shared_factors import (
    MOST_FEATURES,
    batch_alike,
    count_believed_clusters,
    count_factors,
    find_factors,
    measure_factors,
    order_feature,
    pool_similarities,
    standardise_clipped,
    take_part,
)
from latentsimplex.base.partial_table import PartialTable
from latentsimplex.base.threads import Workers
from latentsimplex.base.wide_table import WideTable
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.similarity.auto_diffusion import AutoDiffusion

FORWARD = DIVERGENCES["forward"]
BROAD = AutoDiffusion("broad", ((1, "as they are"),))
N = 90


def draw_columns(n_factors=2, p=60, n=N, seed=0, clusters=None, scale=1.0):
    """Columns (n, p) that follow factors, with a shift of each cluster if there are some."""
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(n, n_factors)) @ rng.normal(size=(n_factors, p)) + rng.normal(size=(n, p))
    if clusters is not None:
        X += 1.5 * rng.normal(size=(clusters.max() + 1, p))[clusters]
    return X


def split(X):
    return [X[:, [j]] for j in range(X.shape[1])]


def count(tables, most, kernel=BROAD):
    with Workers(1) as workers:
        views = [range(len(tables))]
        return count_believed_clusters(lambda v: tables[v], views, [most], kernel, FORWARD, workers)[0]


def test_missing_cells_are_0_and_do_not_move_others():
    X = draw_columns(p=3)
    features = standardise_clipped(np.vstack([X, np.full((5, 3), np.nan)]))
    assert (features[-5:] == 0).all()
    np.testing.assert_allclose(features[:-5], standardise_clipped(X))


def test_an_outlier_does_not_squeeze_the_others():
    X = draw_columns(p=3)
    wild = X.copy()
    wild[0] = 1e6
    assert np.corrcoef(standardise_clipped(wild)[1:, 0], standardise_clipped(X)[1:, 0])[0, 1] > 0.999
    assert standardise_clipped(wild)[1:].std() > 0.8


@pytest.mark.parametrize("n_factors", [1, 2, 4])
def test_as_many_factors_as_columns_follow(n_factors):
    scores = standardise_clipped(draw_columns(n_factors, p=200, n=200))
    assert count_factors(scores, np.random.default_rng(1)) == n_factors


def test_factors_are_found_along_their_own_axes():
    rng = np.random.default_rng(0)
    factors = np.sign(rng.normal(size=(400, 2))) * rng.exponential(size=(400, 2))
    features = standardise_clipped(factors @ rng.normal(size=(2, 80)) + 0.3 * rng.normal(size=(400, 80)))
    found = find_factors(features, 2)[1]
    fits = np.abs(np.corrcoef(found.T, factors.T)[:2, 2:])
    assert fits.max(axis=1).min() > 0.97
    np.testing.assert_allclose(found.T @ found / 400, np.eye(2), atol=1e-9)


def test_a_cloud_has_the_correlations_and_the_features_of_the_views():
    rng = np.random.default_rng(3)
    X = draw_columns(2, p=40, n=300)
    X[:, 0] = np.exp(X[:, 0])
    X[:, 1] = rng.poisson(2, 300)
    cloud = np.hstack(measure_factors(split(X)).draw(rng))
    assert np.abs(np.corrcoef(cloud[:, 2:].T) - np.corrcoef(X[:, 2:].T)).mean() < 0.1
    assert skew(cloud[:, 0]) > 1
    assert set(cloud[:, 1]) <= set(X[:, 1])
    np.testing.assert_allclose(np.median(cloud, axis=0), np.median(X, axis=0), atol=0.6)


def test_a_cloud_has_the_views_and_the_missing_cells_of_the_data():
    X = draw_columns(p=6)
    X[:7, 2:5] = np.nan
    X[:, 5] = np.nan
    tables = [X[:, :2], X[:, 2:5], X[:, 5:]]
    cloud = measure_factors(tables).draw(np.random.default_rng(0))
    for drawn, given in zip(cloud, tables, strict=True):
        np.testing.assert_array_equal(np.isnan(drawn), np.isnan(given))


@pytest.mark.parametrize("shape", [np.tanh, np.exp, np.asarray])
def test_columns_that_follow_factors_have_no_clusters(shape):
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        factors = shape(rng.normal(size=(N, 2)))
        found.append(count(split(factors @ rng.normal(size=(2, 60)) + rng.normal(size=(N, 60))), 6))
    assert sorted(found)[:4] == [1, 1, 1, 1]


@pytest.mark.parametrize("k", [2, 3, 5])
def test_clusters_are_believed_beside_a_factor(k):
    X = draw_columns(1, clusters=np.arange(N) % k)
    assert count(split(X), k) == k


def test_no_more_clusters_than_there_are():
    X = draw_columns(1, clusters=np.arange(N) % 3, scale=0.3)
    assert count(split(X), 8) == 3


def test_clusters_are_believed_where_samples_are_absent_and_cells_are_missing():
    truth = np.arange(N) % 3
    X = draw_columns(1, clusters=truth)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    X[:, 5] = 0.0
    tables = split(np.where(np.isnan(X), np.nan, X))
    tables = [column[~np.isnan(column[:, 0])] for column in tables]
    there = [np.flatnonzero(~np.isnan(X[:, j])) for j in range(X.shape[1])]
    partial = [PartialTable(values, rows, N) for values, rows in zip(tables, there, strict=True)]
    assert count(partial, 3) == 3


def list_present(how, p, rng):
    """Return which samples each of p columns has."""
    if how == "halves":
        return [np.arange(N // 2) + (N // 2) * (j % 2) for j in range(p)]
    alike = how == "the same fifth absent"
    some = [np.sort(rng.permutation(N)[: 4 * N // 5]) for _ in range(1 if alike else p)]
    return some * p if alike else some


@pytest.mark.parametrize("n_factors", [0, 1, 2])
@pytest.mark.parametrize("how", ["any fifth absent", "the same fifth absent", "halves"])
def test_no_clusters_are_believed_because_samples_are_absent(how, n_factors):
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = draw_columns(n_factors, p=40, seed=seed)
        present = list_present(how, 40, rng)
        found.append(count([PartialTable(X[own, [j]][:, None], own, N) for j, own in enumerate(present)], 3))
    assert sorted(found)[:4] == [1, 1, 1, 1]


def test_a_part_of_a_table_is_the_same_however_it_is_held():
    X = np.random.default_rng(0).normal(size=(20, 3 * MOST_FEATURES))
    samples = np.array([0, 3, 7])
    part = take_part(X, samples)
    assert part.shape == (3, MOST_FEATURES)
    np.testing.assert_array_equal(take_part(WideTable(X), samples), part)
    partial = take_part(PartialTable(X[:5], np.arange(5), 20), samples)
    np.testing.assert_array_equal(partial[:2], part[:2])
    assert np.isnan(partial[2]).all()


def test_pairs_that_no_view_has_are_as_similar_as_others_are():
    X = draw_columns(p=2)
    X[: N // 2, 0] = X[N // 2 :, 1] = np.nan
    S = pool_similarities([split(X)], [[1, 1]], BROAD, FORWARD)[0]
    unseen = S[: N // 2, N // 2 :]
    assert np.ptp(unseen) == 0
    assert np.isclose(
        unseen[0, 0], np.concatenate([S[: N // 2, : N // 2], S[N // 2 :, N // 2 :]]).mean(), rtol=0.05
    )


@pytest.mark.parametrize("device", [None, "cpu"])
def test_draws_are_pooled_by_themselves_wherever_they_are_read(device):
    if device is not None:
        pytest.importorskip("torch")
    draws = [split(draw_columns(p=4, seed=seed)) for seed in range(3)]
    draws[1][2] = np.zeros((N, 1))  # which says nothing
    for X in draws:
        X[3][:10] = np.nan
    together = pool_similarities(draws, [[1] * 4] * len(draws), BROAD, FORWARD, device)
    for X, S in zip(draws, together, strict=True):
        np.testing.assert_allclose(S, pool_similarities([X], [[1] * 4], BROAD, FORWARD)[0], atol=1e-5)


def test_views_are_batched_by_the_samples_that_they_have():
    X, absent = np.arange(12.0).reshape(6, 2), np.ones((6, 2))
    absent[4:] = np.nan
    lacking = np.where(np.isnan(absent), np.nan, X)
    members = [(0, X), (0, lacking), (1, X + 1), (1, np.ones((6, 2))), (2, lacking), (2, X)]
    found = [(draws.tolist(), tables.shape, rows.tolist()) for draws, tables, rows in batch_alike(members, 2)]
    assert sorted(found) == [
        ([0, 1], (2, 6, 2), list(range(6))),
        ([0, 2], (2, 4, 2), list(range(4))),
        ([2], (1, 6, 2), list(range(6))),
    ]


def test_a_feature_in_order_is_one_humped_and_discrete_where_it_was():
    rng = np.random.default_rng(0)
    two_humped = np.concatenate([rng.normal(-4, 1, 100), rng.normal(4, 1, 100)])
    ordered = order_feature(two_humped, 300)
    assert len(ordered) == 300
    assert (np.diff(ordered) >= 0).all()
    middle = (abs(ordered) < 1).mean()
    assert middle > 2 * (abs(two_humped) < 1).mean()
    levels = order_feature(np.round(two_humped / 2), 50)
    assert set(levels) <= set(np.round(two_humped / 2))
