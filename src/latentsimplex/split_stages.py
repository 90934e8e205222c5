"""The stages of a fit that finds clusters by splits: the search for splits, and the refinement of memberships."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from latentsimplex.auto.choose_similarity import choose_comparisons
from latentsimplex.auto.cluster_tree import Bounds
from latentsimplex.auto.landmarks import draw_landmarks, place_by_landmarks
from latentsimplex.auto.neighbour_votes import N_VOTES, place_rare, settle_memberships
from latentsimplex.auto.shared_clusters import ClusteredViews, SharedClusters, find_shared_clusters
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import find_varying
from latentsimplex.fitting import Fitting, Found, Reading
from latentsimplex.known.known_samples import Known
from latentsimplex.known.posterior import judge_memberships
from latentsimplex.model.joint_loss_weights import leave_out_unheard, weigh_losses
from latentsimplex.model.joint_losses import settle_with_losses
from latentsimplex.model.problem import NEVER
from latentsimplex.neighbours.nearest_neighbours import COMPARED
from latentsimplex.neighbours.neighbour_graphs import find_neighbours
from latentsimplex.pairs.absent_pairs import follow_labels
from latentsimplex.results.estimates import PatternTrees
from latentsimplex.search.multistart import Search
from latentsimplex.search.runs import run_from_labels
from latentsimplex.similarity import AutoDiffusion
from latentsimplex.similarity.comparisons import compare_views

REFINED_BY, REFINED_CLUSTER = 2500, 20
"""Landmarks: the samples whose pairs EM reads where there are more, and the fewest of each cluster among them. Others
are given the memberships of the nearest ones, and votes of all samples."""


def find_bounds(fitting: Fitting) -> Bounds:
    """Return the fewest and the most clusters that were asked for."""
    most = None if fitting.options.n_clusters is None else fitting.n_clusters
    return Bounds(min(fitting.options.min_clusters, fitting.views.n_samples), most)


def find_splits(fitting: Fitting) -> SharedClusters:
    """Search for clusters by splits, in each view and in views together."""
    bounds = find_bounds(fitting)
    fitting.listener.stage("looking for clusters")
    tables = [fitting.views.table_of_all(v) for v in range(len(fitting.views))]
    workers, stop = fitting.workers, fitting.options.schedule.stop
    if fitting.n_landmarks is not None and stop is not NEVER:
        # it may take minutes, and before its end there is nothing to keep
        workers = workers.until(stop, "looking for clusters")
    kept = None if fitting.checkpoint is None else fitting.checkpoint.within("clusters")
    return find_shared_clusters(
        tables,
        bounds,
        fitting.n_patterns,
        workers,
        fitting.n_landmarks,
        kept,
        fitting.listener,
    )


def refine_splits(
    fitting: Fitting,
    shared: SharedClusters,
    candidates: Mapping[int, list[AutoDiffusion]],
    known: Known | None = None,
) -> Found:
    """Refine the memberships of samples in the clusters that splits found, by EM and votes of neighbours.

    Joint losses come after EM, whose memberships are pooled with votes that do not know of them.
    """
    losses, fitting = fitting.losses, replace(fitting, losses=())
    groups, choices = shared.groups, fitting.options.choices
    varying = np.flatnonzero(
        [find_varying(fitting.views.held_table(v)).any() for v in range(len(fitting.views))]
    )
    trees = PatternTrees([group.tree for group in groups], shared.others)
    kernel = choose_comparisons(fitting.views, shared)
    if not groups:
        reading = Reading(choices, kernel, None)
        stage = fitting.record_stage("search", reading, 1.0, len(varying))
        unheard = weigh_losses(losses, None)
        return Found(None, varying, np.empty(0, dtype=np.intp), None, reading, (stage,), trees, unheard)
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
    landmarks = draw_landmarks([*clusterings, *presence], REFINED_BY, REFINED_CLUSTER)
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
        fit = some.go_on("refinement", fit, reading, members, informative, n_clusters, again=True).found
    W = np.array(
        [
            settle_group(fitting, *each, landmarks, known, shared.neighbours)
            for each in zip(groups, fit.state.W, strict=True)
        ]
    )
    if losses:
        losses = weigh_losses(losses, W)
        if heard := leave_out_unheard(losses):
            W = settle_with_losses(heard, W)
    fit = fit._replace(state=fit.state._replace(W=W))
    found_with = Reading(choices, found_by, None)
    first = fitting.record_stage("search", found_with, stage.temperature, len(varying))
    first = replace(first, search="splits", evidence=max(tree.strength for tree in trees.patterns))
    search = Search(fit, start, np.array([fit.loss_curve[-1]]), np.ones(1))
    return Found(search, varying, informative, None, reading, (first, stage), trees, losses)


def settle_group(
    fitting: Fitting,
    group: ClusteredViews,
    W: Array,
    landmarks: Indices,
    known: Known | None,
    found: Mapping[tuple[int, str], Indices] | None,
) -> Array:
    """Return the memberships (n, g) of all samples in the clusters of a group, given those of landmarks (m, g) by EM.

    Samples in none of its views are given the shares of the clusters.
    """
    tree, workers, labels = group.tree, fitting.workers, group.tree.labels
    n, seen, kept = len(labels), np.flatnonzero(labels >= 0), labels[landmarks] >= 0

    def judge(settled: Array) -> float:
        assert known is not None
        return judge_memberships(spread_shares(settled, seen, n), known)

    def settle() -> Array:
        tables = [fitting.views.table_of_all(v) for v in group.members]
        tables = [X if len(seen) == n else X[seen] for X in tables]
        coordinates = compare_views([X for X in tables if find_varying(X).any()], tree.comparison, workers)
        k = min(N_VOTES, len(seen) - 1)
        known_near = [(found or {}).get((v, tree.comparison)) for v in group.members]
        if all(near is not None and near.shape[1] >= k for near in known_near):
            neighbours = [near[:, :k] for near in known_near if near is not None]
        else:
            find = partial(find_neighbours, n_neighbours=k, workers=workers)
            # of very many samples each search has the threads for itself
            neighbours = list(workers.map(find, coordinates, threaded=n <= COMPARED))
        placed = place_by_landmarks(coordinates, np.searchsorted(seen, landmarks[kept]), W[kept], workers)
        given = None if known is None else judge
        settled = settle_memberships(neighbours, labels[seen], placed, tree.is_broad, given, workers)
        return place_rare(settled if len(seen) == n else spread_shares(settled, seen, n), tree)

    return fitting.recall("memberships", settle, group.members)


def spread_shares(W: Array, seen: Indices, n: int) -> Array:
    """Return memberships of n samples, given those of some of them; others have the shares of the clusters.

    >>> spread_shares(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 2]), 3).tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    every = np.tile(W.mean(axis=0), (n, 1))
    every[seen] = W
    return every
