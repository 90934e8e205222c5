"""Adam (Kingma and Ba), the paper's gradient descent, keeping the best point of each problem."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from latentsimplex._types import Array

BETA_1, BETA_2, TINY = 0.9, 0.999, 1e-8


def adam(
    start: Array, value_gradient: Callable[[Array], tuple[Array, Array]], n_steps: int, rate: Array
) -> tuple[Array, np.ndarray]:
    """Descend several independent problems at once; never return a point worse than the start.

    Parameters
    ----------
    start : (d, N) array
    value_gradient : function
        Maps points (d, N) to values (d,) and gradients (d, N).
    n_steps : int
    rate : (d,) array
        Adam's step size for each problem.

    Returns
    -------
    best : (d, N) array
        For each problem the point with the least value among those visited.
    improved : (d,) array of bool
        Whether that is better than the start.

    Examples
    --------
    >>> point, improved = adam(np.array([[3.0]]), lambda x: (x[:, 0] ** 2, 2 * x), 200, np.array([0.1]))
    >>> bool(abs(point[0, 0]) < 0.03), improved.tolist()
    (True, [True])
    """
    point = start.copy()
    best = start.copy()
    first, second = np.zeros_like(start), np.zeros_like(start)
    values, gradient = value_gradient(point)
    least, at_start = values.copy(), values
    for t in range(1, n_steps + 1):
        first += (1 - BETA_1) * (gradient - first)
        second += (1 - BETA_2) * (gradient**2 - second)
        step = rate[:, None] * np.sqrt(1 - BETA_2**t) / (1 - BETA_1**t)
        point -= step * first / (np.sqrt(second) + TINY)
        values, gradient = value_gradient(point)
        better = values < least
        best[better] = point[better]
        least[better] = values[better]
    return best, least < at_start
