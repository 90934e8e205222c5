"""Results of fits with genes as views, compared with covariates: tables and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from latentsimplex.base.table import Table
from latentsimplex.base.types import Array, Indices
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.experiments.covariates import (
    LEVEL,
    MOST_VALUES,
    N_PERMUTATIONS,
    Association,
    Levels,
    associate,
    distinct_labelings,
)
from latentsimplex.experiments.model import ABOUT_VARIANTS
from latentsimplex.experiments.result import Record, compare_variants, mean, spread

CUT_OFF = 0.2
"""The paper's, on MaxNMI."""
N_TOP = 100
N_CHOSEN = 4

PATTERNS, CLUSTERS = "live patterns", "largest number of clusters"
REACHED, SMALL_P = f"covariates with MaxNMI of {CUT_OFF} or more", f"covariates with p of {LEVEL} or less"
BASELINE, SEX = "largest random baseline", "MaxNMI of sex"


@dataclass(frozen=True)
class Study:
    """What differs between data sets: names of tables and figures, what the paper reports, what a reader should know.

    ``chosen`` are the covariates whose top genes are listed; empty takes those with the smallest p.
    """

    name: str
    figure: str
    paper: Record
    chosen: tuple[str, ...]
    notes: tuple[str, ...]


BRAIN = Study(
    name="brain",
    figure="figure10",
    paper={
        "samples": 94.0,
        "genes": 1000.0,
        PATTERNS: 10.0,
        CLUSTERS: 4.0,
        "covariates": 11.0,
        REACHED: 4.0,
        BASELINE: 0.15,
        SEX: 0.13,
    },
    chosen=("cerad", "braak", "nincds_arda_diagnosis", "education_years"),
    notes=(
        "The paper does not name its 11 covariates nor say how it treats numbers; these are all that the files "
        "have. It finds 0.2 or more for CERAD, Braak, the diagnosis of Alzheimer's disease (here "
        "nincds_arda_diagnosis) and education, whose top genes are shown.",
        "The paper takes sex for a covariate without effect, and its MaxNMI for a second baseline.",
    ),
)
LEUKAEMIA = Study(
    name="leukaemia",
    figure="leukaemia",
    paper={},
    chosen=(),
    notes=(
        "The bundled stand-in for the paper's brain data, which may not travel with the package: the paper "
        "reports nothing for it. The second panel has the four covariates with the smallest p.",
    ),
)


@dataclass(frozen=True, eq=False)
class Trial:
    """A fit and how its views relate to each covariate; ``which`` is the labeling of each view."""

    model: LatentSimplexPosition
    which: Indices
    associations: dict[str, Association]

    @classmethod
    def from_fit(cls, model: LatentSimplexPosition, levels: Mapping[str, Levels], seed: int) -> Trial:
        """Compare a fitted model with covariates."""
        labelings, which = distinct_labelings(model.view_labels_)
        rng = np.random.default_rng(seed)
        found = {name: associate(labelings, which, own, rng) for name, own in levels.items()}
        return cls(model, which, found)

    @property
    def certainty(self) -> Array:
        """How surely each view follows its pattern."""
        return self.model.view_responsibilities_.max(axis=1)

    def view_scores(self, covariate: str) -> Array:
        """Return the NMI of each view with a covariate."""
        return self.associations[covariate].scores[self.which]

    def rank_views(self, covariate: str) -> Indices:
        """Return the views by NMI; those that tie by responsibility, then in the order of the screen."""
        return np.lexsort((-self.certainty, -self.view_scores(covariate)))

    def choose_covariates(self, study: Study) -> list[str]:
        """Return the covariates whose top genes are shown: the study's own, or those with the smallest p."""
        own = [name for name in study.chosen if name in self.associations]
        ordered = sorted(self.associations.items(), key=lambda item: (item[1].p_value, -item[1].largest))
        return own or [name for name, _ in ordered[:N_CHOSEN]]

    def measure(self) -> Record:
        """Return the quantities that the paper reports, and how many covariates have a small p."""
        found = self.associations
        record = {
            "samples": float(self.model.n_samples_),
            "genes": float(len(self.which)),
            PATTERNS: float(self.model.n_patterns_),
            CLUSTERS: float(self.model.n_clusters_.max()),
            "covariates": float(len(found)),
            REACHED: float(sum(own.largest >= CUT_OFF for own in found.values())),
            SMALL_P: float(sum(own.p_value <= LEVEL for own in found.values())),
            BASELINE: max(own.baseline for own in found.values()),
        }
        return {**record, SEX: found["sex"].largest} if "sex" in found else record


Trials = dict[str, list[Trial]]
"""The trials of each variant of the model, one per seed."""


def tabulate_summary(study: Study, trials: Trials) -> Table:
    """Return a row per quantity: what the paper reports, then mean and sd of each variant."""
    found = {variant: [trial.measure() for trial in own] for variant, own in trials.items()}
    quantities = next(iter(found.values()))[0]
    return compare_variants(quantities, {"paper": study.paper} if study.paper else {}, found)


def tabulate_covariates(trials: Sequence[Trial], levels: Mapping[str, Levels], genes: np.ndarray) -> Table:
    """Return a row per covariate: means over seeds, the median p, and who has MaxNMI with the first seed.

    That is the gene which leads the ranking, how many genes share its labels, and its pattern; blank where
    MaxNMI is 0.
    """
    columns = ["covariate", "kind", "levels", "samples", "MaxNMI, mean", "MaxNMI, sd", "random baseline"]
    columns += ["permuted, 95%", "p, median", f"seeds >= {CUT_OFF}", "gene", "tied genes", "pattern"]
    first = trials[0]
    rows: list[list[Any]] = []
    for name, own in levels.items():
        found = [trial.associations[name] for trial in trials]
        records = [{"NMI": one.largest, "random": one.baseline, "permuted": one.threshold} for one in found]
        view = first.rank_views(name)[0]
        row: list[Any] = [name, own.kind, own.n_levels, found[0].n_samples]
        row += [*spread(records, "NMI"), mean(records, "random"), mean(records, "permuted")]
        row += [float(np.median([one.p_value for one in found]))]
        row += [f"{sum(one.largest >= CUT_OFF for one in found)} of {len(found)}"]
        tied, pattern = np.sum(first.which == first.which[view]), first.model.view_patterns_[view]
        row += [str(genes[view]), int(tied), int(pattern)] if found[0].largest > 0 else [None] * 3
        rows.append(row)
    return Table.from_rows(columns, rows)


def tabulate_patterns(model: LatentSimplexPosition) -> Table:
    """Return a row per live pattern."""
    counts = np.bincount(model.view_patterns_, minlength=model.n_patterns_)
    rows: list[list[Any]] = [
        [l, float(model.pattern_weights_[l]), int(counts[l]), int(model.n_clusters_[l])]
        for l in range(model.n_patterns_)
    ]
    return Table.from_rows(["pattern", "weight", "genes", "clusters"], rows)


def tabulate_top_genes(study: Study, trials: Trials, genes: np.ndarray) -> Table:
    """Return the top genes of the chosen covariates with the first seed."""
    rows: list[list[Any]] = []
    for variant, (trial, *_) in trials.items():
        for name in trial.choose_covariates(study):
            scores = trial.view_scores(name)
            for rank, v in enumerate(trial.rank_views(name)[:N_TOP], start=1):
                pattern, certainty = int(trial.model.view_patterns_[v]), float(trial.certainty[v])
                rows.append([variant, name, rank, str(genes[v]), float(scores[v]), pattern, certainty])
    return Table.from_rows(["variant", "covariate", "rank", "gene", "NMI", "pattern", "responsibility"], rows)


def write_notes(study: Study, trials: Trials, n_genes: int, bound: int, left_out: Sequence[str]) -> list[str]:
    """Return what was done and what came of it, given all genes, the bounds and the covariates left out."""
    first = next(iter(trials.values()))[0]
    kept = len(first.which)
    notes = [
        f"Each of {kept:,} genes is a view, those of {n_genes:,} with the largest standard deviation over median; a "
        f"median of 0 or below leaves a gene out. Bounds are d = g = {bound}. {ABOUT_VARIANTS}",
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
        notes += _write_findings(study, variant, own)
    notes.append(
        "Genes of one pattern share their labels, so they tie; ties are in the order of responsibility for the "
        f"pattern, then of the screen. The top {min(N_TOP, kept)} genes of the covariates in the second panel are in "
        f"{study.name}-top-genes.csv. Patterns, genes and figures are of the first seed."
    )
    return notes


def _write_findings(study: Study, variant: str, trials: Sequence[Trial]) -> list[str]:
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
