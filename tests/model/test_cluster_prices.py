"""What clusters cost: the nats of their labels with a margin, whoever pays."""

import numpy as np
import pytest

from latentsimplex.model.cluster_prices import (
    FIRST_MARGIN,
    FURTHER_MARGIN,
    ClusterPrice,
    label_prices,
    list_prices,
)
from latentsimplex.model.penalties import NoPenalty, membership_penalty


@pytest.mark.parametrize(("n", "g", "temperature"), [(10, 1, 1.0), (120, 6, 60.0), (7, 4, 0.5)])
def test_prices_by_the_formula(n, g, temperature):
    """The logarithm of the number of ways to label n samples with k labels, with a margin, as a divergence.

    The margin of a first cut in two is one, that of what further clusters add is another.
    """
    prices = label_prices(n, g, temperature)
    assert len(prices) == g
    for k, price in enumerate(prices, start=1):
        first = np.log(2.0**n) if k > 1 else 0.0
        nats = FIRST_MARGIN * first + FURTHER_MARGIN * (np.log(float(k) ** n) - first)
        assert price == pytest.approx(temperature * nats, rel=1e-12)


def test_one_cluster_is_free_and_each_further_one_costs_more_than_its_nats():
    prices = label_prices(50, 6, 7.0)
    assert prices[0] == 0
    assert (np.diff(prices) > 7 * 50 * np.diff(np.log(np.arange(1, 7)))).all()


def test_a_price_counts_the_clusters_that_some_sample_prefers():
    W = np.array([np.eye(3)[[0, 1, 2, 0]], np.eye(3)[[1, 1, 1, 1]], np.eye(3)[[0, 2, 2, 0]]])
    W = 0.9 * W + 0.1 / 3
    values, gradient = ClusterPrice((5.0, 7.0, 11.0)).value_and_gradient(W)
    assert values.tolist() == [11.0, 5.0, 7.0]
    assert gradient.shape == W.shape
    assert not gradient.any()


def test_an_unused_pattern_pays_for_one_cluster():
    price = ClusterPrice((5.0, 7.0, 11.0))
    W = np.tile(np.eye(3)[[0, 1, 2, 0]], (3, 1, 1))
    assert price.least_value(4, 3) == 5
    assert membership_penalty(W, np.array([True, False, False]), price) == 11 + 2 * 5


def test_prices_of_a_penalty_without_a_slope():
    assert list_prices(ClusterPrice((0.0, 3.0, 5.0)), 2).tolist() == [0, 3]
    assert list_prices(ClusterPrice((0.0, 3.0, 5.0)), 3).tolist() == [0, 3, 5]
    assert list_prices(NoPenalty(), 3).tolist() == [0, 0, 0]
