"""What a fit found as tables, and as frames of pandas and polars."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from latentsimplex import LatentSimplexPosition, load
from latentsimplex.base.libraries import make_frame
from latentsimplex.base.table import Table
from latentsimplex.inputs import with_samples
from latentsimplex.inputs.views import as_views
from latentsimplex.results.tables import labels_table, memberships_table, view_labels_table, views_table
from made_model import made_model

GENES = ["g1", "g2", "g3", "g4"]
CELLS = ["c1", "c2", "c3", "c4", "c5", "c6"]


@pytest.fixture
def counts():
    return np.random.default_rng(0).poisson(2.0, (6, 4)).astype(float)


@pytest.fixture
def model():
    """Two patterns of two and of three clusters; the third view has one cluster and is left out."""
    first = np.array([[0.9, 0.1], [1.0, 0.0], [0.75, 0.25], [0.0, 1.0], [0.25, 0.75], [0.0, 1.0]])
    second = np.eye(3)[[0, 0, 1, 1, 2, 2]]
    return made_model(
        [first, second, np.ones((6, 1))],
        [0, 0, 1, 2],
        view_names=["va", "vb", "vc", "vd"],
        sample_names=CELLS,
    )


@pytest.fixture(params=["pandas", "polars"])
def backend(request):
    return pytest.importorskip(request.param).__name__


def columns_of(frame):
    return {name: frame[name].to_list() for name in frame.columns}


def test_frames_hold_what_the_model_holds(model, backend):
    labels, views = model.labels_frame(backend), model.views_frame(backend)
    assert type(labels).__module__.startswith(backend)
    assert columns_of(labels) == {
        "sample": CELLS,
        "consensus": model.labels_.tolist(),
        **{f"pattern{l}": model.pattern_labels_[l].tolist() for l in range(3)},
    }
    assert columns_of(views) == {
        "view": ["va", "vb", "vc", "vd"],
        "pattern": [0, 0, 1, 2],
        "responsibility": [0.1 / 3 + 0.9] * 4,
        "consensus_weight": [1.0, 1.0, 1.0, 0.0],
        "excluded": [False, False, False, True],
    }
    memberships = columns_of(model.memberships_frame(1, backend))
    assert memberships == {
        "sample": CELLS,
        **{f"cluster{k}": model.memberships_[1][:, k].tolist() for k in range(3)},
    }


def test_text_in_polars_is_text(model):
    polars = pytest.importorskip("polars")
    assert model.labels_frame("polars").schema["sample"] == polars.String


@pytest.mark.parametrize("table", [labels_table, view_labels_table, memberships_table])
def test_samples_without_names_are_numbered(table, model):
    nameless = replace(model.results_, sample_names=None)
    assert table(nameless)["sample"].tolist() == list(range(6))
    assert table(model.results_)["sample"].tolist() == CELLS


def test_a_polars_frame_fits_and_comes_out_where_pandas_is_not_installed(model, monkeypatch):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1.0, 2.0, None], "b": [3, 4, 5]})
    with pytest.raises(ValueError, match="contains NaN: 1 of its 6"):
        as_views(frame)
    views = as_views(frame.fill_null(0.0), "columns")
    assert (views.names, views.sample_names) == (["a", "b"], None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert isinstance(model.labels_frame(), polars.DataFrame)


def frame_of(backend, values, columns):
    library = pytest.importorskip(backend)
    return library.DataFrame(dict(zip(columns, np.asarray(values, dtype=float).T, strict=True)))


@pytest.mark.parametrize("form", ["one", "list", "dict"])
def test_frames_come_from_the_library_that_the_data_came_from(backend, form, counts):
    frame = frame_of(backend, counts, GENES)
    data = {"one": frame, "list": [counts, frame], "dict": {"a": frame, "b": counts}}[form]
    model = LatentSimplexPosition.paper(2, 1, n_init=1, max_iter=2, random_state=0).fit(data)
    for found in (model.labels_frame(), model.memberships_frame(), model.views_frame()):
        assert type(found).__module__.startswith(backend)
    other = {"pandas": "polars", "polars": "pandas"}[backend]
    assert type(model.labels_frame(other)).__module__.startswith(other)
    model.fit(counts)  # the last fit counts
    assert type(model.labels_frame()).__module__.startswith("pandas")


def test_names_of_columns_and_rows_are_kept(backend, counts):
    frame = frame_of(backend, counts, GENES)
    if backend == "pandas":
        frame.index = CELLS
    else:
        frame = with_samples(frame.with_columns(pytest.importorskip("polars").Series("cell", CELLS)), "cell")
    paper = LatentSimplexPosition.paper(2, 2, views="columns", n_init=1, max_iter=2, random_state=0)
    model = paper.fit(frame)
    assert columns_of(model.labels_frame(backend))["sample"] == CELLS
    assert columns_of(model.memberships_frame(backend=backend))["sample"] == CELLS
    assert columns_of(model.views_frame(backend))["view"] == GENES
    assert model.feature_names_in_.tolist() == GENES


ONLY_POLARS = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    def find_spec(name, path=None, target=None):
        installed = name.split(".")[0] != "pandas"
        return PathFinder.find_spec(name, path, target) if installed else None

sys.meta_path = [Without if finder is PathFinder else finder for finder in sys.meta_path]
import polars
from pathlib import Path
from latentsimplex import LatentSimplexPosition, load
from latentsimplex.files.data_files import read_data
from latentsimplex.inputs.named_table import with_samples
frame = polars.DataFrame({"who": list("abcdef"), "x": [0.0, 0.1, 0.2, 5.0, 5.1, 5.2], "y": [1, 2, 1, 9, 8, 9]})
frame.write_parquet("data.parquet")
for data in (frame.drop("who"), with_samples(frame, "who"), read_data([Path("data.parquet")]).data):
    model = LatentSimplexPosition.paper(2, 2, n_init=1, max_iter=2, random_state=0).fit(data)
    for found in (model.labels_frame(), model.memberships_frame(), model.views_frame()):
        assert isinstance(found, polars.DataFrame), found
print(*model.labels_frame()["sample"], "pandas" in sys.modules)
"""


def test_a_user_of_polars_never_needs_pandas(tmp_path):
    pytest.importorskip("polars")
    done = subprocess.run(
        [sys.executable, "-c", ONLY_POLARS], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (done.stdout, done.returncode) == ("a b c d e f False\n", 0), done.stderr


def test_views_that_share_a_name_have_columns_of_their_own(model):
    names = np.array(["va", "sample", "va", "va.1"], dtype=object)
    table = view_labels_table(replace(model.results_, view_names=names))
    assert list(table.columns) == ["sample", "va", "sample.1", "va.1", "va.1.1"]
    for v, column in enumerate(["va", "sample.1", "va.1", "va.1.1"]):
        assert table[column].tolist() == model.view_labels_[v].tolist()


def test_frames_say_what_is_missing(model, monkeypatch):
    with pytest.raises(ValueError, match="backend='arrow' is unknown"):
        model.labels_frame("arrow")
    with pytest.raises(ValueError, match="pattern=3 is unknown"):
        model.memberships_frame(3)
    for library in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=r"needs polars .*: pip install polars"):
        make_frame(Table({}), "polars")
    with pytest.raises(ImportError, match="needs pandas or polars, and neither is installed"):
        make_frame(Table({}))


@pytest.mark.parametrize("frame", ["labels_frame", "memberships_frame", "views_frame"])
def test_a_model_that_is_not_fitted_has_no_frames(frame):
    with pytest.raises(ValueError, match="not fitted"):
        getattr(LatentSimplexPosition(), frame)()


def test_views_table_takes_the_responsibility_of_the_own_pattern(model):
    found = replace(model.results_, view_responsibilities=np.arange(12.0).reshape(4, 3))
    assert views_table(found)["responsibility"].tolist() == [0.0, 3.0, 7.0, 11.0]


def test_memberships_are_those_of_the_heaviest_pattern_unless_another_is_asked_for(model):
    found = model.results_
    for table, W in (
        (memberships_table(found), found.memberships[0]),
        (memberships_table(found, 1), found.memberships[1]),
    ):
        assert list(table.columns) == ["sample", *(f"cluster{k}" for k in range(W.shape[1]))]
        np.testing.assert_array_equal(np.column_stack(list(table.columns.values())[1:]).astype(float), W)


def test_a_model_from_a_file_has_frames_of_the_library_that_is_installed(counts, tmp_path):
    """A file does not say which library the data came from."""
    frame = frame_of("polars", counts, GENES)
    model = LatentSimplexPosition.paper(2, 1, n_init=1, max_iter=2, random_state=0).fit(frame)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert (model.results_.frame_library, again.results_.frame_library) == ("polars", None)
    assert type(again.labels_frame()).__module__.startswith("pandas")
    assert columns_of(again.labels_frame()) == columns_of(model.labels_frame())
