"""A compiled loop that keeps the nearest of many candidates."""

from __future__ import annotations

import numpy as np

from latentsimplex.base.compiled import compiled
from latentsimplex.base.types import Array, Indices

LOOKED_AT = 64
"""Candidates that are compared with the worst of those kept, all at once: few have one among them that is nearer."""


@compiled
def keep_nearest(
    heights: Array, candidates: Indices, own: Indices, near: Indices, squares: Array
) -> None:  # pragma: no cover
    """Write the k nearest candidates of each of some samples into ``near`` (b, k), the nearest first.

    ``heights`` (b, m) are squared distances but for a number that all of a row share, ``candidates`` (m,) the samples
    they lead to, ``own`` (b,) the sample that each row is of, which is not its own neighbour. Of equal ones the first
    is the nearer. ``squares`` (b, k) receives the heights that were kept.
    """
    n_rows, n_candidates = heights.shape
    k = near.shape[1]
    for i in range(n_rows):
        row, best, who = heights[i], squares[i], near[i]
        kept = 0
        worst = np.float32(np.inf)
        for start in range(0, n_candidates, LOOKED_AT):
            stop = min(start + LOOKED_AT, n_candidates)
            if stop - start == LOOKED_AT:
                some, nearer = row[start:stop], np.int32(0)
                for j in range(LOOKED_AT):
                    nearer += np.int32(1) if some[j] < worst else np.int32(0)
                if nearer == 0:
                    continue
            for j in range(start, stop):
                height = row[j]
                if height >= worst or candidates[j] == own[i]:
                    continue
                place = min(kept, k - 1)
                while place > 0 and best[place - 1] > height:
                    best[place] = best[place - 1]
                    who[place] = who[place - 1]
                    place -= 1
                best[place] = height
                who[place] = candidates[j]
                if kept < k:
                    kept += 1
                if kept == k:
                    worst = best[k - 1]
