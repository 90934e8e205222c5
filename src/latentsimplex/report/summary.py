"""A fitted model as a plain dict of numbers and text, from which a page or a terminal says what was found."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.types import Array, Indices
from latentsimplex.report.columns import summarise_columns
from latentsimplex.report.figures import loss_axis
from latentsimplex.report.known import summarise_known
from latentsimplex.report.presence import summarise_presence
from latentsimplex.report.settings import describe_stage, list_settings, list_versions
from latentsimplex.report.wording import show_name
from latentsimplex.results.results import Results, results_of
from latentsimplex.results.tables import name_samples
from latentsimplex.uncertainty.doubtful_samples import UNSURE

SURE = 0.95
"""A view follows its pattern surely from this probability on."""
STARTS_ALIKE = 0.9
"""A start that agrees with the kept one this far, in NMI, found the same clusters."""
HARDLY, COMPARED_SAMPLES = 0.02, 500
"""The mean difference of the probabilities of so many samples' pairs below which a second picture would say nothing."""
FIRST_VIEWS = 25
TOP_VIEWS = 12
MAX_UNCERTAIN = 20

CITATION = (
    "L. L. Duan, Latent Simplex Position Model: High Dimensional Multi-view Clustering with Uncertainty "
    "Quantification, Journal of Machine Learning Research 21(38), 2020."
)


def summarise(model: Any) -> dict[str, Any]:
    """Return what there is to say about a fitted model, as dicts, lists, numbers, text and None.

    Patterns, clusters and views are numbered as in the model's attributes. The probability of a sample's
    assigned cluster is w_ik at k its label in ``pattern_labels_``; averages over views leave out
    those without clusters, for which it is always 1.
    """
    results = results_of(model)
    sureness = assigned_probabilities(results)
    return {
        "headline": _headline(results, sureness),
        "views": _views(results),
        "columns": summarise_columns(results),
        "presence": summarise_presence(results),
        "known": summarise_known(results),
        "patterns": [_pattern(results, l, sureness[l]) for l in range(results.n_patterns)],
        "uncertain": _uncertain(results),
        "consensus": _consensus(results),
        "course": _course(results),
        "levels": summarise_levels(results),
        "settings": list_settings(results),
        "stages": [describe_stage(stage) for stage in results.stages],
        "versions": list_versions(),
        "citation": CITATION,
    }


def assigned_probabilities(results: Results) -> Array:
    """Return (patterns, n): the probability of each sample's assigned cluster under each live pattern."""
    samples = np.arange(results.n_samples)
    pairs = zip(results.memberships, results.pattern_labels, strict=True)
    return np.array([W[samples, labels] for W, labels in pairs])


class Doubts(NamedTuple):
    """How sure each sample's clusters are over the views (n,), and the pattern (n,) that doubts it most."""

    probability: Array
    pattern: Indices


def sample_doubts(results: Results) -> Doubts | None:
    """Return the doubts about each sample, or None where no view has clusters."""
    weights = _count_clustered_views(results)
    if not weights.any():
        return None
    sureness = assigned_probabilities(results)
    least = np.argmin(np.where(weights[:, None] > 0, sureness, np.inf), axis=0)
    return Doubts(np.average(sureness, axis=0, weights=weights), least)


def least_sure_first(doubts: Doubts) -> Indices:
    """Return the samples in the order of a table of them; ties keep the order of the data."""
    return np.argsort(doubts.probability, kind="stable")


def view_probabilities(results: Results) -> Array:
    """Return (V,) the probability that each view follows the pattern it is said to."""
    return results.view_responsibilities[np.arange(len(results.view_patterns)), results.view_patterns]


def next_patterns(results: Results) -> Indices | None:
    """Return (V,) the pattern that each view follows most probably after its own, or None where there is one only."""
    if results.n_patterns == 1:
        return None
    others = results.view_responsibilities.copy()
    others[np.arange(len(others)), results.view_patterns] = -1
    return np.argmax(others, axis=1)


def _count_clustered_views(results: Results) -> Indices:
    """Return (patterns,) how many views follow each pattern; 0 for one without clusters."""
    return np.bincount(results.view_patterns, minlength=results.n_patterns) * (results.n_clusters > 1)


def _headline(results: Results, sureness: Array) -> dict[str, Any]:
    clustered = _count_clustered_views(results)
    known = bool(clustered.any())
    largest = [W.max(axis=1) for W in results.memberships]
    # rounded, so that equals have exactly 1
    others = np.delete(results.start_agreement, np.argmin(results.start_losses)).round(9)
    return {
        "n_samples": results.n_samples,
        "n_views": results.n_views,
        "n_patterns": results.n_patterns,
        "n_clusters": results.n_clusters.tolist(),
        "n_views_clustered": int(clustered.sum()),
        "probability": float(np.average(sureness.mean(axis=1), weights=clustered)) if known else None,
        "unsure": float(np.average((sureness < UNSURE).mean(axis=1), weights=clustered)) if known else None,
        "threshold": UNSURE,
        "n_not_largest": int(np.any(sureness < largest, axis=0).sum()),
        "converged": bool(results.converged),
        "n_iter": results.n_iter,
        "n_starts": len(results.start_losses),
        "n_alike": int((others >= STARTS_ALIKE).sum()),
        "alike": STARTS_ALIKE,
        "start_agreement": float(others.mean()) if len(others) else None,
    }


def _views(results: Results) -> dict[str, Any]:
    probability, weights = view_probabilities(results), results.consensus.weights
    rival = next_patterns(results)
    rows = [
        {
            "name": show_name(results.view_names[v]),
            "pattern": int(pattern),
            "responsibility": float(probability[v]),
            "rival": None if rival is None else int(rival[v]),
            "rival_probability": None if rival is None else float(results.view_responsibilities[v, rival[v]]),
            "n_clusters": int(results.n_clusters[pattern]),
            "weight": float(weights[v]),
        }
        for v, pattern in enumerate(results.view_patterns[:FIRST_VIEWS])
    ]
    return {"rows": rows, "n_views": results.n_views, "n_unsure": int((probability < UNSURE).sum())}


def _pattern(results: Results, l: int, sureness: Array) -> dict[str, Any]:
    labels, views = results.pattern_labels[l], np.flatnonzero(results.view_patterns == l)
    probability = view_probabilities(results)[views]
    surest = np.argsort(-probability, kind="stable")[:TOP_VIEWS]
    return {
        "index": l,
        "weight": float(results.pattern_weights[l]),
        "n_views": len(views),
        "n_views_sure": int((probability >= SURE).sum()),
        "n_views_unsure": int((probability < UNSURE).sum()),
        "top_views": [show_name(results.view_names[views[v]]) for v in surest],
        "n_clusters": int(results.n_clusters[l]),
        "probability": float(sureness.mean()),
        "unsure": float((sureness < UNSURE).mean()),
        "clusters": [_cluster(k, sureness[labels == k]) for k in range(int(results.n_clusters[l]))],
    }


def _cluster(k: int, sureness: Array) -> dict[str, Any]:
    filled = len(sureness) > 0
    return {
        "index": k,
        "size": len(sureness),
        "probability": float(sureness.mean()) if filled else None,
        "unsure": float((sureness < UNSURE).mean()) if filled else None,
    }


def _uncertain(results: Results) -> list[dict[str, Any]]:
    """Return the samples whose clusters are least sure over the views, each with the pattern that doubts most."""
    doubts = sample_doubts(results)
    if doubts is None:
        return []
    names, rows = name_samples(results), []
    for i in least_sure_first(doubts)[:MAX_UNCERTAIN]:
        l = int(doubts.pattern[i])
        w, cluster = results.memberships[l][i], int(results.pattern_labels[l, i])
        rival = int(np.argmax(np.where(np.arange(len(w)) == cluster, -1.0, w)))
        row = {
            "sample": show_name(names[i]),
            "probability": float(doubts.probability[i]),
            "consensus": int(results.labels[i]),
            "pattern": l,
            "cluster": cluster,
            "cluster_probability": float(w[cluster]),
            "rival": rival,
            "rival_probability": float(w[rival]),
        }
        rows.append(row)
    return rows


def _consensus(results: Results) -> dict[str, Any]:
    consensus = results.consensus
    factor, labels = consensus.coassignment.factor, consensus.labels
    members = [factor[labels == k] for k in range(consensus.n_clusters)]
    included = consensus.weights[consensus.weights > 0]
    return {
        "n_clusters": consensus.n_clusters,
        "pattern": find_consensus_pattern(results),
        "n_included": len(included),
        "equal_weights": len(set(included.tolist())) <= 1,
        "excluded": [show_name(name) for name in consensus.excluded[:TOP_VIEWS]],
        "n_excluded": len(consensus.excluded),
        "clusters": [
            {"index": k, "size": len(X), "coassignment": _mean_coassignment(X)} for k, X in enumerate(members)
        ],
    }


def summarise_levels(results: Results) -> list[dict[str, Any]]:
    """Return the levels of each pattern with clusters, coarse to fine: what was split into what, and the evidence."""
    rows = []
    for l, levels in enumerate(results.levels):
        for coarse, fine in pairwise(levels):
            parts = [fine.labels[coarse.labels == k] for k in range(int(coarse.labels.max()) + 1)]
            cut = [np.unique(part, return_counts=True)[1] for part in parts]
            splits = [sorted(sizes.tolist(), reverse=True) for sizes in cut if len(sizes) > 1]
            rows.append(
                {
                    "pattern": l,
                    "n_clusters": int(fine.labels.max()) + 1,
                    "splits": [{"of": sum(sizes), "into": sizes} for sizes in splits],
                    "evidence": float(fine.evidence),
                }
            )
    return rows


def find_consensus_pattern(results: Results) -> int | None:
    """Return the pattern that the consensus is, clusters and, nearly, probabilities alike, or None."""
    patterns = np.unique(results.view_patterns[results.consensus.weights > 0])
    if len(patterns) != 1:
        return None
    l = int(patterns[0])
    some = sample_rows(results.n_samples, COMPARED_SAMPLES)
    own, of_all = (P.block(some, some) for P in (results.coassignment(pattern=l), results.coassignment()))
    alike = np.abs(own - of_all).mean() < HARDLY
    return l if alike and np.array_equal(results.labels, results.pattern_labels[l]) else None


def _mean_coassignment(X: Array) -> float | None:
    """Return the mean of x_i . x_j over pairs i != j, without forming them."""
    m = len(X)
    if m < 2:
        return None
    total = X.sum(axis=0)
    return float((total @ total - (X * X).sum()) / (m * (m - 1)))


def _course(results: Results) -> dict[str, Any]:
    kept = int(np.argmin(results.start_losses))
    last = results.stages[-1]
    starts = zip(results.start_losses.tolist(), results.start_agreement.round(9).tolist(), strict=True)
    return {
        "stage": last.name,
        "n_stages": len(results.stages),
        "moves": last.name == "search" and last.search == "moves",
        "splits": results.stages[0].search == "splits",
        "search_loss": float(results.start_losses[kept]),
        "first_loss": float(results.loss_curve[0]),
        "axis": list(loss_axis(results.loss_curve)),
        "loss": results.loss,
        "expected_loss": results.expected_loss,
        "starts": [
            {"index": s, "loss": loss, "agreement": agreement, "kept": s == kept}
            for s, (loss, agreement) in enumerate(starts)
        ],
    }
