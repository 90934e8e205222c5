"""The widest gap between samples: a long edge of their minimum spanning tree, with samples enough on either side.

Neighbour graphs see no group that has fewer samples than each has neighbours. A tree has no such scale: where groups
are far apart for the distances within them, one of its edges is much longer than most on either side of it. How much
is due to chance depends on the dimension d: the volume around a sample that is empty of others is about exponential,
so that the longest of n edges is about (log n / log 4)^(1/d) times as long as three quarters of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from latentsimplex.base.types import Array, Indices
from latentsimplex.neighbours.neighbour_graphs import estimate_dimension
from latentsimplex.similarity.distances import euclidean_distances

MOST_EDGES = 0.75
"""The share of the edges on one side that are no longer than what a gap is compared with: even where all groups have
five samples, fewer than a quarter of the edges are gaps themselves."""
LONGEST = 50
"""Edges that may be the widest gap."""


class Gap(NamedTuple):
    """A gap: how many times as long as most edges beside it, and on which of its two sides samples (n,) are.

    ``dimension`` is how many dimensions samples fill near each of them, by fewer neighbours than there are on a side.
    """

    width: float
    sides: np.ndarray
    dimension: float

    @property
    def emptiness(self) -> float:
        """How many times as empty the gap is as the emptiest of n is by chance, about, and n times at most."""
        n = len(self.sides)
        logs = self.dimension * np.log(self.width) + np.log(-np.log(1 - MOST_EDGES) / np.log(n))
        return float(np.exp(min(logs, np.log(n))))


class Tree(NamedTuple):
    """A minimum spanning tree, its samples in an order in which what hangs on one of them follows it.

    ``order`` (n,) are the samples, ``lengths`` (n,) those of the edges that lead to them, 0 for the first, and
    ``sizes`` (n,) how many samples hang on each, itself counted.
    """

    order: Indices
    lengths: Array
    sizes: Indices


def find_widest_gap(coordinates: Sequence[Array], least: int, wider: float = 1.0) -> Gap | None:
    """Return the widest gap with ``least`` samples or more on either side, given the coordinates (n, r) in some views.

    None where no edge is ``wider`` than so many times most of those beside it, or samples beside it coincide.

    >>> gap = find_widest_gap([np.array([[0.0], [1.0], [2.0], [9.0], [10.0], [11.0]])], 2)
    >>> round(gap.width, 9), gap.sides.tolist()
    (7.0, [0, 0, 0, 1, 1, 1])
    """
    distances = join_distances(coordinates)
    tree = grow_tree(distances)
    n, width, side = len(tree.order), wider, None
    inner = np.flatnonzero((tree.sizes >= least) & (tree.sizes <= n - least))
    # where most edges on either side are no longer than some length, more than 0.75 (n - 4) of all are not
    least_usual = np.sort(tree.lengths[1:])[int(MOST_EDGES * (n - 4))] if n >= 4 else 0.0
    for place in inner[np.argsort(-tree.lengths[inner], kind="stable")][:LONGEST].tolist():
        if tree.lengths[place] < width * least_usual:
            break  # and so are all that follow
        end = place + int(tree.sizes[place])
        beside = tree.lengths[place + 1 : end], np.concatenate([tree.lengths[1:place], tree.lengths[end:]])
        usual = max(bound_most(lengths) for lengths in beside)
        if tree.lengths[place] > usual > 0 and tree.lengths[place] / usual > width:
            width, side = float(tree.lengths[place] / usual), slice(place, end)
    if side is None:
        return None
    sides = np.zeros(n, dtype=np.intp)
    sides[tree.order[side]] = 1
    nearest = np.sort(np.partition(distances, least - 1, axis=1)[:, 1:least], axis=1)
    most = sum(Z.shape[1] for Z in coordinates)
    return Gap(width, sides, min(estimate_dimension(nearest, max(2, least - 2)), most))


def bound_most(lengths: Array) -> float:
    """Return the length that most edges do not exceed: NumPy's quantile, in a tenth of its time for few edges.

    >>> bound_most(np.array([3.0, 1.0, 2.0]))
    2.5
    """
    place = MOST_EDGES * (len(lengths) - 1)
    below = int(place)
    both = [below, min(below + 1, len(lengths) - 1)]
    lower, upper = np.partition(lengths, both)[both]
    return float(lower + (place - below) * (upper - lower))


def join_distances(coordinates: Sequence[Array]) -> Array:
    """Return distances (n, n) in all views together, each of which counts as much as the others."""
    squares: Array = np.zeros(())
    for Z in coordinates:
        own = euclidean_distances(Z) ** 2
        squares = squares + own / (own.mean() or 1.0)
    return np.sqrt(squares)


def grow_tree(distances: Array) -> Tree:
    """Return a minimum spanning tree of samples with these distances (n, n), by Prim's algorithm.

    >>> tree = grow_tree(np.abs(np.subtract.outer([0.0, 5.0, 1.0], [0.0, 5.0, 1.0])))
    >>> tree.order.tolist(), tree.lengths.tolist(), tree.sizes.tolist()
    ([0, 2, 1], [0.0, 1.0, 4.0], [3, 2, 1])
    """
    n = len(distances)
    away, parents, lengths = distances[0].copy(), np.zeros(n, dtype=np.intp), np.zeros(n)
    away[0] = np.inf
    joined = [0]
    hanging: list[list[int]] = [[] for _ in range(n)]
    outside = np.ones(n, dtype=bool)
    outside[0] = False
    for _ in range(n - 1):
        nearest = int(np.argmin(away))
        joined.append(nearest)
        hanging[parents[nearest]].append(nearest)
        lengths[nearest], away[nearest], outside[nearest] = away[nearest], np.inf, False
        closer = distances[nearest] < away
        closer &= outside
        np.copyto(away, distances[nearest], where=closer)
        np.copyto(parents, nearest, where=closer)
    sizes = np.ones(n, dtype=np.intp)
    for i in joined[:0:-1]:
        sizes[parents[i]] += sizes[i]
    order, waiting = [], [0]
    while waiting:
        order.append(waiting.pop())
        waiting.extend(reversed(hanging[order[-1]]))
    return Tree(np.array(order), lengths[order], sizes[order])
