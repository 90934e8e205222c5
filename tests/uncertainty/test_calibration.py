"""Calibration: against dense matrices, naive loops, scikit-learn, and forecasts that are calibrated by design."""

import itertools

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.uncertainty.calibration import (
    brier_score,
    constant_brier,
    match_memberships,
    membership_deviation,
    membership_reliability,
    order_statistics,
    pair_brier,
    pair_deviation,
    pair_reliability,
    reliability_curve,
)

pytestmark = pytest.mark.usefixtures("small_tiles")


@pytest.fixture
def forecasts():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    return p, (rng.random(500) < p**1.5).astype(float)


@pytest.fixture
def fitted():
    rng = np.random.default_rng(1)
    return CoAssignment(rng.dirichlet([0.4] * 3, size=40)), rng.integers(3, size=40)


def together(labels):
    return np.array([float(a == b) for a, b in itertools.combinations(labels, 2)])


# Curves of forecasts


@pytest.mark.parametrize(("bins", "strategy"), [("width", "uniform"), ("mass", "quantile")])
def test_curves_are_those_of_scikit_learn(forecasts, bins, strategy):
    p, o = forecasts
    curve = reliability_curve(p, o, 10, bins)
    frequency, forecast = calibration_curve(o, p, n_bins=10, strategy=strategy)
    np.testing.assert_allclose(curve.frequency, frequency)
    np.testing.assert_allclose(curve.forecast, forecast)
    assert curve.counts.sum() == 500


def test_bins_of_equal_mass_hold_equal_numbers(forecasts):
    assert reliability_curve(*forecasts, 7, "mass").counts.tolist() == [71, 71, 72, 71, 72, 71, 72]


def test_equal_forecasts_stay_in_one_bin():
    curve = reliability_curve([0.0] * 70 + [0.5] * 20 + [1.0] * 10, [0.0] * 90 + [1.0] * 10, 10, "mass")
    assert curve.counts.tolist() == [70, 20, 10]
    assert curve.forecast.tolist() == [0.0, 0.5, 1.0]


def test_a_forecast_on_an_edge_belongs_to_the_upper_bin():
    curve = reliability_curve(np.arange(11) / 10, np.zeros(11), 10)
    assert curve.counts.tolist() == [1] * 9 + [2]


def test_calibration_error_by_hand():
    curve = reliability_curve([0.1, 0.1, 0.1, 0.9], [0, 1, 0, 1])
    assert curve.expected_calibration_error == pytest.approx(0.75 * (1 / 3 - 0.1) + 0.25 * 0.1)
    assert len(curve.table()) == 2


@pytest.mark.parametrize("bins", ["width", "mass"])
@pytest.mark.parametrize("n_bins", [1, 4, 60])
def test_the_parts_add_up_to_the_score(forecasts, bins, n_bins):
    p, o = forecasts
    parts = reliability_curve(p, o, n_bins, bins).brier
    assert parts.score == pytest.approx(brier_score_loss(o, p))
    assert parts.score == pytest.approx(brier_score(p, o))
    assert parts.uncertainty == pytest.approx(o.mean() * (1 - o.mean()))
    total = parts.reliability - parts.resolution + parts.uncertainty + parts.within
    assert total == pytest.approx(brier_score_loss(o, p))


def test_the_parts_by_a_loop(forecasts):
    p, o = forecasts
    parts = reliability_curve(p, o, 5).brier
    bins = [np.floor(5 * p) == b for b in range(5)]
    assert parts.reliability == pytest.approx(sum(b.mean() * (p[b].mean() - o[b].mean()) ** 2 for b in bins))
    assert parts.resolution == pytest.approx(sum(b.mean() * (o[b].mean() - o.mean()) ** 2 for b in bins))


def test_forecasts_of_few_values_have_nothing_within_bins():
    rng = np.random.default_rng(2)
    p = rng.choice([0.15, 0.55, 0.85], size=300)
    o = (rng.random(300) < p).astype(float)
    assert reliability_curve(p, o).brier.within == pytest.approx(0, abs=1e-12)


def test_calibrated_forecasts_have_a_small_error():
    rng = np.random.default_rng(3)
    p = rng.random(20_000)
    good = reliability_curve(p, (rng.random(20_000) < p).astype(float))
    bad = reliability_curve(p, (rng.random(20_000) < 0.5 + (p - 0.5) / 2).astype(float))
    assert good.expected_calibration_error < 0.02
    assert bad.expected_calibration_error == pytest.approx(0.125, abs=0.02)  # mean of |p - 1/2| / 2


# Pairs


@pytest.mark.parametrize("bins", ["width", "mass"])
def test_curves_of_pairs_are_those_of_all_pairs_at_once(fitted, bins):
    P, labels = fitted
    found, whole = (
        pair_reliability(P, labels, 8, bins),
        reliability_curve(P.packed(), together(labels), 8, bins),
    )
    np.testing.assert_allclose(found.forecast, whole.forecast)
    np.testing.assert_allclose(found.frequency, whole.frequency)
    np.testing.assert_array_equal(found.counts, whole.counts)
    np.testing.assert_allclose(found.brier, whole.brier, atol=1e-12)


def test_score_of_pairs_without_the_pairs(fitted):
    P, labels = fitted
    naive = np.square(P.packed() - together(labels)).mean()
    assert pair_brier(P, labels) == pytest.approx(naive, rel=1e-10)
    assert pair_brier(P, labels) == pytest.approx(pair_reliability(P, labels).brier.score)
    assert pair_brier(P, P) == 0


def test_score_against_an_oracle(fitted):
    P, _ = fitted
    oracle = np.random.default_rng(5).dirichlet([1, 1], size=40)
    naive = np.square(P.packed() - CoAssignment(oracle).packed()).mean()
    assert pair_brier(P, oracle) == pytest.approx(naive)
    assert pair_brier(P, CoAssignment(oracle)) == pytest.approx(naive)


def test_score_of_a_constant(fitted):
    _, labels = fitted
    share = together(labels).mean()
    assert constant_brier(labels) == pytest.approx(np.square(together(labels) - share).mean())


@pytest.mark.parametrize("n", [2, 3, 4, 40, 41])
def test_deviation_is_over_all_pairs(n):
    rng = np.random.default_rng(n)
    P, oracle = CoAssignment(rng.dirichlet([0.4] * 3, size=n)), rng.dirichlet([1, 1], size=n)
    naive = np.abs(P.packed() - CoAssignment(oracle).packed())
    found = pair_deviation(P, oracle)
    assert found.median == pytest.approx(np.median(naive), rel=1e-9)
    assert found.mean == pytest.approx(naive.mean())


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).random(999),
        np.random.default_rng(1).integers(3, size=500) / 2.0,
        np.random.default_rng(2).exponential(size=300) * 10.0 ** np.arange(-150, 150),
        np.array([0.0, -0.0, 5e-324, 1.0]),
    ],
)
def test_order_statistics_are_those_of_sorting(values):
    ranks = np.unique(np.linspace(0, len(values) - 1, 9).astype(int))
    found = order_statistics(lambda: np.array_split(values, 7), ranks)
    np.testing.assert_array_equal(found, np.sort(values)[ranks])


# Memberships


def test_matching_tries_all_orders():
    rng = np.random.default_rng(0)
    W, oracle = rng.dirichlet([0.5] * 4, size=30), rng.dirichlet([0.5] * 4, size=30)
    least = min(
        np.abs(W[:, order] - oracle).sum(axis=1).mean() / 2 for order in itertools.permutations(range(4))
    )
    assert membership_deviation(W, oracle).mean == pytest.approx(least)


def test_renamed_clusters_do_not_deviate():
    oracle = np.random.default_rng(1).dirichlet([0.5] * 5, size=20)
    W = oracle[:, [3, 0, 4, 1, 2]]
    assert membership_deviation(W, oracle) == (0, 0)
    np.testing.assert_array_equal(match_memberships(W, oracle)[0], oracle)


def test_missing_clusters_are_empty():
    W, oracle = np.ones((4, 1)), np.eye(2)[[0, 0, 0, 1]]
    found = membership_deviation(W, oracle)
    assert (found.median, found.mean) == (0, 0.25)
    assert membership_deviation(oracle, W) == found


def test_memberships_drawn_from_their_own_clusters_are_calibrated():
    rng = np.random.default_rng(4)
    W = rng.dirichlet([0.6] * 3, size=20_000)
    truth = (W.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    curve = membership_reliability(W[:, [2, 0, 1]], truth)
    assert curve.expected_calibration_error < 0.01
    assert curve.counts.sum() == 60_000
    assert membership_reliability(W, W).brier.score == pytest.approx(0, abs=1e-12)


# Misuse


@pytest.mark.parametrize(
    ("forecast", "outcome", "message"),
    [
        ([0.1, 0.2], [0], r"forecast has shape \(2,\) and outcome \(1,\)"),
        ([], [], r"forecast has shape \(0,\)"),
        ([1.2], [1], r"forecast holds values outside \[0, 1\]"),
        (["a"], [1], r"forecast is \['a'\], a list, .*: give an array of numbers"),
        ([0.2], [np.nan], r"outcome holds values outside \[0, 1\]"),
    ],
)
def test_refused_forecasts(forecast, outcome, message):
    for function in (reliability_curve, brier_score):
        with pytest.raises(ValueError, match=message):
            function(forecast, outcome)


def test_refused_bins():
    with pytest.raises(ValueError, match="bins='equal' is unknown: choose 'width' or 'mass'"):
        reliability_curve([0.5], [1], bins="equal")
    with pytest.raises(ValueError, match="n_bins=0 is not valid"):
        reliability_curve([0.5], [1], n_bins=0)


def test_refused_truth(fitted):
    P, labels = fitted
    for function in (pair_brier, pair_reliability, pair_deviation):
        with pytest.raises(ValueError, match=r"labels has shape \(39,\) and there are 40 samples"):
            function(P, labels[1:])
        with pytest.raises(ValueError, match="truth has 2 samples and the co-assignments 40"):
            function(P, np.eye(2))
        with pytest.raises(ValueError, match="Co-assignments of 1 sample have no pairs"):
            function(CoAssignment(np.ones((1, 1))), [0])
    with pytest.raises(ValueError, match="truth has one label"):
        constant_brier([0])
    with pytest.raises(ValueError, match="40 rows of memberships and 2 of truth"):
        membership_deviation(P.factor, np.eye(2))


@pytest.mark.parametrize("measure", [pair_brier, pair_reliability, pair_deviation])
def test_co_assignments_come_first(measure):
    with pytest.raises(TypeError, match="P is a list: give co-assignments first"):
        measure([0, 1, 1], CoAssignment(np.eye(3)))
