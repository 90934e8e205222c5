"""Pair values of all views on this machine: kept when they fit, recomputed block by block when not.

A pass over them is a sum over blocks of views, and blocks have fixed bounds, so that keeping or
recomputing, and any number of threads, give the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latentsimplex._types import Array, Indices
from latentsimplex.compute.pairs import n_pairs
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import Divergence
from latentsimplex.similarity import Kernel, checked_exponents, clip_exponents
from latentsimplex.views import Views

BLOCK_VALUES = 1 << 22


class LocalPairs:
    """The packed f(s) of every informative view, in blocks.

    Attributes
    ----------
    informative : (V',) indices
        The views that are not constant, which are the ones that EM sees.
    constants, weights : (V',) arrays
        Sum over pairs of const(s), and what the divergence counts, for each of them.
    """

    def __init__(
        self,
        views: Views,
        kernel: Kernel,
        divergence: Divergence,
        workers: Workers,
        keep: bool,
        weights: Array | None = None,
    ) -> None:
        self.n_samples = views.n_samples
        self.workers = workers
        self._views, self._kernel, self._divergence = views, kernel, divergence
        size = max(1, BLOCK_VALUES // n_pairs(self.n_samples))
        self._members: list[list[int]] = []
        self._kept: list[Array] | None = [] if keep else None
        constants: list[float] = []
        for start in range(0, len(views), size):
            block = range(start, min(start + size, len(views)))
            scanned = workers.imap(self._scan, block)
            informative = [
                (v, const, f) for v, (const, f) in zip(block, scanned, strict=True) if f is not None
            ]
            if informative:
                members, consts, values = zip(*informative, strict=True)
                self._members.append(list(members))
                constants.extend(consts)
                if self._kept is not None:
                    self._kept.append(np.stack(values))
        self.informative: Indices = np.array([v for members in self._members for v in members], dtype=np.intp)
        self.constants: Array = np.array(constants)
        self.weights: Array = np.ones(len(constants)) if weights is None else weights[self.informative]

    def __len__(self) -> int:
        return len(self.informative)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield rows and F[rows] for each block of informative views, in order."""
        start = 0
        for b, members in enumerate(self._members):
            F = (
                np.stack(list(self.workers.imap(self._values, members)))
                if self._kept is None
                else self._kept[b]
            )
            yield slice(start, start + len(members)), F
            start += len(members)

    def values(self, v: int) -> Array:
        """Return F[v], the pair values of the v-th informative view."""
        if self._kept is None:
            return self._values(int(self.informative[v]))
        for block in self._kept:
            if v < len(block):
                return block[v]
            v -= len(block)
        raise IndexError("there are fewer informative views")

    def _values(self, v: int) -> Array:
        return self._divergence.f(clip_exponents(self._exponents(v)))

    def _scan(self, v: int) -> tuple[float, Array | None]:
        """Return the sum of const(s) and f(s) of a view; no f(s) where all samples coincide."""
        r = self._exponents(v)
        if not r.any():
            return 0.0, None
        r = clip_exponents(r)
        return float(self._divergence.const(r).sum()), self._divergence.f(r)

    def _exponents(self, v: int) -> Array:
        return checked_exponents(self._kernel, self._views[v], f"view {self._views.names[v]!r}")
