"""The memory budget of a fit: what it will hold beside the data, known before anything is allocated.

==================== ==================================================================================================
what is held         bytes
==================== ==================================================================================================
pair values          4, 1 or 0 for each view and pair (:data:`Storage`), and a block of them as a pass wants it
statistics           what patterns add up to, and their copies while views are grouped or a move is tried: for each
                     pattern and pair
graphs               of nearest neighbours, where clusters are looked for in them, before there are pair values: for
                     each view, sample and neighbour, of the samples and of clouds like them in each thread; of very
                     many samples local ones of all, and broad ones of landmarks
matrices             of one view, while it is read or its clusters are sought: for each entry of n x n and each thread
tables               the features of one view, standardised, sorted, centred: for each of its numbers and each thread;
                     of a wide view a few features at a time, and what each feature has
==================== ==================================================================================================

``benchmarks/memory.py`` compares the estimate with what fits take.
"""

from __future__ import annotations

import math
import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

import numpy as np

from latentsimplex.base.condensed import count_pairs
from latentsimplex.base.wide_table import MANY_FEATURES, WideTable, is_wide_shape
from latentsimplex.base.wording import count_noun, show_value
from latentsimplex.inputs.views import Views
from latentsimplex.similarity.kernel import Kernel, can_narrow

Storage = Literal["whole", "bytes", "nowhere"]
"""How pair values stay between passes: as they are, as one of 256 levels each, or not at all, to be computed again."""
STORAGES: dict[Storage, int] = {"whole": 4, "bytes": 1, "nowhere": 0}
"""Bytes of a pair value between passes."""

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
AMOUNT = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([KMGT]?B?)\s*")
FALLBACK_BYTES = 4 * 10**9
SHARE_OF_FREE = 0.5

FIXED_BYTES = 8 * 10**6
"""What the smallest fit takes."""
BLOCK_BYTES = 4 << 22
"""A block of pair values as a pass wants it, at most."""
PATTERN_BYTES, PATTERNS_BYTES = 8, 32
"""For each pair, and each pattern that there may be: statistics alone, or those of groups of views and of their unions,
and the centres that views are grouped around, where there may be several patterns."""
MATRIX_BYTES = 24
"""For each entry of an n x n matrix: what a thread holds that reads a view, or seeks its clusters."""
KEPT_BYTES = 16
"""The same, of each further thread, whose memory goes back to the system in the end alone."""
TABLE_BYTES = 64
"""For each number of a view that is not wide, standardised, sorted and centred."""
PART_BYTES, FEATURE_BYTES, STORED_BYTES = 150, 110, 60
"""For each number of a part of a wide view; for each of its features; and for each number that it stores if sparse."""
GRAPH_BYTES, CLOUD_BYTES, CLOUD_SAMPLES = 40, 20, 2500
"""For each sample, view and neighbour in a broad neighbour graph: the neighbours, and edges both ways; and, of so many
samples at most, for each thread, which looks at clouds of samples without clusters."""
GRAPH_SHARE, MOST_NEIGHBOURS = 3, 400
"""Neighbours in the broadest graph: a third of the samples, at most so many."""
FILLED_BYTES = 40
"""For each pair and pattern, where views lack samples: sums, masses, exponents, and what memberships expect."""
NEAREST_BYTES, SAMPLE_BYTES, NUMBER_BYTES = 1_500, 1_000, 40
"""Where broad graphs are of landmarks: for each sample and view in graphs of the nearest neighbours; for each sample;
and for each number of the widest view, or of its leading coordinates and directions."""
READ_AT_ONCE, SCRATCH_BYTES = 4, 1 << 30
"""However many threads there are, no more views are read at once, or as many as have matrices of so many bytes."""


class FitSize(NamedTuple):
    """What the memory of a fit depends on: views, samples, patterns, threads, and the widest view.

    If that is read in parts, so many of its numbers are stored by column, and so many others are made dense at a time.
    ``n_graphed`` are samples in broad neighbour graphs, 0 where there are none; all pairs of ``n_samples`` are held.
    ``n_placed`` are all samples, where these are more than landmarks. ``n_turned`` are all samples, where the
    widest view is compared by leading coordinates. ``has_absent`` is whether pairs that views lack are filled.
    """

    n_views: int
    n_samples: int
    n_patterns: int
    n_jobs: int = 1
    n_features: int = 1
    in_parts: bool = False
    n_stored: int = 0
    n_dense: int = 0
    n_graphed: int = 0
    has_absent: bool = False
    n_placed: int = 0
    n_turned: int = 0


def measure_size(
    views: Views,
    kernel: Kernel | None,
    n_patterns: int,
    n_jobs: int,
    most_samples: int | None = None,
    n_landmarks: int | None = None,
) -> FitSize:
    """Return what the memory of a fit to views depends on; the kernel is None if it is to be chosen.

    ``most_samples``, where clusters are looked for in neighbour graphs, are those whose pairs are held where there are
    more; missing cells, where there are no landmarks, take all pairs.
    """
    n, p, widest = views.n_samples, max(views.widths), int(np.argmax(views.widths))
    n_graphed = 0 if most_samples is None else n
    size = FitSize(len(views), n, min(n_patterns, len(views)), n_jobs, p, n_graphed=n_graphed)
    size = size._replace(has_absent=views.present is not None)
    if most_samples is not None and n_landmarks is not None:
        size = size._replace(n_samples=min(n, most_samples), n_graphed=n_landmarks, n_placed=n)
    elif most_samples is not None and n > most_samples and not views.has_missing:
        size = size._replace(n_samples=most_samples)
    table: Any = None
    if size.n_samples < n and p > MANY_FEATURES:
        table = views.held_table(widest)
    elif is_wide_shape(n, p) and (kernel is None or can_narrow(kernel)):
        table = views.table(widest)
    if not isinstance(table, WideTable):
        return size
    n_stored, n_dense = table.count_entries()
    size = size._replace(in_parts=is_wide_shape(size.n_samples, p), n_stored=n_stored, n_dense=n_dense)
    return size if size.n_samples == n else size._replace(n_turned=n)


def estimate_bytes(size: FitSize, keep: Storage) -> int:
    """Return the bytes that a fit holds at its peak, beside the data.

    >>> [estimate_bytes(FitSize(50_000, 150, 10), keep) // 10**6 for keep in STORAGES]
    [2247, 587, 28]
    """
    V, n, d, m = size.n_views, size.n_samples, size.n_patterns, count_pairs(size.n_samples)
    values = STORAGES[keep] * V * m
    if keep != "whole":
        values += min(BLOCK_BYTES, 4 * V * m)
    statistics = (PATTERN_BYTES if d == 1 else PATTERNS_BYTES) * d * m
    statistics += FILLED_BYTES * d * m * size.has_absent
    threads = min(size.n_jobs, V, count_readers(n))
    matrices = (threads * (MATRIX_BYTES + KEPT_BYTES) - KEPT_BYTES) * n**2
    neighbours = min(size.n_graphed // GRAPH_SHARE, MOST_NEIGHBOURS)
    looked_at = GRAPH_BYTES * size.n_graphed + CLOUD_BYTES * threads * min(size.n_graphed, CLOUD_SAMPLES)
    graphs = V * neighbours * looked_at
    graphs += (NEAREST_BYTES * V + SAMPLE_BYTES) * size.n_placed
    if size.n_turned:
        graphs += NUMBER_BYTES * MANY_FEATURES * (size.n_turned + min(size.n_turned, size.n_features))
        graphs += STORED_BYTES * size.n_stored + PART_BYTES * size.n_dense
    else:
        graphs += NUMBER_BYTES * size.n_features * size.n_placed
    return FIXED_BYTES + max(values + statistics, graphs) + matrices + threads * table_bytes(size)


def count_readers(n_samples: int) -> int:
    """Return how many threads may read views of so many samples at once."""
    return max(READ_AT_ONCE, SCRATCH_BYTES // (MATRIX_BYTES * n_samples**2))


def table_bytes(size: FitSize) -> int:
    """Return what a thread holds of the features of the widest view while it reads it."""
    n, p = size.n_samples, size.n_features
    if not size.in_parts:
        return TABLE_BYTES * n * p
    return PART_BYTES * size.n_dense + FEATURE_BYTES * p + STORED_BYTES * size.n_stored


def choose_storage(size: FitSize, budget: int) -> Storage:
    """Return how pair values are kept; raise MemoryError if not even what EM works with fits.

    >>> [choose_storage(FitSize(50_000, 150, 10), bytes) for bytes in (4 * 10**9, 10**9, 10**8)]
    ['whole', 'bytes', 'nowhere']
    """
    for keep in STORAGES:
        if estimate_bytes(size, keep) <= budget:
            return keep
    n = max(size.n_samples, size.n_graphed, size.n_placed)
    raise MemoryError(
        f"Fitting {n:,} samples with {count_noun(size.n_patterns, 'pattern')} needs about "
        f"{estimate_bytes(size, 'nowhere') / 1e9:.3g} GB and the limit is {budget / 1e9:.3g} GB: "
        f"{_advise(size, budget)} or raise memory_limit."
    )


def _advise(size: FitSize, budget: int) -> str:
    """Return what would make a fit smaller."""
    if estimate_bytes(size._replace(n_jobs=1), "nowhere") <= budget:
        return f"set n_jobs=1 in place of {size.n_jobs},"
    if largest := largest_n_samples(size, budget):
        return (
            f"at most {largest:,} samples fit; take a random subset of that many, lower n_patterns or n_jobs,"
        )
    return f"select features, of which the widest view has {size.n_features:,},"


def largest_n_samples(size: FitSize, budget: int) -> int:
    """Return the largest number of samples that would fit the budget; 0 if no two do."""
    most = max(size.n_samples, size.n_graphed, size.n_placed)

    def needs(n: int) -> int:
        graphed = size.n_graphed if size.n_placed else most * bool(size.n_graphed)
        held = size._replace(
            n_samples=min(n, size.n_samples),
            n_graphed=min(n, graphed),
            n_placed=n * bool(size.n_placed),
            n_turned=n * bool(size.n_turned),
        )
        return estimate_bytes(held, "nowhere")

    return max(bisect_right(range(most), budget, lo=2, key=needs) - 1, 0) if needs(2) <= budget else 0


def read_memory_limit(limit: Any) -> int:
    """Return ``limit`` in bytes; None is half of what is free.

    >>> read_memory_limit("2GB"), read_memory_limit(1000)
    (2000000000, 1000)
    """
    if limit is None:
        return int(SHARE_OF_FREE * available_bytes())
    if isinstance(limit, str) and (match := AMOUNT.fullmatch(limit.upper())):
        unit = match[2] if match[2] in UNITS else match[2] + "B"
        limit = float(match[1]) * UNITS[unit]
    number = isinstance(limit, (int, float, np.integer, np.floating)) and not isinstance(limit, bool)
    if not (number and 0 < limit < math.inf):
        raise ValueError(
            f'memory_limit={show_value(limit)} is not an amount of memory: give bytes or a string like "2GB".'
        )
    return int(limit)


def available_bytes() -> int:
    """Return the memory that this process may still take: the least that the machine and its limits leave."""
    return max(0, min([free_bytes(), *address_space_left(), *group_bytes_left()]))


def free_bytes() -> int:
    """Return the memory of the machine that is free for use now, as far as the system tells."""
    for line in read_lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return FALLBACK_BYTES


def address_space_left() -> Iterator[int]:
    """Yield what a limit on the address space (``ulimit -v``) leaves, where there is one."""
    try:
        import resource
    except ImportError:  # on Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        used = next(iter(read_lines(Path("/proc/self/statm"))), "0").split()[0]
        yield limit - int(used) * resource.getpagesize()


def group_bytes_left(root: Path = Path("/")) -> Iterator[int]:
    """Yield what each control group with a limit leaves, such as that of a container, of either version."""
    for line in read_lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if not controllers:
            base, limit, usage, cache = "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            base, limit, usage = "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            cache = "total_inactive_file"
        else:
            continue
        group = PurePosixPath(path)
        for part in (group, *group.parents):  # of which a container may see the last one alone
            folder = root / base / str(part).lstrip("/")
            given, used = read_number(folder / limit), read_number(folder / usage)
            if given is None or used is None:
                continue
            statistics = dict(each.split() for each in read_lines(folder / "memory.stat"))
            yield given - used + int(statistics.get(cache, 0))  # what files are cached in is given back


def read_number(path: Path) -> int | None:
    """Return the number in a file; None where there is none, or the word max."""
    text = "".join(read_lines(path)).strip()
    return int(text) if text.isdigit() else None


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file of the system; none where it cannot be read."""
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
