"""Views of the same samples: data in any form, turned into a sequence of named (n, p) arrays.

========================================= ===================================================================
input                                     views
========================================= ===================================================================
list or tuple of 2-D arrays or frames     one each, named view0, view1, ...
dict of them                              one each, named by the keys
(V, n, p) array, (V, n, n) precomputed    one each
2-D array or frame, ``views="whole"``     a single view or, of columns with levels, one per first level
the same, ``views="columns"``             one per column
the same, ``views=[label, ...]``          one per distinct label, in order of appearance; also a dict or
                                          a Series (:mod:`latentsimplex.inputs.column_groups`)
AnnData                                   as a frame: X, or what ``views`` says
MuData                                    one per modality
========================================= ===================================================================

Rows are matched by name: views whose names are in another order are put into that of the first view that has names. An
index that is 0, 1, ..., n - 1 in every view is no names. What has no index, such as an array, is matched by position,
and so it cannot stand beside views in different orders. Other names raise or, as ``join`` says, the samples that all
views have are kept, or all samples; a view then has rows for those that are present in it.

A frame is anything with ``columns`` and ``to_numpy`` (pandas, polars), or a table of pyarrow. Sparse input and single
precision stay. They become dense and double one view at a time or, where it is large, a part of it
(:mod:`latentsimplex.base.wide_table`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from latentsimplex.base.libraries import FRAME_LIBRARIES
from latentsimplex.base.partial_table import PartialTable
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import (
    WideTable,
    has_many_entries,
    is_large,
    is_wide,
    join_tables,
    to_dense,
)
from latentsimplex.base.wording import warn_user
from latentsimplex.inputs.column_groups import check_grouping, group_columns, is_word, read_groups
from latentsimplex.inputs.containers import anndata_table, is_anndata, is_mudata, open_container
from latentsimplex.inputs.found_columns import FoundColumns
from latentsimplex.inputs.mixed_columns import GivenColumns
from latentsimplex.inputs.named_table import (
    MatchedRows,
    check_handful,
    check_shared,
    column_names,
    match_rows,
    names_of_rows,
)
from latentsimplex.inputs.numbers import are_moderate, check_table, is_frame, read_numbers, read_table
from latentsimplex.inputs.stored_tables import collect_frame, load_stored, open_group
from latentsimplex.inputs.unnamed_rows import check_id_columns, check_lengths

MADE_DENSE = "Sparse views are made dense one at a time while fitting."


@dataclass(frozen=True)
class Views(Sequence[Array]):
    """Views of the same samples: ``views[v]`` is a dense float64 array (n, p_v).

    Where samples are absent from views, ``present`` (V, n) says which each view has, and ``views[v]`` has rows for
    these alone. ``varying`` (V,) is which views are not constant, where that is known beforehand, ``found`` which
    columns of a table they are, where they were found in one, and ``left_out`` the names of samples that a join did not
    keep.

    >>> data = as_views({"height": [[1.0], [2.0]], "shape": [[0.0, 1.0], [1.0, 0.0]]})
    >>> len(data), data.n_samples, data.names, data[1].shape
    (2, 2, ['height', 'shape'], (2, 2))
    """

    names: list[str]
    sample_names: list[str] | None
    feature_names: list[str] | None
    n_samples: int
    widths: list[int]
    load: Callable[[int], Any]
    stack: Array | None = None
    frame_library: str | None = None
    has_missing: bool = False
    columns: Callable[[int], list[str] | None] | None = None
    units: Callable[[int], Array | None] = lambda v: None
    present: np.ndarray | None = None
    given: Callable[[int], GivenColumns] | None = None
    found: FoundColumns | None = None
    varying: np.ndarray | None = None
    left_out: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.names)

    @property
    def n_columns(self) -> int:
        """How many columns were given: one of categories is one, though it has a feature for each."""
        return sum(self.widths) if self.feature_names is None else len(self.feature_names)

    def tables(self, members: Indices) -> Array | WideTable:
        """Return some views that have one number of features as an array (b, n, p), or a wide one: not to change."""
        if self.stack is None or len(members) == 1:
            return join_tables([self.table(int(v)) for v in members])
        in_a_row = len(members) > 0 and bool((np.diff(members) == 1).all())
        return self.stack[members[0] : members[-1] + 1] if in_a_row else self.stack[members]

    def take_samples(self, rows: Indices) -> Views:
        """Return the views of some samples, in order."""

        def load(v: int) -> Any:
            if self.present is None:
                return self.load(v)[rows]
            there = rows[self.present[v, rows]]
            return self.load(v)[np.cumsum(self.present[v])[there] - 1]

        return replace(
            self,
            sample_names=None if self.sample_names is None else [self.sample_names[i] for i in rows],
            n_samples=len(rows),
            load=load,
            stack=None if self.stack is None else self.stack[:, rows],
            present=None if self.present is None else self.present[:, rows],
        )

    def find_samples(self, v: int) -> Indices | None:
        """Return the samples that a view has; None if it has all."""
        if self.present is None or self.present[v].all():
            return None
        return np.flatnonzero(self.present[v])

    def find_given(self, v: int) -> GivenColumns:
        """Return the columns that a view was given as."""
        return GivenColumns(self.widths[v]) if self.given is None else self.given(v)

    def list_given(self) -> list[GivenColumns]:
        """Return the columns that each view was given as; views of one width that say no more share one record."""
        if self.given is not None:
            return [self.given(v) for v in range(len(self))]
        by_width = {p: GivenColumns(p) for p in set(self.widths)}
        return [by_width[p] for p in self.widths]

    def name_features(self, v: int) -> list[str]:
        """Return the names of a view's features: x0, x1, ... where the data have none."""
        named = None if self.columns is None else self.columns(v)
        return [f"x{j}" for j in range(self.widths[v])] if named is None else named

    def find_units(self, v: int) -> Array:
        """Return what a view's features are multiplied by and what is added (2, p), to have them in their own units."""
        units = self.units(v)
        return np.array([[1.0], [0.0]]) * np.ones(self.widths[v]) if units is None else units

    def __getitem__(self, v: Any) -> Any:
        if not 0 <= v < len(self):
            raise IndexError(f"view {v} of {len(self)}")
        return to_dense(self.load(v))

    def table(self, v: int) -> Array | WideTable:
        """Return a view as similarities read it: as an array or, where it is wide, a few features at a time."""
        held = self.load(v)
        return WideTable(held) if is_wide(held) and not self.has_missing else to_dense(held)

    def held_table(self, v: int) -> Array | WideTable:
        """Return a view as clusters are looked for in it: as it is held where it is large, otherwise as an array."""
        held = self.load(v)
        return WideTable(held) if not self.has_missing and is_large(held) else to_dense(held)

    def table_of_all(self, v: int) -> Array | WideTable | PartialTable:
        """Return the same as a table of all samples: a partial one where some are absent."""
        samples, held = self.find_samples(v), self.held_table(v)
        return held if samples is None else PartialTable(held, samples, self.n_samples)


def as_views(
    data: Any,
    views: Any = "whole",
    precomputed: bool = False,
    missing: str = "raise",
    join: str = "strict",
) -> Views:
    """Return the views of ``data``, or raise one clear error.

    Parameters
    ----------
    data : any input form of the module's table
    views : "whole", "columns", one label per column, or a dict
        How to cut a single table into views; of AnnData also a word of :mod:`latentsimplex.inputs.containers`.
    precomputed : bool
        Each view is an n x n similarity; one 2-D array is then one view.
    missing : "raise" or "pairwise"
        Whether missing cells are refused.
    join : "strict", "inner" or "outer"
        What is done about named samples that not all views have.
    """
    if hasattr(data, "obs"):
        data, views = open_container(data, views, join)
    if hasattr(data, "arrays"):
        data = open_group(data)
    is_whole = isinstance(views, str) and views == "whole"
    if not is_whole:
        check_grouping(views)
    if is_whole and _is_plain_stack(data):
        return _from_stack(data)
    if isinstance(data, Mapping) and not sparse.issparse(data):  # SciPy's DOK matrices are dicts too
        parts, labels = list(data.values()), [f"views[{key!r}]" for key in data]
        names = [str(key) for key in data]
    elif is_collection(data):
        parts = list(data)
        labels = [f"views[{v}]" for v in range(len(parts))]
        names = [f"view{v}" for v in range(len(parts))]
    else:
        return _from_table(open_part(data, "X"), views, precomputed, missing)
    if not is_whole:
        raise ValueError(
            f"views={_short(views)} cuts one 2-D table into views, but the data already hold {len(parts)} views: "
            'leave views="whole".'
        )
    return _from_parts(parts, labels, names, precomputed, missing, join)


def is_collection(data: Any) -> bool:
    """Return whether data are several tables in a list, a tuple or an array (V, n, p)."""
    if isinstance(getattr(data, "shape", None), tuple):
        return len(data.shape) == 3 and not sparse.issparse(data)
    # a plain list of lists of numbers is one table; a list of tables is a collection of views
    return isinstance(data, (list, tuple)) and (
        not data or _n_dimensions(data[0]) != 1 or hasattr(data[0], "shape")
    )


def _n_dimensions(item: Any) -> int:
    if hasattr(item, "shape"):
        return len(item.shape)
    if isinstance(item, (list, tuple)):
        return 1 + (_n_dimensions(item[0]) if len(item) else 0)
    return 0


def _from_parts(
    parts: list[Any], labels: list[str], names: list[str], precomputed: bool, missing: str, join: str
) -> Views:
    if not parts:
        raise ValueError("The data hold no views (an empty collection): pass at least one table of samples.")
    parts = [open_part(part, label) for part, label in zip(parts, labels, strict=True)]
    read = [read_table(part, label) for part, label in zip(parts, labels, strict=True)]
    missing = "raise" if precomputed else missing
    tables = [check_table(one.table, label, missing) for one, label in zip(read, labels, strict=True)]
    row_names = names_of_rows(parts, labels)
    _check_unnamed(parts, labels, row_names)
    matched = match_rows(labels, row_names, join) if any(row_names) else MatchedRows(None, [])
    for v, order in enumerate(matched.orders):
        if order is not None:
            # of similarities and distances between samples the columns are samples too
            square = precomputed or column_names(parts[v]) == row_names[v]
            moved = tables[v][order][:, order] if square else tables[v][order]
            tables[v] = read_numbers(moved, labels[v])
    if matched.present is None:
        check_lengths(tables, labels, join)
    else:
        check_handful(tables, labels)
        check_shared(matched.present, labels)
    _warn_if_sparse(tables)
    return Views(
        names=names,
        sample_names=matched.samples,
        feature_names=None,
        n_samples=tables[0].shape[0] if matched.present is None else matched.present.shape[1],
        widths=[table.shape[1] for table in tables],
        load=lambda v: tables[v],
        frame_library=_find_frame_library(parts),
        has_missing=any(map(_has_missing, tables)),
        columns=lambda v: read[v].names,
        units=lambda v: read[v].units,
        present=matched.present,
        left_out=matched.left_out,
        given=lambda v: GivenColumns(
            len(read[v].encodings or range(tables[v].shape[1])), column_names(parts[v]), read[v].encodings
        ),
    )


def _is_plain_stack(data: Any) -> bool:
    """Return whether the data are a (V, n, p) array without fault; others go the way that finds the fault."""
    plain = type(data) is np.ndarray and data.ndim == 3 and data.dtype in (np.float64, np.float32)
    return plain and data.size > 0 and data.shape[1] > 1 and are_moderate(data, (1, 2))


def _from_stack(data: Array) -> Views:
    stack = np.ascontiguousarray(data, dtype=np.float64)
    V, n, p = stack.shape
    names = [f"view{v}" for v in range(V)]
    return Views(names, None, None, n, [p] * V, lambda v: stack[v], stack)


def _from_table(data: Any, views: Any, precomputed: bool, missing: str) -> Views:
    read = read_table(data, "X")
    table = check_table(read.table, "X", "raise" if precomputed else missing)
    _warn_if_sparse([table])
    n, q = table.shape
    columns = column_names(data)
    origins = range(q) if read.origins is None else read.origins
    p = origins[-1] + 1
    row_names = names_of_rows([data], ["X"])
    _check_unnamed([data], ["X"], row_names)
    levels = getattr(getattr(data, "columns", None), "nlevels", 1)
    if is_word(views, "whole") and levels > 1 and not precomputed:
        views = [name[0] for name in data.columns]
    is_whole = is_word(views, "whole")
    indices: list[Sequence[int]] = [range(q)]
    if is_whole:
        names = ["view0"]
    elif precomputed:
        raise ValueError(
            f'views={_short(views)} cuts a table into views, but with similarity="precomputed" a 2-D array is one '
            "n x n similarity: pass a list of similarities or a (V, n, n) array."
        )
    else:
        cut = range(p) if isinstance(views, str) else views
        groups = read_groups(cut, data.columns if hasattr(data, "columns") else range(p))
        named = columns or [f"x{j}" for j in range(p)]
        names = named if isinstance(views, str) else [str(g) for g in groups]
        encoded = group_columns(origins)
        indices = [[k for j in group for k in encoded[j]] for group in groups.values()]

    def name_columns(v: int) -> list[str]:
        return [f"x{k}" if read.names is None else read.names[k] for k in indices[v]]

    def find_given(v: int) -> GivenColumns:
        places = list(dict.fromkeys(origins[k] for k in indices[v]))
        names = None if columns is None else [columns[j] for j in places]
        own = None if read.encodings is None else [read.encodings[j] for j in places]
        return GivenColumns(len(places), names, own, places)

    units = read.units
    return Views(
        names=names,
        sample_names=row_names[0],
        feature_names=columns,
        n_samples=n,
        widths=[len(own) for own in indices],
        load=lambda v: table if is_whole else table[:, indices[v]],
        frame_library=_find_frame_library([data]),
        has_missing=_has_missing(table),
        columns=name_columns,
        units=lambda v: None if units is None else units[:, indices[v]],
        given=find_given,
    )


def open_part(part: Any, label: str) -> Any:
    """Return a table that is inside something else, in a file, or yet to be computed."""
    if hasattr(part, "obs"):
        if is_mudata(part):
            raise ValueError(
                f"{label} is a MuData, which holds several views: fit it alone, or its modalities."
            )
        return anndata_table(part) if is_anndata(part) else part
    if isinstance(part, (str, os.PathLike)) or hasattr(part, "compute"):
        return load_stored(part, label)
    return collect_frame(part, label) if hasattr(part, "collect") or hasattr(part, "to_pandas") else part


def _has_missing(table: Any) -> bool:
    return not sparse.issparse(table) and bool(np.isnan(table.min()))


def _warn_if_sparse(tables: Sequence[Any]) -> None:
    if any(sparse.issparse(table) and not is_large(table) for table in tables):
        warn_user(MADE_DENSE)


def warn_of_large_sparse(views: Views) -> None:
    """Warn of sparse views that are made dense although they are large: where no clusters are looked for in them."""
    if not has_many_entries(views.n_samples, max(views.widths)):
        return
    tables = (views.load(v) for v, p in enumerate(views.widths) if has_many_entries(views.n_samples, p))
    if any(sparse.issparse(table) and is_large(table) and not is_wide(table) for table in tables):
        warn_user(MADE_DENSE)


def _find_frame_library(parts: list[Any]) -> str | None:
    """Return the library that frames among the parts come from, or None where there are none."""
    libraries = (type(part).__module__.partition(".")[0] for part in parts)
    return next((library for library in libraries if library in FRAME_LIBRARIES), None)


def _check_unnamed(parts: Sequence[Any], labels: Sequence[str], row_names: Sequence[Any]) -> None:
    """Say of frames without names of rows where a column may hold them."""
    unnamed = [v for v, part in enumerate(parts) if row_names[v] is None and is_frame(part)]
    check_id_columns([parts[v] for v in unnamed], [labels[v] for v in unnamed])


def _short(views: Any) -> str:
    return repr(views) if isinstance(views, str) else "(groups of columns)"
