"""A fit whose stages run on the workers of a cluster: as in :mod:`latentsimplex.stages`, by the same functions.

================ =============================================================================================
stage            where it runs
================ =============================================================================================
views            in shards on all workers
search and       on one worker, which gets the views that they look at: all of a few, a random part of very many
refinement
all views        pair values and E steps on all workers, M steps in this process
plain search     the same
references       how views compare samples on all workers; the rest when it is first asked for, in this process
================ =============================================================================================
"""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from latentsimplex.auto.temperatures import sample_views
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Indices
from latentsimplex.checkpoints.checkpoint import Checkpoint
from latentsimplex.engines.chunk_workers import ChunkWorkers
from latentsimplex.engines.dask_cluster import Cluster, connect_to
from latentsimplex.engines.remote_pieces import (
    Pieces,
    gather_with_pieces,
    pieces_of_task,
    return_with_pieces,
)
from latentsimplex.engines.sharded_pairs import read_shards
from latentsimplex.engines.sharded_references import keep_references_of_shards
from latentsimplex.engines.sharded_views import (
    ShardedViews,
    describe_views,
    leave_out_wordless_of_shards,
    rebuild_views,
    send_views,
    take_views,
)
from latentsimplex.fitting import Fitting, Found
from latentsimplex.inputs.stored_views import StoredColumns
from latentsimplex.inputs.views import Views
from latentsimplex.known.known_samples import NOTHING, Given, Known
from latentsimplex.model.backends import choose_backend
from latentsimplex.model.joint_losses import JointLoss
from latentsimplex.model.problem import NEVER, Listener
from latentsimplex.options import Options
from latentsimplex.pairs.memory_budget import (
    SHARE_OF_FREE,
    measure_size,
    read_memory_limit,
)
from latentsimplex.results.estimates import assemble_results
from latentsimplex.results.results import Results
from latentsimplex.similarity import Precomputed
from latentsimplex.similarity.auto_diffusion import list_candidates
from latentsimplex.stages import (
    draw_members,
    find_patterns,
    list_weights,
    listen_to,
    open_views,
    read_given,
    read_views,
    recall_storage,
    set_up,
    take_in_all_views,
)


def run_on_cluster(X: Any, options: Options, given: Given = NOTHING) -> Results:
    """Return what a fit to data finds, the work being done by the workers of a cluster."""
    with connect_to(options.engine) as cluster:
        return run_opened(cluster, open_on_cluster(cluster, X, options), options, given)


def open_on_cluster(cluster: Cluster, X: Any, options: Options) -> Views | ShardedViews:
    """Return the views of data as this process reads them or, where workers read them, in shards."""
    views = open_views(X, options)
    return send_views(cluster, views) if isinstance(views.load, StoredColumns) else views


def run_opened(
    cluster: Cluster,
    opened: Views | ShardedViews,
    options: Options,
    given: Given = NOTHING,
    checkpoint: Checkpoint | None = None,
) -> Results:
    """Run the stages of a fit to views that were opened, from a checkpoint if there is one.

    ``given`` is what is known of samples, and losses that join, which travel to the worker that searches.
    """
    if isinstance(opened, Views):
        sharded = send_views(cluster, read_views(opened, options))
    elif options.looks_for_splits(len(opened.views)):
        sharded = leave_out_wordless_of_shards(cluster, opened)
    else:
        options.check_search()
        sharded = opened
    known, losses = read_given(given, sharded.views)
    with Workers(options.n_jobs) as workers, listen_to(options) as listener:
        if checkpoint is not None:
            listener.stage(checkpoint.describe())
        found = find_on_cluster(cluster, sharded, options, workers, listener, known, losses, checkpoint)
    told = (found.stages, options.settings, found.trees, known)
    results = assemble_results(sharded.views, found.search, found.searched, found.informative, *told)
    results = replace(results, loss_weights=list_weights(found))
    if isinstance(results.similarity, Precomputed):
        return results
    return replace(results, references=keep_references_of_shards(cluster, sharded, results, options.n_jobs))


def find_on_cluster(
    cluster: Cluster,
    sharded: ShardedViews,
    options: Options,
    workers: Workers,
    listener: Listener,
    known: Known | None = None,
    losses: tuple[JointLoss, ...] = (),
    checkpoint: Checkpoint | None = None,
) -> Found:
    """Return the patterns and the memberships of all views."""
    views = sharded.views
    is_plain = options.choices.search == "plain" and views.present is None
    limit = options.memory_limit
    # asked while all workers are there
    budget = cluster.count_bytes() if limit is None else read_memory_limit(limit)
    if not is_plain:
        listener.stage("searching on a worker")
        found = explore_on_worker(cluster, sharded, options, known, losses, checkpoint)
        if found.members is None:
            return found
    n_clusters, n_patterns = options.bound_numbers(views.n_samples, len(views))
    size = measure_size(views, options.kernel, n_patterns, cluster.n_threads)
    keep = recall_storage(size, budget, checkpoint and checkpoint.within("all views"))
    fitting = Fitting(
        views,
        options,
        n_clusters,
        n_patterns,
        options.count_landmarks(views.n_samples),
        keep,
        None if options.device == "cpu" else options.device,
        workers,
        choose_backend(None, views.n_samples, workers),
        listener,
        checkpoint,
        losses,
        read=partial(read_shards, cluster, sharded),
    )
    if is_plain:
        return find_patterns(fitting, list_candidates(views.widths), known)
    return take_in_all_views(fitting, found)


def explore_on_worker(
    cluster: Cluster,
    sharded: ShardedViews,
    options: Options,
    known: Known | None,
    losses: tuple[JointLoss, ...],
    checkpoint: Checkpoint | None,
) -> Found:
    """Return what a worker finds that is given the views which a search and a refinement look at."""
    order, parts = take_views(cluster, sharded, list_looked_at(sharded.views, options))
    schedule = replace(options.schedule, stop=NEVER)  # signals are heard in this process alone
    sent = replace(options, engine=None, settings={}, schedule=schedule, verbose=False)
    described = describe_views(sharded.views, order)
    exploring = cluster.submit(explore, described, order, sent, known, losses, *parts)
    sharded.shards()  # which travel while the worker searches
    found, state = gather_with_pieces(cluster, exploring, checkpoint)
    options.rng.bit_generator.state = state  # as if all had been drawn here
    return found


def make_workers(cluster: Cluster, n_threads: int) -> Workers:
    """Return the threads of this worker and, where there are others, those of the cluster for chunks of samples."""
    return Workers(n_threads) if cluster.n_threads <= n_threads else ChunkWorkers(cluster, n_threads)


def list_looked_at(views: Views, options: Options) -> Indices:
    """Return the views that a search and a refinement look at: all, or those drawn where they are very many."""
    _, n_patterns = options.bound_numbers(views.n_samples, len(views))
    members = draw_members(views, replace(options, rng=deepcopy(options.rng)), n_patterns)
    if members is None or views.present is not None:
        return np.arange(len(views))
    sampled = [v for own in sample_views(views).values() for v in own]
    return np.union1d(members, np.array(sampled, dtype=np.intp))


def explore(
    views: Views,
    order: list[int],
    options: Options,
    known: Known | None,
    losses: tuple[JointLoss, ...],
    *parts: tuple[Any, list[int]],
) -> tuple[tuple[Found, Any], Pieces]:
    """Return the patterns of the views that are looked at, and the state of random numbers then; runs on a worker.

    Where views lack samples it goes on with all of them. What a checkpoint has yet to collect comes with it.
    """
    from distributed import get_worker, worker_client

    worker, views = get_worker(), rebuild_views(views, order, parts)
    n_threads, most_bytes = worker.state.nthreads, math.inf
    if options.memory_limit is None and worker.memory_manager.memory_limit:
        most_bytes = SHARE_OF_FREE * worker.memory_manager.memory_limit
    with (
        pieces_of_task(options.checkpoint) as pieces,
        worker_client() as client,
        make_workers(Cluster(client), n_threads) as workers,
    ):
        kept = None if pieces is None else Checkpoint(pieces)
        fitting = set_up(views, options, workers, losses, kept, most_bytes, len(order))
        found = find_patterns(fitting, list_candidates(views.widths), known)
        if found.members is not None and views.present is not None:
            found = take_in_all_views(fitting, found)
    return return_with_pieces((found, options.rng.bit_generator.state), pieces)
