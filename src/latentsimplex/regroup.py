"""Moves on the structure of a fit: re-cut patterns, join them, split one, by what hard clusters would explain.

Each proposes a state; :mod:`latentsimplex.search` keeps it when the loss falls.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np

from latentsimplex._arrays import stacked
from latentsimplex._types import Array
from latentsimplex.compute import is_small
from latentsimplex.compute.threads import Workers
from latentsimplex.em import Fit, Model, Pairs, Schedule, State, m_step, statistics
from latentsimplex.known import Known
from latentsimplex.labels import used_columns
from latentsimplex.moves import Pattern, live_patterns, objective, refit_all
from latentsimplex.objective import ClusterPrice
from latentsimplex.profiles import Profile, profile
from latentsimplex.starts import kmeans_labels, label_memberships
from latentsimplex.structure import Charges, Group, best_cut, merge_groups, total_worth

SPLIT_SEED = 0
NO_VIEWS = 1e-6
"""Patterns whose views weigh no more than this together have none: their statistics are rounding."""
FINALISTS = 3
"""Numbers of clusters that are compared to the end; half the way tells the others off."""


def charges_of(model: Model) -> Charges:
    """Return what clusters and nats cost under a model with a price for clusters."""
    assert isinstance(model.penalty, ClusterPrice)
    return Charges(np.array(model.penalty.prices), model.temperature)


def groups_of(pairs: Pairs, eta: Array, model: Model) -> list[Group]:
    """Return a group for each pattern that has views, its clusters chosen anew."""
    live = np.flatnonzero(pairs.weights @ eta > NO_VIEWS)
    gamma, stat = statistics(pairs, eta[:, live])
    charges = charges_of(model)

    def group(i: int) -> Group:
        found = known_profile(pairs, eta[:, live[i]], gamma[i], stat[i], model)
        return best_cut(gamma[i], stat[i], found, charges, frozenset([int(live[i])]))

    return list(pairs.workers.imap(group, range(len(live))))


def known_profile(pairs: Pairs, eta: Array, gamma: float, stat: Any, model: Model) -> Profile:
    """Return what clusters explain of the views with responsibilities eta (V,), whose statistics are given.

    The same views come up in one move after the other.
    """
    g = len(charges_of(model).clusters)
    key = (model.divergence.name, g, blake2b(eta.tobytes()).digest())
    return pairs.profiles.get(key, lambda: profile(stat / gamma, g, model.divergence))


def best_groups(pairs: Pairs, eta: Array, model: Model) -> list[Group]:
    """Return the groups of :func:`groups_of`, merged as far as that is worth it."""
    charges = charges_of(model)
    groups = groups_of(pairs, eta, model)
    return merge_groups(groups, len(charges.clusters), model.divergence, charges, pairs.workers)


def state_of_groups(
    groups: list[Group], n_patterns: int, pairs: Pairs, model: Model, schedule: Schedule
) -> State:
    """Return the state after a first M step from the clusters of the groups."""
    g = max(group.n_clusters for group in groups)
    W = np.full((n_patterns, pairs.n_samples, g), 1 / g)
    B = np.tile(np.eye(g), (n_patterns, 1, 1))
    gamma = np.array([group.gamma for group in groups])
    stat = stacked([group.stat for group in groups])
    used, rate = len(groups), np.full(n_patterns, schedule.rate)
    for l, group in enumerate(groups):
        W[l], response = label_memberships(group.stat / group.gamma, group.labels, g, model.divergence)
        if model.learned_response:
            B[l] = response
    W[:used], B[:used], _ = m_step(
        W[:used], B[:used], gamma, stat, model, pairs.workers, schedule, schedule.first_steps, rate[:used]
    )
    lam = np.zeros(n_patterns)
    lam[:used] = gamma / gamma.sum()
    return State(W, B, lam, rate)


def labelled_state(
    pairs: Pairs,
    views: np.ndarray,
    clusterings: list[np.ndarray],
    n_patterns: int,
    model: Model,
    schedule: Schedule,
) -> State:
    """Return the state after a first M step from the pattern of each view (V,) and the clusters of each pattern."""
    gamma, stat = statistics(pairs, np.eye(len(clusterings))[views])
    groups = [Group(gamma[k], stat[k], labels, 0.0) for k, labels in enumerate(clusterings)]
    return state_of_groups(groups, n_patterns, pairs, model, schedule)


def resumed_state(pairs: Pairs, fit: Fit, model: Model, schedule: Schedule) -> State:
    """Return the state after a first M step from a fit's patterns and clusters, on similarities of other pairs."""
    live, views = np.unique(fit.expectation.eta.argmax(axis=1), return_inverse=True)
    clusterings = [np.unique(fit.state.W[k].argmax(axis=1), return_inverse=True)[1] for k in live]
    return labelled_state(pairs, views, clusterings, len(fit.state.lam), model, schedule)


def join_patterns(pairs: Pairs, fit: Fit, model: Model, schedule: Schedule) -> State | None:
    """Return the state with patterns joined as far as hard clusters would have it; None if not at all."""
    joined = best_groups(pairs, fit.expectation.eta, model)
    if len(joined) == np.count_nonzero(fit.expectation.mass > NO_VIEWS):
        return None
    return state_of_groups(joined, len(fit.state.lam), pairs, model, schedule)


def recut_patterns(pairs: Pairs, fit: Fit, model: Model, schedule: Schedule) -> State | None:
    """Return the state with each pattern cut into the number of clusters that is best; None if all have it.

    Samples that belong to several clusters at once look like clusters of their own to hard labels. So
    numbers of clusters are compared by fitted memberships: all from the one that hard clusters would have, or
    the pattern's own if that is more, down to 1, since one cluster fewer may not pay where five fewer do.
    """
    # a pattern whose last view has just left has nothing to be cut by
    patterns = {l: pattern for l, pattern in live_patterns(fit).items() if pattern.gamma > NO_VIEWS}
    small = is_small(
        fit.expectation.stat
    )  # threads are for patterns then, and otherwise for the pairs of each
    workers = Workers(1) if small else pairs.workers
    eta = fit.expectation.eta

    def recut_pattern(l: int) -> Pattern | None:
        pattern = patterns[l]
        found = known_profile(pairs, eta[:, l], pattern.gamma, pattern.stat, model)
        return recut(pattern, found, model, schedule, workers)

    found = pairs.workers.imap(recut_pattern, list(patterns), threaded=small)
    best = {l: cut for l, cut in zip(patterns, found, strict=True) if cut is not None}
    return _replaced(fit.state, best, schedule) if best else None


def recut(
    pattern: Pattern, found: Profile, model: Model, schedule: Schedule, workers: Workers
) -> Pattern | None:
    """Return the pattern with another number of clusters that is better than its own; None if there is none.

    ``found`` is what hard clusters explain of its views.
    """
    charges = charges_of(model)
    most = int(np.argmax(pattern.gamma * found.gains - charges.clusters)) + 1
    own = len(used_columns(pattern.W))
    others = [k for k in range(1, max(most, own) + 1) if k != own]
    best, value = None, objective(pattern, model, workers)
    for cut in cut_patterns(pattern, [found.labels[k - 1] for k in others], model, schedule, workers):
        if (lower := objective(cut, model, workers)) < value:
            best, value = cut, lower
    return best


def cut_patterns(
    pattern: Pattern, clusterings: list[np.ndarray], model: Model, schedule: Schedule, workers: Workers
) -> list[Pattern]:
    """Return the pattern with memberships fitted from each of several clusterings, the few that do best.

    All are fitted for a while, and those on to the end that are ahead by then.
    """
    widest = max((int(labels.max()) + 1 for labels in clusterings), default=1)
    mean_f = pattern.stat / pattern.gamma
    starts = [label_memberships(mean_f, labels, widest, model.divergence) for labels in clusterings]
    cuts = [pattern._replace(W=W, B=B if model.learned_response else np.eye(widest)) for W, B in starts]
    for n_steps, kept in ((schedule.first_steps // 2, FINALISTS), (schedule.first_steps, 1)):
        cuts = refit_all(cuts, model, schedule, workers, n_steps)
        cuts = sorted(cuts, key=lambda cut: objective(cut, model, workers))[:kept]
    return cuts


def _replaced(state: State, patterns: dict[int, Pattern], schedule: Schedule) -> State:
    """Return the state with some patterns replaced, and columns enough for all of them."""
    d, n, g = state.W.shape
    width = max(g, *(pattern.W.shape[1] for pattern in patterns.values()))
    W, B = np.zeros((d, n, width)), np.tile(np.eye(width), (d, 1, 1))
    W[:, :, :g], B[:, :g, :g] = state.W, state.B
    for l, pattern in patterns.items():
        k = pattern.W.shape[1]
        W[l], B[l] = 0.0, np.eye(width)
        W[l, :, :k], B[l, :k, :k] = pattern.W, pattern.B
    return State(W, B, state.lam, np.full_like(state.rate, schedule.rate))


def split_pattern(pairs: Pairs, fit: Fit, model: Model, schedule: Schedule) -> State | None:
    """Return the state with one pattern's views parted in two where that is worth most; None if it never is."""
    d = len(fit.state.lam)
    followed = fit.expectation.eta.argmax(axis=1)
    live = np.unique(followed)
    if len(live) == d:
        return None
    charges = charges_of(model)
    groups = groups_of(pairs, (followed[:, None] == live).astype(float), model)
    parted: dict[int, list[np.ndarray]] = {}
    for l in live.tolist():
        members = np.flatnonzero(followed == l)
        second = members[in_second_half(pairs, members)]
        if 0 < len(second) < len(members):
            parted[l] = [np.setdiff1d(members, second), second]
    # statistics of all halves at once where they are small, of one pattern's otherwise
    batches = [list(parted)] if parted and is_small(groups[0].stat[None]) else [[l] for l in parted]
    best, best_worth = None, total_worth(groups, charges)
    for batch in batches:
        made = groups_of(pairs, indicators([half for l in batch for half in parted[l]], len(pairs)), model)
        for i, l in enumerate(batch):
            split = [group for k, group in zip(live, groups, strict=True) if k != l] + made[2 * i : 2 * i + 2]
            if (worth := total_worth(split, charges)) > best_worth:
                best, best_worth = split, worth
    return None if best is None else state_of_groups(best, d, pairs, model, schedule)


def in_second_half(pairs: Pairs, members: np.ndarray) -> np.ndarray:
    """Return which of some views are in the second half when k-means parts them in two; fewer than two are not."""
    if len(members) < 2:
        return np.zeros(len(members), dtype=bool)
    return kmeans_labels(Members(pairs, members), 2, np.random.default_rng(SPLIT_SEED)) == 1


def indicators(sets: list[np.ndarray], n: int) -> Array:
    """Return which of n views are in each of several sets, as 0 and 1 (n, sets)."""
    columns = np.zeros((n, len(sets)))
    for column, members in enumerate(sets):
        columns[members, column] = 1.0
    return columns


class Members:
    """Some of the views of other pairs."""

    def __init__(self, pairs: Pairs, members: np.ndarray) -> None:
        self.n_samples, self.workers, self.home = pairs.n_samples, pairs.workers, pairs.home
        self.profiles: Known[Any] = Known(0)
        self.constants, self.weights = pairs.constants[members], pairs.weights[members]
        self._pairs, self._members = pairs, members

    def __len__(self) -> int:
        return len(self._members)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield rows and F[rows] over blocks of the members, in order."""
        start = 0
        for rows, F in self._pairs.blocks():
            here = self._members[(self._members >= rows.start) & (self._members < rows.stop)]
            if len(here):
                # a block all of whose views are members needs no copy
                yield slice(start, start + len(here)), F if len(here) == len(F) else F[here - rows.start]
                start += len(here)

    def values(self, v: int) -> Any:
        """Return F[v] of the v-th member."""
        return self._pairs.values(int(self._members[v]))

    def zeros(self, d: int) -> Any:
        """Return zeros (d, m) where a pass over the views can add up statistics."""
        return self._pairs.zeros(d)

    def homed(self, stat: Any) -> Any:
        """Return statistics where M steps want them."""
        return self._pairs.homed(stat)
