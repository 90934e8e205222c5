"""The simplex: samples lie where their memberships put them, few clusters or many."""

import numpy as np
import pytest

from latentsimplex.plots import plot_simplex
from plots.drawn import W, dots, large_memberships, said, small_model


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
