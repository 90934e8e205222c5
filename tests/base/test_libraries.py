"""Libraries that need not be installed: how to get them, and frames of those for frames."""

import sys

import numpy as np
import pytest

from latentsimplex.base.libraries import import_optional, make_frame
from latentsimplex.base.table import Table

TABLE = Table({"name": np.array(["a", "b"], dtype=object), "value": np.array([0.5, 2.0])})


def test_a_library_that_is_there():
    assert import_optional("json", "Reading") is sys.modules["json"]


@pytest.mark.parametrize(
    ("extra", "wanted"),
    [(None, "no_such_library"), ("gpu", '"latentsimplex\\[gpu\\]"')],
    ids=["alone", "extra"],
)
def test_a_library_that_is_missing_is_named_with_how_to_get_it(extra, wanted):
    with pytest.raises(
        ImportError, match=rf"^Drawing needs no_such_library \(No module .*\): pip install {wanted}\.$"
    ):
        import_optional("no_such_library", "Drawing", extra)


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_a_table_as_a_frame(backend):
    library = pytest.importorskip(backend)
    found = make_frame(TABLE, backend)
    assert isinstance(found, library.DataFrame)
    assert list(found.columns) == ["name", "value"]
    assert list(found["name"]) == ["a", "b"]
    assert list(found["value"]) == [0.5, 2.0]


def test_text_in_a_frame_of_polars_is_text():
    polars = pytest.importorskip("polars")
    assert make_frame(TABLE, "polars")["name"].dtype == polars.String


def test_without_a_word_a_frame_is_of_the_first_library_there_is(monkeypatch):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    assert isinstance(make_frame(TABLE), pandas.DataFrame)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert isinstance(make_frame(TABLE), polars.DataFrame)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="A frame needs pandas or polars, and neither is installed"):
        make_frame(TABLE)


def test_a_frame_of_a_library_that_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(
        ImportError, match=r"A frame with backend='polars' needs polars .*: pip install polars\."
    ):
        make_frame(TABLE, "polars")


@pytest.mark.parametrize("backend", ["numpy", "", "Pandas"])
def test_a_library_that_has_no_frames(backend):
    with pytest.raises(
        ValueError, match=f'backend={backend!r} is unknown: choose "pandas", "polars" or None'
    ):
        make_frame(TABLE, backend)
