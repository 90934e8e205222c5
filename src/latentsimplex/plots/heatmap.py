"""A similarity or co-assignment matrix as a heat map (Figures 3, 4 and 6, and the appendix)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from latentsimplex._types import Array
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.order import cluster_edges, sample_order
from latentsimplex.plots.palette import PROBABILITY


def plot_heatmap(
    matrix: Array,
    labels: np.ndarray | None = None,
    within: np.ndarray | None = None,
    *,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a symmetric matrix of values in [0, 1]; its image is ``ax.images[0]``, for a colour bar.

    Parameters
    ----------
    matrix : (n, n) array
    labels : (n,) array or None
        Samples are put in the order of these, with lines between clusters.
    within : (n,) array or None
        The order within a cluster; None keeps that of the samples.
    title : str
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
    """
    ax = axes_or_new(ax)
    if labels is not None:
        order = sample_order(labels, within)
        matrix = matrix[np.ix_(order, order)]
    # where pixels are fewer than samples, average the values and not their colours
    ax.imshow(matrix, vmin=0, vmax=1, cmap=PROBABILITY, interpolation_stage="data")
    if labels is not None:
        for edge in cluster_edges(labels):
            ax.axhline(edge, color="white", linewidth=0.8)
            ax.axvline(edge, color="white", linewidth=0.8)
    ax.set(title=title, xticks=[], yticks=[])
    return ax
