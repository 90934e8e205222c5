"""Each gene a view: screen, fit, and compare the clusters with clinical covariates (section 5.2.3).

The paper's study is of 94 aged brains (Figure 10), whose data may not travel with the package; that of 128 leukaemia
patients stands in for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from latentsimplex.base.checks import check_count
from latentsimplex.base.types import Array, Indices
from latentsimplex.datasets import Brain, Leukaemia, load_brain, load_leukaemia
from latentsimplex.datasets.allen import DOWNLOAD
from latentsimplex.experiments.covariates import LEVEL, as_levels
from latentsimplex.experiments.gene_trials import (
    BRAIN,
    CUT_OFF,
    LEUKAEMIA,
    N_TOP,
    Study,
    Trial,
    Trials,
    tabulate_covariates,
    tabulate_patterns,
    tabulate_summary,
    tabulate_top_genes,
    write_notes,
)
from latentsimplex.experiments.model import VARIANTS
from latentsimplex.experiments.result import Findings, Progress, over_seeds
from latentsimplex.plots import new_figure, plot_maxima, plot_top_views

N_GENES = 1000
BOUND = 30
"""On patterns and on clusters."""


def screen_genes(expression: Array, n_genes: int = N_GENES) -> Indices:
    """Return the genes with the largest standard deviation over median, largest first.

    A gene with a median of 0 or below has no such ratio, and one without spread no clusters: both are left
    out, and fewer than ``n_genes`` may remain.

    >>> screen_genes(np.array([[1.0, 0, 4, 2], [2, 0, 5, 2], [3, 9, 6, 2]]))
    array([0, 2])
    """
    median, spread = np.median(expression, axis=0), expression.std(axis=0, ddof=1)
    able = np.flatnonzero((median > 0) & (spread > 0))
    return able[np.argsort(-spread[able] / median[able], kind="stable")[:n_genes]]


@over_seeds
def run_brain(seeds: range, say: Progress, data: Path | None = None, **sizes: Any) -> Findings:
    """Study the brain data in the user's own copy (Figure 10), which ``datasets.load_brain`` reads."""
    if data is None:
        raise ValueError(
            "The brain data may not travel with the package: give --data, a folder with the gene expression matrix "
            f"and the donor information from {DOWNLOAD}."
        )
    return run_study(BRAIN, load_brain(data), seeds, say, **sizes)


@over_seeds
def run_leukaemia(seeds: range, say: Progress, **sizes: Any) -> Findings:
    """Study the bundled leukaemia data."""
    return run_study(LEUKAEMIA, load_leukaemia(), seeds, say, **sizes)


def run_study(
    study: Study,
    data: Brain | Leukaemia,
    seeds: range,
    say: Progress,
    n_samples: int | None = None,
    n_views: int = N_GENES,
) -> Findings:
    """Fit the genes that a screen keeps, ``n_views`` of them, with seeds of the model; score them against covariates.

    ``n_samples`` samples, all if None, are drawn at random once for all seeds, which are of starts and permutations.
    """
    rows = _choose_samples(len(data.samples), n_samples)
    genes = screen_genes(data.expression[rows], check_count("n_views", n_views))
    if not len(genes):
        raise ValueError("No gene varies around a median above 0, so there is none to fit: give other data.")
    levels = {name: as_levels(column[rows]) for name, column in data.covariates.items()}
    usable = {name: own for name, own in levels.items() if own.usable}
    if not usable:
        raise ValueError(
            "No covariate has two or more levels with two or more samples each: give more samples."
        )
    views = data.expression[np.ix_(rows, genes)].T[:, :, None]
    trials: Trials = {variant: [] for variant in VARIANTS}
    for seed in seeds:
        for variant, fit in VARIANTS.items():
            say(f"{study.name}, seed {seed}, {variant}")
            trials[variant].append(Trial.from_fit(fit(views, BOUND, BOUND, seed), usable, seed))
    names = data.genes[genes]
    tables, figures = {study.name: tabulate_summary(study, trials)}, {}
    for variant, own in trials.items():
        suffix = variant.replace(" ", "-")
        tables[f"{study.name}-covariates-{suffix}"] = tabulate_covariates(own, usable, names)
        tables[f"{study.name}-patterns-{suffix}"] = tabulate_patterns(own[0].model)
        figures[f"{study.figure}-{suffix}"] = _draw_figure(own[0], own[0].choose_covariates(study))
    left_out = [name for name in levels if name not in usable]
    notes = write_notes(study, trials, data.expression.shape[1], BOUND, left_out)
    top_genes = tabulate_top_genes(study, trials, names)
    return Findings(tables, figures, notes, {f"{study.name}-top-genes": top_genes})


def _choose_samples(n: int, n_samples: int | None) -> Indices:
    """Return which samples are taken, in order."""
    if n_samples is None:
        return np.arange(n)
    if check_count("n_samples", n_samples, least=2) > n:
        raise ValueError(f"n_samples={n_samples} is more than the {n} samples of the data: give at most {n}.")
    return np.sort(np.random.default_rng(0).permutation(n)[:n_samples])


def _draw_figure(trial: Trial, chosen: Sequence[str]) -> Figure:
    """Draw MaxNMI of each covariate, largest first, and the top genes of the chosen ones."""
    figure = new_figure(11.0, 4.6)
    left, right = figure.subplots(1, 2, width_ratios=(0.46, 0.54))
    order = sorted(trial.associations.items(), key=lambda item: -item[1].largest)
    plot_maxima(
        [name for name, _ in order],
        np.array([own.largest for _, own in order]),
        np.array([own.threshold for _, own in order]),
        np.array([own.baseline for _, own in order]),
        np.array([own.p_value <= LEVEL for _, own in order]),
        cut_off=CUT_OFF,
        title=f"largest NMI over genes (blue: p of {LEVEL} or less)",
        ax=left,
    )
    scores = np.array([trial.view_scores(name) for name in chosen])
    blocks = [scores[:, trial.rank_views(name)[:N_TOP]] for name in chosen]
    title = f"NMI of the top {blocks[0].shape[1]} genes of each covariate"
    plot_top_views(chosen, blocks, title=title, ax=right)
    figure.colorbar(right.images[0], ax=right, label="NMI")
    return figure
