"""Audit of a consensus: which views take part, with what weight, and what each one changes (section 2.3).

============ ============= ========== ====================================================
symbol       name          shape      meaning
============ ============= ========== ====================================================
u            ``weights``   V          weights of the views in the consensus, U their sum
P_bar                      n x n      sum_v u_v P^(v) / U, never formed
P^(l)                      n x n      co-assignments of pattern l, W W^T
============ ============= ========== ====================================================

Leaving out a view of pattern l changes P_bar by u / (U - u) (P_bar - P^(l)), so that views of one pattern and
one weight change it alike. Norms are over pairs of different samples, from products of memberships alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex.base.table import Table
from latentsimplex.base.types import Array
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.results.consensus import Consensus, form_consensus, weigh_views
from latentsimplex.results.results import Results, results_of
from latentsimplex.uncertainty.calibration import pair_brier
from latentsimplex.uncertainty.doubtful_samples import membership_entropy


@dataclass(frozen=True, eq=False)
class ConsensusAudit:
    """What part each view, and each pattern, has in the consensus.

    Attributes
    ----------
    consensus : Consensus
        What was audited.
    views : Table
        One row a view: ``view``, ``pattern``, ``kept``, ``reason`` ("constant view", "single cluster" or
        "weight 0" where it is excluded), ``weight``, ``share`` of all weights, ``agreement`` (NMI of its labels
        with the consensus), ``influence`` (the change of P_bar without it, over the norm of P_bar) and
        ``label_agreement`` (NMI of the consensus labels with and without it). An excluded view changes nothing.
        ``label_agreement`` is that of the heaviest view of the pattern, and so right where views of a pattern
        weigh the same; labels without a view are sought near those with it and those of the patterns. A
        constant view is one with a single cluster where the model does not tell them apart, as after a fit to
        more views than a search looks at.
    patterns : Table
        One row a pattern: ``pattern``, ``n_clusters``, ``n_views``, ``n_kept``, ``share``, ``agreement``, and
        ``influence`` and ``label_agreement`` of leaving out all of its views.
    """

    consensus: Consensus
    views: Table
    patterns: Table


def audit_consensus(model: Any, weights: Any = None) -> ConsensusAudit:
    """Audit the consensus of a fitted model.

    Parameters
    ----------
    model : fitted LatentSimplexPosition
    weights : (V,) array or None
        As in ``model.consensus``; see :func:`consensus_weights` for some.

    Returns
    -------
    ConsensusAudit

    Examples
    --------
    >>> from latentsimplex import LatentSimplexPosition
    >>> from latentsimplex.datasets import running_example
    >>> data = running_example(n_samples=60, separation=8, random_state=0)
    >>> model = LatentSimplexPosition(n_clusters=3, n_patterns=3, n_init=1, random_state=0).fit(data.views)
    >>> audit_consensus(model).views["share"].round(2).tolist()
    [0.36, 0.36, 0.27]
    """
    results = results_of(model)
    known = weights is None or np.array_equal(weights, results.consensus.weights)
    consensus = results.consensus if known else results.reform_consensus(weights)
    distances = _distances(results, consensus)
    patterns = _pattern_table(results, consensus, distances)
    return ConsensusAudit(consensus, _view_table(results, consensus, distances, patterns), patterns)


def consensus_weights(model: Any, by: str = "view") -> Array:
    """Return weights (V,) for ``model.consensus`` by one of four rules; views without clusters have 0.

    Parameters
    ----------
    model : fitted LatentSimplexPosition
    by : "view", "pairs", "pattern" or "evidence"
        "view" counts each view once, as the paper does. "pairs" counts the pairs that its clusters part, fewer where
        these were asked for against the evidence, as default fits of a few views do
        (:func:`latentsimplex.results.consensus.weigh_views`). "pattern" counts each pattern
        once, in equal parts for its views. "evidence" gives a view eta_vl (1 - mean_i H_i / log k): how surely it
        follows its pattern l, times how sure the k clusters of the pattern are, H_i the entropy of the membership
        of sample i. A fit keeps no likelihood of single views, so this is what it has for evidence.

    Examples
    --------
    >>> from latentsimplex import LatentSimplexPosition
    >>> from latentsimplex.datasets import running_example
    >>> data = running_example(n_samples=60, separation=8, random_state=0)
    >>> model = LatentSimplexPosition(n_clusters=3, n_patterns=3, n_init=1, random_state=0).fit(data.views)
    >>> model.view_patterns_.tolist(), consensus_weights(model, by="pattern").tolist()
    ([0, 0, 1], [0.5, 0.5, 1.0])
    """
    results = results_of(model)
    patterns = results.view_patterns
    clustered = (results.n_clusters > 1)[patterns].astype(np.float64)
    if by == "view":
        return clustered
    if by == "pairs":
        return weigh_views(patterns, results.memberships, results.evidence)
    if by == "pattern":
        return clustered / np.bincount(patterns)[patterns]
    if by == "evidence":
        sureness = [1 - membership_entropy(W, normalised=True).mean() for W in results.memberships]
        following = results.view_responsibilities[np.arange(len(patterns)), patterns]
        return clustered * following * np.array(sureness)[patterns]
    raise ValueError(f"by={by!r} is unknown: choose 'view', 'pairs', 'pattern' or 'evidence'.")


def _view_table(results: Results, consensus: Consensus, distances: Array, of_patterns: Table) -> Table:
    patterns, u = results.view_patterns, consensus.weights
    kept = u > 0
    heaviest = np.zeros(results.n_patterns)
    np.maximum.at(heaviest, patterns, u)
    alone = of_patterns["n_kept"] <= 1  # without its one view a pattern is left out altogether
    gone = np.where(alone, 0, heaviest)
    label_agreement = np.where(
        alone, of_patterns["label_agreement"], _label_agreement(results, consensus, gone)
    )
    reasons = ["", "constant view", "single cluster"]
    single = (results.n_clusters == 1)[patterns]
    return Table(
        {
            "view": results.view_names,
            "pattern": patterns,
            "kept": kept,
            "reason": np.select([kept, results.initial_view_patterns == -1, single], reasons, "weight 0"),
            "weight": u,
            "share": _shares(u),
            "agreement": of_patterns["agreement"][patterns],
            "influence": _influence(consensus, u, distances[patterns]),
            "label_agreement": np.where(kept, label_agreement[patterns], 1.0),
        }
    )


def _pattern_table(results: Results, consensus: Consensus, distances: Array) -> Table:
    patterns, d = results.view_patterns, results.n_patterns
    weights = _pattern_weights(results, consensus)
    agreement = [normalized_mutual_info_score(own, consensus.labels) for own in results.pattern_labels]
    return Table(
        {
            "pattern": np.arange(d),
            "n_clusters": results.n_clusters,
            "n_views": np.bincount(patterns, minlength=d),
            "n_kept": np.bincount(patterns[consensus.weights > 0], minlength=d),
            "share": _shares(weights),
            "agreement": np.array(agreement),
            "influence": _influence(consensus, weights, distances),
            "label_agreement": _label_agreement(results, consensus, weights),
        }
    )


def _pattern_weights(results: Results, consensus: Consensus) -> Array:
    return np.bincount(results.view_patterns, consensus.weights, results.n_patterns).astype(np.float64)


def _shares(weights: Array) -> Array:
    return weights / weights.sum() if weights.any() else weights


def _distances(results: Results, consensus: Consensus) -> Array:
    """Return |P_bar - P^(l)| / |P_bar| for each pattern; 0 for one without clusters, which has no say in it."""
    P_bar = consensus.coassignment
    return np.array(
        [
            _distance(P_bar, CoAssignment(X)) if W.shape[1] > 1 else 0.0
            for W, X in zip(results.memberships, results.averaged, strict=True)
        ]
    )


def _influence(consensus: Consensus, gone: Array, distances: Array) -> Array:
    """Return |change of P_bar| / |P_bar| where the given weights, each of one pattern, are left out.

    Where nothing remains P_bar becomes that of views without clusters, all ones.
    """
    remain = consensus.weights.sum() - gone
    last = (gone > 0) & (remain <= 1e-12 * gone)
    influence = gone / np.where(remain > 0, remain, 1) * np.where(gone > 0, distances, 0)
    if last.any():
        influence[last] = _distance(consensus.coassignment, CoAssignment(np.ones((len(consensus.labels), 1))))
    return influence


def _label_agreement(results: Results, consensus: Consensus, gone: Array) -> Array:
    """Return for each pattern the NMI of the consensus labels with those without so much of its weight (d,)."""
    weights = _pattern_weights(results, consensus)
    everyone, agreement = np.arange(len(weights)), np.ones(len(weights))
    near = np.vstack([consensus.labels, results.pattern_labels])
    for l in np.flatnonzero(gone):
        rest = np.where(everyone == l, weights - gone, weights)
        labels = np.zeros_like(consensus.labels)
        if rest.any():
            labels = form_consensus(everyone, results.memberships, everyone, rest, near).labels
        agreement[l] = normalized_mutual_info_score(consensus.labels, labels)
    return agreement


def _distance(P: CoAssignment, Q: CoAssignment) -> float:
    """Return |P - Q| / |P| over pairs of different samples; 0 for equals, infinite where only P is 0."""
    changed, norm = pair_brier(P, Q), pair_brier(P, CoAssignment(np.zeros((len(P), 1))))
    if norm == 0:
        return np.inf if changed else 0.0
    return float(np.sqrt(changed / norm))
