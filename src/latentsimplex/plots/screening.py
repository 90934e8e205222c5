"""Views against covariates: how strongly each pair is related, and where chance does not explain it."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from latentsimplex._types import Array, Indices
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.marks import colour_bar, counted, shorten, small_print
from latentsimplex.plots.palette import EMPTY, PROBABILITY
from latentsimplex.screening import STATISTICS, Screening

MOST_ROWS = 40
LEAST_TOP = 0.1
"""The colours reach this far at least, so that statistics of nearly nothing look like it."""


def plot_screening(
    screening: Screening, *, level: float = 0.05, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a row for each view and a column for each covariate, and mark what is significant.

    A filled dot marks pairs with a family-wise p-value up to ``level``, an open one those with a false
    discovery rate up to it. Views of one pattern have the same labels and so the same statistics: of more than 40
    views there is a row for each pattern, named by the view that follows it most surely, and of more than
    40 patterns the most significant are drawn. The figure says so.

    Parameters
    ----------
    screening : Screening
        From :func:`latentsimplex.screening.screen_model` or :func:`latentsimplex.screening.screen`.
    level : float in (0, 1)
    title : str or None
        None says how many views and covariates there are.
    ax : Axes or None
        Where to draw; None is a new figure.

    Returns
    -------
    Axes
        Its image is ``ax.images[0]``.
    """
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} is not valid: give a probability between 0 and 1.")
    patterns, names, said = _rows(screening)
    values = screening.statistics[patterns]
    C = len(screening.covariates)
    width, height = np.clip(3.4 + 0.5 * C, 4.4, 14), np.clip(1.8 + 0.24 * len(patterns), 3.0, 12)
    ax = axes_or_new(ax, float(width), float(height))
    ax.set_facecolor(EMPTY)
    top = max(LEAST_TOP, float(np.nanmax(values, initial=0)))
    image = ax.imshow(values, vmin=0, vmax=top, cmap=PROBABILITY, aspect="auto", interpolation="nearest")
    for edge in np.flatnonzero(np.diff(patterns)):
        ax.axhline(edge + 0.5, color="white", linewidth=1)
    _mark(ax, screening, patterns, level, values / top)
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.set_xticks(
        range(C),
        [shorten(name) for name in screening.covariates],
        fontsize=8,
        rotation=30,
        ha="right",
        rotation_mode="anchor",
    )
    ax.tick_params(length=0)
    views = len(screening.view_patterns)
    ax.set_title(
        f"{counted(views, 'view')} and {counted(C, 'covariate')}" if title is None else title, pad=28
    )
    colour_bar(ax, image, _measure(screening))
    small_print(ax, said, 90)
    return ax


def _rows(screening: Screening) -> tuple[Indices, list[str], str]:
    """Return the pattern of each row, its name, and what was left out."""
    patterns = screening.view_patterns
    if len(patterns) <= MOST_ROWS:
        order = np.lexsort((-screening.certainty, patterns))
        return patterns[order], [shorten(str(name)) for name in screening.view_names[order]], ""
    said = f"{len(patterns):,} views: a row for each pattern, whose views have the same statistics"
    live = np.arange(len(screening.statistics))
    if len(live) > MOST_ROWS:
        smallest = screening.familywise.min(axis=1)
        largest = screening.statistics.max(axis=1)
        live = np.sort(np.lexsort((-largest, smallest))[:MOST_ROWS])
        said += f"; the {MOST_ROWS} most significant of {len(screening.statistics):,} patterns"
    return live, [_pattern_name(screening, int(l)) for l in live], said


def _pattern_name(screening: Screening, l: int) -> str:
    own = np.flatnonzero(screening.view_patterns == l)
    surest = own[np.argmax(screening.certainty[own])]
    name = shorten(str(screening.view_names[surest]), 20)
    return f"{l}: {name}" + (f" and {len(own) - 1:,} more" if len(own) > 1 else "")


def _mark(ax: Axes, screening: Screening, patterns: Indices, level: float, brightness: Array) -> None:
    """Draw the dots in black or white, whichever stands out from the cell, and say above what they mean."""
    family = screening.familywise[patterns] <= level
    expected = (screening.false_discovery[patterns] <= level) & ~family
    for found, filled in ((family, True), (expected, False)):
        rows, columns = np.nonzero(found)
        colours = np.where(brightness[rows, columns] > 0.55, "black", "white").tolist()
        ax.scatter(
            columns, rows, s=20, facecolors=colours if filled else "none", edgecolors=colours, linewidths=1
        )
    handles = [
        Line2D(
            [], [], linestyle="", marker="o", markersize=4.5, color="grey", label=f"family-wise p ≤ {level:g}"
        ),
        Line2D(
            [],
            [],
            linestyle="",
            marker="o",
            markersize=4.5,
            markerfacecolor="none",
            color="grey",
            label=f"false discovery rate ≤ {level:g}",
        ),
    ]
    ax.legend(
        handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=8, frameon=False
    )


def _measure(screening: Screening) -> str:
    """Return what the colours are: the statistic of categorical covariates, that of numeric ones, or both."""
    numeric = np.array(screening.kinds) == "numeric"
    names = [
        name.upper()
        for name in STATISTICS
        if not numeric.all()
        and np.array_equal(screening.effects[name][:, ~numeric], screening.statistics[:, ~numeric])
    ][:1]
    return " or ".join([*names, "$\\epsilon^2$ of ranks"] if numeric.any() else names)
