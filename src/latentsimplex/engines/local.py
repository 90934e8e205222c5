"""Pair values of views on this machine: kept when they fit, in bytes when only those do, recomputed when not.

A pass over them is a sum over blocks of views, and blocks have fixed bounds, so that keeping or
recomputing, and any number of threads, give the same numbers. They are of single precision: what they
are multiplied with is added up in double. In bytes they are off by a 510th of their range at most, which thousands
of pairs average out (docs/performance.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from latentsimplex._types import Array, Indices
from latentsimplex.compute.pairs import n_pairs
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import Divergence
from latentsimplex.known import Known
from latentsimplex.similarity import Kernel, clip_exponents, tables_exponents
from latentsimplex.similarity.kernel import LEAST_EXPONENT, MOST_EXPONENT
from latentsimplex.views import Views

BLOCK_VALUES = 1 << 22
"""Pair values of a block: as many as two passes over them find in a cache near by."""
BLOCKS_READ = 4
"""Blocks that are read at once where they are kept."""
BATCH_ENTRIES = 1 << 20
"""Entries of the n x n matrices that a thread works on at a time."""
PROFILE_BYTES = 1 << 25
"""Bytes of profiles that are kept."""
BYTES_OF_A_READING = 30
"""Bytes that a reading takes for each entry of an n x n matrix."""
READ_AT_ONCE, SCRATCH_BYTES = 4, 1 << 30
"""However many threads there are, no more batches than this are read at once, or as many as fit so many bytes. Four
are what :mod:`latentsimplex.engines.memory` reckons with."""


class LocalPairs:
    """The packed f(s) of every informative view, in blocks.

    Attributes
    ----------
    informative : (V',) indices
        The views that are not constant, which are the ones that EM sees; of ``members`` alone, if given.
    constants, weights : (V',) arrays
        Sum over pairs of const(s), and what the divergence counts, for each of them.
    home : array
        An empty array of the kind that statistics are in M steps.
    profiles : Known
        What clusters explain of groups of these views, for whoever asks again.
    """

    def __init__(
        self,
        views: Views,
        kernel: Kernel,
        divergence: Divergence,
        workers: Workers,
        keep: bool | str,
        weights: Array | None = None,
        members: Indices | None = None,
    ) -> None:
        self.n_samples = views.n_samples
        self.workers = workers
        self.home: Any = np.empty(0)
        self.profiles: Known[Any] = Known(PROFILE_BYTES)
        self._views, self._kernel, self._divergence = views, kernel, divergence
        self._widths = np.array(views.widths)
        members = np.arange(len(views)) if members is None else members
        size = max(1, self._block_values() // n_pairs(self.n_samples))
        self._members: list[Indices] = []
        self._kept: list[Any] | None = [] if keep in (True, "whole", "bytes") else None
        self._in_bytes = keep == "bytes"
        constants: list[Array] = []
        # what is kept as it is read can be read many blocks at a time, which leaves no thread without work
        many = size * (self._blocks_read() if self._kept is not None and not self._in_bytes else 1)
        for start in range(0, len(members), many):
            span = members[start : start + many]
            F, consts, informative = self._read(span)
            for first in range(0, len(span), size):
                rows = slice(first, first + size)
                telling = informative[rows]
                if not telling.any():
                    continue
                self._members.append(span[rows][telling])
                constants.append(consts[rows][telling])
                if self._kept is not None:
                    # a slice keeps the whole span alive, so that either all blocks of it are slices or none is
                    self._kept.append(self._stored(F[rows] if informative.all() else F[rows][telling]))
        none = np.empty(0, dtype=np.intp)
        self.informative: Indices = np.concatenate([none, *self._members])
        self.constants: Array = np.concatenate([np.empty(0), *constants])
        self.weights: Array = np.ones(len(self)) if weights is None else weights[self.informative]

    def __len__(self) -> int:
        return len(self.informative)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield rows and F[rows] for each block of informative views, in order."""
        start = 0
        for b, members in enumerate(self._members):
            F = self._read(members)[0] if self._kept is None else self._fetched(self._kept[b])
            yield slice(start, start + len(members)), F
            start += len(members)

    def values(self, v: int) -> Any:
        """Return F[v], the pair values of the v-th informative view."""
        if self._kept is None:
            return self._read(self.informative[v : v + 1])[0][0]
        for block in self._kept:
            if v < len(block):
                return self._fetched(block[v])
            v -= len(block)
        raise IndexError("there are fewer informative views")

    def zeros(self, d: int) -> Any:
        """Return zeros (d, m) where a pass over the views can add up statistics."""
        return np.zeros((d, n_pairs(self.n_samples)))

    def homed(self, stat: Any) -> Any:
        """Return statistics where M steps want them."""
        return stat

    def _stored(self, F: Any) -> Any:
        """Return a block as it stays between passes: as it is, or each value as one of 256 levels."""
        if not self._in_bytes:
            return F
        low, step = self._levels()
        return np.rint((F - low) / step).astype(np.uint8)

    def _fetched(self, F: Any) -> Any:
        """Return a block that was stored, as a pass wants it."""
        if F.dtype != np.uint8:
            return F
        low, step = self._levels()
        return F * np.float32(step) + np.float32(low)

    def _levels(self) -> tuple[float, float]:
        """Return the least value that f(s) can have, and a 255th of its range."""
        low, high = np.sort(self._divergence.f(clip_exponents(np.array([0.0, np.inf]))))
        return float(low), float((high - low) / 255)

    def _block_values(self) -> int:
        return BLOCK_VALUES

    def _blocks_read(self) -> int:
        return BLOCKS_READ

    def _read(self, members: Indices) -> tuple[Any, Array, np.ndarray]:
        """Return f(s) of some views, the sums of const(s), and whether they have anything to tell."""
        from latentsimplex.compute.values import pair_values

        forward = self._divergence.name == "forward"
        F = np.empty((len(members), n_pairs(self.n_samples)), dtype=np.float32)
        constants, informative = np.zeros(len(members)), np.zeros(len(members), dtype=bool)

        def batch(rows: slice) -> None:
            tables = self._views.tables(members[rows])
            r = tables_exponents(self._kernel, tables, self._namer(members[rows]), F[rows])
            informative[rows] = r.any(axis=1)
            pair_values(r, LEAST_EXPONENT, MOST_EXPONENT, forward, F[rows], constants[rows])

        batches = self._batches(members, BATCH_ENTRIES)
        at_once = max(READ_AT_ONCE, SCRATCH_BYTES // (BYTES_OF_A_READING * self.n_samples**2))
        for start in range(0, len(batches), at_once):
            for _ in self.workers.imap(batch, batches[start : start + at_once]):
                pass
        return F, constants, informative

    def _namer(self, members: Indices) -> Callable[[int], str]:
        return lambda i: f"view {self._views.names[members[i]]!r}"

    def _batches(self, members: Indices, entries: int) -> list[slice]:
        """Return runs of views with one number of features, none with more entries of matrices or tables than that."""
        widths = self._widths[members]
        ends = [*(np.flatnonzero(np.diff(widths)) + 1).tolist(), len(members)]
        batches, first = [], 0
        for end in ends:
            most = max(1, entries // (self.n_samples * max(self.n_samples, int(widths[first]))))
            batches += [slice(i, min(i + most, end)) for i in range(first, end, most)]
            first = end
        return batches
