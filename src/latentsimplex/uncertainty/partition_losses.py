"""Partitions (clusterings) drawn from memberships, and losses between them: variation of information, Binder's loss.

========== ============== ============== ==================================================================
symbol     name           shape          meaning
========== ============== ============== ==================================================================
W          ``W``          n x g          memberships, rows on the simplex
z          ``draws``      draws x n      partitions drawn from what is believed, as labels
c          ``labels``     n              the partition that is judged
P          ``pairs``      n x n          co-assignment probabilities: z_i = z_j with probability p_ij
a, b       ``costs``                     of setting apart what belongs together, of joining what does not
========== ============== ============== ==================================================================

With n_k and m_l the sizes of the clusters of c and z, and n_kl those of their intersections, both losses are

    L(c, z) = [ b sum_k t(n_k) + a sum_l t(m_l) - (a + b) sum_kl t(n_kl) ] / scale

========== ================== ============= ==============================================================
loss       t(x)               scale         unit at a = b = 1
========== ================== ============= ==============================================================
"vi"       x log x            n             variation of information, in nats
"binder"   x (x - 1) / 2      n (n - 1) / 2 share of pairs on which c and z disagree, 1 - Rand index
========== ================== ============= ==============================================================

so that one search for the best labels serves both (:mod:`latentsimplex.uncertainty.point_estimates`). The expectation
of Binder's loss needs z only through P.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from latentsimplex.base.checks import (
    PROBABILITY_ROUNDING,
    check_count,
    check_memberships,
    check_one_per_sample,
    make_generator,
    renumber_labels,
)
from latentsimplex.base.types import Array
from latentsimplex.results.coassignment import CoAssignment

BLOCK_VALUES = 1 << 22


class Loss(NamedTuple):
    """What makes a loss: t(x), and its scale for n samples."""

    growth: Callable[[Any], Any]
    scale: Callable[[int], float]


LOSSES = {
    "vi": Loss(growth=lambda x: xlogy(x, x), scale=float),
    "binder": Loss(growth=lambda x: x * (x - 1) / 2, scale=lambda n: n * (n - 1) / 2),
}


def draw_partitions(W: Any, n_draws: int, random_state: Any = None) -> np.ndarray:
    """Return labels (n_draws, n) with c_i ~ Categorical(w_i), independent: i and j meet with probability (W W^T)_ij.

    >>> draw_partitions(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]), 4, random_state=0)[:, :2].tolist()
    [[0, 1], [0, 1], [0, 1], [0, 1]]
    """
    W = check_memberships(W)
    n_draws, rng = check_count("n_draws", n_draws), make_generator(random_state)
    n, g = W.shape
    edges = np.cumsum(W, axis=1)
    edges /= edges[:, -1:]
    labels = np.zeros((n_draws, n), dtype=np.min_scalar_type(g - 1))
    size = max(1, BLOCK_VALUES // n)
    for start in range(0, n_draws, size):
        block = labels[start : start + size]
        u = rng.random(block.shape)
        for k in range(g - 1):
            block += u >= edges[:, k]
    return labels


def draw_consensus(memberships: list[Any], shares: Any, n_draws: int, random_state: Any = None) -> np.ndarray:
    """Return labels (n_draws, n) of a consensus: a pattern by its share, then clusters by its memberships.

    Pairs meet with probability sum_l c_l W_l W_l^T, the consensus co-assignment, c the shares divided by their sum.
    Those of a fitted model are ``np.bincount(model.view_patterns_, model.consensus_.weights)``.

    >>> W = [np.eye(2)[[0, 0, 1]], np.eye(2)[[0, 1, 1]]]
    >>> draws = draw_consensus(W, [4, 1], 1000, random_state=0)
    >>> float((draws[:, 0] == draws[:, 1]).mean().round(1)), float((draws[:, 0] == draws[:, 2]).mean())
    (0.8, 0.0)
    """
    Ws = [check_memberships(W, f"memberships[{l}]") for l, W in enumerate(memberships)]
    c = np.asarray(shares, dtype=np.float64)
    if c.shape != (len(Ws),) or not (np.isfinite(c).all() and (c >= 0).all() and c.sum() > 0):
        raise ValueError(
            f"shares={c.tolist()} are not the shares of {len(Ws)} patterns: give each a number of at least 0, and "
            "one of them more."
        )
    if len({len(W) for W in Ws}) > 1:
        raise ValueError(
            f"memberships have {[len(W) for W in Ws]} rows: all patterns must describe the same samples."
        )
    n_draws, rng = check_count("n_draws", n_draws), make_generator(random_state)
    patterns = rng.choice(len(Ws), size=n_draws, p=c / c.sum())
    labels = np.empty((n_draws, len(Ws[0])), dtype=np.min_scalar_type(max(W.shape[1] for W in Ws) - 1))
    for l in np.unique(patterns):
        drawn = np.flatnonzero(patterns == l)
        labels[drawn] = draw_partitions(Ws[l], len(drawn), rng)
    return labels


def to_xarray(draws: Any, sample_names: Any = None) -> Any:
    """Return draws, (draws, n) or (chains, draws, n), as an xarray Dataset with dimensions chain, draw and sample.

    ArviZ takes it as a posterior: ``arviz.convert_to_inference_data(dataset)``, or from its version 1 on
    ``arviz.convert_to_datatree(dataset)``.
    """
    try:
        xarray = import_module("xarray")
    except ImportError:
        raise ImportError("to_xarray needs xarray, which is not installed: pip install xarray.") from None
    labels = np.asarray(draws)
    labels = labels[None] if labels.ndim == 2 else labels
    if labels.ndim != 3:
        raise ValueError(
            f"draws has shape {labels.shape}: to_xarray takes (draws, samples) or (chains, draws, samples)."
        )
    names = np.arange(labels.shape[2]) if sample_names is None else np.asarray(sample_names)
    coordinates = {"chain": np.arange(labels.shape[0]), "draw": np.arange(labels.shape[1]), "sample": names}
    return xarray.Dataset({"cluster": (("chain", "draw", "sample"), labels)}, coords=coordinates)


def variation_of_information(labels: Any, others: Any) -> Array:
    """Return H(c|z) + H(z|c) in nats, between ``labels`` (n,) and each of ``others`` (..., n).

    >>> variation_of_information([0, 0, 1, 1], [[1, 1, 0, 0], [0, 0, 0, 0]]).round(3).tolist()
    [0.0, 0.693]
    """
    return _losses(labels, others, "vi", (1.0, 1.0))


def binder_loss(labels: Any, others: Any) -> Array:
    """Return the share of pairs that one joins and the other does not, for ``labels`` (n,) and ``others`` (..., n).

    >>> binder_loss([0, 0, 1], [[5, 5, 3], [0, 1, 2], [0, 1, 1]]).round(3).tolist()
    [0.0, 0.333, 0.667]
    """
    return _losses(labels, others, "binder", (1.0, 1.0))


def expected_vi(labels: Any, draws: Any, costs: tuple[float, float] = (1.0, 1.0)) -> float:
    """Return the mean variation of information, in nats, between ``labels`` (n,) and ``draws`` (draws, n)."""
    return float(_losses(labels, check_draws(draws), "vi", costs).mean())


def expected_binder(labels: Any, source: Any, costs: tuple[float, float] = (1.0, 1.0)) -> float:
    """Return Binder's expected loss of ``labels``, given draws or co-assignments.

    sum_{i<j} [ b z_ij (1 - p_ij) + a (1 - z_ij) p_ij ] / (n (n - 1) / 2), z_ij = 1 where labels join i and j.

    >>> P = np.array([[1.0, 0.9, 0.2], [0.9, 1.0, 0.4], [0.2, 0.4, 1.0]])
    >>> round(expected_binder([0, 0, 1], P), 3)
    0.233
    """
    if is_draws(source):
        return float(_losses(labels, check_draws(source), "binder", costs).mean())
    pairs = as_pair_probabilities(source)
    c = _check_partition(labels, pairs.n_samples)
    a, b = check_costs(costs)
    within = pairs.expected_companions(c).sum() / 2
    among = pairs.expected_companions(np.zeros_like(c)).sum() / 2
    t, scale = LOSSES["binder"]
    return float(b * (t(np.bincount(c)).sum() - within) + a * (among - within)) / scale(len(c))


def expected_vi_bound(labels: Any, source: Any, costs: tuple[float, float] = (1.0, 1.0)) -> float:
    """Return what Wade and Ghahramani (2018) minimise in place of the expected variation of information, in nats.

    sum_i [ b log n_c(i) + a log sum_j p_ij - (a + b) log sum_{j in c(i)} p_ij ] / n with p_ii = 1. By Jensen's
    inequality the last term is a lower bound of its expectation. The middle one, which does not depend on the
    labels, is an upper bound.
    """
    pairs = as_pair_probabilities(source)
    c = _check_partition(labels, pairs.n_samples)
    a, b = check_costs(costs)
    within, among = 1 + pairs.expected_companions(c), 1 + pairs.expected_companions(np.zeros_like(c))
    return float(np.mean(b * np.log(np.bincount(c))[c] + a * np.log(among) - (a + b) * np.log(within)))


class PairProbabilities(NamedTuple):
    """Co-assignment probabilities as a table: the factor X of P = X X^T, or P itself where ``dense``."""

    table: Array
    dense: bool

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return len(self.table)

    def expected_companions(self, labels: np.ndarray) -> Array:
        """Return sum of p_ij over the other samples j in i's cluster, for each i: how many are expected to be right."""
        if not self.dense:
            sums = np.zeros((int(labels.max()) + 1, self.table.shape[1]))
            np.add.at(sums, labels, self.table)
            return (self.table * (sums[labels] - self.table)).sum(axis=1)
        result = -np.diag(self.table)
        for k in range(int(labels.max()) + 1):
            members = np.flatnonzero(labels == k)
            result[members] += self.table[np.ix_(members, members)].sum(axis=1)
        return result


def is_draws(source: Any) -> bool:
    """Return whether ``source`` holds labels, whole numbers, and not probabilities."""
    return not isinstance(source, CoAssignment) and np.asarray(source).dtype.kind in "iu"


def as_pair_probabilities(source: Any) -> PairProbabilities:
    """Return the pair probabilities of a CoAssignment or of a symmetric matrix in [0, 1]; its diagonal says nothing."""
    low_rank = isinstance(source, CoAssignment)
    table = np.ascontiguousarray(source.factor if low_rank else source)
    square = table.dtype.kind == "f" and table.shape == (len(table), len(table))
    if len(table) < 2 or not (low_rank or square):
        raise ValueError(
            f"An array of {table.dtype} with shape {table.shape} holds no pairs: pass a CoAssignment or a square "
            "matrix of floating-point probabilities, of two samples or more."
        )
    in_range = low_rank or (table.min() >= -PROBABILITY_ROUNDING and table.max() <= 1 + PROBABILITY_ROUNDING)
    if not (in_range and (low_rank or np.allclose(table, table.T, rtol=0, atol=PROBABILITY_ROUNDING))):
        raise ValueError(
            "The co-assignment matrix has entries outside [0, 1], NaN, or is not symmetric: pass probabilities, "
            "and draws as whole numbers."
        )
    return PairProbabilities(table.astype(np.float64, copy=False), not low_rank)


def check_draws(draws: Any) -> np.ndarray:
    """Return draws (draws, n) as an array, refusing what holds no partitions of two samples or more."""
    labels = np.asarray(draws)
    if not is_draws(labels) or labels.ndim != 2 or labels.shape[0] < 1 or labels.shape[1] < 2:
        raise ValueError(
            f"An array of {labels.dtype} with shape {labels.shape} holds no draws: pass whole-number labels "
            "(draws, samples), as draw_partitions gives them."
        )
    return labels


def check_costs(costs: Any) -> tuple[float, float]:
    """Return the costs a and b, refusing all but two positive numbers."""
    values = np.asarray(costs, dtype=np.float64)
    if values.shape != (2,) or not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(
            f"costs={costs!r} is not valid: give two positive numbers, the cost of setting apart what belongs "
            "together and that of joining what does not."
        )
    return float(values[0]), float(values[1])


def _losses(labels: Any, others: Any, loss: str, costs: Any) -> Array:
    """Return L(c, z) between ``labels`` (n,) and each of ``others`` (..., n)."""
    z = np.asarray(others)
    c = _check_partition(labels, z.shape[-1] if z.ndim else 0)
    a, b = check_costs(costs)
    t, scale = LOSSES[loss]
    own = b * t(np.bincount(c)).sum()
    values = np.empty(z.shape[:-1])
    for index in np.ndindex(values.shape):
        _, other, sizes = np.unique(z[index], return_inverse=True, return_counts=True)
        _, shared = np.unique(c * len(sizes) + other, return_counts=True)
        values[index] = own + a * t(sizes).sum() - (a + b) * t(shared).sum()
    # equal partitions differ by nothing, up to the rounding of sums in another order
    return np.maximum(values, 0.0) / scale(len(c))


def _check_partition(labels: Any, n_samples: int) -> np.ndarray:
    """Return one partition of two samples or more, clusters numbered as they appear."""
    if n_samples < 2:
        raise ValueError(f"Partitions of {n_samples} samples cannot be compared: give two samples or more.")
    return renumber_labels(check_one_per_sample(labels, n_samples))
