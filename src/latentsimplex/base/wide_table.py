"""Large tables, most of them with more features than samples, read a part at a time, so that no copy of one is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from latentsimplex.base.partial_table import PartialTable
from latentsimplex.base.types import Array, Indices

WIDE_ENTRIES = 1 << 21
"""Tables with fewer entries are copied as a whole."""
PART_ENTRIES = 1 << 19
"""Entries of the features that are made dense at a time."""
ALL = slice(None)
MANY_FEATURES = 512
"""Large tables have more features than this, and are compared by so many principal coordinates."""
MANY_SAMPLES = 10_000
"""Tables that are neither sparse nor wide are large if they have more samples than this: others are copied whole."""
THIN = 0.1
"""Features of which no more than this share are stored are quicker to multiply as they are than made dense."""


@dataclass(frozen=True)
class WideTable:
    """A table X (n, p), an array or sparse by column, that is read in parts.

    >>> table = WideTable(np.array([[1.0, 2.0, 4.0], [1.0, 3.0, 4.0]]))
    >>> table.shape, table.find_varying().tolist()
    ((2, 3), [False, True, False])
    """

    X: Any

    def __len__(self) -> int:
        return self.X.shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of samples and features."""
        return self.X.shape

    def parts(self) -> Iterator[tuple[Indices, Any]]:
        """Yield features and their columns: thin sparse ones as they are, others as arrays, a few at a time."""
        n, p = self.shape
        filled = np.arange(p)
        if sparse.issparse(self.X):
            thin = self._find_thin()
            filled = np.flatnonzero(~thin)
            yield np.flatnonzero(thin), self.X if not len(filled) else self.X[:, thin]
        size = max(1, PART_ENTRIES // n)
        for start in range(0, len(filled), size):
            features = filled[start : start + size]
            columns = self.X[:, features[0] : features[-1] + 1] if len(filled) == p else self.X[:, features]
            yield features, columns.toarray() if sparse.issparse(columns) else np.asarray(columns, np.float64)

    def count_entries(self) -> tuple[int, int]:
        """Return how many numbers are stored by column, and how many of others are made dense at a time."""
        n, p = self.shape
        if not sparse.issparse(self.X):
            return 0, min(n * p, PART_ENTRIES)
        return int(self.X.nnz), min(n * int((~self._find_thin()).sum()), PART_ENTRIES)

    def _find_thin(self) -> np.ndarray:
        """Return which features (p,) of a sparse table are thin."""
        return np.diff(self.X.indptr) <= THIN * len(self)

    def find_varying(self) -> np.ndarray:
        """Return which features (p,) have more than one value."""
        varying = np.zeros(self.shape[1], dtype=bool)
        if not sparse.issparse(self.X):
            step = max(1, PART_ENTRIES // self.shape[1])
            for start in range(0, len(self), step):
                varying |= (self.X[start : start + step] != self.X[:1]).any(axis=0)
                if varying.all():
                    break
            return varying
        for features, columns in self.parts():
            if sparse.issparse(columns):
                varying[features[columns_of_entries(columns)[columns.data != 0]]] = True
            else:
                varying[features] = (columns != columns[:1]).any(axis=0)
        return varying

    def __getitem__(self, rows: Indices) -> WideTable:
        """Return the table of some samples."""
        return self.take(rows)

    def take(self, rows: Indices | slice = ALL, features: Indices | slice = ALL) -> WideTable:
        """Return some samples and features."""
        return WideTable(self.X[rows] if features is ALL else self.X[:, features][rows])

    def to_dense(self) -> Array:
        """Return the table as an array."""
        return to_dense(self.X)


def to_dense(X: Any) -> Array:
    """Return an array or a sparse matrix as an array of double precision, in one piece of memory."""
    # sums over another layout in memory round otherwise, and equal views are to give equal fits
    return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def columns_of_entries(X: Any) -> Indices:
    """Return the column of each entry that a matrix stores by column."""
    return np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))


def is_wide_shape(n_samples: int, n_features: int) -> bool:
    """Return whether a table has more features than samples, and is too large for copies."""
    return n_features > n_samples and has_many_entries(n_samples, n_features)


def has_many_entries(n_samples: int, n_features: int) -> bool:
    """Return whether a table has so many numbers that a copy matters."""
    return n_samples * n_features > WIDE_ENTRIES


def is_wide(X: Any) -> bool:
    """Return whether a table, sparse or an array, is read in parts: it is wide, and no cell is missing."""
    return is_wide_shape(*X.shape) and (sparse.issparse(X) or bool(np.isfinite(X).all()))


def is_large(X: Any) -> bool:
    """Return whether clusters are looked for in a table without a copy of it: it is wide, sparse or of many samples.

    None of its cells is missing.
    """
    n, p = X.shape
    many = p > MANY_FEATURES and has_many_entries(n, p) and (sparse.issparse(X) or n > MANY_SAMPLES)
    return many or is_wide(X)


def join_tables(tables: Sequence[Array | WideTable]) -> Array | WideTable:
    """Return arrays (n, p) as one (b, n, p); a wide table comes alone, and stays as it is."""
    first = tables[0]
    if isinstance(first, WideTable):
        return first
    return first[None] if len(tables) == 1 else np.stack(tables)  # type: ignore[arg-type]


def find_varying(X: Array | WideTable | PartialTable) -> np.ndarray:
    """Return which features (p,) of a table (n, p) have more than one value.

    >>> find_varying(np.array([[1.0, 2.0, np.nan], [1.0, np.nan, 1.0], [1.0, 3.0, np.nan]])).tolist()
    [False, True, False]
    """
    if isinstance(X, PartialTable):
        return find_varying(X.values)
    if isinstance(X, WideTable):
        return X.find_varying()
    return np.fmax.reduce(X) > np.fmin.reduce(X)
