"""Co-assignments as heat maps: the order of samples, strips and borders, few samples or many."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex

from latentsimplex.plots import plot_coassignment, plot_heatmap
from latentsimplex.plots.palette import OKABE_ITO
from latentsimplex.results.coassignment import CoAssignment
from made_model import made_model
from plots.drawn import (
    BY_CLUSTER,
    MORE_LABELS,
    N,
    W,
    large_memberships,
    pieces,
    said,
    similarity,
    small_model,
)


def test_heatmap_sorts_samples_by_cluster_and_marks_the_borders():
    S = similarity()
    ax = plot_heatmap(S, MORE_LABELS)
    order = [i for k in range(3) for i in range(N) if MORE_LABELS[i] == k]
    np.testing.assert_array_equal(ax.images[0].get_array(), S[order][:, order])
    across = [line.get_ydata()[0] for line in ax.lines if line.get_ydata()[0] == line.get_ydata()[1]]
    assert sorted(across) == [5.5, 8.5]


def test_heatmap_sorts_within_a_cluster_by_the_second_key():
    S, within = similarity(), -np.arange(N)
    order = [i for k in range(3) for i in reversed(range(N)) if MORE_LABELS[i] == k]
    ax = plot_heatmap(S, MORE_LABELS, within)
    np.testing.assert_array_equal(ax.images[0].get_array(), S[order][:, order])


def test_heatmap_without_labels_keeps_the_order():
    ax = plot_heatmap(similarity())
    np.testing.assert_array_equal(ax.images[0].get_array(), similarity())
    assert not ax.lines


def test_heatmap_colours_span_zero_to_one_whatever_the_values():
    assert plot_heatmap(0.2 * similarity()).images[0].get_clim() == (0, 1)


def test_coassignment_of_a_pattern_is_sorted_by_cluster_and_sureness(ax):
    plot_coassignment(small_model(), pattern=0, ax=ax)
    P = W @ W.T
    np.testing.assert_allclose(ax.images[0].get_array(), P[np.ix_(BY_CLUSTER, BY_CLUSTER)])
    assert ax.get_title() == "co-assignment: pattern 0, 2 views"
    assert said(ax) == ""


def test_coassignment_has_a_strip_of_the_clusters_along_two_edges(ax):
    plot_coassignment(small_model(), pattern=0, ax=ax)
    left, below = pieces(ax)[:2], pieces(ax)[2:]
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
