"""The two divergences of :mod:`latentsimplex.pairs.divergence` for one pair of samples, compiled, in either precision.

Every compiled loop over pairs calls these: a formula stands once in that file, for arrays and tensors, and once here.
A loop over many pairs has to ask which divergence it is before it begins, not for each pair, to be quick.
"""

from __future__ import annotations

from typing import Any

from latentsimplex.base.compiled import compiled
from latentsimplex.base.float_math import exp_and_rest, log


@compiled
def forward_f_and_const(r: Any) -> tuple[Any, Any]:  # pragma: no cover
    """Return f(s) and const(s) of KL(S || P) at s = exp(-r), r of single precision and in [0, 80]."""
    s, rest = exp_and_rest(-r)
    return s, rest * log(rest) - s * r


@compiled
def reverse_f_and_const(r: Any) -> tuple[Any, Any]:  # pragma: no cover
    """Return f(s) and const(s) of KL(P || S) at s = exp(-r), r of single precision and in [0, 80]."""
    log_rest = log(exp_and_rest(-r)[1])
    return -r - log_rest, -log_rest


@compiled
def forward_a_and_h(p: Any) -> tuple[Any, Any]:  # pragma: no cover
    """Return a(p) and h(p) of KL(S || P)."""
    log_rest = log(type(p)(1.0) - p)
    return log(p) - log_rest, -log_rest


@compiled
def reverse_a_and_h(p: Any) -> tuple[Any, Any]:  # pragma: no cover
    """Return a(p) and h(p) of KL(P || S)."""
    log_rest = log(type(p)(1.0) - p)
    return p, p * (log(p) - log_rest) + log_rest


@compiled
def forward_value_and_slope(p: Any, mass: Any, stat: Any) -> tuple[Any, Any]:  # pragma: no cover
    """Return mass h(p) - stat a(p) and its derivative in p, of KL(S || P)."""
    rest = type(p)(1.0) - p
    return (stat - mass) * log(rest) - stat * log(p), (mass * p - stat) / (p * rest)


@compiled
def reverse_value_and_slope(p: Any, mass: Any, stat: Any) -> tuple[Any, Any]:  # pragma: no cover
    """Return mass h(p) - stat a(p) and its derivative in p, of KL(P || S)."""
    log_rest = log(type(p)(1.0) - p)
    slope = mass * (log(p) - log_rest) - stat
    return mass * log_rest + p * slope, slope
