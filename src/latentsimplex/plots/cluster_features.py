"""Features that set clusters apart, and columns of a table by what the clusters of views explain of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from latentsimplex.analysis.cluster_features import measure_features, read_again
from latentsimplex.base.wording import count_noun, shorten_middle
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.marks import NAME_LETTERS, draw_colour_bar, write_small_print
from latentsimplex.plots.model_parts import FittedModel
from latentsimplex.results.results import results_of

MOST_ROWS = 40
MOST_COLUMNS = 2000
"""Rows that are drawn: more than a screen has, and of noise only the columns that gain most."""
DIVERGING = "PuOr_r"
"""Purple for lower, orange for higher: apart for colour-blind readers."""


def plot_cluster_features(
    model: FittedModel,
    data: Any,
    *,
    pattern: int | None = None,
    most: int = 5,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the features that set each cluster apart as a heatmap of effect sizes, features by clusters.

    Features are those with the largest effects of cluster 0, then of cluster 1, and so on, up to 40 in all.

    Parameters
    ----------
    model : fitted LatentSimplexPosition
    data : views
        The data as given to ``fit``.
    pattern : int or None
        A live pattern's index; None is the consensus.
    most : int
        Features of each cluster.
    title : str, or None to say what is drawn
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
        Its image is ``ax.images[0]``; the effects are those of :func:`latentsimplex.analysis.describe_clusters`.
    """
    results = results_of(model)
    found = measure_features(results, read_again(results, data), pattern)
    top = found.choose_top(most)
    shown = top[:MOST_ROWS]
    if not len(shown):
        raise ValueError(
            "There is nothing that sets clusters apart: there is one cluster, or features are constant."
        )
    effects = found.effect[:, shown].T
    k = len(found.clusters)
    ax = axes_or_new(
        ax, float(np.clip(3.6 + 0.45 * k, 4.6, 14)), float(np.clip(1.6 + 0.24 * len(shown), 3.0, 12))
    )
    reach = float(np.nanmax(np.abs(effects)))
    image = ax.imshow(
        effects, vmin=-reach, vmax=reach, cmap=DIVERGING, aspect="auto", interpolation="nearest"
    )
    several = len(set(found.views[shown])) > 1
    names = [
        name_feature(str(feature), str(view) if several else str(feature))
        for view, feature in zip(found.views[shown], found.features[shown], strict=True)
    ]
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.set_xticks(range(k), found.clusters, fontsize=8)
    ax.tick_params(length=0)
    ax.set_xlabel("cluster")
    what = "consensus" if pattern is None else f"pattern {pattern}"
    ax.set_title(
        f"{what}: {count_noun(len(shown), 'feature')} that set clusters apart" if title is None else title
    )
    draw_colour_bar(ax, image, "effect (standard deviations)")
    left_out = f"{len(shown)} of {len(top)} features, those of the first clusters"
    write_small_print(ax, left_out if len(shown) < len(top) else "")
    return ax


def name_feature(feature: str, view: str) -> str:
    """Return the name of a feature with that of its view, each shortened by itself, so that features stay apart.

    >>> name_feature("height", "height"), name_feature("height", "body")
    ('height', 'height (body)')
    """
    if feature == view:
        return shorten_middle(feature, NAME_LETTERS)
    view = shorten_middle(view, NAME_LETTERS // 3)
    return f"{shorten_middle(feature, NAME_LETTERS - len(view))} ({view})"


def plot_columns(model: FittedModel, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw how much the clusters of each view explain of each column, where views were found in a table.

    Rows are columns of the table, those of view 0 first and noise last, each by how much it gains. What is explained no
    better than by chance is white.

    Parameters
    ----------
    model : LatentSimplexPosition fitted with ``views="discover"``
    title : str, or None to say what is drawn
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
        Its image is ``ax.images[0]``: the square root of gains in nats, 0 where they are below 0.
    """
    found = results_of(model).found_columns
    if found is None or not found.n_views:
        raise ValueError(
            'No views were found in a table: fit one with views="discover" that has views to be found.'
        )
    place = np.where(found.views >= 0, found.views, found.n_views)
    order = np.lexsort([-found.best_gains, place])
    shown = order[:MOST_COLUMNS]
    gains = np.sqrt(np.maximum(found.gains[shown], 0.0))
    ax = axes_or_new(ax, float(np.clip(2.6 + 0.4 * found.n_views, 4.0, 12)), 5.2)
    image = ax.imshow(gains, cmap="Purples", vmin=0.0, aspect="auto", interpolation="nearest")
    ends = np.cumsum(np.bincount(place, minlength=found.n_views + 1))
    for end in ends[:-1]:
        ax.axhline(end - 0.5, color="0.6", linewidth=0.6)
    middles = [
        (start + end - 1) / 2
        for start, end in zip([0, *ends[:-1]], np.minimum(ends, len(shown)), strict=True)
    ]
    kept = [
        v for v in range(found.n_views + 1) if ends[v] > (ends[v - 1] if v else 0) and middles[v] < len(shown)
    ]
    ax.set_yticks(
        [middles[v] for v in kept], ["noise" if v == found.n_views else f"view {v}" for v in kept], fontsize=8
    )
    ax.set_xticks(range(found.n_views), [str(v) for v in range(found.n_views)], fontsize=8)
    ax.tick_params(length=0)
    ax.set_xlabel("explained by the clusters of view")
    n_columns = count_noun(len(order), "column")
    ax.set_title(f"{n_columns} in {count_noun(found.n_views, 'view')} and noise" if title is None else title)
    draw_colour_bar(ax, image, "square root of gain (nats)")
    write_small_print(ax, f"{len(shown):,} of {n_columns}" if len(shown) < len(order) else "")
    return ax
