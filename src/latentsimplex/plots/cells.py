"""Samples or views in the order of a figure, cut into cells of neighbours where they outnumber its pixels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentsimplex._types import Array, Indices
from latentsimplex.plots.order import sample_order

MOST_CELLS = 300
"""A panel of a few inches has about so many rows that can be told apart."""


class Cells(NamedTuple):
    """The order of a figure and where its cells begin; a cell lies within one group.

    Attributes
    ----------
    order : (n,) array
        The samples, or views, one after the other.
    starts : (cells,) array
        The place in ``order`` of the first of each cell.
    groups : (cells,) array
        The group of each cell, an index into ``names``.
    names : (groups,) array
        What the groups are called.
    """

    order: Indices
    starts: Indices
    groups: Indices
    names: np.ndarray

    @property
    def whole(self) -> bool:
        """Whether each cell is a single sample."""
        return len(self.starts) == len(self.order)

    @property
    def borders(self) -> Indices:
        """The first cell of each group, and the number of cells (groups + 1,)."""
        return np.searchsorted(self.groups, np.arange(len(self.names) + 1))

    def means(self, values: Array) -> Array:
        """Return the mean of rows (n, ...) in each cell (cells, ...)."""
        sizes = np.diff(np.r_[self.starts, len(self.order)])
        sums = np.add.reduceat(np.asarray(values)[self.order], self.starts, axis=0)
        return sums / sizes.reshape(-1, *[1] * (np.ndim(values) - 1))

    def said(self, cell: str, what: str) -> str:
        """Return the small print that tells what a cell is; nothing where it is a single sample."""
        if self.whole:
            return ""
        size = len(self.order) / len(self.starts)
        about = f"{float(f'{size:.2g}'):,g}"
        return f"{len(self.order):,} {what}: each {cell} is a mean over about {about}"


def cells_of(labels: np.ndarray, within: np.ndarray | None = None, most: int = MOST_CELLS) -> Cells:
    """Return samples sorted by label and then by ``within``, one by one up to ``2 * most``, else in ``most`` cells.

    Cells hold about as many samples each, but never of two groups, and every group has one.

    >>> found = cells_of(np.array([1, 0, 0, 1, 1, 1, 1, 1]), most=3)
    >>> found.order.tolist(), found.starts.tolist(), found.groups.tolist()
    ([1, 2, 0, 3, 4, 5, 6, 7], [0, 2, 5], [0, 1, 1])
    """
    names, groups, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    shares = np.maximum(1, np.rint(most * sizes / len(labels))).astype(np.intp)
    counts = sizes if len(labels) <= 2 * most else np.minimum(sizes, shares)
    ends = np.cumsum(sizes)
    starts = [
        end - size + np.arange(count) * size // count
        for end, size, count in zip(ends, sizes, counts, strict=True)
    ]
    order = sample_order(groups.reshape(-1), within)
    return Cells(order, np.concatenate(starts), np.repeat(np.arange(len(names)), counts), names)


def thinned(labels: np.ndarray, within: Array, most: int) -> Indices:
    """Return up to ``most`` samples, evenly spaced in the order of labels and then of ``within``.

    >>> thinned(np.array([0, 1, 0, 1]), np.zeros(4), 2).tolist()
    [0, 3]
    """
    order = sample_order(labels, within)
    if len(order) <= most:
        return order
    return order[np.linspace(0, len(order) - 1, most).round().astype(np.intp)]
