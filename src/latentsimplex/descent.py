"""Two ways down for several problems at once, each keeping the best point: Adam, and mirror descent with momentum.

Adam (Kingma and Ba) is the paper's gradient descent. Mirror descent is Nesterov's method on the parameters theta
of W = softmax(theta), along the gradient in W itself: the natural gradient of the simplex, which needs no small
step where a membership is near 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from latentsimplex._arrays import like, namespace

BETA_1, BETA_2, TINY = 0.9, 0.999, 1e-8
LONGER, MOST_MOMENTUM = 1.05, 0.9
"""A step that lowers the value makes the next one longer by this factor; one that does not is taken back."""

Slopes = Callable[[Any], tuple[Any, Any]]
"""Maps points (d, N) to values (d,) and directions (d, N) in which they rise."""


def adam(start: Any, value_gradient: Slopes, n_steps: int, rate: Any) -> tuple[Any, Any]:
    """Descend along gradients; never return a point worse than the start.

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
    rate : (d,) array
        The step sizes to go on with: half as long where nothing better than the start was found.

    Examples
    --------
    >>> import numpy as np
    >>> point, rate = adam(np.array([[3.0]]), lambda x: (x[:, 0] ** 2, 2 * x), 200, np.array([0.1]))
    >>> bool(abs(point[0, 0]) < 0.03), rate.tolist()
    (True, [0.1])
    """
    xp = namespace(start)
    point, best = start, start
    first, second = xp.zeros_like(start), xp.zeros_like(start)
    values, gradient = value_gradient(point)
    least = at_start = values
    for t in range(1, n_steps + 1):
        first = first + (1 - BETA_1) * (gradient - first)
        second = second + (1 - BETA_2) * (gradient**2 - second)
        step = rate[:, None] * (1 - BETA_2**t) ** 0.5 / (1 - BETA_1**t)
        point = point - step * first / (second**0.5 + TINY)
        values, gradient = value_gradient(point)
        better = values < least
        best = xp.where(better[:, None], point, best)
        least = xp.where(better, values, least)
    return best, xp.where(least < at_start, rate, rate / 2)


def mirror(
    start: Any, value_direction: Slopes, n_steps: int, rate: Any, caps: Any = math.inf
) -> tuple[Any, Any]:
    """Descend along natural gradients with Nesterov's momentum; never return a point worse than the start.

    A step that raises the value is taken back: the next one starts from the best point, half as long, without
    momentum. Arguments and results are those of :func:`adam`; no coordinate has a step size above its cap (N,).

    Examples
    --------
    >>> import numpy as np
    >>> point, _ = mirror(np.array([[3.0]]), lambda x: (x[:, 0] ** 2, x), 20, np.array([1.0]))
    >>> bool(abs(point[0, 0]) < 1e-3)
    True
    """
    xp = namespace(start)
    point = looked_at = best = start
    values, direction = value_direction(start)
    least = last = values
    best_direction = direction
    age = rate * 0 + 1
    for _ in range(n_steps):
        failed = values > last
        rate = xp.where(failed, rate / 2, LONGER * rate)
        base = xp.where(failed[:, None], best, looked_at)
        along = xp.where(failed[:, None], best_direction, direction)
        stepped = base - xp.clip(rate[:, None], None, caps) * along
        older = (1 + (1 + 4 * age**2) ** 0.5) / 2
        momentum = xp.where(failed, 0 * age, xp.clip((age - 1) / older, None, MOST_MOMENTUM))
        looked_at = stepped + momentum[:, None] * (stepped - point)
        point = xp.where(failed[:, None], best, stepped)
        last = xp.where(failed, least, values)
        age = xp.where(failed, like(1.0, age), older)
        values, direction = value_direction(looked_at)
        better = values < least
        best = xp.where(better[:, None], looked_at, best)
        best_direction = xp.where(better[:, None], direction, best_direction)
        least = xp.where(better, values, least)
    return best, xp.where(values > last, rate / 2, rate)
