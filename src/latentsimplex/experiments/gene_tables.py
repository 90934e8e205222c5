"""The tables of an experiment with genes as views, and the notes beneath them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.experiments.covariates import LEVEL, MOST_VALUES, N_PERMUTATIONS, Levels
from latentsimplex.experiments.gene_trial import (
    CLUSTERS,
    CUT_OFF,
    N_TOP,
    PATTERNS,
    REACHED,
    SMALL_P,
    Study,
    Trial,
    Trials,
)
from latentsimplex.experiments.model import N_INIT
from latentsimplex.experiments.seeds import mean, sd
from latentsimplex.experiments.table import Cell, Table


def summary_table(study: Study, trials: Trials) -> Table:
    """Return a row per quantity: what the paper reports, then mean and sd of each variant."""
    found = {variant: [trial.measure() for trial in own] for variant, own in trials.items()}
    columns = ["quantity", "paper"] if study.paper else ["quantity"]
    columns += [f"{variant}, {statistic}" for variant in found for statistic in ("mean", "sd")]
    rows: list[list[Cell]] = []
    for quantity in next(iter(found.values()))[0]:
        row: list[Cell] = [quantity, study.paper.get(quantity)] if study.paper else [quantity]
        for records in found.values():
            row += [mean(records, quantity), sd(records, quantity)]
        rows.append(row)
    return Table(columns, rows)


def covariate_table(trials: Sequence[Trial], levels: Mapping[str, Levels], genes: np.ndarray) -> Table:
    """Return a row per covariate: means over seeds, the median p, and who has MaxNMI with the first seed.

    That is the gene which leads the ranking, how many genes share its labels, and its pattern; blank where
    MaxNMI is 0.
    """
    columns = ["covariate", "kind", "levels", "samples", "MaxNMI, mean", "MaxNMI, sd", "random baseline"]
    columns += ["permuted, 95%", "p, median", f"seeds >= {CUT_OFF}", "gene", "tied genes", "pattern"]
    first = trials[0]
    rows: list[list[Cell]] = []
    for name, own in levels.items():
        found = [trial.associations[name] for trial in trials]
        records = [{"NMI": one.largest, "random": one.baseline, "permuted": one.threshold} for one in found]
        view = first.ranking(name)[0]
        row: list[Cell] = [name, own.kind, own.n_levels, found[0].n_samples]
        row += [mean(records, "NMI"), sd(records, "NMI"), mean(records, "random"), mean(records, "permuted")]
        row += [float(np.median([one.p_value for one in found]))]
        row += [f"{sum(one.largest >= CUT_OFF for one in found)} of {len(found)}"]
        tied, pattern = np.sum(first.which == first.which[view]), first.model.view_patterns_[view]
        row += [str(genes[view]), int(tied), int(pattern)] if found[0].largest > 0 else [None] * 3
        rows.append(row)
    return Table(columns, rows)


def pattern_table(model: LatentSimplexPosition) -> Table:
    """Return a row per live pattern."""
    counts = np.bincount(model.view_patterns_, minlength=model.n_patterns_)
    rows: list[list[Cell]] = [
        [l, float(model.pattern_weights_[l]), int(counts[l]), int(model.n_clusters_[l])]
        for l in range(model.n_patterns_)
    ]
    return Table(["pattern", "weight", "genes", "clusters"], rows)


def top_genes_table(study: Study, trials: Trials, genes: np.ndarray) -> Table:
    """Return the top genes of the chosen covariates with the first seed."""
    rows: list[list[Cell]] = []
    for variant, (trial, *_) in trials.items():
        for name in trial.chosen(study):
            scores = trial.view_scores(name)
            for rank, v in enumerate(trial.ranking(name)[:N_TOP], start=1):
                pattern, certainty = int(trial.model.view_patterns_[v]), float(trial.certainty[v])
                rows.append([variant, name, rank, str(genes[v]), float(scores[v]), pattern, certainty])
    return Table(["variant", "covariate", "rank", "gene", "NMI", "pattern", "responsibility"], rows)


def gene_notes(study: Study, trials: Trials, n_genes: int, bound: int, left_out: Sequence[str]) -> list[str]:
    """Return what was done and what came of it, given all genes, the bounds and the covariates left out."""
    first = next(iter(trials.values()))[0]
    kept = len(first.which)
    notes = [
        f"Each of {kept:,} genes is a view, those of {n_genes:,} with the largest standard deviation over median; a "
        f"median of 0 or below leaves a gene out. Bounds are d = g = {bound}. Paper settings are those of its text "
        f"with {N_INIT} random starts, default settings those of a user who gives none.",
        f"NMI is the arithmetic-mean variant. Numbers with more than {MOST_VALUES} values are cut at their "
        "quartiles, and samples without a value are left out. The random baseline is the paper's, Bernoulli "
        f"labels for each gene; p is of MaxNMI over {N_PERMUTATIONS:,} permutations of the covariate.",
        *study.notes,
    ]
    if left_out:
        notes.append(
            f"Constant, or with hardly fewer levels than samples, and so left out: {', '.join(left_out)}."
        )
    for variant, own in trials.items():
        notes += _findings(study, variant, own)
    notes.append(
        "Genes of one pattern share their labels, so they tie; ties are in the order of responsibility for the "
        f"pattern, then of the screen. The top {min(N_TOP, kept)} genes of the covariates in the second panel are in "
        f"{study.name}-top-genes.csv. Patterns, genes and figures are of the first seed."
    )
    return notes


def _findings(study: Study, variant: str, trials: Sequence[Trial]) -> list[str]:
    """Say what one variant found, and whether the cut-off means anything."""
    records = [trial.measure() for trial in trials]
    found = trials[0].associations
    notes = [
        f"With {variant}: {mean(records, PATTERNS):.1f} patterns with at most {mean(records, CLUSTERS):.1f} "
        f"clusters on average; of {len(found)} covariates {mean(records, REACHED):.1f} reach {CUT_OFF} and "
        f"{mean(records, SMALL_P):.1f} have p of {LEVEL} or less, where chance would give "
        f"{LEVEL * len(found):.1f}."
    ]
    chance = [name for name, own in found.items() if own.threshold >= CUT_OFF]
    if chance:
        notes.append(
            f"With {variant} permuted covariates reach {CUT_OFF} too, more often than once in twenty for "
            f"{', '.join(chance)}: NMI grows with clusters and levels, so the cut-off says nothing there and p "
            "has to decide."
        )
    paper = [found[name] for name in study.chosen if name in found]
    if paper:
        notes.append(
            f"With {variant}, of the paper's {len(paper)} covariates "
            f"{sum(own.largest >= CUT_OFF for own in paper)} reach {CUT_OFF} and "
            f"{sum(own.p_value <= LEVEL for own in paper)} have p of {LEVEL} or less with the first seed."
        )
    return notes
