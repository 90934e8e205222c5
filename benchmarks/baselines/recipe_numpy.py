"""The recipe of :mod:`baselines.recipe` in plain NumPy: whole arrays, gradients by hand.

============ =========== ============ =====================================================
symbol       name        shape        meaning
============ =========== ============ =====================================================
S            ``S``       V x m        packed similarities
theta, W     ``theta``   d x n x g    W = softmax(theta)
P            ``P``       d x n x n    W W^T
eta          ``eta``     V x d        responsibilities
eta^T S      ``T``       d x n x n    what the M step needs of the views, as square matrices
gamma        ``gamma``   d            views of each pattern
============ =========== ============ =====================================================
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from scipy.spatial.distance import pdist, squareform
from scipy.special import softmax
from sklearn.cluster import KMeans

from baselines import recipe


def fit(
    views: np.ndarray, n_clusters: int, n_patterns: int, seed: int, dtype: type[np.floating] = np.float32
) -> recipe.Found:
    """Return the recipe's fit to views (V, n, p)."""
    rng = np.random.default_rng(seed)
    began = perf_counter()
    S = similarities(views, dtype)
    compared = perf_counter()
    groups = kmeans_groups(S, n_patterns, rng)
    grouped = perf_counter()
    theta = recipe.first_theta(n_patterns, views.shape[1], n_clusters, rng).astype(dtype)
    theta, lam, eta = expectation_maximisation(
        S, theta, recipe.first_responsibilities(groups, n_patterns).astype(dtype)
    )
    seconds = {
        "similarity": compared - began,
        "k-means": grouped - compared,
        "EM": perf_counter() - grouped,
    }
    return recipe.Found(softmax(theta, axis=-1), lam, eta.argmax(axis=1), seconds)


def similarities(views: np.ndarray, dtype: type[np.floating]) -> np.ndarray:
    """Return the packed S (V, m) of all views."""
    V, n, _ = views.shape
    S = np.empty((V, n * (n - 1) // 2), dtype)
    for v, view in enumerate(views):
        distances = squareform(pdist(view))
        q = np.quantile(distances, recipe.QUANTILE, axis=1)
        S[v] = squareform(np.exp(-distances / np.sqrt(np.outer(q, q))), checks=False)
    return S


def kmeans_groups(S: np.ndarray, n_groups: int, rng: np.random.Generator) -> np.ndarray:
    """Return k-means groups of the rows of log S, from one start."""
    kmeans = KMeans(n_groups, n_init=1, random_state=int(rng.integers(2**31)))
    return kmeans.fit_predict(np.log(S))


def expectation_maximisation(
    S: np.ndarray, theta: np.ndarray, eta: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return theta, lambda and eta after both phases."""
    d = len(theta)
    lam = np.full(d, 1 / d)
    T, gamma = statistics(S, eta)
    adam = Adam(theta)
    for _ in range(recipe.FIRST_STEPS):
        adam.step(slope(adam.theta, T, gamma, recipe.FIRST_LOG_EPSILON))
    adam = Adam(adam.theta)
    for t in range(recipe.LATER_STEPS):
        if t % recipe.STEPS_PER_E == 0:
            eta = responsibilities(S, adam.theta, lam)
            T, gamma = statistics(S, eta)
            lam = recipe.pattern_weights(gamma.astype(np.float64))
        adam.step(slope(adam.theta, T, gamma, recipe.LATER_LOG_EPSILON))
    return adam.theta, lam, eta


def statistics(S: np.ndarray, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eta^T S as square matrices with zero diagonals, and gamma."""
    return np.stack([squareform(row) for row in eta.T @ S]), eta.sum(axis=0)


def responsibilities(S: np.ndarray, theta: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """Return eta = softmax(log lambda - K), K the cross-entropy of each view with each pattern."""
    W = softmax(theta, axis=-1)
    P = np.stack([squareform(square, checks=False) for square in W @ W.transpose(0, 2, 1)])
    P = P.clip(recipe.P_CLIP, 1 - recipe.P_CLIP)
    log_other = np.log1p(-P)
    K = -(S @ (np.log(P) - log_other).T) - log_other.sum(axis=1)
    return softmax(np.log(lam).astype(S.dtype) - K, axis=1)


def slope(theta: np.ndarray, T: np.ndarray, gamma: np.ndarray, log_epsilon: float) -> np.ndarray:
    """Return the gradient in theta of cross-entropy / n + R(W), all patterns at once."""
    n = theta.shape[1]
    W = softmax(theta, axis=-1)
    P = W @ W.transpose(0, 2, 1)
    clipped = P.clip(recipe.P_CLIP, 1 - recipe.P_CLIP)
    G = (gamma[:, None, None] * clipped - T) / (n * clipped * (1 - clipped))
    G[clipped != P] = 0
    G[:, np.arange(n), np.arange(n)] = 0
    dW = G @ W + penalty_slope(W, log_epsilon)
    return W * (dW - (dW * W).sum(axis=-1, keepdims=True))


def penalty_slope(W: np.ndarray, log_epsilon: float) -> np.ndarray:
    """Return the gradient of R(W) = sum_k sqrt(sum_i (log(w_ik / eps))_+^2)."""
    epsilon = np.exp(W.dtype.type(log_epsilon))
    above = np.maximum(W, epsilon)
    excess = np.log(above / epsilon)
    norms = np.sqrt((excess**2).sum(axis=1, keepdims=True))
    return excess / (above * np.where(norms > 0, norms, 1))


class Adam:
    """Plain Adam at ``theta``."""

    def __init__(self, theta: np.ndarray) -> None:
        self.theta = theta.copy()
        self._first, self._second, self._t = np.zeros_like(theta), np.zeros_like(theta), 0

    def step(self, gradient: np.ndarray) -> None:
        """Move ``theta`` by one step."""
        self._t += 1
        one, two = recipe.BETAS
        self._first += (1 - one) * (gradient - self._first)
        self._second += (1 - two) * (gradient**2 - self._second)
        first, second = self._first / (1 - one**self._t), self._second / (1 - two**self._t)
        self.theta -= recipe.RATE * first / (np.sqrt(second) + recipe.TINY)
