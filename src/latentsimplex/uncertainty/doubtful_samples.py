"""Doubtful samples, overlapping clusters and doubtful pairs: probabilities, margins, entropies.

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

from latentsimplex.base.checks import check_count, check_labels, check_memberships
from latentsimplex.base.condensed import cut_into_tiles
from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.table import Table
from latentsimplex.base.threads import one_blas_thread
from latentsimplex.base.types import Array, Indices
from latentsimplex.model.problem import most_probable_clusters
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.results.results import results_of

ALL_PAIRS, SOME, OTHERS = 10_000, 5_000, 1_000
"""Samples whose pairs are all looked at; of more, those of so many drawn at random, for time's sake, or the pairs of
each sample with so many others."""
MEASURES = ("margin", "probability", "affinity", "entropy", "normalised_entropy")
"""The columns by which samples can be ordered from the least sure."""
UNSURE = 0.8
"""A sample is unsure of its cluster below this probability, in figures and reports."""
TILE = 1 << 22
"""Co-assignments that are held at a time."""


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
    """Return a table with a row for each sample: its cluster, how probable it is, the runner-up, the entropy.

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
    labels = most_probable_clusters(W) if labels is None else check_labels(labels, len(W), W.shape[1])
    probability, runner_up, margin = _compare_with_next(W, labels)
    return Table(
        {
            "sample": _check_names(names, len(W)),
            "cluster": labels,
            "probability": probability,
            "runner_up": runner_up,
            "margin": margin,
            "entropy": membership_entropy(W),
            "normalised_entropy": membership_entropy(W, normalised=True),
        }
    )


def coassignment_uncertainty(P: CoAssignment, labels: Any, names: Any = None) -> Table:
    """Return a table with a row for each sample: its mean co-assignment with its own cluster, and with the next one.

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
    affinity, runner_up, margin = _compare_with_next(cluster_affinity(P, labels), labels)
    return Table(
        {
            "sample": _check_names(names, len(P)),
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
    return P.mean_by_cluster(check_labels(labels, len(P)))


def model_uncertainty(model: Any, view: int | str | None = None, pattern: int | None = None) -> Table:
    """Return the table of a fitted model's view or pattern, or (without either) of its consensus.

    See :func:`sample_uncertainty` and :func:`coassignment_uncertainty` for the columns.
    """
    results = results_of(model)
    P = results.coassignment(view, pattern)
    if view is None and pattern is None:
        return coassignment_uncertainty(P, results.labels, results.sample_names)
    labels = results.pattern_labels[results.find_pattern(view, pattern)]
    return sample_uncertainty(P.factor, labels, results.sample_names)


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
    """Return a table with a row for each pair of clusters k < l, the pair that overlaps most first.

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

    All pairs are looked at, a tile at a time, so that memory does not grow with their number; of more than 10,000
    samples, the pairs of 5,000, always the same ones.

    >>> uncertain_pairs(CoAssignment(np.array([[1.0, 0.0], [0.4, 0.6], [0.0, 1.0]])), 2)
    first  second  probability
    0      1       0.4
    1      2       0.6
    """
    check_count("n_pairs", n_pairs)
    names = _check_names(names, len(P))
    some = sample_of_pairs(len(P))
    P, names = P.take(some), names[some]
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

    Of more than 10,000 samples, the others are 1,000, always the same ones.

    >>> pair_entropy(CoAssignment(np.array([[1.0, 0.0], [0.5, 0.5], [1.0, 0.0]]))).round(4).tolist()
    [0.3466, 0.6931, 0.3466]
    """
    if len(P) > ALL_PAIRS:
        return _entropy_with(P, sample_rows(len(P), OTHERS))
    total = np.zeros(len(P))
    for start, block, upper in pair_blocks(P):
        p = np.clip(block, 0, 1)
        entropy = np.where(upper, entr(p) + entr(1 - p), 0.0)
        total[start : start + len(block)] += entropy.sum(axis=1)
        total[start + 1 :] += entropy.sum(axis=0)
    return total / (len(P) - 1)


def _entropy_with(P: CoAssignment, some: Indices) -> Array:
    """Return for each sample the mean entropy of its co-assignments with some of the others."""
    X, among = P.factor, P.factor[some].T
    total = np.empty(len(P))
    step = max(1, TILE // len(some))
    for start in range(0, len(P), step):
        p = np.clip(X[start : start + step] @ among, 0, 1)
        total[start : start + step] = (entr(p) + entr(1 - p)).sum(axis=1)
    own = np.clip(np.square(X[some]).sum(axis=1), 0, 1)
    total[some] -= entr(own) + entr(1 - own)
    n_others = np.full(len(P), len(some))
    n_others[some] -= 1
    return total / n_others


def sample_of_pairs(n_samples: int) -> Indices:
    """Return the samples whose pairs are looked at: all of them or, where they are very many, a random part.

    >>> len(sample_of_pairs(300)), len(sample_of_pairs(20_000))
    (300, 5000)
    """
    return sample_rows(n_samples, n_samples if n_samples <= ALL_PAIRS else SOME)


def pair_blocks(P: CoAssignment) -> Iterator[tuple[int, Array, np.ndarray]]:
    """Yield the pairs i < j in tiles: the first row i_0, a block of P, and a mask of what is wanted of it.

    Row r and column c of the block are samples i_0 + r and i_0 + 1 + c. Masked one after the other, the blocks
    are all pairs in SciPy's condensed order.
    """
    X = P.factor
    for tile in cut_into_tiles(len(X)):
        with one_blas_thread:  # tiles are too small for threads
            block = X[tile.start : tile.stop] @ X[tile.start + 1 :].T
        yield tile.start, block, np.arange(block.shape[1]) >= np.arange(len(block))[:, None]


def _compare_with_next(scores: Array, labels: Indices) -> tuple[Array, Indices, Array]:
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


def _check_names(names: Any, n_samples: int) -> np.ndarray:
    if names is None:
        return np.arange(n_samples)
    if len(names) != n_samples:
        raise ValueError(
            f"names holds {len(names)} names and there are {n_samples} samples: give one name each."
        )
    return np.asarray(names)
