"""Similarities of a view beside the co-assignments that the model makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.spatial.distance import squareform

from latentsimplex.base.types import Array
from latentsimplex.plots.canvas import axes_or_new, split
from latentsimplex.plots.coassignment import draw_cells, sort_into_cells
from latentsimplex.plots.marks import draw_colour_bar, write_small_print
from latentsimplex.plots.model_parts import FittedModel, check_square, is_model, read_coassignments
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.results.parameters import UnstoredKernel
from latentsimplex.results.results import read_views_again, results_of
from latentsimplex.similarity.kernel import read_exponents

MOST_SAMPLES = 5000
"""A similarity has no factors to average, and 5,000 samples take 200 MB."""


def plot_similarity(
    source: FittedModel | CoAssignment | Array,
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
        Values in [0, 1]. A model, which holds no data, needs neither this nor ``data`` where its response was
        learned: it then shows the similarities that it expects, :func:`expected_similarity`.
    labels : (n,) array or None
        Samples are put in the order of these. None is the clusters of a model; with arrays, the order given.
    data : views or None
        With a model, what it was fitted to, in place of ``similarity``: see :func:`view_similarity`.
    view : int, str or None
        Which view of a model; None is the first.
    title : str, or None to say which view of a model it is
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
        Left blank but for the title: the two panels are its first two ``child_axes``.
    """
    if similarity is not None and data is not None:
        raise ValueError("Both similarity and data were given: give one of them, or with a model neither.")
    what = "similarity $S$"
    if is_model(source):
        view = 0 if view is None else view
        if data is not None:
            similarity = view_similarity(source, data, view)
        elif similarity is None:
            similarity, what = expected_similarity(source, view), "expected similarity $W B W^T$"
    elif similarity is None:
        raise ValueError(
            "data goes with a fitted model, and arrays were given: give similarity, an (n, n) array."
        )
    part = read_coassignments(source, view, None)
    P, S = part.values, check_square(similarity, "similarity")
    if len(S) != len(P):
        raise ValueError(
            f"similarity has {len(S)} samples and the co-assignments {len(P)}: give the same samples."
        )
    cells = sort_into_cells(P, part.choose_labels(labels))
    ax = axes_or_new(ax, 8.2, 4.3)
    left, right = split(ax, (1, 1), inches=0.6)
    draw_cells(left, S, cells)
    image = draw_cells(right, P, cells)
    draw_colour_bar(right, image, "similarity, probability")
    left.set_title(what, fontsize="medium")
    right.set_title("co-assignment $P$", fontsize="medium")
    write_small_print(left, cells.explain("cell", "samples"), 44)
    ax.set_title(part.name if title is None else title, pad=26)
    return ax


def view_similarity(model: FittedModel, data: Any, view: int | str = 0) -> Array:
    """Return the similarities (n, n) of a view as the last stage of the fit read them; 1 on the diagonal.

    Those of samples that are absent from the view are nan. ``data`` is what the model was fitted to: a fit keeps its
    kernel, ``similarity_``, and not its data.
    """
    results = results_of(model)
    v, kernel = results.find_view(view), results.similarity
    if isinstance(kernel, UnstoredKernel):
        raise ValueError(
            f"The model was read from a file, which cannot hold {kernel.description}, its similarity: compute it, "
            "and give the (n, n) array as similarity."
        )
    views = read_views_again(results, data)
    _check_size(views.n_samples)
    r = read_exponents(kernel, views[v][None], lambda _: f"view {views.names[v]!r}")[0]
    similar = squareform(np.exp(-np.asarray(r, dtype=np.float64))) + np.eye(len(views[v]))
    if (samples := views.find_samples(v)) is None:
        return similar
    every = np.full((views.n_samples, views.n_samples), np.nan)
    every[np.ix_(samples, samples)] = similar
    return every


def expected_similarity(model: FittedModel, view: int | str = 0) -> Array:
    """Return the similarities q = W B W^T (n, n) that the pattern of a view expects; 1 on the diagonal.

    It needs no data, and says more than the co-assignments only where the response was learned.
    """
    results = results_of(model)
    if results.stages[-1].response != "learned":
        raise ValueError(
            "A model holds no data, and this one expects similarities that are the co-assignments themselves "
            '(response="identity"): give data=, what it was fitted to, or similarity=, an (n, n) array.'
        )
    _check_size(results.n_samples)
    l = results.find_pattern(view, None)
    W, B = results.memberships[l], results.responses[l]
    Q = W @ B @ W.T
    np.fill_diagonal(Q, 1)
    return Q


def _check_size(n_samples: int) -> None:
    if n_samples > MOST_SAMPLES:
        raise MemoryError(
            f"The similarities of {n_samples:,} samples are an n x n matrix, and here {MOST_SAMPLES:,} samples "
            "are the most: draw those of some samples, plot_similarity(P.block(some, some), S)."
        )
