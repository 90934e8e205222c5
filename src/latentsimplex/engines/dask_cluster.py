"""A Dask cluster as a fit uses it: tasks are submitted, results gathered, and faults reported in one sentence.

All that workers hold is the result of a task, and Dask knows which: what a lost worker held is made anew by others, and
the fit goes on. Tasks are pure functions of their arguments, so that it ends where it would have ended.
"""

from __future__ import annotations

import asyncio
import ctypes
from asyncio import CancelledError as AbandonedError
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar
from uuid import uuid4

from latentsimplex._version import __version__
from latentsimplex.base.libraries import import_optional
from latentsimplex.base.threads import one_blas_thread
from latentsimplex.base.wording import count_noun
from latentsimplex.pairs.memory_budget import SHARE_OF_FREE, available_bytes

T = TypeVar("T")

CONNECT_SECONDS = 10
"""How long an address may take to answer."""
ANSWER_SECONDS = 60
"""How long workers may take to answer a question, which they do beside their tasks."""
LOOK_SECONDS, PATIENCE = 10, 300
"""Seconds between two looks at the workers that a fit waits for, and how long there may be none at work."""
BUSY = 10
"""Percent of a processor that a worker takes which has gone on with a task since it was paused."""
KEPT_BYTES = 1 << 26
"""Memory that the C library of Linux keeps for the next arrays, unless it is told otherwise."""
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""What ``mallopt`` calls them."""


class Cluster:
    """The workers of a Dask cluster, through a client that is connected to its scheduler.

    Attributes
    ----------
    client : dask.distributed.Client
    address : str
        That of the scheduler.
    n_threads : int
        Threads of all workers at the beginning.
    checkpoint : path or None
        The folder from which a fit goes on that loses its cluster.
    """

    def __init__(self, client: Any, checkpoint: Path | None = None) -> None:
        self.client, self.address = client, str(client.scheduler.address)
        self.checkpoint = checkpoint
        self._workers = client.scheduler_info(n_workers=-1)["workers"]
        self.n_threads = sum(worker["nthreads"] for worker in self._workers.values())
        self._last_at_work = monotonic()

    def place(self, n_parts: int) -> list[str]:
        """Return the worker that is to hold each of so many parts: neighbours together, as many for each thread."""
        of_threads = [address for address, worker in self._workers.items() for _ in range(worker["nthreads"])]
        return [of_threads[k * len(of_threads) // n_parts] for k in range(n_parts)]

    def submit(self, function: Callable[..., Any], *arguments: Any, worker: str | None = None) -> Any:
        """Return the future of a function's result on a worker; futures among the arguments are their results there.

        ``worker`` is the one that runs it, if that is there.
        """
        import dask

        # Dask would advise to load large tables with it: whoever has them in memory need not hear that
        silent = dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"})
        with self._said_in_one_sentence(), silent:
            key = f"{function.__name__}-{uuid4().hex}"  # by which the dashboard shows it
            preferred = {} if worker is None else {"workers": worker, "allow_other_workers": True}
            return self.client.submit(run_task, function, *arguments, key=key, pure=False, **preferred)

    def broadcast(self, state: Any, n_tasks: int) -> Any:
        """Return the future of a state that so many tasks need: the first worker that has it sends it to the others.

        A worker that asks has it first. In another process it is the result of a task, which can be made anew.
        """
        if not is_on_worker():
            return self.submit(give_back, state)
        with self._said_in_one_sentence():
            return self.client.scatter(state, hash=False, direct=True, broadcast=n_tasks >= self.n_threads)

    def send(self, chunk: Any) -> Any:
        """Return a chunk as it is given to a task: from a worker its future, so that it takes the straight way.

        If that worker is lost, so is who asked for the task, and all is made anew.
        """
        if not is_on_worker():
            return chunk
        with self._said_in_one_sentence():
            return self.client.scatter(chunk, hash=False, direct=True)

    def compute(self, collection: Any) -> Any:
        """Return the future of an array or a frame of Dask, which workers compute."""
        with self._said_in_one_sentence():
            return self.client.compute(collection)

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Return the results of futures, in order."""
        with self._said_in_one_sentence():
            if is_on_worker():  # which is watched itself
                return self.client.gather(list(futures))
            return self.client.sync(self._gather_watched, list(futures))

    async def _gather_watched(self, futures: list[Any]) -> list[Any]:
        """Return the results of futures; without workers that make them nothing would ever end."""
        self.begin_to_wait()
        gathering = asyncio.ensure_future(self.client.gather(futures))
        try:
            while not (await asyncio.wait([gathering], timeout=LOOK_SECONDS))[0]:
                await self._look_at_workers()
            found: list[Any] = gathering.result()
            return found
        finally:
            gathering.cancel()

    def begin_to_wait(self) -> None:
        """Have patience with workers from now on: what was done before may have taken long."""
        self._last_at_work = monotonic()

    def wait_for(self, future: Any, seconds: float) -> bool:
        """Wait until a task has ended, well or not, for so many seconds at most; return whether it has."""
        from distributed import wait

        with self._said_in_one_sentence(), self.client.as_current():
            try:
                wait([future], timeout=seconds)
            except TimeoutError:
                self.client.sync(self._look_at_workers)
                return False
            return True

    async def _look_at_workers(self) -> None:
        """Raise RuntimeError if for long no worker was at work: all were lost, or paused for lack of memory."""
        ask = self.client.scheduler.identity
        try:
            found = await ask(n_workers=-1)
        except TypeError:  # before 2025.4 Dask knew no n_workers, and named all workers
            found = await ask()
        workers = found["workers"].values()
        if any(map(is_at_work, workers)):
            self._last_at_work = monotonic()
        elif monotonic() - self._last_at_work > PATIENCE:
            what = "paused for lack of memory" if workers else "lost"
            raise RuntimeError(
                f"All workers of the cluster at {self.address} were {what}, and for {PATIENCE} s none has worked: "
                f"start workers, with more memory if they lacked it, and fit again{self._say_what_remains()}."
            )

    def ask_worker_of(self, future: Any, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function says on the worker that runs a task, beside that task; {} where none runs it.

        TimeoutError is a worker that does not answer in time, which may run the function all the same.
        """
        with self._said_in_one_sentence():
            placed = self.client.processing()
            here = [address for address, keys in placed.items() if future.key in keys]
            # a worker that dies now answers nothing
            found = ask_workers(self.client, function, *arguments, workers=here, on_error="ignore")
        return next(iter(found.values()), {})

    @contextmanager
    def _said_in_one_sentence(self) -> Iterator[None]:
        """Say in one sentence what became of the cluster; what a task of ours raised is passed on as it is."""
        from distributed import KilledWorker
        from distributed.comm import CommClosedError

        try:
            yield
        except KilledWorker as error:
            raise RuntimeError(
                f"Workers of the cluster at {self.address} died again and again, most often for lack of memory, with "
                f"the task {str(error.task).split('-')[0]}: give workers more memory, or set memory_limit"
                f"{self._say_what_remains()}."
            ) from error
        except (Exception, AbandonedError) as error:
            lost = isinstance(error, (CancelledError, AbandonedError, CommClosedError))
            if not lost and self.client.status == "running":
                raise
            raise ConnectionError(
                f"The connection to the Dask scheduler at {self.address} was lost during the fit, and with it what "
                "workers held (the scheduler ended or was restarted, or the client was closed): fit again once the "
                f"cluster runs{self._say_what_remains()}."
            ) from error

    def _say_what_remains(self) -> str:
        """Return the end of a sentence about a fit that has to stop."""
        if self.checkpoint is None:
            return ""
        return f", and the fit goes on from checkpoint={str(self.checkpoint)!r}"

    def count_bytes(self) -> int:
        """Return the memory that workers may take together: half of what each has, or of what its machine has free.

        One that was lost since the fit began counts as the one with the least: another may come in its place.
        """
        hosts = Counter(worker["host"] for worker in self._workers.values())
        unlimited = [address for address, worker in self._workers.items() if not worker["memory_limit"]]
        free = self._ask_for_free_bytes(unlimited)
        limits = [
            worker["memory_limit"] or free.get(address, min(free.values())) / hosts[worker["host"]]
            for address, worker in self._workers.items()
        ]
        return int(SHARE_OF_FREE * sum(limits))

    def _ask_for_free_bytes(self, workers: Sequence[str]) -> dict[str, int]:
        """Return the bytes that the machines of workers have free, or raise RuntimeError if these do not answer."""
        free: dict[str, int] = {}
        with self._said_in_one_sentence(), suppress(TimeoutError):
            free = ask_workers(self.client, available_bytes, workers=list(workers), on_error="ignore")
        if workers and not free:
            raise RuntimeError(
                f"Workers of the cluster at {self.address} do not say within {ANSWER_SECONDS} s how much memory is "
                "free: restart those which its dashboard shows to be silent, or set memory_limit."
            )
        return free


def is_at_work(worker: Mapping[str, Any]) -> bool:
    """Return whether a worker takes tasks or, paused for lack of memory, goes on with one."""
    return worker["status"] == "running" or worker["metrics"].get("cpu", 0.0) > BUSY


def is_on_worker() -> bool:
    """Return whether this thread runs a task of Dask."""
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True


def give_back(value: T) -> T:
    """Return a value: the task whose result is what is held for others."""
    return value


def run_task(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function as workers run it: tasks are the parallelism, so that BLAS has one thread."""
    keep_freed_memory()
    with one_blas_thread:
        return function(*arguments)


@cache
def keep_freed_memory() -> None:
    """Let this process keep some of the memory that arrays leave, for those that follow.

    Dask has workers give all of it back (MALLOC_TRIM_THRESHOLD_): each array of more than 128 KB is then made of new
    pages, which the kernel clears one by one.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library than that of Linux
        return
    set_option(MMAP_THRESHOLD, KEPT_BYTES // 2)
    set_option(TRIM_THRESHOLD, KEPT_BYTES)


def ask_workers(
    client: Any, function: Callable[..., Any], *arguments: Any, **settings: Any
) -> dict[str, Any]:
    """Return what a function says on each worker, by address, beside its tasks; TimeoutError if one is silent."""
    if settings.get("workers") == []:
        return {}

    async def ask() -> Any:
        return await client.run(function, *arguments, **settings)

    found: dict[str, Any] = client.sync(ask, callback_timeout=ANSWER_SECONDS)
    return found


@contextmanager
def connect_to(engine: Any, checkpoint: Path | None = None) -> Iterator[Cluster]:
    """Yield the cluster of a client, or of the scheduler at an address, whose workers were checked.

    ``checkpoint`` is the folder of a fit that keeps one.
    """
    distributed = import_optional("distributed", "engine=", "dask")
    if not isinstance(engine, str):
        check_client(engine)
        check_workers(engine)
        yield Cluster(engine, checkpoint)
        return
    try:
        client = distributed.Client(engine, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:  # TypeError for addresses that have no port
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConnectionError(
            f"engine={engine!r} is not the address of a Dask scheduler that answers ({reason}): give one like "
            '"tcp://127.0.0.1:8786", or a dask.distributed.Client.'
        ) from None
    try:
        check_workers(client)
        yield Cluster(client, checkpoint)
    finally:
        client.close()


def check_client(client: Any) -> None:
    """Raise ValueError for a client that nothing can be sent to."""
    if client.status != "running":
        raise ValueError(
            f"engine= is a Client that is {client.status}: give one that is connected, or the scheduler's address."
        )
    if client.asynchronous:
        raise ValueError(
            "engine= is an asynchronous Client, which a fit cannot wait for: give one without asynchronous=True."
        )


def check_workers(client: Any) -> None:
    """Raise ValueError for a cluster without workers, or with workers that have not this version of the package."""

    def find_version() -> str | None:  # in here, so that it travels by value to workers without the package
        try:
            from latentsimplex._version import __version__
        except ImportError:
            return None
        return str(__version__)

    try:
        versions = ask_workers(client, find_version)
    except TimeoutError:
        raise ValueError(
            f"engine= is a Dask cluster with workers that do not answer within {ANSWER_SECONDS} s: restart those "
            "which its dashboard shows to be silent."
        ) from None
    if not versions:
        raise ValueError(
            "engine= is a Dask cluster without workers: start some, or wait for them with client.wait_for_workers(1)."
        )
    lacking = [address for address, version in versions.items() if version is None]
    if lacking:
        raise ValueError(
            f"{count_noun(len(lacking), 'worker')} of {len(versions)} cannot import latentsimplex (the first is "
            f"{lacking[0]}): install latentsimplex {__version__} where workers run."
        )
    others = {address: version for address, version in versions.items() if version != __version__}
    if others:
        address, version = next(iter(others.items()))
        raise ValueError(
            f"{count_noun(len(others), 'worker')} of {len(versions)} with another version of latentsimplex ({address} "
            f"has {version}, this process {__version__}): install the same everywhere."
        )
