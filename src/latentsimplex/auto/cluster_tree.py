"""Clusters from coarse to fine: samples are split wherever there is evidence, and pieces again.

The strongest split comes first. What is asked of a split of a piece is more than of all samples, since a piece was cut
out by the same eye that looks at it. The tree gives the clusters, how many there are, the levels on the way and the
evidence for each number of clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from latentsimplex.auto.splits import Split, find_split
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import WideTable

WITHIN = 2.0
"""How many times more evidence a split of a piece needs than one of all samples."""


class Bounds(NamedTuple):
    """The fewest and the most clusters that there may be; no most is as many as the data show."""

    least: int = 1
    most: int | None = None

    @property
    def exactly(self) -> int | None:
        """The number of clusters, where it is given."""
        return self.least if self.least == self.most and self.least > 1 else None


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
    comparison : str
        How features are compared: as the first split did.
    is_broad : bool
        Whether all splits took broad graphs, as overlapping clusters do.
    strength : float
        That of the first split: 1 or more is believed.
    """

    levels: list[Level]
    evidence: Array
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


class _Leaf(NamedTuple):
    rows: Indices
    split: Split | None

    @property
    def strength(self) -> float:
        return -np.inf if self.split is None else self.split.strength


def grow_tree(tables: Sequence[Array | WideTable], bounds: Bounds, workers: Workers) -> ClusterTree:
    """Return the clusters of the samples that views show together."""
    n = len(tables[0])
    most = n if bounds.most is None else bounds.most

    def look(rows: Indices, is_whole: bool) -> _Leaf:
        if is_whole:
            return _Leaf(rows, find_split(tables, workers, exactly=bounds.exactly))
        return _Leaf(rows, find_split([_take(X, rows) for X in tables], workers, WITHIN, exactly=0))

    root = look(np.arange(n), True)
    leaves, taken = [root], []
    levels, evidence = [Level(np.zeros(n, dtype=np.intp), 0.0)], [0.0]
    while len(leaves) < most:
        leaf = max(leaves, key=lambda each: each.strength)
        if leaf.split is None or (leaf.strength < 1 and len(leaves) >= bounds.least):
            break
        pieces = cut_pieces(leaf, most - len(leaves) + 1)
        leaves = [each for each in leaves if each is not leaf] + [look(rows, False) for rows in pieces]
        taken.append(leaf.split)
        labels = np.empty(n, dtype=np.intp)
        for k, each in enumerate(leaves):
            labels[each.rows] = k
        gain = leaf.split.nats / n
        evidence += [evidence[-1]] * (len(pieces) - 2) + [evidence[-1] + gain]
        levels.append(Level(labels, evidence[-1]))
    refused = sorted((each.split.nats for each in leaves if each.split is not None), reverse=True)
    for nats in refused[: max(0, most - len(leaves))]:
        evidence.append(evidence[-1] + nats / n)
    return ClusterTree(
        levels,
        np.array(evidence),
        "as they are" if root.split is None else root.split.comparison,
        bool(taken) and all(split.is_broad for split in taken),
        root.strength,
    )


def cut_pieces(leaf: _Leaf, most: int) -> list[Indices]:
    """Return the pieces of a leaf, so many at most: the smallest are left together."""
    assert leaf.split is not None
    sizes = np.bincount(leaf.split.labels)
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty(len(sizes), dtype=np.intp)
    rank[order] = np.minimum(np.arange(len(sizes)), most - 1)
    return [leaf.rows[rank[leaf.split.labels] == k] for k in range(min(most, int((sizes > 0).sum())))]


def _take(X: Array | WideTable, rows: Indices) -> Array | WideTable:
    return X.take(rows) if isinstance(X, WideTable) else X[rows]
