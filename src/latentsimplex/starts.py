"""Where EM starts: a partition of the views by k-means, memberships at random or by spectral clustering."""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex._arrays import like, namespace, on_host, softmax, stacked
from latentsimplex._types import Array
from latentsimplex.compute import add_statistics, pair_products
from latentsimplex.compute.pairs import unpack
from latentsimplex.divergence import Divergence
from latentsimplex.em import Pairs
from latentsimplex.profiles import spectral_clusters

LLOYD_ITERATIONS = 30
START_SCALE = 0.01
"""Rows start near the barycentre: far from it the penalty freezes them where they fell (docs/fidelity.md)."""
PURITY = 0.9
"""How sure a spectral start is of its labels; at 1 a row could not move."""
RESPONSE_CLIP = 0.01


def random_memberships(d: int, n: int, g: int, rng: np.random.Generator) -> Array:
    """Return W (d, n, g) with rows near the barycentre of the simplex, too near for any cluster to lead.

    >>> random_memberships(2, 3, 4, np.random.default_rng(0)).sum(axis=-1).round(6).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    return softmax(START_SCALE * rng.normal(size=(d, n, g)))


def spectral_memberships(mean_f: Any, g: int, divergence: Divergence) -> tuple[Array, Array]:
    """Return W (n, g) and the response B (g, g) from spectral clustering of a pattern's mean similarity.

    Parameters
    ----------
    mean_f : (m,) array
        Mean of f(s) over the views of the pattern.
    g : int
        Number of clusters.
    divergence : Divergence
        Turns the mean of f(s) into the similarity that fits the views best.
    """
    return label_memberships(mean_f, spectral_clusters(unpack(divergence.mean(mean_f)), g), g, divergence)


def label_memberships(mean_f: Any, labels: np.ndarray, g: int, divergence: Divergence) -> tuple[Array, Array]:
    """Return W (n, g) that is nearly sure of the labels, and the mean similarity of their clusters B (g, g).

    Clusters beyond those of the labels are empty for good.
    """
    k = int(labels.max()) + 1
    W = np.zeros((len(labels), g))
    W[:, :k] = (1 - PURITY) / max(k - 1, 1)
    W[np.arange(len(labels)), labels] = PURITY if k > 1 else 1.0
    return W, block_means(unpack(divergence.mean(mean_f)), labels, g)


def block_means(S: Any, labels: np.ndarray, g: int) -> Array:
    """Return the mean similarity between and within clusters (g, g), kept off 0 and 1; S has a zero diagonal."""
    Z = np.eye(g)[labels]
    sizes = Z.sum(axis=0)
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    return np.clip(Z.T @ on_host(S @ like(Z, S)) / np.maximum(pairs, 1), RESPONSE_CLIP, 1 - RESPONSE_CLIP)


def kmeans_labels(pairs: Pairs, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return k-means labels (V,) of the views' pair values, from a k-means++ start.

    The group mean of f(s) is the best unconstrained pattern for a group of views under either
    divergence (the log-odds under the paper's), which is what makes k-means the right start.
    Blocks of views are visited in turn, as in the E step, so the pair values need not fit in memory.
    """
    V = len(pairs)
    if k == 1 or k >= V:
        return np.zeros(V, dtype=np.intp) if k == 1 else np.arange(V)
    centres = _plus_plus(pairs, k, rng)
    labels = np.full(V, -1)
    for _ in range(LLOYD_ITERATIONS):
        new, sums = _assign(pairs, centres)
        if np.array_equal(new, labels):
            break
        labels = new
        sizes = like(np.bincount(labels, minlength=k), sums)[:, None]
        centres = namespace(sums).where(sizes > 0, sums / (sizes + (sizes == 0)), like(centres, sums))
    return labels


def _plus_plus(pairs: Pairs, k: int, rng: np.random.Generator) -> Any:
    """Return k views' pair values, each drawn in proportion to its squared distance from those before."""
    V = len(pairs)
    centres = [pairs.values(int(rng.integers(V)))]
    nearest = np.full(V, np.inf)
    while len(centres) < k:
        nearest = np.minimum(nearest, _squared_distances(pairs, centres[-1]))
        total = nearest.sum()
        pick = rng.choice(V, p=nearest / total) if total > 0 else rng.integers(V)
        centres.append(pairs.values(int(pick)))
    return stacked(centres)


def _squared_distances(pairs: Pairs, centre: Any) -> Array:
    return np.concatenate([on_host(((F - centre) ** 2).sum(-1)) for _, F in pairs.blocks()])


def _assign(pairs: Pairs, centres: Any) -> tuple[np.ndarray, Any]:
    """Return the nearest centre of each view and the sum of the views of each centre."""
    norms = on_host((centres**2).sum(-1))
    labels = np.empty(len(pairs), dtype=np.intp)
    sums = pairs.zeros(len(centres))
    for rows, F in pairs.blocks():
        labels[rows] = np.argmin(norms - 2 * on_host(pair_products(F, centres, pairs.workers)), axis=1)
        add_statistics(sums, np.eye(len(centres))[labels[rows]], F, pairs.workers)
    return labels, sums
