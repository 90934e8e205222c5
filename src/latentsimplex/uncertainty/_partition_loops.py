"""The hot loops over partitions: the paper's random partition, and sweeps that move samples between clusters.

Pair probabilities come as a table: the factor X (n, r) with p_ij = x_i . x_j, or, where ``dense``, the
matrix P itself. A label of -1 is a sample that is in no cluster yet. Each sweep takes the samples of
``order`` one by one out of their cluster and puts them where the expected loss is least, changes ``labels`` in
place, and returns how many moved and the loss, up to its scale and what does not depend on the labels.
Importing this module imports Numba; the functions that need it import it when they are called.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex.base.compiled import compiled_exactly
from latentsimplex.base.types import Array, Indices

SLACK = 1e-9
"""A sample moves only for a gain above rounding, so that sweeps come to an end."""


@compiled_exactly
def draw_phi_labels(table: Array, dense: bool, orders: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a partition drawn from phi for each row of ``orders`` (draws, n), clusters numbered as they appear.

    A new sample visits the earlier ones in random order. The first visit to a cluster draws the pair; that
    settles every other pair with the cluster, and with all clusters where the sample joins.
    """
    n_draws, n = orders.shape
    labels = np.empty((n_draws, n), np.int32)
    seen = np.empty(n, np.int64)
    tried = np.empty(n, np.int64)
    for draw in range(n_draws):
        n_clusters = 0
        for c in range(n):
            tried[c] = -1
        for t in range(n):
            j = orders[draw, t]
            cluster, left, open_clusters = -1, t, n_clusters
            while cluster < 0 and open_clusters > 0:
                pick = int(rng.random() * left)
                left -= 1
                i = seen[pick]
                seen[pick], seen[left] = seen[left], i
                c = labels[draw, i]
                if tried[c] == t:
                    continue
                if rng.random() < _pair(table, dense, i, j):
                    cluster = c
                tried[c] = t
                open_clusters -= 1
            if cluster < 0:
                cluster = n_clusters
                n_clusters += 1
            labels[draw, j] = cluster
            seen[t] = j
    return labels


@compiled_exactly
def sweep_draws(
    labels: Indices, order: Indices, rows: Any, step: Array, joined: float, shared: float, capacity: int
) -> tuple[int, float]:
    """Sweep by draws: a sample adds joined t'(n_c) - shared sum_d t'(n_cd) to cluster c, t'(x) = t(x+1) - t(x).

    ``rows`` (n, draws) are the clusters of each draw, numbered on from draw to draw, n_cd counts the samples of c in
    the sample's own one, and ``step`` is t'.
    """
    n, n_draws = rows.shape
    sizes = np.zeros(capacity, np.int64)
    counts = np.zeros((rows.max() + 1, capacity), np.int32)
    score = np.empty(capacity)
    value = 0.0
    for i in range(n):
        c = labels[i]
        if c >= 0:
            both = 0.0
            for d in range(n_draws):
                both += step[counts[rows[i, d], c]]
                counts[rows[i, d], c] += 1
            value += joined * step[sizes[c]] - shared * both
            sizes[c] += 1
    width = min(labels.max() + 2, capacity)
    moved = 0
    for i in order:
        current = labels[i]
        if current >= 0:
            sizes[current] -= 1
            for d in range(n_draws):
                counts[rows[i, d], current] -= 1
        score[:width] = 0.0
        for d in range(n_draws):
            for c in range(width):
                score[c] += step[counts[rows[i, d], c]]
        for c in range(width):
            score[c] = joined * step[sizes[c]] - shared * score[c]
        best, width, change = _put_where_least(i, current, score, width, labels, sizes)
        for d in range(n_draws):
            counts[rows[i, d], best] += 1
        value += change
        moved += best != current
    return moved, value


@compiled_exactly
def sweep_pairs(
    labels: Indices, order: Indices, table: Array, dense: bool, joined: float, shared: float, capacity: int
) -> tuple[int, float]:
    """Sweep by Binder's loss: a sample adds joined n_c - shared sum_{j in c} p_ij to cluster c."""
    n = len(labels)
    sizes = np.zeros(capacity, np.int64)
    sums = np.zeros((0 if dense else capacity, table.shape[1]))
    score = np.empty(capacity)
    value = 0.0
    for i in range(n):
        c = labels[i]
        if c >= 0:
            together = 0.0
            if dense:
                for j in range(i):
                    if labels[j] == c:
                        together += table[i, j]
            else:
                together = _dot(table, i, sums, c)
                _add(sums, c, table, i, 1.0)
            value += joined * sizes[c] - shared * together
            sizes[c] += 1
    width = min(labels.max() + 2, capacity)
    moved = 0
    for i in order:
        current = labels[i]
        if current >= 0:
            sizes[current] -= 1
            labels[i] = -1
        if dense:
            score[:width] = 0.0
            for j in range(n):
                if labels[j] >= 0:
                    score[labels[j]] += table[i, j]
        else:
            if current >= 0:
                _add(sums, current, table, i, -1.0)
            for c in range(width):
                score[c] = _dot(table, i, sums, c)
        for c in range(width):
            score[c] = joined * sizes[c] - shared * score[c]
        best, width, change = _put_where_least(i, current, score, width, labels, sizes)
        if not dense:
            _add(sums, best, table, i, 1.0)
        value += change
        moved += best != current
    return moved, value


@compiled_exactly
def sweep_bound(
    labels: Indices, order: Indices, table: Array, dense: bool, joined: float, shared: float, capacity: int
) -> tuple[int, float]:
    """Sweep by joined sum_i log n_c(i) - shared sum_i log r_i, r_i = 1 + sum of p_ij over the others of i's cluster."""
    n = len(labels)
    sizes = np.zeros(capacity, np.int64)
    own = np.ones(n)
    for i in range(n):
        if labels[i] >= 0:
            sizes[labels[i]] += 1
            for j in range(i):
                if labels[j] == labels[i]:
                    p = _pair(table, dense, i, j)
                    own[i] += p
                    own[j] += p
    pairs = np.empty(n)
    total, gain, ratio, score = np.empty(capacity), np.empty(capacity), np.empty(capacity), np.empty(capacity)
    width = min(labels.max() + 2, capacity)
    moved = 0
    for i in order:
        current = labels[i]
        if current >= 0:
            sizes[current] -= 1
            labels[i] = -1
        total[:width], gain[:width], ratio[:width] = 1.0, 0.0, 1.0
        for j in range(n):
            c = labels[j]
            if c >= 0:
                pairs[j] = _pair(table, dense, i, j)
                if c == current:
                    own[j] -= pairs[j]
                total[c] += pairs[j]
                # logarithms of products, taken before these can overflow
                ratio[c] *= 1.0 + pairs[j] / own[j]
                if ratio[c] > 1e200:
                    gain[c] += np.log(ratio[c])
                    ratio[c] = 1.0
        for c in range(width):
            gain[c] += np.log(ratio[c]) + np.log(total[c])
            size = sizes[c]
            entropy = (size + 1) * np.log(size + 1.0) - (size * np.log(size) if size else 0.0)
            score[c] = joined * entropy - shared * gain[c]
        best, width, _ = _put_where_least(i, current, score, width, labels, sizes)
        for j in range(n):
            if labels[j] == best and j != i:
                own[j] += pairs[j]
        own[i] = total[best]
        moved += best != current
    value = 0.0
    for i in range(n):
        if labels[i] >= 0:
            value += joined * np.log(sizes[labels[i]]) - shared * np.log(own[i])
    return moved, value


@compiled_exactly
def _put_where_least(
    i: int, current: int, score: Array, width: int, labels: Indices, sizes: Indices
) -> tuple[int, int, float]:
    """Put sample i where the score is least: back into its cluster unless another is better by more than rounding.

    Returns the cluster, how many clusters to look at from now on, which are all up to the last in use and, where there
    may be so many, an empty one, and how the loss changes.
    """
    best, least = (current, score[current] - SLACK) if current >= 0 else (0, score[0])
    for c in range(width):
        if score[c] < least:
            best, least = c, score[c]
    labels[i] = best
    sizes[best] += 1
    change = score[best] - (score[current] if current >= 0 else 0.0)
    return best, min(max(width, best + 2), len(sizes)), change


@compiled_exactly
def _pair(table: Array, dense: bool, i: int, j: int) -> float:
    return table[i, j] if dense else _dot(table, i, table, j)


@compiled_exactly
def _dot(a: Array, i: int, b: Array, j: int) -> float:
    """Return the inner product of rows i of a and j of b; loops over entries compile in a fraction of slices' time."""
    total = 0.0
    for k in range(a.shape[1]):
        total += a[i, k] * b[j, k]
    return total


@compiled_exactly
def _add(sums: Array, c: int, table: Array, i: int, sign: float) -> None:
    for k in range(table.shape[1]):
        sums[c, k] += sign * table[i, k]
