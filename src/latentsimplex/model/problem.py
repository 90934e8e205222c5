"""What EM is given (a problem), what it changes (a state), and which clusters the memberships of a state use.

========== ================== ========== ============================================================
symbol     name               shape      meaning
========== ================== ========== ============================================================
W^(l)      ``W[l]``           n x g      memberships of pattern l, rows on the simplex
B^(l)      ``B[l]``           g x g      response: what similarity two clusters have; I in the paper
lambda     ``lam``            d          pattern weights
eta        ``eta``            V x d      Pr(view v follows pattern l)
========== ================== ========== ============================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.base.types import Array, Indices
from latentsimplex.checkpoints.checkpoint import Checkpoint
from latentsimplex.model.joint_losses import JointLoss
from latentsimplex.model.penalties import Penalty
from latentsimplex.pairs.divergence import Divergence
from latentsimplex.pairs.protocol import PairValues

EMPTY = 1e-100
"""Columns of memberships that hold no more than this add nothing to any pair."""
SHARE_DECIMALS = 9
"""Shares of a whole that are alike to this many decimals differ by rounding alone."""
NEVER: Callable[[], bool] = bool
"""Stops nothing: called without an argument, ``bool`` is False."""
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "adam": {"optimizer": "adam", "steps": 5, "rate": 0.1},
    "mirror": {"optimizer": "mirror", "first_steps": 40, "steps": 10, "rate": 4.0},
}
"""Steps in an EM iteration, and the size of the first; 1 is what expectation-maximisation on a sample's own
memberships would take in mirror descent."""


@dataclass(frozen=True)
class Model:
    """What is minimised: the divergence, the penalty on memberships, the temperature, the response."""

    divergence: Divergence
    penalty: Penalty
    temperature: float = 1.0
    learned_response: bool = False


@dataclass(frozen=True)
class Schedule:
    """How it is minimised.

    ``first_steps`` steps of descent make the first memberships, ``steps`` follow in each EM iteration, all of
    size ``rate`` at first, which each pattern adapts: by Adam, the paper's, or by mirror descent, which needs
    fewer of them. The fit has converged when the loss falls by less than ``tol`` of itself over ``window``
    iterations (the paper: one percent over 100), or by less than ``fall``. In ``single_precision`` a run only says
    where another begins: there are samples enough then for rounding to average out.
    """

    max_iter: int = 500
    tol: float = 0.01
    window: int = 100
    first_steps: int = 100
    steps: int = 5
    rate: float = 0.1
    optimizer: str = "adam"
    stop: Callable[[], bool] = NEVER
    fall: float = 0.0
    single_precision: bool = False

    @property
    def numbers(self) -> tuple[Any, ...]:
        """All that is the same in another process."""
        return tuple(value for name, value in vars(self).items() if name != "stop")


@dataclass(frozen=True)
class Problem:
    """Pair values of the views, what is minimised, and how: what every step of EM and of the search is given.

    ``checkpoint`` is where their state is kept; None where it is not. ``losses`` are others that join that of the views
    (:mod:`latentsimplex.model.joint_losses`).
    """

    pairs: PairValues
    model: Model
    schedule: Schedule
    checkpoint: Checkpoint | None = None
    losses: tuple[JointLoss, ...] = ()


class State(NamedTuple):
    """The parameters W (d, n, g), B (d, g, g) and lam (d,), and the step sizes (d,) that suit them."""

    W: Array
    B: Array
    lam: Array
    rate: Array


class Expectation(NamedTuple):
    """What one E step tells about a state; ``stat`` has a row for each live pattern only.

    ``gamma`` counts the views of each pattern, ``mass`` adds up their weights. ``shares`` (losses, d) says which
    pattern each joint loss speaks of; None without such losses.
    """

    eta: Array
    gamma: Array
    mass: Array
    stat: Array
    loss: float
    expected_loss: float
    shares: Array | None = None


class Fit(NamedTuple):
    """The end of a run of EM."""

    state: State
    expectation: Expectation
    loss_curve: list[float]
    expected_loss_curve: list[float]
    converged: bool


class RunSoFar(NamedTuple):
    """A run of EM in its course: its state and the losses up to it; an E step of the state tells the rest."""

    state: State
    loss_curve: list[float]
    expected_loss_curve: list[float]


FIT_TYPES = (Fit, State, Expectation)
"""What fits in a checkpoint are made of."""


def drop_statistics(fit: Fit) -> Fit:
    """Return a fit without its largest part, the statistics of views, which only a next M step would need."""
    return fit._replace(expectation=fit.expectation._replace(stat=np.empty((0, 0))))


class Patterns(NamedTuple):
    """Patterns with what M steps need of their views: W (d, n, g), B (d, g, g), mass (d,), stat (d, m).

    ``mass`` is eta^T u, which counts a pattern's views where all weigh 1, and ``stat`` (u eta)^T F. Joint losses speak
    of patterns by their ``shares`` (losses, d); without shares they do not join.
    """

    W: Array
    B: Array
    mass: Array
    stat: Any
    shares: Array | None = None


def most_probable_clusters(W: Array) -> np.ndarray:
    """Return argmax_k w_ik for each sample, the point-wise labels of the paper."""
    return np.argmax(W, axis=1)


def used_columns(W: Array) -> np.ndarray:
    """Return the columns of W that are some sample's largest, heaviest first once rows are renormalised.

    Columns of the same weight but for rounding, which differs between processors, come by their first sample.

    >>> used_columns(np.array([[0.1, 0.4, 0.5], [0.1, 0.5, 0.4], [0.1, 0.7, 0.2]])).tolist()
    [1, 2]
    >>> used_columns(np.array([[0.1, 0.9], [0.9, 0.1 + 1e-12]])).tolist()
    [1, 0]
    """
    used, first_sample = np.unique(most_probable_clusters(W), return_index=True)
    kept = W[:, used] / W[:, used].sum(axis=1, keepdims=True)
    return used[order_heaviest_first(kept.mean(axis=0), first_sample)]


def order_heaviest_first(shares: Array, places: Indices) -> Indices:
    """Return the order of falling ``shares`` of a whole; those that rounding alone tells apart come by ``places``."""
    return np.lexsort((places, -np.round(shares, SHARE_DECIMALS)))


def drop_unused_columns(W: Array) -> Array:
    """Return the columns of W that are some sample's largest, rows renormalised, heaviest column first.

    >>> drop_unused_columns(np.array([[0.1, 0.5, 0.4], [0.1, 0.5, 0.4]])).tolist()
    [[1.0], [1.0]]
    """
    kept = W[:, used_columns(W)]
    return kept / kept.sum(axis=1, keepdims=True)


class Listener:
    """Callback for the progress of a fit, called by several threads if starts run in parallel; this one ignores it."""

    def stage(self, name: str) -> None:
        """Hear that a stage begins, and that the one before is over."""

    def looked(self, done: int, whole: int) -> None:
        """Hear how many samples were looked at for clusters, of how many there will be, as far as that is known."""

    def started(self, start: int) -> None:
        """Hear that a start of the search begins."""

    def ended(self, start: int) -> None:
        """Hear that a start of the search is over."""

    def follow(self, start: int) -> Callable[[int, Expectation], None] | None:
        """Return what a run of EM calls at each E step; None if nobody would hear it."""
        return None


NOBODY = Listener()
