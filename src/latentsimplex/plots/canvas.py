"""Figures and axes to draw on: panels on an Agg canvas, inside an axes, or in a new figure of pyplot's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from latentsimplex.base.atomic_files import whole_file

DPI = 150


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches, which lays its panels out by itself and which pyplot ignores."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def panels(n_rows: int, n_columns: int, width: float = 3.0, height: float = 3.0) -> tuple[Figure, np.ndarray]:
    """Return a figure and its grid of axes, each panel ``width`` by ``height`` inches.

    >>> figure, axes = panels(2, 3)
    >>> axes.shape
    (2, 3)
    """
    figure = new_figure(width * n_columns, height * n_rows)
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def axes_or_new(ax: Axes | None, width: float = 4.0, height: float = 4.0) -> Axes:
    """Return ``ax``, or the only panel of a new figure, which a notebook or ``pyplot.show`` shows."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.figure(figsize=(width, height), layout="constrained").add_subplot()


def split(ax: Axes, widths: Sequence[float], inches: float) -> list[Axes]:
    """Return panels side by side inside an axes that is otherwise left blank; they are its ``child_axes``.

    Their widths are in any unit, and so many ``inches`` are between two; of a small axes, a third at most.
    """
    ax.set_axis_off()
    gap = min(inches / (ax.get_window_extent().width / ax.figure.dpi), 1 / 3)
    free = 1 - gap * (len(widths) - 1)
    shares = free * np.asarray(widths, dtype=float) / sum(widths)
    lefts = np.cumsum(np.r_[0, shares[:-1] + gap])
    return [ax.inset_axes((left, 0, share, 1)) for left, share in zip(lefts, shares, strict=True)]


def save(figure: Figure, path: Path) -> Path:
    """Write the figure as PNG and return its path."""
    with whole_file(path) as part:
        figure.savefig(part, dpi=DPI, format="png")
    return path
