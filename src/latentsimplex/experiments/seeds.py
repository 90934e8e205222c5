"""Seeds, and what is reported of measurements over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from latentsimplex.experiments.table import Cell, Table
from latentsimplex.options import check_count

SEED_BASE = 0
"""The first seed. Data and model of one repetition share theirs, so that any of them can be run alone."""

Record = Mapping[str, float]
"""Quantities measured with one seed."""


def seeds(n_seeds: int) -> range:
    """Return the seeds of ``n_seeds`` repetitions.

    >>> list(seeds(3))
    [0, 1, 2]
    """
    return range(SEED_BASE, SEED_BASE + check_count("n_seeds", n_seeds))


def mean(records: Sequence[Record], quantity: str) -> float:
    """Return the mean of a quantity over seeds."""
    return float(np.mean([record[quantity] for record in records]))


def sd(records: Sequence[Record], quantity: str) -> float | None:
    """Return the standard deviation over seeds (n - 1 in the denominator); None for a single seed."""
    if len(records) == 1:
        return None
    return float(np.std([record[quantity] for record in records], ddof=1))


def spread(records: Sequence[Record], quantity: str) -> list[Cell]:
    """Return mean and sd over the seeds in which the quantity is defined; blanks if there are none.

    >>> spread([{"x": 1.0}, {}, {"x": 1.0}], "x"), spread([{}], "x")
    ([1.0, 0.0], [None, None])
    """
    defined = [record for record in records if quantity in record]
    return [mean(defined, quantity), sd(defined, quantity)] if defined else [None, None]


def comparison(
    aims: Sequence[Record], found: Mapping[str, Sequence[Record]], paper: Record | None = None
) -> Table:
    """Return a row per quantity: what a perfect method would get, then mean and sd of each variant.

    ``paper`` adds a column of what the paper says; where a variant does not measure a quantity its cells are
    blank.

    >>> found = {"ours": [{"clusters": 2.0}, {"clusters": 4.0}]}
    >>> print(comparison([{"clusters": 3.0}] * 2, found).to_text())
    quantity  truth or ceiling  ours, mean  ours, sd
    --------  ----------------  ----------  --------
    clusters             3.000       3.000     1.414
    """
    columns = ["quantity", "truth or ceiling", *([] if paper is None else ["paper"])]
    columns += [f"{variant}, {statistic}" for variant in found for statistic in ("mean", "sd")]
    rows: list[list[Cell]] = []
    for quantity in aims[0]:
        row: list[Cell] = [quantity, mean(aims, quantity), *([] if paper is None else [paper.get(quantity)])]
        for records in found.values():
            row += spread(records, quantity)
        rows.append(row)
    return Table(columns, rows)
