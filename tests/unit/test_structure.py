"""Structure: what groups of views are worth, by hand, and which of them become one."""

import numpy as np
import pytest

from latentsimplex import structure
from latentsimplex.compute.pairs import n_pairs
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import DIVERGENCES
from latentsimplex.profiles import profile
from latentsimplex.structure import (
    Charges,
    Group,
    candidates,
    inner_products,
    make_group,
    merge_groups,
    total_worth,
)
from problems import KINDS, block_values, same_partition

KIND = pytest.mark.parametrize("kind", KINDS)
N, G = 18, 4
HALVES, THIRDS = np.repeat([0, 1], 9), np.tile([0, 1, 2], 6)


def charges(price=5.0, nat=1.0):
    """Return a price of so much for each cluster after the first."""
    return Charges(price * np.arange(G), nat)


def grouped(values, kind, cost):
    """Return a group for each row of pair values, each of weight 1."""
    return [make_group(1.0, f, G, DIVERGENCES[kind], cost, frozenset()) for f in values]


def bare(gamma, mean, worth=0.0):
    """Return a group that only has a weight, a mean and a worth."""
    return Group(gamma, gamma * np.full(3, float(mean)), np.zeros(3, dtype=int), worth)


# One group


@KIND
@pytest.mark.parametrize("gamma", [1.0, 2.5])
def test_a_group_has_the_number_of_clusters_that_is_worth_most(kind, gamma):
    f = block_values(THIRDS, kind, noise=0.3, rng=np.random.default_rng(0))
    cost = charges(5.0)
    group = make_group(gamma, gamma * f, G, DIVERGENCES[kind], cost, frozenset())
    gains = profile(f, G, DIVERGENCES[kind]).gains
    worths = [gamma * gains[k] - 5.0 * k for k in range(G)]
    assert group.n_clusters == 3 == int(np.argmax(worths)) + 1
    assert group.worth == pytest.approx(max(worths))
    assert same_partition(group.labels, THIRDS)
    assert (group.gamma, group.stat.shape) == (gamma, (n_pairs(N),))


@KIND
def test_clusters_that_cost_more_than_they_explain_are_not_cut(kind):
    f = block_values(THIRDS, kind)
    group = make_group(1.0, f, G, DIVERGENCES[kind], charges(1e6), frozenset())
    assert (group.n_clusters, group.worth) == (1, 0.0)


def test_more_views_pay_for_clusters_that_one_does_not():
    f = block_values(HALVES, "forward", within=0.4, between=0.2)
    gain = profile(f, 2, DIVERGENCES["forward"]).gains[1]
    cost = charges(2.5 * gain)
    counts = [
        make_group(v, v * f, G, DIVERGENCES["forward"], cost, frozenset()).n_clusters for v in (1.0, 2.0, 3.0)
    ]
    assert counts == [1, 1, 2]


# Several groups


def test_worth_by_hand():
    groups = [bare(1.0, 0.0, worth=2.0), bare(3.0, 0.0, worth=0.5)]
    nats = 1 * np.log(1 / 4) + 3 * np.log(3 / 4)
    assert total_worth(groups, charges(nat=2.0)) == pytest.approx(2.5 + 2 * nats)
    assert total_worth(groups[:1], charges(nat=2.0)) == 2.0  # one pattern takes nothing to say


def near(groups):
    return candidates(groups, inner_products(groups, Workers(1)))


def test_candidates_are_each_group_and_its_nearest():
    groups = [bare(1.0, mean) for mean in (0.0, 1.0, 10.0, 11.5, 1.4)]
    assert near(groups) == [(0, 1), (1, 4), (2, 3)]


def test_a_light_group_is_near():
    """Two views in one pattern lose more than a view and a hundredth of one, though these are further apart."""
    heavy = [bare(1.0, 0.0), bare(1.0, 1.0), bare(0.01, 3.0)]
    assert (0, 2) in near(heavy)
    assert (0, 2) not in near([group._replace(gamma=1.0, stat=group.stat / group.gamma) for group in heavy])


def test_inner_products_of_groups_that_become_one_add_up(monkeypatch):
    """On the way from six groups to one, candidates are those that the groups' own products give."""
    values = np.random.default_rng(0).random((6, block_values(THIRDS, "forward").size))
    groups = grouped(list(values), "forward", cost := charges())
    seen = []

    def watched(groups, products):
        np.testing.assert_allclose(products, inner_products(groups, Workers(1)), rtol=1e-12)
        seen.append(len(groups))
        return candidates(groups, products)

    monkeypatch.setattr(structure, "candidates", watched)
    merge_groups(groups, G, DIVERGENCES["forward"], cost, Workers(1))
    assert seen == [6, 5, 4, 3, 2]


@KIND
def test_equal_groups_become_one(kind):
    f = block_values(THIRDS, kind)
    groups = grouped([f, f, f], kind, cost := charges())
    (one,) = merge_groups(groups, G, DIVERGENCES[kind], cost, Workers(1))
    assert one.gamma == 3
    np.testing.assert_allclose(one.stat, 3 * f)
    assert same_partition(one.labels, THIRDS)


@KIND
def test_groups_with_other_clusters_stay_apart(kind):
    values = [block_values(labels, kind) for labels in (HALVES, THIRDS, HALVES, THIRDS)]
    groups = grouped(values, kind, cost := charges())
    merged = merge_groups(groups, G, DIVERGENCES[kind], cost, Workers(1))
    assert sorted(group.n_clusters for group in merged) == [2, 3]
    for group in merged:
        assert group.gamma == 2
        assert same_partition(group.labels, HALVES if group.n_clusters == 2 else THIRDS)
    assert total_worth(merged, cost) >= total_worth(groups, cost)


@KIND
def test_groups_without_clusters_become_one(kind):
    """There is nothing to explain, and one pattern is said in no nats."""
    values = [block_values(np.zeros(N, dtype=int), kind, within=s) for s in (0.3, 0.31, 0.32)]
    groups = grouped(values, kind, cost := charges())
    merged = merge_groups(groups, G, DIVERGENCES[kind], cost, Workers(1))
    assert [(group.gamma, group.n_clusters) for group in merged] == [(3.0, 1)]


@KIND
def test_a_single_group_is_left_alone(kind):
    groups = grouped([block_values(HALVES, kind)], kind, cost := charges())
    assert merge_groups(groups, G, DIVERGENCES[kind], cost, Workers(1)) == groups


@KIND
def test_views_that_show_no_clusters_one_by_one_may_show_them_together(kind):
    """No step on the way pays by itself, so that it takes the whole way to see that its end does."""
    rng = np.random.default_rng(0)
    values = [block_values(HALVES, kind, within=0.45, between=0.35, noise=0.5, rng=rng) for _ in range(6)]
    gain = profile(np.mean(values, axis=0), 2, DIVERGENCES[kind]).gains[1]
    cost = charges(5.0 * gain, nat=0.0)
    groups = grouped(values, kind, cost)
    pairs = [
        make_group(2.0, values[i] + values[j], G, DIVERGENCES[kind], cost, frozenset())
        for i in range(6)
        for j in range(i)
    ]
    assert {group.n_clusters for group in [*groups, *pairs]} == {1}
    (one,) = merge_groups(groups, G, DIVERGENCES[kind], cost, Workers(1))
    assert one.n_clusters == 2
    assert same_partition(one.labels, HALVES)
    assert one.worth > 0


@KIND
def test_what_saying_patterns_costs_joins_views_that_differ_little(kind):
    values = [block_values(HALVES, kind, within=w, between=0.1) for w in (0.7, 0.7, 0.8, 0.8)]
    apart, joined = (
        merge_groups(grouped(values, kind, cost), G, DIVERGENCES[kind], cost, Workers(1))
        for cost in (charges(0.01, nat=0.0), charges(0.01, nat=50.0))
    )
    assert len(apart) == 2
    assert len(joined) == 1


@KIND
def test_merging_does_not_change_the_groups_it_was_given(kind):
    values = [block_values(labels, kind) for labels in (HALVES, THIRDS, HALVES)]
    groups = grouped(values, kind, cost := charges())
    before = [group.stat.copy() for group in groups]
    merge_groups(groups, G, DIVERGENCES[kind], cost, Workers(1))
    assert len(groups) == 3
    for group, stat in zip(groups, before, strict=True):
        assert np.array_equal(group.stat, stat)
