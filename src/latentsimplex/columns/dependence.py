"""How much columns depend on one another, in whatever way: linear, curved, or by clusters.

Columns that show one clustering together depend on one another even where each is silent about it alone. A column is
taken by its ranks, as normal scores, and these by their first polynomials, so that neither units, nor outliers, nor the
shape of a column matter.

====== =============== ======= ==================================================================================
symbol name            shape   meaning
====== =============== ======= ==================================================================================
z      ``scores``      n x p   normal scores of the columns, mean 0 and variance 1; NaN where a cell is missing
h_a    ``polynomials`` a, n, p polynomials of z of degree a = 1, 2, 3: mean 0, variance 1, uncorrelated with one another
S_ij   ``dependence``  p x p   n sum_ab WEIGHT^(a + b - 2) cor(h_a(z_i), h_b(z_j))^2
====== =============== ======= ==================================================================================

S is a sum of nine squares. Of independent columns these are those of standard normal numbers, nearly, and

    Pr(S > s) ~ Pr(chi^2_1 > s) prod_ab (1 - WEIGHT^(a + b - 2))^(-1/2), (a, b) other than (1, 1)

as s grows (Zolotarev, 1961).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtri
from scipy.stats import chi2, rankdata

from latentsimplex.base.types import Array, Indices

DEGREES, WEIGHT = 3, 0.5
"""Polynomials of a column, and how much less each counts than the one before: clusters show in low degrees, most."""
BLOCK_ENTRIES = 2**24
"""Correlations that are held at a time: 64 MB of single precision."""
ALIKE = 1e-6
"""A polynomial that varies less than this is a combination of the others, as in columns of two values."""

_WEIGHTS = np.array([WEIGHT ** (a + b) for a in range(DEGREES) for b in range(DEGREES)])
_TAIL = float(np.prod((1 - _WEIGHTS[1:]) ** -0.5))


def normal_scores(X: Array) -> Array:
    """Return the columns (n, p) as normal scores of their ranks; equal values share one, constant columns are 0.

    >>> normal_scores(np.array([[1.0], [100.0], [10.0]])).round(2).tolist()
    [[-1.22], [1.22], [0.0]]
    """
    present = ~np.isnan(X)
    counts = np.maximum(present.sum(axis=0), 1)
    z = ndtri((rankdata(X, axis=0, nan_policy="omit") - 0.5) / counts)
    z = z - np.where(present, z, 0.0).sum(axis=0) / counts
    spread = np.sqrt(np.square(np.where(present, z, 0.0)).sum(axis=0) / counts)
    return z / np.where(spread > ALIKE, spread, 1.0)


def make_polynomials(z: Array) -> np.ndarray:
    """Return polynomials of scores (degrees, n, p) in single precision; missing cells are 0, the mean."""
    present = ~np.isnan(z)
    counts = np.maximum(present.sum(axis=0), 1)
    made: list[Array] = []
    for degree in range(1, DEGREES + 1):
        h = np.where(present, z, 0.0) ** degree
        h = np.where(present, h - h.sum(axis=0) / counts, 0.0)
        for lower in made:
            h = h - (h * lower).sum(axis=0) / counts * lower
        spread = np.sqrt((h**2).sum(axis=0) / counts)
        made.append(np.where(spread > ALIKE, h / np.where(spread > ALIKE, spread, 1.0), 0.0))
    return np.array(made, dtype=np.float32)


def measure_dependence(polynomials: np.ndarray, columns: Indices, others: Indices) -> np.ndarray:
    """Return S between some columns and some others, whose polynomials are given for all columns."""
    n = polynomials.shape[1]
    S = np.zeros((len(columns), len(others)), dtype=np.float32)
    for a in range(DEGREES):
        for b in range(DEGREES):
            products = polynomials[a][:, columns].T @ polynomials[b][:, others]
            S += np.float32(WEIGHT ** (a + b) / n) * np.square(products)
    return S


def strongest_dependence(polynomials: np.ndarray) -> np.ndarray:
    """Return the largest S that each column (p,) has with another one, all of which are never held at once."""
    p = polynomials.shape[2]
    strongest = np.zeros(p, dtype=np.float32)
    for columns, others in _blocks(p):
        S = measure_dependence(polynomials, columns, others)
        S[columns[:, None] == others[None]] = 0.0
        strongest[columns] = np.maximum(strongest[columns], S.max(axis=1))
        strongest[others] = np.maximum(strongest[others], S.max(axis=0))
    return strongest


def strongest_pairs(polynomials: np.ndarray, most: int) -> Indices:
    """Return pairs of columns (m, 2), no more than ``most``, the strongest first.

    They depend on each other so much that a column of noise has no more than one such partner, on average.
    """
    p = polynomials.shape[2]
    least = dependence_at(1 / max(p, 1))
    pairs, strengths = np.empty((0, 2), dtype=np.intp), np.empty(0, dtype=np.float32)
    for columns, others in _blocks(p):
        S = measure_dependence(polynomials, columns, others)
        S[columns[:, None] >= others[None]] = 0.0
        found = np.nonzero(least < S)
        pairs = np.concatenate([pairs, np.column_stack([columns[found[0]], others[found[1]]])])
        strengths = np.concatenate([strengths, S[found]])
        if len(pairs) > most:
            kept = np.argsort(-strengths, kind="stable")[:most]
            pairs, strengths = pairs[kept], strengths[kept]
            least = max(least, float(strengths[-1]))
    return pairs[np.argsort(-strengths, kind="stable")]


def chance_of(S: Array | float) -> Array:
    """Return how probable so much dependence, or more, is between independent columns.

    >>> bool(chance_of(0.5) > 0.5), bool(chance_of(40.0) < 1e-8)
    (True, True)
    """
    return np.minimum(_TAIL * chi2.sf(S, 1), 1.0)


def dependence_at(chance: float) -> float:
    """Return the dependence that independent columns exceed with this probability."""
    return float(chi2.isf(min(chance / _TAIL, 1.0), 1))


def _blocks(p: int) -> Iterator[tuple[Indices, Indices]]:
    """Yield columns and those from them on, so that each pair is met."""
    size = max(1, BLOCK_ENTRIES // max(p, 1))
    for start in range(0, p, size):
        yield np.arange(start, min(start + size, p)), np.arange(start, p)
