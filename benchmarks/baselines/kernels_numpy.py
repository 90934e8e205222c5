"""The three hot loops in plain NumPy: whole arrays, no tiles, no threads but those of BLAS.

============ ============ ========== ==========================================================
symbol       name         shape      meaning
============ ============ ========== ==========================================================
f(s)         ``F``        b x m      packed pair values of a block of views
a(p), h(p)   ``A, H``     d x m, d   packed a(p) of each pattern, and the sums of h(p)
u, const     ``u, const`` b          what each view counts, and its sum of const(s)
stat, gamma  ``stat``     n x n      statistics of one pattern, as a square matrix with zero diagonal
============ ============ ========== ==========================================================
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist, squareform
from scipy.special import softmax

QUANTILE, S_CLIP, P_CLIP = 0.1, 1e-4, 1e-9
"""The package's: a sample's row quantile without itself, and how far s and p stay from 0 and 1."""


def pair_values(views: np.ndarray, divergence: str) -> np.ndarray:
    """Return F (b, m) of raw views (b, n, p): f(s) with s = exp(-dist_ij / sqrt(q_i q_j)), clipped."""
    return np.stack([_values(view, divergence) for view in views])


def _values(view: np.ndarray, divergence: str) -> np.ndarray:
    n = len(view)
    distances = squareform(pdist(view))
    others = distances[~np.eye(n, dtype=bool)].reshape(n, n - 1)
    q = np.quantile(others, QUANTILE, axis=1)
    r = squareform(distances / np.sqrt(np.outer(q, q)), checks=False)
    r = np.clip(r, -np.log1p(-S_CLIP), -np.log(S_CLIP))
    return np.exp(-r) if divergence == "forward" else -r - np.log(-np.expm1(-r))


def e_pass(
    F: np.ndarray,
    A: np.ndarray,
    H: np.ndarray,
    const: np.ndarray,
    u: np.ndarray,
    lam: np.ndarray,
    beta: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return eta = softmax(log lambda - beta u (H - F A^T + const)) and stat = (u eta)^T F."""
    K = u[:, None] * (H - F @ A.T + const[:, None])
    eta = softmax(np.log(lam) - beta * K, axis=1)
    return eta, (u[:, None] * eta).T @ F


def membership_gradient(
    W: np.ndarray, gamma: float, stat: np.ndarray, divergence: str
) -> tuple[float, np.ndarray]:
    """Return sum_{i<j} [gamma h(p) - stat a(p)] of one pattern and its gradient G W, P = W W^T dense."""
    least = max(P_CLIP, np.finfo(W.dtype).eps)
    P = (W @ W.T).clip(least, 1 - least)
    log_P, log_other = np.log(P), np.log1p(-P)
    if divergence == "forward":
        value = (stat - gamma) * log_other - stat * log_P
        G = (gamma * P - stat) / (P * (1 - P))
    else:
        G = gamma * (log_P - log_other) - stat
        value = gamma * log_other + P * G
    np.fill_diagonal(value, 0)
    np.fill_diagonal(G, 0)
    return float(value.sum()) / 2, G @ W
