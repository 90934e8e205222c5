"""The consensus and its views: co-assignments beside the weight of each view, with excluded views marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from latentsimplex.base.types import Array
from latentsimplex.base.wording import count_noun, shorten_middle
from latentsimplex.plots.canvas import axes_or_new, split
from latentsimplex.plots.coassignment import draw_cells, sort_into_cells
from latentsimplex.plots.marks import SMALL, draw_colour_bar, remove_frame, write_small_print
from latentsimplex.plots.model_parts import FittedModel, count_followers, name_consensus, name_views
from latentsimplex.plots.palette import OKABE_ITO, QUIET
from latentsimplex.results.consensus import Consensus
from latentsimplex.results.results import Results, results_of

MOST_NAMES = 30
"""Bars that have room for a name."""
BAR_LETTERS = 22
"""Letters of a name beside a bar."""


def plot_consensus(
    source: FittedModel | Consensus,
    view_names: Sequence[str] | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the co-assignments of the consensus and, beside them, the share of each view in it.

    Excluded views are named in grey and marked. For more than 30 views of a model the shares are those of its
    patterns. Of a consensus alone, or with more than 30 patterns, they are one outline, from the heaviest view
    to the excluded ones.

    Parameters
    ----------
    source : fitted LatentSimplexPosition or Consensus
        ``model.consensus(weights)`` is one with other weights.
    view_names : sequence of str or None
        None is those of a model, or with a consensus the numbers of the views.
    title : str, or None to say how many views have a say
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
        Blank but for the title: the panels are its first two ``child_axes``.
    """
    results: Results | None = None
    if isinstance(source, Consensus):
        consensus = source
    else:
        results = results_of(source)
        consensus = results.consensus
        view_names = list(results.view_names) if view_names is None else view_names
    weights = np.asarray(consensus.weights)
    names = name_views(view_names, len(weights), "view_names")
    ax = axes_or_new(ax, 9.2, 4.4)
    left, right = split(ax, (1.35, 1), inches=1.8)
    _draw_coassignments(left, consensus)
    shares = weights / weights.sum() if weights.any() else weights
    each = "view"
    if results is not None and results.n_patterns <= MOST_NAMES < results.n_views:
        each, names = "pattern", [f"{l}: {views}" for l, views in enumerate(count_followers(results))]
        shares = np.bincount(results.view_patterns, weights=shares, minlength=results.n_patterns)
    if len(shares) <= MOST_NAMES:
        _draw_bars(right, shares, names)
    else:
        _draw_outline(right, shares)
    right.set_title(f"share of each {each}", fontsize="medium")
    right.set(xlabel="share of the weights", xlim=(0, 1.08 * shares.max() if shares.any() else 1))
    remove_frame(right)
    ax.set_title(name_consensus(consensus) if title is None else title, pad=26)
    return ax


def _draw_coassignments(ax: Axes, consensus: Consensus) -> None:
    cells = sort_into_cells(consensus.coassignment, consensus.labels)
    image = draw_cells(ax, consensus.coassignment, cells)
    draw_colour_bar(ax, image, "probability")
    ax.set_title(count_noun(consensus.n_clusters, "cluster"), fontsize="medium")
    write_small_print(ax, cells.explain("cell", "samples"), 44)


def _draw_bars(ax: Axes, shares: Array, names: Sequence[str]) -> None:
    """Draw a bar for each view, or pattern, in order, the first at the top, and a mark in place of an excluded one."""
    rows = np.arange(len(shares))
    excluded = shares == 0
    ax.barh(rows, shares, height=0.7, color=OKABE_ITO[0])
    beside: dict[str, Any] = {"xytext": (3, 0), "textcoords": "offset points", "va": "center"}
    for row in rows[excluded]:
        ax.annotate("excluded", (0, row), fontsize=SMALL, style="italic", **beside)
    texts = [shorten_middle(name, BAR_LETTERS) for name in names]
    ax.set_yticks(rows, texts, fontsize=8 if len(rows) <= 20 else 7)
    for text, gone in zip(ax.get_yticklabels(), excluded, strict=True):
        text.set_alpha(0.55 if gone else 1.0)
    ax.set_ylim(len(rows) - 0.5, -0.5)


def _draw_outline(ax: Axes, shares: Array) -> None:
    """Draw the shares of many views, heaviest first, and how many are excluded."""
    V, kept = len(shares), int(np.count_nonzero(shares))
    ordered = np.sort(shares)[::-1]
    ax.stairs(ordered, np.arange(V + 1), orientation="horizontal", fill=True, color=OKABE_ITO[0], linewidth=0)
    if kept < V:
        ax.axhspan(kept, V, color=QUIET, alpha=0.45, linewidth=0)
        text = f"{V - kept:,} excluded"
        ax.annotate(text, (0.5, (kept + V) / 2), xycoords=("axes fraction", "data"), ha="center", va="center")
    ax.set(ylabel="views, heaviest first", ylim=(V, 0))
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.ticklabel_format(axis="x", style="sci", scilimits=(-3, 3))
