"""Landmarks: samples whose pairs EM reads where there are many, and against which all other samples are placed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latentsimplex.base.arrays import fill_missing
from latentsimplex.base.partial_table import PartialTable
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.neighbours.nearest_neighbours import search_among

NEAREST = 10
"""Landmarks of each view whose memberships a sample is given."""
AT_ONCE = 1 << 12
"""Samples that are placed at a time: their memberships stay in a cache."""


def draw_landmarks(clusterings: Sequence[np.ndarray], most: int, least: int) -> Indices:
    """Return landmarks, in order: at least ``least`` of each cluster, even if these are more, others at random."""
    n = len(clusterings[0])
    if n <= most:
        return np.arange(n)
    order = np.random.default_rng(0).permutation(n)
    needed = [
        order[labels[order] == k][:least] for labels in clusterings for k in range(int(labels.max()) + 1)
    ]
    chosen = np.unique(np.concatenate(needed))
    others = order[~np.isin(order, chosen)]
    return np.sort(np.concatenate([chosen, others[: max(0, most - len(chosen))]]))


def place_by_landmarks(
    coordinates: Sequence[Array | PartialTable], landmarks: Indices, W: Array, workers: Workers | None = None
) -> Array:
    """Return memberships (n, g) of all samples: those (m, g) of landmarks, and means over the nearest ones.

    These are the nearest in each view that has a sample; one that no landmark shares a view with has the mean of all.
    """
    n, workers = len(coordinates[0]), workers or Workers(1)
    is_other = np.ones(n, dtype=bool)
    is_other[landmarks] = False
    placed = np.empty((n, W.shape[1]))
    placed[landmarks] = W
    if is_other.any():
        found, n_found = np.zeros((n, W.shape[1])), np.zeros((n, 1))
        for table in coordinates:
            rows = table.rows if isinstance(table, PartialTable) else np.arange(n)
            Z = fill_missing(table.values if isinstance(table, PartialTable) else table)
            asked = is_other[rows]
            if asked.any() and not asked.all():
                known, own = np.flatnonzero(~asked), rows[asked]
                k = min(NEAREST, len(known))
                near = search_among(Z, known, np.flatnonzero(asked), k, workers)
                found[own] += mean_memberships(W[np.searchsorted(landmarks, rows[known])], near, workers)
                n_found[own] += 1
        found = np.where(n_found > 0, found / np.maximum(n_found, 1), W.mean(axis=0))
        placed[is_other] = found[is_other]
    return placed


def mean_memberships(W: Array, near: Indices, workers: Workers | None = None) -> Array:
    """Return the mean membership (n, g) of some samples (n, k) for each of n.

    >>> mean_memberships(np.eye(2), np.array([[0, 1], [1, 1]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    found = np.zeros((len(near), W.shape[1]))

    def write(start: int) -> None:
        own, nearest = found[start : start + AT_ONCE], near[start : start + AT_ONCE]
        for k in range(nearest.shape[1]):  # one at a time takes a quarter of the time of a mean over all
            own += W[nearest[:, k]]
        own /= nearest.shape[1]

    list((workers or Workers(1)).map(write, range(0, len(near), AT_ONCE)))
    return found
