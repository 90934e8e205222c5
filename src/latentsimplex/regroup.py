"""Moves on the structure of a fit: re-cut patterns, join them, split one, by what hard clusters would explain.

Each proposes a state; :mod:`latentsimplex.search` keeps it when the loss falls.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latentsimplex._types import Array
from latentsimplex.em import Fit, Model, Pairs, Schedule, State, m_step, statistics
from latentsimplex.labels import used_columns
from latentsimplex.objective import ClusterPrice
from latentsimplex.starts import kmeans_labels, label_memberships
from latentsimplex.structure import Charges, Group, make_group, merge_groups, total_worth

SPLIT_SEED = 0


def charges_of(model: Model) -> Charges:
    """Return what clusters and nats cost under a model with a price for clusters."""
    assert isinstance(model.penalty, ClusterPrice)
    return Charges(np.array(model.penalty.prices), model.temperature)


def groups_of(pairs: Pairs, eta: Array, model: Model) -> list[Group]:
    """Return a group for each pattern that has views, its clusters chosen anew."""
    gamma, stat = statistics(pairs, eta)
    return [_group(gamma[l], stat[l], model) for l in np.flatnonzero(gamma > 0)]


def _group(gamma: float, stat: Array, model: Model) -> Group:
    charges = charges_of(model)
    return make_group(gamma, stat, len(charges.clusters), model.divergence, charges)


def structured_state(
    pairs: Pairs, labels: np.ndarray, n_patterns: int, model: Model, schedule: Schedule
) -> State:
    """Return the state after a first M step from the best structure that the partition of the views leads to."""
    charges = charges_of(model)
    groups = groups_of(pairs, np.eye(n_patterns)[labels], model)
    merged = merge_groups(groups, len(charges.clusters), model.divergence, charges)
    return state_of_groups(merged, n_patterns, pairs, model, schedule)


def state_of_groups(
    groups: list[Group], n_patterns: int, pairs: Pairs, model: Model, schedule: Schedule
) -> State:
    """Return the state after a first M step from the clusters of the groups."""
    g = max(group.n_clusters for group in groups)
    W = np.full((n_patterns, pairs.n_samples, g), 1 / g)
    B = np.tile(np.eye(g), (n_patterns, 1, 1))
    gamma = np.array([group.gamma for group in groups])
    stat = np.stack([group.stat for group in groups])
    used, rate = len(groups), np.full(n_patterns, schedule.rate)
    for l, group in enumerate(groups):
        W[l], response = label_memberships(group.stat / group.gamma, group.labels, g, model.divergence)
        if model.learned_response:
            B[l] = response
    W[:used], B[:used], _ = m_step(
        W[:used], B[:used], gamma, stat, model, pairs.workers, schedule.first_steps, rate[:used]
    )
    lam = np.zeros(n_patterns)
    lam[:used] = gamma / gamma.sum()
    return State(W, B, lam, rate)


def resumed_state(pairs: Pairs, fit: Fit, model: Model, schedule: Schedule) -> State:
    """Return the state after a first M step from a fit's patterns and clusters, on similarities of other pairs."""
    followed = fit.expectation.eta.argmax(axis=1)
    live = np.unique(followed)
    gamma, stat = statistics(pairs, (followed[:, None] == live).astype(float))
    groups = [
        Group(gamma[l], stat[l], np.unique(fit.state.W[k].argmax(axis=1), return_inverse=True)[1], 0.0)
        for l, k in enumerate(live)
    ]
    return state_of_groups(groups, len(fit.state.lam), pairs, model, schedule)


def regroup(pairs: Pairs, fit: Fit, model: Model, schedule: Schedule) -> State | None:
    """Return the state with patterns re-cut and joined as hard clusters would have it; None if as it is."""
    charges = charges_of(model)
    groups = groups_of(pairs, fit.expectation.eta, model)
    merged = merge_groups(groups, len(charges.clusters), model.divergence, charges)
    followed = np.flatnonzero(fit.expectation.gamma > 0)
    now = sorted(len(used_columns(fit.state.W[l])) for l in followed)
    if len(merged) == len(groups) and sorted(group.n_clusters for group in merged) == now:
        return None
    return state_of_groups(merged, len(fit.state.lam), pairs, model, schedule)


def split_pattern(pairs: Pairs, fit: Fit, model: Model, schedule: Schedule) -> State | None:
    """Return the state with one pattern's views parted in two where that is worth most; None if it never is."""
    d = len(fit.state.lam)
    followed = fit.expectation.eta.argmax(axis=1)
    live = np.unique(followed)
    if len(live) == d:
        return None
    charges = charges_of(model)
    eta = np.eye(d)[followed]
    groups = groups_of(pairs, eta, model)
    best, best_worth = None, total_worth(groups, charges)
    for l in live:
        members = np.flatnonzero(followed == l)
        if len(members) < 2:
            continue
        second = kmeans_labels(Members(pairs, members), 2, np.random.default_rng(SPLIT_SEED)) == 1
        if not second.any() or second.all():
            continue
        parted = followed.copy()
        parted[members[second]] = np.setdiff1d(np.arange(d), live)[0]
        halves = groups_of(pairs, np.eye(d)[parted][:, [l, parted[members[second]][0]]], model)
        split = [group for k, group in zip(live, groups, strict=True) if k != l] + halves
        if (worth := total_worth(split, charges)) > best_worth:
            best, best_worth = split, worth
    return None if best is None else state_of_groups(best, d, pairs, model, schedule)


class Members:
    """Some of the views of other pairs."""

    def __init__(self, pairs: Pairs, members: np.ndarray) -> None:
        self.n_samples, self.workers = pairs.n_samples, pairs.workers
        self.constants = pairs.constants[members]
        self._pairs, self._members = pairs, members

    def __len__(self) -> int:
        return len(self._members)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield rows and F[rows] over blocks of the members, in order."""
        start = 0
        for rows, F in self._pairs.blocks():
            here = self._members[(self._members >= rows.start) & (self._members < rows.stop)]
            if len(here):
                yield slice(start, start + len(here)), F[here - rows.start]
                start += len(here)

    def values(self, v: int) -> Array:
        """Return F[v] of the v-th member."""
        return self._pairs.values(int(self._members[v]))
