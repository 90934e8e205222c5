"""Pattern weights as bars, down to those that have shrunk to nothing (Figure 8)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from latentsimplex._types import Array
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.marks import counted, faint, without_frame
from latentsimplex.plots.of_model import is_model
from latentsimplex.plots.palette import OKABE_ITO

LABEL_INCHES = 0.3
"""A weight above its bar takes so much width; where there is less it is written upwards."""
MOST_DETAILS, DETAIL_INCHES = 8, 0.95
"""Bars, and the width of each, that leave room for the numbers of views and clusters below."""


def plot_weights(
    weights: LatentSimplexPosition | Array,
    *,
    n_bars: int | None = None,
    expected: float | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a bar for each pattern, with its weight above.

    Parameters
    ----------
    weights : fitted LatentSimplexPosition or (patterns,) array
        Those of the live patterns. An array's are counted from 1, as in the paper; those of a model have its
        numbers, from 0, and up to eight say how many views follow them and how many clusters they have.
    n_bars : int or None
        The upper bound on patterns. Those up to it that no view follows have weight 0.
    expected : float or None
        A weight to mark with a dashed line.
    title : str or None
        None says how many views and patterns a model has.
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
    """
    first, details = 1, [""] * 0
    if is_model(weights):
        model, first = weights, 0
        check_is_fitted(model)
        weights, details = model.pattern_weights_, _details(model)
        if title is None:
            title = f"{counted(model.n_patterns_, 'pattern')} of {counted(len(model.view_names_in_), 'view')}"
    heights = [float(weight) for weight in weights]
    heights += [0.0] * ((n_bars or 0) - len(heights))
    detailed = len(details) == len(heights) <= MOST_DETAILS
    each = DETAIL_INCHES if detailed else 0.42
    ax = axes_or_new(ax, float(np.clip(each * len(heights) + 1, 4, 12)), 3.6)
    places = np.arange(first, len(heights) + first)
    if expected is not None:
        ax.axhline(expected, linestyle="--", zorder=0, **faint(ax))
    bars = ax.bar(places, heights, color=OKABE_ITO[0], width=0.7)
    clear = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.5}
    inches = ax.get_window_extent().width / ax.figure.dpi / len(heights)
    turned = 90 if inches < LABEL_INCHES else 0
    ax.bar_label(bars, fmt="%.2f", padding=3, fontsize=8, bbox=clear, rotation=turned)
    ax.set(title=title or "", xlabel="pattern", ylabel="weight")
    detailed = detailed and inches > 0.8 * DETAIL_INCHES
    ax.set_xticks(places, [f"{place}{details[i] if detailed else ''}" for i, place in enumerate(places)])
    ax.tick_params("x", labelsize=8 if detailed or turned else None)
    ax.margins(y=0.15)
    room = 0.6 if len(heights) > 2 else 1.2
    ax.set_xlim(places[0] - room, places[-1] + room)
    without_frame(ax)
    return ax


def _details(model: LatentSimplexPosition) -> list[str]:
    """Return of each pattern what is written below its number."""
    followers = np.bincount(model.view_patterns_, minlength=model.n_patterns_)
    return [
        f"\n{counted(int(views), 'view')}\n{counted(int(k), 'cluster')}"
        for views, k in zip(followers, model.n_clusters_, strict=True)
    ]
