"""Annotations of figures: strips of clusters, borders, colour bars, legends and small print."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.transforms import ScaledTranslation, blended_transform_factory

from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wording import shorten_middle
from latentsimplex.plots.palette import EMPTY, PROBABILITY, cluster_colour, ink, style_numbers
from latentsimplex.plots.thinned import Cells

SMALL = 7.5
STRIP, STRIP_GAP = 0.09, 0.045
"""The breadth of a strip and its distance from the data, in inches."""
LEAST_GAP = 0.038
"""Two numbers at a strip are as far apart as this share of its length, or one of them is left out."""
NAME_LETTERS, STRIP_LETTERS = 28, 12
"""Letters of the name of a view or covariate, and of that of a cluster, its middle left out where it is longer."""


def write_small_print(ax: Axes, text: str, width: int = 64) -> None:
    """Write a remark below the label of the x axis; nothing where there is none to make."""
    if text:
        below: dict[str, Any] = {"xytext": (0, -3), "textcoords": "offset points", "annotation_clip": False}
        style: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": SMALL, "alpha": 0.8}
        ax.annotate(_break_evenly(text, width), (0.5, 0), xycoords=ax.xaxis.label, **below, **style)


def _break_evenly(text: str, width: int) -> str:
    """Return text in the fewest lines of so many letters, about as long as one another."""
    text = " ".join(text.split())
    fewest = len(textwrap.wrap(text, width, break_on_hyphens=False))
    widths = range(len(text) // fewest, width + 1)
    broken = (textwrap.wrap(text, narrower, break_on_hyphens=False) for narrower in widths)
    return "\n".join(next(lines for lines in broken if len(lines) == fewest))


def draw_table(ax: Axes, values: Array, top: float = 1.0) -> Any:
    """Draw values from 0 to ``top`` as an image with a cell each, missing ones grey, and return the image."""
    ax.set_facecolor(EMPTY)
    return ax.imshow(values, vmin=0, vmax=top, cmap=PROBABILITY, aspect="auto", interpolation="nearest")


def draw_colour_bar(ax: Axes, image: Any, label: str) -> None:
    """Draw the scale of an image at the right of its panel, as high as the panel."""
    bar = ax.inset_axes((1.03, 0, 0.035, 1))
    ax.figure.colorbar(image, cax=bar, label=label)
    bar.tick_params(labelsize=8)


def draw_strip(ax: Axes, cells: Cells, *, left: bool) -> Indices:
    """Draw a coloured strip at the left of a panel of cells, or below it, and return which groups it names.

    Each group has a piece, and a name where there is room.
    """
    borders, corner = cells.borders - 0.5, -STRIP_GAP - STRIP
    inches = ax.figure.dpi_scale_trans + ScaledTranslation(0, 0, ax.transAxes)  # type: ignore[arg-type]
    x_and_y = (inches, ax.transData) if left else (ax.transData, inches)
    place = blended_transform_factory(*x_and_y)
    for k, (start, stop) in zip(style_numbers(cells.names), pairwise(borders), strict=True):
        length = stop - start
        box = ((corner, start), STRIP, length) if left else ((start, corner), length, STRIP)
        ax.add_patch(
            Rectangle(*box, transform=place, facecolor=cluster_colour(k), edgecolor="none", clip_on=False)
        )
    centres = (borders[:-1] + borders[1:]) / 2
    shown = choose_spaced(centres, np.diff(borders), LEAST_GAP * len(cells.starts))
    axis = ax.yaxis if left else ax.xaxis
    axis.set_ticks(centres[shown], [shorten_middle(str(name), STRIP_LETTERS) for name in cells.names[shown]])
    axis.set_tick_params(length=0, pad=72 * (STRIP + STRIP_GAP) + 2, labelsize=8)
    return shown


def draw_borders(ax: Axes, rows: Iterable[int] = (), columns: Iterable[int] = (), width: float = 0.8) -> None:
    """Draw a white line before each of these rows and columns of an image."""
    for row in rows:
        ax.axhline(row - 0.5, color="white", linewidth=width)
    for column in columns:
        ax.axvline(column - 0.5, color="white", linewidth=width)


def choose_spaced(places: Array, sizes: Array, gap: float) -> Indices:
    """Return which places, in order, can be written at when two are at least ``gap`` apart, largest first.

    >>> choose_spaced(np.array([0.0, 1.0, 5.0]), np.array([1.0, 2.0, 1.0]), 2.0).tolist()
    [1, 2]
    """
    kept: list[int] = []
    for k in np.argsort(-sizes, kind="stable"):
        if all(abs(places[k] - places[other]) >= gap for other in kept):
            kept.append(int(k))
    return np.sort(np.array(kept, dtype=np.intp))


def remove_frame(ax: Axes) -> None:
    """Leave the lines at the left and below."""
    ax.spines[["top", "right"]].set_visible(False)


def faint_line(ax: Axes) -> dict[str, Any]:
    """Return the style of a line that helps to read and carries no data."""
    return {"color": ink(ax), "linewidth": 0.8, "alpha": 0.45}


def draw_legend_beside(ax: Axes, title: str, **style: Any) -> None:
    """Draw a legend at the right of a panel."""
    ax.legend(title=title, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8, **style)


def make_legend_dot(label: str, size: float, **style: Any) -> Line2D:
    """Return a grey dot for a legend."""
    return Line2D([], [], linestyle="", marker="o", color="grey", markersize=size, label=label, **style)
