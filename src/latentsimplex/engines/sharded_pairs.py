"""Pair values that the workers of a cluster read and hold, a shard of views each, and passes over them.

What travels to workers in a pass are memberships, responses and weights of patterns; what comes back are rows of views
and sums over pairs. Sums of shards are added up on workers, in a tree of fixed shape, so that neither the number of
workers nor which of them holds what changes anything, to the last bit.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from latentsimplex.base.arrays import to_host
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.engines.dask_cluster import Cluster
from latentsimplex.engines.sharded_views import ShardedViews
from latentsimplex.inputs.views import Views
from latentsimplex.model.backends import choose_backend
from latentsimplex.pairs.divergence import Divergence
from latentsimplex.pairs.memory_budget import STORAGES, Storage
from latentsimplex.pairs.on_device import find_device, make_pairs
from latentsimplex.pairs.protocol import Backend, Passed, Visit
from latentsimplex.similarity.kernel import Kernel

FAN_IN = 8
"""Results of a pass that workers join at a time, down to one, which is all that travels to who asked for the pass."""


class Shard:
    """The pair values of a run of views on a worker. What travels to another one is what reads them again there."""

    def __init__(
        self,
        views: Views,
        kernel: Kernel,
        divergence: Divergence,
        device: str | None,
        keep: Storage,
        weights: Array | None,
    ) -> None:
        self._made_of = (views, kernel, divergence, device, keep, weights)
        self._bytes = STORAGES[keep] * len(views) * views.n_samples * (views.n_samples - 1) // 2
        workers, device = Workers(1), None if device is None else find_device(device)
        backend = choose_backend(device, views.n_samples, workers)
        self.pairs = make_pairs(device, views, kernel, divergence, workers, backend, keep, weights)

    def __reduce__(self) -> Any:
        return Shard, self._made_of

    def __sizeof__(self) -> int:  # which Dask asks for to know what a worker holds
        return object.__sizeof__(self) + self._bytes


def summarise_shard(shard: Shard) -> tuple[Array, Indices]:
    """Return the constants (V',) of the views that are not constant, and which of the shard's views these are."""
    return shard.pairs.constants, shard.pairs.informative


def visit_shard(shard: Shard, visit: Visit, given: Array | None) -> Passed:
    """Return what a pass finds in a shard."""
    passed = shard.pairs.pass_over(visit, given)
    return passed._replace(stat=to_host(passed.stat))


def read_values(shard: Shard, v: int) -> Array:
    """Return the pair values (m,) of a view of a shard."""
    return to_host(shard.pairs.values(v))


def take_subset(shard: Shard, members: Indices) -> Any:
    """Return some views of a shard."""
    return SubShard(shard, members)


class SubShard:
    """Some views of a shard."""

    def __init__(self, shard: Shard, members: Indices) -> None:
        self._made_of = (shard, members)
        self.pairs = shard.pairs.subset(members)

    def __reduce__(self) -> Any:
        return SubShard, self._made_of


def join_passed(parts: list[Passed]) -> Passed:
    """Return what passes over neighbouring runs of views found as that of one pass over all of them."""
    sums, stat = parts[0].sums, parts[0].stat
    for part in parts[1:]:
        sums, stat = sums + part.sums, stat + part.stat
    return Passed(np.concatenate([part.rows for part in parts]), sums, stat)


class ShardedPairs:
    """The pair values of views in shards on workers (:class:`latentsimplex.pairs.protocol.PairValues`)."""

    def __init__(
        self,
        cluster: Cluster,
        shards: list[Any],
        counts: list[int],
        constants: Array,
        weights: Array,
        informative: Indices,
        backend: Backend,
        workers: Workers,
        n_samples: int,
    ) -> None:
        self.n_samples, self.constants, self.weights = n_samples, constants, weights
        self.informative, self.workers, self.backend = informative, workers, backend
        self._cluster, self._shards = cluster, shards
        self._ends = np.cumsum([0, *counts])

    def __len__(self) -> int:
        return len(self.constants)

    def pass_over(self, visit: Visit, given: Array | None = None) -> Passed:
        """Return what a visit to every block of views finds, each with its rows of what is given."""
        submit = self._cluster.submit
        sent = self._cluster.broadcast(visit, len(self._shards))
        parts = [
            submit(visit_shard, shard, sent, None if given is None else given[start:stop])
            for shard, (start, stop) in zip(self._shards, pairwise(self._ends), strict=True)
        ]
        while len(parts) > 1:
            parts = [submit(join_passed, parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
        return self._cluster.gather(parts)[0]

    def values(self, v: int) -> Any:
        """Return F[v], from the worker that holds it."""
        shard = int(np.searchsorted(self._ends, v, side="right")) - 1
        return self._cluster.gather(
            [self._cluster.submit(read_values, self._shards[shard], v - int(self._ends[shard]))]
        )[0]

    def subset(self, members: np.ndarray) -> ShardedPairs:
        """Return the pair values of some of the views, in order, without a copy."""
        own = [members[(members >= start) & (members < stop)] - start for start, stop in pairwise(self._ends)]
        return ShardedPairs(
            self._cluster,
            [
                self._cluster.submit(take_subset, shard, some)
                for shard, some in zip(self._shards, own, strict=True)
                if len(some)
            ],
            [len(some) for some in own if len(some)],
            self.constants[members],
            self.weights[members],
            self.informative[members],
            self.backend,
            self.workers,
            self.n_samples,
        )


def read_shards(
    cluster: Cluster,
    sharded: ShardedViews,
    device: str | None,
    views: Views,
    kernel: Kernel,
    divergence: Divergence,
    workers: Workers,
    backend: Backend,
    keep: Storage,
    weights: Array | None = None,
    members: None = None,
    followed: Any = None,
) -> ShardedPairs:
    """Return the pair values of all views, read by the workers that hold them.

    It stands in for :func:`latentsimplex.pairs.on_device.make_pairs`, for all views, none of which lacks samples.
    """
    shards = [
        cluster.submit(
            Shard, shard, kernel, divergence, device, keep, None if weights is None else weights[rows]
        )
        for rows, shard in zip(sharded.bounds, sharded.shards(), strict=True)
    ]
    found = cluster.gather([cluster.submit(summarise_shard, shard) for shard in shards])
    told = [(shard, len(own)) for shard, (_, own) in zip(shards, found, strict=True) if len(own)]
    informative = np.concatenate(
        [rows.start + own for rows, (_, own) in zip(sharded.bounds, found, strict=True)]
    )
    return ShardedPairs(
        cluster,
        [shard for shard, _ in told],
        [count for _, count in told],
        np.concatenate([constants for constants, _ in found]),
        np.ones(len(informative)) if weights is None else weights[informative],
        informative,
        backend,
        workers,
        views.n_samples,
    )
