"""Semi-supervised clusters: cut where labelled classes separate, joined where one class was cut.

A cluster may hold samples of two chunks that are known to differ. Whether neighbours tell them apart is a question that
the known samples answer: each is predicted from the others. With l the log-likelihood of these predictions and h that
of guessing by the shares of the two, l + h nats are saved of the h that there are. A cut is made where they are more
than ``LEAST_NATS``, and more than ``LEAST_SHARE`` of h: with fewer, most samples would fall on either side by chance.

Cuts that are tried are the one that the views themselves showed, without enough evidence, and the one between the
seeds: random walks start at each sample, fade, and count how often they meet samples of either chunk.

Where most samples of a cluster are in large chunks, neighbours need not tell them apart: few are left to fall on either
side by chance. Such a cluster is cut between its chunks, whose samples stay together, unless labels and links as a
whole are about no clusters that the views show: those drawn at random would otherwise take the place of clusters.

Two clusters are joined if most of what is known of each is one chunk. Where clusters were cut or joined, samples then
follow the seeds: each goes to the cluster that walks from it meet most of, but for those of large chunks, which stay in
the cluster of their chunk. A cluster is dissolved if most of its samples are of large chunks that belong elsewhere. In
the end there may be clusters that nothing is known of: those are new classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from latentsimplex.auto.cluster_tree import Bounds, ClusterTree, Level, Node
from latentsimplex.auto.shared_clusters import ClusteredViews, SharedClusters
from latentsimplex.auto.splits import LEAST_CLUSTER, Split
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import find_varying
from latentsimplex.known.chunks import Chunks, tie_samples
from latentsimplex.known.known_samples import Known
from latentsimplex.known.labelled_pattern import find_labelled_pattern
from latentsimplex.neighbours.graph_sizes import FEW_NEIGHBOURS
from latentsimplex.neighbours.neighbour_graphs import find_neighbours, join_neighbours
from latentsimplex.similarity.comparisons import compare_views

LEAST_NATS, LEAST_SHARE = 3.0, 0.4
"""What predictions must save: odds of twenty to one, and two fifths of what guesses lack. To cut a cluster costs half
of the information in the cut, on the scale of normalised mutual information, for any that it tells of classes."""
FADING, WALK = 0.9, 44
"""Of random walks, the share that goes on at each step, and the steps after which a hundredth is left."""
FOLDS = 10
"""Parts of the known samples, each predicted from the others."""
SHARPNESS = (0.5, 1.0, 2.0, 4.0)
"""Powers of predictions that are tried: walks count few samples and many alike."""
LEAST_MET = 1e-3
"""What a walk meets of either chunk at least, so that no prediction is certain."""
LEAST_JOINED = 3
"""Known samples of a chunk in each of two clusters that are joined for it."""
MOST_KNOWN = 0.5
"""The share of a cluster's samples in large chunks, above which they tell by themselves where it parts."""
UNSEEDED = 0.1
"""What a sample that nothing is known of counts for its own cluster, beside a seed for its chunk's."""
BELIEVED = 3.0
"""The strength of a cut that labels ask for: it is as good as certain."""


class Cut(NamedTuple):
    """A cut of a cluster: the sides of its samples, 0 or 1, the nats that it saves and their share of all."""

    sides: np.ndarray
    nats: float
    share: float

    @property
    def is_believed(self) -> bool:
        """Whether it saves enough."""
        return self.nats >= LEAST_NATS and self.share >= LEAST_SHARE


def inform_splits(
    tables: Sequence[Any], shared: SharedClusters, known: Known, bounds: Bounds, workers: Workers
) -> SharedClusters:
    """Return the clusters that views share, with those of the group that labels and links are about cut and joined.

    Where views show no clusters, all of them together are looked at for those that labels ask for. The number of
    clusters stays within its bounds.
    """
    groups = shared.groups
    if not groups and shared.others is not None:
        everyone = tuple(v for v, X in enumerate(tables) if find_varying(X).any())
        groups = [ClusteredViews(everyone, shared.others)] if everyone else []
    if not groups:
        return shared
    probabilities = find_labelled_pattern(known, [group.tree.labels for group in groups])
    spoken = int(probabilities[:-1].argmax())
    members, tree = groups[spoken]
    is_about = bool(probabilities[spoken] > probabilities[-1])
    chunks = tie_samples(known).leave_out_doubtful()._replace(are_about=is_about)
    informed = inform_tree([tables[v] for v in members], tree, chunks, bounds, workers)
    if informed is tree or informed.n_clusters == 1:
        return shared
    found = [ClusteredViews(members, informed) if group is groups[spoken] else group for group in groups]
    return shared._replace(groups=found, others=shared.others if shared.groups else None)


def inform_tree(
    tables: Sequence[Any], tree: ClusterTree, chunks: Chunks, bounds: Bounds, workers: Workers
) -> ClusterTree:
    """Return a tree with clusters cut and joined by what is known, the last of its levels; the same if none are.

    Samples in none of the views have no cluster, -1, before and after.
    """
    n, seen = len(tree.labels), np.flatnonzero(tree.labels >= 0)
    if len(seen) < n:
        nodes = [node._replace(rows=np.searchsorted(seen, node.rows)) for node in tree.nodes]
        some = replace(tree.take(seen), nodes=nodes)
        theirs = chunks._replace(of_samples=chunks.of_samples[seen])
        informed = inform_tree([X[seen] for X in tables], some, theirs, bounds, workers)
        return tree if informed is some else informed.spread(seen, n)
    coordinates = compare_views([X for X in tables if find_varying(X).any()], tree.comparison)
    k = min(FEW_NEIGHBOURS, n - 1)
    graph = join_neighbours([find_neighbours(Z, k, workers) for Z in coordinates], k)
    labels, nodes = cut_clusters(graph, tree, chunks, bounds.most)
    labels, joined = join_clusters(labels, chunks, bounds.least)
    if not joined and labels.max() == tree.labels.max():
        return tree
    followed = follow_seeds(walk_on(graph), labels, chunks)
    if followed.max() + 1 < bounds.least:
        followed = labels
    if joined or (followed != labels).any():
        nodes = []  # clusters that were joined, or have other samples, are no nodes of the tree
    return replace(tree, levels=[*tree.levels, Level(followed, tree.levels[-1].evidence)], nodes=nodes)


def cut_clusters(
    graph: sparse.csr_matrix, tree: ClusterTree, chunks: Chunks, most: int | None
) -> tuple[np.ndarray, list[Node]]:
    """Return the clusters of a tree (n,) cut where chunks part, and its nodes: the cuts that save most come first.

    There are no more than ``most`` clusters; None is no limit.
    """
    nodes, labels = list(tree.nodes), tree.labels.copy()
    believed: list[tuple[Cut, Indices, int | None]] = []

    def look(rows: Indices, leaf: int | None) -> None:
        refused = nodes[leaf].split if leaf is not None else None
        cut = find_cut(graph[rows][:, rows], rows, chunks, refused)
        if cut is not None and cut.is_believed:
            believed.append((cut, rows, leaf))

    if most is None or tree.n_clusters < most:
        for c in range(tree.n_clusters):
            look(np.flatnonzero(labels == c), _find_leaf(nodes, labels == c))
    while believed and (most is None or labels.max() + 1 < most):
        cut, rows, leaf = believed.pop(int(np.argmax([cut.nats for cut, _, _ in believed])))
        pieces = [rows[cut.sides == side] for side in (0, 1)]
        labels[pieces[1]] = labels.max() + 1
        places: list[int | None] = [None, None]
        if leaf is not None:
            split = Split(cut.sides, cut.nats, 0.0, BELIEVED, tree.comparison, False)
            nodes[leaf] = nodes[leaf]._replace(split=split)
            places = [len(nodes), len(nodes) + 1]
            nodes += [Node(piece, leaf, None) for piece in pieces]
        for piece, place in zip(pieces, places, strict=True):
            look(piece, place)
    return labels, nodes


def _find_leaf(nodes: list[Node], members: np.ndarray) -> int | None:
    """Return the node that has exactly these samples and is not cut; None where there is none."""
    inner = {node.parent for node in nodes}
    size = int(members.sum())
    found = (
        i
        for i, node in enumerate(nodes)
        if i not in inner and len(node.rows) == size and members[node.rows].all()
    )
    return next(found, None)


def find_cut(
    graph: sparse.csr_matrix, rows: Indices, chunks: Chunks, refused: Split | None = None
) -> Cut | None:
    """Return the cut of a cluster that saves most, between the chunk it has most of and one that is apart; or None."""
    counts = chunks.tally(rows)
    if not counts.any():
        return None
    largest, own = int(counts.argmax()), chunks.of_samples[rows]
    walk = walk_on(graph)
    best: Cut | None = None
    for other in np.flatnonzero(chunks.list_apart(largest) & (counts >= 2) & (counts[largest] >= 2)).tolist():
        seeds = np.where(own == largest, 0, np.where(own == other, 1, -1))
        for cut in list_cuts(walk, seeds, refused):
            smallest = int(np.bincount(cut.sides, minlength=2).min())
            if smallest >= LEAST_CLUSTER and (best is None or cut.nats > best.nats):
                best = cut
    if chunks.are_about and (best is None or not best.is_believed):
        return cut_between_chunks(walk, own, chunks) or best
    return best


def cut_between_chunks(walk: sparse.csr_matrix, own: Indices, chunks: Chunks) -> Cut | None:
    """Return the cut between the two largest chunks that are apart, of a cluster that is mostly in large ones; or None.

    ``own`` (n,) are the chunks of its samples, -1 for none. All samples of a large chunk are on one side.
    """
    counts = np.bincount(own[own >= 0], minlength=chunks.n_chunks)
    large = np.where(counts >= LEAST_CLUSTER, counts, 0)
    if large.sum() <= MOST_KNOWN * len(own):
        return None
    first = int(large.argmax())
    second = int(np.where(chunks.list_apart(first), large, 0).argmax())
    if second == first or not large[second]:
        return None
    sides = meet_seeds(walk, np.where(own == first, 0, np.where(own == second, 1, -1)))[0].argmax(axis=1)
    for chunk in np.flatnonzero(large).tolist():
        members = own == chunk
        sides[members] = {first: 0, second: 1}.get(chunk, int(2 * sides[members].sum() > members.sum()))
    told = np.array([large[first], large[second]])
    return Cut(sides, -float(told @ np.log(told / told.sum())), float(large.sum() / len(own)))


def list_cuts(walk: sparse.csr_matrix, seeds: Indices, refused: Split | None) -> Iterator[Cut]:
    """Yield the cuts between seeds, 0 or 1 and -1 elsewhere: that of the views, and that of walks."""
    known = seeds >= 0
    counts = np.bincount(seeds[known], minlength=2)
    h = -float(counts @ np.log(counts / counts.sum()))
    if refused is not None and refused.labels.max() == 1:
        table = np.array(
            [np.bincount(seeds[known & (refused.labels == side)], minlength=2) for side in (0, 1)]
        )
        nats = h + predict_by_side(table)
        turned = np.trace(table) < np.trace(table[::-1])
        yield Cut(1 - refused.labels if turned else refused.labels, nats, nats / h)
    met, unseen = meet_seeds(walk, seeds)
    p = unseen[known] / unseen[known].sum(axis=1, keepdims=True)
    right = np.arange(len(p)), seeds[known]
    best = max(float(np.log((p**c / (p**c).sum(axis=1, keepdims=True))[right]).sum()) for c in SHARPNESS)
    yield Cut(met.argmax(axis=1), h + best, (h + best) / h)


def predict_by_side(table: Array) -> float:
    """Return the log-likelihood of seeds, each predicted by the others on its side; a table of sides and seeds (2, 2).

    >>> round(predict_by_side(np.array([[3, 0], [0, 1]])), 2)
    -1.24
    """
    others = np.maximum(table - 1, 0) + 0.5
    return float((table * np.log(others / np.maximum(table.sum(axis=1, keepdims=True), 1))).sum())


def meet_seeds(walk: sparse.csr_matrix, seeds: Indices) -> tuple[Array, Array]:
    """Return how often fading walks from each sample meet either kind of seeds (n, 2), and how often unseen ones would.

    A seed is unseen by walks that start in its part of the seeds, so that none predicts itself. Both kinds count the
    same, whatever their numbers.
    """
    counts = np.bincount(seeds[seeds >= 0], minlength=2)
    Y = (seeds[:, None] == np.arange(2)) / counts
    part = np.full(len(seeds), -1)
    for kind in (0, 1):
        rows = np.random.default_rng(0).permutation(np.flatnonzero(seeds == kind))
        part[rows] = np.arange(len(rows)) % FOLDS
    met = walk_and_count(walk, Y)
    unseen = met.copy()
    for fold in range(min(FOLDS, int(part.max()) + 1)):
        unseen[part == fold] = walk_and_count(walk, np.where((part == fold)[:, None], 0.0, Y))[part == fold]
    # relative to what walks meet on average, so that the least is the same for few seeds and for many
    scale = met.mean() + np.finfo(float).tiny
    return met / scale + LEAST_MET, unseen / scale + LEAST_MET


def walk_on(graph: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return the random walk on a graph; one from a sample without edges stands still at nothing."""
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    return sparse.diags(1 / np.maximum(degrees, np.finfo(float).tiny)) @ graph


def follow_seeds(walk: sparse.csr_matrix, labels: np.ndarray, chunks: Chunks) -> np.ndarray:
    """Return clusters (n,) in which each sample is where walks from it meet most: seeds, or samples of a cluster.

    A seed stands for the cluster that has most of its chunk, others count a tenth for their own. Clusters without seeds
    stay as they are: nothing is known of them.
    """
    k, own = int(labels.max()) + 1, chunks.of_samples
    sizes = np.bincount(own[own >= 0], minlength=chunks.n_chunks)
    seeds = np.flatnonzero((own >= 0) & (sizes[own] >= 2))
    table = np.zeros((len(sizes), k))
    np.add.at(table, (own[seeds], labels[seeds]), 1)
    home = table.argmax(axis=1)
    Y = UNSEEDED * np.eye(k)[labels]
    Y[seeds] = np.eye(k)[home[own[seeds]]]
    has_seeds = np.isin(np.arange(k), home[own[seeds]])
    # most of some clusters is known, and belongs elsewhere
    is_large = (own >= 0) & (sizes[own] >= LEAST_CLUSTER) & chunks.are_about
    known = np.bincount(labels[is_large], minlength=k) > MOST_KNOWN * np.bincount(labels, minlength=k)
    met = walk_and_count(walk, Y)
    met[:, known & ~has_seeds] = 0.0
    found = met.argmax(axis=1)
    moves = (has_seeds | known)[labels] & has_seeds[found]
    found = np.where(moves, found, labels)
    stays = is_large & known[labels]
    found[stays] = home[own[stays]]
    return np.unique(found, return_inverse=True)[1].astype(np.intp)


def walk_and_count(walk: sparse.csr_matrix, Y: Array) -> Array:
    """Return sum_t fading^t walk^t Y: what walks from each sample meet, later steps counting less."""
    met, there = np.zeros_like(Y), Y
    for _ in range(WALK):
        there = FADING * (walk @ there)
        met += there
    return met


def join_clusters(labels: np.ndarray, chunks: Chunks, least: int = 1) -> tuple[np.ndarray, bool]:
    """Return clusters, those joined of which the same chunk is most that is known, and whether any were.

    At least ``least`` clusters are left.
    """
    labels, joined = labels.copy(), False
    while True:
        counts = np.array([chunks.tally(np.flatnonzero(labels == c)) for c in range(labels.max() + 1)])
        if not counts.size or len(counts) <= least:
            return labels, joined
        largest, most = counts.argmax(axis=1), counts.max(axis=1)
        clear = (most >= LEAST_JOINED) & (2 * most > counts.sum(axis=1))
        same = [
            (a, b)
            for a, b in combinations(range(len(counts)), 2)
            if largest[a] == largest[b] and clear[a] and clear[b]
        ]
        if not same:
            return labels, joined
        a, b = same[0]
        labels[labels == b] = a
        labels = np.unique(labels, return_inverse=True)[1].astype(np.intp)
        joined = True
