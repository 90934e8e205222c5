"""The one-humped histogram nearest to a histogram, compiled: rising up to a mode, falling after it."""

from __future__ import annotations

import numpy as np

from latentsimplex.base.compiled import compiled
from latentsimplex.base.types import Array


@compiled
def fit_one_hump(counts: Array, widths: Array, least: float) -> Array:
    """Return the masses (bins,) of the likeliest one-humped density whose mode is a bin of no less than ``least``.

    On each side of the mode the density is the nearest monotone one (pool adjacent violators).
    """
    bins = len(counts)
    density, backward, best = np.empty(bins), np.empty(bins), np.empty(bins)
    total = 0.0
    for i in range(bins):
        total += counts[i]
        density[i] = counts[i] / widths[i]
        backward[bins - 1 - i] = density[i]
    for i in range(bins):
        best[i] = counts[i] / total
    most = -np.inf
    up, down, mass = np.empty(bins), np.empty(bins), np.empty(bins)
    for mode in range(bins):
        if density[mode] < least:
            continue
        rise(density, mode + 1, up)
        rise(backward, bins - mode, down)
        total, likelihood = 0.0, 0.0
        for i in range(bins):
            height = up[i] if i < mode else down[bins - 1 - i]
            mass[i] = widths[i] * (max(up[mode], height) if i == mode else height)
            total += mass[i]
        for i in range(bins):
            mass[i] /= total
            if counts[i] > 0:
                likelihood += counts[i] * np.log(max(mass[i], 1e-300))
        if likelihood > most:
            most = likelihood
            for i in range(bins):
                best[i] = mass[i]
    return best


@compiled
def rise(y: Array, n: int, risen: Array) -> None:
    """Write the nearest sequence that does not fall to the first n numbers of y into ``risen``."""
    level, size, used = np.empty(n), np.empty(n), 0
    for i in range(n):
        level[used], size[used] = y[i], 1.0
        used += 1
        while used > 1 and level[used - 2] > level[used - 1]:
            both = size[used - 2] + size[used - 1]
            level[used - 2] = (level[used - 2] * size[used - 2] + level[used - 1] * size[used - 1]) / both
            size[used - 2] = both
            used -= 1
    start = 0
    for k in range(used):
        for i in range(start, start + int(size[k])):
            risen[i] = level[k]
        start += int(size[k])
