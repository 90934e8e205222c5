"""The two divergences between a co-assignment probability p and a similarity s, in one shape.

Both Bernoulli divergences separate into a part that only the similarities enter and a part that
only the memberships enter::

    D(p, s) = h(p) - f(s) a(p) + const(s)

=========== ================ ========= ============================= =========================
name        f(s)             a(p)      h(p)                          const(s)
=========== ================ ========= ============================= =========================
``reverse`` logit s          p         p log p + (1-p) log(1-p)      -log(1-s)
``forward`` s                logit p   -log(1-p)                     s log s + (1-s) log(1-s)
=========== ================ ========= ============================= =========================

``reverse`` is KL(P || S), the paper's equation (5); ``forward`` is KL(S || P), cross-entropy up to a
constant. Similarities arrive as exponents r = -log s, so that no function here takes the logarithm
of an exponential: log(1 - s) = log(-expm1(-r)).
"""

from __future__ import annotations

from typing import Protocol

from latentsimplex.base.arrays import array_namespace, sigmoid
from latentsimplex.base.types import Array

P_CLIP = 1e-9
"""Co-assignment probabilities are kept this far from 0 and 1, where the divergences are infinite."""


class Divergence(Protocol):
    """What EM needs to know about a divergence; ``r`` are exponents, ``p`` are clipped probabilities."""

    name: str

    def f(self, r: Array) -> Array:
        """Return f(s), the only thing EM ever reads of a similarity."""

    def const(self, r: Array) -> Array:
        """Return const(s), which makes the loss a true divergence but moves no estimate."""

    def mean(self, f: Array) -> Array:
        """Return the probability that fits views best whose mean f(s) is ``f``: the inverse of f."""

    def a_and_h(self, p: Array) -> tuple[Array, Array]:
        """Return a(p) and h(p)."""

    def value_and_slope(self, p: Array, mass: float, stat: Array) -> tuple[Array, Array]:
        """Return mass h(p) - stat a(p) and its derivative in p."""


class Reverse:
    """KL(P || S), the paper's equation (5)."""

    name = "reverse"

    def f(self, r: Array) -> Array:
        """Return the log-odds log(s / (1 - s)) = -r - log(1 - exp(-r))."""
        return -r - log1m_similarity(r)

    def const(self, r: Array) -> Array:
        """Return -log(1 - s)."""
        return -log1m_similarity(r)

    def mean(self, f: Array) -> Array:
        """Return the probability with log-odds ``f`` (section 3.1)."""
        return sigmoid(f)

    def a_and_h(self, p: Array) -> tuple[Array, Array]:
        """Return p and minus the entropy of p."""
        xp = array_namespace(p)
        log_q = xp.log1p(-p)
        return p, p * (xp.log(p) - log_q) + log_q

    def value_and_slope(self, p: Array, mass: float, stat: Array) -> tuple[Array, Array]:
        """Return mass h - stat p and mass logit p - stat."""
        xp = array_namespace(p)
        log_q = xp.log1p(-p)
        slope = xp.log(p)
        slope -= log_q
        slope *= mass
        slope -= stat
        log_q *= mass
        log_q += p * slope
        return log_q, slope


class Forward:
    """KL(S || P): what cross-entropy with S as the target minimises."""

    name = "forward"

    def f(self, r: Array) -> Array:
        """Return s itself."""
        return array_namespace(r).exp(-r)

    def const(self, r: Array) -> Array:
        """Return minus the entropy of s."""
        s = array_namespace(r).exp(-r)
        return -s * r + (1 - s) * log1m_similarity(r)

    def mean(self, f: Array) -> Array:
        """Return ``f``, which is a mean of similarities."""
        return f

    def a_and_h(self, p: Array) -> tuple[Array, Array]:
        """Return logit p and -log(1 - p)."""
        xp = array_namespace(p)
        log_q = xp.log1p(-p)
        return xp.log(p) - log_q, -log_q

    def value_and_slope(self, p: Array, mass: float, stat: Array) -> tuple[Array, Array]:
        """Return -mass log(1-p) - stat logit p and (mass p - stat) / (p (1-p))."""
        xp = array_namespace(p)
        log_q = xp.log1p(-p)
        value = (stat - mass) * log_q - stat * xp.log(p)
        return value, (mass * p - stat) / (p * (1 - p))


def log1m_similarity(r: Array) -> Array:
    """Return log(1 - s) for s = exp(-r), exact where s is near 1.

    >>> import numpy as np
    >>> bool(np.isclose(log1m_similarity(np.array([1e-12]))[0], np.log(1e-12)))
    True
    """
    xp = array_namespace(r)
    return xp.log(-xp.expm1(-r))


DIVERGENCES: dict[str, Divergence] = {"reverse": Reverse(), "forward": Forward()}
