"""Commands that Ctrl-C or SIGTERM interrupts, and fits that they end early with the best found so far."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from threading import Event
from types import FrameType

INTERRUPTED = 130
"""The exit status of a program that Ctrl-C ended; SIGTERM ends it in the same way."""
stop_of_fits: ContextVar[Callable[[], bool] | None] = ContextVar("stop_of_fits", default=None)
"""What a fit asks, again and again, whether to end early; None where nobody would end it."""


@contextmanager
def handled_interrupts(handle: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Let ``handle`` answer Ctrl-C and SIGTERM; as all that handles signals, it is for the main thread."""
    with ExitStack() as afterwards:
        for number in (signal.SIGINT, signal.SIGTERM):
            before = signal.signal(number, handle)
            afterwards.callback(signal.signal, number, before or signal.SIG_DFL)
        yield


@contextmanager
def interrupted_while(doing: str) -> Iterator[None]:
    """Let a KeyboardInterrupt say what it interrupted, the innermost where such blocks are nested."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(*(error.args or [doing])) from None


@contextmanager
def kept_on_interrupt(tell: Callable[[], object] = lambda: None) -> Iterator[Event]:
    """Let Ctrl-C or SIGTERM end a fit early, and a second one interrupt it; the event says whether one came.

    ``tell`` is called at the first, wherever the program is at that moment, so that it may not take locks or write
    to Python's own streams.
    """
    pressed = Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()
        tell()

    token = stop_of_fits.set(pressed.is_set)
    try:
        with handled_interrupts(handle):
            yield pressed
    finally:
        stop_of_fits.reset(token)
