"""Columns of categories beside columns of numbers, as one table of numbers that Euclidean distances compare fairly.

Categories are compared by equality and numbers by their difference, and each column counts the same, as in Gower's
distance: over pairs of samples drawn at random, the squared difference in any column has the mean 2.

================= ===========================================================================================
column            what becomes of it
================= ===========================================================================================
numbers           less their mean, over their standard deviation
K categories      K indicators, times 1 / sqrt(1 - sum of p_k^2), p_k the share of a category
two categories    one indicator, times sqrt(2) times that, which gives the same distances
missing           NaN in all columns that it becomes
================= ===========================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.base.types import Array


class EncodedColumns(NamedTuple):
    """A table of numbers and where its columns come from.

    Attributes
    ----------
    table : (n, q) array or sparse matrix
    names : list of str, or None where columns have none
    origins : (q,) list, or None where columns are as they were given
        Which of the given columns each column comes from.
    units : (2, q) array, or None where columns are as they were given
        A column times the first row, plus the second, is in units of its own; an indicator is 0 or 1.
    """

    table: Any
    names: list[str] | None
    origins: list[int] | None = None
    units: Array | None = None


def encode_columns(names: Sequence[str], columns: Sequence[np.ndarray]) -> EncodedColumns:
    """Return columns (n,) of numbers or of categories (an object array of text, None where missing) as numbers.

    Where all are numbers, they stay as they are.

    >>> found = encode_columns(["size", "colour"], [np.array([1.0, 3.0]), np.array(["red", "blue"], dtype=object)])
    >>> found.table.round(2).tolist(), found.names
    ([[-1.0, 2.0], [1.0, 0.0]], ['size', 'colour=red'])
    """
    if not any(map(_are_categories, columns)):
        return EncodedColumns(np.column_stack(columns), list(names))
    parts, encoded, origins, units = [], [], [], []
    for j, (name, values) in enumerate(zip(names, columns, strict=True)):
        if _are_categories(values):
            part, levels, scale = _encode_categories(name, values)
            encoded += [f"{name}={level}" for level in levels]
            centre = 0.0
        else:
            part, (centre, scale) = values[:, None], _centre_and_scale(values)
            encoded.append(name)
        parts.append((part - centre) / scale)
        origins += [j] * part.shape[1]
        units += [(scale, centre)] * part.shape[1]
    return EncodedColumns(np.hstack(parts), encoded, origins, np.array(units).T)


def _are_categories(values: np.ndarray) -> bool:
    return values.dtype.kind == "O"


def _centre_and_scale(values: Array) -> tuple[float, float]:
    """Return the mean and the standard deviation of the numbers that are not missing; 1 where they do not vary."""
    present = values[~np.isnan(values)]
    if not len(present):
        return 0.0, 1.0
    return float(present.mean()), float(present.std()) if np.ptp(present) > 0 else 1.0


def _encode_categories(name: str, values: np.ndarray) -> tuple[Array, list[str], float]:
    """Return indicators (n, K) of the categories of a column, which categories they are for, and their scale."""
    missing = np.array([value is None for value in values])
    found, codes = np.unique(values[~missing].astype(str), return_inverse=True)
    levels, n = found.tolist(), len(codes)
    if len(levels) > 2 and 2 * len(levels) > n:
        raise ValueError(
            f"The column {name!r} has {len(levels)} different texts in {n} samples, so it says who a sample is and not "
            "what it is like: leave it out, or make it the index."
        )
    indicators = np.full((len(values), max(len(levels), 1)), np.nan)
    indicators[~missing] = np.eye(indicators.shape[1])[codes]
    if len(levels) < 2:
        return 0.0 * indicators, levels or [""], 1.0
    scale = float(np.sqrt(1 - np.square(np.bincount(codes) / n).sum()))
    return (
        (indicators, levels, scale)
        if len(levels) > 2
        else (indicators[:, 1:], levels[1:], scale / np.sqrt(2))
    )
