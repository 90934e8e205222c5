"""How sure the clusters are: of each sample, between clusters, and of each pair of samples.

============ ============= ========== ====================================================
symbol       name          shape      meaning
============ ============= ========== ====================================================
W            ``W``         n x k      memberships of a pattern, rows on the simplex
H_i                        n          entropy of a sample's membership, -sum_k w_ik log w_ik
P = X X^T    ``P``         n x n      co-assignments of a pattern or of the consensus, never formed
A            ``affinity``  n x k      mean co-assignment of a sample with the others of a cluster
============ ============= ========== ====================================================

Memberships exist for a pattern only. The consensus has co-assignments and labels; there a sample is sure
when it is together with the others of its own cluster and with no one else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import entr
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import ThreadpoolController

from latentsimplex._types import Array, Indices
from latentsimplex.coassignment import CoAssignment
from latentsimplex.compute.cpu import tiles
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.labels import pointwise_labels
from latentsimplex.options import check_count
from latentsimplex.table import Table

SIMPLEX_TOLERANCE = 1e-6
"""Rows of memberships may add up to 1 within this much."""
MEASURES = ("margin", "probability", "affinity", "entropy", "normalised_entropy")
"""The columns by which samples can be ordered from the least sure."""


def membership_entropy(W: Array, *, normalised: bool = False) -> Array:
    """Return H_i = -sum_k w_ik log w_ik in nats; ``normalised`` divides by log k, and one cluster has 0.

    >>> membership_entropy(np.array([[1.0, 0.0], [0.5, 0.5]]), normalised=True).tolist()
    [0.0, 1.0]
    """
    W = check_memberships(W)
    entropy = entr(W).sum(axis=1)
    if not normalised:
        return entropy
    return entropy / np.log(W.shape[1]) if W.shape[1] > 1 else np.zeros(len(W))


def sample_uncertainty(W: Array, labels: Any = None, names: Any = None) -> Table:
    """Return one row a sample: its cluster, how probable it is, the runner-up, and the entropy.

    Parameters
    ----------
    W : (n, k) array
        Memberships.
    labels : (n,) array or None
        The assigned clusters, columns of W; None assigns the most probable one.
    names : sequence of str or None
        Names of the samples; None numbers them.

    Returns
    -------
    Table
        ``sample``, ``cluster``, ``probability``, ``runner_up`` (-1 if there is one cluster), ``margin`` (the
        probability less the runner-up's, negative where the labels do not take the most probable cluster),
        ``entropy`` in nats, and ``normalised_entropy``, divided by log k.

    Examples
    --------
    >>> sample_uncertainty(np.array([[0.75, 0.25], [0.5, 0.5]]), names=["a", "b"])
    sample  cluster  probability  runner_up  margin  entropy  normalised_entropy
    a       0        0.75         1          0.5     0.5623   0.8113
    b       0        0.5          1          0       0.6931   1
    """
    W = check_memberships(W)
    labels = pointwise_labels(W) if labels is None else check_labels(labels, len(W), W.shape[1])
    probability, runner_up, margin = _leading(W, labels)
    return Table(
        {
            "sample": _checked_names(names, len(W)),
            "cluster": labels,
            "probability": probability,
            "runner_up": runner_up,
            "margin": margin,
            "entropy": membership_entropy(W),
            "normalised_entropy": membership_entropy(W, normalised=True),
        }
    )


def coassignment_uncertainty(P: CoAssignment, labels: Any, names: Any = None) -> Table:
    """Return one row a sample: how far it is together with its own cluster, and with the next one.

    Parameters
    ----------
    P : CoAssignment
    labels : (n,) array
        Clusters of the samples, from 0.
    names : sequence of str or None
        Names of the samples; None numbers them.

    Returns
    -------
    Table
        ``sample``, ``cluster``, ``affinity`` (see :func:`cluster_affinity`) to the own cluster, ``runner_up``,
        the other cluster with the largest affinity (-1 if there is one cluster), and the ``margin`` to it.

    Examples
    --------
    >>> P = CoAssignment(np.array([[1.0, 0.0], [0.75, 0.25], [0.0, 1.0], [0.0, 1.0]]))
    >>> coassignment_uncertainty(P, [0, 0, 1, 1])
    sample  cluster  affinity  runner_up  margin
    0       0        0.75      1          0.75
    1       0        0.75      1          0.5
    2       1        1         0          0.875
    3       1        1         0          0.875
    """
    labels = check_labels(labels, len(P))
    affinity, runner_up, margin = _leading(cluster_affinity(P, labels), labels)
    return Table(
        {
            "sample": _checked_names(names, len(P)),
            "cluster": labels,
            "affinity": affinity,
            "runner_up": runner_up,
            "margin": margin,
        }
    )


def cluster_affinity(P: CoAssignment, labels: Any) -> Array:
    """Return A (n, k), the mean of p_ij over the samples j != i of each cluster; 0 where there are none.

    It takes O(n k) for each column of P's factor.

    >>> P = CoAssignment(np.array([[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]]))
    >>> cluster_affinity(P, [0, 0, 1]).tolist()
    [[0.75, 0.0], [0.75, 0.25], [0.125, 0.0]]
    """
    labels = check_labels(labels, len(P))
    members = np.eye(labels.max() + 1)[labels]
    others = members.sum(axis=0) - members
    with_others = P @ members - members * np.square(P.factor).sum(axis=1, keepdims=True)
    return np.where(others > 0, with_others / np.maximum(others, 1), 0.0)


def model_uncertainty(
    model: LatentSimplexPosition, view: int | str | None = None, pattern: int | None = None
) -> Table:
    """Return the table of a view's or a pattern's memberships, or (without either) of the consensus.

    See :func:`sample_uncertainty` and :func:`coassignment_uncertainty` for the columns.
    """
    check_is_fitted(model)
    P = model.coassignment(view, pattern)
    if view is None and pattern is None:
        return coassignment_uncertainty(P, model.labels_, model.sample_names_in_)
    which = pattern if view is None else model.view_patterns_[model._view_index(view)]
    return sample_uncertainty(P.factor, model.pattern_labels_[which], model.sample_names_in_)


def most_uncertain(table: Table, n_samples: int = 10, by: str = "margin") -> Table:
    """Return the least sure rows of a table of samples, worst first; ties keep their order.

    ``by`` names a column: for entropies the largest come first, for all others the smallest.

    >>> table = sample_uncertainty(np.array([[0.5, 0.5, 0.0], [0.4, 0.3, 0.3], [0.9, 0.1, 0.0]]))
    >>> most_uncertain(table, 2)["sample"].tolist(), most_uncertain(table, 2, by="entropy")["sample"].tolist()
    ([0, 1], [1, 0])
    """
    check_count("n_samples", n_samples)
    measures = [name for name in MEASURES if name in table.columns]
    if by not in measures:
        raise ValueError(f"by={by!r} is not a measure of this table: choose one of {', '.join(measures)}.")
    score = -table[by] if by.endswith("entropy") else table[by]
    return table.rows(np.argsort(score, kind="stable")[:n_samples])


def cluster_overlap(W: Array) -> Table:
    """Return one row a pair of clusters k < l, the pair that shares most first.

    ``expected_samples`` is 2 sum_i w_ik w_il, how many samples two independent draws of all clusters are
    expected to place once in k and once in l; ``mean_product`` is the mean of w_ik w_il over the samples.

    >>> cluster_overlap(np.array([[0.5, 0.5, 0.0], [0.0, 0.9, 0.1]]))
    first  second  expected_samples  mean_product
    0      1       0.5               0.125
    1      2       0.18              0.045
    0      2       0                 0
    """
    W = check_memberships(W)
    first, second = np.triu_indices(W.shape[1], 1)
    products = (W.T @ W)[first, second]
    order = np.argsort(-products, kind="stable")
    return Table(
        {
            "first": first[order],
            "second": second[order],
            "expected_samples": 2 * products[order],
            "mean_product": products[order] / len(W),
        }
    )


def uncertain_pairs(P: CoAssignment, n_pairs: int = 10, names: Any = None) -> Table:
    """Return the pairs of samples whose co-assignment is nearest to 1/2, ties in the order of the pairs.

    All pairs are looked at, a tile at a time, so that memory does not grow with their number.

    >>> uncertain_pairs(CoAssignment(np.array([[1.0, 0.0], [0.4, 0.6], [0.0, 1.0]])), 2)
    first  second  probability
    0      1       0.4
    1      2       0.6
    """
    check_count("n_pairs", n_pairs)
    names = _checked_names(names, len(P))
    doubt, flat, p = np.empty(0), np.empty(0, dtype=np.intp), np.empty(0)
    for start, block, upper in pair_blocks(P):
        own = np.where(upper, np.round(np.abs(block - 0.5), 12), np.inf)  # rounded, so that 0.4 and 0.6 tie
        worst = doubt[-1] if len(doubt) == n_pairs else 1.0
        rows, columns = np.nonzero(own <= worst)
        doubt, p = np.append(doubt, own[rows, columns]), np.append(p, block[rows, columns])
        flat = np.append(flat, (rows + start) * len(P) + columns + start + 1)
        best = np.lexsort((flat, doubt))[:n_pairs]
        doubt, flat, p = doubt[best], flat[best], p[best]
    first, second = np.divmod(flat, len(P))
    return Table({"first": names[first], "second": names[second], "probability": p})


def pair_entropy(P: CoAssignment) -> Array:
    """Return for each sample the mean over the others of -p log p - (1 - p) log(1 - p), in nats.

    >>> pair_entropy(CoAssignment(np.array([[1.0, 0.0], [0.5, 0.5], [1.0, 0.0]]))).round(4).tolist()
    [0.3466, 0.6931, 0.3466]
    """
    total = np.zeros(len(P))
    for start, block, upper in pair_blocks(P):
        p = np.clip(block, 0, 1)
        entropy = np.where(upper, entr(p) + entr(1 - p), 0.0)
        total[start : start + len(block)] += entropy.sum(axis=1)
        total[start + 1 :] += entropy.sum(axis=0)
    return total / (len(P) - 1)


def pair_blocks(P: CoAssignment) -> Iterator[tuple[int, Array, np.ndarray]]:
    """Yield the pairs i < j in tiles: the first row i_0, a block of P, and a mask of what is wanted of it.

    Row r and column c of the block are samples i_0 + r and i_0 + 1 + c. Masked one after the other, the blocks
    are all pairs in SciPy's condensed order.
    """
    X = P.factor
    blas = ThreadpoolController()
    for start, stop in tiles(len(X)):
        with blas.limit(limits=1):  # tiles are too small for threads
            block = X[start:stop] @ X[start + 1 :].T
        yield start, block, np.arange(block.shape[1]) >= np.arange(len(block))[:, None]


def check_memberships(W: Any) -> Array:
    """Return memberships as an array, or raise ValueError if its rows are not on the simplex."""
    W = np.asarray(W, dtype=np.float64)
    if W.ndim != 2 or 0 in W.shape:
        raise ValueError(
            f"Memberships have shape {W.shape}: give one row per sample and one column per cluster."
        )
    if not (np.isfinite(W).all() and (W >= 0).all() and np.abs(W.sum(axis=1) - 1).max() <= SIMPLEX_TOLERANCE):
        raise ValueError(
            "Memberships are negative, not finite, or do not add up to 1 in each row: give probabilities."
        )
    return W


def check_labels(labels: Any, n_samples: int, n_clusters: int | None = None) -> Indices:
    """Return labels as an array, or raise ValueError if they are not whole numbers from 0, one a sample."""
    labels = np.asarray(labels)
    if labels.shape != (n_samples,):
        raise ValueError(
            f"labels has shape {labels.shape} and there are {n_samples} samples: give one label each."
        )
    if labels.dtype.kind not in "iu" or labels.min() < 0:
        raise ValueError(
            "labels holds something else than whole numbers of 0 or more: number the clusters from 0."
        )
    if n_clusters is not None and labels.max() >= n_clusters:
        raise ValueError(
            f"labels holds {labels.max()} and there are {n_clusters} clusters: number them from 0 to {n_clusters - 1}."
        )
    return labels.astype(np.intp)


def _leading(scores: Array, labels: Indices) -> tuple[Array, Indices, Array]:
    """Return each sample's score for its cluster, the best other cluster and the margin to it.

    With a single cluster the other is -1 and scores 0.
    """
    samples = np.arange(len(scores))
    own = scores[samples, labels]
    if scores.shape[1] == 1:
        return own, np.full(len(scores), -1), own
    others = scores.copy()
    others[samples, labels] = -np.inf
    rival = np.argmax(others, axis=1)
    return own, rival, own - others[samples, rival]


def _checked_names(names: Any, n_samples: int) -> np.ndarray:
    if names is None:
        return np.arange(n_samples)
    if len(names) != n_samples:
        raise ValueError(
            f"names holds {len(names)} names and there are {n_samples} samples: give one name each."
        )
    return np.asarray(names)
