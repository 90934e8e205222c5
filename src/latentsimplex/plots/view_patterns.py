"""Which views follow which pattern: the probabilities of each view's patterns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from latentsimplex._types import Array
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.cells import Cells, cells_of
from latentsimplex.plots.marks import colour_bar, counted, shorten, small_print, strips
from latentsimplex.plots.of_model import is_model
from latentsimplex.plots.palette import PROBABILITY

MOST_NAMES = 40
"""Views whose names can be read one below the other."""
MOST_ROWS = 200
MOST_NUMBERS = 120
"""Cells that have room for their probability in digits."""


def plot_view_patterns(
    responsibilities: LatentSimplexPosition | Array,
    names: Sequence[str] | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a row for each view and a column for each pattern: the probability that it is followed.

    Views are sorted by the pattern that they follow, the surest first. Up to 40 are named. More than 400 are
    drawn as means over neighbours in this order, and the figure says so.

    Parameters
    ----------
    responsibilities : fitted LatentSimplexPosition or (V, patterns) array
    names : sequence of str or None
        Of the views; None is those of a model, or with an array their numbers.
    title : str or None
        None says how many views and patterns a model has.
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
        Its image is ``ax.images[0]``.
    """
    if is_model(responsibilities):
        model = responsibilities
        check_is_fitted(model)
        eta, patterns = model.view_responsibilities_, model.view_patterns_
        names = list(map(str, model.view_names_in_)) if names is None else names
        if title is None:
            title = f"{counted(len(eta), 'view')} in {counted(model.n_patterns_, 'pattern')}"
    else:
        eta = np.asarray(responsibilities, dtype=np.float64)
        if eta.ndim != 2 or not eta.size:
            raise ValueError(
                f"responsibilities has shape {eta.shape}: give a row for each view, a column for each pattern."
            )
        patterns = eta.argmax(axis=1)
    V, d = eta.shape
    names = [str(v) for v in range(V)] if names is None else list(names)
    if len(names) != V:
        raise ValueError(f"names holds {len(names)} names and there are {V} views: give one name each.")
    height = 1.4 + 0.24 * V if V <= MOST_NAMES else 4.6
    ax = axes_or_new(ax, float(np.clip(2.8 + 0.4 * d, 4.2, 9)), max(2.6, height))
    cells = cells_of(patterns, -eta[np.arange(V), patterns], MOST_ROWS)
    means = cells.means(eta)
    image = ax.imshow(means, vmin=0, vmax=1, cmap=PROBABILITY, aspect="auto", interpolation="nearest")
    _separate(ax, cells, d)
    if V <= MOST_NAMES:
        ax.set_yticks(range(V), [shorten(names[v]) for v in cells.order], fontsize=8)
    else:
        _count_views(ax, cells, patterns)
    if means.size <= MOST_NUMBERS:
        _write_numbers(ax, means)
    numbered = range(0, d, 1 if d <= 20 else 5)
    ax.set_xticks(numbered, [str(l) for l in numbered], fontsize=8)
    ax.tick_params("both", length=0)
    ax.set(title=title or "", xlabel="pattern")
    colour_bar(ax, image, "probability")
    small_print(ax, _said(cells))
    return ax


def _separate(ax: Axes, cells: Cells, d: int) -> None:
    strips(ax, cells, below=False)
    for edge in cells.borders[1:-1]:
        ax.axhline(edge - 0.5, color="white", linewidth=0.8)
    for l in range(1, d):
        ax.axvline(l - 0.5, color="white", linewidth=0.8 if d <= 20 else 0.3)


def _count_views(ax: Axes, cells: Cells, patterns: np.ndarray) -> None:
    """Say beside the strip how many views each pattern has, where there is room to number it at all."""
    sizes = dict(zip(*np.unique(patterns, return_counts=True), strict=True))
    centres = (cells.borders[:-1] + cells.borders[1:] - 1) / 2
    shown = [int(np.argmin(np.abs(centres - place))) for place in ax.get_yticks()]
    texts = [f"pattern {cells.names[k]}: {counted(int(sizes[cells.names[k]]), 'view')}" for k in shown]
    ax.set_yticks(ax.get_yticks(), texts)


def _write_numbers(ax: Axes, means: Array) -> None:
    for (row, column), value in np.ndenumerate(means):
        colour = "black" if value > 0.55 else "white"  # on the image, whatever the style around it
        ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7.5, color=colour)


def _said(cells: Cells) -> str:
    if len(cells.order) <= MOST_NAMES:
        return ""
    return cells.said("row", "views") or f"{len(cells.order):,} views, sorted by pattern, the surest first"
