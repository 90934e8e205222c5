"""What EM is given: schedules that change without the rest."""

from latentsimplex.model.problem import OPTIMIZERS, Schedule
from latentsimplex.search.runs import reschedule
from problems import make_case


def test_another_schedule_leaves_the_rest_of_a_problem():
    problem = make_case(0).problem(schedule=Schedule(max_iter=7))
    other = reschedule(problem, tol=0.5, single_precision=True)
    assert other.pairs is problem.pairs
    assert other.model is problem.model
    assert (other.schedule.max_iter, other.schedule.tol, other.schedule.single_precision) == (7, 0.5, True)
    assert problem.schedule == Schedule(max_iter=7)


def test_each_optimizer_is_a_schedule_of_its_own_name():
    for name, settings in OPTIMIZERS.items():
        assert Schedule(**settings).optimizer == name
    assert Schedule() == Schedule(**OPTIMIZERS["adam"])


def test_nobody_stops_a_run_unless_asked_to():
    assert not Schedule().stop()
