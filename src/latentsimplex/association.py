"""Whether the clusterings of patterns are related beyond chance, and the tools of such permutation tests.

============ ============= ========== ====================================================
symbol       name          shape      meaning
============ ============= ========== ====================================================
c^(l)        ``labels``    P x n      joint labels of the patterns
T            ``T``         B x ...    statistics; row 0 is what was observed, the others are permuted
z                          B x ...    T as normal scores, comparable between statistics
============ ============= ========== ====================================================

What was observed counts as one of the permutations everywhere. Under the null hypothesis all rows are then
exchangeable, and so are functions that treat them alike, such as the maximum of normal scores over tests: its
p-value is valid however good the approximation behind the scores is (Westfall and Young's max T). Scores are made
column by column, so that the same holds for the columns that are null where others are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from latentsimplex._types import Array
from latentsimplex.compute.pairs import unpack
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.options import check_count, generator
from latentsimplex.table import Table

TIE = 1e-9
"""Statistics closer than this are equal: equal tables can be summed in another order."""
LARGEST = 10
"""A share of so few rows, or fewer, is a rough estimate of a chance."""
LEAST_SKEWNESS = 1e-3
"""Below this a law counts as symmetric, and its normal scores are the standardised statistics."""

_BLOCK = 1 << 22
"""Most shuffled labels at a time."""


@dataclass(frozen=True, eq=False)
class PatternAssociation:
    """How far the clusterings of patterns agree; all arrays are (P, P) and symmetric.

    Attributes
    ----------
    nmi, ami : arrays
        Normalised and adjusted mutual information (arithmetic means).
    p_values : array
        By permutation, of each pair; the same for both measures. The diagonal is nan.
    familywise : array
        p-values of the largest normal score over all pairs, under the null hypothesis that no two patterns
        are related: the chance of one false finding or more is at most the level.
    false_discovery : array
        p-values adjusted by Benjamini and Hochberg: the expected share of false findings.
    """

    nmi: Array
    ami: Array
    p_values: Array
    familywise: Array
    false_discovery: Array

    def table(self) -> Table:
        """Return one row a pair of patterns, the smallest p-value first, ties by adjusted information."""
        first, second = np.triu_indices(len(self.nmi), 1)
        table = Table(
            {
                "first": first,
                "second": second,
                "nmi": self.nmi[first, second],
                "ami": self.ami[first, second],
                "p_value": self.p_values[first, second],
                "familywise": self.familywise[first, second],
                "false_discovery": self.false_discovery[first, second],
            }
        )
        return table.rows(np.lexsort((-table["ami"], table["p_value"])))


def associate_patterns(
    pattern_labels: Any, n_permutations: int = 10_000, random_state: Any = None
) -> PatternAssociation:
    """Compare the labels of all pairs of patterns.

    In each permutation the samples of every pattern are shuffled on their own, so that no two patterns are
    related any more.

    Parameters
    ----------
    pattern_labels : (P, n) array
        Two patterns or more. A pattern with a single cluster is related to none.
    n_permutations : int
    random_state : int, RandomState, Generator or None

    Returns
    -------
    PatternAssociation

    Examples
    --------
    >>> labels = np.repeat([[0, 0, 1, 1], [0, 0, 1, 2], [0, 1, 0, 1]], 5, axis=1)
    >>> found = associate_patterns(labels, n_permutations=999, random_state=0)
    >>> found.nmi.round(2).tolist()
    [[1.0, 0.8, 0.0], [0.8, 1.0, 0.4], [0.0, 0.4, 1.0]]
    >>> (found.familywise[0] < 0.05).tolist()
    [False, True, False]
    """
    from latentsimplex.compute import contingency

    labels = check_pattern_labels(pattern_labels)
    P, n = labels.shape
    if P < 2:
        raise ValueError("pattern_labels has a single row: give the labels of two patterns or more.")
    n_rows = check_count("n_permutations", n_permutations) + 1
    rng = generator(random_state)
    cost = contingency.costs("nmi", n)
    parts, step = [contingency.pair_sums(labels[None], cost)], max(1, _BLOCK // labels.size)
    for start in range(1, n_rows, step):
        shuffled = np.tile(labels, (min(step, n_rows - start), 1, 1))
        parts.append(contingency.pair_sums(rng.permuted(shuffled, axis=2), cost))
    J = np.concatenate(parts)
    first, second = np.triu_indices(P, 1)
    sizes = contingency.cluster_sizes(labels)
    nmi, ami = (contingency.scaled(J, sizes[first], sizes[second], measure) for measure in ("nmi", "ami"))
    z = normal_scores(nmi)
    p_values = permutation_p_values(nmi)
    return PatternAssociation(
        nmi=unpack(nmi[0], 1.0),
        ami=unpack(ami[0], 1.0),
        p_values=unpack(p_values, np.nan),
        familywise=unpack(maximum_p_values(z[0], z.max(axis=1)), np.nan),
        false_discovery=unpack(benjamini_hochberg(p_values, np.isfinite(z[0])), np.nan),
    )


def associate_model(
    model: LatentSimplexPosition, n_permutations: int = 10_000, random_state: Any = None
) -> PatternAssociation:
    """Return :func:`associate_patterns` of a fitted model's live patterns."""
    check_is_fitted(model)
    return associate_patterns(model.pattern_labels_, n_permutations, random_state)


def sample_orders(n_rows: int, n_samples: int, rng: np.random.Generator) -> np.ndarray:
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
    tail = np.maximum(_gamma_scores(S[:, -LARGEST:], S[:, :-1]), least)
    z[:, -LARGEST:] = np.where(below[:, -LARGEST:] >= B - LARGEST, tail, z[:, -LARGEST:])
    z[~starts[:, 1:].any(axis=1)] = -np.inf
    scores = np.empty_like(z)
    np.put_along_axis(scores, order, z, axis=1)
    return scores.T


def _gamma_scores(values: Array, draws: Array) -> Array:
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


def benjamini_hochberg(p_values: Any, tested: Any = True) -> Array:
    """Return p-values adjusted for the false discovery rate; those that were not tested become 1.

    The k-th smallest of m becomes the least of m p_j / j over j >= k.

    >>> benjamini_hochberg([0.01, 0.04, 0.02]).round(4).tolist()
    [0.03, 0.04, 0.03]
    """
    p = np.asarray(p_values, dtype=np.float64)
    tested = np.broadcast_to(tested, p.shape)
    adjusted, own = np.ones(p.shape), p[tested]
    order = np.argsort(own)
    steps = own[order] * len(own) / np.arange(1, len(own) + 1)
    own[order] = np.minimum.accumulate(steps[::-1])[::-1]
    adjusted[tested] = own
    return adjusted


def check_pattern_labels(pattern_labels: Any) -> np.ndarray:
    """Return labels (P, n) numbered from 0 in each row, or raise ValueError for another shape."""
    from latentsimplex.compute.contingency import numbered

    labels = np.asarray(pattern_labels)
    if labels.ndim != 2 or not len(labels) or labels.shape[1] < 2:
        raise ValueError(
            f"pattern_labels has shape {labels.shape}: give one row of labels per pattern, two samples or more."
        )
    return numbered(labels)
