"""Similarity by diffusion: how much of a random walk's mass two samples share after a while.

A graph joins each sample to its nearest neighbours, with their local-scaling similarity as weight. Its
symmetric normalisation N, the lazy walk M = (I + N) / 2 and K = M^(2t) give

    s_ij = K_ij / sqrt(K_ii K_jj),

positive semi-definite and in [0, 1]. The walk follows clusters of any shape, and far samples of one
cluster become similar once it has had the time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import check_scalar

from latentsimplex._arrays import diagonals, is_single, is_tensor, like, namespace, on_card, ranked, stacked
from latentsimplex.compute.pairs import n_pairs, pack
from latentsimplex.similarity.local_scaling import (
    FEW_FEATURES,
    LEAST_SIMILARITY,
    LocalScaling,
    compared,
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
    off_diagonal_mean,
)

BISECTIONS = 12
DIRECTIONS, NEGLIGIBLE, DENSE = 256, 0.05, 0.1
"""Eigenvectors that follow a long walk, the share of returns that may be missed, and that of pairs with a step
between them beyond which walks are not long."""
MOST_MULTIPLIED = 3 * DIRECTIONS
"""With no more samples, products of whole matrices are quicker than finding directions."""
WARM_UP_ROUNDS, WARM_UP_STEPS = 3, 6
LONGEST_KNOWN = 1 << 14
"""Powers of eigenvalues that are known to single precision are known this far."""
TIED = 1e-6
"""Affinities that differ by no more than this share of themselves are tied: rounding made the difference."""
QUANTILE, POWER = 0.3, 2.0
"""The local scaling that chooses and weighs neighbours: as wide as the author's notebook has it, and smooth."""


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

    def exponents(self, X: Any, out: Any = None) -> Any:
        """Return -log s of every pair; all zero when all samples coincide.

        X may have axes before the last two, and be a tensor: exponents are then those of each table. Those of arrays of
        single precision are written into ``out`` if it is given.
        """
        xp, n = namespace(X), X.shape[-2]
        tables = X.reshape(-1, *X.shape[-2:])
        if is_single(X) and n <= MOST_MULTIPLIED:
            r = self._compiled_exponents(tables, out)
        elif on_card(X) and n <= MOST_MULTIPLIED and not self.balance:
            r = self._card_exponents(tables)
        else:
            S = walked(self.walk(tables), self.mean)
            if self.balance:
                S = balanced(S)
            # a walk that has mixed makes all samples alike, but only samples that coincide have exponent 0
            r = TINY - xp.log(xp.clip(pack(S), LEAST_SIMILARITY, 1.0))
        r *= (tables != tables[:, :1]).any(-1).any(-1)[:, None]
        if out is not None and r is not out:
            out[:] = r
        return r.reshape(*X.shape[:-2], n_pairs(n))

    def _compiled_exponents(self, tables: np.ndarray, out: Any) -> np.ndarray:
        """Return the exponents (b, m) of tables (b, n, p) of few samples in single precision."""
        from latentsimplex.compute.walks import diffused_tables

        n = tables.shape[-2]
        r = np.empty((len(tables), n_pairs(n)), np.float32) if out is None else out
        walk = (self.mean, DOUBLINGS, MIXING_STEPS, BALANCING_STEPS if self.balance else 0)
        diffused_tables(compared(tables, self.standardise), self._graph(n), walk, TINY, LEAST_SIMILARITY, r)
        return r

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
        if on_card(X) and n <= MOST_MULTIPLIED and X.shape[-1] <= FEW_FEATURES and not self.per_feature:
            from latentsimplex.compute.cards import walks

            return walks(standardised(X) if self.standardise else X, *self._graph(n)[2:], TIED, TINY)
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
        """Return the walks (b, n, n) of tables (b, n, p) in single precision, one after the other."""
        from latentsimplex.compute.graphs import make_walk_of

        n = tables.shape[-2]
        walks, distances = np.zeros((len(tables), n, n), np.float32), np.empty((n, n), np.float32)
        for X, M in zip(compared(tables, self.standardise), walks, strict=True):
            make_walk_of(X, *self._graph(n), TINY, distances, M)
        return walks


def walked(walk: Any, mean: float) -> Any:
    """Return the similarities (b, n, n) of walks M of the length at which their mean is ``mean``.

    Lengths are 2, 3, 4, 6, 8, 12, ... A mean between those of two lengths is that of a walk which stops at one or
    at the other: K is a mixture of both powers. Where the mean is out of reach, the shortest or the longest walk
    has to do. Long walks of many samples live in few directions, which are enough to follow them.
    """
    if walk.shape[-1] <= MOST_MULTIPLIED:
        return by_mean(walk, mean)
    found = [by_directions(M, mean) for M in walk]
    return stacked([by_mean(M[None], mean)[0] if S is None else S for S, M in zip(found, walk, strict=True)])


def by_directions(M: Any, mean: float) -> Any:
    """Return the similarities (n, n) of one walk from its leading eigenvectors; None if they are not enough.

    Every power has the same eigenvectors. They are enough where what the others could add to the chance of a
    return is negligible, which it never is for the short walks on a dense graph.
    """
    steps = M > 10 * TINY  # what ties all samples together, so that none is out of reach, is not a step
    if float(steps.sum()) > DENSE * M.shape[0] ** 2:
        return None
    values, vectors = leading_pairs(M * steps)
    xp, longer = namespace(vectors), values**2
    shorter = longer
    for length in lengths():
        if (
            length > LONGEST_KNOWN
        ):  # beyond, rounding decides which of the components that never meet comes out first
            return None
        shorter, longer = longer, values**length
        longer = longer / (vectors**2 @ longer).mean()
        if spectral_mean(vectors, longer) >= mean:
            break
    if float(longer[-1] / longer.sum()) * (len(M) - DIRECTIONS) > NEGLIGIBLE:
        return None
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        w = (low + high) / 2
        low, high = (w, high) if spectral_mean(vectors, shorter + w * (longer - shorter)) < mean else (low, w)
    rows = vectors * xp.clip(shorter + high * (longer - shorter), 0.0, None) ** 0.5
    rows = rows / xp.clip((rows**2).sum(-1), TINY, None)[:, None] ** 0.5
    return rows @ rows.T


def lengths() -> list[int]:
    """Return the lengths of walks that are tried.

    >>> lengths()[:6]
    [2, 3, 4, 6, 8, 12]
    """
    return [steps << doubling for doubling in range(DOUBLINGS) for steps in (2, 3)]


def leading_pairs(M: Any) -> tuple[Any, Any]:
    """Return the leading eigenvalues (r,) and eigenvectors (n, r) of a walk, the largest first.

    A few steps of the walk from random directions leave those in which it goes on longest.
    """
    start = np.random.default_rng(0).normal(size=(len(M), DIRECTIONS))
    Q, linalg = like(start, M), namespace(M).linalg
    step = M if is_tensor(M) else csr_array(M)
    for _ in range(WARM_UP_ROUNDS):
        for _ in range(WARM_UP_STEPS):
            Q = step @ Q
        Q = linalg.qr(Q)[0]
    values, vectors = linalg.eigh(Q.T @ (step @ Q))
    order = np.arange(DIRECTIONS)[::-1].copy()
    return namespace(M).clip(values[order], 0.0, 1.0), (Q @ vectors)[:, order]


def spectral_mean(vectors: Any, powers: Any) -> float:
    """Return the mean similarity over pairs of K = U diag(powers) U^T."""
    roots = namespace(vectors).clip(vectors**2 @ powers, TINY, None) ** -0.5
    total = ((roots @ vectors) ** 2 * powers).sum()
    return float(off_diagonal_mean(total, len(vectors)))
