"""Patterns with the same clusters, of which a search makes one."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from latentsimplex import LatentSimplexPosition, stages
from latentsimplex.auto.explained_divergence import remaining_divergence
from latentsimplex.base.condensed import unpack_pairs
from latentsimplex.search import alike_patterns
from latentsimplex.search.alike_patterns import JoinedPatterns, agree_mostly, find_best_pair, measure_costs
from problems import HALVES, KINDS, THIRDS, TWO_PATTERNS, priced_problem, views_of_two_patterns

N = 90


def draw_views(clusterings, n_views, spread, seed=0):
    """Views that follow clusterings by turns, each with centres of its own."""
    rng = np.random.default_rng(seed)
    centres = [spread * rng.normal(size=(labels.max() + 1, 5)) for labels in clusterings * n_views]
    return [
        centres[v][clusterings[v % len(clusterings)]] + rng.normal(size=(N, 5))
        for v in range(n_views * len(clusterings))
    ]


def fit(views):
    return LatentSimplexPosition(n_init=1, random_state=0, n_jobs=1).fit(views)


def test_views_with_the_same_clusters_elsewhere_are_one_pattern(monkeypatch):
    rng = np.random.default_rng(0)
    clusterings = [rng.permutation(np.arange(N) % 5) for _ in range(2)]
    views = draw_views(clusterings, 20, spread=3)
    model = fit(views)
    assert model.n_clusters_.tolist() == [5, 5]
    assert model.view_patterns_.tolist() == [0, 1] * 20 or model.view_patterns_.tolist() == [1, 0] * 20
    for v in range(2):
        assert adjusted_rand_score(clusterings[v], model.pattern_labels_[model.view_patterns_[v]]) == 1
    monkeypatch.setattr(stages, "join_alike", lambda problem, search: search)
    assert len(fit(views).n_clusters_) > 2


def test_patterns_that_differ_in_some_samples_stay_apart():
    """A fifth of the samples are elsewhere in the second half of the views."""
    one = np.arange(N) % 3
    other = np.where(np.arange(N) < N // 5, (one + 1) % 3, one)
    assert agree_mostly(one, other)
    model = fit(draw_views([one, other], 10, spread=4))
    assert len(np.unique(model.view_patterns_)) == 2
    assert (np.reshape(model.view_patterns_, (-1, 2)) == model.view_patterns_[:2]).all()


def test_patterns_of_nested_clusters_or_of_one_are_not_alike():
    assert not agree_mostly(HALVES, THIRDS)
    assert not agree_mostly(np.zeros(6, dtype=int), np.zeros(6, dtype=int))
    assert not agree_mostly(np.arange(4) // 2, np.arange(4) % 2)  # half of the samples is not most of them


def test_the_pair_with_least_to_lose_is_joined_while_labels_do_not_pay():
    alike = {(0, 1), (0, 2), (1, 2)}
    one, other, third = (
        JoinedPatterns([i], i, np.array(costs, dtype=float))
        for i, costs in enumerate([(10, 14, 30), (13, 10, 90), (60, 60, 10)])
    )
    # labels 0 leave 13 of the views of 1, where labels of their own leave 10; labels 1 leave 14 of those of 0
    prices = [5.0, 5.0, 5.0]
    assert find_best_pair([one, other, third], alike, prices) == (one, other)
    assert find_best_pair([one, other, third], {(1, 2)}, prices) is None
    assert find_best_pair([one, other], alike, [3.0, 3.0, 3.0]) is None
    both = alike_patterns.unite(one, other)
    assert both.patterns == [0, 1]
    assert both.labels == 0
    assert both.costs.tolist() == [23, 24, 120]


@pytest.mark.parametrize("kind", KINDS)
def test_costs_are_what_labels_leave_of_all_views_of_a_pattern(kind):
    pairs = views_of_two_patterns(kind)
    pairs.weights = np.arange(1.0, 7.0)
    problem = priced_problem(pairs, kind=kind)
    costs = measure_costs(problem, TWO_PATTERNS, [HALVES, THIRDS], {(0, 1)})
    for l in range(2):
        for i, labels in enumerate([HALVES, THIRDS]):
            members = np.flatnonzero(l == TWO_PATTERNS)
            left = [
                remaining_divergence(unpack_pairs(pairs.F[v]), labels, problem.model.divergence)
                for v in members
            ]
            assert costs[l, i] == pytest.approx(pairs.weights[members] @ left)
    assert np.isinf(measure_costs(problem, TWO_PATTERNS, [HALVES, THIRDS], set())).all()  # none are alike
    assert costs[0, 0] < costs[0, 1]
    assert costs[1, 1] < costs[1, 0]


def test_some_views_stand_for_many(monkeypatch):
    pairs = views_of_two_patterns()
    pairs.F = pairs.F[TWO_PATTERNS]  # views of a pattern are equal
    problem = priced_problem(pairs)
    all_of_them = measure_costs(problem, TWO_PATTERNS, [HALVES, THIRDS], {(0, 1)})
    monkeypatch.setattr(alike_patterns, "MOST_VIEWS", 1)
    np.testing.assert_allclose(measure_costs(problem, TWO_PATTERNS, [HALVES, THIRDS], {(0, 1)}), all_of_them)
