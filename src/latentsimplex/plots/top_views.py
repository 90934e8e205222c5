"""Scores of the top views of each of a few covariates, with all of these covariates (Figure 10b)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from latentsimplex._types import Array
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.palette import PROBABILITY

LEAST_TOP = 0.1
"""The colours reach this far at least, so that scores of nearly nothing look like it."""


def plot_top_views(
    names: Sequence[str],
    scores: Sequence[Array],
    *,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a row for each covariate and a block of columns for the top views of each.

    Where covariates go with views of their own, the blocks along the diagonal stand out. The image is
    ``ax.images[0]``, for a colour bar.

    Parameters
    ----------
    names : sequence of str
    scores : sequence of (covariates, views) arrays
        Block k holds the scores of all covariates with the top views of covariate k, best first.
    title : str
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
    """
    ax = axes_or_new(ax)
    values = np.hstack(scores)
    ax.imshow(
        values,
        vmin=0,
        vmax=max(LEAST_TOP, values.max()),
        cmap=PROBABILITY,
        aspect="auto",
        interpolation="nearest",
    )
    ends = np.cumsum([block.shape[1] for block in scores])
    for edge in ends[:-1]:
        ax.axvline(edge - 0.5, color="white", linewidth=2)
    for edge in range(1, len(names)):
        ax.axhline(edge - 0.5, color="white", linewidth=2)
    centres = ends - np.array([block.shape[1] for block in scores]) / 2 - 0.5
    ax.set_xticks(centres, names, fontsize=8, rotation=20, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.tick_params(length=0)
    ax.set(title=title, xlabel="the covariate whose top views these are")
    return ax
