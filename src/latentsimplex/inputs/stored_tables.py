"""Tables that lie in files, or are yet to be computed, and are read a few columns at a time.

=============================== ==================================================================
given                           how columns are read
=============================== ==================================================================
``numpy.memmap``                the file is mapped again by whoever reads
2-D array of zarr               from its store, which is opened again by whoever reads
folder or file of Parquet       by pyarrow, columns of numbers; a pandas index names the samples
2-D array or frame of Dask      computed, by Dask's own schedulers or by the workers of a cluster
=============================== ==================================================================

Each is small and can be sent to another process, which then reads its own part. Where a fit needs all at once, and when
data are given again, a table is read as a whole.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from latentsimplex.base.libraries import import_optional, is_instance_of
from latentsimplex.base.threads import cached_property
from latentsimplex.inputs.named_table import name_rows


class StoredTable(Protocol):
    """A table (n, p) whose columns are read when they are needed."""

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and columns."""

    @property
    def names(self) -> list[str] | None:
        """The names of columns; None where they have none."""

    @property
    def samples(self) -> list[str] | None:
        """The names of samples; None where they have none."""

    def read(self, columns: slice) -> Any:
        """Return some columns (n, b), as an array or a frame."""


OF_PYARROW = ("Table", "RecordBatch")
"""The tables of pyarrow that are in memory."""


@dataclass(frozen=True)
class MappedTable:
    """A memory-mapped file."""

    path: str
    dtype: np.dtype
    offset: int
    shape: tuple[int, int]
    order: Any
    names: None = None
    samples: None = None

    def read(self, columns: slice) -> np.ndarray:
        """Return some columns (n, b)."""
        mapped = np.memmap(self.path, self.dtype, "r", self.offset, self.shape, self.order)
        return np.array(mapped[:, columns])


@dataclass(frozen=True)
class ZarrTable:
    """An array of zarr: where its store has no such array, as on a worker that does not see the disk, reading fails."""

    array: Any
    names: None = None
    samples: None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and columns."""
        return self.array.shape

    def read(self, columns: slice) -> np.ndarray:
        """Return some columns (n, b)."""
        zarr = import_optional("zarr", "Reading zarr")
        return zarr.open_array(store=self.array.store, path=self.array.path, mode="r")[:, columns]


@dataclass(frozen=True)
class ParquetTable:
    """A folder of Parquet files with the same columns, or one file."""

    path: str
    names: list[str] = field(repr=False)
    n_samples: int
    index: str | None

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and columns."""
        return self.n_samples, len(self.names)

    @cached_property
    def samples(self) -> list[str] | None:
        """The pandas index of the rows, where there is one that is more than a count."""
        if self.index is None:
            return None
        return name_rows(self._load([self.index]).column(0).to_pylist(), self.path)

    def read(self, columns: slice) -> np.ndarray:
        """Return some columns (n, b)."""
        table = self._load(self.names[columns])
        return np.column_stack([np.asarray(column.to_numpy(), dtype=np.float64) for column in table.columns])

    def _load(self, names: list[str]) -> Any:
        import_optional("pyarrow", "Reading Parquet", "containers")
        from pyarrow import dataset

        return dataset.dataset(self.path, format="parquet").to_table(columns=names)


@dataclass(frozen=True)
class DaskTable:
    """An array or a frame of Dask."""

    collection: Any

    @property
    def is_frame(self) -> bool:
        """Whether it has columns with names."""
        return hasattr(self.collection, "columns")

    @cached_property
    def index(self) -> Any:
        """The index of a frame, computed."""
        return self.collection.index.compute()

    @cached_property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and columns; those of an array with unknown chunks are computed."""
        if self.is_frame:
            return len(self.index), len(self.collection.columns)
        if np.isnan(self.collection.shape[0]):
            self.collection.compute_chunk_sizes()
        return self.collection.shape

    @property
    def names(self) -> list[str] | None:
        """The names of a frame's columns."""
        return [str(name) for name in self.collection.columns] if self.is_frame else None

    @property
    def samples(self) -> list[str] | None:
        """The index of a frame, unless each of its parts only counts rows."""
        if not self.is_frame or self.index.dtype.kind in "iu":
            return None
        return name_rows(self.index, "the Dask frame")

    def take(self, columns: slice) -> Any:
        """Return some columns, yet to be computed."""
        if self.is_frame:
            return self.collection[list(self.collection.columns[columns])]
        return self.collection[:, columns]

    def read(self, columns: slice) -> Any:
        """Return some columns (n, b)."""
        return self.take(columns).compute()


def open_stored(part: Any, label: str) -> StoredTable:
    """Return a stored table, or raise ValueError for what holds none."""
    if isinstance(part, (str, os.PathLike)):
        return open_parquet(Path(part), label)
    if isinstance(part, np.memmap):
        order = "C" if part.flags.c_contiguous else "F"
        path = os.path.abspath(str(part.filename))
        return MappedTable(path, part.dtype, part.offset, (part.shape[0], part.shape[1]), order)
    return DaskTable(part) if hasattr(part, "compute") else ZarrTable(part)


def open_group(data: Any) -> Any:
    """Return a group of zarr as a dict of its arrays, in the order of their names; other data as they are."""
    return dict(sorted(data.arrays())) if is_instance_of(data, "zarr", "Group") else data


def load_stored(part: Any, label: str) -> Any:
    """Return a stored table as a whole: a frame where its columns have names, and an array elsewhere."""
    table = open_stored(part, label)
    cells = table.read(slice(None))
    if table.names is None:
        return np.asarray(cells)
    pandas = import_optional("pandas", f"Reading all of {label}")
    rows = range(len(cells)) if table.samples is None else table.samples
    return pandas.DataFrame(cells).set_axis(table.names, axis=1).set_axis(rows, axis=0)


def collect_frame(frame: Any, label: str) -> Any:
    """Return a polars LazyFrame once it is computed, a table of pyarrow as a pandas frame, other data as they are."""
    if any(is_instance_of(frame, "pyarrow", name) for name in OF_PYARROW):
        import_optional("pandas", f"{label}, a table of pyarrow,")
        return frame.to_pandas()
    if not is_instance_of(frame, "polars", "LazyFrame"):
        return frame
    try:
        return frame.collect()
    except Exception as error:  # polars has a family of its own for faults of a query
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(
            f"{label} is a LazyFrame that polars cannot compute ({reason}): correct its query."
        ) from error


def open_parquet(path: Path, label: str) -> ParquetTable:
    """Return the table in a folder of Parquet files, or in one file."""
    import_optional("pyarrow", "Reading Parquet", "containers")
    from pyarrow import ArrowInvalid, dataset, types

    if not path.exists():
        raise FileNotFoundError(f"{label} is {os.fspath(path)!r}, and there is no such file or folder.")
    try:
        found = dataset.dataset(path.absolute(), format="parquet")
    except (ArrowInvalid, OSError) as error:
        raise ValueError(
            f"{label} is {os.fspath(path)!r}, which holds no Parquet ({str(error).splitlines()[0]}): give a folder of "
            ".parquet files, or the data themselves."
        ) from None
    levels = (found.schema.pandas_metadata or {}).get("index_columns", [])
    index = [level for level in levels if isinstance(level, str)]
    columns = [each for each in found.schema if each.name not in index]
    kinds = (types.is_integer, types.is_floating, types.is_boolean)
    for each in columns:
        if not any(is_of_kind(each.type) for is_of_kind in kinds):
            raise ValueError(
                f"The column {each.name!r} of {label} holds values of the type {each.type}, and what is read in parts "
                "must be numbers: encode it, or leave it out."
            )
    names = [each.name for each in columns]
    return ParquetTable(
        os.path.abspath(path), names, found.count_rows(), index[0] if len(index) == 1 else None
    )
