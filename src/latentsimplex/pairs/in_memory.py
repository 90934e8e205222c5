"""Pair values of views in this machine's memory: read from the views, kept in blocks, passed over.

A *block* is what a pass over the views takes at a time, a *batch* what one thread reads at a time: views with one
number of features.

A pass is a sum over blocks of views, and blocks have fixed bounds, so that keeping or recomputing, and any number of
threads, give the same numbers. Values are of single precision: what they are multiplied with is added up in double. In
bytes they are off by a 510th of their range at most, which thousands of pairs average out (docs/performance.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.base.arrays import is_tensor, to_host
from latentsimplex.base.condensed import count_pairs
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import is_wide_shape
from latentsimplex.inputs.views import Views
from latentsimplex.pairs.absent_pairs import Filling, Followed, fill_pairs
from latentsimplex.pairs.divergence import Divergence
from latentsimplex.pairs.memory_budget import Storage, count_readers
from latentsimplex.pairs.protocol import Backend, Block, BlockOperations, Passed, Visit
from latentsimplex.similarity.kernel import (
    LEAST_EXPONENT,
    MOST_EXPONENT,
    Kernel,
    narrow_tables,
    read_exponents,
)

BLOCK_VALUES = 1 << 22
"""Pair values of a block: as many as two passes over them find in a cache near by."""
CHUNK_VIEWS, CHUNK_PAIRS, LEAST_PAIRS = 96, 1 << 15, 1 << 10
"""Views and pairs of a piece of a pass, and the fewest pairs of one: each is enough to do for a thread."""
SUMMED_VALUES = 1 << 20
"""Pair values that one piece of a sum over views adds up."""
FEW_VIEWS = 4
"""Fewer views than this are multiplied with patterns without a copy of those."""
THREADED_VALUES = 1 << 16
"""Fewer pair values than this are done sooner than threads are woken."""
BATCH_ENTRIES = 1 << 20
"""Entries of the n x n matrices that a thread works on at a time."""


class ViewReader:
    """Reads views with a kernel into pair values for a divergence."""

    def __init__(
        self,
        views: Views,
        kernel: Kernel,
        divergence: Divergence,
        workers: Workers,
    ) -> None:
        self.views, self.kernel, self.divergence, self.workers = views, kernel, divergence, workers
        self.n_samples, self._widths = views.n_samples, np.array(views.widths)
        self.filling: Filling | None = None

    def read(self, members: Indices, F: np.ndarray) -> tuple[Array, np.ndarray]:
        """Write f(s) of some views into F (b, m); return the sums of const(s), and which views are not constant."""
        from latentsimplex.pairs._value_loops import write_pair_values

        forward = self.divergence.name == "forward"
        constants, informative = np.zeros(len(members)), np.zeros(len(members), dtype=bool)

        def read_batch(rows: slice) -> None:
            kernel, tables = self.load_tables(members[rows])
            out = F[rows] if tables.shape[1] == self.n_samples else None
            r = read_exponents(
                kernel, tables, self.name_views(members[rows]), out, self.workers.without_loops
            )
            informative[rows] = r.max(axis=1) > 0
            r = self.fill(members[rows], r)
            write_pair_values(r, LEAST_EXPONENT, MOST_EXPONENT, forward, F[rows], constants[rows])

        batches = self.cut_into_batches(members, BATCH_ENTRIES)
        at_once = count_readers(self.n_samples)
        for start in range(0, len(batches), at_once):
            list(self.workers.map(read_batch, batches[start : start + at_once]))
        return constants, informative

    def fill_absent(self, followed: Followed, weights: Array | None) -> None:
        """Decide what stands for the pairs that views lack, by what is known of patterns and what views count."""

        def read_present(v: int) -> tuple[Indices, Array]:
            member, samples = np.array([v]), self.views.find_samples(v)
            given = (*self.load_tables(member), self.name_views(member))
            r = read_exponents(*given, without_loops=self.workers.without_loops)
            return np.arange(self.n_samples) if samples is None else samples, r[0]

        self.filling = fill_pairs(
            read_present, followed, weights, self.divergence, self.n_samples, self.workers
        )

    def fill(self, members: Indices, r: Any) -> Any:
        """Return exponents (b, m) of all pairs, given those of the samples that the views have."""
        samples = self.views.find_samples(int(members[0]))
        if self.filling is None or samples is None:
            return r
        return self.filling.spread(int(members[0]), samples, to_host(r[0]))[None]

    def load_tables(self, members: Indices) -> tuple[Kernel, Any]:
        """Return the tables (b, n, p) of a batch, and the kernel that reads them."""
        return narrow_tables(self.kernel, self.views.tables(members))

    def name_views(self, members: Indices) -> Callable[[int], str]:
        """Return what errors call each of some views."""
        return lambda i: f"view {self.views.names[members[i]]!r}"

    def cut_into_batches(self, members: Indices, entries: int) -> list[slice]:
        """Return runs of views with one number of features, none with more entries of matrices or tables than that.

        Views that lack samples are read one by one.
        """
        widths = self._widths[members]
        ends = [*(np.flatnonzero(np.diff(widths)) + 1).tolist(), len(members)]
        batches, first = [], 0
        for end in ends:
            n, p = self.n_samples, int(widths[first])
            is_alone = is_wide_shape(n, p) or self.views.present is not None
            most = 1 if is_alone else max(1, entries // (n * max(n, p)))
            batches += [slice(i, min(i + most, end)) for i in range(first, end, most)]
            first = end
        return batches


class BlockPasses:
    """Passes over pair values whose blocks are at hand, one after the other."""

    n_samples: int
    constants: Array
    weights: Array
    workers: Workers
    backend: Backend
    blocks: Callable[[], Iterator[tuple[slice, Any]]]
    values: Callable[[int], Any]
    zeros: Callable[[int], Any]
    multiply: Callable[[Any, Any], Any]
    add_statistics: Callable[[Any, Any, Any], None]

    def pass_over(self, visit: Visit, given: Array | None = None) -> Passed:
        """Return what a visit to every block of views finds, each with its rows of what is given."""
        prepared, stat = visit.prepare(self.backend), self.zeros(visit.n_sums)
        rows, total = [], np.zeros(1)
        for at, F in self.blocks():
            block = Block(F, self.constants[at], self.weights[at], None if given is None else given[at])
            own, sums = visit.visit(block, prepared, stat, self)
            rows.append(own)
            total = total + sums
        return Passed(np.concatenate(rows) if rows else np.empty(0), total, stat)

    def subset(self, members: np.ndarray) -> SubsetPairs:
        """Return the pair values of some of the views, in order, without a copy."""
        return SubsetPairs(self, members)


class WeightedSums(NamedTuple):
    """The visit that adds up views: eta^T F for given weights eta (V, d), d of them for each view."""

    n_sums: int

    def prepare(self, backend: Backend) -> None:
        """Return nothing: there is nothing to prepare."""

    def visit(self, block: Block, prepared: Any, stat: Any, pairs: BlockOperations) -> tuple[Array, Array]:
        """Add eta^T F of a block."""
        assert block.given is not None
        pairs.add_statistics(stat, block.given, block.F)
        return np.empty((len(block.given), 0)), np.zeros(1)


class InMemoryPairs(BlockPasses):
    """The packed f(s) of every informative view, in blocks (:class:`latentsimplex.pairs.protocol.PairValues`).

    Parameters
    ----------
    reader : ViewReader
    backend : Backend
        Where M steps run.
    keep : "whole", "bytes" or "nowhere"
        How blocks stay between passes.
    weights : (V,) array or None
        What each view's divergence counts; None is 1 for all.
    members : indices or None
        The views that are read, in order; None is all of them.

    Attributes
    ----------
    informative : (V',) indices
        The views that are not constant, which are the ones that EM sees.
    """

    block_values = BLOCK_VALUES

    def __init__(
        self,
        reader: ViewReader,
        backend: Backend,
        keep: Storage = "whole",
        weights: Array | None = None,
        members: Indices | None = None,
    ) -> None:
        self.n_samples, self.workers, self.backend = reader.n_samples, reader.workers, backend
        self._reader, self._keep = reader, keep
        members = np.arange(len(reader.views)) if members is None else members
        size = max(1, self.block_values // count_pairs(self.n_samples))
        self._kept: list[Any] = []
        constants, informative = self._read_all(members, size)
        blocks = [slice(start, start + size) for start in range(0, len(members), size)]
        found = (members[rows][informative[rows]] for rows in blocks)
        self._members = [block for block in found if len(block)]
        self.informative: Indices = members[informative]
        self.constants: Array = constants[informative]
        self.weights: Array = np.ones(len(self.informative)) if weights is None else weights[self.informative]

    def __len__(self) -> int:
        return len(self.informative)

    def _read_all(self, members: Indices, size: int) -> tuple[Array, np.ndarray]:
        """Read all views and keep their blocks of ``size``; return the sums of const(s), and which are not constant."""
        if self._keep != "whole":
            return self._read_by_block(members, size)
        # all at once, which leaves no thread without work
        F = self._empty(len(members))
        constants, informative = self._reader.read(members, F)
        rows = np.flatnonzero(informative)
        for at, row in enumerate(rows.tolist()):  # in place: there may be no room for a copy
            if at != row:
                F[at] = F[row]
        F.resize((len(rows), F.shape[1]), refcheck=False)
        ends = np.cumsum([informative[start : start + size].sum() for start in range(0, len(members), size)])
        self._kept = [block for block in np.split(F, ends[:-1]) if len(block)]
        return constants, informative

    def _read_by_block(self, members: Indices, size: int) -> tuple[Array, np.ndarray]:
        """Read views block by block, and keep each as it can be kept."""
        constants, informative = np.zeros(len(members)), np.zeros(len(members), dtype=bool)
        for start in range(0, len(members), size):
            rows = slice(start, start + size)
            F = self._empty(len(members[rows]))
            constants[rows], informative[rows] = self._reader.read(members[rows], F)
            if self._keep != "nowhere" and informative[rows].any():
                self._kept.append(self._store(F if informative[rows].all() else F[informative[rows]]))
        return constants, informative

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield rows and F[rows] for each block of informative views, in order."""
        start = 0
        for b, members in enumerate(self._members):
            yield slice(start, start + len(members)), self._load(b)
            start += len(members)

    def values(self, v: int) -> Any:
        """Return F[v], the pair values of the v-th informative view."""
        if self._keep == "nowhere":
            return self._read(self.informative[v : v + 1])[0]
        for block in self._kept:
            if v < len(block):
                return self._fetch(block[v])
            v -= len(block)
        raise IndexError("there are fewer informative views")

    def zeros(self, d: int) -> Any:
        """Return zeros (d, m) where a pass over the views can add up statistics."""
        return np.zeros((d, count_pairs(self.n_samples)))

    def multiply(self, F: Any, A: Any) -> Any:
        """Return F A^T (b, d) for a block F (b, m) and A (d, m), added up in double precision."""
        from latentsimplex.pairs._pass_loops import multiply_strips

        (b, m), d = F.shape, len(A)
        if F.size < THREADED_VALUES or m < LEAST_PAIRS:  # rounding of few pairs does not average out
            return F.astype(np.float64, copy=False) @ np.asarray(A).T
        if b < FEW_VIEWS:
            A = np.asarray(A, dtype=F.dtype)
            chunks = [slice(i, i + CHUNK_PAIRS) for i in range(0, m, CHUNK_PAIRS)]
            parts = self.workers.map(lambda c: F[:, c] @ A[:, c].T, chunks)
            return np.sum(list(parts), axis=0, dtype=np.float64)
        padded = np.zeros((-(-d // 4) * 4, m), dtype=F.dtype)
        padded[:d] = A
        F = np.ascontiguousarray(F)
        jobs = [
            (rows, min(rows + CHUNK_VIEWS, b), pairs, min(pairs + CHUNK_PAIRS, m))
            for rows in range(0, b, CHUNK_VIEWS)
            for pairs in range(0, m, CHUNK_PAIRS)
        ]
        total = np.zeros((b, d))
        parts = self.workers.map(lambda job: multiply_strips(F, padded, *job), jobs)
        for (start, stop, _, _), part in zip(jobs, parts, strict=True):
            total[start:stop] += part[:, :d]
        return total

    def add_statistics(self, stat: Any, eta: Any, F: Any) -> None:
        """Add eta^T F to ``stat`` (d, m) in place, for a block F (b, m) and its responsibilities (b, d)."""
        from latentsimplex.pairs._pass_loops import add_weighted_sums

        b, m = F.shape
        if F.size < THREADED_VALUES or m < LEAST_PAIRS:
            stat += eta.T @ F
            return
        F, eta = np.ascontiguousarray(F), np.ascontiguousarray(eta)
        size = max(LEAST_PAIRS, SUMMED_VALUES // b)
        jobs = [(i, min(i + size, m)) for i in range(0, m, size)]
        list(self.workers.map(lambda job: add_weighted_sums(F, eta, job[0], job[1], stat), jobs))

    def _empty(self, n_views: int) -> Any:
        """Return room for the pair values of so many views."""
        return np.empty((n_views, count_pairs(self.n_samples)), dtype=np.float32)

    def _read(self, members: Indices) -> Any:
        """Return the pair values of some views, read anew."""
        F = self._empty(len(members))
        self._reader.read(members, F)
        return F

    def _load(self, b: int) -> Any:
        """Return the b-th block as a pass wants it."""
        return self._read(self._members[b]) if self._keep == "nowhere" else self._fetch(self._kept[b])

    def _store(self, F: Any) -> Any:
        """Return a block as it stays between passes."""
        return quantise(F, self._reader.divergence) if self._keep == "bytes" else F

    def _fetch(self, kept: Any) -> Any:
        """Return a block that was stored as a pass wants it."""
        return dequantise(kept, self._reader.divergence) if kept.dtype == np.uint8 else kept


class SubsetPairs(BlockPasses):
    """Pair values of some members of other pair values, without a copy."""

    def __init__(self, pairs: BlockPasses, members: np.ndarray) -> None:
        self.n_samples, self.workers, self.backend = pairs.n_samples, pairs.workers, pairs.backend
        self.constants, self.weights = pairs.constants[members], pairs.weights[members]
        self.values = lambda v: pairs.values(int(members[v]))
        self.zeros, self.multiply, self.add_statistics = pairs.zeros, pairs.multiply, pairs.add_statistics
        self._pairs, self._members = pairs, members

    def __len__(self) -> int:
        return len(self._members)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield rows and F[rows] over blocks of the members, in order."""
        start = 0
        for rows, F in self._pairs.blocks():
            here = self._members[(self._members >= rows.start) & (self._members < rows.stop)]
            if len(here):
                # a block all of whose views are members needs no copy
                yield slice(start, start + len(here)), F if len(here) == len(F) else F[here - rows.start]
                start += len(here)


def quantise(F: Any, divergence: Divergence) -> Any:
    """Return pair values as one of 256 levels each, evenly spaced over all that f(s) can be."""
    low, step = _levels(divergence)
    levels = (F - low) / step
    return levels.round().byte() if is_tensor(levels) else np.rint(levels).astype(np.uint8)


def dequantise(levels: Any, divergence: Divergence) -> Any:
    """Return the pair values that levels stand for."""
    low, step = _levels(divergence)
    return levels * np.float32(step) + np.float32(low)


def _levels(divergence: Divergence) -> tuple[float, float]:
    """Return the least value that f(s) can have, and a 255th of its range."""
    low, high = np.sort(divergence.f(np.array([LEAST_EXPONENT, MOST_EXPONENT])))
    return float(low), float((high - low) / 255)
