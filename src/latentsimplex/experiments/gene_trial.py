"""What an experiment with genes as views is about, and what one fit of it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from latentsimplex._types import Array, Indices
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.experiments.covariates import (
    LEVEL,
    Association,
    Levels,
    associate,
    distinct_labelings,
    ranked_views,
)
from latentsimplex.experiments.seeds import Record

CUT_OFF = 0.2
"""The paper's, on MaxNMI."""
N_TOP = 100
N_CHOSEN = 4

PATTERNS, CLUSTERS = "live patterns", "largest number of clusters"
REACHED, SMALL_P = f"covariates with MaxNMI of {CUT_OFF} or more", f"covariates with p of {LEVEL} or less"
BASELINE, SEX = "largest random baseline", "MaxNMI of sex"


@dataclass(frozen=True)
class Study:
    """What differs between data sets.

    Attributes
    ----------
    name : str
        Of the experiment and its tables.
    figure : str
        How the figures' names begin.
    paper : dict of str to float
        The quantities that the paper reports.
    chosen : tuple of str
        The covariates whose top genes are listed; empty takes those with the smallest p.
    notes : tuple of str
        What a reader should know beyond what all such studies share.
    """

    name: str
    figure: str
    paper: Mapping[str, float]
    chosen: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Trial:
    """A fit and how its views relate to each covariate; ``which`` is the labeling of each view."""

    model: LatentSimplexPosition
    which: Indices
    associations: dict[str, Association]

    @classmethod
    def of(cls, model: LatentSimplexPosition, levels: Mapping[str, Levels], seed: int) -> Trial:
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

    def ranking(self, covariate: str) -> Indices:
        """Return the views by NMI; those that tie by responsibility, then in the order of the screen."""
        return ranked_views(self.view_scores(covariate), self.certainty)

    def chosen(self, study: Study) -> list[str]:
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
