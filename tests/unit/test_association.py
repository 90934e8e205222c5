"""Patterns related beyond chance: exact against scikit-learn and brute force, fair where nothing is there."""

import itertools

import numpy as np
import pytest
from scipy.stats import false_discovery_control, gamma, norm, rankdata, skew
from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

from latentsimplex import association
from latentsimplex.association import (
    associate_model,
    associate_patterns,
    benjamini_hochberg,
    maximum_p_values,
    normal_scores,
    permutation_p_values,
    sample_orders,
)
from made_model import made_model


def test_agreement_is_that_of_scikit_learn():
    labels = np.random.default_rng(0).integers(4, size=(6, 50))
    labels[1] = labels[0] % 2
    found = associate_patterns(labels, 20, random_state=0)
    for k, l in itertools.product(range(6), repeat=2):
        assert found.nmi[k, l] == pytest.approx(normalized_mutual_info_score(labels[k], labels[l]))
        assert found.ami[k, l] == pytest.approx(adjusted_mutual_info_score(labels[k], labels[l]))


def test_p_values_are_the_share_of_all_permutations():
    a, b = np.array([0, 0, 0, 1, 1, 1, 1]), np.array([0, 0, 1, 1, 2, 2, 2])
    observed = normalized_mutual_info_score(a, b)
    every = [
        normalized_mutual_info_score(a, np.array(p)) >= observed - 1e-9
        for p in set(itertools.permutations(b))
    ]
    found = associate_patterns([a, b], 20_000, random_state=1)
    assert found.p_values[0, 1] == pytest.approx(np.mean(every), abs=4 * np.sqrt(0.25 / 20_000))
    assert found.familywise[0, 1] == found.false_discovery[0, 1] == found.p_values[0, 1]  # one pair


def test_related_patterns_are_found_among_others():
    rng = np.random.default_rng(2)
    labels = rng.integers(3, size=(8, 80))
    labels[5] = np.where(rng.random(80) < 0.7, labels[2], rng.integers(3, size=80))
    found = associate_patterns(labels, 2000, random_state=0)
    related = np.argwhere(np.triu(found.familywise <= 0.05, 1)).tolist()
    assert related == [[2, 5]]
    first = found.table().rows([0])
    assert (first["first"][0], first["second"][0]) == (2, 5)
    assert len(found.table()) == 28


def test_a_pattern_without_clusters_is_related_to_none():
    labels = np.array([[0] * 10, [0, 1] * 5, [0] * 5 + [1] * 5])
    found = associate_patterns(labels, 50, random_state=0)
    assert found.nmi[0].tolist() == [1, 0, 0]
    for p in (found.p_values, found.familywise, found.false_discovery):
        assert p[0, 1:].tolist() == [1, 1]
        assert np.isnan(np.diag(p)).all()
    assert found.false_discovery[1, 2] == found.p_values[1, 2]  # the one pair that could be tested


def test_blocks_of_permutations_do_not_matter(monkeypatch):
    labels = np.random.default_rng(3).integers(3, size=(4, 20))
    whole = associate_patterns(labels, 100, random_state=5)
    monkeypatch.setattr(association, "_BLOCK", 4 * 20 * 7)
    pieces = associate_patterns(labels, 100, random_state=5)
    np.testing.assert_array_equal(pieces.familywise, whole.familywise)


def test_patterns_of_a_model():
    W = np.random.default_rng(4).dirichlet([0.3, 0.3], size=(3, 30))
    model = made_model(list(W), [0, 1, 2, 2])
    found = associate_model(model, 99, random_state=0)
    expected = associate_patterns(model.pattern_labels_, 99, random_state=0)
    np.testing.assert_array_equal(found.p_values, expected.p_values)


def false_findings(n_trials, n_permutations, rng):
    """The share of trials in which some pair of unrelated patterns, of unlike sizes, looks related at 5%."""
    found = 0
    for _ in range(n_trials):
        labels = np.array([rng.integers(k, size=30) for k in (2, 2, 3, 6)])
        found += np.nanmin(associate_patterns(labels, n_permutations, rng).familywise) <= 0.05
    return found / n_trials


def test_familywise_error():
    rate = false_findings(300, 99, np.random.default_rng(0))
    assert rate == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 300))


@pytest.mark.slow
def test_familywise_error_over_many_trials():
    rate = false_findings(4000, 199, np.random.default_rng(1))
    assert rate == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / 4000))


def beside_a_copy(n_trials, n_permutations, rng):
    """With one pattern twice: the shares of trials that find it, a milder relation, and one that is not there."""
    found = np.zeros(3)
    for _ in range(n_trials):
        labels = np.array([rng.integers(k, size=60) for k in (2, 2, 3, 6, 3, 2)])
        labels[1] = labels[0]
        labels[4] = np.where(rng.random(60) < 0.5, labels[2], labels[4])
        p = associate_patterns(labels, n_permutations, rng).familywise
        found += [
            p[0, 1] <= 0.05,
            p[2, 4] <= 0.05,
            np.delete(p[np.triu_indices(6, 1)], [0, 10]).min() <= 0.05,
        ]
    return found / n_trials


def test_a_pattern_that_is_there_twice_does_not_hide_another_relation():
    copy, milder, _ = beside_a_copy(30, 999, np.random.default_rng(2))
    assert copy == 1
    assert milder > 0.6


@pytest.mark.slow
def test_a_pattern_that_is_there_twice_does_not_raise_the_error():
    copy, milder, false = beside_a_copy(1000, 999, np.random.default_rng(3))
    assert copy == 1
    assert milder > 0.8
    # below the level: the copies bring the same false findings, where chance would bring two lots
    assert 0.02 < false < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)


# Tools


@pytest.mark.parametrize("shape", [0.5, 2.0, 20.0])
def test_scores_of_a_gamma_law_are_normal(shape):
    chances = (np.arange(20_000) + 0.5) / 20_000
    z = normal_scores(gamma.ppf(chances, shape)[:, None])[:, 0]
    assert np.abs(z - norm.ppf(chances)).max() < 0.11 / np.sqrt(shape)
    tail = gamma.isf([1e-3, 1e-5, 1e-7], shape)[None]
    found = association._gamma_scores(tail, gamma.ppf(chances, shape)[None])
    np.testing.assert_allclose(found[0], norm.isf([1e-3, 1e-5, 1e-7]), atol=0.4 / np.sqrt(shape))


def test_scores_rise_with_any_statistic():
    rng = np.random.default_rng(0)
    for T in (
        rng.normal(size=(500, 1)),
        -rng.exponential(size=(500, 1)),
        rng.integers(3, size=(500, 1)) * 1.0,
    ):
        order = np.argsort(T[:, 0], kind="stable")
        assert (np.diff(normal_scores(T)[order, 0])[np.diff(T[order, 0]) > 0] > 0).all()


def test_scores_are_of_ranks_but_for_the_largest():
    T = np.random.default_rng(1).gamma(1.0, size=(200, 3)).round(1)  # with ties
    T[:30, 2] = 9.0  # thirty share the first rank
    z = normal_scores(T)
    for k in range(3):
        reached = rankdata(-T[:, k], method="max")
        rest = np.sort(T[:, k])[:-1]
        t, g = (T[:, k] - rest.mean()) / rest.std(), skew(rest)
        tail = 6 / g * (np.cbrt(1 + g * t / 2) - 1) + g / 6
        expected = norm.isf((reached - 0.5) / 200)
        few = reached <= association.LARGEST
        assert few.any() == (k < 2)
        expected[few] = np.maximum(tail, np.sort(expected)[-association.LARGEST - 1])[few]
        np.testing.assert_allclose(z[:, k], expected)


@pytest.mark.parametrize("strength", [5.0, 100.0, 1e6])
def test_a_strong_finding_leaves_the_scores_of_the_others_alone(strength):
    T = np.random.default_rng(2).gamma(1.0, size=(1000, 2))
    T[0] = T.max(axis=0) + 0.1
    strong = T.copy()
    strong[0, 0] += strength
    np.testing.assert_array_equal(normal_scores(strong)[1:], normal_scores(T)[1:])
    assert normal_scores(strong)[0, 0] > normal_scores(T)[0, 0] > normal_scores(T)[1:, 0].max()


def test_a_rare_event_does_not_lift_what_is_not_rare():
    """Five rows of a thousand stand out, as where a cluster of one meets a level of one; the rest are nothing."""
    T = np.zeros((1000, 1))
    T[:5] = 0.5
    z = normal_scores(T)
    assert (z[5:] < 0).all()
    assert (z[:5] > 2).all()


def test_a_single_row_that_stands_out():
    T = np.zeros((50, 1))
    T[3] = 0.2
    z = normal_scores(T)[:, 0]
    assert np.isfinite(z).all()
    assert z.argmax() == 3


def test_rows_are_treated_alike():
    T = np.random.default_rng(3).integers(20, size=(80, 4)) / 20
    order = np.random.default_rng(4).permutation(80)
    np.testing.assert_allclose(normal_scores(T[order]), normal_scores(T)[order])


@pytest.mark.parametrize("n_rows", [2, 3, 10, 11, 12])
def test_scores_of_few_rows(n_rows):
    T = np.random.default_rng(n_rows).normal(size=(n_rows, 3))
    z = normal_scores(T)
    assert np.isfinite(z).all()
    for k in range(3):
        assert (np.diff(z[np.argsort(T[:, k]), k]) >= 0).all()


def test_a_symmetric_law_is_standardised():
    draws = np.array([[-1.0, 0.0, 1.0, 0.0]])
    np.testing.assert_allclose(association._gamma_scores(np.array([[2.0]]), draws), 2 / draws.std())


def test_a_constant_has_the_least_score():
    assert (normal_scores(np.full((5, 2), 0.3)) == -np.inf).all()


def test_p_values_count_ties_and_the_observed():
    T = np.array([[0.5, 0.2, 0.0], [0.1, 0.2 - 1e-13, 0.0], [0.2, 0.1, 0.0], [0.3, 0.3, 0.0]])
    assert permutation_p_values(T).tolist() == [0.25, 0.75, 1]
    maxima = T.max(axis=1)
    assert maximum_p_values(T[0], maxima).tolist() == [0.25, 1, 1]


def test_false_discovery_is_that_of_scipy():
    p = np.random.default_rng(0).random((4, 5)) ** 2
    np.testing.assert_allclose(benjamini_hochberg(p).ravel(), false_discovery_control(p, axis=None))
    tested = p > 0.1
    found = benjamini_hochberg(p, tested)
    np.testing.assert_allclose(found[tested], false_discovery_control(p[tested]))
    assert (found[~tested] == 1).all()
    assert benjamini_hochberg([0.5, 0.5], False).tolist() == [1, 1]


def test_orders_are_permutations_after_the_one_there_is():
    orders = sample_orders(200, 6, np.random.default_rng(0))
    assert orders[0].tolist() == [0, 1, 2, 3, 4, 5]
    assert (np.sort(orders, axis=1) == np.arange(6)).all()
    assert len({tuple(order) for order in orders}) > 100


# Misuse


def test_refused_labels():
    with pytest.raises(
        ValueError, match=r"pattern_labels has shape \(3,\): give one row of labels per pattern"
    ):
        associate_patterns([0, 1, 1])
    with pytest.raises(ValueError, match="pattern_labels has a single row"):
        associate_patterns([[0, 1, 1]])
    with pytest.raises(ValueError, match="n_permutations=0 is not valid"):
        associate_patterns([[0, 1, 1], [0, 0, 1]], 0)
