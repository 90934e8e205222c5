"""What clusters explain of columns."""

import numpy as np
import pytest

from latentsimplex.columns.column_gains import describe_columns, explain, measure_gains, measure_rarity
from latentsimplex.columns.dependence import normal_scores


@pytest.fixture
def clustered():
    """Four columns of two clusters, then four of noise, and the clusters."""
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 2
    X = rng.normal(size=(200, 8))
    X[:, :4] += 2.5 * labels[:, None]
    return normal_scores(X), labels


def test_columns_of_the_view_gain_and_noise_does_not(clustered):
    scores, labels = clustered
    gains = measure_gains(scores, measure_rarity(scores), np.arange(4), labels)
    assert (gains[:4] > 20).all()
    assert (gains[4:] < 0).all()


def test_a_column_outside_of_the_view_gains_by_its_clusters(clustered):
    scores, labels = clustered
    gains = measure_gains(scores, measure_rarity(scores), np.arange(3), labels)
    assert gains[3] > 20


def test_noise_among_the_columns_of_a_view_does_not_explain_itself():
    """Clusters cut along a column of noise are perfect for it, and for nothing else."""
    scores = normal_scores(np.random.default_rng(1).normal(size=(200, 5)))
    labels = (scores[:, 0] > 0).astype(int)
    assert explain(scores[:, :1], measure_rarity(scores[:, :1]), labels[:, None], 2)[0] > 50
    assert measure_gains(scores, measure_rarity(scores), np.arange(5), labels)[0] < 0


def test_the_gain_is_a_ratio_of_normal_likelihoods():
    rng = np.random.default_rng(2)
    scores, told = normal_scores(rng.normal(size=(50, 1))), rng.integers(0, 2, size=(50, 1))

    def log_likelihood(values, mean, variance):
        return (-0.5 * np.square(values - mean) / variance - 0.5 * np.log(2 * np.pi * variance)).sum()

    parts = [scores[told == k] for k in (0, 1)]
    pooled = sum(len(own) * own.var() for own in parts) / 50
    in_common, one_each = (
        sum(log_likelihood(own, own.mean(), each) for own, each in zip(parts, variances, strict=True))
        for variances in ([pooled] * 2, [own.var() for own in parts])
    )
    expected = max(in_common - np.log(50) / 2, one_each - np.log(50)) - log_likelihood(scores, 0, 1)
    assert explain(scores, measure_rarity(scores), told, 2)[0] == pytest.approx(expected)


def test_missing_cells_count_nowhere():
    scores = np.array([[1.0], [np.nan], [3.0], [5.0]])
    counts, means, _ = describe_columns(scores, measure_rarity(scores), np.array([[0], [0], [1], [1]]), 2)
    assert counts.tolist() == [[1, 2]]
    assert means.tolist() == [[1.0, 4.0]]


def test_constant_columns_never_gain(clustered):
    scores, labels = clustered
    scores = np.hstack([scores, normal_scores(np.full((200, 2), 3.0))])
    assert (measure_gains(scores, measure_rarity(scores), np.arange(4), labels)[8:] < 0).all()


@pytest.mark.parametrize("share", [0.005, 0.015, 0.05, 0.2])
def test_rare_values_without_clusters_do_not_gain(share):
    """Clusters in which a rare value is lacking by chance are told nothing by that."""
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(3), [100, 70, 30])
    X = np.hstack([rng.normal(size=(200, 4)) + 4 * labels[:, None], rng.random((200, 100)) < share])
    scores = normal_scores(X)
    gains = measure_gains(scores, measure_rarity(scores), np.arange(4), labels)
    assert (gains[4:] < 0).all()


def test_a_rare_value_that_a_cluster_has_gains():
    """No more than the entropy of the column."""
    rng = np.random.default_rng(4)
    labels = (np.arange(200) % 5 == 0).astype(int)
    X = np.hstack([rng.normal(size=(200, 3)) + 5 * labels[:, None], labels[:, None]])
    scores = normal_scores(X)
    gain = measure_gains(scores, measure_rarity(scores), np.arange(3), labels)[3]
    assert 50 < gain < 200 * (0.2 * np.log(5) + 0.8 * np.log(1.25))
