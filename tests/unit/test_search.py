"""Several starts: the lowest loss is kept, and progress is told of each."""

import numpy as np

from latentsimplex import search
from latentsimplex.em import Schedule
from latentsimplex.search import best_of
from problems import make_problem

SHORT = Schedule(max_iter=5, first_steps=10)


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


def test_progress_is_reported_for_every_iteration_of_every_start():
    problem, seen = make_problem(11), []
    best_of(
        problem.pairs(),
        2,
        2,
        problem.model,
        SHORT,
        2,
        np.random.default_rng(0),
        lambda start, iteration, expectation: seen.append((start, iteration)),
    )
    assert seen == [(start, iteration) for start in range(2) for iteration in range(6)]
