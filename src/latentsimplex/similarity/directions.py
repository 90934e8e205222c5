"""Long walks of many samples, by the few directions in which they go on.

Every power of a walk M has the same eigenvectors, and a long walk lives in the leading ones: they are found once, and
any length of the walk is a power of the eigenvalues.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from latentsimplex._arrays import is_tensor, like, namespace, widened
from latentsimplex.known import Known
from latentsimplex.similarity.powers import DOUBLINGS, TINY, off_diagonal_mean

BISECTIONS = 12
DIRECTIONS, NEGLIGIBLE, DENSE = 256, 0.05, 0.1
"""Eigenvectors that follow a long walk, the share of returns that may be missed, and that of pairs with a step
between them beyond which walks are not long."""
WARM_UP_ROUNDS, WARM_UP_STEPS = 2, 9
LONGEST_KNOWN = 1 << 14
"""Powers of eigenvalues that are known to single precision are known this far."""
KNOWN_BYTES = 1 << 27
"""Bytes of directions that are kept for a second reading."""


class Directions(NamedTuple):
    """The leading eigenvalues (r,) of a walk, the largest first, and its eigenvectors (n, r)."""

    values: Any
    vectors: Any


KnownDirections = Known[Directions | None]
"""Directions of walks, or that there are none, by the table and the graph that they belong to."""


def leading_directions(M: Any) -> Directions | None:
    """Return the directions in which one walk (n, n) goes on longest; None for a dense graph, whose walks are short.

    A few steps of the walk from random directions leave them.
    """
    step = steps_of(M)
    if step is None:
        return None
    start = np.random.default_rng(0).normal(size=(len(M), DIRECTIONS))
    Q = like(start, M)
    for _ in range(WARM_UP_ROUNDS):
        for _ in range(WARM_UP_STEPS):
            Q = step @ Q
        Q = orthonormal(Q)
    values, vectors = namespace(M).linalg.eigh(Q.T @ (step @ Q))
    order = np.arange(DIRECTIONS)[::-1].copy()
    return Directions(namespace(M).clip(values[order], 0.0, 1.0), (Q @ vectors)[:, order])


def steps_of(M: Any) -> Any:
    """Return a walk without what only ties all samples together, so that none is out of reach; None if it is dense."""
    most = DENSE * len(M) ** 2
    if is_tensor(M):
        steps = M > 10 * TINY
        return M * steps if float(steps.sum()) <= most else None
    from latentsimplex.compute.steps import entries_above, row_counts

    starts = row_counts(M, 10 * TINY)
    if starts[-1] > most:
        return None
    values, columns = entries_above(M, 10 * TINY, starts)
    return csr_array((values, columns, starts), shape=M.shape)


def orthonormal(Q: Any) -> Any:
    """Return columns of length 1, at right angles, that span what those of Q (n, r) span.

    The triangle that takes Q there is that of Q^T Q, added up in double precision. Where that has lost too many digits
    there is the slower way.

    >>> np.abs(orthonormal(np.array([[3.0, 1.0], [4.0, 1.0]]))).round(2).tolist()
    [[0.6, 0.8], [0.8, 0.6]]
    """
    linalg, wide = namespace(Q).linalg, widened(Q)
    try:
        triangle = linalg.cholesky(wide.T @ wide)
    except linalg.LinAlgError:
        return linalg.qr(Q)[0]
    return like(wide @ linalg.inv(triangle).T, Q)


def followed(directions: Directions, mean: float) -> Any:
    """Return the similarities (n, n) of a walk of the length at which their mean is given; None if that needs more.

    Directions are enough where what the others could add to the chance of a return is negligible, which it never is for
    short walks. Lengths are those of :func:`lengths`, and mixtures of two of them.
    """
    values, vectors = directions
    xp, longer, squares = namespace(vectors), values**2, vectors**2
    shorter = longer
    for length in lengths():
        # beyond, rounding decides which of the components that never meet comes out first
        if length > LONGEST_KNOWN:
            return None
        shorter, longer = longer, values**length
        longer = longer / (squares @ longer).mean()
        if spectral_mean(vectors, squares, longer) >= mean:
            break
    if float(longer[-1] / longer.sum()) * (len(vectors) - DIRECTIONS) > NEGLIGIBLE:
        return None
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        w = (low + high) / 2
        below = spectral_mean(vectors, squares, shorter + w * (longer - shorter)) < mean
        low, high = (w, high) if below else (low, w)
    rows = vectors * xp.clip(shorter + high * (longer - shorter), 0.0, None) ** 0.5
    rows = rows / xp.clip((rows**2).sum(-1), TINY, None)[:, None] ** 0.5
    return rows @ rows.T


def lengths() -> list[int]:
    """Return the lengths of walks that are tried.

    >>> lengths()[:6]
    [2, 3, 4, 6, 8, 12]
    """
    return [steps << doubling for doubling in range(DOUBLINGS) for steps in (2, 3)]


def spectral_mean(vectors: Any, squares: Any, powers: Any) -> float:
    """Return the mean similarity over pairs of K = U diag(powers) U^T, given U and the squares of its entries."""
    roots = namespace(vectors).clip(squares @ powers, TINY, None) ** -0.5
    total = ((roots @ vectors) ** 2 * powers).sum()
    return float(off_diagonal_mean(total, len(vectors)))
