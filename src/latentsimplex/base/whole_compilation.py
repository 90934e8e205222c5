"""Compilation of a loop as a whole, in less time: what it calls is translated and no more, and optimised within it.

Numba by itself makes machine code of every loop and function of its own that loops call, and LLVM optimises that again
within each of them. Here a loop that compiled code calls is translated and no more; one that Python calls is optimised
once, with all that it calls. This takes Numba's own classes apart, so it is done with the versions that it was tried
with (:mod:`latentsimplex.base.compiled`).
"""

from __future__ import annotations

import gc
from typing import Any

from llvmlite.binding import Linkage
from numba import njit
from numba._dynfunc import make_function
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler as NumbasCompiler
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.environment import lookup_environment
from numba.core.typed_passes import NativeLowering


class TranslatedCode(JITCodeLibrary):
    """Code of a loop that stays as it was translated, for those that call it to link in.

    Linked in one after the other, what several callers share would be copied into each of them. Only functions that
    Numba compiles in its own way, which link what they call and no more, are given the loop with all that it calls.
    """

    _shared_module: Any
    _with_called: Any = None

    def add_llvm_module(self, module: Any) -> None:
        """Take the module of the loop; of several copies of a function, one is linked in."""
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration and function.linkage in (Linkage.external, Linkage.linkonce_odr):
                function.linkage = Linkage.weak_odr
        self._final_module = self._shared_module = module

    def finalize(self) -> None:
        """Link nothing in and make no machine code."""
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Return the module that functions which Numba compiles in its own way link in."""
        if self._with_called is None:
            self._with_called = self._shared_module.clone()
            link_called(self._with_called, self)
        return self._with_called


class WholeCode(JITCodeLibrary):
    """Code of a loop that is optimised once, when all that it calls has been linked in."""

    def _optimize_functions(self, module: Any) -> None:
        """Leave functions as they are until the module is whole."""
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Link in what is called, and what that calls, each once; optimise it and make machine code."""
        link_called(self._final_module, self)
        self._linking_libraries = []
        super().finalize()

    def _optimize_final_module(self) -> None:
        """Optimise the whole, in which functions of others stay only where they are called.

        Numba goes over a module cheaply first, to bring together what counts references. Here nothing is counted in the
        loops that take time, and what they do is as quick, or quicker, without.
        """
        for function in self._final_module.functions:
            if function.linkage == Linkage.weak_odr:
                function.linkage = Linkage.linkonce_odr
        made = self._codegen._module_pass_manager()
        passes, *builder = made if isinstance(made, tuple) else (made,)  # alone in the first versions
        passes.run(self._final_module, *builder)


def link_called(module: Any, library: JITCodeLibrary) -> None:
    """Link what a library calls, and what that calls, into a module, each once."""
    called = dict.fromkeys(library._linking_libraries)
    waiting = list(called)
    for each in waiting:  # which grow
        if isinstance(each, TranslatedCode):
            further = [one for one in dict.fromkeys(each._linking_libraries) if one not in called]
            called |= dict.fromkeys(further)
            waiting += further
            module.link_in(each._shared_module, preserve=True)
        else:
            module.link_in(each._get_module_for_linking(), preserve=True)


@register_pass(mutates_CFG=True, analysis_only=False)
class Translation(NativeLowering):
    """The last pass over a loop that is called by others."""

    _name = "latentsimplex_translation"

    def run_pass(self, state: Any) -> bool:
        """Translate the loop, without entries from C or Python, and tell Numba where callers find it."""
        state.library = TranslatedCode(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
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
