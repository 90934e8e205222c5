"""Files that say what is known of samples: classes of some of them, and samples that belong together or do not."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from latentsimplex.base.wording import show_value
from latentsimplex.files.delimited_text import MISSING, find_delimiter, read_lines

LABELS_HEADER, LINKS_HEADER = "sample,class", "sample,other"
"""First lines of such files, for errors."""


def read_labels_file(given: str, samples: Collection[str] = ()) -> dict[str, str | None]:
    """Return the class of each sample that a text file names, given the file, or the file, a colon and a column.

    The first column names samples; the others hold classes, of which one is taken. Blanks are unknown. ``samples`` are
    the names of those of the fit, by which a file without a line of column names is told; none where they are counted.
    """
    path, _, column = (given, "", "") if Path(given).is_file() else given.rpartition(":")
    header, rows = _read(Path(path or given), LABELS_HEADER)
    _check_header(header, header[:1], samples, Path(path or given), LABELS_HEADER)
    others = header[1:]
    if not others or (not column and len(others) > 1) or (column and column not in others):
        listed = ", ".join(others) or "none"
        raise ValueError(
            f"{Path(path or given).name} has these columns beside that of samples: {listed}. Give a file with a column "
            "of samples and one of classes, or FILE:COLUMN to take one of several."
        )
    place = header.index(column, 1) if column else 1
    return {row[0]: None if row[place].strip().lower() in MISSING else row[place] for row in rows}


def read_links_file(path: Path, samples: Collection[str] = ()) -> list[list[str]]:
    """Return the samples that stand in each line of a text file, below a line of column names; blanks are left out.

    ``samples`` are as for classes.
    """
    header, rows = _read(path, LINKS_HEADER)
    _check_header(header, [cell for cell in header if cell.strip()], samples, path, LINKS_HEADER)
    return [[cell for cell in row if cell.strip()] for row in rows]


def _check_header(
    header: list[str], cells: list[str], samples: Collection[str], path: Path, expected: str
) -> None:
    """Refuse a first line that names samples where names of columns belong."""
    if cells and all(cell in samples if samples else cell.strip().isdecimal() for cell in cells):
        raise ValueError(
            f"The first line of {path.name} is {show_value(','.join(header))}, which reads as an entry: begin the file "
            f"with a line of column names, such as {expected}."
        )


def _read(path: Path, expected: str) -> tuple[list[str], list[list[str]]]:
    lines = [cells for _, cells in read_lines(path, find_delimiter(path))]
    if len(lines) < 2:
        only = f"the one line {show_value(','.join(lines[0]))}" if lines else "no lines"
        raise ValueError(
            f"{path.name} has {only}: give a line of column names, such as {expected}, and then a line for each entry."
        )
    header, rows = lines[0], lines[1:]
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise ValueError(
                f"Line {number} of {path.name} has {len(row)} cells, the first line {len(header)}: make them equal."
            )
    return header, rows
