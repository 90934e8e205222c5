"""Memberships W of samples in clusters: as a heat map (Figure 5), and as stacked bars."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from latentsimplex.base.types import Array
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.marks import (
    draw_borders,
    draw_colour_bar,
    draw_legend_beside,
    draw_strip,
    draw_table,
    write_small_print,
)
from latentsimplex.plots.model_parts import FittedModel, is_model, read_memberships
from latentsimplex.plots.palette import cluster_colour
from latentsimplex.plots.thinned import cut_into_cells

MOST_ROWS, MOST_BARS = 200, 500
MOST_NUMBERS = 16
"""Columns that are all numbered; of more, every fifth is."""
ONE_COLUMN, MOST_LEGEND = 7, 14
"""Clusters of a legend; of more, the numbers below the bars tell which is which."""


def plot_memberships(
    memberships: FittedModel | Array,
    labels: np.ndarray | None = None,
    within: np.ndarray | None = None,
    *,
    view: int | str | None = None,
    pattern: int | None = None,
    n_columns: int | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw memberships, a row for each sample and a column for each cluster.

    More than 400 samples are drawn as means over neighbours, and the figure says so.

    Parameters
    ----------
    memberships : fitted LatentSimplexPosition or (n, clusters) array
    labels : (n,) array or None
        Samples are put in the order of these, with lines between clusters. None is the clusters of a model,
        the surest first in each; with an array, the order given.
    within : (n,) array or None
        The order within a cluster; None keeps that of the samples.
    view, pattern : int, str or None
        Which part of a model; without either it is the heaviest pattern.
    n_columns : int or None
        The upper bound on clusters. Columns up to it that no sample uses are grey.
    title : str, or None to say which part of a model it is
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
        Its image is ``ax.images[0]``.
    """
    part = read_memberships(memberships, view, pattern)
    W: Array = part.values
    n, used = W.shape
    if labels is None and part.labels is not None:
        within = -W[np.arange(n), part.labels]
    labels = part.choose_labels(labels)
    ax = axes_or_new(ax)
    width = max(used, n_columns or 0)
    cells = cut_into_cells(np.zeros(n) if labels is None else labels, within, MOST_ROWS)
    padded = np.full((len(cells.starts), width), np.nan)
    padded[:, :used] = cells.means(W)
    image = draw_table(ax, padded)
    draw_borders(ax, cells.borders[1:-1])
    if is_model(memberships):
        draw_colour_bar(ax, image, "probability")
    ax.set(title=part.make_title("memberships", title), xlabel="cluster", ylabel="sample", yticks=[])
    ax.set_xticks(range(0, width, 1 if width <= MOST_NUMBERS else 5))
    write_small_print(ax, cells.explain("row", "samples"))
    return ax


def plot_membership_bars(
    memberships: FittedModel | Array,
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
    title : str, or None to say which part of a model it is
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
        The k-th of ``ax.patches`` is cluster k.
    """
    part = read_memberships(memberships, view, pattern)
    W: Array = part.values
    labels = part.choose_labels(labels)
    ax = axes_or_new(ax, 7.5, 2.8)
    cells = cut_into_cells(W.argmax(axis=1) if labels is None else labels, -W.max(axis=1), MOST_BARS)
    tops = np.cumsum(cells.means(W), axis=1)
    bottoms = np.c_[np.zeros(len(tops)), tops[:, :-1]]
    edges = np.arange(len(cells.starts) + 1) - 0.5
    for k in range(W.shape[1]):
        colour, name = cluster_colour(k), str(k)
        ax.stairs(tops[:, k], edges, baseline=bottoms[:, k], fill=True, color=colour, linewidth=0, label=name)
    ax.set(xlim=(edges[0], edges[-1]), ylim=(0, 1), yticks=[0, 0.5, 1], ylabel="probability")
    draw_strip(ax, cells, left=False)
    ax.set(title=part.make_title("memberships", title), xlabel="samples by cluster")
    if 1 < W.shape[1] <= MOST_LEGEND:
        draw_legend_beside(ax, "cluster", ncols=1 if W.shape[1] <= ONE_COLUMN else 2)
    write_small_print(ax, cells.explain("bar", "samples"), 90)
    return ax
