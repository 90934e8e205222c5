"""How loops are compiled: by Numba, without Python's lock, and cached beside the file that they are in.

Modules of compiled loops live in the room whose stage they serve, with an underscore in front of their name unless
other rooms build on them. Importing one imports Numba, which takes half a second, so the functions that call a loop
import it, and nothing else does.

The first assignment of an array to a slice takes one to two seconds to compile, most of it for what to say if shapes
differ: loops copy numbers one by one, which is as quick once it is compiled.

Numba by itself makes machine code of every loop and function of its own that loops call, and LLVM optimises that again
within each of them. Here a loop that compiled code calls is translated and no more; one that Python calls is optimised
once, as a whole, with all that it calls. This takes Numba's own classes apart, so it is done with the versions that it
was tried with; with others loops are compiled in Numba's way.

Numba compiles a cached loop anew when its own file has changed, not when that of a loop which it calls has:
``make fresh-loops`` after a change to a loop that others call. Where there is no folder for its cache, or no room in
it, loops are compiled for this process alone.
"""

from __future__ import annotations

import gc
import logging
import warnings
from collections.abc import Callable
from contextlib import suppress
from pickle import UnpicklingError
from typing import Any

from numba import njit, version_info
from numba._dynfunc import make_function
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler as NumbasCompiler
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.environment import lookup_environment
from numba.core.typed_passes import NativeLowering

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


class TranslatedCode(JITCodeLibrary):
    """Code of a loop that stays as it was translated, for callers to link in."""

    def _optimize_functions(self, module: Any) -> None:
        """Leave functions as they are."""
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Leave the module as it is."""

    def _finalize_final_module(self) -> None:
        """Make no machine code."""
        self._finalized = True


class WholeCode(JITCodeLibrary):
    """Code of a loop that is optimised once, when all that it calls has been linked in."""

    def _optimize_functions(self, module: Any) -> None:
        """Leave functions as they are until the module is whole."""
        module.data_layout = self._codegen._data_layout


@register_pass(mutates_CFG=True, analysis_only=False)
class Translation(NativeLowering):
    """The last pass over a loop that is called by others."""

    _name = "latentsimplex_translation"

    def run_pass(self, state: Any) -> bool:
        """Translate the loop, and tell Numba where callers find it."""
        state.library = TranslatedCode(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        module, env = state["cr"].fndesc.lookup_module(), state["cr"].env
        name = make_function(
            module, state.func_id.func_name, "machine code that there is none of", 0, env, ()
        )
        state["cr"] = state["cr"]._replace(cfunc=name)
        state.targetctx.insert_user_function(name, state["cr"].fndesc, [state.library])
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class WholeCompilation(NativeLowering):
    """The last pass over a loop that Python calls."""

    _name = "latentsimplex_whole_compilation"

    def run_pass(self, state: Any) -> bool:
        """Translate the loop, optimise it with all that it calls, and make machine code."""
        state.library = WholeCode(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        state.flags.no_cpython_wrapper = False  # see compile_both_ways
        super().run_pass(state)
        for place in state.library._final_module.global_variables:
            env = lookup_environment(place.name)
            if env is not None:  # what errors of translated functions are worded with
                state.library.codegen.set_env(place.name, env)
        return True


def end_with(last: type[NativeLowering]) -> type[CompilerBase]:
    """Return Numba's compiler with another last pass."""

    class Compiler(CompilerBase):
        def define_pipelines(self) -> list[Any]:
            passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
            passes.passes = [(last if kind is NativeLowering else kind, name) for kind, name in passes.passes]
            passes._finalized = False
            passes.finalize()
            return [passes]

    return Compiler


Translator, Whole = end_with(Translation), end_with(WholeCompilation)


class WholeCompiler(Whole):  # type: ignore[misc, valid-type]
    """The compiler of a loop that Python calls: what it needs of Numba's own functions is translated and no more."""

    def compile_extra(self, function: Any) -> Any:
        """Return the compiled loop; Numba lets one thread compile at a time."""
        theirs: Any = NumbasCompiler
        kept, collects = theirs.define_pipelines, gc.isenabled()
        theirs.define_pipelines = Translator.define_pipelines
        gc.disable()  # all that is made is kept until the loop is compiled
        try:
            return super().compile_extra(function)
        finally:
            theirs.define_pipelines = kept
            if collects:
                gc.enable()


def compile_both_ways(function: Any, **options: Any) -> Any:
    """Return the compiled form of a function, which callers that are compiled know in its translated form.

    Both have the same options until the last pass, because Numba translates its own functions anew for others.
    """
    plain: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **options}
    loop: Any = njit(pipeline_class=WholeCompiler, **plain)(function)
    called: Any = njit(pipeline_class=Translator, **plain)(function)
    called._insert = skip  # what Python calls has machine code
    loop.get_call_template, loop.get_overload = called.get_call_template, called.get_overload
    return loop


def skip(*_: Any) -> None:
    """Do nothing."""


def make_compiler(**options: Any) -> Callable[[Any], Any]:
    """Return a decorator that compiles a function and, where there is a folder for that, keeps what was compiled."""

    def compile_loop(function: Callable[..., Any]) -> Any:
        is_tried = TRIED[0] <= tuple(version_info.short) <= TRIED[1]
        loop = compile_both_ways(function, **options) if is_tried else njit(**options)(function)
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
        warnings.warn(
            f"Compiled loops cannot be kept ({why}), so that each process takes {TAKES} to compile them: set the "
            "environment variable NUMBA_CACHE_DIR to a folder that can be written and has room.",
            stacklevel=2,
        )


compiled = make_compiler(**COMPILED)
compiled_exactly = make_compiler(nogil=True)
"""Sums are taken in the order in which they are written."""
