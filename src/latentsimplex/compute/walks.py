"""Powers of walks and the similarities that they make, compiled: no lock, little memory.

Each function is the compiled form of one in :mod:`latentsimplex.similarity.diffusion` that is written for arrays of any
size and for tensors; matrices are of single precision and symmetric. :mod:`latentsimplex.compute.graphs` makes the
walks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex.compute.loops import compiled, logarithms


@compiled
def multiply(K: np.ndarray, other: np.ndarray, out: np.ndarray) -> None:  # pragma: no cover
    """Write K times ``other``, over the mean of its diagonal, into ``out``."""
    np.dot(K, other, out)
    trace = 0.0
    for i in range(len(out)):
        trace += out[i, i]
    scale = np.float32(len(out) / trace)
    for i in range(len(out)):
        row = out[i]
        for j in range(len(out)):
            row[j] *= scale


@compiled
def root_returns(K: np.ndarray, gap: np.ndarray, w: Any, tiny: float) -> np.ndarray:  # pragma: no cover
    """Return 1 / sqrt of the diagonal of K + w gap, off 0."""
    roots = np.empty(len(K), np.float32)
    for i in range(len(K)):
        roots[i] = 1.0 / np.sqrt(max(K[i, i] + w * gap[i, i], tiny))
    return roots


@compiled
def mean_between(K: np.ndarray, gap: np.ndarray, w: float, tiny: float) -> float:  # pragma: no cover
    """Return the mean similarity over pairs of K + w gap."""
    n = len(K)
    roots = root_returns(K, gap, w, tiny)
    total, share = 0.0, np.float32(w)
    for i in range(n):
        row, other = K[i], gap[i]
        part: Any = np.float32(0.0)
        for j in range(n):
            part += (row[j] + share * other[j]) * roots[j]
        total += part * roots[i]
    return (total - n) / (n * (n - 1))


@compiled
def mean_doubled(K: np.ndarray, tiny: float) -> float:  # pragma: no cover
    """Return the mean similarity over pairs of K^2."""
    n = len(K)
    roots = np.empty(n, np.float32)
    total: Any = 0.0
    for i in range(n):
        row, square = K[i], np.float32(0.0)
        for j in range(n):
            square += row[j] * row[j]
        roots[i] = 1.0 / np.sqrt(max(float(square), tiny))
    for i in range(n):
        row, part = K[i], np.float32(0.0)
        for j in range(n):
            part += row[j] * roots[j]
        total += part * part
    return (total - n) / (n * (n - 1))


@compiled
def mixture(
    K: np.ndarray, gap: np.ndarray, mean: float, steps: int, tiny: float
) -> float:  # pragma: no cover
    """Return w in [0, 1] at which K + w gap has a mean similarity, by false position (the Illinois variant)."""
    low, high = 0.0, 1.0
    at_low, at_high = mean_between(K, gap, low, tiny) - mean, mean_between(K, gap, high, tiny) - mean
    if at_low >= 0:
        return low
    if at_high <= 0:
        return high
    w = high
    for _ in range(steps):
        w = low - at_low * (high - low) / (at_high - at_low)
        at_w = mean_between(K, gap, w, tiny) - mean
        if at_w < 0:
            low, at_low, at_high = w, at_w, at_high / 2
        else:
            high, at_high, at_low = w, at_w, at_low / 2
    return w


@compiled
def walk_to_mean(
    M: np.ndarray, mean: float, doublings: int, steps: int, tiny: float, spare: np.ndarray
) -> np.ndarray:  # pragma: no cover
    """Return the similarities of a walk M of the length at which their mean is ``mean``; ``spare`` is (3, n, n)."""
    n = len(M)
    half, power, other, middle = M, spare[0], spare[1], spare[2]
    multiply(half, half, power)
    for _ in range(doublings - 1):
        if mean_doubled(power, tiny) >= mean:
            break
        multiply(power, power, other)
        half, power, other = power, other, half
    multiply(power, half, middle)
    shorter, longer = power, middle
    if mean_between(middle, middle, 0.0, tiny) < mean:
        multiply(power, power, other)
        shorter, longer = middle, other
    for i in range(n):
        row, base = longer[i], shorter[i]
        for j in range(n):
            row[j] -= base[j]
    w = np.float32(mixture(shorter, longer, mean, steps, tiny))
    roots = root_returns(shorter, longer, w, tiny)
    for i in range(n):
        row, base, own = longer[i], shorter[i], roots[i]
        for j in range(n):
            row[j] = (base[j] + w * row[j]) * (own * roots[j])
    return longer


@compiled
def balance_rows(S: np.ndarray, steps: int, tiny: float) -> None:  # pragma: no cover
    """Scale similarities, in place, by a factor for each sample that gives all samples the same mean."""
    n = len(S)
    factor, sums = np.ones(n, np.float32), np.empty(n, np.float32)
    total = 0.0
    for i in range(n):
        S[i, i] = 0.0
        for j in range(n):
            total += S[i, j]
    aim = total / n
    for _ in range(steps):
        for i in range(n):
            row, part = S[i], np.float32(0.0)
            for j in range(n):
                part += row[j] * factor[j]
            sums[i] = part
        for i in range(n):
            factor[i] *= np.sqrt(aim / max(factor[i] * sums[i], tiny))
    for i in range(n):
        row, own = S[i], factor[i]
        for j in range(n):
            row[j] = min(row[j] * own * factor[j], np.float32(1.0))


@compiled
def diffused(
    M: np.ndarray,
    mean: float,
    doublings: int,
    mixing_steps: int,
    balancing_steps: int,
    tiny: float,
    floor: float,
    spare: np.ndarray,
    r: np.ndarray,
) -> None:  # pragma: no cover
    """Write the exponents of :class:`latentsimplex.similarity.Diffusion` for a walk M (n, n) into r (m,).

    What is in M and in ``spare`` (3, n, n) is lost.
    """
    n = len(M)
    S = walk_to_mean(M, mean, doublings, mixing_steps, tiny, spare)
    if balancing_steps:
        balance_rows(S, balancing_steps, tiny)
    at = 0
    for i in range(n - 1):
        row, into = S[i, i + 1 :], r[at : at + n - 1 - i]
        for j in range(len(into)):
            into[j] = min(max(row[j], floor), 1.0)
        logarithms(into, into)
        # a walk that has mixed makes all samples alike, but only samples that coincide have exponent 0
        for j in range(len(into)):
            into[j] = tiny - into[j]
        at += len(into)
