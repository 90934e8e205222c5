"""How well clusters are those of a view's neighbours."""

import numpy as np
import pytest

from latentsimplex.neighbours.cluster_support import share_nats, support, support_within
from latentsimplex.neighbours.neighbour_graphs import find_neighbours


def test_support_is_none_for_clusters_that_have_nothing_to_do_with_the_view():
    rng = np.random.default_rng(0)
    near = find_neighbours(rng.normal(size=(400, 2)), 10)
    assert abs(support(near, rng.integers(0, 3, 400))) < 0.05
    assert support(near, np.zeros(400, dtype=int)) == 0


def test_support_within_clusters_that_a_view_has_as_one_is_none():
    """One view has two of the other's three clusters as one: its neighbours do not tell them apart."""
    rng, three = np.random.default_rng(0), np.arange(600) % 3
    two = (three == 2).astype(int)
    coarse, fine = (find_neighbours(9.0 * y[:, None] + rng.normal(size=(600, 1)), 10) for y in (two, three))
    assert abs(support_within(coarse, two, three)) < 2 / np.sqrt(600)
    assert support_within(fine, three, two) > 0.9
    assert support_within(fine, np.zeros(600, dtype=int), three) > 0.9
    absent = np.where(np.arange(600) < 50, -1, three)
    assert abs(support_within(coarse, two, absent)) < 2.5 / np.sqrt(600)


def test_strays_at_borders_cut_no_cluster():
    """Others have the same clusters but for a few samples each; neighbours near the border know nothing of these."""
    rng, own = np.random.default_rng(0), np.arange(300) % 3
    near = find_neighbours(9.0 * own[:, None] + rng.normal(size=(300, 1)), 10)
    others = np.where(rng.random(300) < 0.3, rng.integers(3, size=300), own)
    assert support_within(near, own, others) == 1
    halves = own + 3 * rng.integers(2, size=300)  # these cut each cluster, by chance
    assert abs(support_within(near, own, halves)) < 0.1


def test_nats_that_clusters_share_with_those_of_neighbours():
    labels = np.repeat([0, 1, 2], 20)
    inside = np.array([np.flatnonzero(labels == k)[:5] for k in labels])
    assert share_nats(inside, labels) == pytest.approx((np.log(3), np.log(3)))
    anyone = np.tile(np.arange(60), (60, 1))
    nats, h = share_nats(anyone, labels)
    assert nats == pytest.approx(0, abs=1e-12)
    assert h == pytest.approx(np.log(3))
    absent = inside.copy()
    absent[:20] = -1  # samples without neighbours do not count
    assert share_nats(absent, labels) == pytest.approx((np.log(2), np.log(2)))
