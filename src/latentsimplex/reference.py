"""A view without clusters, as a yardstick for how much the clusters of a view explain.

A kernel turns a cloud of samples without clusters into similarities that fall off smoothly, and cutting
such a cloud into k pieces explains a good part of them. What it explains turns out to be proportional
to log k, and to n^2 for all but small n (docs/defaults.md has the measurements). Writing down which of k
clusters each of n samples is in takes n log k nats. So with the temperature

    T = (divergence that k clusters explain in a cloud) / (n log k)

a divergence K is worth K / T nats, and cutting a cloud gains exactly what its labels cost.

The cloud of a view is Gaussian, with the view's own covariance along its two leading directions. Further
directions would only make it harder to cut: a view in the shape of a thin sheet is the hardest to tell from
clusters, and the one to be safe against.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist

from latentsimplex._types import Array
from latentsimplex.compute.pairs import n_samples, pack, unpack
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import Divergence
from latentsimplex.profiles import profile
from latentsimplex.similarity import (
    Diffusion,
    Kernel,
    LocalScaling,
    Readings,
    checked_exponents,
    clip_exponents,
    tables_exponents,
)
from latentsimplex.similarity.local_scaling import OUTLYING, place_and_scale, rescaled

CLOUD_SAMPLES = 300
"""T / n hardly depends on n, so clouds need not be larger."""
CLOUDS = 4
CLOUD_CLUSTERS = 6
"""T is the mean over clouds and over k = 2..6."""
NO_GAIN = 1e-9
"""A temperature below this is rounding."""
READ_TOGETHER = 1 << 17
"""Entries of the matrices of tables that are read at once."""
SEED = 0
"""The yardstick is a number that belongs to the view: clouds do not depend on the fit's random state."""


def temperature(X: Array, kernel: Kernel, divergence: Divergence, name: str = "a view") -> float:
    """Return T of a view: the divergence that a cut of its cloud explains for each nat of labels."""
    return float(temperatures([X], kernel, divergence, Workers(1), [name])[0])


def temperatures(
    views: Sequence[Array],
    kernel: Kernel,
    divergence: Divergence,
    workers: Workers,
    names: Sequence[str] | None = None,
    shapes: Sequence[Spread] | None = None,
) -> Array:
    """Return T of each view (V,), the mean over its clouds; the views' shapes may be known."""
    names = ["a view"] * len(views) if names is None else names
    sizes = [min(len(X), CLOUD_SAMPLES) for X in views]
    if reads_clouds(kernel):
        shapes = list(workers.imap(spread, views)) if shapes is None else shapes
        requests = [
            Request(one, kernel, CLOUD_CLUSTERS, f"a cloud like {name}")
            for shape, n, name in zip(shapes, sizes, names, strict=True)
            for one in clouds(shape, n)
        ]
        gains = gains_of(requests, divergence, workers)
    else:
        r = [
            clip_exponents(laid_out)
            for X, n, name in zip(views, sizes, names, strict=True)
            for laid_out in laid_out_exponents(X, kernel, n, name)
        ]
        gains = list(workers.imap(lambda one: gains_up_to(CLOUD_CLUSTERS, one, divergence), r))
    cut = [gains[start : start + CLOUDS] for start in range(0, len(gains), CLOUDS)]
    return np.array([temperature_of(own, n, len(X)) for own, n, X in zip(cut, sizes, views, strict=True)])


def temperature_of(gains: Sequence[Array], n: int, n_samples: int) -> float:
    """Return T of a view of so many samples by what 2, 3, ... clusters explain of each of its clouds of n.

    >>> temperature_of([10 * np.log([2.0, 3.0]), 30 * np.log([2.0, 3.0])], 10, 40)
    8.0
    """
    explained = [gain / (n * np.log(np.arange(2, len(gain) + 2))) for gain in gains]
    T = float(np.mean([each.mean() if len(each) else 0.0 for each in explained])) * n_samples / n
    # two samples, or any number with one similarity for all pairs, cannot be cut to any gain
    return T if T > NO_GAIN else 1.0


class Request(NamedTuple):
    """A table (n, p), what reads it, the most clusters that it is to be cut into, and what errors call it."""

    table: Array
    kernel: Kernel
    most: int
    name: str = "a view"


def gains_of(requests: Sequence[Request], divergence: Divergence, workers: Workers) -> list[Array]:
    """Return what k = 2, 3, ... clusters explain of each table; none has as many clusters as samples.

    Tables of one shape are read at once as far as memory allows.
    """

    def explained(batch: list[Request]) -> list[Array]:
        kernel, most = batch[0].kernel, batch[0].most
        r = tables_exponents(kernel, np.stack([one.table for one in batch]), lambda i: batch[i].name)
        return [gains_up_to(most, one, divergence) for one in clip_exponents(r)]

    return [gains for found in workers.imap(explained, batched(requests)) for gains in found]


def batched(requests: Sequence[Request]) -> list[list[Request]]:
    """Return the requests in runs that are read at once."""
    batches: list[list[Request]] = []
    for _, run in groupby(requests, key=lambda one: (one.kernel, one.most, one.table.shape)):
        alike = list(run)
        most = max(1, READ_TOGETHER // len(alike[0].table) ** 2)
        batches += [alike[start : start + most] for start in range(0, len(alike), most)]
    return batches


def gains_up_to(most: int, r: Array, divergence: Divergence) -> Array:
    """Return what k = 2, 3, ... clusters explain of a view with exponents r; fewer than there are samples."""
    most = min(most, n_samples(len(r)) - 1)
    return profile(divergence.f(r), most, divergence).gains[1:] if most > 1 else np.empty(0)


def _generators() -> list[np.random.Generator]:
    return np.random.default_rng(SEED).spawn(CLOUDS)


def laid_out_exponents(X: Array, kernel: Kernel, n: int, name: str = "a view") -> list[Array]:
    """Return the exponents that stand for those of clouds of n samples, for kernels that may not read clouds.

    A kernel that is not of this package, or a metric of its own, may make no sense of a cloud. Its values
    for the view are then laid out as a cloud would have them: the nearest two samples get the largest.
    """
    r = unpack(checked_exponents(kernel, X, name))
    return [_laid_out(r, n, rng) for rng in _generators()]


def _laid_out(r: Array, n: int, rng: np.random.Generator) -> Array:
    """Return exponents of n samples of a square matrix, in the order of the distances of a cloud."""
    kept = rng.permutation(len(r))[:n]
    order = np.argsort(pdist(rng.normal(size=(n, 2))))
    laid_out = np.empty(len(order))
    laid_out[order] = np.sort(pack(r[np.ix_(kept, kept)]))
    return laid_out


def reads_clouds(kernel: Any) -> bool:
    """Return whether a kernel can read a cloud: it compares features by their differences."""
    if isinstance(kernel, LocalScaling):
        return kernel.metric == "euclidean"
    return isinstance(kernel, (Diffusion, Readings))


class Spread(NamedTuple):
    """The mean of a view (p,), and its two leading directions (2, p) as long as its spread along them."""

    mean: Array
    directions: Array


def spread(X: Array) -> Spread:
    """Return the shape of a cloud like X.

    Directions are those of standardised features, so that no unit of measurement decides which they are, and outliers
    count as far as they are no outliers.
    """
    place, scale = place_and_scale(X)
    features = np.clip(rescaled(X, place, scale), -OUTLYING, OUTLYING)
    _, scales, directions = np.linalg.svd(features - features.mean(axis=0), full_matrices=False)
    return Spread(place[0], scales[:2, None] * directions[:2] / np.sqrt(len(X) - 1) * scale)


def cloud(shape: Spread, n: int, rng: np.random.Generator) -> Array:
    """Return n Gaussian samples with the covariance of a view along its two leading directions.

    >>> X = np.random.default_rng(0).normal(size=(500, 2)) @ np.array([[2.0, 0.0], [1.0, 1.0]])
    >>> Y = cloud(spread(X), 4000, np.random.default_rng(1))
    >>> bool(np.abs(np.cov(Y.T) - np.cov(X.T)).max() < 0.5)
    True
    """
    return shape.mean + rng.normal(size=(n, len(shape.directions))) @ shape.directions


def clouds(shape: Spread, n: int) -> list[Array]:
    """Return the clouds of n samples that stand for a view, always the same ones."""
    return [cloud(shape, n, rng) for rng in _generators()]
