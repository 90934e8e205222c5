"""A table with names for its columns and rows, which the estimator takes as it takes a frame; rows matched by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from latentsimplex.base.types import Array


class UnknownViews(ValueError):
    """The data cannot be cut into views as was asked for."""


@dataclass(frozen=True, eq=False)
class NamedTable:
    """Numbers (n, p) with a name for each column and, where they are known, for each row.

    >>> import numpy as np
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

    def rows(self, names: list[str]) -> NamedTable:
        """Return the table with its rows in the order of ``names``, each of which is there once."""
        position = {name: i for i, name in enumerate(self.index or [])}
        return NamedTable(self.values[[position[name] for name in names]], self.columns, names)


def group_columns(labels: Iterable[Any]) -> dict[Any, list[int]]:
    """Return the columns of each label, labels in the order in which they appear.

    >>> group_columns(["late", "early", "late"])
    {'late': [0, 2], 'early': [1]}
    """
    groups: dict[Any, list[int]] = {}
    for j, label in enumerate(labels):
        groups.setdefault(label, []).append(j)
    return groups


def align_rows(tables: Mapping[str, NamedTable]) -> dict[str, NamedTable]:
    """Return the tables with rows in the order of the first that names them, or raise ValueError.

    A table without row names stays as it is.

    >>> import numpy as np
    >>> first, second = NamedTable(np.eye(2), ["x", "y"], ["a", "b"]), NamedTable(np.eye(2), ["x", "y"], ["b", "a"])
    >>> align_rows({"first": first, "second": second})["second"].values.tolist()
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
