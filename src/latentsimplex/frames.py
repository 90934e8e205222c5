"""Rows and columns with names: a table to fit that needs no library, and what a fit found as frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latentsimplex._types import Array
from latentsimplex.table import Table

if TYPE_CHECKING:
    from latentsimplex.estimator import LatentSimplexPosition

BACKENDS = ("pandas", "polars")
"""The libraries that frames may come from, in the order in which they are looked for."""


class UnknownViews(ValueError):
    """The data cannot be cut into views as was asked for."""


@dataclass(frozen=True, eq=False)
class NamedTable:
    """Numbers (n, p) with a name for each column and, where they are known, for each row.

    The estimator takes it as it takes a frame.

    >>> from latentsimplex.views import as_views
    >>> as_views(NamedTable(np.eye(2), ["age", "height"], ["anna", "bert"]), "columns").sample_names
    ['anna', 'bert']
    """

    values: Array
    columns: list[str]
    index: list[str] | None = None

    def to_numpy(self) -> Array:
        """Return the numbers."""
        return self.values

    def rows(self, names: list[str]) -> NamedTable:
        """Return the table with its rows in the order of ``names``, each of which is there once."""
        position = {name: i for i, name in enumerate(self.index or [])}
        return NamedTable(self.values[[position[name] for name in names]], self.columns, names)


def aligned(tables: Mapping[str, NamedTable]) -> dict[str, NamedTable]:
    """Return the tables with rows in the order of the first that names them, or raise ValueError.

    A table without row names stays as it is.

    >>> first, second = NamedTable(np.eye(2), ["x", "y"], ["a", "b"]), NamedTable(np.eye(2), ["x", "y"], ["b", "a"])
    >>> aligned({"first": first, "second": second})["second"].values.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    named = {name: table.index for name, table in tables.items() if table.index is not None}
    if not named:
        return dict(tables)
    first, samples = next(iter(named.items()))
    moved = {name for name, own in named.items() if own != samples}
    for name in moved:
        _check_same_samples(first, samples, name, named[name])
    return {name: table.rows(samples) if name in moved else table for name, table in tables.items()}


def _check_same_samples(first: str, samples: list[str], second: str, others: list[str]) -> None:
    for name, own in ((first, samples), (second, others)):
        if len(set(own)) < len(own):
            twice = next(sample for sample, times in Counter(own).items() if times > 1)
            raise ValueError(
                f"{first} and {second} have different row names, and {name} has {twice!r} more than once: "
                "put the samples of all views in one order, or name each sample once."
            )
    for here, there, own, other in ((first, second, samples, others), (second, first, others, samples)):
        if lacking := sorted(set(own) - set(other)):
            raise ValueError(
                f"{there} lacks {len(lacking)} of the {len(own)} samples of {here}, such as {lacking[0]!r}: "
                "keep the samples that all views share."
            )


def labels_table(model: LatentSimplexPosition) -> Table:
    """Return one row a sample: its name, its consensus cluster, and its cluster under each pattern."""
    check_is_fitted(model)
    patterns = {f"pattern{l}": labels for l, labels in enumerate(model.pattern_labels_)}
    return Table({"sample": _samples(model), "consensus": model.labels_, **patterns})


def view_labels_table(model: LatentSimplexPosition) -> Table:
    """Return one row a sample: its name and its cluster in each view, a column a view."""
    columns = {"sample": _samples(model)}
    for name, pattern in zip(model.view_names_in_, model.view_patterns_, strict=True):
        columns[_unused(str(name), columns)] = model.pattern_labels_[pattern]
    return Table(columns)


def _unused(name: str, columns: Mapping[str, Any]) -> str:
    """Return a name for a column that no other has, with a number behind it where views share a name."""
    numbered = (f"{name}.{k}" for k in count(1))
    return next(each for each in chain([name], numbered) if each not in columns)


def memberships_table(model: LatentSimplexPosition, pattern: int = 0) -> Table:
    """Return one row a sample: its name and the probability of each cluster of a pattern."""
    W = model.coassignment(pattern=pattern).factor
    return Table({"sample": _samples(model), **{f"cluster{k}": w for k, w in enumerate(W.T)}})


def views_table(model: LatentSimplexPosition) -> Table:
    """Return one row a view: its pattern, the probability of that, and its part in the consensus."""
    check_is_fitted(model)
    weights = model.consensus_.weights
    return Table(
        {
            "view": model.view_names_in_,
            "pattern": model.view_patterns_,
            "responsibility": model.view_responsibilities_[np.arange(len(weights)), model.view_patterns_],
            "consensus_weight": weights,
            "excluded": weights == 0,
        }
    )


def _samples(model: LatentSimplexPosition) -> np.ndarray:
    names = model.sample_names_in_
    return np.arange(model.n_samples_) if names is None else names


def library_of(data: Any) -> str | None:
    """Return the library that frames in the data come from, or None where there are none.

    >>> library_of([np.eye(2)]) is None
    True
    """
    parts = (
        data.values() if isinstance(data, Mapping) else data if isinstance(data, (list, tuple)) else [data]
    )
    for part in parts:
        library = type(part).__module__.partition(".")[0]
        if library in BACKENDS:
            return library
    return None


def as_frame(table: Table, backend: str | None = None) -> Any:
    """Return a table as a pandas or polars DataFrame; None is pandas where it is installed, or else polars."""
    backend = _found_backend() if backend is None else backend
    if backend not in BACKENDS:
        raise ValueError(f'backend={backend!r} is unknown: choose "pandas", "polars" or None.')
    library = optional(backend, f"A frame with backend={backend!r}")
    # lists of Python's own text: polars would keep NumPy's objects as they are
    columns = {
        name: column.tolist() if column.dtype == object else column for name, column in table.columns.items()
    }
    return library.DataFrame(columns)


def _found_backend() -> str:
    for backend in BACKENDS:
        with suppress(ImportError):
            import_module(backend)
            return backend
    raise ImportError("A frame needs pandas or polars, and neither is installed: pip install one of them.")


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
    index = [str(name) for name in frame[column].to_list()]
    return NamedTable(frame[others].to_numpy(), [str(name) for name in others], index)


def optional(library: str, purpose: str, extra: str | None = None) -> Any:
    """Return a library that need not be installed, or raise ImportError that says how to get it.

    ``extra`` is the name under which this package asks for it.
    """
    try:
        return import_module(library)
    except ImportError as error:
        wanted = library if extra is None else f'"latentsimplex[{extra}]"'
        raise ImportError(f"{purpose} needs {library} ({error}): pip install {wanted}.") from error
