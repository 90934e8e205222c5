"""Labels: spectral labels of low-rank co-assignments, and how clusters are numbered."""

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.cluster import KMeans

from latentsimplex.model.problem import drop_unused_columns
from latentsimplex.results.joint_labels import (
    extend_labels,
    joint_labels,
    match_labels,
    robs_small,
    spectral_labels,
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


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sharpness", [0.7, 3.0])
def test_thin_svd_gives_the_partition_of_dense_spectral_clustering(seed, sharpness):
    rng = np.random.default_rng(seed)
    W, _ = blurred(rng, 80, int(rng.integers(2, 6)), sharpness)
    W = drop_unused_columns(W)
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


def test_samples_of_the_fit_keep_their_labels():
    rng = np.random.default_rng(0)
    W = rng.dirichlet([0.3] * 4, size=200)
    labels = joint_labels(W)
    np.testing.assert_array_equal(extend_labels(W, labels, W), labels)
    np.testing.assert_array_equal(extend_labels(W, labels, W[:3].copy()), labels[:3])


def test_a_new_sample_gets_the_label_of_the_samples_that_it_is_like():
    W = np.repeat([[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.0, 0.1, 0.9]], 5, axis=0)
    labels = joint_labels(W)
    assert extend_labels(W, labels, np.eye(3)).tolist() == [0, 1, 2]
    assert extend_labels(W, np.zeros(15, dtype=int), np.eye(3)).tolist() == [0, 0, 0]


@pytest.fixture(scope="module")
def rare():
    """Return memberships of which nearly certain ones are in clusters of 3,000 and of 20."""
    rng = np.random.default_rng(0)
    clusters = np.repeat([0, 1, 2], [3000, 3000, 20])
    share = rng.uniform(0.0, 0.08, size=len(clusters))
    return np.eye(3)[clusters] * (1 - 1.5 * share)[:, None] + share[:, None] / 2, clusters


def test_nearly_certain_samples_of_a_rare_cluster_keep_it(rare):
    W, clusters = rare
    assert joint_labels(W).tolist() == clusters.tolist()


def test_new_samples_of_a_rare_cluster_are_labelled_as_those_of_the_fit(rare):
    W, clusters = rare
    new = np.array([[0.0, 0.04, 0.96], [0.97, 0.03, 0.0], [0.3, 0.3, 0.4]])
    assert extend_labels(W, clusters, new).tolist() == [2, 0, 2]
    assert extend_labels(W, np.array([1, 2, 0])[clusters], new).tolist() == [0, 1, 0]


def test_doubtful_samples_may_have_another_label_than_their_most_probable():
    W = np.repeat([[0.95, 0.05], [0.05, 0.95], [0.45, 0.55]], [20, 20, 3], axis=0)
    labels = np.repeat([0, 1, 0], [20, 20, 3])
    assert not robs_small(W, labels)
    assert not robs_small(W, np.repeat([0, 1, 0, 1], [20, 15, 5, 3]))
    assert not robs_small(W, np.zeros(43, dtype=int))


def test_samples_of_a_small_cluster_keep_it_though_they_are_not_certain():
    """A sample that is of a cluster of nine with probability 0.7 is expected to be with more of the 291 others."""
    W = np.repeat([[0.998, 0.002], [0.05, 0.95], [0.3, 0.7]], [291, 6, 3], axis=0)
    lost = (np.arange(300) >= 291) & (np.arange(300) < 297)
    assert robs_small(W, lost.astype(int))
    assert joint_labels(W).sum() == 9
    # of six the same is no robbery: three samples are most probably of the other cluster
    W[297:] = [0.6, 0.4]
    assert not robs_small(W, lost.astype(int))
