"""The hot loops, wherever the pair values are: co-assignments and their gradient, products with views.

Each function is written twice, for arrays in :mod:`latentsimplex.compute.cpu` and for tensors in
:mod:`latentsimplex.compute.torch`, and here goes to the one that its arguments ask for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex._arrays import is_tensor
from latentsimplex._types import Array
from latentsimplex.compute import cpu
from latentsimplex.compute.threads import Workers
from latentsimplex.descent import LONGER, MOST_MOMENTUM
from latentsimplex.divergence import Divergence


def _home(x: Any) -> Any:
    if not is_tensor(x):
        return cpu
    from latentsimplex.compute import torch

    return torch


def pair_terms(W: Array, B: Array, divergence: Divergence, pairs: Any) -> tuple[Any, Array]:
    """Return A (d, m), the packed a(q) of each pattern, where the statistics of pairs are, and H (d), sums of h(q)."""
    if is_tensor(pairs.home):
        return _home(pairs.home).pair_terms(W, B, divergence, pairs.home)
    return cpu.pair_terms(W, B, divergence, pairs.workers)


def prepared(stat: Any) -> Any:
    """Return statistics (d, m) in the form in which :func:`pair_objective` takes them."""
    return _home(stat).prepared(stat)


def pair_objective(
    W: Any, B: Any, gamma: Any, stat: Any, divergence: Divergence, workers: Workers
) -> tuple[Any, Any, Any]:
    """Return sum_{i<j} [gamma h(q) - stat a(q)] of each pattern, and its gradients in W and B; ``stat`` is prepared."""
    return _home(stat).pair_objective(W, B, gamma, stat, divergence, workers)


def pair_products(F: Any, A: Any, workers: Workers) -> Any:
    """Return F A^T (b, d) for pair values F (b, m) and A (d, m), where F is."""
    return _home(F).pair_products(F, A, workers)


def add_statistics(stat: Any, eta: Any, F: Any, workers: Workers) -> None:
    """Add eta^T F to ``stat`` (d, m) in place, for responsibilities eta (b, d) of the views in F (b, m)."""
    _home(F).add_statistics(stat, eta, F, workers)


def is_small(stat: Any) -> bool:
    """Return whether one thread is quick with a pattern of these statistics (d, m), so that it can have it whole."""
    return not is_tensor(stat) and stat.shape[1] <= cpu.TILE_PAIRS


def has_compiled_descent(stat: Any) -> bool:
    """Return whether :func:`descended` takes these statistics (d, m)."""
    return not is_tensor(stat)


def descended(
    W: Array,
    B: Array,
    gamma: Array,
    stat: Array,
    divergence: Divergence,
    learned: bool,
    prices: Array,
    n_steps: int,
    rate: Array,
    workers: Workers,
    rough: bool,
) -> tuple[Array, Array, Array]:
    """Return W (d, n, g), B (d, g, g) and step sizes (d,) after mirror descent.

    Small patterns go side by side, in single precision where ``rough`` is enough; of large ones all pairs do.
    """
    settings = (divergence, learned, prices, n_steps)
    if is_small(stat):
        found = _descended_small(W, B, gamma, stat, *settings, rate, workers, rough)
    else:
        from latentsimplex.compute.large import descended_in_tiles

        found = descended_in_tiles(W, B, gamma, cpu.prepared(stat), *settings, rate, workers)
    W, B = W.copy(), B.copy()
    for l, (w, b, _) in enumerate(found):
        k = w.shape[1]
        W[l, :, :k], W[l, :, k:] = w, 0.0
        B[l, :k, :k] = b
    return W, B, np.array([step for _, _, step in found])


def _descended_small(
    W: Array,
    B: Array,
    gamma: Array,
    stat: Array,
    divergence: Divergence,
    learned: bool,
    prices: Array,
    n_steps: int,
    rate: Array,
    workers: Workers,
    rough: bool,
) -> list[tuple[Array, Array, float]]:
    from latentsimplex.compute.small import descended

    def pattern(l: int) -> tuple[Array, Array, float]:
        k = int(filled[l])
        return descended(
            np.ascontiguousarray(W[l, :, :k]),
            np.ascontiguousarray(B[l, :k, :k]),
            float(gamma[l]),
            stat[l],
            divergence.name == "forward",
            learned,
            prices[:k],
            n_steps,
            float(rate[l]),
            LONGER,
            MOST_MOMENTUM,
            rough and stat.shape[1] > cpu.MANY_PAIRS,
        )

    filled = cpu.filled_columns(W.transpose(0, 2, 1))
    return list(workers.imap(pattern, range(len(W)), n_steps * stat.size >= cpu.THREADED_PAIRS))
