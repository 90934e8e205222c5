"""Colours of clusters stay apart, for every eye, and stay with their clusters."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from latentsimplex.plots.palette import CLUSTER_COLOURS, OKABE_ITO, cluster_style, split_by_cluster

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


def test_styles_do_not_repeat_before_every_marker_was_used():
    styles = [cluster_style(k) for k in range(2 * len(CLUSTER_COLOURS))]
    assert len(set(styles)) == len(styles)


def test_a_cluster_keeps_its_colour_where_others_are_missing():
    assert [colour for _, colour, _ in split_by_cluster(np.array([4, 1]))] == [OKABE_ITO[1], OKABE_ITO[4]]
    assert [colour for _, colour, _ in split_by_cluster(np.array(["b", "a"]))] == list(OKABE_ITO[:2])


@pytest.mark.parametrize(("n", "least"), [(8, 15), (12, 15), (32, 9)])
@pytest.mark.parametrize("sight", SIGHT)
def test_cluster_colours_can_be_told_apart_by_every_eye(sight, n, least):
    lab = seen(CLUSTER_COLOURS[:n], sight)
    distance = np.linalg.norm(lab[:, None] - lab, axis=-1)[np.triu_indices(n, 1)]
    assert distance.min() > least


def test_cluster_colours_show_on_white_and_on_black():
    lightness = seen(CLUSTER_COLOURS, "all cones")[:, 0]
    assert 25 < lightness.min() < lightness.max() < 92
