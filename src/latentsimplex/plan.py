"""The course of a fit: choose what "auto" leaves open, search on those similarities, then draw the borders.

The search decides which views share a pattern and how many clusters it has. With readings of our own
choice EM then goes on from that structure, on similarities that show the borders of clusters best. Of very many
views a random part is enough for both; in the end EM takes all of them in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np

from latentsimplex._types import Array, Indices
from latentsimplex.choice import choose_readings, view_temperatures
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import DIVERGENCES
from latentsimplex.em import Fit, Model, Schedule
from latentsimplex.engines import Engine
from latentsimplex.engines.local import LocalPairs
from latentsimplex.known import Known
from latentsimplex.options import Choices
from latentsimplex.reference import Spread
from latentsimplex.search import NATS_AT_LAST, NATS_BETWEEN, Listener, Search, best_of, go_on, settle
from latentsimplex.similarity import Kernel, Readings
from latentsimplex.similarity.directions import KNOWN_BYTES, KnownDirections
from latentsimplex.similarity.readings import Remembering
from latentsimplex.views import Views


class Found(NamedTuple):
    """What a fit ended with; no search where all views are constant."""

    search: Search | None
    informative: Indices
    kernel: Kernel
    temperature: float


SEARCHED_VIEWS = 100
"""Views for each pattern there may be that a search with moves looks at. A pattern with a tenth of an equal share
of the views has ten of them then, whose mean is three times less noisy than a view. In the end all take part."""


@dataclass(frozen=True)
class Plan:
    """Everything that a fit needs but the similarity and the random draws."""

    views: Views
    choices: Choices
    schedule: Schedule
    n_clusters: int
    n_patterns: int
    n_init: int
    keep: bool | str
    workers: Workers
    listener: Listener
    engine: Engine = LocalPairs
    known: KnownDirections = field(default_factory=lambda: Known(KNOWN_BYTES))
    shapes: Known[Spread] = field(default_factory=lambda: Known(KNOWN_BYTES))

    def run(self, kernel: Kernel | None, rng: np.random.Generator) -> Found:
        """Return the best of several starts with a kernel; None is the readings that suit the views.

        Only readings of our own choice give way to others in a second stage: a kernel that is given stays.
        """
        automatic = kernel is None
        if kernel is None:
            divergence = DIVERGENCES[self.choices.divergence]
            kernel = choose_readings(self.views, self.n_clusters, divergence, self.workers)
        searched = self._searched(rng)
        own = self._temperatures(self.choices, kernel)
        model, pairs = self._problem(self.choices, kernel, own, searched)
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
            self.listener,
            moves=self.choices.search == "moves",
            # memberships that only say where the second stage begins need not be known so well
            nats=NATS_BETWEEN if automatic else NATS_AT_LAST,
        )
        search = search._replace(searched=pairs.informative)
        coassignment = mean_coassignment(search.fit)
        choices = self.choices
        if automatic and choices.search == "moves" and coassignment < 1:
            assert isinstance(kernel, Readings)
            choices = choices.for_coassignments() if kernel.scale == "local" else choices
            kernel = kernel.drawing(coassignment)
            self.listener.stage("drawing the borders")
            del pairs  # one set of pair values at a time
            own = self._temperatures(choices, kernel)
            model, pairs = self._problem(choices, kernel, own, searched)
            search = search._replace(fit=go_on(pairs, search.fit, model, self.schedule, self.listener))
        if searched is not None:
            del pairs
            self.listener.stage("settling on all views")
            model, pairs = self._problem(choices, kernel, own)
            search = search._replace(fit=settle(pairs, search.fit, model, self.schedule, self.listener))
        return Found(search, pairs.informative, kernel, model.temperature)

    def _searched(self, rng: np.random.Generator) -> Indices | None:
        """Return the views to search among, in order; None where a search with moves looks at all of them."""
        most = SEARCHED_VIEWS * self.n_patterns
        if self.choices.search == "plain" or len(self.views) <= most:
            return None
        telling = (
            v for v in rng.permutation(len(self.views)).tolist() if np.ptp(self.views[v], axis=0).any()
        )
        found = np.sort(list(islice(telling, most)))
        return found if len(found) == most else None

    def _temperatures(self, choices: Choices, kernel: Kernel) -> Array | None:
        """Return the temperature of each view (V,) with a kernel; None where the user gave one."""
        if choices.temperature is not None:
            return None
        divergence = DIVERGENCES[choices.divergence]
        return view_temperatures(self.views, kernel, divergence, self.workers, self.shapes)

    def _problem(
        self, choices: Choices, kernel: Kernel, own: Array | None, members: Indices | None = None
    ) -> tuple[Model, LocalPairs]:
        """Return what is to be minimised and the views' pair values, each view's divergence in its own nats."""
        temperature = choices.temperature if own is None else float(own.mean())
        assert temperature is not None
        weights = None if own is None else temperature / own
        model = choices.model(self.views.n_samples, self.n_clusters, temperature)
        divergence = DIVERGENCES[choices.divergence]
        if isinstance(kernel, Readings):
            kernel = Remembering(kernel, self.known)
        pairs = self.engine(self.views, kernel, divergence, self.workers, self.keep, weights, members)
        return model, pairs


def mean_coassignment(fit: Fit) -> float:
    """Return the share of pairs that have a cluster in common, a mean over the views that have clusters; 1 if none."""
    patterns, counts = np.unique(fit.expectation.eta.argmax(axis=1), return_counts=True)
    shares = [np.bincount(fit.state.W[l].argmax(axis=1)) / fit.state.W.shape[1] for l in patterns]
    same = np.array([np.square(share).sum() for share in shares])
    clustered = same < 1
    return float(np.average(same[clustered], weights=counts[clustered])) if clustered.any() else 1.0
