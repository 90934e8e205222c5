"""Patterns related beyond chance: exact against scikit-learn and brute force, fair where nothing is there."""

import itertools

import numpy as np
import pytest
from scipy.stats import false_discovery_control, gamma, norm
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


# Tools


@pytest.mark.parametrize("shape", [0.5, 2.0, 20.0])
def test_scores_of_a_gamma_law_are_normal(shape):
    chances = (np.arange(20_000) + 0.5) / 20_000
    z = normal_scores(gamma.ppf(chances, shape)[:, None])[:, 0]
    upper = chances > 0.5
    assert np.abs(z - norm.ppf(chances))[upper].max() < 0.35 / np.sqrt(shape)
    assert (np.diff(z) > 0).all()


def test_scores_rise_with_any_statistic():
    rng = np.random.default_rng(0)
    for T in (
        rng.normal(size=(500, 1)),
        -rng.exponential(size=(500, 1)),
        rng.integers(3, size=(500, 1)) * 1.0,
    ):
        order = np.argsort(T[:, 0], kind="stable")
        assert (np.diff(normal_scores(T)[order, 0])[np.diff(T[order, 0]) > 0] > 0).all()


def test_a_symmetric_law_is_standardised():
    T = np.array([[-1.0], [0.0], [1.0], [0.0]])
    np.testing.assert_allclose(normal_scores(T), T / T.std())


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
