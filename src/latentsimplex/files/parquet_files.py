"""Tables out of .parquet files, by pyarrow."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.base.libraries import import_optional
from latentsimplex.files.file_faults import check_memory, read_or_explain
from latentsimplex.inputs.column_roles import ColumnRoles, are_ids, place_columns, plain_names
from latentsimplex.inputs.mixed_columns import warn_of_typed_numbers
from latentsimplex.inputs.named_table import NamedTable


def read_parquet(path: Path, roles: ColumnRoles, memory_limit: float) -> NamedTable:
    """Return the table in a parquet file, or raise ValueError with a sentence that says what to do.

    A pandas index is its first column; one that is only a range names samples where no column does.
    """
    pyarrow = import_optional("pyarrow", "Reading .parquet", "containers")
    stored = read_or_explain(lambda _: _load(pyarrow, path, roles, memory_limit), path, "a parquet file")
    places = place_columns(stored.header, roles, path.name, stored.has_index)
    features, index = places.features, stored.counted
    if places.names is not None:
        column, name = stored.columns[places.names], stored.header[places.names]
        names = plain_names(["" if cell is None else str(cell) for cell in column.to_pylist()])
        is_feature = not places.certain and _holds_numbers(column)
        if is_feature and not (features and are_ids(names, name, path.name)):
            features = sorted([places.names, *features])
        else:
            index = names
    if not features:
        raise ValueError(f"{path.name} has no columns of numbers: give each sample at least one number.")
    values = [_read_column(stored.columns[j], stored.header[j], path) for j in features]
    return NamedTable(np.column_stack(values), [stored.header[j] for j in features], index)


class _Stored(NamedTuple):
    """Columns of pyarrow with their names, whether the first is an index, and what pandas counted rows by."""

    columns: list[Any]
    header: list[str]
    has_index: bool
    counted: list[str] | None


def _load(pyarrow: Any, path: Path, roles: ColumnRoles, memory_limit: float) -> _Stored:
    with import_module("pyarrow.parquet").ParquetFile(path) as file:
        check_memory(8 * file.metadata.num_rows * file.metadata.num_columns, memory_limit, path)
        table = file.read()
    pairs = list(zip(table.column_names, table.columns, strict=True))
    levels = (table.schema.pandas_metadata or {}).get("index_columns", [])
    index = [(name, column) for name, column in pairs if name in levels and not roles.no_index]
    if len(index) > 1:
        index = [
            ("", pyarrow.array(map(str, zip(*(column.to_pylist() for _, column in index), strict=True))))
        ]
    others = [(name, column) for name, column in pairs if name not in levels]
    ranges = [range(each["start"], each["stop"], each["step"]) for each in levels if isinstance(each, dict)]
    counted = [str(k) for k in ranges[0]] if ranges and not roles.no_index else None
    names, columns = zip(*index, *others, strict=True)
    header = ["" if name.startswith("__index_level_") else name for name in names]
    return _Stored(list(columns), header, bool(index), counted)


def _holds_numbers(column: Any) -> bool:
    types = import_module("pyarrow.types")
    kinds = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(is_of_kind(column.type) for is_of_kind in kinds)


def _read_column(column: Any, name: str, path: Path) -> np.ndarray:
    """Return the numbers of a column, or its categories as objects."""
    types = import_module("pyarrow.types")
    is_text = types.is_string(column.type) or types.is_large_string(column.type)
    if is_text or types.is_dictionary(column.type):
        cells = np.array([None if cell is None else str(cell) for cell in column.to_pylist()], dtype=object)
        if is_text:
            warn_of_typed_numbers(name, cells, path.name)
        return cells
    if not _holds_numbers(column):
        raise ValueError(
            f"The column {name!r} of {path.name} holds values of the type {column.type}, not numbers: encode it, or "
            "leave it out with --drop."
        )
    return np.asarray(column.to_numpy(), dtype=np.float64)
