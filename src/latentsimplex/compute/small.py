"""Whole M steps and whole profiles of problems that one thread is quick with, compiled.

With a few hundred samples a step of descent takes less time than Python needs to ask for it. Here one call does
all steps of a pattern, and threads do several patterns at once. Each function is the compiled form of one written
for arrays of any size and for tensors: :func:`latentsimplex.em.m_step` with mirror descent
(:func:`latentsimplex.descent.mirror`), and :func:`latentsimplex.profiles.profile`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex._types import Array
from latentsimplex.compute.cpu import EMPTY
from latentsimplex.compute.cuts import best_kmeans, refined_by
from latentsimplex.compute.loops import compiled, row_objective
from latentsimplex.compute.tiles import tile_objective

TINY = float(np.finfo(np.float64).tiny)
FIRST_ROW: Any = np.int64(0)
"""A literal 0 would be a type of its own, for which loops are compiled once more."""


@compiled
def memberships_of(theta: Array, W: Array) -> None:  # pragma: no cover
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
def used_clusters(W: Array) -> int:  # pragma: no cover
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
def sides_of(theta: Array, phi: Array, learned: bool, W: Array, left: Array) -> Array:  # pragma: no cover
    """Write the memberships into W (g, n) and (W B)^T into ``left`` (g, n), and return the response B (g, g).

    Without a learned response phi is the response itself.
    """
    g, n = theta.shape
    memberships_of(theta, W)
    B = 1.0 / (1.0 + np.exp(-phi)) if learned else phi
    left[:] = 0.0
    for k in range(g):
        for l in range(g):
            for i in range(n):
                left[k, i] += B[k, l] * W[l, i]
    return B


@compiled
def natural_slopes(
    W: Array, B: Array, GW: Array, gamma: float, learned: bool, along: Array, beside: Array
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
    scale = gamma * (n - 1)
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
                mass = max((sizes[k] * sizes[l] - both) / 2, 1.0)
                beside[k, l] = gradient / (2 * gamma * mass)


@compiled
def slopes_of(
    theta: Array,
    phi: Array,
    gamma: float,
    stat: Array,
    single: np.ndarray,
    forward: bool,
    learned: bool,
    prices: Array,
    along: Array,
    beside: Array,
) -> float:  # pragma: no cover
    """Return the objective; write the natural gradients in theta (g, n) and in phi (g, g).

    ``single`` are the statistics in single precision, or empty where double is wanted.
    """
    g, n = theta.shape
    W, left, GW = np.empty((g, n)), np.empty((g, n)), np.zeros((g, n))
    B = sides_of(theta, phi, learned, W, left)
    if len(single):
        found = np.zeros((g, n), np.float32)
        value = tile_objective(
            left.astype(np.float32), W.astype(np.float32), gamma, single, FIRST_ROW, n - 1, forward, found
        )
        GW[:] = found
    else:
        value = row_objective(left, W, gamma, stat, FIRST_ROW, n - 1, forward, GW)
    natural_slopes(W, B, GW, gamma, learned, along, beside)
    return value + prices[used_clusters(W) - 1]


@compiled
def advance(
    point: Array,
    look: Array,
    best: Array,
    along: Array,
    best_along: Array,
    failed: bool,
    step: float,
    momentum: float,
) -> None:  # pragma: no cover
    """Go a step from the last point that was looked at, or from the best one after a failure, all in place."""
    rows, columns = look.shape
    for k in range(rows):
        for i in range(columns):
            base, slope = (best[k, i], best_along[k, i]) if failed else (look[k, i], along[k, i])
            stepped = base - step * slope
            look[k, i] = stepped + momentum * (stepped - point[k, i])
            point[k, i] = best[k, i] if failed else stepped


@compiled
def logs(W: Array, B: Array, learned: bool) -> tuple[Array, Array]:  # pragma: no cover
    """Return theta (g, n) and phi (g, g) of memberships (n, g) and a response (g, g)."""
    n, g = W.shape
    theta = np.empty((g, n))
    for k in range(g):
        for i in range(n):
            theta[k, i] = np.log(max(W[i, k], TINY))
    return theta, np.log(B / (1.0 - B)) if learned else B.copy()


@compiled
def unlogged(theta: Array, phi: Array, learned: bool) -> tuple[Array, Array]:  # pragma: no cover
    """Return memberships (n, g) and the response (g, g)."""
    W = np.empty_like(theta)
    memberships_of(theta, W)
    return W.T.copy(), 1.0 / (1.0 + np.exp(-phi)) if learned else phi.copy()


@compiled
def descended(
    W: Array,
    B: Array,
    gamma: float,
    stat: Array,
    forward: bool,
    learned: bool,
    prices: Array,
    n_steps: int,
    rate: float,
    longer: float,
    most_momentum: float,
    rough: bool,
) -> tuple[Array, Array, float]:  # pragma: no cover
    """Return memberships (n, g), response (g, g) and step size after mirror descent with momentum on one pattern.

    Slopes are of single precision where ``rough`` is enough.
    """
    theta, phi = logs(W, B, learned)
    look, look_phi = theta.copy(), phi.copy()
    best, best_phi = theta.copy(), phi.copy()
    along, beside = np.zeros_like(theta), np.zeros_like(phi)
    single = stat.astype(np.float32) if rough else np.empty(0, np.float32)
    value = slopes_of(look, look_phi, gamma, stat, single, forward, learned, prices, along, beside)
    least, last, age = value, value, 1.0
    best_along, best_beside = along.copy(), beside.copy()
    for _ in range(n_steps):
        failed = value > last
        rate = rate / 2 if failed else longer * rate
        older = (1 + np.sqrt(1 + 4 * age * age)) / 2
        momentum = 0.0 if failed else min((age - 1) / older, most_momentum)
        advance(theta, look, best, along, best_along, failed, rate, momentum)
        # a step of 1 is the best response there is for given memberships, and no longer one is better
        advance(phi, look_phi, best_phi, beside, best_beside, failed, min(rate, 1.0), momentum)
        last = least if failed else value
        age = 1.0 if failed else older
        value = slopes_of(look, look_phi, gamma, stat, single, forward, learned, prices, along, beside)
        if value < least:
            least = value
            best[:], best_phi[:], best_along[:], best_beside[:] = look, look_phi, along, beside
    found, response = unlogged(best, best_phi, learned)
    return found, response, rate / 2 if value > last else rate


@compiled
def unpacked(packed: np.ndarray, n: int) -> np.ndarray:  # pragma: no cover
    """Return the symmetric matrix (n, n) of packed pairs, with a diagonal of 0."""
    square, at = np.empty((n, n), packed.dtype), 0
    for i in range(n):
        square[i, i] = 0.0
        square[i, i + 1 :] = packed[at : at + n - 1 - i]
        at += n - 1 - i
        for j in range(i):
            square[i, j] = square[j, i]
    return square


@compiled
def normalised_product(S: Array, root: Array, Q: Array) -> Array:  # pragma: no cover
    """Return N Q for the normalised similarity N_ij = S_ij / (root_i root_j)."""
    scaled = Q.copy()
    for i in range(len(Q)):
        for k in range(Q.shape[1]):
            scaled[i, k] /= root[i]
    product = S @ scaled
    for i in range(len(Q)):
        for k in range(Q.shape[1]):
            product[i, k] /= root[i]
    return product


@compiled
def leading_coordinates(
    S: Array, start: Array, g: int, rounds: int, products: int, shift: float
) -> Array:  # pragma: no cover
    """Return the leading g eigenvectors (n, g) of the normalised similarity, each row over its root degree."""
    n = len(S)
    root = np.empty(n, S.dtype)
    for i in range(n):
        degree = 0.0
        for j in range(n):
            degree += S[i, j]
        root[i] = np.sqrt(degree)
    Q = start.astype(S.dtype)
    for _ in range(rounds):
        for _ in range(products):
            Q = normalised_product(S, root, Q) + shift * Q
        Q = np.linalg.qr(Q)[0].copy()
    vectors = np.linalg.eigh(Q.T.copy() @ normalised_product(S, root, Q))[1].copy()
    U = Q @ vectors
    out = np.empty((n, g))
    for i in range(n):
        for k in range(g):
            out[i, k] = U[i, U.shape[1] - 1 - k] / root[i]
    return out


@compiled
def profile_of(
    F: Array, U: Array, rows: np.ndarray, draws: Array, forward: bool, iterations: int, sweeps: int
) -> tuple[Array, np.ndarray]:  # pragma: no cover
    """Return what is left of the divergence with k = 1..g clusters (g,), and their labels (g, n).

    U (n, g) are spectral coordinates, of which k-means looks at some rows; draws (starts, g, candidates) are
    uniform numbers for its starts.
    """
    n, g = U.shape
    labels, left = np.zeros((g, n), np.intp), np.empty(g)
    Z = np.zeros((n, g * (g + 1) // 2), F.dtype)  # the clusters of all partitions beside each other
    for k in range(1, g + 1):
        if k > 1:
            X = U[:, :k].copy()
            labels[k - 1] = best_kmeans(X, X[rows], draws[:, :k].copy(), iterations)
        for i in range(n):
            Z[i, k * (k - 1) // 2 + labels[k - 1, i]] = 1.0
    sums = np.dot(F, Z)
    for k in range(1, g + 1):
        own = sums[:, k * (k - 1) // 2 : k * (k + 1) // 2].astype(np.float64)
        labels[k - 1], left[k - 1] = refined_by(F, own, labels[k - 1].copy(), forward, sweeps if k > 1 else 0)
    return left, labels
