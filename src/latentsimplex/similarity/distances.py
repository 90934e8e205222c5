"""Features on one scale, and Euclidean distances between samples: arrays or tensors, tables (..., n, p).

Samples with missing cells (NaN) are compared on the features that both have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from latentsimplex.base.arrays import array_namespace, has_missing, is_tensor, kth_smallest, to_double
from latentsimplex.base.types import Array
from latentsimplex.base.wide_table import WideTable
from latentsimplex.similarity.kernel import COINCIDENT

FEW_FEATURES = 4
"""Distances in so few features are added up one by one, in more by a product of matrices."""
OUTLYING, MOST_CUTS, STILL = 4.0, 60, 0.999
"""Values so many standard deviations from the median are outliers: among thousands of normal samples there is hardly
one. They are cut, and the standard deviation is taken anew, so often at most, or until it does not fall below that
share of itself."""


def euclidean_distances(X: Any) -> Any:
    """Return the square matrices of Euclidean distances; samples that coincide have distance 0.

    >>> euclidean_distances(np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0]])).tolist()
    [[0.0, 5.0, 5.0], [5.0, 0.0, 0.0], [5.0, 0.0, 0.0]]
    """
    if has_missing(X):
        return shared_feature_distances(X)
    if X.shape[-1] == 1:
        return abs(X - X.swapaxes(-1, -2))
    if X.shape[-1] <= FEW_FEATURES:
        squares = sum((X[..., j, None] - X[..., None, :, j]) ** 2 for j in range(X.shape[-1]))
        return squares**0.5
    wide = to_double(X)  # differences of squares need the digits
    wide = wide - wide.mean(-2)[..., None, :]
    norms = (wide**2).sum(-1)
    both = norms[..., :, None] + norms[..., None, :]
    squares = both - 2 * wide @ wide.swapaxes(-1, -2)
    distances = (squares * (squares > COINCIDENT * both)) ** 0.5
    return distances.to(X.dtype) if is_tensor(X) else distances.astype(X.dtype)


def shared_feature_distances(X: Array) -> Array:
    """Return the square matrices of distances on the features that two samples share, of tables (..., n, p).

    A squared distance is the mean over the shared features, times the number of all features, as in scikit-learn's
    ``nan_euclidean_distances``. Two samples that share no feature are as far apart as samples are on average.

    >>> X = np.array([[0.0, 0.0], [3.0, np.nan], [3.0, 4.0]])
    >>> shared_feature_distances(X).round(2).tolist()
    [[0.0, 4.24, 5.0], [4.24, 0.0, 0.0], [5.0, 0.0, 0.0]]
    """
    present = ~np.isnan(X)
    count = present.sum(-2, keepdims=True)
    filled = np.where(present, X, 0.0)
    centred = np.where(present, X - filled.sum(-2, keepdims=True) / np.maximum(count, 1), 0.0)
    cells = present.astype(np.float64)
    norms = centred**2 @ cells.swapaxes(-1, -2)  # of row i on the features of j
    both = norms + norms.swapaxes(-1, -2)
    squares = both - 2 * centred @ centred.swapaxes(-1, -2)
    shared = cells @ cells.swapaxes(-1, -2)
    squares = X.shape[-1] * squares * (squares > COINCIDENT * both) / np.maximum(shared, 1)
    other = (shared > 0) & ~np.eye(X.shape[-2], dtype=bool)
    mean = (squares * other).sum((-1, -2), keepdims=True) / np.maximum(other.sum((-1, -2), keepdims=True), 1)
    squares = np.where(shared > 0, squares, mean)
    return np.sqrt(squares * ~np.eye(X.shape[-2], dtype=bool))


def standardise(X: Any) -> Any:
    """Return X with each feature of mean 0 and variance 1, but for outliers; a constant feature is 0.

    >>> standardise(np.array([[0.0], [1.0], [2.0]])).round(2).tolist()
    [[-1.22], [0.0], [1.22]]
    """
    return rescale(X, *mean_and_scale(X))


def has_negative(X: Any) -> bool:
    """Return whether a table has a number below 0."""
    return bool(((X.X if isinstance(X, WideTable) else X) < 0).sum() > 0)


def root_shares(X: Any) -> Any:
    """Return the square roots of each row's shares of its sum: their distances are Hellinger's; rows of 0 stay.

    >>> root_shares(np.array([[9.0, 16.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    if has_negative(X):
        raise ValueError("A view has negative numbers, which are no shares of a sum: use as_shares=False.")
    if isinstance(X, WideTable):
        held = X.X
        sums = np.asarray(held.sum(axis=1)).ravel()
        factors = 1 / (sums + (sums == 0))
        if sparse.issparse(held):
            return WideTable(sparse.csc_array(sparse.diags(factors) @ held).sqrt())
        return WideTable(np.sqrt(held * factors[:, None]))
    known = array_namespace(X).nan_to_num(X) if has_missing(X) else X  # shares of what is known
    sums = known.sum(-1)[..., None]
    return (X / (sums + (sums == 0))) ** 0.5


def rescale(X: Any, mean: Any, scale: Any) -> Any:
    """Return X with each feature less its mean and over its scale; a constant feature is 0."""
    # the mean of equal numbers may differ from them by rounding
    varying = (X[..., :1, :] != X).any(-2)[..., None, :]
    return (X - mean) * varying / (scale + (scale == 0))


def mean_and_scale(X: Any) -> tuple[Any, Any]:
    """Return the mean and the standard deviation (..., 1, p) of each feature, but for outliers.

    They are those of values cut at ``OUTLYING`` standard deviations from the median, so that no outlier decides the
    scale of the others. Where most samples have one value, rare others are no outliers, and nothing is cut. Missing
    cells do not count.
    """
    if has_missing(X):
        return _mean_and_scale_of_present(X)
    xp, middle = array_namespace(X), (X.shape[-2] - 1) // 2
    centre = kth_smallest(X.swapaxes(-1, -2), middle)[..., None, :]
    away = X - centre
    rare = kth_smallest(abs(away).swapaxes(-1, -2), middle)[..., None, :] == 0
    mean, spread = _moments(away)
    falling = ~rare
    for _ in range(MOST_CUTS):
        edge = xp.where(rare, np.inf, OUTLYING * spread)
        next_mean, next_spread = _moments(xp.clip(away, -edge, edge))
        fell = falling & (next_spread < STILL * spread)
        mean, spread = xp.where(falling, next_mean, mean), xp.where(falling, next_spread, spread)
        falling = fell
        if not falling.any():
            break
    return centre + mean, spread


def _mean_and_scale_of_present(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the standard deviation (..., 1, p) of the cells of each feature that are not missing."""
    mean, scale = np.zeros((2, *X.shape[:-2], 1, X.shape[-1]))
    for *table, j in np.ndindex(*X.shape[:-2], X.shape[-1]):
        values = X[(*table, slice(None), slice(j, j + 1))]
        values = values[~np.isnan(values[:, 0])]
        if len(values):
            mean[(*table, 0, j)], scale[(*table, 0, j)] = np.ravel(mean_and_scale(values))
    return mean, scale


def _moments(X: Any) -> tuple[Any, Any]:
    """Return the mean and the standard deviation of each feature (..., 1, p)."""
    mean = X.mean(-2)[..., None, :]
    return mean, ((X - mean) ** 2).mean(-2)[..., None, :] ** 0.5


def prepare_tables(
    tables: np.ndarray, standardised: bool, per_feature: bool
) -> tuple[np.ndarray, list[list[slice]]]:
    """Return tables (b, n, p) of single precision as the compiled loops want them, and :func:`feature_sets` of each."""
    return arrange_tables(tables, standardised), feature_sets(tables, per_feature)


def arrange_tables(tables: np.ndarray, standardised: bool) -> np.ndarray:
    """Return tables (b, n, p) of single precision as the compiled loops want them, standardised or as they are."""
    from latentsimplex.similarity._scaling_loops import standardise_tables

    if not standardised:
        return np.ascontiguousarray(tables)
    standard, k = tables.copy(), (tables.shape[1] - 1) // 2
    centres = np.partition(tables, k, axis=1)[:, k]
    rare = np.partition(np.abs(tables - centres[:, None]), k, axis=1)[:, k] == 0
    standardise_tables(standard, centres, rare, OUTLYING, MOST_CUTS, STILL)
    return standard


def rank_quantile(quantile: float, n: int) -> tuple[int, float, float]:
    """Return the rank of a quantile among n - 1 distances, its part beyond that, and the quantile.

    >>> rank_quantile(0.3, 12)
    (3, 0.0, 0.3)
    """
    below, part = divmod(quantile * (n - 2), 1)
    return int(below), part, quantile


def feature_sets(tables: np.ndarray, per_feature: bool) -> list[list[slice]]:
    """Return for each table the sets of features that are compared together: all, or each one that varies.

    >>> feature_sets(np.array([[[0.0, 1.0], [0.0, 2.0]]]), True)
    [[slice(1, 2, None)]]
    """
    if not per_feature:
        return [[slice(None)]] * len(tables)
    varying = (tables != tables[:, :1]).any(axis=1)
    return [[slice(f, f + 1) for f in np.flatnonzero(some).tolist()] for some in varying]
