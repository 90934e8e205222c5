"""Tools for permutation tests: shuffled orders, normal scores, p-values of tests and of the largest of many.

============ ============= ========== ====================================================
symbol       name          shape      meaning
============ ============= ========== ====================================================
T            ``T``         B x ...    statistics; row 0 is what was observed, the others are permuted
z                          B x ...    T as normal scores, comparable between statistics
============ ============= ========== ====================================================

What was observed counts as one of the permutations everywhere. Under the null hypothesis all rows are then
exchangeable, and so are functions that treat them alike, such as the maximum of normal scores over tests: its
p-value is valid however good the approximation behind the scores is (Westfall and Young's max T). Scores are made
column by column, so that the same holds for the columns that are null where others are not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import false_discovery_control

from latentsimplex.base.checks import as_numbers
from latentsimplex.base.types import Array

SHUFFLED_AT_ONCE = 1 << 22
"""Most random or shuffled labels at a time."""
TIE = 1e-9
"""Statistics closer than this are equal: equal tables can be summed in another order."""
LARGEST = 10
"""A share of so few rows, or fewer, is a rough estimate of a chance."""
LEAST_SKEWNESS = 1e-3
"""Below this a law counts as symmetric, and its normal scores are the standardised statistics."""


def draw_orders(n_rows: int, n_samples: int, rng: np.random.Generator) -> np.ndarray:
    """Return orders of the samples (n_rows, n_samples): the one that they have, then random ones."""
    orders = np.tile(np.arange(n_samples, dtype=np.int32), (n_rows, 1))
    rng.permuted(orders[1:], axis=1, out=orders[1:])
    return orders


def normal_scores(T: Array) -> Array:
    """Return the columns of T (B, tests) as normal scores, comparable between columns; a constant has -inf.

    A value that r of B rows reach has the score of the chance (r - 1/2) / B. Small ranks are rough, and every
    column has a first one: the ``LARGEST`` values get the scores of a gamma law with the moments of the column.
    These leave the largest value out. One finding, however strong, then moves the scores of other rows by no
    more than a rank, and still no row is treated unlike another.

    >>> z = normal_scores(np.random.default_rng(0).gamma(2.0, size=(100_000, 1)))
    >>> np.quantile(z, [0.05, 0.95, 0.999]).round(1).tolist()
    [-1.6, 1.6, 3.1]
    """
    B, columns = len(T), np.ascontiguousarray(T.T)
    order = np.argsort(columns, axis=1)
    S = np.take_along_axis(columns, order, axis=1)
    starts = np.diff(S, axis=1, prepend=-np.inf) > TIE
    below = np.maximum.accumulate(np.where(starts, np.arange(B), 0), axis=1)
    z = -ndtri((B - below - 0.5) / B)
    least = z[:, max(0, B - LARGEST - 1), None]
    tail = np.maximum(gamma_scores(S[:, -LARGEST:], S[:, :-1]), least)
    z[:, -LARGEST:] = np.where(below[:, -LARGEST:] >= B - LARGEST, tail, z[:, -LARGEST:])
    z[~starts[:, 1:].any(axis=1)] = -np.inf
    scores = np.empty_like(z)
    np.put_along_axis(scores, order, z, axis=1)
    return scores.T


def gamma_scores(values: Array, draws: Array) -> Array:
    """Return values (tests, k) as scores that are normal where the draws (tests, B) of each row are gamma.

    z = (6 / g) [(1 + g t / 2)^(1/3) - 1] + g / 6 (Wilson and Hilferty), t the value less the mean of the draws
    over their spread, and g their skewness. Whatever the law, it rises with the value.
    """
    mean = draws.mean(axis=1, keepdims=True)
    centred = draws - mean
    square = centred * centred  # products: a cube as a power takes ten times as long
    spread = np.maximum(np.sqrt(square.mean(axis=1, keepdims=True)), TIE)
    g = (square * centred).mean(axis=1, keepdims=True) / spread**3
    t = (values - mean) / spread
    skewed = np.abs(g) > LEAST_SKEWNESS
    g = np.where(skewed, g, 1)
    return np.where(skewed, 6 / g * (np.cbrt(1 + g * t / 2) - 1) + g / 6, t)


def permutation_p_values(T: Array) -> Array:
    """Return for each column of T (B, tests) the share of rows that reach the first, itself included.

    >>> permutation_p_values(np.array([[0.3, 0.1], [0.1, 0.1], [0.2, 0.4], [0.2, 0.2]])).tolist()
    [0.25, 1.0]
    """
    return np.mean(T[0] - TIE <= T, axis=0)


def maximum_p_values(scores: Array, maxima: Array) -> Array:
    """Return for each score the share of maxima (B,), what was observed among them, that reach it.

    >>> maximum_p_values(np.array([3.0, 1.0]), np.array([3.0, 1.0, 2.0, 4.0])).tolist()
    [0.5, 1.0]
    """
    below = np.searchsorted(np.sort(maxima), scores - TIE, side="left")
    return (len(maxima) - below) / len(maxima)


def adjust_for_false_discovery(p_values: Any, tested: Any = True) -> Array:
    """Return p-values adjusted for the false discovery rate (Benjamini and Hochberg); those not tested become 1.

    >>> adjust_for_false_discovery([0.01, 0.04, 0.02, 0.5], [True, True, True, False]).round(4).tolist()
    [0.03, 0.04, 0.03, 1.0]
    """
    p = as_numbers(p_values, "p_values")
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("p_values holds something else than probabilities: give numbers from 0 to 1.")
    tested = np.broadcast_to(tested, p.shape)
    adjusted = np.ones(p.shape)
    if tested.any():
        adjusted[tested] = false_discovery_control(p[tested])
    return adjusted


def check_pattern_labels(pattern_labels: Any) -> np.ndarray:
    """Return labels (P, n) numbered from 0 in each row, or raise ValueError for another shape."""
    labels = np.asarray(pattern_labels)
    if labels.ndim != 2 or not len(labels) or labels.shape[1] < 2:
        raise ValueError(
            f"pattern_labels has shape {labels.shape}: give one row of labels per pattern, two samples or more."
        )
    return np.array([np.unique(row, return_inverse=True)[1] for row in labels], dtype=np.int32)
