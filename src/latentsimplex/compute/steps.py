"""The steps of a walk that are not as good as nothing, compiled: a dense matrix becomes a sparse one in two passes."""

from __future__ import annotations

import numpy as np

from latentsimplex.compute.loops import compiled


@compiled
def row_counts(M: np.ndarray, least: float) -> np.ndarray:  # pragma: no cover
    """Return where the entries of M (n, n) above ``least`` begin, row by row, and where the last ones end (n + 1,)."""
    n, edge = len(M), M.dtype.type(least)
    starts = np.zeros(n + 1, np.int32)
    for i in range(n):
        row, count = M[i], np.int32(0)
        for j in range(n):
            count = np.int32(count + np.int32(row[j] > edge))
        starts[i + 1] = starts[i] + count
    return starts


@compiled
def entries_above(
    M: np.ndarray, least: float, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:  # pragma: no cover
    """Return the entries of M above ``least`` and their columns, row by row."""
    n, edge = len(M), M.dtype.type(least)
    values, columns = np.empty(starts[n], M.dtype), np.empty(starts[n], np.int32)
    for i in range(n):
        row, at = M[i], starts[i]
        for j in range(n):
            if row[j] > edge:
                values[at], columns[at] = row[j], j
                at += 1
    return values, columns
