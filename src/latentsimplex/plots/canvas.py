"""Where figures are drawn: panels on an Agg canvas, and the file they end in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

DPI = 150


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches, which lays its panels out by itself."""
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


def axes_or_new(ax: Axes | None) -> Axes:
    """Return ``ax``, or the only panel of a new figure."""
    return panels(1, 1, 4.0, 4.0)[1][0, 0] if ax is None else ax


def save(figure: Figure, path: Path) -> Path:
    """Write the figure as PNG and return where it is."""
    figure.savefig(path, dpi=DPI, format="png")
    return path
