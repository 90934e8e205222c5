"""Section 4 of the paper: the random partition phi of a co-assignment matrix, and the PAC-Bayes bound of Theorem 1.

============= ===================== ========== ===============================================================
symbol        name                  shape      meaning
============= ===================== ========== ===============================================================
P             ``P``                 n x n      co-assignment probabilities of a pattern
s^(v)         ``exponents``         V x m      packed similarities of its views, as exponents r with s = exp(-r)
M             ``n_views``                      views that follow the pattern
R(Pi_M, phi)  ``empirical_risk``               mean loss of partitions drawn from phi against the M true ones
R(Pi_0, phi)  ``risk_bound``                   bounds the same over all the partitions that views might have
============= ===================== ========== ===============================================================

The theorem as printed has the two risks the other way round. What its proof gives, and what holds, is

    kl[ R(Pi_M, phi) || R(Pi_0, phi) ] <= rhs

with probability at least 1 - delta over the true partitions of the views, kl the Bernoulli divergence. The proof takes
the similarities as given: they must not depend on the true partitions, while P may.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import entr, xlog1py

from latentsimplex.base.checks import check_count, make_generator
from latentsimplex.base.types import Array
from latentsimplex.pairs.divergence import DIVERGENCES, P_CLIP
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.results.results import read_views_again, results_of
from latentsimplex.similarity.kernel import checked_exponents, clip_exponents
from latentsimplex.uncertainty.partition_losses import as_pair_probabilities

BLOCK_VALUES = 1 << 20
HALVINGS = 200
SMALLEST = np.finfo(float).tiny


def draw_phi(P: Any, n_draws: int, random_state: Any = None, order: Any = None) -> np.ndarray:
    """Return labels (n_draws, n) of partitions drawn from phi (equation 11).

    Samples come in random order. A new one visits those that came before, in random order too because the text
    leaves it open, and draws z_ij ~ Bernoulli(p_ij) wherever earlier draws do not settle the pair. Pairs then do
    not meet with probability p_ij: for three samples with p_ij = 1/2 it is 11/24.

    Parameters
    ----------
    P : CoAssignment or (n, n) array
    n_draws : int
    random_state : int, RandomState, Generator or None
    order : (n,) permutation or None
        The order in which samples come, the same in all draws; None is a random one for each.

    Examples
    --------
    >>> draws = draw_phi(np.full((3, 3), 0.5), 20_000, random_state=0)
    >>> abs(np.mean(draws[:, 0] == draws[:, 1]) - 11 / 24) < 0.01
    np.True_
    """
    from latentsimplex.uncertainty._partition_loops import draw_phi_labels

    pairs = as_pair_probabilities(P)
    n, n_draws, rng = pairs.n_samples, check_count("n_draws", n_draws), make_generator(random_state)
    first = np.arange(n) if order is None else np.asarray(order)
    if not np.array_equal(np.sort(first, axis=None), np.arange(n)):
        raise ValueError(f"order={order!r} is not valid: give each of the samples 0 to {n - 1} once.")
    labels = np.empty((n_draws, n), dtype=np.min_scalar_type(n - 1))
    size = max(1, BLOCK_VALUES // n)
    for start in range(0, n_draws, size):
        block = labels[start : start + size]
        orders = np.tile(first, (len(block), 1))
        if order is None:
            orders = rng.permuted(orders, axis=1)
        block[:] = draw_phi_labels(pairs.table, pairs.dense, orders, rng)
    return labels


def bernoulli_kl(q: Any, p: Any) -> Array:
    """Return kl(q || p) = q log(q / p) + (1 - q) log((1 - q) / (1 - p)).

    >>> bernoulli_kl([0.0, 0.5, 0.5], [0.5, 0.5, 0.0]).round(3).tolist()
    [0.693, 0.0, inf]
    """
    q, p = np.asarray(q, dtype=np.float64), np.asarray(p, dtype=np.float64)
    # by p - q, which keeps the digits of small divergences
    beyond = p - q
    return np.maximum(
        -xlog1py(q, beyond / np.maximum(q, SMALLEST)) - xlog1py(1 - q, -beyond / np.maximum(1 - q, SMALLEST)),
        0.0,
    )


def invert_bernoulli_kl(q: Any, bound: Any) -> Array:
    """Return the largest p with kl(q || p) <= bound.

    Halving in u = log((1 - q) / (1 - p)) >= 0. There kl = (1 - q) u - q log(p / q) with p - q = (1 - q) (1 - exp(-u)),
    which keeps its digits near 0, near 1 and near q, and kl <= bound implies u <= (bound + entropy of q) / (1 - q).

    >>> invert_bernoulli_kl([0.0, 0.1, 1.0], [np.log(2), 0.0, 3.0]).round(6).tolist()
    [0.5, 0.1, 1.0]
    """
    q, bound = np.broadcast_arrays(np.asarray(q, dtype=np.float64), np.asarray(bound, dtype=np.float64))
    if not (((q >= 0) & (q <= 1)).all() and (bound >= 0).all()):
        raise ValueError(
            "q has values outside [0, 1] or bound has negative ones: give probabilities and divergences."
        )
    rest = np.maximum(1 - q, SMALLEST)
    with np.errstate(over="ignore"):  # where q is 1, so is p, whatever u
        low, high = np.zeros(q.shape), (bound + entr(q) + entr(1 - q)) / rest
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            beyond = -rest * np.expm1(-middle) / np.maximum(q, SMALLEST)
            above = rest * middle - xlog1py(q, beyond) > bound
            low, high = np.where(above, low, middle), np.where(above, middle, high)
    return q - rest * np.expm1(-high)


@dataclass(frozen=True)
class PacBayesBound:
    """Theorem 1 for one pattern: what risk its views may have beyond those that were seen.

    Attributes
    ----------
    n_views : int
        M.
    delta : float
        How likely the bound is to fail, at most.
    empirical_risk : float
        R(Pi_M, phi).
    divergence : float
        sum_v sum_{j<i} KL(p_ij || s_ij^(v)).
    divergence_term, moment_term, confidence_term : float
        What is summed in the braces of the right-hand side: ``divergence`` / M;
        log(exp(1 / (12 M)) sqrt(pi M / 2) + 2); and -log delta.
    rhs : float
        Their sum divided by M, which bounds kl[R(Pi_M, phi) || R(Pi_0, phi)].
    risk_bound : float
        The largest R(Pi_0, phi) for which that holds: near 1, and of no use, unless the views are many or their
        similarities close to P, because ``divergence`` is a sum over all pairs.
    """

    n_views: int
    delta: float
    empirical_risk: float
    divergence: float
    divergence_term: float
    moment_term: float
    confidence_term: float
    rhs: float
    risk_bound: float


def pac_bayes_bound(kl_terms: Any, empirical_risk: float, delta: float = 0.05) -> PacBayesBound:
    """Return the bound of Theorem 1 from sum_{j<i} KL(p_ij || s_ij^(v)) of each of the M views of a pattern.

    The empirical risk is the mean, over those views and over draws from phi, of a loss in [0, 1] against the true
    partition of the view, such as ``np.mean([binder_loss(true, draw_phi(P, 1000)) for true in truth])``.

    >>> bound = pac_bayes_bound(np.zeros(100), empirical_risk=0.1)
    >>> round(bound.rhs, 3), round(bound.risk_bound, 3)
    (0.057, 0.229)
    """
    terms = np.asarray(kl_terms, dtype=np.float64)
    M = len(terms) if terms.ndim == 1 else 0
    if M < 2:
        raise ValueError(
            f"kl_terms has shape {terms.shape}: Theorem 1 needs two views of a pattern or more, as its bound on the "
            "exponential moment does; give one divergence per view."
        )
    if not (np.isfinite(terms).all() and (terms >= 0).all()):
        raise ValueError("kl_terms holds negative or non-finite values: divergences are 0 or more.")
    if not 0 <= empirical_risk <= 1:
        raise ValueError(f"empirical_risk={empirical_risk!r} is not valid: give a mean loss in [0, 1].")
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} is not valid: give a probability between 0 and 1.")
    divergence = float(terms.sum())
    divergence_term = divergence / M
    moment_term = float(np.log(np.exp(1 / (12 * M)) * np.sqrt(np.pi * M / 2) + 2))
    confidence_term = float(-np.log(delta))
    rhs = (divergence_term + moment_term + confidence_term) / M
    return PacBayesBound(
        n_views=M,
        delta=float(delta),
        empirical_risk=float(empirical_risk),
        divergence=divergence,
        divergence_term=divergence_term,
        moment_term=moment_term,
        confidence_term=confidence_term,
        rhs=rhs,
        risk_bound=float(invert_bernoulli_kl(empirical_risk, rhs)),
    )


def pattern_divergences(W: Array, exponents: Iterable[Array]) -> Array:
    """Return sum_{j<i} KL(p_ij || s_ij^(v)) for P = W W^T and each view's packed exponents r = -log s (m,).

    Similarities and co-assignments are kept off 0 and 1 as in a fit.

    >>> W = np.array([[0.5, 0.5], [0.5, 0.5]])
    >>> pattern_divergences(W, [np.array([np.log(2)]), np.array([np.log(4)])]).round(3).tolist()
    [0.0, 0.144]
    """
    reverse = DIVERGENCES["reverse"]
    a, h = reverse.a_and_h(np.clip(CoAssignment(W).packed(), P_CLIP, 1 - P_CLIP))

    def divergence(r: Array) -> float:
        if r.shape != h.shape:
            raise ValueError(
                f"A view has exponents of shape {r.shape} and {len(W)} samples have {len(h)} pairs: give one "
                "exponent per pair, in SciPy's condensed order."
            )
        r = clip_exponents(r)
        return float((h - reverse.f(r) * a + reverse.const(r)).sum())

    return np.maximum([divergence(np.asarray(r, dtype=np.float64)) for r in exponents], 0.0)


def pac_bayes(model: Any, data: Any, empirical_risk: Any, delta: float = 0.05) -> dict[int, PacBayesBound]:
    """Return the bound of each live pattern of a fitted model that two views or more follow.

    Parameters
    ----------
    model : fitted LatentSimplexPosition
    data : what it was fitted to
        Its similarities are computed again with ``model.similarity_``.
    empirical_risk : float, or one for each live pattern
        See :func:`pac_bayes_bound`.
    delta : float
        For each bound by itself.
    """
    results = results_of(model)
    kernel, views = results.similarity, read_views_again(results, data)
    if views.present is not None:
        raise ValueError(
            "Some samples are absent from views, and Theorem 1 speaks of all pairs in each view: fit the samples that "
            'all views have, with join="inner".'
        )
    risks = np.asarray(empirical_risk, dtype=np.float64)
    if risks.shape not in [(), (results.n_patterns,)]:
        raise ValueError(
            f"empirical_risk has shape {risks.shape} and there are {results.n_patterns} live patterns: give one "
            "number, or one for each."
        )
    risks = np.broadcast_to(risks, results.n_patterns)
    bounds = {}
    for l, W in enumerate(results.memberships):
        members = np.flatnonzero(results.view_patterns == l)
        if len(members) > 1:
            exponents = (checked_exponents(kernel, views[v], f"view {views.names[v]!r}") for v in members)
            bounds[l] = pac_bayes_bound(pattern_divergences(W, exponents), float(risks[l]), delta)
    if not bounds:
        raise ValueError(
            "Each pattern is followed by a single view: Theorem 1 needs two views of one pattern."
        )
    return bounds
