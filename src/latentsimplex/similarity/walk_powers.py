"""Walks by products of their matrices: the length at which similarities have the mean that is wanted.

A walk M is symmetric, with eigenvalues from 0 to 1, of which the largest is 1. Matrices are in stacks (b, n, n), arrays
or tensors.

Lengths are 2, 3, 4, 6, 8, 12, ... A mean between those of two lengths is that of a walk which stops at one or at the
other: K is a mixture of both powers. With H = M^(L/2) and P = M^L,

    K = X (a H + b P),    X = H between the lengths L and 3L/2,    X = P between 3L/2 and 2L.

K's diagonal needs only the products of rows of X with those of H and P, and its mean similarity only products of X, H
and P with a vector. So a and b are found first, and K is the only product that follows P.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from latentsimplex.base.arrays import array_namespace, diagonals, is_tensor, runs_triton, to_host

MOST_DOUBLINGS = 40
"""Most doublings of the walk's length; a connected graph has mixed long before."""
SHORT = 8
"""After so many doublings what rounding does to the largest eigenvalue begins to show, and is taken out again."""
MIXING_STEPS, REACHED = 12, 1e-4
"""Most steps towards a mean, and the share of it that the mean reached may be off."""
BALANCING_STEPS = 20
LONGEST_ROW = 4096
"""Rows of a GPU's matrices that are no longer than this are added up by Triton."""
LEAST_WEIGHT = 1e-12
"""Keeps divisors off 0, components of the graph joined and exponents of different samples positive."""


def similarities_at_mean(walk: Any, mean: float) -> Any:
    """Return the similarities (b, n, n) of walks M of the length at which their mean is ``mean``."""
    K, roots = walk_to_mean(walk, mean)
    K *= roots[..., None]
    K *= roots[:, None, :]
    return K


def walk_to_mean(walk: Any, mean: float, n: int | None = None) -> tuple[Any, Any]:
    """Return K (b, n, n) of walks M whose similarities have a mean, and 1 / sqrt of its diagonal (b, n).

    Where the mean is out of reach, the shortest or the longest walk has to do. Matrices may be wider than the number of
    samples n, by rows and columns of 0.
    """
    n = walk.shape[-1] if n is None else n
    half, power, shortest, longest = double_lengths(walk, mean, n)
    between = mean_of_product(half, power, n)
    longer = between < mean
    left, where = choose(longer, power, half), array_namespace(walk).where
    shortest, longest = where(longer, between, shortest), where(longer, longest, between)
    if (shortest < 0).any():  # walks that were not doubled
        shortest = where(shortest < 0, mean_of_square(half, n), shortest)
    less, more, roots = mix_powers(left, half, power, mean, n, shortest, longest)
    mixture = less[:, None, None] * half
    mixture += more[:, None, None] * power
    return left @ mixture, roots


class Powers(NamedTuple):
    """M^(L/2) and M^L (b, n, n) of walks, and the mean similarities (b,) at the lengths L, or -1, and 2L."""

    half: Any
    power: Any
    shortest: Any
    longest: Any


def double_lengths(walk: Any, mean: float, n: int) -> Powers:
    """Return powers of walks, each of such a length L that its mean similarity is reached between L and 2L.

    The mean at the length L is known where a shorter power was squared.
    """
    half, power, longest = walk, square(walk), None
    found: Powers | None = None
    left = np.arange(len(walk))  # the walks that are still too short
    for doubling in range(MOST_DOUBLINGS):
        now = mean_of_square(power, n)
        enough = to_host(now) >= mean
        if doubling == MOST_DOUBLINGS - 1:
            enough[:] = True
        reached = Powers(half, power, 0 * now - 1 if longest is None else longest, now)
        if enough.all() and len(left) == len(walk):  # as good as always: walks of one kind are about as long
            return reached
        if found is None:
            found = Powers(*(array_namespace(walk).zeros_like(part) for part in reached))
        if enough.any():
            for whole, part in zip(found, reached, strict=True):
                whole[left[enough]] = part[enough]
            left, power, now = left[~enough], power[~enough], now[~enough]
        if not len(left):
            break
        half, power, longest = power, square(power), now
        if doubling >= SHORT:
            power /= diagonals(power).mean(-1)[:, None, None]
    assert found is not None
    return found


def square(M: Any) -> Any:
    """Return the squares of symmetric matrices: BLAS computes half of an array times its own transpose.

    >>> square(np.array([[0.0, 1.0], [1.0, 1.0]])).tolist()
    [[1.0, 1.0], [1.0, 2.0]]
    """
    return M @ M if is_tensor(M) else M @ M.swapaxes(-1, -2)


def choose(which: Any, these: Any, others: Any) -> Any:
    """Return these matrices (b, n, n) or the others, as ``which`` (b,) says, without a copy where all are of a kind."""
    if which.all():
        return these
    return array_namespace(these).where(which[:, None, None], these, others) if which.any() else others


def mix_powers(
    left: Any, half: Any, power: Any, mean: float, n: int, shortest: Any, longest: Any
) -> tuple[Any, Any, Any]:
    """Return a and b (b,) at which K = left (a half + b power) has the mean, and 1 / sqrt of K's diagonal (b, n).

    They are 1 - w and w, with 0 <= w <= 1, each over the mean of the diagonal of its product. The mean rises with w,
    from ``shortest`` to ``longest`` (b,). It is found by false position (the Pegasus variant), for all walks at once,
    each by itself.
    """
    xp = array_namespace(half)
    own, other = multiply_rows(left, half), multiply_rows(left, power)
    of_own, of_other = 1 / own.mean(-1), 1 / other.mean(-1)

    def at(w: Any) -> tuple[Any, Any, Any]:
        less, more = (1 - w) * of_own, w * of_other
        return less, more, xp.clip(less[:, None] * own + more[:, None] * other, LEAST_WEIGHT, None) ** -0.5

    def excess(w: Any) -> Any:
        less, more, roots = at(w)
        by_half, by_power = multiply_vectors(half, power, roots)
        one = left is half or left is power
        by_left = (by_half if left is half else by_power) if one else multiply_vectors(left, left, roots)[0]
        rows = by_left * (less[:, None] * by_half + more[:, None] * by_power)
        return off_diagonal_mean(rows.sum(-1), n) - mean

    start, w, at_start, at_w = 0 * of_own, 0 * of_own + 1, shortest - mean, longest - mean
    going = (at_start < 0) & (at_w > 0)
    w = xp.where(at_start < 0, w, start)
    for _ in range(MIXING_STEPS):
        if not going.any():
            break
        following = xp.where(going, w - at_w * (w - start) / (at_w - at_start + ~going), w)
        there = excess(following)
        crossed = there * at_w < 0
        # the end that stays counts less
        at_start = xp.where(crossed, at_w, at_start * at_w / (at_w + there + ~going))
        start, w, at_w = xp.where(crossed, w, start), following, there
        going = going & (abs(there) > REACHED * mean)
    return at(w)


def mean_of_product(one: Any, other: Any, n: int) -> Any:
    """Return the mean similarity of walks of n samples, products of two shorter ones, without the products."""
    roots = array_namespace(one).clip(multiply_rows(one, other), LEAST_WEIGHT, None) ** -0.5
    by_one, by_other = multiply_vectors(one, other, roots)
    return off_diagonal_mean((by_one * by_other).sum(-1), n)


def mean_of_square(K: Any, n: int) -> Any:
    """Return the mean similarity of walks of twice the length of K's."""
    return mean_of_product(K, K, n)


def multiply_rows(one: Any, other: Any) -> Any:
    """Return the products of rows (b, n) of matrices with those of others: the diagonals of their products."""
    if one.shape[-1] <= LONGEST_ROW and runs_triton(one):
        from latentsimplex.similarity._triton_walks import sum_rows

        return sum_rows(one, other)[0]
    return (one * other).sum(-1)


def multiply_vectors(one: Any, other: Any, x: Any) -> tuple[Any, Any]:
    """Return the products of matrices, and of others, with vectors x (b, n)."""
    if one.shape[-1] <= LONGEST_ROW and runs_triton(one):
        from latentsimplex.similarity._triton_walks import sum_rows

        return sum_rows(one, other, x)
    by_one = (one @ x[..., None])[..., 0]
    return by_one, by_one if other is one else (other @ x[..., None])[..., 0]


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
