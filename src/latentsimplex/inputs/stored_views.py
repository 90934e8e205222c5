"""Views of tables that are read in parts, a few columns at a time (:mod:`latentsimplex.inputs.stored_tables`)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.base.types import Array
from latentsimplex.inputs.column_groups import check_grouping, is_word, read_groups
from latentsimplex.inputs.mixed_columns import GivenColumns
from latentsimplex.inputs.numbers import check_table, read_numbers
from latentsimplex.inputs.stored_tables import StoredTable, open_group, open_stored
from latentsimplex.inputs.views import Views

READ_BYTES = 1 << 23
"""Bytes of columns that are read at a time."""
KEPT_READS = 4
"""Reads that are kept: threads ask for views that are near one another."""


class Place(NamedTuple):
    """Where a view is: the number of its table, and the columns there."""

    table: int
    columns: Sequence[int]


class StoredColumns:
    """Loads views of stored tables: called with the number of a view, it returns the table (n, p) of that view."""

    def __init__(self, tables: list[StoredTable], labels: list[str], places: list[Place]) -> None:
        self.tables, self.labels, self.places = tables, labels, places
        self._reads: OrderedDict[tuple[int, int], Array] = OrderedDict()
        self._lock = Lock()

    def __call__(self, v: int) -> Array:
        table, columns = self.places[v]
        step = self.count_columns(table)
        if len(columns) == 1:
            return self.read(table, columns[0] // step)[:, columns[0] % step, None]
        found = np.empty((self.tables[table].shape[0], len(columns)))
        for k, j in enumerate(columns):
            found[:, k] = self.read(table, j // step)[:, j % step]
        return found

    def count_columns(self, table: int) -> int:
        """Return how many columns of a table are read at a time."""
        return max(1, READ_BYTES // (8 * self.tables[table].shape[0]))

    def read(self, table: int, block: int) -> Array:
        """Return a block of columns of a table, checked."""
        key, step = (table, block), self.count_columns(table)
        with self._lock:  # so that threads do not read the same twice
            if key not in self._reads:
                columns = slice(block * step, min((block + 1) * step, self.tables[table].shape[1]))
                self._reads[key] = read_columns(self.tables[table], columns, self.labels[table])
                if len(self._reads) > KEPT_READS:
                    self._reads.popitem(last=False)
            self._reads.move_to_end(key)
            return self._reads[key]


def read_columns(table: StoredTable, columns: slice, label: str) -> Array:
    """Return some columns (n, b) of a table as numbers, or raise ValueError for what are none."""
    return check_table(read_numbers(table.read(columns), label), label)


def as_stored_views(data: Any, views: Any) -> Views:
    """Return the views of stored tables; no column has been read yet.

    ``data`` are one table, which ``views`` cuts as it does a table in memory, or a dict, a list or a group of zarr
    of tables with a view each.
    """
    data = open_group(data)
    if not isinstance(data, (Mapping, list, tuple)):
        return _cut_table(open_stored(data, "X"), views)
    if not is_word(views, "whole"):
        raise ValueError(
            f"views= cuts one table into views, but the data already hold {len(data)} views: leave "
            'views="whole".'
        )
    is_named = isinstance(data, Mapping)
    keys = list(data) if is_named else list(range(len(data)))
    labels = [f"views[{key!r}]" for key in keys]
    tables = [open_stored(data[key], label) for key, label in zip(keys, labels, strict=True)]
    _check_samples(tables, labels)
    places = [Place(t, range(table.shape[1])) for t, table in enumerate(tables)]
    return Views(
        names=[str(key) if is_named else f"view{key}" for key in keys],
        sample_names=tables[0].samples,
        feature_names=None,
        n_samples=tables[0].shape[0],
        widths=[table.shape[1] for table in tables],
        load=StoredColumns(tables, labels, places),
        columns=lambda v: tables[v].names,
        given=lambda v: GivenColumns(tables[v].shape[1], tables[v].names),
    )


def _check_samples(tables: list[StoredTable], labels: list[str]) -> None:
    """Raise ValueError for tables of other samples than the first."""
    if not tables:
        raise ValueError("The data hold no tables (an empty group): pass at least one table of samples.")
    for table, label in zip(tables, labels, strict=True):
        if table.shape[0] != tables[0].shape[0]:
            raise ValueError(
                f"{label} has {table.shape[0]} rows and {labels[0]} has {tables[0].shape[0]}: all views must describe "
                "the same samples."
            )
        if table.samples != tables[0].samples:
            raise ValueError(
                f"The rows of {label} have other names than those of {labels[0]}, or another order: tables that are "
                "read in parts must have the same rows; bring them into one order, or load them."
            )


def _cut_table(table: StoredTable, views: Any) -> Views:
    """Return the views of one table."""
    n, p = table.shape
    columns = table.names
    named = columns or [f"x{j}" for j in range(p)]
    indices: list[Sequence[int]]
    if is_word(views, "whole"):
        names, indices = ["view0"], [range(p)]
    elif is_word(views, "columns"):
        names, indices = named, [range(j, j + 1) for j in range(p)]
    else:
        check_grouping(views)
        groups = read_groups(views, columns or range(p))
        names, indices = [str(name) for name in groups], list(groups.values())
    return Views(
        names=names,
        sample_names=table.samples,
        feature_names=columns,
        n_samples=n,
        widths=[len(own) for own in indices],
        load=StoredColumns([table], ["X"], [Place(0, own) for own in indices]),
        columns=lambda v: [named[j] for j in indices[v]],
        given=lambda v: GivenColumns(
            len(indices[v]),
            None if columns is None else [columns[j] for j in indices[v]],
            None,
            list(indices[v]),
        ),
    )


def check_stored_views(views: Views) -> Views:
    """Return stored views once all columns were read and checked, and it is known which views are constant."""
    load = views.load
    assert isinstance(load, StoredColumns)
    varying = []
    for t, table in enumerate(load.tables):
        blocks = range(-(-table.shape[1] // load.count_columns(t)))
        own = [block.max(axis=0) > block.min(axis=0) for block in (load.read(t, b) for b in blocks)]
        varying.append(np.concatenate(own))
    flags = [bool(varying[place.table][list(place.columns)].any()) for place in load.places]
    return replace(views, varying=np.array(flags))
