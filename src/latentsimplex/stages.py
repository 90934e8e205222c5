"""The stages of a fit, from data to results: one function, :func:`run_stages`, that enters the rooms in order.

============== ===========================================================================================
stage          what it does
============== ===========================================================================================
search         decides which views share a pattern and how many clusters it has: by splits, for which there is
               evidence, where the data choose the similarity of a few views; otherwise by EM, with or without moves
refinement     goes on from there, on similarities that show the borders of clusters best; only where the
               similarity was chosen by the data, and there are clusters
all views      takes in all views, where there were so many that a random part was enough until then
============== ===========================================================================================
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.auto.choose_similarity import Choice, choose_comparisons, choose_similarity
from latentsimplex.auto.cluster_tree import Bounds
from latentsimplex.auto.neighbour_votes import draw_landmarks
from latentsimplex.auto.settled_memberships import settle_all
from latentsimplex.auto.shared_clusters import ClusteredViews, SharedClusters, find_shared_clusters
from latentsimplex.auto.temperatures import view_temperatures
from latentsimplex.base.bounded_cache import BoundedCache
from latentsimplex.base.threads import Workers, count_threads
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import find_varying
from latentsimplex.inputs.views import Views, as_views
from latentsimplex.inputs.words import leave_out_wordless
from latentsimplex.model.backends import choose_backend
from latentsimplex.model.problem import NOBODY, Fit, Listener, Problem
from latentsimplex.options import Choices, Options, make_model
from latentsimplex.pairs.absent_pairs import Followed, follow_fit, follow_labels
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.pairs.memory_budget import Storage, choose_storage, measure_size, read_memory_limit
from latentsimplex.pairs.on_device import find_device, make_pairs
from latentsimplex.pairs.protocol import Backend
from latentsimplex.placing.references import References, keep_references
from latentsimplex.progress import show_progress
from latentsimplex.results.estimates import PatternTrees, assemble_results
from latentsimplex.results.results import Results, Stage
from latentsimplex.search.multistart import Search, search_from_starts
from latentsimplex.search.runs import (
    NATS_AT_LAST,
    NATS_BETWEEN,
    finish_on_all_views,
    mean_coassignment,
    refine_labels,
    refit_on_second_similarity,
)
from latentsimplex.similarity import AutoDiffusion, Kernel, Precomputed
from latentsimplex.similarity.auto_diffusion import list_candidates
from latentsimplex.similarity.walk_eigenvectors import CACHED_BYTES, EigenvectorCache

logger = logging.getLogger("latentsimplex")

SEARCHED_VIEWS = 100
"""Views for each pattern there may be that a search with moves looks at. A pattern with a tenth of an equal share
of the views has ten of them then, whose mean is three times less noisy than a view. In the end all take part."""

REFINED_BY, REFINED_CLUSTER = 2500, 20
"""Landmarks: the samples whose pairs EM reads where there are more, and the fewest of each cluster among them. Others
are given the memberships of the nearest ones, and votes of all samples."""
SEARCHED_CLUSTERS = 10
"""The most clusters that a search among many views looks for, where no number was given."""


def run_stages(X: Any, options: Options) -> Results:
    """Return what a fit to data finds."""
    views = as_views(X, options.views, isinstance(options.kernel, Precomputed), options.missing, options.join)
    if options.looks_for_splits(len(views)):
        views = leave_out_wordless(views)
    else:
        options.check_search()
    n_clusters = min(options.n_clusters or max(SEARCHED_CLUSTERS, options.min_clusters), views.n_samples)
    n_patterns = min(options.n_patterns, len(views))
    candidates = list_candidates(views.widths)
    budget = read_memory_limit(options.memory_limit)
    most_samples = REFINED_BY if options.looks_for_splits(len(views)) else None
    n_jobs, n_landmarks = count_threads(options.n_jobs), options.count_landmarks(views.n_samples)
    size = measure_size(views, options.kernel, n_patterns, n_jobs, most_samples, n_landmarks)
    keep = choose_storage(size, budget)
    device = None if options.device == "cpu" else find_device(options.device)
    heard = options.verbose or logger.isEnabledFor(logging.DEBUG)
    progress = show_progress(options.verbose, options.n_init) if heard else nullcontext(NOBODY)
    with Workers(options.n_jobs) as workers, progress as listener:
        backend = choose_backend(device, views.n_samples, workers)
        fitting = Fitting(views, options, n_clusters, n_patterns, keep, device, workers, backend, listener)
        if options.looks_for_splits(len(views)):
            found = fitting.refine_splits(fitting.find_splits(), candidates)
        else:
            reading, members = fitting.choose(candidates)
            found = fitting.search(reading, members)
            if fitting.wants_refinement(found):
                found = fitting.refine(found)
            elif views.present is not None and found.search is not None:
                found = fitting.fill_again(found)
            if found.members is not None:
                found = fitting.take_in_all_views(found)
    results = assemble_results(
        views, found.search, found.searched, found.informative, found.stages, options.settings, found.trees
    )
    return replace(results, references=find_references(views, results, options))


def find_references(views: Views, results: Results, options: Options) -> References | None:
    """Return what places new samples; None for similarities that were given, which new samples have none of."""
    if isinstance(results.similarity, Precomputed):
        return None
    found = (results.view_patterns, results.memberships, results.pattern_labels)
    with Workers(options.n_jobs) as workers:
        return keep_references(views, results.similarity, *found, workers)


class Reading(NamedTuple):
    """How a stage reads the views: the model and the search, the similarity, the temperature of each view (V,).

    No temperatures are one that the user gave; ``evidence`` is that for clusters, where the data chose the similarity.
    """

    choices: Choices
    kernel: Kernel
    temperatures: Array | None
    evidence: float | None = None

    @property
    def is_automatic(self) -> bool:
        """Whether the data chose the similarity, and a refinement may follow."""
        return self.evidence is not None and self.choices.search == "moves"


class Found(NamedTuple):
    """Where a fit is after a stage: the search, None where all views are constant, and the views that took part.

    ``searched`` are the views that the search looked at, ``informative`` those of the last stage, constant ones left
    out of both; ``members`` are the views that were read for it, in order, or None for all of them. ``trees`` has the
    levels of clusters and their evidence, where splits were looked for.
    """

    search: Search | None
    searched: Indices
    informative: Indices
    members: Indices | None
    reading: Reading
    stages: tuple[Stage, ...]
    trees: PatternTrees | None = None


@dataclass(frozen=True)
class Fitting:
    """A fit in its course: the views, what was asked for, and where and how the work is done."""

    views: Views
    options: Options
    n_clusters: int
    n_patterns: int
    keep: Storage
    device: str | None
    workers: Workers
    backend: Backend
    listener: Listener
    eigenvectors: EigenvectorCache = field(default_factory=partial(BoundedCache, CACHED_BYTES))

    def choose(self, candidates: Mapping[int, list[AutoDiffusion]]) -> tuple[Reading, Indices | None]:
        """Return how the search reads the views, by the user's word or by the data, and which it looks at."""
        choices, kernel, evidence = self.options.choices, self.options.kernel, None
        if kernel is None:
            kernel, evidence = self._choose_similarity(candidates)
        members = self._draw_members()
        return Reading(choices, kernel, self._measure_temperatures(choices, kernel), evidence), members

    @property
    def n_landmarks(self) -> int | None:
        """How many samples all others are placed against; None is all."""
        return self.options.count_landmarks(self.views.n_samples)

    def find_splits(self) -> SharedClusters:
        """Look for clusters in each view, and in views together."""
        self.listener.stage("looking for clusters")
        tables = [self.views.table_of_all(v) for v in range(len(self.views))]
        most = None if self.options.n_clusters is None else self.n_clusters
        least = min(self.options.min_clusters, self.views.n_samples)
        return find_shared_clusters(
            tables, Bounds(least, most), self.n_patterns, self.workers, self.n_landmarks
        )

    def refine_splits(self, shared: SharedClusters, candidates: Mapping[int, list[AutoDiffusion]]) -> Found:
        """Find the memberships of samples in the clusters of splits."""
        groups, choices = shared.groups, self.options.choices
        varying = np.flatnonzero([find_varying(self.views.table(v)).any() for v in range(len(self.views))])
        trees = PatternTrees([group.tree for group in groups], shared.others)
        kernel = choose_comparisons(self.views, shared)
        if not groups:
            reading = Reading(choices, kernel, None)
            stage = self._record_stage("search", reading, 1.0, len(varying))
            return Found(None, varying, np.empty(0, dtype=np.intp), None, reading, (stage,), trees)
        self.listener.stage("refining memberships")
        is_broad = kernel.scale == "broad"
        if is_broad and "as shares" not in dict(kernel.features).values():
            # clusters that took broad graphs overlap: what they explain tells better how to compare their views
            chosen = self._choose_similarity(candidates)
            kernel = replace(kernel, features=chosen.similarity.features)
        found_by = kernel
        members = np.array(sorted(v for group in groups for v in group.members))
        pattern_of = {v: l for l, group in enumerate(groups) for v in group.members}
        start = np.array([pattern_of.get(v, len(groups)) for v in varying.tolist()])
        clusterings = [tree.labels for tree in trees.patterns]
        sizes = [np.bincount(labels[labels >= 0]) for labels in clusterings]
        same = [np.square(own / own.sum()).sum() for own in sizes]
        coassignment = float(np.average([same[pattern_of[v]] for v in members]))
        choices = choices if is_broad else choices.for_coassignments()
        kernel = kernel.for_refinement(coassignment)
        presence = [] if self.views.present is None else list(self.views.present.astype(np.intp))
        most = REFINED_BY if self.n_landmarks is None else min(REFINED_BY, self.n_landmarks)
        landmarks = draw_landmarks([*clusterings, *presence], most, REFINED_CLUSTER)
        some = self._take_samples(landmarks)
        reading = Reading(choices, kernel, some._measure_temperatures(choices, kernel))
        n_clusters = max(tree.n_clusters for tree in trees.patterns)
        begun = [labels[landmarks] for labels in clusterings]
        followed = follow_labels([pattern_of.get(v, -1) for v in range(len(self.views))], begun)
        problem, informative, stage = some._pose("refinement", reading, members, n_clusters, followed)
        fit = refine_labels(
            problem,
            np.array([pattern_of[v] for v in informative]),
            [np.where(own >= 0, own, sizes[l].argmax()) for l, own in enumerate(begun)],
            self.listener.follow(0),
        )
        if presence:
            fit = some._go_on(fit, reading, members, informative, n_clusters)
        W = np.array([self._settle(*each, landmarks) for each in zip(groups, fit.state.W, strict=True)])
        fit = fit._replace(state=fit.state._replace(W=W))
        found_with = Reading(choices, found_by, None)
        first = self._record_stage("search", found_with, stage.temperature, len(varying))
        first = replace(first, search="splits", evidence=max(tree.strength for tree in trees.patterns))
        search = Search(fit, start, np.array([fit.loss_curve[-1]]), np.ones(1))
        return Found(search, varying, informative, None, reading, (first, stage), trees)

    def _settle(self, group: ClusteredViews, W: Array, landmarks: Indices) -> Array:
        """Return the memberships of all samples in the clusters of a group, given those of landmarks by EM."""
        tables = [self.views.table_of_all(v) for v in group.members]
        return settle_all(tables, group.tree, W, landmarks, self.workers)

    def _take_samples(self, rows: Indices) -> Fitting:
        """Return the same fit to some of the samples."""
        if len(rows) == self.views.n_samples:
            return self
        backend = choose_backend(self.device, len(rows), self.workers)
        cache: EigenvectorCache = BoundedCache(CACHED_BYTES)
        return replace(self, views=self.views.take_samples(rows), backend=backend, eigenvectors=cache)

    def search(self, reading: Reading, members: Indices | None) -> Found:
        """Search for patterns and clusters from several starts."""
        problem, informative, stage = self._pose("search", reading, members)
        if not len(informative):
            return Found(None, informative, informative, None, reading, (stage,))
        search = search_from_starts(
            problem,
            self.n_clusters,
            min(self.n_patterns, len(informative)),
            self.options.n_init,
            self.options.rng,
            self.listener,
            moves=reading.choices.search == "moves",
            # memberships that only say where a refinement begins need not be known so well
            nats=NATS_BETWEEN if reading.is_automatic else NATS_AT_LAST,
        )
        return Found(search, informative, informative, members, reading, (stage,))

    def wants_refinement(self, found: Found) -> bool:
        """Return whether a second similarity would show borders better: one that is given stays."""
        if found.search is None or not found.reading.is_automatic:
            return False
        return mean_coassignment(found.search.fit) < 1

    def refine(self, found: Found) -> Found:
        """Refine memberships on a second similarity, the patterns and numbers of clusters staying as they are."""
        self.listener.stage("refining memberships")
        (choices, kernel, _, _), search = found.reading, found.search
        assert search is not None
        assert isinstance(kernel, AutoDiffusion)
        choices = choices.for_coassignments() if kernel.scale == "local" else choices
        kernel = kernel.for_refinement(mean_coassignment(search.fit))
        reading = Reading(choices, kernel, self._measure_temperatures(choices, kernel))
        followed = self._follow(search.fit, found.informative)
        problem, informative, stage = self._pose("refinement", reading, found.members, None, followed)
        search = search._replace(fit=refit_on_second_similarity(problem, search.fit, self.listener.follow(0)))
        return Found(search, found.searched, informative, found.members, reading, (*found.stages, stage))

    def fill_again(self, found: Found) -> Found:
        """Go on from a search, the pairs that views lack filled by the patterns that it found."""
        assert found.search is not None
        fit = self._go_on(found.search.fit, found.reading, found.members, found.informative)
        return found._replace(search=found.search._replace(fit=fit))

    def _go_on(self, fit: Fit, reading: Reading, members: Any, seen: Indices, g: int | None = None) -> Fit:
        """Run EM again from a fit to some views, the pairs that they lack filled by what it found."""
        problem, _, _ = self._pose("refinement", reading, members, g, self._follow(fit, seen))
        return finish_on_all_views(problem, fit, self.listener.follow(0))

    def _follow(self, fit: Fit, informative: Indices) -> Followed:
        """Return what a fit tells of the pairs that views lack."""
        return follow_fit(fit.expectation.eta, informative, len(self.views), fit.state.W, fit.state.B)

    def take_in_all_views(self, found: Found) -> Found:
        """Go on with all views from where a fit to a part of them ended."""
        self.listener.stage("taking in all views")
        assert found.search is not None
        followed = self._follow(found.search.fit, found.informative)
        problem, informative, stage = self._pose("all views", found.reading, None, None, followed)
        search = found.search._replace(
            fit=finish_on_all_views(problem, found.search.fit, self.listener.follow(0))
        )
        return Found(search, found.searched, informative, None, found.reading, (*found.stages, stage))

    def _choose_similarity(self, candidates: Mapping[int, list[AutoDiffusion]]) -> Choice:
        """Return the similarity under which clusters explain most."""
        divergence = DIVERGENCES[self.options.choices.divergence]
        return choose_similarity(self.views, candidates, self.n_clusters, divergence, self.workers)

    def _draw_members(self) -> Indices | None:
        """Return the views to search among, in order; None where a search with moves looks at all of them."""
        views, most = self.views, SEARCHED_VIEWS * self.n_patterns
        if self.options.choices.search == "plain" or len(views) <= most:
            return None
        order = self.options.rng.permutation(len(views)).tolist()
        found = np.sort(list(islice((v for v in order if find_varying(views.table(v)).any()), most)))
        return found if len(found) == most else None

    def _measure_temperatures(self, choices: Choices, kernel: Kernel) -> Array | None:
        """Return the temperature of each view (V,) with a kernel; None where the user gave one."""
        if choices.temperature is not None:
            return None
        return view_temperatures(self.views, kernel, DIVERGENCES[choices.divergence], self.workers)

    def _record_stage(self, name: str, reading: Reading, temperature: float, n_views: int) -> Stage:
        """Return the record of a stage."""
        choices = reading.choices
        return Stage(
            name,
            reading.kernel,
            choices.divergence,
            choices.response,
            choices.penalty,
            choices.search,
            self.options.schedule.optimizer,
            temperature,
            n_views,
            reading.evidence,
        )

    def _pose(
        self,
        name: str,
        reading: Reading,
        members: Indices | None,
        n_clusters: int | None = None,
        followed: Followed | None = None,
    ) -> tuple[Problem, Indices, Stage]:
        """Return the problem of a stage, each view's divergence in its own nats, its views, and the stage's record."""
        choices, kernel, own, _ = reading
        temperature = choices.temperature if own is None else float(own.mean())
        assert temperature is not None
        weights = None if own is None else temperature / own
        model = make_model(choices, self.views.n_samples, n_clusters or self.n_clusters, temperature)
        pairs = make_pairs(
            self.device,
            self.views,
            kernel,
            model.divergence,
            self.workers,
            self.eigenvectors,
            self.backend,
            self.keep,
            weights,
            members,
            followed,
        )
        stage = self._record_stage(name, reading, model.temperature, len(pairs))
        return Problem(pairs, model, self.options.schedule), pairs.informative, stage
