"""The consensus of views (section 2.3): P_bar = sum_v u_v P^(v) / sum_v u_v (equation 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from latentsimplex.base.types import Array
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.results.joint_labels import extend_labels, match_labels, spectral_labels

MOST_WEIGHT = 1e30
"""The largest weight of a view: sums, squares and single precision hold it."""


@dataclass(frozen=True)
class Consensus:
    """One clustering from all views that have clusters.

    Attributes
    ----------
    labels : (n,) array
    weights : (V,) array
        u_v: 0 for a view without clusters, else the user's weight, 1, or how much its clusters tell
        (:func:`weigh_views`).
    coassignment : CoAssignment
        P_bar, averaged over numbers of clusters by their evidence where there is any.
    excluded : list of str
        The names of the views with weight 0: those without clusters, and those the user gave none.
    """

    labels: np.ndarray
    weights: Array
    coassignment: CoAssignment
    excluded: list[str]

    @property
    def n_clusters(self) -> int:
        """The number of consensus clusters."""
        return int(self.labels.max()) + 1


def form_consensus(
    view_patterns: np.ndarray,
    memberships: list[Array],
    view_names: Any,
    weights: Any = None,
    near: np.ndarray | None = None,
    averaged: list[Array] | None = None,
    pattern_labels: np.ndarray | None = None,
) -> Consensus:
    """Combine the patterns of the views, leaving out views whose pattern has a single cluster.

    P_bar = X X^T with X = [sqrt(c_1) W_1, ..., sqrt(c_d) W_d] and c_l the share of the weights that
    belongs to pattern l. It has as many clusters as the included view that has most. ``near`` are labelings to
    start from, see :func:`spectral_labels`. Where ``averaged`` has an X_l for each pattern, X_l X_l^T being its
    co-assignments averaged over numbers of clusters, these take the place of the W_l in P_bar, not in labels; without
    views that have clusters, P_bar is that of all views then. Where all views that have clusters share a pattern, its
    labels among ``pattern_labels`` (d, n), if they are given, are those of spectral clustering.

    >>> W = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> both = form_consensus(np.array([0, 1]), [W, np.ones((2, 1))], ["a", "b"])
    >>> both.labels.tolist(), both.weights.tolist(), both.excluded
    ([0, 1], [1.0, 0.0], ['b'])
    """
    clusters = np.array([W.shape[1] for W in memberships])
    clustered = clusters[view_patterns] > 1
    u = np.ones(len(view_patterns)) if weights is None else np.asarray(weights, dtype=np.float64)
    if u.shape != clustered.shape:
        raise ValueError(
            f"weights has shape {u.shape} and there are {len(clustered)} views: give one weight per view."
        )
    u = check_weights(u) * clustered
    if clustered.any() and not u.any():
        raise ValueError(
            "weights gives 0 to every view that has clusters: give at least one of them a weight."
        )
    excluded = [str(view_names[v]) for v in np.flatnonzero(u == 0)]
    if not u.any():
        labels = np.zeros(len(memberships[0]), dtype=np.intp)
        return Consensus(
            labels, u, _average(view_patterns, np.ones(len(u)), averaged or memberships), excluded
        )
    factor = _average(view_patterns, u, memberships).factor
    included = np.flatnonzero(np.bincount(view_patterns[u > 0]))
    richest = included[np.argmax(clusters[included])]
    if pattern_labels is not None and len(included) == 1:
        labels = pattern_labels[richest]
    else:
        labels = spectral_labels(factor, int(clusters[richest]), near)
    numbered = np.unique(match_labels(labels, memberships[richest]), return_inverse=True)[1]
    P = CoAssignment(factor) if averaged is None else _average(view_patterns, u, averaged)
    return Consensus(numbered, u, P, excluded)


def weigh_views(
    view_patterns: np.ndarray, memberships: list[Array], evidence: list[Array] | None = None
) -> Array:
    """Return weights of views (V,) by the share of pairs that their clusters part, over the largest of these shares.

    A pattern whose clusters have the shares s_k parts 1 - sum_k s_k^2 of all pairs. A view without clusters parts none
    and has weight 0, as in the paper; one with a few samples beside all others tells, and weighs, hardly more. Clusters
    that are there because they were asked for, although the ``evidence`` for so many (nats a sample, for each number of
    clusters) is x nats in all below 0, count exp(x) as much, compared with the pattern of the least x.

    >>> W, few = np.repeat(np.eye(2), 5, axis=0), np.repeat(np.eye(2), [9, 1], axis=0)
    >>> weigh_views(np.array([0, 1, 2]), [W, few, np.ones((10, 1))]).round(2).tolist()
    [1.0, 0.36, 0.0]
    >>> weigh_views(np.array([0, 1]), [W, W], [np.array([0, -0.1]), np.array([0, 0.2])]).round(2).tolist()
    [0.37, 1.0]
    """
    parted = np.array([1 - np.square(W.mean(axis=0)).sum() if W.shape[1] > 1 else 0.0 for W in memberships])
    clustered = parted > 0
    if evidence is not None and clustered.any():
        each = zip(evidence, memberships, strict=True)
        # more clusters than there is evidence listed for were cut without any more
        nats = [len(W) * own[min(W.shape[1], len(own)) - 1] if len(own) else 0.0 for own, W in each]
        below = np.minimum(nats, 0.0)[clustered]
        parted[clustered] *= np.exp(below - below.max())
    u = parted[view_patterns]
    return u / u.max() if u.any() else u


def label_new_samples(
    labels: np.ndarray, view_patterns: np.ndarray, u: Array, memberships: list[Array], new: list[Array]
) -> np.ndarray:
    """Return labels (m,) of new samples by the rule that gave those of the fit, given memberships of both.

    ``labels`` (n,) are those of a consensus, ``u`` (V,) its weights of views. New samples get the label whose samples
    are nearest in the coordinates in which spectral clustering found labels.
    """
    if not u.any():
        return np.zeros(len(new[0]), dtype=np.intp)
    factor, extended = (_average(view_patterns, u, W).factor for W in (memberships, new))
    return extend_labels(factor, labels, extended)


def _average(view_patterns: np.ndarray, u: Array, factors: list[Array]) -> CoAssignment:
    """Return the mean co-assignment of views, weighed by u, given a factor of each pattern."""
    shares = np.bincount(view_patterns, weights=u, minlength=len(factors)) / u.sum()
    return CoAssignment(np.hstack([np.sqrt(shares[l]) * factors[l] for l in np.flatnonzero(shares)]))


def check_weights(u: Array) -> Array:
    """Return weights of views, or raise ValueError for what can be none."""
    if not ((u >= 0) & (u <= MOST_WEIGHT)).all():
        raise ValueError(
            f"weights holds negative, non-finite or vast values: a view's weight is from 0 to {MOST_WEIGHT:g}."
        )
    return u
