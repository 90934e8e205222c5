"""Figures of views, patterns and the course of a fit: names, numbers, marks and what they say of many views."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.patches import Rectangle
from scipy.stats import binomtest

from latentsimplex.calibration import pair_reliability, reliability_curve
from latentsimplex.plots import (
    panels,
    plot_consensus,
    plot_loss,
    plot_reliability,
    plot_screening,
    plot_view_patterns,
    plot_weights,
)
from latentsimplex.plots.reliability import wilson_interval
from latentsimplex.screening import screen, screen_model
from made_model import made_model, random_model

LONG = "the expression of a gene whose name does not end for a long time"


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


@pytest.fixture(name="ax")
def _ax():
    return panels(1, 1, 8, 5)[1][0, 0]


def memberships(n=40, k=3, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(k, 0.2), size=n)


def many_views(n_views=50_000, n_patterns=7):
    rng = np.random.default_rng(0)
    model = made_model(
        [memberships(seed=l) for l in range(n_patterns)], rng.integers(n_patterns, size=n_views)
    )
    own = rng.uniform(0.6, 1.0, n_views)
    rest = (1 - own) / (n_patterns - 1)
    eta = np.repeat(rest[:, None], n_patterns, axis=1)
    eta[np.arange(n_views), model.view_patterns_] = own
    model.view_responsibilities_ = eta
    return model


def said(ax):
    return " ".join(text.get_text().replace("\n", " ") for text in ax.texts)


def names_of(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


# Weights


def test_weights_of_a_model_tell_views_and_clusters(ax):
    model = made_model([memberships(k=3), memberships(k=2)], [0, 1, 0])
    plot_weights(model, ax=ax)
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([2 / 3, 1 / 3])
    ticks = [text.get_text().split("\n") for text in ax.get_xticklabels()]
    assert ticks == [["0", "2 views", "3 clusters"], ["1", "1 view", "2 clusters"]]
    assert ax.get_title() == "2 patterns of 3 views"


def test_weights_of_many_patterns_do_not_run_into_one_another():
    ax = plot_weights(np.full(30, 1 / 30), ax=panels(1, 1, 4, 3)[1][0, 0])
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert all(left.x1 <= right.x0 + 1 for left, right in pairwise(boxes))


# Views and patterns


def test_few_views_have_their_names_and_numbers(ax):
    eta = np.array([[0.25, 0.75], [0.9, 0.1], [0.99, 0.01]])
    plot_view_patterns(eta, ["a", LONG, "c"], ax=ax)
    np.testing.assert_allclose(ax.images[0].get_array(), eta[[2, 1, 0]])
    assert names_of(ax) == ["c", "the expression…r a long time", "a"]
    assert [text.get_text() for text in ax.texts] == ["0.99", "0.01", "0.90", "0.10", "0.25", "0.75"]
    heights = [piece.get_height() for piece in ax.patches if isinstance(piece, Rectangle)]
    assert heights == [2, 1]


def test_views_of_a_model_follow_its_patterns(ax):
    model = made_model([memberships(), memberships(seed=1)], [1, 0, 1], view_names=["x", "y", "z"])
    plot_view_patterns(model, ax=ax)
    assert names_of(ax) == ["y", "x", "z"]
    assert ax.get_title() == "3 views in 2 patterns"


def test_many_views_are_counted_averaged_and_said_to_be(ax):
    model = many_views()
    plot_view_patterns(model, ax=ax)
    drawn = np.asarray(ax.images[0].get_array())
    assert 195 <= len(drawn) <= 205
    np.testing.assert_allclose(drawn.sum(axis=1), 1)
    np.testing.assert_allclose(drawn.mean(axis=0), model.view_responsibilities_.mean(axis=0), atol=0.005)
    counts = np.bincount(model.view_patterns_)
    assert names_of(ax) == [f"pattern {l}: {count:,} views" for l, count in enumerate(counts)]
    assert "50,000 views: each row is a mean over about 250" in said(ax)


def test_names_must_be_as_many_as_views():
    with pytest.raises(ValueError, match="names holds 1 names and there are 3 views"):
        plot_view_patterns(np.eye(3), ["a"])
    with pytest.raises(ValueError, match=r"responsibilities has shape \(3,\)"):
        plot_view_patterns(np.ones(3))


# Consensus


def consensus_model(view_patterns=(0, 1, 0), **names):
    return made_model([memberships(), np.ones((40, 1))], view_patterns, **names)


def test_consensus_shows_shares_and_marks_the_excluded(ax):
    model = consensus_model(view_names=["a", "b", LONG])
    plot_consensus(model, ax=ax)
    heatmap, shares = ax.child_axes[:2]
    assert [bar.get_width() for bar in shares.patches] == [0.5, 0, 0.5]
    assert [(text.get_text(), text.xy) for text in shares.texts] == [("excluded", (0, 1))]
    assert names_of(shares)[:2] == ["a", "b"]
    assert shares.get_ylim() == (2.5, -0.5)  # the first at the top
    assert ax.get_title() == "consensus of 2 of 3 views"
    np.testing.assert_allclose(
        np.sort(heatmap.images[0].get_array().ravel()),
        np.sort(model.consensus_.coassignment.toarray().ravel()),
    )


def test_consensus_with_other_weights_needs_no_model(ax):
    model = consensus_model()
    plot_consensus(model.consensus([3, 1, 1]), ax=ax)
    assert [bar.get_width() for bar in ax.child_axes[1].patches] == [0.75, 0, 0.25]
    assert names_of(ax.child_axes[1]) == ["0", "1", "2"]


def test_consensus_of_many_views_shows_patterns(ax):
    model = consensus_model(np.repeat([0, 1], [30_000, 20_000]))
    plot_consensus(model, ax=ax)
    shares = ax.child_axes[1]
    assert [bar.get_width() for bar in shares.patches] == pytest.approx([1, 0])
    assert names_of(shares) == ["0: 30,000 views", "1: 20,000 views"]
    assert shares.get_title() == "share of each pattern"
    assert said(shares) == "excluded"


def test_consensus_of_many_views_without_a_model_is_an_outline(ax):
    weights = np.r_[np.full(30_000, 1.0), np.full(10_000, 2.0), np.zeros(10_000)]
    model = consensus_model(np.repeat([0, 1], [40_000, 10_000]))
    plot_consensus(model.consensus(weights), ax=ax)
    shares = ax.child_axes[1]
    outline = shares.patches[0].get_data()
    np.testing.assert_allclose(outline.values, np.sort(weights)[::-1] / 50_000)
    assert said(shares) == "10,000 excluded"


def test_consensus_of_nothing_is_said(ax):
    model = made_model([np.ones((5, 1))], [0, 0])
    plot_consensus(model, ax=ax)
    assert said(ax.child_axes[1]) == "excluded excluded"
    assert ax.get_title() == "consensus of 0 of 2 views"
    with pytest.raises(ValueError, match="view_names holds 1 names and there are 2 views"):
        plot_consensus(model, ["a"])


# Loss


def test_loss_curve_and_starts_are_panels_of_their_own(ax):
    model = random_model(10, 1, 2)
    model.start_losses_ = np.array([17.0, 15.0, 15.5])
    plot_loss(model, ax=ax)
    curve, starts = ax.child_axes[:2]
    np.testing.assert_array_equal(curve.lines[0].get_ydata(), model.loss_curve_)
    dots, ring = [drawn for drawn in starts.collections if isinstance(drawn, PathCollection)]
    np.testing.assert_allclose(dots.get_offsets(), [[0, 2], [1, 0], [2, 0.5]])
    np.testing.assert_array_equal(dots.get_array(), model.start_agreement_)
    assert ring.get_offsets().tolist() == [[1, 0]]
    assert said(curve) == ""
    assert ax.get_title() == "2 steps, converged"


def test_loss_of_another_stage_is_said_to_be_another(ax):
    model = random_model(10, 1, 2)
    model.start_losses_ = np.array([170.0, 150.0])
    model.start_agreement_ = np.array([0.3, 1.0])
    plot_loss(model, ax=ax)
    assert "last stage" in said(ax.child_axes[0])


def test_a_curve_alone_is_one_panel(ax):
    plot_loss(np.array([3.0, 2.0]), ax=ax)
    assert not ax.child_axes
    assert ax.lines[0].get_ydata().tolist() == [3, 2]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("step", "loss")


@pytest.mark.parametrize(("n", "numbers"), [(1, [0]), (3, [0, 1, 2]), (25, list(range(0, 25, 3)))])
def test_starts_are_numbered_whole(ax, n, numbers):
    plot_loss(np.array([3.0, 2.0]), np.linspace(2, 3, n), ax=ax)
    ax.figure.canvas.draw()
    assert [text.get_text() for text in ax.child_axes[1].get_xticklabels()] == list(map(str, numbers))


def test_starts_that_agree_look_alike(ax):
    plot_loss(np.array([3.0, 2.0]), np.array([1000.0, 1000.01]), ax=ax)
    assert ax.child_axes[1].get_ylim() == (0, 1)


# Reliability


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


# Screening


def screened(n_views=3, n_patterns=2, n=60, covariates=("sex", "batch")):
    """Pattern 0 is the first covariate; nothing else is related."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=(n_patterns, n))
    patterns = np.sort(np.r_[np.arange(n_patterns), rng.integers(n_patterns, size=n_views - n_patterns)])
    columns = {name: rng.integers(2, size=n) for name in covariates}
    columns[covariates[0]] = labels[0]
    return screen(
        labels,
        patterns,
        columns,
        categorical=list(covariates),
        n_permutations=199,
        view_names=np.array([f"view{v}" for v in range(n_views)]),
        certainty=rng.uniform(size=n_views),
        random_state=0,
    )


def marks(ax):
    """Places of filled and of open dots, as (row, column)."""
    drawn = [part for part in ax.collections if isinstance(part, PathCollection)]
    return [{(int(y), int(x)) for x, y in part.get_offsets()} for part in drawn]


def test_screening_has_a_row_for_each_of_few_views_and_marks_findings(ax):
    found = screened()
    plot_screening(found, ax=ax)
    order = np.lexsort((-found.certainty, found.view_patterns))
    np.testing.assert_array_equal(ax.images[0].get_array(), found.statistics[found.view_patterns[order]])
    assert names_of(ax) == found.view_names[order].tolist()
    own = {(row, 0) for row, v in enumerate(order) if found.view_patterns[v] == 0}
    family, discovery = marks(ax)
    assert family == own
    assert not family & discovery
    assert [text.get_text() for text in ax.get_xticklabels()] == ["sex", "batch"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "family-wise p ≤ 0.05",
        "false discovery rate ≤ 0.05",
    ]
    assert said(ax) == ""


def test_screening_of_many_views_has_a_row_for_each_pattern_and_says_so(ax):
    found = screened(n_views=5000, n_patterns=4)
    plot_screening(found, ax=ax)
    np.testing.assert_array_equal(ax.images[0].get_array(), found.statistics)
    own = np.flatnonzero(found.view_patterns == 0)
    surest = own[np.argmax(found.certainty[own])]
    assert names_of(ax)[0] == f"0: view{surest} and {len(own) - 1:,} more"
    assert "5,000 views: a row for each pattern" in said(ax)


def test_screening_of_many_patterns_shows_the_most_significant(ax):
    found = screened(n_views=60, n_patterns=60)
    plot_screening(found, ax=ax)
    rows = [int(name.split(":")[0]) for name in names_of(ax)]
    assert len(rows) == 40
    assert rows == sorted(rows)
    smallest = found.familywise.min(axis=1)
    left_out = np.setdiff1d(np.arange(60), rows)
    assert smallest[rows].max() <= smallest[left_out].min()
    assert "the 40 most significant of 60 patterns" in said(ax)


def test_screening_says_what_its_colours_are(ax):
    model = random_model(30, 2, 3)
    covariates = {"age": np.arange(30.0), "sex": list("FM" * 15)}
    found = screen_model(model, covariates, statistic="ari", n_permutations=99, random_state=0)
    plot_screening(found, ax=ax)
    assert ax.child_axes[0].get_ylabel() == "ARI or $\\epsilon^2$ of ranks"


def test_screening_level_is_checked_and_used(ax):
    found = screened()
    with pytest.raises(ValueError, match="level=2 is not valid"):
        plot_screening(found, level=2)
    plot_screening(found, level=0.004, ax=ax)
    assert marks(ax)[0] == set()  # 199 permutations give 1/200 at best
