"""The null model for splits: one-humped (unimodal) clouds without clusters, otherwise shaped like the views.

A cloud has as many directions as the data have locally, and along each feature the one-humped distribution nearest to
the feature's own: a uniform, skewed or heavy-tailed feature has a uniform, skewed or heavy-tailed cloud, and one with
two humps has one. Views are drawn together, so that what they share without clusters is shared by their clouds.

====== ================== ======= ================================================================
symbol name               shape   meaning
====== ================== ======= ================================================================
Z      ``tables``         n x p   coordinates of the samples, all views side by side
d      ``n_directions``           the local dimension of Z, and one more
L      ``directions``     d x p   leading directions of the standardised features, columns of length 1
u      ``ranks``          m x p   Phi(e L), e standard normal: a Gaussian copula
====== ================== ======= ================================================================

The cloud's feature j is Q_j(u_j), Q_j the quantiles of the one-humped distribution. Where there are more features than
samples can tell apart, the leading coordinates of the samples take the place of features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import call
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.special import ndtr

from latentsimplex.auto.imputed_rows import fill_absent, find_present
from latentsimplex.base.arrays import fill_missing, fix_signs
from latentsimplex.base.partial_table import PartialTable, count_present
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array
from latentsimplex.neighbours.neighbour_graphs import estimate_dimension, measure_neighbours
from latentsimplex.similarity.distances import OUTLYING

NEAR, FAR = 10, 20
"""Neighbours between which the local dimension is measured."""
MOST_DIRECTIONS = 40
MANY_FEATURES = 64
"""More features than this are taken by their leading coordinates."""
MOST_COORDINATES = 60
BINS, TAIL_BINS, TAIL = 48, 4, 0.01
"""Bins of a feature's histogram between its quantiles at ``TAIL`` and 1 - ``TAIL``, and on each side of them."""
RANKS = np.linspace(0.0005, 0.9995, 1001)
TIED = 0.5
"""A feature with fewer distinct values than this share of the samples is discrete, and so is its cloud."""


@dataclass(frozen=True)
class CloudShape:
    """What clouds like some views are drawn from.

    ``quantiles`` has Q_j at ``RANKS`` for each feature, ``values`` the values of each discrete one. ``views`` turns
    features into the coordinates of each view. Where samples are absent from views, ``present`` (V, m) says from which,
    and as many are absent from those of a cloud.
    """

    local_dimension: float
    directions: Array
    quantiles: list[Array]
    values: list[Array | None]
    views: list[Array | slice]
    present: np.ndarray | None = None

    def draw(self, n: int, rng: np.random.Generator) -> list[Any]:
        """Return a cloud of n samples, a table for each view."""
        ranks = ndtr(rng.normal(size=(n, len(self.directions))) @ self.directions)
        # RANKS are evenly spaced: where a rank is among them takes no search
        places = np.clip((ranks - RANKS[0]) / (RANKS[1] - RANKS[0]), 0, len(RANKS) - 1)
        below = np.minimum(places.astype(np.intp), len(RANKS) - 2)
        parts, columns = places - below, []
        for j, (quantiles, values) in enumerate(zip(self.quantiles, self.values, strict=True)):
            column = quantiles[below[:, j]] + parts[:, j] * np.diff(quantiles)[below[:, j]]
            columns.append(column if values is None else round_to(column, values))
        features = np.column_stack(columns)
        cloud = [features[:, part] if isinstance(part, slice) else features @ part for part in self.views]
        if self.present is None:
            return cloud
        rows = [np.flatnonzero(own[np.arange(n) % len(own)]) for own in self.present]
        return [PartialTable(Z[own], own, n) for Z, own in zip(cloud, rows, strict=True)]


def measure_cloud_shape(
    tables: Sequence[Any], dimension: float | None = None, workers: Workers | None = None
) -> CloudShape:
    """Return the shape of clouds like the coordinates (n, p_v) of views; missing cells count as means.

    Rows of absent samples are filled in (:func:`latentsimplex.auto.imputed_rows.fill_absent`). The local ``dimension``
    is measured unless it is given.
    """
    if any(isinstance(Z, PartialTable) for Z in tables):
        tables = [Z for Z in tables if count_present(Z)]
        shape = measure_cloud_shape(fill_absent(tables), dimension, workers)
        return replace(shape, present=find_present(tables))
    tables = [fill_missing(Z) for Z in tables]
    if sum(Z.shape[1] for Z in tables) > MANY_FEATURES:
        return _measure_many_features(tables, dimension, workers or Workers(1))
    Z = np.hstack(tables)
    spread = Z.std(axis=0)
    standard = np.clip((Z - np.median(Z, axis=0)) / (spread + (spread == 0)), -OUTLYING, OUTLYING)
    dimension = min(measure_local_dimension(standard) if dimension is None else dimension, Z.shape[1])
    scores, lengths, directions = np.linalg.svd(standard - standard.mean(axis=0), full_matrices=False)
    directions *= fix_signs(scores)[:, None]
    d = _count_directions(dimension, len(lengths))
    L = lengths[:d, None] * directions[:d]
    ends = np.cumsum([0, *(table.shape[1] for table in tables)])
    values = [find_discrete_values(column) for column in Z.T]
    return CloudShape(
        dimension,
        L / np.maximum(np.sqrt((L**2).sum(axis=0)), np.finfo(float).tiny),
        [one_humped_quantiles(column) for column in Z.T],
        values,
        [slice(start, end) for start, end in pairwise(ends.tolist())],
    )


def _measure_many_features(tables: Sequence[Array], dimension: float | None, workers: Workers) -> CloudShape:
    """Return the shape by the leading coordinates that the samples have in all views, each of which counts the same."""
    centred = [Z - Z.mean(axis=0) for Z in tables]
    together = np.hstack([Z / max(np.linalg.norm(Z), np.finfo(float).tiny) for Z in centred])
    most = min(MOST_COORDINATES, len(together) - 1)
    find = partial(leading_coordinates, together, _count_directions(MOST_DIRECTIONS, most))
    if dimension is None:  # as many coordinates as it may be, beside each other
        dimension, leading = workers.map(call, [partial(measure_local_dimension, together), find])
    else:
        leading = find()
    d = _count_directions(dimension, most)
    leading = np.ascontiguousarray(leading[:, :d])

    def place(Z: Array) -> Array:
        """Return a view in coordinates that keep the distances between samples."""
        loadings = np.linalg.lstsq(leading, Z, rcond=None)[0]
        lengths, directions = np.linalg.eigh(loadings @ loadings.T)
        return directions * np.sqrt(np.maximum(lengths, 0.0))

    views: list[Array | slice] = list(workers.map(place, centred))
    return CloudShape(
        dimension, np.eye(d), [one_humped_quantiles(column) for column in leading.T], [None] * d, views
    )


def leading_coordinates(Z: Array, d: int) -> Array:
    """Return the samples (n, p) along the d directions in which they spread most, by the smaller of Z Z^T and Z^T Z.

    >>> leading_coordinates(np.array([[-2.0, 0.0], [1.0, 0.1], [1.0, -0.1]]), 1).round(2).tolist()
    [[2.0], [-1.0], [-1.0]]
    """
    n, p = Z.shape
    squares, vectors = eigh(
        Z @ Z.T if n <= p else Z.T @ Z, subset_by_index=[max(min(n, p) - d, 0), min(n, p) - 1]
    )
    vectors = vectors[:, ::-1]
    found = vectors * np.sqrt(np.maximum(squares[::-1], 0.0)) if n <= p else Z @ vectors
    return found * fix_signs(found)


def _count_directions(dimension: float, most: int) -> int:
    return max(1, min(most, int(np.ceil(min(dimension, MOST_DIRECTIONS))) + 1))


def find_discrete_values(column: Array) -> Array | None:
    """Return the sorted values of a column that has few, so that samples share them; None for any other."""
    values = np.unique(column)
    return values if 1 < len(values) < TIED * len(column) else None


def round_to(column: Array, values: Array) -> Array:
    """Return each number as the nearest of the sorted values.

    >>> round_to(np.array([0.2, 1.7, 9.0]), np.array([0.0, 1.0, 2.0])).tolist()
    [0.0, 2.0, 2.0]
    """
    above = np.clip(np.searchsorted(values, column), 1, len(values) - 1)
    lower, upper = values[above - 1], values[above]
    return np.where(column - lower < upper - column, lower, upper)


def measure_local_dimension(coordinates: Array) -> float:
    """Return the intrinsic dimension near the samples, by their nearest neighbours.

    >>> flat = np.random.default_rng(0).normal(size=(400, 2)) @ np.ones((2, 5))
    >>> bool(0.8 < measure_local_dimension(flat) < 1.2)
    True
    """
    n = len(coordinates)
    far = min(FAR, n - 1)
    return estimate_dimension(measure_neighbours(coordinates, far)[0], max(2, min(NEAR, far - 1)))


def one_humped_quantiles(column: Array) -> Array:
    """Return quantiles at ``RANKS`` of the one-humped histogram nearest to a feature: up to the mode, then down."""
    ordered = np.sort(column)
    low, high = ordered[0], ordered[-1]
    if high <= low:
        return np.full(len(RANKS), low)
    start, end = interpolate_quantile(ordered, TAIL), interpolate_quantile(ordered, 1 - TAIL)
    tails = np.linspace(low, start, TAIL_BINS + 1), np.linspace(end, high, TAIL_BINS + 1)
    edges = (
        np.unique(np.concatenate([tails[0], np.linspace(start, end, BINS + 1), tails[1]]))
        if end > start
        else np.linspace(low, high, BINS + 1)
    )
    from latentsimplex.auto._unimodal_loops import fit_one_hump

    counts = np.diff(np.append(ordered.searchsorted(edges[:-1]), len(ordered))).astype(np.float64)
    widths = np.diff(edges)
    mass = fit_one_hump(counts, widths, np.median(counts / widths))
    return np.interp(RANKS, np.concatenate([[0.0], np.cumsum(mass)]), edges)


def interpolate_quantile(ordered: Array, rank: float) -> float:
    """Return the quantile at a rank between 0 and 1 of numbers in order, as NumPy has it, without NumPy's overhead.

    >>> interpolate_quantile(np.array([1.0, 2.0, 4.0]), 0.75)
    3.0
    """
    at = rank * (len(ordered) - 1)
    below = int(at)
    low, high, share = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)]), at - below
    return low + (high - low) * share if share < 0.5 else high - (high - low) * (1 - share)
