"""From the end of a fit to its results: live patterns, labels, consensus (section 3, equation 10 and after).

The model speaks of d patterns with g columns each; the user gets the live ones, heaviest first, with
the columns that some sample uses, and every view, constant ones included, in one of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.auto.cluster_tree import ClusterTree, Level
from latentsimplex.base.types import Array, Indices
from latentsimplex.inputs.views import Views
from latentsimplex.known.findings import find_known
from latentsimplex.known.hard_links import keep_to_links
from latentsimplex.known.known_samples import Known
from latentsimplex.model.problem import State, drop_unused_columns, order_heaviest_first, used_columns
from latentsimplex.results.consensus import Consensus, form_consensus, weigh_views
from latentsimplex.results.joint_labels import joint_labels, match_labels
from latentsimplex.results.results import Results, Stage, find_placed
from latentsimplex.search.multistart import Search

SAME_CLUSTERS = 0.5
"""The share of samples that a pattern leaves in their clusters, below which it has others."""


class PatternTrees(NamedTuple):
    """The clusters of each pattern from coarse to fine, as the search found them, and of the views without clusters."""

    patterns: list[ClusterTree]
    others: ClusterTree | None


def assemble_results(
    views: Views,
    search: Search | None,
    searched: Indices,
    informative: Indices,
    stages: tuple[Stage, ...],
    settings: dict[str, Any],
    trees: PatternTrees | None = None,
    known: Known | None = None,
) -> Results:
    """Return the results of a fit; no search is one to views without clusters alone.

    ``searched`` are the views that the search looked at, ``informative`` those that EM saw in the end. ``known`` is
    what is known of samples, which changes the memberships of the pattern that it speaks of.
    """
    n_views, names = len(views), np.array(views.names, dtype=object)
    initial = np.full(n_views, -1)
    if search is None:
        found, curve, expected, converged = NO_PATTERNS, [0.0], [0.0], True
        n_init = settings["n_init"]
        start_losses, start_agreement = np.zeros(n_init), np.ones(n_init)
    else:
        fit = search.fit
        found = estimate_patterns(fit.expectation.eta, fit.state)
        curve, expected, converged = fit.loss_curve, fit.expected_loss_curve, bool(fit.converged)
        start_losses, start_agreement = search.start_losses, search.start_agreement
        initial[informative] = -2
        initial[searched] = search.start_labels
    if search is None:
        initial[searched] = 0
    estimates = add_constant_views(found, informative, n_views, views.n_samples)
    placed = None
    if views.present is not None:
        placed = find_placed(views.present, estimates.view_patterns, len(estimates.memberships))
    estimates = estimates._replace(memberships=share_unplaced(estimates.memberships, placed))
    findings = None
    if known is not None:
        findings, informed = find_known(known, estimates.memberships)
        estimates = estimates._replace(memberships=informed)
    pattern_labels = label_patterns(estimates.memberships, placed)
    spectral = None if placed is not None else pattern_labels.copy()
    if findings is not None and findings.pattern is not None:
        kept, own = findings.kept, findings.pattern
        pattern_labels[own, kept] = estimates.memberships[own][kept].argmax(axis=1)
    found_trees = find_trees(trees, initial, estimates.view_patterns, len(pattern_labels))
    levels = [list_levels(*each) for each in zip(found_trees, pattern_labels, strict=True)]
    averaged = [average_numbers(*each) for each in zip(found_trees, estimates.memberships, strict=True)]
    patterns = (estimates.view_patterns, estimates.memberships)
    weights = None if trees is None else weigh_views(*patterns, [own for _, own in levels])
    consensus = form_consensus(*patterns, names, weights, averaged=averaged, pattern_labels=spectral)
    if known is not None and findings is not None and len(findings.kept):
        clustered = [l for l, W in enumerate(estimates.memberships) if W.shape[1] > 1]
        if clustered == [findings.pattern]:
            consensus = replace(consensus, labels=pattern_labels[clustered[0]])
        else:
            consensus = keep_consensus_to_links(consensus, known)
    return Results(
        view_names=names,
        sample_names=None if views.sample_names is None else np.array(views.sample_names, dtype=object),
        feature_names=None if views.feature_names is None else np.array(views.feature_names, dtype=object),
        n_features=views.n_columns if views.found is None else len(views.found.views),
        view_patterns=estimates.view_patterns,
        view_responsibilities=estimates.responsibilities,
        pattern_weights=estimates.weights,
        memberships=estimates.memberships,
        responses=estimates.responses,
        pattern_labels=pattern_labels,
        averaged=averaged,
        consensus=consensus,
        initial_view_patterns=initial,
        loss_curve=np.array(curve),
        expected_loss_curve=np.array(expected),
        converged=converged,
        start_losses=start_losses,
        start_agreement=start_agreement,
        stages=stages,
        levels=[own for own, _ in levels],
        evidence=[own for _, own in levels],
        settings=settings,
        frame_library=views.frame_library,
        present=views.present,
        found_columns=views.found,
        known=findings,
    )


def share_unplaced(memberships: list[Array], placed: np.ndarray | None) -> list[Array]:
    """Return memberships in which samples that are in no view of a pattern have the shares of its clusters."""
    if placed is None:
        return memberships
    return [
        np.where(seen[:, None], W, W[seen].mean(axis=0)) for W, seen in zip(memberships, placed, strict=True)
    ]


def label_patterns(memberships: list[Array], placed: np.ndarray | None) -> np.ndarray:
    """Return the joint labels of each pattern (patterns, n); samples in none of its views have the largest cluster."""
    if placed is None:
        return np.array([joint_labels(W) for W in memberships])
    found = np.array([W.argmax(axis=1) for W in memberships])
    for labels, W, seen in zip(found, memberships, placed, strict=True):
        labels[seen] = joint_labels(W[seen])
    return found


def keep_consensus_to_links(consensus: Consensus, known: Known) -> Consensus:
    """Return a consensus whose labels keep to links of infinite weight; only samples of such links move.

    They go where they are together with the samples of a cluster most, on average, of what the links allow.

    >>> from latentsimplex.known.known_samples import Links
    >>> W = np.array([[1, 0], [1, 0], [0, 1], [0.4, 0.6]])
    >>> consensus = form_consensus(np.array([0]), [W], ["a"])
    >>> tied = Known(np.empty(0), np.full(4, -1), must=Links(np.array([[0, 3]]), np.array([np.inf])))
    >>> consensus.labels.tolist(), keep_consensus_to_links(consensus, tied).labels.tolist()
    ([0, 0, 1, 1], [0, 0, 1, 0])
    """
    labels = consensus.labels
    must, cannot = (links.pairs[np.isinf(links.weights)] for links in (known.must, known.cannot))
    tied, parted = (np.diff(labels[pairs])[:, 0] for pairs in (must, cannot))
    if not tied.any() and parted.all():
        return consensus
    inside = np.eye(consensus.n_clusters)[labels]
    try:
        W = keep_to_links(consensus.coassignment @ (inside / inside.sum(axis=0)), known)
    except ValueError:  # patterns keep to links that a consensus of fewer clusters cannot
        return consensus
    linked, labels = np.unique(np.concatenate([must, cannot])), labels.copy()
    labels[linked] = W[linked].argmax(axis=1)
    return replace(consensus, labels=np.unique(labels, return_inverse=True)[1])


def find_trees(
    trees: PatternTrees | None, initial: np.ndarray, view_patterns: np.ndarray, n_patterns: int
) -> list[ClusterTree | None]:
    """Return the tree of each live pattern, that of the group in which most of its views began; None without trees."""
    found: list[ClusterTree | None] = []
    for l in range(n_patterns):
        begun = initial[(view_patterns == l) & (initial >= 0)]
        if trees is None or not len(begun):
            found.append(None)
            continue
        group = int(np.bincount(begun).argmax())
        found.append(trees.patterns[group] if group < len(trees.patterns) else trees.others)
    return found


def list_levels(tree: ClusterTree | None, labels: np.ndarray) -> tuple[list[Level], Array]:
    """Return the levels and the evidence of a pattern; without a tree its labels alone, and no evidence."""
    if tree is not None:
        return fill_unseen(tree.levels), tree.evidence
    one = Level(np.zeros(len(labels), dtype=np.intp), 0.0)
    return ([one] if not labels.any() else [one, Level(labels, 0.0)]), np.empty(0)


def fill_unseen(levels: list[Level]) -> list[Level]:
    """Return levels in which samples without a cluster, -1, are where those of the largest cluster are.

    >>> [level.labels.tolist() for level in fill_unseen([Level(np.array([0, 1, -1, 1]), 0.0)])]
    [[0, 1, 1, 1]]
    """
    finest = levels[-1].labels
    seen = finest >= 0
    if seen.all():
        return levels
    like = int(np.argmax(finest == np.bincount(finest[seen]).argmax()))
    return [Level(np.where(seen, own.labels, own.labels[like]), own.evidence) for own in levels]


def average_numbers(tree: ClusterTree | None, W: Array) -> Array:
    """Return X, a pattern's co-assignments averaged over numbers of clusters being X X^T; without a tree W."""
    if tree is None or tree.n_clusters != W.shape[1]:
        return W
    columns = match_labels(fill_unseen(tree.levels)[-1].labels, W)
    if (
        columns == W.argmax(axis=1)
    ).mean() < SAME_CLUSTERS:  # EM went on to other clusters, or from another group's
        return W
    order = np.array([columns[tree.labels == k][0] for k in range(W.shape[1])])
    return tree.average_numbers(W[:, order])


class Estimates(NamedTuple):
    """Live patterns only, heaviest first.

    ``view_patterns`` (V,), ``responsibilities`` (V, patterns), ``weights`` (patterns,), ``memberships``, a list
    of (n, clusters) arrays, and ``responses``, a list of (clusters, clusters) arrays.
    """

    view_patterns: np.ndarray
    responsibilities: Array
    weights: Array
    memberships: list[Array]
    responses: list[Array]


NO_PATTERNS = Estimates(np.empty(0, dtype=np.intp), np.empty((0, 0)), np.empty(0), [], [])


def estimate_patterns(eta: Array, state: State) -> Estimates:
    """Return x_hat = argmax eta and what it leaves alive; ties of weight go to the first view's pattern.

    >>> eta = np.array([[0.9, 0.1, 0.0], [0.8, 0.2, 0.0]])
    >>> lam = np.array([0.7, 0.2, 0.1])
    >>> found = estimate_patterns(eta, State(np.ones((3, 4, 1)), np.ones((3, 1, 1)), lam, np.ones(3)))
    >>> found.view_patterns.tolist(), found.weights.tolist()
    ([0, 0], [1.0])
    """
    W, B, lam, _ = state
    x_hat = np.argmax(eta, axis=1)
    order = _heaviest_first(x_hat, lam)
    columns = [used_columns(W[l]) for l in order]
    position = np.zeros(len(lam), dtype=np.intp)
    position[order] = np.arange(len(order))
    kept = eta[:, order]
    return Estimates(
        view_patterns=position[x_hat],
        responsibilities=kept / kept.sum(axis=1, keepdims=True),
        weights=lam[order] / lam[order].sum(),
        memberships=[drop_unused_columns(W[l]) for l in order],
        responses=[B[l][np.ix_(kept, kept)] for l, kept in zip(order, columns, strict=True)],
    )


def add_constant_views(found: Estimates, informative: Indices, n_views: int, n_samples: int) -> Estimates:
    """Return the estimates of all views, given those of the informative ones.

    Constant views have no clusters. They follow the pattern that has one cluster, which is added if
    EM found none, so that weights remain the shares of all views.
    """
    if len(informative) == n_views:
        return found
    constant = np.setdiff1d(np.arange(n_views), informative)
    memberships, responses = list(found.memberships), list(found.responses)
    single = [l for l, W in enumerate(memberships) if W.shape[1] == 1]
    if not single:
        single = [len(memberships)]
        memberships.append(np.ones((n_samples, 1)))
        responses.append(np.ones((1, 1)))
    d = len(memberships)
    eta = np.zeros((n_views, d))
    eta[informative, : found.responsibilities.shape[1]] = found.responsibilities
    eta[constant, single[0]] = 1
    lam = np.zeros(d)
    lam[: len(found.weights)] = found.weights * len(informative) / n_views
    lam[single[0]] += len(constant) / n_views
    x_hat = np.argmax(eta, axis=1)
    order = _heaviest_first(x_hat, lam)
    return Estimates(
        view_patterns=np.argsort(order)[x_hat],
        responsibilities=eta[:, order],
        weights=lam[order],
        memberships=[memberships[l] for l in order],
        responses=[responses[l] for l in order],
    )


def _heaviest_first(x_hat: np.ndarray, lam: Array) -> np.ndarray:
    """Return the patterns that some view follows by falling weight, ties by first view.

    Weights are those of the E step before the last: what is no hundredth of a view has not settled yet.
    """
    live = np.flatnonzero(np.bincount(x_hat))
    first_view = np.array([np.argmax(x_hat == l) for l in live])
    return live[order_heaviest_first(np.round(lam[live] * len(x_hat), 2), first_view)]
