"""References for placing new samples, learnt on the workers of a cluster: shard by shard, then by pattern."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.engines.cluster import Cluster
from latentsimplex.engines.sharded_views import ShardedViews
from latentsimplex.inputs.views import Views
from latentsimplex.placing.comparison import Comparison, Way
from latentsimplex.placing.neighbour_opinions import Neighbourhood, crowded_views, learn_neighbourhood
from latentsimplex.placing.references import (
    References,
    draw_references,
    learn_comparisons,
    list_placing_views,
)
from latentsimplex.results.results import Results


class Learnt(NamedTuple):
    """How views of a shard compare samples, and coordinates of references, joined: thousands travel as a few arrays.

    ``widths`` (V, 2) are the features and the coordinates of each view, ``axes`` those of views that have any.
    """

    ways: list[Way]
    widths: Indices
    scales: Array
    centres: Array
    factors: Array
    coordinates: np.ndarray
    axes: dict[int, np.ndarray]

    def split(self) -> Iterator[tuple[Comparison, np.ndarray]]:
        """Yield how each view compares samples, and the coordinates (m, r) of references in it."""
        features, columns = (np.cumsum([0, *own]) for own in self.widths.T)
        for i, way in enumerate(self.ways):
            own = slice(features[i], features[i + 1])
            comparison = Comparison(
                way, self.centres[own], self.factors[own], self.axes.get(i), float(self.scales[i])
            )
            yield comparison, self.coordinates[:, columns[i] : columns[i + 1]]


def keep_references_of_shards(cluster: Cluster, sharded: ShardedViews, results: Results) -> References:
    """Return what places new samples, as :func:`latentsimplex.placing.references.keep_references` does."""
    views = sharded.views
    rows = draw_references(views, results.pattern_labels)
    members = list_placing_views(results.view_patterns, len(results.memberships))
    clustered = [l for l, W in enumerate(results.memberships) if W.shape[1] > 1]
    learnt: dict[int, list[Any]] = {}
    known = []
    for l in clustered:
        W, own = results.memberships[l], members[l]
        learnt[l] = [
            cluster.submit(learn_in_shard, shard, (here - at.start).tolist(), results.similarity, rows)
            for at, shard in zip(sharded.bounds, sharded.shards, strict=True)
            if len(here := own[(own >= at.start) & (own < at.stop)])
        ]
        known.append(cluster.submit(learn_pattern, W[rows], W.mean(axis=0), *learnt[l]))
    comparisons: dict[int, Comparison] = {}
    neighbourhoods: list[Neighbourhood | None] = [None] * len(members)
    for l, (found, thin) in zip(clustered, cluster.gather(known), strict=True):
        both = [each for part in cluster.gather(learnt[l]) for each in part.split()]
        comparisons |= {v: one for v, (one, _) in zip(members[l].tolist(), both, strict=True)}
        coordinates, flat, rest = [Z for _, Z in both], np.ones(len(rows), dtype=np.float32), iter(thin)
        thinness = [next(rest) if wanted else flat for wanted in crowded_views(coordinates)]
        neighbourhoods[l] = replace(found, coordinates=coordinates, thinness=thinness)
    given = views.list_given()
    return References(rows, given, dict(sorted(comparisons.items())), partial(list, neighbourhoods), members)


def learn_in_shard(views: Views, members: list[int], kernel: Any, rows: Indices) -> Learnt:
    """Return how some views of a shard compare samples; runs on a worker."""
    learnt = learn_comparisons(views, members, kernel, rows)
    comparisons = [comparison for comparison, _ in learnt]
    return Learnt(
        [each.way for each in comparisons],
        np.array([(len(each.centre), Z.shape[1]) for each, Z in learnt]),
        np.array([each.scale for each in comparisons]),
        np.concatenate([each.centre for each in comparisons]),
        np.concatenate([each.factor for each in comparisons]),
        np.hstack([Z for _, Z in learnt]),
        {i: each.axes for i, each in enumerate(comparisons) if each.axes is not None},
    )


def learn_pattern(W: Array, shares: Array, *parts: Learnt) -> tuple[Neighbourhood, np.ndarray]:
    """Return how far neighbours are believed in the views of a pattern, and how thin references lie where some crowd.

    Coordinates stay behind: whoever asks has them from the shards. It runs on a worker.
    """
    from distributed import get_worker

    coordinates = [np.ascontiguousarray(Z) for part in parts for _, Z in part.split()]
    with Workers(get_worker().state.nthreads) as workers:
        known = learn_neighbourhood(coordinates, W, shares, workers)
    crowded = crowded_views(coordinates)
    thin = [own for own, wanted in zip(known.thinness, crowded, strict=True) if wanted]
    return replace(known, coordinates=[], thinness=[]), np.array(thin, dtype=np.float32).reshape(-1, len(W))
