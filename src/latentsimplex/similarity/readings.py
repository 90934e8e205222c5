"""What ``similarity="auto"`` stands for: diffusion at one of two scales, each kind of view read as suits it.

A kind is a number of features. :mod:`latentsimplex.choice` decides between the readings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from latentsimplex.similarity.diffusion import Diffusion
from latentsimplex.similarity.directions import KnownDirections

SCALES: dict[str, dict[str, Any]] = {
    "local": {"neighbours": 10, "mean": 0.1},
    "broad": {"neighbours": 1 / 7, "mean": 0.2},
    "mixed": {"neighbours": 10, "balance": True},
    "fine": {"neighbours": "sqrt", "mean": 0.12},
}
"""Clusters are found at one of the first two scales: local walks follow many clusters of any shape, broad ones
see few and overlapping clusters best. Once they are known, they are drawn at one of the others
(docs/defaults.md)."""

FEATURES: dict[str, dict[str, bool]] = {
    "standardised": {"standardise": True},
    "as they are": {"standardise": False},
    "one by one": {"standardise": False, "per_feature": True},
}
"""How the features of a view become one comparison of samples."""


@dataclass(frozen=True)
class Readings:
    """Diffusion at one scale, with features read by kind of view.

    Parameters
    ----------
    scale : "local", "broad", "mixed" or "fine"
    features : tuple of (number of features, reading)
        Views with another number of features are read like the nearest kind.
    mean : float or None
        Mean similarity, in place of the scale's own.

    Examples
    --------
    >>> reading = Readings("broad", ((1, "as they are"), (50, "standardised")))
    >>> reading.kernel(40)
    Diffusion(neighbours=0.14285714285714285, mean=0.2, balance=False, standardise=True, per_feature=False)
    """

    scale: str
    features: tuple[tuple[int, str], ...]
    mean: float | None = None

    def __post_init__(self) -> None:
        # lists, as a file holds them, become tuples
        object.__setattr__(self, "features", tuple((int(p), str(name)) for p, name in self.features))
        names = {name for _, name in self.features}
        if self.scale not in SCALES or not names or names - set(FEATURES):
            raise ValueError(
                f"{self} is no reading: choose the scale from {', '.join(SCALES)} and for each number of features "
                f"one of {', '.join(map(repr, FEATURES))}."
            )

    @property
    def reads_many(self) -> bool:
        """Whether :meth:`exponents` takes several tables at once."""
        return True

    def kernel(self, n_features: int) -> Diffusion:
        """Return the kernel for views with this number of features."""
        kinds = np.log([kind for kind, _ in self.features])
        nearest = int(np.argmin(np.abs(kinds - np.log(n_features))))
        mean = {} if self.mean is None else {"mean": self.mean}
        return Diffusion(**{**SCALES[self.scale], **FEATURES[self.features[nearest][1]], **mean})

    def exponents(self, X: Any, out: Any = None, known: KnownDirections | None = None) -> Any:
        """Return -log s of every pair, of one table or of each of several: see :meth:`Diffusion.exponents`."""
        return self.kernel(X.shape[-1]).exponents(X, out, known)

    def drawing(self, coassignment: float) -> Readings:
        """Return the reading that draws the clusters found with this one, whose mean co-assignment is given.

        Local walks that go on until they have mixed within the clusters are as similar as samples are
        co-assigned. Broad ones give way to fine ones, which blur no border.
        """
        if self.scale == "local":
            return Readings("mixed", self.features, coassignment)
        return Readings("fine", self.features)


@dataclass(frozen=True)
class Remembering:
    """Readings that keep the long walks which they found, for readings of the same graphs that share them."""

    readings: Readings
    known: KnownDirections
    reads_many: ClassVar[bool] = True

    def exponents(self, X: Any, out: Any = None) -> Any:
        """Return -log s of every pair, of one table or of each of several: see :meth:`Diffusion.exponents`."""
        return self.readings.exponents(X, out, self.known)
