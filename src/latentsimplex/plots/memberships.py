"""Memberships W as a heat map of samples by clusters (Figure 5)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from latentsimplex._types import Array
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.cells import cells_of
from latentsimplex.plots.marks import colour_bar, small_print
from latentsimplex.plots.of_model import is_model, membership_part, one_each, refuse_part
from latentsimplex.plots.palette import EMPTY, PROBABILITY

MOST_ROWS = 200
MOST_NUMBERS = 16
"""Columns that are all numbered; of more, every fifth is."""


def plot_memberships(
    memberships: LatentSimplexPosition | Array,
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
        Columns of an array are counted from 1, as in the paper; clusters of a model have its numbers, from 0.
    labels : (n,) array or None
        Samples are put in the order of these, with lines between clusters. None is the clusters of a model,
        the surest first in each; with an array, the order given.
    within : (n,) array or None
        The order within a cluster; None keeps that of the samples.
    view, pattern : int, str or None
        Which part of a model; without either it is the heaviest pattern.
    n_columns : int or None
        The upper bound on clusters. Columns up to it that no sample uses are grey.
    title : str or None
        None says which part of a model it is.
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
        Its image is ``ax.images[0]``.
    """
    first = 0 if is_model(memberships) else 1
    if is_model(memberships):
        part = membership_part(memberships, view, pattern)
        if labels is None:
            labels, within = part.labels, -part.sureness
        W = part.P.factor
        title = f"memberships: {part.name}" if title is None else title
    else:
        refuse_part(view, pattern)
        W = np.asarray(memberships)
    ax = axes_or_new(ax)
    n, used = W.shape
    width = max(used, n_columns or 0)
    cells = cells_of(np.zeros(n) if labels is None else one_each(labels, n), within, MOST_ROWS)
    padded = np.full((len(cells.starts), width), np.nan)
    padded[:, :used] = cells.means(W)
    ax.set_facecolor(EMPTY)
    image = ax.imshow(padded, vmin=0, vmax=1, cmap=PROBABILITY, aspect="auto", interpolation="nearest")
    for edge in cells.borders[1:-1]:
        ax.axhline(edge - 0.5, color="white", linewidth=0.8)
    if is_model(memberships):
        colour_bar(ax, image, "probability")
    ax.set(title=title or "", xlabel="cluster", ylabel="sample", yticks=[])
    numbered = range(0, width, 1 if width <= MOST_NUMBERS else 5)
    ax.set_xticks(numbered, [str(k + first) for k in numbered])
    small_print(ax, cells.said("row", "samples"))
    return ax
