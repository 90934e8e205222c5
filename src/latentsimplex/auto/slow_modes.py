"""Slow modes (eigenvectors) of neighbour graphs that separate clusters: how many there are beyond null clouds.

In many dimensions clusters overlap in every order of the samples, but k of them have k - 1 modes that are slower than
those of clouds without clusters: s_j = log(r_m / r_j), r_j the rates and m the fastest mode looked at, less the mean of
the same over clouds. In few dimensions long or curved shapes have slow modes as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latentsimplex.base.kmeans import kmeans
from latentsimplex.base.types import Array
from latentsimplex.neighbours.neighbour_graphs import Modes

LEAST_SLOWNESS, SPREADS, GAP_SPREADS, LEAST_SPREAD = 0.1, 5.0, 4.0, 0.02
"""A mode is slow if s_j is no less than ``LEAST_SLOWNESS``, or what the dimension explains, and ``SPREADS`` standard
deviations of clouds, which are no less than ``LEAST_SPREAD``. A gap after slow modes takes ``GAP_SPREADS`` of its
own."""
COMPARABLE = 0.1
"""The share of the widest gap that a later one needs: beside clusters far apart, shapes within them are no clusters."""
NEXT_MODES = 2
"""Modes on each side whose spread over clouds is averaged: a few clouds tell little of one."""
GEOMETRY = 2 * np.log(2)
"""In d dimensions rates grow as j^(2/d): from the first mode to the second, shape alone makes a gap of this over d."""


def excess_slowness(rates: Array, of_clouds: Sequence[Array]) -> tuple[Array, Array, Array]:
    """Return s_j (m,), how much slower modes are than those of clouds, and standard deviations of clouds.

    These are of s_j (m,) and of the gaps between one mode and the next (m - 1,).
    """
    m = min(len(rates), *(len(each) for each in of_clouds))
    clouds = np.array([np.log(each[m - 1] / each[:m]) for each in of_clouds])
    slowness = np.log(rates[m - 1] / rates[:m]) - clouds.mean(axis=0)
    spreads = [smooth_spread(each) for each in (clouds, np.diff(clouds))]
    return slowness, *spreads


def smooth_spread(clouds: Array) -> Array:
    """Return the standard deviation of each mode over a few clouds, a geometric mean over the modes next to it."""
    logs = np.log(np.maximum(clouds.std(axis=0, ddof=1), LEAST_SPREAD))
    window, middle = np.ones(2 * NEXT_MODES + 1), slice(NEXT_MODES, NEXT_MODES + len(logs))
    sums, counts = (np.convolve(each, window)[middle] for each in (logs, np.ones_like(logs)))
    return np.exp(sums / counts)


def count_slow_modes(slowness: Array, spread: Array, gap_spread: Array, dimension: float) -> tuple[int, bool]:
    """Return how many modes tell clusters apart, and whether that number is clear.

    Most of them must be slow. The number is clear if a gap follows that clouds do not have; of several, the last that
    is no less than a tenth of the widest.
    """
    least = max(LEAST_SLOWNESS, GEOMETRY / dimension)
    slow = (slowness >= least) & (slowness >= SPREADS * spread)
    gaps = slowness[:-1] - slowness[1:]
    mostly = np.cumsum(slow) > 0.5 * np.arange(1, len(slow) + 1)
    clear = mostly[:-1] & (gaps >= least) & (gaps >= GAP_SPREADS * gap_spread)
    if clear.any():
        comparable = clear & (gaps >= COMPARABLE * gaps[clear].max())
        return int(np.flatnonzero(comparable)[-1]) + 1, True
    unclear = np.flatnonzero(slow & mostly)
    return (int(unclear[-1]) + 1 if len(unclear) else 0), False


def cut_by_modes(modes: Modes, k: int) -> np.ndarray:
    """Return k clusters (n,) by the slowest k - 1 modes, samples compared by direction."""
    rows = np.column_stack([np.full(len(modes.values), modes.constant), modes.values[:, : k - 1]])
    return kmeans(rows / np.linalg.norm(rows, axis=1, keepdims=True), k)
