"""Mirror descent of patterns with many pairs: tiles of pairs on several threads, what is between two passes compiled.

Between two passes over the pairs there are a dozen over memberships, which take as long as the pairs do when each is a
call of NumPy's. The steps are those of :func:`latentsimplex.model._descent_compiled.descend`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from latentsimplex.base.compiled import compiled
from latentsimplex.base.condensed import cut_into_tiles
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array
from latentsimplex.model._descent_compiled import (
    advance,
    copy_into,
    count_used_clusters,
    response_of,
    write_memberships,
    write_natural_gradients,
    write_sides,
)
from latentsimplex.model._pair_loops import add_gradient
from latentsimplex.model.descent import next_pace

MOST_PARTS = 64
"""Each part of a pass has a gradient of its own until they are added up: so many take no more memory than pairs do."""
JOBS_OF_A_THREAD = 4
"""Pieces of a pass for each thread: few, so that handing them out takes no time, but not so few that one is late."""


@compiled
def write_narrow_sides(
    theta: Array, phi: Array, learned: bool, W: Array, left: np.ndarray, right: np.ndarray
) -> Array:  # pragma: no cover
    """Write memberships into W (g, n) and both sides of a pass over pairs, of single precision; return the response."""
    wide = np.empty_like(W)
    B = write_sides(theta, phi, learned, W, wide)
    copy_into(wide, left)
    copy_into(W, right)
    return B


@compiled
def pass_over_tiles(
    left: np.ndarray,
    right: np.ndarray,
    mass: float,
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
        values[t] = add_gradient(left, right, mass, packed, start, stop, forward, parts[t])


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


def bound_parts(n: int) -> np.ndarray:
    """Return the bounds of tiles, or of runs of them where there are many, as :func:`pass_over_tiles` takes them.

    >>> bound_parts(4).tolist()
    [[0, 3, 0, 6]]
    """
    tiles = cut_into_tiles(n)
    edges = [*np.unique(np.linspace(0, len(tiles), MOST_PARTS + 1)[:-1].astype(int)).tolist(), len(tiles)]
    runs = [(tiles[i], tiles[j - 1]) for i, j in pairwise(edges)]
    return np.array([(one.start, other.stop, one.first, other.last) for one, other in runs])


class Descent:
    """Mirror descent of one pattern: points theta and phi, directions, and how far to go."""

    def __init__(
        self, start: tuple[Array, Array], mass: float, learned: bool, prices: Array, rate: float, n_tiles: int
    ) -> None:
        self.mass, self.learned, self.prices, self.rate, self.age = mass, learned, prices, rate, 1.0
        self.points = start
        self.looked_at, self.best = copy_both(start), copy_both(start)
        self.slopes = np.zeros_like(start[0]), np.zeros_like(start[1])  # a response that is not learned stays
        self.best_slopes = copy_both(self.slopes)
        self.value = self.least = self.last = np.inf
        self.W = np.empty_like(start[0])
        self.left, self.right = np.empty_like(self.W, np.float32), np.empty_like(self.W, np.float32)
        # room for what tiles find, kept from pass to pass: threads that ask for memory wait for each other
        self.values, self.parts = np.empty(n_tiles), np.empty((n_tiles, *self.W.shape), np.float32)
        self.prepare_pass()

    def prepare_pass(self) -> None:
        """Make both sides of a pass over the pairs at the point that is looked at."""
        self.B = write_narrow_sides(*self.looked_at, self.learned, self.W, self.left, self.right)

    def judge(self) -> None:
        """Take in what the tiles of a pass found."""
        first = self.least == np.inf
        GW = add_parts(self.parts)
        self.value = float(self.values.sum() + self.prices[count_used_clusters(self.W) - 1])
        write_natural_gradients(self.W, self.B, GW, self.mass, self.learned, *self.slopes)
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
        failed, self.rate, momentum, self.age, self.last = next_pace(
            self.value, self.last, self.least, self.age, self.rate
        )
        # a step of 1 is the best response there is for given memberships, and no longer one is better
        for point, looked_at, best, slope, best_slope, most in zip(
            self.points, self.looked_at, self.best, self.slopes, self.best_slopes, (np.inf, 1.0), strict=True
        ):
            advance(point, looked_at, best, slope, best_slope, failed, min(self.rate, most), momentum)
        self.prepare_pass()

    def result(self) -> tuple[Array, Array, float]:
        """Return memberships (g, n), the response (g, g) and the step size to go on with."""
        theta, phi = self.best
        write_memberships(theta, self.W)
        rate = self.rate / 2 if self.value > self.last else self.rate
        return self.W, response_of(phi, self.learned), rate


def copy_both(arrays: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return copies of theta and phi."""
    return arrays[0].copy(), arrays[1].copy()


def descend_in_tiles(
    starts: list[tuple[Array, Array]],
    mass: Array,
    stat: np.ndarray,
    forward: bool,
    learned: bool,
    prices: Array,
    n_steps: int,
    rate: Array,
    workers: Workers,
) -> list[tuple[Array, Array, float]]:
    """Return memberships (g, n), response and step size of each pattern after mirror descent.

    Tiles have fixed bounds and are added up in order, so the result does not depend on the number of threads.
    """
    bounds = bound_parts(starts[0][0].shape[1])
    descents = [
        Descent(start, float(mass[l]), learned, prices, float(rate[l]), len(bounds))
        for l, start in enumerate(starts)
    ]
    size = -(-len(bounds) * len(descents) // (JOBS_OF_A_THREAD * workers.n_jobs))
    jobs = [(l, slice(i, i + size)) for l in range(len(descents)) for i in range(0, len(bounds), size)]

    def pass_over(job: tuple[int, slice]) -> None:
        l, here = job
        own = descents[l]
        sides = (own.left, own.right, own.mass, stat[l], bounds[here], forward)
        pass_over_tiles(*sides, own.values[here], own.parts[here])

    for step in range(n_steps + 1):
        if step:
            list(workers.map(Descent.step, descents))
        list(workers.map(pass_over, jobs))
        list(workers.map(Descent.judge, descents))
    return [descent.result() for descent in descents]
