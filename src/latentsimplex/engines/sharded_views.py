"""Views in shards: runs of views that workers hold, cut in the same way whatever the number of workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.auto.temperatures import tells_something
from latentsimplex.base.condensed import count_pairs
from latentsimplex.base.types import Array, Indices
from latentsimplex.engines.dask_cluster import Cluster
from latentsimplex.inputs.fingerprint import digest_tables, fingerprint_views
from latentsimplex.inputs.numbers import check_table, read_numbers
from latentsimplex.inputs.stored_tables import DaskTable
from latentsimplex.inputs.stored_views import Place, StoredColumns
from latentsimplex.inputs.views import Views
from latentsimplex.inputs.words import leave_out_wordless

SHARD_VALUES = 1 << 24
"""Pair values of a shard, 64 MB of them: enough for a task to do in each pass, and shards enough for many workers."""
SHARD_BYTES = 1 << 23
"""Bytes of the tables of a shard, which travel in one message."""
MOST_SHARDS = 4096
"""Where there would be more, shards are larger: each costs the scheduler a millisecond in each pass."""
ROUNDING = 1e-9
"""Sums of costs that differ by this share are the same."""


class ShardedViews(NamedTuple):
    """Views in shards: the views as this process knows them, which are in each shard, and the shards on workers.

    ``shards()`` are the futures of the shards, which are sent when it is first called: others may go before them.
    """

    views: Views
    bounds: list[slice]
    shards: Callable[[], list[Any]]


def cut_into_shards(n_samples: int, widths: list[int]) -> list[slice]:
    """Return runs of views that cost about the same, by their pair values or by their tables.

    >>> cut_into_shards(150, [1] * 4000)
    [slice(0, 1333, None), slice(1333, 2666, None), slice(2666, 4000, None)]
    """
    costs = np.maximum(
        count_pairs(n_samples) / SHARD_VALUES, 8 * n_samples * np.array(widths, dtype=float) / SHARD_BYTES
    )
    ends = np.cumsum(costs)
    n_shards = min(int(np.ceil(ends[-1] * (1 - ROUNDING))), len(widths), MOST_SHARDS)
    targets = ends[-1] * np.arange(1, n_shards) / n_shards
    cuts = np.searchsorted(ends, targets * (1 + ROUNDING), side="right").tolist()
    edges = sorted({0, *cuts, len(widths)})
    return [slice(start, stop) for start, stop in pairwise(edges)]


def send_views(cluster: Cluster, views: Views) -> ShardedViews:
    """Return views in shards: those of this process are sent to workers, stored ones are read by them."""
    bounds = cut_into_shards(views.n_samples, views.widths)
    if isinstance(views.load, StoredColumns):
        shards = [
            read_shard(cluster, views, views.load, rows, place)
            for rows, place in zip(bounds, cluster.place(len(bounds)), strict=True)
        ]
        held = LoadsFromShards(cluster, bounds, shards)
        return ShardedViews(replace(mark_varying(cluster, views, shards), load=held), bounds, lambda: shards)

    @cache
    def send_shards() -> list[Any]:
        return [
            cluster.submit(hold_views, *pack_views(views, rows), worker=place)
            for rows, place in zip(bounds, cluster.place(len(bounds)), strict=True)
        ]

    return ShardedViews(views, bounds, send_shards)


class LoadsFromShards:
    """Loads views that this process does not have from the workers that hold them, one by one."""

    def __init__(self, cluster: Cluster, bounds: list[slice], shards: list[Any]) -> None:
        self.cluster, self.shards = cluster, shards
        self.starts = np.array([rows.start for rows in bounds])

    def __call__(self, v: int) -> Array:
        k = int(np.searchsorted(self.starts, v, side="right")) - 1
        found = self.cluster.submit(take_tables, self.shards[k], [v - int(self.starts[k])])
        return unpack_tables(*self.cluster.gather([found])[0])[0]


def read_shard(cluster: Cluster, views: Views, stored: StoredColumns, rows: slice, place: str) -> Any:
    """Return the future of a run of views that a worker reads; what Dask has yet to compute it computes there."""
    places = stored.places[rows]
    pieces: dict[int, slice] = {}
    for t in dict.fromkeys(place.table for place in places):
        columns = [j for place in places if place.table == t for j in place.columns]
        pieces[t] = slice(min(columns), max(columns) + 1)
    tables = [stored.tables[t] for t in pieces]
    parts = [
        cluster.compute(table.take(columns)) if isinstance(table, DaskTable) else table
        for table, columns in zip(tables, pieces.values(), strict=True)
    ]
    return cluster.submit(
        read_views_of_shard,
        views.names[rows],
        views.n_samples,
        places,
        pieces,
        [stored.labels[t] for t in pieces],
        *parts,
        worker=place,
    )


def read_views_of_shard(
    names: list[str],
    n_samples: int,
    places: list[Place],
    pieces: dict[int, slice],
    labels: list[str],
    *parts: Any,
) -> Views:
    """Return views as the worker holds them that reads them: parts are stored tables, or what Dask has computed."""
    blocks = {}
    for (t, columns), label, part in zip(pieces.items(), labels, parts, strict=True):
        try:
            read = part.read(columns) if hasattr(part, "read") else part
        except OSError as error:
            from distributed import get_worker

            raise ValueError(
                f"The worker at {get_worker().address} cannot read {label}, which lies where this process sees it "
                f"({error}): put it where all workers see it, or load it and give the array."
            ) from None
        blocks[t] = check_table(read_numbers(read, label), label)
    tables = [blocks[t][:, [j - pieces[t].start for j in columns]] for t, columns in places]
    return hold_views(names, [table.shape[1] for table in tables], n_samples, tables)


def mark_varying(cluster: Cluster, views: Views, shards: list[Any]) -> Views:
    """Return views of which it is known which are not constant; faults of data that only workers see are raised."""
    flags = cluster.gather([cluster.submit(find_varying_views, shard) for shard in shards])
    return replace(views, varying=np.concatenate(flags))


def find_varying_views(views: Views) -> np.ndarray:
    """Return which views are not constant (V,)."""
    return np.array([tells_something(views, v) for v in range(len(views))], dtype=bool)


def fingerprint_shards(cluster: Cluster, sharded: ShardedViews) -> str:
    """Return the fingerprint of views as this process would find it, by workers that hold their tables."""
    digests = cluster.gather([cluster.submit(list_digests, shard) for shard in sharded.shards()])
    return fingerprint_views(sharded.views, chain.from_iterable(digests))


def list_digests(views: Views) -> list[str]:
    """Return a hash of each table of a shard."""
    return list(digest_tables(views))


def leave_out_wordless_of_shards(cluster: Cluster, sharded: ShardedViews) -> ShardedViews:
    """Return views that workers read without samples that have no word in them (:mod:`latentsimplex.inputs.words`)."""
    shards = [cluster.submit(leave_out_wordless, shard) for shard in sharded.shards()]
    found = cluster.gather([cluster.submit(list_present, shard) for shard in shards])
    present = np.vstack(found)
    if present.all():
        return sharded
    held = LoadsFromShards(cluster, sharded.bounds, shards)
    return ShardedViews(replace(sharded.views, present=present, load=held), sharded.bounds, lambda: shards)


def list_present(views: Views) -> np.ndarray:
    """Return which samples (V, n) the views of a shard have."""
    return np.ones((len(views), views.n_samples), dtype=bool) if views.present is None else views.present


def pack_views(views: Views, rows: slice) -> tuple[Any, ...]:
    """Return a run of views as it travels."""
    own = range(len(views))[rows]
    tables = pack_tables([views.load(v) for v in own]) if views.stack is None else views.stack[rows]
    present = None if views.present is None else views.present[rows]
    return (views.names[rows], views.widths[rows], views.n_samples, tables, views.has_missing, present)


def pack_tables(tables: list[Any]) -> Any:
    """Return tables side by side, as one array: thousands that travel by themselves take long; others as they are."""
    plain = all(isinstance(table, np.ndarray) and len(table) == len(tables[0]) for table in tables)
    return np.hstack(tables) if plain else tables


def unpack_tables(packed: Any, widths: Sequence[int]) -> list[Any]:
    """Return the tables that were packed."""
    if not isinstance(packed, np.ndarray):
        return packed
    return [np.ascontiguousarray(table) for table in np.split(packed, np.cumsum(widths)[:-1], axis=1)]


def hold_views(
    names: list[str],
    widths: list[int],
    n_samples: int,
    tables: Any,
    has_missing: bool = False,
    present: np.ndarray | None = None,
) -> Views:
    """Return views as a worker holds them: ``tables`` are packed, or an array (V, n, p)."""
    is_stack = isinstance(tables, np.ndarray) and tables.ndim == 3
    if not is_stack:
        tables = unpack_tables(tables, widths)
    return Views(
        names=names,
        sample_names=None,
        feature_names=None,
        n_samples=n_samples,
        widths=widths,
        load=tables.__getitem__,
        stack=tables if is_stack else None,
        has_missing=has_missing,
        present=present,
    )


def take_views(cluster: Cluster, sharded: ShardedViews, members: Indices) -> tuple[list[int], list[Any]]:
    """Return some views in order, and their tables as a task is given them, packed shard by shard.

    A part of views that this process holds is sent by itself: nobody need wait until all shards have arrived.
    """
    if len(members) < len(sharded.views) and not isinstance(sharded.views.load, LoadsFromShards):
        return members.tolist(), [take_tables(sharded.views, members.tolist())]
    order: list[int] = []
    parts = []
    for rows, shard in zip(sharded.bounds, sharded.shards(), strict=True):
        own = members[(members >= rows.start) & (members < rows.stop)].tolist()
        if own:
            order += own
            parts.append(cluster.submit(take_tables, shard, [v - rows.start for v in own]))
    return order, parts


def take_tables(views: Views, members: list[int]) -> tuple[Any, list[int]]:
    """Return the tables of some views, packed, and their widths."""
    return pack_tables([views.load(v) for v in members]), [views.widths[v] for v in members]


def describe_views(views: Views, order: list[int]) -> Views:
    """Return views as a task knows them to whom the tables of some come by themselves (:func:`rebuild_views`).

    Where they are a part, they are views that vary: to the task no others do.
    """
    described = hold_views(views.names, views.widths, views.n_samples, [], views.has_missing, views.present)
    varying = views.varying if len(order) == len(views) else np.isin(np.arange(len(views)), order)
    return replace(described, varying=varying)


def rebuild_views(described: Views, order: list[int], parts: Sequence[tuple[Any, list[int]]]) -> Views:
    """Return views of which those in ``order`` are at hand, for a task that asks for no others."""
    tables = dict(zip(order, chain.from_iterable(unpack_tables(*part) for part in parts), strict=True))
    return replace(described, load=tables.__getitem__)
