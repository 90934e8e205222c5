"""Tables in text: a line of column names, then a line for each sample, with or without names of the samples.

Columns stand between commas, semicolons or tabs, as the line of names tells. Between semicolons, numbers may have
decimal commas.
"""

from __future__ import annotations

import csv
import gzip
import math
import re
import sys
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from latentsimplex.base.types import Array
from latentsimplex.base.wording import shorten_middle
from latentsimplex.files.file_faults import check_memory
from latentsimplex.inputs.column_roles import ColumnRoles, are_ids, names_samples, place_columns, plain_names
from latentsimplex.inputs.named_table import NamedTable

MISSING = {"", "na", "n/a", "nan", "null", "none"}
"""Cells, in small letters, that say that a number is missing."""
NUMBER = re.compile(r"\s*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity)\s*", re.IGNORECASE | re.ASCII)
SEPARATORS = {
    ",": "commas",
    ";": "semicolons",
    "\t": "tabs",
    "|": "vertical bars",
    ":": "colons",
    " ": "spaces",
}
"""What people put between columns."""
READ = "\t;,"
"""What is read as such."""
MOST_LINES, MOST_LETTERS = 10**7, 2**25
"""Of a file, and of a line: a small compressed file may hold text without end."""


def read_text_table(path: Path, roles: ColumnRoles, memory_limit: float) -> NamedTable:
    """Return the table in a text file, or raise ValueError with a sentence that says what to do.

    What is more than ``memory_limit`` bytes is a MemoryError.
    """
    delimiter = find_delimiter(path)
    lines = read_lines(path, delimiter)
    header, first = next(lines, (1, []))[1], next(lines, None)
    _check_names(_with_points(header, delimiter), path)
    if first is None:
        raise ValueError(
            f"{path.name} has no samples: give a line of column names and a line for each sample."
        )
    _check_separator(header, first, delimiter, path)
    if len(first[1]) == len(header) + 1:  # R leaves out the name of the column of row names
        header = ["", *header]
    places = place_columns(header, roles, path.name)
    columns = [header[j] for j in places.features]
    numbers, names, numbered, marks, held = array("d"), [], [], set(), 0
    words: dict[int, list[str | None]] = {}
    known = np.zeros(len(columns), dtype=bool)
    for number, cells in chain([first], lines):
        if len(cells) != len(header):
            raise ValueError(
                f"Line {number} of {path.name} has {len(cells)} cells, the first line {len(header)}: make them equal."
            )
        texts = [cells[j] for j in places.features]
        row = _numbers(_with_points(texts, delimiter), words)
        if row is None:

            def place(j: int, line: int = number, texts: list[str] = texts) -> str:
                return f"Line {line} of {path.name} has {_quote(texts[j])} in the column {_quote(columns[j])}"

            texts = _take_words(texts, delimiter, known, words, len(numbers) // len(columns), place)
            row = np.array([_number(cell) for cell in _with_points(texts, delimiter)])
        marks |= _find_marks(texts, delimiter)
        known |= ~np.isnan(row)
        numbers.frombytes(row.tobytes())
        if places.names is not None:
            names.append(cells[places.names])
            numbered.append(number)
            held += sys.getsizeof(names[-1])
        held += row.nbytes
        check_memory(held, memory_limit, path)
    table = np.frombuffer(numbers).reshape(-1, len(columns)) if columns else np.empty((len(names), 0))
    if words:
        table = table.astype(object)
        for j, own_words in words.items():
            table[:, j] = own_words
    index = None
    if places.names is not None:
        column, own = header[places.names], _with_points(names, delimiter)
        if places.certain or _are_names(own, numbered, column, path, bool(columns)):
            index = plain_names(names)
        else:
            table = np.column_stack([[_number(cell) for cell in own], table])
            columns = [column, *columns]
            marks |= _find_marks(names, delimiter)
    if len(marks) == 2:
        raise ValueError(
            f"{path.name} has points and commas in its numbers, so that 1.234 may be either: use one of them for "
            "decimals, and none for thousands."
        )
    return NamedTable(table, columns, index)


def find_delimiter(path: Path) -> str:
    """Return what stands between the names in the first line; where that may be two things, the next line decides."""
    starts = {mark: [cells for _, cells in islice(read_lines(path, mark), 2)] for mark in READ}
    found = [mark for mark, start in starts.items() if start and len(start[0]) > 1]
    if not found:
        return "\t" if ".tsv" in path.name.lower() else ","
    if len(found) == 1 or "\t" in found:
        return found[0]
    fitting = [mark for mark in found if len({len(cells) for cells in starts[mark]}) == 1]
    if len(fitting) != 1:
        raise ValueError(
            f"The first line of {path.name} has commas and semicolons: put quotes around names that hold them."
        )
    return fitting[0]


def _check_separator(
    header: Sequence[str], first: tuple[int, Sequence[str]], delimiter: str, path: Path
) -> None:
    """Refuse a table whose first sample has one cell as it was read, and as many as columns by another separator."""
    number, cells = first
    for mark, called in SEPARATORS.items() if len(cells) == 1 else ():
        own = _split(cells[0], mark)
        names = _split(header[0], mark) if len(header) == 1 else list(header)
        fits = len(names) > 1 and len(own) in (len(names), len(names) + 1)  # R leaves out the first name
        if not fits or not any(map(_is_value, own)):
            continue
        if len(header) > 1:
            used = SEPARATORS[delimiter]
            raise ValueError(
                f"The first line of {path.name} has {used} between columns, and line {number} seems to have {called}: "
                f"put {used} in every line."
            )
        remedy = "take away the quotes around its lines" if mark in READ else "put commas in their place"
        raise ValueError(
            f"{path.name} was read as one column, {_quote(header[0])}, and seems to have {called} between columns: "
            f"{remedy}."
        )


def _split(line: str, mark: str) -> list[str]:
    return line.split() if mark == " " else line.split(mark)


def _is_value(cell: str) -> bool:
    """Return whether a cell is a number, with a point or a comma."""
    return bool(NUMBER.fullmatch(cell.replace(",", ".")))


def read_lines(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line of a text file that is not empty."""
    try:
        opener: Callable[..., IO[str]] = gzip.open if path.suffix.lower() == ".gz" else open
        with opener(path, "rt", newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(_bounded_lines(file, path), delimiter=delimiter)
            yield from ((reader.line_num, cells) for cells in reader if cells)
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} is not text in UTF-8: save it as such.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ValueError(f"{path.name} is not a whole gzip file: copy it again from where it came.") from None
    except csv.Error as error:
        raise ValueError(f"{path.name} is not a table in text ({error}): look at that line.") from None


def _bounded_lines(file: IO[str], path: Path) -> Iterator[str]:
    """Yield the lines of a file, or refuse what no table in text has."""
    for number in range(1, MOST_LINES + 1):
        if not (line := file.readline(MOST_LETTERS)):
            return
        if "\0" in line:
            raise ValueError(
                f"Line {number} of {path.name} has a NUL byte, which text has not: save it as text."
            )
        if len(line) == MOST_LETTERS:
            raise ValueError(
                f"Line {number} of {path.name} has more than {MOST_LETTERS:,} letters: cut the table."
            )
        yield line
    if file.readline(1):
        raise ValueError(f"{path.name} has more than {MOST_LINES:,} lines: give fewer samples.")


def _are_names(cells: list[str], lines: list[int], column: str, path: Path, has_features: bool) -> bool:
    """Return whether a first column names the samples, by what is in it."""
    text = [(line, cell) for line, cell in zip(lines, cells, strict=True) if not _is_number(cell)]
    if not text:
        return has_features and are_ids(cells, column, path.name)
    if any(map(NUMBER.fullmatch, cells)):
        raise ValueError(
            f"Line {text[0][0]} of {path.name} has {_quote(text[0][1])} in the column {column!r}, which also holds "
            f"numbers: correct it, or say --index {column} if the column names the samples."
        )
    return True


def _check_names(header: Sequence[str], path: Path) -> None:
    """Refuse a first line that is a sample already: numbers, unless they count from 0, or are whole as years are."""
    if not header or names_samples(header[0]) or not all(map(_is_number, header[1:])):
        return
    if _is_number(header[0]):
        are_names = len(header) > 1 and list(header) == [str(k) for k in range(len(header))]
    else:
        are_names = all(_number(cell).is_integer() for cell in header[1:])
    if not are_names:
        raise ValueError(f"{path.name} begins with a line of numbers: put a line of column names before it.")


def _with_points(cells: list[str], delimiter: str) -> list[str]:
    """Return cells with decimal points, where there may be commas."""
    return [cell.replace(",", ".") for cell in cells] if delimiter == ";" else cells


def _find_marks(cells: list[str], delimiter: str) -> set[str]:
    """Return which of point and comma numbers have, where they may have either."""
    return set("".join(cells)) & set(",.") if delimiter == ";" else set()


def _is_number(cell: str) -> bool:
    return bool(NUMBER.fullmatch(cell)) or cell.strip().lower() in MISSING


def _number(cell: str) -> float:
    return float(cell) if NUMBER.fullmatch(cell) else math.nan


def _numbers(cells: list[str], words: Mapping[int, Any]) -> Array | None:
    """Return the numbers of a line, nan where one is missing; None where there are words, or may be."""
    if not words and "_" not in "".join(cells):  # Python takes 1_2 as a number
        try:
            return np.array(cells, dtype=np.float64)
        except ValueError:
            pass
    return np.array([_number(cell) for cell in cells]) if not words and all(map(_is_number, cells)) else None


def _take_words(
    cells: list[str],
    delimiter: str,
    known: np.ndarray,
    words: dict[int, list[str | None]],
    n_before: int,
    place: Callable[[int], str],
) -> list[str]:
    """Return the cells of a line without its words, which are added to those of their columns.

    A column holds words, which have letters, if its first cell that is not missing does. ``known`` says which columns
    had numbers in one of the ``n_before`` lines before, ``place`` where a cell is, for errors.
    """
    rest = list(cells)
    for j, (cell, pointed) in enumerate(zip(cells, _with_points(cells, delimiter), strict=True)):
        if cell.strip().lower() in MISSING:
            rest[j] = "nan"
            if j in words:
                words[j].append(None)
        elif _is_number(pointed) and j in words:
            raise ValueError(
                f"{place(j)}, which holds words before: correct it, or leave it out with --drop."
            )
        elif not _is_number(pointed):
            if known[j] or not any(letter.isalpha() for letter in cell):
                raise ValueError(
                    f"{place(j)}, which is not a number: correct it, or leave the column out with --drop."
                )
            rest[j] = "nan"
            words.setdefault(j, [None] * n_before).append(cell.strip())
    return rest


def _quote(cell: str) -> str:
    return repr(shorten_middle(cell, 60))
