"""Moves: what they leave of a pattern, which one is proposed, and that a worse state is never kept."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from latentsimplex import em, search
from latentsimplex.compute.pairs import n_pairs, pack
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import DIVERGENCES
from latentsimplex.em import Expectation, Fit, Model, Schedule, State
from latentsimplex.moves import (
    EMPTY,
    Pattern,
    best_pour,
    join,
    live_patterns,
    merge_clusters,
    merge_patterns,
    merging_path,
    objective,
    pour,
    refit,
)
from latentsimplex.objective import PENALTIES, ClusterPrice, label_prices
from latentsimplex.search import best_of
from problems import (
    KINDS,
    ArrayPairs,
    block_values,
    identities,
    make_problem,
    mixed_memberships,
    random_responses,
    run_with_moves,
)

LEARNED = pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
KIND = pytest.mark.parametrize("kind", KINDS)
N = 18
SCHEDULE = Schedule(max_iter=15, first_steps=20)
MANY_PENALTIES = ["group", "labels", "dirichlet", None]
PAIRS = SimpleNamespace(workers=Workers(1))
"""All that a move on patterns with known statistics asks of the pairs."""


def a_model(kind="reverse", penalty="group", learned=False, temperature=1.0, n=N, g=4):
    """Return a model with any penalty by name, the price of labels included."""
    named = ClusterPrice(label_prices(n, g, temperature)) if penalty == "labels" else PENALTIES[penalty]
    return Model(DIVERGENCES[kind], named, temperature, learned)


def a_pattern(seed=0, kind="reverse", learned=False, g=4, gamma=2.0):
    """Return a pattern that has no special place in what it is fitted to."""
    rng = np.random.default_rng(seed)
    s = rng.uniform(0.05, 0.95, size=n_pairs(N))
    B = random_responses(rng, 1, g)[0] if learned else np.eye(g)
    return Pattern(mixed_memberships(rng, N, g), B, gamma, gamma * DIVERGENCES[kind].f(-np.log(s)))


def block_statistic(labels, kind="reverse", gamma=1.0, within=0.9, between=0.02):
    """Return gamma f(s) for similarities that are one number within clusters and another between them."""
    s = np.where(np.equal.outer(labels, labels), within, between)
    return gamma * DIVERGENCES[kind].f(-np.log(pack(s)))


def soft(labels, g, purity=0.97):
    """Return memberships (n, g) that are nearly sure of the labels."""
    return np.where(np.eye(g, dtype=bool)[labels], purity, (1 - purity) / (g - 1))


def fit_of(patterns, lam=None, rate=0.1):
    """Return the end of a run of EM at these patterns, weights equal unless given."""
    d = len(patterns)
    lam = np.full(d, 1 / d) if lam is None else np.array(lam)
    live = lam > 0
    state = State(np.array([p.W for p in patterns]), np.array([p.B for p in patterns]), lam, np.full(d, rate))
    gamma = np.where(live, [p.gamma for p in patterns], 0.0)
    stat = np.array([p.stat for p, used in zip(patterns, live, strict=True) if used])
    return Fit(state, Expectation(np.zeros((3, d)), gamma, gamma, stat, 0.0, 0.0), [0.0], [0.0], False)


def n_filled(W):
    return int((W.max(axis=0) > EMPTY).sum())


# Pouring one cluster into another


@LEARNED
def test_pouring_keeps_rows_on_the_simplex_and_empties_one_column(learned):
    pattern = a_pattern(learned=learned)
    poured = pour(pattern, 1, 3, learned)
    np.testing.assert_allclose(poured.W.sum(axis=1), 1, rtol=1e-14)
    assert not poured.W[:, 3].any()
    assert np.array_equal(poured.W[:, 1], pattern.W[:, 1] + pattern.W[:, 3])
    assert np.array_equal(poured.W[:, [0, 2]], pattern.W[:, [0, 2]])
    assert (poured.gamma, poured.stat is pattern.stat) == (pattern.gamma, True)


@LEARNED
def test_pouring_leaves_the_pattern_it_was_given(learned):
    pattern = a_pattern(learned=learned)
    W, B = pattern.W.copy(), pattern.B.copy()
    pour(pattern, 0, 2, learned)
    assert np.array_equal(pattern.W, W)
    assert np.array_equal(pattern.B, B)


def test_pouring_does_not_touch_the_identity():
    assert np.array_equal(pour(a_pattern(), 1, 3, learned=False).B, np.eye(4))


def test_a_merged_clusters_response_is_the_mean_by_mass():
    pattern = a_pattern(learned=True)
    mass = pattern.W.sum(axis=0)
    k, j, B = 1, 3, pattern.B
    poured = pour(pattern, k, j, learned=True).B
    for other in (0, 2):
        expected = (mass[k] * B[k, other] + mass[j] * B[j, other]) / (mass[k] + mass[j])
        assert poured[k, other] == pytest.approx(expected, rel=1e-14)
        assert poured[other, k] == poured[k, other]
    own = mass[k] ** 2 * B[k, k] + 2 * mass[k] * mass[j] * B[k, j] + mass[j] ** 2 * B[j, j]
    assert poured[k, k] == pytest.approx(own / (mass[k] + mass[j]) ** 2, rel=1e-14)
    assert np.array_equal(poured[np.ix_([0, 2], [0, 2])], B[np.ix_([0, 2], [0, 2])])
    assert np.array_equal(poured, poured.T)


@pytest.mark.parametrize("optimizer", em.OPTIMIZERS)
@pytest.mark.parametrize("penalty", MANY_PENALTIES)
@KIND
def test_an_emptied_column_stays_empty_through_em(kind, penalty, optimizer):
    """Else a path of merges would never come to its end."""
    model, schedule = a_model(kind, penalty=penalty), Schedule(**em.OPTIMIZERS[optimizer])
    pattern = a_pattern(kind=kind)
    for left in (3, 2, 1):
        filled = np.flatnonzero(pattern.W.max(axis=0) > EMPTY)
        pattern = refit(pour(pattern, filled[0], filled[-1], learned=False), model, schedule, Workers(1))
        assert pattern.W[:, filled[-1]].max() < EMPTY
        assert n_filled(pattern.W) == left


@KIND
@LEARNED
def test_the_best_pour_is_the_least_of_all(kind, learned):
    model = a_model(kind, learned=learned)
    for seed in range(3):
        pattern = a_pattern(seed, kind, learned)
        found = best_pour(pattern, model, Workers(1))
        every = [
            objective(pour(pattern, k, j, learned), model, Workers(1)) for k, j in combinations(range(4), 2)
        ]
        assert len(set(every)) == 6
        assert objective(found, model, Workers(1)) == min(every)


def test_pours_pass_over_empty_columns_and_end_at_one():
    model, pattern = a_model(), a_pattern()
    pattern = pour(pour(pattern, 0, 1, learned=False), 0, 2, learned=False)
    last = best_pour(pattern, model, Workers(1))
    assert n_filled(last.W) == 1
    assert best_pour(last, model, Workers(1)) is None


# Merging clusters


@pytest.mark.parametrize("penalty", MANY_PENALTIES)
@LEARNED
@KIND
def test_the_path_loses_a_cluster_at_each_step_down_to_one(kind, learned, penalty):
    model = a_model(kind, penalty, learned)
    pattern = a_pattern(1, kind, learned)
    path = merging_path(pattern, model, SCHEDULE, Workers(1))
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
    stat = block_statistic(truth, kind, gamma=20.0, within=within)  # twenty views outweigh the penalty
    pattern = Pattern(soft(labels, 4), response if learned else np.eye(4), 20.0, stat)
    for penalty in ("group", "labels"):
        model = a_model(kind, penalty, learned)
        fit = fit_of([pattern])
        state = merge_clusters(PAIRS, fit, model, SCHEDULE)
        assert n_filled(state.W[0]) == 3
        found = state.W[0].argmax(axis=1)
        assert np.array_equal(np.equal.outer(found, found), np.equal.outer(truth, truth))
        merged = pattern._replace(W=state.W[0], B=state.B[0])
        assert objective(merged, model, Workers(1)) < objective(pattern, model, Workers(1))


@KIND
@LEARNED
def test_merging_clusters_lowers_the_objective_of_each_pattern_or_leaves_it(kind, learned):
    model = a_model(kind, learned=learned)
    fit = fit_of([a_pattern(seed, kind, learned) for seed in range(3)])
    state = merge_clusters(PAIRS, fit, model, SCHEDULE)
    for l, before in live_patterns(fit).items():
        after = before._replace(W=state.W[l], B=state.B[l])
        assert objective(after, model, Workers(1)) <= objective(before, model, Workers(1))
    assert np.array_equal(state.lam, fit.state.lam)
    assert state.rate.tolist() == [SCHEDULE.rate] * 3


def test_there_is_no_merge_where_none_pays():
    labels = np.repeat([0, 1, 2], 6)
    model = a_model("forward", None)
    pattern = Pattern(soft(labels, 3, 0.999), np.eye(3), 1.0, block_statistic(labels, "forward", 1.0, 0.998))
    assert merge_clusters(PAIRS, fit_of([pattern]), model, SCHEDULE) is None


def test_merging_clusters_leaves_dead_patterns_and_the_fit_alone():
    model = a_model()
    fit = fit_of([a_pattern(0), a_pattern(1)], lam=[1.0, 0.0])
    W = fit.state.W.copy()
    state = merge_clusters(PAIRS, fit, model, SCHEDULE)
    assert list(live_patterns(fit)) == [0]
    assert not np.array_equal(state.W[0], W[0])
    assert np.array_equal(state.W[1], W[1])
    assert np.array_equal(fit.state.W, W)


def test_live_patterns_have_their_own_statistics():
    patterns = [a_pattern(seed, gamma=1.0 + seed) for seed in range(3)]
    found = live_patterns(fit_of(patterns, lam=[0.0, 0.5, 0.5]))
    assert list(found) == [1, 2]
    for l, pattern in found.items():
        assert pattern.gamma == patterns[l].gamma
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
    state = merge_patterns(PAIRS, fit, a_model(kind), SCHEDULE)
    assert state.lam.tolist() == [0.7, 0.3, 0.0]
    assert state.W[0].argmax(axis=1).tolist() == one.tolist()
    assert np.array_equal(state.W[1], patterns[1].W)
    assert fit.state.lam.tolist() == [0.5, 0.3, 0.2]


@LEARNED
def test_joined_patterns_serve_the_views_of_both(learned):
    first, second = a_pattern(0, learned=learned, gamma=1.0), a_pattern(1, learned=learned, gamma=3.0)
    model = a_model(learned=learned)
    joined = join(first, second, model, Workers(1))
    assert joined.gamma == 4
    assert np.array_equal(joined.stat, first.stat + second.stat)
    values = [
        objective(one._replace(gamma=joined.gamma, stat=joined.stat), model, Workers(1))
        for one in (first, second)
    ]
    better = (first, second)[int(np.argmin(values))]
    assert np.array_equal(joined.W, better.W)
    assert np.array_equal(joined.B, better.B)


@pytest.mark.parametrize("lam", [[1.0], [0.0, 1.0]])
def test_one_pattern_has_none_to_join(lam):
    fit = fit_of([a_pattern(seed) for seed in range(len(lam))], lam)
    assert merge_patterns(PAIRS, fit, a_model(), SCHEDULE) is None


def test_objective_is_what_the_m_step_descends(monkeypatch):
    pattern, model = a_pattern(learned=True), a_model(penalty="group", learned=True)
    seen = []

    def descend(start, value_gradient, n_steps, rate):
        seen.append(value_gradient(start)[0])
        return start, np.zeros(1, dtype=bool)

    monkeypatch.setattr(em, "adam", descend)
    refit(pattern, model, SCHEDULE, Workers(1))
    assert seen[0] == pytest.approx([objective(pattern, model, Workers(1))], rel=1e-12)


# A run with moves


def run_moves(problem, model, schedule=SCHEDULE, g=4, d=2):
    pairs = problem.pairs()
    return run_with_moves(pairs, np.arange(len(pairs)) % d, g, d, model, schedule)


@pytest.mark.parametrize("penalty", MANY_PENALTIES)
@LEARNED
@KIND
def test_the_loss_never_rises_in_a_run_with_moves(kind, learned, penalty):
    for seed in (3, 8):
        problem = make_problem(seed, kind)
        n = len(problem.data[0])
        fit = run_moves(problem, a_model(kind, penalty, learned, temperature=n / 2, n=n))
        curve = np.array(fit.loss_curve)
        assert (np.diff(curve) <= 1e-9 * np.abs(curve[1:])).all()
        assert len(fit.expected_loss_curve) == len(curve)
        # the last run may end where it began, but for what single precision rounds
        assert fit.loss_curve[-1] == pytest.approx(fit.expectation.loss, rel=1e-8)


@pytest.mark.parametrize("better", [True, False])
def test_a_move_is_kept_only_if_the_loss_falls(better, monkeypatch):
    """A move that spoils the state is refused; one that hands over a better state is taken."""
    problem, model = make_problem(8), a_model(penalty=None)
    monkeypatch.setattr(search, "SLOPED_MOVES", ())
    plain = run_moves(problem, model)
    proposals = []

    def propose(pairs, fit, *arguments):
        if proposals:
            return None
        W = plain.state.W if better else np.full_like(fit.state.W, 1 / fit.state.W.shape[2])
        proposals.append((fit, fit.state._replace(W=W, lam=plain.state.lam)))
        return proposals[0][1]

    monkeypatch.setattr(search, "SLOPED_MOVES", (propose,))
    # one iteration leaves a spoilt state worse than it was, and the final run starts from what was kept
    monkeypatch.setattr(search, "BETWEEN_MOVES", 1)
    starts = []
    run = search.run

    def recorded(pairs, state, *arguments):
        starts.append(state)
        return run(pairs, state, *arguments)

    monkeypatch.setattr(search, "run", recorded)
    run_moves(problem, model)
    before, proposed = proposals[0]
    assert starts[1] is proposed
    assert (starts[-1] is before.state) == (not better)


def test_a_move_that_is_refused_leaves_no_trace_in_the_curve(monkeypatch):
    problem, model = make_problem(8), a_model(penalty=None)
    monkeypatch.setattr(search, "SLOPED_MOVES", ())
    plain = run_moves(problem, model)

    def spoil(pairs, fit, *arguments):
        return fit.state._replace(W=np.full_like(fit.state.W, 0.25))

    monkeypatch.setattr(search, "SLOPED_MOVES", (spoil,))
    assert run_moves(problem, model).loss_curve == plain.loss_curve


def test_a_kept_moves_first_losses_are_left_out_of_the_curve_until_it_has_paid():
    before = fit_of([a_pattern()])._replace(loss_curve=[9.0, 5.0], expected_loss_curve=[90.0, 50.0])
    moved = before._replace(loss_curve=[7.0, 5.5, 4.0, 3.0], expected_loss_curve=[70.0, 55.0, 40.0, 30.0])
    both = search._after(before, moved)
    assert both.loss_curve == [9.0, 5.0, 4.0, 3.0]
    assert both.expected_loss_curve == [90.0, 50.0, 40.0, 30.0]
    assert both.state is moved.state


def test_equal_partitions_are_not_run_twice(monkeypatch):
    problem, model = make_problem(11), a_model()
    ran = []
    original = search.moved_on

    def counted(pairs, state, *arguments):
        ran.append(state.lam.tolist())
        return original(pairs, state, *arguments)

    monkeypatch.setattr(search, "moved_on", counted)
    # with one pattern every start has the same partition
    found = best_of(problem.pairs(), 3, 1, model, SCHEDULE, 3, np.random.default_rng(0), moves=True)
    assert ran == [[1.0]]
    assert len(set(found.start_losses.tolist())) == 1
    assert len(found.start_losses) == 3


def test_starts_that_lead_to_one_structure_are_run_once(monkeypatch):
    pairs = ArrayPairs(np.repeat(block_values([0, 0, 0, 1, 1, 1], "forward")[None], 4, axis=0))
    model = Model(DIVERGENCES["forward"], ClusterPrice((0.0, 1.0)), 1.0, True)
    partitions = iter([[0, 1, 0, 1], [0, 0, 1, 1], [1, 1, 0, 0]])
    monkeypatch.setattr(search, "kmeans_labels", lambda *arguments: np.array(next(partitions)))
    ran, original = [], search.moved_on
    monkeypatch.setattr(search, "moved_on", lambda *arguments: ran.append(1) or original(*arguments))
    found = best_of(pairs, 2, 2, model, SCHEDULE, 3, np.random.default_rng(0), moves=True)
    assert len(ran) == 1  # four equal views are one pattern, however they were parted
    assert found.start_agreement.tolist() == [1.0, 1.0, 1.0]


def test_partitions_that_differ_are_each_run(monkeypatch):
    problem, model = make_problem(11), a_model()
    partitions = iter([[0, 1, 0, 1, 1], [0, 0, 0, 0, 1], [0, 1, 0, 1, 1]])
    V = len(problem.data)
    monkeypatch.setattr(search, "kmeans_labels", lambda *arguments: np.array(next(partitions)[:V]))
    found = best_of(problem.pairs(), 3, 2, model, SCHEDULE, 3, np.random.default_rng(0), moves=True)
    first, second, third = found.start_losses
    assert first == third != second


def test_moves_are_named_in_the_log(caplog):
    with caplog.at_level("DEBUG", logger="latentsimplex"):
        run_moves(make_problem(8), a_model())
    assert any("merge_clusters: loss" in message for message in caplog.messages)


def test_moves_are_the_same_on_any_number_of_threads():
    problem = make_problem(5, "forward")
    ends = []
    for n_jobs in (1, 2):
        with Workers(n_jobs) as workers:
            pairs = problem.pairs()
            pairs.workers = workers
            model = a_model("forward", "labels", learned=True, n=pairs.n_samples)
            labels = np.arange(len(pairs)) % 2
            ends.append(run_with_moves(pairs, labels, 4, 2, model, SCHEDULE))
    assert ends[0].loss_curve == ends[1].loss_curve
    assert np.array_equal(ends[0].state.W, ends[1].state.W)
    assert np.array_equal(ends[0].state.B, ends[1].state.B)


def test_refit_takes_its_steps():
    pattern, model = a_pattern(), a_model()
    values = [
        objective(refit(pattern, model, SCHEDULE, Workers(1), n), model, Workers(1)) for n in (0, 5, 50)
    ]
    assert values[0] == pytest.approx(objective(pattern, model, Workers(1)))
    assert values[0] > values[1] > values[2]


def test_the_identity_stays_the_identity():
    problem = make_problem(8)
    fit = run_moves(problem, a_model())
    assert np.array_equal(fit.state.B, identities(2, 4))
