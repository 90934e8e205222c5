"""Labels against covariates: exact against scikit-learn and brute force, fair where nothing is there."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex.experiments.covariates import (
    Levels,
    as_levels,
    associate,
    distinct_labelings,
)


def naive(labelings, others):
    return np.array([[normalized_mutual_info_score(a, b) for b in others] for a in labelings])


def related(labelings, codes, rng, n_permutations, n_views=None):
    """Return the association with a covariate of these codes, the views taking the labelings in turn."""
    which = np.arange(n_views or len(labelings)) % len(labelings)
    return associate(labelings, which, Levels(np.asarray(codes), "values"), rng, n_permutations)


# NMI


@pytest.mark.parametrize(("n", "clusters", "levels"), [(4, 2, 2), (15, 3, 4), (40, 30, 2), (90, 5, 14)])
def test_nmi_is_that_of_scikit_learn(n, clusters, levels):
    rng = np.random.default_rng(n)
    labelings, codes = rng.integers(clusters, size=(6, n)), np.arange(n) % levels
    labelings[0] = codes + 5  # the same partition under other names
    labelings[1] = 3  # no split at all
    found = related(labelings, codes, rng, n_permutations=5)
    np.testing.assert_allclose(found.scores, naive(labelings, [codes])[:, 0], atol=1e-12)
    assert (found.scores.argmax(), found.largest) == (0, pytest.approx(1))


# Levels


def test_text_is_taken_as_categories():
    levels = as_levels(np.array(["Y", "N", "", "N", "Unknown"]))
    assert levels.kind == "categories"
    assert levels.codes.tolist() == [2, 0, -1, 0, 1]
    assert levels.present.tolist() == [True, True, False, True, True]
    assert levels.n_levels == 3


def test_few_numbers_are_taken_as_they_are():
    levels = as_levels(np.array([6.0, 0, np.nan, 3, 3]))
    assert (levels.kind, levels.codes.tolist()) == ("values", [2, 0, -1, 1, 1])
    assert as_levels(np.array([3, 1, 2])).codes.tolist() == [2, 0, 1]


def test_many_numbers_are_cut_at_their_quartiles():
    values = np.random.default_rng(0).permutation(np.arange(40.0))
    levels = as_levels(np.append(values, np.nan))
    assert levels.kind == "quartiles"
    assert np.bincount(levels.codes[:-1]).tolist() == [10, 10, 10, 10]
    assert levels.codes[-1] == -1
    assert all(np.diff(levels.codes[np.argsort(values)]) >= 0)


def test_ties_fall_on_one_side_of_a_quartile():
    column = np.array([0.0] * 12 + list(range(1, 13)))  # half are zero, as the age at an injury nobody had
    codes = as_levels(column).codes
    assert set(codes[:12]) == {0}
    assert sorted(set(codes[12:])) == [1, 2]


@pytest.mark.parametrize(
    ("column", "usable"),
    [
        (np.array(["a", "b", "a", "b"]), True),
        (np.array(["a", "b", "a", "c"]), False),  # 4 samples, 3 names
        (np.array(["a", "a", "a", ""]), False),
        (np.array([np.nan, np.nan]), False),
        (np.array(["", ""]), False),
        (np.arange(100.0), True),
    ],
)
def test_constants_and_identifiers_are_not_usable(column, usable):
    assert as_levels(column).usable == usable


# Distinct labelings


def test_distinct_labelings_are_partitions():
    labels = np.array([[0, 1, 2, 2], [5, 5, 5, 5], [2, 0, 1, 1], [0, 0, 1, 1], [9, 8, 7, 7]])
    labelings, which = distinct_labelings(labels)
    assert len(labelings) == 3
    assert which[0] == which[2] == which[4]
    assert len(set(which[[0, 1, 3]])) == 3
    for row, own in zip(labels, labelings[which], strict=True):
        assert normalized_mutual_info_score(row, own) == pytest.approx(1)


# Permutations


def test_p_value_is_the_share_of_all_permutations():
    """With every permutation counted once, chance is exact; many random ones must come close."""
    labelings = np.array([[0, 0, 0, 1, 1, 1, 1], [0, 1, 1, 1, 2, 2, 0]])
    codes = np.array([0, 0, 0, 0, 1, 1, 1])
    observed = naive(labelings, [codes]).max()
    # the 5,040 permutations give each of the 35 ways to place three ones equally often
    every = [
        naive(labelings, [np.isin(np.arange(7), ones)]).max() >= observed - 1e-9
        for ones in itertools.combinations(range(7), 3)
    ]
    found = related(labelings, codes, np.random.default_rng(3), n_permutations=4000)
    assert found.p_value == pytest.approx(np.mean(every), abs=4 * np.sqrt(0.25 / 4000))


def test_chance_is_that_of_shuffled_covariates():
    labelings = np.random.default_rng(1).integers(3, size=(4, 12))
    codes = np.repeat([0, 1, 2], 4)
    found = related(labelings, codes, np.random.default_rng(2), n_permutations=40)
    shuffled = np.random.default_rng(2).permuted(np.tile(codes, (40, 1)), axis=1)
    maxima = naive(labelings, shuffled).max(axis=0)
    assert found.threshold == pytest.approx(np.quantile(maxima, 0.95))
    reached = np.sum(maxima >= naive(labelings, [codes]).max() - 1e-9)
    assert found.p_value == pytest.approx((1 + reached) / 41)


def test_p_values_are_uniform_where_nothing_is_there():
    rng = np.random.default_rng(4)
    p = []
    for _ in range(200):
        labelings, codes = rng.integers(3, size=(5, 40)), rng.integers(4, size=40)
        p.append(related(labelings, codes, rng, n_permutations=99).p_value)
    shares = np.arange(1, 201) / 200
    assert np.abs(np.sort(p) - shares).max() < 0.115  # Kolmogorov-Smirnov at one in a hundred


def test_p_value_is_small_where_something_is():
    labels = np.repeat([0, 1], 15)
    noise = np.random.default_rng(0).integers(2, size=(6, 30))
    found = related(np.vstack([noise, labels]), labels, np.random.default_rng(0), n_permutations=199)
    assert (found.scores.argmax(), found.largest, found.p_value) == (6, pytest.approx(1), 1 / 200)
    assert found.threshold < 1


# The paper's baseline


def test_baseline_is_the_largest_over_probabilities():
    codes = np.repeat([0, 1, 2], 5)
    rng = np.random.default_rng(5)
    found = related(codes[None], codes, rng, n_permutations=10, n_views=8)
    again = np.random.default_rng(5)
    again.permuted(np.tile(codes, (10, 1)), axis=1)  # what the permutations drew before
    draws = again.random((9, 8, 15))
    vectors = [draws[k] < (k + 1) / 10 for k in range(9)]
    assert found.baseline == pytest.approx(naive(np.concatenate(vectors), [codes]).max())


def test_baseline_grows_with_the_number_of_vectors():
    codes = np.repeat([0, 1], 20)
    few, many = (
        related(codes[None], codes, np.random.default_rng(0), 1, n_views).baseline for n_views in (2, 400)
    )
    assert 0 < few < many < 1


# Together


def test_missing_samples_are_left_out_of_everything():
    rng = np.random.default_rng(6)
    labelings, column = rng.integers(3, size=(4, 30)), rng.integers(3, size=30).astype(str)
    column[::4] = ""
    kept = column != ""
    which = np.arange(10) % 4
    found = associate(labelings, which, as_levels(column), np.random.default_rng(1), n_permutations=50)
    again = associate(
        labelings[:, kept], which, as_levels(column[kept]), np.random.default_rng(1), n_permutations=50
    )
    np.testing.assert_allclose(found.scores, naive(labelings[:, kept], [column[kept]])[:, 0], atol=1e-12)
    assert found.n_samples == kept.sum() == 22
    assert (found.p_value, found.threshold, found.baseline) == (
        again.p_value,
        again.threshold,
        again.baseline,
    )
