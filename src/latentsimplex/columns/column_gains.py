"""What clusters explain of columns: the gain of each column over having no clusters, in nats.

A column that took part in finding clusters is explained by them whether they are real or not. So a column of the view
is explained by the clusters that the *others* of the view show: samples are put into clusters by all other columns, as
if columns were independent within clusters, and the column is then described cluster by cluster.

====== ============= ======= =================================================================
symbol name          shape   meaning
====== ============= ======= =================================================================
z      ``scores``    n x p   normal scores of the columns; NaN where a cell is missing
c      ``labels``    n       the clusters that a tree found in the columns of a view
c_j    ``told``      n x p   clusters as the columns of the view other than j tell them
r      ``rarity``    n x p   -log of the share of a column's cells that have the value of a cell
====== ============= ======= =================================================================

With s_jk^2 the variance of column j in cluster k of c_j, and n_jk the samples there, its gain is

    g_j = max( -(n_j/2) log s_j^2 - ((k - 1)/2) log n_j,  -(1/2) sum_k n_jk log s_jk^2 - (k - 1) log n_j ) - log p,

the log likelihood of normal scores in clusters less that of one cluster, less the price of k - 1 more means, or of as
many means and variances (Schwarz, 1978), and of choosing among p columns. s_j^2 is the mean of the s_jk^2.

Cells that are equal have no variance, and yet they tell no more than their rarity: that nearly all samples have one
value is no news of those of a cluster. So s_jk^2 is at least exp(-2 r_jk), r_jk being the mean rarity of cells there. A
constant column, whose cells have no rarity, never gains.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from latentsimplex.base.types import Array, Indices

LEAST_VARIANCE = 0.05
"""The least variance of a column within a cluster, of 1 in all: values that are near each other tell no more than
that."""


def measure_rarity(scores: Array) -> Array:
    """Return the rarity of cells (n, p), at most what a cell of the least variance tells; NaN where it is missing.

    >>> measure_rarity(np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 3.0], [0.0, np.nan]])).round(2).tolist()
    [[0.0, 0.41], [0.0, 0.41], [0.0, 1.1], [0.0, nan]]
    """
    first, last = (rankdata(scores, method, axis=0, nan_policy="omit") for method in ("min", "max"))
    counts = (~np.isnan(scores)).sum(axis=0)
    return np.minimum(np.log(counts / (last - first + 1)), -0.5 * np.log(LEAST_VARIANCE))


def measure_gains(scores: Array, rarity: Array, members: Indices, labels: np.ndarray) -> Array:
    """Return the gain g_j of every column (p,) by the clusters of a view, given its columns and their clusters."""
    n, p = scores.shape
    k = int(labels.max()) + 1
    own = scores[:, members], rarity[:, members]
    votes, shares = measure_votes(*own, labels, k)
    total = votes.sum(axis=1) + np.log(shares)
    gains = explain(scores, rarity, np.broadcast_to(total.argmax(axis=1)[:, None], (n, p)), k)
    gains[members] = explain(*own, (total[:, None, :] - votes).argmax(axis=2), k)
    return gains - np.log(p)


def measure_votes(scores: Array, rarity: Array, labels: np.ndarray, k: int) -> tuple[Array, Array]:
    """Return log densities of each cell in each cluster (n, p, k), 0 where it is missing, and shares of clusters (k,).

    Columns are normal within clusters.
    """
    _, means, variances = describe_columns(scores, rarity, np.broadcast_to(labels[:, None], scores.shape), k)
    votes = -0.5 * (np.square(scores[:, :, None] - means) / variances + np.log(variances))
    sizes = np.bincount(labels, minlength=k)
    return np.nan_to_num(votes), np.maximum(sizes, 1) / sizes.sum()


def explain(scores: Array, rarity: Array, told: np.ndarray, k: int) -> Array:
    """Return the log likelihood of each column (p,) in clusters, less that of one cluster and the price of k clusters.

    Each column has clusters of its own (n, p). Those of a column have one variance, or one each.
    """
    counts, _, variances = describe_columns(scores, rarity, told, k)
    n = np.maximum(counts.sum(axis=1), 1)
    price = (k - 1) * np.log(n) / 2
    one_each = -0.5 * (counts * np.log(variances)).sum(axis=1) - 2 * price
    in_common = -0.5 * n * np.log((counts * variances).sum(axis=1) / n) - price
    return np.maximum(one_each, in_common)


def describe_columns(scores: Array, rarity: Array, told: np.ndarray, k: int) -> tuple[Indices, Array, Array]:
    """Return how many cells each column has in each cluster (p, k), their means and their variances."""
    p = scores.shape[1]
    places = (told + k * np.arange(p)).ravel()
    present = ~np.isnan(scores.ravel())
    places, values = places[present], scores.ravel()[present]
    counts = np.bincount(places, minlength=k * p).reshape(p, k)
    means, squares, rarities = (
        np.bincount(places, weights, minlength=k * p).reshape(p, k) / np.maximum(counts, 1)
        for weights in (values, values**2, rarity.ravel()[present])
    )
    return counts, means, np.maximum(squares - means**2, np.exp(-2 * rarities))
