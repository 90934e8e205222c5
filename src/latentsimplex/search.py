"""Where EM starts, and which of its ends is kept (section 3.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from latentsimplex._types import Array
from latentsimplex.compute.cpu import add_statistics, pair_products
from latentsimplex.em import Expectation, Fit, Model, Pairs, Schedule, first_state, run

Callback = Callable[[int, int, Expectation], None]
"""Called with the start, the iteration and its E step."""

LLOYD_ITERATIONS = 30
START_SCALE = 0.01
"""Rows start near the barycentre: far from it the penalty freezes them where they fell (docs/fidelity.md)."""


class Search(NamedTuple):
    """The best of several runs, the final loss of each, and the start that the best one had."""

    fit: Fit
    start_losses: Array
    start_labels: np.ndarray


def best_of(
    pairs: Pairs,
    n_clusters: int,
    n_patterns: int,
    model: Model,
    schedule: Schedule,
    n_init: int,
    rng: np.random.Generator,
    callback: Callback | None = None,
) -> Search:
    """Run EM from ``n_init`` random starts and keep the one with the lowest loss."""
    runs: list[tuple[Fit, np.ndarray]] = []
    for start, generator in enumerate(rng.spawn(n_init)):
        labels = kmeans_labels(pairs, n_patterns, generator)
        W = random_memberships(n_patterns, pairs.n_samples, n_clusters, generator)
        state = first_state(pairs, labels, W, model, schedule)
        report = None if callback is None else _numbered(callback, start)
        runs.append((run(pairs, state, model, schedule, report), labels))
    losses = np.array([fit.loss_curve[-1] for fit, _ in runs])
    best, labels = runs[int(np.argmin(losses))]
    return Search(best, losses, labels)


def _numbered(callback: Callback, start: int) -> Callable[[int, Expectation], None]:
    return lambda iteration, expectation: callback(start, iteration, expectation)


def random_memberships(d: int, n: int, g: int, rng: np.random.Generator) -> Array:
    """Return W (d, n, g) with rows near the barycentre of the simplex, too near for any cluster to lead.

    >>> random_memberships(2, 3, 4, np.random.default_rng(0)).sum(axis=-1).round(6).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    return softmax(START_SCALE * rng.normal(size=(d, n, g)), axis=-1)


def kmeans_labels(pairs: Pairs, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return k-means labels (V,) of the views' pair values, from a k-means++ start.

    The group mean of f(s) is the best unconstrained pattern for a group of views under either
    divergence (the log-odds under the paper's), which is what makes k-means the right start.
    Blocks of views are visited in turn, as in the E step, so the pair values need not fit in memory.
    """
    V = len(pairs)
    if k == 1 or k >= V:
        return np.zeros(V, dtype=np.intp) if k == 1 else np.arange(V)
    centres = _plus_plus(pairs, k, rng)
    labels = np.full(V, -1)
    for _ in range(LLOYD_ITERATIONS):
        new, sums = _assign(pairs, centres)
        if np.array_equal(new, labels):
            break
        labels = new
        sizes = np.bincount(labels, minlength=k)
        filled = sizes > 0
        centres[filled] = sums[filled] / sizes[filled, None]
    return labels


def _plus_plus(pairs: Pairs, k: int, rng: np.random.Generator) -> Array:
    """Return k views' pair values, each drawn in proportion to its squared distance from those before."""
    V = len(pairs)
    centres = [pairs.values(int(rng.integers(V)))]
    nearest = np.full(V, np.inf)
    while len(centres) < k:
        nearest = np.minimum(nearest, _squared_distances(pairs, centres[-1]))
        total = nearest.sum()
        pick = rng.choice(V, p=nearest / total) if total > 0 else rng.integers(V)
        centres.append(pairs.values(int(pick)))
    return np.array(centres)


def _squared_distances(pairs: Pairs, centre: Array) -> Array:
    return np.concatenate([((F - centre) ** 2).sum(axis=1) for _, F in pairs.blocks()])


def _assign(pairs: Pairs, centres: Array) -> tuple[np.ndarray, Array]:
    """Return the nearest centre of each view and the sum of the views of each centre."""
    norms = (centres**2).sum(axis=1)
    labels = np.empty(len(pairs), dtype=np.intp)
    sums = np.zeros_like(centres)
    for rows, F in pairs.blocks():
        labels[rows] = np.argmin(norms - 2 * pair_products(F, centres, pairs.workers), axis=1)
        add_statistics(sums, np.eye(len(centres))[labels[rows]], F, pairs.workers)
    return labels, sums
