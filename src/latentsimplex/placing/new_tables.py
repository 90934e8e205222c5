"""New samples in any form that data of a fit may have, read as its views were: by names, in any order, some absent.

========================================= ===================================================================
input                                     views
========================================= ===================================================================
list or tuple, None for an absent view    by position, as many as the fit had
dict, MuData                              by name; those that are not there are absent
(V, n, p) array                           by position
2-D array, frame or AnnData               the one table that the fit was given, columns by name where both have
                                          names; a view of which all columns are lacking is absent
========================================= ===================================================================

Where the fit took missing cells, a row of nothing but these is a sample that a view lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from latentsimplex.base.types import Array
from latentsimplex.base.wording import count_noun
from latentsimplex.inputs.containers import open_container
from latentsimplex.inputs.mixed_columns import GivenColumns
from latentsimplex.inputs.named_table import MatchedRows, column_names, match_rows, names_of_rows
from latentsimplex.inputs.numbers import check_values, read_cells, read_numbers
from latentsimplex.inputs.stored_tables import open_group
from latentsimplex.inputs.views import is_collection, open_part

ESTIMATOR = "LatentSimplexPosition"
"""Whose words scikit-learn's checks look for."""


class NewSamples(NamedTuple):
    """The table (n, p) of each view, sparse or an array, None for one that is absent, and names of samples, if any."""

    tables: list[Any]
    names: list[str] | None

    @property
    def n_samples(self) -> int:
        """The number of new samples."""
        return next(X.shape[0] for X in self.tables if X is not None)


def read_new_samples(
    data: Any,
    given: Sequence[GivenColumns],
    view_names: Sequence[str],
    views: Any,
    missing: str,
    join: str = "strict",
    whole: GivenColumns | None = None,
) -> NewSamples:
    """Return new samples in the views of a fit, or raise one clear error.

    Parameters
    ----------
    data : any input form of the module's table
    given : sequence of GivenColumns
        The columns that each view of the fit was given as.
    view_names : sequence of str
    views : "whole", "columns", labels, or a dict
        How the fit cut a table into views.
    missing : "raise" or "pairwise"
        Whether missing cells are refused.
    join : "strict", "inner" or "outer"
        What is done about named samples that not all views have; a row of NaN is a sample that a view lacks.
    whole : GivenColumns or None
        The columns of the one table that views were found in, where not all of them are in views.
    """
    if hasattr(data, "obs"):
        data, _ = open_container(data, views, join)
    data = open_group(data)
    if whole is not None:
        data = _find_table(data, view_names)
    parts, labels, rows = _find_parts(data, given, list(view_names), whole)
    if all(part is None for part in parts):
        raise ValueError("The new samples lack every view: give at least one.")
    tables = [
        None if part is None else _read_view(part, own, label, name, missing)
        for part, own, label, name in zip(parts, given, labels, view_names, strict=True)
    ]
    names = _align(tables, labels, rows, join)
    found = NewSamples(tables, names)
    _check_samples(found, labels)
    return found


def _find_table(data: Any, names: Sequence[str]) -> Any:
    """Return the one table of a dict or list of one, as a fit that finds views takes it; other data as they are."""
    if isinstance(data, Mapping) and not sparse.issparse(data):
        return next(iter(data.values())) if len(data) == 1 and str(next(iter(data))) not in names else data
    return data[0] if is_collection(data) and len(data) == 1 else data


def _find_parts(
    data: Any, given: Sequence[GivenColumns], names: list[str], whole: GivenColumns | None
) -> tuple[list[Any], list[str], list[list[str] | None]]:
    """Return what was given for each view, None where nothing was, what errors call it, and names of rows, if any."""
    if isinstance(data, Mapping) and not sparse.issparse(data):
        parts = {str(name): part for name, part in data.items()}
        if unknown := [name for name in parts if name not in names]:
            raise ValueError(
                f"There is no view {unknown[0]!r} in the model: its views are {_listed(names)}. Leave out a view to "
                "say that the new samples lack it."
            )
        found, labels = [parts.get(name) for name in names], [f"views[{name!r}]" for name in names]
    elif is_collection(data):
        found, labels = list(data), [f"views[{v}]" for v in range(len(names))]
        if len(found) != len(names):
            raise ValueError(
                f"The data hold {count_noun(len(found), 'view')}, and the model was fitted to {len(names)}: give them "
                "in that order, with None for a view that the new samples lack, or a dict of views by name."
            )
    else:
        table = open_part(data, "X")
        found = [None] * len(names) if table is None else _cut_table(table, given, names, whole)
        labels = ["X"] * len(names)
        return found, labels, names_of_rows([table], labels) * sum(part is not None for part in found)
    found = [
        None if part is None else open_part(part, label) for part, label in zip(found, labels, strict=True)
    ]
    there = [v for v, part in enumerate(found) if part is not None]
    return found, labels, names_of_rows([found[v] for v in there], [labels[v] for v in there])


def _cut_table(
    table: Any, given: Sequence[GivenColumns], names: list[str], whole: GivenColumns | None
) -> list[Any]:
    """Return the columns of a table that each view has, None for a view of which it has none."""
    if len(given) == 1 and whole is None:
        return [table]
    if any(own.places is None for own in given):
        raise ValueError(
            f"X is one table, and the model was fitted to {len(names)} views: give a list of views, with None for one "
            "that the new samples lack, or a dict of views by name."
        )
    of_table = given if whole is None else [whole]
    columns, known = column_names(table), [name for own in of_table for name in own.names or []]
    if columns is None or not known:
        width = sum(own.n_columns for own in of_table)
        n_columns = _count_columns(table)
        if n_columns != width:
            raise ValueError(_wrong_width(n_columns, width))
        return _take_groups(table, [own.places or [] for own in given], given)
    _check_known(columns, known, "X")
    place = {name: j for j, name in enumerate(columns)}
    cut = [[place[name] for name in own.names or [] if name in place] for own in given]
    for own, found, name in zip(given, cut, names, strict=True):
        if found and len(found) < own.n_columns:
            raise ValueError(
                _lacking([each for each in own.names or [] if each not in place], own.n_columns, "X", name)
            )
    return _take_groups(table, cut, given)


def _take_groups(table: Any, groups: list[list[int]], given: Sequence[GivenColumns]) -> list[Any]:
    """Return groups of columns, None for an empty one; as numbers, of which there may be thousands, if all are."""
    held = table if any(own.encodings for own in given) else read_numbers(table, "X")
    return [_take(held, group) if group else None for group in groups]


def _read_view(part: Any, given: GivenColumns, label: str, name: str, missing: str) -> Any:
    """Return the numbers (n, p) of a view as the fit had them, columns in its order."""
    columns = column_names(part)
    if columns is not None and given.names is not None:
        place = {each: j for j, each in enumerate(columns)}
        _check_known(columns, given.names, label)
        if lacking := [each for each in given.names if each not in place]:
            raise ValueError(_lacking(lacking, given.n_columns, label, name))
        if columns != given.names:
            part = _take(part, [place[each] for each in given.names])
    if given.encodings is None:
        table = read_numbers(part, label)
        _check_shape(table, given.n_columns)
    else:
        cells = read_cells(part, label) if columns is not None else np.asarray(part, dtype=object)
        _check_shape(cells, given.n_columns)
        table = _encode(cells, given, label)
    values = table.data if sparse.issparse(table) else table
    check_values(values[~np.isnan(values)] if missing == "pairwise" else values, label)
    return table.tocsr() if sparse.issparse(table) else table


def _encode(cells: np.ndarray, given: GivenColumns, label: str) -> Array:
    """Return columns of numbers and categories as the fit encoded them."""
    found = []
    for j, encoding in enumerate(given.encodings or []):
        values = cells[:, j]
        if encoding.levels is None:
            values = read_numbers(values[:, None], label)[:, 0]
        else:
            values = np.array([None if _is_none(value) else str(value) for value in values], dtype=object)
        found.append(encoding.encode(values))
    return np.hstack(found)


def _is_none(value: Any) -> bool:
    return value is None or value != value


def _align(tables: list[Any], labels: list[str], rows: list[list[str] | None], join: str) -> list[str] | None:
    """Bring rows into the order of the first view that names them, and return their names."""
    there = [v for v, table in enumerate(tables) if table is not None]
    matched = match_rows([labels[v] for v in there], rows, join) if any(rows) else MatchedRows(None, [])
    for v, order in zip(there, matched.orders, strict=False):
        if order is not None:
            tables[v] = tables[v][order]
    if matched.present is not None:
        for v, own in zip(there, matched.present, strict=True):
            known = tables[v].toarray() if sparse.issparse(tables[v]) else tables[v]
            tables[v] = np.full((len(own), known.shape[1]), np.nan)
            tables[v][own] = known
    return matched.samples


def _check_samples(found: NewSamples, labels: list[str]) -> None:
    """Refuse views of different samples, no samples, and samples that no view has."""
    n = found.n_samples
    first = next(v for v, X in enumerate(found.tables) if X is not None)
    for v, X in enumerate(found.tables):
        if X is not None and X.shape[0] != n:
            raise ValueError(
                f"{labels[v]} has {X.shape[0]} rows and {labels[first]} has {n}: "
                "all views must describe the same samples."
            )
    if n == 0:
        raise ValueError(f"{labels[first]} has 0 sample(s) while a minimum of 1 is required.")
    absent = np.ones(n, dtype=bool)
    for X in found.tables:
        if X is not None:
            absent &= np.zeros(n, dtype=bool) if sparse.issparse(X) else np.isnan(X).all(axis=1)
    if absent.any():
        raise ValueError(
            f"{int(absent.sum())} of the {n} new samples, such as sample {int(absent.argmax())}, have no value in any "
            "view: leave them out."
        )


def _check_shape(table: Any, width: int) -> None:
    if table.ndim != 2:
        raise ValueError(
            f"X has {table.ndim} dimension(s): a view is a 2-D table with a row per sample. Reshape your data, with "
            "reshape(1, -1) if it is one sample."
        )
    if table.shape[1] != width:
        raise ValueError(_wrong_width(table.shape[1], width))


def _check_known(columns: list[str], known: list[str], label: str) -> None:
    """Refuse columns that the fit did not have, or of which there are several."""
    names = set(known)
    if unknown := [name for name in columns if name not in names]:
        raise ValueError(
            f"{label} has {len(unknown)} columns that the model was not fitted to, such as {unknown[0]!r}: give the "
            "features of the fit."
        )
    if len(set(columns)) < len(columns) and columns != known:
        raise ValueError(f"Several columns of {label} have the same name: give them in the order of the fit.")


def _count_columns(table: Any) -> int:
    shape = table.shape if hasattr(table, "shape") else np.shape(table)
    if len(shape) != 2:
        raise ValueError(
            f"X has {len(shape)} dimension(s): new samples are a 2-D table with a row per sample. Reshape your data, "
            "with reshape(1, -1) if it is one sample."
        )
    return shape[1]


def _take(table: Any, columns: list[int]) -> Any:
    """Return some columns of a frame, an array or a sparse matrix."""
    if hasattr(table, "iloc"):
        return table.iloc[:, columns]
    if hasattr(table, "take_columns"):
        return table.take_columns(columns)
    return (table.tocsc() if sparse.issparse(table) else np.asarray(table))[:, columns]


def _wrong_width(found: int, expected: int) -> str:
    return (  # in scikit-learn's words, which its checks look for
        f"X has {found} features, but {ESTIMATOR} is expecting {expected} features as input: give the features of the "
        "fit."
    )


def _lacking(lacking: list[str], count: int, label: str, name: str) -> str:
    return (
        f"{label} lacks {len(lacking)} of the {count} features of the view {name!r}, such as {lacking[0]!r}: give the "
        "features of the fit, or leave the whole view out."
    )


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:10])) + (" and others" if len(names) > 10 else "")
