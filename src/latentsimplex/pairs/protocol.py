"""What EM and the search ask of pair values, wherever they live, and of the backend that M steps run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from latentsimplex.base.bounded_cache import BoundedCache
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array
from latentsimplex.pairs.divergence import Divergence

Objective = Callable[[Any, Any], tuple[Any, Any, Any]]
"""Maps memberships (d, n, g) and responses (d, g, g) to values (d,) and to gradients in both."""


class PairValues(Protocol):
    """Pair values f(s) of views: F (V, m) in blocks of views, m pairs of samples in SciPy's condensed order.

    ``constants`` (V,) are sums over pairs of const(s), ``weights`` (V,) what each view's divergence counts, and
    ``explained`` caches what clusters explain of groups of these views.
    """

    n_samples: int
    constants: Array
    weights: Array
    workers: Workers
    backend: Backend
    explained: BoundedCache[Any]

    def __len__(self) -> int: ...

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield ``rows, F[rows]`` over blocks of views, in order."""

    def values(self, v: int) -> Any:
        """Return F[v]."""

    def zeros(self, d: int) -> Any:
        """Return zeros (d, m) where a pass over the views can add up statistics."""

    def multiply(self, F: Any, A: Any) -> Any:
        """Return F A^T (b, d) for a block F (b, m) and A (d, m), in double precision where there is one."""

    def add_statistics(self, stat: Any, eta: Any, F: Any) -> None:
        """Add eta^T F to ``stat`` (d, m) in place, for a block F (b, m) and its responsibilities (b, d)."""


class Backend(Protocol):
    """Where M steps run, and what depends on it: precisions, and the sizes at which routes switch.

    Attributes
    ----------
    is_small : bool
        Whether one thread is quick with all pairs of a pattern, so that patterns, and starts, go side by side.
    loss_rounding : float
        Losses that differ by this share of themselves differ by rounding alone.
    """

    is_small: bool
    loss_rounding: float

    def place(self, stat: Any) -> Any:
        """Return statistics that a pass has added up where M steps want them."""

    def pair_terms(self, W: Array, B: Array, divergence: Divergence) -> tuple[Any, Array]:
        """Return A (d, m), the packed a(q) of each pattern, and H (d), the sums of h(q)."""

    def pair_objective(self, mass: Array, stat: Any, divergence: Divergence) -> tuple[Objective, Any]:
        """Return sum_{i<j} [mass h(q) - stat a(q)] as a function of W and B, and an array of the kind it takes."""

    @property
    def descend(self) -> Callable[..., tuple[Array, Array, Array]] | None:
        """Takes all steps of mirror descent at once and returns W, B and step sizes; None where nothing does."""

    def inner_products(self, stats: Sequence[Any]) -> Array:
        """Return the inner products of statistics (m,) with each other (d, d), added up in double precision."""
