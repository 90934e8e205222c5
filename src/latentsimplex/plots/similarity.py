"""What the data say beside what the model makes of it: similarities and their smoothed P."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.spatial.distance import squareform

from latentsimplex._types import Array
from latentsimplex.coassignment import CoAssignment
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.parameters import UnstoredKernel
from latentsimplex.plots.canvas import axes_or_new, split
from latentsimplex.plots.coassignment import cluster_cells
from latentsimplex.plots.heatmap import cell_matrix, cells_label, draw_cells
from latentsimplex.plots.marks import colour_bar, small_print
from latentsimplex.plots.of_model import is_model, part_of, refuse_part, square
from latentsimplex.similarity import Precomputed, tables_exponents
from latentsimplex.views import as_views

MOST_SAMPLES = 5000
"""A similarity has no factors to average, and 5,000 samples take 200 MB."""


def plot_similarity(
    source: LatentSimplexPosition | CoAssignment | Array,
    similarity: Array | None = None,
    labels: np.ndarray | None = None,
    *,
    data: Any = None,
    view: int | str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the similarities of a view beside the co-assignments, in one order of samples and on one scale.

    Parameters
    ----------
    source : fitted LatentSimplexPosition, CoAssignment or (n, n) array
        What the co-assignments are.
    similarity : (n, n) array or None
        Values in [0, 1].
    labels : (n,) array or None
        Samples are put in the order of these. None is the clusters of a model; with arrays, the order given.
    data : views or None
        With a model, what it was fitted to, in place of ``similarity``: see :func:`view_similarity`.
    view : int, str or None
        Which view of a model; None is the first.
    title : str or None
        None says which view of a model it is.
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
        Left blank but for the title: the two panels are its first two ``child_axes``.
    """
    if (similarity is None) == (data is None):
        raise ValueError("Give either similarity, an (n, n) array, or data, what the model was fitted to.")
    if is_model(source):
        view = 0 if view is None else view
        part = part_of(source, view, None)
        P: CoAssignment | Array = part.P
        labels = part.labels if labels is None else labels
        title = part.name if title is None else title
        S = view_similarity(source, data, view) if similarity is None else similarity
    else:
        refuse_part(view, None)
        P = source if isinstance(source, CoAssignment) else square(source, "The co-assignment")
        if similarity is None:
            raise ValueError("data goes with a fitted model, and arrays were given: give similarity.")
        S = similarity
    S = square(S, "similarity")
    if len(S) != len(P):
        raise ValueError(
            f"similarity has {len(S)} samples and the co-assignments {len(P)}: give the same samples."
        )
    return _draw(axes_or_new(ax, 8.2, 4.3), P, S, labels, title)


def view_similarity(model: LatentSimplexPosition, data: Any, view: int | str = 0) -> Array:
    """Return the similarities (n, n) of a view as the last stage of the fit read them; 1 on the diagonal.

    ``data`` is what the model was fitted to: a fit keeps its kernel, ``similarity_``, and not its data.
    """
    model.coassignment(view)  # refuses a model that is not fitted, and a view that is not there
    kernel = model.similarity_
    if isinstance(kernel, UnstoredKernel):
        raise ValueError(
            f"The model was read from a file, which cannot hold {kernel.description}, its similarity: compute it, "
            "and give the (n, n) array as similarity."
        )
    views = as_views(data, model.views, precomputed=isinstance(kernel, Precomputed))
    if views.names != [str(name) for name in model.view_names_in_] or views.n_samples != model.n_samples_:
        raise ValueError(
            f"data holds {len(views)} views of {views.n_samples} samples, and the model was fitted to "
            f"{len(model.view_names_in_)} of {model.n_samples_}, or their names differ: give the data of the fit."
        )
    if views.n_samples > MOST_SAMPLES:
        raise MemoryError(
            f"The similarities of {views.n_samples:,} samples are an n x n matrix, and here {MOST_SAMPLES:,} samples "
            "are the most: draw those of some samples, plot_similarity(P.block(some, some), S)."
        )
    v = model._view_index(view)
    r = tables_exponents(kernel, views[v][None], lambda _: f"view {views.names[v]!r}")[0]
    return squareform(np.exp(-np.asarray(r, dtype=np.float64))) + np.eye(views.n_samples)


def _draw(ax: Axes, P: CoAssignment | Array, S: Array, labels: np.ndarray | None, title: str | None) -> Axes:
    cells = cluster_cells(P, labels)
    left, right = split(ax, (1, 1), inches=0.6)
    draw_cells(left, cell_matrix(S, cells), cells)
    image = draw_cells(right, cell_matrix(P, cells), cells)
    colour_bar(right, image, "similarity, probability")
    for panel, name in ((left, "similarity $S$"), (right, "co-assignment $P$")):
        panel.set_title(name, fontsize="medium")
        panel.set_xlabel(cells_label(cells))
    small_print(left, cells.said("cell", "samples"), 44)
    ax.set_title(title or "", pad=26)
    return ax
