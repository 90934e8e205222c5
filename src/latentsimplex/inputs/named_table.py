"""A table with names for its columns and rows, which the estimator takes as it takes a frame; rows matched by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.base.types import Array
from latentsimplex.base.wording import count_noun
from latentsimplex.inputs.numbers import read_cells


class UnknownViews(ValueError):
    """The data cannot be cut into views as was asked for."""


@dataclass(frozen=True, eq=False)
class NamedTable:
    """Numbers (n, p) with a name for each column and, where they are known, for each row.

    Where some columns hold categories, the values are objects: numbers, and text or None.

    >>> from latentsimplex.inputs.views import as_views
    >>> as_views(NamedTable(np.eye(2), ["age", "height"], ["anna", "bert"]), "columns").sample_names
    ['anna', 'bert']
    """

    values: Array
    columns: list[str]
    index: list[str] | None = None

    def to_numpy(self) -> Array:
        """Return the numbers."""
        return self.values

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns."""
        return self.values.shape

    def take_columns(self, columns: list[int]) -> NamedTable:
        """Return some of the columns."""
        return NamedTable(self.values[:, columns], [self.columns[j] for j in columns], self.index)

    def rows(self, names: list[str]) -> NamedTable:
        """Return the table with its rows in the order of ``names``, each of which is there once."""
        position = {name: i for i, name in enumerate(self.index or [])}
        return NamedTable(self.values[[position[name] for name in names]], self.columns, names)


NO_NAMES = {"None", "nan", "<NA>", "NaT"}
"""The texts that missing names of rows become."""
HANDFUL = 5
"""The fewest samples of a view that others have more samples than."""
JOINS = ("strict", "inner", "outer")
"""What may be done about named samples that not all views have: refuse them, leave them out, keep them."""


class MatchedRows(NamedTuple):
    """Samples of several tables, matched by name.

    Attributes
    ----------
    samples : list of str or None
        The names of the samples; None where no table names its rows.
    orders : list of lists of int, or None
        For each table, its rows in the order of the samples; None where they stay as they are.
    present : (V, n) array or None
        Which samples each table has; None if each has all of them.
    left_out : frozenset of str
        The names of samples that some tables have and a join left out.
    """

    samples: list[str] | None
    orders: list[list[int] | None]
    present: np.ndarray | None = None
    left_out: frozenset[str] = frozenset()


def align_rows(tables: Mapping[str, NamedTable]) -> dict[str, NamedTable]:
    """Return the tables with rows matched by name, as :func:`match_rows` does.

    >>> first, second = NamedTable(np.eye(2), ["x", "y"], ["a", "b"]), NamedTable(np.eye(2), ["x", "y"], ["b", "a"])
    >>> align_rows({"first": first, "second": second})["second"].values.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    matched = match_rows(list(tables), [table.index for table in tables.values()])
    return {
        name: table if matched.samples is None or order is None else table.rows(matched.samples)
        for (name, table), order in zip(tables.items(), matched.orders, strict=True)
    }


def column_names(data: Any) -> list[str] | None:
    """Return the names of a table's columns; None where they have none."""
    return [str(name) for name in data.columns] if hasattr(data, "columns") else None


def name_rows(index: Iterable[Any], label: str, is_made_text: bool = False) -> list[str]:
    """Return the names of rows as text, or raise ValueError for rows without one, such as None and NaN.

    Where an index ``is_made_text``, as that of an AnnData is, text such as "nan" stands for these.

    >>> name_rows([3, "b"], "X")
    ['3', 'b']
    """
    given = list(index)
    names = list(map(str, given))
    without = [
        i
        for i, name in enumerate(names)
        if name in NO_NAMES and (is_made_text or not isinstance(given[i], str))
    ]
    if without:
        i, one = without[0], len(without) == 1
        raise ValueError(
            f"{count_noun(len(without), 'row')} of {label} {'has' if one else 'have'} no name, such as row {i}, whose "
            f"name is {given[i]!r}: name each row, or drop the rows without a name."
        )
    return names


def names_of_rows(parts: Sequence[Any], labels: Sequence[str]) -> list[list[str] | None]:
    """Return the index of each part as text, None where it has none; all have none where each only counts rows.

    ``labels`` is what errors call the parts.
    """
    indices = [None if callable(index := getattr(part, "index", None)) else index for part in parts]
    if all(index is None or _counts_rows(index) for index in indices):
        return [None] * len(parts)
    names: list[list[str] | None] = []
    for v, index in enumerate(indices):
        if v and index is indices[v - 1]:  # thousands of views may share an index
            names.append(names[-1])
        else:
            names.append(None if index is None else name_rows(index, labels[v]))
    return names


def _counts_rows(index: Any) -> bool:
    """Return whether an index is the one that frames have by themselves: 0, 1, ..., n - 1."""
    values = np.asarray(index)
    return values.dtype.kind in "iu" and np.array_equal(values, np.arange(len(values)))


def match_rows(tables: Sequence[str], names: Sequence[list[str] | None], join: str = "strict") -> MatchedRows:
    """Return the samples of some tables and, for each table, the order that brings its rows into theirs, or raise.

    Samples are in order of first appearance. A table without names goes by position, which it can only where all
    others have the same samples in one order.

    Parameters
    ----------
    tables : sequence of str
        What errors call the tables.
    names : sequence of lists of str, or None
        Of the rows of each table.
    join : "strict", "inner" or "outer"
        Names that differ raise, or the samples that all tables have are kept, or those that any has.

    Examples
    --------
    >>> match_rows(["one", "two", "three"], [["a", "b"], ["b", "a"], ["a", "b"]])[:2]
    (['a', 'b'], [None, [1, 0], None])
    >>> match_rows(["one", "two"], [["a", "b"], ["c", "a"]], "outer").samples
    ['a', 'b', 'c']
    """
    orders: list[list[int] | None] = [None] * len(names)
    named = {i: own for i, own in enumerate(names) if own is not None}
    if not named:
        return MatchedRows(None, orders)
    first, samples = next(iter(named.items()))
    if len(named) > 1:
        _check_unique(tables[first], samples)
    moved = [i for i, own in named.items() if own != samples]
    for i in moved:
        _check_unique(tables[i], named[i])
        if join == "strict":
            _check_same_samples(tables[first], samples, tables[i], named[i])
    if moved and len(named) < len(names):
        unnamed = next(table for table, own in zip(tables, names, strict=True) if own is None)
        raise ValueError(
            f"{unnamed} has no row names, and {tables[first]} and {tables[moved[0]]} have theirs in different orders: "
            "name its rows too, or put all views in one order."
        )
    if not moved:
        return MatchedRows(samples, orders)
    places = {i: {name: j for j, name in enumerate(own)} for i, own in named.items()}
    if join == "outer":
        samples = list(dict.fromkeys(chain.from_iterable(named.values())))
    elif join == "inner":
        samples = [name for name in samples if all(name in place for place in places.values())]
        if len(samples) < 2:
            found = f"{count_noun(len(samples), 'sample')} of {tables[first]} {'is' if samples else 'are'}"
            raise ValueError(
                f"{found} in all views: name samples alike in all views, or keep those that only some have with "
                'join="outer".'
            )
    for i, own in named.items():
        if own != samples:
            orders[i] = [places[i][name] for name in samples if name in places[i]]
    present = np.array([[name in places[i] for name in samples] for i in named])
    left_out = frozenset(chain.from_iterable(named.values())).difference(samples)
    return MatchedRows(samples, orders, None if present.all() else present, left_out)


def _check_unique(table: str, names: list[str]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise ValueError(
            f"{table} has {twice!r} more than once among its row names, by which views are matched: name each sample "
            "once or, where all views are in one order, leave out the names."
        )


def _check_same_samples(first: str, samples: list[str], second: str, others: list[str]) -> None:
    lacking, extra = _list_absent(samples, others), _list_absent(others, samples)
    if not lacking and not extra:
        return
    if lacking:
        problem = (
            f"{second} lacks {len(lacking)} of the {len(samples)} samples of {first}, such as {lacking[0]!r}"
        )
        problem += f", and has {len(extra)} that are not in {first}, such as {extra[0]!r}" if extra else ""
    else:
        problem = f"{first} lacks {len(extra)} of the {len(others)} samples of {second}, such as {extra[0]!r}"
    raise ValueError(
        f'{problem}: name samples alike in all views, or fit with join="inner" to keep those that all views have, or '
        'with join="outer" to keep all of them.'
    )


def _list_absent(names: list[str], others: list[str]) -> list[str]:
    """Return the names that are not among others."""
    known = set(others)
    return [name for name in names if name not in known]


def with_samples(frame: Any, column: str) -> NamedTable:
    """Return the numbers of a frame, with one of its columns as the names of the samples.

    Frames of polars have no index: this is how the estimator is told who is who.

    Parameters
    ----------
    frame : DataFrame of pandas or polars
    column : str
        The column that names the samples.
    """
    if column not in frame.columns:
        listed = ", ".join(repr(str(name)) for name in list(frame.columns)[:10])
        raise ValueError(f"There is no column {column!r}: the columns are {listed}.")
    others = [name for name in frame.columns if name != column]
    index = name_rows(frame[column].to_list(), "the frame")
    return NamedTable(read_cells(frame[others], "the frame"), [str(name) for name in others], index)


def check_shared(present: np.ndarray, labels: Sequence[str]) -> None:
    """Raise ValueError for a view none of whose samples is in another: nothing tells how their clusters match.

    >>> check_shared(np.array([[True, True, False], [False, True, True]]), ["one", "two"])
    """
    counts = present.sum(axis=0)
    for own, label in zip(present, labels, strict=True):
        if (counts[own] == 1).all():
            raise ValueError(
                f"No sample of {label} is in another view by its name: name samples alike in all views (upper and "
                "lower case count), or fit this one by itself."
            )


def check_handful(tables: Sequence[Any], labels: list[str]) -> None:
    """Raise ValueError for a table of very few of the samples."""
    for table, label in zip(tables, labels, strict=True):
        if table.shape[0] < HANDFUL:
            raise ValueError(
                f"{label} has {table.shape[0]} of the samples, too few to compare with one another: give a view of "
                f"{HANDFUL} samples or more, or leave it out."
            )
