"""Pair values of views from the exponents of their similarities, compiled: f(s) and the sum of const(s) in one pass."""

from __future__ import annotations

import numpy as np

from latentsimplex.compute.loops import STRIP, compiled
from latentsimplex.compute.singles import NONE, exp_and_rest, log_of


@compiled
def pair_values(
    r: np.ndarray, least: float, most: float, forward: bool, F: np.ndarray, constants: np.ndarray
) -> None:  # pragma: no cover
    """Write f(s) of s = exp(-r) into F (b, m) and the sums of const(s) into ``constants`` (b,).

    Exponents r (b, m) are of single precision, are cut to [least, most], and may be F itself. Terms are added up in
    single precision along a strip of pairs and in double from strip to strip. See :mod:`latentsimplex.divergence`.
    """
    low, high = np.float32(least), np.float32(most)
    strip = np.empty(STRIP, np.float32)
    for v in range(len(r)):
        constants[v] = 0.0
        for first in range(0, r.shape[1], STRIP):
            into, part = F[v, first : first + STRIP], NONE
            exponents = strip[: len(into)]
            exponents[:] = r[
                v, first : first + STRIP
            ]  # a loop works on many numbers at once only from here to there
            if forward:
                for j in range(len(into)):
                    x = min(max(exponents[j], low), high)
                    s, rest = exp_and_rest(-x)
                    into[j] = s
                    part += rest * log_of(rest) - s * x
            else:
                for j in range(len(into)):
                    x = min(max(exponents[j], low), high)
                    log_rest = log_of(exp_and_rest(-x)[1])
                    into[j] = -x - log_rest
                    part -= log_rest
            constants[v] += part
