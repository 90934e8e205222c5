"""Moves: what they leave of a pattern, and which one is proposed."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from latentsimplex.base.condensed import count_pairs, pack_pairs
from latentsimplex.base.threads import Workers
from latentsimplex.model import em as m_step
from latentsimplex.model.backends import NumbaBackend
from latentsimplex.model.cluster_prices import ClusterPrice, label_prices
from latentsimplex.model.penalties import PENALTIES
from latentsimplex.model.problem import EMPTY, OPTIMIZERS, Expectation, Fit, Model, Problem, Schedule, State
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.search.moves import (
    Pattern,
    join,
    live_patterns,
    merge_best_two,
    merge_clusters,
    merge_patterns,
    merge_step_by_step,
    merge_two,
    objective,
    refit,
    replace_patterns,
)
from latentsimplex.search.states import label_memberships
from problems import HALVES, KINDS, THIRDS, block_values, mixed_memberships, random_responses

LEARNED = pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
KIND = pytest.mark.parametrize("kind", KINDS)
N = 18
SCHEDULE = Schedule(max_iter=15, first_steps=20)
MANY_PENALTIES = ["group", "labels", "dirichlet", None]
PAIRS = SimpleNamespace(workers=Workers(1), backend=NumbaBackend(N, Workers(1)))
"""All that a move on patterns with known statistics asks of the pairs."""


def a_problem(kind="reverse", penalty="group", learned=False, schedule=SCHEDULE):
    """Return a problem with any penalty by name, the price of labels included."""
    named = ClusterPrice(label_prices(N, 4, 1.0)) if penalty == "labels" else PENALTIES[penalty]
    return Problem(PAIRS, Model(DIVERGENCES[kind], named, 1.0, learned), schedule)


def a_pattern(seed=0, kind="reverse", learned=False, g=4, mass=2.0):
    """Return a pattern that has no special place in what it is fitted to."""
    rng = np.random.default_rng(seed)
    s = rng.uniform(0.05, 0.95, size=count_pairs(N))
    B = random_responses(rng, 1, g)[0] if learned else np.eye(g)
    return Pattern(mixed_memberships(rng, N, g), B, mass, mass * DIVERGENCES[kind].f(-np.log(s)))


def block_statistic(labels, kind="reverse", mass=1.0, within=0.9, between=0.02):
    """Return mass f(s) for similarities that are one number within clusters and another between them."""
    s = np.where(np.equal.outer(labels, labels), within, between)
    return mass * DIVERGENCES[kind].f(-np.log(pack_pairs(s)))


def soft(labels, g, purity=0.97):
    """Return memberships (n, g) that are nearly sure of the labels."""
    return np.where(np.eye(g, dtype=bool)[labels], purity, (1 - purity) / (g - 1))


def fit_of(patterns, lam=None, rate=0.1):
    """Return the end of a run of EM at these patterns, weights equal unless given."""
    d = len(patterns)
    lam = np.full(d, 1 / d) if lam is None else np.array(lam)
    live = lam > 0
    state = State(np.array([p.W for p in patterns]), np.array([p.B for p in patterns]), lam, np.full(d, rate))
    mass = np.where(live, [p.mass for p in patterns], 0.0)
    stat = np.array([p.stat for p, used in zip(patterns, live, strict=True) if used])
    return Fit(state, Expectation(np.zeros((3, d)), mass, mass, stat, 0.0, 0.0), [0.0], [0.0], False)


def n_filled(W):
    return int((W.max(axis=0) > EMPTY).sum())


# Merging two clusters


@LEARNED
def test_merging_two_clusters_keeps_rows_on_the_simplex_and_empties_one_column(learned):
    pattern = a_pattern(learned=learned)
    merged = merge_two(pattern, 1, 3, learned)
    np.testing.assert_allclose(merged.W.sum(axis=1), 1, rtol=1e-14)
    assert not merged.W[:, 3].any()
    assert np.array_equal(merged.W[:, 1], pattern.W[:, 1] + pattern.W[:, 3])
    assert np.array_equal(merged.W[:, [0, 2]], pattern.W[:, [0, 2]])
    assert (merged.mass, merged.stat is pattern.stat) == (pattern.mass, True)


@LEARNED
def test_merging_two_clusters_leaves_the_pattern_it_was_given(learned):
    pattern = a_pattern(learned=learned)
    W, B = pattern.W.copy(), pattern.B.copy()
    merge_two(pattern, 0, 2, learned)
    assert np.array_equal(pattern.W, W)
    assert np.array_equal(pattern.B, B)


def test_merging_two_clusters_does_not_touch_the_identity():
    assert np.array_equal(merge_two(a_pattern(), 1, 3, learned=False).B, np.eye(4))


def test_a_merged_clusters_response_is_the_mean_by_mass():
    pattern = a_pattern(learned=True)
    mass = pattern.W.sum(axis=0)
    k, j, B = 1, 3, pattern.B
    merged = merge_two(pattern, k, j, learned=True).B
    for other in (0, 2):
        expected = (mass[k] * B[k, other] + mass[j] * B[j, other]) / (mass[k] + mass[j])
        assert merged[k, other] == pytest.approx(expected, rel=1e-14)
        assert merged[other, k] == merged[k, other]
    own = mass[k] ** 2 * B[k, k] + 2 * mass[k] * mass[j] * B[k, j] + mass[j] ** 2 * B[j, j]
    assert merged[k, k] == pytest.approx(own / (mass[k] + mass[j]) ** 2, rel=1e-14)
    assert np.array_equal(merged[np.ix_([0, 2], [0, 2])], B[np.ix_([0, 2], [0, 2])])
    assert np.array_equal(merged, merged.T)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("penalty", MANY_PENALTIES)
@KIND
def test_an_emptied_column_stays_empty_through_em(kind, penalty, optimizer):
    """Else a path of merges would never come to its end."""
    problem = a_problem(kind, penalty, schedule=Schedule(**OPTIMIZERS[optimizer]))
    pattern = a_pattern(kind=kind)
    for left in (3, 2, 1):
        filled = np.flatnonzero(pattern.W.max(axis=0) > EMPTY)
        (pattern,) = refit(problem, [merge_two(pattern, filled[0], filled[-1], learned=False)])
        assert pattern.W[:, filled[-1]].max() < EMPTY
        assert n_filled(pattern.W) == left


@KIND
@LEARNED
def test_the_best_merge_of_two_clusters_is_the_least_of_all(kind, learned):
    problem = a_problem(kind, learned=learned)
    for seed in range(3):
        pattern = a_pattern(seed, kind, learned)
        found = merge_best_two(problem, pattern)
        every = [objective(problem, merge_two(pattern, k, j, learned)) for k, j in combinations(range(4), 2)]
        assert len(set(every)) == 6
        assert objective(problem, found) == min(every)


def test_merges_pass_over_empty_columns_and_end_at_one():
    problem, pattern = a_problem(), a_pattern()
    pattern = merge_two(merge_two(pattern, 0, 1, learned=False), 0, 2, learned=False)
    last = merge_best_two(problem, pattern)
    assert n_filled(last.W) == 1
    assert merge_best_two(problem, last) is None


# Merging clusters


@pytest.mark.parametrize("penalty", MANY_PENALTIES)
@LEARNED
@KIND
def test_the_path_loses_a_cluster_at_each_step_down_to_one(kind, learned, penalty):
    problem = a_problem(kind, penalty, learned)
    pattern = a_pattern(1, kind, learned)
    path = merge_step_by_step(problem, pattern)
    assert path[0] is pattern
    assert [n_filled(step.W) for step in path] == [4, 3, 2, 1]
    for step in path:
        np.testing.assert_allclose(step.W.sum(axis=1), 1, rtol=1e-12)


@LEARNED
@KIND
def test_merging_finds_the_clusters_there_are(kind, learned):
    """Three clusters of six, of which one is split in two: the split has to go, at a price or a penalty."""
    labels = np.repeat([0, 1, 2, 3], [6, 6, 3, 3])
    truth = np.repeat([0, 1, 2], 6)
    within = 0.9 if learned else 0.98
    response = np.full((4, 4), 0.02) + 0.88 * np.eye(4)
    stat = block_statistic(truth, kind, mass=20.0, within=within)  # twenty views outweigh the penalty
    pattern = Pattern(soft(labels, 4), response if learned else np.eye(4), 20.0, stat)
    for penalty in ("group", "labels"):
        problem = a_problem(kind, penalty, learned)
        fit = fit_of([pattern])
        state = merge_clusters(problem, fit)
        assert n_filled(state.W[0]) == 3
        found = state.W[0].argmax(axis=1)
        assert np.array_equal(np.equal.outer(found, found), np.equal.outer(truth, truth))
        merged = pattern._replace(W=state.W[0], B=state.B[0])
        assert objective(problem, merged) < objective(problem, pattern)


@KIND
@LEARNED
def test_merging_clusters_lowers_the_objective_of_each_pattern_or_leaves_it(kind, learned):
    problem = a_problem(kind, learned=learned)
    fit = fit_of([a_pattern(seed, kind, learned) for seed in range(3)])
    state = merge_clusters(problem, fit)
    for l, before in live_patterns(fit).items():
        after = before._replace(W=state.W[l], B=state.B[l])
        assert objective(problem, after) <= objective(problem, before)
    assert np.array_equal(state.lam, fit.state.lam)
    assert state.rate.tolist() == [SCHEDULE.rate] * 3


def test_there_is_no_merge_where_none_pays():
    labels = np.repeat([0, 1, 2], 6)
    problem = a_problem("forward", None)
    pattern = Pattern(soft(labels, 3, 0.999), np.eye(3), 1.0, block_statistic(labels, "forward", 1.0, 0.998))
    assert merge_clusters(problem, fit_of([pattern])) is None


def test_merging_clusters_leaves_dead_patterns_and_the_fit_alone():
    problem = a_problem()
    fit = fit_of([a_pattern(0), a_pattern(1)], lam=[1.0, 0.0])
    W = fit.state.W.copy()
    state = merge_clusters(problem, fit)
    assert list(live_patterns(fit)) == [0]
    assert not np.array_equal(state.W[0], W[0])
    assert np.array_equal(state.W[1], W[1])
    assert np.array_equal(fit.state.W, W)


def test_live_patterns_have_their_own_statistics():
    patterns = [a_pattern(seed, mass=1.0 + seed) for seed in range(3)]
    found = live_patterns(fit_of(patterns, lam=[0.0, 0.5, 0.5]))
    assert list(found) == [1, 2]
    for l, pattern in found.items():
        assert pattern.mass == patterns[l].mass
        assert np.array_equal(pattern.stat, patterns[l].stat)
        assert np.array_equal(pattern.W, patterns[l].W)


# Merging patterns


@KIND
def test_the_two_patterns_that_are_alike_are_joined(kind):
    one, other = np.repeat([0, 1, 2], 6), np.tile([0, 1, 2], 6)
    patterns = [
        Pattern(soft(labels, 3), np.eye(3), 1.0, block_statistic(labels, kind))
        for labels in (one, other, one)
    ]
    fit = fit_of(patterns, lam=[0.5, 0.3, 0.2])
    state = merge_patterns(a_problem(kind), fit)
    assert state.lam.tolist() == [0.7, 0.3, 0.0]
    assert state.W[0].argmax(axis=1).tolist() == one.tolist()
    assert np.array_equal(state.W[1], patterns[1].W)
    assert fit.state.lam.tolist() == [0.5, 0.3, 0.2]


@LEARNED
def test_joined_patterns_serve_the_views_of_both(learned):
    first, second = a_pattern(0, learned=learned, mass=1.0), a_pattern(1, learned=learned, mass=3.0)
    problem = a_problem(learned=learned)
    joined = join(problem, first, second)
    assert joined.mass == 4
    assert np.array_equal(joined.stat, first.stat + second.stat)
    values = [objective(problem, one._replace(mass=joined.mass, stat=joined.stat)) for one in (first, second)]
    better = (first, second)[int(np.argmin(values))]
    assert np.array_equal(joined.W, better.W)
    assert np.array_equal(joined.B, better.B)


@pytest.mark.parametrize("lam", [[1.0], [0.0, 1.0]])
def test_one_pattern_has_none_to_join(lam):
    fit = fit_of([a_pattern(seed) for seed in range(len(lam))], lam)
    assert merge_patterns(a_problem(), fit) is None


def test_objective_is_what_the_m_step_descends(monkeypatch):
    pattern, problem = a_pattern(learned=True), a_problem(penalty="group", learned=True)
    seen = []

    def descend(start, value_gradient, n_steps, rate):
        seen.append(value_gradient(start)[0])
        return start, rate

    monkeypatch.setattr(m_step, "adam", descend)
    refit(problem, [pattern])
    assert seen[0] == pytest.approx([objective(problem, pattern)], rel=1e-12)


# Patterns refitted, and put into a state


def test_refit_takes_its_steps():
    pattern, problem = a_pattern(), a_problem()
    values = [objective(problem, refit(problem, [pattern], n)[0]) for n in (0, 5, 50)]
    assert values[0] == pytest.approx(objective(problem, pattern))
    assert values[0] > values[1] > values[2]


@pytest.mark.parametrize("shared", [False, True], ids=["statistics of their own", "one statistic"])
@KIND
def test_patterns_refitted_together_are_those_refitted_alone(kind, shared):
    """Cuts of one pattern share its statistics, which are not copied; other patterns have their own."""
    problem = a_problem(kind, "labels", learned=True)
    values = [
        3 * block_values(labels, kind, 0.9, 0.05, noise=0.2, rng=np.random.default_rng(0))
        for labels in (HALVES, HALVES if shared else THIRDS)
    ]
    if shared:
        values[1] = values[0]
    patterns = []
    for stat, labels in zip(values, (HALVES, THIRDS), strict=True):
        W, B = label_memberships(stat / 3, labels, 3, DIVERGENCES[kind])
        patterns.append(Pattern(W, B, 3.0, stat))
    together = refit(problem, patterns, 10)
    for pattern, found in zip(patterns, together, strict=True):
        (alone,) = refit(problem, [pattern], 10)
        np.testing.assert_allclose(found.W, alone.W, rtol=1e-12)
        np.testing.assert_allclose(found.B, alone.B, rtol=1e-12)
        assert objective(problem, found) < objective(problem, pattern)
        assert found.stat is pattern.stat


def test_no_patterns_refitted_are_none():
    assert refit(a_problem(), [], 10) == []


def test_replaced_patterns_get_columns_enough_and_leave_the_others():
    fit = fit_of([a_pattern(0), a_pattern(1, learned=True)])
    W, B = fit.state.W.copy(), fit.state.B.copy()
    wide = a_pattern(2, learned=True, g=6)
    state = replace_patterns(a_problem(), fit.state, {1: wide}, np.array([0.25, 0.75]))
    assert state.W.shape == (2, N, 6)
    assert np.array_equal(state.W[1], wide.W)
    assert np.array_equal(state.B[1], wide.B)
    assert np.array_equal(state.W[0, :, :4], W[0])
    assert not state.W[0, :, 4:].any()
    assert np.array_equal(state.B[0, :4, :4], B[0])
    assert state.lam.tolist() == [0.25, 0.75]
    assert state.rate.tolist() == [SCHEDULE.rate] * 2
    assert np.array_equal(fit.state.W, W)
    assert np.array_equal(fit.state.B, B)


def test_a_narrower_pattern_leaves_nothing_of_the_one_it_replaces():
    fit = fit_of([a_pattern(0, learned=True)])
    narrow = a_pattern(1, learned=True, g=3)
    state = replace_patterns(a_problem(), fit.state, {0: narrow}, fit.state.lam)
    assert np.array_equal(state.W[0, :, :3], narrow.W)
    assert not state.W[0, :, 3].any()
    assert np.array_equal(state.B[0, 3], np.eye(4)[3])
