"""Samples or views in the order of a figure: cut into cells of neighbours, or thinned, where they are too many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentsimplex.base.types import Array, Indices

MOST_CELLS = 300
"""A panel of a few inches has about so many rows that can be told apart."""
MOST_POINTS = 5000
"""Points beyond these only hide one another."""


class Cells(NamedTuple):
    """The order of a figure, of its samples or views (n,), and where its cells begin; a cell lies within one group.

    ``starts`` (cells,) are places in ``order``, ``groups`` (cells,) the group of each cell, an index into ``names``.
    """

    order: Indices
    starts: Indices
    groups: Indices
    names: np.ndarray

    @property
    def borders(self) -> Indices:
        """The first cell of each group, and the number of cells (groups + 1,)."""
        return np.searchsorted(self.groups, np.arange(len(self.names) + 1))

    def means(self, values: Array) -> Array:
        """Return the mean of rows (n, ...) in each cell (cells, ...)."""
        sizes = np.diff(np.r_[self.starts, len(self.order)])
        sums = np.add.reduceat(np.asarray(values)[self.order], self.starts, axis=0)
        return sums / sizes.reshape(-1, *[1] * (np.ndim(values) - 1))

    def explain(self, cell: str, what: str) -> str:
        """Return the small print that tells what a cell is; nothing where it is a single sample."""
        if len(self.starts) == len(self.order):
            return ""
        about = f"{float(f'{len(self.order) / len(self.starts):.2g}'):,g}"
        return f"{len(self.order):,} {what}: each {cell} is a mean over about {about}"


def cut_into_cells(labels: np.ndarray, within: np.ndarray | None = None, most: int = MOST_CELLS) -> Cells:
    """Return samples sorted by label and then by ``within``, one by one up to ``2 * most``, else in ``most`` cells.

    Cells hold about as many samples each, but never of two groups, and every group has one.

    >>> found = cut_into_cells(np.array([1, 0, 0, 1, 1, 1, 1, 1]), most=3)
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
    order = order_samples(groups, within)
    return Cells(order, np.concatenate(starts), np.repeat(np.arange(len(names)), counts), names)


def order_samples(labels: np.ndarray, within: np.ndarray | None = None) -> Indices:
    """Return the samples sorted by cluster, and by ``within`` where they share one.

    >>> order_samples(np.array([1, 0, 0]), np.array([0.5, 0.9, 0.1])).tolist()
    [2, 1, 0]
    """
    return np.argsort(labels, kind="stable") if within is None else np.lexsort((within, labels))


def thin_evenly(order: Indices, most: int) -> Indices:
    """Return at most ``most`` entries of an order, evenly spaced, the first and the last among them.

    >>> thin_evenly(np.arange(10), 4).tolist()
    [0, 3, 6, 9]
    """
    if len(order) <= most:
        return order
    return order[np.linspace(0, len(order) - 1, most).round().astype(np.intp)]


def select_samples(labels: np.ndarray, within: Array, most: int = MOST_POINTS) -> Indices:
    """Return up to ``most`` samples, evenly spaced in the order of labels and then of ``within``.

    >>> select_samples(np.array([0, 1, 0, 1]), np.zeros(4), 2).tolist()
    [0, 3]
    """
    return thin_evenly(order_samples(labels, within), most)


def explain_selection(n_selected: int, n_samples: int) -> str:
    """Return the small print that tells of a selection; nothing where it is all samples."""
    return "" if n_selected == n_samples else f"{n_selected:,} of {n_samples:,} samples, evenly selected"
