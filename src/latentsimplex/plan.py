"""The course of a fit: choose what "auto" leaves open, search on those similarities, then draw the borders.

The search decides which views share a pattern and how many clusters it has. With readings of our own
choice EM then goes on from that structure, on similarities that show the borders of clusters best.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from latentsimplex._types import Indices
from latentsimplex.choice import choose_readings, view_temperatures
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import DIVERGENCES
from latentsimplex.em import Fit, Model, Schedule
from latentsimplex.engines.local import LocalPairs
from latentsimplex.options import Choices
from latentsimplex.search import Callback, Search, best_of, go_on
from latentsimplex.similarity import Kernel, Readings
from latentsimplex.views import Views


class Found(NamedTuple):
    """What a fit ended with; no search where all views are constant."""

    search: Search | None
    informative: Indices
    kernel: Kernel
    temperature: float


@dataclass(frozen=True)
class Plan:
    """Everything that a fit needs but the similarity and the random draws."""

    views: Views
    choices: Choices
    schedule: Schedule
    n_clusters: int
    n_patterns: int
    n_init: int
    keep: bool
    workers: Workers
    callback: Callback

    def run(self, kernel: Kernel | None, rng: np.random.Generator) -> Found:
        """Return the best of several starts with a kernel; None is the readings that suit the views.

        Only readings of our own choice give way to others in a second stage: a kernel that is given stays.
        """
        automatic = kernel is None
        if kernel is None:
            divergence = DIVERGENCES[self.choices.divergence]
            kernel = choose_readings(self.views, self.n_clusters, divergence, self.workers)
        model, pairs = self._problem(self.choices, kernel)
        if not len(pairs):
            return Found(None, pairs.informative, kernel, model.temperature)
        search = best_of(
            pairs,
            self.n_clusters,
            min(self.n_patterns, len(pairs)),
            model,
            self.schedule,
            self.n_init,
            rng,
            self.callback,
            moves=self.choices.search == "moves",
            dispersed=self.choices.penalty == "labels" and self.choices.temperature is None,
        )
        dispersion = search.temperature / model.temperature
        coassignment = mean_coassignment(search.fit)
        if not automatic or self.choices.search == "plain" or coassignment == 1:
            return Found(search, pairs.informative, kernel, search.temperature)
        assert isinstance(kernel, Readings)
        choices = self.choices.for_coassignments() if kernel.scale == "local" else self.choices
        kernel = kernel.drawing(coassignment)
        del pairs  # one set of pair values at a time
        model, pairs = self._problem(choices, kernel)
        model = replace(model, temperature=model.temperature * dispersion)
        search = search._replace(fit=go_on(pairs, search.fit, model, self.schedule, self.callback))
        return Found(search, pairs.informative, kernel, model.temperature)

    def _problem(self, choices: Choices, kernel: Kernel) -> tuple[Model, LocalPairs]:
        """Return what is to be minimised and the views' pair values, each view's divergence in its own nats."""
        divergence = DIVERGENCES[choices.divergence]
        temperature, weights = choices.temperature, None
        if temperature is None:
            own = view_temperatures(self.views, kernel, divergence, self.workers)
            temperature = float(own.mean())
            weights = temperature / own
        model = choices.model(self.views.n_samples, self.n_clusters, temperature)
        return model, LocalPairs(self.views, kernel, divergence, self.workers, self.keep, weights)


def mean_coassignment(fit: Fit) -> float:
    """Return the share of pairs that have a cluster in common, a mean over the views that have clusters; 1 if none."""
    patterns, counts = np.unique(fit.expectation.eta.argmax(axis=1), return_counts=True)
    shares = [np.bincount(fit.state.W[l].argmax(axis=1)) / fit.state.W.shape[1] for l in patterns]
    same = np.array([np.square(share).sum() for share in shares])
    clustered = same < 1
    return float(np.average(same[clustered], weights=counts[clustered])) if clustered.any() else 1.0
