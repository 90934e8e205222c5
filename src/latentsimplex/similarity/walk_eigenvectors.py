"""Long walks of many samples, by the leading eigenvectors of the walk.

Every power of a walk M has the same eigenvectors, and a long walk lives in the leading ones: they are found once, and
any length of the walk is a power of the eigenvalues. Few samples are near: only the steps between these are listed, and
of arrays of single precision nothing else is held but squared distances.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array, issparse
from scipy.spatial.distance import cdist

from latentsimplex.base.arrays import array_namespace, convert_like, is_tensor, to_double
from latentsimplex.base.types import Array
from latentsimplex.similarity.distances import FEW_FEATURES
from latentsimplex.similarity.kernel import COINCIDENT
from latentsimplex.similarity.walk_powers import LEAST_WEIGHT, MOST_DOUBLINGS, off_diagonal_mean

BISECTIONS = 12
N_EIGENVECTORS, NEGLIGIBLE, DENSE = 256, 0.05, 0.1
"""Eigenvectors that follow a long walk, the share of returns that may be missed, and that of pairs with a step
between them beyond which walks are not long."""
WARM_UP_ROUNDS, WARM_UP_STEPS = 2, 9
LONGEST_KNOWN = 1 << 14
"""Powers of eigenvalues that are known to single precision are known this far."""
MOST_EXPONENT = 80.0
"""The exponent of an affinity so small that it is nothing; larger ones are taken for it."""
TIED = 8
"""Affinities that differ by so many of their last bits, in single precision, are tied: rounding made the difference."""
HELD = 1 << 18
"""Distances of double precision that are held at a time: they stay in a cache."""


class Eigenvectors(NamedTuple):
    """The leading eigenvalues (r,) of a walk, the largest first, and its eigenvectors (n, r)."""

    values: Any
    vectors: Any


def leading_eigenvectors(M: Any) -> Eigenvectors | None:
    """Return the leading eigenvectors of one walk (n, n), sparse or not; None for a dense graph, whose walks are short.

    A few steps of the walk from random vectors leave them (subspace iteration).
    """
    n = M.shape[0]
    step = M if issparse(M) else make_sparse(M)
    if step is None or (issparse(M) and M.nnz > DENSE * n**2):
        return None
    Q = convert_like(random_vectors(n), M)
    for _ in range(WARM_UP_ROUNDS):
        for _ in range(WARM_UP_STEPS):
            Q = step @ Q
        Q = orthonormalise(Q)
    values, vectors = array_namespace(M).linalg.eigh(Q.T @ (step @ Q))
    order = np.arange(N_EIGENVECTORS)[::-1].copy()
    return Eigenvectors(array_namespace(M).clip(values[order], 0.0, 1.0), (Q @ vectors)[:, order])


@lru_cache(maxsize=1)
def random_vectors(n: int) -> Array:
    """Return the vectors (n, r) that walks of n samples begin with, always the same ones: not to change."""
    return np.random.default_rng(0).normal(size=(n, N_EIGENVECTORS))


def make_sparse(M: Any) -> Any:
    """Return a walk without what only ties all samples together, so that none is out of reach; None if it is dense."""
    most = DENSE * len(M) ** 2
    steps = M > 10 * LEAST_WEIGHT
    if float(steps.sum()) > most:
        return None
    if is_tensor(M):
        return M * steps
    places = np.flatnonzero(steps)  # much quicker than SciPy's conversion of a dense matrix
    row_starts = np.append(0, np.cumsum(steps.sum(axis=1)))
    return csr_array((M.ravel()[places], places % len(M), row_starts), shape=M.shape)


def list_steps(
    X: np.ndarray, n_neighbours: int, quantile: tuple[int, float, float]
) -> tuple[csr_array, Array]:
    """Return the lazy walk (n, n) on the graph of so many neighbours of samples X (n, p), given as they are compared.

    With it come the inverse square roots of degrees (n,).

    ``quantile`` is the rank of the bandwidth among distances, its part beyond that, and the share it stands for
    (:func:`latentsimplex.similarity.distances.rank_quantile`). Samples as near as the last neighbour are neighbours.
    """
    from latentsimplex.similarity._sparse_walk_loops import scale_squares

    n, edges = len(X), np.empty(len(X), np.float32)
    squares, bandwidths = measure_squares(X, *quantile)
    scale_squares(squares, 1 / bandwidths, n_neighbours, MOST_EXPONENT, edges)
    least = np.exp(-edges)
    edges += TIED * np.spacing(least) / least
    places = []
    for first in range(0, n, step := max(1, HELD // n)):
        rows = np.arange(first, min(first + step, n))
        near = squares[rows[0] : rows[-1] + 1] <= np.maximum(edges[rows, None], edges)
        near[rows - first, rows] = True
        places.append(np.flatnonzero(near) + first * n)
    sources, ends = np.divmod(np.concatenate(places), n)
    is_own = sources == ends
    weights = np.where(is_own, 0.0, np.exp(-squares[sources, ends].astype(np.float64))) + LEAST_WEIGHT
    counts = np.bincount(sources, minlength=n)
    roots = (np.bincount(sources, weights, minlength=n) + (n - counts) * LEAST_WEIGHT) ** -0.5
    steps = weights * roots[sources] * roots[ends] / 2 + is_own / 2
    kept = steps > 10 * LEAST_WEIGHT
    starts = np.append(0, np.cumsum(np.bincount(sources[kept], minlength=n)))
    listed = (steps[kept].astype(np.float32), ends[kept].astype(np.int32), starts.astype(np.int32))
    return csr_array(listed, shape=(n, n)), roots


def tie_all(steps: csr_array, roots: Array) -> np.ndarray:
    """Return a walk (n, n) with what ties all samples together, so that none is out of reach.

    >>> (tie_all(csr_array(np.eye(2, dtype=np.float32)), np.ones(2)) > 0).tolist()
    [[True, True], [True, True]]
    """
    M = steps.toarray()
    M += np.outer(LEAST_WEIGHT / 2 * roots, roots)
    return M


def measure_squares(X: np.ndarray, below: int, part: float, share: float) -> tuple[np.ndarray, Array]:
    """Return the squared distances (n, n) of samples X (n, p), and the bandwidth of each (n,), a quantile of distances.

    Where it is 0, it is a share of the distance to the nearest sample elsewhere. The unit of length is the largest
    deviation of a feature from its mean.
    """
    from latentsimplex.similarity._sparse_walk_loops import write_squares

    (n, p), wide = X.shape, X.astype(np.float64)
    wide -= wide.mean(axis=0)
    wide /= max(float(np.abs(wide).max()), np.finfo(float).tiny)  # squares are kept in single precision
    lengths, doubled = np.einsum("ij,ij->i", wide, wide) * (p > FEW_FEATURES), -2 * wide.T
    squares, around = np.empty((n, n), np.float32), np.empty((2, n), np.float32)
    for first in range(0, n, step := max(1, HELD // n)):
        rows = slice(first, min(first + step, n))
        if p > FEW_FEATURES:
            heights = wide[rows] @ doubled[:, first:]
        else:  # squares of differences, which keep all digits
            heights = cdist(wide[rows], wide[first:], "sqeuclidean")
        write_squares(heights, lengths, first, COINCIDENT, below + 1, squares[rows], around[:, rows])
        squares[rows.stop :, rows] = squares[rows, rows.stop :].T
    low, high = np.sqrt(around.astype(np.float64))
    bandwidths = low + part * (high - low)
    for i in np.flatnonzero(bandwidths <= 0):
        outside = squares[i][squares[i] > 0]
        bandwidths[i] = share * np.sqrt(float(outside.min())) if len(outside) else 1.0
    return squares, bandwidths


def orthonormalise(Q: Any) -> Any:
    """Return columns of length 1, at right angles, that span what those of Q (n, r) span.

    The triangle that takes Q there is that of Q^T Q, added up in double precision. Where that has lost too many digits
    there is the slower way.

    >>> np.abs(orthonormalise(np.array([[3.0, 1.0], [4.0, 1.0]]))).round(2).tolist()
    [[0.6, 0.8], [0.8, 0.6]]
    """
    linalg, wide = array_namespace(Q).linalg, to_double(Q)
    try:
        triangle = linalg.cholesky(wide.T @ wide)
    except linalg.LinAlgError:
        return linalg.qr(Q)[0]
    if is_tensor(Q):
        return convert_like(wide @ linalg.inv(triangle).T, Q)
    return convert_like(solve_triangular(triangle, wide.T, lower=True, check_finite=False).T, Q)


def similarity_from_eigenvectors(eigenvectors: Eigenvectors, mean: float) -> Any:
    """Return the similarities (n, n) of a walk of the length at which their mean is given; None if that needs more.

    The leading ones are enough where what the others could add to the chance of a return is negligible, which it never
    is for short walks. Lengths are those of :func:`walk_lengths`, and mixtures of two of them.
    """
    values, vectors = eigenvectors
    xp, longer, squares = array_namespace(vectors), values**2, vectors**2
    shorter = longer
    for length in walk_lengths():
        # beyond, rounding decides which of the components that never meet comes out first
        if length > LONGEST_KNOWN:
            return None
        shorter, longer = longer, values**length
        longer = longer / (squares @ longer).mean()
        if spectral_mean(vectors, squares, longer) >= mean:
            break
    if float(longer[-1] / longer.sum()) * (len(vectors) - N_EIGENVECTORS) > NEGLIGIBLE:
        return None
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        w = (low + high) / 2
        below = spectral_mean(vectors, squares, shorter + w * (longer - shorter)) < mean
        low, high = (w, high) if below else (low, w)
    rows = vectors * xp.clip(shorter + high * (longer - shorter), 0.0, None) ** 0.5
    rows = rows / xp.clip((rows**2).sum(-1), LEAST_WEIGHT, None)[:, None] ** 0.5
    return rows @ rows.T


def walk_lengths() -> list[int]:
    """Return the lengths of walks that are tried.

    >>> walk_lengths()[:6]
    [2, 3, 4, 6, 8, 12]
    """
    return [steps << doubling for doubling in range(MOST_DOUBLINGS) for steps in (2, 3)]


def spectral_mean(vectors: Any, squares: Any, powers: Any) -> float:
    """Return the mean similarity over pairs of K = U diag(powers) U^T, given U and the squares of its entries."""
    roots = array_namespace(vectors).clip(squares @ powers, LEAST_WEIGHT, None) ** -0.5
    total = ((roots @ vectors) ** 2 * powers).sum()
    return float(off_diagonal_mean(total, len(vectors)))
