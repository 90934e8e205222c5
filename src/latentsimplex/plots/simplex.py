"""The simplex itself: a segment for two clusters, a triangle for three, a polygon beyond."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from latentsimplex._types import Array, Indices
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.cells import thinned
from latentsimplex.plots.marks import counted, faint, small_print
from latentsimplex.plots.of_model import is_model, membership_part, one_each, refuse_part
from latentsimplex.plots.palette import cluster_style, clusters
from latentsimplex.uncertainty import check_memberships

MOST_POINTS = 5000
GOLDEN = (np.sqrt(5) - 1) / 2
LINES = (0.25, 0.5, 0.75)
"""Probabilities at which a triangle has lines."""
MOST_COUNTS = 8
"""Corners that have room for the size of their cluster beside its number."""


def plot_simplex(
    memberships: LatentSimplexPosition | Array,
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
    title : str or None
        None says which part of a model it is.
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
    """
    if is_model(memberships):
        part = membership_part(memberships, view, pattern)
        W = part.P.factor
        labels = part.labels if labels is None else labels
        title = f"simplex: {part.name}" if title is None else title
    else:
        refuse_part(view, pattern)
        W = check_memberships(memberships)
    labels = W.argmax(axis=1) if labels is None else one_each(labels, len(W))
    ax = axes_or_new(ax, 4.6, 4.6) if W.shape[1] > 2 else axes_or_new(ax, 5.0, 2.4)
    corners = simplex_corners(W)
    shown = thinned(labels, W.max(axis=1), MOST_POINTS)
    points = W[shown] @ corners
    if W.shape[1] <= 2:
        points[:, 1] = (np.arange(len(points)) * GOLDEN) % 1 - 0.5
    _frame(ax, corners)
    _points(ax, points, labels[shown])
    _name_corners(ax, corners, np.bincount(W.argmax(axis=1), minlength=W.shape[1]))
    _make_room(ax, corners)
    ax.set_title(title or "", pad=10)
    small_print(ax, _said(len(shown), *W.shape))
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
    corners[_around(W)] = np.c_[np.cos(turn), np.sin(turn)]
    return corners


def _around(W: Array) -> Indices:
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


def _frame(ax: Axes, corners: Array) -> None:
    """Draw the edges, and within a triangle where each probability is 1/4, 1/2 and 3/4."""
    ax.set(xticks=[], yticks=[], frame_on=False)
    if len(corners) > 2:
        ax.set_aspect("equal", adjustable="datalim")
        turn = np.arctan2(corners[:, 1], corners[:, 0])
        around = corners[np.argsort(turn)]
        ax.plot(*np.vstack([around, around[:1]]).T, **faint(ax))
    elif len(corners) == 2:
        ax.plot([0, 1], [0, 0], **faint(ax))
    if len(corners) == 3:
        for k in range(3):
            a, b = np.delete(corners, k, axis=0)
            for share in LINES:
                ends = share * corners[k] + (1 - share) * np.array([a, b])
                ax.plot(*ends.T, **{**faint(ax), "alpha": 0.2})
    elif len(corners) == 2:
        for share in (0, *LINES, 1):
            ax.plot([share, share], [-0.55, 0.55], **{**faint(ax), "alpha": 0.25})
            ax.annotate(f"{share:g}", (share, -0.62), ha="center", va="top", fontsize=8)


def _points(ax: Axes, points: Array, labels: np.ndarray) -> None:
    size = float(np.clip(4000 / len(points), 5, 26))
    for members, colour, marker in clusters(labels):
        x, y = points[members].T
        ax.scatter(x, y, s=size, c=colour, marker=marker, alpha=0.6, linewidths=0, zorder=2, clip_on=False)


def _name_corners(ax: Axes, corners: Array, sizes: Indices) -> None:
    """Write the number of each cluster, and how many samples prefer it, outside its corner."""
    for k, (x, y) in enumerate(corners):
        size = f"\n{counted(int(sizes[k]), 'sample')}" if len(corners) <= MOST_COUNTS else ""
        if len(corners) <= 2:
            place, ha, va = (x, 0.62), "center", "bottom"
        else:
            place = (1.07 * x, 1.07 * y)
            ha = "center" if abs(x) < 0.2 else ("left" if x > 0 else "right")
            va = "center" if abs(y) < 0.2 else ("bottom" if y > 0 else "top")
        text = f"cluster {k}{size}" if len(corners) <= MOST_COUNTS else str(k)
        ax.annotate(text, place, ha=ha, va=va, fontsize=8, annotation_clip=False)
        if len(corners) > 2:
            ax.plot(x, y, "o", color=cluster_style(k)[0], markersize=4, zorder=3, clip_on=False)


def _make_room(ax: Axes, corners: Array) -> None:
    """Widen the limits so that the names of the corners are within."""
    if len(corners) <= 2:
        ax.set(xlim=(-0.12, 1.12), ylim=(-0.95, 1.25))
        return
    room = np.array([0.55 if len(corners) <= MOST_COUNTS else 0.2, 0.36])
    ax.update_datalim(np.array([corners.min(axis=0) - room, corners.max(axis=0) + room]))
    ax.margins(0)


def _said(n_shown: int, n: int, k: int) -> str:
    parts = [] if n_shown == n else [f"{n_shown:,} of {n:,} samples, evenly selected"]
    if k == 1:
        parts.append("one cluster: all samples are surely in it")
    elif k == 2:
        parts.append("across: the probability of cluster 1; up and down only spreads the samples")
    elif k > 3:
        parts.append(f"{k} clusters projected on the plane: different memberships may meet")
    return "; ".join(parts)
