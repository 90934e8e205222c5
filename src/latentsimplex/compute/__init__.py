"""The hot loops, wherever the pair values are: co-assignments and their gradient, products with views.

Each function is written twice, for arrays in :mod:`latentsimplex.compute.cpu` and for tensors in
:mod:`latentsimplex.compute.torch`, and here goes to the one that its arguments ask for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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


class Aim(NamedTuple):
    """What a whole descent goes down by: a divergence, whether responses are learned, prices, and how many steps.

    ``prices`` (g,) are those of 1, 2, ... clusters.
    """

    divergence: Divergence
    learned: bool
    prices: Array
    n_steps: int


def descended(
    W: Array, B: Array, gamma: Array, stat: Array, aim: Aim, rate: Array, workers: Workers, rough: bool
) -> tuple[Array, Array, Array]:
    """Return W (d, n, g), B (d, g, g) and step sizes (d,) after mirror descent.

    Small patterns go side by side, in single precision where ``rough`` is enough; of large ones all pairs do.
    """
    if is_small(stat):
        from latentsimplex.compute.small import descended

        filled = cpu.filled_columns(W.transpose(0, 2, 1)).tolist()

        def pattern(l: int) -> tuple[Array, Array, float]:
            k = filled[l]
            return descended(
                np.ascontiguousarray(W[l, :, :k]),
                np.ascontiguousarray(B[l, :k, :k]),
                float(gamma[l]),
                stat[l],
                aim.divergence.name == "forward",
                aim.learned,
                aim.prices[:k],
                aim.n_steps,
                float(rate[l]),
                LONGER,
                MOST_MOMENTUM,
                rough and stat.shape[1] > cpu.MANY_PAIRS,
            )

        threaded = aim.n_steps * stat.size >= cpu.THREADED_PAIRS
        found = list(workers.imap(pattern, range(len(W)), threaded))
    else:
        from latentsimplex.compute.large import descended_in_tiles

        found = descended_in_tiles(W, B, gamma, cpu.prepared(stat), aim, rate, workers)
    best_W, best_B = np.zeros_like(W), B.copy()
    for l, (w, b, _) in enumerate(found):
        k = w.shape[1]
        best_W[l, :, :k], best_B[l, :k, :k] = w, b
    return best_W, best_B, np.array([step for _, _, step in found])
