"""A pool of threads for independent pieces of work, whose results are combined in a fixed order.

NumPy releases the interpreter lock in its loops, so threads share arrays without copies. BLAS runs
with one thread inside a fit: the pieces are the parallelism, and results stay the same to the last
bit whatever the number of threads.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial
from threading import Lock, local
from typing import TYPE_CHECKING, Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:
        """An attribute that is computed when it is first asked for.

        That of Python 3.11 has one lock for all objects of a class: threads with objects of their own would wait for
        one another. Without it, as in later versions, threads that share an object may each compute the value.
        """

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            self._compute, self.__doc__ = compute, compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self._compute(instance)
            return value


class SharedLimit:
    """A context that limits BLAS to one thread; limits belong to the process, so the last one to leave lifts it."""

    def __init__(self) -> None:
        self._lock, self._holders, self._modules = Lock(), 0, 0
        self._found: ThreadpoolController | None = None
        self._limits: Any = None

    def __enter__(self) -> None:
        """Limit BLAS to one thread, unless it is."""
        with self._lock:
            self._holders += 1
            if self._holders == 1:
                self._limits = self._libraries().limit(limits=1)

    def __exit__(self, *exception: object) -> None:
        """Give BLAS its threads back, unless somebody else holds the limit."""
        with self._lock:
            self._holders -= 1
            if not self._holders:
                self._limits.restore_original_limits()

    def _libraries(self) -> ThreadpoolController:
        """Return the libraries with threads; looking for them takes a while, and only imports bring new ones."""
        if self._found is None or len(sys.modules) != self._modules:
            self._found, self._modules = ThreadpoolController(), len(sys.modules)
        return self._found


one_blas_thread = SharedLimit()
one_at_a_time = Lock()
"""Threads take turns with large pieces of work on a device: its memory and its processors are for one of them."""
here = local()
"""``here.pool`` is the name of the pool that the running thread belongs to."""


def count_threads(n_jobs: int | None) -> int:
    """Return a number of threads; None is one for each processor."""
    return os.cpu_count() or 1 if n_jobs is None else n_jobs


class Workers:
    """Threads for the length of a ``with`` block; one thread means plain calls.

    ``device`` is one of torch that they may give large pieces of work to, None for none. Where there are few views,
    they do ``without_loops`` that take longer to compile than they save.

    >>> with Workers(2) as workers:
    ...     list(workers.map(abs, [-1, -2]))
    [1, 2]
    """

    def __init__(self, n_jobs: int | None = None, device: str | None = None) -> None:
        self.n_jobs, self.device, self.without_loops = count_threads(n_jobs), device, False
        self._pool: ThreadPoolExecutor | None = None
        self._name = object()
        self._begin: Callable[..., Any] | None = None

    def __enter__(self) -> Workers:
        one_blas_thread.__enter__()
        if self.n_jobs > 1:
            self._pool = ThreadPoolExecutor(
                self.n_jobs, initializer=setattr, initargs=(here, "pool", self._name)
            )
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
        one_blas_thread.__exit__()

    def until(self, stop: Callable[[], bool], doing: str) -> Workers:
        """Return the same threads for work that ``stop`` ends, whose next piece then is a KeyboardInterrupt.

        That says what was being done.
        """

        def begin(function: Callable[[Any], T], argument: Any) -> T:
            if stop():
                raise KeyboardInterrupt(doing)
            return function(argument)

        ended = copy(self)
        ended._begin = begin
        return ended

    def __reduce__(self) -> tuple[Any, ...]:
        return Workers, (1,)  # what travels to another process finds one thread there, its own

    def spread(
        self,
        function: Callable[[Any, Any], T],
        state: Any,
        chunks: Sequence[Any],
        take: Callable[[Any], Any] | None = None,
    ) -> Iterator[T]:
        """Yield ``function(state, chunk)`` for each chunk, in that order; ``take`` makes a chunk of its bounds.

        Here it is these threads that do it. Where a fit has other workers, each of them is sent the state once, so that
        the function must be one that can be sent, and chunks depend on the data alone.
        """
        return self.map(lambda chunk: function(state, chunk if take is None else take(chunk)), chunks)

    def map(
        self, function: Callable[[Any], T], arguments: Sequence[Any], threaded: bool = True
    ) -> Iterator[T]:
        """Yield ``function(a)`` for each argument, in that order; without threads where they are not worth it.

        What runs on one of these threads already goes on there, piece by piece.
        """
        if self._begin is not None:
            function = partial(self._begin, function)
        if (
            self._pool is None
            or len(arguments) == 1
            or not threaded
            or getattr(here, "pool", None) is self._name
        ):
            return map(function, arguments)
        return self._pool.map(function, arguments)
