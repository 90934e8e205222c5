"""A fitted model as a plain dict of numbers and text, from which a page or a terminal says what was found."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latentsimplex._types import Array, Indices
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.report.settings import settings_of, versions
from latentsimplex.report.words import name_shown

UNSURE = 0.8
"""A sample counts as unsure where its assigned cluster has less than this probability, and so does a view."""
SURE = 0.95
"""A view follows its pattern surely from this probability on."""
ALIKE = 0.9
"""A start that agrees with the kept one this far, in NMI, found the same clusters."""
FIRST_VIEWS = 25
TOP_VIEWS = 12
MAX_UNCERTAIN = 20

CITATION = (
    "L. L. Duan, Latent Simplex Position Model: High Dimensional Multi-view Clustering with Uncertainty "
    "Quantification, Journal of Machine Learning Research 21(38), 2020."
)


def summarise(model: LatentSimplexPosition) -> dict[str, Any]:
    """Return what there is to say about a fitted model, as dicts, lists, numbers, text and None.

    Patterns, clusters and views are numbered as in the model's attributes. The probability of a sample's
    assigned cluster is w_ik at k its label in ``pattern_labels_``; averages over views leave out
    those without clusters, for which it is always 1.
    """
    check_is_fitted(model)
    sureness = assigned_probabilities(model)
    following = np.bincount(model.view_patterns_, minlength=model.n_patterns_)
    return {
        "headline": _headline(model, sureness, following),
        "views": _views(model),
        "patterns": [_pattern(model, l, sureness[l]) for l in range(model.n_patterns_)],
        "uncertain": _uncertain(model),
        "consensus": _consensus(model),
        "course": _course(model),
        "settings": settings_of(model),
        "versions": versions(),
        "citation": CITATION,
    }


def assigned_probabilities(model: LatentSimplexPosition) -> Array:
    """Return (patterns, n): the probability of each sample's assigned cluster under each live pattern."""
    samples = np.arange(model.n_samples_)
    pairs = zip(model.memberships_, model.pattern_labels_, strict=True)
    return np.array([W[samples, labels] for W, labels in pairs])


class Doubts(NamedTuple):
    """How sure each sample's clusters are over the views (n,), and the pattern (n,) that doubts it most."""

    probability: Array
    pattern: Indices


def sample_doubts(model: LatentSimplexPosition) -> Doubts | None:
    """Return the doubts about each sample, or None where no view has clusters."""
    clustered = model.n_clusters_ > 1
    weights = np.bincount(model.view_patterns_, minlength=model.n_patterns_) * clustered
    if not weights.any():
        return None
    sureness = assigned_probabilities(model)
    least = np.argmin(np.where(clustered[:, None], sureness, np.inf), axis=0)
    return Doubts(np.average(sureness, axis=0, weights=weights), least)


def least_sure_first(doubts: Doubts) -> Indices:
    """Return the samples in the order of a table of them; ties keep the order of the data."""
    return np.argsort(doubts.probability, kind="stable")


def view_probabilities(model: LatentSimplexPosition) -> Array:
    """Return (V,) the probability that each view follows the pattern it is said to."""
    return model.view_responsibilities_[np.arange(len(model.view_patterns_)), model.view_patterns_]


def next_patterns(model: LatentSimplexPosition) -> Indices | None:
    """Return (V,) the pattern that each view follows most probably after its own, or None where there is one only."""
    if model.n_patterns_ == 1:
        return None
    others = model.view_responsibilities_.copy()
    others[np.arange(len(others)), model.view_patterns_] = -1
    return np.argmax(others, axis=1)


def _headline(model: LatentSimplexPosition, sureness: Array, following: Indices) -> dict[str, Any]:
    clustered = following * (model.n_clusters_ > 1)
    known = bool(clustered.any())
    others = other_agreements(model)
    return {
        "n_samples": int(model.n_samples_),
        "n_views": len(model.view_names_in_),
        "n_patterns": int(model.n_patterns_),
        "n_clusters": model.n_clusters_.tolist(),
        "n_views_clustered": int(clustered.sum()),
        "probability": float(np.average(sureness.mean(axis=1), weights=clustered)) if known else None,
        "unsure": float(np.average((sureness < UNSURE).mean(axis=1), weights=clustered)) if known else None,
        "threshold": UNSURE,
        "converged": bool(model.converged_),
        "n_iter": int(model.n_iter_),
        "n_starts": len(model.start_losses_),
        "n_alike": int((others >= ALIKE).sum()),
        "alike": ALIKE,
        "start_agreement": float(others.mean()) if len(others) else None,
    }


def other_agreements(model: LatentSimplexPosition) -> Array:
    """Return how far each start but the kept one agrees with it; rounded, so that equals have exactly 1."""
    return np.delete(model.start_agreement_, np.argmin(model.start_losses_)).round(9)


def _views(model: LatentSimplexPosition) -> dict[str, Any]:
    probability, weights = view_probabilities(model), model.consensus_.weights
    rival = next_patterns(model)
    rows = [
        {
            "name": name_shown(model.view_names_in_[v]),
            "pattern": int(pattern),
            "responsibility": float(probability[v]),
            "rival": None if rival is None else int(rival[v]),
            "rival_probability": None if rival is None else float(model.view_responsibilities_[v, rival[v]]),
            "n_clusters": int(model.n_clusters_[pattern]),
            "weight": float(weights[v]),
        }
        for v, pattern in enumerate(model.view_patterns_[:FIRST_VIEWS])
    ]
    return {"rows": rows, "n_views": len(model.view_names_in_), "n_unsure": int((probability < UNSURE).sum())}


def _pattern(model: LatentSimplexPosition, l: int, sureness: Array) -> dict[str, Any]:
    labels, views = model.pattern_labels_[l], np.flatnonzero(model.view_patterns_ == l)
    probability = view_probabilities(model)[views]
    surest = np.argsort(-probability, kind="stable")[:TOP_VIEWS]
    return {
        "index": l,
        "weight": float(model.pattern_weights_[l]),
        "n_views": len(views),
        "n_views_sure": int((probability >= SURE).sum()),
        "n_views_unsure": int((probability < UNSURE).sum()),
        "top_views": [name_shown(model.view_names_in_[views[v]]) for v in surest],
        "n_clusters": int(model.n_clusters_[l]),
        "probability": float(sureness.mean()),
        "unsure": float((sureness < UNSURE).mean()),
        "clusters": [_cluster(k, sureness[labels == k]) for k in range(int(model.n_clusters_[l]))],
    }


def _cluster(k: int, sureness: Array) -> dict[str, Any]:
    filled = len(sureness) > 0
    return {
        "index": k,
        "size": len(sureness),
        "probability": float(sureness.mean()) if filled else None,
        "unsure": float((sureness < UNSURE).mean()) if filled else None,
    }


def _uncertain(model: LatentSimplexPosition) -> list[dict[str, Any]]:
    """Return the samples whose clusters are least sure over the views, each with the pattern that doubts most."""
    doubts = sample_doubts(model)
    if doubts is None:
        return []
    return [
        _doubt(model, int(i), float(doubts.probability[i]), int(doubts.pattern[i]))
        for i in least_sure_first(doubts)[:MAX_UNCERTAIN]
    ]


def _doubt(model: LatentSimplexPosition, i: int, mean: float, l: int) -> dict[str, Any]:
    w = model.memberships_[l][i]
    cluster = int(model.pattern_labels_[l, i])
    rival = int(np.argmax(np.where(np.arange(len(w)) == cluster, -1.0, w)))
    return {
        "sample": sample_name(model, i),
        "probability": mean,
        "consensus": int(model.labels_[i]),
        "pattern": l,
        "cluster": cluster,
        "cluster_probability": float(w[cluster]),
        "rival": rival,
        "rival_probability": float(w[rival]),
    }


def sample_name(model: LatentSimplexPosition, i: int) -> str:
    """Return a sample's name in the data, or its row number where the data had no names."""
    names = model.sample_names_in_
    return str(i) if names is None else name_shown(names[i])


def _consensus(model: LatentSimplexPosition) -> dict[str, Any]:
    consensus = model.consensus_
    factor, labels = consensus.coassignment.factor, consensus.labels
    members = [factor[labels == k] for k in range(consensus.n_clusters)]
    included = consensus.weights[consensus.weights > 0]
    return {
        "n_clusters": consensus.n_clusters,
        "n_included": len(included),
        "equal_weights": len(set(included.tolist())) <= 1,
        "excluded": [name_shown(name) for name in consensus.excluded[:TOP_VIEWS]],
        "n_excluded": len(consensus.excluded),
        "clusters": [
            {"index": k, "size": len(X), "coassignment": _mean_coassignment(X)} for k, X in enumerate(members)
        ],
    }


def _mean_coassignment(X: Array) -> float | None:
    """Return the mean of x_i . x_j over pairs i != j, without forming them."""
    m = len(X)
    if m < 2:
        return None
    total = X.sum(axis=0)
    return float((total @ total - (X * X).sum()) / (m * (m - 1)))


def _course(model: LatentSimplexPosition) -> dict[str, Any]:
    kept = int(np.argmin(model.start_losses_))
    starts = zip(model.start_losses_.tolist(), model.start_agreement_.round(9).tolist(), strict=True)
    return {
        "first_loss": float(model.loss_curve_[0]),
        "loss": float(model.loss_),
        "expected_loss": float(model.expected_loss_),
        "starts": [
            {"index": s, "loss": loss, "agreement": agreement, "kept": s == kept}
            for s, (loss, agreement) in enumerate(starts)
        ],
    }
