"""Threads: the same order whatever their number, no waiting for each other, and BLAS left as it was."""

from threading import Barrier, current_thread, main_thread

import pytest
from threadpoolctl import threadpool_info

from latentsimplex.base.threads import Workers, cached_property


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def thread_of(_):
    return current_thread()


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_results_come_in_the_order_of_their_arguments(n_jobs):
    with Workers(n_jobs) as workers:
        assert list(workers.map(lambda x: x**2, range(20))) == [x**2 for x in range(20)]
        assert list(workers.map(lambda x: x**2, range(20), threaded=False)) == [x**2 for x in range(20)]
        assert list(workers.map(lambda pair: pow(*pair), [(2, 3), (3, 2)])) == [8, 9]
        assert list(workers.map(abs, [])) == []


def test_work_goes_to_threads_where_there_are_several_of_both():
    with Workers(2) as workers:
        assert main_thread() not in workers.map(thread_of, range(4))
        assert list(workers.map(thread_of, range(1))) == [main_thread()]
        assert set(workers.map(thread_of, range(4), threaded=False)) == {main_thread()}
    with Workers(1) as workers:
        assert set(workers.map(thread_of, range(4))) == {main_thread()}


def test_without_a_with_block_calls_are_plain():
    assert set(Workers(3).map(thread_of, range(4))) == {main_thread()}
    left = Workers(3)
    with left:
        pass
    assert set(left.map(thread_of, range(4))) == {main_thread()}


def test_what_runs_on_one_of_the_threads_goes_on_there():
    """Were its own jobs handed out too, threads that wait for them could all wait for ever."""
    with Workers(4) as workers:

        def nested(_):
            own = current_thread()
            assert set(workers.map(thread_of, range(3))) == {own}  # while two threads have nothing to do
            for inner in workers.map(lambda _: set(workers.map(thread_of, range(2))), range(2)):
                assert inner == {own}
            return own

        assert main_thread() not in workers.map(nested, range(2))
        assert main_thread() not in workers.map(nested, range(20))  # with more jobs than threads
        assert main_thread() not in workers.map(thread_of, range(4))  # from here there are threads again


def test_workers_of_others_are_no_reason_to_work_alone():
    """Starts run side by side on workers of their own, and each uses the threads of the fit."""
    with Workers(2) as lanes, Workers(2) as workers:

        def start(_):
            return current_thread(), set(workers.map(thread_of, range(4)))

        for own, inner in lanes.map(start, range(4)):
            assert own not in inner
            assert main_thread() not in inner


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_an_error_in_a_piece_of_work_is_raised_where_its_result_is_asked_for(n_jobs):
    with Workers(n_jobs) as workers:
        found = workers.map(lambda x: 1 // x, [1, 0, 1])
        assert next(found) == 1
        with pytest.raises(ZeroDivisionError):
            next(found)


def test_no_number_of_threads_is_all_cores(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    assert Workers().n_jobs == Workers(None).n_jobs == 7
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert Workers().n_jobs == 1


def test_of_two_fits_at_once_the_last_to_end_gives_blas_its_threads_back():
    before = blas_threads()
    first, second = Workers(1), Workers(1)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas_threads() == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_work_ends_with_the_next_piece_once_it_is_stopped(n_jobs):
    done = []

    def work(i):
        done.append(i)
        return i

    with Workers(n_jobs) as workers:
        ended = workers.until(lambda: len(done) >= 5, "counting")
        with pytest.raises(KeyboardInterrupt, match="counting"):
            list(ended.map(work, range(1000)))
        assert 5 <= len(done) < 5 + n_jobs
        assert list(workers.map(work, range(3))) == [0, 1, 2]


def test_work_that_may_be_ended_goes_on_in_its_thread_too():
    with Workers(2) as workers:
        ended = workers.until(bool, "counting")

        def nested(_):
            own = current_thread()
            return all(other is own for other in ended.map(thread_of, range(4)))

        assert all(ended.map(nested, range(8)))
        assert all(workers.map(nested, range(8)))


def test_attributes_of_two_objects_are_computed_at_the_same_time():
    """Python 3.11's own would let the second thread wait, and the barrier break."""
    barrier = Barrier(2, timeout=30)

    class Meeting:
        @cached_property
        def place(self):
            """Where both are at once."""
            return barrier.wait()

    with Workers(2) as workers:
        meetings = [Meeting(), Meeting()]
        places = list(workers.map(lambda meeting: meeting.place, meetings))
    assert sorted(places) == [0, 1]
    assert [meeting.place for meeting in meetings] == places
    assert Meeting.place.__doc__ == "Where both are at once."
