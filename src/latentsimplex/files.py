"""Data files, read into what the estimator takes.

=================== ==========================================================================
file                holds
=================== ==========================================================================
.csv, .tsv          a table below a line of column names. Its first column names the samples if it
                    holds anything but numbers, or is called sample, id, index, name or nothing
.parquet            a table, likewise; a pandas index names the samples
.npy                a table, or views as an array (V, n, p)
.npz                a view in each 2-D array, or one array (V, n, p); ``samples`` may name samples
.h5ad, .h5mu        an AnnData or a MuData (:mod:`latentsimplex.containers`)
several files       a view each, named by the file
=================== ==========================================================================
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from latentsimplex._types import Array
from latentsimplex.frames import NamedTable, aligned, optional

MISSING = {"", "na", "n/a", "nan", "null", "none"}
"""Cells of a text file, in small letters, that say that a number is missing."""
INDEX_NAMES = {"", "sample", "samples", "sample_id", "id", "index", "name"}
"""A first column of one of these names, in small letters, names the samples even if it holds numbers."""
NUMBERS = "biuf"
"""NumPy's letters for the kinds of numbers."""


Found = dict[str, NamedTable] | Array
"""Tables by name, or views without any names as one array (V, n, p), which the estimator takes in at once."""


class Given(NamedTuple):
    """What ``LatentSimplexPosition(views=given.views).fit(given.data)`` takes."""

    data: Any
    views: Any


def read_data(paths: Sequence[Path], views: str = "whole") -> Given:
    """Return the data in one or several files, and how they are cut into views.

    Parameters
    ----------
    paths : sequence of Path
        One file, or one for each view.
    views : str
        "whole", "columns", or the path of a CSV file that gives for each column of the table its view. For .h5ad
        see :func:`latentsimplex.containers.views_of`.
    """
    if len(paths) > 1:
        if views != "whole":
            raise ValueError(
                f"views={views!r} cuts one table, but {len(paths)} files were given: each is a view."
            )
        return Given(aligned(_named_by_file(paths)), "whole")
    (path,) = paths
    tables = _read(path, views)
    if views == "whole" or path.suffix.lower() in CONTAINERS:
        return Given(tables, "whole")
    table = _only(
        tables, f"views={views!r} cuts one table, but {path.name} holds several views: leave it out."
    )
    return Given(table, views if views == "columns" else _groups(Path(views), table, path))


def _read(path: Path, views: str = "whole") -> Found:
    """Return what is in a file; only containers need to know which views are wanted."""
    kind = _kind(path)
    return _container_views(path, views) if kind in CONTAINERS else READERS[kind](path)


def _kind(path: Path) -> str:
    """Return how the name of a file ends, once there is such a file and something reads it."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    kind = path.suffix.lower()
    if kind not in READERS and kind not in CONTAINERS:
        raise ValueError(f"{path.name} is of no known kind: give {', '.join([*READERS, *CONTAINERS])}.")
    return kind


def _named_by_file(paths: Sequence[Path]) -> dict[str, NamedTable]:
    """Return the table in each file."""
    tables: dict[str, NamedTable] = {}
    for path in paths:
        if path.stem in tables:
            raise ValueError(
                f"Two files are called {path.stem!r}, which names their views: rename one of them."
            )
        tables[path.stem] = _only(
            _read(path), f"{path.name} holds several views: give it alone, or files with one table each."
        )
    return tables


def _only(tables: Found, otherwise: str) -> NamedTable:
    """Return the table that is alone."""
    if not isinstance(tables, dict) or len(tables) != 1:
        raise ValueError(otherwise)
    return next(iter(tables.values()))


def _groups(groups: Path, table: NamedTable, path: Path) -> list[str]:
    """Return the view of each column of a table, by a CSV file of columns and views below a first line."""
    if not groups.is_file():
        raise ValueError(
            f"views={str(groups)!r} is neither whole, nor columns, nor a file with the view of each column."
        )
    view_of: dict[str, str] = {}
    for number, cells in islice(_lines(groups, ","), 1, None):
        if len(cells) != 2:
            raise ValueError(
                f"Line {number} of {groups.name} has {len(cells)} cells: give a column and its view."
            )
        if cells[0] not in table.columns:
            raise ValueError(f"{groups.name} names a column {cells[0]!r} that {path.name} does not have.")
        view_of[cells[0]] = cells[1]
    if lacking := [name for name in table.columns if name not in view_of]:
        raise ValueError(f"{groups.name} gives no view for the column {lacking[0]!r} of {path.name}: add it.")
    return [view_of[name] for name in table.columns]


def _lines(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line of a text file that is not empty."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, delimiter=delimiter)
            yield from ((reader.line_num, cells) for cells in reader if cells)
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} is not text in UTF-8: save it as such.") from None
    except csv.Error as error:
        raise ValueError(f"{path.name} is not a table in text ({error}): look at that line.") from None


def _read_text(path: Path, delimiter: str) -> dict[str, NamedTable]:
    """Return a table in text, a line of column names first, by the name of its file."""
    lines = _lines(path, delimiter)
    header, first = next(lines, (1, []))[1], next(lines, None)
    if first is None:
        raise ValueError(
            f"{path.name} has no samples: give a line of column names and a line for each sample."
        )
    if all(map(_is_number, header)):
        raise ValueError(f"{path.name} begins with a line of numbers: put a line of column names before it.")
    if len(first[1]) == len(header) + 1:  # R leaves out the name of the column of row names
        header = ["", *header]
    index, rows = [], []
    for number, cells in chain([first], lines):
        if len(cells) != len(header):
            raise ValueError(
                f"Line {number} of {path.name} has {len(cells)} cells, the first line {len(header)}: make them equal."
            )
        index.append(cells[0])
        rows.append(_numbers(cells[1:], header[1:], number, path))
    if _names_samples(header[0]) or not all(map(_is_number, index)):
        return {path.stem: NamedTable(np.array(rows), header[1:], index)}
    return {path.stem: NamedTable(np.column_stack([[_number(cell) for cell in index], rows]), header)}


def _names_samples(column: str) -> bool:
    return column.strip().lower() in INDEX_NAMES


def _is_number(cell: str) -> bool:
    return not math.isnan(_number(cell)) or cell.strip().lower() in MISSING


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _numbers(cells: list[str], columns: list[str], line: int, path: Path) -> Array:
    """Return the numbers of a line, with nan for those that are missing."""
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        for cell, column in zip(cells, columns, strict=True):
            if not _is_number(cell):
                raise ValueError(
                    f"Line {line} of {path.name} has {cell!r} in the column {column!r}, which is not a number: "
                    "encode text as numbers, or leave the column out."
                ) from None
        return np.array([_number(cell) for cell in cells])


def _read_parquet(path: Path) -> dict[str, NamedTable]:
    """Return a table that pandas with pyarrow, or polars, reads, by the name of its file."""
    if find_spec("pandas") and find_spec("pyarrow"):
        frame = optional("pandas", "Reading .parquet").read_parquet(path)
        columns = {str(name): frame[name].to_numpy(na_value=np.nan) for name in frame.columns}
        return _from_columns(columns, path, None if _is_count(frame.index) else frame.index)
    polars = optional("polars", "Reading .parquet")
    try:
        frame = polars.read_parquet(path)
    except polars.exceptions.PolarsError as error:
        raise ValueError(f"{path.name} is not a parquet file ({error}).") from None
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    return _from_columns(columns, path, columns.pop("__index_level_0__", None))  # what pandas calls its index


def _is_count(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex"


def _from_columns(columns: dict[str, np.ndarray], path: Path, index: Any = None) -> dict[str, NamedTable]:
    """Return columns of a frame as a table; the first names the samples unless there is an index."""
    if index is None and columns:
        first = next(iter(columns))
        if _names_samples(first) or columns[first].dtype.kind not in NUMBERS:
            index = columns.pop(first)
    samples = None if index is None else [str(name) for name in index]
    for name, column in columns.items():
        try:
            columns[name] = column.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"The column {name!r} of {path.name} holds something else than numbers: encode it, or leave it out."
            ) from None
    if not columns:
        raise ValueError(f"{path.name} has no columns of numbers.")
    return {path.stem: NamedTable(np.column_stack(list(columns.values())), list(columns), samples)}


def _read_numpy(path: Path) -> Found:
    """Return a view for each array or, of one with three axes, for each of its tables."""
    found = _loaded(path)
    samples = found.pop("samples") if "samples" in found and len(found) > 1 else None
    index = None if samples is None else [str(name) for name in samples]
    if not found:
        raise ValueError(f"{path.name} holds no arrays.")
    for name, array in found.items():
        _check_array(array, f"{name!r} in {path.name}", index)
    stacked = [name for name, array in found.items() if array.ndim == 3]
    if stacked and len(found) > 1:
        raise ValueError(
            f"{stacked[0]!r} in {path.name} has three axes and is not alone: keep only that array."
        )
    if stacked and index is None:
        return found[stacked[0]]
    views = {f"view{v}": view for v, view in enumerate(found[stacked[0]])} if stacked else found
    return {name: _unnamed(array, index) for name, array in views.items()}


def _loaded(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays in a file by name; a single array has the file's."""
    try:
        with open(path, "rb") as file:
            found = np.load(file, allow_pickle=False)
            return {path.stem: found} if isinstance(found, np.ndarray) else dict(found)
    except (ValueError, EOFError, BadZipFile) as error:
        raise ValueError(f"{path.name} is not a file of NumPy arrays of numbers ({error}).") from None


def _check_array(array: np.ndarray, which: str, index: list[str] | None) -> None:
    if array.ndim not in (2, 3):
        raise ValueError(
            f"{which} has {array.ndim} axes: a view has two, samples by features; leave labels out."
        )
    if array.dtype.kind not in NUMBERS:
        raise ValueError(f"{which} holds {array.dtype} values: views are numbers.")
    if index is not None and len(index) != array.shape[-2]:
        raise ValueError(
            f"{which} has {array.shape[-2]} rows and samples has {len(index)} names: make them equal."
        )


def _unnamed(array: np.ndarray, index: list[str] | None) -> NamedTable:
    return NamedTable(array.astype(np.float64), [f"x{j}" for j in range(array.shape[1])], index)


def _container_views(path: Path, views: str) -> dict[str, NamedTable]:
    """Return the views of an AnnData or a MuData in a file."""
    from latentsimplex.containers import views_of

    suffix = path.suffix.lower()
    library = optional(CONTAINERS[suffix], f"Reading {suffix}")
    if suffix == ".h5mu":
        return views_of(library.read_h5mu(path), None if views == "whole" else views)
    return views_of(library.read_h5ad(path), views)


CONTAINERS = {".h5ad": "anndata", ".h5mu": "mudata"}
"""The library that reads each kind of container."""
READERS: dict[str, Callable[[Path], Found]] = {
    ".csv": partial(_read_text, delimiter=","),
    ".tsv": partial(_read_text, delimiter="\t"),
    ".parquet": _read_parquet,
    ".npy": _read_numpy,
    ".npz": _read_numpy,
}
"""What reads a file, by how its name ends."""
