"""Which patterns new views of the samples of a fit follow.

A view follows clusters only if its neighbours share them more often than by chance: T, the number of neighbours in a
sample's own cluster, lies five standard deviations above the mean that it has when clusters are shuffled. Both moments
are exact. With a_ij = 1 for neighbours of one another, 1/2 for one-sided ones, b_ij = 1 for samples that share a
cluster, and

    S_0 = sum a_ij,    S_1 = sum a_ij^2,    S_2 = sum_i (sum_j a_ij)^2 - S_1,    S_3 = S_0^2 - 2 S_1 - 4 S_2

over pairs i != j, and R_0, ..., R_3 the same for b, Mantel's

    E T = S_0 R_0 / (n)_2,    E T^2 = 2 S_1 R_1 / (n)_2 + 4 S_2 R_2 / (n)_3 + S_3 R_3 / (n)_4,

where (n)_k = n (n - 1) ... (n - k + 1). Among the patterns whose clusters it shares, an E step with the memberships,
responses and temperature of the fit (equation 8) says how probable each is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.auto.shared_clusters import CHANCE, GROUPED_BY
from latentsimplex.base.arrays import softmax
from latentsimplex.base.condensed import count_pairs, unpack_pairs
from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import find_varying
from latentsimplex.inputs.views import Views
from latentsimplex.model.backends import choose_backend
from latentsimplex.neighbours.graph_sizes import local_sizes
from latentsimplex.neighbours.neighbour_graphs import find_neighbours
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.pairs.in_memory import BLOCK_VALUES, ViewReader
from latentsimplex.similarity import Kernel, Precomputed
from latentsimplex.similarity.comparisons import compare_samples, list_comparisons

FEWEST = 4
"""Fewer samples have no variance under shuffles."""
VIEWS_AT_ONCE = 512
"""Views of one feature whose neighbours a thread finds at a time."""


class AssignedViews(NamedTuple):
    """The patterns that new views follow.

    Attributes
    ----------
    patterns : (V,) array
        The index of a pattern; -1 for a view that follows none with clusters.
    responsibilities : (V, patterns) array
        Pr(view follows pattern), a row of 0 for a view that follows none.
    """

    patterns: np.ndarray
    responsibilities: Array


class KnownPatterns(NamedTuple):
    """What is known of the patterns of a fit: of each its joint labels (n,), memberships, response and weight.

    ``divergence`` and ``temperature`` are those of the last stage of the fit.
    """

    labels: np.ndarray
    memberships: Sequence[Array]
    responses: Sequence[Array]
    weights: Array
    divergence: str
    temperature: float

    def take_samples(self, rows: Indices) -> KnownPatterns:
        """Return the patterns of some samples; divergences grow with pairs and temperatures with samples."""
        share = len(rows) / self.labels.shape[1]
        return self._replace(
            labels=self.labels[:, rows],
            memberships=[W[rows] for W in self.memberships],
            temperature=self.temperature * share,
        )


def assign_views(views: Views, kernel: Kernel, known: KnownPatterns, workers: Workers) -> AssignedViews:
    """Return which patterns views of the samples of a fit follow, as its kernel compares samples."""
    rows = sample_rows(views.n_samples, GROUPED_BY)
    if len(rows) < views.n_samples and not isinstance(kernel, Precomputed):
        views, known = views.take_samples(rows), known.take_samples(rows)
    supported = find_supported(views, kernel, known.labels, workers)
    followed = np.flatnonzero(supported.any(axis=1))
    eta = np.zeros(supported.shape)
    if len(followed):
        logits = (
            np.log(known.weights)
            - measure_divergences(views, followed, kernel, known, workers) / known.temperature
        )
        eta[followed] = softmax(np.where(supported[followed], logits, -np.inf))
    patterns = np.where(supported.any(axis=1), eta.argmax(axis=1), -1)
    return AssignedViews(patterns, eta)


def find_supported(views: Views, kernel: Kernel, labels: np.ndarray, workers: Workers) -> np.ndarray:
    """Return which views support the clusters of which patterns (V, patterns) more than by chance."""
    found = np.zeros((len(views), len(labels)), dtype=bool)
    if views.n_samples < FEWEST:
        return found
    narrow = (
        np.flatnonzero([p == 1 for p in views.widths]) if not views.has_missing else np.empty(0, dtype=int)
    )
    narrow = narrow[:0] if isinstance(kernel, Precomputed) else narrow
    parts = [narrow[start : start + VIEWS_AT_ONCE] for start in range(0, len(narrow), VIEWS_AT_ONCE)]
    for part, supported in zip(
        parts, workers.map(lambda some: _support_on_lines(views, some, labels), parts), strict=True
    ):
        found[part] = supported
    others = np.setdiff1d(np.arange(len(views)), narrow).tolist()
    for v, supported in zip(
        others, workers.map(lambda v: _supports(views, v, kernel, labels), others), strict=True
    ):
        found[v] = supported
    return found


def _support_on_lines(views: Views, members: Indices, labels: np.ndarray) -> np.ndarray:
    from latentsimplex.placing._view_loops import find_neighbours_on_lines

    values = np.stack([views[v][:, 0] for v in members.tolist()])
    n = views.n_samples
    near = find_neighbours_on_lines(values, min(local_sizes(n)[0], n - 1))
    found = np.array([support_beyond_chance(own, labels) > CHANCE for own in near])
    return found & (values.max(axis=1) > values.min(axis=1))[:, None]


def _supports(views: Views, v: int, kernel: Kernel, labels: np.ndarray) -> np.ndarray:
    """Return whether a view supports the clusters of each pattern, in any comparison of features worth a look."""
    n, table = views.n_samples, views.table(v)
    k = min(local_sizes(n)[0], n - 1)
    if isinstance(kernel, Precomputed):
        distances = unpack_pairs(kernel.exponents(views[v]), np.inf)
        neighbours = [np.argsort(distances, axis=1, kind="stable")[:, :k]]
    elif not find_varying(table).any():
        return np.zeros(len(labels), dtype=bool)
    else:
        neighbours = [find_neighbours(compare_samples(table, way), k) for way in list_comparisons([table])]
    return np.any([support_beyond_chance(near, labels) > CHANCE for near in neighbours], axis=0)


def support_beyond_chance(near: Indices, labels: np.ndarray) -> Array:
    """Return by how many standard deviations neighbours (n, k) share clusters (d, n) more often than by chance (d,).

    >>> near = np.array([[1], [0], [3], [2], [5], [4]])
    >>> support_beyond_chance(near, np.array([[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [0, 0, 0, 0, 0, 0]])).round(1)
    array([ 3. , -1.2,  0. ])
    """
    from latentsimplex.placing._view_loops import count_shared

    n, k = near.shape
    shared, mutual, squares = count_shared(near, labels)
    S0, S1 = n * k, mutual + n * k / 2
    S2 = squares / 4 - S1
    pairs, triples, fours = np.cumprod([n * (n - 1), n - 2, n - 3], dtype=np.float64)
    found = np.zeros(len(labels))
    for l, own in enumerate(labels):
        s = np.bincount(own).astype(np.float64)
        R0 = R1 = float((s * (s - 1)).sum())
        R2 = float((s * (s - 1) * (s - 2)).sum())
        S3, R3 = S0**2 - 2 * S1 - 4 * S2, R0**2 - 2 * R1 - 4 * R2
        mean = S0 * R0 / pairs
        variance = 2 * S1 * R1 / pairs + 4 * S2 * R2 / triples + S3 * R3 / fours - mean**2
        if variance > np.finfo(float).eps * mean**2:
            found[l] = (shared[l] - mean) / np.sqrt(variance)
    return found


def measure_divergences(
    views: Views, members: Indices, kernel: Kernel, known: KnownPatterns, workers: Workers
) -> Array:
    """Return K (V', patterns): the divergence of some views from each pattern, summed over pairs."""
    n, g = views.n_samples, max(W.shape[1] for W in known.memberships)
    W = np.array([np.pad(W, ((0, 0), (0, g - W.shape[1]))) for W in known.memberships])
    B = np.array([np.pad(B, (0, g - len(B)), constant_values=0.5) for B in known.responses])
    divergence = DIVERGENCES[known.divergence]
    A, H = choose_backend(None, n, workers).pair_terms(W, B, divergence)
    reader = ViewReader(views, kernel, divergence, workers)
    step = max(1, BLOCK_VALUES // count_pairs(n))
    found = np.empty((len(members), len(W)))
    for start in range(0, len(members), step):
        some = members[start : start + step]
        F = np.empty((len(some), count_pairs(n)), np.float32)
        constants, _ = reader.read(some, F)
        found[start : start + step] = H - _multiply(F, A) + constants[:, None]
    return found


def _multiply(F: np.ndarray, A: Any) -> Array:
    return F.astype(np.float64) @ np.asarray(A, dtype=np.float64).T
