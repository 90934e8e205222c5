"""Groups of views that share a pattern, and their numbers of clusters: by k-means, then by what they are worth.

K-means of the views' pair values is the paper's start (section 3.1): the group mean of f(s) is the best unconstrained
pattern for a group of views under either divergence (the log-odds under the paper's).

From there groups are merged by what they are worth. Patterns of hard clusters stand in for fitted ones here, because
they cost so little that every number of clusters, and every pattern that two others could become, is tried. A structure
is worth what its clusters explain of the divergence, less the price of their labels and of saying which pattern each
view follows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from latentsimplex.auto.explained_divergence import Explained, explain
from latentsimplex.base.arrays import array_namespace, convert_like, stack, to_host
from latentsimplex.base.types import Array
from latentsimplex.model.cluster_prices import ClusterPrice
from latentsimplex.model.em import collect_statistics
from latentsimplex.model.problem import Model, Problem
from latentsimplex.pairs.protocol import Backend, Block, BlockOperations, PairValues

LLOYD_ITERATIONS = 30
NO_VIEWS = 1e-6
"""Patterns whose views weigh no more than this together have none: their statistics are rounding."""


def group_views(pairs: PairValues, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return k-means labels (V,) of the views' pair values, from a k-means++ start.

    Blocks of views are visited in turn, as in the E step, so the pair values need not fit in memory.
    """
    V = len(pairs)
    if k == 1 or k >= V:
        return np.zeros(V, dtype=np.intp) if k == 1 else np.arange(V)
    centres = _spread_centres(pairs, k, rng)
    labels = np.full(V, -1)
    for _ in range(LLOYD_ITERATIONS):
        new, sums = _assign_views(pairs, centres)
        if np.array_equal(new, labels):
            break
        labels = new
        sizes = convert_like(np.bincount(labels, minlength=k), sums)[:, None]
        means = sums / (sizes + (sizes == 0))
        centres = array_namespace(sums).where(sizes > 0, means, convert_like(centres, sums))
    return labels


def _spread_centres(pairs: PairValues, k: int, rng: np.random.Generator) -> Any:
    """Return k views' pair values, each drawn in proportion to its squared distance from those before (k-means++)."""
    V = len(pairs)
    centres = [pairs.values(int(rng.integers(V)))]
    nearest = np.full(V, np.inf)
    while len(centres) < k:
        nearest = np.minimum(nearest, pairs.pass_over(DistancesFrom(centres[-1])).rows)
        total = nearest.sum()
        pick = rng.choice(V, p=nearest / total) if total > 0 else rng.integers(V)
        centres.append(pairs.values(int(pick)))
    return stack(centres)


class DistancesFrom(NamedTuple):
    """The visit that measures how far each view is from one (m,): squared distances of pair values."""

    centre: Any
    n_sums: int = 0

    def prepare(self, backend: Backend) -> None:
        """Return nothing: there is nothing to prepare."""

    def visit(self, block: Block, prepared: None, stat: Any, pairs: BlockOperations) -> tuple[Array, Array]:
        """Return the squared distance of each view of a block (b,)."""
        return to_host(((block.F - convert_like(self.centre, block.F)) ** 2).sum(-1)), np.zeros(1)


def _assign_views(pairs: PairValues, centres: Any) -> tuple[np.ndarray, Any]:
    """Return the nearest centre of each view and the sum of the views of each centre."""
    passed = pairs.pass_over(NearestCentres(centres, len(centres)))
    return passed.rows, passed.stat


class NearestCentres(NamedTuple):
    """The visit that finds the nearest of k centres (k, m) of each view, and adds up the views of each centre."""

    centres: Any
    n_sums: int

    def prepare(self, backend: Backend) -> Array:
        """Return the squared norms of the centres (k,)."""
        return to_host((self.centres**2).sum(-1))

    def visit(self, block: Block, norms: Array, stat: Any, pairs: BlockOperations) -> tuple[Array, Array]:
        """Return the nearest centre of each view of a block (b,), and add the views to the sums of theirs."""
        labels = np.argmin(norms - 2 * to_host(pairs.multiply(block.F, self.centres)), axis=1)
        pairs.add_statistics(stat, np.eye(self.n_sums)[labels], block.F)
        return labels, np.zeros(1)


class Group(NamedTuple):
    """Views that share a pattern: their weight, the sum of their pair values, and the best of its clusterings.

    ``worth`` is what the clusters explain less their price; 0 for one cluster, which explains nothing. ``parts`` are
    the columns of the responsibilities that the group was made of.
    """

    mass: float
    stat: Any
    labels: np.ndarray
    worth: float
    parts: frozenset[int] = frozenset()


def prices_of(model: Model) -> Array:
    """Return what 1, 2, ... clusters cost under a model with a price for clusters."""
    assert isinstance(model.penalty, ClusterPrice)
    return np.array(model.penalty.prices)


def find_structure(
    problem: Problem, labels: np.ndarray, n_patterns: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the structure worth most that k-means labels of the views (V,) lead to.

    It is the pattern of each view, numbered as they appear, and the clusters (n,) of each pattern.
    """
    groups = best_groups(problem, np.eye(n_patterns)[labels])
    group_of_part = {l: k for k, group in enumerate(groups) for l in group.parts}
    group_of_view = [group_of_part[l] for l in labels.tolist()]
    order = {k: number for number, k in enumerate(dict.fromkeys(group_of_view))}
    return np.array([order[k] for k in group_of_view]), [groups[k].labels for k in order]


def best_groups(problem: Problem, eta: Array) -> list[Group]:
    """Return the groups of :func:`make_groups`, merged as far as that is worth it."""
    return merge_groups(make_groups(problem, eta), problem)


def make_groups(problem: Problem, eta: Array) -> list[Group]:
    """Return a group for each pattern that has views, by responsibilities (V, d), its clusters chosen anew."""
    pairs = problem.pairs
    live = np.flatnonzero(pairs.weights @ eta > NO_VIEWS)
    mass, stat = collect_statistics(pairs, eta[:, live])

    def make_group(i: int) -> Group:
        explained = explain_views(mass[i], stat[i], problem.model)
        return cut_best(mass[i], stat[i], explained, problem.model, frozenset([int(live[i])]))

    return list(pairs.workers.map(make_group, range(len(live))))


def explain_views(mass: float, stat: Any, model: Model) -> Explained:
    """Return what clusters explain of the views with these statistics."""
    return explain(stat / mass, len(prices_of(model)), model.divergence)


def cut_best(mass: float, stat: Any, explained: Explained, model: Model, parts: frozenset[int]) -> Group:
    """Return the group of views of which this is explained, cut into the number of clusters that is worth most."""
    worths = mass * explained.gains - prices_of(model)
    best = int(np.argmax(worths))
    return Group(mass, stat, explained.labels[best], float(worths[best]), parts)


def unite(one: Group, other: Group, model: Model) -> Group:
    """Return the group of the views of both."""
    mass, stat = one.mass + other.mass, one.stat + other.stat
    return cut_best(mass, stat, explain_views(mass, stat, model), model, one.parts | other.parts)


def total_worth(groups: list[Group], model: Model) -> float:
    """Return what a structure is worth: its clusters, less the nats that say which pattern each view follows."""
    masses = np.array([group.mass for group in groups])
    nats = float(xlogy(masses, masses / masses.sum()).sum())
    return sum(group.worth for group in groups) + model.temperature * nats


def merge_groups(groups: list[Group], problem: Problem) -> list[Group]:
    """Return the best structure on the way from these groups to a single one.

    At each step two groups become one, of the candidates the pair whose union is worth most. The whole way is
    walked, since views that show no clusters one by one may show them together.
    """
    model, workers = problem.model, problem.pairs.workers
    best, best_worth = groups, total_worth(groups, model)
    products = problem.pairs.backend.inner_products([group.stat for group in groups])
    alive, n_made = dict(enumerate(groups)), len(groups)
    unions: dict[tuple[int, int], Group] = {}
    while len(alive) > 1:
        numbers = list(alive)
        near = [(numbers[i], numbers[j]) for i, j in nearest_pairs(list(alive.values()), products)]
        new = [pair for pair in near if pair not in unions]
        made = workers.map(lambda pair: unite(alive[pair[0]], alive[pair[1]], model), new)
        unions |= dict(zip(new, made, strict=True))
        worths = {
            pair: total_worth([alive[k] for k in numbers if k not in pair] + [united], model)
            for pair, united in unions.items()
        }
        taken = max(worths, key=worths.__getitem__)
        products = merge_products(products, numbers.index(taken[0]), numbers.index(taken[1]))
        alive[n_made] = unions[taken]
        n_made += 1
        for k in taken:
            del alive[k]
        unions = {pair: united for pair, united in unions.items() if not set(pair) & set(taken)}
        if worths[taken] >= best_worth:
            best, best_worth = list(alive.values()), worths[taken]
    return best


def nearest_pairs(groups: list[Group], products: Array) -> list[tuple[int, int]]:
    """Return the pairs of groups worth a try: each group and the one whose mean pair values are nearest.

    Near is Ward's sense: how much the views of both lose when their best unconstrained patterns become one.
    ``products`` are the inner products of the groups' sums of pair values.
    """
    masses = np.array([group.mass for group in groups])
    means = products / np.outer(masses, masses)
    squares = np.diag(means)
    loss = np.outer(masses, masses) / np.add.outer(masses, masses)
    loss *= np.maximum(np.add.outer(squares, squares) - 2 * means, 0.0)
    np.fill_diagonal(loss, np.inf)
    return sorted({(min(i, j), max(i, j)) for i, j in enumerate(loss.argmin(axis=1).tolist())})


def merge_products(products: Array, i: int, j: int) -> Array:
    """Return the inner products of groups after i and j have become one, which comes last.

    >>> merge_products(np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]]), 0, 1).tolist()
    [[6.0, 8.0], [8.0, 9.0]]
    """
    rows = np.delete(np.vstack([products, products[i] + products[j]]), (i, j), axis=0)
    return np.delete(np.column_stack([rows, rows[:, i] + rows[:, j]]), (i, j), axis=1)
