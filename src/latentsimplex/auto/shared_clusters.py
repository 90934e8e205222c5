"""Which views share their clusters: views are searched alone, then those that support one another together.

A view supports clusters if neighbours in it share them (:mod:`latentsimplex.neighbours.cluster_support`). Two groups
of views are one if they support each other's clusters half as well as their own, or better, and neither says that
clusters of the other are one. Views that show no clusters by themselves join the group whose clusters they support, are
looked at together, and are left out if they show none: noise takes part in nothing. The order of views does not matter.
A thousand samples tell which views belong together, where they show clusters. The clusters of a group are those of all
samples, and where these are a few thousand at most, groups are seen in all of them from the beginning.

A group has the clusters that its views show together, unless one view by itself has finer clusters that neighbours in
all of them tell nearly as well: views that blur what one shows do not take it away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from threading import Lock
from typing import NamedTuple

import numpy as np

from latentsimplex.auto.cluster_tree import Bounds, ClusterTree, find_seen, grow_tree, sample_each_view
from latentsimplex.base.partial_table import PartialTable
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import WideTable
from latentsimplex.checkpoints.checkpoint import Checkpoint
from latentsimplex.model.problem import NOBODY, Listener
from latentsimplex.neighbours.cluster_support import share_nats, shuffle_seen, support, support_within
from latentsimplex.neighbours.graph_sizes import FoundNeighbours, local_sizes
from latentsimplex.neighbours.nearest_neighbours import COMPARED
from latentsimplex.neighbours.neighbour_graphs import find_neighbours
from latentsimplex.similarity.comparisons import compare_samples, list_comparisons

MUTUAL = 0.5
"""The share of the support of its own clusters that a view must give to those of another, to share them."""
TOLD_APART = 2.0
"""The support, over 1 / sqrt(n), that a view must give within its own clusters to clusters that cut them. In the
paper's consensus example, where one view has two of the other's three clusters as one, it spreads by 0.6 around 0; in
public data that share clusters it is 2.7 or more."""
ALIKE = 0.7
"""How large a part of what finer clusters add in entropy neighbours must tell, over the part that they tell of coarser
ones, for the finer to be those of a group: any finer clusters add a little. In MNIST, where finer ones are right, it is
0.76 or more, in the digits, where coarser ones are, 0.66 or less (parts of 300 to 1,000 samples)."""
SHUFFLES, CHANCE = 20, 5.0
"""Supported is what lies so many standard deviations above the support of shuffled clusters."""
GROUPED_BY, LEAST_OF_VIEW = 1000, 100
"""Samples by which views are grouped, and the fewest of each view where views lack samples."""
SEEN_WHOLE = 4000
"""The most samples in which groups are seen as a whole. Their clusters are mostly those of all views, and looked for in
all samples in the end: a look at a thousand before costs more than it saves."""
SEED = 0

Members = tuple[int, ...]
"""The views of a group, in order."""


class ClusteredViews(NamedTuple):
    """Views that share their clusters, and the tree of these."""

    members: Members
    tree: ClusterTree


class SharedClusters(NamedTuple):
    """Groups of views that share clusters, the largest first, and a tree of all other views, which show none.

    ``neighbours`` of samples (n, k), the nearest first, are those that were found on the way, by view and comparison of
    features.
    """

    groups: list[ClusteredViews]
    others: ClusterTree | None
    neighbours: dict[tuple[int, str], Indices] | None = None


def find_shared_clusters(
    tables: Sequence[Array | WideTable | PartialTable],
    bounds: Bounds,
    most_groups: int,
    workers: Workers,
    n_landmarks: int | None = None,
    checkpoint: Checkpoint | None = None,
    listener: Listener = NOBODY,
) -> SharedClusters:
    """Return which views share clusters, and these; broad graphs are of ``n_landmarks`` samples, None for all."""
    free = Bounds(1, bounds.most if bounds.exactly is None else None)
    rows = sample_each_view(tables, GROUPED_BY, LEAST_OF_VIEW)
    freely = views = ViewGroups(tables, rows, free, workers, n_landmarks, checkpoint)
    groups = views.merge(most_groups)
    if not groups and bounds.least > 1:  # asked for all the same
        groups = [tuple(range(len(tables)))]
    seers = groups if bounds.exactly is not None else [views.find_clearest(members) for members in groups]
    tell = None
    if listener is not NOBODY:
        tell = LookCount(listener, views.expect_looks(groups, seers, bounds.least > 1), n_landmarks).add
    if bounds.least > 1:
        views = ViewGroups(tables, rows, bounds, workers, n_landmarks, checkpoint)
    views.tell = freely.tell = tell
    clustered = []
    for members, own in zip(groups, seers, strict=True):
        tree = views.tree_of_all(own)
        if tree.n_clusters == 1 and own != members:
            tree = views.tree_of_all(members)
        if tree.n_clusters > 1:  # some have none, all told
            clustered.append(ClusteredViews(members, tree))
    clustered.sort(key=lambda group: (-len(group.members), -group.tree.strength, group.members))
    taken = {v for group in clustered for v in group.members}
    left = tuple(v for v in range(len(tables)) if v not in taken)
    others = freely.grow_on_all(left) if left else None
    return SharedClusters(clustered, others, freely.neighbours | views.neighbours)


class ViewGroups:
    """Views, their neighbours in each comparison of features, and trees of groups of them, each grown once.

    Views are grouped by some of the samples, ``rows``, unless these show no clusters or are nearly all.
    """

    def __init__(
        self,
        tables: Sequence[Array | WideTable | PartialTable],
        rows: Indices,
        bounds: Bounds,
        workers: Workers,
        n_landmarks: int | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.tables, self._bounds, self.workers, self._n_landmarks = tables, bounds, workers, n_landmarks
        self._checkpoint = checkpoint
        self.tell: Callable[[int], object] | None = None
        self.rows = rows
        is_whole = len(self.rows) == len(tables[0])
        self._sampled = tables if is_whole else [X[self.rows] for X in tables]
        self._trees: dict[Members, ClusterTree] = {}
        self._trees_of_some: dict[Members, ClusterTree] = {}
        self._trees_of_all: dict[Members, ClusterTree] = {}
        self.neighbours: dict[tuple[int, str], Indices] = {}
        self._neighbours: dict[tuple[int, str], Indices] = {}

    def tree(self, members: Members) -> ClusterTree:
        """Return the tree of some views together, of the samples by which views are grouped."""
        if members not in self._trees:
            tree = self._grow_on_some(members)
            if tree.n_clusters == 1 and len(self.rows) < len(self.tables[0]):
                tree = self.grow_on_all(members).take(self.rows)
            self._trees[members] = tree
        return self._trees[members]

    def _grow_on_some(self, members: Members) -> ClusterTree:
        n = len(self.tables[0])
        is_seen_whole = len(members) > 1 and n <= SEEN_WHOLE
        if n == len(self.rows) or is_seen_whole:
            return self.grow_on_all(members).take(self.rows)
        if members not in self._trees_of_some:
            some = [self._sampled[v] for v in members]
            kept = (
                None if self._checkpoint is None else self._checkpoint.within("some", members, self._bounds)
            )
            found: FoundNeighbours = {}
            self._trees_of_some[members] = grow_tree(
                some, self._bounds, self.workers, checkpoint=kept, found=found
            )
            self._neighbours |= name_neighbours(members, found)
        return self._trees_of_some[members]

    def group_tree(self, members: Members) -> ClusterTree:
        """Return the tree of some views together or, if that has no clusters, the strongest of theirs."""
        return _clustered_or_strongest(self.tree, members)

    def tree_of_all(self, members: Members) -> ClusterTree:
        """Return the same for all samples."""
        return _clustered_or_strongest(self.grow_on_all, members)

    def find_clearest(self, members: Members) -> Members:
        """Return the views whose clusters a group has: all together, or one whose finer clusters tell more.

        Of the entropy that these add, clusters of neighbours, in all views of the group, share nearly as large a part
        as of the entropy of the clusters of all together.
        """
        if len(members) == 1 or self.tree(members).n_clusters == 1:
            return members
        (nats, h), more = self._tell(members, members), {}
        for v in filter(lambda v: self._stands_for(v, members), members):
            own, own_h = self._tell((v,), members)
            if own_h > h and own - nats >= ALIKE * nats / h * (own_h - h):
                more[v] = own
        return (max(more, key=lambda v: more[v]),) if more else members

    def _stands_for(self, v: int, members: Members) -> bool:
        """Return whether a view has all samples of a group, and compares features in a way that suits all its views."""
        tables, X = [self.tables[u] for u in members], self.tables[v]
        every, own = find_seen(tables), find_seen([X])
        has_all = own is None or (every is not None and bool(np.isin(every, own).all()))
        is_one_of_many = X.shape[1] == 1 and any(other.shape[1] > 1 for other in tables)
        return has_all and not is_one_of_many and self.tree((v,)).comparison in list_comparisons(tables)

    def _tell(self, seers: Members, members: Members) -> Array:
        """Return the nats that clusters of some views share with those of neighbours in others, and their entropy."""
        labels = self.tree(seers).labels
        told = [max(share_nats(near, labels) for near in self._compared(v)) for v in members]
        return np.mean(told, axis=0)

    def grow_on_all(self, members: Members) -> ClusterTree:
        """Return the tree of some views together, of all samples."""
        if members not in self._trees_of_all:
            tables = [self.tables[v] for v in members]
            kept = None if self._checkpoint is None else self._checkpoint.within("all", members, self._bounds)
            found: FoundNeighbours = {}
            self._trees_of_all[members] = grow_tree(
                tables, self._bounds, self.workers, self._n_landmarks, kept, self.tell, found=found
            )
            self.neighbours |= name_neighbours(members, found)
            if len(self.rows) == len(tables[0]):
                self._neighbours |= self.neighbours
        return self._trees_of_all[members]

    def expect_looks(self, groups: list[Members], seers: list[Members], again: bool) -> list[int]:
        """Return how many samples are in each look to come, by the trees that were grown on some of them.

        The clusters of groups are those of the ``seers``, which are taken to have the largest tree of their views.
        Views in no group are looked at together, once. What has been looked at is looked at ``again`` only where groups
        have another number of clusters.
        """
        n, sizes = len(self.tables[0]), []
        for members in seers:
            if members in self._trees_of_all and not again:
                continue
            grown = [self._trees[v,].nodes for v in members if (v,) in self._trees]
            sizes += [len(node.rows) * n // len(self.rows) for node in max(grown, key=len, default=[])] or [n]
        left = tuple(v for v in range(len(self.tables)) if not any(v in members for members in groups))
        return sizes if not left or left in self._trees_of_all else [*sizes, n]

    def merge(self, most_groups: int) -> list[Members]:
        """Return groups of views that share their clusters."""
        alone = [(v,) for v in range(len(self.tables))]
        is_large = len(self.tables[0]) > COMPARED
        if is_large:  # searches of some samples share the threads, and each search of all has them for itself
            list(self.workers.map(self._grow_on_some, alone))
        # what takes longest comes first: where there are few dimensions dips in graphs of all scales decide
        narrow_first = sorted(alone, key=lambda members: self.tables[members[0]].shape[1])
        list(self.workers.map(self.tree, narrow_first, threaded=not is_large))
        trees = [self.tree(members) for members in alone]
        groups = self._unite(
            [v for v, tree in zip(alone, trees, strict=True) if tree.n_clusters > 1], most_groups
        )
        rest = [v for v, tree in enumerate(trees) if tree.n_clusters == 1]
        together = self._find_together(rest)
        if together:
            groups = self._unite([*groups, together], most_groups)
        return self._join([v for v in rest if v not in together], groups)

    def _join(self, views: list[int], groups: list[Members]) -> list[Members]:
        """Return the groups with views that have no clusters of their own, and support those of a group."""
        joined: dict[Members, list[int]] = {group: [] for group in groups}
        for v in views if groups else []:
            best = max(groups, key=lambda group: self.support(v, self.group_tree(group)))
            if self.is_supported(v, self.group_tree(best)):
                joined[best].append(v)
        return [tuple(sorted((*group, *more))) for group, more in joined.items()]

    def _unite(self, groups: list[Members], most_groups: int) -> list[Members]:
        """Return the groups, those that support one another made one, best first, and as few as asked for."""
        if len(groups) > 1:
            list(self.workers.map(self._compared, sorted(v for group in groups for v in group)))
        agreement = {pair: self._agreement(*pair) for pair in combinations(groups, 2)}
        united = [[group] for group in groups]
        while len(united) > 1:
            means = {}
            for a, b in combinations(range(len(united)), 2):
                pairs = [(one, other) for one in united[a] for other in united[b]]
                means[a, b] = np.mean([agreement.get(pair, agreement.get(pair[::-1])) for pair in pairs])
            (a, b), mean = max(means.items(), key=lambda item: item[1])
            if mean < MUTUAL and len(united) <= most_groups:
                break
            united[a] += united.pop(b)
        return [tuple(sorted(v for group in parts for v in group)) for parts in united]

    def _find_together(self, views: list[int]) -> Members:
        """Return views that show clusters together and not alone, without those that do not support them."""
        while len(views) > 1:
            tree = self.tree(tuple(views))
            if tree.n_clusters == 1:
                break
            supporting = [v for v in views if self.is_supported(v, tree)]
            if len(supporting) == len(views):
                return tuple(views)
            views = supporting
        return ()

    def _agreement(self, one: Members, other: Members) -> float:
        """Return how well two groups support each other's clusters, over how well they support their own: a mean.

        It is 0 if one of them says that clusters of the other are one: where these cut its own clusters, neighbours do
        not tell them apart.
        """
        shares = []
        for mine, yours in ((one, other), (other, one)):
            trees = self.group_tree(mine), self.group_tree(yours)
            own, of_others = (sum(self.support(v, tree) for v in mine) for tree in trees)
            shares.append(of_others / max(own, np.finfo(float).tiny))
            labels = [tree.labels for tree in trees]
            within = [max(support_within(near, *labels) for near in self._compared(v)) for v in mine]
            if np.mean(within) < TOLD_APART / np.sqrt(len(self.rows)):
                return 0.0
        return float(np.mean(shares))

    def support(self, v: int, tree: ClusterTree) -> float:
        """Return how well a view supports the clusters of a tree, features compared as suits them best."""
        return max(support(near, tree.labels) for near in self._compared(v))

    def is_supported(self, v: int, tree: ClusterTree) -> bool:
        """Return whether a view supports the clusters of a tree more than it would by chance."""
        rng, labels = np.random.default_rng(SEED), tree.labels
        shuffled = [shuffle_seen(labels, rng) for _ in range(SHUFFLES)]
        for near in self._compared(v):
            chances = np.array([support(near, each) for each in shuffled])
            if support(near, labels) > chances.mean() + CHANCE * chances.std():
                return True
        return False

    def _compared(self, v: int) -> list[Indices]:
        found, sizes = [], local_sizes(len(self.rows))
        k = min(sizes[0], len(self.rows) - 1)
        for comparison in list_comparisons([self.tables[v]]):
            if (v, comparison) not in self._neighbours:
                coordinates = compare_samples(self._sampled[v], comparison)
                # as many as a search for splits finds and keeps, so that ties fall as they do there
                self._neighbours[v, comparison] = find_neighbours(coordinates, sizes[-1])
            found.append(self._neighbours[v, comparison][:, :k])
        return found


class LookCount:
    """Counts the samples that have been searched for clusters, on many threads, and reports the share that is done.

    In one look no more than the landmarks count: broad graphs, which are of these alone, take most of the time.
    """

    def __init__(self, listener: Listener, sizes: Sequence[int], n_landmarks: int | None) -> None:
        self._listener, self._most, self._done, self._lock = listener, n_landmarks, 0, Lock()
        self._whole = sum(map(self._weigh, sizes))
        listener.looked(0, self._whole)

    def _weigh(self, n: int) -> int:
        return n if self._most is None else min(n, self._most)

    def add(self, n: int) -> None:
        """Add a look at n samples."""
        with self._lock:
            self._done += self._weigh(n)
            self._listener.looked(self._done, self._whole)


def name_neighbours(members: Members, found: FoundNeighbours) -> dict[tuple[int, str], Indices]:
    """Return neighbours by view and comparison, given those in each of some views."""
    return {(v, how): near for how, each in found.items() for v, near in zip(members, each, strict=False)}


def _clustered_or_strongest(grow: Callable[[Members], ClusterTree], members: Members) -> ClusterTree:
    tree = grow(members)
    if tree.n_clusters > 1 or len(members) == 1:
        return tree
    return max((grow((v,)) for v in members), key=lambda each: each.strength)
