"""Which columns of a table make up which view, as a fit found them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latentsimplex.base.types import Array, Indices


@dataclass(frozen=True, eq=False)
class FoundColumns:
    """Which view each column is in, and what the clusters of views explain of it.

    Attributes
    ----------
    views : (p,) array of int
        -1 for noise.
    gains : (p, V) array
        What the clusters of each view explain of each column, in nats, above 0 if it is more than by chance. Of a
        column's own view, by the clusters that its other columns show.
    """

    views: np.ndarray
    gains: Array

    @property
    def n_views(self) -> int:
        """The number of views that were found."""
        return self.gains.shape[1]

    @property
    def columns(self) -> list[Indices]:
        """The columns of each view."""
        return [np.flatnonzero(self.views == v) for v in range(self.n_views)]

    @property
    def best_gains(self) -> Array:
        """The gain of each column (p,) by its own view or, of noise, by the best; NaN where no view was found."""
        if not self.n_views:
            return np.full(len(self.views), np.nan)
        own = self.gains[np.arange(len(self.views)), self.views]
        return np.where(self.views >= 0, own, self.gains.max(axis=1))
