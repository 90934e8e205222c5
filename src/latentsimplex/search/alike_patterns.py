"""Patterns that have the same clusters made one: their views differ only in which of these clusters are alike.

The response of a pattern says how similar its clusters are in the views that follow it. Views of the same clusters may
differ in that, as each has the centres elsewhere, and a search then finds a pattern for each kind of response. Two
patterns of k clusters in which most samples agree are one unless the labels of a second one pay: if each view has the
response that suits it best, what labels of their own explain more of the views is compared with the price of labels.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from latentsimplex.auto.explained_divergence import remaining_divergence
from latentsimplex.base.arrays import to_host
from latentsimplex.base.condensed import unpack_pairs
from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.types import Array
from latentsimplex.model.problem import Problem
from latentsimplex.pairs.protocol import PairValues
from latentsimplex.search.multistart import Search
from latentsimplex.search.runs import run_from_labels
from latentsimplex.search.states import find_clusters
from latentsimplex.search.view_groups import prices_of

MOST_VIEWS = 30
"""How many views of each pattern tell what labels explain: drawn at random where there are more."""


def join_alike(problem: Problem, search: Search) -> Search:
    """Return a search in which patterns that have the same clusters are one."""
    views, clusterings = find_clusters(search.fit)
    alike = {
        pair
        for pair in combinations(range(len(clusterings)), 2)
        if agree_mostly(clusterings[pair[0]], clusterings[pair[1]])
    }
    if not alike:
        return search
    compared = sorted({l for pair in alike for l in pair})
    costs = measure_costs(problem, views, clusterings, alike)
    prices = prices_of(problem.model)
    joined = [JoinedPatterns([l], l, costs[l]) for l in compared]
    while pair := find_best_pair(joined, alike, [float(prices[labels.max()]) for labels in clusterings]):
        one, other = pair
        joined = [each for each in joined if each is not one and each is not other] + [unite(one, other)]
    if len(joined) == len(compared):
        return search
    for each in joined:
        views[np.isin(views, each.patterns)] = each.labels
    live, views = np.unique(views, return_inverse=True)
    return search._replace(fit=run_from_labels(problem, views, [clusterings[l] for l in live]))


class JoinedPatterns(NamedTuple):
    """Patterns made one, whose labels are taken, by number, and what any of the labels leave of their views."""

    patterns: list[int]
    labels: int
    costs: Array


def unite(one: JoinedPatterns, other: JoinedPatterns) -> JoinedPatterns:
    """Return the patterns of both, with the labels of one of them that leave least."""
    costs = one.costs + other.costs
    return JoinedPatterns(
        one.patterns + other.patterns, min(one.labels, other.labels, key=lambda i: costs[i]), costs
    )


def find_best_pair(
    joined: list[JoinedPatterns], alike: set[tuple[int, int]], prices: list[float]
) -> tuple[JoinedPatterns, JoinedPatterns] | None:
    """Return the two whose own labels explain least beyond common ones; None where all labels pay their price."""
    best, least = None, 0.0
    for one, other in combinations(joined, 2):
        if not all((min(l, k), max(l, k)) in alike for l in one.patterns for k in other.patterns):
            continue
        both = unite(one, other)
        more = both.costs[both.labels] - one.costs[one.labels] - other.costs[other.labels]
        if more - prices[both.labels] < least:
            best, least = (one, other), more - prices[both.labels]
    return best


def agree_mostly(labels: np.ndarray, others: np.ndarray) -> bool:
    """Return whether two clusterings have as many clusters, two or more, and most samples in those that match.

    >>> agree_mostly(np.array([0, 0, 1, 1, 1]), np.array([1, 1, 0, 0, 1]))
    True
    >>> agree_mostly(np.zeros(5, dtype=int), np.zeros(5, dtype=int))
    False
    """
    k = int(labels.max()) + 1
    if k == 1 or others.max() + 1 != k:
        return False
    table = np.zeros((k, k))
    np.add.at(table, (labels, others), 1)
    return bool(table[linear_sum_assignment(-table)].sum() > len(labels) / 2)


def measure_costs(
    problem: Problem, views: np.ndarray, clusterings: list[np.ndarray], alike: set[tuple[int, int]]
) -> Array:
    """Return what the labels of each pattern leave of the views of each, with the responses that suit these best.

    The divergences (patterns, labels) are infinite for labels that are not alike.
    """
    pairs: PairValues = problem.pairs
    costs = np.full((len(clusterings),) * 2, np.inf)
    for l in sorted({l for pair in alike for l in pair}):
        labels = [k for k in range(len(clusterings)) if k == l or (min(k, l), max(k, l)) in alike]

        def leave_of(v: int, labels: list[int] = labels) -> list[float]:
            F = unpack_pairs(to_host(pairs.values(v)))
            return [remaining_divergence(F, clusterings[k], problem.model.divergence) for k in labels]

        members = np.flatnonzero(views == l)
        some = members[sample_rows(len(members), MOST_VIEWS)]
        weights = pairs.weights[some] * pairs.weights[members].sum() / pairs.weights[some].sum()
        left = np.array(list(pairs.workers.map(leave_of, some.tolist())))
        costs[l, labels] = (weights[:, None] * left).sum(axis=0)
    return costs
