"""Which views share clusters: those that support one another, in any order, and no noise."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from latentsimplex.auto import shared_clusters
from latentsimplex.auto.cluster_tree import Bounds
from latentsimplex.auto.shared_clusters import ViewGroups, find_shared_clusters
from latentsimplex.base.partial_table import PartialTable
from latentsimplex.base.threads import Workers
from latentsimplex.model.problem import Listener
from latentsimplex.neighbours.neighbour_graphs import find_neighbours
from latentsimplex.similarity.comparisons import compare_samples

FIRST, SECOND = np.arange(180) % 3, np.arange(180) // 90


def view(labels, seed, distance=7.0, p=2):
    rng = np.random.default_rng(seed)
    centres = distance * np.random.default_rng(99).normal(size=(labels.max() + 1, p))
    return centres[labels] + rng.normal(size=(len(labels), p))


def noise(seed, p=5):
    return np.random.default_rng(seed).normal(size=(180, p))


def find(views, least=1, most=None, most_groups=10):
    with Workers(1) as workers:
        return find_shared_clusters(views, Bounds(least, most), most_groups, workers)


def test_views_with_the_same_clusters_are_one_group():
    found = find([view(FIRST, 0), view(SECOND, 1), view(FIRST, 2)])
    assert [group.members for group in found.groups] == [(0, 2), (1,)]
    assert adjusted_rand_score(found.groups[0].tree.labels, FIRST) > 0.95
    assert adjusted_rand_score(found.groups[1].tree.labels, SECOND) > 0.95
    assert found.others is None


def test_noise_takes_part_in_nothing():
    found = find([noise(3), view(FIRST, 0), *(noise(seed) for seed in range(4, 8))])
    assert [group.members for group in found.groups] == [(1,)]
    assert found.others is not None


def test_the_order_of_views_does_not_matter():
    views = [view(FIRST, 0), noise(3), view(SECOND, 1), view(FIRST, 2)]
    forward, backward = find(views), find(views[::-1])
    assert [group.members for group in backward.groups] == [(0, 3)[::1], (1,)]
    assert np.array_equal(forward.groups[1].tree.labels, backward.groups[1].tree.labels)
    assert adjusted_rand_score(forward.groups[0].tree.labels, backward.groups[0].tree.labels) > 0.99


def test_no_clusters_anywhere_are_no_groups_unless_they_were_asked_for():
    views = [noise(0), noise(1)]
    assert find(views).groups == []
    (group,) = find(views, least=3, most=3).groups
    assert group.members == (0, 1)
    assert group.tree.n_clusters == 3


def test_no_more_groups_than_allowed():
    assert len(find([view(FIRST, 0), view(SECOND, 1)], most_groups=1).groups) == 1


def test_a_view_that_has_clusters_of_another_as_one_shares_none_with_it():
    """As in the paper's consensus example: two clusters in one view, three in another, nested."""
    rng, three = np.random.default_rng(0), np.arange(300) % 3
    views = [8.0 * y[:, None] + rng.normal(size=(300, 1)) for y in ((three == 2).astype(int), three)]
    found = find(views)
    assert sorted(group.tree.n_clusters for group in found.groups) == [2, 3]


class Hearing(Listener):
    """Notes what it hears of looks."""

    def __init__(self):
        self.heard = []

    def looked(self, done, whole):
        self.heard.append((done, whole))


def test_looks_to_come_are_known_by_the_trees_of_some_samples(monkeypatch):
    monkeypatch.setattr(shared_clusters, "GROUPED_BY", 90)
    views, hearing = [view(FIRST, 0), noise(1), view(SECOND, 2)], Hearing()
    with Workers(2) as workers:
        found = find_shared_clusters(views, Bounds(), 10, workers, None, None, hearing)
        unheard = find_shared_clusters(views, Bounds(), 10, workers)
    assert [group.members for group in found.groups] == [group.members for group in unheard.groups]
    done = [each for each, _ in hearing.heard]
    assert done[0] == 0
    assert done == sorted(done)
    # three clusters are two cuts of 180 and 120 samples, two are one cut; pieces are looked at too; noise has been
    assert done[-1] == (180 + 180 + 120) + (180 + 180)
    assert abs(hearing.heard[0][1] - done[-1]) <= 0.1 * done[-1]


@pytest.mark.parametrize("finer", [False, True])
def test_what_has_been_looked_at_in_all_samples_is_not_expected_again(monkeypatch, finer):
    """A group's tree is grown on all samples before looks are counted, unless one view shows finer clusters."""
    monkeypatch.setattr(shared_clusters, "GROUPED_BY", 90)
    if finer:
        monkeypatch.setattr(shared_clusters.ViewGroups, "find_clearest", lambda self, members: members[:1])
    views, hearing = [view(FIRST, 0), view(FIRST, 1)], Hearing()
    with Workers(1) as workers:
        found = find_shared_clusters(views, Bounds(), 10, workers, None, None, hearing)
    assert [group.members for group in found.groups] == [(0, 1)]
    expected, done = hearing.heard[0][1], hearing.heard[-1][0]
    assert (expected > 0) == finer
    assert abs(expected - done) <= 0.1 * done


def test_neighbours_found_on_the_way_are_those_of_another_search():
    views = [view(FIRST, 0), view(FIRST, 1)]
    with Workers(1) as workers:
        found = find_shared_clusters(views, Bounds(), 10, workers)
    comparison = found.groups[0].tree.comparison
    for v, X in enumerate(views):
        near = found.neighbours[v, comparison]
        expected = find_neighbours(compare_samples(X, comparison), near.shape[1])
        np.testing.assert_array_equal(near, expected)


def test_views_without_clusters_are_looked_at_once(monkeypatch):
    monkeypatch.setattr(shared_clusters, "GROUPED_BY", 90)
    looks, grow_tree = [], shared_clusters.grow_tree

    def grow(tables, *how, **settings):
        looks.append((len(tables), len(tables[0])))
        return grow_tree(tables, *how, **settings)

    monkeypatch.setattr(shared_clusters, "grow_tree", grow)
    with Workers(1) as workers:
        found = find_shared_clusters([view(FIRST, 0), noise(1)], Bounds(), 10, workers)
    assert found.others is not None
    assert looks.count((1, 180)) == 2  # each view


def test_a_look_counts_as_its_landmarks_where_these_are_fewer():
    hearing = Hearing()
    count = shared_clusters.LookCount(hearing, [1000, 60, 40], n_landmarks=100)
    count.add(900)
    count.add(60)
    assert hearing.heard == [(0, 200), (100, 200), (160, 200)]


def made_tree(labels):
    return SimpleNamespace(labels=labels, n_clusters=labels.max() + 1, comparison="as they are")


def test_a_view_stands_for_a_group_if_it_has_all_samples_and_suits_all_views(monkeypatch):
    four = np.repeat(np.arange(4), 45)
    whole, part = view(four, 0), PartialTable(view(four, 1)[:170], np.arange(170), 180)
    column = view(four, 2, p=1)
    with Workers(1) as workers:
        groups = ViewGroups([whole, part, column], np.arange(100), Bounds(), workers)
        monkeypatch.setattr(groups, "tree", lambda own: made_tree(four[:100]))
        assert [groups._stands_for(v, (0, 1, 2)) for v in range(3)] == [True, False, False]
        assert groups._stands_for(2, (2,))


def test_a_group_has_the_clusters_of_one_view_where_these_tell_clearly_more(monkeypatch):
    """Four clusters that neighbours in both views keep to, where the views together show two; and halves by chance."""
    four, rng = np.repeat(np.arange(4), 45), np.random.default_rng(0)
    views = [view(four, 0), view(four, 1)]
    by_chance = 2 * (four // 2) + rng.integers(2, size=180)
    with Workers(1) as workers:
        groups = ViewGroups(views, np.arange(180), Bounds(), workers)
        for alone, expected in ((four, (0,)), (by_chance, (0, 1)), (four // 2, (0, 1))):
            trees = {(0,): alone, (1,): four // 2, (0, 1): four // 2}
            monkeypatch.setattr(groups, "tree", lambda own, trees=trees: made_tree(trees[own]))
            assert groups.find_clearest((0, 1)) == expected
        monkeypatch.setattr(groups, "tree", lambda own: made_tree(np.zeros(180, dtype=int)))
        assert groups.find_clearest((0, 1)) == (0, 1)
