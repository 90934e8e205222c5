"""Reliability: how often what was given a probability came true."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from latentsimplex._types import Array
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.palette import INK, OKABE_ITO

BINS = 10
LEAST_SHARE = 1e-3
"""A bin with a smaller share of the forecasts is left out: its frequency is an accident of a few pairs."""


def reliability(forecast: Array, outcome: Array, bins: int = BINS) -> tuple[Array, Array, Array]:
    """Return for each bin of equal width its mean forecast, its mean outcome and its share of the forecasts.

    Bins with next to no forecasts are left out.

    Parameters
    ----------
    forecast : (m,) array
        Probabilities.
    outcome : (m,) array
        What came true, 0 or 1, or the probability that a perfect method would give.
    bins : int

    Examples
    --------
    >>> means, frequencies, shares = reliability(np.array([0.1, 0.1, 0.9, 0.9]), np.array([0, 0, 1, 0]))
    >>> means.tolist(), frequencies.tolist(), shares.tolist()
    ([0.1, 0.9], [0.0, 0.5], [0.5, 0.5])
    """
    place = np.minimum((np.asarray(forecast) * bins).astype(int), bins - 1)
    counts = np.bincount(place, minlength=bins)
    kept = counts > LEAST_SHARE * len(place)
    sums = [np.bincount(place, weights=values, minlength=bins)[kept] for values in (forecast, outcome)]
    return sums[0] / counts[kept], sums[1] / counts[kept], counts[kept] / len(place)


def plot_reliability(
    forecasts: Mapping[str, tuple[Array, Array]], *, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw the reliability curve of each forecast beside the diagonal, where a calibrated one lies.

    The area of a point is the share of the forecasts that it stands for.

    Parameters
    ----------
    forecasts : mapping of str to (forecast, outcome)
        By the name for the legend; see :func:`reliability`.
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
        means, frequencies, shares = reliability(forecast, outcome)
        ax.plot(means, frequencies, color=colour, linewidth=1.5, label=name)
        ax.scatter(means, frequencies, s=10 + 150 * shares, color=colour, zorder=2, clip_on=False)
    ax.set(title=title, xlabel="probability given", ylabel="share that is so", aspect="equal")
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    ax.spines[["top", "right"]].set_visible(False)
    if len(forecasts) > 1:
        ax.legend(frameon=False, fontsize=8, loc="best")
    return ax
