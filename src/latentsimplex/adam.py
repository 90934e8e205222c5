"""Adam (Kingma and Ba), the paper's gradient descent, keeping the best point of each problem."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from latentsimplex._types import Array

BETA_1, BETA_2, TINY = 0.9, 0.999, 1e-8


def adam(
    start: Array, value_gradient: Callable[[Array], tuple[Array, Array]], n_steps: int, rate: float
) -> tuple[Array, Array]:
    """Descend several independent problems at once; never return a point worse than the start.

    Parameters
    ----------
    start : (d, ...) array
    value_gradient : function
        Maps points (d, ...) to values (d,) and gradients (d, ...).
    n_steps, rate : int, float
        How many steps, and Adam's step size.

    Returns
    -------
    best, values : (d, ...) and (d,) arrays
        For each problem the point with the least value among those visited.

    Examples
    --------
    >>> point, value = adam(np.array([[3.0]]), lambda x: (x[:, 0] ** 2, 2 * x), 200, 0.1)
    >>> bool(value[0] < 1e-3)
    True
    """
    point = start.copy()
    best = start.copy()
    first, second = np.zeros_like(start), np.zeros_like(start)
    values, gradient = value_gradient(point)
    least = values.copy()
    for t in range(1, n_steps + 1):
        first += (1 - BETA_1) * (gradient - first)
        second += (1 - BETA_2) * (gradient**2 - second)
        step = rate * np.sqrt(1 - BETA_2**t) / (1 - BETA_1**t)
        point -= step * first / (np.sqrt(second) + TINY)
        values, gradient = value_gradient(point)
        better = values < least
        best[better] = point[better]
        least[better] = values[better]
    return best, least
