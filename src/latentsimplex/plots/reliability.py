"""Reliability curves, for calibration: how often what was given a probability came true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.special import ndtri

from latentsimplex.base.types import Array
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.marks import faint_line, remove_frame, write_small_print
from latentsimplex.plots.model_parts import FittedModel, find_part, is_model, refuse_part
from latentsimplex.plots.palette import cluster_colour
from latentsimplex.uncertainty.calibration import Reliability, pair_reliability, reliability_curve
from latentsimplex.uncertainty.doubtful_samples import sample_of_pairs

LEAST_SHARE = 1e-3
"""A bin with a smaller share of the forecasts is left out: its frequency is an accident of a few pairs."""
LEVEL = 0.95


def plot_reliability(
    forecasts: FittedModel | Reliability | Mapping[str, Reliability | tuple[Array, Array]],
    truth: Any = None,
    *,
    view: int | str | None = None,
    pattern: int | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the reliability curve of each forecast beside the diagonal, where a calibrated one lies.

    The area of a point is the share of the forecasts that it stands for. The band around a curve is where 95% of
    frequencies would come from (Wilson's interval) if outcomes were independent of one another. Pairs of
    samples are not: what one sample does shows in all of its pairs, and for them the band is too narrow.

    Parameters
    ----------
    forecasts : fitted LatentSimplexPosition, Reliability, or mapping of str to Reliability or (forecast, outcome)
        A mapping has names for the legend. See :func:`latentsimplex.uncertainty.calibration.reliability_curve`.
    truth : (n,) labels, (n, k) oracle memberships, CoAssignment or None
        With a model, what its co-assignments are compared with.
    view, pattern : int, str or None
        Which part of a model; without either it is the consensus.
    title : str, or None to say which part of a model it is
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
    """
    if is_model(forecasts):
        if truth is None:
            raise ValueError(
                "truth is missing: give the true labels of the samples, or an oracle's memberships."
            )
        part = find_part(forecasts, view, pattern)
        title = part.make_title("reliability of pairs", title)
        curves = {"": pair_reliability(part.values, truth)}
        n_paired = len(sample_of_pairs(len(part.values)))
        some = f"; pairs of {n_paired:,} samples" if n_paired < len(part.values) else ""
    else:
        refuse_part(view, pattern)
        if truth is not None:
            raise ValueError(
                "truth goes with a fitted model: these forecasts come with outcomes, so leave it out."
            )
        curves, some = _make_curves(forecasts), ""
    ax = axes_or_new(ax, 4.6, 4.4)
    ax.plot([0, 1], [0, 1], zorder=0, linestyle="--", **faint_line(ax))
    left_out = [
        _draw_curve(ax, curve, name, cluster_colour(k)) for k, (name, curve) in enumerate(curves.items())
    ]
    ax.set(title=title or "", xlabel="probability given", ylabel="share that is so", aspect="equal")
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    remove_frame(ax)
    if len(curves) > 1:
        ax.legend(frameon=False, fontsize=8, loc="best")
    rare = f"; bins with under {LEAST_SHARE:.1%} of the forecasts left out" if any(left_out) else ""
    write_small_print(ax, f"band: {LEVEL:.0%} if outcomes were independent; pairs are not{rare}{some}", 52)
    return ax


def wilson_interval(frequency: Array, counts: Array) -> tuple[Array, Array]:
    """Return Wilson's 95% interval of a probability, from how often it came true in so many independent trials.

    >>> low, high = wilson_interval(np.array([0.5]), np.array([100]))
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.4038], [0.5962])
    """
    z = ndtri((1 + LEVEL) / 2)
    scale = 1 + z**2 / counts
    centre = (frequency + z**2 / (2 * counts)) / scale
    half = z / scale * np.sqrt(frequency * (1 - frequency) / counts + z**2 / (4 * counts**2))
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


def _make_curves(forecasts: Any) -> dict[str, Reliability]:
    """Return the curve of each forecast by name."""
    named = {"": forecasts} if isinstance(forecasts, Reliability) else forecasts
    return {
        name: forecast if isinstance(forecast, Reliability) else reliability_curve(*forecast)
        for name, forecast in named.items()
    }


def _draw_curve(ax: Axes, curve: Reliability, name: str, colour: str) -> bool:
    """Draw one curve with its band, and return whether bins were left out."""
    shares = curve.counts / curve.counts.sum()
    shown = shares > LEAST_SHARE
    means, frequencies = curve.forecast[shown], np.clip(curve.frequency[shown], 0, 1)
    low, high = wilson_interval(frequencies, curve.counts[shown].astype(np.float64))
    ax.fill_between(means, low, high, color=colour, alpha=0.2, linewidth=0)
    ax.plot(means, frequencies, color=colour, linewidth=1.5, label=name)
    ax.scatter(means, frequencies, s=10 + 150 * shares[shown], color=colour, zorder=2, clip_on=False)
    return not bool(shown.all())
