"""How the features of a view become coordinates, learnt from the data of a fit and kept for new samples.

Features are compared as the similarity of the fit compared them: as they are, standardised, cut at a few standard
deviations where each was compared alone, by direction, or as shares of a row's sum. Views of many features are kept as
their first principal coordinates. All coordinates are scaled so that the squared distance of two samples of the fit has
the mean 2, in every view: squared distances of several views can be added up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import PART_ENTRIES, WideTable, to_dense
from latentsimplex.similarity.auto_diffusion import AutoDiffusion
from latentsimplex.similarity.diffusion import Diffusion
from latentsimplex.similarity.distances import OUTLYING, mean_and_scale, root_shares
from latentsimplex.similarity.local_scaling import LocalScaling
from latentsimplex.similarity.wide_tables import measure_features, sample_long

CHUNK = 4096
"""New samples that are placed by one worker of a cluster at a time, and the most by one product of matrices: a power of
two, of which products take whole parts, so that chunks change no bit."""
MOST_COORDINATES = 256
"""Views of more features are kept as so many principal coordinates."""
LEARNT_FROM = 1000
"""Reference samples that principal coordinates are learnt from."""
FARTHEST = 1e9
"""Coordinates beyond this are cut there: squares of many of them are numbers of single precision."""
DIRECTIONS = ("cosine", "correlation")
"""Metrics that compare samples by direction."""


class Way(NamedTuple):
    """How features are compared: standardised or not, cut at outliers or not, by direction or as shares or neither."""

    standardised: bool
    cut: bool
    by_direction: bool
    as_shares: bool = False

    @property
    def scales_rows(self) -> bool:
        """Whether rows are scaled before they are compared."""
        return self.by_direction or self.as_shares


def find_way(kernel: Any, n_features: int) -> Way:
    """Return how a kernel compares views of so many features; those that are not ours are taken to standardise.

    >>> find_way(LocalScaling(metric="cosine"), 5)
    Way(standardised=False, cut=False, by_direction=True, as_shares=False)
    """
    if isinstance(kernel, AutoDiffusion):
        kernel = kernel.kernel(n_features)
    if isinstance(kernel, (Diffusion, LocalScaling)):
        cut = kernel.per_feature and n_features > 1
        by_direction = getattr(kernel, "metric", "") in DIRECTIONS
        return Way(kernel.standardise or cut, cut, by_direction, getattr(kernel, "as_shares", False))
    return Way(n_features > 1, False, False)


@dataclass(frozen=True, eq=False)
class Comparison:
    """From features (n, p) of a view to coordinates (n, r).

    Attributes
    ----------
    way : Way
    centre, factor : (p,) arrays
        What is subtracted from features, and what they are multiplied by then: 0 for a constant one.
    axes : (p, r) array, or None where coordinates are features
    scale : float
        What coordinates are multiplied by in the end.
    """

    way: Way
    centre: Array
    factor: Array
    axes: np.ndarray | None
    scale: float

    def place(self, X: Any) -> np.ndarray:
        """Return the coordinates (n, r), in single precision, of samples (n, p), sparse or an array."""
        found = []
        step = _count_rows(X.shape[1])
        for start in range(0, X.shape[0], step):
            part = to_dense(X[start : start + step])
            with np.errstate(over="ignore", invalid="ignore"):  # what is beyond all numbers is far
                Z = self.compare(scale_rows(part, self.way))
                found.append(self.shorten(Z if self.axes is None else Z @ self.axes))
        return np.concatenate(found)

    def compare(self, X: Array, features: Indices | slice = slice(None)) -> Array:
        """Return some features (n, q), of scaled rows, as they are compared."""
        Z = (X - self.centre[features]) * self.factor[features]
        return np.clip(Z, -OUTLYING, OUTLYING) if self.way.cut else Z

    def shorten(self, Z: Array) -> np.ndarray:
        """Return coordinates (n, r) in single precision and their last scale, none too large."""
        return np.clip(self.scale * Z, -FARTHEST, FARTHEST).astype(np.float32)


def _count_rows(n_features: int) -> int:
    """Return how many rows of a table are placed at a time: a power of two, so that chunks of samples begin with one.

    >>> _count_rows(10), _count_rows(1000)
    (4096, 512)
    """
    most = max(1, PART_ENTRIES // max(1, n_features))
    return min(CHUNK, 1 << (most.bit_length() - 1))


def learn_comparison(table: Array | WideTable, way: Way, rows: Indices) -> tuple[Comparison, np.ndarray]:
    """Return how the features of a view become coordinates, and the coordinates (m, r) of some of its samples."""
    known = sample_long(table) if way.scales_rows and isinstance(table, WideTable) else table
    centre, spread = _measure_features(scale_rows(known, way))
    factor = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1.0), 0.0)
    if not way.standardised:
        factor = (spread > 0) / (float(spread.max()) or 1.0)  # one unit for all, and no number too large
    plain = Comparison(way, centre, factor, None, 1.0)
    references = scale_rows(table[rows], way)
    references = references.X if isinstance(references, WideTable) else references
    missing = not sparse.issparse(references) and bool(np.isnan(references).any())
    if references.shape[1] <= MOST_COORDINATES or missing:
        axes, Z = None, plain.compare(to_dense(references))
    else:
        axes = _find_axes(plain, references)
        Z = np.zeros((len(rows), axes.shape[1]))
        for features, part in _parts(plain, references):
            Z += part @ axes[features]
    present = np.maximum((~np.isnan(Z)).sum(axis=0), 1)
    size = float(np.nansum(np.square(Z - np.nansum(Z, axis=0) / present) / present))
    scale = float(1 / np.sqrt(size)) if size > 0 else 1.0
    learnt = Comparison(way, centre, factor, axes, scale)
    return learnt, learnt.shorten(Z)


def learn_alike(table: Array, p: int, way: Way, rows: Indices) -> Iterator[tuple[Comparison, np.ndarray]]:
    """Yield what :func:`learn_comparison` returns for each p columns of a table, as a view of their own.

    They are a few columns, without missing cells, and rows need no scale.
    """
    centre, spread = (each.reshape(-1, p) for each in _measure_features(table))
    factor = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1.0), 0.0)
    if not way.standardised:
        widest = spread.max(axis=1, keepdims=True)
        factor = (spread > 0) / np.where(widest > 0, widest, 1.0)
    together = Comparison(way, centre.ravel(), factor.ravel(), None, 1.0)
    Z = together.compare(table[rows])
    sizes = Z.var(axis=0).reshape(-1, p).sum(axis=1)
    scales = np.where(sizes > 0, 1 / np.sqrt(np.where(sizes > 0, sizes, 1.0)), 1.0)
    # what Comparison.shorten does, of all at once; each view's own is one piece of memory
    Z = np.clip(np.repeat(scales, p) * Z, -FARTHEST, FARTHEST).astype(np.float32)
    coordinates = np.ascontiguousarray(Z.reshape(len(Z), -1, p).swapaxes(0, 1))
    for v, scale in enumerate(scales.tolist()):
        yield Comparison(way, centre[v], factor[v], None, scale), coordinates[v]


def _measure_features(table: Array | WideTable) -> tuple[Array, Array]:
    """Return the mean and the standard deviation (p,) of features, but for outliers; 0 for one that does not vary."""
    if isinstance(table, WideTable):
        return measure_features(table)
    mean, spread = mean_and_scale(table)
    return mean[0], spread[0] * (np.fmax.reduce(table) > np.fmin.reduce(table))


def _find_axes(plain: Comparison, references: Any) -> np.ndarray:
    """Return the first principal axes (p, r) of references, learnt from some of them, in single precision."""
    some = references[sample_rows(references.shape[0], LEARNT_FROM)]
    n = some.shape[0]
    products = np.zeros((n, n))
    for _, part in _parts(plain, some):
        part = part - part.mean(axis=0)
        products += part @ part.T
    values, vectors = np.linalg.eigh(products)
    kept = np.flatnonzero(values > np.finfo(np.float32).eps * values[-1])[-MOST_COORDINATES:]
    kept = kept if len(kept) else np.array([n - 1])
    axes = np.zeros((references.shape[1], len(kept)), dtype=np.float32)
    roots = np.sqrt(np.maximum(values[kept], np.finfo(float).tiny))
    for features, part in _parts(plain, some):
        axes[features] = (part - part.mean(axis=0)).T @ (vectors[:, kept] / roots)
    return axes


def _parts(plain: Comparison, X: Any) -> Iterator[tuple[Indices, Array]]:
    """Yield features and their columns as they are compared, a few at a time."""
    n, p = X.shape
    step = max(1, PART_ENTRIES // n)
    columns = X.tocsc() if sparse.issparse(X) else X
    for start in range(0, p, step):
        features = np.arange(start, min(start + step, p))
        yield features, plain.compare(to_dense(columns[:, start : start + step]), features)


def scale_rows(X: Any, way: Way) -> Any:
    """Return rows (n, p) of length 1 where samples are compared by direction, as roots of shares where that is the way.

    Missing cells are left out. A row whose sum is 0 has no shares and says nothing: it is NaN.

    >>> scale_rows(np.array([[9.0, 16.0], [0.0, 0.0]]), Way(False, False, False, as_shares=True)).tolist()
    [[0.6, 0.8], [nan, nan]]
    """
    if isinstance(X, WideTable):
        return _scale_wide_rows(X, way)
    if way.as_shares:
        shares = np.maximum(X, 0.0)
        sums = np.nansum(shares, axis=1, keepdims=True)
        return np.sqrt(shares / np.where(sums > 0, sums, np.nan))
    if way.by_direction:
        lengths = np.sqrt(np.nansum(X**2, axis=1, keepdims=True))
        return X / (lengths + (lengths == 0))
    return X


def _scale_wide_rows(table: WideTable, way: Way) -> WideTable:
    if way.as_shares:
        return root_shares(table)
    if not way.by_direction:
        return table
    held = table.X
    squares = held.multiply(held) if sparse.issparse(held) else held**2
    lengths = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    factors = 1 / (lengths + (lengths == 0))
    if sparse.issparse(held):
        return WideTable(sparse.csc_array(sparse.diags(factors) @ held))
    return WideTable(held * factors[:, None])
