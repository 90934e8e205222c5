"""Association of patterns: whether their clusterings are related beyond chance, by permutation tests.

============ ============= ========== ====================================================
symbol       name          shape      meaning
============ ============= ========== ====================================================
c^(l)        ``labels``    P x n      joint labels of the patterns
T            ``T``         B x ...    statistics; row 0 is what was observed, the others are permuted
z                          B x ...    T as normal scores, comparable between statistics
============ ============= ========== ====================================================

:mod:`latentsimplex.analysis.permutation` has the tools of such tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from latentsimplex.analysis.permutation import (
    SHUFFLED_AT_ONCE,
    adjust_for_false_discovery,
    check_pattern_labels,
    maximum_p_values,
    normal_scores,
    permutation_p_values,
)
from latentsimplex.base.checks import check_count, make_generator
from latentsimplex.base.condensed import unpack_pairs
from latentsimplex.base.table import Table
from latentsimplex.base.types import Array
from latentsimplex.results.results import results_of


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
        """Return a table with a row for each pair of patterns, the smallest p-value first, ties by AMI."""
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
    """Compare the labels of all pairs of patterns, by permutation tests.

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
    from latentsimplex.analysis import _contingency_loops as contingency

    labels = check_pattern_labels(pattern_labels)
    P, n = labels.shape
    if P < 2:
        raise ValueError("pattern_labels has a single row: give the labels of two patterns or more.")
    n_rows = check_count("n_permutations", n_permutations) + 1
    rng = make_generator(random_state)
    cost = contingency.list_costs("nmi", n)
    parts, step = [contingency.pair_sums(labels[None], cost)], max(1, SHUFFLED_AT_ONCE // labels.size)
    for start in range(1, n_rows, step):
        shuffled = np.tile(labels, (min(step, n_rows - start), 1, 1))
        parts.append(contingency.pair_sums(rng.permuted(shuffled, axis=2), cost))
    J = np.concatenate(parts)
    first, second = np.triu_indices(P, 1)
    sizes = contingency.cluster_sizes(labels)
    nmi, ami = (contingency.scale_sums(J, sizes[first], sizes[second], measure) for measure in ("nmi", "ami"))
    z = normal_scores(nmi)
    p_values = permutation_p_values(nmi)
    return PatternAssociation(
        nmi=unpack_pairs(nmi[0], 1.0),
        ami=unpack_pairs(ami[0], 1.0),
        p_values=unpack_pairs(p_values, np.nan),
        familywise=unpack_pairs(maximum_p_values(z[0], z.max(axis=1)), np.nan),
        false_discovery=unpack_pairs(adjust_for_false_discovery(p_values, np.isfinite(z[0])), np.nan),
    )


def associate_model(model: Any, n_permutations: int = 10_000, random_state: Any = None) -> PatternAssociation:
    """Return :func:`associate_patterns` of a fitted model's live patterns."""
    return associate_patterns(results_of(model).pattern_labels, n_permutations, random_state)
