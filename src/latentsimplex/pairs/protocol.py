"""What EM and the search ask of pair values, wherever they live, and of the backend that M steps run on.

What is computed over many views is a *pass* over them. A :class:`Visit` is small and travels to where blocks of
pair values are (broadcast); there it is prepared once and applied to each block (map); rows of views are put in order,
and sums are added up in that order (reduce). Whoever asks does not know whether blocks are in this process, on a GPU or
with the workers of a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array
from latentsimplex.pairs.divergence import Divergence

Objective = Callable[[Any, Any], tuple[Any, Any, Any]]
"""Maps memberships (d, n, g) and responses (d, g, g) to values (d,) and to gradients in both."""


class Block(NamedTuple):
    """A block of views as a pass comes upon it.

    F (b, m) are pair values, ``constants`` (b,) and ``weights`` (b,) as of :class:`PairValues`, and ``given`` (b, k) is
    what was given to the pass for each of the views, None if nothing.
    """

    F: Any
    constants: Array
    weights: Array
    given: Array | None


class Visit(Protocol):
    """What a pass does with each block of views: a pure function of the block and of what the visit holds.

    ``n_sums`` is the number of sums over views (m,) that it adds up.
    """

    @property
    def n_sums(self) -> int: ...

    def prepare(self, backend: Backend) -> Any:
        """Return what all blocks of one place need, made there once."""

    def visit(self, block: Block, prepared: Any, stat: Any, pairs: BlockOperations) -> tuple[Array, Array]:
        """Add to ``stat`` (n_sums, m) in place; return a row for each view (b, ...), and small sums of all of them."""


class Passed(NamedTuple):
    """What a pass found: a row for each view (V, ...), small sums, and sums over views (n_sums, m)."""

    rows: Array
    sums: Array
    stat: Any


class BlockOperations(Protocol):
    """What is done with a block of pair values where it is."""

    def zeros(self, d: int) -> Any:
        """Return zeros (d, m) where a pass over the views can add up statistics."""

    def multiply(self, F: Any, A: Any) -> Any:
        """Return F A^T (b, d) for a block F (b, m) and A (d, m), in double precision where there is one."""

    def add_statistics(self, stat: Any, eta: Any, F: Any) -> None:
        """Add eta^T F to ``stat`` (d, m) in place, for a block F (b, m) and its responsibilities (b, d)."""


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

    def __len__(self) -> int: ...

    def pass_over(self, visit: Visit, given: Array | None = None) -> Passed:
        """Return what a visit to every block of views finds: rows in order, sums added up in a fixed order.

        Of what is ``given`` for each view (V, k) every block gets its own rows.
        """

    def values(self, v: int) -> Any:
        """Return F[v]."""

    def subset(self, members: np.ndarray) -> PairValues:
        """Return the pair values of some of the views, in order, without a copy."""


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
