"""Runs of EM that take turns with moves, that go on with a second similarity, and that take in all views."""

from dataclasses import replace

import numpy as np
import pytest

from latentsimplex.base.threads import Workers
from latentsimplex.model.cluster_prices import ClusterPrice, label_prices
from latentsimplex.model.em import e_step
from latentsimplex.model.penalties import PENALTIES
from latentsimplex.model.problem import Model, Schedule
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.search import runs
from latentsimplex.search.runs import (
    append_curves,
    finish_on_all_views,
    refit_on_second_similarity,
    until_settled,
)
from latentsimplex.search.states import state_from_labels
from latentsimplex.search.view_groups import find_structure
from problems import (
    KERNEL,
    KINDS,
    ArrayPairs,
    block_values,
    identities,
    make_case,
    priced_problem,
    read_pairs,
    run_with_moves,
    same_partition,
)

LEARNED = pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
KIND = pytest.mark.parametrize("kind", KINDS)
SCHEDULE = Schedule(max_iter=15, first_steps=20)
SHORT = {"max_iter": 5, "first_steps": 10}
MANY_PENALTIES = ["group", "labels", "dirichlet", None]
SIXES, THIRDS = np.repeat([0, 1], 6), np.tile([0, 1, 2], 4)
KINDS_OF_VIEWS = np.array([0, 0, 1, 1])


def problem_of(case, penalty="group", learned=False, temperature=1.0, workers=None, g=4):
    """Return the problem of a case's views, with any penalty by name, the price of labels included."""
    divergence = case.model.divergence
    pairs = read_pairs(case.data, KERNEL, divergence, workers)
    named = (
        ClusterPrice(label_prices(pairs.n_samples, g, temperature))
        if penalty == "labels"
        else PENALTIES[penalty]
    )
    return replace(
        case.problem(pairs, SCHEDULE), model=Model(divergence, named, temperature, learned_response=learned)
    )


def run_moves(problem, g=4, d=2):
    return run_with_moves(problem, np.arange(len(problem.pairs)) % d, g, d)


def views_of_two_kinds(kind="forward", within=(0.9, 0.9, 0.9, 0.9), seed=0):
    """Return four views, of which the first two have two clusters and the others three."""
    rng = np.random.default_rng(seed)
    clusters = (SIXES, SIXES, THIRDS, THIRDS)
    return ArrayPairs(
        [block_values(z, kind, w, 0.05, noise=0.2, rng=rng) for z, w in zip(clusters, within, strict=True)]
    )


def a_problem(pairs=None, **settings):
    return priced_problem(pairs or views_of_two_kinds(), n_clusters=3, **{**SHORT, **settings})


# How long runs go on


def test_a_run_goes_on_until_it_has_settled():
    problem = a_problem(temperature=3.0)
    schedule = until_settled(problem, single_precision=True, max_iter=7).schedule
    assert (schedule.window, schedule.tol) == (runs.SETTLED_WINDOW, runs.SETTLED_TOL)
    assert schedule.fall == pytest.approx(runs.NATS_AT_LAST * 3.0)
    assert (schedule.single_precision, schedule.max_iter) == (True, 7)
    assert (schedule.first_steps, schedule.rate) == (problem.schedule.first_steps, problem.schedule.rate)
    assert until_settled(problem, fall=0.0).schedule.fall == 0
    assert not problem.schedule.single_precision  # the problem itself stays as it was


def test_runs_between_moves_are_rough_and_the_last_is_not(monkeypatch):
    schedules, run = [], runs.run

    def recorded(problem, *arguments):
        schedules.append(problem.schedule)
        return run(problem, *arguments)

    monkeypatch.setattr(runs, "run", recorded)
    problem = a_problem(max_iter=50, temperature=2.0)
    state = state_from_labels(problem, *find_structure(problem, KINDS_OF_VIEWS, 2), 2)
    runs.run_with_moves(problem, state, nats=0.7)
    *between, last = schedules
    assert between
    assert {schedule.single_precision for schedule in between} == {True}
    assert {schedule.max_iter for schedule in between} == {runs.BETWEEN_MOVES}
    assert {schedule.fall for schedule in between} == {runs.NATS_BETWEEN * 2.0}
    assert (last.single_precision, last.max_iter, last.fall) == (False, 50, 0.7 * 2.0)


def test_a_run_that_is_stopped_proposes_no_moves(monkeypatch):
    monkeypatch.setattr(runs, "PRICED_MOVES", (lambda problem, fit: pytest.fail("a move was proposed"),))
    fit = run_with_moves(a_problem(stop=lambda: True), KINDS_OF_VIEWS, 3, 2)
    assert len(fit.loss_curve) <= 2  # where the first run and the last began


# The loss, and which moves are kept


@pytest.mark.parametrize("penalty", MANY_PENALTIES)
@LEARNED
@KIND
def test_the_loss_never_rises_in_a_run_with_moves(kind, learned, penalty):
    for seed in (3, 8):
        case = make_case(seed, kind)
        fit = run_moves(problem_of(case, penalty, learned, temperature=len(case.data[0]) / 2))
        curve = np.array(fit.loss_curve)
        assert (np.diff(curve) <= 1e-9 * np.abs(curve[1:])).all()
        assert len(fit.expected_loss_curve) == len(curve)
        # the last run may end where it began, but for what single precision rounds
        assert fit.loss_curve[-1] == pytest.approx(fit.expectation.loss, rel=1e-8)


@pytest.mark.parametrize("better", [True, False])
def test_a_move_is_kept_only_if_the_loss_falls(better, monkeypatch):
    """A move that spoils the state is refused; one that hands over a better state is taken."""
    problem = problem_of(make_case(8), penalty=None)
    monkeypatch.setattr(runs, "SLOPED_MOVES", ())
    plain = run_moves(problem)
    proposals = []

    def propose(problem, fit):
        if proposals:
            return None
        W = plain.state.W if better else np.full_like(fit.state.W, 1 / fit.state.W.shape[2])
        proposals.append((fit, fit.state._replace(W=W, lam=plain.state.lam)))
        return proposals[0][1]

    monkeypatch.setattr(runs, "SLOPED_MOVES", (propose,))
    # one iteration leaves a spoilt state worse than it was, and the final run starts from what was kept
    monkeypatch.setattr(runs, "BETWEEN_MOVES", 1)
    starts = []
    run = runs.run

    def recorded(problem, state, *arguments):
        starts.append(state)
        return run(problem, state, *arguments)

    monkeypatch.setattr(runs, "run", recorded)
    run_moves(problem)
    before, proposed = proposals[0]
    assert starts[1] is proposed
    assert (starts[-1] is before.state) == (not better)


def test_moves_are_tried_once_on_each_fit(monkeypatch):
    """The second of three moves helps once: then all three are tried on what it found, and no more."""
    problem = problem_of(make_case(8), penalty=None)
    monkeypatch.setattr(runs, "SLOPED_MOVES", ())
    plain = run_moves(problem)
    tried = []

    def make_move(name, helps):
        def move(problem, fit):
            tried.append((name, fit.loss_curve[-1]))
            if helps and len(tried) == 2:
                return fit.state._replace(W=plain.state.W, lam=plain.state.lam)
            return None

        move.__name__ = name
        return move

    monkeypatch.setattr(runs, "SLOPED_MOVES", tuple(make_move(name, name == "b") for name in "abc"))
    monkeypatch.setattr(runs, "BETWEEN_MOVES", 1)
    run_moves(problem)
    assert [name for name, _ in tried] == ["a", "b", "c", "a", "b"]
    assert len(set(tried)) == len(tried)


def test_a_move_that_is_refused_leaves_no_trace_in_the_curve(monkeypatch):
    problem = problem_of(make_case(8), penalty=None)
    monkeypatch.setattr(runs, "SLOPED_MOVES", ())
    plain = run_moves(problem)

    def spoil(problem, fit):
        return fit.state._replace(W=np.full_like(fit.state.W, 0.25))

    monkeypatch.setattr(runs, "SLOPED_MOVES", (spoil,))
    assert run_moves(problem).loss_curve == plain.loss_curve


def test_a_kept_moves_first_losses_are_left_out_of_the_curve_until_it_has_paid():
    fit = run_with_moves(a_problem(max_iter=0), KINDS_OF_VIEWS, 3, 2)
    before = fit._replace(loss_curve=[9.0, 5.0], expected_loss_curve=[90.0, 50.0])
    moved = fit._replace(loss_curve=[7.0, 5.5, 4.0, 3.0], expected_loss_curve=[70.0, 55.0, 40.0, 30.0])
    both = append_curves(before, moved)
    assert both.loss_curve == [9.0, 5.0, 4.0, 3.0]
    assert both.expected_loss_curve == [90.0, 50.0, 40.0, 30.0]
    assert both.state is moved.state


def test_moves_are_named_in_the_log(caplog):
    with caplog.at_level("DEBUG", logger="latentsimplex"):
        run_moves(problem_of(make_case(8)))
    assert any("merge_clusters: loss" in message for message in caplog.messages)


def test_runs_with_moves_are_the_same_on_any_number_of_threads():
    ends = []
    for n_jobs in (1, 2):
        with Workers(n_jobs) as workers:
            problem = problem_of(make_case(5, "forward"), "labels", learned=True, workers=workers)
            ends.append(run_moves(problem))
    assert ends[0].loss_curve == ends[1].loss_curve
    assert np.array_equal(ends[0].state.W, ends[1].state.W)
    assert np.array_equal(ends[0].state.B, ends[1].state.B)


def test_the_identity_stays_the_identity():
    fit = run_moves(problem_of(make_case(8)))
    assert np.array_equal(fit.state.B, identities(2, 4))


# Going on with a second similarity


@LEARNED
def test_going_on_keeps_patterns_and_clusters(learned):
    fit = run_with_moves(a_problem(), KINDS_OF_VIEWS, 3, 4)
    other = a_problem(views_of_two_kinds("reverse", seed=3), learned=learned)
    other = replace(other, model=replace(other.model, divergence=DIVERGENCES["reverse"]))
    again = refit_on_second_similarity(other, fit)
    before, after = fit.expectation.eta.argmax(axis=1), again.expectation.eta.argmax(axis=1)
    assert same_partition(after, before)
    for v in range(4):
        assert same_partition(again.state.W[after[v]].argmax(axis=1), fit.state.W[before[v]].argmax(axis=1))
    assert (np.diff(again.loss_curve) <= 1e-9 * np.abs(again.loss_curve[1:])).all()
    assert again.state.lam.shape == (4,)


def test_going_on_is_reported():
    problem, heard = a_problem(), []
    fit = run_with_moves(problem, KINDS_OF_VIEWS, 3, 2)
    again = refit_on_second_similarity(problem, fit, lambda iteration, expectation: heard.append(iteration))
    assert heard == list(range(len(again.loss_curve)))
    assert len(heard) > 1


# All views, after a part of them


def test_all_views_are_taken_in_from_where_a_part_of_them_ended():
    problem = a_problem()
    part = a_problem(ArrayPairs(problem.pairs.F[[0, 2, 3]]))
    fit = run_with_moves(part, np.array([0, 1, 1]), 3, 2)
    fit = fit._replace(state=fit.state._replace(rate=fit.state.rate / 64))
    heard = []
    found = finish_on_all_views(problem, fit, lambda iteration, expectation: heard.append(iteration))
    assert same_partition(found.expectation.eta.argmax(axis=1), KINDS_OF_VIEWS)
    assert heard == list(range(len(found.loss_curve)))
    before = e_step(problem, fit.state).loss
    assert found.loss_curve[0] == before
    assert found.loss_curve[-1] <= before
    rate = problem.schedule.rate
    assert (found.state.rate[found.state.lam > 0] >= rate / 2 ** len(heard)).all()
