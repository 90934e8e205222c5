"""Which views share a pattern and how many clusters it has, by what both are worth.

Patterns of hard clusters stand in for fitted ones here, because they cost so little that every number of
clusters, and every pattern that two others could become, is tried. A structure is worth what its clusters
explain of the divergence, less the price of their labels and of saying which pattern each view follows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from latentsimplex._arrays import is_tensor, widened
from latentsimplex._types import Array
from latentsimplex.compute.cpu import THREADED_PAIRS
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import Divergence
from latentsimplex.profiles import Profile, profile


class Charges(NamedTuple):
    """The price of k = 1..g clusters (g,), and of one nat, both in units of divergence."""

    clusters: Array
    nat: float


class Group(NamedTuple):
    """Views that share a pattern: their weight, the sum of their pair values, and the best of its clusterings.

    ``worth`` is what the clusters explain less their price; 0 for one cluster, which explains nothing. ``parts`` are
    the columns of the responsibilities that the group was made of.
    """

    gamma: float
    stat: Any
    labels: np.ndarray
    worth: float
    parts: frozenset[int] = frozenset()

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1


def make_group(
    gamma: float, stat: Any, g: int, divergence: Divergence, charges: Charges, parts: frozenset[int]
) -> Group:
    """Return the group of views with these statistics, cut into the number of clusters that is worth most."""
    return best_cut(gamma, stat, profile(stat / gamma, g, divergence), charges, parts)


def best_cut(gamma: float, stat: Any, found: Profile, charges: Charges, parts: frozenset[int]) -> Group:
    """Return the group of views whose profile is given."""
    worths = gamma * found.gains - charges.clusters
    best = int(np.argmax(worths))
    return Group(gamma, stat, found.labels[best], float(worths[best]), parts)


def union(one: Group, other: Group, g: int, divergence: Divergence, charges: Charges) -> Group:
    """Return the group of the views of both."""
    gamma, stat = one.gamma + other.gamma, one.stat + other.stat
    return make_group(gamma, stat, g, divergence, charges, one.parts | other.parts)


def total_worth(groups: list[Group], charges: Charges) -> float:
    """Return what a structure is worth: its clusters, less the nats that say which pattern each view follows."""
    gammas = np.array([group.gamma for group in groups])
    return sum(group.worth for group in groups) + charges.nat * float(
        xlogy(gammas, gammas / gammas.sum()).sum()
    )


def merge_groups(
    groups: list[Group], g: int, divergence: Divergence, charges: Charges, workers: Workers
) -> list[Group]:
    """Return the best structure on the way from these groups to a single one.

    At each step two groups become one, of the candidates the pair whose union is worth most. The whole way is
    walked, since views that show no clusters one by one may show them together.
    """
    best, best_worth = groups, total_worth(groups, charges)
    unions: dict[tuple[int, int], Group] = {}
    products = inner_products(groups, workers)
    while len(groups) > 1:
        new = [
            (one, other)
            for one, other in ((groups[i], groups[j]) for i, j in candidates(groups, products))
            if (id(one), id(other)) not in unions
        ]
        made = workers.imap(lambda both: union(both[0], both[1], g, divergence, charges), new)
        unions |= {(id(one), id(other)): joined for (one, other), joined in zip(new, made, strict=True)}
        # keys hold ids of groups that are alive: a group that is gone takes its unions along
        alive = {id(group): k for k, group in enumerate(groups)}
        ways = [(alive[a], alive[b]) for a, b in unions]
        merged = [
            [group for k, group in enumerate(groups) if k not in way] + [joined]
            for way, joined in zip(ways, unions.values(), strict=True)
        ]
        worths = [total_worth(structure, charges) for structure in merged]
        taken = int(np.argmax(worths))
        groups, products = merged[taken], _merged_products(products, *ways[taken])
        ids = {id(group) for group in groups}
        unions = {key: joined for key, joined in unions.items() if set(key) <= ids}
        if max(worths) >= best_worth:
            best, best_worth = groups, max(worths)
    return best


def _merged_products(products: Array, i: int, j: int) -> Array:
    """Return the inner products of groups after i and j have become one, which comes last."""
    rows = np.delete(np.vstack([products, products[i] + products[j]]), (i, j), axis=0)
    return np.delete(np.column_stack([rows, rows[:, i] + rows[:, j]]), (i, j), axis=1)


def inner_products(groups: list[Group], workers: Workers) -> Array:
    """Return the inner products of the sums of pair values of groups (d, d)."""
    above = [(i, j) for i in range(len(groups)) for j in range(i, len(groups))]
    stats = [group.stat for group in groups]
    threaded = not is_tensor(stats[0]) and len(stats[0]) >= THREADED_PAIRS  # a card has no use for threads
    found = workers.imap(lambda ij: float(widened(stats[ij[0]]) @ widened(stats[ij[1]])), above, threaded)
    products = np.empty((len(groups), len(groups)))
    for (i, j), product in zip(above, found, strict=True):
        products[i, j] = products[j, i] = product
    return products


def candidates(groups: list[Group], products: Array) -> list[tuple[int, int]]:
    """Return the pairs of groups worth a try: each group and the one whose mean pair values are nearest.

    Near is Ward's sense: how much the views of both lose when their best unconstrained patterns become one.
    ``products`` are the inner products of the groups' sums of pair values.
    """
    gammas = np.array([group.gamma for group in groups])
    means = products / np.outer(gammas, gammas)
    squares = np.diag(means)
    loss = np.outer(gammas, gammas) / np.add.outer(gammas, gammas)
    loss *= np.maximum(np.add.outer(squares, squares) - 2 * means, 0.0)
    np.fill_diagonal(loss, np.inf)
    return sorted({(min(i, j), max(i, j)) for i, j in enumerate(loss.argmin(axis=1).tolist())})
