"""The memory budget of a fit: what it will hold, known before anything is allocated."""

from __future__ import annotations

import math
import os
import re
from typing import Any, Literal

import numpy as np

from latentsimplex.base.condensed import count_pairs

Storage = Literal["whole", "bytes", "nowhere"]
"""How pair values stay between passes: as they are, as one of 256 levels each, or not at all, to be computed again."""

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
AMOUNT = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([KMGT]?B?)\s*")
FALLBACK_BYTES = 4 * 10**9
SHARE_OF_FREE = 0.5
FLOAT, SINGLE = 8, 4
WORKING_COPIES = 4
"""A(q), the statistics, and their copies while a step or a move is tried: each d x m."""
SCRATCH_COPIES = 12
"""What four readings or a spectral start hold at their peak, about six n x n matrices, whatever d."""


def read_memory_limit(limit: Any) -> int:
    """Return ``limit`` in bytes; None is half of what is free.

    >>> read_memory_limit("2GB"), read_memory_limit(1000)
    (2000000000, 1000)
    """
    if limit is None:
        return int(SHARE_OF_FREE * available_bytes())
    if isinstance(limit, str) and (match := AMOUNT.fullmatch(limit.upper())):
        unit = match[2] if match[2] in UNITS else match[2] + "B"
        limit = float(match[1]) * UNITS[unit]
    number = isinstance(limit, (int, float, np.integer, np.floating)) and not isinstance(limit, bool)
    if not (number and 0 < limit < math.inf):
        raise ValueError(
            f'memory_limit={limit!r} is not an amount of memory: give bytes or a string like "2GB".'
        )
    return int(limit)


def available_bytes() -> int:
    """Return the memory that is free for use now, as far as the system tells."""
    try:
        with open("/proc/meminfo") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return FALLBACK_BYTES


def choose_storage(n_views: int, n_samples: int, n_patterns: int, budget: int) -> Storage:
    """Return how pair values are kept; raise MemoryError if not even what EM works with fits.

    >>> [choose_storage(50_000, 150, 10, bytes) for bytes in (4 * 10**9, 10**9, 10**8)]
    ['whole', 'bytes', 'nowhere']
    """
    working = working_bytes(n_samples, n_patterns)
    if working > budget:
        largest = largest_n_samples(n_patterns, budget)
        raise MemoryError(
            f"Fitting {n_samples:,} samples with {n_patterns} patterns needs about {working / 1e9:.3g} GB and the "
            f"limit is {budget / 1e9:.3g} GB: at most {largest:,} samples fit; take a random subset of that many, "
            "lower n_patterns, or raise memory_limit."
        )
    values = n_views * count_pairs(n_samples)
    if working + SINGLE * values <= budget:
        return "whole"
    return "bytes" if working + values <= budget else "nowhere"


def working_bytes(n_samples: int, n_patterns: int) -> int:
    """Return what EM holds whatever the number of views."""
    return FLOAT * count_pairs(n_samples) * (WORKING_COPIES * n_patterns + SCRATCH_COPIES)


def largest_n_samples(n_patterns: int, budget: int) -> int:
    """Return the largest number of samples whose working arrays fit the budget."""
    pairs = budget // (FLOAT * (WORKING_COPIES * n_patterns + SCRATCH_COPIES))
    return (1 + math.isqrt(1 + 8 * pairs)) // 2
