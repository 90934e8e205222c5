"""Patterns that have the same clusters made one: their views differ only in which of these clusters are alike.

The response of a pattern says how similar its clusters are in the views that follow it. Views of the same clusters may
differ in that, as each has the centres elsewhere, and a search then finds a pattern for each kind of response. Two
patterns of k clusters in which most samples agree are one unless the labels of a second one pay: if each view has the
response that suits it best, what labels of their own explain more of the views is compared with the price of labels.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from latentsimplex.auto.explained_divergence import remaining_divergence
from latentsimplex.base.arrays import to_host
from latentsimplex.base.condensed import unpack_pairs
from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.types import Array
from latentsimplex.model.problem import Problem
from latentsimplex.pairs.divergence import Divergence
from latentsimplex.pairs.protocol import Backend, Block, BlockOperations, PairValues
from latentsimplex.search.least_clusters import find_clusters
from latentsimplex.search.multistart import Search
from latentsimplex.search.runs import run_from_labels
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
    costs = measure_costs(problem, views, [clusterings[l] for l in compared])
    prices = prices_of(problem.model)
    joined = [JoinedPatterns([l], i, costs[l]) for i, l in enumerate(compared)]
    while pair := find_best_pair(joined, alike, [float(prices[clusterings[l].max()]) for l in compared]):
        one, other = pair
        joined = [each for each in joined if each is not one and each is not other] + [unite(one, other)]
    if len(joined) == len(compared):
        return search
    for each in joined:
        views[np.isin(views, each.patterns)] = compared[each.labels]
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


def measure_costs(problem: Problem, views: np.ndarray, clusterings: list[np.ndarray]) -> Array:
    """Return the divergence that labels leave of the views of each pattern (patterns, labels)."""
    pairs: PairValues = problem.pairs
    weights = np.zeros(len(views))
    for l in np.unique(views):
        members = np.flatnonzero(views == l)
        some = members[sample_rows(len(members), MOST_VIEWS)]
        weights[some] = pairs.weights[some] * pairs.weights[members].sum() / pairs.weights[some].sum()
    visit = LeftByLabels(clusterings, problem.model.divergence)
    left = pairs.pass_over(visit, (weights > 0)[:, None].astype(float)).rows * weights[:, None]
    return np.array([left[views == l].sum(axis=0) for l in range(views.max() + 1)])


class LeftByLabels(NamedTuple):
    """The visit that measures what labels of samples (n,) leave of views, each with the response that suits it best.

    Only views for which something other than 0 is given are looked at; others leave 0.
    """

    clusterings: list[np.ndarray]
    divergence: Divergence
    n_sums: int = 0

    def prepare(self, backend: Backend) -> None:
        """Return nothing: there is nothing to prepare."""

    def visit(self, block: Block, prepared: None, stat: Any, pairs: BlockOperations) -> tuple[Array, Array]:
        """Return what each of the labels leaves of each view of a block (b, labels)."""
        left = np.zeros((len(block.F), len(self.clusterings)))
        assert block.given is not None
        for i in np.flatnonzero(block.given[:, 0]):
            F = unpack_pairs(to_host(block.F[i]))
            left[i] = [remaining_divergence(F, labels, self.divergence) for labels in self.clusterings]
        return left, np.zeros(1)
