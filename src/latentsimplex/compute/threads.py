"""A pool of threads over independent pieces of work, reduced in a fixed order.

NumPy releases the interpreter lock in its loops, so threads share arrays without copies. BLAS runs
with one thread inside a fit: the pieces are the parallelism, and results stay the same to the last
bit whatever the number of threads.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from types import TracebackType
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

T = TypeVar("T")


class Workers:
    """Threads for the length of a ``with`` block; one thread means plain calls.

    >>> with Workers(1) as workers:
    ...     workers.starmap(pow, [(2, 3), (3, 2)])
    [8, 9]
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = os.cpu_count() or 1 if n_jobs is None else n_jobs
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Workers:
        self._limits = threadpool_limits(1)
        if self.n_jobs > 1:
            self._pool = ThreadPoolExecutor(self.n_jobs)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
        self._limits.restore_original_limits()

    def starmap(self, function: Callable[..., T], arguments: Sequence[Iterable[Any]]) -> list[T]:
        """Return ``[function(*a) for a in arguments]``, in that order."""
        return list(self.imap(lambda a: function(*a), arguments))

    def imap(
        self, function: Callable[[Any], T], arguments: Sequence[Any], threaded: bool = True
    ) -> Iterator[T]:
        """Yield ``function(a)`` for each argument, in that order; without threads where they are not worth it."""
        if self._pool is None or len(arguments) == 1 or not threaded:
            return map(function, arguments)
        return self._pool.map(function, arguments)


class Ignored:
    """A kind of warning is ignored while any thread is in the ``with`` block.

    Filters of warnings belong to the process. Were each thread to save and restore them, one that leaves
    while another stays would bring back what the other had changed, for good.

    >>> with Ignored(UserWarning):
    ...     warnings.warn("not seen", UserWarning)
    """

    def __init__(self, category: type[Warning]) -> None:
        self._category, self._lock, self._inside = category, Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._saved = warnings.catch_warnings()
                self._saved.__enter__()
                warnings.simplefilter("ignore", self._category)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._saved.__exit__(None, None, None)
