"""Seconds of a call, the best of a few since other work on a machine only ever adds to them; the machine itself."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Seconds(NamedTuple):
    """Wall time, and the processor time of all threads together; both are the least of the repeats."""

    wall: float
    processor: float


def best_of(
    function: Callable[[], T],
    repeats: int,
    finish: Callable[[], object] = lambda: None,
    at_least: float = 0.0,
) -> tuple[Seconds, T]:
    """Return the least seconds of several calls, and what the last one returned.

    ``finish`` is called before each reading of the clocks: a device that works behind the caller's back is
    waited for there. Calls go on until they have taken ``at_least`` seconds together, so that those of a
    function too short for any single reading meet a quiet moment of the machine.

    >>> seconds, total = best_of(lambda: sum(range(10)), repeats=3)
    >>> total, seconds.wall > 0
    (45, True)
    """
    if repeats < 1:
        raise ValueError(f"repeats={repeats} measures nothing: give at least 1.")
    walls: list[float] = []
    processors: list[float] = []
    while len(walls) < repeats or sum(walls) < at_least:
        finish()
        wall, processor = perf_counter(), process_time()
        result = function()
        finish()
        walls.append(perf_counter() - wall)
        processors.append(process_time() - processor)
    return Seconds(min(walls), min(processors)), result


def machine() -> dict[str, Any]:
    """Return what seconds depend on: the system, its cores, and how many processes wanted one of late.

    Libraries whose threads wait for each other can take ten times as long where the load exceeds the cores.
    """
    return {"system": platform.platform(), "cores": os.cpu_count(), "load": list(os.getloadavg())}
