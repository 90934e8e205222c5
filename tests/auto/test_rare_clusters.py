"""Rare clusters are found beyond the tails of all kinds of clouds, and clouds are left whole."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from latentsimplex import LatentSimplexPosition
from latentsimplex.auto import rare_clusters
from latentsimplex.auto.rare_clusters import (
    NEEDED,
    compare_with_tails,
    find_rare_group,
    is_lone,
    measure_sureness,
    place_along,
    power_likelihood,
    student_likelihood,
)
from latentsimplex.auto.splits import find_split
from latentsimplex.base.threads import Workers


def draw_rare(seed, n=300, m=9, p=2):
    """Return samples of which the first m are a group 6 standard deviations away."""
    X = np.random.default_rng(seed).normal(size=(n, p))
    X[:m] += 6 / np.sqrt(p)
    return X


@pytest.mark.parametrize("p", [1, 2, 10])
def test_nine_of_300_samples_are_found(p):
    found = find_rare_group([draw_rare(1, p=p)])
    assert found is not None
    assert found.depth > NEEDED
    assert found.members[:9].sum() >= 8
    assert found.members[9:].sum() <= 1


def test_a_hundred_of_ten_thousand_are_found_in_two_views():
    X = draw_rare(2, n=10_000, m=100, p=4)
    found = find_rare_group([X[:, :1], X[:, 1:]])
    assert found is not None
    assert found.members[:100].mean() >= 0.95
    assert found.members[100:].sum() < 5


@pytest.mark.parametrize("shape", ["normal", "random", "exponential", "lognormal", "laplace"])
def test_clouds_are_left_whole(shape):
    for n, p in ((100, 5), (300, 2), (1000, 3)):
        assert find_rare_group([getattr(np.random.default_rng(7), shape)(size=(n, p))]) is None


def test_samples_are_as_sure_of_a_group_as_often_as_they_are_of_it():
    """Between a group and a normal bulk in known places, sureness is the posterior probability, as far as both fit."""
    stated, right = [], []
    for seed in range(12):
        X = draw_rare(seed, n=2000, m=60, p=2)
        members = np.arange(2000) < 60
        sureness = measure_sureness(X, members)
        stated.append(sureness[sureness > 0.01])
        right.append(members[sureness > 0.01])
    stated, right = np.concatenate(stated), np.concatenate(right)
    assert 0.9 < stated.sum() / right.sum() < 1.1
    doubtful = (stated > 0.1) & (stated < 0.9)
    assert abs(stated[doubtful].mean() - right[doubtful].mean()) < 0.25
    # a sample beyond the centre is as sure as one there, and the bulk is sure not to be of it
    X[:3] = np.array([[6.0], [9.0], [0.0]]) / np.sqrt(2)
    ends = measure_sureness(X, members & (np.arange(2000) >= 3))
    assert ends[1] == pytest.approx(ends[0], abs=0.01)
    assert ends[0] > 0.99
    assert ends[2] == 0


@pytest.mark.parametrize("seed", [0, 22, 32])
def test_samples_of_a_rare_cluster_in_many_features_are_not_lost_to_their_neighbours(seed):
    """By votes and EM two or three of nine were lost in these tables, though the search had found them."""
    truth = np.arange(300) < 9
    X = np.random.default_rng(5_000_000 + seed).normal(size=(300, 10)) + truth[:, None] * 5.5 / np.sqrt(10)
    model = LatentSimplexPosition(random_state=0, n_jobs=1).fit([X])
    assert adjusted_rand_score(truth, model.labels_) > 0.9


def test_scattered_outliers_are_no_group():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1000, 3))
    X[:20] *= 6
    assert find_rare_group([X]) is None
    assert not is_lone(X, np.arange(1000) < 10)


def test_constant_and_few_samples_have_no_group():
    assert find_rare_group([np.zeros((100, 2))]) is None
    assert find_rare_group([np.random.default_rng(0).normal(size=(30, 2))]) is None


def test_members_are_placed_along_the_mean_of_the_other_members():
    W = np.array([[3.0, 0.0], [3.0, 1.0], [0.0, 1.0], [0.0, -1.0]])
    y = place_along(W, np.array([True, True, False, False]))
    assert y[0] == pytest.approx(W[0] @ W[1] / np.linalg.norm(W[1]))
    assert y[1] == pytest.approx(W[1] @ W[0] / 3)


def test_likelihoods_are_those_of_densities_with_mass_one():
    y = np.linspace(1.0, 60.0, 600_001)
    for density in (power_likelihood, student_likelihood):
        bounds = (1.0, np.inf) if density is power_likelihood else (1.0,)
        parameters = (
            (np.array([1.3]), np.array([0.7]))
            if density is power_likelihood
            else (
                np.array([5.0]),
                np.array([1.2]),
            )
        )
        heights = [float(density(np.array([each]), *bounds, *parameters)[0, 0]) for each in y[::2000]]
        assert np.trapezoid(np.exp(heights), y[::2000]) == pytest.approx(1, abs=0.01)


def test_an_exponential_tail_explains_what_a_normal_one_does_not():
    rng = np.random.default_rng(4)
    normal, exponential = np.abs(rng.normal(size=150)), rng.exponential(size=150)
    group = np.linspace(4.5, 6.5, 6)
    thin, thick = (compare_with_tails(bulk, group, 1.0, 0.0).evidence for bulk in (normal, exponential))
    assert thin > NEEDED**2 > thick


def test_rare_clusters_are_looked_for_among_all_samples_and_not_in_pieces():
    with Workers(1) as workers:
        first = find_split([draw_rare(1)], workers)
        within = find_split([draw_rare(1)], workers, exactly=0)
    assert first.strength >= 1
    assert first.labels[:9].mean() > 0.8
    assert first.sureness[:9].mean() > 0.8
    assert within.strength < 1
    assert within.sureness is None


def test_threads_find_the_same_group(monkeypatch):
    monkeypatch.setattr(rare_clusters, "WORTH_THREADS", 0)
    X = [draw_rare(1, p=2)]
    with Workers(3) as workers:
        found = find_rare_group(X, workers)
    expected = find_rare_group(X)
    np.testing.assert_array_equal(found.members, expected.members)
    assert found.depth == expected.depth
