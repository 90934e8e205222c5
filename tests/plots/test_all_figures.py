"""What all figures share: they draw on the axes they are given, follow its style, and leave no global state."""

from functools import partial

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgba
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from latentsimplex import LatentSimplexPosition, plots
from latentsimplex.analysis.screening import screen_model
from latentsimplex.plots import (
    new_figure,
    panels,
    plot_cluster_features,
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
from made_model import random_model
from plots.drawn import MORE_LABELS, N, maxima, points, similarity


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
    "cluster features": lambda model, **to: plot_cluster_features(model, [points(), points() ** 2], **to),
    "similarity": lambda model, **to: plot_similarity(model, np.eye(N), **to),
    "reliability of a model": lambda model, **to: plot_reliability(model, MORE_LABELS, **to),
}


PLOTS = {
    **{name: partial(of_made_model, plot) for name, plot in OF_MODEL.items()},
    "screening": lambda **to: plot_screening(screening(), **to),
    "scatter": lambda **to: plot_scatter(points(), MORE_LABELS, **to),
    "cluster graph": lambda **to: plot_cluster_graph(points(), MORE_LABELS, **to),
    "heatmap": lambda **to: plot_heatmap(similarity(), MORE_LABELS, **to),
    "memberships": lambda **to: plot_memberships(np.eye(3)[MORE_LABELS], MORE_LABELS, **to),
    "joint": lambda **to: plot_joint(*points().T, MORE_LABELS, **to),
    "maxima": lambda **to: plot_maxima(["a", "b"], *maxima(), cut_off=0.2, **to),
    "top views": lambda **to: plot_top_views(["a", "b"], [np.eye(2), np.eye(2)[:, :1]], **to),
    "reliability": lambda **to: plot_reliability({"one": (np.linspace(0, 1, 40), np.arange(40) % 2)}, **to),
    "weights": lambda **to: plot_weights(np.array([0.7, 0.3]), n_bars=4, **to),
}


@pytest.fixture(params=PLOTS, name="plot")
def _plot(request):
    return PLOTS[request.param]


def test_draws_on_the_axes_it_is_given(plot):
    _, axes = panels(1, 2)
    assert plot(ax=axes[0, 1]) is axes[0, 1]
    assert not axes[0, 0].has_data()


def test_leaves_pyplot_alone_where_it_is_given_axes(plot):
    before = pyplot.get_fignums()
    plot(ax=panels(1, 1)[1][0, 0])
    assert pyplot.get_fignums() == before


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
    with pytest.raises(NotFittedError):
        OF_MODEL[name](LatentSimplexPosition())


def draw(ax):
    ax.figure.canvas.draw()
    return np.asarray(ax.figure.canvas.buffer_rgba())


@pytest.mark.parametrize("name", OF_MODEL)
def test_results_are_drawn_as_the_model_that_holds_them(name):
    of_model, of_results = (
        OF_MODEL[name](source, ax=panels(1, 1)[1][0, 0]) for source in (model(), model().results_)
    )
    np.testing.assert_array_equal(draw(of_model), draw(of_results))


@pytest.mark.parametrize("name", OF_MODEL)
def test_an_estimator_of_another_kind_is_refused(name):
    with pytest.raises(TypeError, match="A fitted model is needed and a KMeans was given"):
        OF_MODEL[name](KMeans(2, n_init=1).fit(points()))


@pytest.mark.parametrize("source", [None, "fit.model", []], ids=repr)
@pytest.mark.parametrize("name", OF_MODEL)
def test_what_is_neither_a_model_nor_an_array_is_refused_in_one_sentence(name, source):
    with pytest.raises((TypeError, ValueError)) as raised:
        OF_MODEL[name](source)
    message = str(raised.value)
    assert "\n" not in message
    assert "give" in message or "leave" in message
    assert len(message) < 300


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
