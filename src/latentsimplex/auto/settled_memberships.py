"""Memberships of all samples in the clusters of a tree, extended from those that EM found for landmarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from latentsimplex.auto.cluster_tree import ClusterTree, take_rows
from latentsimplex.auto.comparisons import compare_views
from latentsimplex.auto.neighbour_votes import N_VOTES, place_by_landmarks, settle_memberships
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import find_varying
from latentsimplex.neighbours.nearest_neighbours import COMPARED
from latentsimplex.neighbours.neighbour_graphs import find_neighbours


def settle_all(
    tables: Sequence[Any],
    tree: ClusterTree,
    W: Array,
    landmarks: Indices,
    workers: Workers,
    judge: Callable[[Array], float] | None = None,
) -> Array:
    """Return the memberships (n, g) of all samples of some views, given those of landmarks (m, g) by EM.

    Samples in none of the views are given the shares of the clusters. ``judge`` says how well memberships of all
    samples tell what is known of some (:func:`latentsimplex.auto.neighbour_votes.settle_memberships`).
    """
    labels = tree.labels
    n, seen, kept = len(labels), np.flatnonzero(labels >= 0), labels[landmarks] >= 0
    tables = [X if len(seen) == n else take_rows(X, seen) for X in tables]
    coordinates = compare_views([X for X in tables if find_varying(X).any()], tree.comparison, workers)
    find = partial(find_neighbours, n_neighbours=min(N_VOTES, len(seen) - 1), workers=workers)
    # of very many samples each search has the threads for itself
    neighbours = list(workers.map(find, coordinates, threaded=n <= COMPARED))
    placed = place_by_landmarks(coordinates, np.searchsorted(seen, landmarks[kept]), W[kept], workers)
    judge_seen = None if judge is None else lambda settled: judge(spread_shares(settled, seen, n))
    settled = settle_memberships(neighbours, labels[seen], placed, tree.is_broad, judge_seen, workers)
    return settled if len(seen) == n else spread_shares(settled, seen, n)


def spread_shares(W: Array, seen: Indices, n: int) -> Array:
    """Return memberships of n samples, given those of some of them; others have the shares of the clusters.

    >>> spread_shares(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 2]), 3).tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    every = np.tile(W.mean(axis=0), (n, 1))
    every[seen] = W
    return every
