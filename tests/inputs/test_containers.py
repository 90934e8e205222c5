"""AnnData and MuData: the views are what they hold."""

import numpy as np
import pytest
from scipy import sparse

from latentsimplex import LatentSimplexPosition
from latentsimplex.files.data_files import read_data
from latentsimplex.inputs.containers import views_of
from latentsimplex.inputs.views import as_views
from latentsimplex.results import write_results

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


def fit(data, **settings):
    return LatentSimplexPosition.paper(2, 2, n_init=1, max_iter=2, random_state=0, **settings).fit(data)


@others_may_warn
@pytest.mark.filterwarnings("ignore:Sparse views are made dense:UserWarning")
def test_an_anndata_is_fitted_as_it_is(cells, counts):
    model = fit(cells)
    assert (model.view_names_in_.tolist(), model.sample_names_in_.tolist()) == (["view0"], CELLS)
    assert model.feature_names_in_.tolist() == GENES
    np.testing.assert_array_equal(as_views(cells)[0], counts)
    assert fit(cells, views="columns").view_names_in_.tolist() == GENES
    assert fit(cells, views="obsm").view_names_in_.tolist() == ["pca", "umap"]
    by_gene = dict(zip(GENES[::-1], "baba", strict=True))
    for groups in ("pathway", cells.var["pathway"], ["a", "b", "a", "b"], by_gene):
        views = as_views(cells, groups)
        assert (views.names, views.sample_names) == (["a", "b"], CELLS)
        np.testing.assert_array_equal(views[1], counts[:, [1, 3]])
    with pytest.raises(ValueError, match=r"views='pathways' is unknown: choose .* a column of var"):
        fit(cells, views="pathways")


@others_may_warn
@pytest.mark.filterwarnings("ignore:Sparse views are made dense:UserWarning")
def test_anndatas_are_views_of_the_same_cells(cells, counts):
    views = as_views({"rna": cells, "protein": cells[::-1].copy()})
    assert (views.names, views.sample_names) == (["rna", "protein"], CELLS)
    for view in views:
        np.testing.assert_array_equal(view, counts)


@others_may_warn
def test_a_mudata_is_fitted_as_it_is(mixed):
    model = fit(mixed)
    assert model.view_names_in_.tolist() == ["rna", "protein"]
    assert model.sample_names_in_.tolist() == list(mixed.obs_names)
    with pytest.raises(ValueError, match="whose views are its modalities"):
        fit(mixed, views="columns")
    with pytest.raises(ValueError, match=r"views\[0\] is a MuData, which holds several views: fit it alone"):
        fit([mixed])


@others_may_warn
@pytest.mark.parametrize("key", ["lsp", "mine"])
def test_results_of_fits_before_are_no_views(cells, key):
    model = fit(views_of(cells))
    write_results(model, cells, key)
    assert f"X_{key}_memberships_0" in cells.obsm
    assert list(views_of(cells, "obsm")) == ["pca", "umap"]
    del cells.obsm["pca"], cells.obsm["umap"]
    with pytest.raises(ValueError, match="holds no obsm to take as views"):
        views_of(cells, "obsm")


def test_x_is_no_layer(cells, counts, monkeypatch):
    """Newer releases of anndata list X among the layers, as None."""
    layers = {None: counts, "log": np.log1p(counts)}
    monkeypatch.setattr(type(cells), "layers", property(lambda self: layers))
    assert list(views_of(cells, "layers")) == ["log"]
    with pytest.raises(ValueError, match="layer='raw' is unknown: the layers are 'log'"):
        views_of(cells, layer="raw")


def test_tables_of_dates_are_refused(cells):
    cells.obsm["visits"] = pytest.importorskip("pandas").DataFrame(
        {"day": np.full(6, "2020", "M8[ns]")}, CELLS
    )
    with pytest.raises(ValueError, match=r"The column 'day' of obsm\['visits'\] holds datetime64"):
        views_of(cells, "obsm")


@others_may_warn
def test_an_anndata_in_a_file_that_is_open(cells, counts, tmp_path):
    cells.X = counts
    cells.write_h5ad(tmp_path / "cells.h5ad")
    backed = pytest.importorskip("anndata").read_h5ad(tmp_path / "cells.h5ad", backed="r")
    np.testing.assert_array_equal(as_views(backed)[0], counts)
    backed.file.close()


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


@others_may_warn
def test_a_modality_without_numbers_is_named(mixed):
    mixed["protein"].X = None
    with pytest.raises(ValueError, match="The modality 'protein' has no X"):
        views_of(mixed)


@others_may_warn
@pytest.mark.parametrize("missing", [None, np.nan, "nan"])
def test_cells_without_a_name_are_refused(cells, missing):
    """anndata makes text of what is missing wherever it makes names of another type."""
    cells.obs_names = [*CELLS[:5], missing]
    for read in (as_views, views_of):
        with pytest.raises(
            ValueError, match=r"^1 row of the AnnData has no name, such as row 5, whose name is"
        ):
            read(cells)
