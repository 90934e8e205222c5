"""The one-humped histogram nearest to a histogram, compiled: rising up to a mode, falling after it."""

from __future__ import annotations

import numpy as np

from latentsimplex.base.compiled import compiled
from latentsimplex.base.types import Array


@compiled
def fit_one_hump(counts: Array, widths: Array) -> Array:
    """Return the masses (bins,) of the likeliest one-humped density whose mode is a bin that is not below the median.

    On each side of the mode the density is the nearest monotone one (pool adjacent violators).
    """
    bins = len(counts)
    density = counts / widths
    middle = np.median(density)
    best, most = counts / counts.sum(), -np.inf
    for mode in range(bins):
        if density[mode] < middle:
            continue
        fitted = np.empty(bins)
        up = rise(density[: mode + 1])
        down = rise(density[mode:][::-1])[::-1]
        fitted[:mode] = up[:mode]
        fitted[mode] = max(up[mode], down[0])
        fitted[mode + 1 :] = down[1:]
        mass = fitted * widths
        mass /= mass.sum()
        likelihood = 0.0
        for i in range(bins):
            if counts[i] > 0:
                likelihood += counts[i] * np.log(max(mass[i], 1e-300))
        if likelihood > most:
            best, most = mass, likelihood
    return best


@compiled
def rise(y: Array) -> Array:
    """Return the nearest sequence that does not fall (n,)."""
    n = len(y)
    level, size, used = np.empty(n), np.empty(n), 0
    for i in range(n):
        level[used], size[used] = y[i], 1.0
        used += 1
        while used > 1 and level[used - 2] > level[used - 1]:
            both = size[used - 2] + size[used - 1]
            level[used - 2] = (level[used - 2] * size[used - 2] + level[used - 1] * size[used - 1]) / both
            size[used - 2] = both
            used -= 1
    risen, start = np.empty(n), 0
    for k in range(used):
        end = start + int(size[k])
        risen[start:end] = level[k]
        start = end
    return risen
