"""Expectation-maximisation for the latent simplex position model (section 3 of the paper).

============ ===================== ========== ====================================================
symbol       name                  shape      meaning
============ ===================== ========== ====================================================
W^(l)        ``W[l]``              n x g      memberships of pattern l, rows on the simplex
B^(l)        ``B[l]``              g x g      response: what similarity two clusters have; I in the paper
q^(l)        W B W^T               n x n      expected similarity, P = W W^T in the paper; only ever packed
lambda       ``lam``               d          pattern weights
eta          ``eta``               V x d      Pr(view v follows pattern l)
f(s)         ``F``                 V x m      packed pair values of the similarities, in blocks
K            ``K``                 V x d      sum over pairs of D(q^(l), s^(v)), times u
u            ``weights``           V          what each view's divergence counts, 1 in the paper
stat, mass   ``stat``, ``mass``    d x m, d   (u eta)^T F and eta^T u, all the M step needs of the views
beta         1 / temperature                  1 in the paper
============ ===================== ========== ====================================================

EM descends

    loss = -(1/beta) sum_v log sum_l lambda_l exp(-beta K_vl) + sum_l n R(W^(l)) + sum_l T(lambda_l) / beta

with the charges of :mod:`latentsimplex.objective` for patterns whose weight is 0. The text's
expected RegLoss (equation 9) is reported beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import logit

from latentsimplex._arrays import like, namespace, on_host, sigmoid, softmax
from latentsimplex._types import Array
from latentsimplex.compute import (
    Aim,
    add_statistics,
    descended,
    has_compiled_descent,
    pair_objective,
    pair_products,
    pair_terms,
    prepared,
)
from latentsimplex.compute.cpu import EMPTY, precision_of
from latentsimplex.compute.pairs import n_pairs
from latentsimplex.compute.threads import Workers
from latentsimplex.descent import adam, mirror
from latentsimplex.divergence import P_CLIP, Divergence
from latentsimplex.known import Known
from latentsimplex.objective import Penalty, membership_penalty, weight_penalty

ROUNDING, SINGLE_ROUNDING = 1e-9, 1e-8
"""Losses that differ by this share of themselves differ by rounding alone: errors of single pairs average out. The
second is for work in single precision."""
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "adam": {"optimizer": "adam", "steps": 5, "rate": 0.1},
    "mirror": {"optimizer": "mirror", "first_steps": 40, "steps": 10, "rate": 4.0},
}
"""Steps in an EM iteration, and the size of the first; 1 is what expectation-maximisation on a sample's own
memberships would take in mirror descent."""
SHORTEST_STEP = 1e-3
"""Steps are halved when they do not help; below this share of the first size EM stands still."""


class Pairs(Protocol):
    """Pair values of the views, wherever they live (see :mod:`latentsimplex.engines`).

    ``profiles`` are those of groups of views that a search has looked at.
    """

    n_samples: int
    constants: Array
    weights: Array
    workers: Workers
    home: Any
    profiles: Known[Any]

    def __len__(self) -> int: ...

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield ``rows, F[rows]`` over blocks of views, in order."""

    def values(self, v: int) -> Any:
        """Return F[v]."""

    def zeros(self, d: int) -> Any:
        """Return zeros (d, m) where a pass over the views can add up statistics."""

    def homed(self, stat: Any) -> Any:
        """Return statistics where M steps want them."""


@dataclass(frozen=True)
class Model:
    """What is minimised: the divergence, the penalty on memberships, the temperature, the response."""

    divergence: Divergence
    penalty: Penalty
    temperature: float = 1.0
    learned_response: bool = False


def never() -> bool:
    """Return False."""
    return False


@dataclass(frozen=True)
class Schedule:
    """How it is minimised.

    ``first_steps`` steps of descent make the first memberships, ``steps`` follow in each EM iteration, all of
    size ``rate`` at first, which each pattern adapts: by Adam, the paper's, or by mirror descent, which needs
    fewer of them. The fit has converged when the loss falls by less than ``tol`` of itself over ``window``
    iterations (the paper: one percent over 100), or by less than ``fall``. A ``rough`` run only says where another
    begins: its M steps are of single precision as soon as there are samples enough for rounding to average out.
    """

    max_iter: int = 500
    tol: float = 0.01
    window: int = 100
    first_steps: int = 100
    steps: int = 5
    rate: float = 0.1
    optimizer: str = "adam"
    stop: Callable[[], bool] = never
    fall: float = 0.0
    rough: bool = False


class State(NamedTuple):
    """The parameters W (d, n, g), B (d, g, g) and lam (d,), and the step sizes (d,) that suit them."""

    W: Array
    B: Array
    lam: Array
    rate: Array


class Expectation(NamedTuple):
    """What one E step tells about a state; ``stat`` has a row for each live pattern only.

    ``gamma`` counts the views of each pattern, ``mass`` adds up their weights.
    """

    eta: Array
    gamma: Array
    mass: Array
    stat: Array
    loss: float
    expected_loss: float


class Fit(NamedTuple):
    """The end of a run of EM."""

    state: State
    expectation: Expectation
    loss_curve: list[float]
    expected_loss_curve: list[float]
    converged: bool


def e_step(pairs: Pairs, state: State, model: Model, before: Expectation | None = None) -> Expectation:
    """Return eta (equation 8), the M step's statistics and the loss, in one pass over the views.

    K = u (H - F A^T + const); eta = softmax(log lambda - beta K); stat = (u eta)^T F, block by block.
    Patterns of weight 0 take no part. A pattern that has all views, as it had ``before``, keeps its statistics.
    """
    live = state.lam > 0
    beta = 1 / model.temperature
    A, H = pair_terms(state.W[live], state.B[live], model.divergence, pairs)
    log_lam = np.log(state.lam[live])
    same = before is not None and len(A) == len(before.stat) == 1  # eta is 1 for every view
    eta, stat = np.zeros((len(pairs), len(state.lam))), pairs.zeros(0 if same else len(A))

    evidence = divergence = 0.0
    for rows, F in pairs.blocks():
        A = like(A, F)
        FA = pair_products(F, A, pairs.workers)
        xp, u = namespace(FA), like(pairs.weights[rows, None], FA)
        K = u * (like(H, FA) - FA + like(pairs.constants[rows, None], FA))
        logits = like(log_lam, FA) - beta * K
        largest = xp.amax(logits, 1, keepdims=True)
        eta_b = xp.exp(logits - largest)
        total = eta_b.sum(1, keepdims=True)
        eta_b = eta_b / total
        if not same:
            add_statistics(stat, u * eta_b, F, pairs.workers)
        eta[rows, live] = on_host(eta_b)
        evidence += float((largest + xp.log(total)).sum())
        divergence += float((eta_b * K).sum())
    R = membership_penalty(state.W, live, model.penalty)
    T = weight_penalty(state.lam)
    return Expectation(
        eta=eta,
        gamma=eta.sum(axis=0),
        mass=pairs.weights @ eta,
        stat=before.stat if before is not None and same else pairs.homed(stat),
        loss=(T - evidence) / beta + R,
        expected_loss=divergence + R + T,
    )


def update_weights(gamma: Array) -> Array:
    """Return lambda_l proportional to max(0, alpha - 1 + gamma_l), alpha = 1/d (after equation 9).

    With as many views as patterns at least one term is positive; should none be, the pattern with
    the most views takes all.

    >>> update_weights(np.array([2.5, 0.5, 0.0])).round(3).tolist()
    [1.0, 0.0, 0.0]
    """
    excess = 1 / len(gamma) - 1 + gamma
    if not (excess > 0).any():
        return np.eye(len(gamma))[np.argmax(excess)]
    lam = np.maximum(excess, 0)
    return lam / lam.sum()


def m_step(
    W: Array,
    B: Array,
    gamma: Array,
    stat: Any,
    model: Model,
    workers: Workers,
    schedule: Schedule,
    n_steps: int,
    rate: Array,
) -> tuple[Array, Array, Array]:
    """Return W and B that lower sum_{i<j} [gamma h(q) - stat a(q)] + n R(W), pattern by pattern.

    Here gamma is the mass eta^T u of a pattern's views, which is their number where all weigh 1.

    Descent on theta with W = softmax(theta); a learned response B = sigmoid(phi), symmetric, moves beside it.
    Adam goes along dtheta = W * (dW - rowsum(dW * W)). Mirror descent goes along (dW - rowsum(dW * W)) over
    gamma (n - 1), the natural gradient: theta moves as W would in expectation-maximisation, and phi likewise.
    The cost is O(d n^2 g) a step whatever the number of views (section 3.1). The step sizes to go on with are
    returned too. The statistics may be tensors; what is returned is not.
    """
    d, n, g = W.shape
    rows, columns = np.tril_indices(g)
    natural = schedule.optimizer == "mirror"
    if natural and not model.penalty.sloped and has_compiled_descent(stat):
        B = np.clip(B, P_CLIP, 1 - P_CLIP) if model.learned_response else B
        aim = Aim(model.divergence, model.learned_response, model.penalty.up_to(g), n_steps)
        return descended(W, B, gamma, stat, aim, rate, workers, schedule.rough)
    stat = prepared(stat)
    mass, response = like(gamma, stat)[:, None, None], like(B, stat)
    # an off-diagonal phi moves two entries of B, a diagonal one moves one
    twice = like(np.where(rows == columns, 1.0, 2.0), stat)

    def unpack(x: Any) -> tuple[Any, Any]:
        W = softmax(x[:, : n * g].reshape(d, n, g))
        if not model.learned_response:
            return W, response
        phi = namespace(x).empty_like(response)
        phi[:, rows, columns] = phi[:, columns, rows] = x[:, n * g :]
        return W, sigmoid(phi)

    def slopes(x: Any) -> tuple[Any, Any]:
        W, B = unpack(x)
        value, dW, dB = pair_objective(W, B, mass[:, 0, 0], stat, model.divergence, workers)
        R, dR = model.penalty.value_gradient(W)
        dW = dW + dR
        theta = dW - (dW * W).sum(-1)[..., None]
        # what is empty stays so: the natural gradient would fill it again
        theta = theta * (W > EMPTY) / (mass * (n - 1)) if natural else W * theta
        slopes = [theta.reshape(d, -1)]
        if model.learned_response:
            phi = dB / (mass * pair_masses(W)) if natural else twice_over(dB * B * (1 - B))
            slopes.append(phi[:, rows, columns])
        return value + R, namespace(x).concatenate(slopes, 1)

    def twice_over(free: Any) -> Any:
        free[:, rows, columns] = twice * free[:, rows, columns]
        return free

    start = [softmax_parameters(W).reshape(d, -1)]
    if model.learned_response:
        start.append(logit(np.clip(B, P_CLIP, 1 - P_CLIP))[:, rows, columns])
    x, rate = like(np.concatenate(start, axis=1), stat), like(rate, stat)
    if natural:
        # a step of 1 is the best response there is for given memberships, and no longer one is better
        caps = like(np.repeat([np.inf, 1.0], [n * g, x.shape[1] - n * g]), stat)
        x, rate = mirror(x, slopes, n_steps, rate, caps)
    else:
        x, rate = adam(x, slopes, n_steps, rate)
    W, B = unpack(x)
    W = on_host(W)
    return W / W.sum(axis=-1, keepdims=True), on_host(B), on_host(rate)


def pair_masses(W: Any) -> Any:
    """Return sum_{i<j} (w_ik w_jl + w_il w_jk) / 2 (d, g, g), at least 1: what dB, B taken as free, is a sum over."""
    sizes = W.sum(-2)
    masses = (sizes[:, :, None] * sizes[:, None, :] - W.swapaxes(-1, -2) @ W) / 2
    return namespace(W).clip(masses, 1.0, None)


def maximisation(
    state: State, expectation: Expectation, model: Model, schedule: Schedule, workers: Workers
) -> State:
    """Return the next state: lambda at its mode, then the M step of the patterns that keep a weight."""
    lam = update_weights(expectation.gamma)
    live = lam > 0
    stat = expectation.stat[live[state.lam > 0]]
    W, B, rate = state.W.copy(), state.B.copy(), state.rate.copy()
    W[live], B[live], rate[live] = m_step(
        W[live], B[live], expectation.mass[live], stat, model, workers, schedule, schedule.steps, rate[live]
    )
    return State(W, B, lam, rate)


def softmax_parameters(W: Array) -> Array:
    """Return theta with softmax(theta) = W, entries below the smallest normal number raised to it."""
    return np.log(np.maximum(W, np.finfo(W.dtype).tiny))


def statistics(pairs: Pairs, eta: Array) -> tuple[Array, Array]:
    """Return the mass eta^T u (d,) and stat = (u eta)^T F (d, m) for given responsibilities (V, d)."""
    eta = pairs.weights[:, None] * eta
    stat = pairs.zeros(eta.shape[1])
    for rows, F in pairs.blocks():
        add_statistics(stat, eta[rows], F, pairs.workers)
    return eta.sum(axis=0), pairs.homed(stat)


def first_state(pairs: Pairs, labels: np.ndarray, W: Array, model: Model, schedule: Schedule) -> State:
    """Return the state after the first M step: eta one-hot at ``labels``, lambda = 1/d (section 3.1)."""
    d = len(W)
    gamma, stat = statistics(pairs, np.eye(d)[labels])
    B = np.tile(np.eye(W.shape[2]), (d, 1, 1))
    rate = np.full(d, schedule.rate)
    W, B, _ = m_step(W, B, gamma, stat, model, pairs.workers, schedule, schedule.first_steps, rate)
    return State(W, B, np.full(d, 1 / d), rate)


def run(
    pairs: Pairs,
    state: State,
    model: Model,
    schedule: Schedule,
    callback: Callable[[int, Expectation], None] | None = None,
) -> Fit:
    """Alternate E and M steps until the paper's stopping rule, a standstill, ``max_iter`` or ``stop``.

    The loss never rises (see :func:`em_step`). The last E step belongs to the returned state.
    """
    expectation = e_step(pairs, state, model)
    curve, expected_curve = [expectation.loss], [expectation.expected_loss]
    converged = False
    for iteration in range(schedule.max_iter + 1):
        if callback is not None:
            callback(iteration, expectation)
        converged = has_converged(curve, schedule) or stands_still(state, schedule)
        if converged or iteration == schedule.max_iter or schedule.stop():
            break
        state, expectation = em_step(pairs, state, expectation, model, schedule)
        curve.append(expectation.loss)
        expected_curve.append(expectation.expected_loss)
    return Fit(state, expectation, curve, expected_curve, converged)


def em_step(
    pairs: Pairs, state: State, expectation: Expectation, model: Model, schedule: Schedule
) -> tuple[State, Expectation]:
    """Return the next state and its E step, with a loss that is no higher.

    An M step on memberships cannot raise it. Setting a weight to 0 can, where the weight was so small that
    T, floored, gives nothing for it: the weights then stay as they were.
    """
    after = maximisation(state, expectation, model, schedule, pairs.workers)
    found = e_step(pairs, after, model, expectation)
    rounding = ROUNDING if precision_of(n_pairs(pairs.n_samples)) == np.float64 else SINGLE_ROUNDING
    if found.loss > expectation.loss + rounding * abs(expectation.loss):
        after = after._replace(lam=state.lam)
        found = e_step(pairs, after, model)
    return after, found


def stands_still(state: State, schedule: Schedule) -> bool:
    """Return whether steps have become too short to change any pattern: nothing can follow."""
    return bool((state.rate[state.lam > 0] < SHORTEST_STEP * schedule.rate).all())


def has_converged(curve: list[float], schedule: Schedule) -> bool:
    """Return whether the loss fell by less than ``tol`` of itself, or ``fall``, over the last ``window`` iterations.

    >>> has_converged([100.0] + [50.0] * 100, Schedule()), has_converged([50.0] * 101, Schedule())
    (False, True)
    """
    if len(curve) <= schedule.window:
        return False
    before, now = curve[-1 - schedule.window], curve[-1]
    return before - now < max(schedule.tol * abs(before), schedule.fall)
