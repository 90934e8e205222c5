"""The audit of a consensus: against dense matrices with views left out one by one."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex import LatentSimplexPosition, stages
from latentsimplex.analysis.audit import audit_consensus, consensus_weights
from latentsimplex.results.consensus import form_consensus
from made_model import made_model

ONE = np.ones((30, 1))


def memberships(k, seed):
    return np.random.default_rng(seed).dirichlet([0.2] * k, size=30)


@pytest.fixture
def model():
    """Two patterns with clusters, one without, and a constant view."""
    model = made_model(
        [memberships(3, 0), memberships(2, 1), ONE],
        [0, 1, 0, 2, 2, 0],
        view_names=["a", "b", "c", "flat", "constant", "d"],
    )
    responsibilities = model.view_responsibilities_.copy()
    responsibilities[4] = [0, 0, 1]
    starts = np.array([0, 1, 0, 2, -1, 0])
    found = replace(model.results_, initial_view_patterns=starts, view_responsibilities=responsibilities)
    return model._show(found)


def without(model, weights, views):
    """Return the dense P_bar, off the diagonal, and the labels of the consensus without some views."""
    rest = np.delete(np.arange(len(weights)), views)
    if not weights[rest].any():
        return np.ones((30, 30)) - np.eye(30), np.zeros(30)
    found = form_consensus(
        model.view_patterns_[rest], model.memberships_, model.view_names_in_[rest], weights[rest]
    )
    P = found.coassignment.toarray()
    return P - np.diag(np.diag(P)), found.labels


def check_left_out(model, weights, rows, groups):
    P, labels = without(model, weights, [])
    for row, views in enumerate(groups):
        after, labels_after = without(model, weights, views)
        change = np.linalg.norm(after - P) / np.linalg.norm(P)
        assert rows["influence"][row] == pytest.approx(change, abs=1e-9)
        assert rows["label_agreement"][row] == pytest.approx(
            normalized_mutual_info_score(labels, labels_after)
        )


def test_views_are_kept_or_excluded_for_a_reason(model):
    views = audit_consensus(model, [1, 1, 0, 1, 1, 2]).views
    assert views["kept"].tolist() == [True, True, False, False, False, True]
    assert views["reason"].tolist() == ["", "", "weight 0", "single cluster", "constant view", ""]
    assert views["weight"].tolist() == [1, 1, 0, 0, 0, 2]
    assert views["share"].tolist() == [0.25, 0.25, 0, 0, 0, 0.5]
    assert views["view"].tolist() == ["a", "b", "c", "flat", "constant", "d"]


def test_agreement_is_that_of_the_labels(model):
    audit = audit_consensus(model)
    for v, labels in enumerate(model.view_labels_):
        expected = normalized_mutual_info_score(labels, model.labels_)
        assert audit.views["agreement"][v] == pytest.approx(expected)
    np.testing.assert_array_equal(audit.consensus.labels, model.labels_)


def test_leaving_out_a_view(model):
    check_left_out(
        model, model.consensus_.weights, audit_consensus(model).views, groups=[[v] for v in range(6)]
    )


def test_leaving_out_a_pattern(model):
    own = [np.flatnonzero(model.view_patterns_ == l) for l in range(3)]
    audit = audit_consensus(model)
    check_left_out(model, model.consensus_.weights, audit.patterns, own)
    assert audit.patterns["n_views"].tolist() == [3, 1, 2]
    assert audit.patterns["n_kept"].tolist() == [3, 1, 0]
    np.testing.assert_allclose(audit.patterns["share"], [0.75, 0.25, 0])


def test_views_of_one_pattern_with_weights_of_their_own(model):
    weights = np.array([1, 2, 0.5, 0, 0, 4.0])
    views = audit_consensus(model, weights).views
    P, _ = without(model, weights, [])
    for v in range(6):
        change = np.linalg.norm(without(model, weights, [v])[0] - P) / np.linalg.norm(P)
        assert views["influence"][v] == pytest.approx(change, abs=1e-9)
    heaviest = normalized_mutual_info_score(without(model, weights, [])[1], without(model, weights, [5])[1])
    assert views["label_agreement"][[0, 2, 5]].tolist() == pytest.approx([heaviest] * 3)


def test_one_of_many_views_changes_little():
    model = made_model([memberships(3, 0), memberships(2, 1)], np.repeat([0, 1], [50_000, 1]))
    views = audit_consensus(model).views
    assert 0 < views["influence"][0] < 1e-8 < views["influence"][-1] < 1e-4
    ratio = views["influence"][-1] / views["influence"][0]
    weights = np.array([50_000.0, 1.0])
    few = made_model(model.memberships_, [0, 1])
    P, other = without(few, weights, [])[0], without(few, weights, [0])[0]
    same = without(few, weights, [1])[0]
    assert ratio == pytest.approx(np.linalg.norm(other - P) / np.linalg.norm(same - P), rel=1e-3)


def test_the_only_view_with_clusters():
    model = made_model([memberships(2, 3), ONE], [1, 0, 1])
    audit = audit_consensus(model)
    check_left_out(model, model.consensus_.weights, audit.views, groups=[[0], [1], [2]])
    assert audit.views["label_agreement"].tolist() == [1, 0, 1]


def test_the_only_view_with_a_weight():
    model = made_model([memberships(2, 3), memberships(3, 4)], [0, 1])
    weights = np.array([1.0, 0.0])
    audit = audit_consensus(model, weights)
    check_left_out(model, weights, audit.views, groups=[[0], [1]])
    assert audit.views["reason"].tolist() == ["", "weight 0"]


def test_many_samples():
    """More than the starts of a labelling compete on: the labels are those that all starts on all samples give."""
    rng = np.random.default_rng(5)
    labels = np.array([rng.integers(4, size=2500), np.zeros(2500, dtype=int), rng.integers(3, size=2500)])
    labels[1] = np.where(rng.random(2500) < 0.8, labels[0], rng.integers(4, size=2500))
    blurred = [
        0.8 * np.eye(k)[own] + 0.2 * rng.dirichlet([1] * k, size=2500)
        for own, k in zip(labels, (4, 4, 3), strict=True)
    ]
    model = made_model(blurred, [0, 0, 1, 2])
    audit = audit_consensus(model)
    for l in range(3):
        rest = np.flatnonzero(model.view_patterns_ != l)
        expected = form_consensus(model.view_patterns_[rest], blurred, rest).labels
        expected = normalized_mutual_info_score(expected, model.labels_)
        assert audit.patterns["label_agreement"][l] == pytest.approx(expected, abs=0.01)
    # a pattern with one view is left out with it
    assert audit.views["label_agreement"][2:].tolist() == audit.patterns["label_agreement"][1:].tolist()


def test_the_consensus_is_not_formed_again(model):
    for weights in (None, model.consensus_.weights):
        assert audit_consensus(model, weights).consensus is model.consensus_
    other = audit_consensus(model, [1, 2, 1, 1, 1, 1]).consensus
    np.testing.assert_array_equal(other.weights, [1, 2, 1, 0, 0, 1])


def test_nothing_to_audit():
    audit = audit_consensus(made_model([ONE], [0, 0]))
    assert audit.views["reason"].tolist() == ["single cluster"] * 2
    assert audit.views["share"].tolist() == audit.views["influence"].tolist() == [0, 0]
    assert audit.views["label_agreement"].tolist() == [1, 1]


def test_samples_that_are_all_alone():
    model = made_model([np.eye(3), np.eye(2)[[0, 0, 1]]], [0, 1])
    assert audit_consensus(model, [1, 0]).views["influence"].tolist() == [np.inf, 0]


# Weights


def test_weights_by_view_and_by_pattern(model):
    assert consensus_weights(model).tolist() == [1, 1, 1, 0, 0, 1]
    by_pattern = consensus_weights(model, by="pattern")
    np.testing.assert_allclose(by_pattern, [1 / 3, 1, 1 / 3, 0, 0, 1 / 3])
    shares = audit_consensus(model, by_pattern).patterns["share"]
    np.testing.assert_allclose(shares, [0.5, 0.5, 0])


def test_weights_by_evidence(model):
    responsibilities = np.random.default_rng(0).dirichlet([1, 1, 1], size=6)
    found = consensus_weights(replace(model.results_, view_responsibilities=responsibilities), by="evidence")
    for v, l in enumerate(model.view_patterns_):
        W, k = model.memberships_[l], model.n_clusters_[l]
        sure = 1 - entropy(W, base=k, axis=1).mean() if k > 1 else 0
        assert found[v] == pytest.approx(responsibilities[v, l] * sure)


def test_sure_patterns_weigh_more_by_evidence():
    vague, clear = 0.6 * np.eye(2)[[0, 1] * 15] + 0.2, np.eye(2)[[0] * 15 + [1] * 15]
    weights = consensus_weights(made_model([vague, clear], [0, 1]), by="evidence")
    assert 0 < weights[0] < weights[1]


# Fits and misuse


def test_a_fit_with_noise_and_a_constant(one_cloud):
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 20)
    views = [8 * labels[:, None] + rng.normal(size=(40, 2)), np.zeros((40, 1))]
    with pytest.warns(UserWarning, match="constant"):
        model = LatentSimplexPosition(2, 2, n_init=1, random_state=0).fit(views)
    table = audit_consensus(model).views
    assert table["reason"].tolist() == ["", "constant view"]
    assert table["agreement"][0] == pytest.approx(1)


def noisy(S, rng):
    """Return similarities (30, 30) with a little noise."""
    noise = np.tril(rng.normal(0, 0.03, size=S.shape), -1)
    return np.where(np.eye(30, dtype=bool), 1, np.clip(S + noise + noise.T, 0, 1))


@pytest.fixture(name="similarities")
def _similarities():
    """Ten views with two clusters and ten with one in turn, then two constant ones."""
    labels, rng = np.repeat([0, 1], 15), np.random.default_rng(0)
    two, one = np.where(labels[:, None] == labels, 0.9, 0.1), np.full((30, 30), 0.5)
    return np.array([noisy(two if v % 2 else one, rng) for v in range(20)] + [np.ones((30, 30))] * 2)


@pytest.mark.parametrize("searched", [5, 100])
def test_views_that_a_search_did_not_look_at_are_not_constant(searched, similarities, monkeypatch):
    monkeypatch.setattr(stages, "SEARCHED_VIEWS", searched)
    model = LatentSimplexPosition(2, 2, n_init=1, random_state=0, similarity="precomputed")
    with pytest.warns(UserWarning, match="2 of 22 views are constant"):
        model.fit(similarities)
    assert (model.initial_view_patterns_ >= 0).sum() == min(2 * searched, 20)
    assert (model.initial_view_patterns_ == -1).tolist() == [False] * 20 + [True] * 2
    assert model.n_clusters_[model.view_patterns_].tolist() == [1, 2] * 10 + [1, 1]
    assert (
        audit_consensus(model).views["reason"].tolist() == ["single cluster", ""] * 10 + ["constant view"] * 2
    )


def test_misuse(model):
    with pytest.raises(
        ValueError, match="by='views' is unknown: choose 'view', 'pairs', 'pattern' or 'evidence'"
    ):
        consensus_weights(model, by="views")
    with pytest.raises(ValueError, match="weights has shape"):
        audit_consensus(model, [1, 1])
    for function in (audit_consensus, consensus_weights):
        with pytest.raises(ValueError, match="not fitted"):
            function(LatentSimplexPosition())
