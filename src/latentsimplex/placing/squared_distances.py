"""Squared distances of a block of new samples to reference samples, in single precision."""

from __future__ import annotations

import numpy as np

FEW_FEATURES = 4
"""Distances in so few coordinates are added up one by one, and there are no hubs among samples."""
FAR_APART = 2.0
"""The mean squared distance of references in every view."""


def squared_distances(X: np.ndarray, Z: np.ndarray, columns: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """Return squared distances (b, m) of samples X (b, r) to references Z (m, r), on the coordinates that both have.

    ``columns`` (r, m) is Z turned, ``norms`` (m,) are its squared lengths, NaN for a reference with a missing cell.
    Each row is computed in the same way whatever the others are.

    >>> Z = np.array([[0.0, 0.0], [3.0, 4.0]], dtype=np.float32)
    >>> squared_distances(Z[:1], Z, np.ascontiguousarray(Z.T), np.square(Z).sum(axis=1)).tolist()
    [[0.0, 25.0]]
    """
    if np.isnan(norms).any():
        return shared_squares(X, Z)
    missing = np.isnan(X).any(axis=1)
    squares = _plain_squares(np.where(missing[:, None], np.float32(0), X), columns, norms)
    if missing.any():
        squares[missing] = shared_squares(X, Z)[missing]
    return squares


def _plain_squares(X: np.ndarray, columns: np.ndarray, norms: np.ndarray) -> np.ndarray:
    from latentsimplex.placing._opinion_loops import write_narrow_squares, write_squares

    if X.shape[1] <= FEW_FEATURES:
        squares = np.empty((len(X), len(norms)), dtype=np.float32)
        write_narrow_squares(X, columns, squares)
        return squares
    squares = X @ columns
    write_squares(squares, np.einsum("ij,ij->i", X, X), norms)
    return squares


def shared_squares(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return squared distances (b, m) on shared cells, as of all cells; the mean of all where none is shared.

    >>> shared_squares(np.array([[1.0, np.nan]]), np.array([[0.0, 5.0], [np.nan, 1.0]])).tolist()
    [[2.0, 2.0]]
    """
    has, have = ~np.isnan(X), ~np.isnan(Z)
    one, other = np.where(has, X, 0).astype(np.float64), np.where(have, Z, 0).astype(np.float64)
    shared = has.astype(np.float64) @ have.T
    squares = one**2 @ have.T + has @ (other**2).T - 2 * one @ other.T
    found = X.shape[1] * np.maximum(squares, 0) / np.maximum(shared, 1)
    return np.where(shared > 0, found, FAR_APART).astype(np.float32)
