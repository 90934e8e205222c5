"""Joint labels from memberships, by spectral clustering of P = W W^T (section 3).

P's normalised affinity is N N^T with N = D^-1/2 W, so its eigenvectors are the left singular vectors
of an n x g matrix: spectral clustering in O(n g^2), exact for P's own diagonal.

Beside clusters that are many times larger this fails. A sample with a membership of 0.98 in a cluster of 100 is
expected to share its cluster with 98 of them, and with 600 of the 30,000 samples of another cluster: by P it is of the
latter. Where so small a cluster would lose samples, labels are each sample's most probable cluster.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from latentsimplex.base.kmeans import kmeans_from
from latentsimplex.base.threads import one_blas_thread
from latentsimplex.base.types import Array

KMEANS_STARTS = 100
SMALL = 8
"""How many times smaller a cluster is than the largest to count as small."""


def spectral_labels(factor: Array, n_clusters: int, near: np.ndarray | None = None) -> np.ndarray:
    """Return spectral-clustering labels of P = X X^T for a non-negative factor X (n, k).

    The embedding is that of the random walk on P: the leading left singular vectors of D^-1/2 X, each
    row divided by sqrt(D_i), D the row sums of P. Labels are sought from many starts or, in less time, from
    labelings ``near`` (m, n) them and a few starts. Where X has a column for each cluster, labels that take
    samples from a small cluster give way to point-wise ones.

    >>> X = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.3, 0.7]])
    >>> labels = spectral_labels(X, 2)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    if n_clusters == 1:
        return np.zeros(len(factor), dtype=np.intp)
    coordinates = _embed(factor, n_clusters, factor)
    if near is None:
        labels = kmeans_from(coordinates, n_clusters, np.empty((0, len(factor))), KMEANS_STARTS)
    else:
        labels = kmeans_from(coordinates, n_clusters, near)
    return factor.argmax(axis=1) if robs_small(factor, labels) else labels


def robs_small(W: Array, labels: np.ndarray) -> bool:
    """Return whether labels (n,) take samples from a small cluster of memberships W (n, g).

    They do if it keeps fewer of the samples that are most probably in it than are expected to be in it.

    >>> W = np.repeat([[0.99, 0.01], [0.05, 0.95]], [90, 10], axis=0)
    >>> robs_small(W, (np.arange(100) >= 90).astype(int)), robs_small(W, (np.arange(100) >= 95).astype(int))
    (False, True)
    """
    g, own = W.shape[1], W.argmax(axis=1)
    if int(labels.max()) + 1 != g or len(np.unique(own)) < g:
        return False
    kept = np.bincount(own[match_labels(labels, W) == own], minlength=g)
    expected = np.bincount(own, weights=W.max(axis=1) / W.sum(axis=1), minlength=g)
    sizes = np.bincount(own)
    return bool(((SMALL * sizes < sizes.max()) & (kept < expected)).any())


def extend_labels(factor: Array, labels: np.ndarray, new: Array) -> np.ndarray:
    """Return labels (m,) of samples with rows ``new`` (m, k): those of the nearest cluster of spectral clustering.

    ``labels`` (n,) are those that :func:`spectral_labels` gave the rows of ``factor`` (n, k), in any numbering. Where
    they are point-wise, so are the new ones.

    >>> X = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.3, 0.7]])
    >>> extend_labels(X, np.array([0, 0, 1, 1]), np.array([[0.7, 0.3]])).tolist()
    [0]
    """
    n_clusters = int(labels.max()) + 1
    if n_clusters == 1:
        return np.zeros(len(new), dtype=np.intp)
    own, first = np.unique(factor.argmax(axis=1), return_index=True)
    if len(own) == n_clusters == factor.shape[1] and (labels[first][factor.argmax(axis=1)] == labels).all():
        return labels[first][new.argmax(axis=1)]
    known = _embed(factor, n_clusters, factor)
    centres = np.array([known[labels == k].mean(axis=0) for k in range(n_clusters)])
    squares = np.square(centres).sum(axis=1) - 2 * _embed(factor, n_clusters, new) @ centres.T
    return squares.argmin(axis=1)


def _embed(factor: Array, n_clusters: int, rows: Array) -> Array:
    """Return rows, of a factor (n, k) or like them, in the coordinates of spectral clustering of the factor."""
    degrees = factor.sum(axis=0)
    root_degree = np.sqrt(factor @ degrees)[:, None]
    with one_blas_thread:  # the problem is too small for threads, and the result must not depend on them
        U, values, right = np.linalg.svd(factor / root_degree, full_matrices=False)
        if rows is factor:
            return U[:, :n_clusters] / root_degree
        kept = values[:n_clusters] > np.finfo(float).eps * values[0]
        axes = right[:n_clusters].T * (kept / np.where(kept, values[:n_clusters], 1.0))
        return rows @ axes / (rows @ degrees)[:, None]


def match_labels(labels: np.ndarray, W: Array) -> np.ndarray:
    """Return the same partition with clusters renumbered to agree best with the columns of W.

    >>> match_labels(np.array([1, 1, 0]), np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])).tolist()
    [0, 0, 1]
    """
    mass = np.column_stack([np.bincount(labels, weights=w) for w in W.T])
    _, columns = linear_sum_assignment(-mass)
    return columns[labels]


def joint_labels(W: Array) -> np.ndarray:
    """Return the joint point estimate of a pattern: spectral labels, numbered as the columns of trimmed W."""
    return match_labels(spectral_labels(W, W.shape[1]), W)
