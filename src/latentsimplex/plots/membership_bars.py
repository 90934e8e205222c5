"""Memberships as bars: a bar for each sample, filled by the probabilities of its clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from latentsimplex._types import Array
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.cells import cells_of
from latentsimplex.plots.marks import small_print, strips
from latentsimplex.plots.of_model import is_model, membership_part, one_each, refuse_part
from latentsimplex.plots.palette import cluster_style
from latentsimplex.uncertainty import check_memberships

MOST_BARS = 500
ONE_COLUMN, MOST_LEGEND = 7, 14
"""Clusters of a legend; of more, the numbers below the bars tell which is which."""


def plot_membership_bars(
    memberships: LatentSimplexPosition | Array,
    labels: np.ndarray | None = None,
    *,
    view: int | str | None = None,
    pattern: int | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw each sample's memberships as one stacked bar, samples sorted by cluster, the surest first.

    A bar of one colour is a sample without doubt. More than 1,000 samples are drawn as means over neighbours
    in this order, and the figure says so.

    Parameters
    ----------
    memberships : fitted LatentSimplexPosition or (n, clusters) array
    labels : (n,) array or None
        Samples are put in the order of these. None is the clusters of a model; with an array, the most
        probable cluster of each sample.
    view, pattern : int, str or None
        Which part of a model; without either it is the heaviest pattern.
    title : str or None
        None says which part of a model it is.
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
        The k-th of ``ax.patches`` is cluster k.
    """
    if is_model(memberships):
        part = membership_part(memberships, view, pattern)
        W = part.P.factor
        labels = part.labels if labels is None else labels
        title = f"memberships: {part.name}" if title is None else title
    else:
        refuse_part(view, pattern)
        W = check_memberships(memberships)
    labels = W.argmax(axis=1) if labels is None else one_each(labels, len(W))
    ax = axes_or_new(ax, 7.5, 2.8)
    cells = cells_of(labels, -W.max(axis=1), MOST_BARS)
    tops = np.cumsum(cells.means(W), axis=1)
    edges = np.arange(len(cells.starts) + 1) - 0.5
    bottoms = np.c_[np.zeros(len(tops)), tops[:, :-1]]
    for k in range(W.shape[1]):
        colour = cluster_style(k)[0]
        ax.stairs(
            tops[:, k], edges, baseline=bottoms[:, k], fill=True, color=colour, linewidth=0, label=str(k)
        )
    ax.set(xlim=(edges[0], edges[-1]), ylim=(0, 1), yticks=[0, 0.5, 1], ylabel="probability")
    strips(ax, cells, left=False)
    ax.set(title=title or "", xlabel="samples by cluster")
    if 1 < W.shape[1] <= MOST_LEGEND:
        place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
        columns = 1 if W.shape[1] <= ONE_COLUMN else 2
        ax.legend(title="cluster", **place, frameon=False, fontsize=8, ncols=columns)
    small_print(ax, cells.said("bar", "samples"), 90)
    return ax
