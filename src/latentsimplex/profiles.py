"""What clusters explain: the divergence of views from a pattern of k hard clusters, for k = 1, 2, ..., g.

For a group of views with mean pair values f, samples are cut into k clusters by spectral clustering of the
similarity that fits the views best, and every pair of clusters gets the response that suits it. What is left
of the divergence needs block sums alone, so a whole profile costs little more than the eigenvectors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from latentsimplex._types import Array
from latentsimplex.compute.pairs import pack, unpack
from latentsimplex.compute.threads import Ignored
from latentsimplex.divergence import P_CLIP, Divergence

RESTARTS = 3
FEWER_CLUSTERS = Ignored(ConvergenceWarning)
"""Samples that coincide may make fewer clusters than were asked for."""
SWEEPS = 20
"""Most rounds of moving samples between clusters; few are needed."""


class Profile(NamedTuple):
    """For k = 1..g: the divergence per view that k clusters take away (g,), and their labels (g, n)."""

    gains: Array
    labels: np.ndarray


def profile(mean_f: Array, g: int, divergence: Divergence) -> Profile:
    """Return what k = 1..g clusters explain of views whose mean pair values are ``mean_f`` (m,)."""
    F, S = unpack(mean_f), unpack(divergence.mean(mean_f))
    n = len(S)
    labels = np.zeros((g, n), dtype=np.intp)
    remaining = np.empty(g)
    remaining[0] = divergence_left(F, labels[0], divergence)
    if g > 1:
        U = spectral_coordinates(S, g)
        for k in range(2, g + 1):
            labels[k - 1], remaining[k - 1] = refined(F, _kmeans(U[:, :k], k), divergence)
    return Profile(remaining[0] - remaining, labels)


def refined(F: Array, labels: np.ndarray, divergence: Divergence) -> tuple[np.ndarray, float]:
    """Return the labels with each sample moved to where it fits best, as long as that helps, and what is left.

    Spectral clustering minimises something else, and what it misses is small for a view but not for thousands.
    """
    left = divergence_left(F, labels, divergence)
    for _ in range(SWEEPS):
        moved = np.unique(_best_clusters(F, labels, divergence), return_inverse=True)[1]
        if (now := divergence_left(F, moved, divergence)) >= left:
            break
        labels, left = moved, now
    return labels, left


def hard_pattern(mean_f: Array, labels: np.ndarray, divergence: Divergence) -> Array:
    """Return the expected similarity (m,) of each pair under labels and the responses that fit them best."""
    Z = np.eye(labels.max() + 1)[labels]
    B = _responses(Z, unpack(mean_f) @ Z, divergence)
    return pack(B[np.ix_(labels, labels)])


def _best_clusters(F: Array, labels: np.ndarray, divergence: Divergence) -> np.ndarray:
    """Return for each sample the cluster whose responses fit its pairs best, all others staying where they are."""
    Z = np.eye(labels.max() + 1)[labels]
    sums, counts = F @ Z, Z.sum(axis=0) - Z  # of each sample with each cluster, itself left out
    a, h = divergence.a_h(_responses(Z, sums, divergence))
    return np.argmin(counts @ h - sums @ a, axis=1)


def _responses(Z: Array, sums: Array, divergence: Divergence) -> Array:
    """Return the response (k, k) that fits each pair of clusters best."""
    means = Z.T @ sums / np.maximum(_pair_counts(Z), 1)
    return np.clip(divergence.mean(means), P_CLIP, 1 - P_CLIP)


def _pair_counts(Z: Array) -> Array:
    """Return the number of ordered pairs of different samples between and within clusters (k, k)."""
    sizes = Z.sum(axis=0)
    return np.outer(sizes, sizes) - np.diag(sizes)


def divergence_left(F: Array, labels: np.ndarray, divergence: Divergence) -> float:
    """Return sum_{i<j} [h(q) - f a(q)] with q the best response for each pair of clusters; F has a zero diagonal."""
    Z = np.eye(labels.max() + 1)[labels]
    sums = F @ Z
    a, h = divergence.a_h(_responses(Z, sums, divergence))
    return float((_pair_counts(Z) * h - (Z.T @ sums) * a).sum() / 2)


def spectral_clusters(S: Array, k: int) -> np.ndarray:
    """Return the labels (n,) of k clusters by spectral clustering of a similarity."""
    return _kmeans(spectral_coordinates(S, k), k) if k > 1 else np.zeros(len(S), dtype=np.intp)


def spectral_coordinates(S: Array, g: int) -> Array:
    """Return the leading g eigenvectors (n, g) of the normalised similarity, the largest eigenvalue first."""
    root = np.sqrt(S.sum(axis=1))[:, None]
    return _leading_eigenvectors(S / root / root.T, g) / root


def _leading_eigenvectors(N: Array, k: int) -> Array:
    n = len(N)
    if 3 * k >= n:  # Lanczos needs room
        vectors = eigh(N, subset_by_index=(n - k, n - 1))[1]
    else:
        # a fixed start keeps the result the same; a random one is no eigenvector, from which Lanczos could not go on
        vectors = eigsh(N, k=k, which="LA", v0=np.random.default_rng(0).normal(size=n))[1]
    return vectors[:, ::-1]


def _kmeans(U: Array, k: int) -> np.ndarray:
    with FEWER_CLUSTERS:
        return KMeans(k, n_init=RESTARTS, random_state=0).fit_predict(U)
