"""How loops that other loops call are compiled: into text for LLVM, which optimises it once, within the caller.

Numba makes machine code of every loop that it compiles, also of one that is only called by others, and LLVM optimises
that loop again within each of them. Half of what compilation took was machine code that nobody ran. Here a loop that is
called by compiled code is translated and no more; one that Python calls is optimised as a whole, with all that it calls.
"""

from __future__ import annotations

from typing import Any

from numba import njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


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
        name = object()  # stands for the machine code that there is none of
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
        return bool(super().run_pass(state))


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


Translator, WholeCompiler = end_with(Translation), end_with(WholeCompilation)


def compile_both_ways(function: Any, **options: Any) -> Any:
    """Return the compiled form of a function, which callers that are compiled know in its translated form."""
    loop = njit(pipeline_class=WholeCompiler, **options)(function)
    called = njit(pipeline_class=Translator, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(function)
    called._insert = skip  # what Python calls has machine code
    loop.get_call_template, loop.get_overload = called.get_call_template, called.get_overload
    return loop


def skip(*_: Any) -> None:
    """Do nothing."""
