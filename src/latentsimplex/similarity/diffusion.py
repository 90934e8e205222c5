"""Similarity by diffusion: how much of a random walk's mass two samples share after a while.

A graph joins each sample to its nearest neighbours, with their local-scaling similarity as weight. Its
symmetric normalisation N, the lazy walk M = (I + N) / 2 and K = M^(2t) give

    s_ij = K_ij / sqrt(K_ii K_jj),

positive semi-definite and in [0, 1]. The walk follows clusters of any shape, and far samples of one
cluster become similar once it has had the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from numbers import Integral, Real
from threading import local
from typing import Any

import numpy as np
from sklearn.utils import check_scalar

from latentsimplex._arrays import (
    diagonals,
    is_single,
    is_tensor,
    namespace,
    on_card,
    on_host,
    ranked,
    stacked,
)
from latentsimplex.compute.pairs import n_pairs, pack
from latentsimplex.similarity.directions import DIRECTIONS, KnownDirections, followed, leading_directions
from latentsimplex.similarity.local_scaling import (
    FEW_FEATURES,
    LEAST_SIMILARITY,
    LocalScaling,
    compared,
    feature_sets,
    standardised,
)
from latentsimplex.similarity.powers import (
    BALANCING_STEPS,
    DOUBLINGS,
    MIXING_STEPS,
    TINY,
    balanced,
    by_mean,
    enclosing_powers,
    mixing,
)

MOST_MULTIPLIED = 3 * DIRECTIONS
"""With no more samples, products of whole matrices are quicker than finding directions."""
FEW_ON_A_CARD = 16
"""Loops over so many features are written out on a graphics card."""
TIED = 1e-6
"""Affinities that differ by no more than this share of themselves are tied: rounding made the difference."""
QUANTILE, POWER = 0.3, 2.0
"""The local scaling that chooses and weighs neighbours: as wide as the author's notebook has it, and smooth."""


class Room(local):
    """Memory for the powers of one view's walk, which a thread keeps: new memory takes longer than filling it."""

    n = 0

    def for_samples(self, n: int) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Return a matrix for the walk, which may hold anything but is 0 beyond n samples, four more, and lists."""
        if n != self.n:
            from latentsimplex.compute.walks import EIGHT, LANES

            wide = -(-n // LANES) * LANES
            self._matrices = np.zeros((5, wide, wide), np.float32)
            self._lists = (
                np.empty((n, n + EIGHT), np.uint16),
                np.empty((n, n + EIGHT), np.float32),
                np.empty(n, np.int64),
            )
            self.n = n
        return self._matrices[0], self._matrices[1:], self._lists


room = Room()


@dataclass(frozen=True)
class Diffusion:
    """Random walks on a nearest-neighbour graph.

    Parameters
    ----------
    neighbours : int, float in (0, 1) or "sqrt"
        Neighbours of each sample in the graph, at least 2: a number, a share of the samples, or the square
        root of their number.
    mean : float in (0, 1)
        The length of the walk is the one at which the mean similarity of a view is this. A partition into
        k equal clusters has a mean co-assignment of 1/k.
    balance : bool
        Scale the similarities of each sample by a factor of its own, so that all samples have the same mean
        similarity to the others: what is left is with whom, not how well, a sample is connected.
    standardise : bool
        Give each feature of a view mean 0 and variance 1 first.
    per_feature : bool
        Compare samples feature by feature and take the mean, as :class:`LocalScaling` does: for features
        with heavy tails.

    Examples
    --------
    >>> X = np.r_[np.arange(10.0), np.arange(100.0, 110.0)][:, None]
    >>> s = np.exp(-Diffusion(neighbours=3, mean=0.4).exponents(X))
    >>> bool(s[0] > 0.5), bool(s[-1] > 0.5), bool(s.min() < 1e-6), round(float(s.mean()), 2)
    (True, True, True, 0.4)
    """

    neighbours: Any = 10
    mean: float = 0.1
    balance: bool = False
    standardise: bool = True
    per_feature: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.neighbours, Integral):
            check_scalar(self.neighbours, "neighbours", Integral, min_val=1)
        elif self.neighbours != "sqrt":
            check_scalar(
                self.neighbours, "neighbours", Real, min_val=0, max_val=1, include_boundaries="neither"
            )
        check_scalar(self.mean, "mean", Real, min_val=0, max_val=1, include_boundaries="neither")

    def exponents(self, X: Any, out: Any = None, known: KnownDirections | None = None) -> Any:
        """Return -log s of every pair; all zero when all samples coincide.

        X may have axes before the last two, and be a tensor: exponents are then those of each table. Those of arrays of
        single precision are written into ``out`` if it is given; long walks that are ``known`` are not found again.
        """
        xp, n = namespace(X), X.shape[-2]
        tables = X.reshape(-1, *X.shape[-2:])
        if is_single(X) and n <= MOST_MULTIPLIED:
            r = self._compiled_exponents(tables, out)
        elif on_card(X) and n <= MOST_MULTIPLIED and not self.balance:
            r = self._card_exponents(tables)
        else:
            S = self.similarities(tables, known)
            if self.balance:
                S = balanced(S)
            # a walk that has mixed makes all samples alike, but only samples that coincide have exponent 0
            r = TINY - xp.log(xp.clip(pack(S), LEAST_SIMILARITY, 1.0))
        varies = (tables != tables[:, :1]).any(-1).any(-1)
        if is_tensor(r) or not varies.all():
            r *= varies[:, None]
        if out is not None and r is not out:
            out[:] = r
        return r.reshape(*X.shape[:-2], n_pairs(n))

    def similarities(self, tables: Any, known: KnownDirections | None = None) -> Any:
        """Return the similarities (b, n, n) of tables (b, n, p), not balanced.

        Long walks of many samples live in few directions, which are enough to follow them.
        """
        if tables.shape[-2] <= MOST_MULTIPLIED:
            return by_mean(self.walk(tables), self.mean)
        return stacked([self._followed(X, known) for X in tables])

    def _followed(self, X: Any, known: KnownDirections | None) -> Any:
        """Return the similarities (n, n) of one table of many samples."""
        walk = cache(lambda: self.walk(X[None]))
        if known is None:
            found = leading_directions(walk()[0])
        else:
            graph = (self.neighbours, self.standardise, self.per_feature, X.shape)
            table = blake2b(on_host(X).tobytes()).digest()
            found = known.get((graph, table), lambda: leading_directions(walk()[0]))
        S = None if found is None else followed(found, self.mean)
        return by_mean(walk(), self.mean)[0] if S is None else S

    def _compiled_exponents(self, tables: np.ndarray, out: Any) -> np.ndarray:
        """Return the exponents (b, m) of tables (b, n, p) of few samples in single precision."""
        from latentsimplex.compute.walks import diffused

        n = tables.shape[-2]
        r = np.empty((len(tables), n_pairs(n)), np.float32) if out is None else out
        M, spare, lists = room.for_samples(n)
        walk = (self.mean, DOUBLINGS, MIXING_STEPS, BALANCING_STEPS if self.balance else 0)
        for into, _ in zip(r, self._walks_into(tables, lambda _: M), strict=True):
            diffused(M, *walk, TINY, LEAST_SIMILARITY, spare, *lists, into)
        return r

    def _walks_into(self, tables: np.ndarray, place: Callable[[int], np.ndarray]) -> Iterator[None]:
        """Make M of each table (b, n, p) of single precision where ``place`` says, one after the other."""
        from latentsimplex.compute.graphs import add_affinities, make_walk

        tables = compared(tables, self.standardise)
        n = tables.shape[-2]
        one_by_one, few, below, part, share, k = self._graph(n)
        distances = np.empty((n, n), np.float32)
        for v, sets in enumerate(feature_sets(tables, one_by_one)):
            M = place(v)
            M[:] = 0.0
            for features in sets:
                X = np.ascontiguousarray(tables[v][:, features])
                add_affinities(X, few, below, part, share, 1 / len(sets), distances, M)
            make_walk(M, n, k, TINY)
            yield

    def _card_exponents(self, tables: Any) -> Any:
        """Return the exponents (b, m) of tables (b, n, p) of few samples on a graphics card."""
        from latentsimplex.compute.cards import packed_exponents

        shorter, longer = enclosing_powers(self.walk(tables), self.mean)
        return packed_exponents(shorter, longer, *mixing(shorter, longer, self.mean), TINY, LEAST_SIMILARITY)

    def _graph(self, n: int) -> tuple[bool, int, int, float, float, int]:
        """Return what the compiled loops want to know of a graph of n samples."""
        below, part = divmod(QUANTILE * (n - 2), 1)
        return self.per_feature, FEW_FEATURES, int(below), part, QUANTILE, self.n_neighbours(n)

    @property
    def reads_many(self) -> bool:
        """Whether :meth:`exponents` takes several tables at once."""
        return True

    def n_neighbours(self, n: int) -> int:
        """Return the number of neighbours among n samples."""
        if self.neighbours == "sqrt":
            k = math.isqrt(n)
        else:
            k = int(self.neighbours if isinstance(self.neighbours, Integral) else self.neighbours * n)
        return min(max(k, 2), n - 1)

    def walk(self, X: Any) -> Any:
        """Return M = (I + N) / 2 of the nearest-neighbour graph of each table (b, n, p).

        Samples that are as near as the last neighbour are neighbours too, so that their order does not matter.
        """
        xp, n = namespace(X), X.shape[-2]
        if is_single(X):
            return self._compiled_walks(X)
        if on_card(X) and n <= MOST_MULTIPLIED and X.shape[-1] <= FEW_ON_A_CARD:
            from latentsimplex.compute.cards import walks

            one_by_one, _, below, part, share, k = self._graph(n)
            X = standardised(X) if self.standardise else X
            return walks(X, one_by_one, below, part, share, k, TIED, TINY)
        scaling = LocalScaling(QUANTILE, POWER, standardise=self.standardise, per_feature=self.per_feature)
        affinity = xp.exp(-scaling.square(X))
        diagonals(affinity)[:] = -1.0  # no sample is its own neighbour
        least = ranked(affinity, n - self.n_neighbours(n))
        near = affinity >= (1 - TIED) * least[..., None]
        weights = affinity * (near | near.swapaxes(-1, -2))
        diagonals(weights)[:] = 0.0
        weights += TINY
        degree = weights.sum(-1) ** 0.5
        weights /= 2 * degree[..., None]
        weights /= degree[:, None, :]
        diagonals(weights)[:] += 0.5
        return weights

    def _compiled_walks(self, tables: np.ndarray) -> np.ndarray:
        """Return the walks (b, n, n) of tables (b, n, p) in single precision."""
        b, n, _ = tables.shape
        walks = np.empty((b, n, n), np.float32)
        for _ in self._walks_into(tables, walks.__getitem__):
            pass
        return walks
