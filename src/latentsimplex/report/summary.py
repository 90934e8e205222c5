"""A fitted model as a plain dict of numbers and text, from which a page or a terminal says what was found."""

from __future__ import annotations

import inspect
import platform
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latentsimplex._types import Array
from latentsimplex._version import __version__
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.options import resolve_choices, resolve_optimizer
from latentsimplex.similarity import Readings

UNSURE = 0.8
"""A sample counts as unsure where its assigned cluster has less than this probability."""
AGREEMENT = 1e-3
"""Starts agree whose final losses differ by no more than this share of the lowest."""
MAX_VIEWS = 200
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
    followers = np.bincount(model.view_patterns_, minlength=model.n_patterns_)
    return {
        "headline": _headline(model, sureness, followers),
        "views": _views(model),
        "patterns": [_pattern(model, l, sureness[l], int(followers[l])) for l in range(model.n_patterns_)],
        "uncertain": _uncertain(model, sureness, followers),
        "consensus": _consensus(model),
        "course": {
            "loss": float(model.loss_),
            "expected_loss": float(model.expected_loss_),
            "start_losses": model.start_losses_.tolist(),
        },
        "settings": _settings(model),
        "versions": _versions(),
        "citation": CITATION,
    }


def assigned_probabilities(model: LatentSimplexPosition) -> Array:
    """Return (patterns, n): the probability of each sample's assigned cluster under each live pattern."""
    samples = np.arange(model.n_samples_)
    pairs = zip(model.memberships_, model.pattern_labels_, strict=True)
    return np.array([W[samples, labels] for W, labels in pairs])


def _headline(model: LatentSimplexPosition, sureness: Array, followers: np.ndarray) -> dict[str, Any]:
    losses = model.start_losses_
    best = losses.min()
    clustered = followers * (model.n_clusters_ > 1)
    known = bool(clustered.any())
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
        "n_starts": len(losses),
        "n_agreeing": int((losses - best <= AGREEMENT * abs(best)).sum()),
        "agreement": AGREEMENT,
    }


def _views(model: LatentSimplexPosition) -> dict[str, Any]:
    rows = []
    for v, name in enumerate(model.view_names_in_[:MAX_VIEWS]):
        pattern = int(model.view_patterns_[v])
        rows.append(
            {
                "name": str(name),
                "pattern": pattern,
                "responsibility": float(model.view_responsibilities_[v, pattern]),
                "n_clusters": int(model.n_clusters_[pattern]),
                "weight": float(model.consensus_.weights[v]),
            }
        )
    return {"rows": rows, "n_views": len(model.view_names_in_)}


def _pattern(model: LatentSimplexPosition, l: int, sureness: Array, n_views: int) -> dict[str, Any]:
    labels = model.pattern_labels_[l]
    clusters = [_cluster(k, sureness[labels == k]) for k in range(int(model.n_clusters_[l]))]
    return {
        "index": l,
        "weight": float(model.pattern_weights_[l]),
        "n_views": n_views,
        "n_clusters": int(model.n_clusters_[l]),
        "probability": float(sureness.mean()),
        "unsure": float((sureness < UNSURE).mean()),
        "clusters": clusters,
    }


def _cluster(k: int, sureness: Array) -> dict[str, Any]:
    filled = len(sureness) > 0
    return {
        "index": k,
        "size": len(sureness),
        "probability": float(sureness.mean()) if filled else None,
        "unsure": float((sureness < UNSURE).mean()) if filled else None,
    }


def _uncertain(model: LatentSimplexPosition, sureness: Array, followers: np.ndarray) -> list[dict[str, Any]]:
    """Return the samples whose clusters are least sure over the views, each with the pattern that doubts most."""
    clustered = followers * (model.n_clusters_ > 1)
    if not clustered.any():
        return []
    mean = np.average(sureness, axis=0, weights=clustered)
    doubtful = np.argsort(mean, kind="stable")[:MAX_UNCERTAIN]
    return [_doubt(model, int(i), float(mean[i]), sureness[:, i]) for i in doubtful]


def _doubt(model: LatentSimplexPosition, i: int, mean: float, sureness: Array) -> dict[str, Any]:
    l = int(np.argmin(np.where(model.n_clusters_ > 1, sureness, np.inf)))
    w = model.memberships_[l][i]
    cluster = int(model.pattern_labels_[l, i])
    others = np.where(np.arange(len(w)) == cluster, -1.0, w)
    rival = int(np.argmax(others))
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
    return str(i) if names is None else str(names[i])


def _consensus(model: LatentSimplexPosition) -> dict[str, Any]:
    consensus = model.consensus_
    factor, labels = consensus.coassignment.factor, consensus.labels
    members = [factor[labels == k] for k in range(consensus.n_clusters)]
    included = consensus.weights[consensus.weights > 0]
    return {
        "n_clusters": consensus.n_clusters,
        "n_included": len(included),
        "equal_weights": len(set(included.tolist())) <= 1,
        "excluded": consensus.excluded[:MAX_VIEWS],
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


def _settings(model: LatentSimplexPosition) -> list[dict[str, str]]:
    names = inspect.signature(LatentSimplexPosition).parameters
    meant = _meant(model)
    return [{"name": name, "value": _setting(name, getattr(model, name), meant)} for name in names]


def _setting(name: str, value: Any, meant: dict[str, str]) -> str:
    """Return a parameter as text, with what "auto" stood for."""
    if name == "views" and not isinstance(value, str):
        return f"{len(list(value))} group labels"
    if isinstance(value, str) and value == "auto":
        return f"auto: {meant[name]}"
    return value if isinstance(value, str) else repr(value)


def _meant(model: LatentSimplexPosition) -> dict[str, str]:
    """Return what "auto" stood for in this fit: once, or to find clusters and then to draw them."""
    found = resolve_choices(model.divergence, model.response, model.penalty, model.temperature, model.search)
    kernel = model.similarity_
    drawn = found.for_coassignments() if isinstance(kernel, Readings) and kernel.scale == "mixed" else found
    return {
        "similarity": repr(kernel),
        "temperature": f"{model.temperature_:.4g}",
        "divergence": " then ".join(dict.fromkeys([found.divergence, drawn.divergence])),
        "response": " then ".join(dict.fromkeys([found.response, drawn.response])),
        "penalty": str(found.penalty),
        "search": found.search,
        "optimizer": resolve_optimizer(model.optimizer, found.penalty),
    }


def _versions() -> dict[str, str]:
    """Return the versions that write the page; the fit may have been made with others."""
    libraries = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "matplotlib")}
    return {"latentsimplex": __version__, "Python": platform.python_version(), **libraries}
