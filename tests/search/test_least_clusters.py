"""As many clusters as are asked for among many views, with a similarity that is given, and with every penalty."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from latentsimplex import LatentSimplexPosition, load
from latentsimplex.search.least_clusters import keep_clusters
from latentsimplex.search.runs import run_from_labels
from problems import HALVES, THIRDS, TWO_PATTERNS, priced_problem, views_of_two_patterns

N = 90


def draw_views(n_views, seed=0):
    """Views of three clusters by turns with views of two others."""
    rng = np.random.default_rng(seed)
    three, two = np.arange(N) % 3, np.arange(N) // 5 % 2
    return [9.0 * np.eye(3)[two if v % 2 else three] + rng.normal(size=(N, 3)) for v in range(n_views)], three


def fit_exactly(views, k, **settings):
    settings = {"n_patterns": 2, "n_init": 1, "random_state": 0, "n_jobs": 1, **settings}
    return LatentSimplexPosition(k, min_clusters=k, **settings).fit(views)


@pytest.mark.parametrize("k", [2, 3, 4, 8])
def test_exactly_k_clusters_in_each_pattern_of_many_views(k):
    views, truth = draw_views(14)
    model = fit_exactly(views, k)
    assert model.n_clusters_.tolist() == [k, k]
    assert len(np.unique(model.labels_)) == k
    assert all(len(np.unique(labels)) == k for labels in model.pattern_labels_)
    if k == 3:
        assert adjusted_rand_score(model.pattern_labels_[model.view_patterns_[0]], truth) == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"similarity": "diffusion"},
        {"similarity": "local-scaling"},
        {"penalty": "dirichlet"},
        {"penalty": "group", "similarity": "local-scaling", "response": "identity"},
        {"penalty": None},
    ],
)
def test_exactly_k_clusters_with_other_settings(settings):
    views, _ = draw_views(2)
    assert set(fit_exactly(views, 4, **settings).n_clusters_.tolist()) == {4}


def test_exactly_k_clusters_with_the_settings_of_the_paper():
    model = LatentSimplexPosition.paper(4, 2, min_clusters=4, n_init=1, random_state=0).fit(draw_views(2)[0])
    assert set(model.n_clusters_.tolist()) == {4}


def test_a_fit_that_is_given_its_clusters_back_says_how_em_ended():
    """EM emptied a cluster of one pattern; the other pattern has lost its views, and is left alone."""
    problem = priced_problem(views_of_two_patterns())
    fit = run_from_labels(problem, TWO_PATTERNS, [HALVES, THIRDS])
    W, lam = fit.state.W.copy(), fit.state.lam.copy()
    W[:2] = np.eye(W.shape[2])[0]
    lam[0] = 0.0
    emptied = fit._replace(state=fit.state._replace(W=W, lam=lam), converged=True)
    kept = keep_clusters(problem, emptied, TWO_PATTERNS, [HALVES, THIRDS])
    assert [len(np.unique(kept.state.W[l].argmax(axis=1))) for l in range(2)] == [1, 3]
    assert kept.converged
    assert kept.loss_curve[:-1] == fit.loss_curve
    assert len(kept.expected_loss_curve) == len(kept.loss_curve)
    assert keep_clusters(problem, kept, TWO_PATTERNS, [HALVES, THIRDS]) is kept


@pytest.mark.parametrize("k", [2, 3, 5])
def test_many_views_of_noise_are_cut_all_the_same(k, tmp_path):
    """EM on the second similarity would empty clusters that nothing speaks for."""
    noise = [np.random.default_rng(v).normal(size=(N, 2)) for v in range(13)]
    with pytest.warns(UserWarning, match="no evidence for clusters: .* a free search finds none"):
        model = fit_exactly(noise, k)
    assert model.n_clusters_.tolist() == [k]
    assert np.isfinite(model.memberships_[0]).all()
    assert model.consensus_.excluded == []
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").stages_[0].evidence == 0


def test_views_without_clusters_follow_none_beside_views_that_have_some():
    views, _ = draw_views(11)
    noise = [np.random.default_rng(v).normal(size=(N, 3)) for v in range(8)]
    model = fit_exactly(views[::2] + noise, 4)
    assert sorted(model.n_clusters_.tolist()) == [1, 4]
    assert model.consensus_.excluded == [f"view{v}" for v in range(6, 14)]


def test_a_fit_that_finds_as_many_by_itself_is_left_alone():
    views, _ = draw_views(14)
    settings = {"n_patterns": 2, "n_init": 1, "random_state": 0}
    free = LatentSimplexPosition(3, **settings).fit(views)
    asked = LatentSimplexPosition(3, min_clusters=2, **settings).fit(views)
    assert sorted(free.n_clusters_.tolist()) == [2, 3]
    for one, other in zip(free.memberships_, asked.memberships_, strict=True):
        np.testing.assert_array_equal(one, other)
