"""Readers of data files: CSV, TSV, NumPy, parquet, AnnData and MuData, as the estimator takes them.

=================== ==========================================================================
file                holds
=================== ==========================================================================
.csv, .tsv          a table below a line of column names (:mod:`latentsimplex.files.delimited_text`),
                    of which one may name the samples (:mod:`latentsimplex.inputs.column_roles`).
                    .csv.gz and .tsv.gz are the same, compressed
.parquet            a table, likewise; a pandas index names the samples
.npy                a table, or views as an array (V, n, p)
.npz                a view in each 2-D array, or one array (V, n, p); ``samples`` may name samples, and
                    arrays may be left out
.h5ad, .h5mu        an AnnData or a MuData (:mod:`latentsimplex.inputs.containers`)
several files       a view each, named by the file. Samples that have names are brought into the
                    order of the first file that names them; without names they are as they come
=================== ==========================================================================
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.base.interruption import interrupted_while
from latentsimplex.base.libraries import import_optional
from latentsimplex.base.types import Array
from latentsimplex.base.wording import warn_user
from latentsimplex.files.delimited_text import find_delimiter, read_lines, read_text_table
from latentsimplex.files.file_faults import read_or_explain
from latentsimplex.files.numpy_files import read_arrays
from latentsimplex.files.parquet_files import read_parquet
from latentsimplex.inputs.column_roles import ColumnRoles
from latentsimplex.inputs.containers import views_of
from latentsimplex.inputs.named_table import NamedTable, UnknownViews, align_rows
from latentsimplex.inputs.numbers import is_missing

Found = dict[str, NamedTable] | Array
"""Tables by name, or views without any names as one array (V, n, p), which the estimator takes in at once."""


class Given(NamedTuple):
    """What ``LatentSimplexPosition(views=given.views).fit(given.data)`` takes."""

    data: Any
    views: Any


def read_data(
    paths: Sequence[Path],
    views: str = "whole",
    layer: str | None = None,
    roles: ColumnRoles | None = None,
    memory_limit: float = math.inf,
    missing: str = "raise",
    join: str = "strict",
) -> Given:
    """Return the data in one or several files, and how they are cut into views.

    Parameters
    ----------
    paths : sequence of Path
        One file, or one for each view.
    views : str
        "whole", "columns", "discover", or the path of a CSV file that gives for each column of the table its view. For
        .h5ad also "layers", "obsm" or the name of a column of ``var``.
    layer : str or None
        The layer of the .h5ad to take in place of X.
    roles : ColumnRoles or None
        Which column names the samples and which are left out, of tables whose columns have names.
    memory_limit : float
        In bytes: what a file may hold.
    missing : "raise" or "pairwise"
        Whether missing cells are refused.
    join : "strict", "inner" or "outer"
        Whether samples must be the same in all files; otherwise the estimator, given the same word, matches them.

    Raises
    ------
    OSError
        If a file is missing or cannot be read.
    MemoryError
        If a file holds more than ``memory_limit``.
    ValueError
        If a file does not hold what its name says, or holds something else than finite numbers;
        :class:`latentsimplex.inputs.named_table.UnknownViews` if it cannot be cut as ``views`` and ``layer`` say, or
        has no such columns as ``roles`` names.
    """
    kinds = [_kind(path) for path in paths]
    roles = ColumnRoles() if roles is None else roles
    if layer is not None and kinds != [".h5ad"]:
        raise UnknownViews(f"layer={layer!r} is for one .h5ad file: leave it out.")
    _check_roles(roles, kinds)
    if len(paths) > 1:
        if views != "whole":
            raise UnknownViews(
                f"views={views!r} cuts one table, but {len(paths)} files were given: each is a view, so leave it out."
            )
        tables = _named_by_file(paths, roles, memory_limit, missing)
        roles.check_dropped()
        return Given(align_rows(tables) if join == "strict" else tables, "whole")
    (path,) = paths
    found, cut = _read(path, roles, memory_limit, missing, views, layer, join)
    roles.check_dropped()
    if cut == "whole":
        return Given(found, "whole")
    table = _only(
        found,
        UnknownViews(f"views={views!r} cuts one table, but {path.name} holds several views: leave it out."),
    )
    _warn_repeated(table.columns, f"columns of {path.name}", "make their names unique to tell them apart")
    return Given(table, cut if cut in ("columns", "discover") else _groups(Path(cut), table, path))


def _read(
    path: Path,
    roles: ColumnRoles,
    memory_limit: float,
    missing: str,
    views: str = "whole",
    layer: str | None = None,
    join: str = "strict",
) -> tuple[Found, str]:
    """Return what is in a file, and how it is still to be cut."""
    kind = _kind(path)
    cut = views
    with interrupted_while(f"reading {path.name}"):
        if kind in CONTAINERS:
            found, cut = _container_views(path, views, layer, join)
        elif views in ("whole", "columns", "discover") or Path(views).is_file():
            found = READERS[kind](path, roles, memory_limit)
        else:
            raise UnknownViews(
                f"views={views!r} is unknown: choose whole, columns, discover or a CSV file that gives for each column "
                "its view."
            )
    for name, table in found.items() if isinstance(found, dict) else ():
        which = path.name if len(found) == 1 else f"{name!r} in {path.name}"
        if missing == "raise":
            _check_finite(table, which)
        _warn_repeated(table.index or [], f"samples of {which}", "tables of the fit will repeat that name")
    return found, cut


def _check_roles(roles: ColumnRoles, kinds: Sequence[str]) -> None:
    """Refuse what is said of columns where no file has any."""
    has_columns = any(READERS.get(kind) in (_read_text, _read_parquet) for kind in kinds)
    if (roles.no_index or roles.index is not None) and not has_columns:
        raise UnknownViews("--index and --no-index are for .csv, .tsv and .parquet: leave them out.")
    if roles.drop and not has_columns and ".npz" not in kinds:
        raise UnknownViews("--drop is for .csv, .tsv, .parquet and .npz: leave it out.")


def list_samples(data: Any) -> set[str]:
    """Return the names of the samples in what was read, of all views; none where they have no names."""
    tables = [data] if isinstance(data, NamedTable) else data.values() if isinstance(data, dict) else []
    return {name for table in tables for name in table.index or ()}


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
    known = (
        ~np.vectorize(is_missing, otypes=[bool])(values) if values.dtype == object else np.isfinite(values)
    )
    rows, columns = np.nonzero(~known)
    if not len(rows):
        return
    i, j = int(rows[0]), int(columns[0])
    sample = f"row {i + 1}" if table.index is None else f"sample {table.index[i]!r}"
    what, instead = "an infinite number", "replace it by a finite one"
    if is_missing(values[i, j]):
        what = "nothing"
        instead = "fit with --missing pairwise to compare samples on the columns that both have, fill it in"
    others = "" if len(rows) == 1 else f", the first of {len(rows):,} such cells"
    raise ValueError(
        f"{which} has {what} in the column {table.columns[j]!r} of {sample}{others}: {instead}, or drop the sample "
        "from every view."
    )


def _warn_repeated(names: list[str], which: str, then: str) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        warn_user(f"Several {which} are called {repeated[0]!r}: {then}.")


def _named_by_file(
    paths: Sequence[Path], roles: ColumnRoles, memory_limit: float, missing: str
) -> dict[str, NamedTable]:
    """Return the table in each file."""
    tables: dict[str, NamedTable] = {}
    for path in paths:
        if (name := _stem(path)) in tables:
            raise ValueError(f"Two files are called {name!r}, which names their views: rename one of them.")
        tables[name] = _only(
            _read(path, roles, memory_limit, missing)[0],
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
    for number, cells in islice(read_lines(groups, find_delimiter(groups)), 1, None):
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


def _read_text(path: Path, roles: ColumnRoles, memory_limit: float) -> Found:
    return {_stem(path): read_text_table(path, roles, memory_limit)}


def _read_parquet(path: Path, roles: ColumnRoles, memory_limit: float) -> Found:
    return {_stem(path): read_parquet(path, roles, memory_limit)}


def _read_numpy(path: Path, roles: ColumnRoles, memory_limit: float) -> Found:
    return read_arrays(path, _stem(path), memory_limit, roles)


def _container_views(path: Path, views: str, layer: str | None, join: str) -> tuple[Found, str]:
    """Return the views of an AnnData or a MuData in a file; columns and files of groups cut its X as any table."""
    data = read_container(path)
    if _kind(path) == ".h5mu":
        return views_of(data, None if views == "whole" else views, join=join), "whole"
    if views in ("columns", "discover") or (views not in data.var and Path(views).is_file()):
        return views_of(data, "whole", layer), views
    return views_of(data, views, layer), "whole"


def read_container(path: Path) -> Any:
    """Return the AnnData or the MuData in a file."""
    kind = _kind(path)
    library = import_optional(CONTAINERS[kind], f"Reading {kind}", "containers")
    return read_or_explain(getattr(library, f"read_{kind[1:]}"), path, f"a file of {CONTAINERS[kind]}")


CONTAINERS = {".h5ad": "anndata", ".h5mu": "mudata"}
"""The library that reads each kind of container."""
READERS: dict[str, Callable[[Path, ColumnRoles, float], Found]] = {
    ".csv": _read_text,
    ".csv.gz": _read_text,
    ".tsv": _read_text,
    ".tsv.gz": _read_text,
    ".parquet": _read_parquet,
    ".npy": _read_numpy,
    ".npz": _read_numpy,
}
"""What reads a file, by how its name ends."""
