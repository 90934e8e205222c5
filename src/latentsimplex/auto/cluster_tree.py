"""A hierarchy of clusters from coarse to fine: samples are split wherever there is evidence, and pieces again.

The strongest split comes first. A split of a piece needs more evidence than one of all samples, since the piece was cut
out of the same data. Distances within a piece are those between all samples: standardised anew, a piece that is long
because its clusters lie side by side would be made round. Where clusters lie far apart, standardising anew shows finer
ones, so that both are looked at. In tables of very many features no few of them decide the shape of a piece, which is
standardised anew alone. The tree gives the clusters, how many there are, the levels on the way and the evidence for
each number of clusters.

Whether a split is real is itself uncertain, taken or refused. With p the belief in the split that parts two samples,
they are together with probability 1 - p, so that one cluster is not certain where groups are possible.

A sample has edges in the views that it is in. A piece may hold too few samples of a view for that view to be used;
samples that no other view has then follow the majority, until their neighbours in the whole view vote on their
memberships (:mod:`latentsimplex.auto.neighbour_votes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from operator import call
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from latentsimplex.auto.asked_clusters import cut_into
from latentsimplex.auto.splits import LEAST_CLUSTER, Margins, Split, find_split
from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.partial_table import PartialTable, count_present
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import WideTable, find_varying
from latentsimplex.checkpoints.checkpoint import Checkpoint
from latentsimplex.neighbours.graph_sizes import FoundNeighbours
from latentsimplex.similarity.comparisons import compare_views

WITHIN = Margins(local=1.5, broad=2.0)
"""How many times more evidence a split of a piece needs than one of all samples: more in broad graphs, to which the
ends of a bent piece are as near as clusters that overlap."""
EVEN, SURER = 0.7, 4.5
"""The strength at which a split is as likely real as not, and how fast log odds grow with it. Chosen by eye on splits
of pieces of public tables: about 2, 5, 8 and 9 of 10 pairs that splits of strength 0.5, 0.8, 1.2 and 1.5 part are of
different classes (22, 5, 4 and 14 splits). The curve is surer by up to a tenth: splits of all samples are few there."""
WORTH_SENDING, SENT_WHOLE = 4_000, 50_000
"""Samples of pieces that are sent to the workers of a cluster: fewer are looked at sooner here, and of a larger piece
all workers search the neighbours together."""
LEAST_SEEN = 2 * LEAST_CLUSTER + 2
"""The fewest samples of a piece that a view must have to be looked at."""
NEGLIGIBLE = 1e-6
"""A column of X without a larger entry says nothing."""


def believe(strength: float) -> float:
    """Return the probability that a split of this strength is real.

    >>> [round(believe(strength), 2) for strength in (-np.inf, 0.0, 0.6, 1.0, 2.0)]
    [0.0, 0.04, 0.39, 0.79, 1.0]
    """
    return float(expit(SURER * (strength - EVEN)))


class Bounds(NamedTuple):
    """The fewest and the most clusters that there may be; no most is as many as the data show."""

    least: int = 1
    most: int | None = None

    @property
    def exactly(self) -> int | None:
        """The number of clusters, where it is given."""
        return self.least if self.least == self.most and self.least > 1 else None


class Node(NamedTuple):
    """Samples of a tree, by index, the node that they are a piece of, -1 for none, and how they would be split."""

    rows: Indices
    parent: int
    split: Split | None

    @property
    def strength(self) -> float:
        """The strength of the split, -inf where there is none."""
        return -np.inf if self.split is None else self.split.strength


def count_nats(split: Split) -> float:
    """Return the evidence for a split in nats, beyond what is needed: half the squares of standard deviations."""
    return (split.depth * abs(split.depth) - split.needed**2) / 2


class Level(NamedTuple):
    """Clusters (n,) and the evidence for them, in nats a sample: what is beyond a structure without clusters."""

    labels: np.ndarray
    evidence: float


@dataclass(frozen=True)
class ClusterTree:
    """Splits of samples in the order of their strength.

    Attributes
    ----------
    levels : list of Level
        The first has one cluster, the last is the finest that there is evidence for, or that was asked for.
    evidence : array
        For k = 1, 2, ... clusters, in nats a sample: up to the splits that are no longer believed.
    nodes : list of Node
        All samples, pieces and pieces of pieces, with the split that each has, or would have; none where the number of
        clusters was given.
    comparison : str
        How features are compared: as the first split did.
    is_broad : bool
        Whether all splits took broad graphs, as overlapping clusters do.
    strength : float
        That of the first split: 1 or more is believed.
    """

    levels: list[Level]
    evidence: Array
    nodes: list[Node]
    comparison: str
    is_broad: bool
    strength: float

    @property
    def labels(self) -> np.ndarray:
        """The clusters (n,)."""
        return self.levels[-1].labels

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return int(self.labels.max()) + 1

    def average_numbers(self, W: Array) -> Array:
        """Return X, co-assignments averaged over numbers of clusters being X X^T.

        Column k of the memberships W (n, g) belongs to cluster k. Along a branch beliefs do not rise, so that X has a
        column for each node, weighed by how much more its samples are together than those of its parent.
        """
        beliefs: list[float] = []
        for node in self.nodes:
            above = beliefs[node.parent] if node.parent >= 0 else 1.0
            beliefs.append(min(above, believe(node.strength)))
        inner, columns = {node.parent for node in self.nodes}, []
        for i, node in enumerate(self.nodes):
            above = beliefs[node.parent] if node.parent >= 0 else 1.0
            members = W[:, np.flatnonzero(np.bincount(self.labels[node.rows]))].sum(axis=1)
            columns.append(np.sqrt(above - beliefs[i]) * members)
            if i not in inner and node.split is not None:
                sides = np.full((len(W), int(node.split.labels.max()) + 1), 1.0)
                sides /= sides.shape[1]
                sides[node.rows] = np.eye(sides.shape[1])[node.split.labels]
                columns += list(np.sqrt(beliefs[i]) * members * sides.T)
        X = np.column_stack(columns) if columns else W
        return X[:, (X > NEGLIGIBLE).any(axis=0)]

    def take(self, rows: Indices) -> ClusterTree:
        """Return the same clusters of some of the samples, without the splits."""
        levels = [Level(level.labels[rows], level.evidence) for level in self.levels]
        return replace(self, levels=levels, nodes=[])

    def spread(self, rows: Indices, n: int) -> ClusterTree:
        """Return the tree of n samples, of which it was grown on these rows; others have no cluster, -1."""

        def spread_labels(labels: np.ndarray) -> np.ndarray:
            every = np.full(n, -1, dtype=labels.dtype)
            every[rows] = labels
            return every

        levels = [Level(spread_labels(level.labels), level.evidence) for level in self.levels]
        nodes = [node._replace(rows=rows[node.rows]) for node in self.nodes]
        return replace(self, levels=levels, nodes=nodes)


def grow_tree(
    tables: Sequence[Any],
    bounds: Bounds,
    workers: Workers,
    n_landmarks: int | None = None,
    checkpoint: Checkpoint | None = None,
    tell: Callable[[int], object] | None = None,
    compared: str | None = None,
    found: FoundNeighbours | None = None,
) -> ClusterTree:
    """Return the tree of clusters that views show together; broad graphs are of ``n_landmarks`` samples, None for all.

    Samples in none of the views have no cluster, -1. A checkpoint keeps each split, and ``tell`` hears how many
    samples each look had. ``compared`` is how features are compared, if that is known. ``found`` receives neighbours of
    all samples.
    """
    n = len(tables[0])
    if (seen := find_seen(tables)) is not None:
        how = (bounds, workers, n_landmarks, checkpoint, tell, compared)
        return grow_tree([X[seen] for X in tables], *how).spread(seen, n)
    most = n if bounds.most is None else bounds.most
    find = partial(find_split_of_seen, workers=workers, n_landmarks=n_landmarks)
    first = partial(find, tables, exactly=bounds.exactly, compared=compared, found=found)
    root = Node(np.arange(n), -1, first() if checkpoint is None else recall_split(checkpoint, first))
    comparison = "as they are" if root.split is None else root.split.comparison
    if tell is not None:
        tell(n)

    @cache
    def place_all() -> list[Any]:
        """Return coordinates of all samples."""
        return compare_views([X for X in tables if find_varying(X).any()], comparison, workers)

    of_table = False
    again: str | None = "as they are"
    if comparison == "standardised":
        of_table = any(map(holds_wide_table, tables))  # coordinates of a wide table are not its features
        again = comparison if of_table else None  # None is both ways
    # where their number is given, splits are compared with one another and not with a single cluster
    margins = WITHIN if bounds.exactly is None else Margins(WITHIN.local, WITHIN.local)
    further = partial(find, margins=margins, exactly=0, compared=again)

    def find_each(chosen: list[Indices]) -> Iterator[Split | None]:
        return find_splits_of(tables if of_table else place_all(), chosen, further, workers)

    def cut_leaf(leaf: int) -> list[Indices]:
        rows, split = nodes[leaf].rows, nodes[leaf].split
        assert split is not None
        pieces = cut_pieces(rows, split, most - len(leaves) + 1)
        return join_pieces(place_all(), pieces, workers) if len(pieces) <= split.labels.max() else pieces

    def look_at(leaf: int) -> list[Node]:
        """Return the pieces of a leaf; where all believed splits will be made, the others are looked at with it."""
        if leaf not in looked:
            others = [] if bounds.most is not None else [i for i in leaves if i != leaf and i not in looked]
            chosen = [leaf, *(other for other in others if nodes[other].strength >= 1)]
            pieces = [(each, rows) for each in chosen for rows in cut_leaf(each)]
            splits = recall_splits(checkpoint, find_each, [rows for _, rows in pieces])
            for (each, rows), split in zip(pieces, splits, strict=True):
                if tell is not None:
                    tell(len(rows))
                looked.setdefault(each, []).append(Node(rows, each, split))
        return looked.pop(leaf)

    nodes, leaves, taken = [root], [0], []
    looked: dict[int, list[Node]] = {}
    levels, evidence = [Level(np.zeros(n, dtype=np.intp), 0.0)], [0.0]
    while len(leaves) < most:
        leaf = max(leaves, key=lambda each: nodes[each].strength)
        split = nodes[leaf].split
        if split is None or (split.strength < 1 and len(leaves) >= bounds.least):
            break
        pieces = look_at(leaf)
        leaves.remove(leaf)
        leaves += range(len(nodes), len(nodes) + len(pieces))
        nodes += pieces
        taken.append(split)
        labels = np.empty(n, dtype=np.intp)
        for k, each in enumerate(leaves):
            labels[nodes[each].rows] = k
        evidence += [evidence[-1]] * (len(pieces) - 2) + [evidence[-1] + count_nats(split) / n]
        levels.append(Level(labels, evidence[-1]))
    is_broad = bool(taken) and all(split.is_broad for split in taken)
    if bounds.exactly is not None and root.split is not None:
        cut = partial(cut_into, place_all(), bounds.exactly, levels[-1].labels, workers)
        labels = cut() if checkpoint is None else checkpoint.recall("cut", cut)
        if not np.array_equal(labels, levels[-1].labels):
            levels, is_broad = [levels[0], Level(labels, levels[-1].evidence)], False
    refused = [count_nats(split) for split in (nodes[each].split for each in leaves) if split is not None]
    for nats in sorted(refused, reverse=True)[: max(0, most - len(leaves))]:
        evidence.append(evidence[-1] + nats / n)
    return ClusterTree(
        levels,
        np.array(evidence),
        nodes if bounds.exactly is None else [],
        comparison,
        is_broad,
        root.strength,
    )


def find_splits_of(
    tables: Sequence[Any],
    pieces: Sequence[Indices],
    find: Callable[..., Split | None],
    workers: Workers,
) -> Iterator[Split | None]:
    """Yield the split of each piece of the samples, in order.

    Pieces are looked at side by side but for the largest, where it is twice as large as all others together: work on it
    is shared out.
    """

    def take(rows: Indices) -> list[Any]:
        return [X[rows] for X in tables]

    sizes = [len(rows) for rows in pieces]
    if sum(sizes) >= WORTH_SENDING and max(sizes) <= SENT_WHOLE:
        yield from workers.spread(call, find, pieces, take)
        return
    largest = int(np.argmax(sizes)) if max(sizes) > 2 / 3 * sum(sizes) else None
    alone = None if largest is None else find(take(pieces[largest]))
    others = workers.map(
        lambda rows: find(take(rows)), [rows for i, rows in enumerate(pieces) if i != largest]
    )
    for i in range(len(pieces)):
        yield alone if i == largest else next(others)


def recall_split(
    checkpoint: Checkpoint, find: Callable[[], Split | None], rows: Indices | None = None
) -> Split | None:
    """Return the split of some samples of a tree, None for all, that a checkpoint has kept; or find it."""
    return checkpoint.recall("split", find, rows, types=(Split,))


def recall_splits(
    checkpoint: Checkpoint | None,
    find: Callable[[list[Indices]], Iterator[Split | None]],
    pieces: list[Indices],
) -> Iterator[Split | None]:
    """Yield the splits of pieces of a tree: those that a checkpoint has kept, and others found."""
    if checkpoint is None:
        return find(pieces)
    return checkpoint.recall_each(
        "split", lambda chosen: find([pieces[i] for i in chosen]), [(rows,) for rows in pieces], (Split,)
    )


def cut_pieces(rows: Indices, split: Split, most: int) -> list[Indices]:
    """Return the pieces into which a split cuts samples, so many at most: the smallest are left together."""
    sizes = np.bincount(split.labels)
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty(len(sizes), dtype=np.intp)
    rank[order] = np.minimum(np.arange(len(sizes)), most - 1)
    return [rows[rank[split.labels] == k] for k in range(min(most, int((sizes > 0).sum())))]


def join_pieces(coordinates: Sequence[Any], pieces: Sequence[Indices], workers: Workers) -> list[Indices]:
    """Return as many pieces of the same samples, cut anew where clearly fewer edges leave them, the largest first."""
    rows = np.sort(np.concatenate(pieces))
    before = np.empty(len(rows), dtype=np.intp)
    for k, piece in enumerate(pieces):
        before[np.searchsorted(rows, piece)] = k
    labels = cut_into([Z[rows] for Z in coordinates], len(pieces), before, workers)
    if labels is before:
        return list(pieces)
    return sorted((rows[labels == k] for k in range(len(pieces))), key=len, reverse=True)


def holds_wide_table(X: Any) -> bool:
    """Return whether a view, or what it has of some samples, is a wide table."""
    return isinstance(X.values if isinstance(X, PartialTable) else X, WideTable)


def sample_each_view(tables: Sequence[Any], most: int, least: int) -> Indices:
    """Return at most so many samples, in order, and others where a view that lacks some would have too few of them.

    >>> few = PartialTable(np.zeros((2, 1)), np.array([7, 9]), 10)
    >>> set(sample_each_view([np.zeros((10, 1)), few], 3, 2)) >= {7, 9}
    True
    """
    rows = sample_rows(len(tables[0]), most)
    partial = [X.rows for X in tables if isinstance(X, PartialTable)]
    return np.unique(np.concatenate([rows, *(own[sample_rows(len(own), least)] for own in partial)]))


def find_seen(tables: Sequence[Any]) -> Indices | None:
    """Return the samples that a view with more than one value has; None if these are all.

    >>> part = PartialTable(np.array([[0.0], [1.0]]), np.array([0, 2]), 3)
    >>> find_seen([part]).tolist(), find_seen([part, np.eye(3)])
    ([0, 2], None)
    """
    if not any(isinstance(X, PartialTable) for X in tables):
        return None
    varying = [X for X in tables if find_varying(X).any()]
    if not varying or not all(isinstance(X, PartialTable) for X in varying):
        return None
    seen = np.any([X.present for X in varying], axis=0)
    return None if seen.all() else np.flatnonzero(seen)


def find_split_of_seen(tables: Sequence[Any], workers: Workers, **how: Any) -> Split | None:
    """Return the best way to cut samples, as :func:`find_split` does, where views may lack some of them."""
    if not any(isinstance(X, PartialTable) for X in tables):
        return find_split(tables, workers, **how)
    n, tables = len(tables[0]), [X for X in tables if count_present(X) >= min(LEAST_SEEN, len(X))]
    seen = find_seen(tables)
    if seen is None or not tables:
        return find_split(tables, workers, **how)
    split = find_split([X[seen] for X in tables], workers, **how)
    if split is None:
        return None
    labels, sureness = np.full(n, np.bincount(split.labels).argmax()), None
    labels[seen] = split.labels
    if split.sureness is not None:
        sureness = np.zeros(n)
        sureness[seen] = split.sureness
    return split._replace(labels=labels, sureness=sureness)
