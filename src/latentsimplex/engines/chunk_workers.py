"""Chunks of samples on the workers of a cluster: the same functions as threads run, the same chunks, the same bits.

What all chunks need, the state, is sent to each worker once; chunks follow, a few more than there are threads at a
time, so that neither the scheduler nor who asks holds many. Results come back in the order of the chunks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from latentsimplex.base.threads import Workers
from latentsimplex.engines.dask_cluster import Cluster, connect_to

T = TypeVar("T")

AHEAD = 3
"""Chunks for each thread of the cluster that are sent before the first of them is back."""


class ChunkWorkers(Workers):
    """Threads of this process for pieces that stay here, and the workers of a cluster for chunks of samples."""

    def __init__(self, cluster: Cluster, n_jobs: int | None = None) -> None:
        super().__init__(n_jobs)
        self._cluster = cluster

    def spread(
        self,
        function: Callable[[Any, Any], T],
        state: Any,
        chunks: Sequence[Any],
        take: Callable[[Any], Any] | None = None,
    ) -> Iterator[T]:
        """Yield ``function(state, chunk)`` for each chunk, in that order, as workers of the cluster find it."""
        if len(chunks) == 1:
            return super().spread(function, state, chunks, take)
        return self._send(function, state, chunks, take)

    def _send(
        self,
        function: Callable[[Any, Any], T],
        state: Any,
        chunks: Sequence[Any],
        take: Callable[[Any], Any] | None,
    ) -> Iterator[T]:
        cluster, waiting = self._cluster, deque[Any]()
        held, most = cluster.broadcast(state, len(chunks)), AHEAD * cluster.n_threads
        for chunk in chunks:
            if len(waiting) == most:
                yield cluster.gather([waiting.popleft()])[0]
            sent = chunk if take is None else take(chunk)
            waiting.append(cluster.submit(function, held, cluster.send(sent)))
        while waiting:
            yield cluster.gather([waiting.popleft()])[0]


@contextmanager
def find_workers(engine: Any, n_jobs: int | None) -> Iterator[Workers]:
    """Yield the workers of an engine for chunks of samples, or threads of this process without one.

    A client that was closed after the fit is none.
    """
    if engine is None or getattr(engine, "status", "running") in ("closed", "closing"):
        with Workers(n_jobs) as workers:
            yield workers
        return
    with connect_to(engine) as cluster, ChunkWorkers(cluster, n_jobs) as chunk_workers:
        yield chunk_workers
