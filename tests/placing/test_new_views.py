"""Which patterns new views follow, and what neighbours share by chance."""

import numpy as np
import pytest

from latentsimplex.base.threads import Workers
from latentsimplex.inputs.views import as_views
from latentsimplex.neighbours.neighbour_graphs import find_neighbours
from latentsimplex.placing._view_loops import find_neighbours_on_lines
from latentsimplex.placing.new_views import KnownPatterns, assign_views, support_beyond_chance
from latentsimplex.similarity import Diffusion, Precomputed

N = 90


@pytest.fixture(scope="module")
def known():
    """A pattern of three clusters, one of two, and one without any."""
    labels = np.array([np.arange(N) % 3, np.arange(N) // 45, np.zeros(N, dtype=int)])
    W = [0.9 * np.eye(g)[own] + 0.1 / g for g, own in zip((3, 2, 1), labels, strict=True)]
    return KnownPatterns(
        labels, W, [np.eye(g) for g in (3, 2, 1)], np.array([0.4, 0.3, 0.3]), "reverse", N / 2
    )


def views_of(known, seed=0):
    """New views: two of the first pattern, one of the second, noise and a constant."""
    rng = np.random.default_rng(seed)
    first, second = known.labels[:2]
    return [
        6.0 * np.eye(3)[first] + rng.normal(size=(N, 3)),
        6.0 * first[:, None] + rng.normal(size=(N, 1)),
        5.0 * second[:, None] + rng.normal(size=(N, 2)),
        rng.normal(size=(N, 1)),
        rng.normal(size=(N, 4)),
        np.ones((N, 1)),
    ]


def test_views_follow_the_pattern_of_their_neighbours(known):
    with Workers(2) as workers:
        found = assign_views(as_views(views_of(known)), Diffusion(), known, workers)
    assert found.patterns.tolist() == [0, 0, 1, -1, -1, -1]
    sums = found.responsibilities.sum(axis=1)
    np.testing.assert_allclose(sums, [1, 1, 1, 0, 0, 0], atol=1e-12)
    assert not found.responsibilities[:, 2].any()


def test_similarities_that_were_given_follow_patterns_too(known):
    views = [np.exp(-Diffusion(mean=0.3).exponents(X)) for X in views_of(known)[:4]]
    square = np.zeros((4, N, N))
    i, j = np.triu_indices(N, 1)
    square[:, i, j] = square[:, j, i] = views
    with Workers(1) as workers:
        found = assign_views(as_views(square, precomputed=True), Precomputed(), known, workers)
    assert found.patterns.tolist() == [0, 0, 1, -1]


def test_of_many_samples_a_part_decides(known):
    times = 15
    many = KnownPatterns(
        np.tile(known.labels, times),
        [np.tile(W, (times, 1)) for W in known.memberships],
        known.responses,
        known.weights,
        known.divergence,
        known.temperature * times,
    )
    rng = np.random.default_rng(1)
    view = 6.0 * many.labels[0][:, None] + rng.normal(size=(N * times, 1))
    with Workers(1) as workers:
        assert assign_views(as_views([view]), Diffusion(), many, workers).patterns.tolist() == [0]


@pytest.mark.parametrize("k", [1, 5])
def test_moments_of_chance_are_those_of_shuffles(k):
    rng = np.random.default_rng(0)
    labels = rng.choice(3, size=60, p=[0.6, 0.3, 0.1])
    near = find_neighbours(rng.normal(size=(60, 2)), k)
    shared = [(each[near] == each[:, None]).sum() for each in (rng.permutation(labels) for _ in range(4000))]
    mean, spread = np.mean(shared), np.std(shared)
    expected = ((labels[near] == labels[:, None]).sum() - mean) / spread
    assert support_beyond_chance(near, labels[None])[0] == pytest.approx(expected, abs=0.15)


def test_neighbours_on_a_line():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3, 40))
    found = find_neighbours_on_lines(values, 5)
    for x, near in zip(values, found, strict=True):
        np.testing.assert_array_equal(np.sort(near), np.sort(find_neighbours(x[:, None], 5)))
    ties = find_neighbours_on_lines(np.zeros((1, 6)), 3)[0]
    assert all(i not in near and len(set(near)) == 3 for i, near in enumerate(ties.tolist()))
