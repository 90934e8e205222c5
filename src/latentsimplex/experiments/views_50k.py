"""Figure 8: fifty thousand views of 150 samples, each of which follows one of five patterns."""

from __future__ import annotations

from functools import partial
from math import ceil
from time import perf_counter

import numpy as np
from matplotlib.figure import Figure, SubFigure

from latentsimplex.base.condensed import pack_pairs
from latentsimplex.base.types import Array
from latentsimplex.datasets import Simulation, many_views
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.experiments.model import ABOUT_VARIANTS, VARIANTS, Fits, nmi, paper_similarity
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
)
from latentsimplex.plots import new_figure, panels, plot_heatmap, plot_reliability, plot_weights

N_VIEWS = 50_000
N_SAMPLES = 150
N_CLUSTERS = N_PATTERNS = 10
TRUE_PATTERNS, TRUE_CLUSTERS = 5, 3

LIVE, MATCH, START = "live patterns", "NMI of the views' patterns", "NMI of the k-means start"
CLUSTERS, RIGHT = "clusters per pattern", "share of patterns with three clusters"
CORRELATION, DEVIATION = "correlation of P with the truth", "median absolute deviation of P"
SECONDS = "seconds"

TRUTH = {
    LIVE: float(TRUE_PATTERNS),
    MATCH: 1.0,
    START: 1.0,
    CLUSTERS: float(TRUE_CLUSTERS),
    RIGHT: 1.0,
    CORRELATION: 1.0,
    DEVIATION: 0.0,
}
PAPER = {LIVE: 5.0, START: 0.83, SECONDS: 600.0}

COLUMNS, TITLE = 5, 9
"""Heat maps in a row of the figure, and the size of their titles."""


@over_seeds
def run(seeds: range, say: Progress, n_samples: int = N_SAMPLES, n_views: int = N_VIEWS) -> Findings:
    """Fit many views with the paper's settings and with the defaults."""

    def run_seed(seed: int) -> Repetition:
        data = many_views(n_views, n_samples, TRUE_PATTERNS, TRUE_CLUSTERS, random_state=seed)
        fits: Fits = {}
        found: dict[str, Record] = {}
        for name, fit in VARIANTS.items():
            say(f"{n_views:,} views, seed {seed}, {name}")
            began = perf_counter()
            fits[name] = fit(data.views, N_CLUSTERS, N_PATTERNS, seed)
            seconds = perf_counter() - began
            found[name] = {**measure(data, fits[name]), SECONDS: seconds}
        return Repetition(TRUTH, found, partial(_draw_figures, data, fits))

    _, found, figures = repeat(run_seed, seeds)
    table = compare_variants((*TRUTH, SECONDS), {AIM: TRUTH, "paper": PAPER}, found)
    return Findings({"views-50k": table}, figures, _write_notes(found, n_samples, n_views))


def measure(data: Simulation, model: LatentSimplexPosition) -> Record:
    """Return how far a fit recovers the patterns, their clusters and their co-assignments."""
    correlations, deviations = zip(*_match_patterns(data, model), strict=True)
    started = model.initial_view_patterns_ >= 0
    return {
        LIVE: float(model.n_patterns_),
        MATCH: nmi(data.patterns, model.view_patterns_),
        START: nmi(data.patterns[started], model.initial_view_patterns_[started]),
        CLUSTERS: float(model.n_clusters_.mean()),
        RIGHT: float((model.n_clusters_ == TRUE_CLUSTERS).mean()),
        CORRELATION: float(np.mean(correlations)),
        DEVIATION: float(np.mean(deviations)),
    }


def _match_patterns(data: Simulation, model: LatentSimplexPosition) -> list[tuple[float, float]]:
    """Return, for each true pattern, how the live pattern most correlated with it agrees over pairs j < i.

    The two numbers are the correlation of the co-assignments and their median absolute deviation.
    """
    estimated = [model.coassignment(pattern=l).packed() for l in range(model.n_patterns_)]
    matches = []
    for l in range(len(data.oracle)):
        truth = pack_pairs(data.coassignment(l))
        correlations = [_correlation(truth, P) for P in estimated]
        best = int(np.argmax(correlations))
        matches.append((correlations[best], float(np.median(np.abs(estimated[best] - truth)))))
    return matches


def _correlation(truth: Array, P: Array) -> float:
    """Return Pearson's correlation; 0 for a pattern without clusters, whose co-assignments are all alike."""
    return 0.0 if np.ptp(P) < 1e-9 else float(np.corrcoef(truth, P)[0, 1])


def _write_notes(found: dict[str, list[Record]], n_samples: int, n_views: int) -> list[str]:
    notes = [
        f"{n_views:,} views of {n_samples} samples; the paper has {N_VIEWS:,} of {N_SAMPLES}. Bounds are d = g = "
        f"{N_PATTERNS}. {ABOUT_VARIANTS}",
        "Memberships are drawn from Dirichlet(one-hot + 0.3), as in the author's published notebook: the text "
        "does not state the concentration.",
        "Each true pattern is compared with the live pattern whose co-assignments correlate most with its own, "
        "over the pairs j < i; correlation and deviation are means over the true patterns.",
        "Seconds are wall time of a whole fit here; the paper's ten minutes are on a GPU with 11 GB.",
    ]
    for name, records in found.items():
        notes.append(
            f"With {name}: {mean(records, LIVE):.1f} live patterns where there are {TRUE_PATTERNS}, NMI "
            f"{mean(records, MATCH):.2f}, {mean(records, CLUSTERS):.1f} clusters per pattern, on average."
        )
        if mean(records, CLUSTERS) > TRUE_CLUSTERS:
            notes.append(
                f"With {name} patterns have more clusters than the true {TRUE_CLUSTERS}; their co-assignments "
                f"correlate {mean(records, CORRELATION):.2f} with the true ones."
            )
    return notes


def _draw_figures(data: Simulation, fits: Fits) -> dict[str, Figure]:
    figures = {f"figure8-{name.replace(' ', '-')}": _draw_figure(data, model) for name, model in fits.items()}
    return {**figures, "reliability": _draw_reliability(data, fits)}


def _draw_figure(data: Simulation, model: LatentSimplexPosition) -> Figure:
    """Draw S of a view of each true pattern, P of each live pattern, and the weights."""
    n_rows = ceil(model.n_patterns_ / COLUMNS)
    heights = [2.6, 2.6 * n_rows, 2.6]
    figure = new_figure(2.3 * COLUMNS, sum(heights))
    (above,), (middle,), (below,) = figure.subfigures(3, 1, squeeze=False, height_ratios=heights)
    _draw_similarities(data, above)
    _draw_patterns(data, model, middle, n_rows)
    ax = below.subplots()
    share = 1 / TRUE_PATTERNS
    title = "weights of the patterns (dashed: each in truth)"
    plot_weights(model.pattern_weights_, n_bars=N_PATTERNS, expected=share, title=title, ax=ax)
    ax.set_box_aspect(0.4)
    return figure


def _draw_reliability(data: Simulation, fits: Fits) -> Figure:
    """Draw how the co-assignments of each true pattern's views compare with the true ones, for both variants."""
    figure, axes = panels(ceil(len(data.oracle) / 3), 3, 3.2, 3.2)
    for ax in axes.flat[len(data.oracle) :]:
        ax.set_axis_off()
    for l, ax in enumerate(axes.flat[: len(data.oracle)]):
        forecasts = {}
        for name, model in fits.items():
            followed = np.bincount(model.view_patterns_[data.patterns == l], minlength=1).argmax()
            forecasts[name] = (
                model.coassignment(pattern=int(followed)).packed(),
                pack_pairs(data.coassignment(l)),
            )
        plot_reliability(forecasts, title=f"true pattern {l}", ax=ax)
    return figure


def _draw_similarities(data: Simulation, figure: SubFigure) -> None:
    """Draw S of the first view of each true pattern, samples in the order of its most probable clusters."""
    shown, views = np.unique(data.patterns, return_index=True)
    axes = figure.subplots(1, len(shown), squeeze=False)[0]
    for l, v, ax in zip(shown, views, axes, strict=True):
        title = f"$S$ of view {v:,}:\ntrue pattern {l}"
        plot_heatmap(paper_similarity(data.views[v]), data.bayes_labels[l], title=title, ax=ax)
        ax.title.set_fontsize(TITLE)
    figure.colorbar(axes[0].images[0], ax=axes, shrink=0.9, label="similarity")


def _draw_patterns(data: Simulation, model: LatentSimplexPosition, figure: SubFigure, n_rows: int) -> None:
    """Draw P of each live pattern, samples in the order of its own clusters, the surest first."""
    axes = figure.subplots(n_rows, COLUMNS, squeeze=False)
    for l, ax in enumerate(axes.flat):
        if l >= model.n_patterns_:
            ax.set_axis_off()
            continue
        truths = data.patterns[model.view_patterns_ == l]
        title = (
            f"$P$ of pattern {l}: {model.n_clusters_[l]} clusters;\n"
            f"mostly true pattern {np.bincount(truths).argmax()}"
        )
        W = model.memberships_[l]
        P = model.coassignment(pattern=l).toarray()
        plot_heatmap(P, model.pattern_labels_[l], -W.max(axis=1), title=title, ax=ax)
        ax.title.set_fontsize(TITLE)
    figure.colorbar(axes[0, 0].images[0], ax=axes, shrink=0.9, label="probability")
