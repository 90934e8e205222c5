"""Which views share their clusters: each view is looked at by itself, then views that support one another together.

A view supports clusters if neighbours in it share them (:func:`latentsimplex.auto.neighbour_graphs.support`). Two
groups of views are one if they support each other's clusters half as well as their own, or better. Views that show no
clusters by themselves join the group whose clusters they support, are looked at together, and are left out if they
show none: noise takes part in nothing. The order of views does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from latentsimplex.auto.cluster_tree import Bounds, ClusterTree, grow_tree
from latentsimplex.auto.neighbour_graphs import compare_samples, find_neighbours, support
from latentsimplex.auto.splits import list_comparisons, local_sizes
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import WideTable

MUTUAL = 0.5
"""The share of the support of its own clusters that a view must give to those of another, to share them."""
SHUFFLES, CHANCE = 20, 5.0
"""Supported is what lies so many standard deviations above the support of shuffled clusters."""
SEED = 0


class ClusteredViews(NamedTuple):
    """Views that share their clusters, and the tree of these."""

    members: tuple[int, ...]
    tree: ClusterTree


class SharedClusters(NamedTuple):
    """Groups of views that share clusters, the largest first, and a tree of all other views, which show none."""

    groups: list[ClusteredViews]
    others: ClusterTree | None


def find_shared_clusters(
    tables: Sequence[Array | WideTable], bounds: Bounds, most_groups: int, workers: Workers
) -> SharedClusters:
    """Return which views share clusters, and the clusters."""
    found = ViewGroups(tables, bounds, workers)
    groups = found.merge([ClusteredViews((v,), found.tree((v,))) for v in range(len(tables))], most_groups)
    if not groups and bounds.least > 1:  # asked for all the same
        everyone = tuple(range(len(tables)))
        tree = found.tree(everyone, bounds)
        if tree.n_clusters > 1:  # a few samples, or equal ones, cannot be cut
            return SharedClusters([ClusteredViews(everyone, tree)], None)
    left = tuple(v for v in range(len(tables)) if not any(v in group.members for group in groups))
    if bounds.exactly is not None:
        groups = [ClusteredViews(group.members, found.tree(group.members, bounds)) for group in groups]
    return SharedClusters(groups, found.tree(left) if left else None)


class ViewGroups:
    """Views, their neighbours in each comparison of features, and trees of groups of them, each grown once."""

    def __init__(self, tables: Sequence[Array | WideTable], bounds: Bounds, workers: Workers) -> None:
        self.tables, self.workers = tables, workers
        self._free = Bounds(1, bounds.most if bounds.exactly is None else None)
        self._trees: dict[tuple[tuple[int, ...], Bounds], ClusterTree] = {}
        self._neighbours: dict[tuple[int, str], Indices] = {}

    def tree(self, members: tuple[int, ...], bounds: Bounds | None = None) -> ClusterTree:
        """Return the tree of some views together."""
        key = (members, bounds or self._free)
        if key not in self._trees:
            self._trees[key] = grow_tree([self.tables[v] for v in members], key[1], self.workers)
        return self._trees[key]

    def merge(self, alone: list[ClusteredViews], most_groups: int) -> list[ClusteredViews]:
        """Return groups of views, the largest first, made from views that are each alone."""
        groups = [view for view in alone if view.tree.n_clusters > 1]
        rest = [view for view in alone if view.tree.n_clusters == 1]
        groups = self._unite(groups, most_groups)
        together = self._find_together([v for view in rest for v in view.members])
        if together is not None:
            groups = self._unite([*groups, together], most_groups)
        taken = {v for group in groups for v in group.members}
        groups = self._join([v for view in rest for v in view.members if v not in taken], groups)
        return sorted(groups, key=lambda group: (-len(group.members), -group.tree.strength, group.members))

    def _join(self, views: list[int], groups: list[ClusteredViews]) -> list[ClusteredViews]:
        """Return the groups with views that have no clusters of their own, and support those of a group."""
        joined: dict[int, list[int]] = {k: [] for k in range(len(groups))}
        for v in views if groups else []:
            best = max(range(len(groups)), key=lambda k: self.support(v, groups[k].tree))
            if self.is_supported(v, groups[best].tree):
                joined[best].append(v)
        return [
            self._look_together(tuple(sorted((*group.members, *joined[k]))), [group.tree])
            for k, group in enumerate(groups)
        ]

    def _look_together(self, members: tuple[int, ...], trees: list[ClusterTree]) -> ClusteredViews:
        """Return views with the tree that they show together or, if that has no clusters, the strongest of others."""
        tree = self.tree(members)
        return ClusteredViews(
            members, tree if tree.n_clusters > 1 else max(trees, key=lambda each: each.strength)
        )

    def _unite(self, groups: list[ClusteredViews], most_groups: int) -> list[ClusteredViews]:
        """Return the groups, those that support one another made one, best first, and as few as asked for."""
        groups = list(groups)
        while len(groups) > 1:
            pairs = {
                (a, b): self._agreement(groups[a], groups[b]) for a, b in combinations(range(len(groups)), 2)
            }
            (a, b), agreement = max(pairs.items(), key=lambda item: item[1])
            if agreement < MUTUAL and len(groups) <= most_groups:
                break
            members = tuple(sorted(groups[a].members + groups[b].members))
            united = self._look_together(members, [groups[a].tree, groups[b].tree])
            groups = [group for k, group in enumerate(groups) if k not in (a, b)] + [united]
        return groups

    def _find_together(self, views: list[int]) -> ClusteredViews | None:
        """Return views that show clusters together and not alone, without those that do not support them."""
        while len(views) > 1:
            tree = self.tree(tuple(views))
            if tree.n_clusters == 1:
                return None
            supporting = [v for v in views if self.is_supported(v, tree)]
            if len(supporting) == len(views):
                return ClusteredViews(tuple(views), tree)
            views = supporting
        return None

    def _agreement(self, one: ClusteredViews, other: ClusteredViews) -> float:
        """Return how well two groups support each other's clusters, over how well they support their own: a mean."""
        shares = []
        for mine, yours in ((one, other), (other, one)):
            own = sum(self.support(v, mine.tree) for v in mine.members)
            shares.append(
                sum(self.support(v, yours.tree) for v in mine.members) / max(own, np.finfo(float).tiny)
            )
        return float(np.mean(shares))

    def support(self, v: int, tree: ClusterTree) -> float:
        """Return how well a view supports the clusters of a tree, features compared as suits them best."""
        return max(support(near, tree.labels) for near in self._compared(v))

    def is_supported(self, v: int, tree: ClusterTree) -> bool:
        """Return whether a view supports the clusters of a tree more than it would by chance."""
        rng, labels = np.random.default_rng(SEED), tree.labels
        shuffled = [rng.permutation(labels) for _ in range(SHUFFLES)]
        for near in self._compared(v):
            chances = np.array([support(near, each) for each in shuffled])
            if support(near, labels) > chances.mean() + CHANCE * chances.std():
                return True
        return False

    def _compared(self, v: int) -> list[Indices]:
        found = []
        for comparison in list_comparisons([self.tables[v]]):
            if (v, comparison) not in self._neighbours:
                coordinates = compare_samples(self.tables[v], comparison)
                n = len(coordinates)
                self._neighbours[v, comparison] = find_neighbours(coordinates, min(local_sizes(n)[0], n - 1))
            found.append(self._neighbours[v, comparison])
        return found
