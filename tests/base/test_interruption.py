"""Ctrl-C once ends a fit early, twice interrupts it."""

import os
import signal

import pytest

from latentsimplex.base.interruption import interrupted_while, kept_on_interrupt, stop_of_fits


def press():
    os.kill(os.getpid(), signal.SIGINT)


def test_without_ctrl_c_nothing_stops():
    assert stop_of_fits.get() is None
    with kept_on_interrupt() as pressed:
        assert not pressed.is_set()
        assert not stop_of_fits.get()()


def test_the_first_ctrl_c_asks_fits_to_stop_and_tells():
    told = []
    with kept_on_interrupt(lambda: told.append("once")) as pressed:
        stop = stop_of_fits.get()
        press()
        assert pressed.is_set()
        assert stop()
    assert told == ["once"]


def test_the_second_ctrl_c_interrupts():
    with kept_on_interrupt() as pressed:
        press()
        assert pressed.is_set()
        with pytest.raises(KeyboardInterrupt):
            press()


def test_afterwards_everything_is_as_it_was():
    before = signal.getsignal(signal.SIGINT)
    with kept_on_interrupt():
        assert signal.getsignal(signal.SIGINT) is not before
    with pytest.raises(ZeroDivisionError), kept_on_interrupt():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is before
    assert stop_of_fits.get() is None


@pytest.mark.skipif(os.name == "nt", reason="there is no such signal on Windows")
def test_sigterm_is_like_ctrl_c():
    before = signal.getsignal(signal.SIGTERM)
    with kept_on_interrupt() as pressed:
        os.kill(os.getpid(), signal.SIGTERM)
        assert pressed.is_set()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.fixture
def heard():
    """Ctrl-C as in a terminal: a shell has what it runs in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_an_interruption_says_what_it_interrupted():
    with (
        pytest.raises(KeyboardInterrupt, match="reading"),
        interrupted_while("working"),
        interrupted_while("reading"),
    ):
        press()
