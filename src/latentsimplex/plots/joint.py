"""Two one-dimensional views against each other, with the histogram of each (Figure 6)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from latentsimplex._types import Array
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.palette import clusters, ink

BINS = 30
MARGIN = 0.22
"""Height of a marginal histogram as a share of the panel."""


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
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
        That of the scatter plot; the histograms are its child axes.
    """
    ax = axes_or_new(ax)
    for members, colour, marker in clusters(labels):
        ax.scatter(x[members], y[members], s=12, c=colour, marker=marker, alpha=0.75, linewidths=0)
    above = ax.inset_axes((0, 1.02, 1, MARGIN), sharex=ax)
    beside = ax.inset_axes((1.02, 0, MARGIN, 1), sharey=ax)
    above.hist(x, bins=BINS, color=ink(ax), alpha=0.5)
    beside.hist(y, bins=BINS, color=ink(ax), alpha=0.5, orientation="horizontal")
    for margin in (above, beside):
        margin.set_axis_off()
    above.set_title(title)
    ax.set(xlabel=names[0], ylabel=names[1])
    return ax
