"""Walks by products of their matrices: powers whose similarities have the mean that is wanted.

A walk M is symmetric, with eigenvalues from 0 to 1, of which the largest is 1. Matrices are in stacks (b, n, n), arrays
or tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex.base.arrays import array_namespace, diagonals, to_host

MOST_DOUBLINGS = 40
"""Most doublings of the walk's length; a connected graph has mixed long before."""
SHORT = 8
"""After so many doublings what rounding does to the largest eigenvalue begins to show, and is taken out again."""
MIXING_STEPS = 5
BALANCING_STEPS = 20
LEAST_WEIGHT = 1e-12
"""Keeps divisors off 0, components of the graph joined and exponents of different samples positive."""


def similarities_at_mean(walk: Any, mean: float) -> Any:
    """Return the similarities (b, n, n) of walks M of the length at which their mean is ``mean``.

    Lengths are 2, 3, 4, 6, 8, 12, ... A mean between those of two lengths is that of a walk which stops at one or
    at the other: K is a mixture of both powers. Where the mean is out of reach, the shortest or the longest walk
    has to do.
    """
    shorter, longer = enclosing_powers(walk, mean)
    less, more, roots = mix_powers(shorter, longer, mean)
    K = less[:, None, None] * shorter
    K += more[:, None, None] * longer
    K *= roots[..., None]
    K *= roots[:, None, :]
    return K


def enclosing_powers(walk: Any, mean: float) -> tuple[Any, Any]:
    """Return the powers of walks between whose mean similarities a mean lies."""
    half, power = walk, square(walk)
    shorter: Any = None
    longer: Any = None
    left = np.arange(len(walk))  # the walks that are still too short
    for doubling in range(MOST_DOUBLINGS):
        enough = to_host(mean_of_square(power)) >= mean
        if doubling == MOST_DOUBLINGS - 1:
            enough[:] = True
        if enough.all() and len(left) == len(walk):  # as good as always: walks of one kind are about as long
            return choose_enclosing(half, power, mean)
        if shorter is None:
            shorter, longer = array_namespace(walk).zeros_like(walk), array_namespace(walk).zeros_like(walk)
        if enough.any():
            shorter[left[enough]], longer[left[enough]] = choose_enclosing(half[enough], power[enough], mean)
            left, power = left[~enough], power[~enough]
        if not len(left):
            break
        half, power = power, square(power)
        if doubling >= SHORT:
            power /= diagonals(power).mean(-1)[:, None, None]
    return shorter, longer


def square(M: Any) -> Any:
    """Return the squares of symmetric matrices: BLAS computes half of a matrix times its own transpose.

    >>> square(np.array([[0.0, 1.0], [1.0, 1.0]])).tolist()
    [[1.0, 1.0], [1.0, 2.0]]
    """
    return M @ M.swapaxes(-1, -2)


def choose_enclosing(half: Any, power: Any, mean: float) -> tuple[Any, Any]:
    """Return the powers between which the mean lies: of M^L, M^(3L/2) and M^(2L), given M^(L/2) and M^L."""
    middle = power @ half
    past = mean_similarity(middle) < mean
    if not past.any():
        return power, middle
    if past.all():
        return middle, square(power)
    shorter, longer = middle + 0, middle
    shorter[~past] = power[~past]
    longer[past] = square(power[past])
    return shorter, longer


def mix_powers(shorter: Any, longer: Any, mean: float) -> tuple[Any, Any, Any]:
    """Return a and b (b,) at which K = a shorter + b longer has the mean, and 1 / sqrt of K's diagonal (b, n).

    They are 1 - w and w, with 0 <= w <= 1, each over the mean of its power's diagonal. The mean rises with w, which is
    found by false position (the Illinois variant), for all walks at once.
    """
    xp, n = array_namespace(shorter), shorter.shape[-1]
    own, other = diagonals(shorter), diagonals(longer)
    of_own, of_other = 1 / own.mean(-1), 1 / other.mean(-1)

    def at(w: Any) -> tuple[Any, Any, Any]:
        less, more = (1 - w) * of_own, w * of_other
        return less, more, xp.clip(less[:, None] * own + more[:, None] * other, LEAST_WEIGHT, None) ** -0.5

    def excess(w: Any) -> Any:
        less, more, roots = at(w)
        roots = roots[..., None]
        rows = less[:, None, None] * (shorter @ roots) + more[:, None, None] * (longer @ roots)
        return off_diagonal_mean((rows * roots).sum((-1, -2)), n) - mean

    low, high = 0 * of_own, 0 * of_own + 1
    at_low, at_high = excess(low), excess(high)
    w = xp.where(at_low >= 0, low, high)
    inside = (at_low < 0) & (at_high > 0)
    for _ in range(MIXING_STEPS):
        w = xp.where(inside, low - at_low * (high - low) / (at_high - at_low + ~inside), w)
        at_w = excess(w)
        below = at_w < 0
        at_high = xp.where(below, at_high / 2, at_w)
        at_low = xp.where(below, at_w, at_low / 2)
        low, high = xp.where(below, w, low), xp.where(below, high, w)
    return at(w)


def mean_similarity(K: Any) -> Any:
    """Return the mean of K_ij / sqrt(K_ii K_jj) over pairs, for each K (b, n, n)."""
    roots = array_namespace(K).clip(diagonals(K), LEAST_WEIGHT, None)[..., None] ** -0.5
    return off_diagonal_mean(((K @ roots) * roots).sum((-1, -2)), K.shape[-1])


def mean_of_square(K: Any) -> Any:
    """Return the mean similarity of a walk of twice the length of K's, whose entries are products of K's rows."""
    xp = array_namespace(K)
    roots = 1 / xp.clip(xp.linalg.norm(K, None, -1), LEAST_WEIGHT**0.5, None)[..., None]
    return off_diagonal_mean(((K @ roots) ** 2).sum((-1, -2)), K.shape[-1])


def off_diagonal_mean(total: Any, n: int) -> Any:
    """Return the mean over pairs, given the sum over the whole matrix, whose diagonal is 1."""
    return (total - n) / (n * (n - 1))


def balance_rows(S: Any) -> Any:
    """Return the similarities with a factor for each sample that gives all samples the same mean.

    >>> S = np.array([[[1.0, 0.2, 0.2], [0.2, 1.0, 0.8], [0.2, 0.8, 1.0]]])
    >>> (balance_rows(S)[0].sum(axis=0) - np.diag(balance_rows(S)[0])).round(2).tolist()
    [0.8, 0.8, 0.8]
    """
    xp = array_namespace(S)
    S = S + 0
    diagonals(S)[:] = 0.0
    aim = S.sum((-1, -2)) / S.shape[-1]
    factor = 0 * S[..., :1] + 1
    for _ in range(BALANCING_STEPS):
        factor = factor * (aim[:, None, None] / xp.clip(factor * (S @ factor), LEAST_WEIGHT, None)) ** 0.5
    S *= factor
    S *= factor.swapaxes(-1, -2)
    return xp.clip(S, None, 1.0)
