"""Point estimates and credible balls: the partition that is best on average over draws, and a ball around it.

The point estimate minimises an expected loss of :mod:`latentsimplex.uncertainty.partition_losses` over all partitions,
by greedy search in the manner of SALSO (Dahl, Johnson and Mueller, 2022). The credible ball (Wade and Ghahramani, 2018)
is the smallest ball around it that holds a given share of the draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.base.checks import check_count, check_jobs, make_generator, renumber_labels
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.uncertainty.partition_losses import (
    LOSSES,
    as_pair_probabilities,
    binder_loss,
    check_costs,
    check_draws,
    is_draws,
    variation_of_information,
)

MOST_SWEEPS = 100
REBUILT_CLUSTERS = 10
"""Clusters of a start that has settled which are dissolved in turn, to see whether their samples fit elsewhere."""
ROUNDING = 1e-9
"""Losses and distances that differ by less are equal."""
DISTANCES = {"vi": variation_of_information, "binder": binder_loss}


@dataclass(frozen=True)
class PointEstimate:
    """The partition with the lowest expected loss that was found.

    Attributes
    ----------
    labels : (n,) array
        Clusters numbered as they first appear.
    expected_loss : float
    start_losses : (n_init,) array
        The expected loss that each start ended with.
    """

    labels: np.ndarray
    expected_loss: float
    start_losses: Array

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return int(self.labels.max()) + 1


@dataclass(frozen=True)
class CredibleBall:
    """The smallest ball around a partition that holds a given share of the draws.

    Attributes
    ----------
    labels : (n,) array
        The centre.
    radius : float
        The largest distance in the ball, in nats or as a share of pairs.
    probability : float
        The share of the draws in the ball, at least the level.
    members : indices
        The draws in the ball, in their order.
    horizontal, upper, lower : indices
        The draws most distant from the centre in the ball, among those with the fewest clusters in it, and among
        those with the most; of equal partitions the first draw alone.
    """

    labels: np.ndarray
    radius: float
    probability: float
    members: Indices
    horizontal: Indices
    upper: Indices
    lower: Indices


class ExpectedLoss(NamedTuple):
    """An expected loss to minimise: (constant + value) / scale, value as ``sweep(labels, order)`` returns it.

    ``guesses`` (any number, n) are partitions worth starting from; ``capacity`` is the most clusters allowed.
    """

    n_samples: int
    capacity: int
    sweep: Callable[[np.ndarray, np.ndarray], tuple[int, float]]
    guesses: np.ndarray
    constant: float
    scale: float


def point_estimate(
    source: Any,
    loss: str = "vi",
    *,
    costs: tuple[float, float] = (1.0, 1.0),
    max_clusters: int | None = None,
    n_init: int = 16,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> PointEstimate:
    """Return the partition with the lowest expected loss that several greedy searches find.

    Starts take the samples in random order into the cluster that is best so far, or begin at a draw, at random, or
    with a single cluster. Each moves samples one by one for as long as that helps, and then dissolves clusters to see
    whether their samples fit better elsewhere.

    Parameters
    ----------
    source : (draws, n) whole numbers, CoAssignment, or (n, n) matrix of probabilities
    loss : "vi", "binder" or "vi-bound"
        Variation of information, which needs draws; Binder's loss; or Wade and Ghahramani's bound, which needs
        co-assignments and takes O(n^2) a sweep, with no n x n matrix where they are low rank.
    costs : (a, b)
        Of setting apart what belongs together, and of joining what does not: a larger b gives more clusters.
    max_clusters : int or None
        None is the most clusters that a draw has, or no limit for co-assignments.
    n_init : int
    random_state : int, RandomState, Generator or None
    n_jobs : int or None
        Threads; None is all cores. The result does not depend on it.

    Examples
    --------
    >>> from latentsimplex.results.coassignment import CoAssignment
    >>> from latentsimplex.uncertainty.partition_losses import draw_partitions
    >>> W = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8]])
    >>> draws = draw_partitions(W, 200, random_state=0)
    >>> point_estimate(draws, random_state=0).labels.tolist()
    [0, 0, 1, 1]
    >>> point_estimate(CoAssignment(W), loss="binder", random_state=0).labels.tolist()
    [0, 0, 1, 1]
    """
    a, b = check_costs(costs)
    limit = None if max_clusters is None else check_count("max_clusters", max_clusters)
    if is_draws(source):
        problem = _by_draws(check_draws(source), loss, a, b, limit)
    else:
        problem = _by_pairs(source, loss, a, b, limit)
    rngs = make_generator(random_state).spawn(check_count("n_init", n_init))
    with Workers(check_jobs(n_jobs)) as workers:
        found = list(workers.map(lambda job: _search(problem, *job), list(enumerate(rngs))))
    losses = (np.array([value for _, value in found]) + problem.constant) / problem.scale
    best = int(np.argmin(losses))
    return PointEstimate(renumber_labels(found[best][0]), float(losses[best]), losses)


def _by_draws(draws: np.ndarray, loss: str, a: float, b: float, limit: int | None) -> ExpectedLoss:
    """Return the problem of minimising [b sum_k t(n_k) + mean_z (a sum_l t(m_l) - (a + b) sum_kl t(n_kl))] / scale."""
    from latentsimplex.uncertainty._partition_loops import sweep_draws

    if loss not in LOSSES:
        raise ValueError(f'loss={loss!r} cannot be read off draws: choose "vi" or "binder".')
    t, scale = LOSSES[loss]
    n_draws, n = draws.shape
    rows, counts = np.empty((n, n_draws), dtype=np.uint32), np.zeros(n_draws, dtype=np.intp)
    constant = 0.0
    for d, drawn in enumerate(draws):
        z = renumber_labels(drawn)
        rows[:, d], counts[d] = counts.sum() + z, z.max() + 1
        constant += a * float(t(np.bincount(z)).sum()) / n_draws
    capacity = min(n, int(counts.max()) if limit is None else limit)
    step = np.diff(t(np.arange(n + 1.0)))

    def sweep(labels: np.ndarray, order: np.ndarray) -> tuple[int, float]:
        return sweep_draws(labels, order, rows, step, b, (a + b) / n_draws, capacity)

    return ExpectedLoss(n, capacity, sweep, draws[counts <= capacity], constant, scale(n))


def _by_pairs(source: Any, loss: str, a: float, b: float, limit: int | None) -> ExpectedLoss:
    """Return the problem of minimising Binder's expected loss, or the bound, given co-assignments."""
    from latentsimplex.uncertainty._partition_loops import sweep_bound, sweep_pairs

    kernels = {"binder": sweep_pairs, "vi-bound": sweep_bound}
    if loss not in kernels:
        raise ValueError(
            f'loss={loss!r} cannot be read off co-assignments: choose "binder" or "vi-bound", or pass draws for "vi".'
        )
    pairs = as_pair_probabilities(source)
    n = pairs.n_samples
    capacity = n if limit is None else min(n, limit)

    def sweep(labels: np.ndarray, order: np.ndarray) -> tuple[int, float]:
        return kernels[loss](labels, order, pairs.table, pairs.dense, b, a + b, capacity)

    companions = pairs.expected_companions(np.zeros(n, dtype=np.intp))
    leading = pairs.table.argmax(axis=1)
    guesses = leading[None] if not pairs.dense and len(np.unique(leading)) <= capacity else np.empty((0, n))
    if loss == "binder":
        constant, scale = companions.sum() / 2, LOSSES["binder"].scale(n)
    else:
        constant, scale = np.log1p(companions).sum(), n
    return ExpectedLoss(n, capacity, sweep, guesses, a * float(constant), scale)


def _search(problem: ExpectedLoss, start: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Return the labels that one start ends with, and their value."""
    labels = _first_labels(problem, start, rng)
    value = _settle(problem, labels, rng)
    for cluster in rng.permutation(np.unique(labels))[:REBUILT_CLUSTERS]:
        trial = np.where(labels == cluster, -1, labels)
        members = np.flatnonzero(trial < 0)
        _, found = problem.sweep(trial, rng.permutation(members))
        if found < value - ROUNDING:
            labels, value = trial, _settle(problem, trial, rng)
    return labels, value


def _first_labels(problem: ExpectedLoss, start: int, rng: np.random.Generator) -> np.ndarray:
    """Return where a start begins: in turn nowhere (-1), at a guess, at random, with all samples together."""
    n = problem.n_samples
    if start % 4 == 0:
        return np.full(n, -1, dtype=np.intp)
    if start % 4 == 1 and len(problem.guesses):
        return renumber_labels(problem.guesses[rng.integers(len(problem.guesses))])
    n_clusters = 1 if start % 4 == 3 else rng.integers(1, problem.capacity, endpoint=True)
    return rng.integers(n_clusters, size=n)


def _settle(problem: ExpectedLoss, labels: np.ndarray, rng: np.random.Generator) -> float:
    """Sweep over all samples until none moves; change ``labels`` in place and return their value."""
    for _ in range(MOST_SWEEPS):
        moved, value = problem.sweep(labels, rng.permutation(problem.n_samples))
        if not moved:
            break
    return value


def credible_ball(draws: Any, labels: Any, level: float = 0.95, distance: str = "vi") -> CredibleBall:
    """Return the smallest ball around ``labels`` that holds at least a share ``level`` of the draws.

    Parameters
    ----------
    draws : (draws, n) whole numbers
    labels : (n,) array
        The centre, for instance the point estimate for the same loss.
    level : float in (0, 1]
    distance : "vi" or "binder"

    Examples
    --------
    >>> draws = np.repeat([[0, 0, 0], [0, 0, 1], [0, 1, 2]], [6, 3, 1], axis=0)
    >>> ball = credible_ball(draws, [0, 0, 0], level=0.9)
    >>> round(ball.radius, 3), ball.probability, ball.members.tolist(), ball.horizontal.tolist()
    (0.637, 0.9, [0, 1, 2, 3, 4, 5, 6, 7, 8], [6])
    """
    z = check_draws(draws)
    if distance not in DISTANCES:
        raise ValueError(f'distance={distance!r} is unknown: choose "vi" or "binder".')
    if not 0 < level <= 1:
        raise ValueError(f"level={level!r} is not valid: give a share of the draws, above 0 and at most 1.")
    far = DISTANCES[distance](labels, z)
    needed = int(np.ceil(level * len(z) - ROUNDING))
    radius = float(np.sort(far)[needed - 1])
    members = np.flatnonzero(far <= radius + ROUNDING)
    partitions = renumber_labels(z[members])
    clusters = partitions.max(axis=1) + 1

    def most_distant(among: np.ndarray) -> Indices:
        chosen = np.flatnonzero(among & (far[members] >= far[members][among].max() - ROUNDING))
        _, first = np.unique(partitions[chosen], axis=0, return_index=True)
        return members[chosen[np.sort(first)]]

    return CredibleBall(
        labels=renumber_labels(labels),
        radius=radius,
        probability=len(members) / len(z),
        members=members,
        horizontal=most_distant(np.ones(len(members), dtype=bool)),
        upper=most_distant(clusters == clusters.min()),
        lower=most_distant(clusters == clusters.max()),
    )
