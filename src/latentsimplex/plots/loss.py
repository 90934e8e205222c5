"""The loss during a fit: the curve of the run that was kept, beside where all starts ended."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from latentsimplex.base.checks import as_numbers
from latentsimplex.base.types import Array
from latentsimplex.base.wording import count_noun
from latentsimplex.plots.canvas import axes_or_new, split
from latentsimplex.plots.marks import draw_colour_bar, remove_frame, write_small_print
from latentsimplex.plots.model_parts import FittedModel, is_model
from latentsimplex.plots.palette import OKABE_ITO, PROBABILITY, ink
from latentsimplex.results.results import results_of

ONE_LOSS = 1e-6
"""The curve ends where the best start did if both losses agree to this share."""
MOST_STARTS = 10
"""Starts that are all numbered; of more, every second or third is."""
ALIKE = 1e-3
"""Losses that differ by less than this share look alike."""
MOST_MARKED = 30
"""Steps of a curve that are marked one by one."""


def plot_loss(
    curve: FittedModel | Array,
    start_losses: Array | None = None,
    start_agreement: Array | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the loss at each step of the run that was kept and, beside it, how far each start ended above the best.

    A fit keeps the curve of one run and the last loss of each. The two are panels of their own, because a fit
    in stages has other similarities, and so another loss, in its last stage than in the search that
    compares starts.

    Parameters
    ----------
    curve : fitted LatentSimplexPosition or (steps + 1,) array
    start_losses : (starts,) array or None
        None is those of a model; with an array there is one panel then.
    start_agreement : (starts,) array or None
        How far each start clusters as the best one does, from 0 to 1: its colour.
    title : str, or None to say how many steps and starts a model had
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
        With start losses it is blank but for the title, and the panels are its first two ``child_axes``.
    """
    if is_model(curve):
        results = results_of(curve)
        losses = results.loss_curve
        start_losses = results.start_losses if start_losses is None else start_losses
        start_agreement = results.start_agreement if start_agreement is None else start_agreement
        end = "converged" if results.converged else "not converged"
        title = f"{count_noun(results.n_iter, 'step')}, {end}" if title is None else title
    else:
        losses = as_numbers(curve, "curve")
        if losses.ndim != 1 or not losses.size:
            raise ValueError(
                f"curve has shape {losses.shape}: give a fitted model, or the loss at each step."
            )
    if start_losses is None:
        ax = axes_or_new(ax, 4.6, 3.4)
        _draw_curve(ax, losses)
        ax.set_title(title or "")
        return ax
    ax = axes_or_new(ax, 8.0, 3.6)
    left, right = split(ax, (1.5, 1), inches=0.9)
    _draw_curve(left, losses)
    _draw_starts(right, np.asarray(start_losses), start_agreement)
    left.set_title("the run that was kept", fontsize="medium")
    best = float(np.min(start_losses))
    if is_model(curve) and abs(losses[-1] - best) > ONE_LOSS * max(abs(best), 1):
        other = "its last stage, whose loss is another one than that of the search at the right"
        write_small_print(left, other)
    ax.set_title(title or "", pad=26)
    return ax


def _draw_curve(ax: Axes, losses: Array) -> None:
    marker = "o" if len(losses) <= MOST_MARKED else ""
    ax.plot(np.arange(len(losses)), losses, color=OKABE_ITO[0], marker=marker, markersize=3.5)
    ax.set(xlabel="step", ylabel="loss")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.ticklabel_format(axis="y", style="plain", useOffset=False)
    remove_frame(ax)


def _draw_starts(ax: Axes, losses: Array, agreement: Array | None) -> None:
    """Draw the loss of each start above the lowest, which is outlined."""
    above, starts = losses - losses.min(), np.arange(len(losses))
    best = int(np.argmin(losses))
    ax.vlines(starts, 0, above, color=ink(ax), linewidth=0.8, alpha=0.4)
    style: dict[str, Any] = {"s": 42, "zorder": 2, "clip_on": False}
    if agreement is None:
        ax.scatter(starts, above, color=OKABE_ITO[0], **style)
    else:
        style |= {"edgecolors": ink(ax), "linewidths": 0.5}
        dots = ax.scatter(starts, above, c=agreement, cmap=PROBABILITY, vmin=0, vmax=1, **style)
        draw_colour_bar(ax, dots, "agreement with the best (NMI)")
    ax.scatter(best, 0, s=110, facecolors="none", edgecolors=ink(ax), zorder=3, clip_on=False)
    ax.set_title(f"{count_noun(len(losses), 'start')}, ring: the best", fontsize="medium")
    ax.set(xlabel="start", ylabel="last loss above the best")
    ax.set_xlim(-0.6, len(losses) - 0.4)
    ax.set_xticks(range(0, len(losses), -(-len(losses) // MOST_STARTS)))
    ax.set_ylim(0, max(1.08 * float(above.max()), ALIKE * abs(float(losses[best])), 1e-9))
    remove_frame(ax)
