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

with the charges of :mod:`latentsimplex.model.penalties` for patterns whose weight is 0. The text's
expected RegLoss (equation 9) is reported beside it. This is the paper's template, divergence + regularisation + other:
the last is the sum of joint losses over beta (:mod:`latentsimplex.model.joint_losses`), 0 where none are given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit

from latentsimplex.base.arrays import array_namespace, convert_like, sigmoid, softmax, to_host
from latentsimplex.base.types import Array
from latentsimplex.model.cluster_prices import list_prices
from latentsimplex.model.descent import adam, mirror
from latentsimplex.model.joint_losses import join_gradients, share_losses
from latentsimplex.model.penalties import membership_penalty, weight_penalty
from latentsimplex.model.problem import (
    EMPTY,
    Expectation,
    Fit,
    Patterns,
    Problem,
    RunSoFar,
    Schedule,
    State,
)
from latentsimplex.pairs.divergence import P_CLIP, Divergence
from latentsimplex.pairs.in_memory import WeightedSums
from latentsimplex.pairs.protocol import Backend, Block, BlockOperations, PairValues

SHORTEST_STEP = 1e-3
"""Steps are halved when they do not help; below this share of the first size EM stands still."""


def run(problem: Problem, state: State, callback: Callable[[int, Expectation], None] | None = None) -> Fit:
    """Alternate E and M steps until the paper's stopping rule, a standstill, ``max_iter`` or ``stop``.

    The loss never rises (see :func:`em_step`). The last E step belongs to the returned state. Where the problem has a
    checkpoint, a run from the same state goes on from where it was when it was last kept.
    """
    schedule, bookmark = problem.schedule, None
    curve, expected_curve = [], []
    if problem.checkpoint is not None:
        bookmark = problem.checkpoint.bookmark("EM", state, schedule.numbers, types=(RunSoFar, State))
        state, curve, expected_curve = bookmark.found or RunSoFar(state, [], [])
    expectation = e_step(problem, state)
    curve = [*curve[:-1], expectation.loss]
    expected_curve = [*expected_curve[:-1], expectation.expected_loss]
    converged = False
    for iteration in range(len(curve) - 1, schedule.max_iter + 1):
        if callback is not None:
            callback(iteration, expectation)
        converged = has_converged(curve, schedule) or stands_still(state, schedule)
        if converged or iteration == schedule.max_iter or schedule.stop():
            break
        state, expectation = em_step(problem, state, expectation)
        curve.append(expectation.loss)
        expected_curve.append(expectation.expected_loss)
        if bookmark is not None:
            bookmark.keep(RunSoFar(state, curve[:], expected_curve[:]))
    return Fit(state, expectation, curve, expected_curve, converged)


def em_step(problem: Problem, state: State, expectation: Expectation) -> tuple[State, Expectation]:
    """Return the next state and its E step, with a loss that is no higher.

    An M step on memberships cannot raise it. Setting a weight to 0 can, where the weight was so small that
    T, floored, gives nothing for it: the weights then stay as they were.
    """
    after = maximise(problem, state, expectation)
    found = e_step(problem, after, expectation)
    if found.loss > expectation.loss + problem.pairs.backend.loss_rounding * abs(expectation.loss):
        after = after._replace(lam=state.lam)
        found = e_step(problem, after)
    return after, found


def e_step(problem: Problem, state: State, before: Expectation | None = None) -> Expectation:
    """Return eta (equation 8), the M step's statistics and the loss, in one pass over the views.

    K = u (H - F A^T + const); eta = softmax(log lambda - beta K); stat = (u eta)^T F, block by block.
    Patterns of weight 0 take no part. A pattern that has all views, as it had ``before``, keeps its statistics.
    """
    pairs, model = problem.pairs, problem.model
    live, beta = state.lam > 0, 1 / model.temperature
    d = int(live.sum())
    same = before is not None and d == len(before.stat) == 1  # eta is 1 for every view
    passed = pairs.pass_over(
        Responsibilities(
            state.W[live], state.B[live], np.log(state.lam[live]), beta, model.divergence, 0 if same else d
        )
    )
    eta = np.zeros((len(pairs), len(state.lam)))
    eta[:, live] = passed.rows
    evidence, divergence = passed.sums.tolist()
    T = weight_penalty(state.lam)
    R = membership_penalty(state.W, live, model.penalty)
    other, shares = 0.0, None
    if problem.losses:
        other, of_live = share_losses(problem.losses, state.W[live])
        shares = np.zeros((len(problem.losses), len(state.lam)))
        shares[:, live] = of_live
    return Expectation(
        eta=eta,
        gamma=eta.sum(axis=0),
        mass=pairs.weights @ eta,
        stat=before.stat if before is not None and same else pairs.backend.place(passed.stat),
        loss=(T - evidence + other) / beta + R,
        expected_loss=divergence + R + T + other / beta,
        shares=shares,
    )


class Responsibilities(NamedTuple):
    """The visit of an E step: the live patterns, of which ``n_sums`` are to have statistics, all or none."""

    W: Array
    B: Array
    log_lam: Array
    beta: float
    divergence: Divergence
    n_sums: int

    def prepare(self, backend: Backend) -> tuple[Any, Array]:
        """Return A (d, m), the packed a(q) of each pattern, and H (d), the sums of h(q)."""
        return backend.pair_terms(self.W, self.B, self.divergence)

    def visit(
        self, block: Block, terms: tuple[Any, Array], stat: Any, pairs: BlockOperations
    ) -> tuple[Array, Array]:
        """Add (u eta)^T F of a block; return eta (b, d) of its views, and the sums of evidence and divergence."""
        (A, H), F = terms, block.F
        FA = pairs.multiply(F, A)
        xp, u = array_namespace(FA), convert_like(block.weights[:, None], FA)
        K = u * (convert_like(H, FA) - FA + convert_like(block.constants[:, None], FA))
        logits = convert_like(self.log_lam, FA) - self.beta * K
        largest = xp.amax(logits, 1, keepdims=True)
        eta = xp.exp(logits - largest)
        total = eta.sum(1, keepdims=True)
        eta = eta / total
        if self.n_sums:
            pairs.add_statistics(stat, u * eta, F)
        evidence = float((largest + xp.log(total)).sum())
        return to_host(eta), np.array([evidence, float((eta * K).sum())])


def collect_statistics(pairs: PairValues, eta: Array) -> tuple[Array, Array]:
    """Return the mass eta^T u (d,) and stat = (u eta)^T F (d, m) for given responsibilities (V, d)."""
    eta = pairs.weights[:, None] * eta
    return eta.sum(axis=0), pairs.backend.place(pairs.pass_over(WeightedSums(eta.shape[1]), eta).stat)


def maximise(problem: Problem, state: State, expectation: Expectation) -> State:
    """Return the next state: lambda at its mode, then the M step of the patterns that keep a weight."""
    lam = update_weights(expectation.gamma)
    live = lam > 0
    stat = expectation.stat[live[state.lam > 0]]
    W, B, rate = state.W.copy(), state.B.copy(), state.rate.copy()
    shares = None if expectation.shares is None else expectation.shares[:, live]
    patterns = Patterns(W[live], B[live], expectation.mass[live], stat, shares)
    W[live], B[live], rate[live] = m_step(problem, patterns, problem.schedule.steps, rate[live])
    return State(W, B, lam, rate)


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


def m_step(problem: Problem, patterns: Patterns, n_steps: int, rate: Array) -> tuple[Array, Array, Array]:
    """Return W and B that lower sum_{i<j} [mass h(q) - stat a(q)] + n R(W) + other, pattern by pattern, and step sizes.

    Descent is on theta and phi. Adam goes along dtheta = W * (dW - rowsum(dW * W)). Mirror descent goes along
    (dW - rowsum(dW * W)) over mass (n - 1), the natural gradient: theta moves as W would in expectation-maximisation,
    and phi likewise. The cost is O(d n^2 g) a step whatever the number of views (section 3.1). The statistics may be
    tensors; what is returned is not.
    """
    model, schedule, backend = problem.model, problem.schedule, problem.pairs.backend
    natural, joined = schedule.optimizer == "mirror", bool(problem.losses) and patterns.shares is not None
    if natural and backend.descend is not None and not model.penalty.sloped and not joined:
        prices = list_prices(model.penalty, patterns.W.shape[2])
        return backend.descend(patterns, model, prices, n_steps, rate, schedule.single_precision)
    evaluate, kind = backend.pair_objective(patterns.mass, patterns.stat, model.divergence)
    coordinates = Coordinates(patterns, model.learned_response, kind)

    def slopes(x: Any) -> tuple[Any, Any]:
        W, B = coordinates.unpack(x)
        value, dW, dB = evaluate(W, B)
        R, dR = model.penalty.value_and_gradient(W)
        if patterns.shares is not None and joined:
            other, slope = join_gradients(problem.losses, patterns.shares, to_host(W).astype(float))
            R = R + convert_like(model.temperature * other, R)
            dR = dR + convert_like(model.temperature * slope, dR)
        direction = coordinates.natural_gradient if natural else coordinates.gradient
        return value + R, direction(W, B, dW + dR, dB)

    x, rate = coordinates.pack(patterns.W, patterns.B), convert_like(rate, kind)
    if natural:
        x, rate = mirror(x, slopes, n_steps, rate, coordinates.longest_steps)
    else:
        x, rate = adam(x, slopes, n_steps, rate)
    W, B = map(to_host, coordinates.unpack(x))
    return W / W.sum(axis=-1, keepdims=True), B, to_host(rate)


class Coordinates:
    """theta and, where responses are learned, the lower triangle of phi, as the rows of one matrix (d, N)."""

    def __init__(self, patterns: Patterns, learned: bool, kind: Any) -> None:
        self.shape, self.learned, self.kind = patterns.W.shape, learned, kind
        self.rows, self.columns = np.tril_indices(self.shape[2])
        self.mass = convert_like(patterns.mass, kind)[:, None, None]
        self.given_B = convert_like(patterns.B, kind)

    @property
    def longest_steps(self) -> Any:
        """The longest step of each coordinate: one of 1 leads to the best response there is for given memberships."""
        _, n, g = self.shape
        return convert_like(np.repeat([np.inf, 1.0], [n * g, len(self.rows) * self.learned]), self.kind)

    def pack(self, W: Array, B: Array) -> Any:
        """Return the point at which the memberships are W and the responses B."""
        theta = np.log(np.maximum(W, np.finfo(W.dtype).tiny)).reshape(len(W), -1)
        phi = logit(np.clip(B, P_CLIP, 1 - P_CLIP))[:, self.rows, self.columns]
        return convert_like(np.concatenate([theta, phi] if self.learned else [theta], axis=1), self.kind)

    def unpack(self, x: Any) -> tuple[Any, Any]:
        """Return memberships and responses at a point."""
        d, n, g = self.shape
        W = softmax(x[:, : n * g].reshape(d, n, g))
        if not self.learned:
            return W, self.given_B
        phi = array_namespace(x).empty_like(self.given_B)
        phi[:, self.rows, self.columns] = phi[:, self.columns, self.rows] = x[:, n * g :]
        return W, sigmoid(phi)

    def gradient(self, W: Any, B: Any, dW: Any, dB: Any) -> Any:
        """Return the gradient in theta and phi, given those in W and in B taken as a free matrix."""
        # an off-diagonal phi moves two entries of B, a diagonal one moves one
        twice = convert_like(np.where(self.rows == self.columns, 1.0, 2.0), self.kind)
        theta = W * (dW - (dW * W).sum(-1)[..., None])
        return self._join(theta, lambda: twice * (dB * B * (1 - B))[:, self.rows, self.columns])

    def natural_gradient(self, W: Any, B: Any, dW: Any, dB: Any) -> Any:
        """Return the natural gradient in theta and phi; what is empty stays so, which it would fill again."""
        theta = (dW - (dW * W).sum(-1)[..., None]) * (W > EMPTY) / (self.mass * (self.shape[1] - 1))
        return self._join(
            theta, lambda: (dB / (self.mass * count_weighted_pairs(W)))[:, self.rows, self.columns]
        )

    def _join(self, theta: Any, phi: Callable[[], Any]) -> Any:
        theta = theta.reshape(len(theta), -1)
        return array_namespace(theta).concatenate([theta, phi()], 1) if self.learned else theta


def count_weighted_pairs(W: Any) -> Any:
    """Return sum_{i<j} (w_ik w_jl + w_il w_jk) / 2 (d, g, g), at least 1: what dB, B taken as free, is a sum over."""
    sizes = W.sum(-2)
    pairs = (sizes[:, :, None] * sizes[:, None, :] - W.swapaxes(-1, -2) @ W) / 2
    return array_namespace(W).clip(pairs, 1.0, None)


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
