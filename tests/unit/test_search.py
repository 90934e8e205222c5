"""Several starts: the lowest loss is kept, and progress is told of each."""

import tracemalloc
from dataclasses import replace
from threading import Barrier, get_ident
from time import sleep

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex import search
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import DIVERGENCES
from latentsimplex.em import OPTIMIZERS, Model, Schedule, e_step
from latentsimplex.objective import ClusterPrice, label_prices
from latentsimplex.search import (
    Answer,
    Listener,
    agreement,
    answer_of,
    best_of,
    go_on,
    settle,
)
from problems import ArrayPairs, block_values, make_problem, run_with_moves, same_partition

SHORT = Schedule(max_iter=5, first_steps=10)
HALVES, THIRDS = np.repeat([0, 1], 6), np.tile([0, 1, 2], 4)


def priced(learned=True, n=12, g=3):
    return Model(DIVERGENCES["forward"], ClusterPrice(label_prices(n, g, 1.0)), 1.0, learned)


def block_pairs(kind="forward", within=(0.9, 0.9, 0.9, 0.9), seed=0):
    """Return four views, of which the first two have two clusters and the others three."""
    rng = np.random.default_rng(seed)
    labels = (HALVES, HALVES, THIRDS, THIRDS)
    return ArrayPairs(
        [block_values(z, kind, w, 0.05, noise=0.2, rng=rng) for z, w in zip(labels, within, strict=True)]
    )


def test_the_lowest_loss_is_kept(monkeypatch):
    problem = make_problem(11)
    ends = []
    run = search.run

    def recorded(*arguments):
        ends.append(run(*arguments))
        return ends[-1]

    monkeypatch.setattr(search, "run", recorded)
    found = best_of(problem.pairs(), 3, 2, problem.model, SHORT, 4, np.random.default_rng(0))
    losses = [fit.loss_curve[-1] for fit in ends]
    assert len(set(losses)) > 1
    assert found.start_losses.tolist() == losses
    assert found.fit is ends[int(np.argmin(losses))]


def test_more_starts_never_end_higher_and_share_their_first_ones():
    problem = make_problem(11)
    few, many = (
        best_of(problem.pairs(), 3, 2, problem.model, SHORT, n, np.random.default_rng(0)) for n in (2, 5)
    )
    assert many.start_losses[:2].tolist() == few.start_losses.tolist()
    assert many.fit.loss_curve[-1] <= few.fit.loss_curve[-1]


class Heard(Listener):
    def __init__(self):
        self.steps, self.starts = [], []

    def started(self, start):
        self.starts.append(("started", start))

    def step(self, start, iteration, expectation):
        self.steps.append((start, iteration))

    def ended(self, start):
        self.starts.append(("ended", start))


def test_progress_is_reported_for_every_iteration_of_every_start():
    problem, heard = make_problem(11), Heard()
    best_of(problem.pairs(), 2, 2, problem.model, SHORT, 2, np.random.default_rng(0), heard)
    assert heard.steps == [(start, iteration) for start in range(2) for iteration in range(6)]
    assert heard.starts == [(what, start) for start in range(2) for what in ("started", "ended")]


def test_a_start_that_is_known_begins_and_ends_without_a_step():
    heard = Heard()
    best_of(block_pairs(), 3, 1, priced(), SHORT, 3, np.random.default_rng(0), heard, moves=True)
    assert heard.starts == [(what, start) for start in range(3) for what in ("started", "ended")]
    assert {start for start, _ in heard.steps} == {0}


# How far starts agree


def test_agreement_by_hand():
    """Views 0 and 1 agree on their clusters, whatever these are called; view 2 has others in each run."""
    first = Answer(0.0, np.array([0, 0, 1]), np.array([HALVES, THIRDS]))
    second = Answer(0.0, np.array([1, 1, 0]), np.array([HALVES, 1 - HALVES]))
    apart = normalized_mutual_info_score(THIRDS, HALVES)
    assert agreement(first, second) == pytest.approx((1 + 1 + apart) / 3)
    assert agreement(second, first) == pytest.approx(agreement(first, second))
    assert agreement(first, first) == pytest.approx(1)


def test_runs_without_clusters_agree():
    none = Answer(0.0, np.array([0, 0]), np.zeros((1, 12), dtype=int))
    some = Answer(0.0, np.array([0, 0]), HALVES[None])
    assert agreement(none, none) == 1
    assert agreement(none, some) == 0


def test_an_answer_is_what_a_run_ended_with():
    fit = run_with_moves(block_pairs(), np.array([0, 0, 1, 1]), 3, 2, priced(), SHORT)
    answer = answer_of(fit)
    assert answer.loss == fit.loss_curve[-1]
    assert same_partition(answer.view_patterns, np.array([0, 0, 1, 1]))
    assert same_partition(answer.clusters[answer.view_patterns[0]], HALVES)


@pytest.mark.parametrize("moves", [False, True])
def test_starts_agree_with_the_one_that_is_kept(moves):
    problem = make_problem(11)
    rng = np.random.default_rng(0)
    found = best_of(problem.pairs(), 3, 2, problem.model, SHORT, 4, rng, moves=moves)
    assert found.start_agreement.shape == (4,)
    assert found.start_agreement[found.start_losses.argmin()] == pytest.approx(1)
    assert ((found.start_agreement >= 0) & (found.start_agreement <= 1 + 1e-12)).all()


def test_starts_that_end_elsewhere_agree_less(monkeypatch):
    """One start is told apart two kinds of views, the other takes them for one and may not part them."""
    pairs = block_pairs()
    partitions = iter([[0, 0, 1, 1], [0, 0, 0, 0]])
    monkeypatch.setattr(search, "kmeans_labels", lambda *arguments: np.array(next(partitions)))
    monkeypatch.setattr(search, "PRICED_MOVES", ())
    # patterns that are joined at the start cannot come apart by EM alone
    found = best_of(pairs, 3, 2, priced(), SHORT, 2, np.random.default_rng(0), moves=True)
    assert found.start_losses[0] < found.start_losses[1]
    assert found.start_agreement[0] == pytest.approx(1)
    assert found.start_agreement[1] < 0.9


# Going on


@pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
def test_going_on_keeps_patterns_and_clusters(learned):
    pairs, other = block_pairs(), block_pairs("reverse", seed=3)
    fit = run_with_moves(pairs, np.array([0, 0, 1, 1]), 3, 4, priced(), SHORT)
    model = replace(priced(learned), divergence=DIVERGENCES["reverse"])
    again = go_on(other, fit, model, SHORT)
    before, after = answer_of(fit), answer_of(again)
    assert same_partition(after.view_patterns, before.view_patterns)
    for v in range(4):
        assert same_partition(
            after.clusters[after.view_patterns[v]], before.clusters[before.view_patterns[v]]
        )
    assert (np.diff(again.loss_curve) <= 1e-9 * np.abs(again.loss_curve[1:])).all()
    assert again.state.lam.shape == (4,)


def test_going_on_is_reported():
    pairs, heard = block_pairs(), Heard()
    fit = run_with_moves(pairs, np.array([0, 0, 1, 1]), 3, 2, priced(), SHORT)
    go_on(pairs, fit, priced(), SHORT, heard)
    assert heard.steps == [(0, iteration) for iteration in range(len(heard.steps))]
    assert len(heard.steps) > 1


# All views, after a part of them


def test_settling_takes_all_views_in_from_where_a_part_of_them_ended():
    pairs = block_pairs()
    part = ArrayPairs(pairs.F[[0, 2, 3]])
    model = priced()
    fit = run_with_moves(part, np.array([0, 1, 1]), 3, 2, model, SHORT)
    fit = fit._replace(state=fit.state._replace(rate=fit.state.rate / 64))
    heard = Heard()
    found = settle(pairs, fit, model, SHORT, heard)
    assert same_partition(found.expectation.eta.argmax(axis=1), np.array([0, 0, 1, 1]))
    assert heard.steps == [(0, iteration) for iteration in range(len(found.loss_curve))]
    before = e_step(pairs, fit.state, model).loss
    assert found.loss_curve[0] == before
    assert found.loss_curve[-1] <= before
    assert (found.state.rate[found.state.lam > 0] >= SHORT.rate / 2 ** len(heard.steps)).all()


def test_a_search_says_which_views_it_looked_at():
    found = best_of(block_pairs(), 3, 2, priced(), SHORT, 1, np.random.default_rng(0), moves=True)
    assert found.searched.tolist() == [0, 1, 2, 3]


# Starts side by side


class Threads(Listener):
    """Which threads run starts."""

    def __init__(self):
        self.seen = set()

    def step(self, start, iteration, expectation):
        self.seen.add(get_ident())


def pairs_on(workers, problem):
    pairs = problem.pairs()
    pairs.workers = workers
    return pairs


def test_starts_side_by_side_end_as_they_do_one_by_one():
    problem, found, threads = make_problem(11), [], []
    for n_jobs in (1, 4):
        heard = Threads()
        with Workers(n_jobs) as workers:
            pairs = pairs_on(workers, problem)
            found.append(best_of(pairs, 3, 2, problem.model, SHORT, 4, np.random.default_rng(0), heard))
        threads.append(len(heard.seen))
    alone, together = found
    assert threads[0] == 1 < threads[1]
    assert together.start_losses.tolist() == alone.start_losses.tolist()
    assert together.fit.loss_curve == alone.fit.loss_curve
    np.testing.assert_array_equal(together.fit.state.W, alone.fit.state.W)


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_when_a_start_fails_the_others_end_early(error, monkeypatch):
    problem = make_problem(11)
    running = Barrier(2)

    def endless(pairs, state, model, schedule, callback):
        running.wait(20)
        if callback.args[0] == 1:
            raise error("no more")
        while not schedule.stop():
            sleep(0.01)
        return original(pairs, state, model, replace(schedule, max_iter=0))

    original = search.run
    monkeypatch.setattr(search, "run", endless)
    with Workers(2) as workers, pytest.raises(error, match="no more"):
        best_of(pairs_on(workers, problem), 3, 2, problem.model, SHORT, 2, np.random.default_rng(0))


def test_starts_that_wait_hold_nothing_large(monkeypatch):
    """Whatever their number: what a structure adds up to is added up again when its run begins."""
    rng = np.random.default_rng(0)
    pairs = ArrayPairs(rng.uniform(0.1, 0.9, size=(12, 300 * 299 // 2)), block=12)
    model = priced(n=300, g=2)
    held = []

    def looked(*arguments):
        held.append(tracemalloc.get_traced_memory()[0])
        raise LookupError

    monkeypatch.setattr(search, "moved_on", looked)
    for n_init in (1, 6):
        tracemalloc.start()
        with pytest.raises(LookupError):
            best_of(pairs, 2, 6, model, SHORT, n_init, np.random.default_rng(0), moves=True)
        tracemalloc.stop()
    assert held[1] - held[0] < 8 * 6 * pairs.F.shape[1]


def test_a_search_ends_by_the_nats_that_it_is_told(monkeypatch):
    monkeypatch.setattr(search, "SETTLED_TOL", 0.0)
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 40)
    F = [block_values(labels, "forward", noise=1.5, rng=rng) for _ in range(4)]
    schedule = Schedule(**OPTIMIZERS["mirror"])

    def curve(nats):
        model, seed = priced(n=40, g=4), np.random.default_rng(0)
        return best_of(ArrayPairs(F), 4, 2, model, schedule, 1, seed, moves=True, nats=nats).fit.loss_curve

    hasty, patient = curve(50.0), curve(1e-6)
    assert patient[: len(hasty)] == hasty
    assert len(hasty) < len(patient)
    assert patient[-1] < hasty[-1]
