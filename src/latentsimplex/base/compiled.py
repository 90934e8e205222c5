"""How loops are compiled: by Numba, without Python's lock, and cached beside the file that they are in.

Modules of compiled loops live in the room whose stage they serve, with an underscore in front of their name unless
other rooms build on them. Importing one imports Numba, which takes half a second, so the functions that call a loop
import it, and nothing else does.

The first assignment of an array to a slice takes one to two seconds to compile, most of it for what to say if shapes
differ: loops copy numbers one by one, which is as quick once it is compiled. Views of another type are made before a
loop begins, a literal number as an argument is a type of its own, and of two ways of which a fit takes one, the other
is left out if what tells them apart is None (:func:`latentsimplex.model._pair_loops.add_gradient`).

Numba by itself makes machine code of every function that loops call, and optimises it again within each of them. With
versions that this was tried with, a loop is optimised once, as a whole
(:mod:`latentsimplex.base.whole_compilation`); with others loops are compiled in Numba's way.

Numba compiles a cached loop anew when its own file has changed, not when that of a loop which it calls has:
``make fresh-loops`` after a change to a loop that others call. Where there is no folder for its cache, or no room in
it, loops are compiled for this process alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from pickle import UnpicklingError
from typing import Any

from numba import njit, version_info
from numba.core.caching import FunctionCache

from latentsimplex.base.wording import warn_user

logger = logging.getLogger("latentsimplex")

COMPILED: dict[str, Any] = {
    "nogil": True,
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
    "error_model": "numpy",
}
"""Sums may be reordered, so that a loop works on several numbers at once; nan and infinity keep their meaning."""
TRIED = (0, 61), (0, 68)
"""The first and the last version of Numba with which loops that others call are left to their callers."""
STRIP = 1024
"""Numbers that a loop deals with at a time: what a strip of them needs stays in the nearest cache."""


TAKES = "up to a minute"
told: set[str] = set()
"""What has been said in this process, each thing once."""


class LoopCache(FunctionCache):
    """Numba's cache of a loop that tells of compilation, and whose files may be unreadable or have no room."""

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the compiled loop, or None where it has to be compiled."""
        try:
            found = super().load_overload(signature, target)
        except (OSError, EOFError, UnpicklingError):
            found = None
            with suppress(OSError):
                self.flush()
        if found is None:
            announce_compilation()
        return found

    def save_overload(self, signature: Any, loop: Any) -> None:
        """Keep a compiled loop, if that is possible."""
        try:
            super().save_overload(signature, loop)
        except OSError as error:
            warn_of_no_cache(f"{error.strerror or error} in {self.cache_path}")


def compile_whole(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return a function that is compiled as a whole; what this takes of Numba is imported here, with these versions."""
    from latentsimplex.base.whole_compilation import compile_both_ways

    return compile_both_ways(function, **options)


def make_compiler(**options: Any) -> Callable[[Any], Any]:
    """Return a decorator that compiles a function and, where there is a folder for that, keeps what was compiled."""

    def compile_loop(function: Callable[..., Any]) -> Any:
        is_tried = TRIED[0] <= tuple(version_info.short) <= TRIED[1]
        loop = compile_whole(function, options) if is_tried else njit(**options)(function)
        try:
            loop._cache = LoopCache(function)
        except RuntimeError:  # Numba knows of no folder that can be written
            warn_of_no_cache("neither the folder of the package nor that of the user can be written")
            announce_compilation()
        return loop

    return compile_loop


def announce_compilation() -> None:
    """Log, once, what the time that passes now is for: a warning is what people see who have set up no logging."""
    if "compilation" not in told:
        told.add("compilation")
        logger.warning("latentsimplex is compiling its loops, which takes %s the first time", TAKES)


def warn_of_no_cache(why: str) -> None:
    """Warn, once, that loops have to be compiled in each process."""
    if "no cache" not in told:
        told.add("no cache")
        warn_user(
            f"Compiled loops cannot be kept ({why}), so that each process takes {TAKES} to compile them: set the "
            "environment variable NUMBA_CACHE_DIR to a folder that can be written and has room.",
        )


compiled = make_compiler(**COMPILED)
compiled_exactly = make_compiler(nogil=True)
"""Sums are taken in the order in which they are written."""
