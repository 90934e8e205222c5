"""What the columns of a table in a file are: one names the samples, some are left out, the others are features.

Without a word from the user, the column that names the samples is the first one, if

- its name says so (``names_samples``), or
- it holds text, or
- it holds a different whole number in each row, about which there is a warning.

A first column without a name, such as the count of rows that pandas writes, gives way to a second one whose name says
that it names samples, and is no feature then.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from latentsimplex.base.wording import warn_user
from latentsimplex.inputs.named_table import UnknownViews

UNNAMED = {"", "unnamed: 0"}
"""How a column without a name is called, the second by pandas, in small letters."""
NAMES_OF_NAMES = {
    *UNNAMED,
    *("sample", "samples", "index", "name", "names", "barcode"),
    *("patient", "subject", "participant", "individual"),
}
"""A column of one of these names, in small letters, names the samples even if it holds numbers."""
ID = re.compile(r"(?i:(.*[\W_])?ids?)|.*[a-z]I[dD]s?", re.DOTALL)
WHOLE_NUMBER = re.compile(r"\s*[+-]?\d+(\.0*)?\s*")


@dataclass(frozen=True)
class ColumnRoles:
    """What the user says of columns: which names the samples (or that none does), and which are left out.

    Arrays of an .npz may be left out likewise. ``seen`` collects the names of the columns and arrays of all files, to
    find those that no file has.
    """

    index: str | None = None
    no_index: bool = False
    drop: tuple[str, ...] = ()
    seen: set[str] = field(default_factory=set)

    def check_dropped(self) -> None:
        """Refuse a column, or an array, to leave out that no file has."""
        if lacking := [name for name in self.drop if name not in self.seen]:
            raise UnknownViews(
                f"--drop {shlex.quote(lacking[0])}: no file has such a column or array; look at its name."
            )


class Places(NamedTuple):
    """Where the names of the samples may be, whether they certainly are, and where the features are."""

    names: int | None
    certain: bool
    features: list[int]


def place_columns(header: Sequence[str], roles: ColumnRoles, which: str, has_index: bool = False) -> Places:
    """Return what each column is, by the names of the columns of one file; ``has_index``: the first names samples.

    >>> place_columns(["", "patient_id", "age"], ColumnRoles(), "a.csv")
    Places(names=1, certain=True, features=[2])
    >>> place_columns(["age", "height"], ColumnRoles(), "a.csv")
    Places(names=0, certain=False, features=[1])
    """
    roles.seen.update(header)
    kept = [j for j, name in enumerate(header) if name not in roles.drop]
    if roles.no_index or not kept:
        return Places(None, True, kept)
    first = kept[0]
    unnamed = _is_unnamed(header[first])
    if roles.index is not None:
        if roles.index not in header:
            listed = ", ".join(repr(name) for name in header[:10])
            raise UnknownViews(
                f"--index {roles.index}: {which} has no such column but {listed}; choose one of them."
            )
        index = header.index(roles.index)
    else:
        second = header[kept[1]] if len(kept) > 1 else ""
        gives_way = unnamed and names_samples(second) and not _is_unnamed(second)
        index = kept[1] if gives_way else first
    certain = roles.index is not None or has_index or names_samples(header[index])
    features = [j for j in kept if j != index and not (j == first and unnamed)]
    for j in features:
        if names_samples(header[j]):
            quoted = shlex.quote(header[j])
            warn_user(
                f"The column {header[j]!r} of {which} was taken as a feature: say --index {quoted} if it names the "
                f"samples, or --drop {quoted} to leave it out."
            )
    return Places(index, certain, features)


def _is_unnamed(column: str) -> bool:
    return column.strip().lower() in UNNAMED


def names_samples(column: str) -> bool:
    """Return whether a column of this name names the samples.

    >>> [names_samples(column) for column in ("Sample", "patient_id", "PatientID", "acid", "body mass index")]
    [True, True, True, False, False]
    """
    name = column.strip()
    return name.lower() in NAMES_OF_NAMES or bool(ID.fullmatch(name))


def are_ids(cells: Sequence[str], column: str, which: str) -> bool:
    """Return whether cells are a different whole number in each row, and warn that they are taken as names then."""
    if len(set(cells)) < len(cells) or not all(map(WHOLE_NUMBER.fullmatch, cells)):
        return False
    warn_user(
        f"The column {column!r} of {which} holds a different whole number in each row and was taken as the names of "
        f"the samples: say --index {shlex.quote(column)} to confirm it, or --no-index if it is a feature."
    )
    return True


def plain_names(cells: Sequence[str]) -> list[str]:
    """Return the names of samples; whole numbers lose what other programs add to them.

    >>> plain_names(["17", "18.0", "S 1.0"])
    ['17', '18', 'S 1.0']
    """
    return [cell.strip().partition(".")[0] if WHOLE_NUMBER.fullmatch(cell) else cell for cell in cells]
