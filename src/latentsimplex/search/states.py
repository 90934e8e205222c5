"""States that EM begins with: from random memberships, from spectral clustering, from labels of views and samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from latentsimplex.auto.explained_divergence import spectral_clusters
from latentsimplex.base.arrays import convert_like, softmax, stack, to_host
from latentsimplex.base.condensed import unpack_pairs
from latentsimplex.base.types import Array
from latentsimplex.model.em import collect_statistics, m_step, update_weights
from latentsimplex.model.penalties import soften
from latentsimplex.model.problem import Fit, Patterns, Problem, State
from latentsimplex.pairs.divergence import Divergence
from latentsimplex.search.view_groups import Group

START_SCALE = 0.01
"""Rows start near the barycentre: far from it the penalty freezes them where they fell (docs/fidelity.md)."""
PURITY = 0.9
"""How sure a spectral start is of its labels; at 1 a row could not move."""
RESPONSE_CLIP = 0.01


def make_random_state(
    problem: Problem, labels: np.ndarray, n_clusters: int, n_patterns: int, rng: np.random.Generator
) -> State:
    """Return the state after a first M step from random memberships, the paper's start (section 3.1).

    eta is one-hot at the labels of the views, and lambda = 1/d.
    """
    W = random_memberships(n_patterns, problem.pairs.n_samples, n_clusters, rng)
    mass, stat = collect_statistics(problem.pairs, np.eye(n_patterns)[labels])
    rate = np.full(n_patterns, problem.schedule.rate)
    patterns = Patterns(W, identity_responses(n_patterns, n_clusters), mass, stat)
    W, B, _ = m_step(problem, patterns, problem.schedule.first_steps, rate)
    return State(W, B, np.full(n_patterns, 1 / n_patterns), rate)


def make_spectral_state(problem: Problem, labels: np.ndarray, n_clusters: int, n_patterns: int) -> State:
    """Return the state after a first M step from spectral memberships, the penalty coming in by degrees."""
    pairs, model = problem.pairs, problem.model
    mass, stat = collect_statistics(pairs, np.eye(n_patterns)[labels])
    lam = update_weights(np.bincount(labels, minlength=n_patterns).astype(float))
    live = lam > 0
    W = np.full((n_patterns, pairs.n_samples, n_clusters), 1 / n_clusters)
    B = identity_responses(n_patterns, n_clusters)
    rate = np.full(n_patterns, problem.schedule.rate)
    for l in np.flatnonzero(live):
        W[l], response = spectral_memberships(stat[l] / mass[l], n_clusters, model.divergence)
        if model.learned_response:
            B[l] = response
    for penalty in soften(model.penalty):
        softer = replace(problem, model=replace(model, penalty=penalty))
        patterns = Patterns(W[live], B[live], mass[live], stat[live])
        W[live], B[live], _ = m_step(softer, patterns, problem.schedule.first_steps, rate[live])
    return State(W, B, lam, rate)


def state_from_groups(problem: Problem, groups: list[Group], n_patterns: int) -> State:
    """Return the state after a first M step from the clusters of the groups."""
    mass, stat = np.array([group.mass for group in groups]), stack([group.stat for group in groups])
    return _state_from_clusters(problem, mass, stat, [group.labels for group in groups], n_patterns)


def state_from_labels(
    problem: Problem, views: np.ndarray, clusterings: list[np.ndarray], n_patterns: int
) -> State:
    """Return the state after a first M step from the pattern of each view (V,) and the clusters of each pattern."""
    mass, stat = collect_statistics(problem.pairs, np.eye(len(clusterings))[views])
    return _state_from_clusters(problem, mass, stat, clusterings, n_patterns)


def _state_from_clusters(
    problem: Problem, mass: Array, stat: Any, clusterings: list[np.ndarray], n_patterns: int
) -> State:
    """Return the state after a first M step from clusters of patterns with these statistics."""
    n, divergence = problem.pairs.n_samples, problem.model.divergence
    g, used = max(int(labels.max()) + 1 for labels in clusterings), len(clusterings)
    W, B = np.full((n_patterns, n, g), 1 / g), identity_responses(n_patterns, g)
    rate = np.full(n_patterns, problem.schedule.rate)
    for l, labels in enumerate(clusterings):
        W[l] = sure_memberships(labels, g)
        if problem.model.learned_response:
            B[l] = block_means(divergence.mean(stat[l] / mass[l]), labels, g)
    patterns = Patterns(W[:used], B[:used], mass, stat)
    W[:used], B[:used], _ = m_step(problem, patterns, problem.schedule.first_steps, rate[:used])
    lam = np.zeros(n_patterns)
    lam[:used] = mass / mass.sum()
    return State(W, B, lam, rate)


def state_from_fit(problem: Problem, fit: Fit) -> State:
    """Return the state after a first M step from a fit's patterns and clusters, on similarities of other pairs."""
    return state_from_labels(problem, *find_clusters(fit), len(fit.state.lam))


def find_clusters(fit: Fit) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the live pattern of each view (V,), and the clusters (n,) of each."""
    live, views = np.unique(fit.expectation.eta.argmax(axis=1), return_inverse=True)
    return views, [np.unique(fit.state.W[l].argmax(axis=1), return_inverse=True)[1] for l in live]


def random_memberships(d: int, n: int, g: int, rng: np.random.Generator) -> Array:
    """Return W (d, n, g) with rows near the barycentre of the simplex, too near for any cluster to lead."""
    return softmax(START_SCALE * rng.normal(size=(d, n, g)))


def identity_responses(d: int, g: int) -> Array:
    """Return the responses of the paper (d, g, g)."""
    return np.tile(np.eye(g), (d, 1, 1))


def spectral_memberships(mean_f: Any, g: int, divergence: Divergence) -> tuple[Array, Array]:
    """Return W (n, g) and the response B (g, g) from spectral clustering of a pattern's mean similarity.

    ``mean_f`` (m,) is the mean of f(s) over its views, which the divergence turns into the similarity that fits best.
    """
    labels = spectral_clusters(unpack_pairs(divergence.mean(mean_f)), g)
    return label_memberships(mean_f, labels, g, divergence)


def label_memberships(mean_f: Any, labels: np.ndarray, g: int, divergence: Divergence) -> tuple[Array, Array]:
    """Return W (n, g) that is nearly sure of the labels, and the mean similarity of their clusters B (g, g).

    Clusters beyond those of the labels are empty for good.
    """
    return sure_memberships(labels, g), block_means(divergence.mean(mean_f), labels, g)


def sure_memberships(labels: np.ndarray, g: int) -> Array:
    """Return W (n, g) that is nearly sure of the labels.

    >>> sure_memberships(np.array([0, 1]), 3).round(2).tolist()
    [[0.9, 0.1, 0.0], [0.1, 0.9, 0.0]]
    """
    k = int(labels.max()) + 1
    W = np.zeros((len(labels), g))
    W[:, :k] = (1 - PURITY) / max(k - 1, 1)
    W[np.arange(len(labels)), labels] = PURITY if k > 1 else 1.0
    return W


def block_means(similarities: Any, labels: np.ndarray, g: int) -> Array:
    """Return the mean of packed similarities (m,) between and within clusters (g, g), kept off 0 and 1."""
    S, Z = unpack_pairs(similarities), np.eye(g)[labels]
    sizes = Z.sum(axis=0)
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    means = Z.T @ to_host(S @ convert_like(Z, S)) / np.maximum(pairs, 1)
    return np.clip(means, RESPONSE_CLIP, 1 - RESPONSE_CLIP)
