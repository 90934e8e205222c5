"""Lanczos' method with restarts: leading eigenvectors of a large matrix, whoever multiplies with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latentsimplex.base.types import Array

BASIS, RESTARTS = 40, 20
"""Vectors of Lanczos' method beyond the modes that are looked for, and how often it starts again from what it found."""
SETTLED, EXACT, ROUGH = 0.05, 1e-6, 5e-4
"""A mode is known when its residual is such a share of how far its eigenvalue is from the largest, within bounds."""
TO_ROUNDING = 1e-10
"""The residual of modes that are found to rounding."""


def start_basis(constant: Array, m: int) -> tuple[Array, int]:
    """Return the first vector (n,), orthogonal to ``constant``, and how many vectors a basis has for m modes."""
    start = np.random.default_rng(0).normal(size=len(constant))
    start -= constant * (constant @ start)
    return start / np.linalg.norm(start), min(m + BASIS, len(constant) - 1)


def find_leading(
    basis: Any,
    extend: Callable[[Any, Array, int, int], float],
    move: Callable[[Array], Any],
    m: int,
    to_rounding: bool = False,
) -> tuple[Array, Any]:
    """Return the m largest eigenvalues of I + N, |N| <= 1, and their vectors (n, m).

    ``basis`` (size + 1, n) has the first vector. ``extend`` fills it from one vector to another, with the matrix in
    that basis, and returns the length of the last step; ``move`` brings a small matrix to where the basis is. All
    vectors of the basis are kept orthogonal, and a full basis gives way to the leading vectors found in it. Of an
    eigenvalue that a graph's symmetry repeats, one vector may be found.
    """
    exact, rough = (TO_ROUNDING, TO_ROUNDING) if to_rounding else (EXACT, ROUGH)
    size = len(basis) - 1
    H, values, vectors, filled = np.zeros((size, size)), np.zeros(size), np.eye(size), 0
    early = [m + (size - m) // 2] if m + (size - m) // 2 >= 2 * m else []  # many modes are not known so soon
    for until in [*early, size, *[size] * RESTARTS]:
        if filled == size:
            filled = m + (size - m) // 5
            basis[:filled] = move(vectors[:, :filled].T) @ basis[:size]
            basis[filled] = basis[size]
            H[:filled, :filled] = np.diag(values[:filled])
        length = extend(basis, H, filled, until)
        filled = until
        values, vectors = np.linalg.eigh(H[:filled, :filled])
        values, vectors = values[::-1], vectors[:, ::-1]
        residuals = length * np.abs(vectors[-1, :m])
        if (residuals <= np.clip(SETTLED * (2 - values[:m]), exact, rough)).all():
            break
    return values[:m], basis[:filled].T @ move(vectors[:, :m])
