"""AnnData and MuData: the views are what they hold."""

import numpy as np
import pytest
from scipy import sparse

from latentsimplex.inputs.containers import views_of
from latentsimplex.inputs.files import read_data
from latentsimplex.inputs.views import as_views

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
