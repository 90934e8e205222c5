"""Memberships of new samples from those of their nearest references."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from latentsimplex.base.threads import Workers
from latentsimplex.placing.sample_memberships import (
    PRIOR,
    ROWS,
    SMOOTHING_APART,
    SMOOTHING_TOGETHER,
    ask_neighbours,
    learn_neighbourhood,
    place_samples,
)
from latentsimplex.placing.squared_distances import shared_squares


def three_clusters(n, seed=0, widths=(2, 6), gap=6.0):
    """Views of three clusters, scaled to squared distances of mean 2, with the labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    views = []
    for p in widths:
        X = gap * np.eye(3, p)[labels] + rng.normal(size=(n, p))
        views.append(((X - X.mean(axis=0)) / np.sqrt(X.var(axis=0).sum())).astype(np.float32))
    return views, labels


def memberships(labels, doubt=0.06):
    return (1 - doubt) * np.eye(3)[labels] + doubt / 3


@pytest.fixture(scope="module")
def workers():
    with Workers(2) as pool:
        yield pool


@pytest.fixture(scope="module")
def known(workers):
    views, labels = three_clusters(300)
    W = memberships(labels)
    return learn_neighbourhood([X[:200] for X in views], W[:200], W[:200].mean(axis=0), workers)


def naive_opinions(known, x):
    """What neighbours of one sample say, in loops that import nothing."""
    shares = known.shares

    def mean_of(squares, thinness, smoothing, k):
        scaled = squares * thinness
        near = np.argsort(scaled, kind="stable")[:k]
        weights = 1 / (scaled[near] + smoothing * scaled[near[-1]] + 1e-30)
        return weights @ known.W[near] / weights.sum(), squares[near].mean()

    def opinion(mean):
        return np.log((mean / shares + PRIOR) / (1 + PRIOR))

    joint, apart = 0.0, 0.0
    for v, Z in enumerate(known.coordinates):
        squares = np.square(Z.astype(float) - x[v].astype(float)).sum(axis=1)
        mean = mean_of(squares, known.thinness[v], SMOOTHING_APART, 20 if Z.shape[1] <= 4 else 10)[0]
        sharp = shares * np.exp(known.sharpness * opinion(mean))
        apart = apart + sharp / sharp.sum() / len(known.coordinates)
        joint = joint + squares
    together, distance = mean_of(joint, known.thinness[-1], SMOOTHING_TOGETHER, 10)
    logits = np.log(shares) + known.weights[0] * np.log(apart / shares) + known.weights[1] * opinion(together)
    W = np.exp(logits - logits.max())
    W /= W.sum()
    kept = min(1.0, known.far / distance)
    return kept * W + (1 - kept) * shares, np.sqrt(distance / known.far)


def test_placing_is_what_its_equation_says(known, workers):
    views, _ = three_clusters(300)
    new = [X[200:210] for X in views]
    placed = place_samples(known, new, workers)
    for i in range(10):
        W, remoteness = naive_opinions(known, [X[i] for X in new])
        np.testing.assert_allclose(placed.W[i], W, atol=2e-3)
        np.testing.assert_allclose(placed.remoteness[i], remoteness, rtol=1e-2)


def test_new_samples_get_the_memberships_of_their_cluster(known, workers):
    views, labels = three_clusters(300)
    placed = place_samples(known, [X[200:] for X in views], workers)
    assert (placed.W.argmax(axis=1) == labels[200:]).mean() > 0.97
    np.testing.assert_allclose(placed.W.sum(axis=1), 1)
    assert np.abs(placed.W - memberships(labels[200:])).mean() < 0.02


def test_the_company_of_a_sample_changes_nothing(known, workers):
    views, _ = three_clusters(300)
    many = place_samples(known, [np.vstack([X] * 2) for X in views], workers)
    assert len(many.W) > ROWS
    for rows in (slice(7, 8), slice(150, 163)):
        alone = place_samples(known, [X[rows] for X in views], workers)
        np.testing.assert_array_equal(alone.W, many.W[rows])
    with Workers(1) as one:
        np.testing.assert_array_equal(place_samples(known, views, one).W, many.W[:300])


def test_fewer_views_are_less_sure_and_none_gives_shares(known, workers):
    views, labels = three_clusters(300)
    new = [X[200:] for X in views]
    both = place_samples(known, new, workers).W
    one = place_samples(known, [new[0], None], workers).W
    assert (one.argmax(axis=1) == labels[200:]).mean() > 0.9
    assert np.log(one.max(axis=1)).mean() < np.log(both.max(axis=1)).mean()
    some = [X.copy() for X in new]
    some[1][:50] = np.nan
    mixed = place_samples(known, some, workers).W
    np.testing.assert_allclose(mixed[:50], one[:50], atol=1e-6)
    np.testing.assert_array_equal(mixed[50:], both[50:])
    some[0][3] = some[1][3] = np.nan
    np.testing.assert_allclose(place_samples(known, some, workers).W[3], known.shares)


def test_a_far_sample_is_unlike_and_near_the_shares(known, workers):
    views, _ = three_clusters(300)
    remoteness, surest = [], []
    for shift in (0.0, 2.0, 10.0, 1000.0):
        placed = place_samples(known, [X[200:201] + np.float32(shift) for X in views], workers)
        remoteness.append(placed.remoteness[0])
        surest.append(np.abs(placed.W[0] - known.shares).max())
    assert remoteness[0] < 1 < remoteness[1] < remoteness[2] < remoteness[3]
    assert surest[0] > 0.5 > surest[2] > surest[3]
    assert surest[3] < 1e-3


def test_few_references_are_unlike_one_another(known, workers):
    views, _ = three_clusters(300)
    new = place_samples(known, [X[200:] for X in views], workers)
    assert (new.remoteness > 1).mean() < 0.06


def test_missing_cells_are_left_out(workers):
    views, labels = three_clusters(240, widths=(6, 8))
    rng = np.random.default_rng(1)
    holes = [np.where(rng.random(X.shape) < 0.2, np.nan, X).astype(np.float32) for X in views]
    W = memberships(labels[:200])
    known = learn_neighbourhood([X[:200] for X in holes], W, W.mean(axis=0), workers)
    placed = place_samples(known, [X[200:] for X in holes], workers).W
    assert np.isfinite(placed).all()
    assert (placed.argmax(axis=1) == labels[200:]).mean() > 0.9


def test_references_that_coincide_do_no_harm(workers):
    X = np.repeat(np.array([[0.0] * 6, [1.0] * 6], dtype=np.float32), 20, axis=0)
    W = np.repeat([[0.9, 0.1], [0.2, 0.8]], 20, axis=0)
    known = learn_neighbourhood([X], W, W.mean(axis=0), workers)
    np.testing.assert_allclose(place_samples(known, [X[[0, 39]]], workers).W, W[[0, 39]], atol=0.05)


def test_two_references_are_enough(workers):
    W = np.array([[0.9, 0.1], [0.1, 0.9]])
    known = learn_neighbourhood([np.array([[0.0], [1.0]], dtype=np.float32)], W, W.mean(axis=0), workers)
    assert np.isfinite(place_samples(known, [np.array([[0.2]], dtype=np.float32)], workers).W).all()


def test_no_reference_is_a_hub():
    """In many features plain neighbours are often the same few; scaled ones are not."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 60)).astype(np.float32)
    W = memberships(rng.integers(3, size=400))
    with Workers(1) as one:
        known = learn_neighbourhood([X], W, W.mean(axis=0), one)
    new = rng.normal(size=(400, 60))
    squares = np.square(cdist(new, X))
    asked = [
        np.bincount(np.argsort(each, axis=1)[:, :10].ravel(), minlength=400)
        for each in (squares, squares * known.thinness[0])
    ]
    assert asked[1].max() < 0.7 * asked[0].max()


def test_narrow_views_with_missing_cells_are_those_that_are_compared_on_shared_ones(workers):
    views, labels = three_clusters(200, widths=(3, 2, 1))
    W = memberships(labels)
    known = learn_neighbourhood(views, W, W.mean(axis=0), workers)
    new = [X[:20].copy() for X in views]
    new[0][:10, 1] = np.nan
    new[1][3] = np.nan
    found = ask_neighbours(known, new, np.ones(1), workers)
    squares = [shared_squares(X, Z) for X, Z in zip(new, views, strict=True)]
    squares[1][3] = 0.0
    near = np.argsort(sum(squares), axis=1, kind="stable")[:, :10]
    np.testing.assert_allclose(
        found.distances, np.take_along_axis(sum(squares), near, 1).mean(axis=1), rtol=1e-4
    )
    whole = ask_neighbours(known, [X[:20] for X in views], np.ones(1), workers)
    np.testing.assert_array_equal(found.apart[10:], whole.apart[10:])
