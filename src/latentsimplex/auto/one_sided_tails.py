"""Tails of a distribution on one side of its centre, by maximum likelihood, and a group beyond them.

Is what lies beyond a tail part of it? That depends on how fast the tail falls, which the samples before it show. Two
families of tails fall in all the ways that clouds without clusters do:

====================== ======================================= =====================================================
family                 density of y > q, but for a constant    what it is like
====================== ======================================= =====================================================
powers                 exp(-(y/s)^b)                           b = 2 normal, 1 exponential, below 1 as lognormal; up
                                                               to 20, nearly even and then nothing
Student's t            (1 + y^2 / (nu s^2))^(-(nu+1)/2)        outliers of any size
====================== ======================================= =====================================================

A group beyond the tail adds a normal hump as wide as the bulk: (1 - w) f(y) + w N(mu, sigma^2). Its f is a power with
b of at most 2, fitted to the bulk alone: no tail is taken to be thinner than that of a normal distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc, gammaln, stdtr

from latentsimplex.base.types import Array

SHAPES = np.geomspace(0.3, 20.0, 16)
"""The powers b that are tried first."""
NORMAL = 2.0
"""The largest power of a tail that a group may be beyond."""
FALLS = np.geomspace(0.02, 80.0, 24)
"""By how many nats the density falls up to the farthest sample, as tried first."""
FREEDOMS = np.array([2.0, 3.0, 5.0, 10.0, 20.0])
WIDTHS = np.geomspace(0.2, 3.0, 12)
"""Scales of Student's t over the spread of the bulk, as tried first."""
ROUNDS = 4
"""How often the step between the parameters that are tried is halved, around the best."""
TINY = 1e-300

LogLikelihood = Callable[[Array, Array], Array]


class Beyond(NamedTuple):
    """Evidence for a group beyond a tail, twice the log of a likelihood ratio, and where the group begins."""

    evidence: float
    edge: float


def compare_with_tails(bulk: Array, group: Array, spread: float, start: float) -> Beyond:
    """Return the evidence that some samples are a group and not the tail of the others.

    ``bulk`` and ``group`` are distances from the centre of the bulk, none less than ``start``, and ``spread`` is the
    standard deviation of the bulk.

    >>> rng = np.random.default_rng(0)
    >>> bulk, group = np.abs(rng.normal(size=150)), 5.5 + rng.normal(size=9)
    >>> compare_with_tails(bulk, group, 1.0, 0.0).evidence > 9
    True
    >>> tail = np.sort(rng.exponential(size=150))
    >>> compare_with_tails(tail[:-9], tail[-9:], 1.0, 0.0).evidence > 9
    False
    """
    together = np.concatenate([bulk, group])
    unit = float(together.max())
    end = max(float(bulk.max()), float(group.min()))
    thin = SHAPES[SHAPES < NORMAL]
    _, b, fall = maximise(
        partial(power_likelihood, bulk / unit, start / unit, end / unit), np.append(thin, NORMAL), FALLS
    )
    share, centre = len(group) / len(together), float(group.mean())
    constant = float(_log_mass(np.array([b]), np.array([fall]), start / unit, np.inf)[0, 0]) + np.log(unit)

    def of_tail(y: Array) -> Array:
        return np.log1p(-share) - fall * (y / unit) ** b - constant

    def of_group(y: Array) -> Array:
        return np.log(share) - np.square((y - centre) / spread) / 2 - np.log(spread * np.sqrt(2 * np.pi))

    mixed = float(np.logaddexp(of_tail(together), of_group(together)).sum())
    powers = maximise(partial(power_likelihood, together / unit, start / unit, np.inf), SHAPES, FALLS)[0]
    students = maximise(partial(student_likelihood, together / spread, start / spread), FREEDOMS, WIDTHS)[0]
    n = len(together)
    one_tail = max(powers - n * np.log(unit), students - n * np.log(spread))
    places = np.linspace(start, centre, 200)
    in_tail = places[of_tail(places) >= of_group(places)]
    return Beyond(2 * (mixed - one_tail), float(in_tail[-1]) if len(in_tail) else start)


def power_likelihood(y: Array, start: float, end: float, shapes: Array, falls: Array) -> Array:
    """Return log likelihoods (shapes, falls) of samples in (start, end) with density exp(-fall y^b), over its mass."""
    logs = np.log(np.maximum(y, np.finfo(float).tiny))
    sums = np.array([np.exp(b * logs).sum() for b in shapes])
    return -falls * sums[:, None] - len(y) * _log_mass(shapes, falls, start, end)


def _log_mass(shapes: Array, falls: Array, start: float, end: float) -> Array:
    """Return the logs of the integrals of exp(-fall y^b) from start to end."""
    b = shapes[:, None]
    whole = gammaln(1 / b) - np.log(b) - np.log(falls) / b
    part = gammaincc(1 / b, falls * start**b)
    if end < np.inf:
        part = part - gammaincc(1 / b, falls * end**b)
    return np.asarray(whole + np.log(np.maximum(part, TINY)))


def student_likelihood(y: Array, start: float, freedoms: Array, widths: Array) -> Array:
    """Return log likelihoods (freedoms, widths) of samples beyond start under one side of Student's t."""
    nu, s = freedoms[:, None], widths
    heights = gammaln((nu + 1) / 2) - gammaln(nu / 2) - np.log(nu * np.pi) / 2 - np.log(s)
    squares = np.square(y[:, None] / s)
    sums = np.array([np.log1p(squares / each).sum(axis=0) for each in freedoms])
    beyond = np.maximum(stdtr(nu, -start / s), TINY)
    return np.asarray(len(y) * (heights - np.log(beyond)) - (nu + 1) / 2 * sums)


def maximise(log_likelihood: LogLikelihood, first: Array, second: Array) -> tuple[float, float, float]:
    """Return the largest log likelihood, and where: looked for on a grid, then on finer ones around the best.

    >>> maximise(lambda a, b: -np.square(np.log(a[:, None] * b / 6)), np.array([1.0, 2.0]), np.array([2.0, 4.0]))[0]
    -0.0
    """
    bounds = [(grid.min(), grid.max()) for grid in (first, second)]
    steps = [np.log(grid[1] / grid[0]) for grid in (first, second)]
    grids = [first, second]
    best, at = -np.inf, (float(first[0]), float(second[0]))
    for _ in range(ROUNDS + 1):
        values = log_likelihood(*grids)
        i, j = np.unravel_index(int(np.argmax(values)), values.shape)
        if values[i, j] > best:
            best, at = float(values[i, j]), (float(grids[0][i]), float(grids[1][j]))
        steps = [step / 2 for step in steps]
        grids = [
            np.clip(centre * np.exp(step * np.arange(-1, 2)), *bound)
            for centre, step, bound in zip(at, steps, bounds, strict=True)
        ]
    return best, *at
