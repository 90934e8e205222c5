"""References for placing new samples: how views compare them, learnt on the workers of a cluster, shard by shard."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.base.types import Array, Indices
from latentsimplex.engines.dask_cluster import Cluster
from latentsimplex.engines.sharded_views import ShardedViews
from latentsimplex.inputs.views import Views
from latentsimplex.placing.comparison import Comparison, Way
from latentsimplex.placing.references import (
    References,
    draw_references,
    learn_comparisons,
    learn_neighbourhoods,
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
            yield comparison, np.ascontiguousarray(self.coordinates[:, columns[i] : columns[i + 1]])


def keep_references_of_shards(
    cluster: Cluster, sharded: ShardedViews, results: Results, n_jobs: int | None = None
) -> References:
    """Return what places new samples, as :func:`latentsimplex.placing.references.keep_references` does."""
    rows = draw_references(sharded.views, results.pattern_labels)
    members = list_placing_views(results.view_patterns, len(results.memberships))
    clustered = [own for own, W in zip(members, results.memberships, strict=True) if W.shape[1] > 1]
    asked = np.sort(np.concatenate([np.empty(0, dtype=np.intp), *clustered]))
    parts = [
        cluster.submit(learn_in_shard, shard, (own - at.start).tolist(), results.similarity, rows)
        for at, shard in zip(sharded.bounds, sharded.shards(), strict=True)
        if len(own := asked[(asked >= at.start) & (asked < at.stop)])
    ]
    both = (each for part in cluster.gather(parts) for each in part.split())
    learnt = dict(zip(asked.tolist(), both, strict=True))
    coordinates = [[learnt[v][1] for v in own.tolist()] for own in clustered]
    known = [(W[rows], W.mean(axis=0)) for W in results.memberships]
    learn = partial(learn_neighbourhoods, coordinates, known, n_jobs)
    comparisons = {v: comparison for v, (comparison, _) in learnt.items()}
    return References(rows, sharded.views.list_given(), comparisons, learn, members)


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
