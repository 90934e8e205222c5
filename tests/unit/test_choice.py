"""What "auto" becomes: the reading that shows clusters best, and the temperature that goes with a similarity."""

import numpy as np
import pytest

from latentsimplex import choice
from latentsimplex.choice import (
    KINDS,
    VIEWS_OF_A_KIND,
    choose_readings,
    evidence_by_reading,
    sample_views,
    view_temperatures,
)
from latentsimplex.compute.threads import Workers
from latentsimplex.datasets import single_view
from latentsimplex.divergence import DIVERGENCES
from latentsimplex.reference import temperature
from latentsimplex.similarity import LocalScaling, Precomputed, Readings
from latentsimplex.views import as_views

FORWARD = DIVERGENCES["forward"]
WORKERS = Workers(1)


def chosen(data, n_clusters=3, n_jobs=1, kind="forward"):
    with Workers(n_jobs) as workers:
        return choose_readings(as_views(data), n_clusters, DIVERGENCES[kind], workers)


def clusters(n, k, p, distance=6.0, seed=0):
    """Return k clusters in p dimensions, and which one each sample is in."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    return distance * rng.normal(size=(k, p))[labels] + rng.normal(size=(n, p)), labels


# Which views are looked at


def widths_of(counts):
    """Return views of so many samples as the counts' sum has, one for each number of features."""
    rng = np.random.default_rng(0)
    return as_views([rng.normal(size=(4, p)) for p in counts])


def test_views_are_taken_by_kind():
    views = widths_of([1, 3, 1, 1, 3, 2])
    found = sample_views(views)
    assert {p: sorted(members) for p, members in found.items()} == {1: [0, 2, 3], 2: [5], 3: [1, 4]}


def test_a_few_views_decide_for_all_of_a_kind():
    found = sample_views(widths_of([1] * 100))
    assert len(found[1]) == len(set(found[1])) == VIEWS_OF_A_KIND < 100
    assert max(found[1]) > VIEWS_OF_A_KIND  # not simply the first ones


def test_a_few_kinds_decide_for_all():
    found = sample_views(widths_of(range(1, 41)))
    assert len(found) == KINDS
    assert {1, 40} <= set(found)
    assert sorted(found) == list(found)


def test_constant_views_tell_nothing():
    flat, X = np.ones((6, 2)), np.random.default_rng(0).normal(size=(6, 2))
    assert sample_views(as_views([flat, X, flat, X + 1])) in ({2: [1, 3]}, {2: [3, 1]})
    assert sample_views(as_views([flat, np.zeros((6, 1))])) == {}


# Readings


def test_one_feature_has_a_single_reading():
    assert chosen(clusters(40, 2, 1)[0]).features == ((1, "as they are"),)


def test_each_kind_has_a_reading_of_its_own():
    X, _ = clusters(40, 2, 3)
    found = chosen([X[:, :1], X, X[:, :2]])
    assert [p for p, _ in found.features] == [1, 2, 3]
    assert found.scale in ("local", "broad")


@pytest.mark.parametrize("seed", range(2))
def test_features_on_wildly_different_scales_are_not_read_as_they_are(seed):
    """The feature that counts most by its unit shows no clusters; the others do."""
    X, _ = clusters(60, 3, 4, seed=seed)
    X[:, 0] = 1e4 * np.random.default_rng(seed).normal(size=60)
    assert chosen(X).features[0][1] != "as they are"


@pytest.mark.parametrize("seed", range(2))
def test_features_with_heavy_tails_are_read_one_by_one(seed):
    X = single_view("f", 120, random_state=seed).views[0]
    assert chosen(X, n_clusters=2).features == ((2, "one by one"),)


def test_features_whose_scale_tells_clusters_are_not_made_equal():
    """Clusters lie along one feature, and forty more of small variance would drown it once they are equal."""
    rng = np.random.default_rng(0)
    X = 0.1 * rng.normal(size=(60, 40))
    X[:, 0] = 10 * (np.arange(60) % 2) + 0.3 * rng.normal(size=60)
    assert chosen(X, n_clusters=2).features[0][1] == "as they are"


def evidence(views, scale, features, n_clusters, divergence, workers):
    (found,) = evidence_by_reading(views, [(scale, features)], n_clusters, divergence, workers)
    return found


def test_there_is_more_evidence_in_clusters_than_in_noise():
    X, _ = clusters(60, 3, 2)
    noise = np.random.default_rng(1).normal(size=(60, 2))
    for scale in ("local", "broad"):
        with_clusters, without = (
            evidence([Y], scale, "standardised", 4, FORWARD, WORKERS) for Y in (X, noise)
        )
        assert with_clusters > 1.3 * without
        assert without == pytest.approx(1, abs=0.4)


def test_evidence_is_a_geometric_mean_over_views_measured_by_the_clouds_of_all():
    views = [clusters(40, 2, 2, distance, seed=1)[0] for distance in (2.0, 6.0)]
    both = evidence(views, "broad", "as they are", 3, FORWARD, WORKERS)
    again = evidence(views[::-1], "broad", "as they are", 3, FORWARD, WORKERS)
    alone = [evidence([X], "broad", "as they are", 3, FORWARD, WORKERS) for X in views]
    kernel = Readings("broad", ((2, "as they are"),))
    rng = np.random.default_rng(0)
    order = rng.permutation(40)
    clouds = np.array([temperature(X[order], kernel, FORWARD) for X in views])
    assert both == pytest.approx(np.sqrt(np.prod(alone) * np.prod(clouds)) / clouds.mean(), rel=1e-9)
    assert again == pytest.approx(both, rel=1e-9)


@pytest.mark.parametrize(("n", "n_clusters"), [(2, 3), (3, 3), (10, 1)])
def test_without_a_choice_of_clusters_there_is_no_evidence(n, n_clusters):
    X = np.random.default_rng(0).normal(size=(n, 2))
    found = evidence([X], "local", "standardised", n_clusters, FORWARD, WORKERS)
    assert found == 1 if n == 2 or n_clusters == 1 else found > 0
    assert chosen(X, n_clusters).features[0][0] == 2


def test_nothing_but_constant_views():
    assert chosen([np.ones((6, 2)), np.zeros((6, 3))]) == Readings("local", ((1, "as they are"),))


def test_a_constant_feature_does_not_count():
    X, _ = clusters(40, 2, 2)
    flat = np.column_stack([X, np.full(40, 1e6)])
    assert evidence([flat], "local", "standardised", 3, FORWARD, WORKERS) == pytest.approx(
        evidence([X], "local", "standardised", 3, FORWARD, WORKERS), rel=0.1
    )


def test_the_choice_is_the_same_each_time_and_on_any_number_of_threads():
    data = [clusters(40, 3, p, 4.0)[0] for p in (1, 2, 2)]
    np.random.seed(1)  # noqa: NPY002
    first = chosen(data)
    np.random.seed(2)  # noqa: NPY002
    assert chosen(data) == chosen(data, n_jobs=3) == first


@pytest.mark.parametrize("kind", DIVERGENCES)
def test_a_choice_for_either_divergence(kind):
    assert chosen(clusters(40, 2, 2)[0], kind=kind).scale in ("local", "broad")


# Temperature


SCALING = LocalScaling()


def temperatures(data, kernel=SCALING, n_jobs=1):
    with Workers(n_jobs) as workers:
        return view_temperatures(as_views(data), kernel, FORWARD, workers)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_each_of_a_few_views_has_the_temperature_of_its_cloud(n_jobs):
    rng = np.random.default_rng(0)
    data = [rng.normal(size=(30, p)) for p in (1, 3, 2)]
    expected = [temperature(X, LocalScaling(), FORWARD) for X in data]
    assert temperatures(data, n_jobs=n_jobs).tolist() == expected
    assert len(set(expected)) == 3


def test_views_beyond_a_few_have_the_mean_of_their_kind(monkeypatch):
    monkeypatch.setattr(choice, "CLOUDED", 2)
    rng = np.random.default_rng(0)
    found = temperatures([rng.normal(size=(20, p)) for p in (2, 2, 2, 2, 1)])
    sampled = sample_views(widths_of([2, 2, 2, 2, 1]))[2][:2]
    others = np.setdiff1d(np.arange(4), sampled)
    np.testing.assert_allclose(found[others], found[sampled].mean())
    assert found[sampled[0]] != found[sampled[1]]
    assert not np.isclose(found[4], found[others]).any()


def test_constant_views_have_no_part_in_the_temperatures_of_others():
    X = np.random.default_rng(0).normal(size=(30, 2))
    found = temperatures([np.ones((30, 2)), X, np.zeros((30, 1))])
    assert (found == temperature(X, LocalScaling(), FORWARD)).all()
    assert temperatures(np.ones((30, 2))).tolist() == [1]


def test_a_view_that_cannot_be_read_is_named():
    with pytest.raises(ValueError, match=r"view 'sound': .*must lie in"):
        temperatures({"colour": np.eye(9), "sound": 3 * np.ones((9, 9)) - np.eye(9)}, Precomputed())
