"""Named columns of equal length: what an analysis found, for reading, for a file or for pandas."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

SHOWN_ROWS = 10
"""Rows of a table that its text shows."""


@dataclass(frozen=True, repr=False, eq=False)
class Table:
    """Columns by name, in order, with one entry a row.

    Examples
    --------
    >>> table = Table({"sample": np.array(["a", "b"]), "entropy": np.array([0.0, 0.6931])})
    >>> table
    sample  entropy
    a       0
    b       0.6931
    >>> len(table), table["entropy"].max().item(), table.rows([1])["sample"].tolist()
    (2, 0.6931, ['b'])
    """

    columns: dict[str, np.ndarray]

    def __post_init__(self) -> None:
        lengths = {}
        for name, column in self.columns.items():
            if np.ndim(column) != 1:
                raise ValueError(
                    f"Column {name!r} has {np.ndim(column)} axes: give a column one entry for each row."
                )
            lengths[name] = len(column)
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name!r} {length}" for name, length in lengths.items())
            raise ValueError(f"Columns differ in length ({listed}): give all of them one entry for each row.")

    def __len__(self) -> int:
        return max(map(len, self.columns.values()), default=0)

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a column."""
        if name not in self.columns:
            raise KeyError(
                f"There is no column {name!r}: choose one of {', '.join(map(repr, self.columns))}."
            )
        return self.columns[name]

    def __repr__(self) -> str:
        """Return the first rows as aligned text, numbers with four digits."""
        body = [
            list(map(_text, row)) for row in zip(*self.rows(slice(SHOWN_ROWS)).columns.values(), strict=True)
        ]
        lines = [list(self.columns), *body]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        text = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        hidden = len(self) - len(body)
        return "\n".join([*text, f"... and {hidden:,} more rows"] if hidden else text)

    def rows(self, index: Any) -> Table:
        """Return the table of the given rows: a slice, positions, or a mask."""
        return Table({name: np.asarray(column)[index] for name, column in self.columns.items()})

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame; pandas must be installed."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: install it, or use to_csv or the columns.") from error
        return pandas.DataFrame(self.columns)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table as comma-separated text, with numbers in full and blanks for nan."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(map(_cells, zip(*self.columns.values(), strict=True)))


def _text(entry: Any) -> str:
    return f"{entry:.4g}" if isinstance(entry, (float, np.floating)) else str(entry)


def _cells(row: tuple[Any, ...]) -> list[str]:
    """Return a row as text that gives the same numbers back."""
    return [
        "" if isinstance(entry, (float, np.floating)) and np.isnan(entry) else str(entry) for entry in row
    ]
