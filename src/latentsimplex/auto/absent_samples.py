"""Samples that some views do not have: which of them are split, and what their absent rows count as in clouds.

A sample has edges of the views that it is in. A piece of a tree may hold too few samples of a view for that view to
tell anything of it; samples that no other view has then go with most others, until their neighbours in the whole view
vote on their memberships (:mod:`latentsimplex.auto.neighbour_votes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latentsimplex.auto.splits import LEAST_CLUSTER, Split, find_split
from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.partial_table import PartialTable, count_present
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Indices
from latentsimplex.base.wide_table import find_varying

LEAST_SEEN = 2 * LEAST_CLUSTER + 2
"""The fewest samples of a piece that a view must have to be looked at."""


def sample_each_view(tables: Sequence[Any], most: int, least: int) -> Indices:
    """Return at most so many samples, in order, and others where a view that lacks some would have too few of them.

    >>> few = PartialTable(np.zeros((2, 1)), np.array([7, 9]), 10)
    >>> set(sample_each_view([np.zeros((10, 1)), few], 3, 2)) >= {7, 9}
    True
    """
    rows = sample_rows(len(tables[0]), most)
    partial = [X.rows for X in tables if isinstance(X, PartialTable)]
    return np.unique(np.concatenate([rows, *(own[sample_rows(len(own), least)] for own in partial)]))


def find_seen(tables: Sequence[Any]) -> Indices | None:
    """Return the samples that a view with more than one value has; None if these are all.

    >>> part = PartialTable(np.array([[0.0], [1.0]]), np.array([0, 2]), 3)
    >>> find_seen([part]).tolist(), find_seen([part, np.eye(3)])
    ([0, 2], None)
    """
    if not any(isinstance(X, PartialTable) for X in tables):
        return None
    varying = [X for X in tables if find_varying(X).any()]
    if not varying or not all(isinstance(X, PartialTable) for X in varying):
        return None
    seen = np.any([X.present for X in varying], axis=0)
    return None if seen.all() else np.flatnonzero(seen)


def find_split_of_seen(tables: Sequence[Any], workers: Workers, **how: Any) -> Split | None:
    """Return the best way to cut samples, as :func:`find_split` does, where views may lack some of them."""
    n, tables = len(tables[0]), [X for X in tables if count_present(X) >= min(LEAST_SEEN, len(X))]
    seen = find_seen(tables)
    if seen is None or not tables:
        return find_split(tables, workers, **how)
    split = find_split([X[seen] for X in tables], workers, **how)
    if split is None:
        return None
    labels = np.full(n, np.bincount(split.labels).argmax())
    labels[seen] = split.labels
    return split._replace(labels=labels)
