"""The recipe of :mod:`baselines.recipe` in torch, gradients by autograd; names are those of the NumPy version."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor
from time import perf_counter

import numpy as np
import torch
from torch import Tensor

from baselines import recipe, recipe_numpy

BLOCK_VALUES = 1 << 23
"""Distances held at a time, unless a single view has more."""
LLOYD_ITERATIONS, LLOYD_TOLERANCE = 300, 1e-4
"""scikit-learn's own: the centres have moved, squared, by less than this share of the features' mean variance."""


def fit(
    views: np.ndarray,
    n_clusters: int,
    n_patterns: int,
    seed: int,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> recipe.Found:
    """Return the recipe's fit to views (V, n, p); k-means is scikit-learn's on the CPU."""
    rng = np.random.default_rng(seed)
    began = _now(device)
    S = similarities(torch.as_tensor(views, dtype=dtype, device=device))
    compared = _now(device)
    if device == "cpu":
        groups = recipe_numpy.kmeans_groups(S.numpy(), n_patterns, rng)
    else:
        groups = kmeans_groups(S.log(), n_patterns, rng)
    grouped = _now(device)
    starts = (
        recipe.first_theta(n_patterns, views.shape[1], n_clusters, rng),
        recipe.first_responsibilities(groups, n_patterns),
    )
    theta, eta = (torch.as_tensor(start, dtype=dtype, device=device) for start in starts)
    theta, lam, eta = expectation_maximisation(S, theta, eta)
    memberships = theta.softmax(-1).cpu().numpy()
    view_patterns = eta.argmax(1).cpu().numpy()
    seconds = {
        "similarity": compared - began,
        "k-means": grouped - compared,
        "EM": _now(device) - grouped,
    }
    return recipe.Found(memberships, lam, view_patterns, seconds)


def _now(device: str) -> float:
    if device != "cpu":
        torch.cuda.synchronize(device)
    return perf_counter()


def similarities(views: Tensor) -> Tensor:
    """Return the packed S (V, m) of all views, block by block."""
    pairs = upper_pairs(views.shape[1], views.device)
    S = views.new_empty((len(views), len(pairs)))
    start = 0
    for r in exponents(views, recipe.QUANTILE, itself=True):
        S[start : start + len(r)] = torch.exp(-r).flatten(1)[:, pairs]
        start += len(r)
    return S


def exponents(views: Tensor, quantile: float, *, itself: bool) -> Iterator[Tensor]:
    """Yield dist_ij / sqrt(q_i q_j) as (b, n, n) for blocks of views; ``itself`` counts a sample in its quantile."""
    n = views.shape[1]
    for block in views.split(max(1, BLOCK_VALUES // n**2)):
        distances = torch.cdist(block, block, compute_mode="donot_use_mm_for_euclid_dist")
        rank = quantile * (n - 1) if itself else 1 + quantile * (n - 2)
        low, high = floor(rank), min(floor(rank) + 1, n - 1)
        ordered = distances.sort(dim=2).values
        root = torch.lerp(ordered[:, :, low], ordered[:, :, high], rank - low).sqrt()
        yield distances / (root[:, :, None] * root[:, None, :])


def upper_pairs(n: int, device: torch.device) -> Tensor:
    """Return where the pairs i < j lie in a flattened n x n matrix, in SciPy's condensed order."""
    rows, columns = torch.triu_indices(n, n, 1, device=device)
    return rows * n + columns


def kmeans_groups(X: Tensor, n_groups: int, rng: np.random.Generator) -> np.ndarray:
    """Return k-means groups of the rows of X, from one k-means++ start drawn on the host."""
    norms = X.square().sum(1)
    enough = LLOYD_TOLERANCE * X.var(0, correction=0).mean()
    centres = _plus_plus(X, norms, n_groups, rng)
    for _ in range(LLOYD_ITERATIONS):
        groups = (centres.square().sum(1) - 2 * X @ centres.T).argmin(1)
        members = torch.nn.functional.one_hot(groups, n_groups).to(X.dtype)
        sizes = members.sum(0)[:, None]
        moved = torch.where(sizes > 0, members.T @ X / sizes.clamp(min=1), centres)
        shift = (moved - centres).square().sum()
        centres = moved
        if shift <= enough:
            break
    return groups.cpu().numpy()


def _plus_plus(X: Tensor, norms: Tensor, n_groups: int, rng: np.random.Generator) -> Tensor:
    """Return rows of X, each drawn in proportion to its squared distance from those before."""
    centres = [X[int(rng.integers(len(X)))]]
    nearest = torch.full_like(norms, torch.inf)
    while len(centres) < n_groups:
        distances = norms - 2 * X @ centres[-1] + centres[-1].square().sum()
        nearest = torch.minimum(nearest, distances.clamp(min=0))
        cumulative = nearest.double().cumsum(0)
        draw = cumulative[-1:] * rng.random()
        centres.append(X[int(torch.searchsorted(cumulative, draw).clamp(max=len(X) - 1))])
    return torch.stack(centres)


def expectation_maximisation(S: Tensor, theta: Tensor, eta: Tensor) -> tuple[Tensor, np.ndarray, Tensor]:
    """Return theta, lambda and eta after both phases."""
    d = len(theta)
    lam = np.full(d, 1 / d)
    T, gamma = statistics(S, eta)
    theta = theta.clone().requires_grad_()
    adam = torch.optim.Adam([theta], lr=recipe.RATE)
    for _ in range(recipe.FIRST_STEPS):
        _step(adam, theta, T, gamma, recipe.FIRST_LOG_EPSILON)
    adam = torch.optim.Adam([theta], lr=recipe.RATE)
    for t in range(recipe.LATER_STEPS):
        if t % recipe.STEPS_PER_E == 0:
            eta = responsibilities(S, theta.detach(), lam)
            T, gamma = statistics(S, eta)
            lam = recipe.pattern_weights(gamma.double().cpu().numpy())
        _step(adam, theta, T, gamma, recipe.LATER_LOG_EPSILON)
    return theta.detach(), lam, eta


def _step(adam: torch.optim.Adam, theta: Tensor, T: Tensor, gamma: Tensor, log_epsilon: float) -> None:
    adam.zero_grad()
    objective(theta, T, gamma, log_epsilon).backward()
    adam.step()


def statistics(S: Tensor, eta: Tensor) -> tuple[Tensor, Tensor]:
    """Return eta^T S as square matrices with zero diagonals, and gamma."""
    packed = eta.T @ S
    n = (1 + int(np.sqrt(1 + 8 * packed.shape[1]))) // 2
    square = packed.new_zeros((len(packed), n * n))
    square[:, upper_pairs(n, S.device)] = packed
    square = square.unflatten(1, (n, n))
    return square + square.mT, eta.sum(0)


def responsibilities(S: Tensor, theta: Tensor, lam: np.ndarray) -> Tensor:
    """Return eta = softmax(log lambda - K), K the cross-entropy of each view with each pattern."""
    W = theta.softmax(-1)
    P = (W @ W.mT).flatten(1)[:, upper_pairs(W.shape[1], S.device)]
    P = P.clamp(recipe.P_CLIP, 1 - recipe.P_CLIP)
    log_other = torch.log1p(-P)
    K = -(S @ (P.log() - log_other).T) - log_other.sum(1)
    log_lam = torch.as_tensor(np.log(lam), dtype=S.dtype, device=S.device)
    return (log_lam - K).softmax(1)


def objective(theta: Tensor, T: Tensor, gamma: Tensor, log_epsilon: float) -> Tensor:
    """Return cross-entropy / n + R(W), summed over patterns; a square matrix holds each pair twice."""
    n = theta.shape[1]
    log_W = theta.log_softmax(-1)
    W = log_W.exp()
    P = (W @ W.mT).clamp(recipe.P_CLIP, 1 - recipe.P_CLIP)
    apart = 1 - torch.eye(n, dtype=theta.dtype, device=theta.device)
    cross = -(T * P.log() + (gamma[:, None, None] * apart - T) * torch.log1p(-P)).sum() / (2 * n)
    tiny = torch.finfo(theta.dtype).tiny
    squares = (log_W - log_epsilon).clamp(min=0).square().sum(1)
    return cross + squares.clamp(min=tiny).sqrt().sum()
