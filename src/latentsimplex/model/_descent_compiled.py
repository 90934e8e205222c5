"""Mirror descent of one pattern, compiled: all steps of an M step in one call, where a thread is quick with them.

With a few hundred samples a step of descent takes less time than Python needs to ask for it. This is
:func:`latentsimplex.model.em.m_step` with :func:`latentsimplex.model.descent.mirror`, for arrays. Samples run along
the last axis; the precision of the pairs is that of the statistics.
"""

from __future__ import annotations

import numpy as np

from latentsimplex.base.compiled import compiled
from latentsimplex.base.types import Array
from latentsimplex.model import descent
from latentsimplex.model._pair_loops import add_gradient
from latentsimplex.model.problem import EMPTY
from latentsimplex.pairs.divergence import P_CLIP

SMALLEST = float(np.finfo(np.float64).tiny)
"""The smallest normal number, which has a logarithm."""

next_pace = compiled(descent.next_pace)


def start_descent(columns: Array, B: Array, learned: bool) -> tuple[Array, Array]:
    """Return theta (g, n) with softmax W^T and phi (g, g) with sigmoid B; phi is B itself where that is not learned.

    This is done once for a descent, so that NumPy is quick enough.
    """
    theta = np.log(np.maximum(columns, SMALLEST))
    if not learned:
        return theta, B.copy()
    B = np.clip(B, P_CLIP, 1.0 - P_CLIP)
    return theta, np.log(B / (1.0 - B))


@compiled
def write_memberships(theta: Array, W: Array) -> None:  # pragma: no cover
    """Write the softmax of each column of theta (g, n) into W (g, n)."""
    g, n = theta.shape
    largest, total = np.full(n, -np.inf), np.zeros(n)
    for k in range(g):
        for i in range(n):
            largest[i] = max(largest[i], theta[k, i])
    for k in range(g):
        for i in range(n):
            W[k, i] = np.exp(theta[k, i] - largest[i])
            total[i] += W[k, i]
    for k in range(g):
        for i in range(n):
            W[k, i] /= total[i]


@compiled
def response_of(phi: Array, learned: bool) -> Array:  # pragma: no cover
    """Return the response B (g, g), which phi is unless it is learned."""
    return 1.0 / (1.0 + np.exp(-phi)) if learned else phi.copy()


@compiled
def count_used_clusters(W: Array) -> int:  # pragma: no cover
    """Return how many clusters are some sample's largest; W is (g, n)."""
    g, n = W.shape
    used = np.zeros(g, np.bool_)
    for i in range(n):
        best = 0
        for k in range(1, g):
            if W[k, i] > W[best, i]:
                best = k
        used[best] = True
    return used.sum()


@compiled
def write_sides(theta: Array, phi: Array, learned: bool, W: Array, left: Array) -> Array:  # pragma: no cover
    """Write the memberships into W (g, n) and (W B)^T into ``left`` (g, n), and return the response B (g, g)."""
    g, n = theta.shape
    write_memberships(theta, W)
    B = response_of(phi, learned)
    left[:] = 0.0
    for k in range(g):
        for l in range(g):
            for i in range(n):
                left[k, i] += B[k, l] * W[l, i]
    return B


@compiled
def write_natural_gradients(
    W: Array, B: Array, GW: Array, mass: float, learned: bool, along: Array, beside: Array
) -> None:  # pragma: no cover
    """Write the natural gradients in theta (g, n) and in phi (g, g), given G W (g, n)."""
    g, n = W.shape
    mean = np.zeros(n)
    along[:] = 0.0
    for k in range(g):
        for l in range(g):
            for i in range(n):
                along[k, i] += B[k, l] * GW[l, i]
        for i in range(n):
            mean[i] += along[k, i] * W[k, i]
    scale = mass * (n - 1)
    for k in range(g):
        for i in range(n):
            along[k, i] = (along[k, i] - mean[i]) / scale if W[k, i] > EMPTY else 0.0
    if learned:
        sizes = np.zeros(g)
        for k in range(g):
            for i in range(n):
                sizes[k] += W[k, i]
        for k in range(g):
            for l in range(g):
                gradient, both = 0.0, 0.0
                for i in range(n):
                    gradient += W[k, i] * GW[l, i]
                    both += W[k, i] * W[l, i]
                pairs = max((sizes[k] * sizes[l] - both) / 2, 1.0)
                beside[k, l] = gradient / (2 * mass * pairs)


@compiled
def look(
    theta: Array,
    phi: Array,
    mass: float,
    stat: np.ndarray,
    first_row: int | None,
    forward: bool,
    learned: bool,
    prices: Array,
    along: Array,
    beside: Array,
) -> float:  # pragma: no cover
    """Return the objective at a point; write the natural gradients in theta (g, n) and in phi (g, g).

    The first row is that of :func:`latentsimplex.model._pair_loops.find_first_row`.
    """
    g, n = theta.shape
    W, left, GW = np.empty((g, n)), np.empty((g, n)), np.zeros((g, n), stat.dtype)
    B = write_sides(theta, phi, learned, W, left)
    value = add_gradient(
        left.astype(stat.dtype), W.astype(stat.dtype), mass, stat, first_row, n - 1, forward, GW
    )
    write_natural_gradients(W, B, GW.astype(np.float64), mass, learned, along, beside)
    return value + prices[count_used_clusters(W) - 1]


@compiled
def advance(
    point: Array,
    looked_at: Array,
    best: Array,
    along: Array,
    best_along: Array,
    failed: bool,
    step: float,
    momentum: float,
) -> None:  # pragma: no cover
    """Go a step from the last point that was looked at, or from the best one after a failure, all in place."""
    rows, columns = looked_at.shape
    for k in range(rows):
        for i in range(columns):
            base, slope = (best[k, i], best_along[k, i]) if failed else (looked_at[k, i], along[k, i])
            stepped = base - step * slope
            looked_at[k, i] = stepped + momentum * (stepped - point[k, i])
            point[k, i] = best[k, i] if failed else stepped


@compiled
def copy_into(given: Array, into: np.ndarray) -> None:  # pragma: no cover
    """Copy an array (a, b) into another: a loop compiles sooner than an assignment of arrays does."""
    for k in range(len(given)):
        for i in range(given.shape[1]):
            into[k, i] = given[k, i]


@compiled
def descend(
    theta: Array,
    phi: Array,
    mass: float,
    stat: np.ndarray,
    first_row: int | None,
    forward: bool,
    learned: bool,
    prices: Array,
    n_steps: int,
    rate: float,
) -> tuple[Array, Array, float]:  # pragma: no cover
    """Return memberships (g, n), response (g, g) and step size after mirror descent; the start is overwritten."""
    at, at_phi, best, best_phi = theta.copy(), phi.copy(), theta.copy(), phi.copy()
    along, beside = np.zeros_like(theta), np.zeros_like(phi)
    value = look(at, at_phi, mass, stat, first_row, forward, learned, prices, along, beside)
    least, last, age = value, value, 1.0
    best_along, best_beside = along.copy(), beside.copy()
    for _ in range(n_steps):
        failed, rate, momentum, age, last = next_pace(value, last, least, age, rate)
        advance(theta, at, best, along, best_along, failed, rate, momentum)
        # a step of 1 is the best response there is for given memberships, and no longer one is better
        advance(phi, at_phi, best_phi, beside, best_beside, failed, min(rate, 1.0), momentum)
        value = look(at, at_phi, mass, stat, first_row, forward, learned, prices, along, beside)
        if value < least:
            least = value
            copy_into(at, best)
            copy_into(at_phi, best_phi)
            copy_into(along, best_along)
            copy_into(beside, best_beside)
    write_memberships(best, at)
    return at, response_of(best_phi, learned), rate / 2 if value > last else rate
