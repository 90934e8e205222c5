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
import math
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from latentsimplex.auto.shared_factors import MOST_VIEWS, count_believed_clusters
from latentsimplex.auto.temperatures import tells_something
from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.checkpoints.checkpoint import Checkpoint
from latentsimplex.fitting import Fitting, Found, Reading
from latentsimplex.inputs.column_groups import is_word
from latentsimplex.inputs.stored_views import as_stored_views, check_stored_views
from latentsimplex.inputs.views import Views, as_views, warn_of_large_sparse
from latentsimplex.inputs.words import leave_out_wordless
from latentsimplex.known.informed_clusters import inform_splits
from latentsimplex.known.known_losses import list_losses
from latentsimplex.known.known_samples import NOTHING, Given, Known, read_known
from latentsimplex.model.backends import choose_backend
from latentsimplex.model.cluster_prices import ClusterPrice
from latentsimplex.model.joint_loss_weights import (
    WeightedLoss,
    has_given_weight,
    leave_out_unheard,
    weigh_losses,
)
from latentsimplex.model.joint_losses import JointLoss, check_losses
from latentsimplex.model.problem import NOBODY, Listener, Problem
from latentsimplex.options import Options
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.pairs.memory_budget import (
    FitSize,
    Storage,
    choose_storage,
    estimate_bytes,
    measure_size,
    read_memory_limit,
)
from latentsimplex.pairs.on_device import find_device
from latentsimplex.placing.references import References, keep_references
from latentsimplex.progress import show_progress
from latentsimplex.results.estimates import assemble_results
from latentsimplex.results.results import Results
from latentsimplex.search.alike_patterns import join_alike
from latentsimplex.search.believed_clusters import keep_believed
from latentsimplex.search.least_clusters import cut_into_least, refit_with_clusters
from latentsimplex.search.multistart import Search, search_from_starts
from latentsimplex.search.runs import (
    NATS_AT_LAST,
    NATS_BETWEEN,
    mean_coassignment,
    refit_on_second_similarity,
)
from latentsimplex.similarity import AutoDiffusion, Kernel, Precomputed
from latentsimplex.similarity.auto_diffusion import list_candidates
from latentsimplex.split_stages import REFINED_BY, find_bounds, find_splits, refine_splits

logger = logging.getLogger("latentsimplex")

SEARCHED_VIEWS = 100
"""Views for each pattern there may be that a search with moves looks at. A pattern with a tenth of an equal share
of the views has ten of them then, whose mean is three times less noisy than a view. In the end all take part."""


STORED_BY = ("zarr", "dask", "dask_expr")
"""Libraries whose arrays and frames are read in parts."""


def run_stages(
    X: Any, options: Options, given: Given = NOTHING, checkpoint: Checkpoint | None = None
) -> Results:
    """Run the stages of a fit to data, or to views that have been read, from a checkpoint if there is one.

    ``given`` has labels and links of samples, and additional losses.
    """
    progress, views = listen_to(options), read_views(X, options)
    known, losses = read_given(given, views)
    candidates = list_candidates(views.widths)
    with Workers(options.n_jobs) as workers:
        begun = None if checkpoint is None else checkpoint.describe()
        fitting = set_up(views, options, workers, losses, checkpoint)
        with progress as listener:
            fitting = replace(fitting, listener=listener)
            if begun is not None:
                listener.stage(begun)
            found = find_patterns(fitting, candidates, known)
            if found.members is not None:
                found = take_in_all_views(fitting, found)
    told = (found.stages, options.settings, found.trees, known)
    results = assemble_results(views, found.search, found.searched, found.informative, *told)
    weights, references = list_weights(found), find_references(views, found.reading.kernel, results, options)
    return replace(results, references=references, loss_weights=weights)


def set_up(
    views: Views,
    options: Options,
    workers: Workers,
    losses: tuple[JointLoss, ...] = (),
    checkpoint: Checkpoint | None = None,
    most_bytes: float = math.inf,
    n_held: int | None = None,
) -> Fitting:
    """Return the context of a fit, or raise MemoryError: bounds on numbers, how pair values are stored, the backend.

    ``most_bytes`` is what this process may take at most, ``n_held`` the number of views that it holds, None for all.
    """
    most_samples = REFINED_BY if options.looks_for_splits(len(views)) else None
    n_landmarks = options.count_landmarks(views.n_samples)
    n_clusters, n_patterns = options.bound_numbers(views.n_samples, len(views))
    budget = int(min(read_memory_limit(options.memory_limit), most_bytes))
    size = measure_size(views, options.kernel, n_patterns, workers.n_jobs, most_samples, n_landmarks)
    size = size if n_held is None else size._replace(n_views=n_held)
    device = None if options.device == "cpu" else find_device(options.device)
    # graphs are of double precision, which mps has not
    workers.device = None if device == "mps" else device
    workers.without_loops = options.looks_for_splits(len(views))
    return Fitting(
        views,
        options,
        n_clusters,
        n_patterns,
        n_landmarks,
        recall_storage(size, budget, checkpoint),
        device,
        workers,
        choose_backend(device, views.n_samples, workers),
        checkpoint=checkpoint,
        losses=losses,
    )


def recall_storage(size: FitSize, budget: int, checkpoint: Checkpoint | None) -> Storage:
    """Return how pair values are stored: as a checkpoint has it, where they still fit so, or as they fit now."""
    keep = choose_storage(size, budget)
    if checkpoint is None:
        return keep
    kept = checkpoint.recall("storage", lambda: keep)
    return kept if estimate_bytes(size, kept) <= budget else keep


def read_views(X: Any, options: Options) -> Views:
    """Return the views of data, or raise ValueError for options that do not suit them."""
    views = X if isinstance(X, Views) else open_views(X, options)
    if options.looks_for_splits(len(views)):
        return leave_out_wordless(views)
    options.check_search()
    return views


def read_given(given: Given, views: Views) -> tuple[Known | None, tuple[JointLoss, ...]]:
    """Return labels and links of samples, None if there are none, and the additional losses."""
    known = None if all(each is None for each in given[:3]) else read_known(*given[:3], views)
    return known, () if given.losses is None else check_losses(given.losses, views.n_samples)


def open_views(X: Any, options: Options) -> Views:
    """Return data of any form as views.

    Tables that are read in parts are checked here, unless the workers of a cluster will read them. Similarities, and
    tables with missing cells, are read as a whole.
    """
    precomputed = isinstance(options.kernel, Precomputed)
    if isinstance(options.views, str) and options.views == "discover":
        from latentsimplex.columns.discovered_table import discover_views

        return discover_views(X, precomputed, options.missing, options.join, options.n_jobs)
    needs_memory = precomputed or options.missing != "raise"
    is_mapped = are_mapped(X) and options.engine is None and is_word(options.views, "whole")
    if needs_memory or is_mapped or not is_stored(X):
        views = as_views(X, options.views, precomputed, options.missing, options.join)
        if not options.looks_for_splits(len(views)):
            warn_of_large_sparse(views)
        return views
    views = as_stored_views(X, options.views)
    return check_stored_views(views) if options.engine is None else views


def is_stored(X: Any) -> bool:
    """Return whether data lie in files or are yet to be computed, and are read in parts: a table, or several.

    A slice of a memory-mapped array is not: it does not know where in its file it begins.
    """
    if isinstance(X, (Mapping, list, tuple)):
        parts = X.values() if isinstance(X, Mapping) else X
        return len(X) > 0 and all(not isinstance(part, str) and is_stored(part) for part in parts)
    if isinstance(X, (str, os.PathLike)):
        return True
    if isinstance(X, np.memmap):
        return X.ndim == 2 and not isinstance(X.base, np.ndarray) and bool(X.filename)
    if type(X).__module__.partition(".")[0] not in STORED_BY:
        return False
    return type(X).__name__ == "Group" or len(X.shape) == 2


def are_mapped(X: Any) -> bool:
    """Return whether data are memory-mapped tables of a precision that fits use: nothing is read before it is needed.

    Those of whole numbers would be copied as a whole.
    """
    parts = X.values() if isinstance(X, Mapping) else X if isinstance(X, (list, tuple)) else [X]
    return all(isinstance(part, np.memmap) and part.dtype in (np.float32, np.float64) for part in parts)


def listen_to(options: Options) -> AbstractContextManager[Listener]:
    """Return the listener to which a fit reports its progress."""
    heard = options.verbose or logger.isEnabledFor(logging.DEBUG)
    return show_progress(options.verbose, options.n_init) if heard else nullcontext(NOBODY)


def find_patterns(
    fitting: Fitting, candidates: Mapping[int, list[AutoDiffusion]], known: Known | None = None
) -> Found:
    """Return the patterns and the memberships of all views or, where these are very many, of a part of them.

    ``known`` are labels and links of samples.
    """
    views = fitting.views
    if fitting.options.looks_for_splits(len(views)):
        shared = find_splits(fitting)
        if known is not None:
            tables = [views.table_of_all(v) for v in range(len(views))]
            shared = inform_splits(tables, shared, known, find_bounds(fitting), fitting.workers)
        return refine_splits(fitting, shared, candidates, known)
    reading, members = choose_reading(fitting, candidates)
    # labels and links say where to look: memberships are what the views say there, and losses whose weight is found
    # join once there are clusters to tell it by
    given = leave_out_unheard(tuple(other for other in fitting.losses if has_given_weight(other)))
    searching = replace(fitting, losses=given if known is None else given + list_losses(known))
    found = search_for_patterns(searching, reading, members)
    losses = weigh_losses(fitting.losses, None if found.search is None else found.search.fit.state.W)
    heard = leave_out_unheard(losses)
    fitting, is_new = replace(fitting, losses=heard), any(isinstance(other, WeightedLoss) for other in heard)
    if wants_refinement(found):
        found = refine_memberships(fitting, found)
    elif found.search is not None and (views.present is not None or known is not None or is_new):
        found = fill_again(fitting, found)
    return found._replace(losses=losses)


def list_weights(found: Found) -> Array | None:
    """Return the weight of each additional loss, None where there is none."""
    return np.array([other.weight for other in found.losses], dtype=float) if found.losses else None


def find_references(views: Views, kernel: Kernel, results: Results, options: Options) -> References | None:
    """Return the references that new samples are placed against; None where similarities were precomputed."""
    if isinstance(kernel, Precomputed):
        return None
    found = (results.view_patterns, results.memberships, results.pattern_labels)
    return keep_references(views, kernel, *found, options.n_jobs)


def choose_reading(
    fitting: Fitting, candidates: Mapping[int, list[AutoDiffusion]]
) -> tuple[Reading, Indices | None]:
    """Return the similarity and temperatures of the search, given or chosen by the data, and the views it looks at."""
    choices, kernel, evidence = fitting.options.choices, fitting.options.kernel, None
    if kernel is None:
        kernel, evidence = fitting.choose_similarity(candidates)
    members = draw_members(fitting.views, fitting.options, fitting.n_patterns)
    return Reading(choices, kernel, fitting.measure_temperatures(choices, kernel), evidence), members


def draw_members(views: Views, options: Options, n_patterns: int) -> Indices | None:
    """Return the views to search among, in order; None where a search with moves looks at all of them."""
    most = SEARCHED_VIEWS * n_patterns
    if options.choices.search == "plain" or len(views) <= most:
        return None
    order = options.rng.permutation(len(views))
    if views.stack is not None:
        tables = views.stack[order[:most]]
        if (tables != tables[:, :1]).any(axis=(1, 2)).all():
            return np.sort(order[:most])
    found = np.sort(list(islice((v for v in order.tolist() if tells_something(views, v)), most)))
    return found if len(found) == most else None


def search_for_patterns(fitting: Fitting, reading: Reading, members: Indices | None) -> Found:
    """Search for patterns and clusters from several starts."""

    def search_among(problem: Problem, informative: Indices) -> Search | None:
        if not len(informative):
            return None
        search = search_from_starts(
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
        if problem.model.learned_response and isinstance(problem.model.penalty, ClusterPrice):
            search = join_alike(problem, search)
        if judges_clusters(fitting, reading):
            search = keep_believed(problem, search, partial(count_believed, fitting, reading, informative))
        return search if least == 1 else cut_into_least(problem, search, least)

    least = min(fitting.options.min_clusters, fitting.views.n_samples)
    search, informative, stage = fitting.ask("search", reading, members, search_among)
    if search is not None and search.is_against:
        stage = replace(stage, evidence=0.0)
    members = None if search is None else members
    return Found(search, informative, informative, members, reading, (stage,))


def judges_clusters(fitting: Fitting, reading: Reading) -> bool:
    """Return whether clusters are judged: if the data chose the similarity, and they have a price.

    Additional losses may speak for clusters that views do not show.
    """
    return reading.is_automatic and reading.choices.penalty == "labels" and not fitting.losses


def count_believed(
    fitting: Fitting, reading: Reading, informative: Indices, members: list[Indices], found: list[int]
) -> list[int]:
    """Return how many clusters of each pattern, of those found, are believed, by some of the views that follow it."""
    chosen = [informative[own[sample_rows(len(own), MOST_VIEWS)]].tolist() for own in members]
    assert isinstance(reading.kernel, AutoDiffusion)
    divergence, load = DIVERGENCES[reading.choices.divergence], fitting.views.table_of_all
    return count_believed_clusters(load, chosen, found, reading.kernel, divergence, fitting.workers)


def wants_refinement(found: Found) -> bool:
    """Return whether memberships are to be refined on a second similarity: not where the user gave one."""
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
    refit = refit_on_second_similarity if fitting.options.min_clusters == 1 else refit_with_clusters
    fit, informative, stage = fitting.ask(
        "refinement",
        reading,
        members,
        lambda problem, _: refit(problem, before, fitting.listener.follow(0)),
        None,
        fitting.follow(before, found.informative),
    )
    search = search._replace(fit=fit)
    return Found(search, found.searched, informative, members, reading, (*found.stages, stage))


def fill_again(fitting: Fitting, found: Found) -> Found:
    """Continue EM from a search, with the pairs that views lack filled in by the patterns that it found."""
    assert found.search is not None
    views = (found.reading, found.members, found.informative)
    asked = fitting.go_on("refinement", found.search.fit, *views, again=True)
    return found._replace(search=found.search._replace(fit=asked.found))


def take_in_all_views(fitting: Fitting, found: Found) -> Found:
    """Continue EM with all views from where a fit to a part of them ended, with its additional losses."""
    fitting.listener.stage("taking in all views")
    fitting = replace(fitting, losses=leave_out_unheard(found.losses))
    assert found.search is not None
    seen = found.informative
    fit, informative, stage = fitting.go_on("all views", found.search.fit, found.reading, None, seen)
    search = found.search._replace(fit=fit)
    return found._replace(search=search, informative=informative, members=None, stages=(*found.stages, stage))
