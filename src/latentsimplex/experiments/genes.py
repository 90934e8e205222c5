"""Each gene a view: screen, fit, and compare the clusters with clinical covariates (section 5.2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from latentsimplex._types import Array, Indices
from latentsimplex.datasets import Brain, Leukaemia
from latentsimplex.experiments.covariates import LEVEL, as_levels
from latentsimplex.experiments.gene_tables import (
    covariate_table,
    gene_notes,
    pattern_table,
    summary_table,
    top_genes_table,
)
from latentsimplex.experiments.gene_trial import CUT_OFF, N_TOP, Study, Trial, Trials
from latentsimplex.experiments.model import VARIANTS
from latentsimplex.experiments.result import Progress, Result, write_result
from latentsimplex.experiments.seeds import SEED_BASE, seeds
from latentsimplex.options import check_count
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


def run_study(
    study: Study,
    data: Brain | Leukaemia,
    n_seeds: int,
    out: Path,
    progress: Progress | None = None,
    *,
    n_samples: int | None = None,
    n_views: int | None = None,
) -> Result:
    """Fit the screened genes over seeds of the model, score them against covariates; draw the first seed.

    Parameters
    ----------
    study : Study
    data : Brain or Leukaemia
    n_seeds : int
        Repetitions, each with starts and permutations of its own seed; the data are the same.
    out : Path
        Folder for the tables and the figures, made if missing.
    progress : callable or None
        Called with a line before each fit.
    n_samples : int or None
        Samples, drawn at random once for all seeds; None is all.
    n_views : int or None
        Genes that the screen keeps; None is the paper's 1,000.

    Returns
    -------
    Result
    """
    repetitions = seeds(n_seeds)
    rows = _subset(len(data.samples), n_samples)
    genes = screen_genes(
        data.expression[rows], N_GENES if n_views is None else check_count("n_views", n_views)
    )
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
    for seed in repetitions:
        for variant, fit in VARIANTS.items():
            if progress is not None:
                progress(f"{study.name}, seed {seed}, {variant}")
            trials[variant].append(Trial.of(fit(views, BOUND, BOUND, seed), usable, seed))
    names = data.genes[genes]
    tables, figures = {study.name: summary_table(study, trials)}, {}
    for variant, own in trials.items():
        suffix = variant.replace(" ", "-")
        tables[f"{study.name}-covariates-{suffix}"] = covariate_table(own, usable, names)
        tables[f"{study.name}-patterns-{suffix}"] = pattern_table(own[0].model)
        figures[f"{study.figure}-{suffix}"] = _figure(own[0], own[0].chosen(study))
    left_out = [name for name in levels if name not in usable]
    notes = gene_notes(study, trials, data.expression.shape[1], BOUND, left_out)
    result = write_result(out, tables, figures, notes)
    # hundreds of rows, so beside the tables and not among those that are shown
    top_genes_table(study, trials, names).to_csv(Path(out) / f"{study.name}-top-genes.csv")
    return result


def _subset(n: int, n_samples: int | None) -> Indices:
    """Return which samples are taken, in order."""
    if n_samples is None:
        return np.arange(n)
    if check_count("n_samples", n_samples, least=2) > n:
        raise ValueError(f"n_samples={n_samples} is more than the {n} samples of the data: give at most {n}.")
    return np.sort(np.random.default_rng(SEED_BASE).permutation(n)[:n_samples])


def _figure(trial: Trial, chosen: Sequence[str]) -> Figure:
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
    blocks = [scores[:, trial.ranking(name)[:N_TOP]] for name in chosen]
    title = f"NMI of the top {blocks[0].shape[1]} genes of each covariate"
    plot_top_views(chosen, blocks, title=title, ax=right)
    figure.colorbar(right.images[0], ax=right, label="NMI")
    return figure
