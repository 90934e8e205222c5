"""Moves on the structure of a fit: re-cut patterns, join them, split one, by what hard clusters would explain.

Each proposes a state; :mod:`latentsimplex.search` keeps it when the loss falls.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latentsimplex._types import Array
from latentsimplex.compute.cpu import pair_products
from latentsimplex.divergence import P_CLIP, Divergence
from latentsimplex.em import Fit, Model, Pairs, Schedule, State, m_step, statistics
from latentsimplex.labels import used_columns
from latentsimplex.moves import Pattern, live_patterns, objective, refit
from latentsimplex.objective import ClusterPrice
from latentsimplex.profiles import Profile, hard_pattern, profile
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


def best_groups(pairs: Pairs, eta: Array, model: Model) -> list[Group]:
    """Return the groups of :func:`groups_of`, merged as far as that is worth it."""
    charges = charges_of(model)
    return merge_groups(groups_of(pairs, eta, model), len(charges.clusters), model.divergence, charges)


def structured_state(
    pairs: Pairs, labels: np.ndarray, n_patterns: int, model: Model, schedule: Schedule
) -> State:
    """Return the state after a first M step from the best structure that the partition of the views leads to."""
    groups = best_groups(pairs, np.eye(n_patterns)[labels], model)
    return state_of_groups(groups, n_patterns, pairs, model, schedule)


def dispersed_temperature(pairs: Pairs, labels: np.ndarray, n_patterns: int, model: Model) -> float:
    """Return the temperature raised by the overdispersion of views, to n/2 at most.

    Pairs of a view depend on each other through the samples they share, and no more than that: n^2 / 2 pairs
    are n facts at least, which is what the temperature n/2 makes of them.
    """
    raised = model.temperature * overdispersion(pairs, labels, n_patterns, model)
    return min(raised, max(model.temperature, pairs.n_samples / 2))


def overdispersion(pairs: Pairs, labels: np.ndarray, n_patterns: int, model: Model) -> float:
    """Return how much more the evidence of views varies within patterns than a temperature of 1 nat allows.

    What a pattern explains of a view, in nats, is a log-likelihood ratio: were it calibrated and about normal,
    its variance over views would be twice its mean. Views of a pattern differ by more than that, as each has
    its own contrast, so that views are less sure of their pattern than samples are of their cluster. The
    start's partition of the views is enough to see it; without two views in a pattern with clusters, it is 1.
    """
    groups = best_groups(pairs, np.eye(n_patterns)[labels], model)
    clustered = [group for group in groups if group.n_clusters > 1]
    if not clustered:
        return 1.0
    nats = explained(pairs, clustered, model.divergence) / model.temperature
    nats = nats[nats.max(axis=1) > 0]  # a view that no pattern explains belongs to none of them
    if not len(nats):
        return 1.0
    followed = nats.argmax(axis=1)
    sizes = np.bincount(followed, minlength=len(clustered))
    own = nats[np.arange(len(nats)), followed]
    means = np.bincount(followed, weights=own, minlength=len(clustered)) / np.maximum(sizes, 1)
    freedom = np.maximum(sizes - 1, 0).sum()
    if not freedom or own.mean() <= 0:
        return 1.0
    variance = np.square(own - means[followed]).sum() / freedom
    return max(1.0, float(variance / (2 * own.mean())))


def explained(pairs: Pairs, groups: list[Group], divergence: Divergence) -> Array:
    """Return how much less each view diverges from each group's clusters than from a single one (V, groups)."""
    terms = [
        divergence.a_h(hard_pattern(group.stat / group.gamma, group.labels, divergence)) for group in groups
    ]
    A, H = np.stack([a for a, _ in terms]), np.array([h.sum() for _, h in terms])
    found = np.empty((len(pairs), len(groups)))
    m = A.shape[1]
    for rows, F in pairs.blocks():
        mean = F.mean(axis=1)
        a, h = divergence.a_h(np.clip(divergence.mean(mean), P_CLIP, 1 - P_CLIP))
        one_cluster = m * (h - mean * a)
        gains = one_cluster[:, None] - (H - pair_products(F, A, pairs.workers))
        found[rows] = pairs.weights[rows, None] * gains
    return found


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


def join_patterns(pairs: Pairs, fit: Fit, model: Model, schedule: Schedule) -> State | None:
    """Return the state with patterns joined as far as hard clusters would have it; None if not at all."""
    joined = best_groups(pairs, fit.expectation.eta, model)
    if len(joined) == np.count_nonzero(fit.expectation.gamma > 0):
        return None
    return state_of_groups(joined, len(fit.state.lam), pairs, model, schedule)


def recut_patterns(pairs: Pairs, fit: Fit, model: Model, schedule: Schedule) -> State | None:
    """Return the state with each pattern cut into the number of clusters that is best; None if all have it.

    Samples that belong to several clusters at once look like clusters of their own to hard labels. So
    numbers of clusters are compared by fitted memberships: the one that hard clusters would have, if that is
    more, and then one cluster fewer for as long as it pays.
    """
    charges = charges_of(model)
    g = len(charges.clusters)
    best: dict[int, Pattern] = {}
    for l, pattern in live_patterns(fit).items():
        if not pattern.gamma:  # its last view has just left
            continue
        found = profile(pattern.stat / pattern.gamma, g, model.divergence)
        worths = pattern.gamma * found.gains - charges.clusters

        def fitted(k: int, pattern: Pattern = pattern, found: Profile = found) -> tuple[Pattern, float]:
            mean_f = pattern.stat / pattern.gamma
            W, B = label_memberships(mean_f, found.labels[k - 1], k, model.divergence)
            if not model.learned_response:
                B = np.eye(k)
            cut = refit(pattern._replace(W=W, B=B), model, schedule, pairs.workers, schedule.first_steps)
            return cut, objective(cut, model, pairs.workers)

        k = len(used_columns(pattern.W))
        value = objective(pattern, model, pairs.workers)
        if (more := int(np.argmax(worths)) + 1) > k:
            cut, lower = fitted(more)
            if lower < value:
                best[l], value, k = cut, lower, more
        while k > 1:
            cut, lower = fitted(k - 1)
            if lower >= value:
                break
            best[l], value, k = cut, lower, k - 1
    return _replaced(fit.state, best, schedule) if best else None


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
        self.constants, self.weights = pairs.constants[members], pairs.weights[members]
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
