"""Table 2 and Figure 9: handwritten digits in six views against spectral clustering, and how sure P is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import ceil
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from latentsimplex.base.table import Table
from latentsimplex.base.types import Array
from latentsimplex.datasets import Digits, load_digits
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.experiments.model import (
    ABOUT_VARIANTS,
    VARIANTS,
    Fits,
    doubt_auc,
    find_misplaced,
    nmi,
    paper_similarity,
)
from latentsimplex.experiments.peers import (
    INSTALL_MVLEARN,
    N_NEIGHBOURS,
    concatenate,
    coregularised_spectral,
    peer_labels,
    spectral_of_neighbours,
    spectral_of_similarity,
)
from latentsimplex.experiments.result import (
    AIM,
    Findings,
    Progress,
    Record,
    Repetition,
    compare_variants,
    mean,
    over_seeds,
    repeat,
    spread,
)
from latentsimplex.plots import panels, plot_heatmap
from latentsimplex.uncertainty.calibration import constant_brier, pair_brier

N_CLUSTERS, N_PATTERNS = 10, 6
VIEWS = ("fou", "fac", "kar", "pix", "zer", "mor")

SPECTRAL, COREGULARISED = "spectral clustering of S", "co-regularised spectral clustering"
NEIGHBOURS = f"spectral clustering of {N_NEIGHBOURS} neighbours"
SIDE_BY_SIDE, ALL, CONSENSUS = "features side by side", "all views", "consensus"
STANDARDISED, BALANCED = "standardised features side by side", "the same, views over sqrt(p)"
PAPER_SPECTRAL = dict(zip(VIEWS, (0.571, 0.618, 0.646, 0.635, 0.523, 0.474), strict=True))
PAPER_LSP = dict(zip((*VIEWS, CONSENSUS), (0.697, 0.706, 0.697, 0.705, 0.705, 0.474, 0.742), strict=True))
Row = tuple[str, str]
"""What a row of Table 2 scores: a method, and what it was given or was asked for."""
PAPER: dict[Row, float | None] = {
    **{(SPECTRAL, view): score for view, score in PAPER_SPECTRAL.items()},
    (SPECTRAL, SIDE_BY_SIDE): 0.619,
    (COREGULARISED, ALL): 0.768,
    **{(name, given): score for name in VARIANTS for given, score in PAPER_LSP.items()},
    (NEIGHBOURS, STANDARDISED): None,
    (NEIGHBOURS, BALANCED): None,
}

LIVE, APART, CLUSTERS = "live patterns", "views 0-4 together, 5 apart", "clusters in the consensus"
BRIER, MISPLACED = "Brier score of pairs", "share of samples misplaced"
DOUBT, DOUBT_HEAVIEST = "AUC of doubt, consensus", "AUC of doubt, heaviest pattern"
IDEAL = {CLUSTERS: 10.0, BRIER: 0.0, MISPLACED: 0.0, DOUBT: 1.0, DOUBT_HEAVIEST: 1.0}
PAPER_CERTAINTY = {LIVE: 2.0, APART: 1.0}

COLUMNS = 4
"""Most heat maps in a row of a figure."""


@over_seeds
def run(seeds: range, say: Progress, n_samples: int = 2000) -> Findings:
    """Score the model and spectral clusterings on the digits, which each seed shuffles."""
    patterns: list[list[Any]] = []

    def run_seed(seed: int) -> Repetition:
        data = draw_digits(n_samples, seed)
        say(f"digits, seed {seed}, spectral clusterings")
        found: dict[str, Record] = {}
        for (method, given), score in score_peers(data, seed).items():
            found.setdefault(method, {})[f"NMI of {given}"] = score
        fits: Fits = {}
        for name, fit in VARIANTS.items():
            say(f"digits, seed {seed}, {name}")
            fits[name] = fit(data.views, N_CLUSTERS, N_PATTERNS, seed)
            found[name] = measure(data, fits[name])
            patterns.extend([name, seed, *row] for row in _list_patterns(fits[name]))
        return Repetition(IDEAL, found, partial(_draw_figures, data, fits))

    _, found, figures = repeat(run_seed, seeds)
    columns = ["settings", "seed", "pattern", "views", "clusters", "weight"]
    tables = {
        "table2": _tabulate_scores(found),
        "digits-certainty": _compare_certainty(found, n_samples),
        "digits-patterns": Table.from_rows(columns, patterns),
    }
    return Findings(tables, figures, _write_notes(found, n_samples))


def draw_digits(n_samples: int, seed: int) -> Digits:
    """Return ``n_samples`` digits in the order of a seed: the first of each digit, until there are so many."""
    digits = load_digits(random_state=seed)
    labels = digits.labels
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
    several = coregularised_spectral(N_CLUSTERS, seed)
    if several is not None:
        labels[COREGULARISED, ALL] = peer_labels(several, views)
    for name, balanced in ((STANDARDISED, False), (BALANCED, True)):
        features = concatenate(views, balanced=balanced)
        labels[NEIGHBOURS, name] = peer_labels(spectral_of_neighbours(N_CLUSTERS, seed), features)
    return {row: nmi(data.labels, own) for row, own in labels.items()}


def measure(data: Digits, model: LatentSimplexPosition) -> Record:
    """Return the NMI of each view's labels and of the consensus, and what the model says of its own certainty.

    An AUC is left out where no sample is misplaced.
    """
    P, labels = model.coassignment(), model.labels_
    wrong = find_misplaced(labels, data.labels)
    wrong_heaviest = find_misplaced(model.pattern_labels_[0], data.labels)
    sureness = P.mean_by_cluster(labels)[np.arange(len(labels)), labels]
    doubts = {
        DOUBT: doubt_auc(sureness, wrong),
        DOUBT_HEAVIEST: doubt_auc(model.memberships_[0].max(axis=1), wrong_heaviest),
    }
    return {
        **{
            f"NMI of {view}": nmi(data.labels, own)
            for view, own in zip(VIEWS, model.view_labels_, strict=True)
        },
        f"NMI of {CONSENSUS}": nmi(data.labels, labels),
        LIVE: float(model.n_patterns_),
        APART: float(len(set(model.view_patterns_[:5])) == 1 and model.n_patterns_ == 2),
        CLUSTERS: float(model.consensus_.n_clusters),
        BRIER: pair_brier(P, data.labels),
        MISPLACED: float(wrong.mean()),
        **{quantity: auc for quantity, auc in doubts.items() if auc is not None},
    }


def _list_patterns(model: LatentSimplexPosition) -> list[list[Any]]:
    """Return a row for each live pattern, and one for the consensus: its views, clusters and weight."""
    rows: list[list[Any]] = []
    for l in range(model.n_patterns_):
        clusters, weight = int(model.n_clusters_[l]), float(model.pattern_weights_[l])
        rows.append([l, _name_followers(model, l), clusters, weight])
    included = ", ".join(name for name in VIEWS if name not in model.consensus_.excluded)
    return [*rows, [CONSENSUS, included, model.consensus_.n_clusters, None]]


def _name_followers(model: LatentSimplexPosition, pattern: int) -> str:
    return ", ".join(VIEWS[v] for v in np.flatnonzero(model.view_patterns_ == pattern))


def _tabulate_scores(found: dict[str, list[Record]]) -> Table:
    """Return Table 2, with blanks for methods that are not installed."""
    rows = []
    for (method, given), paper in PAPER.items():
        label = f"LSP, {method}" if method in VARIANTS else method
        rows.append([label, given, paper, *spread(found.get(method, []), f"NMI of {given}")])
    return Table.from_rows(["method", "of", "paper", "mean", "sd"], rows)


def _compare_certainty(found: dict[str, list[Record]], n_samples: int) -> Table:
    """Return a row per quantity, with what a forecast without information would get."""
    constant = constant_brier(np.arange(n_samples) % 10)  # samples have equally many of each digit
    blind = {BRIER: constant, DOUBT: 0.5, DOUBT_HEAVIEST: 0.5}
    known = {AIM: IDEAL, "without information": blind, "paper": PAPER_CERTAINTY}
    quantities = (LIVE, APART, CLUSTERS, BRIER, MISPLACED, DOUBT, DOUBT_HEAVIEST)
    return compare_variants(quantities, known, {name: found[name] for name in VARIANTS})


def _write_notes(found: dict[str, list[Record]], n_samples: int) -> list[str]:
    notes = [
        f"NMI with the digit of each of {n_samples:,} samples; the paper has all 2,000. Bounds are d = {N_PATTERNS}, "
        f"g = {N_CLUSTERS}. {ABOUT_VARIANTS}",
        "Spectral clustering of S is given the similarities of the paper settings. Views of one pattern share P "
        "and so their labels: the paper's small differences between views 0 to 4 cannot come from the model.",
        f"Not in the paper: spectral clustering of the graph of {N_NEIGHBOURS} nearest neighbours, among the "
        "strongest that we know on these data.",
        "The Brier score is the mean over pairs of (P - [same digit])^2, that of the constant forecast without "
        "information. A sample is misplaced if most of its cluster is another digit; the AUC is the chance that "
        "a misplaced sample is less sure than another. Sureness is the mean co-assignment with the rest of the "
        "cluster, in the heaviest pattern the largest membership.",
    ]
    if COREGULARISED in found:
        notes.append(
            "Co-regularised spectral clustering is mvlearn's at its defaults; the paper quotes Kumar and others (2011)."
        )
    else:
        notes.append(
            f"Co-regularised spectral clustering is blank because mvlearn is not installed: {INSTALL_MVLEARN}"
        )
    best = max(mean(found[NEIGHBOURS], f"NMI of {given}") for given in (STANDARDISED, BALANCED))
    for name in VARIANTS:
        live, clusters, score = (mean(found[name], q) for q in (LIVE, CLUSTERS, f"NMI of {CONSENSUS}"))
        notes.append(
            f"With {name}: {live:.1f} live patterns, {clusters:.1f} clusters in the consensus, NMI {score:.3f} on "
            f"average; the paper has 2 patterns and {PAPER_LSP[CONSENSUS]}."
        )
        if score < best:
            notes.append(f"Spectral clustering of nearest neighbours, at {best:.3f}, is ahead of {name}.")
    return notes


def _draw_figures(data: Digits, fits: Fits) -> dict[str, Figure]:
    patterns = {
        f"figure9-{name.replace(' ', '-')}": _draw_patterns(data, model) for name, model in fits.items()
    }
    return {"figure9-similarities": _draw_similarities(data), **patterns}


def _draw_similarities(data: Digits) -> Figure:
    """Draw S of each view, samples in the order of digits."""
    figure, axes = panels(2, 3, 3.2, 3.1)
    for ax, (name, view) in zip(axes.flat, data.views.items(), strict=True):
        _draw_matrix(paper_similarity(view), data.labels, None, f"$S$ of {name}", ax)
    figure.colorbar(axes[0, 0].images[0], ax=axes, shrink=0.6, label="similarity")
    return figure


def _draw_patterns(data: Digits, model: LatentSimplexPosition) -> Figure:
    """Draw P of each live pattern and of the consensus, samples in the order of digits, then of clusters."""
    n_panels = model.n_patterns_ + 1
    n_rows = ceil(n_panels / COLUMNS)
    figure, axes = panels(n_rows, ceil(n_panels / n_rows), 3.3, 3.4)
    for l, ax in enumerate(axes.flat):
        if l < model.n_patterns_:
            title = fill(f"$P$ of {_name_followers(model, l)}: {model.n_clusters_[l]} clusters", 32)
            P = model.coassignment(pattern=l).toarray()
            _draw_matrix(P, data.labels, model.pattern_labels_[l], title, ax)
        elif l == model.n_patterns_:
            title = f"consensus $\\bar{{P}}$: {model.consensus_.n_clusters} clusters"
            _draw_matrix(model.coassignment().toarray(), data.labels, model.labels_, title, ax)
        else:
            ax.set_axis_off()
    figure.colorbar(axes[0, 0].images[0], ax=axes, shrink=0.8, label="probability")
    return figure


def _draw_matrix(matrix: Array, digits: np.ndarray, within: np.ndarray | None, title: str, ax: Axes) -> None:
    """Draw a heat map with the digits named along its side; single precision is plenty for colours."""
    plot_heatmap(matrix.astype(np.float32), digits, within, title=title, ax=ax)
    ends = np.cumsum(np.bincount(digits))
    ax.set_yticks((ends + np.append(0, ends[:-1]) - 1) / 2, [str(digit) for digit in range(len(ends))])
    ax.set_ylabel("digit")
    ax.tick_params(length=0)
    ax.title.set_fontsize(10)
