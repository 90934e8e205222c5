"""Chunks: samples known to be of one class, by labels or must-links, and which chunks are of different classes.

Links may be wrong, and one that is would tie two classes if all that is tied were a chunk. Chunks are therefore found
by correlation clustering: a must-link speaks for one class with its weight, a cannot-link against it. The two chunks
that most speaks for are merged, again and again, until nothing speaks for any. What chunks are told of others adds
up as they grow, and outvotes wrong links (greedy additive edge contraction: Keuper et al., 2015). Each sample then
moves to the chunk that its links speak for most, for as long as some do. Where many links are wrong, chunks may hold
samples of several classes: these are not whole, because most ties lead out of them.

The samples of a class are tied to a node of its own, and such nodes are never in one chunk: a sample whose links speak
against its label leaves it.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from latentsimplex.base.types import Indices
from latentsimplex.known.known_samples import HARD, UNKNOWN, Known, Links

TIES_FIRST = 1 + 1e-9
"""A must-link counts more than a cannot-link by this, and a label more than a must-link: of as many that tie and that
part, the latter are errors."""
MOVES = 20
"""Times that each sample is looked at for a move, at most; few are moved after the first."""


class Chunks(NamedTuple):
    """The chunk of each sample (n,), -1 for none, and what is known of chunks.

    Attributes
    ----------
    links : (C, C) sparse array
        What links say for one class of each two chunks, less what they say against it.
    has_class, is_whole : (C,) arrays of bool
        Which are of a class, each of its own, and which are of one class by most links of their samples.
    are_about : bool
        Whether they are about the clusters that are looked at: it takes more to believe those that may not be.
    """

    of_samples: Indices
    links: csr_matrix
    has_class: np.ndarray
    is_whole: np.ndarray
    are_about: bool = True

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return len(self.has_class)

    def leave_out_doubtful(self) -> Chunks:
        """Return the same without the samples of chunks that are not whole."""
        of_samples = self.of_samples.copy()
        tied = np.flatnonzero(of_samples >= 0)
        of_samples[tied[~self.is_whole[of_samples[tied]]]] = UNKNOWN
        return self._replace(of_samples=of_samples)

    def tally(self, rows: Indices) -> Indices:
        """Return how many of some samples are in each chunk (C,)."""
        own = self.of_samples[rows]
        return np.bincount(own[own >= 0], minlength=self.n_chunks)

    def list_apart(self, chunk: int) -> np.ndarray:
        """Return which chunks are of another class than one (C,), or parted from it by more links than tie them."""
        apart = np.asarray(self.links[chunk].toarray()).ravel() < 0
        apart |= self.has_class & self.has_class[chunk]
        apart[chunk] = False
        return np.asarray(apart)


def tie_samples(known: Known) -> Chunks:
    """Return the chunks of samples: those of one class, and those that must-links tie.

    >>> link = Links(np.array([[0, 2]]), np.ones(1))
    >>> found = tie_samples(Known(np.array(["a", "b"]), np.array([0, 1, -1, 1, -1]), must=link))
    >>> found.of_samples.tolist(), found.list_apart(0).tolist()
    ([0, 1, 0, 1, -1], [False, True])
    """
    n, labelled = known.n_samples, known.labelled
    must, cannot = (Links(pairs, np.minimum(weights, HARD)) for pairs, weights in (known.must, known.cannot))
    # a class is a node, numbered after the samples
    to_class = np.column_stack([labelled, n + known.labels[labelled]])
    tied = Links(
        np.vstack([to_class, must.pairs]), np.concatenate([np.full(len(to_class), TIES_FIRST), must.weights])
    )
    nearby = list_nearby(n + len(known.classes), tied, cannot)
    merged = move_samples(merge_nodes(n, nearby), n, nearby)
    named = np.unique(np.concatenate([labelled, must.pairs.ravel(), cannot.pairs.ravel()]))
    of_samples = np.full(n, UNKNOWN, dtype=np.intp)
    numbers, of_samples[named] = np.unique(merged[named], return_inverse=True)
    links = add_up_links(of_samples, must, cannot, len(numbers))
    return Chunks(of_samples, links, np.isin(numbers, merged[n:]), find_whole(merged, tied)[numbers])


def find_whole(merged: Indices, tied: Links) -> np.ndarray:
    """Return which components have no more ties to others than within, by their number.

    >>> find_whole(np.array([0, 0, 2]), Links(np.array([[0, 1], [1, 2]]), np.ones(2))).tolist()
    [True, True, False]
    """
    ends = merged[tied.pairs]
    inside = ends[:, 0] == ends[:, 1]
    within = np.bincount(ends[inside, 0], weights=tied.weights[inside], minlength=len(merged))
    leaving = np.bincount(ends[~inside].ravel(), np.repeat(tied.weights[~inside], 2), minlength=len(merged))
    return np.asarray(within >= leaving)


def add_up_links(of_samples: Indices, must: Links, cannot: Links, n_chunks: int) -> csr_matrix:
    """Return what links say of each two chunks, for one class and against it (C, C); nothing of a chunk and itself."""
    ends = of_samples[np.vstack([must.pairs, cannot.pairs])]
    weights = np.concatenate([TIES_FIRST * must.weights, -cannot.weights])
    kept = (ends.min(axis=1, initial=0) >= 0) & (ends[:, 0] != ends[:, 1])
    half = coo_matrix((weights[kept], tuple(ends[kept].T)), shape=(n_chunks, n_chunks)).tocsr()
    return (half + half.T).tocsr()


def list_nearby(n: int, must: Links, cannot: Links) -> list[dict[int, float]]:
    """Return what links say of each node and others, for one class and against it."""
    nearby: list[dict[int, float]] = [{} for _ in range(n)]
    for (pairs, weights), sign in ((must, TIES_FIRST), (cannot, -1.0)):
        for (i, j), weight in zip(pairs.tolist(), weights.tolist(), strict=True):
            nearby[i][j] = nearby[j][i] = nearby[i].get(j, 0.0) + sign * weight
    return nearby


def move_samples(merged: Indices, n: int, nearby: list[dict[int, float]]) -> Indices:
    """Return components, each of n samples moved to the one that its links speak for most, or to one of its own.

    >>> nearby = list_nearby(4, Links(np.array([[0, 1], [0, 2]]), np.ones(2)), Links(np.array([[1, 3]]), np.ones(1)))
    >>> move_samples(np.array([0, 0, 2, 0]), 4, nearby).tolist()
    [0, 0, 0, 3]
    """
    merged, free = merged.tolist(), len(merged)
    linked = [i for i in range(n) if nearby[i]]
    for _ in range(MOVES):
        has_moved = False
        for i in linked:
            told: dict[int, float] = {merged[i]: 0.0}
            for k, weight in nearby[i].items():
                told[merged[k]] = told.get(merged[k], 0.0) + weight
            best = max(told, key=lambda a: told[a])
            if told[best] < 0:
                best, free = free, free + 1
                told[best] = 0.0
            if told[best] > told[merged[i]]:
                merged[i], has_moved = best, True
        if not has_moved:
            break
    _, first, places = np.unique(merged, return_index=True, return_inverse=True)
    return np.asarray(first[places])


def merge_nodes(n: int, nearby: list[dict[int, float]]) -> Indices:
    """Return the component of each of n samples, then of each class, once those that most speaks for have been merged.

    No component has two classes.

    >>> two = Links(np.array([[0, 1], [2, 3], [1, 2]]), np.array([1.0, 1.0, 1.0]))
    >>> merge_nodes(4, list_nearby(4, two, Links(np.array([[0, 2], [0, 3]]), np.ones(2)))).tolist()
    [0, 0, 2, 2]
    """
    nearby = [dict(own) for own in nearby]
    # of pairs that are spoken for alike, those that share most of what they are told come first: wrong links do not
    waiting = [
        (-weight, -_agree(nearby[i], nearby[j]), i, j)
        for i, own in enumerate(nearby)
        for j, weight in own.items()
        if i < j and weight > 0
    ]
    heapq.heapify(waiting)
    parent = np.arange(len(nearby))
    has_class = parent >= n
    while waiting:
        told, _, i, j = heapq.heappop(waiting)
        if nearby[i].get(j) != -told or (has_class[i] and has_class[j]):
            continue  # one of the two has been merged, or is told more since; or classes differ
        if len(nearby[i]) < len(nearby[j]):
            i, j = j, i
        parent[j], has_class[i] = i, has_class[i] or has_class[j]
        del nearby[i][j]
        for k, weight in nearby[j].items():
            if k == i:
                continue
            both = nearby[i].get(k, 0.0) + weight
            nearby[i][k] = nearby[k][i] = both
            del nearby[k][j]
            if both > 0:
                heapq.heappush(waiting, (-both, 0.0, min(i, k), max(i, k)))
        nearby[j] = {}
    while (parent[parent] != parent).any():
        parent = parent[parent]
    _, first, places = np.unique(parent, return_index=True, return_inverse=True)
    return first[places]


def _agree(one: dict[int, float], other: dict[int, float]) -> float:
    """Return how many third samples two are told the same of, less those of which they are told the opposite."""
    if len(other) < len(one):
        one, other = other, one
    return sum(float(np.sign(weight * other[k])) for k, weight in one.items() if k in other)
