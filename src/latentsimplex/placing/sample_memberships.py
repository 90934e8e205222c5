"""Memberships of new samples from those of their nearest reference samples: weighted nearest neighbours.

========== ==================== ========== ==============================================================
symbol     name                 shape      meaning
========== ==================== ========== ==============================================================
Z^(v)      ``coordinates[v]``   m x r      reference samples in view v, squared distances of mean 2
W          ``W``                m x g      their memberships, rows on the simplex
pi         ``shares``           g          the shares of clusters
t          ``thinness``         m          one over the distance of a reference to its own neighbours
m^(v)      what neighbours say  g          mean memberships of the nearest references in view v
s          ``sharpness``                   the power to which a single view is raised
c, b       ``weights``          2          how far views one by one, and all together, are believed
========== ==================== ========== ==============================================================

A sample is placed by two opinions: what its neighbours in each view say, a mean over views, and what its neighbours in
all views together say, squared distances added up. They are pooled by their logarithms:

    w_k ~ pi_k (M_k / pi_k)^c (m_k / pi_k)^b,    M = 1/V sum_v [pi (m^(v) / pi)^s] scaled to a sum of 1.

Where samples change their clusters from view to view, as they may in a pattern of many views, neighbours in a view
tell the cluster that a sample has there, once they are sharpened, and memberships are means over views. s, c and b
are what reproduces the memberships of the references best (cross entropy), each left out in turn: a convex problem
for each s. A reference in a thin region is nobody's neighbour by plain distances in many features, and one in the
middle everybody's; distances over the square root of what a reference has to its own neighbours know no such hubs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from latentsimplex.base.threads import Workers, cached_property
from latentsimplex.base.types import Array, Indices
from latentsimplex.neighbours.graph_sizes import local_sizes
from latentsimplex.placing.squared_distances import FEW_FEATURES, squared_distances

SHARPNESSES = np.array([1.0, 2.0, 4.0, 8.0])
"""Powers of single views that are tried."""
SMOOTHING_APART, SMOOTHING_TOGETHER = 1.0, 0.1
"""A reference weighs 1 / (its squared distance + this share of that of the last one asked). In a single view one that
is much nearer than others is so by chance; in all views together it is more like the sample."""
PRIOR = 0.02
"""The weight of the shares of clusters beside what neighbours say, so that nothing excludes a cluster."""
ROWS = 128
"""Samples that are placed at a time. Fewer are filled up to as many, so that no result depends on the company."""
THINNEST = 1e-3
"""The least distance to neighbours, as a share of the median, that counts: samples may coincide."""
SEEN = 0.99
"""The share of references that are not far from the others."""


class Opinions(NamedTuple):
    """What neighbours say of samples.

    ``apart`` (n, s, g) is a mean over views, of each sharpness, and ``together`` (n, g) of all views, both as log
    (m / pi). ``distances`` (n,) are mean squared distances to the nearest references in all views, which are
    ``near`` (n, k).
    """

    apart: Array
    together: Array
    distances: Array
    near: Indices


class Placed(NamedTuple):
    """Memberships (n, g) of new samples, and how far each is from all references (n,): beyond 1 is unlike them."""

    W: Array
    remoteness: Array


class NarrowViews(NamedTuple):
    """Views of few features: which they are, where the features of each begin, and the features (p, m)."""

    members: list[int]
    starts: Indices
    columns: np.ndarray


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Reference samples with their memberships, and how far neighbours are believed.

    Attributes
    ----------
    coordinates : sequence of (m, r) arrays, one for each view
    W : (m, g) array
    shares : (g,) array
    thinness : list of (m,) arrays, one for each view, and for all together
    weights : (2,) array
        c and b.
    sharpness : float
    far : float
        The squared distance to neighbours that few references are beyond.
    parts : (V,) array
        What each view adds to such distances; their sum is 1.
    """

    coordinates: Sequence[np.ndarray]
    W: Array
    shares: Array
    thinness: list[np.ndarray]
    weights: Array
    sharpness: float
    far: float
    parts: Array

    def count_nearest(self, n_coordinates: int) -> int:
        """Return how many references are asked: in few coordinates, where many are near, twice as many."""
        few, many = local_sizes(len(self.W))
        return min(many if n_coordinates <= FEW_FEATURES else few, len(self.W) - 1)

    @cached_property
    def columns(self) -> list[np.ndarray]:
        """The coordinates of each view (r, m), as loops want them."""
        return [np.ascontiguousarray(Z.T) for Z in self.coordinates]

    @cached_property
    def narrow(self) -> NarrowViews:
        """The views of few features, without missing cells, which are asked at once."""
        members = [
            v
            for v, (Z, lengths) in enumerate(zip(self.coordinates, self.norms, strict=True))
            if Z.shape[1] <= FEW_FEATURES and not np.isnan(lengths).any()
        ]
        widths = [self.coordinates[v].shape[1] for v in members]
        rows = [np.empty((0, len(self.W)), np.float32), *(self.columns[v] for v in members)]
        return NarrowViews(members, np.cumsum([0, *widths]), np.concatenate(rows))

    @cached_property
    def norms(self) -> list[np.ndarray]:
        """The squared lengths of the references (m,) in each view."""
        return [np.einsum("ij,ij->i", Z, Z) for Z in self.coordinates]


def learn_neighbourhood(
    coordinates: Sequence[np.ndarray], W: Array, shares: Array, workers: Workers
) -> Neighbourhood:
    """Return references that new samples can be placed against, given coordinates (m, r) of each view and memberships.

    Missing cells are NaN, and so are all cells of a sample that a view lacks.
    """
    m, V = len(W), len(coordinates)
    flat = [np.ones(m, dtype=np.float32)] * (V + 1)
    plain = Neighbourhood(coordinates, W, shares, flat, np.array([1.0, 0.0]), 1.0, 1.0, np.full(V, 1 / V))
    thinness = _measure_thinness(plain, crowded_views(coordinates), workers)
    known = replace(plain, thinness=thinness)
    heard = ask_neighbours(known, coordinates, SHARPNESSES, workers, left_out=True)
    found = [_fit_weights(W, shares, heard.apart[:, s], heard.together) for s in range(len(SHARPNESSES))]
    best = int(np.argmin([entropy for _, entropy in found]))
    parts = _mean_squares(coordinates, heard.near)
    return replace(
        known,
        weights=found[best][0],
        sharpness=float(SHARPNESSES[best]),
        far=float(np.quantile(heard.distances, SEEN)),
        parts=parts / parts.sum() if parts.any() else plain.parts,
    )


def crowded_views(coordinates: Sequence[np.ndarray]) -> list[bool]:
    """Return in which views, and whether in all together, there may be hubs."""
    crowded = [Z.shape[1] > FEW_FEATURES for Z in coordinates]
    return [*crowded, any(crowded)]


def place_samples(known: Neighbourhood, tables: Sequence[np.ndarray | None], workers: Workers) -> Placed:
    """Return memberships of new samples, given their coordinates (n, r) in each view, None for a view that they lack.

    Memberships of a sample far from all references are drawn to the shares of clusters, and those of one that no view
    has are these shares. With fewer views than the references had, neighbours are believed less, and with one view
    as they are.
    """
    heard = ask_neighbours(known, tables, np.array([known.sharpness]), workers)
    present = np.array(
        [np.zeros(len(heard.near)) if X is None else _find_present(X) for X in tables], dtype=bool
    )
    q, V = present.sum(axis=0), len(tables)
    c, b = known.weights
    whole = known.sharpness * c + b
    logits = _temper_for_absent(q, V, whole)[:, None] * (c * heard.apart[:, 0] + b * heard.together)
    W = softmax(np.log(known.shares) + logits, axis=1)
    expected = known.far * (known.parts @ present)
    remote = heard.distances / np.maximum(expected, np.finfo(np.float32).tiny)
    kept = np.minimum(1.0, 1 / np.maximum(remote, 1.0))[:, None]
    return Placed(kept * W + (1 - kept) * known.shares, np.sqrt(remote))


def _temper_for_absent(q: Indices, V: int, whole: float) -> Array:
    """Return by what exponents are multiplied (n,) for samples that q (n,) of V views have.

    They add up to ``whole`` with all views, which make up for one another's errors, and to 1 at most with one view,
    which is believed as it is: in between the sum is on a straight line.
    """
    alone = min(1.0, whole)
    believed = alone + (whole - alone) * (q - 1) / max(V - 1, 1)
    return np.where(q == V, 1.0, believed / max(whole, np.finfo(float).tiny))


def ask_neighbours(
    known: Neighbourhood,
    tables: Sequence[np.ndarray | None],
    sharpness: Array,
    workers: Workers,
    left_out: bool = False,
) -> Opinions:
    """Return what neighbours say of samples, given their coordinates; of the references themselves, each left out."""
    n = next(len(X) for X in tables if X is not None)
    at_once = set(known.narrow.members)
    joined = _join_narrow(known, [tables[v] for v in known.narrow.members], n)
    tables = [None if v in at_once else X for v, X in enumerate(tables)]
    blocks = list(
        workers.map(
            lambda start: _ask_block(known, tables, joined, sharpness, start, n, left_out), range(0, n, ROWS)
        )
    )
    return Opinions(*(np.concatenate(part) for part in zip(*blocks, strict=True)))


def _join_narrow(known: Neighbourhood, tables: Sequence[np.ndarray | None], n: int) -> np.ndarray:
    """Return the narrow views of samples side by side (n, p), NaN for those that are absent."""
    widths = np.diff(known.narrow.starts).tolist()
    absent = {p: np.full((n, p), np.nan, np.float32) for p in set(widths)}
    parts = [absent[p] if X is None else X for X, p in zip(tables, widths, strict=True)]
    return np.hstack([np.empty((n, 0), np.float32), *parts])


def _ask_block(
    known: Neighbourhood,
    tables: Sequence[np.ndarray | None],
    narrow: np.ndarray,
    sharpness: Array,
    start: int,
    n: int,
    left_out: bool,
) -> Opinions:
    """Return what neighbours say of some samples; ``narrow`` (n, p) are their narrow views side by side."""
    from latentsimplex.placing._opinion_loops import (
        add_means,
        add_squares,
        ask_narrow_views,
        find_nearest,
    )

    m, g = len(known.W), len(known.shares)
    apart, together = np.zeros((ROWS, len(sharpness), g)), np.zeros((ROWS, 1, g))
    joint, counts = np.zeros((ROWS, m), dtype=np.float32), np.zeros(ROWS, dtype=np.int64)
    skipped, size = start if left_out else -1, min(ROWS, n - start)
    said = (known.W, known.shares, SMOOTHING_APART, PRIOR, sharpness)
    if narrow.shape[1]:
        views, k = known.narrow, known.count_nearest(1)
        X = narrow[start : start + ROWS]
        ask_narrow_views(X, views.columns, views.starts, skipped, k, *said, apart, counts, joint)
    for v, present, squares in _each_view(known, tables, start):
        near, values = _empty_lists(known.count_nearest(known.coordinates[v].shape[1]))
        find_nearest(squares, known.thinness[v], skipped, present, near, values)
        add_means(near, values, present, *said, apart)
        add_squares(squares, present, joint)
        counts += present
    anywhere = counts > 0
    near, values = _empty_lists(known.count_nearest(m))
    find_nearest(joint, known.thinness[-1], skipped, anywhere, near, values)
    said = (known.W, known.shares, SMOOTHING_TOGETHER, PRIOR, np.ones(1))
    add_means(near, values, anywhere, *said, together)
    distances = np.take_along_axis(joint, near, axis=1).mean(axis=1, dtype=np.float64) * anywhere
    apart /= np.maximum(counts, 1)[:, None, None]
    logs = [_compare_with_shares(means, known.shares) for means in (apart, together[:, 0])]
    return Opinions(*(part[:size] for part in (*logs, distances, near)))


def _empty_lists(k: int) -> tuple[Indices, np.ndarray]:
    """Return room for the nearest references (b, k) of a block, and for what they are chosen by."""
    return np.zeros((ROWS, k), dtype=np.int64), np.zeros((ROWS, k), np.float32)


def _compare_with_shares(means: Array, shares: Array) -> Array:
    """Return log (m / pi) of what neighbours say (n, ..., g); 0 for a sample that has none."""
    heard = means.sum(axis=-1, keepdims=True) > 0
    return np.where(heard, np.log(np.where(heard, means, 1.0) / shares), 0.0)


def _each_view(
    known: Neighbourhood, tables: Sequence[np.ndarray | None], start: int
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield each view of a block of samples, which of them it has (b,), and squared distances (b, m)."""
    for v, table in enumerate(tables):
        if table is None:
            continue
        X = _fill_block(table, start)
        present = _find_present(X)
        if present.any():
            yield v, present, squared_distances(X, known.coordinates[v], known.columns[v], known.norms[v])


def _fill_block(table: np.ndarray, start: int) -> np.ndarray:
    """Return a block of samples, filled up with zeros."""
    X = np.zeros((ROWS, table.shape[1]), dtype=np.float32)
    part = table[start : start + ROWS]
    X[: len(part)] = part
    return X


def _find_present(X: np.ndarray) -> np.ndarray:
    return ~np.isnan(X).all(axis=1)


def _measure_thinness(known: Neighbourhood, wanted: list[bool], workers: Workers) -> list[np.ndarray]:
    """Return one over the distance of each reference to its own neighbours, where wanted, and 1 elsewhere."""
    from latentsimplex.placing._opinion_loops import add_squares, find_nearest

    m, k, last = len(known.W), known.count_nearest(len(known.W)), len(wanted) - 1
    if not wanted[last]:
        return known.thinness
    farthest = np.zeros((len(wanted), m))

    def measure(start: int) -> None:
        near, values = _empty_lists(k)
        joint, everyone = np.zeros((ROWS, m), dtype=np.float32), np.ones(ROWS, dtype=bool)
        size = min(ROWS, m - start)
        for v, present, squares in _each_view(known, known.coordinates, start):
            add_squares(squares, present, joint)
            if wanted[v]:
                find_nearest(squares, known.thinness[v], start, present, near, values)
                farthest[v, start : start + size] = np.where(present, values[:, -1], 0.0)[:size]
        find_nearest(joint, known.thinness[last], start, everyone, near, values)
        farthest[last, start : start + size] = values[:size, -1]

    list(workers.map(measure, range(0, m, ROWS)))
    return [
        _invert(np.sqrt(own)) if asked else known.thinness[v]
        for v, (own, asked) in enumerate(zip(farthest, wanted, strict=True))
    ]


def _invert(distances: Array) -> np.ndarray:
    median = float(np.median(distances)) or float(distances.max()) or 1.0
    return (1 / np.maximum(distances / median, THINNEST)).astype(np.float32)


def _fit_weights(W: Array, shares: Array, apart: Array, together: Array) -> tuple[Array, float]:
    """Return c and b, no less than 0, with which opinions (m, g) reproduce memberships best, and the cross entropy."""
    logs, both = np.log(shares), (apart, together)

    def cross_entropy(weights: Array) -> tuple[float, Array]:
        logits = logs + weights[0] * apart + weights[1] * together
        surplus = softmax(logits, axis=1) - W
        slope = np.array([(surplus * opinion).sum() for opinion in both])
        return -float((W * log_softmax(logits, axis=1)).sum()) / len(W), slope / len(W)

    start = np.array([0.5, 0.5])
    found = minimize(cross_entropy, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * 2)
    return found.x, float(found.fun)


def _mean_squares(coordinates: Sequence[np.ndarray], near: Indices) -> Array:
    """Return the mean squared distance of references to others (m, k) in each view (V,)."""
    Z = np.hstack(list(coordinates))
    squares = np.zeros(Z.shape[1])
    for others in near.T:
        squares += np.nansum((Z - Z[others]) ** 2, axis=0, dtype=np.float64)
    starts = np.cumsum([0, *(own.shape[1] for own in coordinates[:-1])])
    return np.add.reduceat(squares, starts) / near.size
