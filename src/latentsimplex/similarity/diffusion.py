"""Similarity by diffusion: how much of a random walk's mass two samples share after a while.

A graph joins each sample to its nearest neighbours, with their local-scaling similarity as weight. Its symmetric
normalisation N, the lazy walk M = (I + N) / 2 and K = M^(2t) give

    s_ij = K_ij / sqrt(K_ii K_jj),

positive semi-definite and in [0, 1]. The walk follows clusters of any shape, and far samples of one
cluster become similar once it has had the time.

======================================== ====================================================================
samples                                  how the length of a walk is found at which similarities have a mean
======================================== ====================================================================
up to 768                                by powers of M (:mod:`~latentsimplex.similarity.walk_powers`): compiled for
                                         arrays of single precision, by Triton on a GPU that has it
more, on a sparse graph                  by leading eigenvectors (:mod:`~latentsimplex.similarity.walk_eigenvectors`)
more, on a dense graph                   by powers of M
======================================== ====================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_scalar

from latentsimplex.base.arrays import (
    array_namespace,
    diagonals,
    has_missing,
    is_tensor,
    kth_smallest,
    runs_triton,
    stack,
)
from latentsimplex.base.condensed import count_pairs, pack_pairs
from latentsimplex.base.wide_table import WideTable, find_varying
from latentsimplex.similarity.distances import (
    FEW_FEATURES,
    arrange_tables,
    has_negative,
    prepare_tables,
    rank_quantile,
    root_shares,
    standardise,
)
from latentsimplex.similarity.kernel import BatchKernel
from latentsimplex.similarity.local_scaling import LEAST_SIMILARITY, LocalScaling
from latentsimplex.similarity.walk_eigenvectors import (
    DENSE,
    N_EIGENVECTORS,
    leading_eigenvectors,
    list_steps,
    similarity_from_eigenvectors,
    tie_all,
)
from latentsimplex.similarity.walk_powers import (
    BALANCING_STEPS,
    LEAST_WEIGHT,
    MIXING_STEPS,
    MOST_DOUBLINGS,
    balance_rows,
    similarities_at_mean,
    walk_to_mean,
)
from latentsimplex.similarity.wide_tables import compare_one_by_one, compare_together

MOST_MULTIPLIED = 3 * N_EIGENVECTORS
"""With no more samples, products of whole matrices are quicker than finding eigenvectors."""
QUANTILE, POWER = 0.3, 2.0
"""The local scaling that chooses and weighs neighbours: as wide as the author's notebook has it, and smooth."""
TIED = 1e-6
"""Affinities that differ by no more than this share of themselves are tied: rounding made the difference."""
LINE = 16
"""Numbers of single precision in a line of a cache."""
ALIGNED = 4
"""Products on a GPU are quicker where rows are so many numbers long, or a multiple."""
FEW_FEATURES_OF_TRITON, FEW_SAMPLES_OF_TRITON = 16, 768
"""Loops over so many features are written out on a GPU, and a row of so many samples is one program's."""


@dataclass(frozen=True)
class Diffusion(BatchKernel):
    """Similarity by diffusion: random walks on a nearest-neighbour graph.

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
    as_shares : bool
        Compare samples by how each row's sum is shared out among the features (Hellinger distance). For words and
        other counts, which are not negative.

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
    as_shares: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.neighbours, Integral):
            check_scalar(self.neighbours, "neighbours", Integral, min_val=1)
        elif self.neighbours != "sqrt":
            check_scalar(
                self.neighbours, "neighbours", Real, min_val=0, max_val=1, include_boundaries="neither"
            )
        check_scalar(self.mean, "mean", Real, min_val=0, max_val=1, include_boundaries="neither")

    @property
    def sees_differences_alone(self) -> bool:
        """Shares change when features are centred."""
        return not self.as_shares

    @property
    def narrows(self) -> bool:
        """Roots of shares have differences that a narrow table has too."""
        return True

    def by_differences(self, tables: Any) -> tuple[Diffusion, Any]:
        """Return the roots of shares in place of tables (b, n, p) that are compared as shares.

        Tables with negative numbers are left to be refused where their names are known.
        """
        if not self.as_shares or has_negative(tables):
            return self, tables
        return replace(self, as_shares=False), root_shares(tables)

    def narrow(self, table: WideTable) -> tuple[Diffusion, Any]:
        """Return a table with no more features than samples, or those that vary, and the kernel that reads it."""
        if self.as_shares:
            return replace(self, as_shares=False).narrow(root_shares(table))
        if self.per_feature:
            return self, compare_one_by_one(table)
        return replace(self, standardise=False), compare_together(table, self.standardise)

    def batch_exponents(self, tables: Any, out: Any = None) -> Any:
        """Return -log s (b, m) of tables (b, n, p); all zero where all samples coincide."""
        tables = root_shares(tables) if self.as_shares else tables
        few = tables.shape[-2] <= MOST_MULTIPLIED
        if few and tables.dtype == np.float32:
            r = self._compiled_exponents(tables, out)
        elif few and runs_triton(tables) and not self.balance:
            r = self._triton_exponents(tables)
        else:
            r = exponents_of(self.similarities(tables))
        if has_missing(tables):
            varies = np.array([find_varying(X).any() for X in tables])
        else:
            varies = (tables != tables[:, :1]).any(-1).any(-1)
        if is_tensor(r) or not varies.all():
            r *= varies[:, None]
        if out is not None and r is not out:
            out[:] = r
            return out
        return r

    def similarities(self, tables: Any) -> Any:
        """Return the similarities (b, n, n) of tables (b, n, p)."""
        if tables.shape[-2] <= MOST_MULTIPLIED:
            S = similarities_at_mean(self.walks(tables), self.mean)
        else:
            each = [self._similarities_of_many(X) for X in tables]
            S = each[0][None] if len(each) == 1 else stack(each)
        return balance_rows(S) if self.balance else S

    def walks(self, tables: Any) -> Any:
        """Return the lazy walks M (b, n, n) on the neighbour graphs of tables (b, n, p)."""
        return make_walks(tables, self._graph(tables.shape[-2]))

    def count_neighbours(self, n: int) -> int:
        """Return the number of neighbours among n samples."""
        if self.neighbours == "sqrt":
            k = math.isqrt(n)
        else:
            k = int(self.neighbours if isinstance(self.neighbours, Integral) else self.neighbours * n)
        return min(max(k, 2), n - 1)

    def _graph(self, n: int) -> NeighbourGraph:
        return NeighbourGraph(self.count_neighbours(n), self.standardise, self.per_feature)

    def _similarities_of_many(self, X: Any) -> Any:
        """Return the similarities (n, n) of one table of many samples; long walks live in few eigenvectors."""
        n, k, walk = len(X), self.count_neighbours(len(X)), None
        if X.dtype == np.float32 and not self.per_feature and k < DENSE * n:
            Z = arrange_tables(X[None], self.standardise)[0]
            steps, roots = list_steps(Z, k, rank_quantile(QUANTILE, n))
        else:
            walk = self.walks(X[None])
        found = leading_eigenvectors(steps if walk is None else walk[0])
        S = None if found is None else similarity_from_eigenvectors(found, self.mean)
        if S is not None:
            return S
        return similarities_at_mean(tie_all(steps, roots)[None] if walk is None else walk, self.mean)[0]

    def _compiled_exponents(self, tables: np.ndarray, out: Any) -> np.ndarray:
        """Return the exponents (b, m) of tables (b, n, p) of few samples in single precision."""
        from latentsimplex.similarity._diffusion_loops import write_exponents

        n, graph = tables.shape[-2], self._graph(tables.shape[-2])
        r = np.empty((len(tables), count_pairs(n)), np.float32) if out is None else out
        M, spare, lists = make_room(n)
        length = (self.mean, MOST_DOUBLINGS, MIXING_STEPS, BALANCING_STEPS if self.balance else 0)
        one_by_one = self.per_feature or tables.shape[-1] == 1
        compared = (tables != tables[:, :1]).any(axis=1) if one_by_one else None
        quantile, tables = rank_quantile(QUANTILE, n), arrange_tables(tables, self.standardise)
        features = (tables, compared, FEW_FEATURES, quantile, graph.n_neighbours)
        write_exponents(*features, length, LEAST_WEIGHT, LEAST_SIMILARITY, M, spare, lists, r)
        return r

    def _triton_exponents(self, tables: Any) -> Any:
        """Return the exponents (b, m) of tables (b, n, p) of few samples on a GPU."""
        from latentsimplex.similarity._triton_walks import pack_exponents

        n = tables.shape[-2]
        walks = make_walks(tables, self._graph(n), -(-n // ALIGNED) * ALIGNED)
        K, roots = walk_to_mean(walks, self.mean, n)
        return pack_exponents(K, roots, n, LEAST_WEIGHT, LEAST_SIMILARITY)


def exponents_of(S: Any) -> Any:
    """Return -log s of packed similarities (b, n, n).

    A walk that has mixed makes all samples alike, but only samples that coincide have exponent 0.
    """
    xp = array_namespace(S)
    return LEAST_WEIGHT - xp.log(xp.clip(pack_pairs(S), LEAST_SIMILARITY, 1.0))


def make_room(n: int) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return a matrix for the walk of n samples, four more for its powers, 0 beyond n samples, and room for lists.

    Rows of matrices begin where lines of a cache do: loops that load whole lines take a quarter less time.
    """
    from latentsimplex.similarity._matrix_products import AT_ONCE, LANES

    wide = -(-n // LANES) * LANES
    room = np.zeros(5 * wide * wide + LINE, np.float32)
    start = -room.ctypes.data % (4 * LINE) // 4
    matrices = room[start : start + 5 * wide * wide].reshape(5, wide, wide)
    entries, weights = np.empty((n, n + AT_ONCE), np.uint16), np.empty((n, n + AT_ONCE), np.float32)
    return matrices[0], matrices[1:], (entries, weights, np.empty(n, np.int64))


class NeighbourGraph(NamedTuple):
    """How samples become a graph: the neighbours of each, and how features are compared."""

    n_neighbours: int
    standardise: bool
    per_feature: bool


def make_walks(tables: Any, graph: NeighbourGraph, wide: int | None = None) -> Any:
    """Return M (b, n, n) of tables (b, n, p); where Triton makes them, ``wide`` rows and columns, 0 beyond n.

    Samples that are as near as the last neighbour are neighbours too, so that their order does not matter.
    """
    xp, (_, n, p) = array_namespace(tables), tables.shape
    if tables.dtype == np.float32:
        return make_walks_by_loops(tables, graph)
    if runs_triton(tables) and n <= FEW_SAMPLES_OF_TRITON and p <= FEW_FEATURES_OF_TRITON:
        from latentsimplex.similarity._triton_walks import make_walks_by_triton

        tables = standardise(tables) if graph.standardise else tables
        quantile = rank_quantile(QUANTILE, n)
        return make_walks_by_triton(
            tables, graph.per_feature, *quantile, graph.n_neighbours, TIED, LEAST_WEIGHT, wide
        )
    scaling = LocalScaling(QUANTILE, POWER, standardise=graph.standardise, per_feature=graph.per_feature)
    affinity = xp.exp(-scaling.square(tables))
    diagonals(affinity)[:] = -1.0  # no sample is its own neighbour
    least = kth_smallest(affinity, n - graph.n_neighbours)
    near = affinity >= (1 - TIED) * least[..., None]
    weights = affinity * (near | near.swapaxes(-1, -2))
    diagonals(weights)[:] = 0.0
    weights += LEAST_WEIGHT
    degree = weights.sum(-1) ** 0.5
    weights /= 2 * degree[..., None]
    weights /= degree[:, None, :]
    diagonals(weights)[:] += 0.5
    return weights


def make_walks_by_loops(tables: np.ndarray, graph: NeighbourGraph) -> np.ndarray:
    """Return M (b, n, n) of tables (b, n, p) of single precision, by compiled loops."""
    from latentsimplex.similarity._scaling_loops import add_affinities, make_walk

    n = tables.shape[-2]
    quantile = rank_quantile(QUANTILE, n)
    tables, sets_of_tables = prepare_tables(tables, graph.standardise, graph.per_feature)
    distances, walks = np.empty((n, n), np.float32), np.zeros((len(tables), n, n), np.float32)
    for M, table, sets in zip(walks, tables, sets_of_tables, strict=True):
        for features in sets:
            X = np.ascontiguousarray(table[:, features])
            given = (None, X[:, 0].copy()) if X.shape[1] == 1 else (X, None)
            add_affinities(*given, FEW_FEATURES, *quantile, 1 / len(sets), distances, M)
        make_walk(M, n, graph.n_neighbours, LEAST_WEIGHT)
    return walks
