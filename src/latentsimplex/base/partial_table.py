"""Tables of views that lack some of the samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from latentsimplex.base.types import Indices


@dataclass(frozen=True, eq=False)
class PartialTable:
    """A table (n, p) of n samples, of which some are absent and have no row.

    Attributes
    ----------
    values : (n_v, p) array or WideTable
        The rows of the samples that are there.
    rows : (n_v,) indices
        Which samples these are, in order.
    n_samples : int

    Examples
    --------
    >>> table = PartialTable(np.array([[1.0], [2.0]]), np.array([0, 3]), 4)
    >>> table[np.array([2, 3])].rows.tolist(), table.present.tolist()
    ([1], [True, False, False, True])
    """

    values: Any
    rows: Indices
    n_samples: int

    def __len__(self) -> int:
        return self.n_samples

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples, absent ones too, and of features."""
        return self.n_samples, self.values.shape[1]

    @property
    def present(self) -> np.ndarray:
        """Which samples (n,) are there."""
        found = np.zeros(self.n_samples, dtype=bool)
        found[self.rows] = True
        return found

    def __getitem__(self, samples: Indices) -> Any:
        """Return the table of some samples, which is a plain one where all of them are there."""
        place = np.full(self.n_samples, -1)
        place[self.rows] = np.arange(len(self.rows))
        found = place[samples]
        there = np.flatnonzero(found >= 0)
        values = self.values[found[there]]
        return values if len(there) == len(found) else PartialTable(values, there, len(found))

    def transform(self, change: Any) -> PartialTable:
        """Return the table with other values of the same samples."""
        return replace(self, values=change(self.values))

    def spread(self, found: np.ndarray, otherwise: Any) -> np.ndarray:
        """Return what was found for each sample that is there (n_v, ...) as an array of all samples (n, ...)."""
        every = np.full((self.n_samples, *found.shape[1:]), otherwise, dtype=found.dtype)
        every[self.rows] = found
        return every


def count_present(table: Any) -> int:
    """Return how many samples of a table, partial or not, are there.

    >>> count_present(np.zeros((3, 2))), count_present(PartialTable(np.zeros((1, 2)), np.array([2]), 3))
    (3, 1)
    """
    return len(table.rows) if isinstance(table, PartialTable) else len(table)
