"""Neighbour graphs of several sizes, and how many neighbours that is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.neighbours.nearest_neighbours import COMPARED
from latentsimplex.neighbours.neighbour_graphs import Graph, Modes, find_neighbours, read_graph

FEW_NEIGHBOURS, PER_NEIGHBOUR, LEAST_NEIGHBOURS = 10, 8, 3
"""Neighbours in the more local of two graphs: ten, fewer of few samples. The other has twice as many."""
BROAD = (7, 3)
"""Samples for each neighbour in broad graphs: a seventh and a third of them are neighbours."""
MOST_NEIGHBOURS = 400

FoundNeighbours = dict[str, list[Indices]]
"""For a comparison of features, the nearest neighbours of samples in each view, in order."""


def local_sizes(n: int) -> list[int]:
    """Return how many neighbours n samples have in local graphs.

    >>> local_sizes(300), local_sizes(30)
    ([10, 20], [3, 6])
    """
    k = min(FEW_NEIGHBOURS, max(LEAST_NEIGHBOURS, n // PER_NEIGHBOUR))
    return [k, 2 * k]


def broad_sizes(n: int) -> list[int]:
    """Return how many neighbours n samples have in broad graphs.

    >>> broad_sizes(300), broad_sizes(30)
    ([42, 100], [10])
    """
    sizes = {min(n // share, MOST_NEIGHBOURS) for share in BROAD}
    return sorted(k for k in sizes if max(local_sizes(n)) < k < n)


def read_graphs(
    coordinates: Sequence[Array],
    sizes: Sequence[int],
    n_modes: int,
    workers: Workers | None = None,
    quickly: bool = False,
    keep: list[Indices] | None = None,
) -> list[tuple[Graph, Modes]]:
    """Return the graph of each size, pooled over views, and its slow modes.

    ``keep`` receives the neighbours in each view, the nearest first.
    """
    workers = workers or Workers(1)
    is_small = len(coordinates[0]) <= COMPARED  # the work on larger views and graphs is shared out by itself
    most = max(sizes, default=0)
    chosen = sizes if keep is None else ()
    find = partial(find_neighbours, n_neighbours=most, workers=workers, quickly=quickly, sizes=chosen)
    near = list(workers.map(find, coordinates, is_small)) if sizes else []
    if keep is not None:
        keep[:] = near
    return list(workers.map(partial(read_graph, near, n_modes=n_modes, workers=workers), sizes, is_small))
