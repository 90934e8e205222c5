"""Wide tables reduced to narrow ones with the same distances: n samples need no more than n coordinates.

========== ===================== ========= ============================================================
symbol     name                  shape     meaning
========== ===================== ========= ============================================================
F          ``columns``           n x p     features, standardised or not, sparse or a few at a time
G          ``products``          n x n     F F^T, features centred
L          ``coordinates``       n x r     G = L L^T: what has these products has the distances of F
========== ===================== ========= ============================================================

A constant that is added to a feature changes no difference between samples, so that sparse features stay sparse:
what is stored is how far entries are from the entries that are not stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpstrf

from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import PART_ENTRIES, WideTable, columns_of_entries
from latentsimplex.similarity.distances import mean_and_scale, rescale

MEASURED = 4000
"""Samples that show the mean and the scale of a feature well enough: within two hundredths of the scale."""
LEAST_FEATURES = 1024
"""No fewer features than this are compared one by one, if there are as many: what they show is a mean over them."""


def compare_together(table: WideTable, standardised: bool) -> Array:
    """Return coordinates (n, r) in which samples have the distances that they have in the features of a wide table.

    >>> table = WideTable(np.array([[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]))
    >>> L = compare_together(table, False)
    >>> float(np.linalg.norm(L[0] - L[1]).round(6)), L.shape
    (2.0, (2, 1))
    """
    parts = standardised_parts(table) if standardised else comparable_parts(table)
    lower, pivots, rank, _ = dpstrf(centred_products(len(table), (F for _, F, _ in parts)), lower=1)
    coordinates = np.zeros((len(table), max(rank, 1)))
    coordinates[pivots - 1, :rank] = np.tril(lower)[:, :rank]
    return coordinates


def compare_one_by_one(table: WideTable) -> Array:
    """Return features that vary (n, p'), over the largest of each: as many, at random, as show what their mean is."""
    varying = np.flatnonzero(table.find_varying())
    most = max(LEAST_FEATURES, PART_ENTRIES // len(table))
    some = np.sort(np.random.default_rng(0).permutation(varying)[:most])
    found = table.take(features=some).to_dense()
    found = found / np.abs(found).max(axis=0)
    return found if len(some) else np.zeros((len(table), 1))


def comparable_parts(table: WideTable) -> Iterator[tuple[Indices, Any, None]]:
    """Yield features and their columns over the largest number of all, so that their squares are numbers."""
    X = table.X
    largest = max(X.max(), -X.min()) or 1.0
    yield from ((features, columns / largest, None) for features, columns in table.parts())


def standardised_parts(table: WideTable, edge: float = np.inf) -> Iterator[tuple[Indices, Any, Array]]:
    """Yield features, their standardised columns, cut at an edge, up to constants, and their scales.

    Of a thin feature most entries are one number, so that none of the others is an outlier
    (:func:`latentsimplex.similarity.distances.mean_and_scale`).
    """
    n = len(table)
    for features, columns in table.parts():
        if not sparse.issparse(columns):
            mean, scale = mean_and_scale(columns)
            yield features, np.clip(rescale(columns, mean, scale), -edge, edge), scale[0]
            continue
        at, data = columns_of_entries(columns), columns.data
        mean = np.bincount(at, data, len(features)) / n
        gaps = np.bincount(at, (data - mean[at]) ** 2, len(features))
        scale = np.sqrt((gaps + (n - np.diff(columns.indptr)) * mean**2) / n)
        divisor = scale + (scale == 0)
        rest = np.clip(-mean / divisor, -edge, edge)
        data = np.clip((data - mean[at]) / divisor[at], -edge, edge) - rest[at]
        yield features, type(columns)((data, columns.indices, columns.indptr), shape=columns.shape), scale


def measure_features(table: WideTable) -> tuple[Array, Array]:
    """Return the mean and the standard deviation (p,) of features, but for outliers; 0 for one that does not vary.

    Of very many samples some thousands show them, unless what is stored is little; a feature that is constant among
    these does not count as varying.
    """
    varying, table = table.find_varying(), sample_long(table)
    n = len(table)
    mean, spread = np.zeros((2, table.shape[1]))
    for features, columns in table.parts():
        if sparse.issparse(columns):
            at = columns_of_entries(columns)
            own = np.bincount(at, columns.data, len(features)) / n
            gaps = np.bincount(at, (columns.data - own[at]) ** 2, len(features))
            mean[features] = own
            spread[features] = np.sqrt((gaps + (n - np.diff(columns.indptr)) * own**2) / n)
        else:
            centres, scales = mean_and_scale(columns)
            mean[features], spread[features] = centres[0], scales[0]
    return mean, spread * varying


def sample_long(table: WideTable) -> WideTable:
    """Return a table, or some of its samples where it has very many and is not sparse."""
    if sparse.issparse(table.X) or len(table) <= MEASURED:
        return table
    return table.take(sample_rows(len(table), MEASURED))


def centred_products(n: int, parts: Iterator[Any]) -> Array:
    """Return F F^T (n, n), features centred, of columns that come in parts."""
    products = np.zeros((n, n))
    for columns in parts:
        if not sparse.issparse(columns):
            columns = columns - columns.mean(axis=0)
        both = columns @ columns.T
        products += both.toarray() if sparse.issparse(both) else both
    means = products.mean(axis=0)
    return products - means - means[:, None] + means.mean()
