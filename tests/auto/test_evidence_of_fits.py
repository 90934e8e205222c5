"""Evidence, levels and numbers of clusters as a user meets them."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from latentsimplex import LatentSimplexPosition, load


def blobs(k, n=40, p=2, distance=12.0):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(k), n)
    angles = 2 * np.pi * np.arange(k) / k
    centres = distance * k / 4 * np.column_stack([np.cos(angles), np.sin(angles)])
    return (centres @ np.eye(2, p))[labels] + rng.normal(size=(k * n, p)), labels


@pytest.mark.parametrize("k", [2, 5, 14])
def test_as_many_clusters_as_there_are(k):
    X, labels = blobs(k)
    model = LatentSimplexPosition(random_state=0).fit(X)
    assert model.n_clusters_.tolist() == [k]
    assert adjusted_rand_score(labels, model.labels_) > 0.95
    assert int(np.argmax(model.evidence_[0])) + 1 == k
    assert int(model.levels_[0][-1].labels.max()) + 1 == k


def test_exactly_as_many_as_asked_for():
    X, _ = blobs(5)
    for k in (3, 5, 7):
        model = LatentSimplexPosition(n_clusters=k, min_clusters=k, random_state=0).fit(X)
        assert model.n_clusters_.tolist() == [k]
        assert len(np.unique(model.labels_)) == k


def test_noise_in_exactly_two_clusters_says_that_nothing_speaks_for_them():
    X = np.random.default_rng(0).normal(size=(120, 3))
    with pytest.warns(UserWarning, match="no evidence"):
        model = LatentSimplexPosition(n_clusters=2, min_clusters=2, random_state=0).fit(X)
    assert model.n_clusters_.tolist() == [2]
    assert model.evidence_[0][1] < 0


def test_a_least_number_that_cannot_be_kept_to_is_warned_of():
    X, _ = blobs(2)
    with pytest.warns(UserWarning, match="too few"):
        assert LatentSimplexPosition(min_clusters=3).fit(X[::10]).n_clusters_.tolist() == [1]


def test_evidence_and_levels_come_back_from_a_file(tmp_path):
    model = LatentSimplexPosition(random_state=0).fit(blobs(4)[0])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert [level.evidence for level in again.levels_[0]] == [level.evidence for level in model.levels_[0]]
    assert np.array_equal(again.evidence_[0], model.evidence_[0])


def test_the_evidence_as_a_frame():
    model = LatentSimplexPosition(random_state=0).fit(blobs(3)[0])
    frame = model.evidence_frame()
    assert frame["clusters"].tolist() == list(range(1, len(model.evidence_[0]) + 1))
    assert np.array_equal(frame["evidence"], model.evidence_[0])
    assert frame["clusters"][frame["taken"]].tolist() == [3]


def test_more_clusters_at_least_than_at_most_are_refused():
    with pytest.raises(ValueError, match="min_clusters=4 is more than n_clusters=3"):
        LatentSimplexPosition(n_clusters=3, min_clusters=4).fit(blobs(2)[0])


def test_words_are_clustered_by_direction():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 50)
    topics = rng.dirichlet(np.full(60, 0.1), size=3)
    X = rng.poisson(topics[labels] * rng.uniform(20, 200, size=(150, 1))).astype(float)
    model = LatentSimplexPosition(random_state=0).fit(X)
    assert adjusted_rand_score(labels, model.labels_) > 0.9
    assert model.similarity_.features == ((60, "as shares"),)


def test_a_good_view_beside_views_of_noise():
    X, labels = blobs(3, p=5)
    rng = np.random.default_rng(1)
    model = LatentSimplexPosition(random_state=0).fit([X, *(rng.normal(size=X.shape) for _ in range(5))])
    assert model.consensus_.weights.tolist() == [1, 0, 0, 0, 0, 0]
    assert adjusted_rand_score(labels, model.labels_) > 0.95
