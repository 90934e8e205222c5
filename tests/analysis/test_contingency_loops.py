"""Sums over contingency tables: against scikit-learn, SciPy and every permutation there is."""

import itertools

import numpy as np
import pytest
from scipy.stats import kruskal, rankdata
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    mutual_info_score,
    normalized_mutual_info_score,
)

from latentsimplex.analysis._contingency_loops import (
    cluster_sizes,
    expected_information,
    list_costs,
    pair_sums,
    scale_sums,
    shuffled_spread,
    shuffled_sums,
)
from latentsimplex.analysis.permutation import check_pattern_labels

SCORES = {
    "nmi": normalized_mutual_info_score,
    "ami": adjusted_mutual_info_score,
    "ari": adjusted_rand_score,
}


def measured(labels, codes, orders, measure):
    sums = shuffled_sums(labels, codes, orders, list_costs(measure, len(codes)))
    return scale_sums(sums, cluster_sizes(labels), np.tile(np.bincount(codes), (len(labels), 1)), measure)


@pytest.mark.parametrize("measure", SCORES)
@pytest.mark.parametrize(("n", "clusters", "levels"), [(2, 2, 2), (15, 3, 4), (40, 30, 2), (90, 5, 14)])
def test_measures_are_those_of_scikit_learn(measure, n, clusters, levels):
    rng = np.random.default_rng(n)
    labels = check_pattern_labels(rng.integers(clusters, size=(5, n)))
    labels[0] = 0  # no split
    codes = check_pattern_labels(np.append(np.arange(2), rng.integers(levels, size=n - 2))[None])[0]
    labels[1] = codes  # the same partition
    orders = np.array([np.arange(n), *(rng.permutation(n) for _ in range(6))], dtype=np.int32)
    found = measured(labels, codes, orders, measure)
    naive = [[SCORES[measure](own, codes[order]) for own in labels] for order in orders]
    np.testing.assert_allclose(found, naive, atol=1e-10)
    assert found[0, 1] == pytest.approx(1)


@pytest.mark.parametrize("measure", SCORES)
def test_two_partitions_without_a_split_agree(measure):
    zeros = np.zeros((1, 5), dtype=np.int32)
    assert measured(zeros, zeros[0], np.arange(5)[None], measure).tolist() == [[1.0]]


def test_expected_information_is_the_mean_over_all_permutations():
    a, b = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 1, 1])
    every = [6 * mutual_info_score(a, np.array(p)) for p in itertools.permutations(b)]
    found = expected_information(np.array([[3, 2, 1]]), np.array([[2, 4]]))
    np.testing.assert_allclose(found, [np.mean(every)])


def test_pairs_of_partitions():
    rng = np.random.default_rng(0)
    partitions = rng.integers(4, size=(3, 5, 30)).astype(np.int32)
    found = pair_sums(partitions, list_costs("ari", 30))
    for b in range(3):
        for value, (k, l) in zip(found[b], itertools.combinations(range(5), 2), strict=True):
            table = np.zeros((4, 4))
            np.add.at(table, (partitions[b, k], partitions[b, l]), 1)
            assert value == pytest.approx((table * (table - 1) / 2).sum())


def test_spread_of_ranks_is_kruskal_wallis():
    rng = np.random.default_rng(1)
    values = rng.integers(12, size=40).astype(float)
    labels = rng.integers(3, size=(4, 40)).astype(np.int32)
    ranks = rankdata(values) - 20.5
    order = rng.permutation(40)
    found = shuffled_spread(labels, ranks, np.array([order]))[0] / np.square(ranks).sum()
    naive = [kruskal(*(values[order][own == k] for k in range(3))).statistic / 39 for own in labels]
    np.testing.assert_allclose(found, naive)


def test_sizes_of_clusters():
    labels = np.array([[1, 0, 1], [0, 0, 0]], dtype=np.int32)
    assert cluster_sizes(labels).tolist() == [[1, 2], [3, 0]]
