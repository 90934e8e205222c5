"""The temperature of a view: how much divergence is worth one nat of labels.

A kernel turns a cloud of samples without clusters into similarities that fall off smoothly, and cutting
such a cloud into k pieces explains a good part of them. What it explains turns out to be proportional
to log k, and to n^2 for all but small n (docs/defaults.md has the measurements). Writing down which of k
clusters each of n samples is in takes n log k nats. So with the temperature

    T = (divergence that k clusters explain in a cloud) / (n log k)

a divergence K is worth K / T nats, and cutting a cloud gains exactly what its labels cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import TypeGuard

import numpy as np

from latentsimplex.auto.explained_divergence import Request, explain_tables, gains_up_to
from latentsimplex.auto.gaussian_clouds import (
    CLOUD_SAMPLES,
    N_CLOUDS,
    SEED,
    Shape,
    draw_clouds,
    measure_shape,
    rearrange_exponents,
)
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array
from latentsimplex.base.wide_table import WideTable, find_varying
from latentsimplex.inputs.views import Views
from latentsimplex.pairs.divergence import Divergence
from latentsimplex.pairs.memory_budget import count_readers
from latentsimplex.similarity.auto_diffusion import space_kinds
from latentsimplex.similarity.kernel import BatchKernel, Kernel, can_narrow

VIEWS_OF_A_KIND = 24
"""The most views of a kind that are looked at."""
VIEWS_WITH_CLOUDS = 12
"""The most views of a kind that clouds are made of."""
CLOUD_CLUSTERS = 6
"""What clusters explain of a cloud is a mean over k = 2..6."""
NO_GAIN = 1e-9
"""A temperature below this is rounding."""


def view_temperatures(
    views: Views,
    kernel: Kernel,
    divergence: Divergence,
    workers: Workers,
) -> Array:
    """Return the temperature of each view (V,): its own for a few of each kind, their mean for the others."""
    sample = {p: members[:VIEWS_WITH_CLOUDS] for p, members in sample_views(views).items()}
    if not sample:
        return np.ones(len(views))
    chosen = [v for members in sample.values() for v in members]
    tables, names = [views.table(v) for v in chosen], [f"view {views.names[v]!r}" for v in chosen]
    measured = measure_temperatures(tables, kernel, divergence, workers, names, views.n_samples)
    own = dict(zip(chosen, measured.tolist(), strict=True))
    kinds = np.array(list(sample))
    means = np.array([np.mean([own[v] for v in members]) for members in sample.values()])
    found = means[np.argmin(np.abs(np.log(kinds)[:, None] - np.log(views.widths)), axis=0)]
    found[chosen] = measured
    return found


def reads_clouds(kernel: Kernel) -> TypeGuard[BatchKernel]:
    """Return whether a kernel can read a cloud: it compares features by their differences."""
    return isinstance(kernel, BatchKernel) and kernel.sees_differences_alone


def read_shape(kernel: Kernel, X: Array | WideTable) -> tuple[BatchKernel, Shape] | None:
    """Return the shape of clouds like a table and the kernel that reads them; None where it can read no cloud.

    The features are those in whose differences the kernel sees what it sees in the table.
    """
    if not reads_clouds(kernel) and can_narrow(kernel):
        kernel, X = kernel.by_differences(X)  # type: ignore[attr-defined]
    return (kernel.kernel(X.shape[1]), measure_shape(X)) if reads_clouds(kernel) else None


def measure_temperatures(
    tables: Sequence[Array | WideTable],
    kernel: Kernel,
    divergence: Divergence,
    workers: Workers,
    names: Sequence[str] | None = None,
    n_samples: int | None = None,
) -> Array:
    """Return T of each table (V,), the mean over its clouds, for so many samples, or as many as the table has."""
    names = ["a view"] * len(tables) if names is None else names
    sizes = [min(len(X), CLOUD_SAMPLES) for X in tables]
    found = [read for read in workers.map(partial(read_shape, kernel), tables) if read is not None]
    if len(found) == len(tables):
        requests = [
            Request(cloud, own, CLOUD_CLUSTERS, f"a cloud like {name}")
            for (own, shape), n, name in zip(found, sizes, names, strict=True)
            for cloud in draw_clouds(shape, n)
        ]
        gains = explain_tables(requests, divergence, workers)
    else:

        def explain_rearranged(table: tuple[Array | WideTable, int, str]) -> list[Array]:
            X, n, name = table
            arranged = rearrange_exponents(X, kernel, n, name)
            settings = (divergence, workers.without_loops)
            return [gain for r in arranged for gain in gains_up_to(CLOUD_CLUSTERS, r[None], *settings)]

        given = list(zip(tables, sizes, names, strict=True))
        at_once = count_readers(max(map(len, tables)))  # a matrix of all pairs is held for each
        parts = [given[start : start + at_once] for start in range(0, len(given), at_once)]
        each = [own for part in parts for own in workers.map(explain_rearranged, part)]
        gains = [gain for own in each for gain in own]
    by_table = [gains[start : start + N_CLOUDS] for start in range(0, len(gains), N_CLOUDS)]
    return np.array(
        [
            temperature_from_gains(own, n, n_samples or len(X))
            for own, n, X in zip(by_table, sizes, tables, strict=True)
        ]
    )


def sample_views(views: Views) -> dict[int, list[int]]:
    """Return a few views of each of a few kinds, by number of features; constant views tell nothing."""
    order, widths = np.random.default_rng(SEED).permutation(len(views)), np.array(views.widths)
    sample: dict[int, list[int]] = {}
    for p in space_kinds(views.widths):
        telling = (int(v) for v in order[widths[order] == p] if tells_something(views, int(v)))
        if found := list(islice(telling, VIEWS_OF_A_KIND)):
            sample[p] = found
    return sample


def tells_something(views: Views, v: int) -> bool:
    """Return whether a view is not constant; where that is known of all views, it is not looked at."""
    return bool(find_varying(views.held_table(v)).any() if views.varying is None else views.varying[v])


def temperature_from_gains(gains: Sequence[Array], n: int, n_samples: int) -> float:
    """Return T of a view of so many samples by what 2, 3, ... clusters explain of each of its clouds of n.

    >>> temperature_from_gains([10 * np.log([2.0, 3.0]), 30 * np.log([2.0, 3.0])], 10, 40)
    8.0
    """
    explained = [gain / (n * np.log(np.arange(2, len(gain) + 2))) for gain in gains]
    T = float(np.mean([each.mean() if len(each) else 0.0 for each in explained])) * n_samples / n
    # two samples, or any number with one similarity for all pairs, cannot be cut to any gain
    return T if T > NO_GAIN else 1.0
