"""What a fit found, written into AnnData and MuData and read from their files again."""

import errno
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from latentsimplex import LatentSimplexPosition
from latentsimplex.inputs import views_of
from latentsimplex.results import write_results
from latentsimplex.results.containers import write_copy
from made_model import made_model

GENES = ["g1", "g2", "g3", "g4"]
CELLS = ["c1", "c2", "c3", "c4", "c5", "c6"]
# the formats of files are others' and warn of changes to come
others_may_warn = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture
def cells():
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    counts = np.random.default_rng(0).poisson(2.0, (6, 4)).astype(float)
    return anndata.AnnData(
        sparse.csr_matrix(counts), obs=pandas.DataFrame(index=CELLS), var=pandas.DataFrame(index=GENES)
    )


@pytest.fixture
def mixed(cells):
    """Two modalities, the second with its cells in another order."""
    mudata = pytest.importorskip("mudata")
    other = cells[::-1].copy()
    other.var_names = [f"p{j}" for j in range(4)]
    with mudata.set_options(pull_on_update=False):
        return mudata.MuData({"rna": cells, "protein": other})


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
        assert json.loads(found["settings"])["n_clusters"] == "auto"
        assert (float(found["loss"]), bool(found["converged"])) == (15.0, True)


@others_may_warn
def test_results_go_into_a_mudata_and_through_its_file(mixed, model, tmp_path):
    mudata = pytest.importorskip("mudata")
    found = replace(model.results_, sample_names=np.array(mixed.obs_names, dtype=object))
    write_results(found, mixed, key="mine")
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
@pytest.mark.parametrize("kept", [[5, 4, 3, 2, 1, 0], [1, 3], [4, 0, 2]], ids=["reordered", "subset", "both"])
def test_samples_are_matched_by_name(cells, mixed, model, kept):
    write_results(model, cells)
    for data in (cells, mixed):
        part = data[kept].copy()
        write_results(model, part, "again")
        assert list(part.obs_names) == [CELLS[i] for i in kept]
        expected = cells.obs.loc[part.obs_names]
        assert part.obs["again_labels"].tolist() == expected["lsp_labels"].tolist()
        assert part.obs["again_confidence"].tolist() == expected["lsp_confidence"].tolist()
        for l, W in enumerate(model.memberships_):
            np.testing.assert_array_equal(part.obsm[f"X_again_memberships_{l}"], W[kept])


def test_results_of_other_samples_are_refused(cells, model):
    other = cells.copy()
    other.obs_names = [*CELLS[:4], "x", "y"]
    with pytest.raises(
        ValueError, match=r"^2 of the 6 samples of the data are not in the model, such as 'x': give the data"
    ):
        write_results(model, other)
    assert "lsp" not in other.uns
    twice = made_model([np.ones((6, 1))], [0], sample_names=[*CELLS[:5], "c1"])
    with pytest.raises(ValueError, match=r"^Several samples of the model have one name"):
        write_results(twice, cells)
    unnamed = made_model([np.ones((6, 1))], [0])
    with pytest.raises(ValueError, match=r"^The data have 5 samples and the model 6, which have no names"):
        write_results(unnamed, cells[:5].copy())


def test_swapped_arguments_are_one_sentence(cells, model):
    with pytest.raises(ValueError, match=r"a AnnData and a Latent.*give the fitted model first") as error:
        write_results(cells, model)
    assert "\n" not in str(error.value)
    for data in (None, np.eye(6), cells.obs):
        with pytest.raises(ValueError, match=r"then the AnnData or MuData, write_results\(model, data\)"):
            write_results(model, data)
    with pytest.raises(ValueError, match="key=3 is no name for results: give text"):
        write_results(model, cells, 3)


@others_may_warn
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # h5py, which tries again
@pytest.mark.parametrize("limit", [100, 5000, 20_000])
def test_a_full_disk_leaves_the_older_copy(cells, model, tmp_path, limit):
    """HDF5 finds a full disk in several places, and calls it by several names."""
    resource = pytest.importorskip("resource")
    path, target = tmp_path / "cells.h5ad", tmp_path / "copy.h5ad"
    cells.obsm["much"] = np.ones((6, 1000))
    cells.write_h5ad(path)
    target.write_text("older")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(OSError) as error:
            write_copy(model, path, target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(error.value) == f"[Errno {errno.EFBIG}] File too large: {str(target)!r}"
    assert target.read_text() == "older"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["cells.h5ad", "copy.h5ad"]


@others_may_warn
def test_a_fit_to_an_anndata(cells):
    model = LatentSimplexPosition.paper(2, 2, n_init=1, max_iter=2, random_state=0).fit(views_of(cells))
    write_results(model, cells)
    assert model.view_names_in_.tolist() == GENES
    assert set(cells.obs["lsp_labels"]) <= {"0", "1"}


@others_may_warn
def test_the_parameters_that_are_written_are_those_of_the_fit(cells, model):
    model.set_params(n_init=9, verbose=True)
    write_results(model, cells)
    settings = json.loads(cells.uns["lsp"]["settings"])
    assert settings["n_init"] == 3
    assert "verbose" not in settings


@others_may_warn
def test_a_copy_of_a_file_holds_what_was_found_and_leaves_the_file(cells, model, tmp_path):
    anndata = pytest.importorskip("anndata")
    path = tmp_path / "cells.h5ad"
    cells.write_h5ad(path)
    before = path.read_bytes()
    write_copy(model.results_, path, tmp_path / "copy.h5ad")
    assert path.read_bytes() == before
    copy = anndata.read_h5ad(tmp_path / "copy.h5ad")
    assert copy.obs["lsp_labels"].astype(int).tolist() == model.labels_.tolist()
    np.testing.assert_array_equal(copy.X.toarray(), cells.X.toarray())
