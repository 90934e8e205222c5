"""Moves on the structure of a fit: which views share a pattern, and into how many clusters it is cut."""

import numpy as np
import pytest

from latentsimplex.auto.explained_divergence import explain
from latentsimplex.base.threads import Workers
from latentsimplex.model.backends import choose_backend
from latentsimplex.model.em import e_step, run
from latentsimplex.model.problem import Fit, State, used_columns
from latentsimplex.search.moves import (
    Pattern,
    cut_patterns,
    in_second_half,
    join_patterns,
    objective,
    recut,
    recut_patterns,
    split_pattern,
)
from latentsimplex.search.runs import reschedule
from latentsimplex.search.states import label_memberships
from problems import (
    HALVES,
    KINDS,
    THIRDS,
    TWO_PATTERNS,
    ArrayPairs,
    block_values,
    fit_to_partition,
    priced_problem,
    run_with_moves,
    same_partition,
    views_of_two_patterns,
)

KIND = pytest.mark.parametrize("kind", KINDS)
LEARNED = pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
N, G, D = 18, 4, 4
MOVES = (join_patterns, recut_patterns, split_pattern)


def a_problem(kind="forward", learned=True, pairs=None, **schedule):
    """Return a problem with views of two patterns, unless others are given."""
    return priced_problem(pairs or views_of_two_patterns(kind), learned, kind, n_clusters=G, **schedule)


def clusters_of(W):
    return W.argmax(axis=1)


def settled(problem, state):
    """Return the loss and the pattern of each view once EM has gone on from a state."""
    fit = run(problem, state)
    return fit.loss_curve[-1], fit.expectation.eta.argmax(axis=1)


# Joining, cutting again and splitting


@KIND
@LEARNED
def test_patterns_that_are_alike_are_joined(kind, learned):
    problem = a_problem(kind, learned)
    fit = fit_to_partition(problem, [0, 1, 2, 0, 3, 1], D)
    assert (fit.state.lam > 0).sum() == 4
    state = join_patterns(problem, fit)
    assert (state.lam > 0).sum() == 2
    loss, followed = settled(problem, state)
    assert same_partition(followed, TWO_PATTERNS)
    assert loss < fit.loss_curve[-1]


@KIND
def test_patterns_that_differ_are_not_joined(kind):
    problem = a_problem(kind)
    assert join_patterns(problem, fit_to_partition(problem, TWO_PATTERNS, D)) is None


@KIND
@LEARNED
@pytest.mark.parametrize(
    "wrong",
    [np.zeros(N, dtype=int), THIRDS % 2, np.where(THIRDS == 0, 3 * HALVES, THIRDS)],
    ids=["one cluster", "two clusters", "four clusters"],
)
def test_a_pattern_is_cut_into_the_number_of_clusters_that_is_best(kind, learned, wrong):
    """Three clusters of six, cut into too few or too many; the pattern beside it has the number it should have."""
    problem = a_problem(kind, learned)
    # a longer M step could leave a cluster empty by itself
    short = reschedule(problem, first_steps=2)
    fit = fit_to_partition(short, TWO_PATTERNS, D, clusters=[HALVES, wrong])
    assert len(used_columns(fit.state.W[1])) == wrong.max() + 1
    state = recut_patterns(problem, fit)
    assert same_partition(clusters_of(state.W[1]), THIRDS)
    assert len(used_columns(state.W[1])) == 3
    assert same_partition(clusters_of(state.W[0]), HALVES)
    np.testing.assert_allclose(state.W.sum(axis=-1), 1)
    assert state.lam.tolist() == fit.state.lam.tolist()
    assert settled(problem, state)[0] < fit.loss_curve[-1]


@KIND
@LEARNED
def test_patterns_with_the_right_number_of_clusters_are_not_cut(kind, learned):
    problem = a_problem(kind, learned)
    fit = fit_to_partition(problem, TWO_PATTERNS, D)
    assert [len(used_columns(W)) for W in fit.state.W[:2]] == [2, 3]
    assert recut_patterns(problem, fit) is None


@KIND
@LEARNED
def test_two_patterns_that_were_taken_for_one_are_split(kind, learned):
    problem = a_problem(kind, learned)
    lumped = fit_to_partition(problem, np.zeros(6, dtype=int), D)
    assert (lumped.state.lam > 0).sum() == 1
    state = split_pattern(problem, lumped)
    assert (state.lam > 0).sum() == 2
    loss, followed = settled(problem, state)
    assert same_partition(followed, TWO_PATTERNS)
    assert loss < lumped.loss_curve[-1]


@KIND
def test_the_pattern_that_gains_most_is_split_and_the_others_stay(kind):
    """Views 0, 2 and 3 have a pattern of their own; the other three share one with a stranger."""
    problem = a_problem(kind)
    problem.pairs.F[5] = block_values(np.arange(N) % 2, kind, 0.95, 0.03)
    fit = fit_to_partition(problem, TWO_PATTERNS, D)
    state = split_pattern(problem, fit)
    assert (state.lam > 0).sum() == 3
    _, followed = settled(problem, state)
    assert same_partition(followed, np.array([0, 1, 0, 0, 1, 2]))


@KIND
def test_patterns_are_split_alike_whether_their_statistics_are_made_at_once_or_one_by_one(kind):
    """Of small problems all at once, of large ones one pattern's at a time."""
    states = []
    for small in (True, False):
        problem = a_problem(kind)
        problem.pairs.F[5] = block_values(np.arange(N) % 2, kind, 0.95, 0.03)
        fit = fit_to_partition(problem, TWO_PATTERNS, D)
        problem.pairs.backend.is_small = small
        states.append(split_pattern(reschedule(problem, first_steps=0), fit))
    for one, other in zip(*states, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)  # large ones are of single precision


@KIND
def test_views_of_one_pattern_are_not_split(kind):
    problem = a_problem(kind)
    assert split_pattern(problem, fit_to_partition(problem, TWO_PATTERNS, D)) is None


def test_there_is_no_split_without_a_free_pattern():
    problem = a_problem()
    assert split_pattern(problem, fit_to_partition(problem, np.zeros(6, dtype=int), 1)) is None


def test_a_pattern_of_a_single_view_has_nothing_to_split():
    problem = a_problem(pairs=ArrayPairs(views_of_two_patterns().F[:2]))
    assert split_pattern(problem, fit_to_partition(problem, [0, 1], D)) is None


def test_equal_views_have_nothing_to_split():
    problem = a_problem(pairs=ArrayPairs([block_values(HALVES, "forward")] * 4))
    assert split_pattern(problem, fit_to_partition(problem, [0] * 4, D)) is None


def test_a_pattern_that_has_lost_its_last_view_is_left_alone():
    """Its weight is that of the iteration before, but no responsibility is left of it."""
    problem = a_problem()
    fit = fit_to_partition(problem, TWO_PATTERNS, D)
    state = fit.state._replace(lam=np.array([0.4, 0.4, 0.2, 0.0]))
    stat = np.vstack([fit.expectation.stat, np.zeros(problem.pairs.F.shape[1])])
    fit = fit._replace(state=state, expectation=fit.expectation._replace(stat=stat))
    for move in MOVES:
        assert move(problem, fit) is None


def test_moves_leave_the_fit_as_it_was():
    problem = a_problem()
    fit = fit_to_partition(problem, np.zeros(6, dtype=int), D)
    before = [array.copy() for array in (*fit.state, *fit.expectation[:3])]
    for move in MOVES:
        move(problem, fit)
    for array, copy in zip((*fit.state, *fit.expectation[:3]), before, strict=True):
        assert np.array_equal(array, copy)


@KIND
@LEARNED
@pytest.mark.parametrize("partition", [[0] * 6, [0, 0, 1, 1, 2, 2], [0, 1, 2, 3, 0, 1]], ids=str)
def test_moves_find_the_structure_from_any_partition(kind, learned, partition):
    fit = run_with_moves(a_problem(kind, learned), np.array(partition), G, D)
    followed = fit.expectation.eta.argmax(axis=1)
    assert same_partition(followed, TWO_PATTERNS)
    assert same_partition(clusters_of(fit.state.W[followed[0]]), HALVES)
    assert same_partition(clusters_of(fit.state.W[followed[1]]), THIRDS)


@pytest.mark.parametrize("move", [join_patterns, recut_patterns, split_pattern])
def test_moves_are_the_same_on_any_number_of_threads(move):
    partition = [0, 1, 2, 0, 3, 1] if move is join_patterns else [0] * 6
    states = []
    for n_jobs in (1, 3):
        with Workers(n_jobs) as workers:
            pairs = views_of_two_patterns()
            pairs.workers, pairs.backend = workers, choose_backend(None, N, workers)
            problem = a_problem(pairs=pairs)
            clusters = [np.zeros(N, dtype=int)] if move is recut_patterns else None
            states.append(move(problem, fit_to_partition(problem, partition, D, clusters)))
    for one, other in zip(*states, strict=True):
        assert np.array_equal(one, other)


# Views parted in two


@KIND
def test_the_halves_of_some_views_are_their_kinds(kind):
    pairs = views_of_two_patterns(kind)
    members = np.array([0, 1, 3, 4])
    assert same_partition(in_second_half(pairs, members), TWO_PATTERNS[members])


@pytest.mark.parametrize("members", [[], [2]])
def test_fewer_than_two_views_have_no_second_half(members):
    found = in_second_half(views_of_two_patterns(), np.array(members, dtype=int))
    assert found.tolist() == [False] * len(members)


# Numbers of clusters compared


def a_pattern(kind, labels, mass=3.0, seed=0):
    """Return the pattern of views with these clusters, which has a single cluster so far."""
    stat = mass * block_values(labels, kind, 0.9, 0.05, noise=0.2, rng=np.random.default_rng(seed))
    return Pattern(np.ones((N, 1)), np.array([[0.5]]), mass, stat)


@KIND
@LEARNED
def test_of_several_cuts_the_best_is_returned(kind, learned):
    """Each alternative, refitted by itself for as long, is no better."""
    pattern, problem = a_pattern(kind, THIRDS), a_problem(kind, learned)
    clusterings = [np.zeros(N, dtype=int), HALVES, THIRDS, np.arange(N) % 4]
    (best,) = cut_patterns(problem, pattern, clusterings)
    assert same_partition(clusters_of(best.W), THIRDS)
    value = objective(problem, best)
    for labels in clusterings:
        (alone,) = cut_patterns(problem, pattern, [labels])
        assert value <= objective(problem, alone) + 1e-9 * abs(value)
    assert (best.mass, best.stat is pattern.stat) == (pattern.mass, True)
    assert learned or np.array_equal(best.B, np.eye(len(best.B)))


def test_no_cuts_are_none():
    assert cut_patterns(a_problem(), a_pattern("forward", THIRDS), []) == []


@KIND
@LEARNED
def test_a_cut_is_taken_only_if_it_is_better_than_the_patterns_own(kind, learned):
    problem, pattern = a_problem(kind, learned), a_pattern(kind, THIRDS)
    explained = explain(pattern.stat / pattern.mass, G, problem.model.divergence)
    best = recut(problem, pattern, explained)
    assert same_partition(clusters_of(best.W), THIRDS)
    assert objective(problem, best) < objective(problem, pattern)
    assert recut(problem, best, explained) is None


@KIND
def test_a_pattern_is_cut_into_many_fewer_clusters_where_one_fewer_would_not_pay(kind):
    """A pattern of one cluster that starts with four goes down to one."""
    pairs = ArrayPairs([block_values(np.zeros(N, dtype=int), kind, 0.4) for _ in range(3)])
    problem = a_problem(kind, pairs=pairs)
    start, response = label_memberships(pairs.F[0], np.arange(N) % G, G, problem.model.divergence)
    state = State(start[None], response[None], np.ones(1), np.full(1, problem.schedule.rate))
    expectation = e_step(problem, state)
    fit = Fit(state, expectation, [expectation.loss], [expectation.expected_loss], False)
    assert len(used_columns(recut_patterns(problem, fit).W[0])) == 1
