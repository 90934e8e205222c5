"""Screening: how strongly views and covariates are related, and where chance does not explain it (Figure 10)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from latentsimplex.analysis.screening import STATISTICS, Screening
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wording import count_noun, shorten_middle
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.marks import (
    NAME_LETTERS,
    draw_borders,
    draw_colour_bar,
    draw_legend_beside,
    draw_table,
    faint_line,
    make_legend_dot,
    write_small_print,
)
from latentsimplex.plots.palette import OKABE_ITO, QUIET, ink

MOST_ROWS = 40
PATTERN_LETTERS = 20
"""Letters of the name of a view that stands for its pattern."""
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
        From :func:`latentsimplex.analysis.screening.screen_model` or :func:`latentsimplex.analysis.screening.screen`.
    level : float in (0, 1)
    title : str, or None to say how many views and covariates there are
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
        Its image is ``ax.images[0]``.
    """
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} is not valid: give a probability between 0 and 1.")
    patterns, names, remark = _choose_rows(screening)
    values = screening.statistics[patterns]
    C = len(screening.covariates)
    width, height = np.clip(3.4 + 0.5 * C, 4.4, 14), np.clip(1.8 + 0.24 * len(patterns), 3.0, 12)
    ax = axes_or_new(ax, float(width), float(height))
    top = max(LEAST_TOP, float(np.nanmax(values, initial=0)))
    image = draw_table(ax, values, top)
    draw_borders(ax, np.flatnonzero(np.diff(patterns)) + 1, width=1)
    _mark_findings(ax, screening, patterns, level, values / top)
    ax.set_yticks(range(len(names)), names, fontsize=8)
    covariates = [shorten_middle(name, NAME_LETTERS) for name in screening.covariates]
    ax.set_xticks(range(C), covariates, fontsize=8, rotation=30, ha="right", rotation_mode="anchor")
    ax.tick_params(length=0)
    if title is None:
        title = f"{count_noun(len(screening.view_patterns), 'view')} and {count_noun(C, 'covariate')}"
    ax.set_title(title, pad=28)
    draw_colour_bar(ax, image, _name_statistics(screening))
    write_small_print(ax, remark, 90)
    return ax


def _choose_rows(screening: Screening) -> tuple[Indices, list[str], str]:
    """Return the pattern of each row, its name, and what was left out."""
    patterns = screening.view_patterns
    if len(patterns) <= MOST_ROWS:
        order = np.lexsort((-screening.certainty, patterns))
        names = [shorten_middle(str(name), NAME_LETTERS) for name in screening.view_names[order]]
        return patterns[order], names, ""
    remark = f"{len(patterns):,} views: a row for each pattern, whose views have the same statistics"
    live = np.arange(len(screening.statistics))
    if len(live) > MOST_ROWS:
        smallest = screening.familywise.min(axis=1)
        largest = screening.statistics.max(axis=1)
        live = np.sort(np.lexsort((-largest, smallest))[:MOST_ROWS])
        remark += f"; the {MOST_ROWS} most significant of {len(screening.statistics):,} patterns"
    return live, [_name_pattern(screening, int(l)) for l in live], remark


def _name_pattern(screening: Screening, l: int) -> str:
    own = np.flatnonzero(screening.view_patterns == l)
    surest = own[np.argmax(screening.certainty[own])]
    name = shorten_middle(str(screening.view_names[surest]), PATTERN_LETTERS)
    return f"{l}: {name}" + (f" and {len(own) - 1:,} more" if len(own) > 1 else "")


def _mark_findings(
    ax: Axes, screening: Screening, patterns: Indices, level: float, brightness: Array
) -> None:
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
        make_legend_dot(f"family-wise p ≤ {level:g}", 4.5),
        make_legend_dot(f"false discovery rate ≤ {level:g}", 4.5, markerfacecolor="none"),
    ]
    ax.legend(
        handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=8, frameon=False
    )


def _name_statistics(screening: Screening) -> str:
    """Return what the colours are: the statistic of categorical covariates, that of numeric ones, or both."""
    numeric = np.array(screening.kinds) == "numeric"
    names = [
        name.upper()
        for name in STATISTICS
        if not numeric.all()
        and np.array_equal(screening.effects[name][:, ~numeric], screening.statistics[:, ~numeric])
    ][:1]
    return " or ".join([*names, "$\\epsilon^2$ of ranks"] if numeric.any() else names)


def plot_maxima(
    names: Sequence[str],
    largest: Array,
    thresholds: Array,
    baselines: Array,
    notable: np.ndarray,
    *,
    cut_off: float,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a bar for each covariate, the first at the top.

    Parameters
    ----------
    names : sequence of str
    largest : (covariates,) array
        The length of the bars.
    thresholds, baselines : (covariates,) arrays
        What permuted covariates exceed in one of twenty, and what random labels reach: a mark on each bar.
    notable : (covariates,) array of bool
        Which bars are coloured, the others being grey.
    cut_off : float
        Where a dashed line goes.
    title : str
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
    """
    ax = axes_or_new(ax, 6.4, float(np.clip(1.2 + 0.32 * len(names), 2.4, 12)))
    rows = np.arange(len(names))
    ax.barh(rows, largest, height=0.7, color=[OKABE_ITO[5] if flag else QUIET for flag in notable])
    ax.scatter(thresholds, rows, marker="|", s=110, c=ink(ax), linewidths=2, label="permuted, 95%", zorder=3)
    ax.scatter(baselines, rows, marker="x", s=28, c=OKABE_ITO[4], label="random labels", zorder=3)
    ax.axvline(cut_off, linestyle="--", **faint_line(ax), label=f"cut-off {cut_off:g}")
    ax.set_yticks(rows, names, fontsize=8)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set(title=title, xlabel="NMI")
    ax.set_xlim(0, 1.05 * max(cut_off, *largest, *thresholds, *baselines))
    draw_legend_beside(ax, "")
    return ax


def plot_top_views(
    names: Sequence[str], scores: Sequence[Array], *, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw a row for each covariate and a block of columns for the top views of each.

    Where covariates go with views of their own, the blocks along the diagonal stand out. The image is
    ``ax.images[0]``, for a colour bar.

    Parameters
    ----------
    names : sequence of str
    scores : sequence of (covariates, views) arrays
        Block k holds the scores of all covariates with the top views of covariate k, best first.
    title : str
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
    """
    ax = axes_or_new(ax)
    values = np.hstack(scores)
    draw_table(ax, values, max(LEAST_TOP, values.max()))
    widths = np.array([block.shape[1] for block in scores])
    ends = np.cumsum(widths)
    draw_borders(ax, range(1, len(names)), ends[:-1], width=2)
    ax.set_xticks(ends - widths / 2 - 0.5, names, fontsize=8, rotation=20, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.tick_params(length=0)
    ax.set(title=title, xlabel="the covariate whose top views these are")
    return ax
