"""Views found in one wide table: columns whose joint geometry shows clusters, grouped by which clusters they show.

1. Columns that depend on some other one are linked, those that depend on each other most first, and the hierarchy is
   cut at several heights (:mod:`latentsimplex.columns.dependence`). Each group is a candidate.
2. A candidate is judged as a view would be: by a tree of its columns together
   (:mod:`latentsimplex.auto.cluster_tree`). Columns may depend on each other without any clusters; such a group has no
   evidence. That of others is the gain of its columns by clusters that the other columns show
   (:mod:`latentsimplex.columns.column_gains`). Wherever the parts of a group have more evidence than the whole, it is
   taken apart.
3. Groups are also grown from pairs of the other columns, by clusters that several columns agree on where pairs alone do
   not surely depend on each other (:mod:`latentsimplex.columns.grown_groups`), and judged in the same way.
4. Views whose clusters explain each other's columns are made one if that is more evidence. Then each column goes to the
   view by whose clusters it gains most, if it gains at all, and trees are grown again, until no column moves.

Columns that gain from no clusters are noise, and in no view. A view has two columns or more: what single columns show
is seen with ``views="columns"``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import entropy

from latentsimplex.auto.cluster_tree import Bounds, ClusterTree, grow_tree
from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array
from latentsimplex.columns.column_gains import measure_gains, measure_rarity
from latentsimplex.columns.dependence import (
    dependence_at,
    make_polynomials,
    measure_dependence,
    normal_scores,
    strongest_dependence,
    strongest_pairs,
)
from latentsimplex.columns.grown_groups import grow_groups
from latentsimplex.inputs.found_columns import FoundColumns

GROUPED_BY = 2000
"""Samples by which columns are grouped, drawn at random where there are more."""
LINKED_CHANCE, SURE_CHANCE = 0.05, 0.05
"""The probability that a column of noise is linked to any other, and that any two in a whole table of noise surely
depend on each other; a candidate has such a pair."""
LOOSE_CHANCE = 0.01
"""Groups as large as candidates get: between them pairs depend on each other less, on average, than one pair in a
hundred does by chance."""
HEIGHT_RATIO = 2.0
"""From each height at which the hierarchy is cut to the next."""
MOST_LINKED = 4000
"""Columns that are linked, those that depend on others most; the rest may join the views of these."""
MOST_CANDIDATES = 100
"""Groups that are judged, those with most dependence in them; each takes up to a second."""
MOST_PAIRS, MOST_GROWN = 10_000, 3_000_000
"""Pairs that groups are grown from, those that depend on each other most, and these times the samples: memory and time
grow with both, to about half a gigabyte."""
EXCHANGED = 0.25
"""The share of the evidence of two views that must be there with their clusters exchanged, to look at them together."""
MUTUAL = 0.5
"""The share of the information in the clusters of one view that is in those of another, if they are one view. Between
independent clusters there is next to none; coarse clusters and their subclusters share all that there is."""
MOST_ROUNDS = 6
"""How often columns are moved: in simulations none moves after the third time."""

Members = tuple[int, ...]
"""Columns of a group, in order."""


def find_views(table: Array, workers: Workers) -> FoundColumns:
    """Return the views among the columns of a table (n, p), which may have missing cells; the largest first."""
    judge = Judge(table[sample_rows(len(table), GROUPED_BY)], workers)
    groups = choose_groups(list_candidates(judge.scores), judge)
    groups = grow_more_groups(groups, judge)
    for _ in range(MOST_ROUNDS):
        before = groups
        groups = move_columns(merge_groups(groups, judge), judge)
        if groups == before:
            break
    groups = sorted(groups, key=lambda members: (-len(members), members))
    views = np.full(table.shape[1], -1, dtype=np.intp)
    for v, members in enumerate(groups):
        views[list(members)] = v
    gains = [judge.gains(members) for members in groups]
    return FoundColumns(views, np.array(gains).T if gains else np.empty((len(views), 0)))


class Judge:
    """Columns, their normal scores, and the tree and the gains of each group of them that was looked at."""

    def __init__(self, table: Array, workers: Workers) -> None:
        self.table, self.scores, self.workers = table, normal_scores(table), workers
        self.rarity = measure_rarity(self.scores)
        self._trees: dict[Members, ClusterTree] = {}
        self._gains: dict[Members, Array] = {}

    def look(self, groups: Sequence[Members]) -> None:
        """Grow the trees of groups that were not looked at yet, several at a time."""
        new = [members for members in dict.fromkeys(groups) if members not in self._trees]
        self._trees |= dict(zip(new, self.workers.map(self._grow, new), strict=True))

    def tree(self, members: Members) -> ClusterTree:
        """Return the clusters of samples that a group of columns shows together."""
        self.look([members])
        return self._trees[members]

    def _grow(self, members: Members) -> ClusterTree:
        return grow_tree([self.table[:, members]], Bounds(), self.workers, compared="standardised")

    def gains(self, members: Members) -> Array:
        """Return what the clusters of a group explain of every column (p,); of none if it shows no clusters."""
        if members not in self._gains:
            tree, p = self.tree(members), self.table.shape[1]
            self._gains[members] = (
                measure_gains(self.scores, self.rarity, np.array(members), tree.labels)
                if tree.n_clusters > 1
                else np.full(p, -np.inf)
            )
        return self._gains[members]

    def share_clusters(self, one: Members, other: Members) -> bool:
        """Return whether two groups show the same clusters, or one shows subclusters of the other's."""
        return shared_information(self.tree(one).labels, self.tree(other).labels) >= MUTUAL

    def evidence(self, members: Members, by: Members | None = None) -> float:
        """Return what the clusters of a group, or of another one, explain of its columns in all."""
        return float(np.maximum(self.gains(by or members)[list(members)], 0.0).sum())


def shared_information(one: np.ndarray, other: np.ndarray) -> float:
    """Return the mutual information of two clusterings (n,), over the smaller of their entropies.

    >>> round(shared_information(np.array([0, 0, 1, 1]), np.array([0, 1, 2, 2])), 6)
    1.0
    """
    counts = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(counts, (one, other), 1.0)
    entropies = [entropy(counts.sum(axis=axis)) for axis in (0, 1)]
    shared = sum(entropies) - entropy(counts.ravel())
    return float(shared / max(min(entropies), np.finfo(float).tiny))


def list_candidates(scores: Array) -> list[Members]:
    """Return groups of columns that depend on each other, the smallest first: nested, or without a common column."""
    p = scores.shape[1]
    polynomials = make_polynomials(scores)
    strongest = strongest_dependence(polynomials)
    linked = np.flatnonzero(strongest > dependence_at(LINKED_CHANCE / p))
    linked = np.sort(linked[np.argsort(-strongest[linked], kind="stable")[:MOST_LINKED]])
    if len(linked) < 2:
        return []
    S = measure_dependence(polynomials, linked, linked).astype(np.float64)
    np.fill_diagonal(S, 0.0)
    top = S.max() + 1.0
    distances = squareform(top - S, checks=False) if len(linked) > 2 else np.array([top - S[0, 1]])
    hierarchy = linkage(distances, "average")
    found: dict[Members, float] = {}
    sure = dependence_at(SURE_CHANCE / (p * (p - 1) / 2))
    for height in _heights(dependence_at(LOOSE_CHANCE), sure, float(S.max())):
        groups = fcluster(hierarchy, top - height, "distance")
        order = np.argsort(groups, kind="stable")
        for own in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
            inside = S[np.ix_(own, own)] if len(own) > 1 else np.zeros(1)
            if inside.max() > sure:
                found[tuple(linked[own].tolist())] = float(inside.sum())
    kept = sorted(found, key=lambda members: (-found[members], members))[:MOST_CANDIDATES]
    return sorted(kept, key=lambda members: (len(members), members))


def _heights(loose: float, sure: float, largest: float) -> list[float]:
    heights = [loose, max(sure, loose)]
    while heights[-1] * HEIGHT_RATIO < largest:
        heights.append(heights[-1] * HEIGHT_RATIO)
    return heights


def choose_groups(candidates: list[Members], judge: Judge) -> list[Members]:
    """Return groups without a common column that have most evidence together, of nested ones, the smallest first."""
    judge.look(candidates)
    best: dict[Members, tuple[float, list[Members]]] = {}
    for members in candidates:
        inside = set(members)
        parts = [each for each in best if inside.issuperset(each)]
        chosen = [group for part in parts for group in best[part][1]]
        own, of_parts = judge.evidence(members), sum(best[part][0] for part in parts)
        for part in parts:
            del best[part]
        best[members] = (of_parts, chosen) if of_parts >= own else (own, [members])
    return [group for _, chosen in best.values() for group in chosen]


def grow_more_groups(groups: list[Members], judge: Judge) -> list[Members]:
    """Return the groups and those grown from pairs of other columns, which need more evidence than all they meet."""
    rest = np.setdiff1d(np.arange(judge.scores.shape[1]), [j for members in groups for j in members])
    most = min(MOST_PAIRS, MOST_GROWN // len(judge.scores))
    pairs = rest[strongest_pairs(make_polynomials(judge.scores[:, rest]), most)]
    grown = grow_groups(judge.scores, pairs)[:MOST_CANDIDATES]
    judge.look(grown)
    kept = list(groups)
    for members in grown:
        met = [each for each in kept if not set(members).isdisjoint(each)]
        if judge.evidence(members) > sum(judge.evidence(each) for each in met):
            kept = [each for each in kept if each not in met] + [members]
    return kept


def merge_groups(groups: list[Members], judge: Judge) -> list[Members]:
    """Return the groups, those made one whose columns gain more from the clusters that they show together."""
    groups = list(groups)
    refused: set[Members] = set()
    while True:
        shared = {}
        for one, other in combinations(groups, 2):
            own = judge.evidence(one) + judge.evidence(other)
            exchanged = judge.evidence(one, by=other) + judge.evidence(other, by=one)
            if exchanged > EXCHANGED * own:
                shared[tuple(sorted(one + other))] = (exchanged, own, one, other)
        tried = [both for both in sorted(shared, key=lambda both: -shared[both][0]) if both not in refused]
        if not tried:
            return groups
        _, own, one, other = shared[tried[0]]
        if judge.evidence(tried[0]) > own or judge.share_clusters(one, other):
            groups = [members for members in groups if members not in (one, other)] + [tried[0]]
        else:
            refused.add(tried[0])


def move_columns(groups: list[Members], judge: Judge) -> list[Members]:
    """Return the groups with each column in the one by whose clusters it gains most, or in none."""
    if not groups:
        return []
    gains = np.array([judge.gains(members) for members in groups])
    best = np.where(gains.max(axis=0) > 0, gains.argmax(axis=0), -1)
    moved = [tuple(np.flatnonzero(best == v).tolist()) for v in range(len(groups))]
    moved = [members for members in moved if len(members) > 1]
    judge.look(moved)
    return [members for members in moved if judge.tree(members).n_clusters > 1]
