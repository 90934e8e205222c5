"""A fit whose stages run on the workers of a cluster: as in :mod:`latentsimplex.stages`, by the same functions.

================ =============================================================================================
stage            where it runs
================ =============================================================================================
views            in shards on all workers
search and       on one worker, which gets the views that they look at: all of a few, a random part of very many
refinement
all views        pair values and E steps on all workers, M steps in this process
plain search     the same
references       how views compare samples on all workers, a task for each pattern then
================ =============================================================================================
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from latentsimplex.auto.choose_similarity import sample_views
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Indices
from latentsimplex.engines.cluster import Cluster, connect_to
from latentsimplex.engines.sharded_pairs import read_shards
from latentsimplex.engines.sharded_references import keep_references_of_shards
from latentsimplex.engines.sharded_views import (
    ShardedViews,
    describe_views,
    rebuild_views,
    send_views,
    take_views,
)
from latentsimplex.fitting import Fitting, Found
from latentsimplex.inputs.known_samples import NOTHING, Given
from latentsimplex.inputs.views import Views
from latentsimplex.model.backends import choose_backend
from latentsimplex.model.problem import NEVER, NOBODY, Listener
from latentsimplex.options import Options
from latentsimplex.pairs.memory_budget import (
    SHARE_OF_FREE,
    choose_storage,
    measure_size,
    read_memory_limit,
)
from latentsimplex.pairs.on_device import find_device
from latentsimplex.results.estimates import assemble_results
from latentsimplex.results.results import Results
from latentsimplex.similarity import Precomputed
from latentsimplex.similarity.auto_diffusion import list_candidates
from latentsimplex.split_stages import REFINED_BY
from latentsimplex.stages import (
    draw_members,
    find_patterns,
    listen_to,
    read_views,
    take_in_all_views,
)


def run_on_cluster(X: Any, options: Options, given: Given = NOTHING) -> Results:
    """Return what a fit to data finds, the work being done by the workers of a cluster."""
    if any(each is not None for each in given):
        raise ValueError(
            "y, must_link, cannot_link and losses are not for fits on a cluster: give them with engine=None, or fit "
            "the views alone."
        )
    with connect_to(options.engine) as cluster, Workers(options.n_jobs) as workers:
        sharded = send_views(cluster, read_views(X, options))
        with listen_to(options) as listener:
            found = find_on_cluster(cluster, sharded, options, workers, listener)
        results = assemble_results(
            sharded.views,
            found.search,
            found.searched,
            found.informative,
            found.stages,
            options.settings,
            found.trees,
        )
        if isinstance(results.similarity, Precomputed):
            return results
        return replace(results, references=keep_references_of_shards(cluster, sharded, results))


def find_on_cluster(
    cluster: Cluster, sharded: ShardedViews, options: Options, workers: Workers, listener: Listener
) -> Found:
    """Return the patterns and the memberships of all views."""
    views = sharded.views
    is_plain = options.choices.search == "plain" and views.present is None
    if not is_plain:
        listener.stage("searching on a worker")
        found = explore_on_worker(cluster, sharded, options)
        if found.members is None:
            return found
    n_clusters, n_patterns = options.bound_numbers(views.n_samples, len(views))
    limit = options.memory_limit
    budget = cluster.count_bytes() if limit is None else read_memory_limit(limit)
    size = measure_size(views, options.kernel, n_patterns, cluster.n_threads)
    fitting = Fitting(
        views,
        options,
        n_clusters,
        n_patterns,
        choose_storage(size, budget),
        None if options.device == "cpu" else options.device,
        workers,
        choose_backend(None, views.n_samples, workers),
        listener,
        read=partial(read_shards, cluster, sharded),
    )
    if is_plain:
        return find_patterns(fitting, list_candidates(views.widths))
    return take_in_all_views(fitting, found)


def explore_on_worker(cluster: Cluster, sharded: ShardedViews, options: Options) -> Found:
    """Return what a worker finds that is given the views which a search and a refinement look at."""
    order, parts = take_views(cluster, sharded, list_looked_at(sharded.views, options))
    schedule = replace(options.schedule, stop=NEVER)  # signals are heard in this process alone
    sent = replace(options, engine=None, settings={}, schedule=schedule, verbose=False)
    found, state = cluster.gather(
        [cluster.submit(explore, describe_views(sharded.views), order, sent, *parts)]
    )[0]
    options.rng.bit_generator.state = state  # as if all had been drawn here
    return found


def list_looked_at(views: Views, options: Options) -> Indices:
    """Return the views that a search and a refinement look at: all, or those drawn where they are very many."""
    _, n_patterns = options.bound_numbers(views.n_samples, len(views))
    members = draw_members(views, replace(options, rng=deepcopy(options.rng)), n_patterns)
    if members is None or views.present is not None:
        return np.arange(len(views))
    sampled = [v for own in sample_views(views).values() for v in own]
    return np.union1d(members, np.array(sampled, dtype=np.intp))


def explore(
    views: Views, order: list[int], options: Options, *parts: tuple[Any, list[int]]
) -> tuple[Found, Any]:
    """Return the patterns of the views that are looked at, and the state of random numbers then; runs on a worker.

    Where views lack samples it goes on with all of them.
    """
    from distributed import get_worker

    worker, views = get_worker(), rebuild_views(views, order, parts)
    n_threads, budget = worker.state.nthreads, read_memory_limit(options.memory_limit)
    if options.memory_limit is None and worker.memory_manager.memory_limit:
        budget = min(budget, int(SHARE_OF_FREE * worker.memory_manager.memory_limit))
    is_split = options.looks_for_splits(len(views))
    n_clusters, n_patterns = options.bound_numbers(views.n_samples, len(views))
    n_landmarks = options.count_landmarks(views.n_samples)
    size = measure_size(
        views, options.kernel, n_patterns, n_threads, REFINED_BY if is_split else None, n_landmarks
    )
    keep = choose_storage(size._replace(n_views=len(order)), budget)
    device = None if options.device == "cpu" else find_device(options.device)
    with Workers(n_threads) as workers:
        backend = choose_backend(device, views.n_samples, workers)
        fitting = Fitting(views, options, n_clusters, n_patterns, keep, device, workers, backend, NOBODY)
        found = find_patterns(fitting, list_candidates(views.widths))
        if found.members is not None and views.present is not None:
            found = take_in_all_views(fitting, found)
    return found, options.rng.bit_generator.state
