"""Tools of permutation tests: scores that are normal, p-values that count, orders that are permutations."""

import numpy as np
import pytest
from scipy.stats import gamma, norm, rankdata, skew

from latentsimplex.analysis.permutation import (
    LARGEST,
    adjust_for_false_discovery,
    check_pattern_labels,
    draw_orders,
    gamma_scores,
    maximum_p_values,
    normal_scores,
    permutation_p_values,
)


@pytest.mark.parametrize("shape", [0.5, 2.0, 20.0])
def test_scores_of_a_gamma_law_are_normal(shape):
    chances = (np.arange(20_000) + 0.5) / 20_000
    z = normal_scores(gamma.ppf(chances, shape)[:, None])[:, 0]
    assert np.abs(z - norm.ppf(chances)).max() < 0.11 / np.sqrt(shape)
    tail = gamma.isf([1e-3, 1e-5, 1e-7], shape)[None]
    found = gamma_scores(tail, gamma.ppf(chances, shape)[None])
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
        few = reached <= LARGEST
        assert few.any() == (k < 2)
        expected[few] = np.maximum(tail, np.sort(expected)[-LARGEST - 1])[few]
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
    np.testing.assert_allclose(gamma_scores(np.array([[2.0]]), draws), 2 / draws.std())


def test_a_constant_has_the_least_score():
    assert (normal_scores(np.full((5, 2), 0.3)) == -np.inf).all()


def test_p_values_count_ties_and_the_observed():
    T = np.array([[0.5, 0.2, 0.0], [0.1, 0.2 - 1e-13, 0.0], [0.2, 0.1, 0.0], [0.3, 0.3, 0.0]])
    assert permutation_p_values(T).tolist() == [0.25, 0.75, 1]
    maxima = T.max(axis=1)
    assert maximum_p_values(T[0], maxima).tolist() == [0.25, 1, 1]


@pytest.mark.parametrize("seed", range(3))
def test_false_discoveries_are_those_of_benjamini_and_hochberg(seed):
    """The k-th smallest of m becomes the least of m p_j / j over j >= k; those not tested become 1."""
    p = np.random.default_rng(seed).random((4, 5)).round(2) ** 2  # with ties
    for tested in (np.ones(p.shape, dtype=bool), p > 0.1):
        found = adjust_for_false_discovery(p, tested)
        assert found.shape == p.shape
        own = p[tested]
        m = len(own)
        for value, adjusted in zip(own, found[tested], strict=True):
            reached = [m * other / np.sum(own <= other) for other in own if other >= value]
            assert adjusted == pytest.approx(min(1.0, *reached))
        assert (found[~tested] == 1).all()
    assert adjust_for_false_discovery([0.5, 0.5], False).tolist() == [1, 1]
    assert adjust_for_false_discovery([0.25]).tolist() == [0.25]


def test_orders_are_permutations_after_the_one_there_is():
    orders = draw_orders(200, 6, np.random.default_rng(0))
    assert orders[0].tolist() == [0, 1, 2, 3, 4, 5]
    assert (np.sort(orders, axis=1) == np.arange(6)).all()
    assert len({tuple(order) for order in orders}) > 100


# Labels


def test_labels_of_any_kind_are_numbered_in_each_row():
    found = check_pattern_labels([["b", "a", "b"], ["c", "c", "c"]])
    assert found.tolist() == [[1, 0, 1], [0, 0, 0]]
    assert found.dtype == np.int32
    assert check_pattern_labels([[7, -1, 7]]).tolist() == [[1, 0, 1]]


@pytest.mark.parametrize("labels", [[0, 1, 1], [[0], [1]], np.empty((0, 3)), np.zeros((1, 2, 3))], ids=str)
def test_labels_of_another_shape_are_refused(labels):
    with pytest.raises(ValueError, match=r"pattern_labels has shape .*: give one row of labels per pattern"):
        check_pattern_labels(labels)


@pytest.mark.parametrize("p_values", [[1.5], [-0.1, 0.5], [np.nan]])
def test_p_values_are_probabilities(p_values):
    with pytest.raises(ValueError, match="p_values holds something else than probabilities"):
        adjust_for_false_discovery(p_values)
