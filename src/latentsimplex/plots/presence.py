"""Which samples each view has: a row for each view, samples side by side, cluster by cluster."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.cells import cut_into_cells
from latentsimplex.plots.marks import write_small_print
from latentsimplex.plots.model_parts import FittedModel, is_model
from latentsimplex.plots.palette import EMPTY, OKABE_ITO, ink
from latentsimplex.results.results import results_of

MOST_NAMED = 60
"""Views whose names there is room for."""


def plot_presence(
    present: FittedModel | np.ndarray,
    labels: np.ndarray | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw which samples each view has, samples sorted by cluster and by how many views have them.

    Parameters
    ----------
    present : fitted LatentSimplexPosition or (V, n) array of bool
    labels : (n,) array or None
        Clusters by which samples are sorted; None is those of a model's consensus, or none.
    title : str, or None to say how many samples all views have
    ax : Axes, or None for a new figure

    Examples
    --------
    >>> ax = plot_presence(np.array([[True, True, False], [False, True, True]]))
    >>> ax.get_title()
    '1 of 3 samples are in all views'
    """
    names = None
    if is_model(present):
        results = results_of(present)
        names = [str(name) for name in results.view_names]
        labels = results.labels if labels is None else labels
        found = results.present
        there = np.ones((results.n_views, results.n_samples), bool) if found is None else found
    else:
        there = np.asarray(present, dtype=bool)
    names = names or [str(v) for v in range(len(there))]
    n = there.shape[1]
    cells = cut_into_cells(np.zeros(n, dtype=np.intp) if labels is None else labels, -there.sum(axis=0))
    ax = axes_or_new(ax, 6.0, 1.2 + 0.3 * min(len(there), 12))
    shades = LinearSegmentedColormap.from_list("presence", [EMPTY, OKABE_ITO[0]])
    shares = cells.means(there.T.astype(np.float64)).T
    ax.imshow(shares, aspect="auto", interpolation="nearest", cmap=shades, vmin=0, vmax=1)
    for border in cells.borders[1:-1]:
        ax.axvline(border - 0.5, color=ink(ax), linewidth=0.8)
    if len(names) <= MOST_NAMED:
        ax.set_yticks(range(len(names)), names)
    else:
        ax.set_ylabel(f"{len(names):,} views")
    ax.set_xticks([])
    ax.set_xlabel("samples" if labels is None else "samples, by cluster")
    write_small_print(ax, cells.explain("column", "samples"))
    whole = int(there.all(axis=0).sum())
    ax.set_title(f"{whole:,} of {n:,} samples are in all views" if title is None else title)
    return ax
