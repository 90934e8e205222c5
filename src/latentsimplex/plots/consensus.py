"""The consensus and who makes it: its co-assignments beside the weight of each view, excluded ones marked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from latentsimplex._types import Array
from latentsimplex.consensus import Consensus
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.plots.canvas import axes_or_new, split
from latentsimplex.plots.coassignment import cluster_cells
from latentsimplex.plots.heatmap import cell_matrix, cells_label, draw_cells
from latentsimplex.plots.marks import SMALL, colour_bar, counted, shorten, small_print, without_frame
from latentsimplex.plots.of_model import consensus_name, is_model
from latentsimplex.plots.palette import OKABE_ITO, QUIET

MOST_NAMES = 30
"""Bars that have room for a name."""


def plot_consensus(
    source: LatentSimplexPosition | Consensus,
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
    title : str or None
        None says how many views have a say.
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
        Blank but for the title: the panels are its first two ``child_axes``.
    """
    if is_model(source):
        check_is_fitted(source)
        consensus = source.consensus_
        view_names = list(map(str, source.view_names_in_)) if view_names is None else view_names
    else:
        consensus = source
    weights = np.asarray(consensus.weights)
    names = [str(v) for v in range(len(weights))] if view_names is None else list(view_names)
    if len(names) != len(weights):
        raise ValueError(
            f"view_names holds {len(names)} names and there are {len(weights)} views: give one name each."
        )
    ax = axes_or_new(ax, 9.2, 4.4)
    left, right = split(ax, (1.35, 1), inches=1.8)
    _heatmap(left, consensus)
    shares = weights / weights.sum() if weights.any() else weights
    each = "view"
    if len(weights) <= MOST_NAMES:
        _bars(right, shares, names)
    elif is_model(source) and source.n_patterns_ <= MOST_NAMES:
        own = [shares[source.view_patterns_ == l].sum() for l in range(source.n_patterns_)]
        _bars(right, np.array(own), _pattern_names(source))
        each = "pattern"
    else:
        _outline(right, shares)
    right.set_title(f"share of each {each}", fontsize="medium")
    right.set_xlabel("share of the weights")
    without_frame(right)
    ax.set_title(consensus_name(consensus) if title is None else title, pad=26)
    return ax


def _heatmap(ax: Axes, consensus: Consensus) -> None:
    cells = cluster_cells(consensus.coassignment, consensus.labels)
    image = draw_cells(ax, cell_matrix(consensus.coassignment, cells), cells)
    colour_bar(ax, image, "probability")
    ax.set_title(counted(consensus.n_clusters, "cluster"), fontsize="medium")
    ax.set_xlabel(cells_label(cells))
    small_print(ax, cells.said("cell", "samples"), 44)


def _pattern_names(model: LatentSimplexPosition) -> list[str]:
    followers = np.bincount(model.view_patterns_)
    return [f"{l}: {counted(int(views), 'view')}" for l, views in enumerate(followers)]


def _bars(ax: Axes, shares: Array, names: Sequence[str]) -> None:
    """Draw a bar for each view, or pattern, in order, the first at the top, and a mark in place of an excluded one."""
    rows = np.arange(len(shares))
    excluded = shares == 0
    ax.barh(rows, shares, height=0.7, color=OKABE_ITO[0])
    size = 8 if len(rows) <= 20 else 7
    for row in rows[excluded]:
        ax.annotate(
            "excluded",
            (0, row),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            style="italic",
        )
    ax.set_yticks(rows, [shorten(name, 22) for name in names], fontsize=size)
    for text, gone in zip(ax.get_yticklabels(), excluded, strict=True):
        text.set_alpha(0.55 if gone else 1.0)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(0, 1.08 * shares.max() if shares.any() else 1)


def _outline(ax: Axes, shares: Array) -> None:
    """Draw the shares of many views, heaviest first, and how many are excluded."""
    V, kept = len(shares), int(np.count_nonzero(shares))
    ordered = np.sort(shares)[::-1]
    ax.stairs(ordered, np.arange(V + 1), orientation="horizontal", fill=True, color=OKABE_ITO[0], linewidth=0)
    if kept < V:
        ax.axhspan(kept, V, color=QUIET, alpha=0.45, linewidth=0)
        text = f"{V - kept:,} excluded"
        ax.annotate(text, (0.5, (kept + V) / 2), xycoords=("axes fraction", "data"), ha="center", va="center")
    ax.set(ylabel="views, heaviest first", ylim=(V, 0))
    ax.set_xlim(0, 1.08 * ordered[0] if kept else 1)
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.ticklabel_format(axis="x", style="sci", scilimits=(-3, 3))
