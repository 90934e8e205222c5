"""Joint losses: other losses in the memberships that join the M step beside the divergence (section 6 of the paper).

The template of the paper is loss = divergence + regularisation + other. Another loss gives, for the memberships of each
pattern, a value in nats and its gradient:

============ ======================== ========== ============================================================
symbol       name                     shape      meaning
============ ======================== ========== ============================================================
W            ``W``                    d x n x g  memberships of patterns
L_j(W^(l))   values                   d          loss j of each pattern, in nats
rho_jl       ``shares``               losses x d Pr(loss j speaks of pattern l) = softmax(-L_j) over patterns
omega_j      ``weight``                          how much a nat of loss j counts beside one of the views; given, or
                                                 found (:mod:`latentsimplex.model.joint_loss_weights`)
============ ======================== ========== ============================================================

A loss speaks of one pattern, and which one is found: EM descends, beside what it does of the views,

    (1/beta) sum_j omega_j ( -log (1/d) sum_l exp(-L_j(W^(l))) ),

whose gradient is rho_jl times that of L_j, over beta: a nat of another loss is worth a nat of the views.

===================== ============================================================================================
loss                  L(W)
===================== ============================================================================================
``PartialLabels``     least over tables T of  - sum_i sum_k w_ik log T_k,y_i - a sum_kc log T_kc
``SampleLinks``       - sum_must u log(e + (1 - 2e) w_i w_j) - sum_cannot u log(1 - e - (1 - 2e) w_i w_j)
``BlockModel``        - sum_kl E_kl log(E_kl / (D_k D_l)) / 2,  E = W^T A W, D = W^T A 1
``CovariatePrior``    least over b of  - sum_i sum_k w_ik log softmax(x_i b)_k + r |b|^2 / 2
===================== ============================================================================================

In a search they join the M step (:func:`join_gradients`). Where clusters were found by splits, whose memberships EM
does not settle alone, they multiply those in the end (:func:`settle_with_losses`).

Where there is a least over parameters of its own, the gradient is that at the best ones (the envelope theorem).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp
from scipy.special import softmax as softmax_over

from latentsimplex.base.types import Array, Indices

PRIOR_CLASS = 0.1
"""Samples of each class that a cluster has beforehand, so that no class is impossible."""
LINK_ERROR = 0.05
"""The share of links that are wrong."""
LEAST_EDGES = 1e-9
"""Edges between two clusters are no fewer than this, so that their logarithm is a number."""
ROUNDS, DAMPING = 30, 0.5
"""Rounds of mean-field equations, and how far each one goes."""
LEAST = 1e-12
"""Memberships are no less than this where they are multiplied."""
RIDGE = 1.0
"""The precision of the prior on coefficients of standardised covariates."""
BY_EVIDENCE = "auto"
"""The weight of a loss that is to be found (:mod:`latentsimplex.model.joint_loss_weights`)."""


class JointLoss(Protocol):
    """Another loss in the memberships of a pattern; ``weight`` is what a nat of it counts beside one of the views.

    A loss that is given to a fit may have the weight "auto": it is found before the loss joins.
    """

    @property
    def weight(self) -> Any:
        """What a nat of the loss counts: a number that is no less than 0."""

    def value_and_gradient(self, W: Array) -> tuple[Array, Array]:
        """Return values (d,) and gradients (d, n, g) for memberships (d, n, g)."""

    def take(self, rows: Indices) -> JointLoss:
        """Return the loss of some of the samples."""


@dataclass(frozen=True, eq=False)
class PartialLabels:
    """Classes of some samples (n,), -1 where unknown: the least number of nats in which clusters say them."""

    labels: Indices
    n_classes: int
    weight: float = 1.0

    def value_and_gradient(self, W: Array) -> tuple[Array, Array]:
        """Return the loss and - log T_k,y_i, T the shares of classes in each cluster."""
        rows = np.flatnonzero(self.labels >= 0)
        Y = np.eye(self.n_classes)[self.labels[rows]]
        counts = np.swapaxes(W[:, rows], 1, 2) @ Y + PRIOR_CLASS
        logs = np.log(counts / counts.sum(axis=2, keepdims=True))
        gradient = np.zeros_like(W)
        gradient[:, rows] = -np.swapaxes(logs[:, :, self.labels[rows]], 1, 2)
        return -(counts * logs).sum(axis=(1, 2)), gradient

    def take(self, rows: Indices) -> PartialLabels:
        """Return the classes of some of the samples."""
        return PartialLabels(self.labels[rows], self.n_classes, self.weight)


@dataclass(frozen=True, eq=False)
class SampleLinks:
    """Pairs of samples (m, 2), whether each is together (m,), and its weight (m,)."""

    pairs: Indices
    together: np.ndarray
    weights: Array
    weight: float = 1.0

    def value_and_gradient(self, W: Array) -> tuple[Array, Array]:
        """Return the loss and its gradient, a sum over the links of each sample."""
        first, second = W[:, self.pairs[:, 0]], W[:, self.pairs[:, 1]]
        p = (first * second).sum(axis=2)
        slope = np.where(self.together, 1 - 2 * LINK_ERROR, 2 * LINK_ERROR - 1)
        agreed = np.where(self.together, LINK_ERROR, 1 - LINK_ERROR) + slope * p
        pull = -(self.weights * slope / agreed)[:, :, None]
        gradient = np.zeros_like(W)
        for l in range(len(W)):
            np.add.at(gradient[l], self.pairs[:, 0], pull[l] * second[l])
            np.add.at(gradient[l], self.pairs[:, 1], pull[l] * first[l])
        return -(self.weights * np.log(agreed)).sum(axis=1), gradient

    def take(self, rows: Indices) -> SampleLinks:
        """Return the links between some of the samples."""
        place = np.full(int(max(rows.max(initial=0), self.pairs.max(initial=0))) + 1, -1)
        place[rows] = np.arange(len(rows))
        kept = (place[self.pairs] >= 0).all(axis=1)
        pairs = place[self.pairs[kept]]
        return SampleLinks(pairs, self.together[kept], self.weights[kept], self.weight)


@dataclass(frozen=True, eq=False)
class BlockModel:
    """A graph of the samples by its adjacency (n, n), dense or sparse: a stochastic blockmodel corrected for degrees.

    Edges are counts with means d_i d_j B_kl, d the degrees and B_kl what clusters k and l have of edges beyond those:
    the profile likelihood of Karrer and Newman (2011), with memberships in place of labels. ``weight`` is a number, or
    "auto" to find it.

    >>> pairs = np.kron(np.eye(2), np.ones((3, 3))) - np.eye(6)
    >>> loss = BlockModel(pairs)
    >>> halves, mixed = np.eye(2)[[0, 0, 0, 1, 1, 1]], np.eye(2)[[0, 1, 0, 1, 0, 1]]
    >>> values, _ = loss.value_and_gradient(np.array([halves, mixed]))
    >>> bool(values[0] < values[1])
    True
    """

    adjacency: Any
    weight: Any = BY_EVIDENCE

    def __post_init__(self) -> None:
        given = self.adjacency
        A = sparse.csr_matrix(given, dtype=float)
        if A.shape[0] != A.shape[1]:
            raise ValueError(f"adjacency has the shape {A.shape}: give a row and a column for each sample.")
        if len(A.data) and (not np.isfinite(A.data).all() or A.data.min() < 0):
            raise ValueError(
                "adjacency holds negative or missing numbers: give counts or weights of edges, 0 for none."
            )
        A = A.maximum(A.T)  # an edge in one direction is an edge
        A.setdiag(0)
        A.eliminate_zeros()
        object.__setattr__(self, "adjacency", A.tocsr())

    def value_and_gradient(self, W: Array) -> tuple[Array, Array]:
        """Return the loss and - sum_l [(A W)_il log B_kl - d_i sum ...] of each pattern, B = E / (D D^T)."""
        A = self.adjacency
        degrees = np.asarray(A.sum(axis=1)).ravel()
        values, gradient = np.empty(len(W)), np.empty_like(W)
        for l, own in enumerate(W):
            AW = A @ own
            E, D = own.T @ AW, own.T @ degrees
            ratio = np.log(np.maximum(E, LEAST_EDGES)) - np.log(np.maximum(np.outer(D, D), LEAST_EDGES))
            values[l] = -(E * ratio).sum() / 2
            # of E: ratio + 1, both sides of an edge; of D: the edges of a cluster over its degrees
            share = E.sum(axis=1) / np.maximum(D, LEAST_EDGES)
            gradient[l] = -(AW @ (ratio + 1)) + degrees[:, None] * share
        return values, gradient

    def take(self, rows: Indices) -> BlockModel:
        """Return the graph of some of the samples."""
        return BlockModel(self.adjacency[rows][:, rows], self.weight)


@dataclass(frozen=True, eq=False)
class CovariatePrior:
    """Covariates of the samples (n, p): clusters are as probable beforehand as softmax(x b) says, b learned.

    ``weight`` is a number, or "auto" to find it.

    >>> age = np.array([[20.0], [30.0], [60.0], [70.0]])
    >>> values, _ = CovariatePrior(age).value_and_gradient(np.eye(2)[[[0, 0, 1, 1], [0, 1, 0, 1]]])
    >>> bool(values[0] < values[1])
    True
    """

    covariates: Any
    weight: Any = BY_EVIDENCE

    def __post_init__(self) -> None:
        X = np.asarray(self.covariates, dtype=float)
        X = X[:, None] if X.ndim == 1 else X
        if X.ndim != 2 or not np.isfinite(X).all():
            raise ValueError(
                "covariates holds missing numbers or is no table: give a number for each sample and column."
            )
        object.__setattr__(self, "covariates", X)

    def value_and_gradient(self, W: Array) -> tuple[Array, Array]:
        """Return the loss and - log softmax(x_i b)_k of each pattern, b the best coefficients."""
        X = self.covariates
        spread = X.std(axis=0)
        X = np.column_stack([np.ones(len(X)), (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)])
        values, gradient = np.empty(len(W)), np.empty_like(W)
        for l, own in enumerate(W):
            values[l], b = regress(X, own)
            gradient[l] = -log_softmax(X @ b, axis=1)
        return values, gradient

    def take(self, rows: Indices) -> CovariatePrior:
        """Return the covariates of some of the samples."""
        return CovariatePrior(self.covariates[rows], self.weight)


def regress(X: Array, W: Array) -> tuple[float, Array]:
    """Return the least of - sum w log softmax(X b) + r |b|^2 / 2 and b (p, g): multinomial regression."""
    shape = (X.shape[1], W.shape[1])

    def loss(flat: Array) -> tuple[float, Array]:
        b = flat.reshape(shape)
        logs = log_softmax(X @ b, axis=1)
        slope = X.T @ (W.sum(axis=1, keepdims=True) * np.exp(logs) - W) + RIDGE * b
        return float(-(W * logs).sum() + RIDGE * np.square(b).sum() / 2), slope.ravel()

    found = minimize(
        loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"gtol": 1e-7, "ftol": 1e-14}
    )
    return float(found.fun), found.x.reshape(shape)


def settle_with_losses(losses: tuple[JointLoss, ...], W: Array) -> Array:
    """Return memberships (d, n, g) that take account of losses, given those that the views say.

    w_ik ~ w_ik of the views times exp(-sum_j omega_j rho_jl dL_j / dw_ik): the mean-field equations of a posterior
    whose prior are the memberships by the views, solved by repetition. Empty clusters stay empty.
    """
    prior = np.log(np.maximum(W, LEAST))
    found = W
    for _ in range(ROUNDS):
        _, shares = share_losses(losses, found)
        _, gradient = join_gradients(losses, shares, found)
        logs = (1 - DAMPING) * np.log(np.maximum(found, LEAST)) + DAMPING * (prior - gradient)
        found = softmax_over(np.where(W.max(axis=1, keepdims=True) > 0, logs, -np.inf), axis=2)
    return np.asarray(found)


def check_losses(losses: Any, n_samples: int) -> tuple[JointLoss, ...]:
    """Return losses that were given, one or a sequence, if they are of so many samples, or raise."""
    given = tuple(losses) if isinstance(losses, (list, tuple)) else (losses,)
    for j, other in enumerate(given):
        if not all(hasattr(other, name) for name in ("value_and_gradient", "take", "weight")):
            raise TypeError(
                f"losses[{j}] is a {type(other).__name__}: give a BlockModel, a CovariatePrior, or an object with "
                "weight, value_and_gradient(W) and take(rows)."
            )
        check_weight(other.weight, j)
        even = np.full((1, n_samples, 2), 0.5)
        try:
            values, gradient = other.value_and_gradient(even)
            fits = np.shape(values) == (1,) and np.shape(gradient) == even.shape
        except (ValueError, IndexError):
            fits = False
        if not fits:
            raise ValueError(
                f"losses[{j}] does not fit {n_samples} samples: value_and_gradient(W) must take memberships (d, n, g) "
                "and return values (d,) and gradients (d, n, g)."
            )
    return given


def check_weight(weight: Any, j: int) -> None:
    """Raise ValueError for what is no weight of loss j."""
    is_number = isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool)
    if weight != BY_EVIDENCE and not (is_number and 0 <= weight < np.inf):
        raise ValueError(
            f'losses[{j}] has the weight {weight!r}: give a number that is no less than 0, or "auto" to find it.'
        )


def share_losses(losses: tuple[JointLoss, ...], W: Array) -> tuple[float, Array]:
    """Return sum_j omega_j (-log (1/d) sum_l exp(-L_j)) and rho (losses, d) for memberships (d, n, g)."""
    total, shares = 0.0, np.empty((len(losses), len(W)))
    for j, other in enumerate(losses):
        values, _ = other.value_and_gradient(W)
        total += other.weight * (float(np.log(len(W))) - float(logsumexp(-values)))
        shares[j] = softmax_over(-values)
    return total, shares


def join_gradients(losses: tuple[JointLoss, ...], shares: Array, W: Array) -> tuple[Array, Array]:
    """Return sum_j omega_j rho_jl L_j(W^(l)) of each pattern (d,) and its gradient (d, n, g), the shares rho given."""
    values, gradient = np.zeros(len(W)), np.zeros_like(W)
    for other, share in zip(losses, shares, strict=True):
        value, slope = other.value_and_gradient(W)
        values += other.weight * share * value
        gradient += (other.weight * share)[:, None, None] * slope
    return values, gradient
