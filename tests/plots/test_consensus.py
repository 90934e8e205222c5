"""The consensus and the share of each view: excluded ones are marked, many views are patterns."""

import numpy as np
import pytest

from latentsimplex.plots import plot_consensus
from made_model import made_model
from plots.drawn import LONG, names_of, random_memberships, said


def consensus_model(view_patterns=(0, 1, 0), **names):
    return made_model([random_memberships(), np.ones((40, 1))], view_patterns, **names)


def test_consensus_shows_shares_and_marks_the_excluded(ax):
    model = consensus_model(view_names=["a", "b", LONG])
    plot_consensus(model, ax=ax)
    heatmap, shares = ax.child_axes[:2]
    assert [bar.get_width() for bar in shares.patches] == [0.5, 0, 0.5]
    assert [(text.get_text(), text.xy) for text in shares.texts] == [("excluded", (0, 1))]
    assert names_of(shares)[:2] == ["a", "b"]
    assert shares.get_ylim() == (2.5, -0.5)  # the first at the top
    assert ax.get_title() == "consensus of 2 of 3 views"
    np.testing.assert_allclose(
        np.sort(heatmap.images[0].get_array().ravel()),
        np.sort(model.consensus_.coassignment.toarray().ravel()),
    )


def test_consensus_with_other_weights_needs_no_model(ax):
    model = consensus_model()
    plot_consensus(model.consensus([3, 1, 1]), ax=ax)
    assert [bar.get_width() for bar in ax.child_axes[1].patches] == [0.75, 0, 0.25]
    assert names_of(ax.child_axes[1]) == ["0", "1", "2"]


def test_consensus_of_many_views_shows_patterns(ax):
    model = consensus_model(np.repeat([0, 1], [30_000, 20_000]))
    plot_consensus(model, ax=ax)
    shares = ax.child_axes[1]
    assert [bar.get_width() for bar in shares.patches] == pytest.approx([1, 0])
    assert names_of(shares) == ["0: 30,000 views", "1: 20,000 views"]
    assert shares.get_title() == "share of each pattern"
    assert said(shares) == "excluded"


def test_consensus_of_many_views_without_a_model_is_an_outline(ax):
    weights = np.r_[np.full(30_000, 1.0), np.full(10_000, 2.0), np.zeros(10_000)]
    model = consensus_model(np.repeat([0, 1], [40_000, 10_000]))
    plot_consensus(model.consensus(weights), ax=ax)
    shares = ax.child_axes[1]
    outline = shares.patches[0].get_data()
    np.testing.assert_allclose(outline.values, np.sort(weights)[::-1] / 50_000)
    assert said(shares) == "10,000 excluded"


def test_consensus_of_nothing_is_said(ax):
    model = made_model([np.ones((5, 1))], [0, 0])
    plot_consensus(model, ax=ax)
    assert said(ax.child_axes[1]) == "excluded excluded"
    assert ax.get_title() == "consensus of 0 of 2 views"
    with pytest.raises(ValueError, match="view_names holds 1 names and there are 2 views"):
        plot_consensus(model, ["a"])
