"""The ``latentsimplex`` command, also ``python -m latentsimplex``: it answers signals before slow imports."""

import os
import signal
from types import FrameType

from latentsimplex.base.interruption import INTERRUPTED, handled_interrupts


def main() -> None:
    """Run the command; Ctrl-C and SIGTERM end it in one line, also while it is imported."""
    with handled_interrupts(_leave):
        from latentsimplex.cli import main

        with handled_interrupts(signal.default_int_handler):
            main()


def _leave(number: int, frame: FrameType | None) -> None:
    """End the process at once: exceptions that are raised while other libraries are imported may get lost in them."""
    os.write(2, b"\nInterrupted while importing the package: nothing was written.\n")
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
