"""Views, their patterns and the weights: names, numbers, and what is said of many views."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from latentsimplex.plots import panels, plot_view_patterns, plot_weights
from made_model import made_model
from plots.drawn import LONG, names_of, random_memberships, said


def many_views(n_views=50_000, n_patterns=7):
    rng = np.random.default_rng(0)
    model = made_model(
        [random_memberships(seed=l) for l in range(n_patterns)], rng.integers(n_patterns, size=n_views)
    )
    own = rng.uniform(0.6, 1.0, n_views)
    rest = (1 - own) / (n_patterns - 1)
    eta = np.repeat(rest[:, None], n_patterns, axis=1)
    eta[np.arange(n_views), model.view_patterns_] = own
    return replace(model.results_, view_responsibilities=eta)


def test_few_views_have_their_names_and_numbers(ax):
    eta = np.array([[0.25, 0.75], [0.9, 0.1], [0.99, 0.01]])
    plot_view_patterns(eta, ["a", LONG, "c"], ax=ax)
    np.testing.assert_allclose(ax.images[0].get_array(), eta[[2, 1, 0]])
    assert names_of(ax) == ["c", "the expression…r a long time", "a"]
    assert [text.get_text() for text in ax.texts] == ["0.99", "0.01", "0.90", "0.10", "0.25", "0.75"]
    heights = [piece.get_height() for piece in ax.patches if isinstance(piece, Rectangle)]
    assert heights == [2, 1]


def test_views_of_a_model_follow_its_patterns(ax):
    model = made_model(
        [random_memberships(), random_memberships(seed=1)], [1, 0, 1], view_names=["x", "y", "z"]
    )
    plot_view_patterns(model, ax=ax)
    assert names_of(ax) == ["y", "x", "z"]
    assert ax.get_title() == "3 views in 2 patterns"


def test_many_views_are_counted_averaged_and_said_to_be(ax):
    results = many_views()
    plot_view_patterns(results, ax=ax)
    drawn = np.asarray(ax.images[0].get_array())
    assert 195 <= len(drawn) <= 205
    np.testing.assert_allclose(drawn.sum(axis=1), 1)
    np.testing.assert_allclose(drawn.mean(axis=0), results.view_responsibilities.mean(axis=0), atol=0.005)
    counts = np.bincount(results.view_patterns)
    assert names_of(ax) == [f"pattern {l}: {count:,} views" for l, count in enumerate(counts)]
    assert "50,000 views: each row is a mean over about 250" in said(ax)


def test_names_must_be_as_many_as_views():
    with pytest.raises(ValueError, match="names holds 1 names and there are 3 views"):
        plot_view_patterns(np.eye(3), ["a"])
    with pytest.raises(ValueError, match=r"responsibilities has shape \(3,\)"):
        plot_view_patterns(np.ones(3))


def test_weights_have_a_bar_up_to_the_bound():
    ax = plot_weights(np.array([0.7, 0.3]), n_bars=4, expected=0.25)
    assert [bar.get_height() for bar in ax.patches] == [0.7, 0.3, 0, 0]
    assert [text.get_text() for text in ax.texts] == ["0.70", "0.30", "0.00", "0.00"]
    assert ax.get_xticks().tolist() == [0, 1, 2, 3]
    assert ax.lines[0].get_ydata() == [0.25, 0.25]


def test_weights_without_a_bound_or_a_line():
    ax = plot_weights(np.array([0.7, 0.3]))
    assert len(ax.patches) == 2
    assert not ax.lines


def test_weights_of_a_model_tell_views_and_clusters(ax):
    model = made_model([random_memberships(k=3), random_memberships(k=2)], [0, 1, 0])
    plot_weights(model, ax=ax)
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([2 / 3, 1 / 3])
    ticks = [text.get_text().split("\n") for text in ax.get_xticklabels()]
    assert ticks == [["0", "2 views", "3 clusters"], ["1", "1 view", "2 clusters"]]
    assert ax.get_title() == "2 patterns of 3 views"


def test_weights_of_many_patterns_do_not_run_into_one_another():
    ax = plot_weights(np.full(30, 1 / 30), ax=panels(1, 1, 4, 3)[1][0, 0])
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert all(left.x1 <= right.x0 + 1 for left, right in pairwise(boxes))
