"""Figures of samples: what they draw of co-assignments, memberships and doubt, few samples or many."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex, to_rgba
from matplotlib.patches import Rectangle
from scipy.spatial.distance import squareform

from latentsimplex import LatentSimplexPosition, load
from latentsimplex.coassignment import CoAssignment
from latentsimplex.datasets import running_example
from latentsimplex.plots import (
    panels,
    plot_coassignment,
    plot_membership_bars,
    plot_memberships,
    plot_similarity,
    plot_simplex,
    plot_uncertainty,
)
from latentsimplex.plots.cells import cells_of
from latentsimplex.plots.palette import OKABE_ITO, cluster_style
from latentsimplex.plots.similarity import view_similarity
from latentsimplex.plots.uncertainty import affinity_positions
from latentsimplex.similarity import LocalScaling
from made_model import made_model, random_model

W = np.array([[0.9, 0.1], [0.2, 0.8], [1.0, 0.0], [0.3, 0.7], [0.6, 0.4]])
LABELS = np.array([0, 1, 0, 1, 0])
BY_CLUSTER = [2, 0, 4, 1, 3]
"""The samples of W by cluster, the surest first."""


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


@pytest.fixture(name="ax")
def _ax():
    return panels(1, 1, 6, 5)[1][0, 0]


def small_model():
    return made_model([W, np.ones((5, 1))], [0, 1, 0], view_names=["one", "two", "three"])


def large_memberships(n=20_000, k=30, seed=0):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(k, 0.05), size=n)


def said(ax):
    """All texts of a panel, lines joined."""
    return " ".join(text.get_text().replace("\n", " ") for text in ax.texts)


def dots(ax):
    return [drawn for drawn in ax.collections if isinstance(drawn, PathCollection)]


def pieces(ax):
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


# Cells


def test_cells_are_samples_as_long_as_they_are_few():
    cells = cells_of(np.array([1, 0, 1, 0]), np.array([4, 3, 2, 1]), most=2)
    assert cells.order.tolist() == [3, 1, 2, 0]
    assert cells.whole
    assert cells.said("cell", "samples") == ""


def test_cells_keep_to_clusters_and_every_cluster_has_one():
    labels = np.r_[np.zeros(1), np.ones(5000), np.full(15_000, 2)].astype(int)
    cells = cells_of(labels, most=100)
    sizes = np.diff(np.r_[cells.starts, len(labels)])
    assert np.bincount(cells.groups).tolist() == [1, 25, 75]
    assert [sizes[cells.groups == k].sum() for k in range(3)] == [1, 5000, 15_000]
    assert set(sizes[1:]) == {200}
    assert cells.borders.tolist() == [0, 1, 26, 101]
    assert cells.said("cell", "samples") == "20,001 samples: each cell is a mean over about 200"


def test_means_over_cells_are_those_of_their_samples():
    rng = np.random.default_rng(0)
    labels, values = rng.integers(3, size=50), rng.normal(size=(50, 2))
    cells = cells_of(labels, values[:, 0], most=7)
    parts = np.split(cells.order, cells.starts[1:])
    np.testing.assert_allclose(cells.means(values), [values[part].mean(axis=0) for part in parts])


# Co-assignments


def test_coassignment_of_a_pattern_is_sorted_by_cluster_and_sureness(ax):
    plot_coassignment(small_model(), pattern=0, ax=ax)
    P = W @ W.T
    np.testing.assert_allclose(ax.images[0].get_array(), P[np.ix_(BY_CLUSTER, BY_CLUSTER)])
    assert ax.get_title() == "co-assignment: pattern 0, 2 views"
    assert said(ax) == ""


def test_coassignment_has_a_strip_of_the_clusters_along_two_edges(ax):
    plot_coassignment(small_model(), pattern=0, ax=ax)
    left, below = pieces(ax)[::2], pieces(ax)[1::2]
    assert [(piece.get_y(), piece.get_height()) for piece in left] == [(-0.5, 3), (2.5, 2)]
    assert [(piece.get_x(), piece.get_width()) for piece in below] == [(-0.5, 3), (2.5, 2)]
    assert all(piece.get_x() + piece.get_width() < 0 for piece in left)
    assert [to_hex(piece.get_facecolor()).upper() for piece in left] == list(OKABE_ITO[:2])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0", "1"]
    assert ax.get_xticks().tolist() == [1, 3.5]
    assert {line.get_xdata()[0] for line in ax.lines} == {0, 2.5}


def test_coassignment_without_a_part_is_the_consensus(ax):
    plot_coassignment(small_model(), ax=ax)
    assert ax.get_title() == "co-assignment: consensus of 2 of 3 views"
    assert ax.images[0].get_array().shape == (5, 5)


def test_coassignment_of_a_view_is_that_of_its_pattern(ax):
    plot_coassignment(small_model(), view="two", ax=ax)
    np.testing.assert_array_equal(ax.images[0].get_array(), np.ones((5, 5)))
    assert ax.get_title() == "co-assignment: two, pattern 1"
    assert not pieces(ax)  # one cluster has no neighbours to be told from


def test_coassignment_of_arrays_keeps_their_order_without_labels(ax):
    P = W @ W.T
    plot_coassignment(P, ax=ax)
    np.testing.assert_allclose(ax.images[0].get_array(), P)


def test_coassignment_takes_labels_of_any_kind(ax):
    plot_coassignment(W @ W.T, np.array(["new", "old", "new", "old", "new"]), ax=ax)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["new", "old"]


def test_parts_of_a_cluster_that_views_disagree_about_stay_together(ax):
    """Two patterns of two clusters each, crossed: in the consensus a cluster of one is two halves of the other."""
    first, second = np.repeat([0, 1], 20), np.tile([0, 1], 20)
    model = made_model([np.eye(2)[first], np.eye(2)[second]], [0, 0, 1])
    plot_coassignment(model, first, ax=ax)
    halves = np.rint(3 * ax.images[0].get_array()[0]).astype(int)
    assert halves.tolist() == [3] * 10 + [2] * 10 + [1] * 10 + [0] * 10 or halves.tolist() == (
        [3] * 10 + [2] * 10 + [0] * 10 + [1] * 10
    )


def test_coassignment_of_many_samples_is_averaged_and_says_so(ax):
    memberships = large_memberships()
    P, labels = CoAssignment(memberships), memberships.argmax(axis=1)
    plot_coassignment(P, labels, ax=ax)
    drawn = np.asarray(ax.images[0].get_array())
    assert 300 <= len(drawn) <= 330
    sizes = np.bincount(labels)
    first = round(300 * sizes[0] / 20_000)
    own = memberships[labels == 0]
    np.testing.assert_allclose(drawn[:first, :first].mean(), (own @ own.mean(axis=0)).mean(), rtol=0.02)
    assert "20,000 samples: each cell is a mean over about" in said(ax)


def test_coassignment_of_many_samples_forms_no_matrix_of_all_pairs(ax):
    memberships = large_memberships(k=5)
    labels = memberships.argmax(axis=1)
    tracemalloc.start()
    plot_coassignment(CoAssignment(memberships), labels, ax=ax)
    ax.figure.canvas.draw()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6 < 8 * 20_000**2


def test_numbers_of_small_clusters_do_not_run_together(ax):
    memberships = large_memberships(k=60)
    plot_coassignment(CoAssignment(memberships), memberships.argmax(axis=1), ax=ax)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.get_xticklabels()]
    assert len(boxes) > 10
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
    assert len(pieces(ax)) == 2 * 60


def test_what_is_no_matrix_of_pairs_is_refused():
    with pytest.raises(ValueError, match=r"shape \(5, 2\).*square"):
        plot_coassignment(W)
    with pytest.raises(ValueError, match=r"labels has shape \(3,\) and there are 5 samples"):
        plot_coassignment(W @ W.T, [0, 1, 2])


# Similarities


def test_similarity_is_drawn_beside_the_coassignment_in_one_order(ax):
    S = np.sqrt(W @ W.T)
    plot_similarity(CoAssignment(W), S, LABELS, ax=ax)
    left, right = ax.child_axes[:2]
    order = np.ix_(BY_CLUSTER, BY_CLUSTER)
    np.testing.assert_allclose(left.images[0].get_array(), S[order])
    np.testing.assert_allclose(right.images[0].get_array(), (W @ W.T)[order])
    assert left.images[0].get_clim() == right.images[0].get_clim() == (0, 1)
    assert (left.get_title(), right.get_title()) == ("similarity $S$", "co-assignment $P$")


@pytest.fixture(scope="module", name="fitted")
def _fitted():
    data = running_example(n_samples=30, separation=8, random_state=0).views
    model = LatentSimplexPosition(3, 2, similarity=LocalScaling(), n_init=1, max_iter=5, random_state=0)
    return model.fit(data), data


def test_similarity_of_a_model_is_computed_from_its_data(fitted, ax):
    model, data = fitted
    plot_similarity(model, data=data, view="view2", ax=ax)
    S = squareform(np.exp(-LocalScaling().exponents(data[2]))) + np.eye(30)
    drawn = np.asarray(ax.child_axes[0].images[0].get_array())
    np.testing.assert_allclose(np.sort(drawn.ravel()), np.sort(S.ravel()), atol=1e-5)
    np.testing.assert_allclose(view_similarity(model, data, "view2"), S, atol=1e-5)
    assert ax.get_title().startswith("view2, pattern")


def test_similarity_wants_the_data_of_the_fit(fitted):
    model, data = fitted
    with pytest.raises(ValueError, match="data holds 2 views of 30 samples"):
        plot_similarity(model, data=data[:2])
    with pytest.raises(ValueError, match="either similarity"):
        plot_similarity(model)
    with pytest.raises(ValueError, match="data goes with a fitted model"):
        plot_similarity(CoAssignment(W), data=data)
    with pytest.raises(ValueError, match="similarity has 3 samples and the co-assignments 5"):
        plot_similarity(CoAssignment(W), np.eye(3))


def test_similarity_of_too_many_samples_is_refused_before_it_is_computed():
    model = random_model(5001, 1, 2)
    with pytest.raises(MemoryError, match="5,001 samples"):
        view_similarity(model, [np.zeros((5001, 1))])


def test_similarity_that_a_file_cannot_hold_is_asked_for(tmp_path):
    data = [np.random.default_rng(0).normal(size=(8, 2))]

    def own(X):
        return np.exp(-np.abs(X[:, :1] - X[:, 0]))

    model = LatentSimplexPosition(2, 1, similarity=own, n_init=1, max_iter=2, random_state=0).fit(data)
    np.testing.assert_allclose(view_similarity(model, data), own(data[0]), atol=1e-6)
    model.save(tmp_path / "a.model")
    with pytest.raises(ValueError, match="cannot hold the function"):
        view_similarity(load(tmp_path / "a.model"), data)


# Memberships


def test_memberships_of_a_model_have_its_numbers_and_order(ax):
    plot_memberships(small_model(), ax=ax)
    np.testing.assert_allclose(ax.images[0].get_array(), W[BY_CLUSTER])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0", "1"]
    assert ax.get_title() == "memberships: pattern 0, 2 views"


def test_memberships_of_many_samples_are_averaged_and_say_so(ax):
    memberships = large_memberships(k=3)
    plot_memberships(memberships, memberships.argmax(axis=1), ax=ax)
    assert 198 <= len(ax.images[0].get_array()) <= 202
    assert "20,000 samples: each row is a mean over about 100" in said(ax)


def test_bars_are_stacked_memberships(ax):
    plot_membership_bars(small_model(), ax=ax)
    first, second = (patch.get_data() for patch in ax.patches[:2])
    np.testing.assert_allclose(first.values, W[BY_CLUSTER, 0])
    np.testing.assert_allclose(second.baseline, W[BY_CLUSTER, 0])
    np.testing.assert_allclose(second.values, 1)
    assert [to_hex(patch.get_facecolor()).upper() for patch in ax.patches[:2]] == list(OKABE_ITO[:2])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1"]


def test_bars_of_many_samples_are_averaged_and_say_so(ax):
    memberships = large_memberships()
    plot_membership_bars(memberships, ax=ax)
    tops = [patch.get_data().values for patch in ax.patches[:30]]
    heights = np.diff([np.zeros_like(tops[0]), *tops], axis=0)
    np.testing.assert_allclose(heights.sum(axis=0), 1)
    np.testing.assert_allclose(heights.mean(axis=1), memberships.mean(axis=0), atol=0.003)
    assert "20,000 samples: each bar is a mean over about 40" in said(ax)
    assert ax.get_legend() is None  # thirty entries would be as high as the figure


def test_bars_have_the_colour_of_their_strip_where_a_label_is_missing(ax):
    memberships = np.full((4, 3), [0.1, 0.2, 0.7])
    plot_membership_bars(memberships, np.array([2, 2, 2, 2]), ax=ax)
    assert pieces(ax)[0].get_facecolor() == to_rgba(cluster_style(2)[0])
    assert ax.patches[2].get_facecolor() == to_rgba(cluster_style(2)[0])


# The simplex


def test_three_clusters_are_a_triangle_with_samples_at_barycentric_places(ax):
    memberships = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]])
    plot_simplex(memberships, ax=ax)
    top, right, left = (drawn.get_offsets()[-1] for drawn in dots(ax)[:3])
    places = np.vstack([drawn.get_offsets() for drawn in dots(ax)])
    sides = [np.linalg.norm(a - b) for a, b in ((top, right), (right, left), (left, top))]
    np.testing.assert_allclose(sides, sides[0])
    assert np.abs(places - (top + right) / 2).sum(axis=1).min() < 1e-12
    assert "cluster 0 2 samples" in said(ax)
    assert "projected" not in said(ax)


def test_two_clusters_are_a_segment(ax):
    plot_simplex(small_model(), ax=ax)
    places = np.vstack([drawn.get_offsets() for drawn in dots(ax)])
    assert sorted(places[:, 0]) == pytest.approx(sorted(W[:, 1]))
    assert len(set(places[:, 1])) == 5
    assert "only spreads" in said(ax)


def test_one_cluster_is_a_place(ax):
    plot_simplex(small_model(), pattern=1, ax=ax)
    assert set(dots(ax)[0].get_offsets()[:, 0]) == {0.5}
    assert "surely in it" in said(ax)


def test_more_clusters_are_projected_linearly_and_say_so(ax):
    rng = np.random.default_rng(0)
    memberships = np.vstack([np.eye(6), rng.dirichlet(np.ones(6), 40)])
    plot_simplex(memberships, ax=ax)
    corners = np.array([line.get_xydata()[0] for line in ax.lines if line.get_marker() == "o"])
    np.testing.assert_allclose(np.linalg.norm(corners, axis=1), 1)
    places = np.vstack([drawn.get_offsets() for drawn in dots(ax)])
    for expected in memberships @ corners:
        assert np.abs(places - expected).sum(axis=1).min() < 1e-9
    assert "6 clusters projected on the plane" in said(ax)


def test_clusters_that_share_samples_are_neighbours(ax):
    """Six clusters in a ring, each sharing samples with the next: the order of the ring is found."""
    ring = np.array([0, 3, 1, 5, 2, 4])
    memberships = np.vstack([0.5 * np.eye(6)[ring] + 0.5 * np.eye(6)[np.roll(ring, -1)]] * 3)
    plot_simplex(memberships, ax=ax)
    corners = np.array([line.get_xydata()[0] for line in ax.lines if line.get_marker() == "o"])
    steps = np.linalg.norm(corners[ring] - corners[np.roll(ring, -1)], axis=1)
    np.testing.assert_allclose(steps, 1)  # the side of a hexagon


def test_simplex_of_many_samples_is_thinned_evenly_and_says_so(ax):
    memberships = large_memberships(k=3)
    plot_simplex(memberships, ax=ax)
    shown = [len(drawn.get_offsets()) for drawn in dots(ax)]
    assert sum(shown) == 5000
    np.testing.assert_allclose(np.array(shown) * 4, np.bincount(memberships.argmax(axis=1)), atol=8)
    assert "5,000 of 20,000 samples" in said(ax)


# Uncertainty


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
