"""A penalty on the number of clusters: the price of writing down which cluster each sample is in.

Writing down which of k clusters each of n samples is in takes n log k nats. With a temperature at which cutting a
null cloud gains n log k nats on average (:mod:`latentsimplex.auto.gaussian_clouds`), a cluster that explains no more
than it would in a cloud does not pay for itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from latentsimplex.base.arrays import array_namespace, convert_like, to_host
from latentsimplex.base.types import Array
from latentsimplex.model.penalties import Penalty

FIRST_MARGIN, FURTHER_MARGIN = 1.25, 1.6
"""How much more than in a cloud clusters must explain, at the first cut and beyond: see docs/defaults.md."""


@dataclass(frozen=True)
class ClusterPrice:
    """A penalty that is a price for each number of clusters that some sample prefers: ``prices[k - 1]`` for k.

    It has no slope; moves that merge clusters or patterns are what it pays for.
    """

    sloped: ClassVar[bool] = False
    prices: tuple[float, ...]

    def value_and_gradient(self, memberships: Any) -> tuple[Any, Any]:
        """Return the price of each pattern and no gradient."""
        zeros = array_namespace(memberships).zeros_like(memberships)
        used = [np.count_nonzero(np.bincount(to_host(W.argmax(-1)).astype(np.intp))) for W in memberships]
        return convert_like([self.prices[k - 1] for k in used], memberships), zeros

    def least_value(self, n: int, g: int) -> float:
        """Return the price of a single cluster, which is what an unused pattern costs."""
        return self.prices[0]


def list_prices(penalty: Penalty, g: int) -> Array:
    """Return what 1..g clusters cost under a penalty without a slope (g,)."""
    return np.array(penalty.prices[:g]) if isinstance(penalty, ClusterPrice) else np.zeros(g)


def label_prices(n: int, g: int, temperature: float) -> tuple[float, ...]:
    """Return the price of labels for k = 1..g clusters: n log k nats and a margin, in units of the divergence.

    The margin keeps a cloud that happens to gain more in one piece; it is larger beyond the first cut, because a kernel
    that adapts to clusters shows more inside them than in a cloud.

    >>> [round(price, 1) for price in label_prices(10, 3, 1.0)]
    [0.0, 8.7, 15.2]
    """
    nats = n * np.log(np.arange(1, g + 1))
    first = np.minimum(nats, n * np.log(2))
    return tuple((temperature * (FIRST_MARGIN * first + FURTHER_MARGIN * (nats - first))).tolist())
