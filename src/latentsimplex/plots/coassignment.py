"""Who shares a cluster with whom: co-assignments ordered by cluster, with strips of the clusters."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from latentsimplex._types import Array
from latentsimplex.coassignment import CoAssignment
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.cells import Cells, cells_of
from latentsimplex.plots.heatmap import cell_matrix, cells_label, draw_cells
from latentsimplex.plots.marks import colour_bar, small_print
from latentsimplex.plots.of_model import is_model, one_each, part_of, refuse_part, square


def plot_coassignment(
    source: LatentSimplexPosition | CoAssignment | Array,
    labels: np.ndarray | None = None,
    *,
    view: int | str | None = None,
    pattern: int | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the probabilities that pairs of samples share a cluster, samples sorted by cluster.

    Within a cluster like is beside like, beginning with what is most together with the cluster. More than 600
    samples are drawn as means over neighbours in this order, without forming the n x n matrix, and the figure
    says so.

    Parameters
    ----------
    source : fitted LatentSimplexPosition, CoAssignment or (n, n) array
    labels : (n,) array or None
        Samples are put in the order of these. None is the clusters of a model; with arrays, the order given.
    view, pattern : int, str or None
        Which part of a model; without either it is the consensus.
    title : str or None
        None says which part of a model it is.
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
        Its image is ``ax.images[0]``.
    """
    if is_model(source):
        part = part_of(source, view, pattern)
        P: CoAssignment | Array = part.P
        labels = part.labels if labels is None else labels
        title = f"co-assignment: {part.name}" if title is None else title
    else:
        refuse_part(view, pattern)
        P = source if isinstance(source, CoAssignment) else square(source, "The co-assignment")
    ax = axes_or_new(ax, 5.0, 4.4)
    cells = cluster_cells(P, labels)
    image = draw_cells(ax, cell_matrix(P, cells), cells)
    colour_bar(ax, image, "probability")
    ax.set(title=title or "", xlabel=cells_label(cells))
    small_print(ax, cells.said("cell", "samples"))
    return ax


def cluster_cells(P: CoAssignment | Array, labels: np.ndarray | None) -> Cells:
    """Return samples by cluster, and within a cluster so that like is beside like; without labels as they are.

    The order within a cluster is that of the first principal component of its rows of P's factor, from the end
    that is more together with the cluster: from sure to doubtful, or one part of the cluster after
    the other where views disagree about it. A matrix without factors is ordered by togetherness alone.
    """
    if labels is None:
        return cells_of(np.zeros(len(P)))
    labels = one_each(labels, len(P))
    groups = np.unique(labels, return_inverse=True)[1].reshape(-1)
    together = np.asarray(P @ np.eye(groups.max() + 1)[groups])[np.arange(len(groups)), groups]
    if not isinstance(P, CoAssignment):
        return cells_of(labels, -together)
    within = np.empty(len(labels))
    for k in range(groups.max() + 1):
        members = groups == k
        within[members] = _along(P.factor[members], together[members])
    return cells_of(labels, within)


def _along(X: Array, together: Array) -> Array:
    """Return coordinates (m,) along which rows of X (m, k) vary most, falling as ``together`` rises."""
    centred = X - X.mean(axis=0)
    along = centred @ np.linalg.eigh(centred.T @ centred)[1][:, -1]
    return -along if along @ (together - together.mean()) > 0 else along
