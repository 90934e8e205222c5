"""Figures show the numbers they are given, on the axes they are given, and leave no global state."""

from functools import partial

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgba

from latentsimplex import LatentSimplexPosition, plots
from latentsimplex.plots import (
    new_figure,
    panels,
    plot_cluster_graph,
    plot_coassignment,
    plot_consensus,
    plot_heatmap,
    plot_joint,
    plot_loss,
    plot_maxima,
    plot_membership_bars,
    plot_memberships,
    plot_reliability,
    plot_scatter,
    plot_screening,
    plot_similarity,
    plot_simplex,
    plot_top_views,
    plot_uncertainty,
    plot_view_patterns,
    plot_weights,
    save,
)
from latentsimplex.plots.palette import CLUSTER_COLOURS, OKABE_ITO, cluster_style, clusters
from latentsimplex.screening import screen_model
from made_model import random_model

N = 12
LABELS = np.array([2, 0, 1, 0, 2, 1, 0, 0, 2, 1, 0, 0])


def points(n_columns=2):
    return np.random.default_rng(0).normal(size=(N, n_columns))


def similarity():
    gram = np.exp(-np.abs(np.subtract.outer(points()[:, 0], points()[:, 0])))
    return (gram + gram.T) / 2


def maxima():
    """Bars, thresholds, baselines, and which bars are notable."""
    return np.array([0.3, 0.1]), np.array([0.2, 0.15]), np.array([0.12, 0.4]), np.array([True, False])


def model():
    return random_model(N, 2, 3, seed=1)


def of_made_model(plot, **to):
    return plot(model(), **to)


def screening():
    values = np.random.default_rng(2).normal(size=N)
    return screen_model(model(), {"age": values, "sex": list("FM" * 6)}, n_permutations=99, random_state=0)


OF_MODEL = {
    "coassignment": plot_coassignment,
    "membership bars": plot_membership_bars,
    "memberships of a model": plot_memberships,
    "simplex": plot_simplex,
    "weights of a model": plot_weights,
    "view patterns": plot_view_patterns,
    "uncertainty": plot_uncertainty,
    "loss": plot_loss,
    "consensus": plot_consensus,
    "similarity": lambda model, **to: plot_similarity(model, np.eye(N), **to),
    "reliability of a model": lambda model, **to: plot_reliability(model, LABELS, **to),
}
"""Each figure of a model needs nothing but the model, and what it cannot know."""

PLOTS = {
    **{name: partial(of_made_model, plot) for name, plot in OF_MODEL.items()},
    "screening": lambda **to: plot_screening(screening(), **to),
    "scatter": lambda **to: plot_scatter(points(), LABELS, **to),
    "cluster graph": lambda **to: plot_cluster_graph(points(), LABELS, **to),
    "heatmap": lambda **to: plot_heatmap(similarity(), LABELS, **to),
    "memberships": lambda **to: plot_memberships(np.eye(3)[LABELS], LABELS, **to),
    "joint": lambda **to: plot_joint(*points().T, LABELS, **to),
    "maxima": lambda **to: plot_maxima(["a", "b"], *maxima(), cut_off=0.2, **to),
    "top views": lambda **to: plot_top_views(["a", "b"], [np.eye(2), np.eye(2)[:, :1]], **to),
    "reliability": lambda **to: plot_reliability({"one": (np.linspace(0, 1, 40), np.arange(40) % 2)}, **to),
    "weights": lambda **to: plot_weights(np.array([0.7, 0.3]), n_bars=4, **to),
}


@pytest.fixture(params=PLOTS, name="plot")
def _plot(request):
    return PLOTS[request.param]


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def collections(ax, kind):
    return [artist for artist in ax.collections if isinstance(artist, kind)]


# What all figures share


def test_draws_on_the_axes_it_is_given(plot):
    _, axes = panels(1, 2)
    assert plot(ax=axes[0, 1]) is axes[0, 1]
    assert not axes[0, 0].has_data()


def test_leaves_pyplot_alone_where_it_is_given_axes(plot):
    plot(ax=panels(1, 1)[1][0, 0])
    assert pyplot.get_fignums() == []


def test_makes_a_figure_that_pyplot_shows(plot, tmp_path):
    ax = plot()
    assert pyplot.figure(pyplot.get_fignums()[-1]) is ax.figure
    path = save(ax.figure, tmp_path / "figure.png")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_nothing_is_written_over_the_edge_of_its_own_figure(plot):
    ax = plot(title="what it is")
    figure = ax.figure
    figure.canvas.draw()
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert min(box.x0, box.y0) > -0.06
    assert box.x1 < width + 0.06
    assert box.y1 < height + 0.06


def test_texts_and_lines_follow_a_dark_style(plot):
    with mpl.style.context("dark_background"):
        ax = plot(title="what it is")
        every = [ax, *ax.child_axes, *(deeper for part in ax.child_axes for deeper in part.child_axes)]
    on_images = {text for part in every if part.images for text in part.texts if not text.get_alpha()}
    for part in every:
        for text in [part.title, part.xaxis.label, part.yaxis.label, *part.texts]:
            assert text in on_images or sum(to_rgba(text.get_color())[:3]) > 2.5
        for line in part.lines:
            assert to_rgba(line.get_color()) != (0, 0, 0, 1)


@pytest.mark.parametrize("name", OF_MODEL)
def test_a_model_that_is_not_fitted_is_refused(name):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        OF_MODEL[name](LatentSimplexPosition())


@pytest.mark.parametrize("plot", [plot_coassignment, plot_memberships, plot_membership_bars, plot_simplex])
def test_a_part_of_arrays_is_refused(plot):
    with pytest.raises(ValueError, match="part of a fitted model"):
        plot(np.eye(3), pattern=0)


@pytest.mark.parametrize("plot", [plot_coassignment, plot_memberships, plot_simplex, plot_uncertainty])
def test_a_view_and_a_pattern_at_once_are_refused(plot):
    with pytest.raises(ValueError, match="Both view and pattern"):
        plot(model(), view=0, pattern=0)


def test_every_figure_is_public():
    assert {name for name in vars(plots) if name.startswith("plot_")} <= set(plots.__all__)


def test_title_is_shown(plot):
    ax = plot(title="what it is")
    assert "what it is" in [part.get_title() for part in [ax, *ax.child_axes]]


def test_new_figure_has_the_size_asked_for():
    assert new_figure(5, 2).get_size_inches().tolist() == [5, 2]
    figure, axes = panels(2, 3, width=1.5, height=2)
    assert axes.shape == (2, 3)
    assert figure.get_size_inches().tolist() == [4.5, 4]


# Scatter


def test_scatter_has_one_colour_for_each_cluster():
    drawn = collections(plot_scatter(points(), LABELS), PathCollection)
    assert [len(cluster.get_offsets()) for cluster in drawn] == [6, 3, 3]
    assert len({tuple(cluster.get_facecolor()[0]) for cluster in drawn}) == 3
    np.testing.assert_allclose(drawn[1].get_offsets(), points()[LABELS == 1])


def test_scatter_cuts_heavy_tails_only_when_asked():
    wild = points()
    wild[0] = 1e6
    assert plot_scatter(wild, LABELS).get_xlim()[1] > 1e6
    ax = plot_scatter(wild, LABELS, tail=0.1)
    assert ax.get_xlim()[1] < 1e3
    assert ax.get_ylim()[1] < 1e3
    assert ax.get_xlim()[0] < np.median(wild[:, 0]) < ax.get_xlim()[1]


def test_styles_do_not_repeat_before_every_marker_was_used():
    styles = [cluster_style(k) for k in range(2 * len(CLUSTER_COLOURS))]
    assert len(set(styles)) == len(styles)


def test_a_cluster_keeps_its_colour_where_others_are_missing():
    assert [colour for _, colour, _ in clusters(np.array([4, 1]))] == [OKABE_ITO[1], OKABE_ITO[4]]
    assert [colour for _, colour, _ in clusters(np.array(["b", "a"]))] == list(OKABE_ITO[:2])


# Linear RGB as seen without one kind of cone, by Machado, Oliveira and Fernandes (2009), severity 1.
SIGHT = {
    "all cones": np.eye(3),
    "no long": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "no medium": [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    "no short": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def seen(colours, sight):
    """CIELAB coordinates of colours to an eye."""
    rgb = np.array([to_rgba(colour)[:3] for colour in colours])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x, y, z = (XYZ @ np.clip(np.array(SIGHT[sight]) @ linear.T, 0, 1)) / np.array([[0.9505], [1], [1.089]])
    f = [np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116) for t in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])]).T


@pytest.mark.parametrize(("n", "least"), [(8, 15), (12, 15), (32, 9)])
@pytest.mark.parametrize("sight", SIGHT)
def test_cluster_colours_can_be_told_apart_by_every_eye(sight, n, least):
    lab = seen(CLUSTER_COLOURS[:n], sight)
    distance = np.linalg.norm(lab[:, None] - lab, axis=-1)[np.triu_indices(n, 1)]
    assert distance.min() > least


def test_cluster_colours_show_on_white_and_on_black():
    lightness = seen(CLUSTER_COLOURS, "all cones")[:, 0]
    assert 25 < lightness.min() < lightness.max() < 92


# Cluster graph


def test_cluster_graph_joins_every_pair_of_one_cluster_and_no_other():
    X = points()
    ax = plot_cluster_graph(X, LABELS)
    drawn = {
        frozenset(tuple(end) for end in segment)
        for edges in collections(ax, LineCollection)
        for segment in edges.get_segments()
    }
    pairs = [(i, j) for i in range(N) for j in range(i) if LABELS[i] == LABELS[j]]
    assert drawn == {frozenset([tuple(X[i]), tuple(X[j])]) for i, j in pairs}


def test_cluster_graph_shows_a_part_of_many_samples_and_says_so():
    ax = plot_cluster_graph(points(), LABELS, max_nodes=5, title="G")
    assert sum(len(nodes.get_offsets()) for nodes in collections(ax, PathCollection)) == 5
    assert ax.get_title() == "G\n5 of 12 samples"


# Heat maps


def test_heatmap_sorts_samples_by_cluster_and_marks_the_borders():
    S = similarity()
    ax = plot_heatmap(S, LABELS)
    order = [i for k in range(3) for i in range(N) if LABELS[i] == k]
    np.testing.assert_array_equal(ax.images[0].get_array(), S[order][:, order])
    across = [line.get_ydata()[0] for line in ax.lines if line.get_ydata()[0] == line.get_ydata()[1]]
    assert sorted(across) == [5.5, 8.5]


def test_heatmap_sorts_within_a_cluster_by_the_second_key():
    S, within = similarity(), -np.arange(N)
    order = [i for k in range(3) for i in reversed(range(N)) if LABELS[i] == k]
    ax = plot_heatmap(S, LABELS, within)
    np.testing.assert_array_equal(ax.images[0].get_array(), S[order][:, order])


def test_heatmap_without_labels_keeps_the_order():
    ax = plot_heatmap(similarity())
    np.testing.assert_array_equal(ax.images[0].get_array(), similarity())
    assert not ax.lines


def test_heatmap_colours_span_zero_to_one_whatever_the_values():
    assert plot_heatmap(0.2 * similarity()).images[0].get_clim() == (0, 1)


def test_memberships_leave_unused_columns_empty():
    W = np.eye(3)[LABELS]
    ax = plot_memberships(W, n_columns=5)
    shown = np.ma.getdata(ax.images[0].get_array())
    np.testing.assert_array_equal(shown[:, :3], W)
    assert np.isnan(shown[:, 3:]).all()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2", "3", "4", "5"]


def test_memberships_sort_samples_by_cluster():
    W = np.random.default_rng(1).dirichlet(np.ones(3), size=N)
    order = [i for k in range(3) for i in range(N) if LABELS[i] == k]
    np.testing.assert_array_equal(plot_memberships(W, LABELS).images[0].get_array(), W[order])


# Joint plot


def test_joint_histograms_count_every_sample():
    ax = plot_joint(*points().T, LABELS, names=("one", "two"))
    above, beside = ax.child_axes
    assert sum(bar.get_height() for bar in above.patches) == N
    assert sum(bar.get_width() for bar in beside.patches) == N
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("one", "two")
    assert above.patches[0].get_facecolor()[:3] not in {to_rgba(colour)[:3] for colour in OKABE_ITO}


# Weights


def test_weights_have_a_bar_up_to_the_bound():
    ax = plot_weights(np.array([0.7, 0.3]), n_bars=4, expected=0.25)
    assert [bar.get_height() for bar in ax.patches] == [0.7, 0.3, 0, 0]
    assert [text.get_text() for text in ax.texts] == ["0.70", "0.30", "0.00", "0.00"]
    assert ax.get_xticks().tolist() == [1, 2, 3, 4]
    assert ax.lines[0].get_ydata() == [0.25, 0.25]


def test_weights_without_a_bound_or_a_line():
    ax = plot_weights(np.array([0.7, 0.3]))
    assert len(ax.patches) == 2
    assert not ax.lines


# Maxima


def test_maxima_have_a_bar_and_two_marks_for_each_covariate():
    ax = plot_maxima(["a", "b"], *maxima(), cut_off=0.2)
    assert [bar.get_width() for bar in ax.patches] == [0.3, 0.1]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]
    thresholds, baselines = (marks.get_offsets()[:, 0].tolist() for marks in collections(ax, PathCollection))
    assert (thresholds, baselines) == ([0.2, 0.15], [0.12, 0.4])
    assert ax.lines[0].get_xdata() == [0.2, 0.2]
    assert ax.get_ylim() == (1.5, -0.5)  # the first at the top
    assert ax.get_xlim()[1] > 0.4


def test_maxima_that_chance_explains_are_grey():
    ax = plot_maxima(["a", "b"], *maxima(), cut_off=0.2)
    notable, quiet = (bar.get_facecolor() for bar in ax.patches)
    assert notable == to_rgba(OKABE_ITO[5])
    assert len(set(quiet[:3])) == 1


# Top views


def test_top_views_stand_side_by_side():
    blocks = [np.array([[0.5, 0.4], [0.1, 0.0]]), np.array([[0.2], [0.3]])]
    ax = plot_top_views(["a", "b"], blocks)
    np.testing.assert_array_equal(ax.images[0].get_array(), [[0.5, 0.4, 0.2], [0.1, 0.0, 0.3]])
    assert ax.get_xticks().tolist() == [0.5, 2]
    assert ax.images[0].get_clim() == (0, 0.5)


def test_top_views_of_nothing_look_like_nothing():
    ax = plot_top_views(["a"], [np.zeros((1, 3))])
    assert ax.images[0].get_clim() == (0, 0.1)


# Reliability


def drawn_reliability(forecast, outcome):
    """Return the forecasts and frequencies of the points that are drawn."""
    return plot_reliability({"one": (forecast, outcome)}).lines[1].get_xydata().T


def test_reliability_of_a_calibrated_forecast_is_the_diagonal():
    rng = np.random.default_rng(0)
    forecast = rng.uniform(size=20_000)
    means, frequencies = drawn_reliability(forecast, rng.uniform(size=20_000) < forecast)
    assert len(means) == 10
    np.testing.assert_allclose(frequencies, means, atol=0.04)


def test_reliability_shows_overconfidence_and_leaves_out_what_is_too_rare():
    forecast = np.r_[np.full(5000, 0.95), 0.55]
    means, frequencies = drawn_reliability(forecast, np.r_[np.arange(5000) % 2, 1])
    assert means.tolist() == pytest.approx([0.95])
    assert frequencies.tolist() == pytest.approx([0.5])
