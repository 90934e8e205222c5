"""What a fit will hold in memory, known before anything is allocated."""

from __future__ import annotations

import math
import os
import re
from typing import Any

import numpy as np

from latentsimplex.compute.pairs import n_pairs

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
AMOUNT = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([KMGT]?B?)\s*")
FALLBACK_BYTES = 4 * 10**9
SHARE_OF_FREE = 0.5
FLOAT, SINGLE = 8, 4
WORKING_COPIES = 4
"""A(q), the statistics, and their copies while a step or a move is tried: each d x m."""
SCRATCH_COPIES = 12
"""What four readings or a spectral start hold at their peak, about six n x n matrices, whatever d."""


def memory_budget(limit: Any) -> int:
    """Return ``limit`` in bytes; None is half of what is free.

    >>> memory_budget("2GB"), memory_budget(1000)
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


def keep_pairs(n_views: int, n_samples: int, n_patterns: int, budget: int) -> bool:
    """Return whether all pair values fit; raise MemoryError if not even the working arrays do.

    >>> keep_pairs(6, 2000, 6, 10**9), keep_pairs(50_000, 150, 10, 10**9)
    (True, False)
    """
    working = working_bytes(n_samples, n_patterns)
    if working > budget:
        largest = largest_n(n_patterns, budget)
        raise MemoryError(
            f"Fitting {n_samples:,} samples with {n_patterns} patterns needs about {working / 1e9:.3g} GB and the "
            f"limit is {budget / 1e9:.3g} GB: at most {largest:,} samples fit; take a random subset of that many, "
            "lower n_patterns, or raise memory_limit."
        )
    return working + n_views * n_pairs(n_samples) * SINGLE <= budget


def storage(n_views: int, n_samples: int, n_patterns: int, budget: int) -> str:
    """Return how pair values are kept: "whole", in "bytes" where only those fit, or "nowhere"; or raise MemoryError.

    >>> [storage(50_000, 150, 10, gigabytes * 10**9) for gigabytes in (4, 1)], storage(50_000, 150, 10, 10**8)
    (['whole', 'bytes'], 'nowhere')
    """
    if keep_pairs(n_views, n_samples, n_patterns, budget):
        return "whole"
    in_bytes = working_bytes(n_samples, n_patterns) + n_views * n_pairs(n_samples)
    return "bytes" if in_bytes <= budget else "nowhere"


def working_bytes(n_samples: int, n_patterns: int) -> int:
    """Return what EM holds whatever the number of views."""
    return FLOAT * n_pairs(n_samples) * (WORKING_COPIES * n_patterns + SCRATCH_COPIES)


def largest_n(n_patterns: int, budget: int) -> int:
    """Return the largest number of samples whose working arrays fit the budget."""
    pairs = budget // (FLOAT * (WORKING_COPIES * n_patterns + SCRATCH_COPIES))
    return (1 + math.isqrt(1 + 8 * pairs)) // 2
