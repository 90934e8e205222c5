"""Memberships W as a heat map of samples by clusters (Figure 5)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from latentsimplex._types import Array
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.order import cluster_edges, sample_order
from latentsimplex.plots.palette import EMPTY, PROBABILITY


def plot_memberships(
    memberships: Array,
    labels: np.ndarray | None = None,
    within: np.ndarray | None = None,
    *,
    n_columns: int | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw memberships, a row for each sample and a column for each cluster.

    Parameters
    ----------
    memberships : (n, clusters) array
    labels : (n,) array or None
        Samples are put in the order of these, with lines between clusters.
    within : (n,) array or None
        The order within a cluster; None keeps that of the samples.
    n_columns : int or None
        The upper bound on clusters. Columns up to it that no sample uses are grey.
    title : str
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
    """
    ax = axes_or_new(ax)
    n, used = memberships.shape
    width = max(used, n_columns or 0)
    if labels is not None:
        memberships = memberships[sample_order(labels, within)]
    padded = np.full((n, width), np.nan)
    padded[:, :used] = memberships
    ax.set_facecolor(EMPTY)
    ax.imshow(padded, vmin=0, vmax=1, cmap=PROBABILITY, aspect="auto", interpolation="nearest")
    if labels is not None:
        for edge in cluster_edges(labels):
            ax.axhline(edge, color="white", linewidth=0.8)
    ax.set(title=title, xlabel="cluster", ylabel="sample", yticks=[])
    ax.set_xticks(range(width), [str(k + 1) for k in range(width)])
    return ax
