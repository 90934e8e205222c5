"""Doubtful samples stand out, wherever samples are placed."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from latentsimplex.plots import plot_uncertainty
from latentsimplex.plots.palette import OKABE_ITO
from latentsimplex.plots.uncertainty import affinity_positions
from latentsimplex.results.coassignment import CoAssignment
from made_model import made_model
from plots.drawn import LABELS, W, dots, large_memberships, said, small_model


def test_the_less_sure_the_larger_and_the_worst_on_top(ax):
    positions = np.random.default_rng(0).normal(size=(5, 2))
    plot_uncertainty(small_model(), positions, pattern=0, ax=ax)
    (drawn,) = dots(ax)
    order = np.argsort(-W.max(axis=1), kind="stable")
    np.testing.assert_allclose(drawn.get_offsets(), positions[order])
    assert np.all(np.diff(drawn.get_sizes()) > 0)
    outlined = np.array(drawn.get_linewidths()) > 0
    np.testing.assert_array_equal(outlined, W.max(axis=1)[order] < 0.8)
    colours = [to_hex(colour).upper() for colour in drawn.get_facecolors()]
    assert colours == [OKABE_ITO[k] for k in LABELS[order]]
    assert ax.get_title() == "uncertainty: pattern 0, 2 views"


def test_uncertainty_numbers_each_cluster_at_its_middle(ax):
    positions = np.array([[0.0, 0], [5, 5], [1, 0], [7, 5], [2, 0]])
    plot_uncertainty(W.max(axis=1), positions, LABELS, ax=ax)
    assert {text.get_text(): text.xy for text in ax.texts} == {"0": (1, 0), "1": (6, 5)}


def test_uncertainty_without_places_puts_samples_between_the_clusters_they_are_with(ax):
    memberships = np.vstack([np.repeat(np.eye(3), 20, axis=0), [[0.5, 0.5, 0.0]]])
    labels = memberships.argmax(axis=1)
    places = affinity_positions(CoAssignment(memberships), labels)
    centres = np.array([places[labels == k][:20].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(np.linalg.norm(centres, axis=1), 1, atol=0.05)
    to_middle = np.linalg.norm(places[-1] - centres[:2].mean(axis=0))
    assert to_middle < 0.16
    assert np.linalg.norm(places[-1] - centres[2]) > 1
    assert len(np.unique(places.round(6), axis=0)) == len(places)  # equal samples show
    plot_uncertainty(made_model([memberships], [0]), pattern=0, ax=ax)
    assert "placed by mean co-assignment" in said(ax)


def test_uncertainty_of_the_consensus_is_togetherness(ax):
    model = small_model()
    plot_uncertainty(model, ax=ax)
    legend = ax.get_legend().get_title().get_text().replace("\n", " ")
    assert legend == "mean co-assignment with its cluster"


def test_uncertainty_of_many_samples_is_thinned_and_says_so(ax):
    memberships = large_memberships(k=2)
    model = made_model([memberships], [0])
    plot_uncertainty(model, pattern=0, ax=ax)
    (drawn,) = dots(ax)
    assert len(drawn.get_offsets()) == 5000
    assert "5,000 of 20,000 samples" in said(ax)


def test_uncertainty_asks_for_what_is_missing():
    with pytest.raises(ValueError, match="positions and labels"):
        plot_uncertainty(W.max(axis=1))
    with pytest.raises(ValueError, match=r"positions has shape \(5,\)"):
        plot_uncertainty(small_model(), np.zeros(5))
