"""Memberships by votes of nearest neighbours, pooled with those of EM.

A neighbour in cluster l is a vote. With A_kl the share of votes for l among the votes of samples in cluster k,

    w_ik ~ pi_k prod_l A_kl^(c c_il),    c_il the votes of sample i, pi_k the share of cluster k,

would be the probability that a sample is in cluster k if its neighbours were independent and c = 1. They are not, and c
is found without labels: half of each sample's neighbours predict the clusters of the other half, and c is what
predicts best. A sample has no more votes than there are others in its cluster: farther neighbours are of others
whatever it is, and say where clusters lie, not whose it is.

EM reads similarities of all pairs and knows where clusters overlap, but is too cautious where they do not; votes know
where there is a gap. Their logarithmic pool, w ~ (w of votes)^a (w of EM)^(1 - a), is nearer to how often samples are
right than either (docs/uncertainty.md). In several views a is 1/2. In a single one it is 1/3: its votes are cast in the
graph that was cut into the clusters, and repeat where that was done. Memberships in rare clusters are pooled with those
by the tail of the others (:func:`place_rare`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.metrics import adjusted_rand_score

from latentsimplex.auto.cluster_tree import ClusterTree
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.neighbours.neighbour_graphs import join_neighbours, leaving_share

N_VOTES = 20
"""Neighbours of a sample in each view that vote, fewer where there are few samples."""
CONCENTRATIONS = np.geomspace(0.005, 1.0, 24)
"""Values of c that are tried."""
PRIOR_VOTES = 0.5
"""Votes that each cluster has beforehand, so that no share is 0."""
SHARE, SHARE_OF_ONE = 1 / 2, 1 / 3
"""What votes count in the pool with EM, a, in several views and in one."""
SHARE_OF_TAIL = 2 / 3
"""What the tail that a rare cluster was found beyond counts in the pool with memberships by votes and EM."""
LEAST_AGREEMENT = 0.5
"""The adjusted Rand index of clusters before and after EM, below which it has overturned them."""
LEAST_DOUBT = 0.01
"""What is left to other clusters where neighbours' votes would leave a cluster empty."""
CLEARLY_BETTER = 1.0
"""Nats by which memberships must tell what is known of samples better, to be taken instead."""
COUNTED = 1 << 16
"""Samples whose votes are looked at as one piece of work."""


def settle_memberships(
    neighbours: Sequence[Indices],
    labels: np.ndarray,
    W: Array,
    is_broad: bool = False,
    judge: Callable[[Array], float] | None = None,
    workers: Workers | None = None,
) -> Array:
    """Return memberships (n, g) that pool votes of neighbours for the clusters found, ``labels``, with those of EM.

    Votes are for the clusters, of these two, that fewer edges of the neighbour graph leave. Clusters that took a broad
    graph overlap, and EM's memberships stand. Where EM emptied a cluster or overturned them all, votes stand, and so
    they do where a ``judge``, who knows some samples, gives them more nats by ``CLEARLY_BETTER`` than the pool.
    """
    g, refined = int(labels.max()) + 1, W.argmax(axis=1)
    keeps_all = len(np.unique(refined)) == g
    if not keeps_all or adjusted_rand_score(labels, refined) < LEAST_AGREEMENT:
        ways = [count_votes(neighbours, labels, workers)]
    elif is_broad:
        ways = [W[:, :g]]
    else:
        graph = join_neighbours(neighbours, max(1, neighbours[0].shape[1] // 2), workers)
        labels = min((labels, refined), key=lambda each: leaving_share(graph, each))
        votes = count_votes(neighbours, labels, workers)
        ways = [pool(votes, W[:, :g], SHARE if len(neighbours) > 1 else SHARE_OF_ONE), votes]
        if judge is not None and judge(votes) > judge(ways[0]) + CLEARLY_BETTER:
            ways.reverse()
    sure = np.eye(g)[labels]
    ways += [(1 - LEAST_DOUBT) * sure + LEAST_DOUBT / g]
    found = next(way for way in ways if len(np.unique(way.argmax(axis=1))) == g)
    return np.hstack([found, np.zeros((len(found), W.shape[1] - g))])


def place_rare(W: Array, tree: ClusterTree) -> Array:
    """Return memberships (n, g) pooled with those by the tail of all others, where a rare cluster was found beyond it.

    A sample of such a cluster has few neighbours of its kind, and EM and votes lose it.
    """
    if len(tree.nodes) < 2:  # no split was taken, or the number of clusters was given
        return W
    rows, _, split = tree.nodes[0]
    if split is None or split.sureness is None:
        return W
    k, *others = np.unique(tree.labels[rows[split.labels == 1]]).tolist()
    if others:  # it was cut further
        return W
    by_tail = W[rows] + np.finfo(float).tiny
    by_tail[:, k] = 0.0
    by_tail *= ((1 - split.sureness) / by_tail.sum(axis=1))[:, None]
    by_tail[:, k] = split.sureness
    placed = W.copy()
    placed[rows] = pool(by_tail, W[rows], SHARE_OF_TAIL)
    return placed


def count_votes(neighbours: Sequence[Indices], labels: np.ndarray, workers: Workers | None = None) -> Array:
    """Return memberships (n, g) by the clusters of neighbours, which are given for each view, the nearest first.

    >>> near = np.array([[1, 2], [0, 2], [0, 1], [4, 5], [3, 5], [3, 4]])
    >>> count_votes([near], np.array([0, 0, 0, 1, 1, 1])).round(2).tolist()[0]
    [1.0, 0.0]
    """
    g, workers = int(labels.max()) + 1, workers or Workers(1)
    neighbours = limit_votes(neighbours, labels)
    halves = [_votes([near[:, start::2] for near in neighbours], labels, g, workers) for start in (0, 1)]
    votes = halves[0] + halves[1]
    shares = np.bincount(labels, minlength=g) / len(labels)
    A = np.array([votes[labels == k].sum(axis=0) for k in range(g)]) + PRIOR_VOTES / g
    A /= A.sum(axis=1, keepdims=True)
    chunks = [slice(start, start + COUNTED) for start in range(0, len(labels), COUNTED)]

    def predict(products: Array, c: float) -> Array:
        logs = c * products + np.log(shares)
        W = np.exp(logs - logs.max(axis=1, keepdims=True))
        return W / W.sum(axis=1, keepdims=True)

    def score(rows: slice) -> Array:
        """Return how well each half of some samples' votes predicts the other, for each c."""
        scores = []
        for seen, unseen in (halves, halves[::-1]):
            products = seen[rows] @ np.log(A).T
            scores.append([(unseen[rows] * np.log(predict(products, c) @ A)).sum() for c in CONCENTRATIONS])
        return np.array(scores)

    scores = np.sum(list(workers.map(score, chunks)), axis=0).sum(axis=0)
    c = CONCENTRATIONS[int(np.argmax(scores))]
    return np.concatenate(list(workers.map(lambda rows: predict(votes[rows] @ np.log(A).T, c), chunks)))


def limit_votes(neighbours: Sequence[Indices], labels: np.ndarray) -> Sequence[Indices]:
    """Return neighbours, -1 for those of a sample beyond as many as there are others in its cluster.

    >>> limit_votes([np.array([[1, 2], [0, 2], [1, 0]])], np.array([0, 0, 1]))[0].tolist()
    [[1, -1], [0, -1], [1, -1]]
    """
    most = np.maximum(np.bincount(labels)[labels] - 1, 1)
    if most.min() >= max(near.shape[1] for near in neighbours):
        return neighbours
    return [np.where(np.arange(near.shape[1]) < most[:, None], near, -1) for near in neighbours]


def _votes(neighbours: Sequence[Indices], labels: np.ndarray, g: int, workers: Workers) -> Array:
    n = len(labels)
    start = g * np.arange(n)[:, None]

    def count(near: Indices) -> Indices:
        votes = start + labels[near]
        cast = votes.ravel() if near.min() >= 0 else votes[near >= 0]  # -1 is no neighbour
        return np.bincount(cast, minlength=n * g)

    counts = list(workers.map(count, neighbours, n > COUNTED))
    return np.sum(counts, axis=0, dtype=np.float64).reshape(n, g)


def pool(one: Array, other: Array, share: float) -> Array:
    """Return the logarithmic pool of two memberships (n, g), the first of which has this share.

    >>> pool(np.array([[0.9, 0.1]]), np.array([[0.5, 0.5]]), 1 / 2).round(2).tolist()
    [[0.75, 0.25]]
    """
    W = one**share * other ** (1 - share) + np.finfo(float).tiny
    return W / W.sum(axis=1, keepdims=True)
