"""Fits that Ctrl-C ends early, with the best that they have found so far."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event
from types import FrameType

stop_of_fits: ContextVar[Callable[[], bool] | None] = ContextVar("stop_of_fits", default=None)
"""What a fit asks, again and again, whether to end early; None where nobody would end it."""


@contextmanager
def kept_on_interrupt(tell: Callable[[], object] = lambda: None) -> Iterator[Event]:
    """Let Ctrl-C end a fit early, and a second one interrupt it; the event says whether it was pressed.

    As all that handles signals, it is for the main thread. ``tell`` is called at the first Ctrl-C, wherever the
    program is at that moment, so that it may not take locks or write to Python's own streams.
    """
    pressed = Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()
        tell()

    before = signal.signal(signal.SIGINT, handle)
    token = stop_of_fits.set(pressed.is_set)
    try:
        yield pressed
    finally:
        stop_of_fits.reset(token)
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)
