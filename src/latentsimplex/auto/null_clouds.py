"""The null model: clouds of samples without clusters, shaped like a view, against which its clusters are measured.

The cloud of a view is Gaussian, with the view's own covariance along its two leading directions. Further
directions would only make it harder to cut: a view in the shape of a thin sheet is the hardest to tell from
clusters, and the one to be safe against.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import pdist

from latentsimplex.base.condensed import pack_pairs, unpack_pairs
from latentsimplex.base.types import Array
from latentsimplex.similarity.distances import OUTLYING, mean_and_scale, rescale
from latentsimplex.similarity.kernel import Kernel, checked_exponents

CLOUD_SAMPLES = 300
"""What clusters explain of a cloud, over n^2, hardly depends on n, so clouds need not be larger."""
N_CLOUDS = 4
SEED = 0
"""The yardstick is a number that belongs to the view: clouds do not depend on the fit's random state."""


class Shape(NamedTuple):
    """The mean of a view (p,), and its two leading directions (2, p) as long as its spread along them."""

    mean: Array
    directions: Array


def measure_shape(X: Array) -> Shape:
    """Return the shape of a cloud like X.

    Directions are those of standardised features, so that no unit of measurement decides which they are, and outliers
    count as far as they are no outliers.
    """
    mean, scale = mean_and_scale(X)
    features = np.clip(rescale(X, mean, scale), -OUTLYING, OUTLYING)
    _, scales, directions = np.linalg.svd(features - features.mean(axis=0), full_matrices=False)
    return Shape(mean[0], scales[:2, None] * directions[:2] / np.sqrt(len(X) - 1) * scale)


def draw_cloud(shape: Shape, n: int, rng: np.random.Generator) -> Array:
    """Return n Gaussian samples with the covariance of a view along its two leading directions.

    >>> X = np.random.default_rng(0).normal(size=(500, 2)) @ np.array([[2.0, 0.0], [1.0, 1.0]])
    >>> Y = draw_cloud(measure_shape(X), 4000, np.random.default_rng(1))
    >>> bool(np.abs(np.cov(Y.T) - np.cov(X.T)).max() < 0.5)
    True
    """
    return shape.mean + rng.normal(size=(n, len(shape.directions))) @ shape.directions


def draw_clouds(shape: Shape, n: int) -> list[Array]:
    """Return the clouds of n samples that stand for a view, always the same ones."""
    return [draw_cloud(shape, n, rng) for rng in _generators()]


def rearrange_exponents(X: Array, kernel: Kernel, n: int, name: str = "a view") -> list[Array]:
    """Return exponents that stand for those of clouds of n samples, for kernels that may not read clouds.

    A kernel that is not of this package, or a metric of its own, may make no sense of a cloud. Its values
    for the view are then arranged as a cloud would have them: the nearest two samples get the largest.
    """
    r = unpack_pairs(checked_exponents(kernel, X, name))
    return [_arrange_as_cloud(r, n, rng) for rng in _generators()]


def _arrange_as_cloud(r: Array, n: int, rng: np.random.Generator) -> Array:
    """Return exponents of n samples of a square matrix, in the order of the distances of a cloud."""
    kept = rng.permutation(len(r))[:n]
    order = np.argsort(pdist(rng.normal(size=(n, 2))))
    arranged = np.empty(len(order))
    arranged[order] = np.sort(pack_pairs(r[np.ix_(kept, kept)]))
    return arranged


def _generators() -> list[np.random.Generator]:
    return np.random.default_rng(SEED).spawn(N_CLOUDS)
