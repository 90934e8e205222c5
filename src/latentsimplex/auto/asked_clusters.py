"""As many clusters as are asked for: those found by splits, or a spectral cut that clearly fewer edges leave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latentsimplex.auto.imputed_rows import fill_absent
from latentsimplex.auto.slow_modes import cut_by_modes
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array
from latentsimplex.base.wide_table import find_varying
from latentsimplex.neighbours.graph_sizes import MOST_NEIGHBOURS, local_sizes, read_graphs
from latentsimplex.neighbours.neighbour_graphs import Graph, Modes, find_parts, leaving_share

CLEARLY_FEWER = 0.9
"""The share of the edges that leave clusters found by splits, below which those of slow modes are taken instead. Slow
modes are cut so that few edges leave, and a little fewer is no sign that they are right."""


def cut_into(
    coordinates: Sequence[Any], k: int, before: np.ndarray, workers: Workers | None = None
) -> np.ndarray:
    """Return exactly k clusters (n,): those found before, or those of slow modes if clearly fewer edges leave them."""
    coordinates = [Z for Z in coordinates if find_varying(Z).any()]
    graphs = read_joined_graphs(fill_absent(coordinates), k, workers)
    ways = [
        labels for labels in (cut_by_modes(modes, k) for _, modes in graphs) if len(np.unique(labels)) == k
    ]
    leaving = [leaving_share(graphs[0][0], labels) for labels in ways]
    enough = len(np.unique(before)) == k
    if not ways or (enough and min(leaving) >= CLEARLY_FEWER * leaving_share(graphs[0][0], before)):
        return before
    return ways[int(np.argmin(leaving))]


def read_joined_graphs(
    coordinates: Sequence[Array], k: int, workers: Workers | None = None
) -> list[tuple[Graph, Modes]]:
    """Return two local graphs and their k - 1 slowest modes, with neighbours doubled until k pieces or fewer are left.

    Whichever pieces of a graph are put together, no edge leaves them, so that modes do not say which belong together.
    The nearest are joined first as samples are given more neighbours; very large pieces may stay apart.
    """
    n = len(coordinates[0])
    sizes = local_sizes(n)
    graphs = read_graphs(coordinates, sizes, k - 1, workers)
    while max(sizes) < min(n - 1, MOST_NEIGHBOURS) and find_parts(graphs[0][0])[0] > k:
        sizes = [min(2 * size, n - 1) for size in sizes]
        graphs = read_graphs(coordinates, sizes, k - 1, workers)
    return graphs
