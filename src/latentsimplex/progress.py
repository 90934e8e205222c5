"""Progress of a fit: a log record for each iteration and, when the user asks for it, a bar or lines of text.

A terminal or a notebook shows one bar for the whole fit. Elsewhere, as in the log of a script, a bar would be a heap
of control characters: there a line says what begins or has ended, and now and then where a long stage is.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from shutil import get_terminal_size
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.base.wording import count_noun
from latentsimplex.model.problem import Expectation, Listener

logger = logging.getLogger("latentsimplex")

REDRAWN, TICK = 0.1, 1.0
"""Seconds between two drawings of a bar while EM runs, and while nothing is heard."""
BETWEEN_LINES = 30.0
"""Seconds of silence after which a line says where a long stage is."""
LEAST_LOOKED = 0.05
"""The share of the looks for clusters that tells how long the others take."""
READING = "reading the views"
"""What a fit begins with."""


class Step(NamedTuple):
    """The loss and the live patterns after an E step."""

    loss: float
    n_patterns: int

    def __str__(self) -> str:
        loss = f"{self.loss:,.0f}" if abs(self.loss) >= 1e4 else f"{self.loss:.5g}"
        return f"loss {loss}, {count_noun(self.n_patterns, 'pattern')}"


@dataclass
class Course:
    """The progress of a fit: its stage, the running starts with the last step of each, and the time.

    >>> course = Course(n_init=3, now=iter([0.0, 10.0, 40.0, 45.0]).__next__)  # reading takes 10 s, a start 30 s
    >>> course.begin_start(0)
    >>> course.end_start(0)
    >>> course.begin_start(1)
    >>> course.headline, course.clock
    ('start 2 of 3', '0:45, ~0:55 left to search')
    """

    n_init: int
    now: Callable[[], float] = monotonic
    stage: str = READING
    searching: bool = False
    n_ended: int = 0
    running: dict[int, Step | None] = field(default_factory=dict)
    best: Step | None = None
    looked: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        self.began = self.search_began = self.last_end = self.now()
        self.looks_began = self.last_look = self.began

    def begin_stage(self, name: str) -> None:
        """Begin a stage before or after the search; after it, all that was to start has ended."""
        if self.searching:
            self.searching, self.n_ended = False, self.n_init
        self.stage, self.running, self.looked = name, {}, None

    def look(self, done: int, whole: int) -> None:
        """Have looked at so many samples for clusters, of so many; with none of them the looks begin."""
        self.looked, self.last_look = (done, whole), self.now()
        if not done:
            self.looks_began = self.last_look

    def begin_start(self, start: int) -> None:
        """Begin a start; with the first of them the search begins."""
        if not self.searching:
            self.stage, self.searching, self.search_began = "searching", True, self.now()
        self.running[start] = None

    def end_start(self, start: int) -> Step | None:
        """End a start, and return its last step; None if it was that of another and took none of its own."""
        self.n_ended, self.last_end = self.n_ended + 1, self.now()
        step = self.running.pop(start, None)
        self.best = min((each for each in (step, self.best) if each is not None), default=None)
        return step

    @property
    def headline(self) -> str:
        """What is being done."""
        if not self.searching or not self.running:
            return self.stage
        numbers = ", ".join(str(start + 1) for start in sorted(self.running))
        return f"start{'s' * (len(self.running) > 1)} {numbers} of {self.n_init}"

    @property
    def step(self) -> Step | None:
        """The step with the lowest loss of what runs now; None before there is one."""
        return min((step for step in self.running.values() if step is not None), default=None)

    @property
    def clock(self) -> str:
        """The time that has passed and, by the starts or the looks that have ended, what those to come will take."""
        now = self.now()
        passed = clock_time(now - self.began)
        if self.looked is not None:
            done, whole = self.looked
            if not LEAST_LOOKED * whole <= done < whole:
                return passed
            left = self.looks_began + (self.last_look - self.looks_began) / done * whole - now
            return f"{passed}, ~{clock_time(left)} left to look for clusters" if left >= 1 else passed
        if not (self.searching and self.n_ended):
            return passed
        left = self.search_began + (self.last_end - self.search_began) / self.n_ended * self.n_init - now
        return f"{passed}, ~{clock_time(left)} left to search" if left >= 1 else passed

    @property
    def share(self) -> float:
        """The share of the stages that are over: reading, each start, and what comes after."""
        read = self.searching or self.n_ended
        return (1 + self.n_ended) / (2 + self.n_init) if read else 0.0


def clock_time(seconds: float) -> str:
    """Return a time as a clock shows it.

    >>> clock_time(75.2), clock_time(3601)
    ('1:15', '1:00:01')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class Silence:
    """Shows nothing."""

    def show(self, course: Course, soon: bool = True) -> None:
        """Show where a fit is; what is not wanted ``soon`` may be left for later."""

    def ended(self, course: Course, start: int, step: Step | None) -> None:
        """Show that a start has ended."""

    def close(self, course: Course, fitted: bool) -> None:
        """Show how the fit ended."""


class Bar(Silence):
    """One bar for the whole fit."""

    def __init__(self, bar: Any) -> None:
        self._bar, self._drawn = bar, 0.0

    def show(self, course: Course, soon: bool = True) -> None:
        """Draw the bar; between steps of EM not more often than eyes can follow."""
        now = course.now()
        if soon or now - self._drawn >= REDRAWN:
            self._draw(course, course.headline, course.share, course.step)
            self._drawn = now

    def close(self, course: Course, fitted: bool) -> None:
        """Leave the bar as it is, full if the fit ended well."""
        if fitted:
            self._draw(course, "fitted", 1.0, course.step or course.best)
        self._bar.close()

    def _draw(self, course: Course, headline: str, share: float, step: Step | None) -> None:
        self._bar.n, self._bar.unit = share, _details(step, course)
        self._bar.set_description_str(headline, refresh=True)


class Lines(Silence):
    """Lines of text on standard error, a few for each fit."""

    def __init__(self, course: Course) -> None:
        self._written = course.began

    def show(self, course: Course, soon: bool = True) -> None:
        """Write which stage begins and, after a long silence, where it is; starts are written of when they end."""
        long_ago = course.now() - self._written >= BETWEEN_LINES
        if long_ago or (soon and not course.searching):
            self._write(course, course.headline, course.step)

    def ended(self, course: Course, start: int, step: Step | None) -> None:
        """Write how a start ended that was not that of another."""
        if step is not None:
            self._write(course, f"start {start + 1} of {course.n_init} ended", step)

    def close(self, course: Course, fitted: bool) -> None:
        """Write that the fit ended well."""
        if fitted:
            self._write(course, "fitted", course.step or course.best)

    def _write(self, course: Course, what: str, step: Step | None) -> None:
        sys.stderr.write(f"latentsimplex: {what}: {_details(step, course)}\n")
        sys.stderr.flush()
        self._written = course.now()


def _details(step: Step | None, course: Course) -> str:
    return course.clock if step is None else f"{step}, {course.clock}"


class Reporter(Listener):
    """Hears of the course of a fit, logs it and has it shown."""

    def __init__(self, course: Course, display: Silence) -> None:
        self.course, self.display, self.lock = course, display, Lock()

    def stage(self, name: str) -> None:
        """Show that a stage begins."""
        logger.debug("%s", name)
        with self.lock:
            self.course.begin_stage(name)
            self.display.show(self.course)

    def looked(self, done: int, whole: int) -> None:
        """Show how much of the samples has been looked at for clusters."""
        with self.lock:
            self.course.look(done, whole)
            self.display.show(self.course, soon=False)

    def started(self, start: int) -> None:
        """Show that a start begins."""
        with self.lock:
            self.course.begin_start(start)
            self.display.show(self.course)

    def follow(self, start: int) -> Callable[[int, Expectation], None]:
        """Return what shows the loss and the live patterns of a start; after the search it is that of start 0."""
        return partial(self.step, start)

    def step(self, start: int, iteration: int, expectation: Expectation) -> None:
        """Show the loss and the live patterns after an E step."""
        live = int(np.count_nonzero(np.bincount(expectation.eta.argmax(axis=1))))
        step = Step(expectation.loss, live)
        logger.debug("start %d iteration %d loss %.6g patterns %d", start, iteration, *step)
        with self.lock:
            self.course.running[start] = step
            self.display.show(self.course, soon=False)

    def ended(self, start: int) -> None:
        """Show that a start is over."""
        with self.lock:
            step = self.course.end_start(start)
            self.display.ended(self.course, start, step)

    def tick(self, stop: Event) -> None:
        """Show where the fit is once a second until told to stop."""
        while not stop.wait(TICK):
            with self.lock:
                self.display.show(self.course, soon=False)


@contextmanager
def show_progress(verbose: bool, n_init: int) -> Iterator[Listener]:
    """Yield what hears of the course of a fit and logs it, and show it if ``verbose``."""
    course = Course(n_init)
    if not verbose:
        yield Reporter(course, Silence())
        return
    reporter = Reporter(course, _display(course))
    reporter.display.show(course)
    stop, fitted = Event(), False
    ticking = Thread(target=reporter.tick, args=(stop,), daemon=True)
    ticking.start()
    try:
        yield reporter
        fitted = True
    finally:
        stop.set()
        ticking.join()
        reporter.display.close(course, fitted)


def _display(course: Course) -> Silence:
    """Return a bar where one can be drawn, in a terminal or in a notebook, and otherwise lines."""
    from tqdm.auto import tqdm  # here, since it looks for a notebook when it is imported

    if any(c.__module__ == "tqdm.notebook" for c in tqdm.__mro__):
        return Bar(tqdm(total=1.0, desc=READING, bar_format="{desc} {bar} {unit}", unit=""))
    if not sys.stderr.isatty():
        return Lines(course)
    columns, rows = get_terminal_size()  # of a terminal that says it has none, the usual ones
    shape = {"bar_format": "{desc} |{bar:8}| {unit}", "ncols": columns, "nrows": rows}
    return Bar(tqdm(total=1.0, desc=READING, unit="", file=sys.stderr, **shape))
