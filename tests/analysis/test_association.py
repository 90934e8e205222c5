"""Patterns related beyond chance: exact against scikit-learn and brute force, fair where nothing is there."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

from latentsimplex.analysis import association
from latentsimplex.analysis.association import associate_model, associate_patterns
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
    monkeypatch.setattr(association, "SHUFFLED_AT_ONCE", 4 * 20 * 7)
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
