"""Labels and links beside the fit: how probable it is that each of them is wrong."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wording import count_noun, shorten_middle
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.marks import (
    NAME_LETTERS,
    SMALL,
    draw_legend_beside,
    faint_line,
    remove_frame,
    write_small_print,
)
from latentsimplex.plots.model_parts import FittedModel
from latentsimplex.plots.palette import QUIET, cluster_style, ink
from latentsimplex.results.results import Results, results_of
from latentsimplex.results.tables import name_samples

MOST_ROWS, MOST_DOTS, MOST_NAMES = 30, 500, 3
"""Classes that have a row, the labels or links of a row that are drawn, and those of a row that are named."""
HALF = 0.33
"""How far dots are spread above and below the middle of their row: half of it would touch the next."""
DOUBTFUL = 0.5
"""A label or a link is named where it is more probably wrong than not."""


class Row(NamedTuple):
    """A row of dots: how probable each is wrong, its name, and the cluster that the fit says, -1 for links."""

    title: str
    doubts: Array
    names: list[str]
    clusters: Indices

    def keep(self, n: int) -> Row:
        """Return the n that are most probably wrong."""
        order = np.argsort(-self.doubts, kind="stable")[:n]
        return Row(self.title, self.doubts[order], [self.names[i] for i in order], self.clusters[order])


def plot_known(model: FittedModel, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw how probable it is that each label and each link is wrong, given the views and all others.

    A row has the labels of a class, or the links of a kind. Labels have the colour of the cluster that the fit puts
    their samples into, links are grey. Those right of the line are probably wrong, and the first of them are named.

    Parameters
    ----------
    model : LatentSimplexPosition fitted with ``y``, ``must_link`` or ``cannot_link``
    title : str, or None to say which pattern labels and links are about
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
        Its collections have the dots, rows from the top.
    """
    results = results_of(model)
    known = results.known
    if known is None:
        raise ValueError(
            "The fit was given neither labels nor links: give y, must_link or cannot_link to fit."
        )
    rows = list_rows(results)
    shown = rows[:MOST_ROWS]
    ax = axes_or_new(ax, 6.4, float(np.clip(1.6 + 0.42 * len(shown), 2.6, 12)))
    ax.axvline(DOUBTFUL, zorder=0, linestyle="--", **faint_line(ax))
    for place, row in enumerate(shown):
        _draw_row(ax, place, row.keep(MOST_DOTS))
    ax.set_yticks(range(len(shown)), [row.title for row in shown], fontsize=8)
    ax.set(xlim=(-0.03, 1.03), ylim=(len(shown) - 0.5, -0.5), xlabel="probability that it is wrong")
    ax.tick_params(axis="y", length=0)
    remove_frame(ax)
    used = np.unique(np.concatenate([row.clusters for row in shown]))
    for k in used[used >= 0].tolist():
        colour, marker = cluster_style(k)
        ax.scatter([], [], s=18, color=colour, marker=marker, label=str(k))
    if (used >= 0).any():
        draw_legend_beside(ax, "cluster")
    of = "no pattern" if known.pattern is None else f"pattern {known.pattern}"
    ax.set_title(f"labels and links about {of}" if title is None else title)
    write_small_print(ax, _say_left_out(rows, shown))
    return ax


def list_rows(results: Results) -> list[Row]:
    """Return the rows of labels, class by class, and those of must-links and cannot-links."""
    known, names = results.known, name_samples(results)
    assert known is not None
    found = results.pattern_labels[known.pattern] if known.pattern is not None else None
    rows = []
    for c, name in enumerate(known.classes):
        own = np.flatnonzero(known.labels == c)
        clusters = np.full(len(own), -1) if found is None else found[own]
        shown = shorten_middle(str(name), NAME_LETTERS)
        rows.append(
            Row(f"label {shown} ({len(own):,})", known.label_doubts[own], _name(names[own]), clusters)
        )
    for kind, is_kind in (("must-links", known.together), ("cannot-links", ~known.together)):
        own = np.flatnonzero(is_kind)
        pairs = [f"{a} - {b}" for a, b in names[known.links[own]].tolist()]
        rows.append(Row(f"{kind} ({len(own):,})", known.link_doubts[own], pairs, np.full(len(own), -1)))
    return [row for row in rows if len(row.doubts)]


def _name(samples: np.ndarray) -> list[str]:
    return [str(sample) for sample in samples.tolist()]


def _draw_row(ax: Axes, place: int, row: Row) -> None:
    """Draw the dots of a row, spread so that few lie on one another, and name those that are probably wrong."""
    # steps of the golden ratio leave no two neighbours at one height, whatever their number
    spread = 2 * (np.arange(len(row.doubts)) * 0.618034 % 1) - 1
    named = np.flatnonzero(row.doubts > DOUBTFUL)[:MOST_NAMES]
    spread[named] = np.linspace(-1, 1, len(named)) if len(named) > 1 else 0.0  # names need a line each
    heights = place + HALF * spread
    for k in np.unique(row.clusters).tolist():
        colour, marker = (QUIET, "o") if k < 0 else cluster_style(k)
        own = row.clusters == k
        style: dict[str, Any] = {"color": colour, "marker": marker, "edgecolor": ink(ax), "linewidth": 0.3}
        ax.scatter(row.doubts[own], heights[own], s=18, clip_on=False, **style)
    for i in named.tolist():
        side = -1 if row.doubts[i] > 0.75 else 1
        name = shorten_middle(row.names[i], NAME_LETTERS)
        beside: dict[str, Any] = {"xytext": (5 * side, 0), "textcoords": "offset points", "va": "center"}
        ax.annotate(
            name, (row.doubts[i], heights[i]), ha="right" if side < 0 else "left", fontsize=SMALL, **beside
        )


def _say_left_out(rows: list[Row], shown: list[Row]) -> str:
    """Return what is not drawn, for the small print."""
    said = []
    if len(shown) < len(rows):
        said.append(f"{len(shown)} of {count_noun(len(rows), 'row')}")
    if any(len(row.doubts) > MOST_DOTS for row in shown):
        said.append(f"of each row the {MOST_DOTS:,} that are most probably wrong")
    return "; ".join(said)
