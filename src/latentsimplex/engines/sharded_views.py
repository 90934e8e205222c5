"""Views in shards: runs of views that workers hold, cut in the same way whatever the number of workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.base.condensed import count_pairs
from latentsimplex.base.types import Indices
from latentsimplex.engines.cluster import Cluster
from latentsimplex.inputs.views import Views

SHARD_VALUES = 1 << 24
"""Pair values of a shard, 64 MB of them: enough for a task to do in each pass, and shards enough for many workers."""
SHARD_BYTES = 1 << 23
"""Bytes of the tables of a shard, which travel in one message."""


class ShardedViews(NamedTuple):
    """Views in shards: the views as this process knows them, which are in each shard, and the shards on workers."""

    views: Views
    bounds: list[slice]
    shards: list[Any]


def cut_into_shards(n_samples: int, widths: list[int]) -> list[slice]:
    """Return runs of views that cost about the same, by their pair values or by their tables.

    >>> cut_into_shards(150, [1] * 4000)
    [slice(0, 1333, None), slice(1333, 2666, None), slice(2666, 4000, None)]
    """
    costs = np.maximum(
        count_pairs(n_samples) / SHARD_VALUES, 8 * n_samples * np.array(widths, dtype=float) / SHARD_BYTES
    )
    ends = np.cumsum(costs)
    n_shards = min(int(np.ceil(ends[-1] - 1e-9)) or 1, len(widths))
    cuts = [int(np.searchsorted(ends, k * ends[-1] / n_shards)) for k in range(1, n_shards)]
    edges = sorted({0, *cuts, len(widths)})
    return [slice(start, stop) for start, stop in pairwise(edges)]


def send_views(cluster: Cluster, views: Views) -> ShardedViews:
    """Return views of this process in shards that are sent to workers."""
    bounds = cut_into_shards(views.n_samples, views.widths)
    shards = [cluster.submit(hold_views, *pack_views(views, rows)) for rows in bounds]
    return ShardedViews(mark_varying(cluster, views, shards), bounds, shards)


def mark_varying(cluster: Cluster, views: Views, shards: list[Any]) -> Views:
    """Return views of which it is known which are not constant; faults of data that only workers see are raised."""
    flags = cluster.gather([cluster.submit(find_varying_views, shard) for shard in shards])
    return replace(views, varying=np.concatenate(flags))


def find_varying_views(views: Views) -> np.ndarray:
    """Return which views are not constant (V,)."""
    return np.array([views.varies(v) for v in range(len(views))], dtype=bool)


def pack_views(views: Views, rows: slice) -> tuple[Any, ...]:
    """Return a run of views as it travels."""
    own = range(len(views))[rows]
    tables = [views.load(v) for v in own] if views.stack is None else views.stack[rows]
    present = None if views.present is None else views.present[rows]
    return (views.names[rows], views.widths[rows], views.n_samples, tables, views.has_missing, present)


def hold_views(
    names: list[str],
    widths: list[int],
    n_samples: int,
    tables: Any,
    has_missing: bool,
    present: np.ndarray | None,
) -> Views:
    """Return views as a worker holds them: ``tables`` are a list of them, or an array (V, n, p)."""
    return Views(
        names=names,
        sample_names=None,
        feature_names=None,
        n_samples=n_samples,
        widths=widths,
        load=tables.__getitem__,
        stack=tables if isinstance(tables, np.ndarray) else None,
        has_missing=has_missing,
        present=present,
    )


def take_views(cluster: Cluster, sharded: ShardedViews, members: Indices) -> tuple[list[int], list[Any]]:
    """Return some views in the order of shards, and the futures of lists of their tables in that order."""
    order: list[int] = []
    parts = []
    for rows, shard in zip(sharded.bounds, sharded.shards, strict=True):
        own = members[(members >= rows.start) & (members < rows.stop)].tolist()
        if own:
            order += own
            parts.append(cluster.submit(take_tables, shard, [v - rows.start for v in own]))
    return order, parts


def take_tables(views: Views, members: list[int]) -> list[Any]:
    """Return the tables of some views."""
    return [views.load(v) for v in members]


def describe_views(views: Views) -> Views:
    """Return views as a task knows them to whom their tables come by themselves (:func:`rebuild_views`)."""
    described = hold_views(views.names, views.widths, views.n_samples, [], views.has_missing, views.present)
    return replace(described, varying=views.varying)


def rebuild_views(described: Views, order: list[int], parts: Sequence[list[Any]]) -> Views:
    """Return views of which those in ``order`` are at hand, for a task that asks for no others."""
    tables = dict(zip(order, (table for part in parts for table in part), strict=True))
    return replace(described, load=tables.__getitem__)
