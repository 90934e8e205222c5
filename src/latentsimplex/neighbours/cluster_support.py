"""How well clusters are those of a view's neighbours, beyond chance."""

from __future__ import annotations

import numpy as np
from scipy.special import entr

from latentsimplex.base.types import Indices

HARDLY_CUT = 0.75
"""The share of the pairs in a view's own clusters that share a cluster of others, from which these cut off no more than
strays, or one cluster of many, which may be due to chance."""


def support(neighbours: Indices, labels: np.ndarray) -> float:
    """Return how far clusters are those of a view's neighbours: 0 by chance, 1 if all neighbours share a cluster.

    Samples that the view does not have, or that have no cluster (-1), do not count.

    >>> support(np.array([[1], [0], [3], [2]]), np.array([0, 0, 1, 1]))
    1.0
    """
    if neighbours.min() < 0 or labels.min() < 0:
        return _support_of_seen(neighbours, labels)
    n = len(labels)
    sizes = np.bincount(labels)
    chance = float((sizes * (sizes - 1)).sum() / (n * (n - 1)))
    shared = float((labels[neighbours] == labels[:, None]).mean())
    return (shared - chance) / (1 - chance) if chance < 1 else 0.0


def _support_of_seen(neighbours: Indices, labels: np.ndarray) -> float:
    """Return the support of clusters by a view, where some samples are absent from it or have no cluster."""
    seen = (labels >= 0) & (neighbours[:, 0] >= 0)
    sizes = np.bincount(labels[seen])
    n = int(sizes.sum())
    near, own = neighbours[seen], labels[seen, None]
    known = (near >= 0) & (labels[near] >= 0)
    chance = float((sizes * (sizes - 1)).sum() / max(n * (n - 1), 1))
    if not known.any() or chance >= 1:
        return 0.0
    return (float((labels[near] == own)[known].mean()) - chance) / (1 - chance)


def support_within(neighbours: Indices, own: np.ndarray, others: np.ndarray) -> float:
    """Return the support of clusters among neighbours that share a view's own cluster: 0 by chance, 1 if all do.

    It is 1 where clusters of the view's own are hardly cut by the others, or cut off strays alone: the largest parts of
    the others' clusters are in different ones of its own. Samples without neighbours or clusters, -1, do not count.

    >>> near = np.array([[1, 2], [0, 3], [3, 0], [2, 1]])  # one cluster, whose two halves are each other's neighbours
    >>> support_within(near, np.zeros(4, dtype=int), np.array([0, 0, 1, 1])) < 0.5
    True
    """
    starts, ends = np.repeat(np.arange(len(own)), neighbours.shape[1]), neighbours.ravel()
    seen = (
        (ends >= 0)
        & (own[starts] >= 0)
        & (others[starts] >= 0)
        & (own[ends] == own[starts])
        & (others[ends] >= 0)
    )
    if not seen.any():
        return 1.0
    starts, ends = starts[seen], ends[seen]
    counted = (own >= 0) & (others >= 0)
    table = np.zeros((own.max() + 1, others.max() + 1))
    np.add.at(table, (own[counted], others[counted]), 1)
    homes = table.argmax(axis=0)[table.any(axis=0)]
    if len(np.unique(homes)) == len(homes):
        return 1.0
    sizes = table.sum(axis=1)
    by_cluster = (table * (table - 1)).sum(axis=1) / np.maximum(sizes * (sizes - 1), 1)
    chance = float(by_cluster[own[starts]].mean())
    shared = float((others[starts] == others[ends]).mean())
    return (shared - chance) / (1 - chance) if chance < HARDLY_CUT else 1.0


def share_nats(neighbours: Indices, labels: np.ndarray) -> tuple[float, float]:
    """Return the mutual information of a sample's cluster and a neighbour's, and the entropy of clusters, in nats.

    Samples that the view does not have, or that have no cluster (-1), do not count.

    >>> share_nats(np.array([[1], [0], [3], [2]]), np.array([0, 0, 1, 1])) == (np.log(2), np.log(2))
    True
    """
    starts, ends = np.repeat(np.arange(len(labels)), neighbours.shape[1]), neighbours.ravel()
    seen = (ends >= 0) & (labels[starts] >= 0) & (labels[ends] >= 0)
    table = np.zeros((labels.max() + 1,) * 2)
    np.add.at(table, (labels[starts[seen]], labels[ends[seen]]), 1 / max(1, seen.sum()))
    ours, theirs, both = (float(entr(p).sum()) for p in (table.sum(axis=1), table.sum(axis=0), table))
    return ours + theirs - both, ours


def shuffle_seen(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return clusters in a random order; samples without one, -1, stay so.

    >>> shuffle_seen(np.array([0, -1, 0]), np.random.default_rng(0)).tolist()
    [0, -1, 0]
    """
    shuffled, seen = labels.copy(), labels >= 0
    shuffled[seen] = rng.permutation(labels[seen])
    return shuffled
