"""Pairs that a view lacks, because a sample of the pair is absent from it: what EM reads in their place.

A view says nothing about a pair that it lacks. So that every pair of a pattern counts the same, whoever has it, the
pair values of a view are filled with the mean over the views of its pattern that have the pair,

    f_vij = sum_t eta_tl u_t f_tij / sum_t eta_tl u_t,    l the pattern of view v, t over the views that have i and j.

The statistics of a pattern, stat = (u eta)^T F, are then what they would be if each pair were weighed by the mass of
all views of the pattern over the mass of those that have it. A pair that no view of the pattern has is filled with what
memberships expect of it, f(q_ij): its divergence is least where the memberships are, and moves none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from latentsimplex.base.condensed import count_pairs, count_samples, pack_pairs, unpack_pairs
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.pairs.divergence import P_CLIP, Divergence
from latentsimplex.similarity.kernel import clip_exponents


@dataclass(frozen=True, eq=False)
class Followed:
    """What is known of patterns when pairs are filled.

    Attributes
    ----------
    eta : (V, d) array
        How far each view follows each pattern; views that follow none are not read.
    W : list of (n, g) arrays
        Memberships of the first patterns, or of all.
    B : list of (g, g) arrays or None
        Their responses; None where similarities between clusters are yet to be measured.
    """

    eta: Array
    W: list[Array]
    B: list[Array] | None = None

    def expect(self, l: int, mean_f: Array, known: np.ndarray, divergence: Divergence) -> Array:
        """Return pair values (m,) that a pattern expects, given its mean pair values as far as they are known."""
        overall = float(mean_f[known].mean()) if known.any() else 0.0
        if l >= len(self.W):
            return np.full(len(mean_f), overall)
        W = self.W[l]
        if self.B is not None:
            q = np.clip(pack_pairs(W @ self.B[l] @ W.T), P_CLIP, 1 - P_CLIP)
            return divergence.f(clip_exponents(-np.log(q)))
        sums, counts = (W.T @ unpack_pairs(each) @ W for each in (np.where(known, mean_f, 0.0), known * 1.0))
        return pack_pairs(W @ ((sums + overall) / (counts + 1)) @ W.T)


def follow_one(n_views: int, members: Indices | None = None) -> Followed:
    """Return what is known before a search: all views, or all members, may follow one pattern."""
    eta = np.zeros((n_views, 1))
    eta[slice(None) if members is None else members] = 1
    return Followed(eta, [])


@dataclass(frozen=True, eq=False)
class Filling:
    """Exponents that stand for pairs that views lack: a row for each pattern (d, m), and the pattern of each view."""

    exponents: np.ndarray
    of_view: Indices

    def spread(self, v: int, samples: Indices, r: Array) -> Array:
        """Return the exponents of a view for the pairs of all samples (m,), given those of the samples that it has."""
        every = self.exponents[self.of_view[v]].copy()
        every[find_pairs(samples, count_samples(len(every)))] = r
        return every


def find_pairs(samples: Indices, n: int) -> Indices:
    """Return where the pairs of some samples, in order, are among the pairs of n samples.

    >>> find_pairs(np.array([0, 2, 3]), 4).tolist()
    [1, 2, 5]
    """
    firsts = samples * n - samples * (samples + 1) // 2 - samples - 1
    return np.concatenate([firsts[k] + samples[k + 1 :] for k in range(len(samples))])


def fill_pairs(
    read: Callable[[int], tuple[Indices, Array]],
    followed: Followed,
    weights: Array | None,
    divergence: Divergence,
    n_samples: int,
    workers: Workers,
) -> Filling:
    """Return what stands for the pairs that views lack; ``read`` gives a view's samples and their exponents."""
    eta = followed.eta if weights is None else weights[:, None] * followed.eta
    d, m = eta.shape[1], count_pairs(n_samples)
    sums, mass = np.zeros((d, m)), np.zeros((d, m))
    members = np.flatnonzero(eta.any(axis=1)).tolist()
    for start in range(0, len(members), workers.n_jobs):
        some = members[start : start + workers.n_jobs]
        for v, (samples, r) in zip(some, workers.map(read, some), strict=True):
            pairs, f = find_pairs(samples, n_samples), divergence.f(clip_exponents(r))
            for l in np.flatnonzero(eta[v]).tolist():
                sums[l, pairs] += eta[v, l] * f
                mass[l, pairs] += eta[v, l]
    exponents = np.empty((d, m), dtype=np.float32)
    for l in range(d):
        known = mass[l] > 0
        mean = np.divide(sums[l], mass[l], out=sums[l], where=known)
        if not known.all():
            mean = np.where(known, mean, followed.expect(l, mean, known, divergence))
        exponents[l] = clip_exponents(-np.log(np.clip(divergence.mean(mean), P_CLIP, 1 - P_CLIP)))
    return Filling(exponents, eta.argmax(axis=1))


def follow_labels(view_patterns: Sequence[int], clusterings: list[np.ndarray]) -> Followed:
    """Return what is known after clusters were found, by the pattern of each view, -1 for none, and the clusters (n,).

    Samples without a cluster, -1, have the shares of all.
    """
    W = []
    for labels in clusterings:
        seen = labels >= 0
        sure = np.eye(int(labels.max()) + 1)[np.where(seen, labels, 0)]
        W.append(np.where(seen[:, None], sure, sure[seen].mean(axis=0)))
    eta = np.array(view_patterns)[:, None] == np.arange(len(clusterings))
    return Followed(eta.astype(np.float64), W)


def follow_fit(eta: Array, informative: Indices, n_views: int, W: Array, B: Array) -> Followed:
    """Return what is known after EM: views that it did not see share a pattern of their own."""
    every = np.zeros((n_views, eta.shape[1] + 1))
    every[:, -1] = 1
    every[informative] = np.pad(eta, ((0, 0), (0, 1)))
    found = Followed(every, list(W), list(B))
    return found if len(informative) < n_views else replace(found, eta=eta)
