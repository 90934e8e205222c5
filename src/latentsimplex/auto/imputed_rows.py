"""Imputation of absent rows: samples that a view lacks, filled in from samples like them in other views.

Neighbour graphs in which absent samples had no edges would fall apart by who is where. With rows filled in they do not,
and what the filling adds to clusters it adds to those of clouds as well: these have the same absent samples, filled in
the same way (:mod:`latentsimplex.auto.unimodal_clouds`). Memberships read no row that was filled in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latentsimplex.base.arrays import fill_missing
from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.partial_table import PartialTable, count_present
from latentsimplex.base.types import Array, Indices

N_DONORS = 5
"""Samples whose mean fills a row. One leaves gaps where donors are few; more flatten the shape of a view."""
MOST_DONORS = 2000
"""Samples that rows are filled from, where there are more: as many as show the shape of a view."""
TOGETHER = 1 << 22
"""Distances between samples that are held at a time."""


def find_present(tables: Sequence[Any]) -> np.ndarray:
    """Return which samples each view has (V, n)."""
    return np.array([Z.present if isinstance(Z, PartialTable) else np.ones(len(Z), bool) for Z in tables])


def fill_absent(tables: Sequence[Any]) -> list[Array]:
    """Return coordinates of all samples in each view, given those of the samples that it has.

    An absent row is the mean of those of the samples that are most like it: the mean of their squared distances in
    the views that both have, each over the spread of its view, is least. A view that has none of them is left out.

    >>> one = np.array([[0.0], [0.1], [9.0]])
    >>> fill_absent([one, PartialTable(np.array([[5.0], [7.0]]), np.array([0, 2]), 3)])[1].tolist()
    [[5.0], [6.0], [7.0]]
    """
    if not any(isinstance(Z, PartialTable) for Z in tables):
        return list(tables)
    tables = [Z for Z in tables if count_present(Z)]
    n, present = len(tables[0]), find_present(tables)
    donors = sample_rows(n, MOST_DONORS)
    scaled = [_scale(Z, own) for Z, own in zip(tables, present, strict=True)]
    filled = [np.zeros(Z.shape) for Z in tables]
    for Z, own, table in zip(filled, present, tables, strict=True):
        Z[own] = table.values if isinstance(table, PartialTable) else table
    known = [Z.copy() for Z in filled]
    lacking = np.flatnonzero(~present.all(axis=0))
    size = max(1, TOGETHER // len(donors))
    for start in range(0, len(lacking), size):
        rows = lacking[start : start + size]
        unlike = _measure_unlikeness(scaled, present, rows, donors)
        for Z, before, own in zip(filled, known, present, strict=True):
            absent, having = ~own[rows], own[donors]
            if absent.any() and not having.any():  # few have the view, and none of them is a donor
                Z[rows[absent]] = before[own].mean(axis=0)
            elif absent.any():
                k = min(N_DONORS, int(having.sum()))
                near = np.argsort(unlike[np.ix_(absent, having)], axis=1, kind="stable")[:, :k]
                Z[rows[absent]] = before[donors[having][near]].mean(axis=1)
    return filled


def _scale(table: Any, own: np.ndarray) -> Array:
    """Return the coordinates of a view, centred and over their spread; 0 for absent samples."""
    Z = np.zeros(table.shape)
    Z[own] = fill_missing(table.values if isinstance(table, PartialTable) else table)
    Z[own] -= Z[own].mean(axis=0)
    return Z / max(float(np.sqrt(np.square(Z).sum() / own.sum())), np.finfo(float).tiny)


def _measure_unlikeness(
    scaled: Sequence[Array], present: np.ndarray, rows: Indices, donors: Indices
) -> Array:
    """Return the mean squared distances (rows, donors) in the views that both have; infinite where there is none."""
    squares, shared = np.zeros((2, len(rows), len(donors)))
    for Z, own in zip(scaled, present, strict=True):
        both = np.outer(own[rows], own[donors])
        norms = np.square(Z).sum(axis=1)
        squares += both * (norms[rows, None] + norms[donors] - 2 * Z[rows] @ Z[donors].T)
        shared += both
    unlike = np.where(shared > 0, squares / np.maximum(shared, 1), np.inf)
    unlike[rows[:, None] == donors] = np.inf
    return unlike
