"""Many contingency tables at once: a partition against shuffled ones, and what agreement each table means.

============ ============ ========== ====================================================
symbol       name         shape      meaning
============ ============ ========== ====================================================
a            ``labels``   L x n      partitions, numbered from 0 in each row
b            ``codes``    n          another partition, or ``ranks`` of numbers
pi           ``orders``   B x n      permutations of the samples: sample i gets code b[pi_i]
n_kl                      K x K'     the table of a against b[pi], whose margins no pi changes
J            ``sums``     B x L      sum_kl cost(n_kl)
============ ============ ========== ====================================================

With the margins fixed, mutual information and the Rand index are linear in J, for cost(x) = x log x and
cost(x) = x (x - 1) / 2. The tables themselves are never kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from latentsimplex.base.compiled import compiled_exactly
from latentsimplex.base.types import Array, Indices

ROUNDING = 1e-12
"""A share of the largest possible value that is nothing but rounding."""


def list_costs(measure: str, n: int) -> Array:
    """Return cost(x) for x = 0, ..., n: x log x for information, x (x - 1) / 2 for the Rand index."""
    x = np.arange(n + 1.0)
    return x * (x - 1) / 2 if measure == "ari" else x * np.log(np.maximum(x, 1))


def scale_sums(sums: Array, a: Indices, b: Indices, measure: str) -> Array:
    """Return the measure for J (B, T) of T tables with row sums a (T, K) and column sums b (T, K').

    With R, C and N the costs of the row sums, of the column sums and of all samples, n I = J + N - R - C and
    n H_a = N - R, so that nmi = n I / M and ami = (n I - E) / (M - E), M = (n H_a + n H_b) / 2 and E the mean of
    n I over permutations; ari = (J - E) / ((R + C) / 2 - E), E = R C / N. A partition without any split has
    nothing to agree on, but two of them agree fully.
    """
    cost = list_costs(measure, int(a[0].sum()))
    R, C, N = cost[a].sum(axis=1), cost[b].sum(axis=1), cost[-1]
    if measure == "ari":
        E = R * C / N
        numerator, denominator = sums - E, (R + C) / 2 - E
    else:
        E = expected_information(a, b) if measure == "ami" else np.zeros(len(a))
        numerator, denominator = sums + N - R - C - E, N - (R + C) / 2 - E
    numerator = np.where(np.abs(numerator) < ROUNDING * N, 0.0, numerator)
    same = denominator <= ROUNDING * N
    return np.where(same, 1.0, numerator / np.where(same, 1, denominator))


def expected_information(a: Indices, b: Indices) -> Array:
    """Return the mean of n I over all permutations, for T tables with row sums a (T, K) and column sums b (T, K').

    n I = sum_kl n_kl log(n n_kl / (a_k b_l)), and each n_kl is hypergeometric.
    """
    log_factorial = gammaln(np.arange(a[0].sum() + 1) + 1.0)
    margins, which = np.unique(np.hstack([a, b]), axis=0, return_inverse=True)
    K = a.shape[1]
    means = [_expected_information(row[:K], row[K:], log_factorial) for row in margins]
    return np.array(means)[which.reshape(-1)]


@compiled_exactly
def cluster_sizes(labels: Any) -> Any:
    """Return the sizes (L, K) of the clusters of each partition, with zeros for numbers that it does not use.

    >>> cluster_sizes(np.array([[0, 1, 1], [0, 0, 0]])).tolist()
    [[1, 2], [3, 0]]
    """
    L, n = labels.shape
    sizes = np.zeros((L, labels.max() + 1), dtype=np.int64)
    for l in range(L):
        for i in range(n):
            sizes[l, labels[l, i]] += 1
    return sizes


@compiled_exactly
def _expected_information(a: Any, b: Any, log_factorial: Any) -> float:
    n = len(log_factorial) - 1
    total = 0.0
    for k in range(len(a)):
        for l in range(len(b)):
            fixed = (
                log_factorial[a[k]]
                + log_factorial[b[l]]
                + log_factorial[n - a[k]]
                + log_factorial[n - b[l]]
                - log_factorial[n]
            )
            for x in range(max(1, a[k] + b[l] - n), min(a[k], b[l]) + 1):
                log_chance = (
                    fixed
                    - log_factorial[x]
                    - log_factorial[a[k] - x]
                    - log_factorial[b[l] - x]
                    - log_factorial[n - a[k] - b[l] + x]
                )
                total += x * np.log(n * x / (a[k] * b[l])) * np.exp(log_chance)
    return total


@compiled_exactly
def shuffled_sums(labels: Any, codes: Any, orders: Any, cost: Any) -> Any:
    """Return J (B, L) of each partition with the codes shuffled by each order."""
    L, n = labels.shape
    width = codes.max() + 1
    height = labels.max() + 1
    sums = np.empty((len(orders), L))
    table = np.empty(height * width, dtype=np.int32)
    shuffled = np.empty(n, dtype=np.int32)
    for o in range(len(orders)):
        for i in range(n):
            shuffled[i] = codes[orders[o, i]]
        for l in range(L):
            sums[o, l] = _table_sum(labels[l], shuffled, width, table, cost)
    return sums


@compiled_exactly
def pair_sums(partitions: Any, cost: Any) -> Any:
    """Return J (B, pairs) of all pairs of partitions k < l, for partitions (B, L, n) shuffled one by one."""
    B, L = partitions.shape[:2]
    width = partitions.max() + 1
    sums = np.empty((B, L * (L - 1) // 2))
    table = np.empty(width * width, dtype=np.int32)
    for o in range(B):
        pair = 0
        for k in range(L):
            for l in range(k + 1, L):
                sums[o, pair] = _table_sum(partitions[o, k], partitions[o, l], width, table, cost)
                pair += 1
    return sums


@compiled_exactly
def _table_sum(a: Any, b: Any, width: int, table: Any, cost: Any) -> float:
    table[:] = 0
    for i in range(len(a)):
        table[a[i] * width + b[i]] += 1
    total = 0.0
    for cell in range(len(table)):
        total += cost[table[cell]]
    return total


@compiled_exactly
def shuffled_spread(labels: Any, ranks: Any, orders: Any) -> Any:
    """Return (B, L): sum_k (sum of ranks in cluster k)^2 / (its size), with the ranks shuffled by each order."""
    L, n = labels.shape
    sizes = cluster_sizes(labels)
    spread = np.zeros((len(orders), L))
    totals = np.empty(sizes.shape[1])
    shuffled = np.empty(n)
    for o in range(len(orders)):
        for i in range(n):
            shuffled[i] = ranks[orders[o, i]]
        for l in range(L):
            totals[:] = 0
            for i in range(n):
                totals[labels[l, i]] += shuffled[i]
            for k in range(len(totals)):
                if sizes[l, k] > 0:
                    spread[o, l] += totals[k] ** 2 / sizes[l, k]
    return spread
