"""Reliability: how often what was given a probability came true."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes

from latentsimplex._types import Array
from latentsimplex.calibration import reliability_curve
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.palette import INK, OKABE_ITO

LEAST_SHARE = 1e-3
"""A bin with a smaller share of the forecasts is left out: its frequency is an accident of a few pairs."""


def plot_reliability(
    forecasts: Mapping[str, tuple[Array, Array]], *, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw the reliability curve of each forecast beside the diagonal, where a calibrated one lies.

    The area of a point is the share of the forecasts that it stands for.

    Parameters
    ----------
    forecasts : mapping of str to (forecast, outcome)
        By the name for the legend; see :func:`latentsimplex.calibration.reliability_curve`.
    title : str
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
    """
    ax = axes_or_new(ax)
    ax.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle="--", zorder=0)
    for (name, (forecast, outcome)), colour in zip(forecasts.items(), OKABE_ITO, strict=False):
        curve = reliability_curve(forecast, outcome)
        shares = curve.counts / curve.counts.sum()
        shown = shares > LEAST_SHARE
        means, frequencies = curve.forecast[shown], curve.frequency[shown]
        ax.plot(means, frequencies, color=colour, linewidth=1.5, label=name)
        ax.scatter(means, frequencies, s=10 + 150 * shares[shown], color=colour, zorder=2, clip_on=False)
    ax.set(title=title, xlabel="probability given", ylabel="share that is so", aspect="equal")
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    ax.spines[["top", "right"]].set_visible(False)
    if len(forecasts) > 1:
        ax.legend(frameon=False, fontsize=8, loc="best")
    return ax
