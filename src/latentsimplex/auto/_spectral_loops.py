"""Leading eigenvectors of a normalised similarity, and hard clusters by them, in one compiled call.

Each function is the compiled form of one in :mod:`latentsimplex.auto.explained` that is written for tensors. A search
asks for hundreds of these, on many threads: between short calls they would wait for the interpreter in turn.
"""

from __future__ import annotations

import numpy as np

from latentsimplex.auto._cluster_loops import cut_and_refine
from latentsimplex.base.compiled import compiled
from latentsimplex.base.float_math import ONE, ZERO
from latentsimplex.base.types import Array


@compiled
def unpack_row(f: np.ndarray, square: np.ndarray) -> None:  # pragma: no cover
    """Write the symmetric matrix (n, n) of packed pairs (m,), with zeros on its diagonal, into ``square``."""
    n, at = len(square), 0
    for i in range(n):
        row = square[i]
        row[i] = ZERO
        for j in range(i + 1, n):
            row[j] = f[at + j - i - 1]
        at += n - 1 - i
        for j in range(i):
            row[j] = square[j, i]


@compiled
def make_orthonormal(Q: np.ndarray) -> None:  # pragma: no cover
    """Make the rows of Q (r, n) orthonormal, in place: each one's part along those before is taken off, twice.

    The second time takes off what rounding has left of nearly parallel rows. A row of zeros stays one.
    """
    r, n = Q.shape
    for i in range(r):
        row = Q[i]
        for _ in range(2):
            for k in range(i):
                other, along = Q[k], ZERO
                for j in range(n):
                    along += other[j] * row[j]
                for j in range(n):
                    row[j] -= along * other[j]
            square = ZERO
            for j in range(n):
                square += row[j] * row[j]
            scale = ONE / np.sqrt(square) if square > 0 else ZERO
            for j in range(n):
                row[j] *= scale


@compiled
def find_spectral_coordinates(
    S: np.ndarray, vectors: np.ndarray, g: int, rounds: int, products: int, shift: float
) -> Array:  # pragma: no cover
    """Return the leading g eigenvectors (n, g) of the normalised similarity S (n, n), the largest eigenvalue first.

    They come from products with ``vectors`` (r, n), made orthonormal now and then. S becomes its normalised form.
    """
    n, r = len(S), len(vectors)
    root = np.empty(n, S.dtype)
    for i in range(n):
        row, total = S[i], ZERO
        for j in range(n):
            total += row[j]
        root[i] = np.sqrt(total)
    for i in range(n):
        row, own = S[i], root[i]
        for j in range(n):
            row[j] = row[j] / own / root[j]
        row[i] += np.float32(shift)
    Q, other = vectors.copy(), np.empty_like(vectors)
    for _ in range(rounds):
        for _ in range(products):
            np.dot(Q, S, other)
            Q, other = other, Q
        make_orthonormal(Q)
    np.dot(Q, S, other)
    turned = np.linalg.eigh(np.dot(Q, other.T))[1]  # the shift moves eigenvalues, not vectors
    leading = np.dot(Q.T, turned)
    U = np.empty((n, g))
    for i in range(n):
        for c in range(g):
            U[i, c] = leading[i, r - 1 - c] / root[i]
    return U


@compiled
def explain_rows(
    f: np.ndarray,
    vectors: np.ndarray,
    rows: np.ndarray,
    draws: Array,
    forward: bool,
    rounds: int,
    products: int,
    shift: float,
    iterations: int,
    sweeps: int,
) -> tuple[Array, np.ndarray]:  # pragma: no cover
    """Return what is left of the divergence of views f (b, m) with k = 1..g clusters (b, g), and labels (b, g, n)."""
    b, n, g = len(f), vectors.shape[1], draws.shape[1]
    left, labels = np.empty((b, g)), np.empty((b, g, n), np.intp)
    F, S = np.empty((n, n), np.float32), np.empty((n, n), np.float32)
    for v in range(b):
        unpack_row(f[v], F)
        for i in range(n):
            for j in range(n):
                # what fits a mean of similarities best is that mean
                S[i, j] = F[i, j] if forward else ONE / (ONE + np.exp(-F[i, j]))
            S[i, i] = ZERO
        U = find_spectral_coordinates(S, vectors, g, rounds, products, shift)
        own_left, own_labels = cut_and_refine(F, U, rows, draws, forward, iterations, sweeps)
        for k in range(g):
            left[v, k] = own_left[k]
            for i in range(n):
                labels[v, k, i] = own_labels[k, i]
    return left, labels
