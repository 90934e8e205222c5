"""A cluster graph: samples that share a cluster are joined (Figure 2)."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from latentsimplex._types import Array
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.palette import clusters


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
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
    """
    ax = axes_or_new(ax)
    shown, shown_labels = positions[:max_nodes], labels[:max_nodes]
    for members, colour, marker in clusters(shown_labels):
        nodes = shown[members]
        edges = LineCollection(
            list(combinations(nodes, 2)), colors=colour, linewidths=0.5, alpha=0.3, zorder=1
        )
        ax.add_collection(edges)
        ax.scatter(
            nodes[:, 0],
            nodes[:, 1],
            s=22,
            c=colour,
            marker=marker,
            edgecolors=ax.get_facecolor(),
            linewidths=0.5,
            zorder=2,
        )
    if len(shown) < len(positions):
        title = f"{title}\n{len(shown)} of {len(positions)} samples".lstrip()
    ax.set_title(title)
    ax.set_axis_off()
    return ax
