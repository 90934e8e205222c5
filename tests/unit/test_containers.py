"""AnnData, MuData, pandas and polars: what goes in is what the views hold, what comes out is what the model holds."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from latentsimplex import LatentSimplexPosition
from latentsimplex.containers import views_of, write_results
from latentsimplex.files import read_data
from latentsimplex.frames import as_frame, labels_table, view_labels_table, views_table, with_samples
from latentsimplex.table import Table
from latentsimplex.views import as_views
from made_model import made_model

GENES = ["g1", "g2", "g3", "g4"]
CELLS = ["c1", "c2", "c3", "c4", "c5", "c6"]
# the formats of files are others' and warn of changes to come
others_may_warn = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture
def counts():
    return np.random.default_rng(0).poisson(2.0, (6, 4)).astype(float)


@pytest.fixture
def cells(counts):
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    return anndata.AnnData(
        sparse.csr_matrix(counts),
        obs=pandas.DataFrame(index=CELLS),
        var=pandas.DataFrame({"pathway": ["a", "b", "a", "b"]}, index=GENES),
        layers={"log": np.log1p(counts)},
        obsm={"pca": counts[:, :2], "umap": pandas.DataFrame(counts[:, 2:], CELLS, ["u", "v"])},
    )


@pytest.fixture
def mixed(cells):
    """Two modalities, the second with its cells in another order."""
    mudata = pytest.importorskip("mudata")
    other = cells[::-1].copy()
    other.var_names = [f"p{j}" for j in range(4)]
    with mudata.set_options(pull_on_update=False):
        return mudata.MuData({"rna": cells, "protein": other})


# In


def test_each_gene_is_a_view(cells, counts):
    views = as_views(views_of(cells))
    assert (views.names, views.sample_names, views.widths) == (GENES, CELLS, [1, 1, 1, 1])
    np.testing.assert_array_equal(np.hstack(list(views)), counts)


def test_genes_can_be_grouped(cells, counts):
    views = as_views(views_of(cells, "pathway"))
    assert (views.names, views.sample_names) == (["a", "b"], CELLS)
    np.testing.assert_array_equal(views[1], counts[:, [1, 3]])


@pytest.mark.parametrize(("layer", "name"), [(None, "X"), ("log", "log")])
def test_all_genes_can_be_one_view(cells, counts, layer, name):
    views = as_views(views_of(cells, "whole", layer))
    assert (views.names, views.sample_names) == ([name], CELLS)
    np.testing.assert_array_equal(views[0], counts if layer is None else np.log1p(counts))


def test_layers_and_other_tables_can_be_views(cells, counts):
    assert as_views(views_of(cells, "layers")).names == ["log"]
    views = as_views(views_of(cells, "obsm"))
    assert (views.names, views.sample_names) == (["pca", "umap"], CELLS)
    np.testing.assert_array_equal(np.hstack(list(views)), counts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"views": "pathways"},
            r"views='pathways' is unknown: choose .* a column of var, which has 'pathway'",
        ),
        ({"layer": "raw"}, "layer='raw' is unknown: the layers are 'log'"),
        ({"views": "obsm", "layer": "log"}, "give one of the two"),
    ],
)
def test_what_an_anndata_does_not_hold_is_refused(cells, options, message):
    with pytest.raises(ValueError, match=message):
        views_of(cells, **options)


def test_an_anndata_without_what_is_asked_for_is_refused(cells):
    del cells.obsm["pca"], cells.obsm["umap"]
    with pytest.raises(ValueError, match="holds no obsm"):
        views_of(cells, "obsm")
    cells.var["gaps"] = [None, "a", "b", "b"]
    with pytest.raises(ValueError, match="'gaps' of var has gaps"):
        views_of(cells, "gaps")
    cells.var_names = ["same", "same", "g3", "g4"]
    with pytest.raises(ValueError, match="var_names_make_unique"):
        views_of(cells)
    cells.X = None
    with pytest.raises(ValueError, match="has no X"):
        views_of(cells)


@pytest.mark.parametrize("data", [np.eye(3), {"a": np.eye(3)}, None])
def test_other_data_are_refused(data):
    with pytest.raises(ValueError, match=f"The data are {type(data).__name__}, neither AnnData nor MuData"):
        views_of(data)


@others_may_warn
def test_each_modality_is_a_view_of_the_same_cells(mixed, counts):
    views = as_views(views_of(mixed))
    assert views.names == ["rna", "protein"]
    order = [CELLS.index(name) for name in views.sample_names]
    assert views.sample_names == list(mixed.obs_names)
    for view in views:
        np.testing.assert_array_equal(view, counts[order])
    with pytest.raises(ValueError, match="whose views are its modalities"):
        views_of(mixed, "columns")


@others_may_warn
def test_modalities_of_other_cells_are_refused(cells):
    mudata = pytest.importorskip("mudata")
    other = cells[:4].copy()
    other.var_names = [f"p{j}" for j in range(4)]
    with mudata.set_options(pull_on_update=False):
        mixed = mudata.MuData({"rna": cells, "protein": other})
    with pytest.raises(ValueError, match="protein lacks 2 of the 6 samples of the MuData, such as 'c5'"):
        views_of(mixed)


@others_may_warn
def test_containers_in_files(cells, mixed, counts, tmp_path):
    cells.write_h5ad(tmp_path / "cells.h5ad")
    mixed.write_h5mu(tmp_path / "cells.h5mu")
    assert as_views(*read_data([tmp_path / "cells.h5ad"], "pathway")).names == ["a", "b"]
    assert as_views(*read_data([tmp_path / "cells.h5mu"])).names == ["rna", "protein"]
    np.save(tmp_path / "more.npy", counts)
    views = as_views(*read_data([tmp_path / "cells.h5ad", tmp_path / "more.npy"]))
    assert (views.names, views.sample_names) == (["cells", "more"], CELLS)
    np.testing.assert_array_equal(views[0], views[1])


# Out


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


def own_affinity(P, labels):
    """The mean of p_ij over the other samples j of the own cluster, pair by pair; 0 for a sample alone."""
    means = []
    for i, label in enumerate(labels):
        others = [P[i, j] for j in range(len(labels)) if j != i and labels[j] == label]
        means.append(sum(others) / len(others) if others else 0.0)
    return means


@others_may_warn
def test_results_go_into_an_anndata_and_through_its_file(cells, model, tmp_path):
    anndata = pytest.importorskip("anndata")
    write_results(model, cells)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    for data in (cells, again):
        assert data.obs["lsp_labels"].dtype == "category"
        assert data.obs["lsp_labels"].astype(int).tolist() == model.labels_.tolist()
        expected = own_affinity(model.coassignment().toarray(), model.labels_)
        np.testing.assert_allclose(data.obs["lsp_confidence"], expected)
        for l in range(3):
            np.testing.assert_array_equal(data.obsm[f"X_lsp_memberships_{l}"], model.memberships_[l])
        found = data.uns["lsp"]
        assert found["view_names"].tolist() == ["va", "vb", "vc", "vd"]
        assert found["view_patterns"].tolist() == [0, 0, 1, 2]
        assert found["n_clusters"].tolist() == [2, 3, 1]
        assert found["consensus_weights"].tolist() == [1, 1, 1, 0]
        np.testing.assert_array_equal(found["pattern_weights"], [0.5, 0.25, 0.25])
        np.testing.assert_array_equal(found["view_responsibilities"], model.view_responsibilities_)
        assert json.loads(found["settings"])["n_clusters"] == 10
        assert (float(found["loss"]), bool(found["converged"])) == (15.0, True)


@others_may_warn
def test_results_go_into_a_mudata_and_through_its_file(mixed, model, tmp_path):
    mudata = pytest.importorskip("mudata")
    model.sample_names_in_ = np.array(mixed.obs_names, dtype=object)
    write_results(model, mixed, key="mine")
    mixed.write(tmp_path / "cells.h5mu")
    again = mudata.read_h5mu(tmp_path / "cells.h5mu")
    for data in (mixed, again):
        assert data.obs["mine_labels"].dtype == "category"
        assert data.obs["mine_labels"].astype(int).tolist() == model.labels_.tolist()
        for l in range(3):
            np.testing.assert_array_equal(data.obsm[f"X_mine_memberships_{l}"], model.memberships_[l])
        assert data.uns["mine"]["n_clusters"].tolist() == [2, 3, 1]
    for name in ("rna", "protein"):
        np.testing.assert_array_equal(again[name].X.toarray(), mixed[name].X.toarray())
        assert again[name].obs_names.tolist() == mixed[name].obs_names.tolist()


@others_may_warn
def test_results_of_a_fit_before_are_replaced(cells, model):
    cells.obsm["X_lsp_memberships_7"] = np.ones((6, 2))
    cells.obsm["X_lsp_memberships_of_mine"] = np.ones((6, 2))
    cells.obsm["X_other_memberships_7"] = np.ones((6, 2))
    write_results(model, cells)
    found = {name for name in cells.obsm if name.startswith("X_")}
    mine = {"X_lsp_memberships_of_mine", "X_other_memberships_7"}
    assert found == mine | {f"X_lsp_memberships_{l}" for l in range(3)}


@others_may_warn
def test_a_modality_without_numbers_is_named(mixed):
    mixed["protein"].X = None
    with pytest.raises(ValueError, match="The modality 'protein' has no X"):
        views_of(mixed)


def test_results_of_other_samples_are_refused(cells, model):
    with pytest.raises(ValueError, match="The data have 5 samples and the model 6"):
        write_results(model, cells[:5].copy())
    with pytest.raises(ValueError, match="other names, or another order"):
        write_results(model, cells[::-1].copy())
    assert "lsp" not in cells.uns


@others_may_warn
def test_a_fit_to_an_anndata(cells):
    model = LatentSimplexPosition.paper(2, 2, n_init=1, max_iter=2, random_state=0).fit(views_of(cells))
    write_results(model, cells)
    assert model.view_names_in_.tolist() == GENES
    assert set(cells.obs["lsp_labels"]) <= {"0", "1"}


# Frames


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


def test_samples_without_names_are_numbered(model):
    model.sample_names_in_ = None
    assert labels_table(model)["sample"].tolist() == list(range(6))


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


def test_a_column_names_the_samples(backend, counts):
    library = pytest.importorskip(backend)
    frame = library.DataFrame({"x": counts[:, 0], "cell": CELLS, "y": counts[:, 1]})
    table = with_samples(frame, "cell")
    assert (table.columns, table.index) == (["x", "y"], CELLS)
    np.testing.assert_array_equal(table.to_numpy(), counts[:, :2])
    with pytest.raises(ValueError, match="There is no column 'who': the columns are 'x', 'cell', 'y'"):
        with_samples(frame, "who")


ONLY_POLARS = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    def find_spec(name, path=None, target=None):
        installed = name.split(".")[0] not in ("pandas", "pyarrow")
        return PathFinder.find_spec(name, path, target) if installed else None

sys.meta_path = [Without if finder is PathFinder else finder for finder in sys.meta_path]
import polars
from pathlib import Path
from latentsimplex import LatentSimplexPosition
from latentsimplex.files import read_data
from latentsimplex.frames import with_samples
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
    model.view_names_in_ = np.array(["va", "sample", "va", "va.1"], dtype=object)
    table = view_labels_table(model)
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
        as_frame(Table({}), "polars")
    with pytest.raises(ImportError, match="needs pandas or polars, and neither is installed"):
        as_frame(Table({}))


@pytest.mark.parametrize("frame", ["labels_frame", "memberships_frame", "views_frame"])
def test_a_model_that_is_not_fitted_has_no_frames(frame):
    with pytest.raises(ValueError, match="not fitted"):
        getattr(LatentSimplexPosition(), frame)()


def test_views_table_takes_the_responsibility_of_the_own_pattern(model):
    model.view_responsibilities_ = np.arange(12.0).reshape(4, 3)
    assert views_table(model)["responsibility"].tolist() == [0.0, 3.0, 7.0, 11.0]
