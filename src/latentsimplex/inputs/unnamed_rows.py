"""Rows that are matched by position: columns that look like names of samples, and tables of different lengths.

A frame whose index only counts rows may hold the names of its samples in a column, as text files do. As a feature that
column would mean nothing, and rows in another order would be matched wrongly: this is said before a fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from latentsimplex.base.wording import warn_user
from latentsimplex.inputs.column_roles import names_samples

REMEDY = (
    "make it the index (pandas: set_index({0!r}), polars: latentsimplex.inputs.with_samples(frame, {0!r}))"
)


def check_id_columns(frames: Sequence[Any], labels: Sequence[str]) -> None:
    """Raise ValueError if frames matched by position have names in columns that disagree; warn if they do not.

    Parameters
    ----------
    frames : sequence of data frames
        Whose rows have no names but those in columns.
    labels : sequence of str
        What errors call them.
    """
    first: dict[str, tuple[str, list[Any]]] = {}
    for frame, label in zip(frames, labels, strict=True):
        for column, ids in find_id_columns(frame).items():
            other, expected = first.setdefault(column, (label, ids))
            if len(ids) == len(expected) and ids != expected:
                raise ValueError(
                    f"{label} has its rows in another order than {other}, or other samples, by their columns "
                    f"{column!r}, and rows without names are matched by position: {REMEDY.format(column)}, so that "
                    "rows are matched by name, or drop it."
                )
    for column, (label, _) in first.items():
        warn_user(
            f"The column {column!r} of {label} has a different value in each row and was taken as a feature: "
            f"{REMEDY.format(column)} if it names the samples, or drop it.",
        )


def find_id_columns(frame: Any) -> dict[str, list[Any]]:
    """Return the columns of a frame that names samples by what they are called, and have another value in each row.

    >>> import pandas as pd
    >>> find_id_columns(pd.DataFrame({"patient_id": [7, 3], "age": [41, 52], "sample": [1, 1]}))
    {'patient_id': [7, 3]}
    """
    found = {}
    for j, name in enumerate(frame.columns):
        if names_samples(str(name)):
            column = frame.iloc[:, j] if hasattr(frame, "iloc") else frame[:, j]
            values = column.to_list()
            if len(set(map(str, values))) == len(values) > 1 and not any(map(_is_fraction, values)):
                found[str(name)] = values
    return found


def _is_fraction(value: Any) -> bool:
    return isinstance(value, float) and not value.is_integer()


def check_lengths(tables: Sequence[Any], labels: list[str], join: str) -> None:
    """Raise ValueError for tables of different numbers of samples, which nothing names."""
    first = tables[0].shape[0]
    for table, label in zip(tables, labels, strict=True):
        if table.shape[0] != first:
            lengths = f"{label} has {table.shape[0]} rows and {labels[0]} has {first}"
            raise ValueError(
                f"{lengths}: all views must describe the same samples."
                if join == "strict"
                else f"{lengths}, and nothing names them: give frames with an index, by which join={join!r} can tell "
                "which samples each view has."
            )
