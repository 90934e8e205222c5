"""Whole M steps of patterns with many pairs: the pairs on several threads, what is between them compiled.

Between two passes over the pairs there are a dozen over memberships, which take as long as the pairs do when each is a
call of NumPy's. This is :func:`latentsimplex.em.m_step` with mirror descent (:func:`latentsimplex.descent.mirror`)
for arrays.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from latentsimplex._types import Array
from latentsimplex.compute import Aim
from latentsimplex.compute.cpu import filled_columns, tiles
from latentsimplex.compute.loops import compiled
from latentsimplex.compute.pairs import row_start
from latentsimplex.compute.small import advance, logs, natural_slopes, sides_of, unlogged, used_clusters
from latentsimplex.compute.threads import Workers
from latentsimplex.compute.tiles import tile_objective
from latentsimplex.descent import LONGER, MOST_MOMENTUM

MOST_PARTS = 64
"""Each part of a pass has a gradient of its own until they are added up: so many take no more memory than pairs do."""
JOBS_OF_A_THREAD = 4
"""Pieces of a pass for each thread: few, so that handing them out takes no time, but not so few that one is late."""


@compiled
def sides(
    theta: Array, phi: Array, learned: bool, W: Array, left: np.ndarray, right: np.ndarray
) -> Array:  # pragma: no cover
    """Write memberships into W (g, n) and both sides of a pass over pairs, of single precision; return the response."""
    wide = np.empty_like(W)
    B = sides_of(theta, phi, learned, W, wide)
    left[:], right[:] = wide, W
    return B


@compiled
def pass_over(
    left: np.ndarray,
    right: np.ndarray,
    gamma: float,
    stat: np.ndarray,
    bounds: np.ndarray,
    forward: bool,
    values: Array,
    parts: np.ndarray,
) -> None:  # pragma: no cover
    """Write the objective of each of some tiles into ``values`` and its part of G W into ``parts`` (tiles, g, n).

    Bounds (tiles, 4) are a tile's first row and the one after its last, and likewise of its pairs.
    """
    for t in range(len(bounds)):
        start, stop, first, last = bounds[t]
        parts[t] = np.float32(0.0)
        packed = stat[first:last]
        values[t] = tile_objective(left, right, gamma, packed, start, stop, forward, parts[t])


@compiled
def add_parts(parts: np.ndarray) -> Array:  # pragma: no cover
    """Return the sum of what tiles found (tiles, g, n), in their order and in double precision."""
    total = np.zeros(parts.shape[1:])
    for t in range(len(parts)):
        for k in range(len(total)):
            into, row = total[k], parts[t, k]
            for i in range(len(into)):
                into[i] += row[i]
    return total


def parts_of(n: int) -> np.ndarray:
    """Return the bounds of tiles, or of runs of them where there are many, as :func:`pass_over` takes them.

    >>> parts_of(4).tolist()
    [[0, 3, 0, 6]]
    """
    starts = [start for start, _ in tiles(n)]
    rows = [starts[i] for i in np.unique(np.linspace(0, len(starts), MOST_PARTS + 1)[:-1].astype(int))] + [
        n - 1
    ]
    return np.array(
        [(start, stop, row_start(start, n), row_start(stop, n)) for start, stop in pairwise(rows)]
    )


class Descent:
    """Mirror descent of one pattern: points, directions, and how far to go."""

    def __init__(self, W: Array, B: Array, gamma: float, aim: Aim, rate: float, n_tiles: int) -> None:
        self.gamma, self.learned, self.prices, self.rate = gamma, aim.learned, aim.prices, rate
        self.points = logs(np.ascontiguousarray(W), np.ascontiguousarray(B), aim.learned)
        self.looked_at, self.best = self._copies(self.points), self._copies(self.points)
        flat = np.zeros_like(self.points[0]), np.zeros_like(self.points[1])
        self.slopes, self.best_slopes = flat, self._copies(flat)
        self.value = self.least = self.last = np.inf
        self.age = 1.0
        self.W = np.empty_like(self.points[0])
        self.left, self.right = np.empty_like(self.W, np.float32), np.empty_like(self.W, np.float32)
        # room for what tiles find, kept from pass to pass: threads that ask for memory wait for each other
        self.values, self.parts = np.empty(n_tiles), np.empty((n_tiles, *self.W.shape), np.float32)
        self.look()

    @staticmethod
    def _copies(arrays: tuple[Array, Array]) -> tuple[Array, Array]:
        return arrays[0].copy(), arrays[1].copy()

    def look(self) -> None:
        """Make both sides of a pass over the pairs at the point that is looked at."""
        self.B = sides(*self.looked_at, self.learned, self.W, self.left, self.right)

    def judge(self) -> None:
        """Take in what the tiles of a pass found."""
        first = self.least == np.inf
        GW = add_parts(self.parts)
        self.value = float(self.values.sum() + self.prices[used_clusters(self.W) - 1])
        natural_slopes(self.W, self.B, GW, self.gamma, self.learned, *self.slopes)
        if first:
            self.last = self.value
        if self.value < self.least:
            self.least = self.value
            for kept, found in zip(
                (*self.best, *self.best_slopes), (*self.looked_at, *self.slopes), strict=True
            ):
                kept[:] = found

    def step(self) -> None:
        """Go on from the point that is looked at, or back to the best one if that was a failure."""
        failed = self.value > self.last
        self.rate = self.rate / 2 if failed else LONGER * self.rate
        older = (1 + (1 + 4 * self.age**2) ** 0.5) / 2
        momentum = 0.0 if failed else min((self.age - 1) / older, MOST_MOMENTUM)
        # a step of 1 is the best response there is for given memberships, and no longer one is better
        for point, look, best, slope, best_slope, most in zip(
            self.points, self.looked_at, self.best, self.slopes, self.best_slopes, (np.inf, 1.0), strict=True
        ):
            advance(point, look, best, slope, best_slope, failed, min(self.rate, most), momentum)
        self.last = self.least if failed else self.value
        self.age = 1.0 if failed else older
        self.look()

    def result(self) -> tuple[Array, Array, float]:
        """Return memberships (n, g), the response (g, g) and the step size to go on with."""
        W, B = unlogged(*self.best, self.learned)
        return W, B, self.rate / 2 if self.value > self.last else self.rate


def descended_in_tiles(
    W: Array, B: Array, gamma: Array, stat: np.ndarray, aim: Aim, rate: Array, workers: Workers
) -> list[tuple[Array, Array, float]]:
    """Return memberships, response and step size of each pattern after mirror descent; ``stat`` is prepared.

    Tiles have fixed bounds and are added up in order, so the result does not depend on the number of threads.
    """
    n, forward = W.shape[1], aim.divergence.name == "forward"
    filled = filled_columns(W.transpose(0, 2, 1)).tolist()
    bounds = parts_of(n)
    descents = [
        Descent(W[l, :, :k], B[l, :k, :k], float(gamma[l]), aim, float(rate[l]), len(bounds))
        for l, k in enumerate(filled)
    ]
    size = -(-len(bounds) * len(descents) // (JOBS_OF_A_THREAD * workers.n_jobs))
    jobs = [(l, slice(i, i + size)) for l in range(len(descents)) for i in range(0, len(bounds), size)]

    def some_tiles(l: int, here: slice) -> None:
        own = descents[l]
        sides = (own.left, own.right, own.gamma, stat[l], bounds[here], forward)
        pass_over(*sides, own.values[here], own.parts[here])

    for steps in range(aim.n_steps + 1):
        if steps:
            list(workers.imap(Descent.step, descents))
        workers.starmap(some_tiles, jobs)
        list(workers.imap(Descent.judge, descents))
    return [descent.result() for descent in descents]
