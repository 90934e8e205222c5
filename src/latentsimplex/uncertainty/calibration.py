"""Calibration: whether probabilities are right where the truth is known, by reliability curves and Brier scores.

============ ============== =========== ====================================================
symbol       name           shape       meaning
============ ============== =========== ====================================================
p            ``forecast``   m           probabilities that were given
o            ``outcome``    m           what came true, 0 or 1, or what a perfect method would give
P = X X^T    ``P``          n x n       co-assignments, read for the pairs i < j alone
T = Z Z^T    ``truth``      n x n       which pairs are truly together, from labels, or the oracle's P
n_b          ``counts``     bins        forecasts in a bin, with means p_b and o_b
============ ============== =========== ====================================================

The Brier score, mean (p - o)^2, is reliability - resolution + uncertainty + within, with
reliability = sum_b n_b (p_b - o_b)^2 / m, resolution = sum_b n_b (o_b - mean o)^2 / m, uncertainty = var o, and
what forecasts in one bin differ, within = sum_b n_b [var_b p - 2 cov_b(p, o)] / m.
Pairs are read a tile at a time, and never all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from latentsimplex.base.checks import as_numbers, check_count, check_labels, check_memberships
from latentsimplex.base.condensed import count_pairs
from latentsimplex.base.table import Table
from latentsimplex.base.types import Array, Indices
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.uncertainty.doubtful_samples import pair_blocks, sample_of_pairs

BINS = 10
DIGIT_BITS = 16
"""Bits that one pass settles of the numbers sought in :func:`order_statistics`."""

Blocks = Callable[[], Iterable[tuple[Array, Array]]]
"""Gives forecasts and outcomes in pieces, the same ones each time that it is called."""


class BrierScore(NamedTuple):
    """The mean of (p - o)^2 and its parts: score = reliability - resolution + uncertainty + within."""

    score: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float


class Deviation(NamedTuple):
    """How far estimates are from an oracle: the median and the mean of absolute differences."""

    median: float
    mean: float


@dataclass(frozen=True, eq=False)
class Reliability:
    """Reliability curve: forecasts in bins, beside how often they came true; empty bins are left out.

    Attributes
    ----------
    forecast, frequency : (bins,) arrays
        The mean forecast and the mean outcome of each bin.
    counts : (bins,) array
        The number of forecasts in each bin.
    brier : BrierScore
    """

    forecast: Array
    frequency: Array
    counts: Indices
    brier: BrierScore

    @property
    def expected_calibration_error(self) -> float:
        """The mean over forecasts of the distance ``|p_b - o_b|`` of their bin."""
        return float(np.average(np.abs(self.forecast - self.frequency), weights=self.counts))

    def table(self) -> Table:
        """Return a table with a row for each bin."""
        return Table({"forecast": self.forecast, "frequency": self.frequency, "counts": self.counts})


def reliability_curve(forecast: Any, outcome: Any, n_bins: int = BINS, bins: str = "width") -> Reliability:
    """Return forecasts in bins beside their outcomes.

    Parameters
    ----------
    forecast : (m,) array
        Probabilities.
    outcome : (m,) array
        What came true, 0 or 1, or the probability that a perfect method would give.
    n_bins : int
    bins : "width" or "mass"
        Bins of equal width, or with equal numbers of forecasts as far as equal forecasts, which stay
        together, allow.

    Returns
    -------
    Reliability

    Examples
    --------
    >>> curve = reliability_curve([0.1, 0.1, 0.9, 0.9], [0, 0, 1, 0])
    >>> curve.forecast.tolist(), curve.frequency.tolist(), curve.counts.tolist()
    ([0.1, 0.9], [0.0, 0.5], [2, 2])
    >>> round(curve.expected_calibration_error, 3), round(curve.brier.score, 3)
    (0.25, 0.21)
    """
    p, o = _check_forecasts(forecast, outcome)
    return _reliability(lambda: [(p, o)], len(p), n_bins, bins)


def brier_score(forecast: Any, outcome: Any) -> float:
    """Return the mean of (p - o)^2; 0 is perfect.

    >>> brier_score([0.5, 1.0], [0, 1])
    0.125
    """
    p, o = _check_forecasts(forecast, outcome)
    return float(np.square(p - o).mean())


def pair_reliability(P: CoAssignment, truth: Any, n_bins: int = BINS, bins: str = "width") -> Reliability:
    """Return the co-assignments of the pairs i < j in bins, beside how often pairs are truly together.

    Of more than 10,000 samples these are the pairs of 5,000, always the same ones.

    Parameters
    ----------
    P : CoAssignment
    truth : (n,) labels, or (n, k) oracle memberships, or CoAssignment
    n_bins, bins
        See :func:`reliability_curve`.

    Examples
    --------
    >>> P = CoAssignment(np.array([[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]]))
    >>> pair_reliability(P, [0, 0, 1]).table()
    forecast  frequency  counts
    0         0          1
    0.25      0          1
    0.75      1          1
    """
    P, T = _take_pairs(P, _true_coassignment(truth, P))
    return _reliability(lambda: _pairs(P, T), count_pairs(len(P)), n_bins, bins)


def pair_brier(P: CoAssignment, truth: Any) -> float:
    """Return the mean over pairs i < j of (p_ij - t_ij)^2, in O(n k^2) and without the pairs.

    ``sum_{ij} (p_ij - t_ij)^2 = |X^T X|^2 - 2 |X^T Z|^2 + |Z^T Z|^2`` in Frobenius norms, less the diagonal.
    ``truth`` is as in :func:`pair_reliability`.

    >>> P = CoAssignment(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]))
    >>> round(pair_brier(P, [0, 0, 1]), 3)
    0.167
    """
    Z = _true_coassignment(truth, P).factor
    X = P.factor
    diagonal = np.square(X).sum(axis=1) - np.square(Z).sum(axis=1)
    total = _squared(X.T @ X) - 2 * _squared(X.T @ Z) + _squared(Z.T @ Z) - _squared(diagonal)
    return max(0.0, total / (len(P) * (len(P) - 1)))  # a perfect score may round to less than 0


def constant_brier(truth: Any) -> float:
    """Return the score of giving every pair the share q of pairs that are truly together: q (1 - q).

    >>> round(constant_brier([0, 0, 1, 1]), 3)
    0.222
    """
    labels = check_labels(truth, len(truth))
    n, sizes = len(labels), np.bincount(labels)
    if n < 2:
        raise ValueError("truth has one label and so no pairs: give two samples or more.")
    share = float((sizes * (sizes - 1)).sum() / (n * (n - 1)))
    return share * (1 - share)


def pair_deviation(P: CoAssignment, oracle: Any) -> Deviation:
    """Return the median and the mean over pairs i < j of ``|p_ij - t_ij|``.

    ``oracle`` holds memberships, co-assignments or labels, as ``truth`` in :func:`pair_reliability`, and of very many
    samples the pairs are those of a part, as there.

    >>> pair_deviation(CoAssignment(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])), [0, 0, 1]).median
    0.5
    """
    P, T = _take_pairs(P, _true_coassignment(oracle, P))
    m = count_pairs(len(P))

    def deviations() -> Iterator[Array]:
        return (np.abs(p - t) for p, t in _pairs(P, T))

    middle = order_statistics(deviations, np.array([(m - 1) // 2, m // 2]))
    return Deviation(float(middle.mean()), sum(float(block.sum()) for block in deviations()) / m)


def membership_deviation(W: Any, oracle: Any) -> Deviation:
    """Return the median and the mean over samples of ``sum_k |w_ik - o_ik| / 2``, clusters matched.

    The smaller of the two gets empty clusters, and the matching is the one with the least mean.

    >>> membership_deviation([[0.25, 0.75], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
    Deviation(median=0.125, mean=0.125)
    """
    W, oracle = match_memberships(W, oracle)
    distance = np.abs(W - oracle).sum(axis=1) / 2
    return Deviation(float(np.median(distance)), float(distance.mean()))


def membership_reliability(W: Any, truth: Any, n_bins: int = BINS, bins: str = "width") -> Reliability:
    """Return all w_ik in bins, beside how often sample i is truly in cluster k, clusters matched.

    ``truth`` holds labels (n,) or oracle memberships (n, k).
    """
    W, oracle = match_memberships(W, _indicators(truth, len(W)) if np.ndim(truth) == 1 else truth)
    return reliability_curve(W.ravel(), oracle.ravel(), n_bins, bins)


def match_memberships(W: Any, oracle: Any) -> tuple[Array, Array]:
    """Return W and the oracle with equal numbers of columns, those of W in the order that fits best.

    >>> match_memberships([[0.25, 0.75], [1.0, 0.0]], [[1.0], [1.0]])[0].tolist()
    [[0.25, 0.75], [1.0, 0.0]]
    """
    W, oracle = check_memberships(W), check_memberships(oracle)
    if len(W) != len(oracle):
        raise ValueError(
            f"There are {len(W)} rows of memberships and {len(oracle)} of truth: give the same samples."
        )
    k = max(W.shape[1], oracle.shape[1])
    W, oracle = (np.pad(X, ((0, 0), (0, k - X.shape[1]))) for X in (W, oracle))
    cost = np.array([np.abs(W - column[:, None]).sum(axis=0) for column in oracle.T])
    _, columns = linear_sum_assignment(cost)
    return W[:, columns], oracle


def order_statistics(blocks: Callable[[], Iterable[Array]], ranks: Indices) -> Array:
    """Return the numbers of the given ranks, from 0, among non-negative numbers that come in blocks.

    The bits of such numbers, read as whole numbers, are in the same order. Each of four passes over the
    blocks settles 16 of the 64 bits of each number sought, from the highest, by counting.

    >>> order_statistics(lambda: [np.array([0.5, 0.0]), np.array([2.0])], np.array([1, 2])).tolist()
    [0.5, 2.0]
    """
    remaining, prefix = np.array(ranks, dtype=np.int64), np.zeros(len(ranks), dtype=np.uint64)
    bits, size = np.uint64(DIGIT_BITS), 1 << DIGIT_BITS
    for shift in range(64 - DIGIT_BITS, -1, -DIGIT_BITS):
        settled, which = np.unique(prefix, return_inverse=True)
        counts = np.zeros((len(settled), size), dtype=np.int64)
        for block in blocks():
            number = (np.asarray(block, dtype=np.float64) + 0.0).view(np.uint64) >> np.uint64(shift)
            high, digits = number >> bits, (number % np.uint64(size)).astype(np.intp)
            for row, known in zip(counts, settled, strict=True):
                row += np.bincount(digits[high == known], minlength=size)
        below = np.cumsum(counts, axis=1)[which]
        digit = np.array([row.searchsorted(r, side="right") for row, r in zip(below, remaining, strict=True)])
        remaining -= np.where(digit > 0, below[np.arange(len(ranks)), digit - 1], 0)
        prefix = (prefix << bits) | digit.astype(np.uint64)
    return prefix.view(np.float64)


def _reliability(blocks: Blocks, m: int, n_bins: int, bins: str) -> Reliability:
    edges = _edges(blocks, m, check_count("n_bins", n_bins), bins)
    counts = np.zeros(len(edges) + 1, dtype=np.intp)
    sums, products = np.zeros((2, len(counts))), np.zeros(3)
    for p, o in blocks():
        place = np.zeros(len(p), dtype=np.intp)
        for edge in edges:  # sooner than a search for each forecast
            place += p >= edge
        counts += np.bincount(place, minlength=len(counts))
        sums += [np.bincount(place, values, len(counts)) for values in (p, o)]
        products += [np.einsum("i,i", x, y) for x, y in ((p, p), (p, o), (o, o))]
    filled = counts > 0
    counts, (p, o) = counts[filled], sums[:, filled] / counts[filled]
    share, (pp, po, oo) = counts / m, products / m
    mean = float(share @ o)
    brier = BrierScore(
        score=float(pp - 2 * po + oo),
        reliability=float(share @ np.square(p - o)),
        resolution=float(share @ np.square(o - mean)),
        uncertainty=float(oo - mean**2),
        within=float(pp - share @ p**2 - 2 * (po - share @ (p * o))),
    )
    return Reliability(p, o, counts, brier)


def _edges(blocks: Blocks, m: int, n_bins: int, bins: str) -> Array:
    """Return the least forecasts of all bins but the first."""
    if bins == "width":
        return np.arange(1, n_bins) / n_bins
    if bins == "mass":
        ranks = np.arange(n_bins) * m // n_bins
        return np.unique(order_statistics(lambda: (p for p, _ in blocks()), ranks))[1:]
    raise ValueError(f"bins={bins!r} is unknown: choose 'width' or 'mass'.")


def _take_pairs(P: CoAssignment, T: CoAssignment) -> tuple[CoAssignment, CoAssignment]:
    """Return both for the samples whose pairs are looked at."""
    some = sample_of_pairs(len(P))
    return (P, T) if len(some) == len(P) else (P.take(some), T.take(some))


def _pairs(P: CoAssignment, T: CoAssignment) -> Iterator[tuple[Array, Array]]:
    """Yield p_ij and t_ij of all pairs i < j, a tile at a time; rounding cannot take p out of [0, 1]."""
    for (_, p, upper), (_, t, _) in zip(pair_blocks(P), pair_blocks(T), strict=True):
        yield np.clip(p[upper], 0, 1), t[upper]


def _true_coassignment(truth: Any, P: CoAssignment) -> CoAssignment:
    """Return T of labels, of memberships or as it is, once it has the samples of P, and these have pairs."""
    if not isinstance(P, CoAssignment):
        raise TypeError(
            f"P is a {type(P).__name__}: give co-assignments first, as model.coassignment() returns them."
        )
    if len(P) < 2:
        raise ValueError(f"Co-assignments of {len(P)} sample have no pairs: give two samples or more.")
    if isinstance(truth, CoAssignment):
        T = truth
    elif np.ndim(truth) == 1:
        T = CoAssignment(_indicators(truth, len(P)))
    else:
        T = CoAssignment(check_memberships(truth))
    if len(T) != len(P):
        raise ValueError(
            f"truth has {len(T)} samples and the co-assignments {len(P)}: give the same samples."
        )
    return T


def _indicators(labels: Any, n_samples: int) -> Array:
    """Return labels as memberships that are sure."""
    labels = check_labels(labels, n_samples)
    return np.eye(labels.max() + 1)[labels]


def _check_forecasts(forecast: Any, outcome: Any) -> tuple[Array, Array]:
    p, o = as_numbers(forecast, "forecast"), as_numbers(outcome, "outcome")
    if p.shape != o.shape or p.ndim != 1 or not len(p):
        raise ValueError(
            f"forecast has shape {p.shape} and outcome {o.shape}: give one outcome for each forecast."
        )
    for name, values in (("forecast", p), ("outcome", o)):
        if not ((values >= 0) & (values <= 1)).all():
            raise ValueError(f"{name} holds values outside [0, 1]: give probabilities.")
    return p, o


def _squared(x: Array) -> float:
    return float(np.square(x).sum())
