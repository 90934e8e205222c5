"""What stands around the data of a figure: strips of clusters, a colour bar, names and small print."""

from __future__ import annotations

import textwrap
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.transforms import ScaledTranslation, blended_transform_factory

from latentsimplex._types import Array
from latentsimplex.plots.cells import Cells
from latentsimplex.plots.palette import cluster_style, ink, style_numbers

SMALL = 7.5
STRIP, STRIP_GAP = 0.09, 0.045
"""The breadth of a strip and its distance from the data, in inches."""
LEAST_GAP = 0.038
"""Two numbers at a strip are as far apart as this share of its length, or one of them is left out."""
NAME_LETTERS = 28
LINE_LETTERS = 64


def small_print(ax: Axes, text: str, width: int = LINE_LETTERS) -> None:
    """Write a remark below the label of the x axis; nothing where there is none to make."""
    if not text:
        return
    ax.annotate(
        _even_lines(text, width),
        xy=(0.5, 0),
        xycoords=ax.xaxis.label,
        xytext=(0, -3),
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=SMALL,
        alpha=0.8,
        annotation_clip=False,
    )


def _even_lines(text: str, width: int) -> str:
    """Return text in the fewest lines of so many letters, about as long as one another."""
    fewest = textwrap.wrap(text, width, break_on_hyphens=False)
    for narrower in range(len(text) // len(fewest), width):
        lines = textwrap.wrap(text, narrower, break_on_hyphens=False)
        if len(lines) == len(fewest):
            return "\n".join(lines)
    return "\n".join(fewest)


def colour_bar(ax: Axes, image: Any, label: str) -> Axes:
    """Draw the scale of an image at the right of its panel, as high as the panel."""
    bar = ax.inset_axes((1.03, 0, 0.035, 1))
    ax.figure.colorbar(image, cax=bar, label=label)
    bar.tick_params(labelsize=8)
    return bar


def strips(ax: Axes, cells: Cells, *, left: bool = True, below: bool = True) -> None:
    """Draw a coloured strip along the edges of a panel of cells, a piece and a number for each group."""
    borders = cells.borders - 0.5
    corner = -STRIP_GAP - STRIP
    inches = ax.figure.dpi_scale_trans + ScaledTranslation(0, 0, ax.transAxes)  # type: ignore[arg-type]
    beside, under = (
        blended_transform_factory(inches, ax.transData),
        blended_transform_factory(ax.transData, inches),
    )
    for k, (start, stop) in zip(style_numbers(cells.names), pairwise(borders), strict=True):
        style: dict[str, Any] = {"facecolor": cluster_style(k)[0], "edgecolor": "none", "clip_on": False}
        if left:
            ax.add_patch(Rectangle((corner, start), STRIP, stop - start, transform=beside, **style))
        if below:
            ax.add_patch(Rectangle((start, corner), stop - start, STRIP, transform=under, **style))
    centres, sizes = (borders[:-1] + borders[1:]) / 2, np.diff(borders)
    shown = spaced(centres, sizes, LEAST_GAP * len(cells.starts))
    texts = [shorten(str(name), 12) for name in cells.names[shown]]
    style = {"length": 0, "pad": 72 * (STRIP + STRIP_GAP) + 2, "labelsize": 8}
    if below:
        ax.set_xticks(centres[shown], texts)
        ax.tick_params("x", **style)
    if left:
        ax.set_yticks(centres[shown], texts)
        ax.tick_params("y", **style)


def spaced(places: Array, sizes: Array, gap: float) -> np.ndarray:
    """Return which places, in order, can be written at when two are at least ``gap`` apart, largest first.

    >>> spaced(np.array([0.0, 1.0, 5.0]), np.array([1.0, 2.0, 1.0]), 2.0).tolist()
    [1, 2]
    """
    kept: list[int] = []
    for k in np.argsort(-np.asarray(sizes), kind="stable"):
        if all(abs(places[k] - places[other]) >= gap for other in kept):
            kept.append(int(k))
    return np.sort(np.array(kept, dtype=np.intp))


def shorten(name: str, most: int = NAME_LETTERS) -> str:
    """Return a name of at most so many letters, its middle left out where it is longer.

    >>> shorten("expression of a gene with a long name", 21)
    'expression…long name'
    """
    if len(name) <= most:
        return name
    first = most // 2
    return f"{name[:first].rstrip()}…{name[first + 1 - most :].lstrip()}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "view"), counted(50_000, "view")
    ('1 view', '50,000 views')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def without_frame(ax: Axes) -> None:
    """Leave the lines at the left and below."""
    ax.spines[["top", "right"]].set_visible(False)


def faint(ax: Axes) -> dict[str, Any]:
    """Return the style of a line that helps to read and carries no data."""
    return {"color": ink(ax), "linewidth": 0.8, "alpha": 0.45}
