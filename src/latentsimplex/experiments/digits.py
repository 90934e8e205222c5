"""Table 2 and Figure 9: handwritten digits in six views against spectral clustering, and how sure P is."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from pathlib import Path
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from latentsimplex._types import Array
from latentsimplex.calibration import constant_brier, pair_brier
from latentsimplex.datasets import Digits, load_digits
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.experiments.certainty import confidence, doubt_auc, misplaced
from latentsimplex.experiments.model import N_INIT, VARIANTS, nmi, paper_similarity
from latentsimplex.experiments.peers import (
    INSTALL_MVLEARN,
    N_NEIGHBOURS,
    concatenated,
    coregularised,
    peer_labels,
    spectral_of_neighbours,
    spectral_of_similarity,
)
from latentsimplex.experiments.result import Progress, Result, write_result
from latentsimplex.experiments.seeds import Record, mean, seeds, spread
from latentsimplex.experiments.table import Cell, Table
from latentsimplex.plots import panels, plot_heatmap

N_CLUSTERS, N_PATTERNS = 10, 6
VIEWS = ("fou", "fac", "kar", "pix", "zer", "mor")

Row = tuple[str, str]
"""What a row of Table 2 scores: a method, and what it was given or was asked for."""
SPECTRAL, COREGULARISED, LSP = "spectral clustering of S", "co-regularised spectral clustering", "LSP"
NEIGHBOURS = f"spectral clustering of {N_NEIGHBOURS} neighbours"
SIDE_BY_SIDE, ALL, CONSENSUS = "features side by side", "all views", "consensus"
STANDARDISED, BALANCED = "standardised features side by side", "the same, views over sqrt(p)"
ROWS: list[Row] = [
    *((SPECTRAL, view) for view in VIEWS),
    (SPECTRAL, SIDE_BY_SIDE),
    (COREGULARISED, ALL),
    *((f"{LSP}, {name}", view) for name in VARIANTS for view in (*VIEWS, CONSENSUS)),
    (NEIGHBOURS, STANDARDISED),
    (NEIGHBOURS, BALANCED),
]
PAPER_SPECTRAL = (0.571, 0.618, 0.646, 0.635, 0.523, 0.474)
PAPER_LSP = (0.697, 0.706, 0.697, 0.705, 0.705, 0.474, 0.742)
PAPER: dict[Row, float | None] = dict(
    zip(ROWS, (*PAPER_SPECTRAL, 0.619, 0.768, *PAPER_LSP * len(VARIANTS), None, None), strict=True)
)

NMI = "NMI"
LIVE, APART, CLUSTERS = "live patterns", "views 1-5 together, 6 apart", "clusters in the consensus"
BRIER, MISPLACED = "Brier score of pairs", "share of samples misplaced"
DOUBT, DOUBT_HEAVIEST = "AUC of doubt, consensus", "AUC of doubt, heaviest pattern"
QUANTITIES = (LIVE, APART, CLUSTERS, BRIER, MISPLACED, DOUBT, DOUBT_HEAVIEST)
IDEAL = {CLUSTERS: 10.0, BRIER: 0.0, MISPLACED: 0.0, DOUBT: 1.0, DOUBT_HEAVIEST: 1.0}
PAPER_CERTAINTY = {LIVE: 2.0, APART: 1.0}

COLUMNS = 4
"""Most heat maps in a row of a figure."""


def run(n_seeds: int, out: Path, progress: Progress | None = None, *, n_samples: int | None = None) -> Result:
    """Score the model and spectral clusterings on the digits over seeds; draw the first seed.

    Parameters
    ----------
    n_seeds : int
        Repetitions, each with a shuffle of the data and models of its own seed.
    out : Path
        Folder for the tables and the figures, made if missing.
    progress : callable or None
        Called with a line before the spectral clusterings and before each fit of the model.
    n_samples : int or None
        Samples, equally many of each digit; None is all 2,000.

    Returns
    -------
    Result
    """
    scores: dict[Row, list[Record]] = {row: [] for row in ROWS}
    certainty: dict[str, list[Record]] = {name: [] for name in VARIANTS}
    patterns: list[list[Cell]] = []
    figures: dict[str, Figure] = {}
    for seed in seeds(n_seeds):
        first = not figures
        data = draw_digits(n_samples, seed)
        if progress is not None:
            progress(f"digits, seed {seed}, spectral clusterings")
        found = score_peers(data, seed)
        if first:
            figures["figure9-similarities"] = _figure_similarities(data)
        for name, fit in VARIANTS.items():
            if progress is not None:
                progress(f"digits, seed {seed}, {name}")
            model = fit(data.views, N_CLUSTERS, N_PATTERNS, seed)
            found.update(score_views(data, model, name))
            certainty[name].append(certainty_of(data, model))
            patterns += [[name, seed, *row] for row in _patterns(model)]
            if first:
                figures[f"figure9-{name.replace(' ', '-')}"] = _figure_patterns(data, model)
        for row, score in found.items():
            scores[row].append({NMI: score})
    tables = {
        "table2": _table(scores),
        "digits-certainty": _certainty_table(certainty, constant_brier(data.labels)),
        "digits-patterns": Table(["settings", "seed", "pattern", "views", "clusters", "weight"], patterns),
    }
    return write_result(out, tables, figures, _notes(scores, certainty, len(data.labels)))


def draw_digits(n_samples: int | None, seed: int) -> Digits:
    """Return the digits in the seed's order, or the first of each digit until there are ``n_samples``."""
    digits = load_digits(random_state=seed)
    labels = digits.labels
    if n_samples is None:
        return digits
    if n_samples > len(labels):
        raise ValueError(f"n_samples={n_samples} is more than there are: give at most {len(labels)}.")
    earlier = np.eye(10)[labels].cumsum(axis=0)[np.arange(len(labels)), labels]
    chosen = np.sort(np.lexsort((labels, earlier))[:n_samples])
    views = {name: view[chosen] for name, view in digits.views.items()}
    return replace(digits, views=views, labels=labels[chosen])


def score_peers(data: Digits, seed: int) -> dict[Row, float]:
    """Return the NMI of each spectral clustering; that of mvlearn is left out where it is not installed."""
    views = list(data.views.values())
    labels: dict[Row, np.ndarray] = {}
    inputs = {**data.views, SIDE_BY_SIDE: np.hstack(views)}
    for name, view in inputs.items():
        labels[SPECTRAL, name] = peer_labels(spectral_of_similarity(N_CLUSTERS, seed), paper_similarity(view))
    several = coregularised(N_CLUSTERS, seed)
    if several is not None:
        labels[COREGULARISED, ALL] = peer_labels(several, views)
    for name, balanced in ((STANDARDISED, False), (BALANCED, True)):
        features = concatenated(views, balanced=balanced)
        labels[NEIGHBOURS, name] = peer_labels(spectral_of_neighbours(N_CLUSTERS, seed), features)
    return {row: nmi(data.labels, own) for row, own in labels.items()}


def score_views(data: Digits, model: LatentSimplexPosition, name: str) -> dict[Row, float]:
    method = f"{LSP}, {name}"
    scores = {
        (method, view): nmi(data.labels, own) for view, own in zip(VIEWS, model.view_labels_, strict=True)
    }
    return {**scores, (method, CONSENSUS): nmi(data.labels, model.labels_)}


def certainty_of(data: Digits, model: LatentSimplexPosition) -> Record:
    """Return what the model says of its own certainty; an AUC is left out where no sample is misplaced."""
    P, labels = model.coassignment(), model.labels_
    wrong = misplaced(labels, data.labels)
    record = {
        LIVE: float(model.n_patterns_),
        APART: float(len(set(model.view_patterns_[:5])) == 1 and model.n_patterns_ == 2),
        CLUSTERS: float(model.consensus_.n_clusters),
        BRIER: pair_brier(P, data.labels),
        MISPLACED: float(wrong.mean()),
    }
    doubts = {
        DOUBT: doubt_auc(confidence(P, labels), wrong),
        DOUBT_HEAVIEST: doubt_auc(
            model.memberships_[0].max(axis=1), misplaced(model.pattern_labels_[0], data.labels)
        ),
    }
    return {**record, **{quantity: auc for quantity, auc in doubts.items() if auc is not None}}


def _patterns(model: LatentSimplexPosition) -> list[list[Cell]]:
    """Return a row for each live pattern, and one for the consensus: its views, clusters and weight."""
    rows: list[list[Cell]] = []
    for l in range(model.n_patterns_):
        views = ", ".join(_followers(model, l))
        rows.append([l + 1, views, int(model.n_clusters_[l]), float(model.pattern_weights_[l])])
    included = ", ".join(name for name in VIEWS if name not in model.consensus_.excluded)
    return [*rows, [CONSENSUS, included, model.consensus_.n_clusters, None]]


def _followers(model: LatentSimplexPosition, pattern: int) -> list[str]:
    return [VIEWS[v] for v in np.flatnonzero(model.view_patterns_ == pattern)]


def _table(scores: dict[Row, list[Record]]) -> Table:
    rows = [[*row, PAPER[row], *spread(records, NMI)] for row, records in scores.items()]
    return Table(["method", "of", "paper", "mean", "sd"], rows)


def _certainty_table(certainty: dict[str, list[Record]], constant: float) -> Table:
    columns = ["quantity", "truth or ceiling", "without information", "paper"]
    columns += [f"{name}, {statistic}" for name in certainty for statistic in ("mean", "sd")]
    blind = {BRIER: constant, DOUBT: 0.5, DOUBT_HEAVIEST: 0.5}
    rows: list[list[Cell]] = []
    for quantity in QUANTITIES:
        row: list[Cell] = [quantity, IDEAL.get(quantity), blind.get(quantity), PAPER_CERTAINTY.get(quantity)]
        for records in certainty.values():
            row += spread(records, quantity)
        rows.append(row)
    return Table(columns, rows)


def _notes(scores: dict[Row, list[Record]], certainty: dict[str, list[Record]], n_samples: int) -> list[str]:
    notes = [
        f"NMI with the digit of each of {n_samples:,} samples; the paper has all 2,000. Bounds are d = {N_PATTERNS}, "
        f"g = {N_CLUSTERS}. Paper settings are those of its text with {N_INIT} random starts, default settings "
        "those of a user who gives none.",
        "Spectral clustering of S is given the similarities of the paper settings. Views of one pattern share P "
        "and so their labels: the paper's small differences between views 1 to 5 cannot come from the model.",
        f"Not in the paper: spectral clustering of the graph of {N_NEIGHBOURS} nearest neighbours, among the "
        "strongest that we know on these data.",
        "The Brier score is the mean over pairs of (P - [same digit])^2, that of the constant forecast without "
        "information. A sample is misplaced if most of its cluster is another digit; the AUC is the chance that "
        "a misplaced sample is less sure than another. Sureness is the mean co-assignment with the rest of the "
        "cluster, in the heaviest pattern the largest membership.",
    ]
    if scores[COREGULARISED, ALL]:
        notes.append(
            "Co-regularised spectral clustering is mvlearn's at its defaults; the paper quotes Kumar and others (2011)."
        )
    else:
        notes.append(
            f"Co-regularised spectral clustering is blank because mvlearn is not installed: {INSTALL_MVLEARN}"
        )
    best = max(mean(scores[NEIGHBOURS, name], NMI) for name in (STANDARDISED, BALANCED))
    for name, records in certainty.items():
        score = mean(scores[f"{LSP}, {name}", CONSENSUS], NMI)
        notes.append(
            f"With {name}: {mean(records, LIVE):.1f} live patterns, {mean(records, CLUSTERS):.1f} clusters in the "
            f"consensus, NMI {score:.3f} on average; the paper has 2 patterns and {PAPER_LSP[-1]}."
        )
        if score < best:
            notes.append(f"Spectral clustering of nearest neighbours, at {best:.3f}, is ahead of {name}.")
    return notes


def _figure_similarities(data: Digits) -> Figure:
    """Draw S of each view, samples in the order of digits."""
    figure, axes = panels(2, 3, 3.2, 3.1)
    for ax, (name, view) in zip(axes.flat, data.views.items(), strict=True):
        _draw(paper_similarity(view), data.labels, None, f"$S$ of {name}", ax)
    figure.colorbar(axes[0, 0].images[0], ax=axes, shrink=0.6, label="similarity")
    return figure


def _figure_patterns(data: Digits, model: LatentSimplexPosition) -> Figure:
    """Draw P of each live pattern and of the consensus, samples in the order of digits, then of clusters."""
    n_panels = model.n_patterns_ + 1
    n_rows = ceil(n_panels / COLUMNS)
    figure, axes = panels(n_rows, ceil(n_panels / n_rows), 3.3, 3.4)
    for l, ax in enumerate(axes.flat):
        if l < model.n_patterns_:
            title = fill(f"$P$ of {', '.join(_followers(model, l))}: {model.n_clusters_[l]} clusters", 32)
            _draw(model.coassignment(pattern=l).toarray(), data.labels, model.pattern_labels_[l], title, ax)
        elif l == model.n_patterns_:
            title = f"consensus $\\bar{{P}}$: {model.consensus_.n_clusters} clusters"
            _draw(model.coassignment().toarray(), data.labels, model.labels_, title, ax)
        else:
            ax.set_axis_off()
    figure.colorbar(axes[0, 0].images[0], ax=axes, shrink=0.8, label="probability")
    return figure


def _draw(matrix: Array, digits: np.ndarray, within: np.ndarray | None, title: str, ax: Axes) -> None:
    """Draw a heat map with the digits named along its side; single precision is plenty for colours."""
    plot_heatmap(matrix.astype(np.float32), digits, within, title=title, ax=ax)
    ends = np.cumsum(np.bincount(digits))
    ax.set_yticks((ends + np.append(0, ends[:-1]) - 1) / 2, [str(digit) for digit in range(len(ends))])
    ax.set_ylabel("digit")
    ax.tick_params(length=0)
    ax.title.set_fontsize(10)
