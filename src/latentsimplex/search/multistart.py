"""Several starts of EM, with or without moves, of which the lowest loss is kept (section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array
from latentsimplex.model.cluster_prices import ClusterPrice
from latentsimplex.model.em import run
from latentsimplex.model.problem import FIT_TYPES, NOBODY, Fit, Listener, Problem, State, drop_statistics
from latentsimplex.pairs.protocol import PairValues
from latentsimplex.search.runs import NATS_AT_LAST, Callback, reschedule, run_with_moves, until_settled
from latentsimplex.search.states import make_random_state, make_spectral_state, state_from_labels
from latentsimplex.search.view_groups import find_structure, group_views

T = TypeVar("T")

STARTS_AT_ONCE = 4
"""Starts that run side by side where there are few pairs, so that a step of one leaves threads idle."""


class Search(NamedTuple):
    """The best of several runs, the start that it had, and of each run its loss and its agreement with the best.

    It ``is_against`` clusters if it found none, and those that it has were asked for.
    """

    fit: Fit
    start_labels: np.ndarray
    start_losses: Array
    start_agreement: Array
    is_against: bool = False


class Start(NamedTuple):
    """Where a run begins: the k-means labels of the views (V,), and how the first state is made.

    Starts with one ``key`` lead to the same run, which is made once.
    """

    labels: np.ndarray
    key: bytes
    make_state: Callable[[], State]


def search_from_starts(
    problem: Problem,
    n_clusters: int,
    n_patterns: int,
    n_init: int,
    rng: np.random.Generator,
    listener: Listener = NOBODY,
    moves: bool = False,
    nats: float = NATS_AT_LAST,
) -> Search:
    """Run EM from ``n_init`` random starts and keep the one with the lowest loss.

    Without ``moves`` a start is the paper's: random memberships, then EM. With them it is spectral, and
    EM takes turns with moves, until its loss falls by less than so many ``nats``.
    """
    listener.stage("grouping the views")
    make = make_starts_with_moves if moves else make_random_starts
    starts = list(make(problem, n_clusters, n_patterns, rng.spawn(n_init)))
    go_on = partial(run_with_moves, nats=nats) if moves else run
    return keep_best(starts, run_starts(problem, starts, go_on, listener))


def make_random_starts(
    problem: Problem, n_clusters: int, n_patterns: int, generators: list[np.random.Generator]
) -> Iterator[Start]:
    """Yield the paper's starts: views grouped by k-means, memberships drawn at random."""
    for number, rng in enumerate(generators):
        if number and problem.schedule.stop():  # the first start is enough
            return
        labels = group_views(problem.pairs, n_patterns, rng)
        make_state = partial(make_random_state, problem, labels, n_clusters, n_patterns, rng)
        yield Start(labels, str(number).encode(), make_state)


def make_starts_with_moves(
    problem: Problem, n_clusters: int, n_patterns: int, generators: list[np.random.Generator]
) -> Iterator[Start]:
    """Yield starts of runs with moves.

    Such a run depends on nothing but the partition of the views that it begins with. Where clusters have a price, it
    is the structure worth most that the k-means labels lead to; otherwise it is the labels themselves, with all the
    clusters there may be. Labels are found side by side where there are few pairs, and so are structures.
    """
    roughly = until_settled(problem, single_precision=True)

    def group(number: int) -> np.ndarray | None:
        if number and problem.schedule.stop():
            return None
        find = partial(group_views, problem.pairs, n_patterns, generators[number])
        return recall(problem, "grouping", find, number)

    def make_start(labels: np.ndarray) -> Start | None:
        if labels is not groupings[0] and problem.schedule.stop():
            return None
        if not isinstance(problem.model.penalty, ClusterPrice):
            make_state = partial(make_spectral_state, roughly, labels, n_clusters, n_patterns)
            return Start(labels, labels.tobytes(), make_state)
        # what views add up to is added up again when it is needed: the starts that wait hold nothing large
        find = partial(find_structure, roughly, labels, n_patterns)
        views, clusterings = recall(problem, "structure", find, labels)
        make_state = partial(state_from_labels, roughly, views, clusterings, n_patterns)
        return Start(labels, views.tobytes(), make_state)

    with open_lanes(problem.pairs) as lanes:
        groupings = [labels for labels in lanes.map(group, range(len(generators))) if labels is not None]
        distinct: dict[bytes, np.ndarray] = {}
        for labels in groupings:
            distinct.setdefault(labels.tobytes(), labels)
        made = dict(zip(distinct, lanes.map(make_start, list(distinct.values())), strict=True))
    for labels in groupings:
        start = made[labels.tobytes()]
        if start is not None:
            yield start


def open_lanes(pairs: PairValues) -> Workers:
    """Return threads for starts that run side by side; one where there are so many pairs that a step fills all."""
    return Workers(min(pairs.workers.n_jobs, STARTS_AT_ONCE) if pairs.backend.is_small else 1)


def recall(problem: Problem, name: str, compute: Callable[[], T], *key: Any) -> T:
    """Return what a checkpoint has kept of a search, or compute it."""
    return compute() if problem.checkpoint is None else problem.checkpoint.recall(name, compute, *key)


def run_starts(
    problem: Problem, starts: list[Start], go_on: Callable[..., Fit], listener: Listener
) -> Iterator[tuple[bytes, Fit]]:
    """Yield the key and the fit of each distinct start, in order; those that a stop leaves out are not there.

    ``go_on(problem, state, callback)`` goes on from a state to a fit. Where there are few pairs several starts run at
    once. When one fails, or whoever asks for the fits goes away, the others end early.
    """
    abandoned, stop = Event(), problem.schedule.stop
    watched = reschedule(problem, stop=lambda: abandoned.is_set() or stop())

    def go_on_from(start: Start, callback: Callback | None) -> Fit:
        if problem.checkpoint is None:
            return go_on(watched, start.make_state(), callback)
        checkpoint = problem.checkpoint.within("start", start.key, stop=watched.schedule.stop)

        def run_start() -> Fit:
            state = checkpoint.recall("first state", start.make_state, types=(State,))
            return drop_statistics(go_on(replace(watched, checkpoint=checkpoint), state, callback))

        return checkpoint.recall("start", run_start, types=FIT_TYPES)

    def run_one(number: int) -> Fit | None:
        if number and watched.schedule.stop():  # the first start is enough
            return None
        listener.started(number)
        try:
            fit = go_on_from(starts[number], listener.follow(number))
        except BaseException:
            abandoned.set()
            raise
        listener.ended(number)
        return fit

    distinct: dict[bytes, int] = {}
    for number, start in enumerate(starts):
        distinct.setdefault(start.key, number)
    pairs, numbers = problem.pairs, list(distinct.values())
    with open_lanes(pairs) as lanes:
        try:
            for (key, first), fit in zip(distinct.items(), lanes.map(run_one, numbers), strict=True):
                if fit is None:
                    continue
                yield key, fit
                for number in range(first + 1, len(starts)):
                    if starts[number].key == key:
                        listener.started(number)
                        listener.ended(number)
        except BaseException:
            abandoned.set()
            raise


class Outcome(NamedTuple):
    """What a run says: its loss, the pattern of each view (V,) and the clusters of each pattern (d, n)."""

    loss: float
    view_patterns: np.ndarray
    clusters: np.ndarray


def keep_best(starts: list[Start], fits: Iterator[tuple[bytes, Fit]]) -> Search:
    """Return the fit with the lowest loss, and how the others compare with it.

    No more fits are held than the best one and the one that has just ended.
    """
    best: Fit | None = None
    outcomes: dict[bytes, Outcome] = {}
    for key, fit in fits:
        loss = fit.loss_curve[-1]
        outcomes[key] = Outcome(loss, fit.expectation.eta.argmax(axis=1), fit.state.W.argmax(axis=2))
        if best is None or loss < best.loss_curve[-1]:
            best, best_key = fit, key
    assert best is not None
    made = [start for start in starts if start.key in outcomes]
    agreements = {key: agreement(outcome, outcomes[best_key]) for key, outcome in outcomes.items()}
    return Search(
        fit=best,
        start_labels=next(start.labels for start in made if start.key == best_key),
        start_losses=np.array([outcomes[start.key].loss for start in made]),
        start_agreement=np.array([agreements[start.key] for start in made]),
    )


def agreement(first: Outcome, second: Outcome) -> float:
    """Return how far two runs cluster the samples of each view alike: NMI, its mean over views."""
    both = np.column_stack([first.view_patterns, second.view_patterns])
    kinds, counts = np.unique(both, axis=0, return_counts=True)
    scores = [normalized_mutual_info_score(first.clusters[l], second.clusters[k]) for l, k in kinds]
    return float(np.average(scores, weights=counts))
