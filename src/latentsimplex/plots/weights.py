"""Pattern weights as bars, down to those that have shrunk to nothing (Figure 8)."""

from __future__ import annotations

from matplotlib.axes import Axes

from latentsimplex._types import Array
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.palette import INK, OKABE_ITO


def plot_weights(
    weights: Array,
    *,
    n_bars: int | None = None,
    expected: float | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a bar for each pattern, with its weight above.

    Parameters
    ----------
    weights : (patterns,) array
        Those of the live patterns.
    n_bars : int or None
        The upper bound on patterns. Those up to it that no view follows have weight 0.
    expected : float or None
        A weight to mark with a dashed line.
    title : str
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
    """
    ax = axes_or_new(ax)
    heights = [float(weight) for weight in weights]
    heights += [0.0] * ((n_bars or 0) - len(heights))
    places = range(1, len(heights) + 1)
    if expected is not None:
        ax.axhline(expected, color=INK, linewidth=0.8, linestyle="--", zorder=0)
    bars = ax.bar(places, heights, color=OKABE_ITO[0], width=0.7)
    clear = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    ax.bar_label(bars, fmt="%.2f", padding=3, fontsize=8, bbox=clear)
    ax.set(title=title, xlabel="pattern", ylabel="weight", xticks=places)
    ax.margins(y=0.15)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
