"""Readers of data files: CSV, TSV, NumPy, parquet, AnnData and MuData, as the estimator takes them.

=================== ==========================================================================
file                holds
=================== ==========================================================================
.csv, .tsv          a table below a line of column names. Its first column names the samples if it
                    holds anything but numbers, or is called sample, id, index, name or nothing.
                    .csv.gz and .tsv.gz are the same, compressed
.parquet            a table, likewise; a pandas index names the samples
.npy                a table, or views as an array (V, n, p)
.npz                a view in each 2-D array, or one array (V, n, p); ``samples`` may name samples
.h5ad, .h5mu        an AnnData or a MuData (:mod:`latentsimplex.inputs.containers`)
several files       a view each, named by the file. Samples that have names are brought into the
                    order of the first file that names them; without names they are as they come
=================== ==========================================================================
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from latentsimplex.base.libraries import import_optional
from latentsimplex.base.types import Array
from latentsimplex.inputs.containers import views_of
from latentsimplex.inputs.delimited_text import names_samples, read_lines, read_table
from latentsimplex.inputs.named_table import NamedTable, UnknownViews, align_rows
from latentsimplex.inputs.views import row_names

NUMBERS = "biuf"
"""NumPy's letters for the kinds of numbers."""

Found = dict[str, NamedTable] | Array
"""Tables by name, or views without any names as one array (V, n, p), which the estimator takes in at once."""


class Given(NamedTuple):
    """What ``LatentSimplexPosition(views=given.views).fit(given.data)`` takes."""

    data: Any
    views: Any


def read_data(paths: Sequence[Path], views: str = "whole", layer: str | None = None) -> Given:
    """Return the data in one or several files, and how they are cut into views.

    Parameters
    ----------
    paths : sequence of Path
        One file, or one for each view.
    views : str
        "whole", "columns", or the path of a CSV file that gives for each column of the table its view. For .h5ad
        also "layers", "obsm" or the name of a column of ``var``.
    layer : str or None
        The layer of the .h5ad to take in place of X.

    Raises
    ------
    OSError
        If a file is missing or cannot be read.
    ValueError
        If a file does not hold what its name says, or holds something else than finite numbers;
        :class:`latentsimplex.inputs.named_table.UnknownViews` if it cannot be cut as ``views`` and ``layer`` say.
    """
    if layer is not None and (len(paths) > 1 or _kind(paths[0]) != ".h5ad"):
        raise UnknownViews(f"layer={layer!r} is for one .h5ad file: leave it out.")
    if len(paths) > 1:
        if views != "whole":
            raise UnknownViews(
                f"views={views!r} cuts one table, but {len(paths)} files were given: each is a view, so leave it out."
            )
        return Given(align_rows(_named_by_file(paths)), "whole")
    (path,) = paths
    tables, cut = _read(path, views, layer)
    if cut == "whole":
        return Given(tables, "whole")
    table = _only(
        tables,
        UnknownViews(f"views={views!r} cuts one table, but {path.name} holds several views: leave it out."),
    )
    _warn_repeated(table.columns, f"columns of {path.name}", "make their names unique to tell them apart")
    return Given(table, cut if cut == "columns" else _groups(Path(cut), table, path))


def _read(path: Path, views: str = "whole", layer: str | None = None) -> tuple[Found, str]:
    """Return what is in a file, all of it numbers, and how it is still to be cut."""
    kind = _kind(path)
    cut = views
    if kind in CONTAINERS:
        found, cut = _container_views(path, views, layer)
    elif views in ("whole", "columns") or Path(views).is_file():
        found = READERS[kind](path)
    else:
        raise UnknownViews(
            f"views={views!r} is unknown: choose whole, columns or a CSV file that gives for each column its view."
        )
    for name, table in found.items() if isinstance(found, dict) else ():
        which = path.name if len(found) == 1 else f"{name!r} in {path.name}"
        _check_finite(table, which)
        _warn_repeated(table.index or [], f"samples of {which}", "tables of the fit will repeat that name")
    return found, cut


def _kind(path: Path) -> str:
    """Return how the name of a file ends, once there is such a file and something reads it."""
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder: give the files in it.")
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}: look at its name and folder.")
    kind = path.suffix.lower()
    if kind == ".gz":
        kind = Path(path.stem).suffix.lower() + kind
    if kind not in READERS and kind not in CONTAINERS:
        raise ValueError(f"{path.name} is of no known kind: give {', '.join([*READERS, *CONTAINERS])}.")
    return kind


def _stem(path: Path) -> str:
    return path.name[: -len(_kind(path))]


def _check_finite(table: NamedTable, which: str) -> None:
    """Refuse a table with gaps, and say where the first of them is."""
    values = table.to_numpy()
    if not values.shape[1]:
        raise ValueError(f"{which} has no columns of numbers: give each sample at least one number.")
    rows, columns = np.nonzero(~np.isfinite(values))
    if not len(rows):
        return
    i, j = int(rows[0]), int(columns[0])
    sample = f"row {i + 1}" if table.index is None else f"sample {table.index[i]!r}"
    what = "no number" if np.isnan(values[i, j]) else "an infinite number"
    others = "" if len(rows) == 1 else f", the first of {len(rows):,} such cells"
    raise ValueError(
        f"{which} has {what} in the column {table.columns[j]!r} of {sample}{others}: fill it in, or drop the sample "
        "from every view."
    )


def _warn_repeated(names: list[str], which: str, then: str) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        warnings.warn(f"Several {which} are called {repeated[0]!r}: {then}.", UserWarning, stacklevel=4)


def _named_by_file(paths: Sequence[Path]) -> dict[str, NamedTable]:
    """Return the table in each file."""
    tables: dict[str, NamedTable] = {}
    for path in paths:
        if (name := _stem(path)) in tables:
            raise ValueError(f"Two files are called {name!r}, which names their views: rename one of them.")
        tables[name] = _only(
            _read(path)[0],
            ValueError(f"{path.name} holds several views: give it alone, or files with one table each."),
        )
    return tables


def _only(tables: Found, otherwise: ValueError) -> NamedTable:
    """Return the table that is alone."""
    if not isinstance(tables, dict) or len(tables) != 1:
        raise otherwise
    return next(iter(tables.values()))


def _groups(groups: Path, table: NamedTable, path: Path) -> list[str]:
    """Return the view of each column of a table, by a CSV file of columns and views below a first line."""
    view_of: dict[str, str] = {}
    for number, cells in islice(read_lines(groups, ","), 1, None):
        if len(cells) != 2:
            raise ValueError(
                f"Line {number} of {groups.name} has {len(cells)} cells: give a column and its view."
            )
        if cells[0] not in table.columns:
            raise ValueError(
                f"{groups.name} names a column {cells[0]!r} that {path.name} does not have: correct it."
            )
        view_of[cells[0]] = cells[1]
    if lacking := [name for name in table.columns if name not in view_of]:
        raise ValueError(f"{groups.name} gives no view for the column {lacking[0]!r} of {path.name}: add it.")
    return [view_of[name] for name in table.columns]


def _read_text(path: Path) -> dict[str, NamedTable]:
    return {_stem(path): read_table(path, "\t" if _kind(path).startswith(".tsv") else ",")}


def _read_parquet(path: Path) -> dict[str, NamedTable]:
    """Return a table that pandas with pyarrow, or polars, reads, by the name of its file."""
    if find_spec("pandas") and find_spec("pyarrow"):
        pandas = import_optional("pandas", "Reading .parquet")
        frame = _readable(pandas.read_parquet, path, "a parquet file")
        columns = {str(name): frame[name].to_numpy(na_value=np.nan) for name in frame.columns}
        return _from_columns(columns, path, row_names(frame))
    polars = import_optional("polars", "Reading .parquet", "containers")
    frame = _readable(polars.read_parquet, path, "a parquet file")
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    return _from_columns(columns, path, columns.pop("__index_level_0__", None))  # what pandas calls its index


def _readable(read: Callable[[Path], Any], path: Path, kind: str) -> Any:
    """Return what another library reads; whatever it raises on a file that is not its own is one sentence."""
    try:
        return read(path)
    except PermissionError:
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ValueError(f"{path.name} is not {kind} that can be read ({reason}): write it again.") from error


def _from_columns(columns: dict[str, np.ndarray], path: Path, index: Any = None) -> dict[str, NamedTable]:
    """Return columns of a frame as a table; the first names the samples unless there is an index."""
    if index is None and columns:
        first = next(iter(columns))
        if names_samples(first) or columns[first].dtype.kind not in NUMBERS:
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
        raise ValueError(f"{path.name} has no columns of numbers: give each sample at least one number.")
    return {_stem(path): NamedTable(np.column_stack(list(columns.values())), list(columns), samples)}


def _read_numpy(path: Path) -> Found:
    """Return a view for each array or, of one with three axes, for each of its tables."""
    found = _loaded(path)
    samples = found.pop("samples") if "samples" in found and len(found) > 1 else None
    index = None if samples is None else [str(name) for name in samples]
    if not found:
        raise ValueError(f"{path.name} holds no arrays: put a view into it, samples by features.")
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
    return {
        name: NamedTable(array.astype(np.float64), [f"x{j}" for j in range(array.shape[1])], index)
        for name, array in views.items()
    }


def _loaded(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays in a file by name; a single array has the file's."""
    try:
        with open(path, "rb") as file:
            found = np.load(file, allow_pickle=False)
            return {_stem(path): found} if isinstance(found, np.ndarray) else dict(found)
    except (ValueError, EOFError, BadZipFile) as error:
        reason = "it holds Python objects" if "allow_pickle" in str(error) else str(error).rstrip(".")
        raise ValueError(
            f"{path.name} is not a file of NumPy arrays of numbers ({reason}): write it with np.save or np.savez."
        ) from None


def _check_array(array: np.ndarray, which: str, index: list[str] | None) -> None:
    if array.ndim not in (2, 3):
        axes = "1 axis" if array.ndim == 1 else f"{array.ndim} axes"
        raise ValueError(
            f"{which} has {axes} and a view has two, samples by features: reshape it, or leave it out if it is labels."
        )
    if array.dtype.kind not in NUMBERS:
        raise ValueError(
            f"{which} holds {array.dtype} values, and views are numbers: encode it, or leave it out."
        )
    if index is not None and len(index) != array.shape[-2]:
        raise ValueError(
            f"{which} has {array.shape[-2]} rows and samples has {len(index)} names: make them equal."
        )


def _container_views(path: Path, views: str, layer: str | None) -> tuple[Found, str]:
    """Return the views of an AnnData or a MuData in a file; columns and files of groups cut its X as any table."""
    data = read_container(path)
    if _kind(path) == ".h5mu":
        return views_of(data, None if views == "whole" else views), "whole"
    if views == "columns" or (views not in data.var and Path(views).is_file()):
        return views_of(data, "whole", layer), views
    return views_of(data, views, layer), "whole"


def read_container(path: Path) -> Any:
    """Return the AnnData or the MuData in a file."""
    kind = _kind(path)
    library = import_optional(CONTAINERS[kind], f"Reading {kind}", "containers")
    return _readable(getattr(library, f"read_{kind[1:]}"), path, f"a file of {CONTAINERS[kind]}")


CONTAINERS = {".h5ad": "anndata", ".h5mu": "mudata"}
"""The library that reads each kind of container."""
READERS: dict[str, Callable[[Path], Found]] = {
    ".csv": _read_text,
    ".csv.gz": _read_text,
    ".tsv": _read_text,
    ".tsv.gz": _read_text,
    ".parquet": _read_parquet,
    ".npy": _read_numpy,
    ".npz": _read_numpy,
}
"""What reads a file, by how its name ends."""
