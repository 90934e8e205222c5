"""Where M steps run: on the processor, in NumPy and in loops that Numba compiles, or with tensors.

============ ================= ========== ==========================================
symbol       name              shape      meaning
============ ================= ========== ==========================================
W            ``W``             d x n x g  memberships of patterns
B            ``B``             d x g x g  responses of patterns, symmetric; the identity in the paper
q            ``q``             m          packed expected similarities w_i^T B w_j for i < j
stat, mass   ``stat, mass``    d x m, d   sufficient statistics of patterns
============ ================= ========== ==========================================

============== ======== ========================================================================
pairs          samples  what changes beyond
============== ======== ========================================================================
``MANY``       91       terms of E steps, and M steps of a search, are of single precision
``THREADED``   363      passes in double precision are cut into tiles for threads
``TILE_PAIRS`` 512      all M steps are of single precision, and a pattern's tiles go to threads
============== ======== ========================================================================

Tiles have fixed bounds and are reduced in order, so the result does not depend on the number of threads. Nothing n x n
is held. :mod:`latentsimplex.model.torch_backend` does the same with tensors, for more than 1,024 samples on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided

from latentsimplex.base.arrays import to_host
from latentsimplex.base.condensed import TILE_PAIRS, Tile, count_pairs, cut_into_tiles
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array
from latentsimplex.model.problem import EMPTY, Model, Patterns
from latentsimplex.pairs.divergence import Divergence
from latentsimplex.pairs.protocol import Backend, Objective

T = TypeVar("T")

MANY = 1 << 12
"""Rounding in single precision averages out over more pairs than this."""
THREADED, THREADED_SINGLES = 1 << 16, 1 << 19
"""Fewer pairs than this, in double or in single precision, are done sooner than threads are woken."""
RUNS = 2
"""Runs of tiles for each thread."""
HOST_PAIRS = 1 << 19
"""With no more pairs than this an M step is over on the processor before a GPU has been told what to do."""
DOUBLE_ROUNDING, SINGLE_ROUNDING = 1e-9, 1e-8
"""The share of a loss that is rounding: errors of single pairs average out."""


def choose_backend(device: str | None, n_samples: int, workers: Workers) -> Backend:
    """Return the backend for so many samples whose pair values are on a device of torch or, for None, in memory."""
    if device is None or count_pairs(n_samples) <= HOST_PAIRS:
        return (StepwiseBackend if workers.without_loops else NumbaBackend)(n_samples, workers)
    from latentsimplex.model.torch_backend import TorchBackend

    return TorchBackend(device)


class NumbaBackend:
    """M steps of problems with so many samples on the processor (:class:`latentsimplex.pairs.protocol.Backend`)."""

    def __init__(self, n_samples: int, workers: Workers) -> None:
        self.n, self.m, self.workers = n_samples, count_pairs(n_samples), workers
        self.is_small = self.m <= TILE_PAIRS
        self.loss_rounding = DOUBLE_ROUNDING if self.m <= MANY else SINGLE_ROUNDING

    def place(self, stat: Any) -> Any:
        """Return statistics in this machine's memory."""
        return stat if isinstance(stat, np.ndarray) else to_host(stat)

    def pair_terms(self, W: Array, B: Array, divergence: Divergence) -> tuple[Array, Array]:
        """Return A (d x m), the packed a(q) of each pattern, and H (d), the sums of h(q)."""
        from latentsimplex.model._pair_loops import write_terms

        left, right = make_sides(W, B, np.float64 if self.m <= MANY else np.float32)
        A = np.empty((len(W), self.m), dtype=left.dtype)
        forward = divergence.name == "forward"

        def fill_tile(l: int, tile: Tile) -> float:
            out = A[l, tile.first : tile.last]
            return write_terms(left[l], right[l], tile.start, tile.stop, forward, out)

        sums = [total for _, total in self._map_tiles(fill_tile, len(W), left.dtype)]
        return A, np.reshape(sums, (len(W), -1)).sum(axis=1)

    def pair_objective(self, mass: Array, stat: Array, divergence: Divergence) -> tuple[Objective, Array]:
        """Return sum_{i<j} [mass h(q) - stat a(q)] of each pattern as a function of W and B, and an array of its kind.

        With G the symmetric matrix of slopes, dW = G W B and dB = W^T G W / 2, B taken as a free matrix. A clipped q
        takes the slope at the clipped value, so that a pair that has saturated against its statistic is still pulled
        back. The precision is single where there is more than a tile of pairs.
        """
        from latentsimplex.model._pair_loops import add_gradient, find_first_row

        stat = self._in_precision(stat)
        whole = find_first_row(self.n) is None and len(cut_into_tiles(self.n)) == 1
        forward = divergence.name == "forward"

        def evaluate(W: Array, B: Array) -> tuple[Array, Array, Array]:
            d, n, g = W.shape
            left, right = make_sides(W, B, stat.dtype)
            filled = count_filled_columns(W)

            def differentiate_tile(l: int, tile: Tile) -> tuple[float, Array]:
                k = filled[l]
                GW = np.zeros((k, n), dtype=stat.dtype)
                sides = (left[l, :k], right[l, :k], float(mass[l]), stat[l, tile.first : tile.last])
                return add_gradient(*sides, None if whole else tile.start, tile.stop, forward, GW), GW

            values, GW = np.zeros(d), np.zeros((d, g, n))
            for l, (value, part) in self._map_tiles(differentiate_tile, d, stat.dtype):
                values[l] += value
                GW[l, : len(part)] += part
            return values, GW.transpose(0, 2, 1) @ B, right @ GW.transpose(0, 2, 1) / 2

        return evaluate, stat

    def descend(
        self,
        patterns: Patterns,
        model: Model,
        prices: Array,
        n_steps: int,
        rate: Array,
        single_precision: bool,
    ) -> tuple[Array, Array, Array]:
        """Return W (d, n, g), B (d, g, g) and step sizes (d,) after mirror descent, given what 1..g clusters cost.

        Small patterns go side by side, in single precision where that is enough; of large ones all tiles do. Loops have
        samples along the last axis: memberships are turned here, on the way in and on the way out, and nowhere else.
        """
        from latentsimplex.model._descent_compiled import descend, start_descent
        from latentsimplex.model._descent_tiled import descend_in_tiles
        from latentsimplex.model._pair_loops import find_first_row

        W, B, mass, stat = patterns[:4]
        filled = count_filled_columns(W).tolist()
        forward, learned = model.divergence.name == "forward", model.learned_response
        single = not self.is_small or (single_precision and self.m > MANY)
        first_row = find_first_row(self.n)

        def start(l: int) -> Any:
            k = filled[l]
            columns, response = W[l, :, :k].T, B[l, :k, :k]
            return start_descent(np.ascontiguousarray(columns), np.ascontiguousarray(response), learned)

        def descend_small(l: int) -> tuple[Array, Array, float]:
            values = stat[l].astype(np.float32) if single else stat[l]
            aim = (float(mass[l]), values, first_row, forward, learned, prices[: filled[l]])
            return descend(*start(l), *aim, n_steps, float(rate[l]))

        if self.is_small:
            worth_threads = n_steps * stat.size >= THREADED
            found = list(self.workers.map(descend_small, range(len(W)), worth_threads))
        else:
            aim = (mass, self._in_precision(stat), forward, learned, prices)
            found = descend_in_tiles([start(l) for l in range(len(W))], *aim, n_steps, rate, self.workers)
        W, B = np.zeros_like(W), B.copy()
        for l, (k, (columns, response, _)) in enumerate(zip(filled, found, strict=True)):
            W[l, :, :k], B[l, :k, :k] = columns.T, response
        return W, B, np.array([step for _, _, step in found])

    def inner_products(self, stats: Sequence[Array]) -> Array:
        """Return the inner products of statistics (m,) with each other (d, d)."""
        above = [(i, j) for i in range(len(stats)) for j in range(i, len(stats))]
        found = self.workers.map(
            lambda ij: float(stats[ij[0]] @ stats[ij[1]]), above, threaded=self.m >= THREADED
        )
        products = np.empty((len(stats), len(stats)))
        for (i, j), product in zip(above, found, strict=True):
            products[i, j] = products[j, i] = product
        return products

    def _in_precision(self, stat: Array) -> Array:
        """Return statistics (d, m) in the precision of M steps; equal rows share one."""
        precision = np.float64 if self.is_small else np.float32
        if len(stat) > 1 and stat.strides[0] == 0:
            row = stat[0].astype(precision, copy=False)
            return as_strided(row, stat.shape, (0, row.strides[0]))
        return stat.astype(precision, copy=False)

    def _map_tiles(
        self, function: Callable[[int, Tile], T], d: int, precision: Any
    ) -> Iterator[tuple[int, T]]:
        """Yield the pattern and ``function(pattern, tile)`` of each tile of d patterns, in order."""
        jobs = [(l, tile) for l in range(d) for tile in cut_into_tiles(self.n)]
        many = THREADED if precision == np.float64 else THREADED_SINGLES
        if d * self.m < many:
            yield from ((l, function(l, tile)) for l, tile in jobs)
            return
        # a few tiles in a row: handing out each of them would take as long as some of them
        step = -(-len(jobs) // (RUNS * self.workers.n_jobs))
        runs = [jobs[first : first + step] for first in range(0, len(jobs), step)]
        for found in self.workers.map(lambda run: [(l, function(l, tile)) for l, tile in run], runs):
            yield from found


class StepwiseBackend(NumbaBackend):
    """The same where there are few M steps: loops over pairs are compiled, whole descents are not."""

    descend = None  # type: ignore[assignment]


def make_sides(W: Array, B: Array, precision: Any) -> tuple[Array, Array]:
    """Return (W B)^T and W^T of each pattern, both (d, g, n), of which q is a product."""
    W, B = W.astype(precision, copy=False), B.astype(precision, copy=False)
    left, right = (W @ B).transpose(0, 2, 1), W.transpose(0, 2, 1)
    return np.ascontiguousarray(left), np.ascontiguousarray(right)


def count_filled_columns(W: Array) -> np.ndarray:
    """Return for each pattern (d, n, g) how many of its columns come before the empty ones at the end (d,).

    >>> count_filled_columns(np.array([[[0.0, 1.0, 0.0]]])).tolist()
    [2]
    """
    full = W.max(axis=1) > EMPTY
    return full.shape[1] - np.argmax(full[:, ::-1], axis=1)
