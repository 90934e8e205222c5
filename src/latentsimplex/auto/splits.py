"""Evidence that samples fall into clusters, and where: dips between humps, and modes slower than without clusters.

**Dips.** Put the samples in the order of a slow mode and count the edges of a neighbour graph that each cut of that
order would cross. In one cloud of any shape the count rises to a hump and falls; between two clusters it dips. With h
the lower of the two humps, c the edges at the dip and k those of a sample,

    z = 2 (sqrt(h) - sqrt(c)) / sqrt(k)

is the depth of the dip in standard deviations, as far as edges are counts. Its evidence is how far z is beyond that of
clouds without clusters (:mod:`latentsimplex.auto.one_humped_clouds`).

**Slow modes.** In many dimensions clusters overlap in every order of the samples, but k of them have k - 1 modes that
are slower than those of clouds: s_j = log(r_m / r_j), r_j the rates and m the fastest mode looked at, less the mean of
the same over clouds. In few dimensions long or curved shapes have slow modes as well, so dips decide alone there.

Graphs are local or broad. A dip that a local graph shows is between the right samples, broad ones blur it: the deepest
dip of a local graph is taken unless broad graphs show a far deeper one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
from scipy import sparse

from latentsimplex.auto.neighbour_graphs import (
    Modes,
    compare_samples,
    find_neighbours,
    join_neighbours,
    slow_modes,
)
from latentsimplex.auto.one_humped_clouds import CloudShape, measure_cloud_shape
from latentsimplex.base.kmeans import kmeans, sample_rows
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import WideTable, find_varying

FEW_NEIGHBOURS, PER_NEIGHBOUR, LEAST_NEIGHBOURS = 10, 8, 3
"""Neighbours in the more local of two graphs: ten, fewer of few samples. The other has twice as many."""
BROAD = (7, 3)
"""Samples for each neighbour in broad graphs: a seventh and a third of them are neighbours."""
MOST_NEIGHBOURS = 400
N_CLOUDS, CLOUD_SAMPLES = 4, 1000
SEED = 0
"""The evidence belongs to the views: clouds do not depend on the fit's random state."""
ORDERS = 3
"""Slow modes whose orders are looked at for dips: higher ones fold the samples."""
LOCALLY = 0.5
"""The share of the strength of the strongest split that one of a local graph needs, to be taken instead."""
LEAST_CLUSTER = 5
"""Fewer samples than this are no cluster."""
MARGIN = 0.8
"""By how much a dip must be deeper than all those of the clouds, in standard deviations."""
MANY_DIMENSIONS = 4
"""Slow modes are evidence in no fewer local dimensions than this."""
MOST_MODES = 40
LEAST_SLOWNESS, SPREADS, LEAST_SPREAD = 0.1, 5.0, 0.02
"""A mode is slow if s_j is no less than ``LEAST_SLOWNESS``, or what the dimension explains, and ``SPREADS`` standard
deviations of clouds, which are no less than ``LEAST_SPREAD``."""
NEXT_MODES = 2
"""Modes on each side whose spread over clouds is averaged: a few clouds tell little of one."""
GEOMETRY = 0.76
"""In d dimensions rates grow as j^(2/d), so that shape alone makes modes slow by about this over d."""
WORDS = 20
"""Wide tables of no negative numbers, such as counts of words, are compared by direction from so many features on."""


class Split(NamedTuple):
    """A way to cut samples into clusters.

    ``labels`` are the clusters (n,), ``depth`` the evidence in standard deviations and ``needed`` what clouds would
    have, ``strength`` what is beyond the clouds over what it takes: 1 or more is believed. ``comparison`` is how
    features were compared, ``is_broad`` whether it took a broad graph, ``is_clear`` whether one number of clusters
    stands out.
    """

    labels: np.ndarray
    depth: float
    needed: float
    strength: float
    comparison: str
    is_broad: bool
    is_clear: bool = True

    @property
    def nats(self) -> float:
        """The evidence in nats, beyond what is needed: half the squares of standard deviations."""
        return (self.depth * abs(self.depth) - self.needed**2) / 2


def list_comparisons(tables: Sequence[Array | WideTable]) -> list[str]:
    """Return the ways to compare the features of some views that are worth a look.

    >>> list_comparisons([np.zeros((5, 1))]), list_comparisons([-np.ones((5, 3))])
    (['as they are'], ['standardised', 'as they are'])
    """
    if all(X.shape[1] == 1 for X in tables):
        return ["as they are"]
    return ["standardised", "length one" if any(map(holds_amounts, tables)) else "as they are"]


def holds_amounts(X: Array | WideTable) -> bool:
    """Return whether a table has many features and no negative number: words, counts, intensities."""
    least = X.X.min() if isinstance(X, WideTable) else X.min()
    return bool(X.shape[1] >= WORDS and least >= 0)


def find_split(
    tables: Sequence[Array | WideTable], workers: Workers, margin: float = 1.0, exactly: int | None = None
) -> Split | None:
    """Return the best way to cut the samples of some views; None where they are too few, or all alike.

    Strengths are over ``margin``: more is asked of clusters within clusters, which are found in two at a time.
    ``exactly`` is a number of clusters to cut into where slow modes can, 0 is never more than two.
    """
    tables = [X for X in tables if find_varying(X).any()]
    if not tables or len(tables[0]) < 2 * LEAST_CLUSTER + 2:
        return None
    dips: list[Split] = []
    slow: list[Split] = []
    for comparison in list_comparisons(tables):
        own = [
            "as they are" if comparison == "length one" and not holds_amounts(X) else comparison
            for X in tables
        ]
        coordinates = [compare_samples(X, each) for X, each in zip(tables, own, strict=True)]
        look = Look(coordinates, workers, exactly != 0)
        if look.has_many_dimensions:
            slow += look.slow_splits(comparison, exactly)
        dips += look.dips(comparison, margin)
    if slow:
        return max(slow, key=lambda split: (split.is_clear, split.strength))
    strongest = max(dips, key=lambda split: split.strength)
    local = max((split for split in dips if not split.is_broad), key=lambda split: split.strength)
    return local if local.strength >= max(1.0, LOCALLY * strongest.strength) else strongest


class Look:
    """Samples and clouds like them, seen through neighbour graphs of several sizes.

    ``sizes`` are the neighbours in each graph. Slow modes are looked at in whole samples alone, and clouds are drawn
    where they are needed.
    """

    def __init__(self, coordinates: Sequence[Array], workers: Workers, is_whole: bool) -> None:
        n = len(coordinates[0])
        self.n_views, self.workers = len(coordinates), workers
        self.sizes = graph_sizes(n)
        self._coordinates, self._n_samples = coordinates, n
        self.has_many_dimensions = is_whole and self.shape.local_dimension >= MANY_DIMENSIONS
        self._n_modes = min(MOST_MODES, n // 4) if self.has_many_dimensions else ORDERS
        self.graphs = read_graphs(coordinates, self.sizes, self._n_modes)

    @cached_property
    def shape(self) -> CloudShape:
        """The shape of the clouds."""
        some = sample_rows(self._n_samples, CLOUD_SAMPLES)
        return measure_cloud_shape([Z[some] for Z in self._coordinates])

    @cached_property
    def clouds(self) -> list[tuple[tuple[sparse.csr_matrix, Modes], ...]]:
        """For each size of graph, what each cloud looks like."""
        m = min(self._n_samples, CLOUD_SAMPLES)
        local = local_sizes(self._n_samples)
        sizes = [k if k in local else max(2, k * m // self._n_samples) for k in self.sizes]

        def look_at(cloud: int) -> list[tuple[sparse.csr_matrix, Modes]]:
            rng = np.random.default_rng([SEED, cloud])
            return read_graphs(self.shape.draw(m, rng), sizes, self._n_modes)

        return list(zip(*self.workers.map(look_at, range(N_CLOUDS)), strict=True))

    def dips(self, comparison: str, margin: float) -> list[Split]:
        """Return the deepest dip that each graph shows."""
        found = [deepest_dip(graph, modes, self.n_views) for graph, modes in self.graphs]
        least, local = MARGIN * margin, local_sizes(self._n_samples)
        nulls = [0.0] * len(found)
        if max(depth for depth, _ in found) >= least:  # others are believed by no clouds
            nulls = [max(deepest_dip(*cloud, self.n_views)[0] for cloud in clouds) for clouds in self.clouds]
        return [
            Split(labels, depth, null + least, (depth - null) / least, comparison, size not in local)
            for size, (depth, labels), null in zip(self.sizes, found, nulls, strict=True)
        ]

    def slow_splits(self, comparison: str, exactly: int | None) -> list[Split]:
        """Return clusters by the slow modes of each local graph: as many as there are such modes, and one."""
        found = []
        n_local = len(local_sizes(self._n_samples))
        for (_, modes), clouds in islice(zip(self.graphs, self.clouds, strict=True), n_local):
            slowness, spread, gap_spread = excess_slowness(modes.rates, [own.rates for _, own in clouds])
            count, is_clear = count_slow_modes(slowness, spread, gap_spread, self.shape.local_dimension)
            k = count + 1 if exactly is None else exactly
            if not 1 < k <= len(slowness):
                continue
            slow = np.maximum(slowness[: k - 1], 0.0)
            depth = float(np.sqrt(np.square(slow / spread[: k - 1]).sum()))
            needed = float(SPREADS * np.sqrt(k - 1))
            strength = 1 + float(slow.sum())
            found.append(Split(cut_by_modes(modes, k), depth, needed, strength, comparison, False, is_clear))
        return found


def local_sizes(n: int) -> list[int]:
    """Return how many neighbours n samples have in local graphs.

    >>> local_sizes(300), local_sizes(30)
    ([10, 20], [3, 6])
    """
    k = min(FEW_NEIGHBOURS, max(LEAST_NEIGHBOURS, n // PER_NEIGHBOUR))
    return [k, 2 * k]


def graph_sizes(n: int) -> list[int]:
    """Return how many neighbours n samples have in each graph, from local to broad.

    >>> graph_sizes(300), graph_sizes(30)
    ([10, 20, 42, 100], [3, 6, 10])
    """
    local = local_sizes(n)
    broad = {min(n // share, MOST_NEIGHBOURS) for share in BROAD}
    return [*local, *sorted(k for k in broad if max(local) < k < n)]


def read_graphs(
    coordinates: Sequence[Array], sizes: Sequence[int], n_modes: int
) -> list[tuple[sparse.csr_matrix, Modes]]:
    """Return the graph of each size, pooled over views, and its slow modes."""
    neighbours = [find_neighbours(Z, max(sizes)) for Z in coordinates]
    graphs = [join_neighbours(neighbours, k) for k in sizes]
    return [(graph, slow_modes(graph, n_modes if i < 2 else ORDERS)) for i, graph in enumerate(graphs)]


def deepest_dip(graph: sparse.csr_matrix, modes: Modes, n_views: int) -> tuple[float, np.ndarray]:
    """Return the depth z of the deepest dip in the orders of slow modes, and the two sides of it (n,).

    A sample's edges in one view are not independent, in several views they are: k is the edges in one.
    """
    edges = sparse.triu(graph, 1).tocoo()
    per_sample = graph.sum() / graph.shape[0] / n_views
    best = (-np.inf, np.zeros(graph.shape[0], dtype=np.intp))
    for values in modes.values[:, :ORDERS].T:
        depth, place, ranks = find_dip(edges, values, per_sample)
        if depth > best[0]:
            best = depth, (ranks >= place).astype(np.intp)
    return best


def find_dip(edges: sparse.coo_matrix, values: Array, per_sample: float) -> tuple[float, int, Indices]:
    """Return the depth of the deepest dip in one order, the samples before it, and the rank of each sample (n,)."""
    n = len(values)
    ranks = np.empty(n, dtype=np.intp)
    ranks[np.argsort(values, kind="stable")] = np.arange(n)
    first, last = (
        np.minimum(ranks[edges.row], ranks[edges.col]),
        np.maximum(ranks[edges.row], ranks[edges.col]),
    )
    opened = np.bincount(first + 1, edges.data, n + 1)
    closed = np.bincount(last + 1, edges.data, n + 1)
    crossed = np.maximum(np.cumsum(opened - closed)[1:n], 0.5)  # by a cut after 1, 2, ..., n - 1 samples
    hump = np.minimum(np.maximum.accumulate(crossed), np.maximum.accumulate(crossed[::-1])[::-1])
    depth = 2 * (np.sqrt(hump) - np.sqrt(crossed)) / np.sqrt(per_sample)
    inner = depth[LEAST_CLUSTER - 1 : n - LEAST_CLUSTER]
    place = int(np.argmax(inner))
    return float(inner[place]), place + LEAST_CLUSTER, ranks


def excess_slowness(rates: Array, of_clouds: Sequence[Array]) -> tuple[Array, Array, Array]:
    """Return s_j (m,), how much slower modes are than those of clouds, and standard deviations of clouds.

    These are of s_j (m,) and of the gaps between one mode and the next (m - 1,).
    """
    m = min(len(rates), *(len(each) for each in of_clouds))
    clouds = np.array([np.log(each[m - 1] / each[:m]) for each in of_clouds])
    slowness = np.log(rates[m - 1] / rates[:m]) - clouds.mean(axis=0)
    spreads = [smooth_spread(each) for each in (clouds, np.diff(clouds))]
    return slowness, *spreads


def smooth_spread(clouds: Array) -> Array:
    """Return the standard deviation of each mode over a few clouds, a geometric mean over the modes next to it."""
    logs = np.log(np.maximum(clouds.std(axis=0, ddof=1), LEAST_SPREAD))
    window, middle = np.ones(2 * NEXT_MODES + 1), slice(NEXT_MODES, NEXT_MODES + len(logs))
    sums, counts = (np.convolve(each, window)[middle] for each in (logs, np.ones_like(logs)))
    return np.exp(sums / counts)


def count_slow_modes(slowness: Array, spread: Array, gap_spread: Array, dimension: float) -> tuple[int, bool]:
    """Return how many modes tell clusters apart, and whether that number is clear.

    Most of them must be slow. The number is clear if a gap follows that clouds do not have; of several, the last.
    """
    least = max(LEAST_SLOWNESS, GEOMETRY / dimension)
    slow = (slowness >= least) & (slowness >= SPREADS * spread)
    gaps = slowness[:-1] - slowness[1:]
    mostly = slow & (np.cumsum(slow) > 0.5 * np.arange(1, len(slow) + 1))
    clear = mostly[:-1] & (gaps >= least) & (gaps >= SPREADS * gap_spread)
    if clear.any():
        return int(np.flatnonzero(clear)[-1]) + 1, True
    return (int(np.flatnonzero(mostly)[-1]) + 1 if mostly.any() else 0), False


def cut_by_modes(modes: Modes, k: int) -> np.ndarray:
    """Return k clusters (n,) by the slowest k - 1 modes, samples compared by direction."""
    rows = np.column_stack([np.full(len(modes.values), modes.constant), modes.values[:, : k - 1]])
    return kmeans(rows / np.linalg.norm(rows, axis=1, keepdims=True), k)
