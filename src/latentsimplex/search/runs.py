"""Runs of EM: alternating with moves, continued on a second similarity, and finished on all views."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.model.cluster_prices import ClusterPrice
from latentsimplex.model.em import e_step, run
from latentsimplex.model.problem import FIT_TYPES, Expectation, Fit, Problem, State, drop_statistics
from latentsimplex.search.moves import (
    Move,
    join_patterns,
    merge_clusters,
    merge_patterns,
    recut_patterns,
    split_pattern,
)
from latentsimplex.search.states import state_from_fit, state_from_labels

logger = logging.getLogger("latentsimplex")

BETWEEN_MOVES = 10
"""EM iterations that settle a state before and after a move."""
SETTLED_WINDOW, SETTLED_TOL = 3, 1e-5
"""A run with moves has settled when its loss falls by less than this share of itself over so many iterations."""
NATS_BETWEEN, NATS_AT_LAST = 1.0, 0.1
"""Or by less than so many nats: before and after a move, and in the end."""

STEPS_AT_LAST = 4
"""How many times as many steps an M step has where all views take part: they cost nothing beside a pass over these."""

PRICED_MOVES: tuple[Move, ...] = (recut_patterns, join_patterns, merge_patterns, split_pattern)
SLOPED_MOVES: tuple[Move, ...] = (merge_clusters, merge_patterns)

Callback = Callable[[int, Expectation], None]


class MovesSoFar(NamedTuple):
    """A run with moves in its course: the fit, whose move it is, and how many moves in a row have not helped it."""

    fit: Fit
    turn: int
    in_vain: int


def until_settled(problem: Problem, **changes: Any) -> Problem:
    """Return the problem with the schedule of a run that goes on for as long as it is worth it."""
    fall = NATS_AT_LAST * problem.model.temperature
    return reschedule(problem, **{"window": SETTLED_WINDOW, "tol": SETTLED_TOL, "fall": fall, **changes})


def reschedule(problem: Problem, **changes: Any) -> Problem:
    """Return the problem with some of its schedule changed."""
    return replace(problem, schedule=replace(problem.schedule, **changes))


def run_with_moves(
    problem: Problem, state: State, callback: Callback | None = None, nats: float = NATS_AT_LAST
) -> Fit:
    """Run EM from a state, changing clusters and patterns for as long as the loss falls, in the end by so many nats.

    Moves take turns until each has been tried on the fit in vain: the same move on the same fit does the same.
    """
    temperature = problem.model.temperature
    problem = until_settled(problem, single_precision=True)
    between = reschedule(
        problem, max_iter=min(BETWEEN_MOVES, problem.schedule.max_iter), fall=NATS_BETWEEN * temperature
    )
    moves = PRICED_MOVES if isinstance(problem.model.penalty, ClusterPrice) else SLOPED_MOVES
    bookmark = None
    if problem.checkpoint is not None:
        bookmark = problem.checkpoint.bookmark("moves in turn", types=(MovesSoFar, *FIT_TYPES))
    if bookmark is not None and bookmark.found is not None:
        fit, turn, in_vain = bookmark.found
        fit = fit._replace(expectation=e_step(problem, fit.state))
    else:
        fit, turn, in_vain = run(between, state, callback), 0, 0
    while in_vain < len(moves) and not problem.schedule.stop():
        move = moves[turn]
        turn, in_vain, proposed = (turn + 1) % len(moves), in_vain + 1, move(problem, fit)
        if proposed is not None:
            moved = run(between, proposed, callback)
            losses = fit.loss_curve[-1], moved.loss_curve[-1]
            logger.debug("%s: loss %.8g -> %.8g", move.__name__, *losses)
            if losses[1] < losses[0]:
                fit, in_vain = append_curves(fit, moved), 0
        if bookmark is not None:
            bookmark.keep(MovesSoFar(drop_statistics(fit), turn, in_vain))
    last = reschedule(problem, fall=nats * temperature, single_precision=False)
    return append_curves(fit, run(last, fit.state, callback))


def append_curves(before: Fit, fit: Fit) -> Fit:
    """Return ``fit`` with the curves of both; a state that a move made is judged once EM has settled it."""
    settled = [i for i, loss in enumerate(fit.loss_curve) if loss <= before.loss_curve[-1]]
    return fit._replace(
        loss_curve=before.loss_curve + [fit.loss_curve[i] for i in settled],
        expected_loss_curve=before.expected_loss_curve + [fit.expected_loss_curve[i] for i in settled],
    )


def refit_on_second_similarity(problem: Problem, fit: Fit, callback: Callback | None = None) -> Fit:
    """Run EM on other similarities of the same views, from the patterns and clusters of a fit.

    Where clusters have a price, their number stays, and with it the price.
    """
    problem = until_settled(problem)
    return run(problem, state_from_fit(problem, fit), callback)


def run_from_labels(
    problem: Problem, views: np.ndarray, clusterings: list[np.ndarray], callback: Callback | None = None
) -> Fit:
    """Run EM from the pattern of each view (V,) and the clusters (n,) of each pattern, whose numbers stay."""
    problem = until_settled(problem)
    return run(problem, state_from_labels(problem, views, clusterings, len(clusterings)), callback)


def finish_on_all_views(problem: Problem, fit: Fit, callback: Callback | None = None) -> Fit:
    """Run EM on all views from where a fit to a part of them ended."""
    problem = until_settled(problem, steps=STEPS_AT_LAST * problem.schedule.steps)
    state = fit.state._replace(rate=np.full_like(fit.state.rate, problem.schedule.rate))
    return run(problem, state, callback)


def mean_coassignment(fit: Fit) -> float:
    """Return the share of pairs that have a cluster in common, a mean over the views that have clusters; 1 if none."""
    patterns, counts = np.unique(fit.expectation.eta.argmax(axis=1), return_counts=True)
    shares = [np.bincount(fit.state.W[l].argmax(axis=1)) / fit.state.W.shape[1] for l in patterns]
    same = np.array([np.square(share).sum() for share in shares])
    clustered = same < 1
    return float(np.average(same[clustered], weights=counts[clustered])) if clustered.any() else 1.0
