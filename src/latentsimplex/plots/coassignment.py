"""Co-assignment probabilities and other matrices of samples as heat maps (Figures 3, 4 and 6, and the appendix)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from latentsimplex.base.types import Array
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.marks import draw_borders, draw_colour_bar, draw_strip, write_small_print
from latentsimplex.plots.model_parts import FittedModel, read_coassignments
from latentsimplex.plots.palette import PROBABILITY
from latentsimplex.plots.thinned import Cells, cut_into_cells, order_samples
from latentsimplex.results.coassignment import CoAssignment


def plot_coassignment(
    source: FittedModel | CoAssignment | Array,
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
    title : str, or None to say which part of a model it is
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
        Its image is ``ax.images[0]``.
    """
    part = read_coassignments(source, view, pattern)
    cells = sort_into_cells(part.values, part.choose_labels(labels))
    ax = axes_or_new(ax, 5.0, 4.4)
    image = draw_cells(ax, part.values, cells)
    draw_colour_bar(ax, image, "probability")
    ax.set_title(part.make_title("co-assignment", title))
    write_small_print(ax, cells.explain("cell", "samples"))
    return ax


def plot_heatmap(
    matrix: Array,
    labels: np.ndarray | None = None,
    within: np.ndarray | None = None,
    *,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a symmetric matrix of values in [0, 1]; its image is ``ax.images[0]``, for a colour bar.

    It is the plain picture, for panels of a larger figure. :func:`plot_coassignment` has strips of clusters and a
    colour bar, and takes a model.

    Parameters
    ----------
    matrix : (n, n) array
    labels : (n,) array or None
        Samples are put in the order of these, with lines between clusters.
    within : (n,) array or None
        The order within a cluster; None keeps that of the samples.
    title : str
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
    """
    ax = axes_or_new(ax)
    if labels is None:
        _draw_matrix(ax, matrix)
    else:
        order = order_samples(labels, within)
        _draw_matrix(ax, matrix[np.ix_(order, order)])
        sizes = np.unique(labels, return_counts=True)[1]
        _separate_clusters(ax, np.cumsum(sizes)[:-1])
    ax.set(title=title, xticks=[], yticks=[])
    return ax


def sort_into_cells(P: CoAssignment | Array, labels: np.ndarray | None) -> Cells:
    """Return samples by cluster, and within a cluster so that like is beside like; without labels as they are.

    The order within a cluster is that of the first principal component of its rows of P's factor, from the end
    that is more together with the cluster: from sure to doubtful, or one part of the cluster after
    the other where views disagree about it. A matrix without factors is ordered by togetherness alone.
    """
    if labels is None:
        return cut_into_cells(np.zeros(len(P)))
    groups = np.unique(labels, return_inverse=True)[1]
    together = np.asarray(P @ np.eye(groups.max() + 1)[groups])[np.arange(len(groups)), groups]
    if not isinstance(P, CoAssignment):
        return cut_into_cells(labels, -together)
    within = np.empty(len(labels))
    for k in range(groups.max() + 1):
        members = groups == k
        within[members] = _principal_coordinates(P.factor[members], together[members])
    return cut_into_cells(labels, within)


def _principal_coordinates(X: Array, together: Array) -> Array:
    """Return coordinates (m,) along which rows of X (m, k) vary most, falling as ``together`` rises."""
    centred = X - X.mean(axis=0)
    along = centred @ np.linalg.eigh(centred.T @ centred)[1][:, -1]
    return -along if along @ (together - together.mean()) > 0 else along


def average_cells(source: CoAssignment | Array, cells: Cells) -> Array:
    """Return the mean of P, or of a matrix, over each pair of cells (cells, cells).

    The mean of P = X X^T over a block is the product of the means of X: no block is formed.

    >>> average_cells(np.arange(9.0).reshape(3, 3), cut_into_cells(np.zeros(3), most=1)).tolist()
    [[4.0]]
    """
    if isinstance(source, CoAssignment):
        X = cells.means(source.factor)
        return X @ X.T
    return cells.means(cells.means(source).T).T


def draw_cells(ax: Axes, source: CoAssignment | Array, cells: Cells) -> Any:
    """Draw P, or a matrix, in cells, with strips and lines between clusters if there are several; return the image."""
    image = _draw_matrix(ax, average_cells(source, cells))
    if len(cells.names) > 1:
        draw_strip(ax, cells, left=True)
        draw_strip(ax, cells, left=False)
        _separate_clusters(ax, cells.borders[1:-1])
        ax.set_xlabel("cluster")
    else:
        ax.set(xticks=[], yticks=[], xlabel="samples")
    return image


def _draw_matrix(ax: Axes, matrix: Array) -> Any:
    # where pixels are fewer than samples, average the values and not their colours
    return ax.imshow(matrix, vmin=0, vmax=1, cmap=PROBABILITY, interpolation_stage="data")


def _separate_clusters(ax: Axes, firsts: np.ndarray) -> None:
    draw_borders(ax, firsts, firsts, width=0.8 if len(firsts) < 12 else 0.25)
