"""Tables with missing cells (NaN): samples are compared on the features that both have.

A squared distance is the mean over the shared features, times the number of all features, as in scikit-learn's
``nan_euclidean_distances``. Two samples that share no feature are as far apart as samples are on average.
"""

from __future__ import annotations

import numpy as np

from latentsimplex.base.types import Array
from latentsimplex.similarity.kernel import COINCIDENT


def shared_feature_distances(X: Array) -> Array:
    """Return the square matrices of distances on the features that two samples share, of tables (..., n, p).

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
