"""What clusters explain: the divergence of views from a pattern of k hard clusters, for k = 1, 2, ..., g.

For a group of views with mean pair values f, samples are cut into k clusters by spectral clustering of the
similarity that fits the views best, and every pair of clusters gets the response that suits it. What is left
of the divergence needs block sums alone, so a whole profile costs little more than the eigenvectors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from latentsimplex._arrays import is_tensor, like, namespace, on_host
from latentsimplex._types import Array
from latentsimplex.compute.pairs import n_samples, unpack
from latentsimplex.divergence import P_CLIP, Divergence
from latentsimplex.kmeans import LLOYD_ITERATIONS, SAMPLED, STARTS, kmeans, kmeans_draws, some_rows

SWEEPS = 20
"""Most rounds of moving samples between clusters; few are needed."""
SHIFT = 0.1
"""Products lead to the eigenvalues of largest size: this keeps those below 0, which a zero diagonal makes, out."""
ROUNDS, PRODUCTS = 5, 3
"""How often vectors are made orthogonal on their way to eigenvectors, and the products between."""


class Profile(NamedTuple):
    """For k = 1..g: the divergence per view that k clusters take away (g,), and their labels (g, n)."""

    gains: Array
    labels: np.ndarray


def profile(mean_f: Any, g: int, divergence: Divergence) -> Profile:
    """Return what k = 1..g clusters explain of views whose mean pair values are ``mean_f`` (m,).

    ``mean_f`` may be a tensor; what is returned is not.
    """
    if not is_tensor(mean_f):
        mean_f = mean_f.astype(np.float32)
    square = squares_of(mean_f)
    F = square(mean_f)
    similar = divergence.mean(mean_f)
    S = F if similar is mean_f else square(similar)
    U = spectral_coordinates(S, g)
    if not is_tensor(mean_f):
        from latentsimplex.compute.small import profile_of

        forward = divergence.name == "forward"
        rows, draws = some_rows(len(U), SAMPLED), kmeans_draws(STARTS, g)
        remaining, labels = profile_of(F, U, rows, draws, forward, LLOYD_ITERATIONS, SWEEPS)
        return Profile(remaining[0] - remaining, labels)
    labels, remaining = np.zeros((g, len(S)), dtype=np.intp), np.empty(g)
    remaining[0] = divergence_left(F, labels[0], divergence)
    for k in range(2, g + 1):
        labels[k - 1], remaining[k - 1] = refined(F, kmeans(U[:, :k], k, most=SAMPLED), divergence)
    return Profile(remaining[0] - remaining, labels)


def squares_of(packed: Any) -> Callable[[Any], Any]:
    """Return what turns packed pairs into symmetric matrices with zero diagonals, compiled for arrays."""
    if is_tensor(packed):
        return unpack
    from latentsimplex.compute.small import unpacked

    n = n_samples(len(packed))
    return lambda pairs: unpacked(pairs, n)


def refined(F: Any, labels: np.ndarray, divergence: Divergence) -> tuple[np.ndarray, float]:
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


def _clusters_and_sums(F: Any, labels: np.ndarray) -> tuple[Array, Array]:
    """Return the clusters as indicators Z (n, k), and F Z."""
    Z = np.eye(labels.max() + 1)[labels]
    return Z, on_host(F @ like(Z, F))


def _best_clusters(F: Any, labels: np.ndarray, divergence: Divergence) -> np.ndarray:
    """Return for each sample the cluster whose responses fit its pairs best, all others staying where they are."""
    Z, sums = _clusters_and_sums(F, labels)
    counts = Z.sum(axis=0) - Z  # of each sample with each cluster, itself left out
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


def divergence_left(F: Any, labels: np.ndarray, divergence: Divergence) -> float:
    """Return sum_{i<j} [h(q) - f a(q)] with q the best response for each pair of clusters; F has a zero diagonal."""
    Z, sums = _clusters_and_sums(F, labels)
    a, h = divergence.a_h(_responses(Z, sums, divergence))
    return float((_pair_counts(Z) * h - (Z.T @ sums) * a).sum() / 2)


def spectral_clusters(S: Any, k: int) -> np.ndarray:
    """Return the labels (n,) of k clusters by spectral clustering of a similarity."""
    return kmeans(spectral_coordinates(S, k), k) if k > 1 else np.zeros(len(S), dtype=np.intp)


@lru_cache(maxsize=16)
def first_directions(n: int, r: int) -> Array:
    """Return random vectors (n, r), always the same ones: not to change."""
    return np.random.default_rng(0).normal(size=(n, r))


def spectral_coordinates(S: Any, g: int) -> Array:
    """Return the leading g eigenvectors (n, g) of the normalised similarity, the largest eigenvalue first.

    They come from products with twice as many vectors, which always start alike, made orthogonal now and then.
    """
    n = len(S)
    start = first_directions(n, min(2 * g, n))
    if not is_tensor(S):
        from latentsimplex.compute.small import leading_coordinates

        return leading_coordinates(S, start.astype(S.dtype), g, ROUNDS, PRODUCTS, S.dtype.type(SHIFT))
    root = S.sum(-1)[:, None] ** 0.5
    N, Q, linalg = S / root / root.T, like(start, S), namespace(S).linalg
    for _ in range(ROUNDS):
        for _ in range(PRODUCTS):
            Q = N @ Q + SHIFT * Q
        Q = linalg.qr(Q)[0]
    vectors = linalg.eigh(Q.T @ (N @ Q))[1]
    return on_host((Q @ vectors).flip(-1)[:, :g] / root)
