"""What ``similarity="auto"`` stands for: diffusion at one of two scales, features compared as suits each kind of view.

A kind is a number of features. :mod:`latentsimplex.auto.choose_similarity` decides between the candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from latentsimplex.similarity.diffusion import Diffusion
from latentsimplex.similarity.kernel import BatchKernel

SCALES: dict[str, dict[str, Any]] = {
    "local": {"neighbours": 10, "mean": 0.1},
    "broad": {"neighbours": 1 / 7, "mean": 0.2},
    "mixed": {"neighbours": 10, "balance": True},
    "fine": {"neighbours": "sqrt", "mean": 0.12},
}
"""Clusters are found at one of the first two scales: local walks follow many clusters of any shape, broad ones
see few and overlapping clusters best. Once they are known, their memberships are refined at one of the others
(docs/defaults.md)."""
SEARCH_SCALES = ("local", "broad")
"""The scales that clusters are searched at."""

COMPARISONS: dict[str, dict[str, bool]] = {
    "standardised": {"standardise": True},
    "as they are": {"standardise": False},
    "one by one": {"standardise": False, "per_feature": True},
    "as shares": {"standardise": False, "as_shares": True},
}
"""How the features of a view become one comparison of samples."""
SEARCH_COMPARISONS = ("standardised", "as they are", "one by one")
"""The comparisons that a search among many views chooses from."""

MOST_KINDS = 8
"""The most kinds of view that are looked at: all kinds in between go with the nearest."""


@dataclass(frozen=True)
class AutoDiffusion(BatchKernel):
    """Diffusion at one scale, with features compared by kind of view.

    Parameters
    ----------
    scale : "local", "broad", "mixed" or "fine"
    features : tuple of (number of features, comparison)
        Views with another number of features are compared like the nearest kind.
    mean : float or None
        Mean similarity, in place of the scale's own.

    Examples
    --------
    >>> similarity = AutoDiffusion("broad", ((1, "as they are"), (50, "standardised")))
    >>> similarity.kernel(40)  # doctest: +ELLIPSIS
    Diffusion(neighbours=0.14285714285714285, mean=0.2, balance=False, standardise=True, ...)
    """

    scale: str
    features: tuple[tuple[int, str], ...]
    mean: float | None = None

    def __post_init__(self) -> None:
        # lists, as a file holds them, become tuples
        object.__setattr__(self, "features", tuple((int(p), str(name)) for p, name in self.features))
        names = {name for _, name in self.features}
        counts = all(p >= 1 for p, _ in self.features)
        if self.scale not in SCALES or not names or names - set(COMPARISONS) or not counts:
            raise ValueError(
                f"{self} is no similarity: choose the scale from {', '.join(SCALES)} and for each number of features "
                f"one of {', '.join(map(repr, COMPARISONS))}."
            )
        self.kernel(1)  # which checks the mean

    def kernel(self, n_features: int) -> Diffusion:
        """Return the kernel for views with this number of features."""
        kinds = np.log(np.array([kind for kind, _ in self.features], dtype=np.float64))
        nearest = int(np.argmin(np.abs(kinds - np.log(n_features))))
        mean = {} if self.mean is None else {"mean": self.mean}
        return Diffusion(**{**SCALES[self.scale], **COMPARISONS[self.features[nearest][1]], **mean})

    @property
    def sees_differences_alone(self) -> bool:
        """Shares change when features are centred."""
        return all(self.kernel(p).sees_differences_alone for p, _ in self.features)

    @property
    def narrows(self) -> bool:
        """Its kernels do: see :meth:`Diffusion.narrow`."""
        return True

    def by_differences(self, tables: Any) -> tuple[Diffusion, Any]:
        """Return what reads tables (b, n, p): see :meth:`Diffusion.by_differences`."""
        return self.kernel(tables.shape[-1]).by_differences(tables)

    def batch_exponents(self, tables: Any, out: Any = None) -> Any:
        """Return -log s (b, m) of tables (b, n, p): see :meth:`Diffusion.batch_exponents`."""
        return self.kernel(tables.shape[-1]).batch_exponents(tables, out)

    def for_refinement(self, coassignment: float) -> AutoDiffusion:
        """Return the similarity that refines the clusters found with this one, whose mean co-assignment is given.

        Local walks that go on until they have mixed within the clusters are as similar as samples are
        co-assigned. Broad ones give way to fine ones, which blur no border.
        """
        if self.scale == "local":
            return AutoDiffusion("mixed", self.features, coassignment)
        return AutoDiffusion("fine", self.features)


def list_candidates(widths: Sequence[int]) -> dict[int, list[AutoDiffusion]]:
    """Return the similarities in question for each kind of view: each scale with each comparison of features.

    >>> {p: len(candidates) for p, candidates in list_candidates([1, 5, 5]).items()}
    {1: 2, 5: 6}
    """
    return {
        p: [
            AutoDiffusion(scale, ((p, name),))
            for scale in SEARCH_SCALES
            for name in (
                ["as they are"] if p == 1 else SEARCH_COMPARISONS
            )  # which all do the same with one feature
        ]
        for p in space_kinds(widths)
    }


def space_kinds(widths: Sequence[int]) -> list[int]:
    """Return the numbers of features that views have, a few of them, evenly spaced, if there are many.

    >>> space_kinds([3, 1, 3])
    [1, 3]
    """
    kinds = np.unique(widths)
    spaced = np.linspace(0, len(kinds) - 1, min(MOST_KINDS, len(kinds))).round().astype(int)
    return [int(p) for p in kinds[spaced]]
