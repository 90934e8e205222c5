"""Threads: the same order whatever their number, and warnings as they were."""

import warnings
from threading import Event, Thread

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from latentsimplex import LatentSimplexPosition
from latentsimplex.compute.threads import Ignored, Workers


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_results_come_in_the_order_of_their_arguments(n_jobs):
    with Workers(n_jobs) as workers:
        assert list(workers.imap(lambda x: x**2, range(20))) == [x**2 for x in range(20)]
        assert workers.starmap(pow, [(2, 3), (3, 2)]) == [8, 9]


def test_a_warning_is_ignored_inside_and_seen_outside():
    ignored = Ignored(ConvergenceWarning)
    for _ in range(2):
        with ignored:
            warnings.warn("not seen", ConvergenceWarning, stacklevel=1)
        with pytest.warns(ConvergenceWarning, match="seen"):
            warnings.warn("seen", ConvergenceWarning, stacklevel=1)
    with ignored, pytest.warns(UserWarning, match="another"):
        warnings.warn("another", UserWarning, stacklevel=1)


def test_an_error_inside_leaves_the_filters_as_they_were():
    before = list(warnings.filters)
    with pytest.raises(KeyError), Ignored(ConvergenceWarning):
        raise KeyError
    assert warnings.filters == before


def test_a_thread_that_leaves_first_does_not_keep_the_filters_of_one_that_stays():
    ignored, before = Ignored(ConvergenceWarning), list(warnings.filters)
    entered, leave = Event(), Event()

    def stay():
        with ignored:
            entered.set()
            leave.wait(10)

    other = Thread(target=stay)
    with ignored:
        other.start()
        assert entered.wait(10)
    warnings.warn("still ignored", ConvergenceWarning, stacklevel=1)
    leave.set()
    other.join()
    assert warnings.filters == before


def test_a_fit_on_threads_leaves_the_filters_as_they_were():
    """Samples in four places cannot make six clusters, of which k-means warns in each thread."""
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 2)), 5, axis=0)
    before = list(warnings.filters)
    LatentSimplexPosition(6, 1, n_init=1, max_iter=2, n_jobs=4, random_state=0).fit(X)
    assert warnings.filters == before
