"""As many clusters as are asked for, where a search found fewer: its patterns are cut further, by what is explained."""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex.auto.explained_divergence import explain, spectral_clusters
from latentsimplex.base.condensed import unpack_pairs
from latentsimplex.model.em import collect_statistics, run
from latentsimplex.model.problem import Fit, Problem
from latentsimplex.pairs.divergence import Divergence
from latentsimplex.search.multistart import Search
from latentsimplex.search.runs import (
    finish_on_all_views,
    refit_on_second_similarity,
    reschedule,
    run_from_labels,
)
from latentsimplex.search.states import find_clusters, label_memberships


def cut_into_least(problem: Problem, search: Search, least: int) -> Search:
    """Return a search whose patterns have so many clusters at least, but for those without any beside others.

    Where no pattern has clusters, all views share one that has.
    """
    views, clusterings = find_clusters(search.fit)
    counts = np.array([labels.max() + 1 for labels in clusterings])
    is_against = bool(counts.max() == 1)
    if is_against:
        views, clusterings, counts = np.zeros_like(views), clusterings[:1], counts[:1]
    few = np.flatnonzero((counts < least) & ((counts > 1) | is_against))
    if not len(few):
        return search
    mass, stat = collect_statistics(problem.pairs, np.eye(len(clusterings))[views])
    for l in few:
        clusterings[l] = cut_exactly(stat[l] / mass[l], least, problem.model.divergence)
    fit = keep_clusters(problem, run_from_labels(problem, views, clusterings), views, clusterings)
    return search._replace(fit=fit, is_against=is_against)


def refit_with_clusters(problem: Problem, fit: Fit, callback: Any = None) -> Fit:
    """Run EM on other similarities of the same views, from the clusters of a fit, none of which gets lost."""
    again = refit_on_second_similarity(problem, fit, callback)
    return keep_clusters(problem, again, *find_clusters(fit))


def finish_with_clusters(problem: Problem, fit: Fit, callback: Any = None) -> Fit:
    """Run EM on all views from where a fit to a part of them ended; no pattern that views follow loses a cluster."""
    again = finish_on_all_views(problem, fit, callback)
    clusterings = [np.unique(W.argmax(axis=1), return_inverse=True)[1] for W in fit.state.W]
    return keep_clusters(problem, again, again.expectation.eta.argmax(axis=1), clusterings)


def cut_exactly(mean_f: Any, k: int, divergence: Divergence) -> np.ndarray:
    """Return k clusters (n,) of views with these mean pair values: those that explain most, where there are so many."""
    labels = explain(mean_f, k, divergence).labels[-1]
    if labels.max() + 1 == k:
        return labels
    return spectral_clusters(unpack_pairs(divergence.mean(mean_f)), k)


def keep_clusters(problem: Problem, fit: Fit, views: np.ndarray, clusterings: list[np.ndarray]) -> Fit:
    """Return a fit in which patterns that EM emptied clusters of are nearly sure of those that it began from."""
    W, B = fit.state.W, fit.state.B
    followed = np.unique(views)
    lost = [
        l
        for l in followed[fit.state.lam[followed] > 0]
        if len(np.unique(W[l].argmax(axis=1))) < clusterings[l].max() + 1
    ]
    if not lost:
        return fit
    W, B = W.copy(), B.copy()
    mass, stat = collect_statistics(problem.pairs, np.eye(len(clusterings))[views])
    for l in lost:
        W[l], response = label_memberships(
            stat[l] / mass[l], clusterings[l], W.shape[2], problem.model.divergence
        )
        if problem.model.learned_response:
            B[l] = response
    last = run(reschedule(problem, max_iter=0), fit.state._replace(W=W, B=B))
    return last._replace(
        loss_curve=[*fit.loss_curve, *last.loss_curve],
        expected_loss_curve=[*fit.expected_loss_curve, *last.expected_loss_curve],
        converged=fit.converged,
    )
