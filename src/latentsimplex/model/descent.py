"""Gradient descent on several problems at once, each keeping its best point: Adam, and mirror descent with momentum.

Adam (Kingma and Ba) is the paper's gradient descent. Mirror descent is Nesterov's method on the parameters theta
of W = softmax(theta), along the gradient in W itself: the natural gradient of the simplex, which needs no small
step where a membership is near 0 or 1. How it goes on from step to step, :func:`next_pace`, is the same here and in the
compiled loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from latentsimplex.base.arrays import array_namespace, convert_like, to_host

BETA_1, BETA_2, ADAM_FLOOR = 0.9, 0.999, 1e-8
LONGER, MOST_MOMENTUM = 1.05, 0.9
"""A step that lowers the value makes the next one longer by this factor; one that does not is taken back."""

Slopes = Callable[[Any], tuple[Any, Any]]
"""Maps points (d, N) to values (d,) and directions (d, N) in which they rise."""


def adam(start: Any, value_and_gradient: Slopes, n_steps: int, rate: Any) -> tuple[Any, Any]:
    """Return for each problem the best of the points visited along gradients from a start (d, N), never a worse one.

    With it come the step sizes (d,) to go on with: half as long where nothing better than the start was found.

    >>> import numpy as np
    >>> point, rate = adam(np.array([[3.0]]), lambda x: (x[:, 0] ** 2, 2 * x), 200, np.array([0.1]))
    >>> bool(abs(point[0, 0]) < 0.03), rate.tolist()
    (True, [0.1])
    """
    xp = array_namespace(start)
    point, best = start, start
    first, second = xp.zeros_like(start), xp.zeros_like(start)
    values, gradient = value_and_gradient(point)
    least = at_start = values
    for t in range(1, n_steps + 1):
        first = first + (1 - BETA_1) * (gradient - first)
        second = second + (1 - BETA_2) * (gradient**2 - second)
        step = rate[:, None] * (1 - BETA_2**t) ** 0.5 / (1 - BETA_1**t)
        point = point - step * first / (second**0.5 + ADAM_FLOOR)
        values, gradient = value_and_gradient(point)
        better = values < least
        best = xp.where(better[:, None], point, best)
        least = xp.where(better, values, least)
    return best, xp.where(least < at_start, rate, rate / 2)


def next_pace(
    value: float, last: float, least: float, age: float, rate: float
) -> tuple[bool, float, float, float, float]:
    """Return how mirror descent goes on: whether the last step failed, the step size, momentum, age, value to beat.

    A step that raises the value is taken back: the next one starts from the best point, half as long, without
    momentum. ``least`` is the value of the best point; the age is Nesterov's, 1 at the start.

    >>> next_pace(value=2.0, last=1.0, least=1.0, age=3.0, rate=4.0)
    (True, 2.0, 0.0, 1.0, 1.0)
    """
    if value > last:
        return True, rate / 2, 0.0, 1.0, least
    older = (1 + math.sqrt(1 + 4 * age * age)) / 2
    return False, LONGER * rate, min((age - 1) / older, MOST_MOMENTUM), older, value


def mirror(
    start: Any, value_and_direction: Slopes, n_steps: int, rate: Any, caps: Any = math.inf
) -> tuple[Any, Any]:
    """Descend along natural gradients with Nesterov's momentum; never return a point worse than the start.

    Arguments and results are those of :func:`adam`; no coordinate has a step size above its cap (N,).

    >>> import numpy as np
    >>> point, _ = mirror(np.array([[3.0]]), lambda x: (x[:, 0] ** 2, x), 20, np.array([1.0]))
    >>> bool(abs(point[0, 0]) < 1e-3)
    True
    """
    xp = array_namespace(start)

    def column(numbers: list[Any]) -> Any:
        return convert_like(numbers, start)[:, None]

    point = looked_at = best = start
    found, direction = value_and_direction(start)
    best_direction = direction
    values = to_host(found).tolist()
    least, last, ages, rates = list(values), list(values), [1.0] * len(values), to_host(rate).tolist()
    for _ in range(n_steps):
        paces = [next_pace(*each) for each in zip(values, last, least, ages, rates, strict=True)]
        failures, rates, momenta, ages, last = map(list, zip(*paces, strict=True))
        failed = column(failures) > 0
        base = xp.where(failed, best, looked_at)
        along = xp.where(failed, best_direction, direction)
        stepped = base - xp.clip(column(rates), None, caps) * along
        looked_at = stepped + column(momenta) * (stepped - point)
        point = xp.where(failed, best, stepped)
        found, direction = value_and_direction(looked_at)
        values = to_host(found).tolist()
        better = column([value < lowest for value, lowest in zip(values, least, strict=True)]) > 0
        best = xp.where(better, looked_at, best)
        best_direction = xp.where(better, direction, best_direction)
        least = list(map(min, values, least))
    ends = [step / 2 if value > beat else step for value, beat, step in zip(values, last, rates, strict=True)]
    return best, convert_like(ends, start)
