"""Several starts: distinct ones run once, the lowest loss is kept, and progress is told of each."""

import gc
import tracemalloc
import weakref
from dataclasses import replace
from functools import partial
from itertools import islice
from threading import Barrier, get_ident
from time import sleep

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex.base.threads import Workers
from latentsimplex.model.cluster_prices import ClusterPrice
from latentsimplex.model.problem import (
    NOBODY,
    OPTIMIZERS,
    Expectation,
    Fit,
    Listener,
    Schedule,
    State,
    used_columns,
)
from latentsimplex.search import multistart, runs, view_groups
from latentsimplex.search.multistart import (
    Outcome,
    Start,
    agreement,
    keep_best,
    make_random_starts,
    make_starts_with_moves,
    run_starts,
    search_from_starts,
)
from latentsimplex.search.runs import reschedule
from latentsimplex.search.states import state_from_labels
from latentsimplex.search.view_groups import find_structure, make_groups
from problems import (
    KERNEL,
    KINDS,
    TWO_PATTERNS,
    ArrayPairs,
    block_values,
    make_case,
    priced_problem,
    read_pairs,
    run_with_moves,
    same_partition,
    views_of_two_patterns,
)

KIND = pytest.mark.parametrize("kind", KINDS)
LEARNED = pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
SHORT = Schedule(max_iter=5, first_steps=10)
SIXES, THIRDS = np.repeat([0, 1], 6), np.tile([0, 1, 2], 4)


def a_problem(workers=None, **schedule):
    """Return the paper's problem with a few views."""
    case = make_case(11)
    pairs = read_pairs(case.data, KERNEL, case.model.divergence, workers)
    return case.problem(pairs, replace(SHORT, **schedule))


def four_views():
    """Return a problem with a price of labels and four views: two have two clusters and the others three."""
    rng = np.random.default_rng(0)
    labels = (SIXES, SIXES, THIRDS, THIRDS)
    pairs = ArrayPairs([block_values(z, "forward", 0.9, 0.05, noise=0.2, rng=rng) for z in labels])
    return priced_problem(pairs, n_clusters=3, max_iter=5, first_steps=10)


def seeded():
    return np.random.default_rng(0)


class Heard(Listener):
    def __init__(self):
        self.stages, self.steps, self.starts = [], [], []

    def stage(self, name):
        self.stages.append(name)

    def started(self, start):
        self.starts.append(("started", start))

    def follow(self, start):
        return lambda iteration, expectation: self.steps.append((start, iteration))

    def ended(self, start):
        self.starts.append(("ended", start))


def given_partitions(monkeypatch, *partitions):
    """Have k-means find these partitions of the views, one after the other."""
    left = iter(partitions)
    monkeypatch.setattr(multistart, "group_views", lambda *arguments: np.array(next(left)))


def counted_runs(monkeypatch, name="run_with_moves"):
    """Return the list that the states are added to from which runs begin."""
    began, original = [], getattr(multistart, name)

    def counted(problem, state, *arguments, **settings):
        began.append(state)
        return original(problem, state, *arguments, **settings)

    monkeypatch.setattr(multistart, name, counted)
    return began


# The lowest loss


def test_the_lowest_loss_is_kept(monkeypatch):
    ends = []
    run = multistart.run

    def recorded(*arguments):
        ends.append(run(*arguments))
        return ends[-1]

    monkeypatch.setattr(multistart, "run", recorded)
    found = search_from_starts(a_problem(), 3, 2, 4, seeded())
    losses = [fit.loss_curve[-1] for fit in ends]
    assert len(set(losses)) > 1
    assert found.start_losses.tolist() == losses
    assert found.fit is ends[int(np.argmin(losses))]


def test_the_start_of_the_run_that_is_kept_is_told():
    problem = a_problem()
    found = search_from_starts(problem, 3, 2, 4, seeded())
    starts = list(make_random_starts(problem, 3, 2, seeded().spawn(4)))
    best = starts[int(found.start_losses.argmin())]
    assert np.array_equal(found.start_labels, best.labels)
    assert found.start_labels.shape == (len(problem.pairs),)


def test_more_starts_never_end_higher_and_share_their_first_ones():
    few, many = (search_from_starts(a_problem(), 3, 2, n, seeded()) for n in (2, 5))
    assert many.start_losses[:2].tolist() == few.start_losses.tolist()
    assert many.fit.loss_curve[-1] <= few.fit.loss_curve[-1]


def test_progress_is_reported_for_every_iteration_of_every_start():
    heard = Heard()
    search_from_starts(a_problem(), 2, 2, 2, seeded(), heard)
    assert heard.stages == ["grouping the views"]
    assert heard.steps == [(start, iteration) for start in range(2) for iteration in range(6)]
    assert heard.starts == [(what, start) for start in range(2) for what in ("started", "ended")]


def test_a_search_ends_by_the_nats_that_it_is_told(monkeypatch):
    monkeypatch.setattr(runs, "SETTLED_TOL", 0.0)
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 40)
    pairs = ArrayPairs([block_values(labels, "forward", noise=1.5, rng=rng) for _ in range(4)])
    problem = priced_problem(pairs, max_iter=500, **OPTIMIZERS["mirror"])

    def curve(nats):
        return search_from_starts(problem, 4, 2, 1, seeded(), moves=True, nats=nats).fit.loss_curve

    hasty, patient = curve(50.0), curve(1e-6)
    assert patient[: len(hasty)] == hasty
    assert len(hasty) < len(patient)
    assert patient[-1] < hasty[-1]


# Starts


def test_random_starts_are_all_distinct_and_have_memberships_of_their_own():
    problem = a_problem()
    starts = list(make_random_starts(problem, 3, 2, seeded().spawn(3)))
    assert len({start.key for start in starts}) == 3
    states = [start.make_state() for start in starts]
    assert [state.W.shape for state in states] == [(2, problem.pairs.n_samples, 3)] * 3
    assert not np.array_equal(states[0].W, states[1].W)


@KIND
@LEARNED
@pytest.mark.parametrize("partition", [[0, 1, 2, 3, 0, 1], [0, 0, 0, 0, 0, 1], list(TWO_PATTERNS)], ids=str)
def test_a_start_is_the_structure_that_is_worth_most(kind, learned, partition):
    """Patterns of a start are joined where that is worth more; views in the wrong one are a matter for EM."""
    problem = priced_problem(views_of_two_patterns(kind), learned, kind)
    views, clusterings = find_structure(problem, np.array(partition), 4)
    state = state_from_labels(problem, views, clusterings, 4)
    assert len(np.unique(views)) == np.count_nonzero(state.lam)
    # no group of views is parted
    assert len(np.unique(np.c_[partition, views], axis=0)) == len(np.unique(partition))
    assert state.lam.sum() == pytest.approx(1)
    assert state.W.shape[:2] == (4, 18)
    np.testing.assert_allclose(state.W.sum(axis=-1), 1)
    assert np.array_equal(state.B[0], np.eye(state.W.shape[2])) == (not learned)
    if partition == list(TWO_PATTERNS):
        assert state.lam.tolist() == [0.5, 0.5, 0, 0]
        assert {len(used_columns(W)) for W in state.W[:2]} == {2, 3}
        followed = multistart.run(problem, state).expectation.eta.argmax(axis=1).tolist()
        assert followed in (TWO_PATTERNS.tolist(), (1 - TWO_PATTERNS).tolist())


def test_starts_that_differ_in_the_names_of_patterns_alone_have_one_key():
    problem = priced_problem(views_of_two_patterns())
    first, second = (find_structure(problem, labels, 4)[0] for labels in (TWO_PATTERNS, 3 - 2 * TWO_PATTERNS))
    assert first.tolist() == second.tolist()


def test_equal_partitions_are_not_run_twice(monkeypatch):
    began = counted_runs(monkeypatch)
    # with one pattern every start has the same partition
    found = search_from_starts(a_problem(), 3, 1, 3, seeded(), moves=True)
    assert [state.lam.tolist() for state in began] == [[1.0]]
    assert len(set(found.start_losses.tolist())) == 1
    assert len(found.start_losses) == 3


@pytest.mark.parametrize("priced", [False, True], ids=["sloped", "priced"])
def test_the_start_of_a_partition_that_came_up_before_is_not_made_again(priced, monkeypatch):
    given_partitions(monkeypatch, [0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1])
    problem = four_views()
    if not priced:
        problem = replace(problem, model=replace(make_case(11).model, temperature=1.0))
    first, second, third = make_starts_with_moves(problem, 3, 2, seeded().spawn(3))
    assert third is first
    assert second.key != first.key


def test_starts_that_lead_to_one_structure_are_run_once(monkeypatch):
    pairs = ArrayPairs(np.repeat(block_values([0, 0, 0, 1, 1, 1], "forward")[None], 4, axis=0))
    problem = priced_problem(pairs)
    problem = replace(problem, model=replace(problem.model, penalty=ClusterPrice((0.0, 1.0))))
    given_partitions(monkeypatch, [0, 1, 0, 1], [0, 0, 1, 1], [1, 1, 0, 0])
    began = counted_runs(monkeypatch)
    found = search_from_starts(problem, 2, 2, 3, seeded(), moves=True)
    assert len(began) == 1  # four equal views are one pattern, however they were parted
    assert found.start_agreement.tolist() == [1.0, 1.0, 1.0]
    assert found.start_labels.tolist() == [0, 1, 0, 1]


def test_partitions_that_differ_are_each_run(monkeypatch):
    problem = a_problem()
    V = len(problem.pairs)
    given_partitions(monkeypatch, [0, 1, 0, 1, 1][:V], [0, 0, 0, 0, 1][:V], [0, 1, 0, 1, 1][:V])
    found = search_from_starts(problem, 3, 2, 3, seeded(), moves=True)
    first, second, third = found.start_losses
    assert first == third != second


def test_a_start_that_is_known_begins_and_ends_without_a_step():
    heard = Heard()
    search_from_starts(four_views(), 3, 1, 3, seeded(), heard, moves=True)
    assert heard.starts == [(what, start) for start in range(3) for what in ("started", "ended")]
    assert {start for start, _ in heard.steps} == {0}


def test_starts_that_wait_hold_nothing_large(monkeypatch):
    """Whatever their number: what a structure adds up to is added up again when its run begins."""
    rng = np.random.default_rng(0)
    pairs = ArrayPairs(rng.uniform(0.1, 0.9, size=(12, 300 * 299 // 2)), block=12)
    problem = priced_problem(pairs, n_clusters=2, max_iter=5, first_steps=10)
    held = []

    def looked(*arguments, **settings):
        held.append(tracemalloc.get_traced_memory()[0])
        raise LookupError

    monkeypatch.setattr(multistart, "run_with_moves", looked)
    for n_init in (1, 6):
        tracemalloc.start()
        with pytest.raises(LookupError):
            search_from_starts(problem, 2, 6, n_init, seeded(), moves=True)
        tracemalloc.stop()
    assert held[1] - held[0] < 8 * 6 * pairs.F.shape[1]


# A stop


@pytest.mark.parametrize("moves", [False, True])
def test_a_stop_before_the_search_leaves_the_first_start_alone(moves, monkeypatch):
    began = counted_runs(monkeypatch, "run_with_moves" if moves else "run")
    heard = Heard()
    found = search_from_starts(a_problem(stop=lambda: True), 3, 2, 4, seeded(), heard, moves=moves)
    assert len(began) == len(found.start_losses) == len(found.start_agreement) == 1
    assert heard.starts == [("started", 0), ("ended", 0)]
    assert np.isfinite(found.fit.loss_curve).all()


def stopped_after(n_runs):
    """Return what says to stop once so many runs have begun, and what a run has to call."""
    began = []
    return (lambda: len(began) >= n_runs), lambda: began.append(1)


@pytest.mark.parametrize("n_runs", [1, 2])
def test_a_stop_during_the_search_leaves_later_starts_out(n_runs, monkeypatch):
    stop, begin = stopped_after(n_runs)
    run = multistart.run
    monkeypatch.setattr(multistart, "run", lambda *arguments: begin() or run(*arguments))
    heard = Heard()
    found = search_from_starts(a_problem(stop=stop), 3, 2, 4, seeded(), heard)
    assert len(found.start_losses) == len(found.start_agreement) == n_runs
    assert heard.starts == [(what, start) for start in range(n_runs) for what in ("started", "ended")]


def test_a_stop_leaves_out_runs_but_not_starts_that_have_one(monkeypatch):
    """Of four starts the first and the third are one run, and the others do not begin."""
    given_partitions(monkeypatch, [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 0, 1])
    monkeypatch.setattr(view_groups, "best_groups", make_groups)
    stop, begin = stopped_after(1)
    go_on = multistart.run_with_moves
    monkeypatch.setattr(
        multistart, "run_with_moves", lambda *given, **settings: begin() or go_on(*given, **settings)
    )
    heard = Heard()
    problem = reschedule(four_views(), stop=stop)
    found = search_from_starts(problem, 3, 2, 4, seeded(), heard, moves=True)
    assert heard.starts == [(what, start) for start in (0, 2) for what in ("started", "ended")]
    assert found.start_losses.tolist() == [found.fit.loss_curve[-1]] * 2
    assert found.start_labels.tolist() == [0, 0, 1, 1]


# How far starts agree


def test_agreement_by_hand():
    """Views 0 and 1 agree on their clusters, whatever these are called; view 2 has others in each run."""
    first = Outcome(0.0, np.array([0, 0, 1]), np.array([SIXES, THIRDS]))
    second = Outcome(0.0, np.array([1, 1, 0]), np.array([SIXES, 1 - SIXES]))
    apart = normalized_mutual_info_score(THIRDS, SIXES)
    assert agreement(first, second) == pytest.approx((1 + 1 + apart) / 3)
    assert agreement(second, first) == pytest.approx(agreement(first, second))
    assert agreement(first, first) == pytest.approx(1)


def test_runs_without_clusters_agree():
    none = Outcome(0.0, np.array([0, 0]), np.zeros((1, 12), dtype=int))
    some = Outcome(0.0, np.array([0, 0]), SIXES[None])
    assert agreement(none, none) == 1
    assert agreement(none, some) == 0


def test_an_outcome_is_what_a_run_ended_with(monkeypatch):
    fit = run_with_moves(four_views(), np.array([0, 0, 1, 1]), 3, 2)
    compared = []
    monkeypatch.setattr(multistart, "agreement", lambda *outcomes: compared.append(outcomes) or 1.0)
    keep_best([Start(np.array([0, 0, 1, 1]), b"0", lambda: fit.state)], iter([(b"0", fit)]))
    ((outcome, best),) = compared
    assert outcome is best
    assert outcome.loss == fit.loss_curve[-1]
    assert same_partition(outcome.view_patterns, np.array([0, 0, 1, 1]))
    assert same_partition(outcome.clusters[outcome.view_patterns[0]], SIXES)


@pytest.mark.parametrize("moves", [False, True])
def test_starts_agree_with_the_one_that_is_kept(moves):
    found = search_from_starts(a_problem(), 3, 2, 4, seeded(), moves=moves)
    assert found.start_agreement.shape == (4,)
    assert found.start_agreement[found.start_losses.argmin()] == pytest.approx(1)
    assert ((found.start_agreement >= 0) & (found.start_agreement <= 1 + 1e-12)).all()


def test_starts_that_end_elsewhere_agree_less(monkeypatch):
    """One start is told apart two kinds of views, the other takes them for one and may not part them."""
    given_partitions(monkeypatch, [0, 0, 1, 1], [0, 0, 0, 0])
    monkeypatch.setattr(runs, "PRICED_MOVES", ())
    # patterns that are joined at the start cannot come apart by EM alone
    found = search_from_starts(four_views(), 3, 2, 2, seeded(), moves=True)
    assert found.start_losses[0] < found.start_losses[1]
    assert found.start_agreement[0] == pytest.approx(1)
    assert found.start_agreement[1] < 0.9


# What is kept of runs


def made_fit(loss):
    """Return a small fit that ends with this loss."""
    state = State(np.full((1, 4, 2), 0.5), np.eye(2)[None], np.ones(1), np.ones(1))
    found = Expectation(np.ones((3, 1)), np.full(1, 3.0), np.full(1, 3.0), np.zeros((1, 6)), loss, loss)
    return Fit(state, found, [loss], [loss], True)


def made_starts(*keys):
    return [Start(np.full(3, number), key, lambda: None) for number, key in enumerate(keys)]


def test_losses_are_those_of_the_runs_of_the_starts_in_their_order():
    starts = made_starts(b"a", b"b", b"a", b"c")
    fits = [(b"a", made_fit(3.0)), (b"b", made_fit(1.0)), (b"c", made_fit(2.0))]
    found = keep_best(starts, iter(fits))
    assert found.fit is fits[1][1]
    assert found.start_losses.tolist() == [3.0, 1.0, 3.0, 2.0]
    assert found.start_labels.tolist() == [1, 1, 1]
    assert found.start_agreement.shape == (4,)


def test_starts_whose_run_was_left_out_are_left_out():
    starts = made_starts(b"a", b"b", b"a")
    found = keep_best(starts, iter([(b"a", made_fit(3.0))]))
    assert found.start_losses.tolist() == [3.0, 3.0]
    assert found.start_labels.tolist() == [0, 0, 0]


def test_of_equal_losses_the_first_is_kept():
    fits = [(key, made_fit(1.0)) for key in (b"a", b"b")]
    found = keep_best(made_starts(b"a", b"b"), iter(fits))
    assert found.fit is fits[0][1]
    assert found.start_labels.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "losses", [[5.0, 4.0, 3.0, 2.0], [1.0, 2.0, 3.0, 4.0], [3.0, 1.0, 4.0, 2.0]], ids=str
)
def test_fits_that_are_not_the_best_are_let_go(losses, monkeypatch):
    """Memberships and statistics are large: while a run goes on, only the best and the last are held."""
    made, held = [], []

    def alive():
        return [reference() for reference in made if reference() is not None]

    def run(problem, state, callback):
        gc.collect()
        held.append(len(alive()))
        fit = made_fit(losses[len(made)])
        made.append(weakref.ref(fit.state.W))
        return fit

    monkeypatch.setattr(multistart, "run", run)
    found = search_from_starts(a_problem(), 3, 2, 4, seeded())
    assert len(held) == 4
    assert max(held) <= 2
    gc.collect()
    (kept,) = alive()
    assert kept is found.fit.state.W
    assert found.fit.loss_curve == [min(losses)]


# Starts side by side


class Threads(Listener):
    """Which threads run starts, each of which waits a little for the others to begin."""

    def __init__(self):
        self.seen = set()

    def follow(self, start):
        def hear(iteration, expectation):
            self.seen.add(get_ident())
            sleep(0.002)

        return hear


def test_starts_side_by_side_end_as_they_do_one_by_one():
    found, threads = [], []
    for n_jobs in (1, 4):
        heard = Threads()
        with Workers(n_jobs) as workers:
            found.append(search_from_starts(a_problem(workers), 3, 2, 4, seeded(), heard))
        threads.append(len(heard.seen))
    alone, together = found
    assert threads[0] == 1 < threads[1]
    assert together.start_losses.tolist() == alone.start_losses.tolist()
    assert together.fit.loss_curve == alone.fit.loss_curve
    np.testing.assert_array_equal(together.fit.state.W, alone.fit.state.W)


def test_starts_of_large_problems_run_one_by_one():
    """A step of one has work enough for all threads."""
    heard = Threads()
    with Workers(4) as workers:
        problem = a_problem(workers)
        problem.pairs.backend.is_small = False
        search_from_starts(problem, 3, 2, 3, seeded(), heard)
    assert heard.seen == {get_ident()}


def test_fits_come_in_the_order_of_their_starts_whichever_ends_first():
    def go_on(problem, state, callback):
        sleep(0.05 * (3 - state))
        return made_fit(float(state))

    starts = [Start(np.zeros(1), str(number).encode(), partial(int, number)) for number in range(3)]
    with Workers(3) as workers:
        fits = list(run_starts(a_problem(workers), starts, go_on, NOBODY))
    assert [(key, fit.loss_curve) for key, fit in fits] == [(b"0", [0.0]), (b"1", [1.0]), (b"2", [2.0])]


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_when_a_start_fails_the_others_end_early(error, monkeypatch):
    running = Barrier(2)

    def endless(problem, state, callback):
        if running.wait(20):
            raise error("no more")
        while not problem.schedule.stop():
            sleep(0.01)
        return original(reschedule(problem, max_iter=0), state)

    original = multistart.run
    monkeypatch.setattr(multistart, "run", endless)
    with Workers(2) as workers, pytest.raises(error, match="no more"):
        search_from_starts(a_problem(workers), 3, 2, 2, seeded())


def test_starts_that_have_not_begun_when_one_fails_never_do():
    began = []

    def fails(problem, state, callback):
        began.append(state)
        raise ArithmeticError("no more")

    starts = [Start(np.zeros(1), str(number).encode(), partial(int, number)) for number in range(3)]
    heard = Heard()
    with pytest.raises(ArithmeticError, match="no more"):
        list(run_starts(a_problem(), starts, fails, heard))
    assert began == [0]
    assert heard.starts == [("started", 0)]


def test_when_nobody_asks_for_more_fits_the_other_starts_end_early():
    ended = []

    def go_on(problem, state, callback):
        while state and not problem.schedule.stop():
            sleep(0.01)
        ended.append(state)
        return made_fit(1.0)

    starts = [Start(np.zeros(1), str(number).encode(), partial(int, number)) for number in range(2)]
    with Workers(2) as workers:
        fits = run_starts(a_problem(workers), starts, go_on, NOBODY)
        assert [key for key, _ in islice(fits, 1)] == [b"0"]
        fits.close()
    assert ended in ([0], [0, 1])
