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
from latentsimplex.similarity._matrix_products import (
    AT_ONCE,
    LANES,
    ROWS,
    count_bits,
    find_first_bit,
    mark_larger,
    write_block,
    write_listed_rows,
)
from latentsimplex.similarity.walk_powers import REACHED

NEGLIGIBLE, LONG = 1e-9, 7
"""Entries of a walk that are left out of products, and the doublings that make it so long that none may be."""
MOST_LISTED = 0.1
"""With a larger share of significant entries listing them, and adding the rows listed, takes longer than a product."""


@compiled
def count_significant(K: np.ndarray, n: int, least: float) -> float:  # pragma: no cover
    """Return the share of entries that are larger than ``least``."""
    total, edge = 0, np.float32(least)
    for i in range(n):
        row = K[i]
        for first in range(0, n, LANES):
            total += count_bits(mark_larger(row, first, edge))
    return total / n**2


@compiled
def list_significant(
    K: np.ndarray, n: int, least: float, who: np.ndarray, share: np.ndarray, many: np.ndarray
) -> None:  # pragma: no cover
    """List the entries of each row that are larger than ``least``.

    ``many`` (n,) has their numbers, ``who`` and ``share`` (n, at least n + AT_ONCE) where they are and what they are;
    a list is filled up with entries that are 0, so that rows are added AT_ONCE.
    """
    edge = np.float32(least)
    for i in range(n):
        row, places, entries, count = K[i], who[i], share[i], 0
        for first in range(0, n, LANES):
            word = mark_larger(row, first, edge)
            while word:
                j = first + find_first_bit(word)
                places[count], entries[count] = j, row[j]
                word &= np.uint32(word - np.uint32(1))
                count += 1
        for c in range(count, max(-(-count // AT_ONCE), 1) * AT_ONCE):
            places[c], entries[c] = 0, 0.0
        many[i] = count


@compiled
def list_if_few(
    K: np.ndarray, n: int, least: float, who: np.ndarray, share: np.ndarray, many: np.ndarray
) -> bool:  # pragma: no cover
    """List what is significant in a matrix if that is little, and return whether it is."""
    if count_significant(K, n, least) > MOST_LISTED:
        return False
    list_significant(K, n, least, who, share, many)
    return True


@compiled
def write_product(
    left: np.ndarray,
    listed: bool,
    who: np.ndarray,
    share: np.ndarray,
    many: np.ndarray,
    right: np.ndarray,
    out: np.ndarray,
) -> None:  # pragma: no cover
    """Write the upper half of ``left`` times ``right``, whose product is symmetric, into ``out``.

    It comes from the lists of what is significant in ``left`` if this is ``listed``. Matrices are as wide as whole
    lanes, and 0 beyond their n samples; what is below the diagonal of ``out`` is not to be used.
    """
    n = len(many)
    for first in range(0, n, LANES):
        if listed:
            for i in range(min(first + LANES, n)):
                write_listed_rows(right, first, who[i], share[i], many[i], out[i])
        else:
            for top in range(0, min(first + LANES, n), ROWS):
                write_block(left, top, right, first, n, out)


@compiled
def square_power(
    K: np.ndarray,
    least: float,
    who: np.ndarray,
    share: np.ndarray,
    many: np.ndarray,
    out: np.ndarray,
) -> None:  # pragma: no cover
    """Write K^2 over the mean of its diagonal, both halves of it, into ``out``; what is in the lists is lost."""
    n, trace = len(many), 0.0
    listed = list_if_few(K, n, least, who, share, many)
    write_product(K, listed, who, share, many, K, out)
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
def write_products_of_rows(
    one: np.ndarray, other: np.ndarray, n: int, out: np.ndarray
) -> float:  # pragma: no cover
    """Write the diagonal of a product of symmetric matrices into ``out`` (n,), and return its mean."""
    total: Any = 0.0
    for i in range(n):
        row, beside, part = one[i], other[i], ZERO
        for j in range(len(row)):  # whole lanes: what is beyond n samples is 0
            part += row[j] * beside[j]
        out[i] = part
        total += part
    return total / n


@compiled
def mean_of_mixture(
    half: np.ndarray,
    power: np.ndarray,
    longer: bool,
    own: np.ndarray,
    other: np.ndarray,
    less: float,
    more: float,
    tiny: float,
    roots: np.ndarray,
) -> float:  # pragma: no cover
    """Return the mean similarity over pairs of K = X (less H + more P), X being P if that is ``longer``, H otherwise.

    H is ``half`` and P is ``power``, the diagonals of X H and X P (n,) are ``own`` and ``other``. Write 1 / sqrt of K's
    diagonal into ``roots``, as long as a row.
    """
    n = len(own)
    total: Any = 0.0
    for i in range(n):
        roots[i] = 1.0 / np.sqrt(max(less * own[i] + more * other[i], tiny))
    for i in range(n):
        row, beside, by_half, by_power = half[i], power[i], ZERO, ZERO
        for j in range(len(row)):
            by_half += row[j] * roots[j]
            by_power += beside[j] * roots[j]
        total += (by_power if longer else by_half) * (less * by_half + more * by_power)
    return (total - n) / (n * (n - 1))


@compiled
def mean_of_square(K: np.ndarray, n: int, tiny: float) -> float:  # pragma: no cover
    """Return the mean similarity over pairs of K^2."""
    roots, own = np.zeros(len(K), np.float32), np.empty(n)
    total: Any = 0.0
    write_products_of_rows(K, K, n, own)
    for i in range(n):
        roots[i] = 1.0 / np.sqrt(max(own[i], tiny))
    for i in range(n):
        row, part = K[i], ZERO
        for j in range(len(row)):
            part += row[j] * roots[j]
        total += part * part
    return (total - n) / (n * (n - 1))


@compiled
def find_mixture(
    half: np.ndarray,
    power: np.ndarray,
    longer: bool,
    n: int,
    mean: float,
    shortest: float,
    longest: float,
    steps: int,
    tiny: float,
    roots: np.ndarray,
) -> tuple[float, float]:  # pragma: no cover
    """Return a and b at which K = X (a H + b P) has a mean similarity, by false position (the Pegasus variant).

    That of X H is ``shortest``, that of X P ``longest``: see
    :func:`latentsimplex.similarity.walk_powers.mix_powers`. 1 / sqrt of K's diagonal is written into ``roots``.
    """
    own, other = np.empty(n), np.empty(n)
    left = power if longer else half
    of_own = 1.0 / write_products_of_rows(left, half, n, own)
    of_other = 1.0 / write_products_of_rows(left, power, n, other)
    start, w, at_start, at_w = 0.0, 1.0, shortest - mean, longest - mean
    if at_start >= 0:
        w = start
    elif at_w > 0:
        for _ in range(steps):
            following = w - at_w * (w - start) / (at_w - at_start)
            less, more = (1.0 - following) * of_own, following * of_other
            there = mean_of_mixture(half, power, longer, own, other, less, more, tiny, roots) - mean
            if there * at_w < 0:
                start, at_start = w, at_w
            else:  # the end that stays counts less
                at_start *= at_w / (at_w + there)
            w, at_w = following, there
            if abs(there) <= REACHED * mean:
                break
    less, more = (1.0 - w) * of_own, w * of_other
    for i in range(n):
        roots[i] = 1.0 / np.sqrt(max(less * own[i] + more * other[i], tiny))
    return less, more


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
    n, roots, own = len(many), np.zeros(len(M), np.float32), np.empty(len(many))
    half, power, other, mixture = M, spare[0], spare[1], spare[3]
    least, doubling = NEGLIGIBLE, 0
    square_power(half, least, who, share, many, power)
    shortest, longest = -1.0, mean_of_square(power, n, tiny)
    while doubling < doublings - 1 and longest < mean:
        doubling += 1
        if doubling == LONG and least > 0:
            # what joins the parts of a graph is not negligible: once more, with it
            doubling, least, half, power, other = 0, 0.0, M, spare[0], spare[1]
            square_power(half, least, who, share, many, power)
            shortest, longest = -1.0, mean_of_square(power, n, tiny)
            continue
        square_power(power, least, who, share, many, other)
        half, power, other = power, other, spare[2] if doubling == 1 else half
        shortest, longest = longest, mean_of_square(power, n, tiny)
    of_own = 1.0 / write_products_of_rows(half, power, n, own)
    between = mean_of_mixture(half, power, True, own, own, of_own, 0.0, tiny, roots)
    longer = between < mean
    if longer:
        shortest = between
    else:
        longest = between
        if doubling == 0:
            shortest = mean_of_square(half, n, tiny)
    less, more = find_mixture(half, power, longer, n, mean, shortest, longest, steps, tiny, roots)
    a, b = np.float32(less), np.float32(more)
    for i in range(n):
        row, beside, into = half[i], power[i], mixture[i]
        for j in range(len(row)):
            into[j] = a * row[j] + b * beside[j]
    write_product(power if longer else half, False, who, share, many, mixture, other)
    return other, roots[:n]


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
