"""The estimator with moves, learned responses and the price of labels: recovery, and what fit leaves behind."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import many_views, running_example
from latentsimplex.similarity import LocalScaling
from problems import KINDS, clustered_views, same_partition

DATA = running_example(n_samples=36, separation=8, random_state=0)
QUICK = {"n_clusters": 4, "n_patterns": 3, "n_init": 2, "max_iter": 20, "random_state": 0, "search": "moves"}
LEARNED = {"similarity": "diffusion", "divergence": "forward", "response": "learned", "penalty": "labels"}
KNOWN = {**LEARNED, "temperature": "auto"}


def fitted(data=DATA.views, **settings):
    """Return a fit with moves, of the paper's model but for what is given."""
    return LatentSimplexPosition.paper(**{**QUICK, **settings}).fit(data)


@pytest.fixture(scope="module", name="model")
def _model():
    return fitted(**KNOWN)


# Recovery


@pytest.mark.parametrize("seed", range(3))
def test_running_example_is_found_with_its_patterns_and_clusters(seed):
    data = running_example(n_samples=150, separation=6, random_state=seed)
    model = LatentSimplexPosition(6, 3, similarity="local-scaling", n_init=1, random_state=seed).fit(
        data.views
    )
    assert model.view_patterns_.tolist() == data.patterns.tolist() == [0, 0, 1]
    assert model.n_clusters_.tolist() == [3, 2]
    for v in range(3):
        assert adjusted_rand_score(data.labels[v], model.view_labels_[v]) > 0.95
    assert model.consensus_.n_clusters == 3


def test_views_without_clusters_are_told_from_views_with_them():
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    centres = 8.0 * np.eye(3)[:, :2]
    views = [centres[labels] + rng.normal(size=(90, 2)) for _ in range(3)]
    views += [rng.normal(size=(90, 2)) for _ in range(3)]
    model = LatentSimplexPosition(5, 4, similarity="local-scaling", n_init=1, random_state=0).fit(views)
    first = model.view_patterns_[0]
    assert model.view_patterns_[:3].tolist() == [first] * 3
    assert first not in model.view_patterns_[3:]
    assert model.n_clusters_[first] == 3
    assert (model.n_clusters_[model.view_patterns_[3:]] == 1).all()
    assert adjusted_rand_score(labels, model.view_labels_[0]) > 0.95


@pytest.mark.slow
def test_many_views_are_grouped_by_pattern():
    """Five patterns as simulated; a view or two may be odd enough to be worth a pattern of its own."""
    data = many_views(n_views=200, random_state=0)
    model = LatentSimplexPosition(10, 10, similarity=LocalScaling(0.3, 2), random_state=0).fit(data.views)
    sizes = np.bincount(model.view_patterns_)
    assert sizes[5:].sum() <= 3
    assert model.n_clusters_[:5].tolist() == [3] * 5
    shared = model.view_patterns_ < 5
    assert same_partition(model.view_patterns_[shared], data.patterns[shared])


# What fit leaves behind


def test_responses_belong_to_memberships(model):
    assert len(model.responses_) == model.n_patterns_
    for W, B in zip(model.memberships_, model.responses_, strict=True):
        assert B.shape == (W.shape[1], W.shape[1])
        np.testing.assert_allclose(B, B.T)
        assert ((B > 0) & (B < 1)).all()


def test_learned_responses_are_higher_within_clusters_than_between(model):
    assert model.n_clusters_.max() > 1
    for B in model.responses_:
        within, between = np.diag(B), B[~np.eye(len(B), dtype=bool)]
        assert within.min() > between.max(initial=0.0)


def test_the_papers_response_is_the_identity():
    for settings in ({}, {"search": "plain"}):
        found = fitted(**settings)
        for W, B in zip(found.memberships_, found.responses_, strict=True):
            assert np.array_equal(B, np.eye(W.shape[1]))


def test_constant_views_have_a_response_too():
    with pytest.warns(UserWarning, match="1 of 4 views are constant"):
        found = fitted([*DATA.views, np.ones((36, 1))], **LEARNED, temperature=1.0)
    assert [B.shape[0] for B in found.responses_] == found.n_clusters_.tolist()


def test_a_start_that_came_up_before_has_its_loss_again():
    """Three views in three patterns have one partition, and a run with moves depends on nothing else."""
    found = fitted(n_init=3)
    assert found.initial_view_patterns_.tolist() == [0, 1, 2]
    assert found.start_losses_.tolist() == [found.loss_] * 3


@pytest.mark.parametrize("response", ["identity", "learned"])
@pytest.mark.parametrize("penalty", ["group", "labels", "dirichlet", None])
@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_never_rises(kind, penalty, response):
    temperature = (
        0.3 if penalty == "labels" else 18.0
    )  # labels cost nats: a high temperature leaves one cluster
    found = fitted(divergence=kind, penalty=penalty, response=response, temperature=temperature)
    curve = found.loss_curve_
    assert (np.diff(curve) <= 1e-9 * np.abs(curve[1:])).all()
    assert found.loss_ == curve[-1] < curve[0]
    assert len(found.expected_loss_curve_) == len(curve) == found.n_iter_ + 1


def test_moves_lower_the_loss_that_starts_alone_reach():
    """With room for clusters that are not there, merging them is worth what plain EM cannot gain."""
    plain, moved = (fitted(n_clusters=8, search=search, max_iter=100) for search in ("plain", "moves"))
    assert moved.loss_ < plain.loss_


@pytest.mark.parametrize("settings", [{}, KNOWN], ids=["paper", "learned"])
def test_threads_do_not_change_the_fit(settings):
    one, two = (fitted(n_jobs=n, **settings) for n in (1, 2))
    assert np.array_equal(one.loss_curve_, two.loss_curve_)
    for name in ("memberships_", "responses_"):
        for a, b in zip(getattr(one, name), getattr(two, name), strict=True):
            assert np.array_equal(a, b)


def test_seeds_matter_only_through_the_partition_of_the_views():
    one, two = (fitted(random_state=seed) for seed in (1, 2))
    assert np.array_equal(one.loss_curve_, two.loss_curve_)


# Edges


@pytest.mark.parametrize("similarity", ["local-scaling", "diffusion"])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_very_few_samples(n, similarity):
    data = clustered_views(np.random.default_rng(n), n, 2)
    for response in ("identity", "learned"):
        found = fitted(data, similarity=similarity, response=response, penalty="labels")
        assert found.labels_.shape == (n,)
        assert np.isfinite(found.loss_curve_).all()


@pytest.mark.parametrize("similarity", ["local-scaling", "diffusion"])
@pytest.mark.parametrize("n_clusters", [3, 10, 18])
def test_duplicates_and_more_clusters_than_places(n_clusters, similarity):
    """Samples that coincide share a cluster.

    With the paper's penalty and a cluster for each sample rounding decides who is left over: there the loss is finite.
    """
    X = np.repeat([[0.0, 0.0], [5.0, 0.0], [0.0, 9.0]], 6, axis=0)
    of_paper = fitted([X, X + 1], n_clusters=n_clusters, similarity=similarity)
    assert np.isfinite(of_paper.loss_curve_).all()
    found = LatentSimplexPosition(n_clusters, 2, similarity=similarity, random_state=0).fit([X, X + 1])
    for model in [found, of_paper] if n_clusters < len(X) else [found]:
        for start in range(0, 18, 6):
            assert len(set(model.labels_[start : start + 6])) == 1
    assert found.n_clusters_.tolist() == [3]


def test_one_cluster_and_one_pattern():
    found = fitted(n_clusters=1, n_patterns=1, **LEARNED)
    assert found.n_clusters_.tolist() == [1]
    s = found.responses_[0]
    assert s.shape == (1, 1)
    assert 0 < s[0, 0] < 1
    assert found.consensus_.weights.tolist() == [0.0] * 3


def test_verbose_runs_with_moves_too(capsys):
    fitted(verbose=True, max_iter=3, n_init=1)
    shown = capsys.readouterr()
    assert "start 1 of 1" in shown.err
    assert shown.out == ""
