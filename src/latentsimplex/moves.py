"""Moves that EM cannot make by itself: merging clusters inside a pattern, and merging patterns.

A sum over n^2 / 2 pairs leaves EM no gentle path from two clusters to one, or from two patterns to one.
Each move proposes a state; :mod:`latentsimplex.search` keeps it when the loss falls.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.lib.stride_tricks import as_strided

from latentsimplex._arrays import is_tensor, like, stacked
from latentsimplex._types import Array
from latentsimplex.compute import pair_objective, prepared
from latentsimplex.compute.cpu import EMPTY
from latentsimplex.compute.threads import Workers
from latentsimplex.em import Fit, Model, Pairs, Schedule, State, m_step

REFIT_STEPS = 30


class Move(Protocol):
    """Proposes a state with another structure; None where it sees none."""

    __name__: str

    def __call__(self, pairs: Pairs, fit: Fit, model: Model, schedule: Schedule) -> State | None: ...


class Pattern(NamedTuple):
    """One pattern with its statistics: W (n, g), B (g, g), gamma, stat (m,)."""

    W: Array
    B: Array
    gamma: float
    stat: Any


def live_patterns(fit: Fit) -> dict[int, Pattern]:
    """Return the patterns that have a weight, by their index in the state."""
    live = np.flatnonzero(fit.state.lam > 0)
    gamma, stat = fit.expectation.mass, fit.expectation.stat
    return {int(l): Pattern(fit.state.W[l], fit.state.B[l], gamma[l], stat[i]) for i, l in enumerate(live)}


def objective(pattern: Pattern, model: Model, workers: Workers) -> float:
    """Return the M-step objective of one pattern, its penalty included."""
    W, B, stat = pattern.W[None], pattern.B[None], prepared(pattern.stat[None])
    value, _, _ = pair_objective(
        like(W, stat), like(B, stat), like([pattern.gamma], stat), stat, model.divergence, workers
    )
    R, _ = model.penalty.value_gradient(W)
    return float(value[0] + R[0])


def refit(
    pattern: Pattern, model: Model, schedule: Schedule, workers: Workers, n_steps: int = REFIT_STEPS
) -> Pattern:
    """Return the pattern after an M step of its own."""
    return refit_all([pattern], model, schedule, workers, n_steps)[0]


def refit_all(
    patterns: list[Pattern], model: Model, schedule: Schedule, workers: Workers, n_steps: int
) -> list[Pattern]:
    """Return patterns with one number of columns after an M step of each."""
    if not patterns:
        return []
    W, B = np.stack([pattern.W for pattern in patterns]), np.stack([pattern.B for pattern in patterns])
    gamma = np.array([pattern.gamma for pattern in patterns])
    first = patterns[0].stat
    if all(pattern.stat is first for pattern in patterns):  # cuts of one pattern: no copies
        shape = (len(gamma), len(first))
        stat = first.expand(shape) if is_tensor(first) else as_strided(first, shape, (0, first.strides[0]))
    else:
        stat = stacked([pattern.stat for pattern in patterns])
    rate = np.full(len(patterns), schedule.rate)
    W, B, _ = m_step(W, B, gamma, stat, model, workers, schedule, n_steps, rate)
    return [pattern._replace(W=W[i], B=B[i]) for i, pattern in enumerate(patterns)]


def pour(pattern: Pattern, k: int, j: int, learned: bool) -> Pattern:
    """Return the pattern with cluster j poured into cluster k; column j is left empty for good.

    A learned response of the merged cluster is the mean of the two, weighted by their mass.
    """
    W, B = pattern.W.copy(), pattern.B.copy()
    mass = W.sum(axis=0)
    W[:, k] += W[:, j]
    W[:, j] = 0
    if learned:
        share = mass[k] / (mass[k] + mass[j])
        row = share * B[k] + (1 - share) * B[j]
        B[k] = B[:, k] = row
        B[k, k] = share * row[k] + (1 - share) * row[j]
    return pattern._replace(W=W, B=B)


def best_pour(pattern: Pattern, model: Model, workers: Workers) -> Pattern | None:
    """Return the merge of two clusters with the lowest objective before any refit; None if there is one left."""
    filled = np.flatnonzero(pattern.W.max(axis=0) > EMPTY).tolist()
    poured = [pour(pattern, k, j, model.learned_response) for k, j in combinations(filled, 2)]
    return min(poured, key=lambda merged: objective(merged, model, workers), default=None)


def merge_clusters(pairs: Pairs, fit: Fit, model: Model, schedule: Schedule) -> State | None:
    """Return the state with clusters merged in each pattern as far as its objective profits; None if none did."""
    W, B = fit.state.W.copy(), fit.state.B.copy()
    moved = False
    for l, pattern in live_patterns(fit).items():
        path = merging_path(pattern, model, schedule, pairs.workers)
        values = [objective(candidate, model, pairs.workers) for candidate in path]
        best = int(np.argmin(values))
        W[l], B[l] = path[best].W, path[best].B
        moved = moved or best > 0
    return State(W, B, fit.state.lam, np.full_like(fit.state.rate, schedule.rate)) if moved else None


def merging_path(pattern: Pattern, model: Model, schedule: Schedule, workers: Workers) -> list[Pattern]:
    """Return the pattern, then with one cluster fewer, and so on down to a single cluster.

    The whole way is walked, since the first merge may not pay where the fifth one does.
    """
    path = [pattern]
    while (merged := best_pour(path[-1], model, workers)) is not None:
        path.append(refit(merged, model, schedule, workers))
    return path


def merge_patterns(pairs: Pairs, fit: Fit, model: Model, schedule: Schedule) -> State | None:
    """Return the state with the two patterns joined whose views lose least by it; None if there is one left."""
    patterns = live_patterns(fit)
    if len(patterns) < 2:
        return None
    workers = pairs.workers
    value = {l: objective(pattern, model, workers) for l, pattern in patterns.items()}
    least, l, k, best = np.inf, -1, -1, None
    for first, second in combinations(patterns, 2):
        joined = join(patterns[first], patterns[second], model, workers)
        change = objective(joined, model, workers) - value[first] - value[second]
        if change < least:
            least, l, k, best = change, first, second, joined
    assert best is not None
    best = refit(best, model, schedule, workers)
    W, B, lam = fit.state.W.copy(), fit.state.B.copy(), fit.state.lam.copy()
    W[l], B[l] = best.W, best.B
    lam[l], lam[k] = lam[l] + lam[k], 0
    return State(W, B, lam, np.full_like(fit.state.rate, schedule.rate))


def join(first: Pattern, second: Pattern, model: Model, workers: Workers) -> Pattern:
    """Return one pattern for the views of both, with whichever memberships suit all of them better."""
    gamma, stat = first.gamma + second.gamma, first.stat + second.stat
    return min(
        (one._replace(gamma=gamma, stat=stat) for one in (first, second)),
        key=lambda candidate: objective(candidate, model, workers),
    )
