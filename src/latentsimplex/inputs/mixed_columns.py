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

Text that is nearly all numbers, typed as Python does not read them, is taken as categories with a warning.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Sized
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.base.types import Array
from latentsimplex.base.wording import show_value, warn_user

TYPED_NUMBER = re.compile(
    r"((?P<bound>[<>≤≥~]=?)\s*)?[+-]?(?=[.,]?\d)(\d{1,3}([ '.,\u00a0\u202f]\d{3})+|\d*)([.,]\d*)?(e[+-]?\d+)?(\s*%)?",
    re.IGNORECASE | re.ASCII,
)
"""A number as people type it: with a comma, between thousands or before decimals, with a bound or a percent sign."""
NEARLY_ALL = 0.9
"""The share of typed numbers among the texts of a column from which it is taken to be one of numbers."""
FEWEST_NUMBERS, FEWEST_BESIDE_WORDS = 3, 10
"""Different typed numbers, without bounds, of such a column, the second beside texts that are none. Age bands such as
<18 and numbers of children such as 0, 1, 2, 3+ are categories."""


class ColumnEncoding(NamedTuple):
    """How a column became numbers: its categories (None for numbers), what they were less, and what they are over."""

    levels: list[str] | None
    centre: float
    scale: float

    @property
    def width(self) -> int:
        """The number of columns that it becomes: one for each category, for two of them one."""
        return len(self.levels) if self.levels is not None and len(self.levels) > 2 else 1

    def encode(self, values: np.ndarray) -> Array:
        """Return a column (n,) as numbers (n, width), NaN where it is missing.

        A category that is none of the levels has no indicator: it is as far from each of them.

        >>> ColumnEncoding(["blue", "red"], 0.0, 0.5).encode(np.array(["red", "blue", "green"], dtype=object)).tolist()
        [[2.0], [0.0], [1.0]]
        """
        if self.levels is None:
            return (values[:, None].astype(np.float64) - self.centre) / self.scale
        missing = np.array([value is None for value in values], dtype=bool)
        if len(self.levels) < 2:
            indicators = np.zeros((len(values), 1))
        else:
            indicators = (values[:, None] == np.array(self.levels, dtype=object)).astype(np.float64)
        if len(self.levels) == 2:
            indicators = (1 + indicators[:, 1:] - indicators[:, :1]) / 2
        indicators[missing] = np.nan
        return indicators / self.scale


class EncodedColumns(NamedTuple):
    """A table of numbers and where its columns come from.

    Attributes
    ----------
    table : (n, q) array or sparse matrix
    names : list of str, or None where columns have none
    origins : (q,) list, or None where columns are as they were given
        Which of the given columns each column comes from.
    encodings : list of ColumnEncoding, or None where columns are as they were given
        How each of the given columns was encoded.
    """

    table: Any
    names: list[str] | None
    origins: list[int] | None = None
    encodings: list[ColumnEncoding] | None = None

    @property
    def units(self) -> Array | None:
        """A column times the first row (2, q), plus the second, is in units of its own; an indicator is 0 or 1."""
        if self.encodings is None:
            return None
        return np.array([(e.scale, e.centre) for e in self.encodings for _ in range(e.width)]).T


def encode_columns(names: Sequence[str], columns: Sequence[np.ndarray]) -> EncodedColumns:
    """Return columns (n,) of numbers or of categories (an object array of text, None where missing) as numbers.

    Where all are numbers, they stay as they are.

    >>> found = encode_columns(["size", "colour"], [np.array([1.0, 3.0]), np.array(["red", "blue"], dtype=object)])
    >>> found.table.round(2).tolist(), found.names
    ([[-1.0, 2.0], [1.0, 0.0]], ['size', 'colour=red'])
    """
    if not any(map(_are_categories, columns)):
        return EncodedColumns(np.column_stack(columns), list(names))
    encodings = [learn_encoding(name, values) for name, values in zip(names, columns, strict=True)]
    encoded: list[str] = []
    for name, encoding in zip(names, encodings, strict=True):
        levels = encoding.levels
        encoded += (
            [name] if levels is None else [f"{name}={each}" for each in levels[-encoding.width :] or [""]]
        )
    table = np.hstack([each.encode(values) for each, values in zip(encodings, columns, strict=True)])
    origins = [j for j, encoding in enumerate(encodings) for _ in range(encoding.width)]
    return EncodedColumns(table, encoded, origins, encodings)


def learn_encoding(name: str, values: np.ndarray) -> ColumnEncoding:
    """Return how a column of numbers or categories becomes numbers, or raise ValueError for one that names samples."""
    if not _are_categories(values):
        return ColumnEncoding(None, *_centre_and_scale(values))
    known = np.array([value for value in values if value is not None], dtype=str)
    found, codes = np.unique(known, return_inverse=True)
    levels, n = found.tolist(), len(codes)
    if _are_names(levels, n):
        if are_typed_numbers(known.tolist()):
            raise ValueError(
                f"The column {name!r} has {len(levels)} different texts in {n} samples, which are nearly all numbers, "
                f"such as {show_value(levels[0])}: turn them into numbers, or leave the column out."
            )
        raise ValueError(
            f"The column {name!r} has {len(levels)} different texts in {n} samples, so it says who a sample is and not "
            "what it is like: leave it out, or make it the index."
        )
    if len(levels) < 2:
        return ColumnEncoding(levels, 0.0, 1.0)
    scale = float(np.sqrt(1 - np.square(np.bincount(codes) / n).sum()))
    return ColumnEncoding(levels, 0.0, scale / float(np.sqrt(2)) if len(levels) == 2 else scale)


def warn_of_typed_numbers(name: str, values: Iterable[str | None], label: str) -> None:
    """Warn of a column of text, to be taken as categories, that is one of numbers which could not be read as such."""
    known = [value for value in values if value is not None]
    if are_typed_numbers(known) and not _are_names(set(known), len(known)):
        unread = next((value for value in known if not reads_as_number(value)), known[0])
        warn_user(
            f"The column {name!r} of {label} holds text that is nearly all numbers, with cells such as "
            f"{show_value(unread)}, and was taken as categories: turn its cells into numbers, or its type into "
            "category if they are categories."
        )


def are_typed_numbers(texts: Sequence[str]) -> bool:
    """Return whether nearly all texts are numbers as people type them, and others words without a digit.

    Codes are mostly numbers too, beside some such as 12a or V58.6.

    >>> are_typed_numbers(["0,35", "<0.5", "1 234", "0,4"]), are_typed_numbers(["<18", "18-30", ">30"])
    (True, False)
    """
    counts = Counter(texts)
    found = {text: match for text in counts if (match := TYPED_NUMBER.fullmatch(text.strip()))}
    others = counts.keys() - found.keys()
    n_numbers = sum(counts[text] for text in found)
    if n_numbers < NEARLY_ALL * len(texts) or any(sign.isdigit() for text in others for sign in text):
        return False
    fewest = FEWEST_BESIDE_WORDS if others else FEWEST_NUMBERS
    return sum(match["bound"] is None for match in found.values()) >= fewest


def reads_as_number(text: str) -> bool:
    """Return whether Python reads text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _are_names(levels: Sized, n: int) -> bool:
    """Return whether so many different texts of n say who a sample is."""
    return len(levels) > 2 and 2 * len(levels) > n


def _are_categories(values: np.ndarray) -> bool:
    return values.dtype.kind == "O"


def _centre_and_scale(values: Array) -> tuple[float, float]:
    """Return the mean and the standard deviation of the numbers that are not missing; 1 where they do not vary."""
    present = values[~np.isnan(values)]
    if not len(present):
        return 0.0, 1.0
    return float(present.mean()), float(present.std()) if np.ptp(present) > 0 else 1.0


class GivenColumns(NamedTuple):
    """The columns that a view was given as, which new samples are to have.

    Attributes
    ----------
    n_columns : int
    names : list of str, or None where they have none
    encodings : list of ColumnEncoding, or None where columns are as they were given
    places : list of int, or None
        Where they stand in the one table that was cut into views.
    """

    n_columns: int
    names: list[str] | None = None
    encodings: list[ColumnEncoding] | None = None
    places: list[int] | None = None
