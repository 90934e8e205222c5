"""Tables in text: a line of column names, then a line for each sample, with or without names of the samples."""

from __future__ import annotations

import csv
import gzip
import math
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from latentsimplex.base.types import Array
from latentsimplex.inputs.named_table import NamedTable

MISSING = {"", "na", "n/a", "nan", "null", "none"}
"""Cells, in small letters, that say that a number is missing."""
INDEX_NAMES = {"", "sample", "samples", "sample_id", "id", "index", "name"}
"""A first column of one of these names, in small letters, names the samples even if it holds numbers."""
SEPARATORS = {",": "a comma", "\t": "a tab", ";": "a semicolon", "|": "a bar"}
KINDS = {",": ".csv", "\t": ".tsv"}
"""How the name of a file with such a separator ends."""


def read_table(path: Path, delimiter: str) -> NamedTable:
    """Return the table in a text file, or raise ValueError with a sentence that says what to do.

    The first column names the samples if it holds anything but numbers, or if its name says so.
    """
    lines = read_lines(path, delimiter)
    header, first = next(lines, (1, []))[1], next(lines, None)
    _check_separator(header, delimiter, path)
    _check_names(header, path)
    if first is None:
        raise ValueError(
            f"{path.name} has no samples: give a line of column names and a line for each sample."
        )
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
    if names_samples(header[0]) or not all(map(_is_number, index)):
        return NamedTable(np.array(rows), header[1:], index)
    return NamedTable(np.column_stack([[_number(cell) for cell in index], rows]), header)


def read_lines(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line of a text file that is not empty."""
    try:
        opener: Callable[..., IO[str]] = gzip.open if path.suffix.lower() == ".gz" else open
        with opener(path, "rt", newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, delimiter=delimiter)
            yield from ((reader.line_num, cells) for cells in reader if cells)
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} is not text in UTF-8: save it as such.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ValueError(f"{path.name} is not a whole gzip file: copy it again from where it came.") from None
    except csv.Error as error:
        raise ValueError(f"{path.name} is not a table in text ({error}): look at that line.") from None


def names_samples(column: str) -> bool:
    """Return whether a first column of this name names the samples.

    >>> names_samples("Sample"), names_samples("age")
    (True, False)
    """
    return column.strip().lower() in INDEX_NAMES


def _check_separator(header: list[str], delimiter: str, path: Path) -> None:
    """Refuse a file whose first line is one cell for this delimiter and several for another."""
    for other, name in SEPARATORS.items():
        if len(header) == 1 and other != delimiter and other in header[0]:
            remedy = f"call it {KINDS[other]}" if other in KINDS else "write it with commas or, in .tsv, tabs"
            raise ValueError(f"{path.name} has {name} between its columns: {remedy}.")


def _check_names(header: list[str], path: Path) -> None:
    """Refuse a first line that is a sample already: numbers, unless they count from 0, or are whole as years are."""
    if not header or names_samples(header[0]) or not all(map(_is_number, header[1:])):
        return
    if _is_number(header[0]):
        are_names = len(header) > 1 and header == [str(k) for k in range(len(header))]
    else:
        are_names = all(_number(cell).is_integer() for cell in header[1:])
    if not are_names:
        raise ValueError(f"{path.name} begins with a line of numbers: put a line of column names before it.")


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
