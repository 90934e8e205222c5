"""Moves that EM cannot make by itself: clusters and patterns merged, joined, re-cut or split.

A sum over n^2 / 2 pairs leaves EM no gentle path from two clusters to one, or from two patterns to one.
Each move proposes a state; :mod:`latentsimplex.search.runs` keeps it when the loss falls. The first ones are for any
penalty. Those that re-cut, join and split go by what hard clusters would explain, and are for clusters with a price.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.lib.stride_tricks import as_strided

from latentsimplex.auto.explained_divergence import Explained
from latentsimplex.base.arrays import convert_like, is_tensor, stack
from latentsimplex.base.types import Array
from latentsimplex.model.em import m_step
from latentsimplex.model.problem import EMPTY, Fit, Patterns, Problem, State, used_columns
from latentsimplex.pairs.protocol import PairValues
from latentsimplex.search.states import label_memberships, state_from_groups
from latentsimplex.search.view_groups import (
    NO_VIEWS,
    best_groups,
    explain_views,
    group_views,
    make_groups,
    prices_of,
    total_worth,
)

REFIT_STEPS = 30
SPLIT_SEED = 0
FINALISTS = 3
"""Numbers of clusters that are compared to the end; half the way tells the others off."""


class Move(Protocol):
    """Proposes a state with another structure; None where it sees none."""

    __name__: str

    def __call__(self, problem: Problem, fit: Fit) -> State | None: ...


class Pattern(NamedTuple):
    """One pattern with its statistics: W (n, g), B (g, g), mass, stat (m,)."""

    W: Array
    B: Array
    mass: float
    stat: Any


def live_patterns(fit: Fit) -> dict[int, Pattern]:
    """Return the patterns that have a weight, by their index in the state."""
    live = np.flatnonzero(fit.state.lam > 0)
    mass, stat = fit.expectation.mass, fit.expectation.stat
    return {int(l): Pattern(fit.state.W[l], fit.state.B[l], mass[l], stat[i]) for i, l in enumerate(live)}


def objective(problem: Problem, pattern: Pattern) -> float:
    """Return the M-step objective of one pattern, its penalty included."""
    model = problem.model
    evaluate, kind = problem.pairs.backend.pair_objective(
        np.array([pattern.mass]), pattern.stat[None], model.divergence
    )
    W = pattern.W[None]
    value, _, _ = evaluate(convert_like(W, kind), convert_like(pattern.B[None], kind))
    R, _ = model.penalty.value_and_gradient(W)
    return float(value[0] + R[0])


def refit(problem: Problem, patterns: list[Pattern], n_steps: int = REFIT_STEPS) -> list[Pattern]:
    """Return patterns with one number of columns after an M step of each."""
    if not patterns:
        return []
    W, B = np.stack([pattern.W for pattern in patterns]), np.stack([pattern.B for pattern in patterns])
    mass = np.array([pattern.mass for pattern in patterns])
    first = patterns[0].stat
    if all(pattern.stat is first for pattern in patterns):  # cuts of one pattern: no copies
        shape = (len(mass), len(first))
        stat = first.expand(shape) if is_tensor(first) else as_strided(first, shape, (0, first.strides[0]))
    else:
        stat = stack([pattern.stat for pattern in patterns])
    rate = np.full(len(patterns), problem.schedule.rate)
    W, B, _ = m_step(problem, Patterns(W, B, mass, stat), n_steps, rate)
    return [pattern._replace(W=W[i], B=B[i]) for i, pattern in enumerate(patterns)]


def replace_patterns(problem: Problem, state: State, patterns: dict[int, Pattern], lam: Array) -> State:
    """Return the state with some patterns replaced, columns enough for all of them, and these weights."""
    d, n, g = state.W.shape
    width = max(g, *(pattern.W.shape[1] for pattern in patterns.values()))
    W, B = np.zeros((d, n, width)), np.tile(np.eye(width), (d, 1, 1))
    W[:, :, :g], B[:, :g, :g] = state.W, state.B
    for l, pattern in patterns.items():
        k = pattern.W.shape[1]
        W[l], B[l] = 0.0, np.eye(width)
        W[l, :, :k], B[l, :k, :k] = pattern.W, pattern.B
    return State(W, B, lam, np.full_like(state.rate, problem.schedule.rate))


def merge_clusters(problem: Problem, fit: Fit) -> State | None:
    """Return the state with clusters merged in each pattern as far as its objective profits; None if none did."""
    merged = {}
    for l, pattern in live_patterns(fit).items():
        path = merge_step_by_step(problem, pattern)
        best = int(np.argmin([objective(problem, candidate) for candidate in path]))
        if best > 0:
            merged[l] = path[best]
    return replace_patterns(problem, fit.state, merged, fit.state.lam) if merged else None


def merge_step_by_step(problem: Problem, pattern: Pattern) -> list[Pattern]:
    """Return the pattern, then with one cluster fewer, and so on down to a single cluster.

    The whole way is walked, since the first merge may not pay where the fifth one does.
    """
    path = [pattern]
    while (merged := merge_best_two(problem, path[-1])) is not None:
        path += refit(problem, [merged])
    return path


def merge_best_two(problem: Problem, pattern: Pattern) -> Pattern | None:
    """Return the merge of two clusters with the lowest objective before any refit; None if there is one left."""
    filled = np.flatnonzero(pattern.W.max(axis=0) > EMPTY).tolist()
    learned = problem.model.learned_response
    merged = [merge_two(pattern, k, j, learned) for k, j in combinations(filled, 2)]
    return min(merged, key=lambda candidate: objective(problem, candidate), default=None)


def merge_two(pattern: Pattern, k: int, j: int, learned: bool) -> Pattern:
    """Return the pattern with cluster j poured into cluster k; column j is left empty for good.

    A learned response of the merged cluster is the mean of the two, weighted by their mass.
    """
    W, B = pattern.W.copy(), pattern.B.copy()
    sizes = W.sum(axis=0)
    W[:, k] += W[:, j]
    W[:, j] = 0
    if learned:
        share = sizes[k] / (sizes[k] + sizes[j])
        row = share * B[k] + (1 - share) * B[j]
        B[k] = B[:, k] = row
        B[k, k] = share * row[k] + (1 - share) * row[j]
    return pattern._replace(W=W, B=B)


def merge_patterns(problem: Problem, fit: Fit) -> State | None:
    """Return the state with the two patterns joined whose views lose least by it; None if there is one left."""
    patterns = live_patterns(fit)
    if len(patterns) < 2:
        return None
    value = {l: objective(problem, pattern) for l, pattern in patterns.items()}

    def join_two(l: int, k: int) -> tuple[float, Pattern]:
        joined = join(problem, patterns[l], patterns[k])
        return objective(problem, joined) - value[l] - value[k], joined

    joined = {pair: join_two(*pair) for pair in combinations(patterns, 2)}
    l, k = min(joined, key=lambda pair: joined[pair][0])
    best = refit(problem, [joined[l, k][1]])[0]
    lam = fit.state.lam.copy()
    lam[l], lam[k] = lam[l] + lam[k], 0
    return replace_patterns(problem, fit.state, {l: best}, lam)


def join(problem: Problem, first: Pattern, second: Pattern) -> Pattern:
    """Return one pattern for the views of both, with whichever memberships suit all of them better."""
    mass, stat = first.mass + second.mass, first.stat + second.stat
    return min(
        (one._replace(mass=mass, stat=stat) for one in (first, second)),
        key=lambda candidate: objective(problem, candidate),
    )


def join_patterns(problem: Problem, fit: Fit) -> State | None:
    """Return the state with patterns joined as far as hard clusters would have it; None if not at all."""
    joined = best_groups(problem, fit.expectation.eta)
    if len(joined) == np.count_nonzero(fit.expectation.mass > NO_VIEWS):
        return None
    return state_from_groups(problem, joined, len(fit.state.lam))


def recut_patterns(problem: Problem, fit: Fit) -> State | None:
    """Return the state with each pattern cut into the number of clusters that is best; None if all have it.

    Samples that belong to several clusters at once look like clusters of their own to hard labels. So
    numbers of clusters are compared by fitted memberships: all from the one that hard clusters would have, or
    the pattern's own if that is more, down to 1, since one cluster fewer may not pay where five fewer do.
    """
    # a pattern whose last view has just left has nothing to be cut by
    patterns = {l: pattern for l, pattern in live_patterns(fit).items() if pattern.mass > NO_VIEWS}
    pairs = problem.pairs

    def recut_one(l: int) -> Pattern | None:
        pattern = patterns[l]
        explained = explain_views(pattern.mass, pattern.stat, problem.model)
        return recut(problem, pattern, explained)

    found = pairs.workers.map(recut_one, list(patterns), threaded=pairs.backend.is_small)
    best = {l: cut for l, cut in zip(patterns, found, strict=True) if cut is not None}
    return replace_patterns(problem, fit.state, best, fit.state.lam) if best else None


def recut(problem: Problem, pattern: Pattern, explained: Explained) -> Pattern | None:
    """Return the pattern with another number of clusters that is better than its own; None if there is none.

    ``explained`` is what hard clusters explain of its views.
    """
    best, value = None, objective(problem, pattern)
    most = int(np.argmax(pattern.mass * explained.gains - prices_of(problem.model))) + 1
    own = len(used_columns(pattern.W))
    others = [k for k in range(1, max(most, own) + 1) if k != own]
    for cut in cut_patterns(problem, pattern, [explained.labels[k - 1] for k in others]):
        if (lower := objective(problem, cut)) < value:
            best, value = cut, lower
    return best


def cut_patterns(problem: Problem, pattern: Pattern, clusterings: list[np.ndarray]) -> list[Pattern]:
    """Return the pattern with memberships fitted from each of several clusterings, the few that do best.

    All are fitted for a while, and those on to the end that are ahead by then.
    """
    model, first_steps = problem.model, problem.schedule.first_steps
    widest = max((int(labels.max()) + 1 for labels in clusterings), default=1)
    mean_f = pattern.stat / pattern.mass
    starts = [label_memberships(mean_f, labels, widest, model.divergence) for labels in clusterings]
    cuts = [pattern._replace(W=W, B=B if model.learned_response else np.eye(widest)) for W, B in starts]
    for n_steps, n_kept in ((first_steps // 2, FINALISTS), (first_steps, 1)):
        cuts = refit(problem, cuts, n_steps)
        cuts = sorted(cuts, key=lambda cut: objective(problem, cut))[:n_kept]
    return cuts


def split_pattern(problem: Problem, fit: Fit) -> State | None:
    """Return the state with one pattern's views parted in two where that is worth most; None if it never is."""
    pairs, model, d = problem.pairs, problem.model, len(fit.state.lam)
    followed = fit.expectation.eta.argmax(axis=1)
    live = np.unique(followed)
    if len(live) == d:
        return None
    groups = make_groups(problem, (followed[:, None] == live).astype(float))
    halves: dict[int, list[np.ndarray]] = {}
    for l in live.tolist():
        members = np.flatnonzero(followed == l)
        second = members[in_second_half(pairs, members)]
        if 0 < len(second) < len(members):
            halves[l] = [np.setdiff1d(members, second), second]
    # statistics of all halves at once where they are small, of one pattern's otherwise
    batches = [list(halves)] if halves and pairs.backend.is_small else [[l] for l in halves]
    best, best_worth = None, total_worth(groups, model)
    for batch in batches:
        in_halves = [np.isin(np.arange(len(pairs)), half) for l in batch for half in halves[l]]
        made = make_groups(problem, np.column_stack(in_halves).astype(float))
        for i, l in enumerate(batch):
            split = [group for k, group in zip(live, groups, strict=True) if k != l] + made[2 * i : 2 * i + 2]
            if (worth := total_worth(split, model)) > best_worth:
                best, best_worth = split, worth
    return None if best is None else state_from_groups(problem, best, d)


def in_second_half(pairs: PairValues, members: np.ndarray) -> np.ndarray:
    """Return which of some views are in the second half when k-means parts them in two; fewer than two are not."""
    if len(members) < 2:
        return np.zeros(len(members), dtype=bool)
    return group_views(pairs.subset(members), 2, np.random.default_rng(SPLIT_SEED)) == 1
