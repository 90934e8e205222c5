"""Files that say what is known of samples: classes of some of them, and samples that belong together or do not."""

from __future__ import annotations

from pathlib import Path

from latentsimplex.files.delimited_text import MISSING, find_delimiter, read_lines


def read_labels_file(given: str) -> dict[str, str | None]:
    """Return the class of each sample that a text file names, given the file, or the file, a colon and a column.

    The first column names samples; the others hold classes, of which one is taken. Blanks are unknown.
    """
    path, _, column = (given, "", "") if Path(given).is_file() else given.rpartition(":")
    header, rows = _read(Path(path or given))
    others = header[1:]
    if not others or (not column and len(others) > 1) or (column and column not in others):
        listed = ", ".join(others) or "none"
        raise ValueError(
            f"{Path(path or given).name} has these columns beside that of samples: {listed}. Give a file with a column "
            "of samples and one of classes, or FILE:COLUMN to take one of several."
        )
    place = header.index(column, 1) if column else 1
    return {row[0]: None if row[place].strip().lower() in MISSING else row[place] for row in rows}


def read_links_file(path: Path) -> list[list[str]]:
    """Return the samples that stand in each line of a text file, below a line of column names; blanks are left out."""
    _, rows = _read(path)
    return [[cell for cell in row if cell.strip()] for row in rows]


def _read(path: Path) -> tuple[list[str], list[list[str]]]:
    lines = [cells for _, cells in read_lines(path, find_delimiter(path))]
    if len(lines) < 2:
        raise ValueError(
            f"{path.name} has no samples: give a line of column names and a line for each entry."
        )
    header, rows = lines[0], lines[1:]
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise ValueError(
                f"Line {number} of {path.name} has {len(row)} cells, the first line {len(header)}: make them equal."
            )
    return header, rows
