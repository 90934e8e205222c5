"""What clusters explain: the divergence of views from a pattern of k hard clusters, for k = 1, 2, ..., g.

For a group of views with mean pair values f, samples are cut into k clusters by spectral clustering of the
similarity that fits the views best, and every pair of clusters gets the response that suits it. What is left
of the divergence needs block sums alone, so that all k together cost little more than the eigenvectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.base.arrays import array_namespace, convert_like, is_tensor, to_host
from latentsimplex.base.condensed import count_samples, unpack_pairs
from latentsimplex.base.kmeans import LLOYD_ITERATIONS, SAMPLED, STARTS, draw_starts, kmeans, sample_rows
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array
from latentsimplex.base.wide_table import WideTable, join_tables
from latentsimplex.pairs.divergence import P_CLIP, Divergence
from latentsimplex.similarity.kernel import Kernel, clip_exponents, narrow_tables, read_exponents

READ_TOGETHER = 1 << 17
"""Entries of the tables, or of their matrices, that are read at once."""
MOST_SWEEPS = 20
"""Most rounds of moving samples between clusters; few are needed."""
SHIFT = 0.1
"""Products lead to the eigenvalues of largest size: this keeps those below 0, which a zero diagonal makes, out."""
ROUNDS, PRODUCTS = 5, 3
"""How often vectors are made orthogonal on their way to eigenvectors, and the products between."""


class Explained(NamedTuple):
    """For k = 1..g: the divergence per view that k clusters take away (g,), and their labels (g, n)."""

    gains: Array
    labels: np.ndarray


def explain(mean_f: Any, g: int, divergence: Divergence) -> Explained:
    """Return what k = 1..g clusters explain of views whose mean pair values are ``mean_f`` (m,).

    ``mean_f`` may be a tensor; what is returned is not.
    """
    if is_tensor(mean_f):
        return _explain_by_arrays(mean_f, g, divergence)
    return explain_each(mean_f[None], g, divergence)[0]


def explain_each(f: Array, g: int, divergence: Divergence) -> list[Explained]:
    """Return what k = 1..g clusters explain of each of some views, or means of views, with pair values f (b, m).

    All are one compiled call: many threads with short calls would wait for the interpreter in turn.
    """
    from latentsimplex.auto._cluster_loops import explain_rows

    n = count_samples(f.shape[1])
    rows, starts = sample_rows(n, SAMPLED), draw_starts(STARTS, g)
    left, labels = explain_rows(
        f.astype(np.float32, copy=False),
        single_vectors(n, min(2 * g, n)),
        rows,
        starts,
        divergence.name == "forward",
        ROUNDS,
        PRODUCTS,
        SHIFT,
        LLOYD_ITERATIONS,
        MOST_SWEEPS,
    )
    return [Explained(own[0] - own, clusters) for own, clusters in zip(left, labels, strict=True)]


def _explain_by_arrays(mean_f: Any, g: int, divergence: Divergence) -> Explained:
    """Return the same by functions of arrays or of tensors."""
    F = unpack_pairs(mean_f)
    U = spectral_coordinates(unpack_pairs(divergence.mean(mean_f)), g)
    labels, remaining = np.zeros((g, len(F)), dtype=np.intp), np.empty(g)
    remaining[0] = remaining_divergence(F, labels[0], divergence)
    for k in range(2, g + 1):
        cut = kmeans(U[:, :k], k, most=SAMPLED, draws=np.ascontiguousarray(draw_starts(STARTS, g)[:, :k]))
        labels[k - 1], remaining[k - 1] = refine_labels(F, cut, divergence)
    return Explained(remaining[0] - remaining, labels)


def refine_labels(F: Any, labels: np.ndarray, divergence: Divergence) -> tuple[np.ndarray, float]:
    """Return the labels with each sample moved to where it fits best, as long as that helps, and what is left.

    Spectral clustering minimises something else, and what it misses is small for a view but not for thousands.
    """
    fitted, left = _fit_responses(F, labels, divergence)
    for _ in range(MOST_SWEEPS):
        moved = np.unique(_best_clusters(*fitted), return_inverse=True)[1]
        of_moved, now = _fit_responses(F, moved, divergence)
        if now >= left:
            break
        labels, fitted, left = moved, of_moved, now
    return labels, left


def remaining_divergence(F: Any, labels: np.ndarray, divergence: Divergence) -> float:
    """Return sum_{i<j} [h(q) - f a(q)] with q the best response for each pair of clusters; F has a zero diagonal."""
    return _fit_responses(F, labels, divergence)[1]


def _fit_responses(
    F: Any, labels: np.ndarray, divergence: Divergence
) -> tuple[tuple[Array, Array, Array, Array], float]:
    """Return clusters as indicators Z (n, k), F Z, a and h (k, k) of the best responses, and what these leave."""
    Z = np.eye(labels.max() + 1)[labels]
    sums = to_host(F @ convert_like(Z, F))
    pairs, total = _count_pairs(Z), Z.T @ sums
    response = np.clip(divergence.mean(total / np.maximum(pairs, 1)), P_CLIP, 1 - P_CLIP)
    a, h = divergence.a_and_h(response)
    return (Z, sums, a, h), float((pairs * h - total * a).sum() / 2)


def _best_clusters(Z: Array, sums: Array, a: Array, h: Array) -> np.ndarray:
    """Return for each sample the cluster whose responses fit its pairs best, all others staying where they are."""
    counts = Z.sum(axis=0) - Z  # of each sample with each cluster, itself left out
    return np.argmin(counts @ h - sums @ a, axis=1)


def _count_pairs(Z: Array) -> Array:
    """Return the number of ordered pairs of different samples between and within clusters (k, k)."""
    sizes = Z.sum(axis=0)
    return np.outer(sizes, sizes) - np.diag(sizes)


def spectral_clusters(S: Any, k: int) -> np.ndarray:
    """Return the labels (n,) of k clusters by spectral clustering of a similarity."""
    return kmeans(spectral_coordinates(S, k), k) if k > 1 else np.zeros(len(S), dtype=np.intp)


def spectral_coordinates(S: Any, g: int) -> Array:
    """Return the leading g eigenvectors (n, g) of the normalised similarity, the largest eigenvalue first.

    They come from products with twice as many vectors, which always start alike, made orthogonal now and then. Several
    similarities (b, n, n) give as many times these vectors.
    """
    n, linalg = S.shape[-1], array_namespace(S).linalg
    root = S.sum(-1)[..., None] ** 0.5
    N, Q = S / root / root.swapaxes(-1, -2), convert_like(random_vectors(n, min(2 * g, n)), S)
    for _ in range(ROUNDS):
        for _ in range(PRODUCTS):
            Q = N @ Q + SHIFT * Q
        Q = linalg.qr(Q)[0]
    vectors = linalg.eigh(Q.swapaxes(-1, -2) @ (N @ Q))[1]
    leading = to_host(Q @ vectors)[..., ::-1][..., :g] / to_host(root)
    return np.ascontiguousarray(leading, dtype=np.float64)


@lru_cache(maxsize=16)
def random_vectors(n: int, r: int) -> Array:
    """Return random vectors (n, r), always the same ones: not to change."""
    return np.random.default_rng(0).normal(size=(n, r))


@lru_cache(maxsize=16)
def single_vectors(n: int, r: int) -> np.ndarray:
    """Return the same vectors as rows (r, n) of single precision: not to change."""
    return np.ascontiguousarray(random_vectors(n, r).T, dtype=np.float32)


class Request(NamedTuple):
    """A table (n, p), the kernel that reads it, the most clusters to cut it into, and its name in errors."""

    table: Array | WideTable
    kernel: Kernel
    most_clusters: int
    name: str = "a view"


def explain_tables(requests: Sequence[Request], divergence: Divergence, workers: Workers) -> list[Array]:
    """Return what k = 2, 3, ... clusters explain of each table; none has as many clusters as samples.

    Tables of one shape are read at once as far as memory allows.
    """

    def explain_batch(batch: list[Request]) -> list[Array]:
        kernel, most = batch[0].kernel, batch[0].most_clusters
        kernel, tables = narrow_tables(kernel, join_tables([one.table for one in batch]))
        r = read_exponents(kernel, tables, lambda i: batch[i].name, without_loops=workers.without_loops)
        return gains_up_to(most, r, divergence, workers.without_loops)

    return [gains for found in workers.map(explain_batch, cut_into_batches(requests)) for gains in found]


def cut_into_batches(requests: Sequence[Request]) -> list[list[Request]]:
    """Return the requests in runs that are read at once."""
    batches: list[list[Request]] = []
    for _, run in groupby(requests, key=lambda one: (one.kernel, one.most_clusters, one.table.shape)):
        alike = list(run)
        n, p = alike[0].table.shape
        most = max(1, READ_TOGETHER // (n * max(n, p)))
        batches += [alike[start : start + most] for start in range(0, len(alike), most)]
    return batches


def gains_up_to(most: int, r: Array, divergence: Divergence, without_loops: bool = False) -> list[Array]:
    """Return what k = 2, 3, ... clusters explain of views with exponents r (b, m); fewer than there are samples."""
    most = min(most, count_samples(r.shape[1]) - 1)
    if most < 2:
        return [np.empty(0)] * len(r)
    f = np.array([divergence.f(clip_exponents(one)) for one in r])
    if without_loops:
        return [_explain_by_arrays(one, most, divergence).gains[1:] for one in f]
    return [explained.gains[1:] for explained in explain_each(f, most, divergence)]
