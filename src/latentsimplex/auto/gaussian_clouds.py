"""The null model: clouds of samples without clusters, shaped like a view, against which its clusters are measured.

The cloud of a view is Gaussian, with the view's own covariance along its two leading directions. Further
directions would only make it harder to cut: a view in the shape of a thin sheet is the hardest to tell from
clusters, and the one to be safe against.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import pdist

from latentsimplex.base.arrays import has_missing
from latentsimplex.base.condensed import pack_pairs, unpack_pairs
from latentsimplex.base.types import Array
from latentsimplex.base.wide_table import WideTable
from latentsimplex.similarity.distances import OUTLYING, mean_and_scale, rescale
from latentsimplex.similarity.kernel import Kernel, checked_exponents
from latentsimplex.similarity.wide_tables import centred_products, standardised_parts

CLOUD_SAMPLES = 300
"""What clusters explain of a cloud, over n^2, hardly depends on n, so clouds need not be larger."""
CLOUD_FEATURES = 4096
"""Angles of the features of a cloud that is like a wide table are told apart to a few thousandths of a degree."""
N_CLOUDS = 4
SEED = 0
"""The yardstick is a number that belongs to the view: clouds do not depend on the fit's random state."""


class Shape(NamedTuple):
    """The mean of a view (p,), its two leading directions (2, p), as long as its spread, and its missing cells (n, p).

    No missing cells are None.
    """

    mean: Array
    directions: Array
    missing: np.ndarray | None = None


def measure_shape(X: Array | WideTable) -> Shape:
    """Return the shape of a cloud like X.

    Directions are those of standardised features, so that no unit of measurement decides which they are, and outliers
    count as far as they are no outliers. A missing cell counts as its feature's mean.
    """
    if isinstance(X, WideTable):
        return _measure_wide_shape(X)
    mean, scale = mean_and_scale(X)
    features = np.clip(np.nan_to_num(rescale(X, mean, scale)), -OUTLYING, OUTLYING)
    features -= features.mean(axis=0)
    if len(features) > 2 * features.shape[1]:  # what the samples add takes as long as all else
        features = np.linalg.qr(features, mode="r")
    _, scales, directions = np.linalg.svd(features, full_matrices=False)
    spread = scales[:2, None] * directions[:2] / np.sqrt(len(X) - 1) * scale
    return Shape(mean[0], spread, np.isnan(X) if has_missing(X) else None)


def _measure_wide_shape(X: WideTable) -> Shape:
    """Return the shape of a cloud like a wide table, in as many features as stand for all of them; its mean is 0."""
    n = len(X)
    products = centred_products(n, (F for _, F, _ in standardised_parts(X, OUTLYING)))
    squares, U = eigh(products, subset_by_index=[n - 2, n - 1], overwrite_a=True)
    U = (U * (squares > n * np.finfo(float).eps * squares[-1]))[:, ::-1]
    directions = np.zeros((2, X.shape[1]))
    for features, F, scale in standardised_parts(X, OUTLYING):
        directions[:, features] = (F.T @ U).T / np.sqrt(n - 1) * scale
    directions = join_directions(directions[:, directions.any(axis=0)], CLOUD_FEATURES)
    return Shape(np.zeros(directions.shape[1]), directions)


def join_directions(directions: Array, most: int) -> Array:
    """Return directions (2, p) of features as those of so many features at most, which stand for equally many each.

    A cloud's standardised feature depends on its angle alone, and its features as they are add up to the same squares.

    >>> join_directions(np.array([[3.0, 0.0, 4.0, 0.0], [0.0, 1.0, 0.0, 1.0]]), 2).round(3).tolist()
    [[5.0, 0.0], [0.0, 1.414]]
    """
    angles = np.arctan2(directions[1], directions[0]) % np.pi
    order = np.argsort(angles)
    starts = np.unique(np.linspace(0, len(order), min(most, len(order)), endpoint=False).astype(int))
    lengths = np.sqrt(np.add.reduceat((directions**2).sum(axis=0)[order], starts))
    middles = np.add.reduceat(angles[order], starts) / np.diff(np.append(starts, len(order)))
    return lengths * np.stack([np.cos(middles), np.sin(middles)])


def draw_cloud(shape: Shape, n: int, rng: np.random.Generator) -> Array:
    """Return n Gaussian samples with the covariance of a view along its two leading directions, and its missing cells.

    >>> X = np.random.default_rng(0).normal(size=(500, 2)) @ np.array([[2.0, 0.0], [1.0, 1.0]])
    >>> Y = draw_cloud(measure_shape(X), 4000, np.random.default_rng(1))
    >>> bool(np.abs(np.cov(Y.T) - np.cov(X.T)).max() < 0.5)
    True
    """
    cloud = shape.mean + rng.normal(size=(n, len(shape.directions))) @ shape.directions
    if shape.missing is not None:
        cloud[rng.permutation(shape.missing)[:n]] = np.nan
    return cloud


def draw_clouds(shape: Shape, n: int) -> list[Array]:
    """Return the clouds of n samples that stand for a view, always the same ones."""
    return [draw_cloud(shape, n, rng) for rng in _generators()]


def rearrange_exponents(
    X: Array | WideTable,
    kernel: Kernel,
    n: int,
    name: str = "a view",
) -> list[Array]:
    """Return exponents that stand for those of clouds of n samples, for kernels that may not read clouds.

    A kernel that is not of this package, or a metric of its own, may make no sense of a cloud. Its values
    for the view are then arranged as a cloud would have them: the nearest two samples get the largest.
    """
    square = unpack_pairs(checked_exponents(kernel, X.to_dense() if isinstance(X, WideTable) else X, name))
    return [_arrange_as_cloud(square, n, rng) for rng in _generators()]


def _arrange_as_cloud(r: Array, n: int, rng: np.random.Generator) -> Array:
    """Return exponents of n samples of a square matrix, in the order of the distances of a cloud."""
    kept = rng.permutation(len(r))[:n]
    order = np.argsort(pdist(rng.normal(size=(n, 2))))
    arranged = np.empty(len(order))
    arranged[order] = np.sort(pack_pairs(r[np.ix_(kept, kept)]))
    return arranged


def _generators() -> list[np.random.Generator]:
    return np.random.default_rng(SEED).spawn(N_CLOUDS)
