"""How the samples of some views are compared: features as they are or standardised, or words as shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array
from latentsimplex.inputs.words import holds_words
from latentsimplex.neighbours.neighbour_graphs import compare_samples


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
