"""The three hot loops in plain torch, on the device of what they are given; names are those of the NumPy version."""

from __future__ import annotations

from math import log, log1p

import torch
from torch import Tensor

from baselines.kernels_numpy import P_CLIP, QUANTILE, S_CLIP
from baselines.recipe_torch import exponents, upper_pairs


def pair_values(views: Tensor, divergence: str) -> Tensor:
    """Return F (b, m) of raw views (b, n, p): f(s) with s = exp(-dist_ij / sqrt(q_i q_j)), clipped."""
    pairs = upper_pairs(views.shape[1], views.device)
    return torch.cat(
        [_values(r.flatten(1)[:, pairs], divergence) for r in exponents(views, QUANTILE, itself=False)]
    )


def _values(r: Tensor, divergence: str) -> Tensor:
    r = r.clamp(-log1p(-S_CLIP), -log(S_CLIP))
    return torch.exp(-r) if divergence == "forward" else -r - torch.log(-torch.expm1(-r))


def e_pass(
    F: Tensor, A: Tensor, H: Tensor, const: Tensor, u: Tensor, lam: Tensor, beta: float
) -> tuple[Tensor, Tensor]:
    """Return eta = softmax(log lambda - beta u (H - F A^T + const)) and stat = (u eta)^T F."""
    K = u[:, None] * (H - F @ A.T + const[:, None])
    eta = (lam.log() - beta * K).softmax(1)
    return eta, (u[:, None] * eta).T @ F


def membership_gradient(W: Tensor, gamma: float, stat: Tensor, divergence: str) -> tuple[float, Tensor]:
    """Return sum_{i<j} [gamma h(p) - stat a(p)] of one pattern and its gradient G W, P = W W^T dense."""
    least = max(P_CLIP, torch.finfo(W.dtype).eps)
    P = (W @ W.T).clamp(least, 1 - least)
    log_P, log_other = P.log(), torch.log1p(-P)
    if divergence == "forward":
        value = (stat - gamma) * log_other - stat * log_P
        G = (gamma * P - stat) / (P * (1 - P))
    else:
        G = gamma * (log_P - log_other) - stat
        value = gamma * log_other + P * G
    value.fill_diagonal_(0)
    G.fill_diagonal_(0)
    return float(value.sum()) / 2, G @ W
