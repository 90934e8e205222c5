"""Large tables reduced to leading principal coordinates (a truncated PCA), read a part at a time.

========== ============== ======= ======================================================================
symbol     name           shape   meaning
========== ============== ======= ======================================================================
F                         n x p   features as they are compared, centred: (X - 1 mean^T) diag(factor)
V          ``directions`` p x r   orthonormal, of a table of more samples: F V are the coordinates
U          ``basis``      n x r   orthonormal, of a table of more features: coordinates along U
========== ============== ======= ======================================================================

Subspace iteration from random directions: V <- orth(F^T F V), or U <- orth(F F^T U), whichever is smaller. F is not
formed: F V = X diag(factor) V - 1 (mean^T diag(factor) V).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from latentsimplex.base.types import Array
from latentsimplex.base.wide_table import MANY_FEATURES, PART_ENTRIES, WideTable
from latentsimplex.similarity.distances import root_shares
from latentsimplex.similarity.wide_tables import comparable_parts, measure_features, standardised_parts

FURTHER, ROUNDS = 16, 4
"""Directions beyond those that are kept, and how often they are turned towards the leading ones: what is left out then
has hardly more variance than the least that is kept."""
SEED = 0


def find_leading_coordinates(table: WideTable, comparison: str) -> Array:
    """Return coordinates (n, r) that have as much of the variance of compared features as so many can, nearly.

    >>> line = np.arange(8.0)[:, None] * np.array([1.0, 2.0, 2.0])
    >>> Z = find_leading_coordinates(WideTable(line), "as they are")
    >>> bool(np.allclose(np.abs(Z[1] - Z[0]).max(), 3 / 14))  # the largest number is made 1
    True
    """
    n, p = table.shape
    draws = np.random.default_rng(SEED).normal(size=(min(n, p), min(n, p, MANY_FEATURES + FURTHER)))
    return _turn_samples(table, comparison, draws) if n < p else _turn_features(table, comparison, draws)


def _turn_features(table: WideTable, comparison: str, draws: Array) -> Array:
    """Return the coordinates of a table of more samples than features, a few samples at a time."""
    n, p = table.shape
    as_shares = comparison == "as shares"
    held = table.X
    if sparse.issparse(held):
        held, as_shares = (root_shares(table).X if as_shares else held).tocsr(), False
    # a part of the table, or of a product, takes no more memory than the directions
    step = p if sparse.issparse(held) else max(draws.shape[1], PART_ENTRIES // p)

    def blocks() -> Iterator[Any]:
        for start in range(0, n, step):
            X = held[start : start + step]
            X = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
            yield root_shares(X) if as_shares else X

    mean = np.sum([np.asarray(X.sum(axis=0)).ravel() for X in blocks()], axis=0) / n
    factor = _find_factors(table, comparison)[:, None]
    V = np.linalg.qr(draws)[0]
    for _ in range(ROUNDS):
        products, total, scaled = np.zeros_like(V), np.zeros(V.shape[1]), factor * V
        for X in blocks():
            Y = X @ scaled - mean @ scaled
            products += X.T @ Y
            total += Y.sum(axis=0)
        V, squares = np.linalg.svd(factor * (products - np.outer(mean, total)), full_matrices=False)[:2]
    scaled = factor * V[:, :MANY_FEATURES][:, find_telling(squares)]
    found = np.zeros((n, max(scaled.shape[1], 1)))
    for i, X in enumerate(blocks()):
        found[i * step : (i + 1) * step, : scaled.shape[1]] = X @ scaled - mean @ scaled
    return found


def _find_factors(table: WideTable, comparison: str) -> Array:
    """Return what each feature (p,) is multiplied by: as it is, the largest number of all is made 1."""
    if comparison == "standardised":
        spread = measure_features(table)[1]
        return np.where(spread > 0, 1 / np.where(spread > 0, spread, 1.0), 0.0)
    largest = 1.0 if comparison == "as shares" else max(float(table.X.max()), -float(table.X.min()))
    return np.full(table.shape[1], 1 / (largest or 1.0))


def _turn_samples(table: WideTable, comparison: str, draws: Array) -> Array:
    """Return the coordinates of a table of more features than samples, a few features at a time."""
    n = len(table)
    if comparison == "as shares":
        table = root_shares(table)
    U = np.linalg.qr(draws)[0]
    for _ in range(ROUNDS):
        U -= U.mean(axis=0)
        products = np.zeros_like(U)
        for _, F, _ in standardised_parts(table) if comparison == "standardised" else comparable_parts(table):
            for start in range(0, F.shape[1], n):
                part = F[:, start : start + n]
                products += part @ (part.T @ U)
        U, squares = np.linalg.svd(products - products.mean(axis=0), full_matrices=False)[:2]
    telling = find_telling(squares)
    found = U[:, :MANY_FEATURES][:, telling] * np.sqrt(squares[:MANY_FEATURES][telling])
    return found if telling.any() else np.zeros((n, 1))


def find_telling(squares: Array) -> np.ndarray:
    """Return which of the leading directions have more variance than rounding leaves, given all in falling order."""
    return squares[:MANY_FEATURES] > np.finfo(float).eps * len(squares) * squares[0]
