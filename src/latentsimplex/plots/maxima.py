"""The largest score of each covariate over all views, beside what chance gives (Figure 10a)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from latentsimplex._types import Array
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.marks import faint
from latentsimplex.plots.palette import OKABE_ITO, QUIET, ink


def plot_maxima(
    names: Sequence[str],
    largest: Array,
    thresholds: Array,
    baselines: Array,
    notable: np.ndarray,
    *,
    cut_off: float,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a bar for each covariate, the first at the top.

    Parameters
    ----------
    names : sequence of str
    largest : (covariates,) array
        The length of the bars.
    thresholds, baselines : (covariates,) arrays
        What permuted covariates exceed in one of twenty, and what random labels reach: a mark on each bar.
    notable : (covariates,) array of bool
        Which bars are coloured, the others being grey.
    cut_off : float
        Where a dashed line goes.
    title : str
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
    """
    ax = axes_or_new(ax)
    rows = np.arange(len(names))
    ax.barh(rows, largest, height=0.7, color=[OKABE_ITO[5] if flag else QUIET for flag in notable])
    ax.scatter(thresholds, rows, marker="|", s=110, c=ink(ax), linewidths=2, label="permuted, 95%", zorder=3)
    ax.scatter(baselines, rows, marker="x", s=28, c=OKABE_ITO[4], label="random labels", zorder=3)
    ax.axvline(cut_off, linestyle="--", **faint(ax), label=f"cut-off {cut_off:g}")
    ax.set_yticks(rows, names, fontsize=8)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set(title=title, xlabel="NMI")
    ax.set_xlim(0, 1.05 * max(cut_off, *largest, *thresholds, *baselines))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, fontsize=8, frameon=False)
    return ax
