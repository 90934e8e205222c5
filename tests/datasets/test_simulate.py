"""The simulations carry the truth that they were drawn from."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex.datasets import consensus_example, many_views, running_example, single_view

SETTINGS = ["a", "b", "c", "d", "e", "f", "overlap"]

SIMULATIONS = {
    "running": lambda seed: running_example(n_samples=31, random_state=seed),
    "consensus": lambda seed: consensus_example(n_samples=31, random_state=seed),
    "many": lambda seed: many_views(n_views=40, n_samples=31, random_state=seed),
    **{name: lambda seed, name=name: single_view(name, n_samples=31, random_state=seed) for name in SETTINGS},
}


@pytest.fixture(params=SIMULATIONS, name="simulate")
def _simulate(request):
    return SIMULATIONS[request.param]


# What all simulations share


def test_parts_agree_in_shape(simulate):
    simulation = simulate(0)
    n_views = len(simulation.views)
    assert simulation.labels.shape == (n_views, 31)
    assert simulation.patterns.shape == (n_views,)
    assert all(view.shape[0] == 31 and np.isfinite(view).all() for view in simulation.views)
    assert simulation.bayes_labels.shape == (len(simulation.oracle), 31)
    assert set(simulation.patterns) == set(range(len(simulation.oracle)))
    for labels, pattern in zip(simulation.labels, simulation.patterns, strict=True):
        assert labels.min() >= 0
        assert labels.max() < simulation.oracle[pattern].shape[1]


def test_oracle_rows_lie_on_the_simplex(simulate):
    for memberships in simulate(0).oracle:
        assert (memberships >= 0).all()
        np.testing.assert_allclose(memberships.sum(axis=1), 1)


def test_seed_decides_everything(simulate):
    one, same, other = simulate(3), simulate(np.random.default_rng(3)), simulate(4)
    np.testing.assert_array_equal(np.stack(one.labels), np.stack(same.labels))
    for mine, its in zip(one.views, same.views, strict=True):
        np.testing.assert_array_equal(mine, its)
    assert not np.array_equal(one.views[0], other.views[0])
    assert not np.array_equal(one.labels[0], other.labels[0])


def test_no_seed_gives_fresh_draws():
    assert not np.array_equal(single_view("a").views[0], single_view("a").views[0])


def test_coassignment_keeps_its_own_diagonal():
    simulation = single_view("c", n_samples=20, random_state=0)
    (memberships,) = simulation.oracle
    together = simulation.coassignment(0)
    np.testing.assert_allclose(together, memberships @ memberships.T)
    np.testing.assert_allclose(np.diag(together), (memberships**2).sum(axis=1))


# Single view


# Mean and standard deviation over 40 seeds, measured once with other code; overlap with this code.
@pytest.mark.parametrize(
    ("setting", "ceiling", "spread"),
    [
        ("a", 1.0, 0.001),
        ("b", 0.882, 0.03),
        ("c", 0.605, 0.04),
        ("d", 0.698, 0.05),
        ("e", 0.912, 0.03),
        ("f", 0.455, 0.05),
        ("overlap", 0.207, 0.04),
    ],
)
def test_bayes_labels_score_the_known_ceiling(setting, ceiling, spread):
    n_seeds = 20
    simulations = [single_view(setting, random_state=seed) for seed in range(n_seeds)]
    scores = [normalized_mutual_info_score(s.labels[0], s.bayes_labels[0]) for s in simulations]
    assert np.mean(scores) == pytest.approx(ceiling, abs=3 * spread * np.sqrt(1 / n_seeds + 1 / 40))


@pytest.mark.parametrize("setting", SETTINGS)
def test_single_view_is_calibrated(setting):
    simulation = single_view(setting, n_samples=20_000, random_state=0)
    (memberships,) = simulation.oracle
    claimed = memberships[:, 1]
    band = (claimed > 0.2) & (claimed < 0.8)
    np.testing.assert_array_equal(np.bincount(simulation.labels[0]), [10_000, 10_000])
    if band.sum() > 100:
        error = 4 * 0.5 / np.sqrt(band.sum())
        assert simulation.labels[0][band].mean() == pytest.approx(claimed[band].mean(), abs=error)


def test_bounded_supports_leave_no_doubt_where_one_density_is_zero():
    simulation = single_view("d", random_state=0)
    (view,), (memberships,) = simulation.views, simulation.oracle
    above, below = (view > 0).any(axis=1), (view < -4).any(axis=1)
    assert above.any()
    assert below.any()
    np.testing.assert_array_equal(memberships[above], np.tile([1.0, 0.0], (above.sum(), 1)))
    np.testing.assert_array_equal(memberships[below], np.tile([0.0, 1.0], (below.sum(), 1)))
    between = ~above & ~below
    # Inside both supports the log odds of the second cluster are the sum of 2 y + 4 over coordinates.
    log_odds = (2 * view[between] + 4).sum(axis=1)
    np.testing.assert_allclose(memberships[between, 1], 1 / (1 + np.exp(-log_odds)))


def test_setting_e_has_mean_ten():
    simulation = single_view("e", n_samples=20_000, random_state=0)
    first, second = (simulation.views[0][simulation.labels[0] == k] for k in (0, 1))
    np.testing.assert_allclose(first.mean(axis=0), [1, 10], rtol=0.05)
    np.testing.assert_allclose(second.mean(axis=0), [3, 25], rtol=0.05)


# Running example


def test_running_example_shares_three_clusters_between_two_views():
    simulation = running_example(random_state=0)
    np.testing.assert_array_equal(simulation.patterns, [0, 0, 1])
    np.testing.assert_array_equal(simulation.labels[0], simulation.labels[1])
    np.testing.assert_array_equal(np.bincount(simulation.labels[0]), [100, 100, 100])
    np.testing.assert_array_equal(np.bincount(simulation.labels[2]), [150, 150])
    assert normalized_mutual_info_score(simulation.labels[0], simulation.labels[2]) < 0.05


def test_running_example_separates_centres_as_asked():
    simulation = running_example(n_samples=30_000, separation=3.0, random_state=0)
    for view, labels in zip(simulation.views, simulation.labels, strict=True):
        centres = np.array([view[labels == k].mean(axis=0) for k in np.unique(labels)])
        gaps = np.linalg.norm(centres[:, None] - centres, axis=-1)[np.triu_indices(len(centres), 1)]
        np.testing.assert_allclose(gaps, 3.0, atol=0.06)


def test_two_views_inform_pattern_zero():
    simulation = running_example(n_samples=3000, separation=2.0, random_state=0)
    hits = simulation.bayes_labels == simulation.labels[[0, 2]]
    # One view puts two centres 2 apart; two views together put three centres 2 sqrt(2) apart.
    assert hits[1].mean() == pytest.approx(norm.cdf(1), abs=0.03)
    assert hits[0].mean() > 1 - 2 * norm.sf(np.sqrt(2)) - 0.03


# Consensus example


def test_first_view_of_consensus_coarsens_the_second():
    simulation = consensus_example(random_state=0)
    coarse, fine = simulation.labels[:2]
    nested = Counter(zip(fine.tolist(), coarse.tolist(), strict=True))
    assert nested == {(0, 0): 100, (1, 0): 100, (2, 1): 100}


def test_noise_views_hold_no_clusters():
    simulation = consensus_example(n_samples=5000, separation=3.0, random_state=0)
    assert [view.shape for view in simulation.views] == [(5000, 1)] * 10
    np.testing.assert_array_equal(simulation.patterns, [0, 1] + [2] * 8)
    np.testing.assert_array_equal(simulation.oracle[2], np.ones((5000, 1)))
    assert not simulation.labels[2:].any()
    noise = np.hstack(simulation.views[2:])
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=0.06)
    np.testing.assert_allclose(np.corrcoef(noise.T), np.eye(8), atol=0.06)


@pytest.mark.parametrize("separation", [1.0, 3.0])
def test_consensus_centres_scale_with_separation(separation):
    simulation = consensus_example(n_samples=30_000, separation=separation, random_state=0)
    for view, labels, centres in zip(simulation.views, simulation.labels, ([0, 2], [0, 1, 2]), strict=False):
        means = [view[labels == k].mean() for k in range(len(centres))]
        np.testing.assert_allclose(means, separation * np.array(centres), atol=0.05)


def test_consensus_oracle_weighs_clusters_by_size():
    simulation = consensus_example(n_samples=30_000, random_state=0)
    for memberships, shares in zip(simulation.oracle, ([2 / 3, 1 / 3], [1 / 3] * 3), strict=False):
        np.testing.assert_allclose(memberships.mean(axis=0), shares, atol=0.01)


# Many views


def test_many_views_draw_labels_from_their_memberships():
    simulation = many_views(n_views=6000, n_samples=12, n_patterns=2, random_state=0)
    for pattern, memberships in enumerate(simulation.oracle):
        labels = simulation.labels[simulation.patterns == pattern]
        frequencies = (labels[..., None] == np.arange(3)).mean(axis=0)
        np.testing.assert_allclose(frequencies, memberships, atol=5 * 0.5 / np.sqrt(len(labels)))


def test_many_views_centres_continue_along_the_line():
    simulation = many_views(n_views=2000, n_samples=20, n_clusters=5, random_state=0)
    assert simulation.views.dtype == np.float64
    for cluster, centre in enumerate([0, 2, -2, 4, -4]):
        points = simulation.views[simulation.labels == cluster]
        np.testing.assert_allclose(points.mean(axis=0), centre, atol=0.06)
        np.testing.assert_allclose(np.cov(points.T), np.eye(2), atol=0.08)


def test_many_views_memberships_follow_the_dirichlet():
    simulation = many_views(n_views=1, n_samples=3000, n_patterns=2, random_state=0)
    # Moments of Dirichlet(1.3, 0.3, 0.3), whichever cluster is the main one.
    mean_square = (1.3 * 2.3 + 2 * 0.3 * 1.3) / (1.9 * 2.9) / 3
    for memberships in simulation.oracle:
        np.testing.assert_allclose(memberships.mean(axis=0), 1 / 3, atol=0.03)
        np.testing.assert_allclose((memberships**2).mean(), mean_square, atol=0.015)


def test_zero_concentration_leaves_no_doubt():
    simulation = many_views(n_views=3, n_samples=7, concentration=0.0, random_state=0)
    for memberships in simulation.oracle:
        assert set(memberships.ravel()) == {0.0, 1.0}
        assert sorted(memberships.sum(axis=0)) == [2, 2, 3]
    np.testing.assert_array_equal(simulation.labels, simulation.bayes_labels[simulation.patterns])


def test_many_views_keeps_temporaries_small():
    tracemalloc.start()
    try:
        simulation = many_views(n_views=20_000, random_state=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - simulation.views.nbytes - simulation.labels.nbytes < 20e6


# Refusals


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: single_view("z"), r"setting 'z' is unknown: choose one of a, b, c, d, e, f, overlap\."),
        (lambda: single_view("a", n_samples=1), "n_samples is 1: .* at least 2"),
        (lambda: running_example(n_samples=2), "n_samples is 2: .* at least 3"),
        (lambda: running_example(separation=-1.0), r"separation is -1\.0: .* at least 0"),
        (lambda: consensus_example(n_samples=2), "n_samples is 2: .* at least 3"),
        (lambda: consensus_example(separation=float("nan")), "separation is nan: .* finite"),
        (lambda: many_views(n_views=0), "n_views is 0: .* at least 1"),
        (lambda: many_views(n_views=2, n_patterns=0), "n_patterns is 0: .* at least 1"),
        (lambda: many_views(n_views=2, n_clusters=0), "n_clusters is 0: .* at least 1"),
        (lambda: many_views(n_views=2, n_samples=4, n_clusters=5), "n_samples is 4: .* at least 5"),
        (lambda: many_views(n_views=2, concentration=float("inf")), "concentration is inf: .* finite"),
    ],
)
def test_senseless_requests_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
