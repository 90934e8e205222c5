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

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from latentsimplex._types import Array
from latentsimplex.compute.pairs import pack, unpack
from latentsimplex.divergence import Divergence
from latentsimplex.profiles import profile
from latentsimplex.similarity import (
    Diffusion,
    Kernel,
    LocalScaling,
    Readings,
    checked_exponents,
    clip_exponents,
)
from latentsimplex.similarity.local_scaling import standardised

CLOUD_SAMPLES = 300
"""T / n hardly depends on n, so clouds need not be larger."""
CLOUDS = 4
CLOUD_CLUSTERS = 6
"""T is the mean over clouds and over k = 2..6."""
NO_GAIN = 1e-9
"""A temperature below this is rounding."""
SEED = 0
"""The yardstick is a number that belongs to the view: clouds do not depend on the fit's random state."""


def temperature(X: Array, kernel: Kernel, divergence: Divergence, name: str = "a view") -> float:
    """Return T of a view: the divergence that a cut of its cloud explains for each nat of labels."""
    n = min(len(X), CLOUD_SAMPLES)
    found = [
        _explained_per_nat(clip_exponents(cloud_exponents(X, kernel, n, rng, name)), n, divergence)
        for rng in np.random.default_rng(SEED).spawn(CLOUDS)
    ]
    T = float(np.mean(found)) * len(X) / n
    # two samples, or any number with one similarity for all pairs, cannot be cut to any gain
    return T if T > NO_GAIN else 1.0


def _explained_per_nat(r: Array, n: int, divergence: Divergence) -> float:
    k = np.arange(2, min(CLOUD_CLUSTERS, n - 1) + 1)
    if not len(k):
        return 0.0
    gains = profile(divergence.f(r), int(k[-1]), divergence).gains[1:]
    return float((gains / (n * np.log(k))).mean())


def cloud_exponents(
    X: Array, kernel: Kernel, n: int, rng: np.random.Generator, name: str = "a view"
) -> Array:
    """Return the exponents that a kernel gives a cloud of n samples.

    A kernel that is not of this package, or a metric of its own, may make no sense of a cloud. Its values
    for the view are then laid out as a cloud would have them: the nearest two samples get the largest.
    """
    if _reads_clouds(kernel):
        return checked_exponents(kernel, cloud(X, n, rng), f"a cloud like {name}")
    r = unpack(checked_exponents(kernel, X, name))
    kept = rng.permutation(len(r))[:n]
    order = np.argsort(pdist(rng.normal(size=(n, 2))))
    laid_out = np.empty(len(order))
    laid_out[order] = np.sort(pack(r[np.ix_(kept, kept)]))
    return laid_out


def _reads_clouds(kernel: Any) -> bool:
    if isinstance(kernel, LocalScaling):
        return kernel.metric == "euclidean"
    return isinstance(kernel, (Diffusion, Readings))


def cloud(X: Array, n: int, rng: np.random.Generator) -> Array:
    """Return n Gaussian samples with the covariance of X along its two leading directions.

    Directions are those of standardised features, so that no unit of measurement decides which they are.

    >>> X = np.random.default_rng(0).normal(size=(500, 2)) @ np.array([[2.0, 0.0], [1.0, 1.0]])
    >>> Y = cloud(X, 4000, np.random.default_rng(1))
    >>> bool(np.abs(np.cov(Y.T) - np.cov(X.T)).max() < 0.5)
    True
    """
    _, scales, directions = np.linalg.svd(standardised(X), full_matrices=False)
    spread = scales[:2, None] * directions[:2] / np.sqrt(len(X) - 1)
    return X.mean(axis=0) + rng.normal(size=(n, len(spread))) @ spread * X.std(axis=0)
