"""A similarity or co-assignment matrix as a heat map (Figures 3, 4 and 6, and the appendix)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from latentsimplex._types import Array
from latentsimplex.coassignment import CoAssignment
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.cells import Cells
from latentsimplex.plots.marks import strips
from latentsimplex.plots.order import cluster_edges, sample_order
from latentsimplex.plots.palette import PROBABILITY


def plot_heatmap(
    matrix: Array,
    labels: np.ndarray | None = None,
    within: np.ndarray | None = None,
    *,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a symmetric matrix of values in [0, 1]; its image is ``ax.images[0]``, for a colour bar.

    It is the plain picture, for panels of a larger figure. :func:`latentsimplex.plots.plot_coassignment` has
    strips of clusters and a colour bar, and takes a model.

    Parameters
    ----------
    matrix : (n, n) array
    labels : (n,) array or None
        Samples are put in the order of these, with lines between clusters.
    within : (n,) array or None
        The order within a cluster; None keeps that of the samples.
    title : str
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
    """
    ax = axes_or_new(ax)
    if labels is not None:
        order = sample_order(labels, within)
        matrix = matrix[np.ix_(order, order)]
    _image(ax, matrix)
    if labels is not None:
        _borders(ax, cluster_edges(labels))
    ax.set(title=title, xticks=[], yticks=[])
    return ax


def cell_matrix(source: CoAssignment | Array, cells: Cells) -> Array:
    """Return the mean of P, or of a matrix, over each pair of cells (cells, cells).

    The mean of P = X X^T over a block is the product of the means of X: no block is formed.

    >>> from latentsimplex.plots.cells import cells_of
    >>> cell_matrix(np.arange(9.0).reshape(3, 3), cells_of(np.zeros(3), most=1)).tolist()
    [[4.0]]
    """
    if isinstance(source, CoAssignment):
        X = cells.means(source.factor)
        return X @ X.T
    return cells.means(cells.means(source).T).T


def draw_cells(ax: Axes, matrix: Array, cells: Cells) -> Any:
    """Draw a matrix of cells with strips and lines between groups, where there are several; return the image."""
    image = _image(ax, matrix)
    if len(cells.names) > 1:
        strips(ax, cells)
        _borders(ax, cells.borders[1:-1] - 0.5)
    else:
        ax.set(xticks=[], yticks=[])
    return image


def cells_label(cells: Cells) -> str:
    """Return what the axes of a matrix of cells are called."""
    return "cluster" if len(cells.names) > 1 else "samples"


def _image(ax: Axes, matrix: Array) -> Any:
    # where pixels are fewer than samples, average the values and not their colours
    return ax.imshow(matrix, vmin=0, vmax=1, cmap=PROBABILITY, interpolation_stage="data")


def _borders(ax: Axes, edges: np.ndarray) -> None:
    width = 0.8 if len(edges) < 12 else 0.25
    for edge in edges:
        ax.axhline(edge, color="white", linewidth=width)
        ax.axvline(edge, color="white", linewidth=width)
