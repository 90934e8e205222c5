"""What a fit keeps to place new samples: which samples, which views, and how thousands of them are learnt."""

import numpy as np
import pytest

from latentsimplex import LatentSimplexPosition, load
from latentsimplex.base.threads import Workers
from latentsimplex.inputs.views import as_views
from latentsimplex.placing import references
from latentsimplex.placing.references import keep_references, learn_comparisons
from latentsimplex.placing.sample_memberships import learn_neighbourhood
from latentsimplex.similarity import AutoDiffusion

KERNEL = AutoDiffusion("local", ((1, "as they are"), (3, "standardised")))


@pytest.fixture(scope="module")
def fit():
    """Four views of 300 samples, memberships of three clusters and of none, and the labels."""
    rng = np.random.default_rng(0)
    labels = rng.choice(3, size=300, p=[0.6, 0.37, 0.03])
    views = [5.0 * np.eye(3, p)[labels] + rng.normal(size=(300, p)) for p in (3, 3, 1)]
    W = 0.94 * np.eye(3)[labels] + 0.02
    return as_views([*views, rng.normal(size=(300, 2))]), [W, np.ones((300, 1))], labels


def keep(fit):
    views, memberships, labels = fit
    patterns = np.array([0, 0, 0, 1])
    return keep_references(views, KERNEL, patterns, memberships, np.array([labels, 0 * labels]), n_jobs=1)


def place(found, tables):
    with Workers(1) as workers:
        return found.place(tables, workers)


def test_views_of_patterns_without_clusters_are_not_kept(fit):
    found = keep(fit)
    assert list(found.comparisons) == [0, 1, 2]
    assert found.neighbourhoods[1] is None
    placed = place(found, [None, None, None, fit[0][3][:4]])
    np.testing.assert_allclose(placed.memberships[0], np.tile(fit[1][0].mean(axis=0), (4, 1)))
    assert placed.memberships[1].tolist() == [[1.0]] * 4
    assert not placed.remoteness.any()


def test_beliefs_are_learnt_once_and_not_before_they_are_asked_for(fit, monkeypatch):
    learnt = []

    def learn(*arguments):
        learnt.append(len(arguments[0]))
        return learn_neighbourhood(*arguments)

    monkeypatch.setattr(references, "learn_neighbourhood", learn)
    found = keep(fit)
    assert not learnt
    for _ in range(2):
        place(found, [fit[0][v] for v in range(4)])
    assert learnt == [3]


def test_of_many_samples_some_of_each_cluster_are_kept(fit, monkeypatch):
    views, memberships, labels = fit
    monkeypatch.setattr(references, "MOST_REFERENCES", 60)
    monkeypatch.setattr(references, "LEAST_OF_CLUSTER", 5)
    found = keep(fit)
    assert len(found.rows) == 60
    assert np.bincount(labels[found.rows]).min() >= 5
    placed = place(found, [views[v] for v in range(4)])
    assert (placed.memberships[0].argmax(axis=1) == labels).mean() > 0.95
    assert np.abs(placed.memberships[0] - memberships[0]).mean() < 0.03


def test_of_many_views_of_a_pattern_some_are_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(references, "MOST_VIEWS", 8)
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=80)
    columns = 6.0 * labels[:, None] + rng.normal(size=(80, 20))
    model = LatentSimplexPosition(views="columns", random_state=0).fit(columns)
    assert len(model.results_.references.comparisons) == 8
    assert np.array_equal(model.predict(columns), model.labels_)
    model.save(tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict(columns), model.labels_)


def test_a_view_is_learnt_alike_whatever_others_there_are(fit):
    rows = np.arange(0, 300, 7)
    together = learn_comparisons(fit[0], [0, 1, 2], KERNEL, rows)
    for v, (learnt, Z) in enumerate(together):
        ((alone, coordinates),) = learn_comparisons(fit[0], [v], KERNEL, rows)
        np.testing.assert_array_equal(Z, coordinates)
        np.testing.assert_array_equal(learnt.place(fit[0][v]), alone.place(fit[0][v]))
