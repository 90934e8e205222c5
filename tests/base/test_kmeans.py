"""K-means, compiled, against plain NumPy: the best of a few samples, Lloyd's steps, the first centres."""

from itertools import product

import numpy as np
import pytest

from latentsimplex.base import kmeans as of_kmeans
from latentsimplex.base.kmeans import draw_starts, kmeans, kmeans_from, sample_rows
from latentsimplex.base.kmeans_loops import best_kmeans, lloyd, nearest_centres, spread_centres
from problems import same_partition


def inertia(X, labels):
    return sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum() for c in np.unique(labels))


def least_inertia(X, k):
    """Return the least inertia over all partitions into at most k clusters."""
    return min(inertia(X, np.array(labels)) for labels in product(range(k), repeat=len(X)))


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_kmeans_of_a_few_samples_is_the_best_there_is(seed, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 2))
    labels = kmeans(X, k, 50)
    assert set(labels) <= set(range(k))
    assert inertia(X, labels) == pytest.approx(least_inertia(X, k), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_lloyd_is_lloyd(seed):
    """From given centres, in plain NumPy; it ends where no sample has a nearer centre."""
    rng = np.random.default_rng(seed)
    X, centres = rng.normal(size=(60, 3)), rng.normal(size=(5, 3))
    labels, found = lloyd(X.T.copy(), centres.copy(), 100)
    expected = None
    while True:
        nearest = ((X[:, None] - centres) ** 2).sum(axis=-1)
        if np.array_equal(nearest.argmin(axis=1), expected):
            break
        expected = nearest.argmin(axis=1)
        centres = np.array(
            [X[expected == c].mean(axis=0) if (expected == c).any() else centres[c] for c in range(5)]
        )
    assert np.array_equal(labels, expected)
    assert found == pytest.approx(nearest.min(axis=1).sum(), rel=1e-12)


def test_lloyd_moves_the_centres_it_was_given():
    X = np.random.default_rng(0).normal(size=(40, 2))
    centres = X[:3].copy()
    labels, _ = lloyd(X.T.copy(), centres, 100)
    np.testing.assert_allclose(centres, [X[labels == c].mean(axis=0) for c in range(3)], rtol=1e-12)


def test_an_empty_cluster_keeps_its_centre():
    X = np.array([[0.0, 1.0, 10.0]])
    labels, found = lloyd(X, np.array([[0.0], [10.0], [1000.0]]), 10)
    assert labels.tolist() == [0, 0, 1]
    assert found == pytest.approx(0.5)


def test_nearest_centres_and_their_squared_distances():
    rng = np.random.default_rng(0)
    X, centres = rng.normal(size=(30, 4)) + 5, rng.normal(size=(6, 4)) + 5
    labels = np.empty(30, np.intp)
    total = nearest_centres(X.T.copy(), centres, labels)
    squares = ((X[:, None] - centres) ** 2).sum(axis=-1)
    assert np.array_equal(labels, squares.argmin(axis=1))
    assert total == pytest.approx(squares.min(axis=1).sum(), rel=1e-10)


def test_first_centres_are_drawn_by_their_squared_distances():
    """Far samples are drawn in proportion to the square of their distance from the first centre."""
    X = np.array([[0.0, 1.0, 3.0]])
    first = spread_centres(X, np.array([[0.0], [0.0]]))
    assert first[0] == 0
    seconds = [spread_centres(X, np.array([[0.0], [draw]]))[1, 0] for draw in (np.arange(1000) + 0.5) / 1000]
    assert np.mean(np.array(seconds) == 3.0) == pytest.approx(9 / 10, abs=2e-3)
    assert 0.0 not in seconds
    thirds = [spread_centres(X, np.array([[start], [0.3], [0.7]])) for start in (0.0, 0.4, 0.99)]
    assert [sorted(centres[:, 0]) for centres in thirds] == [[0, 1, 3]] * 3


def test_of_two_candidates_the_one_that_leaves_less_is_a_centre():
    X = np.array([[0.0, 1.0, 3.0, 3.1]])
    near, far = 0.01, 0.9  # of the squared distances 1, 9 and 9.61 from the first centre
    for draws in ([near, far], [far, near]):
        assert spread_centres(X, np.array([[0.0, 0.0], draws]))[1, 0] > 1


def test_samples_that_coincide_do_not_stop_kmeans():
    labels = kmeans(np.ones((6, 2)), 3)
    assert len(set(labels)) == 1
    assert same_partition(kmeans(np.repeat([[0.0], [1.0]], 5, axis=0), 4), np.repeat([0, 1], 5))


def test_kmeans_is_a_function_of_the_samples():
    X = np.random.default_rng(0).normal(size=(50, 4))
    assert np.array_equal(kmeans(X, 6), kmeans(np.asfortranarray(X), 6))
    assert np.array_equal(draw_starts(3, 5), draw_starts(3, 5))
    assert ((draw_starts(9, 5) >= 0) & (draw_starts(9, 5) < 1)).all()


def test_some_rows_are_always_the_same_and_in_order():
    assert sample_rows(5, 5).tolist() == [0, 1, 2, 3, 4]
    some = sample_rows(100, 10)
    assert np.array_equal(some, sample_rows(100, 10))
    assert len(set(some.tolist())) == 10
    assert (np.diff(some) > 0).all()
    assert some.max() > 10


def test_centres_of_some_samples_serve_all():
    truth = np.arange(300) % 3
    X = 20.0 * np.eye(3)[truth] + np.random.default_rng(0).normal(size=(300, 3))
    assert same_partition(kmeans(X, 3, most=30), truth)
    rows = sample_rows(300, 30)
    expected = best_kmeans(
        X.T.copy(), X[rows].T.copy(), np.empty((0, 3, X.shape[1])), draw_starts(3, 3), 50, 0
    )
    assert np.array_equal(kmeans(X, 3, most=30), expected)


# From labels that are known


def test_of_labelings_the_best_is_where_kmeans_goes_on():
    rng = np.random.default_rng(1)
    truth = np.arange(60) % 4
    X = 30.0 * rng.normal(size=(4, 3))[truth] + rng.normal(size=(60, 3))
    wrong = rng.permutation(truth)
    found = kmeans_from(X, 4, np.array([wrong, truth, wrong]), n_init=0)
    assert np.array_equal(found, truth)  # with its own numbers


def test_labelings_with_another_number_of_clusters_do_not_count():
    X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    two = np.array([[0, 0, 1, 1, 1, 1]])
    found = kmeans_from(X, 3, two)
    assert same_partition(found, np.repeat([0, 1, 2], 2))
    assert np.array_equal(found, kmeans_from(X, 3, np.empty((0, 6), dtype=int)))


def test_labels_may_have_any_numbers():
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    assert kmeans_from(X, 2, np.array([[7, 7, 3, 3]]), n_init=0).tolist() == [1, 1, 0, 0]


def test_starts_compete_on_some_samples_and_the_winner_goes_on_with_all(monkeypatch):
    monkeypatch.setattr(of_kmeans, "SAMPLED", 12)
    truth = np.arange(90) % 3
    X = 20.0 * np.eye(3)[truth] + np.random.default_rng(0).normal(size=(90, 3))
    found = kmeans_from(X, 3, np.array([np.roll(truth, 45)]))
    assert same_partition(found, truth)
    centres = np.array([X[found == c].mean(axis=0) for c in range(3)])
    assert np.array_equal(((X[:, None] - centres) ** 2).sum(axis=-1).argmin(axis=1), found)


def clouds(rng, n, k):
    labels = rng.integers(k, size=n)
    return 4 * np.eye(k)[labels] + rng.normal(size=(n, k)), labels


@pytest.mark.parametrize("seed", range(4))
def test_labels_near_others_are_as_good_as_those_of_many_starts(seed):
    X, labels = clouds(np.random.default_rng(seed), 200, 5)
    best = inertia(X, kmeans(X, 5, 100))
    for near in (labels, np.arange(200) % 5, np.zeros(200, dtype=int)):
        assert inertia(X, kmeans_from(X, 5, near[None])) == pytest.approx(best, rel=0.01)


def test_labels_that_cannot_be_better_stay():
    """A partition that k-means would leave as it is wins over starts that end higher."""
    X = np.random.default_rng(0).normal(size=(300, 6))
    settled = kmeans(X, 12, 300)
    assert inertia(X, settled) < inertia(X, kmeans(X, 12, 3))
    assert same_partition(kmeans_from(X, 12, settled[None]), settled)
