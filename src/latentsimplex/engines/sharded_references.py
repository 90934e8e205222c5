"""What places new samples, learnt where the views are: how each compares samples shard by shard, then by pattern."""

from __future__ import annotations

import numpy as np

from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array
from latentsimplex.engines.cluster import Cluster
from latentsimplex.engines.sharded_views import ShardedViews
from latentsimplex.placing.comparison import Comparison
from latentsimplex.placing.neighbour_opinions import Neighbourhood, learn_neighbourhood
from latentsimplex.placing.references import References, draw_references, learn_comparisons
from latentsimplex.results.results import Results

Learnt = list[tuple[Comparison, np.ndarray]]
"""How views compare samples, and the coordinates of references in each."""


def keep_references_of_shards(cluster: Cluster, sharded: ShardedViews, results: Results) -> References:
    """Return what places new samples, as :func:`latentsimplex.placing.references.keep_references` does."""
    views = sharded.views
    rows = draw_references(views, results.pattern_labels)
    members = [np.flatnonzero(results.view_patterns == l) for l in range(len(results.memberships))]
    clustered = [l for l, W in enumerate(results.memberships) if W.shape[1] > 1]
    known, compared = [], []
    for l in clustered:
        W, own = results.memberships[l], members[l]
        parts = [
            cluster.submit(learn_comparisons, shard, (here - at.start).tolist(), results.similarity, rows)
            for at, shard in zip(sharded.bounds, sharded.shards, strict=True)
            if len(here := own[(own >= at.start) & (own < at.stop)])
        ]
        known.append(cluster.submit(learn_pattern, W[rows], W.mean(axis=0), *parts))
        compared.append(cluster.submit(take_comparisons, *parts))
    comparisons: dict[int, Comparison] = {}
    for l, found in zip(clustered, cluster.gather(compared), strict=True):
        comparisons |= dict(zip(members[l].tolist(), found, strict=True))
    neighbourhoods: list[Neighbourhood | None] = [None] * len(members)
    for l, neighbourhood in zip(clustered, cluster.gather(known), strict=True):
        neighbourhoods[l] = neighbourhood
    given = [views.find_given(v) for v in range(len(views))]
    return References(rows, given, dict(sorted(comparisons.items())), neighbourhoods, members)


def learn_pattern(W: Array, shares: Array, *parts: Learnt) -> Neighbourhood:
    """Return how far neighbours are believed in the views of a pattern, given their coordinates."""
    from distributed import get_worker

    with Workers(get_worker().state.nthreads) as workers:
        return learn_neighbourhood([Z for part in parts for _, Z in part], W, shares, workers)


def take_comparisons(*parts: Learnt) -> list[Comparison]:
    """Return how views compare samples, without coordinates, which come by pattern."""
    return [comparison for part in parts for comparison, _ in part]
