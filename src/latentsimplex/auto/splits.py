"""Evidence for splits of samples into clusters: dips between humps, and modes slower than without clusters.

**Dips.** Put the samples in the order of a slow mode and count the edges of a neighbour graph that each cut of that
order would cross. In one cloud of any shape the count rises to a hump and falls; between two clusters it dips. With h
the lower of the two humps, c the edges at the dip and k those of a sample,

    z = 2 (sqrt(h) - sqrt(c)) / sqrt(k)

is the depth of the dip in standard deviations, as far as edges are counts. Its evidence is how far z is beyond that of
clouds without clusters (:mod:`latentsimplex.auto.unimodal_clouds`).

**Slow modes.** In many dimensions clusters overlap in every order of the samples, but k of them have k - 1 modes that
are slower than those of clouds (:mod:`latentsimplex.auto.slow_modes`). In few dimensions long or curved shapes have
slow modes as well, so dips decide alone there.

**Gaps.** Small groups have fewer samples than each has neighbours. Where no dip or slow mode is believed, a gap is that
is far wider than those of clouds (:mod:`latentsimplex.neighbours.widest_gap`).

**Rare clusters** are too few for graphs. Where no other split of all samples is believed, those beyond the tail of all
others are looked for (:mod:`latentsimplex.auto.rare_clusters`). Pieces are cut off where others begin, so that their
tails say little.

Graphs are local or broad. A dip that a local graph shows is between the right samples, broad ones blur it: the deepest
dip of a local graph is taken unless broad graphs show a far deeper one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.auto.imputed_rows import fill_absent
from latentsimplex.auto.landmarks import place_by_landmarks
from latentsimplex.auto.rare_clusters import NEEDED, find_rare_group
from latentsimplex.auto.slow_modes import SPREADS, count_slow_modes, cut_by_modes, excess_slowness
from latentsimplex.auto.unimodal_clouds import CloudShape, measure_cloud_shape
from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.partial_table import PartialTable
from latentsimplex.base.threads import Workers, cached_property
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import find_varying
from latentsimplex.neighbours.graph_sizes import (
    FoundNeighbours,
    broad_sizes,
    local_sizes,
    read_graphs,
)
from latentsimplex.neighbours.nearest_neighbours import COMPARED
from latentsimplex.neighbours.neighbour_graphs import Dip, Graph, Modes, find_dip
from latentsimplex.neighbours.widest_gap import find_widest_gap
from latentsimplex.similarity.comparisons import compare_views, list_comparisons

N_CLOUDS, CLOUD_SAMPLES = 4, 1000
MOST_SAMPLES = 4000
"""Samples whose slow modes are compared with those of clouds."""
SEED = 0
"""The evidence belongs to the views: clouds do not depend on the fit's random state."""
ORDERS = 3
"""Slow modes whose orders are looked at for dips: higher ones fold the samples."""
LOCALLY = 0.5
"""The share of the strength of the strongest split that one of a local graph needs, to be taken instead."""
LEAST_CLUSTER = 5
"""Fewer samples than this are no cluster."""
CHANCE, CHANCE_FROM, CHANCE_SPREAD = 1.3, 1.2, 0.3
"""The deepest of L dips that are due to chance is about 1.3 (sqrt(2 log L) - 1.2): the largest of L normal numbers is
about sqrt(2 log L), and in strips, rings and clouds of even density dips are as deep as this line says. Long shapes
have many places for a dip. In local graphs, of which the line is, a dip has to be deeper than it by one spread at
least: four clouds may all be shallow."""
MARGIN = 0.8
"""By how much a dip must be deeper than all those of the clouds, in standard deviations."""
MANY_DIMENSIONS = 4
"""Slow modes are evidence in no fewer local dimensions than this."""
EMPTIER, WIDER, N_GAP_CLOUDS = 2.0, 2.0, 8
"""A gap counts that is twice as empty as gaps are by chance, twice as wide as the widest of so many clouds, and twice
as wide as most edges, which in many dimensions is far."""
MOST_WITH_GAPS = 300
"""Samples among which gaps are looked at: among more, groups that small are rare, and looking takes long."""
MOST_MODES = 40
UNBELIEVED = 0.9
"""The most strength of clusters that slow modes are no evidence for."""


class Margins(NamedTuple):
    """How many times the evidence that a split of all samples needs is asked of one, in local and in broad graphs."""

    local: float = 1.0
    broad: float = 1.0


ALL_SAMPLES = Margins()
"""The margins of splits of all samples."""


class Split(NamedTuple):
    """A way to cut samples into clusters.

    ``labels`` are the clusters (n,), ``depth`` the evidence in standard deviations and ``needed`` what clouds would
    have, ``strength`` what is beyond the clouds over what it takes: 1 or more is believed. ``comparison`` is how
    features were compared, ``is_broad`` whether it took a broad graph, ``is_clear`` whether one number of clusters
    stands out. ``sureness`` is the probability of each sample (n,) to be of a rare cluster, which graphs do not tell.
    """

    labels: np.ndarray
    depth: float
    needed: float
    strength: float
    comparison: str
    is_broad: bool
    is_clear: bool = True
    sureness: Array | None = None


def find_split(
    tables: Sequence[Any],
    workers: Workers,
    margins: Margins = ALL_SAMPLES,
    exactly: int | None = None,
    compared: str | None = None,
    n_landmarks: int | None = None,
    found: FoundNeighbours | None = None,
) -> Split | None:
    """Return the best way to cut the samples of some views; None where they are too few, or all alike.

    Strengths are over ``margins``: more is asked of clusters within clusters, which are found in two at a time.
    ``exactly`` is how many clusters there will be in the end: no more are cut at once and, where there is no evidence
    for any in many dimensions, so many. 0 is never more than two. ``compared`` is how features are compared, if that
    is known. Broad graphs are of ``n_landmarks`` samples, drawn at random, where there are more; None is of all.
    ``found`` receives neighbours.
    """
    given, tables = len(tables), [X for X in tables if find_varying(X).any()]
    if not tables or len(tables[0]) < 2 * LEAST_CLUSTER + 2:
        return None
    if found is not None and (len(tables) < given or n_landmarks is not None or not keeps_neighbours(tables)):
        found = None
    looks = {}
    for comparison in list_comparisons(tables) if compared is None else [compared]:
        coordinates = compare_views(tables, comparison, workers)
        keep = None if found is None else found.setdefault(comparison, [])
        looks[comparison] = Look(coordinates, workers, exactly != 0, n_landmarks, keep)
    slow = [split for comparison, look in looks.items() for split in look.slow_splits(comparison, exactly)]
    if any(split.strength >= 1 for split in slow):
        clearest = max(slow, key=lambda split: (split.is_clear, split.strength))
        return looks[clearest.comparison].place(clearest)
    local, broad = (
        [split for how, look in looks.items() for split in getattr(look, scale).dips(how, margin)]
        for scale, margin in margins._asdict().items()
    )
    chosen = choose_dip(local, broad, is_line(tables))
    if slow and chosen.strength < 1:
        chosen = max(slow, key=lambda split: split.strength)
    if chosen.strength < 1:
        gaps = [look.gap_split(how, margins.local) for how, look in looks.items()]
        chosen = max([chosen, *(gap for gap in gaps if gap is not None)], key=lambda split: split.strength)
    if chosen.strength < 1 and exactly != 0:
        comparison, look = next(iter(looks.items()))
        chosen = find_rare_split(look.coordinates, comparison, workers) or chosen
    return looks[chosen.comparison].place(chosen)


def choose_dip(local: list[Split], broad: list[Split], on_a_line: bool) -> Split:
    """Return the strongest split, a local one unless broad graphs show far more; on a line they alone are believed."""
    if broad and on_a_line:
        return max(broad, key=lambda split: split.strength)
    strongest = max([*local, *broad], key=lambda split: split.strength)
    nearest = max(local, key=lambda split: split.strength)
    return nearest if nearest.strength >= max(1.0, LOCALLY * strongest.strength) else strongest


def find_rare_split(coordinates: Sequence[Array], comparison: str, workers: Workers) -> Split | None:
    """Return a rare cluster and all other samples, if it is believed."""
    found = find_rare_group(coordinates, workers)
    if found is None:
        return None
    labels, strength = found.members.astype(np.intp), found.depth / NEEDED
    return Split(labels, found.depth, NEEDED, strength, comparison, False, sureness=found.sureness)


def is_line(tables: Sequence[Any]) -> bool:
    """Return whether the samples are points on a line, where a few neighbours may all be on one side of a sample.

    A graph of few neighbours breaks there by chance.

    >>> is_line([np.zeros((5, 1))]), is_line([np.zeros((5, 1))] * 2)
    (True, False)
    """
    return len(tables) == 1 and tables[0].shape[1] == 1


class Look:
    """Samples and clouds like them, at a local and at a broad scale; slow modes are for whole samples alone.

    ``keep`` receives the neighbours in each view.
    """

    def __init__(
        self,
        coordinates: Sequence[Array],
        workers: Workers,
        is_whole: bool,
        n_landmarks: int | None = None,
        keep: list[Indices] | None = None,
    ) -> None:
        n = len(coordinates[0])
        self.given, self.coordinates, self.workers = coordinates, fill_absent(coordinates), workers
        self.is_quick = n_landmarks is not None
        self.n_samples, self.n_cloud_samples = n, min(n, CLOUD_SAMPLES)
        self.has_many_dimensions = is_whole and self.shape.local_dimension >= MANY_DIMENSIONS
        n_modes = min(MOST_MODES, n // 4) if self.has_many_dimensions and n <= MOST_SAMPLES else ORDERS
        local, broad = local_sizes(n), broad_sizes(min(n, n_landmarks or n))
        self.local = Scale(self, self.coordinates, local, local, n_modes, keep)
        landmarks = sample_rows(n, n_landmarks or n)
        some = self.coordinates if len(landmarks) == n else [Z[landmarks] for Z in self.coordinates]
        of_cloud = [max(2, k * self.n_cloud_samples // len(landmarks)) for k in broad]
        self.broad = Scale(self, some, broad, of_cloud, ORDERS)

    @cached_property
    def shape(self) -> CloudShape:
        """The shape of the clouds."""
        some = sample_rows(self.n_samples, CLOUD_SAMPLES)
        return measure_cloud_shape([Z[some] for Z in self.given], workers=self.workers)

    def slow_splits(self, comparison: str, exactly: int | None) -> list[Split]:
        """Return clusters by slow modes, where there are many dimensions; of many samples those of a part of them.

        The rates of many more samples than clouds have rise in another way than those of clouds.
        """
        if not self.has_many_dimensions:
            return []
        if self.n_samples <= MOST_SAMPLES:
            return self.local.slow_splits(comparison, exactly)
        rows = sample_rows(self.n_samples, MOST_SAMPLES)
        part = Look([Z[rows] for Z in self.given], self.workers, True)
        return part.slow_splits(comparison, exactly)

    def gap_split(self, comparison: str, margin: float = 1.0) -> Split | None:
        """Return the two sides of the widest gap, if it is believed."""
        if self.n_samples > MOST_WITH_GAPS:
            return None
        found = find_widest_gap(self.coordinates, LEAST_CLUSTER, WIDER)
        if found is None or found.emptiness < EMPTIER * margin:
            return None
        shape, wider = measure_cloud_shape(self.given, found.dimension), found.width / WIDER

        def is_as_wide(cloud: int) -> bool:
            drawn = shape.draw(self.n_samples, np.random.default_rng([SEED, cloud]))
            return find_widest_gap(fill_absent(drawn), LEAST_CLUSTER, wider) is not None

        if any(self.workers.map(is_as_wide, range(N_GAP_CLOUDS))):
            return None
        # one of n gaps is s times as empty by chance with probability n^(1 - s); half the square of a depth is in nats
        depth, needed = np.sqrt(
            2 * np.log(self.n_samples) * (np.array([found.emptiness, EMPTIER * margin]) - 1)
        )
        return Split(found.sides, float(depth), float(needed), float(depth / needed), comparison, False)

    def place(self, split: Split) -> Split:
        """Return a split of all samples, given one of them or of a part."""
        if len(split.labels) == self.n_samples:
            return split
        rows = sample_rows(self.n_samples, len(split.labels))
        certain = np.eye(int(split.labels.max()) + 1)[split.labels]
        placed = place_by_landmarks(self.coordinates, rows, certain, self.workers)
        return split._replace(labels=placed.argmax(axis=1))


class Scale:
    """Neighbour graphs of samples, or of a part of them, and of clouds, read where they are needed.

    ``sizes`` are the neighbours that samples have in each graph, ``cloud_sizes`` those in a cloud. ``keep`` receives
    the neighbours of samples.
    """

    def __init__(
        self,
        look: Look,
        coordinates: Sequence[Array],
        sizes: list[int],
        cloud_sizes: list[int],
        n_modes: int,
        keep: list[Indices] | None = None,
    ) -> None:
        self._keep = keep
        self._look, self._coordinates, self._n_modes = look, coordinates, n_modes
        self._sizes, self._cloud_sizes = sizes, cloud_sizes

    @cached_property
    def graphs(self) -> list[tuple[Graph, Modes]]:
        """The graph of each size, and its slow modes."""
        look = self._look
        settings = (look.workers, look.is_quick, self._keep)
        return read_graphs(self._coordinates, self._sizes, self._n_modes, *settings)

    @cached_property
    def clouds(self) -> list[tuple[tuple[Graph, Modes], ...]]:
        """For each size of graph, what each cloud looks like."""
        shape = self._look.shape  # measured before threads ask for it

        def read_cloud(cloud: int) -> list[tuple[Graph, Modes]]:
            drawn = shape.draw(self._look.n_cloud_samples, np.random.default_rng([SEED, cloud]))
            return read_graphs(fill_absent(drawn), self._cloud_sizes, self._n_modes)

        return list(zip(*self._look.workers.map(read_cloud, range(N_CLOUDS)), strict=True))

    def dips(self, comparison: str, margin: float) -> list[Split]:
        """Return the deepest dip that each graph shows."""
        n_views, least = len(self._look.coordinates), MARGIN * margin
        found = [deepest_dip(graph, modes, n_views) for graph, modes in self.graphs]
        is_broad = self is self._look.broad
        nulls = [chance_depth(dip.n_places) + (0.0 if is_broad else CHANCE_SPREAD) for dip in found]
        if any(dip.depth >= least for dip in found):  # others would not be believed whatever the clouds
            nulls = [
                max(
                    *(null_depth(deepest_dip(*cloud, n_views), dip.n_places) for cloud in clouds),
                    -np.inf if is_broad else null,
                )
                for dip, clouds, null in zip(found, self.clouds, nulls, strict=True)
            ]
        return [
            Split(dip.sides, dip.depth, null + least, (dip.depth - null) / least, comparison, is_broad)
            for dip, null in zip(found, nulls, strict=True)
        ]

    def slow_splits(self, comparison: str, exactly: int | None) -> list[Split]:
        """Return clusters by the slow modes of each graph: as many as there are such modes, and one.

        Where there are none, ``exactly`` clusters, if that is given, are not believed.
        """
        found = []
        for (_, modes), clouds in zip(self.graphs, self.clouds, strict=True):
            slowness, spread, gap_spread = excess_slowness(modes.rates, [own.rates for _, own in clouds])
            count, is_clear = count_slow_modes(slowness, spread, gap_spread, self._look.shape.local_dimension)
            k = count + 1 if exactly is None else min(count + 1, exactly) if count else exactly
            if not 1 < k <= len(slowness):
                continue
            slow = np.maximum(slowness[: k - 1], 0.0)
            depth = float(np.sqrt(np.square(slow / spread[: k - 1]).sum()))
            needed = float(SPREADS * np.sqrt(k - 1))
            strength = 1 + float(slow.sum()) if count else min(depth / needed, UNBELIEVED)
            found.append(Split(cut_by_modes(modes, k), depth, needed, strength, comparison, False, is_clear))
        return found


def deepest_dip(graph: Graph, modes: Modes, n_views: int) -> Dip:
    """Return the deepest dip in the orders of slow modes.

    A sample's edges in one view are not independent, in several views they are: k is the edges in one.
    """
    per_sample = float(graph.data.sum()) / graph.shape[0] / n_views
    dips = [find_dip(graph, values, per_sample, LEAST_CLUSTER) for values in modes.values[:, :ORDERS].T]
    return max(dips, key=lambda dip: dip.depth)


def null_depth(of_cloud: Dip, n_places: float) -> float:
    """Return how deep the deepest dip of a cloud would be by chance, if the cloud had so many places for one or more.

    >>> dip = Dip(2.0, np.zeros(3, dtype=int), 30.0)
    >>> null_depth(dip, 20.0), round(null_depth(dip, 300.0), 2)
    (2.0, 3.0)
    """
    return of_cloud.depth + max(0.0, chance_depth(n_places) - chance_depth(of_cloud.n_places))


def chance_depth(n_places: float) -> float:
    """Return about how deep the deepest of so many dips is by chance.

    >>> round(chance_depth(30.0), 2), chance_depth(1.0)
    (1.83, 0.0)
    """
    return CHANCE * max(0.0, float(np.sqrt(2 * np.log(max(n_places, 1.0)))) - CHANCE_FROM)


def keeps_neighbours(tables: Sequence[Any]) -> bool:
    """Return whether neighbours in some views are worth keeping: all samples are there, and all were compared."""
    return len(tables[0]) <= COMPARED and not any(isinstance(X, PartialTable) for X in tables)
