"""Memberships as a heat map and as bars: order, numbers and colours, few samples or many."""

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgba

from latentsimplex.plots import plot_membership_bars, plot_memberships
from latentsimplex.plots.palette import OKABE_ITO, cluster_colour
from plots.drawn import BY_CLUSTER, MORE_LABELS, N, W, large_memberships, pieces, said, small_model


def test_memberships_leave_unused_columns_empty():
    W = np.eye(3)[MORE_LABELS]
    ax = plot_memberships(W, n_columns=5)
    shown = np.ma.getdata(ax.images[0].get_array())
    np.testing.assert_array_equal(shown[:, :3], W)
    assert np.isnan(shown[:, 3:]).all()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "1", "2", "3", "4"]


def test_memberships_sort_samples_by_cluster():
    W = np.random.default_rng(1).dirichlet(np.ones(3), size=N)
    order = [i for k in range(3) for i in range(N) if MORE_LABELS[i] == k]
    np.testing.assert_array_equal(plot_memberships(W, MORE_LABELS).images[0].get_array(), W[order])


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
    assert pieces(ax)[0].get_facecolor() == to_rgba(cluster_colour(2))
    assert ax.patches[2].get_facecolor() == to_rgba(cluster_colour(2))


@pytest.mark.parametrize("plot", [plot_memberships, plot_membership_bars])
def test_what_is_no_memberships_is_refused(plot):
    with pytest.raises(ValueError, match="do not add up to 1"):
        plot(2 * W)
    with pytest.raises(ValueError, match=r"labels has shape \(3,\) and there are 5 samples"):
        plot(W, [0, 1, 2])
