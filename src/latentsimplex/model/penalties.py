"""The regularisations of the paper's objective (equation 6): values, gradients, what an unused pattern costs.

============== ========================== ==========================================================
symbol         name                       equation (2.2)
============== ========================== ==========================================================
n R(W)         :class:`GroupPenalty`      n sum_k sqrt( sum_i ( log(w_ik / eps) )_+^2 )
Dir(0.1) rows  :class:`DirichletRows`     sum_ik (1 - 0.1) log w_ik, the alternative of Figure 5(b)
T(lambda)      :func:`weight_penalty`     sum_l (1 - alpha) log lambda_l, alpha = 1/d
============== ========================== ==========================================================

The sum over patterns in the objective runs over unused ones too. What is left in their memberships
is an accident, so an unused pattern is charged the least that any memberships could cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from latentsimplex.base.arrays import array_namespace
from latentsimplex.base.types import Array

LAMBDA_FLOOR = 1e-5
"""T is minus infinity at lambda = 0, so losses are compared with lambda floored here."""
W_FLOOR = 1e-12
"""The Dirichlet-row penalty is minus infinity at w = 0, so it stops falling here."""


class Penalty(Protocol):
    """A penalty on the memberships of each pattern; ``sloped`` says whether it has a gradient.

    One without is nothing, or a price for the number of clusters (:mod:`latentsimplex.model.cluster_prices`).
    """

    sloped: ClassVar[bool]

    def value_and_gradient(self, memberships: Any) -> tuple[Any, Any]:
        """Return values (d,) and gradients (d, n, g) for memberships (d, n, g)."""

    def least_value(self, n: int, g: int) -> float:
        """Return the least value over all memberships (n, g), which is what an unused pattern costs."""


@dataclass(frozen=True)
class GroupPenalty:
    """n R(W): empties whole columns, so that redundant clusters vanish (section 2.2)."""

    sloped: ClassVar[bool] = True
    epsilon: float = 1e-3

    def value_and_gradient(self, memberships: Any) -> tuple[Any, Any]:
        """Return n sum_k r_k and n (log(w/eps))_+ / (w r_k), r_k the norm of column k."""
        xp, n = array_namespace(memberships), memberships.shape[-2]
        excess = xp.log(xp.clip(memberships / self.epsilon, 1.0, None))
        norms = (excess**2).sum(-2) ** 0.5
        safe = (norms + (norms == 0))[..., None, :]
        gradient = n * excess / (xp.clip(memberships, self.epsilon, None) * safe)
        return n * norms.sum(-1), gradient

    def least_value(self, n: int, g: int) -> float:
        """Return n^(3/2) log(1/eps - g + 1): one column full, the others at eps (0 if all fit under eps)."""
        return float(n**1.5 * np.log(max(1.0, 1 / self.epsilon - g + 1)))


@dataclass(frozen=True)
class DirichletRows:
    """Minus the log density of Dirichlet(concentration) on each row of W, up to a constant."""

    sloped: ClassVar[bool] = True
    concentration: float = 0.1

    def value_and_gradient(self, memberships: Any) -> tuple[Any, Any]:
        """Return (1 - concentration) sum log w and (1 - concentration) / w."""
        xp, weight = array_namespace(memberships), 1 - self.concentration
        above = memberships > W_FLOOR
        floored = xp.where(above, memberships, W_FLOOR)
        return weight * xp.log(floored).sum((-2, -1)), xp.where(above, weight / floored, 0.0)

    def least_value(self, n: int, g: int) -> float:
        """Return the value of rows that are one 1 and zeros, floored."""
        return float(n * (1 - self.concentration) * (g - 1) * np.log(W_FLOOR))


@dataclass(frozen=True)
class NoPenalty:
    """Memberships follow the divergence alone."""

    sloped: ClassVar[bool] = False

    def value_and_gradient(self, memberships: Any) -> tuple[Any, Any]:
        """Return zeros."""
        zeros = array_namespace(memberships).zeros_like(memberships)
        return zeros[..., 0, 0], zeros

    def least_value(self, n: int, g: int) -> float:
        """Return 0."""
        return 0.0


@dataclass(frozen=True)
class ScaledPenalty:
    """A share of another penalty."""

    sloped: ClassVar[bool] = True
    penalty: Penalty
    factor: float

    def value_and_gradient(self, memberships: Any) -> tuple[Any, Any]:
        """Return the share of value and gradient."""
        value, gradient = self.penalty.value_and_gradient(memberships)
        return self.factor * value, self.factor * gradient

    def least_value(self, n: int, g: int) -> float:
        """Return the share of the charge."""
        return self.factor * self.penalty.least_value(n, g)


def soften(penalty: Penalty) -> list[Penalty]:
    """Return the penalties to descend in turn from a start (continuation): none, a tenth, all.

    At full strength from the start a penalty with a slope freezes rows where they are; one without a slope
    has nothing to soften.
    """
    return [NoPenalty(), ScaledPenalty(penalty, 0.1), penalty] if penalty.sloped else [penalty]


PENALTIES: dict[str | None, Penalty] = {
    "group": GroupPenalty(),
    "dirichlet": DirichletRows(),
    None: NoPenalty(),
}


def weight_penalty(weights: Array) -> float:
    """Return sum_l T(lambda_l) = sum_l (1 - alpha) log lambda_l with alpha = 1/d, lambda floored."""
    alpha = 1 / len(weights)
    return float((1 - alpha) * np.log(np.maximum(weights, LAMBDA_FLOOR)).sum())


def membership_penalty(memberships: Array, live: np.ndarray, penalty: Penalty) -> float:
    """Return the penalty of the live patterns plus the charge for each unused one."""
    _, n, g = memberships.shape
    values, _ = penalty.value_and_gradient(memberships[live])
    return float(values.sum()) + int((~live).sum()) * penalty.least_value(n, g)
