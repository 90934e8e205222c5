"""Weights of joint losses by cross-validation: how well each one predicts the clusters of hidden samples.

======== ============ ================= ======================================================================
symbol   name         shape             meaning
======== ============ ================= ======================================================================
w        ``W``        d x n x g         memberships by the views
pi       ``base``     d x n x g         log shares of clusters, and what losses of given weights say
m_j      ``messages`` losses x d x n x g  what loss j says of samples whose own memberships are hidden
omega_j  ``weights``  losses            weights, from 0 to 1
======== ============ ================= ======================================================================

Samples are put into parts. The memberships of one part are replaced by the shares of clusters, and minus the gradient
of a loss there, times its share rho of each pattern, is what it says of them: m_j. By it alone they would be

    q_ik ~ pi_k exp(sum_j omega_j m_jik),

and weights are those with which q tells best what the views say of the same samples: they make

    sum_i sum_k w_ik log q_ik

largest, which is concave in them. A graph, or covariates, that have nothing to do with the clusters get no weight,
whatever structure of their own they have. A nat of a loss counts for one nat at most, and for none where this saves
less than a number that is learnt from n samples costs, log(n) / 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax
from scipy.special import softmax as softmax_over

from latentsimplex.base.types import Array, Indices
from latentsimplex.model.joint_losses import LEAST, JointLoss

FOLDS = 10
"""Parts of the samples, each hidden in turn. The fewer, the less a loss learns of clusters from those that are left."""


@dataclass(frozen=True, eq=False)
class WeightedLoss:
    """A loss of any kind, and the weight that was found for it."""

    loss: Any
    weight: float

    def value_and_gradient(self, W: Array) -> tuple[Array, Array]:
        """Return the values and gradients of the loss, which the weight does not change."""
        found: tuple[Array, Array] = self.loss.value_and_gradient(W)
        return found

    def take(self, rows: Indices) -> WeightedLoss:
        """Return the loss of some of the samples."""
        return WeightedLoss(self.loss.take(rows), self.weight)


def has_given_weight(loss: JointLoss) -> bool:
    """Return whether the weight of a loss is a number, and not to be found."""
    return not isinstance(loss.weight, str)


def leave_out_unheard(losses: tuple[JointLoss, ...]) -> tuple[JointLoss, ...]:
    """Return the losses that count: a fit with others is bit for bit the fit without them."""
    return tuple(other for other in losses if other.weight > 0)


def weigh_losses(losses: tuple[JointLoss, ...], W: Array | None) -> tuple[JointLoss, ...]:
    """Return losses, those of weight "auto" with weights that memberships (d, n, g), None without clusters, speak for.

    >>> from latentsimplex.model.joint_losses import BlockModel
    >>> graph = BlockModel(np.kron(np.eye(2), np.ones((20, 20))) - np.eye(40), weight="auto")
    >>> views = np.eye(2)[np.repeat([0, 1], 20)][None] * 0.9 + 0.05
    >>> weigh_losses((graph,), views)[0].weight > 0, weigh_losses((graph,), views[:, ::-1] * 0 + 0.5)[0].weight
    (True, 0.0)
    """
    unknown = [j for j, other in enumerate(losses) if not has_given_weight(other)]
    if not unknown:
        return losses
    weights = np.zeros(len(unknown)) if W is None else choose_weights(losses, W)
    found = dict(zip(unknown, weights.tolist(), strict=True))
    return tuple(WeightedLoss(other, found[j]) if j in found else other for j, other in enumerate(losses))


def choose_weights(losses: tuple[JointLoss, ...], W: Array) -> Array:
    """Return the weights of those losses that have none, in order: of those that save too little, 0."""
    messages = hide_and_ask(losses, W)
    base = np.log(np.maximum(W.mean(axis=1, keepdims=True), LEAST)) + np.zeros_like(W)
    for other, own in zip(losses, messages, strict=True):
        if has_given_weight(other):
            base += other.weight * own
    asked = messages[[j for j, other in enumerate(losses) if not has_given_weight(other)]]
    kept, price = list(range(len(asked))), np.log(W.shape[1]) / 2
    while kept:
        weights, lack = fit_weights(base, asked[kept], W)
        without = [fit_weights(base, asked[[j for j in kept if j != k]], W)[1] for k in kept]
        saved = np.array(without) - lack
        if saved.min() >= price:
            found = np.zeros(len(asked))
            found[kept] = weights
            return found
        del kept[int(saved.argmin())]
    return np.zeros(len(asked))


def hide_and_ask(losses: tuple[JointLoss, ...], W: Array) -> Array:
    """Return what each loss says of each sample's memberships (losses, d, n, g) where these are hidden, in nats."""
    n = W.shape[1]
    # the same parts each time: a fit is the same if it is made again
    part = np.random.default_rng(0).permutation(n) % min(FOLDS, n)
    messages = np.zeros((len(losses), *W.shape))
    for fold in range(int(part.max()) + 1):
        rows = np.flatnonzero(part == fold)
        seen = W.copy()
        seen[:, rows] = W.mean(axis=1, keepdims=True)
        for own, other in zip(messages, losses, strict=True):
            values, gradient = other.value_and_gradient(seen)
            own[:, rows] = -softmax_over(-values)[:, None, None] * gradient[:, rows]
    return messages


def fit_weights(base: Array, messages: Array, W: Array) -> tuple[Array, float]:
    """Return the weights from 0 to 1 with which messages tell memberships best, and the nats that still lack."""

    def lack(weights: Array) -> tuple[float, Array]:
        logs = log_softmax(base + np.tensordot(weights, messages, 1), axis=2)
        slope = ((W.sum(axis=2, keepdims=True) * np.exp(logs) - W) * messages).sum(axis=(1, 2, 3))
        return -float((W * logs).sum()), slope

    if not len(messages):
        return np.zeros(0), lack(np.zeros(0))[0]
    found = minimize(
        lack, np.full(len(messages), 0.5), jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * len(messages)
    )
    return np.asarray(found.x), float(found.fun)
