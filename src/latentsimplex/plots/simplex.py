"""Memberships on the simplex: a segment for two clusters, a triangle for three, a polygon beyond."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wording import count_noun
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.marks import faint_line, write_small_print
from latentsimplex.plots.model_parts import FittedModel, read_memberships
from latentsimplex.plots.palette import cluster_colour
from latentsimplex.plots.scatter import draw_points
from latentsimplex.plots.thinned import explain_selection, select_samples

GOLDEN = (np.sqrt(5) - 1) / 2
LINES = (0.25, 0.5, 0.75)
"""Probabilities at which a triangle has lines."""
MOST_COUNTS = 8
"""Corners that have room for the size of their cluster beside its number."""


def plot_simplex(
    memberships: FittedModel | Array,
    labels: np.ndarray | None = None,
    *,
    view: int | str | None = None,
    pattern: int | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw samples where their memberships put them: at the corner of a cluster they surely belong to, or between.

    Up to three clusters nothing is lost. Beyond, corners lie on a circle and a sample at the mean of the corners,
    weighted by its memberships; clusters that share samples are neighbours where that is possible, and samples
    with different memberships may meet, in the middle above all. Of more than 5,000 samples an even selection
    is drawn, and the figure says so.

    Parameters
    ----------
    memberships : fitted LatentSimplexPosition or (n, clusters) array
    labels : (n,) array or None
        What the colours are; None is the clusters of a model or, with an array, the most probable ones.
    view, pattern : int, str or None
        Which part of a model; without either it is the heaviest pattern.
    title : str, or None to say which part of a model it is
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
    """
    part = read_memberships(memberships, view, pattern)
    W: Array = part.values
    labels = part.choose_labels(labels)
    if labels is None:
        labels = W.argmax(axis=1)
    shown = select_samples(labels, W.max(axis=1))
    corners = simplex_corners(W)
    points = W[shown] @ corners
    names = _name_clusters(W)
    if len(corners) <= 2:
        points[:, 1] = (np.arange(len(points)) * GOLDEN) % 1 - 0.5
        ax = axes_or_new(ax, 5.0, 2.4)
        _draw_segment(ax, corners, names)
    else:
        ax = axes_or_new(ax, 4.6, 4.6)
        _draw_polygon(ax, corners, names)
    ax.set(xticks=[], yticks=[], frame_on=False)
    size = float(np.clip(4000 / len(points), 5, 26))
    draw_points(ax, points, labels[shown], s=size, alpha=0.6, linewidths=0, zorder=2, clip_on=False)
    ax.set_title(part.make_title("simplex", title), pad=10)
    write_small_print(ax, _explain(len(shown), *W.shape))
    return ax


def simplex_corners(W: Array) -> Array:
    """Return where the clusters (clusters, 2) lie: the ends of a segment, or corners of a regular polygon.

    The order around the polygon begins with the largest cluster; next comes each time the cluster that has
    most in common, sum_i w_ik w_il, with the one before.

    >>> simplex_corners(np.array([[1.0, 0.0], [0.5, 0.5]])).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    k = W.shape[1]
    if k <= 2:
        return np.array([[0.0, 0.0], [1.0, 0.0]]) if k == 2 else np.array([[0.5, 0.0]])
    turn = np.pi / 2 - 2 * np.pi * np.arange(k) / k
    corners = np.empty((k, 2))
    corners[_order_around(W)] = np.c_[np.cos(turn), np.sin(turn)]
    return corners


def _order_around(W: Array) -> Indices:
    """Return the clusters in an order in which neighbours share samples; three are neighbours in any order."""
    k = W.shape[1]
    if k == 3:
        return np.arange(3)
    shared = W.T @ W
    order = [int(np.argmax(W.sum(axis=0)))]
    while len(order) < k:
        left = np.setdiff1d(np.arange(k), order)
        order.append(int(left[np.argmax(shared[order[-1], left])]))
    return np.array(order)


def _name_clusters(W: Array) -> list[str]:
    """Return what is written at each corner: the cluster and, of few, how many samples prefer it."""
    if W.shape[1] > MOST_COUNTS:
        return [str(k) for k in range(W.shape[1])]
    sizes = np.bincount(W.argmax(axis=1), minlength=W.shape[1])
    return [f"cluster {k}\n{count_noun(int(size), 'sample')}" for k, size in enumerate(sizes)]


def _draw_segment(ax: Axes, corners: Array, names: list[str]) -> None:
    """Draw the scale between two clusters, or none for a single one, and name the clusters."""
    if len(corners) == 2:
        ax.plot([0, 1], [0, 0], **faint_line(ax))
        for share in (0, *LINES, 1):
            ax.plot([share, share], [-0.55, 0.55], **{**faint_line(ax), "alpha": 0.25})
            ax.annotate(f"{share:g}", (share, -0.62), ha="center", va="top", fontsize=8)
    for name, x in zip(names, corners[:, 0], strict=True):
        ax.annotate(name, (x, 0.62), ha="center", va="bottom", fontsize=8, annotation_clip=False)
    ax.set(xlim=(-0.12, 1.12), ylim=(-0.95, 1.25))


def _draw_polygon(ax: Axes, corners: Array, names: list[str]) -> None:
    """Draw edges and corners, name the clusters, and mark in a triangle where a probability is 1/4, 1/2 and 3/4."""
    ax.set_aspect("equal", adjustable="datalim")
    around = corners[np.argsort(np.arctan2(corners[:, 1], corners[:, 0]))]
    ax.plot(*np.vstack([around, around[:1]]).T, **faint_line(ax))
    if len(corners) == 3:
        for k in range(3):
            for share in LINES:
                ends = share * corners[k] + (1 - share) * np.delete(corners, k, axis=0)
                ax.plot(*ends.T, **{**faint_line(ax), "alpha": 0.2})
    for k, (x, y) in enumerate(corners):
        ha = "center" if abs(x) < 0.2 else ("left" if x > 0 else "right")
        va = "center" if abs(y) < 0.2 else ("bottom" if y > 0 else "top")
        ax.annotate(names[k], (1.07 * x, 1.07 * y), ha=ha, va=va, fontsize=8, annotation_clip=False)
        ax.plot(x, y, "o", color=cluster_colour(k), markersize=4, zorder=3, clip_on=False)
    room = np.array([0.55 if len(corners) <= MOST_COUNTS else 0.2, 0.36])
    ax.update_datalim(np.array([corners.min(axis=0) - room, corners.max(axis=0) + room]))
    ax.margins(0)


def _explain(n_shown: int, n: int, k: int) -> str:
    """Return the small print: what was left out, and what the places mean where that is not plain."""
    meanings = {
        1: "one cluster: all samples are surely in it",
        2: "across: the probability of cluster 1; up and down only spreads the samples",
        3: "",
    }
    meaning = meanings.get(k, f"{k} clusters projected on the plane: different memberships may meet")
    return "; ".join(filter(None, [explain_selection(n_shown, n), meaning]))
