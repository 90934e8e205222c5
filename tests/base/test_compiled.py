"""Compiled loops: kept where they can be, compiled for the process where they cannot, and said so once."""

import gc
import importlib.util
import itertools
import logging
import resource
import sys

import numba
import numpy as np
import pytest

from latentsimplex.base import compiled

SOURCE = """
from latentsimplex.base.compiled import compiled

@compiled
def double(x):
    return 2 * x
"""
numbers = itertools.count()


def import_loops(folder):
    """Return a module with a loop of its own, from a file in a folder."""
    path = folder / f"loops_{next(numbers)}.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for loops in a process that has said nothing yet, and whose user has no folder that can be written."""
    monkeypatch.setattr(compiled, "told", set())
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    for name in ("HOME", "XDG_CACHE_HOME", "IPYTHONDIR"):
        monkeypatch.setenv(name, "/dev/null")
    return tmp_path


def test_the_first_compilation_announces_itself_and_the_next_process_finds_the_loop(folder, caplog):
    module = import_loops(folder)
    assert [module.double(1), module.double(1.5)] == [2, 3.0]
    said = [(record.levelno, record.getMessage()) for record in caplog.records]
    assert said == [
        (
            logging.WARNING,
            "latentsimplex is compiling its loops, which takes up to a minute the first time",
        )
    ]
    compiled.told.clear()
    caplog.clear()
    again = compiled.make_compiler(**compiled.COMPILED)(module.double.py_func)
    assert again(1) == 2
    assert again.stats.cache_hits
    assert not caplog.records


def test_loops_compile_where_no_folder_can_be_written(folder):
    (folder / "__pycache__").touch()  # a file, so that not even root can make it a folder
    with pytest.warns(UserWarning, match=r"neither the folder .* can be written.* NUMBA_CACHE_DIR") as caught:
        assert [import_loops(folder).double(2), import_loops(folder).double(3)] == [4, 6]
    assert len(caught) == 1


def test_loops_compile_where_a_disk_is_full(folder):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    module = import_loops(folder)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))  # no file takes a byte
        with pytest.warns(UserWarning, match=r"too large in .*__pycache__.* NUMBA_CACHE_DIR") as caught:
            results = module.double(2), module.double(2.5)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert results == (4, 5.0)
    assert len(caught) == 1


@pytest.mark.filterwarnings("error")
def test_a_spoilt_cache_is_compiled_over(folder):
    loop = import_loops(folder).double
    assert loop(2) == 4
    for file in (folder / "__pycache__").glob("*.nb[ic]"):
        file.write_bytes(b"")
    again = compiled.make_compiler(**compiled.COMPILED)(loop.py_func)
    assert again(2) == 4


def test_a_loop_that_another_calls_is_translated_and_no_more(folder):
    double = import_loops(folder).double

    @compiled.compiled
    def quadruple(x):
        return double(double(x))

    assert quadruple(3) == 12
    assert not double.signatures  # which lists what machine code was made of
    assert double(3) == 6
    assert len(double.signatures) == 1


def test_functions_of_numba_that_a_loop_calls_are_translated_and_serve_others():
    @compiled.compiled
    def add_ones(x, n):
        return x + np.ones((n, n)).sum()

    @numba.njit
    def add_ones_of_theirs(x, n):
        return x + np.ones((n, n)).sum()

    assert add_ones(1.0, 3) == 10.0
    assert add_ones_of_theirs(1.0, 3) == 10.0
    assert gc.isenabled()


def test_functions_of_numba_that_several_loops_share_serve_others():
    """What a loop of ours has translated may call what another one has: others need both."""

    @compiled.compiled
    def add_filled(x, n):
        return x + np.full((n, n), 2.0).sum() + np.cumsum(np.ones(n))[-1]

    @compiled.compiled
    def add_copies(x, n):
        return x + np.ones((n, n)).copy().sum() + np.zeros_like(np.empty((n, n, n))).sum()

    @numba.njit
    def add_both(x, n):
        some = np.cumsum(np.ones((n, n)).copy()[0])[-1] + np.full((n, n), 2.0).sum()
        return x + some + np.zeros_like(np.empty((n, n, n))).sum() + np.linspace(0.0, 1.0, n)[-1]

    assert add_filled(1.0, 3) == 22.0
    assert add_copies(1.0, 3) == 10.0
    assert add_both(1.0, 3) == 23.0


def test_errors_of_numbas_functions_are_raised_from_loops():
    @compiled.compiled
    def assign(x, y):
        x[1:] = y

    with pytest.raises(ValueError, match="cannot assign slice"):
        assign(np.zeros(3), np.zeros(5))


def test_other_versions_of_numba_compile_in_their_own_way(monkeypatch):
    monkeypatch.setattr(compiled, "TRIED", ((0, 1), (0, 2)))
    monkeypatch.setitem(sys.modules, "latentsimplex.base.whole_compilation", None)  # it cannot be imported
    loop = compiled.make_compiler(**compiled.COMPILED)(lambda x: 2.0 * x)
    assert loop(3.0) == 6.0
