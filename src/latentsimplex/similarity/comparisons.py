"""How the features of views are compared: standardised, as they are, or counts as shares (Hellinger distance)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from latentsimplex.base.partial_table import PartialTable
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array
from latentsimplex.base.wide_table import WideTable
from latentsimplex.inputs.words import holds_words
from latentsimplex.similarity.distances import root_shares, standardise
from latentsimplex.similarity.leading_coordinates import find_leading_coordinates
from latentsimplex.similarity.wide_tables import compare_together

MOST_EXACT = 2500
"""Samples of large tables that are compared by coordinates with all of their distances; more by leading ones."""


def list_comparisons(tables: Sequence[Any]) -> list[str]:
    """Return the ways to compare the features of some views that are worth a look.

    >>> import numpy as np
    >>> list_comparisons([np.zeros((5, 1))]), list_comparisons([-np.ones((5, 3))])
    (['as they are'], ['standardised', 'as they are'])
    """
    if all(X.shape[1] == 1 for X in tables):
        return ["as they are"]
    return ["as shares"] if any(map(holds_words, tables)) else ["standardised", "as they are"]


def compare_views(tables: Sequence[Any], comparison: str, workers: Workers | None = None) -> list[Array]:
    """Return coordinates of the samples in each view; shares are compared in tables of words alone."""
    otherwise = "standardised" if comparison == "as shares" else comparison

    def compare(X: Any) -> Array:
        return compare_samples(X, comparison if holds_words(X) else otherwise)

    return [compare(X) for X in tables] if workers is None else list(workers.map(compare, tables))


def compare_samples(table: Array | WideTable | PartialTable, comparison: str) -> Any:
    """Return coordinates (n, r) in which samples are as far apart as a comparison of their features says.

    Those of a partial table are partial too.
    """
    if isinstance(table, PartialTable):
        return table.transform(lambda values: compare_samples(values, comparison))
    if isinstance(table, WideTable) and len(table) > MOST_EXACT:
        return find_leading_coordinates(table, comparison)
    if comparison == "as shares":
        table = root_shares(table)
    if isinstance(table, WideTable):
        return compare_together(table, comparison == "standardised")
    return standardise(table) if comparison == "standardised" else table
