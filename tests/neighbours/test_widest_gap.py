"""The minimum spanning tree, and the widest gap between samples that it shows."""

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform

from latentsimplex.neighbours.neighbour_graphs import estimate_dimension
from latentsimplex.neighbours.widest_gap import Gap, find_widest_gap, grow_tree, join_distances


def draw_groups(sizes, apart, p=3, seed=0):
    rng, labels = np.random.default_rng(seed), np.repeat(np.arange(len(sizes)), sizes)
    return rng.normal(size=(len(labels), p)) + apart * labels[:, None], labels


def test_a_tree_is_as_short_as_scipy_s_and_what_hangs_on_a_sample_follows_it():
    X = np.random.default_rng(0).normal(size=(60, 4))
    distances = squareform(pdist(X))
    tree = grow_tree(distances)
    assert tree.lengths.sum() == pytest.approx(minimum_spanning_tree(distances).sum())
    assert sorted(tree.order.tolist()) == list(range(60))
    for place, size in enumerate(tree.sizes.tolist()):
        below = tree.order[place : place + size]
        others = np.setdiff1d(tree.order, below)
        if len(others):
            assert distances[np.ix_(below, others)].min() == pytest.approx(tree.lengths[place])


def test_the_widest_gap_parts_the_groups_that_are_far_apart():
    X, labels = draw_groups([7, 9, 8], 20.0)
    gap = find_widest_gap([X], 5)
    assert gap.width > 5
    assert len(np.unique(gap.sides[labels == labels[0]])) == 1
    assert all(len(np.unique(gap.sides[labels == k])) == 1 for k in range(3))
    assert 1.5 < gap.dimension < 5


def test_few_outliers_are_no_side():
    X, _ = draw_groups([20, 4], 50.0)
    gap = find_widest_gap([X], 5)
    assert gap is None or gap.width < 3
    assert (
        find_widest_gap(
            [
                X[:20],
            ],
            11,
        )
        is None
    )


def test_a_long_edge_among_long_ones_is_no_wide_gap():
    """Five scattered samples far out hang together by edges that are as long."""
    near, _ = draw_groups([20], 0.0)
    far = 30.0 * np.arange(2, 7)[:, None] * np.ones(3)
    assert find_widest_gap([np.vstack([near, far])], 5).width < 2.5


def test_each_view_counts_the_same_whatever_its_unit():
    X, _ = draw_groups([10, 10], 9.0)
    Y, _ = draw_groups([10, 10], 9.0, seed=1)
    one, other = (find_widest_gap([X, unit * Y], 5) for unit in (1.0, 1e6))
    assert one.width == pytest.approx(other.width)
    np.testing.assert_array_equal(one.sides, other.sides)
    constant = np.ones_like(X)
    np.testing.assert_allclose(join_distances([X, constant]), join_distances([X]))


def test_samples_that_coincide_have_no_gap():
    X = np.repeat([[0.0], [9.0]], 10, axis=0)
    assert find_widest_gap([X], 5) is None


@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_dimension_is_that_near_the_samples(d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, d)) @ rng.normal(size=(d, 10))
    nearest = np.sort(squareform(pdist(X)), axis=1)[:, 1:5]
    assert estimate_dimension(nearest, 3) == pytest.approx(d, rel=0.15)


def test_the_emptiness_of_a_gap_by_hand():
    """In two dimensions a gap four times as wide as most edges is sixteen times as empty."""
    sides = np.repeat([0, 1], 8)
    assert Gap(4.0, sides, 2.0).emptiness == pytest.approx(16 * np.log(4) / np.log(16))
    assert Gap(50.0, sides, 300.0).emptiness == pytest.approx(16)  # n times at most
