"""From the end of a fit to its results: names, live patterns, labels, consensus, curves, starts."""

from dataclasses import replace

import numpy as np
import pytest

from latentsimplex.inputs import NamedTable
from latentsimplex.inputs.views import as_views
from latentsimplex.model.problem import Expectation, Fit, State
from latentsimplex.results.consensus import form_consensus
from latentsimplex.results.estimates import assemble_results
from latentsimplex.results.joint_labels import joint_labels
from latentsimplex.search.multistart import Search
from made_model import made_stages

N = 6
FIRST, SECOND = np.repeat([0, 1], 3), np.tile([0, 1, 2], 2)
STAGES = tuple(made_stages(4))
SETTINGS = {"n_clusters": 3, "n_init": 2}


def soft(labels, g=3, purity=0.9):
    return np.where(np.eye(g, dtype=bool)[labels], purity, (1 - purity) / (g - 1))


def a_search(eta, lam=(0.25, 0.75, 0.0), labels=(0, 1, 1)):
    """Return a search whose second pattern is the heavier one and whose third is dead."""
    W = np.array([soft(SECOND), soft(FIRST), np.full((N, 3), 1 / 3)])
    state = State(W, np.tile(np.eye(3), (3, 1, 1)), np.array(lam), np.ones(3))
    found = Expectation(np.array(eta), np.ones(3), np.ones(3), np.zeros((2, 15)), 5.0, 50.0)
    fit = Fit(state, found, [9.0, 7.0, 5.0], [90.0, 70.0, 50.0], np.True_)
    return Search(fit, np.array(labels), np.array([5.0, 6.0]), np.array([1.0, 0.5]))


def some_views(n_views):
    return as_views({f"v{k}": np.random.default_rng(k).normal(size=(N, 2)) for k in range(n_views)})


ETA = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.0, 1.0, 0.0]])


def assembled(views=None, search=None, searched=(0, 1, 2), informative=(0, 1, 2), **settings):
    return assemble_results(
        views or some_views(3),
        search or a_search(ETA),
        np.array(searched),
        np.array(informative),
        STAGES,
        {**SETTINGS, **settings},
    )


def test_live_patterns_come_heaviest_first_without_the_dead_ones():
    found = assembled()
    assert found.n_patterns == 2
    assert found.view_patterns.tolist() == [1, 0, 0]
    assert found.pattern_weights.tolist() == [0.75, 0.25]
    np.testing.assert_allclose(found.view_responsibilities, ETA[:, [1, 0]])
    np.testing.assert_allclose(found.memberships[1], soft(SECOND))


def test_columns_that_no_sample_prefers_are_gone():
    found = assembled()
    assert found.n_clusters.tolist() == [2, 3]
    np.testing.assert_allclose(found.memberships[0].sum(axis=1), 1)
    assert [B.shape for B in found.responses] == [(2, 2), (3, 3)]


def test_labels_and_consensus_are_made_of_the_memberships():
    found = assembled()
    for labels, W in zip(found.pattern_labels, found.memberships, strict=True):
        assert np.array_equal(labels, joint_labels(W))
    consensus = form_consensus(found.view_patterns, found.memberships, found.view_names)
    assert np.array_equal(found.labels, consensus.labels)
    assert found.consensus.weights.tolist() == [1, 1, 1]


def test_curves_and_starts_are_those_of_the_search():
    found = assembled()
    assert found.loss_curve.tolist() == [9.0, 7.0, 5.0]
    assert found.expected_loss_curve.tolist() == [90.0, 70.0, 50.0]
    assert found.converged is True
    assert found.start_losses.tolist() == [5.0, 6.0]
    assert found.start_agreement.tolist() == [1.0, 0.5]


def test_what_the_fit_used_is_kept():
    found = assembled(replace(some_views(3), frame_library="polars"))
    assert found.stages is STAGES
    assert found.settings == SETTINGS
    assert found.frame_library == "polars"
    assert assembled().frame_library is None


def test_names_are_those_of_the_views():
    found = assembled()
    assert found.view_names.tolist() == ["v0", "v1", "v2"]
    assert found.view_names.dtype == object
    assert found.sample_names is found.feature_names is None
    assert found.n_features == 6
    table = NamedTable(np.random.default_rng(0).normal(size=(N, 3)), ["x", "y", "z"], list("abcdef"))
    named = assembled(as_views(table, "columns"))
    assert named.view_names.tolist() == named.feature_names.tolist() == ["x", "y", "z"]
    assert named.sample_names.tolist() == list("abcdef")
    assert named.n_features == 3


def test_a_view_that_was_searched_has_its_start_another_none():
    """View 0 is constant, the search looked at views 1, 2 and 4, and view 3 came in at the end."""
    eta = np.vstack([ETA[:2], ETA[2], ETA[2]])
    found = assembled(some_views(5), a_search(eta), searched=(1, 2, 4), informative=(1, 2, 3, 4))
    assert found.initial_view_patterns.tolist() == [-1, 0, 1, -2, 1]
    assert np.flatnonzero(found.initial_view_patterns == -1).tolist() == [0]


def test_constant_views_follow_the_pattern_with_one_cluster():
    found = assembled(some_views(4), searched=(0, 1, 3), informative=(0, 1, 3))
    assert found.n_clusters[found.view_patterns[2]] == 1
    assert found.consensus.weights.tolist() == [1, 1, 0, 1]
    assert found.consensus.excluded == ["v2"]
    assert found.pattern_weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("n_init", [1, 4])
def test_constant_views_alone_are_one_pattern_with_one_cluster(n_init):
    nothing = np.array([], dtype=int)
    found = assemble_results(some_views(3), None, nothing, nothing, STAGES[:1], {"n_init": n_init})
    assert found.n_clusters.tolist() == [1]
    assert found.view_patterns.tolist() == [0, 0, 0]
    assert found.labels.tolist() == [0] * N
    assert found.initial_view_patterns.tolist() == [-1] * 3
    assert np.flatnonzero(found.initial_view_patterns == -1).tolist() == [0, 1, 2]
    assert (found.loss, found.expected_loss, found.n_iter, found.converged) == (0.0, 0.0, 0, True)
    assert found.start_losses.tolist() == [0.0] * n_init
    assert found.start_agreement.tolist() == [1.0] * n_init
    assert found.consensus.excluded == ["v0", "v1", "v2"]
