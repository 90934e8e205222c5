"""Groups of views: what they are worth, by hand, and which of them become one."""

from types import SimpleNamespace

import numpy as np
import pytest

from latentsimplex.auto.explained_divergence import explain
from latentsimplex.base.condensed import count_pairs
from latentsimplex.base.threads import Workers
from latentsimplex.model.backends import NumbaBackend
from latentsimplex.model.cluster_prices import ClusterPrice
from latentsimplex.model.problem import Model, Problem, Schedule
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.search import view_groups
from latentsimplex.search.view_groups import (
    NO_VIEWS,
    Group,
    best_groups,
    cut_best,
    make_groups,
    merge_groups,
    nearest_pairs,
    prices_of,
    total_worth,
    unite,
)
from problems import (
    HALVES,
    KINDS,
    THIRDS,
    TWO_PATTERNS,
    block_values,
    make_case,
    priced_problem,
    same_partition,
    views_of_two_patterns,
)

KIND = pytest.mark.parametrize("kind", KINDS)
N, G, D = 18, 4, 4
PAIRS = SimpleNamespace(workers=Workers(1), backend=NumbaBackend(N, Workers(1)))
"""All that merging asks of the pairs once groups have their statistics."""


def charging(kind="forward", price=5.0, nat=1.0):
    """Return a problem with a price of so much for each cluster after the first."""
    model = Model(DIVERGENCES[kind], ClusterPrice(tuple((price * np.arange(G)).tolist())), nat)
    return Problem(PAIRS, model, Schedule())


def group_of(mass, stat, problem, part=0):
    """Return the best group of views with these statistics."""
    model = problem.model
    return cut_best(mass, stat, explain(stat / mass, G, model.divergence), model, frozenset([part]))


def grouped(values, problem):
    """Return a group for each row of pair values, each of weight 1."""
    return [group_of(1.0, f, problem, part) for part, f in enumerate(values)]


def bare(mass, mean, worth=0.0):
    """Return a group that only has a weight, a mean and a worth."""
    return Group(mass, mass * np.full(3, float(mean)), np.zeros(3, dtype=int), worth)


def count_clusters(group):
    return int(group.labels.max()) + 1


# Prices


def test_prices_are_the_models():
    problem = priced_problem(views_of_two_patterns(), temperature=2.5)
    assert prices_of(problem.model).tolist() == list(problem.model.penalty.prices)
    assert len(prices_of(problem.model)) == 4


@pytest.mark.parametrize("penalty", ["group", None])
def test_a_model_without_prices_has_none_to_ask_for(penalty):
    with pytest.raises(AssertionError):
        prices_of(make_case(0, penalty=penalty).model)


# One group


@KIND
@pytest.mark.parametrize("mass", [1.0, 2.5])
def test_a_group_has_the_number_of_clusters_that_is_worth_most(kind, mass):
    f = block_values(THIRDS, kind, noise=0.3, rng=np.random.default_rng(0))
    group = group_of(mass, mass * f, charging(kind, 5.0), part=3)
    gains = explain(f, G, DIVERGENCES[kind]).gains
    worths = [mass * gains[k] - 5.0 * k for k in range(G)]
    assert count_clusters(group) == 3 == int(np.argmax(worths)) + 1
    assert group.worth == pytest.approx(max(worths))
    assert same_partition(group.labels, THIRDS)
    assert (group.mass, group.stat.shape) == (mass, (count_pairs(N),))
    assert group.parts == {3}


@KIND
def test_clusters_that_cost_more_than_they_explain_are_not_cut(kind):
    group = group_of(1.0, block_values(THIRDS, kind), charging(kind, 1e6))
    assert (count_clusters(group), group.worth) == (1, 0.0)


def test_more_views_pay_for_clusters_that_one_does_not():
    f = block_values(HALVES, "forward", within=0.4, between=0.2)
    gain = explain(f, 2, DIVERGENCES["forward"]).gains[1]
    problem = charging("forward", 2.5 * gain)
    counts = [count_clusters(group_of(v, v * f, problem)) for v in (1.0, 2.0, 3.0)]
    assert counts == [1, 1, 2]


# Groups of the views at hand


@KIND
def test_a_group_for_each_pattern_that_has_views(kind):
    eta = np.zeros((6, D))
    eta[:, 1], eta[:, 3] = TWO_PATTERNS == 0, TWO_PATTERNS == 1
    halves, thirds = make_groups(priced_problem(views_of_two_patterns(kind), kind=kind), eta)
    assert (halves.mass, thirds.mass) == (3, 3)
    assert (halves.parts, thirds.parts) == ({1}, {3})
    assert same_partition(halves.labels, HALVES)
    assert same_partition(thirds.labels, THIRDS)


def test_a_pattern_that_has_no_more_than_rounding_of_views_has_no_group():
    eta = np.zeros((6, D))
    eta[:, 0], eta[:, 2] = 1 - NO_VIEWS / 10, NO_VIEWS / 10
    (group,) = make_groups(priced_problem(views_of_two_patterns()), eta)
    assert group.parts == {0}


def test_the_weights_of_views_count():
    pairs = views_of_two_patterns()
    pairs.weights = np.arange(1.0, 7.0)
    first, second = make_groups(priced_problem(pairs), np.eye(D)[TWO_PATTERNS])
    assert (first.mass, second.mass) == (1 + 3 + 4, 2 + 5 + 6)
    np.testing.assert_allclose(first.stat, pairs.F[0] + 3 * pairs.F[2] + 4 * pairs.F[3])


@KIND
def test_the_best_groups_of_a_partition_are_its_groups_merged(kind):
    problem = priced_problem(views_of_two_patterns(kind), kind=kind)
    eta = np.eye(6)[np.arange(6)]
    found = best_groups(problem, eta)
    assert sorted(map(sorted, (group.parts for group in found))) == [[0, 2, 3], [1, 4, 5]]
    merged = merge_groups(make_groups(problem, eta), problem)
    assert [group.parts for group in merged] == [group.parts for group in found]


# Several groups


def test_worth_by_hand():
    groups = [bare(1.0, 0.0, worth=2.0), bare(3.0, 0.0, worth=0.5)]
    nats = 1 * np.log(1 / 4) + 3 * np.log(3 / 4)
    model = charging(nat=2.0).model
    assert total_worth(groups, model) == pytest.approx(2.5 + 2 * nats)
    assert total_worth(groups[:1], model) == 2.0  # one pattern takes nothing to say


@KIND
def test_the_union_of_two_groups_is_the_group_of_the_views_of_both(kind):
    problem = charging(kind)
    values = [block_values(THIRDS, kind, noise=0.3, rng=np.random.default_rng(seed)) for seed in range(2)]
    one, other = grouped(values, problem)
    both = unite(one, other, problem.model)
    expected = group_of(2.0, values[0] + values[1], problem)
    assert both.mass == 2
    np.testing.assert_allclose(both.stat, expected.stat)
    assert both.worth == pytest.approx(expected.worth)
    assert np.array_equal(both.labels, expected.labels)
    assert both.parts == {0, 1}


def near(groups):
    return nearest_pairs(groups, PAIRS.backend.inner_products([group.stat for group in groups]))


def test_candidates_are_each_group_and_its_nearest():
    groups = [bare(1.0, mean) for mean in (0.0, 1.0, 10.0, 11.5, 1.4)]
    assert near(groups) == [(0, 1), (1, 4), (2, 3)]


def test_a_light_group_is_near():
    """Two views in one pattern lose more than a view and a hundredth of one, though these are further apart."""
    heavy = [bare(1.0, 0.0), bare(1.0, 1.0), bare(0.01, 3.0)]
    assert (0, 2) in near(heavy)
    assert (0, 2) not in near([group._replace(mass=1.0, stat=group.stat / group.mass) for group in heavy])


def test_inner_products_of_groups_that_become_one_add_up(monkeypatch):
    """On the way from six groups to one, candidates are those that the groups' own products give."""
    values = np.random.default_rng(0).random((6, block_values(THIRDS, "forward").size))
    problem = charging()
    groups = grouped(list(values), problem)
    seen = []

    def watched(groups, products):
        own = PAIRS.backend.inner_products([group.stat for group in groups])
        np.testing.assert_allclose(products, own, rtol=1e-12)
        seen.append(len(groups))
        return nearest_pairs(groups, products)

    monkeypatch.setattr(view_groups, "nearest_pairs", watched)
    merge_groups(groups, problem)
    assert seen == [6, 5, 4, 3, 2]


def test_no_two_groups_are_united_twice(monkeypatch):
    """A union that was not taken at one step is there for the next."""
    values = np.random.default_rng(0).random((8, block_values(THIRDS, "forward").size))
    problem, tried = charging(), []

    def counted(one, other, model):
        tried.append((one.parts, other.parts))
        return unite(one, other, model)

    monkeypatch.setattr(view_groups, "unite", counted)
    merge_groups(grouped(list(values), problem), problem)
    assert len(set(map(frozenset, tried))) == len(tried)
    assert tried[-1][0] | tried[-1][1] == set(range(8))  # the whole way is walked


@KIND
def test_groups_are_told_apart_by_their_place_alone(kind):
    """The very same group may stand in a list several times; each of them counts."""
    problem = charging(kind)
    (group,) = grouped([block_values(THIRDS, kind)], problem)
    (one,) = merge_groups([group, group, group, group], problem)
    assert one.mass == 4
    np.testing.assert_allclose(one.stat, 4 * group.stat)
    assert same_partition(one.labels, THIRDS)


@KIND
def test_merged_groups_say_what_they_were_made_of(kind):
    problem = charging(kind)
    merged = merge_groups(
        grouped([block_values(z, kind) for z in (HALVES, THIRDS, HALVES, THIRDS, THIRDS)], problem), problem
    )
    assert sorted(map(sorted, (group.parts for group in merged))) == [[0, 2], [1, 3, 4]]


@KIND
def test_equal_groups_become_one(kind):
    f, problem = block_values(THIRDS, kind), charging(kind)
    (one,) = merge_groups(grouped([f, f, f], problem), problem)
    assert one.mass == 3
    np.testing.assert_allclose(one.stat, 3 * f)
    assert same_partition(one.labels, THIRDS)


@KIND
def test_groups_with_other_clusters_stay_apart(kind):
    problem = charging(kind)
    groups = grouped([block_values(labels, kind) for labels in (HALVES, THIRDS, HALVES, THIRDS)], problem)
    merged = merge_groups(groups, problem)
    assert sorted(count_clusters(group) for group in merged) == [2, 3]
    for group in merged:
        assert group.mass == 2
        assert same_partition(group.labels, HALVES if count_clusters(group) == 2 else THIRDS)
    assert total_worth(merged, problem.model) >= total_worth(groups, problem.model)


@KIND
def test_groups_without_clusters_become_one(kind):
    """There is nothing to explain, and one pattern is said in no nats."""
    values = [block_values(np.zeros(N, dtype=int), kind, within=s) for s in (0.3, 0.31, 0.32)]
    problem = charging(kind)
    merged = merge_groups(grouped(values, problem), problem)
    assert [(group.mass, count_clusters(group)) for group in merged] == [(3.0, 1)]


@KIND
def test_a_single_group_is_left_alone(kind):
    problem = charging(kind)
    groups = grouped([block_values(HALVES, kind)], problem)
    assert merge_groups(groups, problem) == groups


@KIND
def test_views_that_show_no_clusters_one_by_one_may_show_them_together(kind):
    """No step on the way pays by itself, so that it takes the whole way to see that its end does."""
    rng = np.random.default_rng(0)
    values = [block_values(HALVES, kind, within=0.45, between=0.35, noise=0.5, rng=rng) for _ in range(6)]
    gain = explain(np.mean(values, axis=0), 2, DIVERGENCES[kind]).gains[1]
    problem = charging(kind, 5.0 * gain, nat=0.0)
    groups = grouped(values, problem)
    pairs = [group_of(2.0, values[i] + values[j], problem) for i in range(6) for j in range(i)]
    assert {count_clusters(group) for group in [*groups, *pairs]} == {1}
    (one,) = merge_groups(groups, problem)
    assert count_clusters(one) == 2
    assert same_partition(one.labels, HALVES)
    assert one.worth > 0


@KIND
def test_what_saying_patterns_costs_joins_views_that_differ_little(kind):
    values = [block_values(HALVES, kind, within=w, between=0.1) for w in (0.7, 0.7, 0.8, 0.8)]
    apart, joined = (
        merge_groups(grouped(values, problem), problem)
        for problem in (charging(kind, 0.01, nat=0.0), charging(kind, 0.01, nat=50.0))
    )
    assert len(apart) == 2
    assert len(joined) == 1


@KIND
def test_merging_does_not_change_the_groups_it_was_given(kind):
    problem = charging(kind)
    groups = grouped([block_values(labels, kind) for labels in (HALVES, THIRDS, HALVES)], problem)
    before = [group.stat.copy() for group in groups]
    merge_groups(groups, problem)
    assert len(groups) == 3
    for group, stat in zip(groups, before, strict=True):
        assert np.array_equal(group.stat, stat)


@KIND
def test_merging_is_the_same_on_any_number_of_threads(kind):
    values = np.random.default_rng(1).random((6, block_values(THIRDS, kind).size))
    alone = charging(kind, 0.5)
    groups = grouped(list(values), alone)
    with Workers(3) as workers:
        pairs = SimpleNamespace(workers=workers, backend=NumbaBackend(N, workers))
        together = merge_groups(groups, Problem(pairs, alone.model, Schedule()))
    one_by_one = merge_groups(groups, alone)
    assert [group.parts for group in together] == [group.parts for group in one_by_one]
    assert [group.worth for group in together] == [group.worth for group in one_by_one]
