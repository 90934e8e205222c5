"""Several starts of EM, with or without moves, of which the lowest loss is kept (section 3.1)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex._types import Array
from latentsimplex.compute.cpu import TILE_PAIRS
from latentsimplex.compute.pairs import n_pairs
from latentsimplex.compute.threads import Workers
from latentsimplex.em import (
    Expectation,
    Fit,
    Model,
    Pairs,
    Schedule,
    State,
    first_state,
    m_step,
    run,
    statistics,
    update_weights,
)
from latentsimplex.moves import Move, merge_clusters, merge_patterns
from latentsimplex.objective import ClusterPrice, continuation
from latentsimplex.regroup import (
    best_groups,
    join_patterns,
    labelled_state,
    recut_patterns,
    resumed_state,
    split_pattern,
)
from latentsimplex.starts import kmeans_labels, random_memberships, spectral_memberships

logger = logging.getLogger("latentsimplex")


class Listener:
    """Told of the course of a fit, by several threads at once where starts run side by side; this one ignores it."""

    def stage(self, name: str) -> None:
        """Hear that a stage begins, and that the one before is over."""

    def started(self, start: int) -> None:
        """Hear that a start of the search begins."""

    def step(self, start: int, iteration: int, expectation: Expectation) -> None:
        """Hear of an E step of a start; after the search it is that of start 0."""

    def ended(self, start: int) -> None:
        """Hear that a start of the search is over."""


NOBODY = Listener()

STARTS_AT_ONCE = 4
"""Starts that run side by side where there are few pairs, so that a step of one leaves threads idle."""
BETWEEN_MOVES = 10
"""EM iterations that settle a state before and after a move."""
SETTLED_WINDOW, SETTLED_TOL = 3, 1e-5
"""A run with moves has settled when its loss falls by less than this share of itself over so many iterations."""
NATS_BETWEEN, NATS_AT_LAST = 1.0, 0.1
"""Or by less than so many nats: before and after a move, and in the end."""

PRICED_MOVES: tuple[Move, ...] = (recut_patterns, join_patterns, merge_patterns, split_pattern)
SLOPED_MOVES: tuple[Move, ...] = (merge_clusters, merge_patterns)


class Search(NamedTuple):
    """The best of several runs, the start that it had, and of each run its loss and its agreement with the best.

    ``searched`` are the views that the search looked at, whose start ``start_labels`` is.
    """

    fit: Fit
    start_labels: np.ndarray
    start_losses: Array
    start_agreement: Array
    searched: np.ndarray


def best_of(
    pairs: Pairs,
    n_clusters: int,
    n_patterns: int,
    model: Model,
    schedule: Schedule,
    n_init: int,
    rng: np.random.Generator,
    listener: Listener = NOBODY,
    moves: bool = False,
    nats: float = NATS_AT_LAST,
) -> Search:
    """Run EM from ``n_init`` random starts and keep the one with the lowest loss.

    Without ``moves`` a start is the paper's: random memberships, then EM. With them it is spectral, and
    EM takes turns with moves. Such a run depends on nothing but the partition of the views that it begins with, so
    one that came up before is not run again. It ends when its loss falls by less than so many ``nats``.
    """
    starts: list[tuple[np.ndarray, bytes]] = []
    runs: dict[bytes, tuple[int, Callable[[], State]]] = {}
    known: dict[bytes, bytes] = {}
    listener.stage("grouping the views")
    for start, generator in enumerate(rng.spawn(n_init)):
        if starts and schedule.stop():
            break
        labels = kmeans_labels(pairs, n_patterns, generator)
        if moves and labels.tobytes() in known:
            starts.append((labels, known[labels.tobytes()]))
            continue
        if moves:
            views, begin = beginning(pairs, labels, n_clusters, n_patterns, model, schedule)
            key = known[labels.tobytes()] = views.tobytes()
        else:
            begin = partial(random_state, pairs, labels, n_clusters, n_patterns, model, schedule, generator)
            key = str(start).encode()
        starts.append((labels, key))
        runs.setdefault(key, (start, begin))

    def onwards(pairs: Pairs, state: State, model: Model, schedule: Schedule, callback: Any) -> Fit:
        if moves:
            return moved_on(pairs, state, model, schedule, callback, nats)
        return run(pairs, state, model, schedule, callback)

    best: Fit | None = None
    answers: dict[bytes, Answer] = {}
    for key, fit in zip(
        runs, run_starts(pairs, list(runs.values()), model, schedule, listener, onwards), strict=True
    ):
        if fit is None:
            continue
        answers[key] = answer_of(fit)
        for other in (i for i, (_, same) in enumerate(starts) if same == key and i != runs[key][0]):
            listener.started(other)
            listener.ended(other)
        if best is None or fit.loss_curve[-1] < best.loss_curve[-1]:
            best, best_key = fit, key
    assert best is not None
    made = [(labels, key) for labels, key in starts if key in answers]
    losses = np.array([answers[key].loss for _, key in made])
    agreed = np.array([agreement(answers[key], answers[best_key]) for _, key in made])
    best_labels = next(labels for labels, key in made if key == best_key)
    return Search(best, best_labels, losses, agreed, np.arange(len(pairs)))


def run_starts(
    pairs: Pairs,
    runs: list[tuple[int, Callable[[], State]]],
    model: Model,
    schedule: Schedule,
    listener: Listener,
    onwards: Callable[..., Fit],
) -> Iterator[Fit | None]:
    """Yield the fit of each start, given with its number and how its state is made, in order; None for one left out.

    ``onwards`` goes on from a state to a fit. Where there are few pairs several starts run at once. When one fails, or
    whoever asks for the fits goes away, the others end early.
    """
    abandoned = Event()
    watched = replace(schedule, stop=lambda: abandoned.is_set() or schedule.stop())

    def fitted(start_begin: tuple[int, Callable[[], State]]) -> Fit | None:
        start, begin = start_begin
        if start and watched.stop():  # the first start is enough
            return None
        listener.started(start)
        try:
            fit = onwards(pairs, begin(), model, watched, partial(listener.step, start))
        except BaseException:
            abandoned.set()
            raise
        listener.ended(start)
        return fit

    side_by_side = min(pairs.workers.n_jobs, STARTS_AT_ONCE) if n_pairs(pairs.n_samples) <= TILE_PAIRS else 1
    with Workers(side_by_side) as lanes:
        try:
            yield from lanes.imap(fitted, runs)
        except BaseException:
            abandoned.set()
            raise


class Answer(NamedTuple):
    """What a run says: its loss, the pattern of each view (V,) and the clusters of each pattern (d, n)."""

    loss: float
    view_patterns: np.ndarray
    clusters: np.ndarray


def answer_of(fit: Fit) -> Answer:
    """Return what a run says."""
    return Answer(fit.loss_curve[-1], fit.expectation.eta.argmax(axis=1), fit.state.W.argmax(axis=2))


def agreement(first: Answer, second: Answer) -> float:
    """Return how far two runs cluster the samples of each view alike: NMI, its mean over views."""
    both = np.column_stack([first.view_patterns, second.view_patterns])
    kinds, counts = np.unique(both, axis=0, return_counts=True)
    scores = [normalized_mutual_info_score(first.clusters[l], second.clusters[k]) for l, k in kinds]
    return float(np.average(scores, weights=counts))


def beginning(
    pairs: Pairs, labels: np.ndarray, n_clusters: int, n_patterns: int, model: Model, schedule: Schedule
) -> tuple[np.ndarray, Callable[[], State]]:
    """Return the partition of the views (V,) that a run with moves begins with, and how to make its state.

    Where clusters have a price, it is the structure worth most that the labels lead to; otherwise it is the labels
    themselves, with all the clusters there may be.
    """
    schedule = replace(until_settled(schedule, model), rough=True)
    if not isinstance(model.penalty, ClusterPrice):
        return labels, lambda: spectral_state(pairs, labels, n_clusters, n_patterns, model, schedule)
    groups = best_groups(pairs, np.eye(n_patterns)[labels], model)
    of_part = {l: k for k, group in enumerate(groups) for l in group.parts}
    group_of = [of_part[l] for l in labels.tolist()]
    views, clusterings = in_order(np.array(group_of)), [groups[k].labels for k in dict.fromkeys(group_of)]
    # what views add up to is added up again when it is needed: the starts that wait hold nothing large
    return views, lambda: labelled_state(pairs, views, clusterings, n_patterns, model, schedule)


def in_order(labels: np.ndarray) -> np.ndarray:
    """Return the labels numbered in the order in which they come.

    >>> in_order(np.array([2, 0, 2, 1])).tolist()
    [0, 1, 0, 2]
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def moved_on(
    pairs: Pairs,
    state: State,
    model: Model,
    schedule: Schedule,
    callback: Callable[[int, Expectation], None] | None = None,
    nats: float = NATS_AT_LAST,
) -> Fit:
    """Run EM from a state, changing clusters and patterns for as long as the loss falls, in the end by so many nats."""
    schedule = replace(until_settled(schedule, model), rough=True)
    between = replace(
        schedule, max_iter=min(BETWEEN_MOVES, schedule.max_iter), fall=NATS_BETWEEN * model.temperature
    )
    moves = PRICED_MOVES if isinstance(model.penalty, ClusterPrice) else SLOPED_MOVES
    fit = run(pairs, state, model, between, callback)
    falling = True
    while falling:
        falling = False
        for propose in moves:
            if schedule.stop():
                break
            proposed = propose(pairs, fit, model, schedule)
            if proposed is None:
                continue
            moved = run(pairs, proposed, model, between, callback)
            logger.debug("%s: loss %.8g -> %.8g", propose.__name__, fit.loss_curve[-1], moved.loss_curve[-1])
            if moved.loss_curve[-1] < fit.loss_curve[-1]:
                fit, falling = _after(fit, moved), True
    last = replace(schedule, fall=nats * model.temperature, rough=False)
    return _after(fit, run(pairs, fit.state, model, last, callback))


def until_settled(schedule: Schedule, model: Model) -> Schedule:
    """Return the schedule of a run that goes on for as long as it is worth it."""
    fall = NATS_AT_LAST * model.temperature
    return replace(schedule, window=SETTLED_WINDOW, tol=SETTLED_TOL, fall=fall)


def go_on(pairs: Pairs, fit: Fit, model: Model, schedule: Schedule, listener: Listener = NOBODY) -> Fit:
    """Run EM on other similarities of the same views, from the patterns and clusters of a fit.

    Where clusters have a price, their number stays, and with it the price.
    """
    schedule = until_settled(schedule, model)
    state = resumed_state(pairs, fit, model, schedule)
    return run(pairs, state, model, schedule, partial(listener.step, 0))


def settle(pairs: Pairs, fit: Fit, model: Model, schedule: Schedule, listener: Listener = NOBODY) -> Fit:
    """Run EM on all views from where a fit to a part of them ended."""
    schedule = until_settled(schedule, model)
    state = fit.state._replace(rate=np.full_like(fit.state.rate, schedule.rate))
    return run(pairs, state, model, schedule, partial(listener.step, 0))


def _after(before: Fit, fit: Fit) -> Fit:
    """Return ``fit`` with the curves of both; a state that a move made is judged once EM has settled it."""
    settled = [i for i, loss in enumerate(fit.loss_curve) if loss <= before.loss_curve[-1]]
    return fit._replace(
        loss_curve=before.loss_curve + [fit.loss_curve[i] for i in settled],
        expected_loss_curve=before.expected_loss_curve + [fit.expected_loss_curve[i] for i in settled],
    )


def random_state(
    pairs: Pairs,
    labels: np.ndarray,
    n_clusters: int,
    n_patterns: int,
    model: Model,
    schedule: Schedule,
    rng: np.random.Generator,
) -> State:
    """Return the state after a first M step from random memberships, the paper's start."""
    W = random_memberships(n_patterns, pairs.n_samples, n_clusters, rng)
    return first_state(pairs, labels, W, model, schedule)


def spectral_state(
    pairs: Pairs, labels: np.ndarray, n_clusters: int, n_patterns: int, model: Model, schedule: Schedule
) -> State:
    """Return the state after a first M step from spectral memberships, the penalty coming in by degrees."""
    gamma, stat = statistics(pairs, np.eye(n_patterns)[labels])
    lam = update_weights(np.bincount(labels, minlength=n_patterns).astype(float))
    live = lam > 0
    W = np.full((n_patterns, pairs.n_samples, n_clusters), 1 / n_clusters)
    B = np.tile(np.eye(n_clusters), (n_patterns, 1, 1))
    rate = np.full(n_patterns, schedule.rate)
    for l in np.flatnonzero(live):
        W[l], response = spectral_memberships(stat[l] / gamma[l], n_clusters, model.divergence)
        if model.learned_response:
            B[l] = response
    for penalty in continuation(model.penalty):
        softer = replace(model, penalty=penalty)
        W[live], B[live], _ = m_step(
            W[live],
            B[live],
            gamma[live],
            stat[live],
            softer,
            pairs.workers,
            schedule,
            schedule.first_steps,
            rate[live],
        )
    return State(W, B, lam, rate)
