"""Progress: one bar for a whole fit, lines where no bar can be drawn, and no time left that is a mere guess."""

import logging
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from latentsimplex import LatentSimplexPosition, progress
from latentsimplex.progress import Bar, Course, Lines, Reporter, Silence, Step, show_progress


class Clock:
    def __init__(self):
        self.time = 0.0

    def __call__(self):
        return self.time


def expectation(loss, patterns):
    """An E step with this loss and one view for each of these patterns."""
    return SimpleNamespace(loss=loss, eta=np.eye(3)[patterns])


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def course(clock):
    return Course(4, clock)


# The time left


def test_no_time_left_is_named_before_a_start_has_ended(course, clock):
    clock.time = 20.0
    assert (course.headline, course.clock) == ("reading the views", "0:20")
    course.begin_start(0)
    clock.time = 29.0
    assert (course.headline, course.clock) == ("start 1 of 4", "0:29")


def test_the_time_left_is_that_of_the_starts_that_have_ended(course, clock):
    clock.time = 20.0
    course.begin_start(0)
    clock.time = 30.0
    course.end_start(0)
    course.begin_start(1)
    assert course.clock == "0:30, ~0:30 left to search"
    clock.time = 36.0
    assert course.clock == "0:36, ~0:24 left to search"
    course.end_start(1)
    assert course.clock == "0:36, ~0:16 left to search"


def test_starts_that_take_longer_than_those_before_have_no_time_left_to_name(course, clock):
    course.begin_start(0)
    clock.time = 1.0
    course.end_start(0)
    course.begin_start(1)
    clock.time = 50.0
    assert course.clock == "0:50"


def test_what_comes_after_the_search_has_no_time_left_to_name(course, clock):
    for start in range(3):
        course.begin_start(start)
        clock.time += 5.0
        course.end_start(start)
    course.begin_stage("refining memberships")
    assert (course.headline, course.clock) == ("refining memberships", "0:15")


def test_the_time_left_to_look_for_clusters_is_that_of_the_looks_that_have_ended(course, clock):
    course.begin_stage("looking for clusters")
    clock.time = 10.0
    course.look(0, 1000)
    clock.time = 20.0
    assert course.clock == "0:20"
    course.look(200, 1000)
    assert course.clock == "0:20, ~0:40 left to look for clusters"
    clock.time = 25.0
    assert course.clock == "0:25, ~0:35 left to look for clusters"
    clock.time = 70.0
    assert course.clock == "1:10"  # a look that takes longer than those before
    for done in (1000, 1200):  # more clusters than was thought
        course.look(done, 1000)
        assert course.clock == "1:10"
    course.begin_stage("refining memberships")
    assert course.clock == "1:10"


def test_too_few_looks_tell_nothing_of_the_others(course, clock):
    course.look(0, 1000)
    clock.time = 10.0
    course.look(20, 1000)
    assert course.clock == "0:10"


def test_the_share_never_falls_whatever_ends_early(course):
    shares = [course.share]
    course.begin_stage("grouping the views")
    shares.append(course.share)
    course.begin_start(0)
    shares.append(course.share)
    course.end_start(0)
    shares.append(course.share)
    course.begin_stage("refining memberships")
    shares.append(course.share)
    course.begin_stage("taking in all views")
    shares.append(course.share)
    assert shares == [0, 0, 1 / 6, 2 / 6, 5 / 6, 5 / 6]


def test_starts_side_by_side_are_named_and_the_lowest_loss_is_shown(course):
    course.begin_start(2)
    course.begin_start(0)
    assert (course.headline, course.step) == ("starts 1, 3 of 4", None)
    course.running[0], course.running[2] = Step(7.0, 2), Step(5.0, 1)
    assert str(course.step) == "loss 5, 1 pattern"
    assert course.end_start(2) == Step(5.0, 1)
    assert (course.headline, str(course.step)) == ("start 1 of 4", "loss 7, 2 patterns")


# What is shown


def a_fit(reporter, clock):
    """Tell of a fit with three starts, the second of which is that of the first, and a stage after them."""
    for start in (0, 1, 2):
        reporter.started(start)
        for iteration in range(0 if start == 1 else 20):
            clock.time += 2.0
            reporter.step(start, iteration, expectation(100.0 - iteration, [0, 2]))
        reporter.ended(start)
    reporter.stage("refining memberships")
    reporter.step(0, 0, expectation(123456.7, [1, 1]))


def test_lines_are_few_and_say_what_ended(clock, capsys):
    course = Course(3, clock)
    reporter = Reporter(course, Lines(course))
    reporter.display.show(course)
    a_fit(reporter, clock)
    reporter.display.close(course, fitted=True)
    assert capsys.readouterr().err.splitlines() == [
        "latentsimplex: reading the views: 0:00",
        "latentsimplex: start 1 of 3: loss 86, 2 patterns, 0:30",
        "latentsimplex: start 1 of 3 ended: loss 81, 2 patterns, 0:40, ~1:20 left to search",
        "latentsimplex: start 3 of 3: loss 86, 2 patterns, 1:10",
        "latentsimplex: start 3 of 3 ended: loss 81, 2 patterns, 1:20",
        "latentsimplex: refining memberships: 1:20",
        "latentsimplex: fitted: loss 123,457, 1 pattern, 1:20",
    ]


def test_a_fit_that_ends_with_the_search_has_the_loss_of_the_best_start(clock, capsys):
    course = Course(2, clock)
    reporter = Reporter(course, Lines(course))
    for start, loss in enumerate([5.0, 7.0]):
        reporter.started(start)
        reporter.step(start, 0, expectation(loss, [0]))
        reporter.ended(start)
    reporter.display.close(course, fitted=True)
    assert capsys.readouterr().err.splitlines()[-1] == "latentsimplex: fitted: loss 5, 1 pattern, 0:00"


class FakeBar:
    """Keeps what a bar would draw."""

    def __init__(self):
        self.n, self.unit, self.drawn, self.closed = 0.0, "", [], False

    def set_description_str(self, headline, refresh):
        assert refresh
        self.drawn.append((headline, self.n, self.unit))

    def close(self):
        self.closed = True


def test_the_bar_goes_from_nothing_to_full(clock):
    course, bar = Course(3, clock), FakeBar()
    reporter = Reporter(course, Bar(bar))
    reporter.display.show(course)
    a_fit(reporter, clock)
    reporter.display.close(course, fitted=True)
    shares = [share for _, share, _ in bar.drawn]
    assert bar.drawn[0] == ("reading the views", 0.0, "0:00")
    assert bar.drawn[-1] == ("fitted", 1.0, "loss 123,457, 1 pattern, 1:20")
    assert shares == sorted(shares)
    assert bar.closed
    headlines = list(dict.fromkeys(headline for headline, _, _ in bar.drawn))
    expected = [f"start {k} of 3" for k in (1, 2, 3)]
    assert headlines == ["reading the views", *expected, "refining memberships", "fitted"]


def test_the_bar_of_a_fit_that_failed_does_not_say_fitted(clock):
    course, bar = Course(3, clock), FakeBar()
    Bar(bar).close(course, fitted=False)
    assert (bar.drawn, bar.closed) == ([], True)


def test_the_bar_is_not_drawn_at_every_step(clock):
    course, bar = Course(1, clock), FakeBar()
    reporter = Reporter(course, Bar(bar))
    reporter.started(0)
    for iteration in range(1000):
        clock.time += 0.001
        reporter.step(0, iteration, expectation(1.0, [0]))
    assert len(bar.drawn) < 15


def test_the_bar_is_drawn_while_nothing_is_heard(monkeypatch):
    monkeypatch.setattr(progress, "TICK", 0.01)
    monkeypatch.setattr(progress, "REDRAWN", 0.0)
    bar = FakeBar()
    monkeypatch.setattr(progress, "_display", lambda course: Bar(bar))
    with show_progress(True, 1):
        for _ in range(1000):
            if len(bar.drawn) > 3:
                break
            progress.Event().wait(0.01)
    assert [headline for headline, _, _ in bar.drawn[:4]] == ["reading the views"] * 4


def test_nothing_is_shown_once_a_fit_has_failed(monkeypatch):
    bar = FakeBar()
    monkeypatch.setattr(progress, "_display", lambda course: Bar(bar))
    with pytest.raises(ValueError, match="bad"), show_progress(True, 1):
        raise ValueError("bad")
    assert bar.closed
    assert [headline for headline, _, _ in bar.drawn] == ["reading the views"]


def test_starts_may_tell_at_once_from_many_threads(clock):
    course, bar = Course(40, clock), FakeBar()
    reporter = Reporter(course, Bar(bar))

    def start(k):
        reporter.started(k)
        for iteration in range(20):
            reporter.step(k, iteration, expectation(1.0, [0]))
        reporter.ended(k)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(start, range(40)))
    assert (course.n_ended, course.running) == (40, {})
    shares = [share for _, share, _ in bar.drawn]
    assert shares == sorted(shares)


def test_every_iteration_is_logged(caplog, course):
    with caplog.at_level(logging.DEBUG, logger="latentsimplex"):
        Reporter(course, Silence()).step(2, 5, expectation(12.0, [0, 1, 1]))
    assert caplog.messages == ["start 2 iteration 5 loss 12 patterns 2"]


def test_a_fit_is_logged_where_somebody_listens(caplog):
    with caplog.at_level(logging.DEBUG, logger="latentsimplex"), show_progress(False, 1) as listener:
        listener.step(0, 3, expectation(5.0, [0]))
        listener.stage("refining memberships")
    assert caplog.messages == ["start 0 iteration 3 loss 5 patterns 1", "refining memberships"]


# Where a fit runs


class NotebookBar(FakeBar):
    """Stands for the bar of a notebook, whose standard error is no terminal."""

    __module__ = "tqdm.notebook"

    def __init__(self, **settings):
        super().__init__()
        assert "{bar}" in settings["bar_format"]


def test_a_notebook_has_a_bar_though_it_is_no_terminal(monkeypatch, course):
    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=NotebookBar))
    assert isinstance(progress._display(course), Bar)
    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=FakeBar))
    assert isinstance(progress._display(course), Lines)


FIT = """
import numpy as np
from latentsimplex import LatentSimplexPosition
views = np.random.default_rng(0).normal(size=(3, 40, 2)) + 6 * (np.arange(40) % 2)[:, None]
LatentSimplexPosition(3, 2, n_init=2, random_state=0, verbose={verbose}).fit(views)
"""


@pytest.mark.parametrize("verbose", [True, False])
def test_a_script_writes_lines_if_asked_and_nothing_otherwise(verbose):
    done = subprocess.run(
        [sys.executable, "-c", FIT.format(verbose=verbose)], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert "\r" not in done.stderr
    lines = [re.sub(r"[\d.]+(e\+\d+)?", "#", line) for line in done.stderr.splitlines()]
    if verbose:
        assert lines[0] == "latentsimplex: reading the views: #:#"
        assert lines[-1] == "latentsimplex: fitted: loss #, # pattern, #:#"
        assert all(line.startswith("latentsimplex: ") for line in lines)
        assert "latentsimplex: looking for clusters: #:#" in lines
        assert len(lines) == 4
    else:
        assert lines == []


@pytest.mark.skipif(os.name == "nt", reason="there are no such terminals on Windows")
def test_a_terminal_shows_one_bar_for_the_whole_fit():
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    command = [sys.executable, "-c", FIT.format(verbose=True)]
    with subprocess.Popen(command, stderr=follower) as process:
        os.close(follower)
        shown = b""
        while chunk := read_terminal(leader):
            shown += chunk
    os.close(leader)
    assert process.returncode == 0
    text = shown.decode()
    assert text.count("\n") == 1  # what was drawn last stays
    drawn = [line.split(" |")[0] for line in text.split("\r") if line.strip()]
    stages = list(dict.fromkeys(drawn))
    assert stages == ["reading the views", "looking for clusters", "refining memberships", "fitted"]


def read_terminal(leader):
    """What a terminal shows next; nothing once the program that writes to it has ended."""
    try:
        return os.read(leader, 4096)
    except OSError:
        return b""


def test_a_model_that_is_verbose_is_the_same_model(capsys):
    data = np.random.default_rng(0).normal(size=(2, 20, 2))
    fits = [
        LatentSimplexPosition.paper(2, 2, n_init=2, max_iter=5, random_state=0, verbose=verbose).fit(data)
        for verbose in (True, False)
    ]
    assert "start 2 of 2 ended" in capsys.readouterr().err
    np.testing.assert_array_equal(fits[0].loss_curve_, fits[1].loss_curve_)
