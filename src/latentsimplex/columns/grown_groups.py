"""Groups of columns that are grown from pairs, one column at a time, by the clusters that they show together.

With few samples and very many columns, some pairs of noise depend on each other as much as pairs of a view do. Clusters
that several columns agree on do tell: a group is believed if they explain it better than clusters would the best of all
groups of noise.

====== ============ ========= ======================================================================================
symbol name         shape     meaning
====== ============ ========= ======================================================================================
z      ``scores``   n x p     normal scores of the columns, 0 where a cell is missing
R      ``shares``   b x n x k probabilities of clusters, for b groups at a time
mu     ``means``    b x k x m means of the m columns of a group in clusters; variances are in common
E      ``evidence`` b         log likelihood of m columns in k clusters, less that of independent columns, and prices
====== ============ ========= ======================================================================================

The prices are (k - 1)(m + 1)/2 log n, of means and sizes of clusters (Schwarz, 1978), and log C(p, m), of choosing m of
p columns. In a table of noise a group with E > 0 is therefore not to be expected, however many were looked at. Columns
that depend on each other without clusters may have E > 0 as well: whether a group shows clusters is judged later.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from latentsimplex.base.kmeans import kmeans
from latentsimplex.base.types import Array, Indices
from latentsimplex.columns.column_gains import LEAST_VARIANCE
from latentsimplex.columns.dependence import BLOCK_ENTRIES

NUMBERS = (2, 3, 4)
"""Clusters that groups are grown by: where there are more, these are coarser ones."""
MOST_COLUMNS = 10
"""Columns of a grown group; those that its clusters explain join it later."""
SURE_OF_FIRST = 0.8
"""The share of a sample that EM begins with in its cluster by k-means."""
FIRST_STEPS, STEPS = 15, 6
"""Steps of EM for a pair, and after each further column."""
HALVED_FROM, LEAST_GROWN = 3, 200
"""From this many columns on the better half of the groups is grown on, as long as there are more groups than this."""


class Grown(NamedTuple):
    """Columns of groups (b, m), of which the first ``sizes`` (b,) have the most evidence (b,)."""

    columns: Indices
    sizes: Indices
    evidence: Array


def grow_groups(scores: Array, pairs: Indices) -> list[tuple[int, ...]]:
    """Return groups grown from pairs of columns (b, 2) that are believed, those with most evidence first.

    They have no column in common: of groups that do, the one with more evidence is kept.
    """
    if not len(pairs):
        return []
    Z = np.nan_to_num(scores).astype(np.float32)
    found = []
    for k in NUMBERS:
        grown = grow_by(Z, pairs, k)
        for b in np.flatnonzero(grown.evidence > 0):
            found.append((-grown.evidence[b], sorted(grown.columns[b, : grown.sizes[b]].tolist())))
    groups: list[tuple[int, ...]] = []
    taken: set[int] = set()
    for _, members in sorted(found):
        if taken.isdisjoint(members):
            groups.append(tuple(members))
            taken.update(members)
    return groups


def grow_by(Z: np.ndarray, pairs: Indices, k: int) -> Grown:
    """Grow groups from pairs, always by the column that k clusters of the others explain most."""
    p = Z.shape[1]
    by_column = np.ascontiguousarray(Z.T)
    most = min(MOST_COLUMNS, p)
    columns = np.full((len(pairs), most), -1)
    columns[:, :2] = pairs
    first = np.array(
        [np.eye(k, dtype=np.float32)[kmeans(Z[:, pair].astype(np.float64), k)] for pair in pairs]
    )
    shares, evidence = fit_clusters(
        by_column[pairs], SURE_OF_FIRST * first + np.float32((1 - SURE_OF_FIRST) / k), FIRST_STEPS, p
    )
    best, sizes, growing = evidence.copy(), np.full(len(pairs), 2), np.arange(len(pairs))
    for m in range(2, most):
        columns[growing, m] = next_columns(Z, shares, columns[growing, :m])
        shares, evidence = fit_clusters(by_column[columns[growing, : m + 1]], shares, STEPS, p)
        better = growing[evidence > best[growing]]
        best[growing] = np.maximum(best[growing], evidence)
        sizes[better] = m + 1
        if m + 1 >= HALVED_FROM and len(growing) > LEAST_GROWN:
            kept = np.argsort(-evidence, kind="stable")[: max(LEAST_GROWN, len(growing) // 2)]
            growing, shares = growing[kept], shares[kept]
    return Grown(columns, sizes, best)


def next_columns(Z: np.ndarray, shares: np.ndarray, members: Indices) -> Indices:
    """Return for each group the column, of those that are not in it, whose variance is most between its clusters."""
    n, p = Z.shape
    chosen = []
    for part in _parts(len(shares), shares.shape[2] * p):
        R = shares[part]
        sums = (R.transpose(0, 2, 1).reshape(-1, n) @ Z).reshape(len(R), -1, p)
        between = np.einsum("bkp,bk->bp", np.square(sums), 1 / np.maximum(R.sum(axis=1), 1e-6))
        np.put_along_axis(between, members[part], -1.0, axis=1)
        chosen.append(between.argmax(axis=1))
    return np.concatenate(chosen)


def fit_clusters(columns: np.ndarray, shares: np.ndarray, steps: int, p: int) -> tuple[np.ndarray, Array]:
    """Return probabilities of clusters and the evidence of groups after EM, given their columns (b, m, n)."""
    b, m, n = columns.shape
    k = shares.shape[2]
    fitted, likelihood = np.empty_like(shares), np.empty(b)
    for part in _parts(b, n * max(m, k)):
        z, R = columns[part], shares[part]
        for _ in range(steps):
            sizes = np.maximum(R.sum(axis=1), 1e-6)
            means = (R.transpose(0, 2, 1) @ z.transpose(0, 2, 1)) / sizes[:, :, None]
            variances = np.maximum(1 - np.einsum("bk,bkm->bm", sizes / n, means**2), LEAST_VARIANCE)
            scaled = means / variances[:, None, :]
            logs = np.log(sizes / n) - 0.5 * (means * scaled).sum(axis=2)
            logs = (scaled @ z).transpose(0, 2, 1) + logs[:, None, :]
            top = logs.max(axis=2, keepdims=True)
            R = np.exp(logs - top)
            total = R.sum(axis=2, keepdims=True)
            R /= total
        of_columns = -0.5 * np.square(z).transpose(0, 2, 1) @ (1 / variances)[:, :, None]
        fitted[part] = R
        likelihood[part] = (top + np.log(total) + of_columns).sum(axis=(1, 2))
        likelihood[part] -= 0.5 * n * np.log(variances).sum(axis=1)
    alone = -0.5 * n * m
    price = (k - 1) * (m + 1) / 2 * np.log(n) + gammaln(p + 1) - gammaln(m + 1) - gammaln(p - m + 1)
    return fitted, likelihood - alone - price


def _parts(count: int, each: int) -> Iterator[slice]:
    """Yield slices of so many groups, of which each needs some numbers, that the memory for them is bounded."""
    size = max(1, BLOCK_ENTRIES // max(each, 1))
    for start in range(0, count, size):
        yield slice(start, start + size)
