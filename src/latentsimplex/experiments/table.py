"""A small table: what an experiment measured, for a file or for a terminal."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

Cell = str | int | float | None
"""None is a blank: a spread over one seed, a value that the paper does not give."""


@dataclass(frozen=True)
class Table:
    """Named columns and rows of cells.

    Examples
    --------
    >>> print(Table(["view", "NMI", "sd"], [["first", 0.5, None], ["second", 0.25, 0.125]]).to_text())
    view      NMI     sd
    ------  -----  -----
    first   0.500
    second  0.250  0.125
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def __post_init__(self) -> None:
        for i, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"rows[{i}] has {len(row)} cells and there are {len(self.columns)} columns: "
                    "give each row one cell per column."
                )

    def to_csv(self, path: Path) -> None:
        """Write the table with six significant digits and blanks for None."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows([_digits(cell) for cell in row] for row in self.rows)

    def to_text(self) -> str:
        """Return aligned plain text, words to the left and numbers with three decimals to the right."""
        body = [[_decimals(cell) for cell in row] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(self.columns, *body, strict=True)]
        left = [any(isinstance(row[k], str) for row in self.rows) for k in range(len(widths))]

        def line(cells: Sequence[str]) -> str:
            aligned = [
                cell.ljust(width) if words else cell.rjust(width)
                for cell, width, words in zip(cells, widths, left, strict=True)
            ]
            return "  ".join(aligned).rstrip()

        return "\n".join(map(line, [self.columns, ["-" * width for width in widths], *body]))


def _digits(cell: Cell) -> str:
    return f"{cell:.6g}" if isinstance(cell, float) else _decimals(cell)


def _decimals(cell: Cell) -> str:
    if cell is None:
        return ""
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)
