"""Named columns of equal length: what an analysis or an experiment found, for reading, for a file or for pandas."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from latentsimplex.base.atomic_files import whole_file

SHOWN_ROWS = 10
"""Rows of a table that its ``repr`` shows."""


@dataclass(frozen=True, repr=False, eq=False)
class Table:
    """Columns by name, in order, with one entry per row; nan and None are blanks in files.

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

    @classmethod
    def from_rows(cls, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
        """Return the table with these columns and rows, whose cells may be of any type.

        >>> Table.from_rows(["view", "NMI"], [["first", 0.5], ["second", None]])["NMI"].tolist()
        [0.5, None]
        """
        for i, row in enumerate(rows):
            if len(row) != len(names):
                raise ValueError(
                    f"rows[{i}] has {len(row)} cells and there are {len(names)} columns: give each row one cell per "
                    "column."
                )
        cells = np.empty((len(rows), len(names)), dtype=object)
        for i, row in enumerate(rows):
            cells[i] = row
        return cls({name: cells[:, j] for j, name in enumerate(names)})

    def __len__(self) -> int:
        return max(map(len, self.columns.values()), default=0)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows."""
        return zip(*self.columns.values(), strict=True)

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a column."""
        if name not in self.columns:
            raise KeyError(
                f"There is no column {name!r}: choose one of {', '.join(map(repr, self.columns))}."
            )
        return self.columns[name]

    def __repr__(self) -> str:
        """Return the first rows as aligned text, numbers with four digits."""
        body = [[_text(entry, ".4g", "nan") for entry in row] for row in self.rows(slice(SHOWN_ROWS))]
        lines = [list(self.columns), *body]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        text = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        hidden = len(self) - len(body)
        return "\n".join([*text, f"... and {hidden:,} more rows"] if hidden else text)

    def rows(self, index: Any) -> Table:
        """Return the table of the given rows: a slice, positions, or a mask."""
        return Table({name: np.asarray(column)[index] for name, column in self.columns.items()})

    def to_text(self) -> str:
        """Return all rows as aligned text, words to the left and numbers with three decimals to the right.

        >>> print(Table.from_rows(["view", "NMI", "sd"], [["first", 0.5, None], ["second", 0.25, 0.125]]).to_text())
        view      NMI     sd
        ------  -----  -----
        first   0.500
        second  0.250  0.125
        """
        body = [[_text(entry, ".3f") for entry in row] for row in self]
        widths = [max(map(len, column)) for column in zip(self.columns, *body, strict=True)]
        words = [any(isinstance(entry, str) for entry in column) for column in self.columns.values()]

        def align(cells: Sequence[str]) -> str:
            aligned = [
                cell.ljust(width) if left else cell.rjust(width)
                for cell, width, left in zip(cells, widths, words, strict=True)
            ]
            return "  ".join(aligned).rstrip()

        return "\n".join(map(align, [list(self.columns), ["-" * width for width in widths], *body]))

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame; pandas must be installed."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: install it, or use to_csv or the columns.") from error
        return pandas.DataFrame(self.columns)

    def to_csv(self, path: str | os.PathLike[str], digits: int | None = None) -> None:
        """Write the table as comma-separated text, numbers in full or with so many significant digits."""
        form = "" if digits is None else f".{digits}g"
        with whole_file(path) as part, open(part, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows([_text(entry, form) for entry in row] for row in self)


def _text(entry: Any, form: str, missing: str = "") -> str:
    """Return an entry as text, numbers that are not whole in a form, and what stands for nan and None."""
    if entry is None or (isinstance(entry, (float, np.floating)) and np.isnan(entry)):
        return missing
    return format(entry, form) if form and isinstance(entry, (float, np.floating)) else str(entry)
