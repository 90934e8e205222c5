"""Features that set clusters apart: a row for each, a column for each cluster, effect sizes as colours."""

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
        f"{feature} ({view})" if several and view != feature else str(feature)
        for view, feature in zip(found.views[shown], found.features[shown], strict=True)
    ]
    ax.set_yticks(range(len(names)), [shorten_middle(name, NAME_LETTERS) for name in names], fontsize=8)
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
