"""The random partition phi by enumeration; the PAC-Bayes bound by hand, by inversion and by simulation."""

from dataclasses import replace
from itertools import combinations, permutations
from math import comb, exp, factorial, log, pi, sqrt

import numpy as np
import pytest
from scipy.stats import chisquare

from latentsimplex.base.checks import renumber_labels
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.similarity import LocalScaling, Precomputed
from latentsimplex.uncertainty import pac_bayes_theory
from latentsimplex.uncertainty.pac_bayes_theory import (
    bernoulli_kl,
    draw_phi,
    invert_bernoulli_kl,
    pac_bayes,
    pac_bayes_bound,
    pattern_divergences,
)
from latentsimplex.uncertainty.partition_losses import binder_loss
from made_model import made_model, made_stages

N_DRAWS = 60_000


def joinings(j, visits, label, P):
    """All that may happen when j visits earlier samples in this order, as (probability, {i: z_ij}): equation (11)."""
    branches = [(1.0, {})]
    for i in visits:
        after = []
        for probability, z in branches:
            known = {(label[i] == label[other], z[other]) for other in z}
            if (True, 1) in known:
                draws = [(1.0, 1)]
            elif (False, 1) in known or (True, 0) in known:
                draws = [(1.0, 0)]
            else:
                draws = [(P[i, j], 1), (1 - P[i, j], 0)]
            after += [(probability * p, z | {i: value}) for p, value in draws]
        branches = after
    return branches


def phi_probabilities(P, order=None):
    """The exact probability of each partition, over all orders of samples (or a given one) and of visits."""
    n = len(P)
    states = {(-1,) * n: 1.0}  # labels of the samples that have come
    for t in range(n):
        after = {}
        for label, reached in states.items():
            seen = [i for i in range(n) if label[i] >= 0]
            coming = [j for j in range(n) if label[j] < 0] if order is None else [order[t]]
            for j in coming:
                for visits in permutations(seen):
                    for probability, z in joinings(j, visits, label, P):
                        joined = [label[i] for i in seen if z[i]]
                        assert len(set(joined)) <= 1
                        k = joined[0] if joined else max(label) + 1
                        key = (*label[:j], k, *label[j + 1 :])
                        weight = reached * probability / len(coming) / factorial(len(seen))
                        after[key] = after.get(key, 0.0) + weight
        states = after
    found = {}
    for label, probability in states.items():
        key = tuple(renumber_labels(label).tolist())
        found[key] = found.get(key, 0.0) + probability
    return found


def pair_probabilities(probabilities, n):
    P = np.eye(n)
    for i, j in combinations(range(n), 2):
        P[i, j] = P[j, i] = sum(p for label, p in probabilities.items() if label[i] == label[j])
    return P


def random_matrix(n, seed):
    P = np.random.default_rng(seed).random((n, n))
    return (P + P.T) / 2


def check_frequencies(draws, probabilities):
    """Chi-squared, the rare partitions together."""
    labels, counts = np.unique(renumber_labels(draws), axis=0, return_counts=True)
    seen = dict(zip(map(tuple, labels.tolist()), counts.tolist(), strict=True))
    assert set(seen) <= set(probabilities)
    keys = list(probabilities)
    expected = len(draws) * np.array([probabilities[key] for key in keys])
    observed = np.array([seen.get(key, 0) for key in keys])
    common = expected >= 10
    expected = np.append(expected[common], expected[~common].sum() + 1e-300)
    observed = np.append(observed[common], observed[~common].sum())
    assert chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-4


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_phi_against_enumeration(n):
    P = random_matrix(n, seed=n)
    probabilities = phi_probabilities(P)
    assert sum(probabilities.values()) == pytest.approx(1.0)
    check_frequencies(draw_phi(P, N_DRAWS, random_state=n), probabilities)


def test_phi_of_low_rank_co_assignments_against_enumeration():
    W = np.random.default_rng(0).dirichlet([0.6] * 3, size=5)
    check_frequencies(draw_phi(CoAssignment(W), N_DRAWS, random_state=0), phi_probabilities(W @ W.T))


def test_phi_in_a_given_order_against_enumeration():
    P, order = random_matrix(5, seed=7), [3, 0, 4, 1, 2]
    exact = phi_probabilities(P, order)
    check_frequencies(draw_phi(P, N_DRAWS, random_state=7, order=order), exact)
    backwards = phi_probabilities(P, order[::-1])
    assert max(abs(exact[key] - backwards[key]) for key in exact) > 0.01  # the order matters


@pytest.mark.slow
def test_phi_of_six_samples_against_enumeration():
    P = random_matrix(6, seed=6)
    check_frequencies(draw_phi(P, 3 * N_DRAWS, random_state=6), phi_probabilities(P))


def test_pairs_of_phi_do_not_meet_with_their_probability():
    """Three samples with p = 1/2: 7/16 for the pairs of the last to come, 11/24 for a pair in random order."""
    P = np.full((3, 3), 0.5)
    last = pair_probabilities(phi_probabilities(P, order=[0, 1, 2]), 3)
    assert [last[0, 1], last[0, 2], last[1, 2]] == pytest.approx([1 / 2, 7 / 16, 7 / 16])
    exact = pair_probabilities(phi_probabilities(P), 3)
    assert exact[np.triu_indices(3, 1)] == pytest.approx([11 / 24] * 3)
    draws = draw_phi(P, N_DRAWS, random_state=0)
    for i, j in combinations(range(3), 2):
        assert np.mean(draws[:, i] == draws[:, j]) == pytest.approx(11 / 24, abs=4.5 / sqrt(4 * N_DRAWS))


def test_phi_of_certain_pairs_is_their_partition(monkeypatch):
    labels = np.array([0, 1, 0, 2, 1, 0])
    monkeypatch.setattr(pac_bayes_theory, "BLOCK_VALUES", 30)
    draws = draw_phi(np.equal.outer(labels, labels).astype(float), 40, random_state=0)
    assert (renumber_labels(draws) == renumber_labels(labels)).all()
    assert draws.dtype == np.uint8


def test_refused_orders():
    P = np.full((3, 3), 0.5)
    for order in ([0, 1], [0, 1, 1], [1, 2, 3]):
        with pytest.raises(ValueError, match="give each of the samples 0 to 2 once"):
            draw_phi(P, 2, order=order)


def test_divergence_of_two_coins():
    assert bernoulli_kl(0.2, 0.7) == pytest.approx(0.2 * log(0.2 / 0.7) + 0.8 * log(0.8 / 0.3))
    assert bernoulli_kl([0.0, 1.0, 0.3, 0.0, 1.0], [0.3, 0.3, 0.3, 0.0, 1.0]).tolist() == pytest.approx(
        [-log(0.7), -log(0.3), 0.0, 0.0, 0.0]
    )
    assert bernoulli_kl([0.2, 0.2, 1.0], [0.0, 1.0, 0.0]).tolist() == [np.inf] * 3
    # near p = q it is (p - q)^2 / (2 q (1 - q)), far below the rounding of its two terms
    assert bernoulli_kl(0.3, 0.3 + 1e-10) == pytest.approx(1e-20 / (2 * 0.3 * 0.7), rel=1e-5)


def test_inversion_undoes_the_divergence():
    q = np.array([1e-12, 1e-6, 0.01, 0.3, 0.5, 0.9, 1 - 1e-6])[:, None]
    share = np.array([1e-9, 1e-4, 0.1, 0.5, 0.9, 0.999])
    p = q + (1 - q) * share
    found = invert_bernoulli_kl(q, bernoulli_kl(q, p))
    np.testing.assert_allclose(found - q, p - q, rtol=1e-5)
    np.testing.assert_allclose(1 - found, 1 - p, rtol=1e-5)
    assert (found >= q).all()


def test_inversion_at_the_ends():
    bound = np.array([0.0, 1e-20, 1e-3, 2.0, 40.0, 1e6, np.inf])
    np.testing.assert_allclose(invert_bernoulli_kl(0.0, bound), -np.expm1(-bound), rtol=1e-12)
    assert (invert_bernoulli_kl(1.0, bound) == 1).all()
    np.testing.assert_allclose(invert_bernoulli_kl([0.0, 0.2, 0.5], 0.0), [0.0, 0.2, 0.5], atol=1e-12)
    assert (invert_bernoulli_kl([0.1, 0.9], np.inf) == 1).all()
    for q, far in [(-0.1, 1.0), (1.1, 1.0), (0.5, -1.0), (0.5, np.nan)]:
        with pytest.raises(ValueError, match="give probabilities and divergences"):
            invert_bernoulli_kl(q, far)


def test_the_terms_of_the_bound_by_hand():
    bound = pac_bayes_bound([3.0, 5.0, 1.0, 7.0], empirical_risk=0.25, delta=0.1)
    assert (bound.n_views, bound.delta, bound.empirical_risk) == (4, 0.1, 0.25)
    assert bound.divergence == 16.0
    assert bound.divergence_term == 4.0
    assert bound.moment_term == pytest.approx(log(exp(1 / 48) * sqrt(2 * pi) + 2))
    assert bound.confidence_term == pytest.approx(log(10))
    assert bound.rhs == pytest.approx((4 + log(exp(1 / 48) * sqrt(2 * pi) + 2) + log(10)) / 4)
    assert bernoulli_kl(0.25, bound.risk_bound) == pytest.approx(bound.rhs)
    assert bound.risk_bound > 0.25


def test_refused_bounds():
    with pytest.raises(ValueError, match="Theorem 1 needs two views of a pattern or more"):
        pac_bayes_bound([1.0], 0.1)
    for terms in ([1.0, -1.0], [1.0, np.inf], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="negative or non-finite"):
            pac_bayes_bound(terms, 0.1)
    for risk in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match=r"give a mean loss in \[0, 1\]"):
            pac_bayes_bound([1.0, 1.0], risk)
    for delta in (0.0, 1.0):
        with pytest.raises(ValueError, match=r"delta=.* is not valid"):
            pac_bayes_bound([1.0, 1.0], 0.1, delta)


def test_the_printed_direction_is_violated_more_often_than_not():
    """P = S, a loss of 1 with probability 0.1 and of almost 0 otherwise, five views, delta = 0.05."""
    M, delta, almost = 5, 0.05, 1e-9
    risk = 0.1 + 0.9 * almost
    printed = ours = inverted = 0.0
    for bad in range(M + 1):
        probability = comb(M, bad) * 0.1**bad * 0.9 ** (M - bad)
        empirical = (bad + (M - bad) * almost) / M
        bound = pac_bayes_bound(np.zeros(M), empirical, delta)
        printed += probability * (bernoulli_kl(risk, empirical) > bound.rhs)
        ours += probability * (bernoulli_kl(empirical, risk) > bound.rhs)
        inverted += probability * (risk > bound.risk_bound)
    assert printed >= 0.9**5 > 0.5  # whenever no view has the loss of 1, at the least
    assert 0 < ours <= delta
    assert inverted <= ours


@pytest.mark.parametrize("n_views", [2, 5, 20])
def test_the_bound_holds_as_often_as_it_says(n_views):
    """Views whose true partitions are drawn from one distribution, judged by draws from phi of a fixed P."""
    rng = np.random.default_rng(n_views)
    n, n_trials = 5, 4000
    P, S = random_matrix(n, seed=1), random_matrix(n, seed=2)
    draws = draw_phi(P, 500, random_state=0)
    true_partitions = np.array([[0, 0, 0, 1, 1], [0, 1, 2, 3, 4], [0, 0, 0, 0, 0], [0, 1, 1, 0, 2]])
    share = np.array([0.6, 0.2, 0.15, 0.05])
    losses = {
        "binder": np.array([binder_loss(z, draws).mean() for z in true_partitions]),
        "all or nothing": np.array([1.0, 0.0, 0.0, 1.0]),  # as far apart as losses can be
    }
    upper = np.triu_indices(n, 1)
    for loss in losses.values():
        risk = share @ loss
        for prior in (P, S):
            terms = np.full(n_views, bernoulli_kl(P[upper], prior[upper]).sum())
            for delta in (0.05, 0.5, 0.95):
                empirical = loss[rng.choice(4, p=share, size=(n_trials, n_views))].mean(axis=1)
                rhs = pac_bayes_bound(terms, 0.5, delta).rhs
                violated = np.mean(risk > invert_bernoulli_kl(empirical, rhs) + 1e-12)
                assert violated <= delta
    # the last loss with P = S does come close enough to be violated now and then
    rhs = pac_bayes_bound(np.zeros(n_views), 0.5, 0.95).rhs
    empirical = losses["all or nothing"][rng.choice(4, p=share, size=(n_trials, n_views))].mean(axis=1)
    assert np.mean(bernoulli_kl(empirical, risk) > rhs) > 0


def packed_divergence(P, S):
    return sum(bernoulli_kl(P[i, j], S[i, j]) for i, j in combinations(range(len(P)), 2))


def test_divergences_of_views_against_loops():
    W = np.random.default_rng(3).dirichlet([1.0] * 3, size=7)
    S = [random_matrix(7, seed=s) for s in range(4)]
    upper = np.triu_indices(7, 1)
    found = pattern_divergences(W, (-np.log(s[upper]) for s in S))
    np.testing.assert_allclose(found, [packed_divergence(W @ W.T, s) for s in S], rtol=1e-10)
    np.testing.assert_allclose(pattern_divergences(W, [-np.log((W @ W.T)[upper])]), 0.0, atol=1e-12)
    with pytest.raises(ValueError, match=r"exponents of shape \(3,\) and 7 samples have 21 pairs"):
        pattern_divergences(W, [np.zeros(3)])


def test_certain_pairs_have_the_divergences_of_clipped_ones():
    found = pattern_divergences(np.eye(2), [np.array([0.0]), np.array([np.inf])])
    np.testing.assert_allclose(found, [-log(1e-4), -log(1 - 1e-4)], rtol=1e-3)


def ending_with(similarity):
    """Return stages of which the last compared samples with this."""
    search, last = made_stages(6)
    return [search, replace(last, similarity=similarity)]


def test_bounds_of_a_fitted_model():
    rng = np.random.default_rng(4)
    views = [rng.normal(size=(9, 2)) for _ in range(6)]
    memberships = [rng.dirichlet([0.5] * k, size=9) for k in (2, 3, 2)]
    model = made_model(memberships, [0, 1, 0, 2, 1, 0], stages=ending_with(LocalScaling(0.3)), n_features=12)
    bounds = pac_bayes(model, views, [0.1, 0.3, 0.5], delta=0.2)
    assert list(bounds) == [0, 1]  # the third pattern has a single view
    for l, members, risk in [(0, [0, 2, 5], 0.1), (1, [1, 4], 0.3)]:
        exponents = [LocalScaling(0.3).exponents(views[v]) for v in members]
        assert bounds[l] == pac_bayes_bound(pattern_divergences(memberships[l], exponents), risk, 0.2)
    assert pac_bayes(model, views, 0.1)[1].empirical_risk == 0.1


def test_bounds_of_precomputed_similarities():
    S = [random_matrix(5, seed=s) for s in (1, 2)]
    W = np.random.default_rng(5).dirichlet([0.5] * 2, size=5)
    model = made_model([W], [0, 0], stages=ending_with(Precomputed()), n_features=10)
    found = pac_bayes(model, S, 0.2)[0]
    assert found.divergence == pytest.approx(sum(packed_divergence(W @ W.T, s) for s in S))


def test_refused_models():
    rng = np.random.default_rng(6)
    views = [rng.normal(size=(6, 1)) for _ in range(2)]
    W = rng.dirichlet([0.5] * 2, size=6)
    alone = made_model([W, W], [0, 1])
    with pytest.raises(ValueError, match="needs two views of one pattern"):
        pac_bayes(alone, views, 0.1)
    model = made_model([W], [0, 0])
    with pytest.raises(ValueError, match=r"X has 1 features, but .* is expecting 2 features as input"):
        pac_bayes(model, views[:1], 0.1)
    with pytest.raises(
        ValueError, match="The data have 2 views of 5 samples and the model was fitted to 2 of 6"
    ):
        pac_bayes(model, [view[:5] for view in views], 0.1)
    with pytest.raises(ValueError, match=r"empirical_risk has shape \(2,\) and there are 1 live patterns"):
        pac_bayes(model, views, [0.1, 0.2])
