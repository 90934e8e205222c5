"""Reliability curves: frequencies, bands, and what is too rare to be drawn."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from scipy.stats import binomtest

from latentsimplex.plots import plot_reliability
from latentsimplex.plots.uncertainty import wilson_interval
from latentsimplex.uncertainty.calibration import pair_reliability, reliability_curve
from made_model import random_model
from plots.drawn import said


def drawn_reliability(forecast, outcome):
    """Return the forecasts and frequencies of the points that are drawn."""
    return plot_reliability({"one": (forecast, outcome)}).lines[1].get_xydata().T


def test_reliability_of_a_calibrated_forecast_is_the_diagonal():
    rng = np.random.default_rng(0)
    forecast = rng.uniform(size=20_000)
    means, frequencies = drawn_reliability(forecast, rng.uniform(size=20_000) < forecast)
    assert len(means) == 10
    np.testing.assert_allclose(frequencies, means, atol=0.04)


def test_reliability_shows_overconfidence_and_leaves_out_what_is_too_rare():
    forecast = np.r_[np.full(5000, 0.95), 0.55]
    means, frequencies = drawn_reliability(forecast, np.r_[np.arange(5000) % 2, 1])
    assert means.tolist() == pytest.approx([0.95])
    assert frequencies.tolist() == pytest.approx([0.5])


def test_wilson_interval_is_that_of_scipy():
    for successes, n in ((0, 5), (3, 7), (50, 50), (200, 1000)):
        low, high = wilson_interval(np.array([successes / n]), np.array([float(n)]))
        known = binomtest(successes, n).proportion_ci(method="wilson")
        assert (low[0], high[0]) == pytest.approx((known.low, known.high))


def test_reliability_takes_results_and_draws_their_bands(ax):
    rng = np.random.default_rng(0)
    forecast = rng.uniform(size=500)
    curve = reliability_curve(forecast, rng.uniform(size=500) < forecast)
    plot_reliability(curve, ax=ax)
    np.testing.assert_allclose(ax.lines[1].get_xydata(), np.c_[curve.forecast, curve.frequency])
    (band,) = [drawn for drawn in ax.collections if isinstance(drawn, PolyCollection)]
    corners = band.get_paths()[0].vertices
    for bin_, count in enumerate(curve.counts):
        known = binomtest(round(curve.frequency[bin_] * count), int(count)).proportion_ci(method="wilson")
        own = corners[np.isclose(corners[:, 0], curve.forecast[bin_]), 1]
        assert (own.min(), own.max()) == pytest.approx((known.low, known.high))
    assert "pairs are not" in said(ax)


def test_reliability_of_a_model_is_that_of_its_pairs(ax):
    model = random_model(30, 2, 3)
    truth = model.pattern_labels_[1]
    plot_reliability(model, truth, pattern=1, ax=ax)
    curve = pair_reliability(model.coassignment(pattern=1), truth)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), curve.frequency)
    assert ax.get_title() == "reliability of pairs: pattern 1, 1 view"


def test_every_forecast_is_drawn_however_many(ax):
    curve = reliability_curve([0.1, 0.9], [0, 1])
    plot_reliability({f"method {k}": curve for k in range(12)}, ax=ax)
    assert len(ax.lines) == 13
    assert len({line.get_color() for line in ax.lines[1:]}) == 12
    assert len(ax.get_legend().get_texts()) == 12


def test_reliability_says_what_is_left_out(ax):
    plot_reliability({"one": (np.r_[np.full(5000, 0.95), 0.55], np.ones(5001))}, ax=ax)
    assert "bins with under 0.1% of the forecasts left out" in said(ax)


def test_reliability_asks_for_the_truth_of_a_model_alone():
    with pytest.raises(ValueError, match="truth is missing"):
        plot_reliability(random_model(5, 1, 2))
    with pytest.raises(ValueError, match="truth goes with a fitted model"):
        plot_reliability(reliability_curve([0.5], [1]), [0, 1])
