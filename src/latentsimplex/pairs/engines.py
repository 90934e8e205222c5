"""The pair values for a device, in memory or on a GPU; EM does not know which it was given."""

from __future__ import annotations

from typing import Any

from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.inputs.views import Views
from latentsimplex.pairs.divergence import Divergence
from latentsimplex.pairs.in_memory import InMemoryPairs, ViewReader
from latentsimplex.pairs.memory_budget import Storage
from latentsimplex.pairs.on_device import DevicePairs, DeviceReader
from latentsimplex.pairs.protocol import Backend
from latentsimplex.similarity.kernel import Kernel
from latentsimplex.similarity.walk_eigenvectors import EigenvectorCache


def make_pairs(
    device: str | None,
    views: Views,
    kernel: Kernel,
    divergence: Divergence,
    workers: Workers,
    cache: EigenvectorCache,
    backend: Backend,
    keep: Storage,
    weights: Array | None = None,
    members: Indices | None = None,
) -> InMemoryPairs:
    """Return the pair values of views, of all or of some members, on a device of torch or, for None, in memory."""
    reading: tuple[Any, ...] = (views, kernel, divergence, workers, cache)
    if device is None:
        return InMemoryPairs(ViewReader(*reading), backend, keep, weights, members)
    return DevicePairs(DeviceReader(device, *reading), backend, keep, weights, members)
