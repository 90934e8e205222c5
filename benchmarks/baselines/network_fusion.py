"""Similarity network fusion, plainly: B. Wang and others, Nature Methods 11(3), 2014, 333-337.

======  ==========  ======  =========================================================================
symbol  name here   shape   what it is
======  ==========  ======  =========================================================================
rho     distances   (n, n)  Euclidean distances between samples in a view
W       similarity  (n, n)  exp(-rho^2 / (mu eps)), eps the mean of rho and of how far neighbours are
P       network     (n, n)  W over twice its row sums, and 1/2 on the diagonal
S       walk        (n, n)  W among nearest neighbours alone, rows with sum 1
======  ==========  ======  =========================================================================
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.metrics import pairwise_distances

N_NEIGHBOURS, MU, N_ROUNDS = 20, 0.5, 20
"""What the paper suggests."""

Array = np.ndarray


def fuse_networks(views: Sequence[Array]) -> Array:
    """Return the network (n, n) that those of all views become by passing messages to one another."""
    similarities = [scaled_similarity(pairwise_distances(view)) for view in views]
    walks = [walk_to_neighbours(similarity) for similarity in similarities]
    networks = np.stack([normalise(similarity) for similarity in similarities])
    for _ in range(N_ROUNDS if len(views) > 1 else 0):
        total = networks.sum(axis=0)
        for v, walk in enumerate(walks):
            others = (total - networks[v]) / (len(views) - 1)
            networks[v] = normalise(walk @ others @ walk.T)
    return networks.mean(axis=0)


def scaled_similarity(distances: Array) -> Array:
    """Return exp(-rho^2 / (mu eps)): the scale of a pair is that of its two neighbourhoods and of itself."""
    k = min(N_NEIGHBOURS, len(distances) - 1)
    near = np.sort(distances, axis=1)[:, 1 : k + 1].mean(axis=1)
    scale = MU * (near[:, None] + near + distances) / 3
    return np.exp(-(distances**2) / np.maximum(scale, np.finfo(float).tiny))


def walk_to_neighbours(similarity: Array) -> Array:
    """Return similarities to the nearest neighbours alone, rows with sum 1."""
    k = min(N_NEIGHBOURS, len(similarity) - 1)
    off = similarity - np.diag(np.full(len(similarity), np.inf))
    nearest = np.argpartition(-off, k - 1, axis=1)[:, :k]
    walk = np.zeros_like(similarity)
    np.put_along_axis(walk, nearest, np.take_along_axis(similarity, nearest, axis=1), axis=1)
    return walk / walk.sum(axis=1, keepdims=True)


def normalise(similarity: Array) -> Array:
    """Return a symmetric network whose rows give one half to the sample itself and one half to the others."""
    network = similarity.copy()
    np.fill_diagonal(network, 0)
    network /= 2 * network.sum(axis=1, keepdims=True)
    np.fill_diagonal(network, 0.5)
    return (network + network.T) / 2
