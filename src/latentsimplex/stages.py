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
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from latentsimplex.auto.choose_similarity import choose_comparisons
from latentsimplex.auto.cluster_tree import Bounds
from latentsimplex.auto.neighbour_votes import draw_landmarks
from latentsimplex.auto.settled_memberships import settle_all
from latentsimplex.auto.shared_clusters import ClusteredViews, SharedClusters, find_shared_clusters
from latentsimplex.base.threads import Workers, count_threads
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import find_varying
from latentsimplex.checkpoints.checkpoint import Checkpoint
from latentsimplex.fitting import Fitting, Found, Reading
from latentsimplex.inputs.column_groups import is_word
from latentsimplex.inputs.views import Views, as_views
from latentsimplex.inputs.words import leave_out_wordless
from latentsimplex.model.backends import choose_backend
from latentsimplex.model.problem import NOBODY, Problem
from latentsimplex.options import Options
from latentsimplex.pairs.absent_pairs import follow_labels
from latentsimplex.pairs.memory_budget import (
    choose_storage,
    estimate_bytes,
    measure_size,
    read_memory_limit,
)
from latentsimplex.pairs.on_device import find_device
from latentsimplex.placing.references import References, keep_references
from latentsimplex.progress import show_progress
from latentsimplex.results.estimates import PatternTrees, assemble_results
from latentsimplex.results.results import Results
from latentsimplex.search.multistart import Search, search_from_starts
from latentsimplex.search.runs import (
    NATS_AT_LAST,
    NATS_BETWEEN,
    finish_on_all_views,
    mean_coassignment,
    refit_on_second_similarity,
    run_from_labels,
)
from latentsimplex.similarity import AutoDiffusion, Precomputed
from latentsimplex.similarity.auto_diffusion import list_candidates

logger = logging.getLogger("latentsimplex")

SEARCHED_VIEWS = 100
"""Views for each pattern there may be that a search with moves looks at. A pattern with a tenth of an equal share
of the views has ten of them then, whose mean is three times less noisy than a view. In the end all take part."""

REFINED_BY, REFINED_CLUSTER = 2500, 20
"""Landmarks: the samples whose pairs EM reads where there are more, and the fewest of each cluster among them. Others
are given the memberships of the nearest ones, and votes of all samples."""
SEARCHED_CLUSTERS = 10
"""The most clusters that a search among many views looks for, where no number was given."""


def run_stages(X: Any, options: Options, checkpoint: Checkpoint | None = None) -> Results:
    """Return what a fit to data, or to views that have been read, finds, going on from a checkpoint if there is one."""
    views = X if isinstance(X, Views) else read_views(X, options)
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
        if checkpoint is not None:
            listener.stage(checkpoint.describe())
            kept = checkpoint.recall("storage", partial(choose_storage, size, budget))
            keep = kept if estimate_bytes(size, kept) <= budget else keep
        fitting = Fitting(
            views, options, n_clusters, n_patterns, keep, device, workers, backend, listener, checkpoint
        )
        if options.looks_for_splits(len(views)):
            found = refine_splits(fitting, find_splits(fitting), candidates)
        else:
            reading, members = choose_reading(fitting, candidates)
            found = search_for_patterns(fitting, reading, members)
            if wants_refinement(found):
                found = refine_memberships(fitting, found)
            elif views.present is not None and found.search is not None:
                found = fill_again(fitting, found)
            if found.members is not None:
                found = take_in_all_views(fitting, found)
    results = assemble_results(
        views, found.search, found.searched, found.informative, found.stages, options.settings, found.trees
    )
    return replace(results, references=find_references(views, results, options))


def read_views(X: Any, options: Options) -> Views:
    """Return the views of the data: as they are given, or found among the columns of a table."""
    reading = isinstance(options.kernel, Precomputed), options.missing, options.join
    if not is_word(options.views, "discover"):
        return as_views(X, options.views, *reading)
    from latentsimplex.columns.discovered_table import discover_views

    return discover_views(X, *reading, options.n_jobs)


def find_references(views: Views, results: Results, options: Options) -> References | None:
    """Return what places new samples; None for similarities that were given, which new samples have none of."""
    if isinstance(results.similarity, Precomputed):
        return None
    found = (results.view_patterns, results.memberships, results.pattern_labels)
    with Workers(options.n_jobs) as workers:
        return keep_references(views, results.similarity, *found, workers)


def find_splits(fitting: Fitting) -> SharedClusters:
    """Look for clusters in each view, and in views together."""
    fitting.listener.stage("looking for clusters")
    tables = [fitting.views.table_of_all(v) for v in range(len(fitting.views))]
    most = None if fitting.options.n_clusters is None else fitting.n_clusters
    least = min(fitting.options.min_clusters, fitting.views.n_samples)
    kept = None if fitting.checkpoint is None else fitting.checkpoint.within("clusters")
    return find_shared_clusters(
        tables, Bounds(least, most), fitting.n_patterns, fitting.workers, fitting.n_landmarks, kept
    )


def refine_splits(
    fitting: Fitting, shared: SharedClusters, candidates: Mapping[int, list[AutoDiffusion]]
) -> Found:
    """Find the memberships of samples in the clusters of splits."""
    groups, choices = shared.groups, fitting.options.choices
    varying = np.flatnonzero([find_varying(fitting.views.table(v)).any() for v in range(len(fitting.views))])
    trees = PatternTrees([group.tree for group in groups], shared.others)
    kernel = choose_comparisons(fitting.views, shared)
    if not groups:
        reading = Reading(choices, kernel, None)
        stage = fitting.record_stage("search", reading, 1.0, len(varying))
        return Found(None, varying, np.empty(0, dtype=np.intp), None, reading, (stage,), trees)
    fitting.listener.stage("refining memberships")
    is_broad = kernel.scale == "broad"
    if is_broad and "as shares" not in dict(kernel.features).values():
        # clusters that took broad graphs overlap: what they explain tells better how to compare their views
        chosen = fitting.choose_similarity(candidates)
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
    presence = [] if fitting.views.present is None else list(fitting.views.present.astype(np.intp))
    most = REFINED_BY if fitting.n_landmarks is None else min(REFINED_BY, fitting.n_landmarks)
    landmarks = draw_landmarks([*clusterings, *presence], most, REFINED_CLUSTER)
    some = fitting.take_samples(landmarks)
    reading = Reading(choices, kernel, some.measure_temperatures(choices, kernel))
    n_clusters = max(tree.n_clusters for tree in trees.patterns)
    begun = [labels[landmarks] for labels in clusterings]
    followed = None
    if presence:
        followed = follow_labels([pattern_of.get(v, -1) for v in range(len(fitting.views))], begun)
    certain = [np.where(own >= 0, own, sizes[l].argmax()) for l, own in enumerate(begun)]
    fit, informative, stage = some.ask(
        "refinement",
        reading,
        members,
        lambda problem, views: run_from_labels(
            problem, np.array([pattern_of[v] for v in views]), certain, fitting.listener.follow(0)
        ),
        n_clusters,
        followed,
    )
    if presence:
        fit = some.go_on(fit, reading, members, informative, n_clusters)
    W = np.array(
        [settle_memberships(fitting, *each, landmarks) for each in zip(groups, fit.state.W, strict=True)]
    )
    fit = fit._replace(state=fit.state._replace(W=W))
    found_with = Reading(choices, found_by, None)
    first = fitting.record_stage("search", found_with, stage.temperature, len(varying))
    first = replace(first, search="splits", evidence=max(tree.strength for tree in trees.patterns))
    search = Search(fit, start, np.array([fit.loss_curve[-1]]), np.ones(1))
    return Found(search, varying, informative, None, reading, (first, stage), trees)


def settle_memberships(fitting: Fitting, group: ClusteredViews, W: Array, landmarks: Indices) -> Array:
    """Return the memberships of all samples in the clusters of a group, given those of landmarks by EM."""
    tables = [fitting.views.table_of_all(v) for v in group.members]
    settle = partial(settle_all, tables, group.tree, W, landmarks, fitting.workers)
    return fitting.recall("memberships", settle, group.members)


def choose_reading(
    fitting: Fitting, candidates: Mapping[int, list[AutoDiffusion]]
) -> tuple[Reading, Indices | None]:
    """Return how the search reads the views, by the user's word or by the data, and which it looks at."""
    choices, kernel, evidence = fitting.options.choices, fitting.options.kernel, None
    if kernel is None:
        kernel, evidence = fitting.choose_similarity(candidates)
    members = draw_members(fitting)
    return Reading(choices, kernel, fitting.measure_temperatures(choices, kernel), evidence), members


def draw_members(fitting: Fitting) -> Indices | None:
    """Return the views to search among, in order; None where a search with moves looks at all of them."""
    views, most = fitting.views, SEARCHED_VIEWS * fitting.n_patterns
    if fitting.options.choices.search == "plain" or len(views) <= most:
        return None
    order = fitting.options.rng.permutation(len(views)).tolist()
    found = np.sort(list(islice((v for v in order if find_varying(views.table(v)).any()), most)))
    return found if len(found) == most else None


def search_for_patterns(fitting: Fitting, reading: Reading, members: Indices | None) -> Found:
    """Search for patterns and clusters from several starts."""

    def search_among(problem: Problem, informative: Indices) -> Search | None:
        if not len(informative):
            return None
        return search_from_starts(
            problem,
            fitting.n_clusters,
            min(fitting.n_patterns, len(informative)),
            fitting.options.n_init,
            fitting.options.rng,
            fitting.listener,
            moves=reading.choices.search == "moves",
            # memberships that only say where a refinement begins need not be known so well
            nats=NATS_BETWEEN if reading.is_automatic else NATS_AT_LAST,
        )

    search, informative, stage = fitting.ask("search", reading, members, search_among)
    members = None if search is None else members
    return Found(search, informative, informative, members, reading, (stage,))


def wants_refinement(found: Found) -> bool:
    """Return whether a second similarity would show borders better: one that is given stays."""
    if found.search is None or not found.reading.is_automatic:
        return False
    return mean_coassignment(found.search.fit) < 1


def refine_memberships(fitting: Fitting, found: Found) -> Found:
    """Refine memberships on a second similarity, the patterns and numbers of clusters staying as they are."""
    fitting.listener.stage("refining memberships")
    (choices, kernel, _, _), search = found.reading, found.search
    assert search is not None
    assert isinstance(kernel, AutoDiffusion)
    before, members = search.fit, found.members
    choices = choices.for_coassignments() if kernel.scale == "local" else choices
    kernel = kernel.for_refinement(mean_coassignment(before))
    reading = Reading(choices, kernel, fitting.measure_temperatures(choices, kernel))
    fit, informative, stage = fitting.ask(
        "refinement",
        reading,
        members,
        lambda problem, _: refit_on_second_similarity(problem, before, fitting.listener.follow(0)),
        None,
        fitting.follow(before, found.informative),
    )
    search = search._replace(fit=fit)
    return Found(search, found.searched, informative, members, reading, (*found.stages, stage))


def fill_again(fitting: Fitting, found: Found) -> Found:
    """Go on from a search, the pairs that views lack filled by the patterns that it found."""
    assert found.search is not None
    fit = fitting.go_on(found.search.fit, found.reading, found.members, found.informative)
    return found._replace(search=found.search._replace(fit=fit))


def take_in_all_views(fitting: Fitting, found: Found) -> Found:
    """Go on with all views from where a fit to a part of them ended."""
    fitting.listener.stage("taking in all views")
    assert found.search is not None
    before = found.search.fit
    fit, informative, stage = fitting.ask(
        "all views",
        found.reading,
        None,
        lambda problem, _: finish_on_all_views(problem, before, fitting.listener.follow(0)),
        None,
        fitting.follow(before, found.informative),
    )
    search = found.search._replace(fit=fit)
    return Found(search, found.searched, informative, None, found.reading, (*found.stages, stage))
