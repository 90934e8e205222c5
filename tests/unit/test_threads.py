"""Threads: the same order whatever their number, and BLAS left as it was."""

import pytest
from threadpoolctl import threadpool_info

from latentsimplex.compute.threads import Workers


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_results_come_in_the_order_of_their_arguments(n_jobs):
    with Workers(n_jobs) as workers:
        assert list(workers.imap(lambda x: x**2, range(20))) == [x**2 for x in range(20)]
        assert list(workers.imap(lambda x: x**2, range(20), threaded=False)) == [x**2 for x in range(20)]
        assert workers.starmap(pow, [(2, 3), (3, 2)]) == [8, 9]


def test_of_two_fits_at_once_the_last_to_end_gives_blas_its_threads_back():
    before = blas_threads()
    first, second = Workers(1), Workers(1)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas_threads() == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before
