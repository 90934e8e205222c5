"""Labels: columns that count, spectral labels of low-rank co-assignments, and how clusters are numbered."""

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.cluster import KMeans

from latentsimplex import kmeans as module
from latentsimplex.kmeans import kmeans, kmeans_near
from latentsimplex.labels import (
    joint_labels,
    match_labels,
    pointwise_labels,
    spectral_labels,
    trim,
    used_columns,
)
from problems import same_partition


def blurred(rng, n, g, sharpness=4.0):
    """Return memberships (n, g) around certain ones, and the clusters they are around."""
    clusters = np.arange(n) % g
    return rng.dirichlet(np.ones(g), size=n) / (1 + sharpness) + np.eye(g)[clusters] * sharpness / (
        1 + sharpness
    ), clusters


def dense_spectral_labels(W, g):
    """Spectral clustering of P = W W^T with P's own diagonal, through the n x n matrix."""
    P = W @ W.T
    degree = P.sum(axis=1)
    _, vectors = eigh(P, np.diag(degree), subset_by_index=[len(P) - g, len(P) - 1])
    return KMeans(g, n_init=10, random_state=0).fit_predict(vectors)


def test_trim_keeps_columns_that_lead_somewhere():
    W = np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6], [0.2, 0.3, 0.5]])
    # the middle column leads nowhere; of the others the last is heavier
    np.testing.assert_allclose(trim(W), [[2 / 7, 5 / 7], [6 / 7, 1 / 7], [5 / 7, 2 / 7]])


def test_used_columns_are_those_that_trim_keeps():
    W, _ = blurred(np.random.default_rng(1), 30, 5, sharpness=0.5)
    W[:, 2] = 1e-3
    columns = used_columns(W)
    assert 2 not in columns
    kept = W[:, columns]
    assert np.array_equal(kept / kept.sum(axis=1, keepdims=True), trim(W))
    # ties of weight stay in the order of columns
    assert used_columns(np.eye(3)[[2, 0, 0, 2]]).tolist() == [0, 2]


def test_trim_is_done_after_once():
    W, _ = blurred(np.random.default_rng(0), 30, 5, sharpness=0.5)
    once = trim(W)
    np.testing.assert_allclose(trim(once), once, rtol=1e-14)
    assert set(pointwise_labels(once)) == set(range(once.shape[1]))
    assert (np.diff(once.sum(axis=0)) <= 1e-12).all()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sharpness", [0.7, 3.0])
def test_thin_svd_gives_the_partition_of_dense_spectral_clustering(seed, sharpness):
    rng = np.random.default_rng(seed)
    W, _ = blurred(rng, 80, int(rng.integers(2, 6)), sharpness)
    W = trim(W)
    assert same_partition(spectral_labels(W, W.shape[1]), dense_spectral_labels(W, W.shape[1]))


def test_certain_memberships_are_their_own_labels():
    clusters = np.array([0, 1, 2, 0, 1, 2, 2])
    assert joint_labels(np.eye(3)[clusters]).tolist() == clusters.tolist()


def test_one_cluster():
    assert spectral_labels(np.ones((5, 1)), 1).tolist() == [0] * 5
    assert joint_labels(np.ones((5, 1))).tolist() == [0] * 5


def test_joint_labels_are_numbered_as_the_columns():
    W, clusters = blurred(np.random.default_rng(3), 60, 4)
    assert joint_labels(W).tolist() == clusters.tolist()
    order = [2, 0, 3, 1]
    assert joint_labels(W[:, order]).tolist() == np.argsort(order)[clusters].tolist()


def test_labels_do_not_depend_on_the_order_of_columns():
    W, _ = blurred(np.random.default_rng(4), 50, 3, sharpness=0.8)
    assert same_partition(joint_labels(W), joint_labels(W[:, ::-1]))


def inertia(X, labels):
    return sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(labels))


def clouds(rng, n, k):
    labels = rng.integers(k, size=n)
    return 4 * np.eye(k)[labels] + rng.normal(size=(n, k)), labels


@pytest.mark.parametrize("seed", range(4))
def test_labels_near_others_are_as_good_as_those_of_many_starts(seed):
    X, labels = clouds(np.random.default_rng(seed), 200, 5)
    best = inertia(X, kmeans(X, 5, 100))
    for near in (labels, np.arange(200) % 5, np.zeros(200, dtype=int)):
        assert inertia(X, kmeans_near(X, 5, near[None])) == pytest.approx(best, rel=0.01)


def test_labels_that_cannot_be_better_stay():
    """A partition that k-means would leave as it is wins over starts that end higher."""
    X = np.random.default_rng(0).normal(size=(300, 6))
    settled = kmeans(X, 12, 300)
    assert inertia(X, settled) < inertia(X, kmeans(X, 12, 3))
    assert same_partition(kmeans_near(X, 12, settled[None]), settled)


def test_starts_compete_on_some_samples_and_go_on_with_all(monkeypatch):
    monkeypatch.setattr(module, "SAMPLED", 60)
    X, labels = clouds(np.random.default_rng(1), 900, 3)
    assert same_partition(kmeans_near(X, 3, labels[None]), kmeans(X, 3, 20))


def test_spectral_labels_near_others():
    W, clusters = blurred(np.random.default_rng(5), 60, 4)
    assert same_partition(spectral_labels(W, 4, near=clusters[None]), clusters)
    assert spectral_labels(np.ones((5, 1)), 1, near=np.zeros((1, 5), dtype=int)).tolist() == [0] * 5


def test_match_labels_keeps_the_partition_and_takes_the_numbers_of_the_columns():
    labels = np.array([2, 2, 0, 1, 1])
    W = np.eye(4)[[3, 3, 1, 0, 0]]
    found = match_labels(labels, W)
    assert same_partition(found, labels)
    assert found.tolist() == [3, 3, 1, 0, 0]
