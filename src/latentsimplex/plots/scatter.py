"""A view in the plane, coloured by cluster (Figures 1 and 7)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from latentsimplex._types import Array
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.palette import clusters


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
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
    """
    ax = axes_or_new(ax)
    for members, colour, marker in clusters(labels):
        x, y = points[members].T
        ax.scatter(x, y, s=12, c=colour, marker=marker, alpha=0.75, linewidths=0)
    if tail > 0:
        low, high = np.quantile(points, [tail, 1 - tail], axis=0)
        margin = 0.05 * (high - low)
        ax.set_xlim(low[0] - margin[0], high[0] + margin[0])
        ax.set_ylim(low[1] - margin[1], high[1] + margin[1])
    ax.set(title=title, xlabel="first coordinate", ylabel="second coordinate")
    return ax
