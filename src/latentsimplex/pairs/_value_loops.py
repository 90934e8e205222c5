"""Pair values of views from the exponents of their similarities, compiled: f(s) and the sum of const(s) in one pass."""

from __future__ import annotations

import numpy as np

from latentsimplex.base.compiled import STRIP, compiled
from latentsimplex.base.float_math import ZERO
from latentsimplex.pairs.divergence_loops import forward_f_and_const, reverse_f_and_const


@compiled
def write_pair_values(
    r: np.ndarray, least: float, most: float, forward: bool, F: np.ndarray, constants: np.ndarray
) -> None:  # pragma: no cover
    """Write f(s) of s = exp(-r) into F (b, m) and the sums of const(s) into ``constants`` (b,).

    Exponents r (b, m) are of single precision, are cut to [least, most], and may be F itself. Terms are added up in
    single precision along a strip of pairs and in double from strip to strip.
    """
    low, high = np.float32(least), np.float32(most)
    strip = np.empty(STRIP, np.float32)
    for v in range(len(r)):
        constants[v] = 0.0
        for first in range(0, r.shape[1], STRIP):
            into, part = F[v, first : first + STRIP], ZERO
            exponents = strip[: len(into)]
            # a loop works on many numbers at once only from one array to another
            for j in range(len(into)):
                exponents[j] = r[v, first + j]
            if forward:
                for j in range(len(into)):
                    into[j], const = forward_f_and_const(min(max(exponents[j], low), high))
                    part += const
            else:
                for j in range(len(into)):
                    into[j], const = reverse_f_and_const(min(max(exponents[j], low), high))
                    part += const
            constants[v] += part
