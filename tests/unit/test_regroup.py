"""Moves on the structure of a fit: which views share a pattern, and into how many clusters it is cut."""

import numpy as np
import pytest

from latentsimplex import regroup
from latentsimplex.compute.pairs import pack
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import DIVERGENCES
from latentsimplex.em import Fit, Model, Schedule, State, e_step, run, statistics
from latentsimplex.labels import used_columns
from latentsimplex.moves import Pattern, objective, refit, refit_all
from latentsimplex.objective import ClusterPrice, label_prices
from latentsimplex.regroup import (
    Members,
    charges_of,
    cut_patterns,
    groups_of,
    join_patterns,
    recut_patterns,
    resumed_state,
    split_pattern,
    state_of_groups,
)
from latentsimplex.search import beginning
from latentsimplex.starts import label_memberships
from problems import KINDS, ArrayPairs, block_values, run_with_moves, same_partition

KIND = pytest.mark.parametrize("kind", KINDS)
LEARNED = pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
N, G, D = 18, 4, 4
HALVES, THIRDS = np.repeat([0, 1], 9), np.tile([0, 1, 2], 6)
TRUTH = np.array([0, 1, 0, 0, 1, 1])
SCHEDULE = Schedule(max_iter=10, first_steps=40)


def a_model(kind="forward", learned=True, temperature=1.0):
    return Model(DIVERGENCES[kind], ClusterPrice(label_prices(N, G, temperature)), temperature, learned)


def two_patterns(kind="forward", block=2, seed=0):
    """Return six views, of which the first, third and fourth have two clusters and the others three."""
    rng = np.random.default_rng(seed)
    within = 0.95
    values = [block_values((HALVES, THIRDS)[l], kind, within, 0.03, noise=0.3, rng=rng) for l in TRUTH]
    return ArrayPairs(values, block)


def fit_of(pairs, partition, model, d=D, clusters=None, schedule=SCHEDULE):
    """Return a fit in which views follow patterns as a partition has it, wherever EM would go from there.

    ``clusters`` are the labels of each pattern's samples, those that are worth most unless given.
    """
    eta = np.eye(d)[np.asarray(partition)]
    groups = groups_of(pairs, eta, model)
    if clusters is not None:
        groups = [group._replace(labels=labels) for group, labels in zip(groups, clusters, strict=True)]
    state = state_of_groups(groups, d, pairs, model, schedule)
    mass, stat = statistics(pairs, eta)
    found = e_step(pairs, state, model)._replace(
        eta=eta, gamma=eta.sum(axis=0), mass=mass, stat=stat[state.lam > 0]
    )
    return Fit(state, found, [found.loss], [found.expected_loss], False)


def clusters_of(W):
    return W.argmax(axis=1)


def settled(pairs, state, model):
    """Return the loss and the pattern of each view once EM has gone on from a state."""
    fit = run(pairs, state, model, SCHEDULE)
    return fit.loss_curve[-1], fit.expectation.eta.argmax(axis=1)


# Some of the views


@pytest.mark.parametrize("block", [1, 2, 4, 6, 100])
@pytest.mark.parametrize("members", [[0], [5], [1, 4], [0, 2, 3], [0, 1, 2, 3, 4, 5]], ids=str)
def test_members_have_the_statistics_of_their_views(members, block):
    pairs, members = two_patterns(block=block), np.array(members)
    some = Members(pairs, members)
    assert (len(some), some.n_samples) == (len(members), N)
    assert some.constants.tolist() == members.tolist()  # which count the views here
    pairs.weights = np.linspace(0.5, 2, 6)
    some = Members(pairs, members)
    u = pairs.weights[members]
    assert np.array_equal(some.weights, u)
    eta = np.random.default_rng(0).dirichlet(np.ones(3), size=len(members))
    mass, stat = statistics(some, eta)
    np.testing.assert_allclose(mass, u @ eta)
    np.testing.assert_allclose(stat, (u[:, None] * eta).T @ pairs.F[members])
    for v, member in enumerate(members):
        assert np.array_equal(some.values(v), pairs.F[member])
    rows = [row for block, _ in some.blocks() for row in range(block.start, block.stop)]
    assert rows == list(range(len(members)))


# Groups and states


def test_charges_are_the_models_prices_and_temperature():
    model = a_model(temperature=2.5)
    cost = charges_of(model)
    assert cost.clusters.tolist() == list(model.penalty.prices)
    assert cost.nat == 2.5


@KIND
def test_a_group_for_each_pattern_that_has_views(kind):
    pairs = two_patterns(kind)
    eta = np.zeros((6, D))
    eta[:, 1], eta[:, 3] = TRUTH == 0, TRUTH == 1
    halves, thirds = groups_of(pairs, eta, a_model(kind))
    assert (halves.gamma, thirds.gamma) == (3, 3)
    assert same_partition(halves.labels, HALVES)
    assert same_partition(thirds.labels, THIRDS)


@KIND
@LEARNED
@pytest.mark.parametrize("partition", [[0, 1, 2, 3, 0, 1], [0, 0, 0, 0, 0, 1], list(TRUTH)], ids=str)
def test_a_start_is_the_structure_that_is_worth_most(kind, learned, partition):
    """Patterns of a start are joined where that is worth more; views in the wrong one are a matter for EM."""
    pairs, model = two_patterns(kind), a_model(kind, learned)
    views, begin = beginning(pairs, np.array(partition), G, D, model, SCHEDULE)
    state = begin()
    assert len(np.unique(views)) == np.count_nonzero(state.lam)
    # no group of views is parted
    assert len(np.unique(np.c_[partition, views], axis=0)) == len(np.unique(partition))
    assert state.lam.sum() == pytest.approx(1)
    assert state.W.shape[:2] == (D, N)
    np.testing.assert_allclose(state.W.sum(axis=-1), 1)
    assert np.array_equal(state.B[0], np.eye(state.W.shape[2])) == (not learned)
    if partition == list(TRUTH):
        assert state.lam.tolist() == [0.5, 0.5, 0, 0]
        assert {len(used_columns(W)) for W in state.W[:2]} == {2, 3}
        assert settled(pairs, state, model)[1].tolist() in (TRUTH.tolist(), (1 - TRUTH).tolist())


@LEARNED
def test_a_fit_goes_on_from_its_clusters_on_other_pairs(learned):
    """The other pairs would have other clusters, but the number and the samples of each stay at first."""
    pairs = two_patterns()
    model = a_model(learned=learned)
    fit = fit_of(pairs, TRUTH, model)
    other = ArrayPairs(two_patterns(seed=5).F)
    state = resumed_state(other, fit, model, Schedule(first_steps=0))
    followed = fit.expectation.eta.argmax(axis=1)
    live = np.unique(followed)
    assert state.lam.tolist() == [0.5, 0.5, 0, 0]
    for new, old in enumerate(live):
        assert same_partition(clusters_of(state.W[new]), clusters_of(fit.state.W[old]))
        if learned:
            labels = clusters_of(state.W[new])
            same = pack(np.equal.outer(labels, labels).astype(float)) == 1
            mean = other.F[followed == old].mean(axis=0)
            # forward, the response of a cluster is the mean similarity of the new pairs
            sizes = np.bincount(labels)
            weights = sizes * (sizes - 1) / 2
            within = np.average(np.diag(state.B[new])[: len(sizes)], weights=weights)
            assert within == pytest.approx(mean[same].mean(), rel=1e-6)


def test_a_fit_goes_on_wherever_its_patterns_stand():
    """The second and the fourth pattern have views, and each goes on with its own clusters."""
    pairs, model = two_patterns(), a_model()
    fit = fit_of(pairs, TRUTH, model)
    order = [2, 0, 3, 1]
    W, B, lam, rate = (part[order] for part in fit.state)
    moved = fit._replace(
        state=State(W, B, lam, rate),
        expectation=fit.expectation._replace(eta=fit.expectation.eta[:, order]),
    )
    here, there = (resumed_state(pairs, one, model, SCHEDULE) for one in (fit, moved))
    assert np.array_equal(here.W, there.W)
    assert same_partition(clusters_of(there.W[1]), THIRDS)


def test_going_on_forgets_columns_that_no_sample_prefers():
    model = a_model()
    fit = fit_of(two_patterns(), TRUTH, model)
    wide = np.concatenate([np.full((D, N, 2), 1e-9), fit.state.W], axis=2)
    state = resumed_state(two_patterns(), fit._replace(state=fit.state._replace(W=wide)), model, SCHEDULE)
    assert state.W.shape == (D, N, 3)


# Joining, cutting again and splitting


@KIND
@LEARNED
def test_patterns_that_are_alike_are_joined(kind, learned):
    pairs, model = two_patterns(kind), a_model(kind, learned)
    fit = fit_of(pairs, [0, 1, 2, 0, 3, 1], model)
    assert (fit.state.lam > 0).sum() == 4
    state = join_patterns(pairs, fit, model, SCHEDULE)
    assert (state.lam > 0).sum() == 2
    loss, followed = settled(pairs, state, model)
    assert same_partition(followed, TRUTH)
    assert loss < fit.loss_curve[-1]


@KIND
def test_patterns_that_differ_are_not_joined(kind):
    pairs, model = two_patterns(kind), a_model(kind)
    assert join_patterns(pairs, fit_of(pairs, TRUTH, model), model, SCHEDULE) is None


@KIND
@LEARNED
@pytest.mark.parametrize(
    "wrong",
    [np.zeros(N, dtype=int), THIRDS % 2, np.where(THIRDS == 0, 3 * HALVES, THIRDS)],
    ids=["one cluster", "two clusters", "four clusters"],
)
def test_a_pattern_is_cut_into_the_number_of_clusters_that_is_best(kind, learned, wrong):
    """Three clusters of six, cut into too few or too many; the pattern beside it has the number it should have."""
    pairs, model = two_patterns(kind), a_model(kind, learned)
    # a longer M step could leave a cluster empty by itself
    fit = fit_of(pairs, TRUTH, model, clusters=[HALVES, wrong], schedule=Schedule(first_steps=2))
    assert len(used_columns(fit.state.W[1])) == wrong.max() + 1
    state = recut_patterns(pairs, fit, model, SCHEDULE)
    assert same_partition(clusters_of(state.W[1]), THIRDS)
    assert len(used_columns(state.W[1])) == 3
    assert same_partition(clusters_of(state.W[0]), HALVES)
    np.testing.assert_allclose(state.W.sum(axis=-1), 1)
    assert state.lam.tolist() == fit.state.lam.tolist()
    assert settled(pairs, state, model)[0] < fit.loss_curve[-1]


@KIND
@LEARNED
def test_patterns_with_the_right_number_of_clusters_are_not_cut(kind, learned):
    pairs, model = two_patterns(kind), a_model(kind, learned)
    fit = fit_of(pairs, TRUTH, model)
    assert [len(used_columns(W)) for W in fit.state.W[:2]] == [2, 3]
    assert recut_patterns(pairs, fit, model, SCHEDULE) is None


@KIND
@LEARNED
def test_two_patterns_that_were_taken_for_one_are_split(kind, learned):
    pairs, model = two_patterns(kind), a_model(kind, learned)
    lumped = fit_of(pairs, np.zeros(6, dtype=int), model)
    assert (lumped.state.lam > 0).sum() == 1
    state = split_pattern(pairs, lumped, model, SCHEDULE)
    assert (state.lam > 0).sum() == 2
    loss, followed = settled(pairs, state, model)
    assert same_partition(followed, TRUTH)
    assert loss < lumped.loss_curve[-1]


@KIND
def test_the_pattern_that_gains_most_is_split_and_the_others_stay(kind):
    """Views 0, 2 and 3 have a pattern of their own; the other three share one with a stranger."""
    pairs, model = two_patterns(kind), a_model(kind)
    pairs.F[5] = block_values(np.arange(N) % 2, kind, 0.95, 0.03)
    fit = fit_of(pairs, TRUTH, model)
    state = split_pattern(pairs, fit, model, SCHEDULE)
    assert (state.lam > 0).sum() == 3
    _, followed = settled(pairs, state, model)
    assert same_partition(followed, np.array([0, 1, 0, 0, 1, 2]))


@KIND
def test_views_of_one_pattern_are_not_split(kind):
    pairs, model = two_patterns(kind), a_model(kind)
    assert split_pattern(pairs, fit_of(pairs, TRUTH, model), model, SCHEDULE) is None


def test_there_is_no_split_without_a_free_pattern():
    pairs, model = two_patterns(), a_model()
    assert split_pattern(pairs, fit_of(pairs, np.zeros(6, dtype=int), model, d=1), model, SCHEDULE) is None


def test_a_pattern_of_a_single_view_has_nothing_to_split():
    model = a_model()
    pairs = ArrayPairs(two_patterns().F[:2])
    assert split_pattern(pairs, fit_of(pairs, [0, 1], model), model, SCHEDULE) is None


def test_equal_views_have_nothing_to_split():
    model = a_model()
    pairs = ArrayPairs([block_values(HALVES, "forward")] * 4)
    assert split_pattern(pairs, fit_of(pairs, [0] * 4, model), model, SCHEDULE) is None


def test_a_pattern_that_has_lost_its_last_view_is_left_alone():
    """Its weight is that of the iteration before, but no responsibility is left of it."""
    pairs, model = two_patterns(), a_model()
    fit = fit_of(pairs, TRUTH, model)
    state = fit.state._replace(lam=np.array([0.4, 0.4, 0.2, 0.0]))
    stat = np.vstack([fit.expectation.stat, np.zeros(pairs.F.shape[1])])
    fit = fit._replace(state=state, expectation=fit.expectation._replace(stat=stat))
    for move in (join_patterns, recut_patterns, split_pattern):
        assert move(pairs, fit, model, SCHEDULE) is None


def test_moves_leave_the_fit_as_it_was():
    pairs, model = two_patterns(), a_model()
    fit = fit_of(pairs, np.zeros(6, dtype=int), model)
    before = [array.copy() for array in (*fit.state, *fit.expectation[:3])]
    for move in (join_patterns, recut_patterns, split_pattern):
        move(pairs, fit, model, SCHEDULE)
    for array, copy in zip((*fit.state, *fit.expectation[:3]), before, strict=True):
        assert np.array_equal(array, copy)


@KIND
@LEARNED
@pytest.mark.parametrize("partition", [[0] * 6, [0, 0, 1, 1, 2, 2], [0, 1, 2, 3, 0, 1]], ids=str)
def test_moves_find_the_structure_from_any_partition(kind, learned, partition):
    pairs, model = two_patterns(kind), a_model(kind, learned)
    fit = run_with_moves(pairs, np.array(partition), G, D, model, SCHEDULE)
    followed = fit.expectation.eta.argmax(axis=1)
    assert same_partition(followed, TRUTH)
    assert same_partition(clusters_of(fit.state.W[followed[0]]), HALVES)
    assert same_partition(clusters_of(fit.state.W[followed[1]]), THIRDS)


# Numbers of clusters compared


def a_pattern(kind, labels, gamma=3.0, seed=0):
    """Return the pattern of views with these clusters, which has a single cluster so far."""
    stat = gamma * block_values(labels, kind, 0.9, 0.05, noise=0.2, rng=np.random.default_rng(seed))
    return Pattern(np.ones((N, 1)), np.array([[0.5]]), gamma, stat)


@KIND
@LEARNED
def test_of_several_cuts_the_best_is_returned(kind, learned):
    """Each alternative, refitted by itself for as long, is no better."""
    pattern, model = a_pattern(kind, THIRDS), a_model(kind, learned)
    clusterings = [np.zeros(N, dtype=int), HALVES, THIRDS, np.arange(N) % 4]
    (best,) = cut_patterns(pattern, clusterings, model, SCHEDULE, Workers(1))
    assert same_partition(clusters_of(best.W), THIRDS)
    value = objective(best, model, Workers(1))
    for labels in clusterings:
        (alone,) = cut_patterns(pattern, [labels], model, SCHEDULE, Workers(1))
        assert value <= objective(alone, model, Workers(1)) + 1e-9 * abs(value)
    assert (best.gamma, best.stat is pattern.stat) == (pattern.gamma, True)
    assert learned or np.array_equal(best.B, np.eye(len(best.B)))


def test_no_cuts_are_none():
    assert cut_patterns(a_pattern("forward", THIRDS), [], a_model(), SCHEDULE, Workers(1)) == []


@KIND
def test_patterns_refitted_together_are_those_refitted_alone(kind):
    model = a_model(kind)
    starts = [
        label_memberships(a_pattern(kind, z).stat / 3, z, 3, model.divergence) for z in (HALVES, THIRDS)
    ]
    patterns = [
        a_pattern(kind, z)._replace(W=W, B=B) for z, (W, B) in zip((HALVES, THIRDS), starts, strict=True)
    ]
    together = refit_all(patterns, model, SCHEDULE, Workers(1), 10)
    for pattern, found in zip(patterns, together, strict=True):
        alone = refit(pattern, model, SCHEDULE, Workers(1), 10)
        np.testing.assert_allclose(found.W, alone.W, rtol=1e-12)
        np.testing.assert_allclose(found.B, alone.B, rtol=1e-12)
        assert objective(found, model, Workers(1)) < objective(pattern, model, Workers(1))
    assert refit_all([], model, SCHEDULE, Workers(1), 10) == []


@KIND
def test_a_pattern_is_cut_into_many_fewer_clusters_where_one_fewer_would_not_pay(kind):
    """A pattern of one cluster that starts with four goes down to one."""
    pairs = ArrayPairs([block_values(np.zeros(N, dtype=int), kind, 0.4) for _ in range(3)])
    model = a_model(kind)
    start, response = label_memberships(pairs.F[0], np.arange(N) % G, G, model.divergence)
    state = State(start[None], response[None], np.ones(1), np.full(1, SCHEDULE.rate))
    expectation = e_step(pairs, state, model)
    fit = Fit(state, expectation, [expectation.loss], [expectation.expected_loss], False)
    found = recut_patterns(pairs, fit, model, SCHEDULE)
    assert len(used_columns(found.W[0])) == 1


def test_a_model_without_prices_has_no_charges():
    with pytest.raises(AssertionError):
        regroup.charges_of(Model(DIVERGENCES["forward"], penalty=None))
