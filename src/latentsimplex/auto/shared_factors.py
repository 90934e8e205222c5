"""How many clusters of a pattern of many views are believed: those beyond the factors that the views share.

Genes of one pathway rise and fall together. Each is a smooth cloud, and so are all of them together, but hundreds of
them tell where a sample stands so precisely that cutting this continuum into many clusters pays. So some of the views
that follow a pattern are asked again, together. Clusters are believed in either of two cases.

**Slow modes.** The views agree on more than the factors of a cloud: modes of a walk on the similarities that fit all
views best fade more slowly. There need be no gaps between samples: each may be of several clusters at once.

**Splits.** The views side by side, as one table, have so many clusters by the evidence for splits
(:mod:`latentsimplex.auto.cluster_tree`).

====== ============= ======= ====================================================================================
symbol name          shape   meaning
====== ============= ======= ====================================================================================
U      ``features``  n x p   features of the views side by side, standardised, outliers clipped
e      ``factors``   n x L   independent factors: leading directions of U, L by parallel analysis, rotated (ICA)
A      ``loadings``  L x p   of features on factors
Q_j    ``ordered``   n x p   quantiles of the one-humped distribution nearest to feature j
r_k    ``rates``     g - 1   how fast the mode fades that tells k clusters apart from k - 1: -log of an eigenvalue
====== ============= ======= ====================================================================================

A cloud's feature is Q_j of the ranks of e A_j + sqrt(1 - |A_j|^2) noise, each factor drawn from the one-humped
distribution nearest to its own. k clusters are believed where log r_k is less than in clouds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import eigh, eigvalsh

from latentsimplex.auto.cluster_tree import Bounds, grow_tree
from latentsimplex.auto.slow_modes import smooth_spread
from latentsimplex.auto.unimodal_clouds import RANKS, find_discrete_values, one_humped_quantiles, round_to
from latentsimplex.base.arrays import convert_like, to_double, to_host
from latentsimplex.base.condensed import unpack_pairs
from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.partial_table import PartialTable
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import WideTable
from latentsimplex.pairs.divergence import Divergence
from latentsimplex.pairs.on_device import import_torch
from latentsimplex.similarity.auto_diffusion import AutoDiffusion
from latentsimplex.similarity.distances import OUTLYING, mean_and_scale, rescale
from latentsimplex.similarity.kernel import accepts_batches, clip_exponents, read_exponents

MOST_VIEWS, MOST_FEATURES, MOST_SAMPLES = 30, 50, 300
"""How many views of a pattern, features of each and samples are looked at: drawn at random from more."""
N_CLOUDS, N_PERMUTATIONS, SEED = 6, 4, 0
LEAST_SLOWER, SPREADS = 0.15, 3.0
"""By how much log r_k must be less than in clouds, and how many of their standard deviations that is."""
READ_TOGETHER = 1 << 26
"""Entries of the matrices of views that are read at once."""
FASTEST = 1e-9
"""Eigenvalues count as no less than this: their logarithms are taken."""
ROUNDS, SETTLED = 200, 1e-4
"""Steps of the rotation of factors at most, and the cosine short of 1 at which an axis no longer moves."""


def count_believed_clusters(
    load: Callable[[int], Any],
    patterns: Sequence[Sequence[int]],
    found: Sequence[int],
    kernel: AutoDiffusion,
    divergence: Divergence,
    workers: Workers,
) -> list[int]:
    """Return how many clusters of each pattern, of those ``found``, its views show beyond what they share without any.

    ``load`` gives the table (n, p_v) of a view, which may lack samples, or cells. Parts of them are held, a few samples
    and features of each.
    """

    def take_views(views: Sequence[int]) -> tuple[list[Array], list[int], FactorModel]:
        parts, widths = [], []
        for v in views:
            table = load(v)
            parts.append(take_part(table, sample_rows(len(table), MOST_SAMPLES)))
            widths.append(table.shape[1])
        return parts, widths, measure_factors(parts)

    def draw_views(job: tuple[int, int]) -> list[Array]:
        parts, _, factors = taken[job[0]]
        return parts if job[1] < 0 else factors.draw(np.random.default_rng([SEED, job[1]]))

    def read_rates(some: list[tuple[int, int]]) -> list[Array]:
        draws, widths = list(workers.map(draw_views, some)), [taken[l][1] for l, _ in some]
        pooled = pool_similarities(draws, widths, kernel, divergence, gpu)
        jobs = zip(pooled, [found[l] for l, _ in some], strict=True)
        return list(workers.map(lambda job: np.log(measure_rates(*job)), list(jobs)))

    taken = list(workers.map(take_views, patterns))
    # threads read one cloud each, and a GPU all of them at once
    gpu = workers.device if (workers.device or "").startswith("cuda") else None
    clouds = range(-1, N_CLOUDS)
    together = [(l, cloud) for l in range(len(patterns)) for cloud in clouds]
    jobs = [together] if gpu is not None else [[job] for job in together]
    rates = [own for some in workers.map(read_rates, jobs, threaded=gpu is None) for own in some]
    believed = []
    for l, ((parts, _, _), most) in enumerate(zip(taken, found, strict=True)):
        own, *of_clouds = rates[l * len(clouds) : (l + 1) * len(clouds)]
        count = count_slower_modes(own, np.array(of_clouds)) + 1
        joined = join_features(parts)
        if count < most and len(joined):
            count = max(count, grow_tree([joined], Bounds(1, most), workers).n_clusters)
        believed.append(min(count, most))
    return believed


def count_slower_modes(own: Array, clouds: Array) -> int:
    """Return how many modes there are up to the last that fades more slowly than in clouds, given logs of rates."""
    slower = clouds.mean(axis=0) - own
    slow = np.flatnonzero((slower >= LEAST_SLOWER) & (slower >= SPREADS * smooth_spread(clouds)))
    return int(slow[-1]) + 1 if len(slow) else 0


def join_features(tables: Sequence[Array]) -> Array:
    """Return views (n, p_v) side by side (m, p), with the samples that most features have: any two share some.

    >>> join_features([np.array([[1.0], [np.nan], [2.0]]), np.array([[3.0], [4.0], [5.0]])]).tolist()
    [[1.0, 3.0], [2.0, 5.0]]
    """
    X = np.hstack(tables)
    return X[np.isnan(X).mean(axis=1) < 0.5]


def take_part(table: Any, samples: Indices) -> Array:
    """Return some samples of a view, and some of its features if there are many; absent ones are NaN."""
    if isinstance(table, PartialTable):
        return table.spread(take_part(table.values, np.arange(len(table.rows))), np.nan)[samples]
    features = sample_rows(table.shape[1], MOST_FEATURES)
    if isinstance(table, WideTable):
        return table.take(samples, features).to_dense()
    return table[np.ix_(samples, features)]


@dataclass(frozen=True)
class FactorModel:
    """What clouds are drawn from that share factors as some views do.

    ``factors`` are quantiles at ``RANKS`` of each factor, ``ordered`` (n, p) the numbers that each feature of a cloud
    consists of, the smallest first. ``missing`` (n, p) says which cells there are none of, and ``ends`` where the
    features of each view end.
    """

    loadings: Array
    factors: list[Array]
    ordered: Array
    missing: np.ndarray
    ends: list[int]

    def draw(self, rng: np.random.Generator) -> list[Array]:
        """Return a cloud of as many samples, a table for each view, with the same missing cells."""
        n, p = self.missing.shape
        factors = np.column_stack([np.interp(rng.random(n), RANKS, quantiles) for quantiles in self.factors])
        own = np.sqrt(np.maximum(1 - (self.loadings**2).sum(axis=0), 0.0))
        scores = factors @ self.loadings + own * rng.normal(size=(n, p))
        features = np.empty((n, p))
        np.put_along_axis(features, scores.argsort(axis=0), self.ordered, axis=0)
        features[self.missing] = np.nan
        return [features[:, start:end] for start, end in pairwise([0, *self.ends])]


def measure_factors(tables: Sequence[Array]) -> FactorModel:
    """Return the factors that views (n, p_v) share.

    >>> rng = np.random.default_rng(0)
    >>> factor = rng.normal(size=(200, 1))
    >>> views = [factor + rng.normal(size=(200, 1)) for _ in range(20)]
    >>> measure_factors(views).loadings.shape
    (1, 20)
    """
    X = np.hstack(tables)
    missing = np.isnan(X)
    features = standardise_clipped(X)
    loadings, factors = find_factors(features, count_factors(features, np.random.default_rng(SEED)))
    # missing cells are 0 among the features, and add nothing to what these have in common with factors
    loadings = loadings / np.maximum(1 - missing.mean(axis=0), 1 / len(X))
    columns = [x[there] if there.any() else np.zeros(1) for x, there in zip(X.T, ~missing.T, strict=True)]
    return FactorModel(
        loadings / np.maximum(1.0, np.sqrt((loadings**2).sum(axis=0))),
        [one_humped_quantiles(factor) for factor in factors.T],
        np.column_stack([order_feature(column, len(X)) for column in columns]),
        missing,
        np.cumsum([table.shape[1] for table in tables]).tolist(),
    )


def order_feature(column: Array, n: int) -> Array:
    """Return n numbers in order that are as a feature's, but one-humped; discrete where the feature is."""
    values = find_discrete_values(column)
    ordered = np.interp((np.arange(n) + 0.5) / n, RANKS, one_humped_quantiles(column))
    return ordered if values is None else round_to(ordered, values)


def standardise_clipped(X: Array) -> Array:
    """Return features with mean 0 and variance 1 whose outliers are clipped; 0 where a cell is missing.

    >>> standardise_clipped(np.array([[3.0, 1.0], [9.0, 1.0], [np.nan, 1.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    """
    there = ~np.isnan(X)
    counts = np.maximum(there.sum(axis=0), 1)
    clipped = np.clip(np.nan_to_num(rescale(X, *mean_and_scale(X))), -OUTLYING, OUTLYING)
    centred = np.where(there, clipped - clipped.sum(axis=0) / counts, 0.0)
    spread = np.sqrt((centred**2).sum(axis=0) / counts)
    return centred / (spread + (spread == 0))


def count_factors(features: Array, rng: np.random.Generator) -> int:
    """Return how many directions have a larger variance than in columns that are permuted, at least one.

    This is parallel analysis (Horn 1965).
    """
    found = list_variances(features)
    by_chance = np.max(
        [list_variances(rng.permuted(features, axis=0)) for _ in range(N_PERMUTATIONS)], axis=0
    )
    beyond = found > by_chance
    return max(1, len(beyond) if beyond.all() else int(np.argmin(beyond)))


def list_variances(features: Array) -> Array:
    """Return the variances of the principal directions, the largest first."""
    n, p = features.shape
    return eigvalsh(features @ features.T if n <= p else features.T @ features)[::-1]


def find_factors(features: Array, n_factors: int) -> tuple[Array, Array]:
    """Return the loadings (L, p) of features on their factors, and the factors of the samples (n, L).

    Leading directions mix factors. They are rotated until these are as far from normal as can be (independent
    component analysis), so that long tails of several are not taken for clusters.
    """
    n = len(features)
    squares, vectors = eigh(features @ features.T, subset_by_index=[n - n_factors, n - 1])
    factors = np.sqrt(n) * vectors[:, ::-1] * (squares[::-1] > 0)
    factors = factors @ find_rotation(factors).T
    return factors.T @ features / n, factors


def find_rotation(scores: Array) -> Array:
    """Return the rotation (L, L) of scores (n, L) of variance 1 to independent components: FastICA (Hyvarinen 1999).

    Normal scores have none of their own, and any will do.
    """
    n, R = len(scores), np.eye(scores.shape[1])
    for _ in range(ROUNDS):
        bent = np.tanh(scores @ R.T)
        u, _, v = np.linalg.svd(bent.T @ scores / n - (1 - bent**2).mean(axis=0)[:, None] * R)
        before, R = R, u @ v
        if (np.abs((R * before).sum(axis=1)) > 1 - SETTLED).all():
            break
    return R


def pool_similarities(
    draws: Sequence[Sequence[Array]],
    widths: Sequence[Sequence[int]],
    kernel: AutoDiffusion,
    divergence: Divergence,
    device: str | None = None,
) -> list[Array]:
    """Return the similarities (n, n) that fit the views of each draw best: by the mean of f(s).

    The mean is over the views that have both samples. Views (n, p_v) are parts of some that had ``widths`` features.
    Constant ones say nothing. Views of one width that have the same samples are read together, on a ``device`` of torch
    if there is one.
    """
    n, alike = len(draws[0][0]), defaultdict(list)
    totals, counts = np.zeros((len(draws), n, n)), np.zeros((len(draws), n, n))
    for d, tables in enumerate(draws):
        for X, width in zip(tables, widths[d], strict=True):
            alike[width, X.shape[1]].append((d, X))
    most = max(1, READ_TOGETHER // n**2)
    for (width, _), members in alike.items():
        own = kernel.kernel(width)
        for of_draw, batch, rows in batch_alike(members, most):
            if device is not None and accepts_batches(own):
                batch = import_torch().as_tensor(batch, device=device)
            f = to_double(divergence.f(clip_exponents(read_exponents(own, batch, lambda _: "a view"))))
            drawn, number = np.unique(of_draw, return_inverse=True)
            sums = to_host(convert_like(np.eye(len(drawn))[number].T, f) @ f)
            for d, own_sum, count in zip(drawn, sums, np.bincount(number), strict=True):
                totals[d][np.ix_(rows, rows)] += unpack_pairs(own_sum)
                counts[d][np.ix_(rows, rows)] += count
    return [_mean_similarity(*each, divergence) for each in zip(totals, counts, strict=True)]


def batch_alike(
    members: Sequence[tuple[int, Array]], most: int
) -> Iterator[tuple[np.ndarray, Array, Indices]]:
    """Yield the draws, the tables (b, m, p) and the samples (m,) of views (n, p) that have the same samples.

    There are no more than so many in a batch, and no constant ones.
    """
    of_draw, tables = np.array([d for d, _ in members]), np.stack([X for _, X in members])
    varies = (np.fmax.reduce(tables, axis=1) > np.fmin.reduce(tables, axis=1)).any(axis=1)
    present = np.asarray(np.isfinite(tables).any(axis=2))
    kinds, kind = np.unique(present, axis=0, return_inverse=True) if not present.all() else (present[:1], 0)
    kind = np.reshape(kind, -1)  # NumPy 2.0 has it along the axis
    for k, own in enumerate(kinds):
        chosen, rows = np.flatnonzero(varies & (kind == k)), np.flatnonzero(own)
        for start in range(0, len(chosen), most):
            some = chosen[start : start + most]
            yield of_draw[some], tables[np.ix_(some, rows)] if len(rows) < len(own) else tables[some], rows


def _mean_similarity(total: Array, count: Array, divergence: Divergence) -> Array:
    overall = total.sum() / max(1.0, count.sum())
    S = divergence.mean(np.where(count > 0, total / np.maximum(count, 1), overall))
    np.fill_diagonal(S, 0.0)
    return S


def measure_rates(S: Array, most: int) -> Array:
    """Return how fast the modes fade that tell 2, 3, ... and ``most`` clusters apart, in a walk on similarities (n, n).

    >>> S = np.kron(np.eye(2), np.ones((4, 4))) * 0.9 + 0.05
    >>> measure_rates(S, 3).round(1).tolist()
    [0.1, 20.7]
    """
    n, root = len(S), np.sqrt(np.maximum(S.sum(axis=1), np.finfo(float).tiny))
    values = eigvalsh(S / root / root[:, None], subset_by_index=[max(n - most, 0), n - 2])[::-1]
    return -np.log(np.clip(values, FASTEST, 1 - FASTEST))
