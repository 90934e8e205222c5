"""Several starts of EM, with or without moves, of which the lowest loss is kept (section 3.1)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

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
from latentsimplex.moves import merge_clusters, merge_patterns
from latentsimplex.objective import continuation
from latentsimplex.starts import kmeans_labels, random_memberships, spectral_memberships

logger = logging.getLogger("latentsimplex")

Callback = Callable[[int, int, Expectation], None]
"""Called with the start, the iteration and its E step."""

BETWEEN_MOVES = 10
"""EM iterations that settle a state before and after a move."""
SETTLED_WINDOW, SETTLED_TOL = 10, 1e-4
"""A run with moves has settled when its loss falls by less than this share over this many iterations."""


class Search(NamedTuple):
    """The best of several runs, the final loss of each, and the start that the best one had."""

    fit: Fit
    start_losses: Array
    start_labels: np.ndarray


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
    EM alternates with merges. Such a run depends on nothing but the partition of the views, so a
    partition that came up before is not run again.
    """
    best: Fit | None = None
    best_labels = np.empty(0, dtype=np.intp)
    losses: list[float] = []
    known: dict[bytes, float] = {}
    for start, generator in enumerate(rng.spawn(n_init)):
        labels = kmeans_labels(pairs, n_patterns, generator)
        if moves and labels.tobytes() in known:
            losses.append(known[labels.tobytes()])
            continue
        report = None if callback is None else _numbered(callback, start)
        if moves:
            fit = run_with_moves(pairs, labels, n_clusters, n_patterns, model, schedule, report)
        else:
            W = random_memberships(n_patterns, pairs.n_samples, n_clusters, generator)
            fit = run(pairs, first_state(pairs, labels, W, model, schedule), model, schedule, report)
        losses.append(fit.loss_curve[-1])
        known[labels.tobytes()] = losses[-1]
        if best is None or losses[-1] < best.loss_curve[-1]:
            best, best_labels = fit, labels
    assert best is not None
    return Search(best, np.array(losses), best_labels)


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
    """Run EM from a spectral start, merging clusters and patterns for as long as the loss falls."""
    schedule = replace(schedule, window=SETTLED_WINDOW, tol=SETTLED_TOL)
    between = replace(schedule, max_iter=min(BETWEEN_MOVES, schedule.max_iter))
    state = spectral_state(pairs, labels, n_clusters, n_patterns, model, schedule)
    fit = run(pairs, state, model, between, callback)
    falling = True
    while falling:
        falling = False
        for propose in (merge_clusters, merge_patterns):
            proposed = propose(fit, model, schedule, pairs.workers)
            if proposed is None:
                continue
            moved = run(pairs, proposed, model, between, callback)
            logger.debug("%s: loss %.8g -> %.8g", propose.__name__, fit.loss_curve[-1], moved.loss_curve[-1])
            if moved.loss_curve[-1] < fit.loss_curve[-1]:
                fit, falling = _after(fit, moved), True
    return _after(fit, run(pairs, fit.state, model, schedule, callback))


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
    lam = update_weights(gamma)
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
            W[live], B[live], gamma[live], stat[live], softer, pairs.workers, schedule.first_steps, rate[live]
        )
    return State(W, B, lam, rate)
