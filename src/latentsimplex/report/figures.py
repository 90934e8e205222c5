"""The page's drawings: arrays in, inline SVG out.

Lines and letters are drawn in the colour of the page's text, and improbable means see-through, so that
a drawing follows the page from light to dark. Pixels are embedded; nothing is fetched.
"""

from __future__ import annotations

import io
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import numpy as np
from markupsafe import Markup, escape
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from latentsimplex._types import Array, Indices

INK = "#010203"
"""Stands for the colour of the text around the drawing until the SVG is written."""
ACCENT = (0.18, 0.42, 0.87)
LEVELS = 33
"""Shades of a heatmap: as many as the eye tells apart, and few enough for small files."""
BAR_PIXELS = 150
MAX_CLUSTER_TICKS = 15

STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "latentsimplex",
    "font.size": 9,
    "axes.linewidth": 0.6,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def display_order(labels: np.ndarray, sureness: Array, limit: int) -> Indices:
    """Return samples by cluster and the surest first within each, evenly thinned to ``limit``.

    >>> display_order(np.array([1, 0, 0, 1]), np.array([0.9, 0.5, 0.7, 0.6]), 10).tolist()
    [2, 1, 0, 3]
    """
    order = np.lexsort((-sureness, labels))
    if len(order) <= limit:
        return order
    return order[np.linspace(0, len(order) - 1, limit).round().astype(np.intp)]


def heatmap(P: Array, labels: np.ndarray, description: str) -> Markup:
    """Draw co-assignments (m, m) whose samples are sorted by ``labels``, with a frame around each cluster."""
    with style.context(["default", STYLE]):
        figure = Figure(figsize=(4.2, 4.2))
        axes = figure.add_axes((0.08, 0.08, 0.9, 0.9))
        shades = ListedColormap([(*ACCENT, share) for share in np.linspace(0, 1, LEVELS)])
        axes.imshow(P, cmap=shades, vmin=0, vmax=1, interpolation="none", extent=(0, len(P), len(P), 0))
        edges = _edges(labels)
        for start, stop in pairwise(edges):
            box = [start, stop, stop, start, start], [start, start, stop, stop, start]
            axes.plot(*box, color=INK, linewidth=0.5, alpha=0.6)
        _cluster_ticks(axes, edges, labels, both=True)
        return _svg(figure, description)


def membership_bars(W: Array, labels: np.ndarray, description: str) -> Markup:
    """Draw one bar per sample, filled by its probabilities (m, clusters), samples sorted by ``labels``."""
    with style.context(["default", STYLE]):
        figure = Figure(figsize=(6.4, 2.0))
        axes = figure.add_axes((0.06, 0.2, 0.93, 0.77))
        heights = (np.arange(BAR_PIXELS) + 0.5) / BAR_PIXELS
        cluster = (heights[:, None, None] > W.cumsum(axis=1)[:, :-1]).sum(axis=-1)
        colours = np.array([mpl.colors.to_rgb(colour) for colour in cluster_colours(W.shape[1])])
        axes.imshow(
            colours[cluster],
            aspect="auto",
            interpolation="none",
            origin="lower",
            extent=(0, len(W), 0, 1),
        )
        axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
        _cluster_ticks(axes, _edges(labels), labels)
        return _svg(figure, description)


def loss_curve(curve: Array, description: str) -> Markup:
    """Draw the loss over EM iterations."""
    with style.context(["default", STYLE]):
        figure = Figure(figsize=(6.4, 2.2))
        axes = figure.add_axes((0.13, 0.2, 0.86, 0.74))
        axes.plot(
            np.arange(len(curve)), curve, color=ACCENT, linewidth=1.6, marker="." if len(curve) < 3 else ""
        )
        axes.set_xlabel("iteration")
        axes.set_ylabel("loss")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        return _svg(figure, description)


def cluster_colours(n: int) -> list[str]:
    """Return a colour for each cluster, as distinct as their number allows.

    >>> len(set(cluster_colours(7))), len(set(cluster_colours(30)))
    (7, 30)
    """
    if n <= 20:
        palette = mpl.colormaps["tab10" if n <= 10 else "tab20"]
        return [mpl.colors.to_hex(palette(k)) for k in range(n)]
    return [mpl.colors.to_hex(colour) for colour in mpl.colormaps["turbo"](np.linspace(0.04, 0.96, n))]


def _edges(labels: np.ndarray) -> Indices:
    """Return where runs of equal labels begin, and the end."""
    return np.r_[0, np.flatnonzero(np.diff(labels)) + 1, len(labels)]


def _cluster_ticks(axes: Axes, edges: Indices, labels: np.ndarray, both: bool = False) -> None:
    """Number the clusters at the middle of their samples, or none where they would run together."""
    centres = (edges[:-1] + edges[1:]) / 2
    numbers = [str(k) for k in labels[edges[:-1]]]
    if len(numbers) > MAX_CLUSTER_TICKS:
        centres, numbers = centres[:0], []
    axes.set_xticks(centres, numbers)
    axes.set_xlabel("cluster")
    if both:
        axes.set_yticks(centres, numbers)
    axes.tick_params(length=0)


def _svg(figure: Figure, description: str) -> Markup:
    """Return the figure as an SVG element that scales with its column and reads out ``description``."""
    buffer = io.StringIO()
    nothing: dict[str, Any] = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    return Markup(svg.replace("<svg ", f'<svg role="img" aria-label="{escape(description)}" ', 1))
