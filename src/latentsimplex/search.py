"""Several starts of EM, with or without moves, of which the lowest loss is kept (section 3.1)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex._types import Array
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
    join_patterns,
    recut_patterns,
    resumed_state,
    split_pattern,
    structured_state,
)
from latentsimplex.starts import kmeans_labels, random_memberships, spectral_memberships

logger = logging.getLogger("latentsimplex")

Callback = Callable[[int, int, Expectation], None]
"""Called with the start, the iteration and its E step."""

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
    callback: Callback | None = None,
    moves: bool = False,
) -> Search:
    """Run EM from ``n_init`` random starts and keep the one with the lowest loss.

    Without ``moves`` a start is the paper's: random memberships, then EM. With them it is spectral, and
    EM takes turns with moves. Such a run depends on nothing but the partition of the views, so a
    partition that came up before is not run again.
    """
    best: Fit | None = None
    best_labels = np.empty(0, dtype=np.intp)
    answers: list[Answer] = []
    known: dict[bytes, Answer] = {}
    for start, generator in enumerate(rng.spawn(n_init)):
        if best is not None and schedule.stop():
            break
        labels = kmeans_labels(pairs, n_patterns, generator)
        if moves and labels.tobytes() in known:
            answers.append(known[labels.tobytes()])
            continue
        report = None if callback is None else _numbered(callback, start)
        if moves:
            fit = run_with_moves(pairs, labels, n_clusters, n_patterns, model, schedule, report)
        else:
            W = random_memberships(n_patterns, pairs.n_samples, n_clusters, generator)
            fit = run(pairs, first_state(pairs, labels, W, model, schedule), model, schedule, report)
        answers.append(answer_of(fit))
        known[labels.tobytes()] = answers[-1]
        if best is None or fit.loss_curve[-1] < best.loss_curve[-1]:
            best, best_labels = fit, labels
    assert best is not None
    losses = np.array([answer.loss for answer in answers])
    kept = answers[int(np.argmin(losses))]
    agreed = np.array([agreement(answer, kept) for answer in answers])
    return Search(best, best_labels, losses, agreed, np.arange(len(pairs)))


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


def _numbered(callback: Callback, start: int) -> Callable[[int, Expectation], None]:
    return lambda iteration, expectation: callback(start, iteration, expectation)


def run_with_moves(
    pairs: Pairs,
    labels: np.ndarray,
    n_clusters: int,
    n_patterns: int,
    model: Model,
    schedule: Schedule,
    callback: Callable[[int, Expectation], None] | None = None,
) -> Fit:
    """Run EM from a start of its own, changing clusters and patterns for as long as the loss falls.

    Where clusters have a price, the start is the structure that is worth most; otherwise it has all the
    clusters there may be, and moves merge them.
    """
    schedule = until_settled(schedule, model)
    between = replace(
        schedule, max_iter=min(BETWEEN_MOVES, schedule.max_iter), fall=NATS_BETWEEN * model.temperature
    )
    moves: tuple[Move, ...]
    if isinstance(model.penalty, ClusterPrice):
        state, moves = structured_state(pairs, labels, n_patterns, model, schedule), PRICED_MOVES
    else:
        state, moves = spectral_state(pairs, labels, n_clusters, n_patterns, model, schedule), SLOPED_MOVES
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
    return _after(fit, run(pairs, fit.state, model, schedule, callback))


def until_settled(schedule: Schedule, model: Model) -> Schedule:
    """Return the schedule of a run that goes on for as long as it is worth it."""
    fall = NATS_AT_LAST * model.temperature
    return replace(schedule, window=SETTLED_WINDOW, tol=SETTLED_TOL, fall=fall)


def go_on(pairs: Pairs, fit: Fit, model: Model, schedule: Schedule, callback: Callback | None = None) -> Fit:
    """Run EM on other similarities of the same views, from the patterns and clusters of a fit.

    Where clusters have a price, their number stays, and with it the price.
    """
    schedule = until_settled(schedule, model)
    state = resumed_state(pairs, fit, model, schedule)
    return run(pairs, state, model, schedule, None if callback is None else _numbered(callback, 0))


def settle(pairs: Pairs, fit: Fit, model: Model, schedule: Schedule, callback: Callback | None = None) -> Fit:
    """Run EM on all views from where a fit to a part of them ended."""
    schedule = until_settled(schedule, model)
    state = fit.state._replace(rate=np.full_like(fit.state.rate, schedule.rate))
    return run(pairs, state, model, schedule, None if callback is None else _numbered(callback, 0))


def _after(before: Fit, fit: Fit) -> Fit:
    """Return ``fit`` with the curves of both; a state that a move made is judged once EM has settled it."""
    settled = [i for i, loss in enumerate(fit.loss_curve) if loss <= before.loss_curve[-1]]
    return fit._replace(
        loss_curve=before.loss_curve + [fit.loss_curve[i] for i in settled],
        expected_loss_curve=before.expected_loss_curve + [fit.expected_loss_curve[i] for i in settled],
    )


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
