"""Views in the plane, coloured by cluster: points (Figures 1 and 7), graphs (Figure 2) and histograms (Figure 6)."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from latentsimplex.base.types import Array
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.palette import ink, split_by_cluster

BINS = 30
MARGIN = 0.22
"""Height of a marginal histogram as a share of the panel."""


def plot_scatter(
    points: Array, labels: np.ndarray, *, tail: float = 0.0, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw samples as points with a colour for each cluster.

    Parameters
    ----------
    points : (n, 2) array
    labels : (n,) array
    tail : float in [0, 0.5)
        Share of the samples at each end of a coordinate that may fall outside the frame: heavy tails
        would otherwise leave the bulk in one dot.
    title : str
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
    """
    ax = axes_or_new(ax)
    draw_points(ax, points, labels, s=12, alpha=0.75, linewidths=0)
    if tail > 0:
        low, high = np.quantile(points, [tail, 1 - tail], axis=0)
        margin = 0.05 * (high - low)
        ax.set_xlim(low[0] - margin[0], high[0] + margin[0])
        ax.set_ylim(low[1] - margin[1], high[1] + margin[1])
    ax.set(title=title, xlabel="first coordinate", ylabel="second coordinate")
    return ax


def plot_joint(
    x: Array,
    y: Array,
    labels: np.ndarray,
    *,
    names: tuple[str, str] = ("", ""),
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw samples by their values in two views, coloured by cluster, between marginal histograms.

    The histograms have one colour, because they are all that a single view tells.

    Parameters
    ----------
    x, y : (n,) arrays
    labels : (n,) array
    names : pair of str
        What the two views are called.
    title : str
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
        That of the scatter plot; the histograms are its child axes.
    """
    ax = axes_or_new(ax)
    draw_points(ax, np.c_[x, y], labels, s=12, alpha=0.75, linewidths=0)
    above = ax.inset_axes((0, 1.02, 1, MARGIN), sharex=ax)
    beside = ax.inset_axes((1.02, 0, MARGIN, 1), sharey=ax)
    above.hist(x, bins=BINS, color=ink(ax), alpha=0.5)
    beside.hist(y, bins=BINS, color=ink(ax), alpha=0.5, orientation="horizontal")
    for margin in (above, beside):
        margin.set_axis_off()
    above.set_title(title)
    ax.set(xlabel=names[0], ylabel=names[1])
    return ax


def plot_cluster_graph(
    positions: Array, labels: np.ndarray, *, max_nodes: int = 60, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw nodes where the samples are and an edge between any two of one cluster.

    Every cluster is a complete graph, so a few dozen nodes already have hundreds of edges. Of a larger
    sample the first ``max_nodes`` are drawn, and the title says so.

    Parameters
    ----------
    positions : (n, 2) array
    labels : (n,) array
    max_nodes : int
    title : str
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
    """
    ax = axes_or_new(ax)
    shown, labels = positions[:max_nodes], labels[:max_nodes]
    for members, colour, _ in split_by_cluster(labels):
        edges = list(combinations(shown[members], 2))
        ax.add_collection(LineCollection(edges, colors=colour, linewidths=0.5, alpha=0.3, zorder=1))
    draw_points(ax, shown, labels, s=22, edgecolors=ax.get_facecolor(), linewidths=0.5, zorder=2)
    if len(shown) < len(positions):
        title = f"{title}\n{len(shown)} of {len(positions)} samples".lstrip()
    ax.set_title(title)
    ax.set_axis_off()
    return ax


def draw_points(ax: Axes, points: Array, labels: np.ndarray, **style: Any) -> None:
    """Draw points (n, 2) in the colour and with the marker of their cluster; ``style`` goes to ``ax.scatter``."""
    for members, colour, marker in split_by_cluster(labels):
        x, y = points[members].T
        ax.scatter(x, y, c=colour, marker=marker, **style)
