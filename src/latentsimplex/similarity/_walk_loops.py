"""Powers of walks and the similarities that they make, compiled: no lock, little memory.

Each function is the compiled form of one in :mod:`latentsimplex.similarity.walk_powers`, which is written for arrays of
any kind and for tensors; matrices are of single precision and symmetric. :mod:`latentsimplex.similarity._scaling_loops`
makes the walks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex.base.compiled import compiled
from latentsimplex.base.float_math import ONE, ZERO, log
from latentsimplex.similarity._listed_rows import (
    AT_ONCE,
    LANES,
    find_first_bit,
    mark_larger,
    write_listed_rows,
)

NEGLIGIBLE, LONG = 1e-9, 7
"""Entries of a walk that are left out of products, and the doublings that make it so long that none may be."""
MOST_LISTED = 300
"""Matrices with more significant entries in a row, on average, are multiplied as a whole."""


@compiled
def list_significant(
    K: np.ndarray, n: int, least: float, who: np.ndarray, share: np.ndarray, many: np.ndarray
) -> float:  # pragma: no cover
    """List the entries of each row that are larger than ``least``, and return their share of all.

    ``many`` (n,) has their numbers, ``who`` and ``share`` (n, at least n + AT_ONCE) where they are and what they are;
    a list is filled up with entries that are 0, so that rows are added AT_ONCE.
    """
    total, edge = 0, np.float32(least)
    for i in range(n):
        row, places, entries, count = K[i], who[i], share[i], 0
        for first in range(0, n, LANES):
            word = mark_larger(row, first, edge)
            while word:
                j = first + find_first_bit(word)
                places[count], entries[count] = j, row[j]
                word &= np.uint32(word - np.uint32(1))
                count += 1
        total += count
        for c in range(count, max(-(-count // AT_ONCE), 1) * AT_ONCE):
            places[c], entries[c] = 0, 0.0
        many[i] = count
    return total / n**2


@compiled
def multiply_powers(
    half: np.ndarray,
    listed: bool,
    who: np.ndarray,
    share: np.ndarray,
    many: np.ndarray,
    right: np.ndarray,
    out: np.ndarray,
) -> None:  # pragma: no cover
    """Write ``half`` times ``right``, over the mean of its diagonal, into ``out``.

    The product of two powers of one walk is symmetric: only its upper half is computed, from the lists of what is
    significant in ``half`` where there are any. Matrices are as wide as whole lanes, and 0 beyond their n samples.
    """
    n, trace = len(many), 0.0
    if listed:
        for first in range(0, n, LANES):
            for i in range(min(first + LANES, n)):
                write_listed_rows(right, first, who[i], share[i], many[i], out[i])
    else:
        np.dot(half, right, out)
    for i in range(n):
        trace += out[i, i]
    scale = np.float32(n / trace)
    for i in range(n):
        row, upper = out[i], out[i][i:]
        for j in range(i):
            row[j] = out[j, i]
        for j in range(len(upper)):
            upper[j] *= scale


@compiled
def inverse_root_diagonal(
    K: np.ndarray, gap: np.ndarray, n: int, w: Any, tiny: float
) -> np.ndarray:  # pragma: no cover
    """Return 1 / sqrt of the diagonal of K + w gap, off 0."""
    roots = np.empty(n, np.float32)
    for i in range(n):
        roots[i] = 1.0 / np.sqrt(max(K[i, i] + w * gap[i, i], tiny))
    return roots


@compiled
def mean_of_mixture(
    K: np.ndarray, gap: np.ndarray, n: int, w: float, tiny: float
) -> float:  # pragma: no cover
    """Return the mean similarity over pairs of K + w gap."""
    roots = inverse_root_diagonal(K, gap, n, w, tiny)
    total, weight = 0.0, np.float32(w)
    for i in range(n - 1):
        row, other, others = K[i, i + 1 : n], gap[i, i + 1 : n], roots[i + 1 :]
        part: Any = ZERO
        for j in range(len(others)):
            part += (row[j] + weight * other[j]) * others[j]
        total += part * roots[i]
    return 2.0 * total / (n * (n - 1))


@compiled
def mean_of_square(K: np.ndarray, n: int, tiny: float) -> float:  # pragma: no cover
    """Return the mean similarity over pairs of K^2."""
    roots = np.zeros(len(K), np.float32)
    total: Any = 0.0
    for i in range(n):
        row, square = K[i], ZERO
        for j in range(len(row)):
            square += row[j] * row[j]
        roots[i] = 1.0 / np.sqrt(max(float(square), tiny))
    for i in range(n):
        row, part = K[i], ZERO
        for j in range(len(row)):
            part += row[j] * roots[j]
        total += part * part
    return (total - n) / (n * (n - 1))


@compiled
def find_mixture(
    K: np.ndarray, gap: np.ndarray, n: int, mean: float, steps: int, tiny: float
) -> float:  # pragma: no cover
    """Return w in [0, 1] at which K + w gap has a mean similarity, by false position (the Illinois variant)."""
    low, high = 0.0, 1.0
    at_low, at_high = (
        mean_of_mixture(K, gap, n, low, tiny) - mean,
        mean_of_mixture(K, gap, n, high, tiny) - mean,
    )
    if at_low >= 0:
        return low
    if at_high <= 0:
        return high
    w = high
    for _ in range(steps):
        w = low - at_low * (high - low) / (at_high - at_low)
        at_w = mean_of_mixture(K, gap, n, w, tiny) - mean
        if at_w < 0:
            low, at_low, at_high = w, at_w, at_high / 2
        else:
            high, at_high, at_low = w, at_w, at_low / 2
    return w


@compiled
def walk_to_mean(
    M: np.ndarray,
    mean: float,
    doublings: int,
    steps: int,
    tiny: float,
    spare: np.ndarray,
    who: np.ndarray,
    share: np.ndarray,
    many: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # pragma: no cover
    """Return K of a walk M of the length at which its similarities have a mean, and 1 / sqrt of its diagonal.

    What is in ``spare`` (4, as M) and in the lists of :func:`list_significant` is lost. Only pairs i < j of K count.
    """
    n = len(many)
    power, other, middle, unused = spare[0], spare[1], spare[2], spare[3]
    half, least, doubling = M, NEGLIGIBLE, 0
    listed = n * list_significant(half, n, least, who, share, many) < MOST_LISTED
    multiply_powers(half, listed, who, share, many, half, power)
    while doubling < doublings - 1 and mean_of_square(power, n, tiny) < mean:
        doubling += 1
        if doubling == LONG and least > 0:
            # what joins the parts of a graph is not negligible: once more, with it
            doubling, least, half, power, other = 0, 0.0, M, spare[0], spare[1]
            listed = n * list_significant(half, n, least, who, share, many) < MOST_LISTED
            multiply_powers(half, listed, who, share, many, half, power)
            continue
        listed = n * list_significant(power, n, least, who, share, many) < MOST_LISTED
        multiply_powers(power, listed, who, share, many, power, other)
        half, power, other = power, other, unused if doubling == 1 else half
    multiply_powers(half, listed, who, share, many, power, middle)
    shorter, longer = power, middle
    if mean_of_mixture(middle, middle, n, 0.0, tiny) < mean:
        multiply_powers(half, listed, who, share, many, middle, other)
        shorter, longer = middle, other
    for i in range(n):
        row, base = longer[i, i:n], shorter[i, i:n]
        for j in range(len(row)):
            row[j] -= base[j]
    w = np.float32(find_mixture(shorter, longer, n, mean, steps, tiny))
    for i in range(n):
        row, base = longer[i, i:n], shorter[i, i:n]
        for j in range(len(row)):
            row[j] = base[j] + w * row[j]
    return longer, inverse_root_diagonal(longer, longer, n, 0.0, tiny)


@compiled
def balance_rows(K: np.ndarray, roots: np.ndarray, steps: int, tiny: float) -> None:  # pragma: no cover
    """Scale ``roots`` by a factor for each sample that gives all samples the same mean of K_ij roots_i roots_j."""
    n = len(roots)
    factor, sums = np.ones(n, np.float32), np.empty(n, np.float32)
    total = 0.0
    for i in range(n):
        row, own = K[i], roots[i]
        for j in range(i):
            row[j] = K[j, i]
        for j in range(i, n):
            row[j] *= own * roots[j]
        row[i] = ZERO
    for i in range(n):
        for j in range(n):
            total += K[i, j]
    aim = total / n
    for _ in range(steps):
        for i in range(n):
            row, part = K[i], ZERO
            for j in range(n):
                part += row[j] * factor[j]
            sums[i] = part
        for i in range(n):
            factor[i] *= np.sqrt(aim / max(factor[i] * sums[i], tiny))
    for i in range(n):
        roots[i] = factor[i]


@compiled
def write_diffusion_exponents(
    M: np.ndarray,
    mean: float,
    doublings: int,
    mixing_steps: int,
    balancing_steps: int,
    tiny: float,
    floor: float,
    spare: np.ndarray,
    who: np.ndarray,
    share: np.ndarray,
    many: np.ndarray,
    r: np.ndarray,
) -> None:  # pragma: no cover
    """Write the exponents of :class:`latentsimplex.similarity.Diffusion` for a walk M of n samples into r (m,).

    What is in the other arrays is lost: see :func:`walk_to_mean`.
    """
    n = len(many)
    K, roots = walk_to_mean(M, mean, doublings, mixing_steps, tiny, spare, who, share, many)
    if balancing_steps:
        balance_rows(K, roots, balancing_steps, tiny)
    at, least, joined = 0, np.float32(floor), np.float32(tiny)
    for i in range(n - 1):
        row, others, into, own = K[i, i + 1 : n], roots[i + 1 :], r[at : at + n - 1 - i], roots[i]
        # a walk that has mixed makes all samples alike, but only samples that coincide have exponent 0
        for j in range(len(into)):
            into[j] = joined - log(min(max(row[j] * (own * others[j]), least), ONE))
        at += len(into)
