"""Patterns and views: the probabilities of each view's patterns, their weights (Figure 8), the samples of each view."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from latentsimplex.base.checks import as_numbers
from latentsimplex.base.types import Array
from latentsimplex.base.wording import count_noun, shorten_middle
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.marks import (
    NAME_LETTERS,
    draw_borders,
    draw_colour_bar,
    draw_strip,
    draw_table,
    faint_line,
    remove_frame,
    write_small_print,
)
from latentsimplex.plots.model_parts import FittedModel, count_followers, is_model, name_views
from latentsimplex.plots.palette import EMPTY, OKABE_ITO, ink
from latentsimplex.plots.thinned import cut_into_cells
from latentsimplex.results.results import results_of

MOST_NAMES = 40
"""Views whose names can be read one below the other."""
MOST_ROWS = 200
MOST_NUMBERS = 120
"""Cells that have room for their probability in digits."""
LABEL_INCHES = 0.3
"""A weight above its bar takes so much width; where there is less it is written upwards."""
MOST_DETAILS, DETAIL_INCHES = 8, 0.95
"""Bars, and the width of each, that leave room for the numbers of views and clusters below."""


def plot_view_patterns(
    responsibilities: FittedModel | Array,
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
    title : str, or None to say how many views and patterns a model has
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
        Its image is ``ax.images[0]``.
    """
    if is_model(responsibilities):
        results = results_of(responsibilities)
        eta, patterns = results.view_responsibilities, results.view_patterns
        names = list(results.view_names) if names is None else names
        if title is None:
            title = f"{count_noun(results.n_views, 'view')} in {count_noun(results.n_patterns, 'pattern')}"
    else:
        eta = as_numbers(responsibilities, "responsibilities")
        if eta.ndim != 2 or not eta.size:
            raise ValueError(
                f"responsibilities has shape {eta.shape}: give a row for each view, a column for each pattern."
            )
        patterns = eta.argmax(axis=1)
    V, d = eta.shape
    names = name_views(names, V, "names")
    height = 1.4 + 0.24 * V if V <= MOST_NAMES else 4.6
    ax = axes_or_new(ax, float(np.clip(2.8 + 0.4 * d, 4.2, 9)), max(2.6, height))
    cells = cut_into_cells(patterns, -eta[np.arange(V), patterns], MOST_ROWS)
    means = cells.means(eta)
    image = draw_table(ax, means)
    named = draw_strip(ax, cells, left=True)
    draw_borders(ax, cells.borders[1:-1])
    draw_borders(ax, columns=range(1, d), width=0.8 if d <= 20 else 0.3)
    if V <= MOST_NAMES:
        texts = [shorten_middle(names[v], NAME_LETTERS) for v in cells.order]
        ax.set_yticks(range(V), texts)
    else:
        sizes = np.unique(patterns, return_counts=True)[1]
        texts = [f"pattern {cells.names[k]}: {count_noun(int(sizes[k]), 'view')}" for k in named]
        ax.set_yticks(ax.get_yticks(), texts)
        sorted_only = f"{V:,} views, sorted by pattern, the surest first"
        write_small_print(ax, cells.explain("row", "views") or sorted_only)
    if means.size <= MOST_NUMBERS:
        _write_numbers(ax, means)
    ax.set_xticks(range(0, d, 1 if d <= 20 else 5))
    ax.tick_params(length=0, labelsize=8)
    ax.set(title=title or "", xlabel="pattern")
    draw_colour_bar(ax, image, "probability")
    return ax


def _write_numbers(ax: Axes, means: Array) -> None:
    for (row, column), value in np.ndenumerate(means):
        colour = "black" if value > 0.55 else "white"  # on the image, whatever the style around it
        ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7.5, color=colour)


def plot_weights(
    weights: FittedModel | Array,
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
        Those of the live patterns. Up to eight of a model say how many views follow them and how many clusters they
        have.
    n_bars : int or None
        The upper bound on patterns. Those up to it that no view follows have weight 0.
    expected : float or None
        A weight to mark with a dashed line.
    title : str, or None to say how many views and patterns a model has
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
    """
    details: list[str] = []
    if is_model(weights):
        results = results_of(weights)
        heights = results.pattern_weights.tolist()
        followed = zip(count_followers(results), results.n_clusters, strict=True)
        details = [f"\n{views}\n{count_noun(int(k), 'cluster')}" for views, k in followed]
        if title is None:
            title = f"{count_noun(results.n_patterns, 'pattern')} of {count_noun(results.n_views, 'view')}"
    else:
        given = as_numbers(weights, "weights")
        if given.ndim != 1 or not given.size:
            raise ValueError(
                f"weights has shape {given.shape}: give a fitted model, or one weight for each pattern."
            )
        heights = given.tolist()
    heights += [0.0] * ((n_bars or 0) - len(heights))
    detailed = len(details) == len(heights) <= MOST_DETAILS
    each = DETAIL_INCHES if detailed else 0.42
    ax = axes_or_new(ax, float(np.clip(each * len(heights) + 1, 4, 12)), 3.6)
    if expected is not None:
        ax.axhline(expected, linestyle="--", zorder=0, **faint_line(ax))
    bars = ax.bar(range(len(heights)), heights, color=OKABE_ITO[0], width=0.7)
    clear = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.5}
    inches = ax.get_window_extent().width / ax.figure.dpi / len(heights)
    turned = 90 if inches < LABEL_INCHES else 0
    ax.bar_label(bars, fmt="%.2f", padding=3, fontsize=8, bbox=clear, rotation=turned)
    ax.set(title=title or "", xlabel="pattern", ylabel="weight")
    detailed = detailed and inches > 0.8 * DETAIL_INCHES
    ax.set_xticks(range(len(heights)), [f"{l}{details[l] if detailed else ''}" for l in range(len(heights))])
    ax.tick_params("x", labelsize=8 if detailed or turned else None)
    ax.margins(y=0.15)
    room = 0.6 if len(heights) > 2 else 1.2
    ax.set_xlim(-room, len(heights) - 1 + room)
    remove_frame(ax)
    return ax


def plot_presence(
    present: FittedModel | np.ndarray,
    labels: np.ndarray | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw which samples each view has, samples sorted by cluster and by how many views have them.

    Parameters
    ----------
    present : fitted LatentSimplexPosition or (V, n) array of bool
    labels : (n,) array or None
        Clusters by which samples are sorted; None is those of a model's consensus, or none.
    title : str, or None to say how many samples all views have
    ax : Axes, or None for a new figure

    Examples
    --------
    >>> ax = plot_presence(np.array([[True, True, False], [False, True, True]]))
    >>> ax.get_title()
    '1 of 3 samples are in all views'
    """
    names = None
    if is_model(present):
        results = results_of(present)
        names = [shorten_middle(str(name), NAME_LETTERS) for name in results.view_names]
        labels = results.labels if labels is None else labels
        found = results.present
        there = np.ones((results.n_views, results.n_samples), bool) if found is None else found
    else:
        there = np.asarray(present, dtype=bool)
    names = names or [str(v) for v in range(len(there))]
    n = there.shape[1]
    cells = cut_into_cells(np.zeros(n, dtype=np.intp) if labels is None else labels, -there.sum(axis=0))
    ax = axes_or_new(ax, 6.0, 1.2 + 0.3 * min(len(there), 12))
    shades = LinearSegmentedColormap.from_list("presence", [EMPTY, OKABE_ITO[0]])
    shares = cells.means(there.T.astype(np.float64)).T
    ax.imshow(shares, aspect="auto", interpolation="nearest", cmap=shades, vmin=0, vmax=1)
    for border in cells.borders[1:-1]:
        ax.axvline(border - 0.5, color=ink(ax), linewidth=0.8)
    if len(names) <= MOST_NAMES:
        ax.set_yticks(range(len(names)), names)
    else:
        ax.set_ylabel(f"{len(names):,} views")
    ax.set_xticks([])
    ax.set_xlabel("samples" if labels is None else "samples, by cluster")
    write_small_print(ax, cells.explain("column", "samples"))
    whole = int(there.all(axis=0).sum())
    ax.set_title(f"{whole:,} of {n:,} samples are in all views" if title is None else title)
    return ax
