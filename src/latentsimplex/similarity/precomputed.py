"""Precomputed similarities of the user's own, checked before anything is computed from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latentsimplex.base.condensed import pack_pairs
from latentsimplex.base.types import Array

SIMILARITY_ROUNDING = 1e-8
"""How far from [0, 1] and from symmetry a similarity may be by rounding alone."""


@dataclass(frozen=True)
class Precomputed:
    """Each view is already an n x n similarity matrix in [0, 1]; its diagonal says nothing."""

    def exponents(self, X: Array) -> Array:
        """Return -log s of every pair."""
        return similarity_exponents(X, "the similarity")


def similarity_exponents(S: Array, what: str) -> Array:
    """Return packed -log s, raising ValueError where S is not a similarity matrix.

    >>> similarity_exponents(np.array([[1.0, 0.5], [0.5, 1.0]]), "S").round(3).tolist()
    [0.693]
    """
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise ValueError(f"{what} has shape {S.shape}: a similarity matrix is square, one row per sample.")
    if np.isnan(S).any():
        raise ValueError(f"{what} contains NaN: every pair of samples needs a similarity in [0, 1].")
    if S.min() < -SIMILARITY_ROUNDING or S.max() > 1 + SIMILARITY_ROUNDING:
        raise ValueError(
            f"{what} has values from {S.min():.6g} to {S.max():.6g}: similarities must lie in [0, 1]; "
            "turn distances into similarities first, for instance with exp(-distance / scale)."
        )
    if not np.allclose(S, S.T, rtol=1e-6, atol=SIMILARITY_ROUNDING):
        raise ValueError(f"{what} is not symmetric: pass (S + S.T) / 2 if that is what you mean.")
    with np.errstate(divide="ignore"):
        # -log 0 is infinite, which clipping turns into the least similarity; + 0.0 turns -0.0 into 0.0
        return -np.log(np.clip(pack_pairs(S), 0.0, 1.0)) + 0.0
