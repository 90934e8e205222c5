"""Tables that lie in files or are yet to be computed: the same fits as of arrays, read a few columns at a time."""

import numpy as np
import pandas as pd
import pytest

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import many_views
from latentsimplex.inputs import stored_views
from latentsimplex.inputs.stored_tables import load_stored
from latentsimplex.inputs.stored_views import as_stored_views, check_stored_views
from latentsimplex.inputs.views import as_views
from latentsimplex.stages import is_stored

zarr, da, dd = (pytest.importorskip(name) for name in ("zarr", "dask.array", "dask.dataframe"))

SETTINGS = {"n_clusters": 3, "n_patterns": 2, "n_init": 1, "random_state": 0, "n_jobs": 2}


@pytest.fixture(scope="module")
def table():
    """Forty columns of 50 samples, in two patterns."""
    return np.hstack(many_views(n_views=20, n_samples=50, random_state=0).views)


@pytest.fixture(scope="module")
def local(table):
    return LatentSimplexPosition(**SETTINGS, views="columns").fit(table)


def mapped(table, folder):
    np.save(folder / "table.npy", table)
    return np.load(folder / "table.npy", mmap_mode="r")


def in_zarr(table, folder):
    array = zarr.create_array(
        folder / "table.zarr", shape=table.shape, chunks=(20, 7), dtype=table.dtype, zarr_format=3
    )
    array[:] = table
    return array


def in_parquet(table, folder):
    frame = pd.DataFrame(table, columns=[f"c{j}" for j in range(table.shape[1])])
    (folder / "table").mkdir()
    for k, rows in enumerate(np.array_split(np.arange(len(table)), 3)):
        frame.iloc[rows].to_parquet(folder / "table" / f"part-{k}.parquet")
    return folder / "table"


def of_dask(table, folder):
    return da.from_array(table, chunks=(25, 9))


def frame_of_dask(table, folder):
    return dd.from_pandas(pd.DataFrame(table), npartitions=3)


@pytest.fixture(params=[mapped, in_zarr, in_parquet, of_dask, frame_of_dask])
def stored(request, table, tmp_path):
    return request.param(table, tmp_path)


def test_fits_are_those_of_arrays(stored, local, monkeypatch):
    """Read seven columns at a time, of which four reads are kept."""
    monkeypatch.setattr(stored_views, "READ_BYTES", 8 * 50 * 7)
    assert is_stored(stored)
    found = LatentSimplexPosition(**SETTINGS, views="columns").fit(stored)
    assert np.array_equal(found.labels_, local.labels_)
    assert np.array_equal(found.view_responsibilities_, local.view_responsibilities_)
    assert found.loss_ == local.loss_
    assert found.view_names_in_[3] in ("x3", "c3", "3")


def test_groups_of_columns_and_all_of_them(stored, table):
    views = as_stored_views(stored, ["a"] * 10 + ["b"] * 30)
    assert (views.names, views.widths) == (["a", "b"], [10, 30])
    np.testing.assert_array_equal(views[1], table[:, 10:])
    whole = as_stored_views(stored, "whole")
    np.testing.assert_array_equal(whole[0], table)
    assert whole.find_given(0).n_columns == 40


def test_a_dict_and_a_group_have_a_view_each(table, tmp_path):
    group = zarr.open_group(tmp_path / "views.zarr", mode="w")
    for name, columns in (("first", slice(0, 4)), ("second", slice(4, 40))):
        array = group.create_array(name, shape=(50, len(range(40)[columns])), dtype=float)
        array[:] = table[:, columns]
    for data in (group, {name: group[name] for name in ("first", "second")}):
        assert is_stored(data)
        views = check_stored_views(as_stored_views(data, "whole"))
        assert sorted(views.names) == ["first", "second"]
        assert views.varying.tolist() == [True, True]
        np.testing.assert_array_equal(views[views.names.index("second")], table[:, 4:])


def test_constant_columns_are_known(table, tmp_path):
    constant = table.copy()
    constant[:, 5] = 3.0
    views = check_stored_views(as_stored_views(mapped(constant, tmp_path), "columns"))
    assert np.flatnonzero(~views.varying).tolist() == [5]


def test_names_of_samples_come_along(table, tmp_path):
    frame = pd.DataFrame(table[:, :3], index=[f"s{i}" for i in range(50)], columns=list("abc"))
    frame.to_parquet(tmp_path / "named.parquet")
    views = as_stored_views(tmp_path / "named.parquet", "columns")
    assert views.sample_names[:2] == ["s0", "s1"]
    assert views.names == ["a", "b", "c"]
    lazy = as_stored_views(dd.from_pandas(frame, npartitions=2, sort=False), "columns")
    assert lazy.sample_names == views.sample_names
    turned = dd.from_pandas(frame[::-1], npartitions=1, sort=False)
    with pytest.raises(ValueError, match="have other names"):
        as_stored_views([dd.from_pandas(frame, npartitions=1), turned], "whole")


def test_what_is_not_stored(table, tmp_path):
    """Slices of maps, three axes, lists with anything else among them: these are read as before."""
    whole = mapped(table, tmp_path)
    assert not is_stored(whole[:, :3])
    assert not is_stored(table)
    assert not is_stored([whole, table])
    assert not is_stored(da.zeros((2, 3, 4)))
    assert not is_stored([])


def test_faults_are_one_sentence(table, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"X is 'data.csv', and there is no such file or folder"):
        as_views("data.csv")
    with pytest.raises(FileNotFoundError, match="there is no such file or folder"):
        as_stored_views(tmp_path / "nowhere", "columns")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "notes.txt").write_text("words")
    with pytest.raises(ValueError, match="holds no Parquet"):
        as_stored_views(tmp_path / "text", "columns")
    pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}).to_parquet(tmp_path / "mixed.parquet")
    with pytest.raises(ValueError, match=r"The column 'b' of X holds values of the type .*string"):
        as_stored_views(tmp_path / "mixed.parquet", "columns")
    with pytest.raises(ValueError, match=r"views\[1\] has 30 rows and views\[0\] has 50"):
        as_stored_views([da.from_array(table), da.from_array(table[:30])], "whole")
    with pytest.raises(ValueError, match="already hold 1 views"):
        as_stored_views([da.from_array(table)], "columns")
    with pytest.raises(ValueError, match="an empty group"):
        as_stored_views(zarr.open_group(tmp_path / "empty.zarr", mode="w"), "whole")
    holes = table.copy()
    holes[3, 30] = np.nan
    with pytest.raises(ValueError, match="X contains NaN: 1 of its"):
        LatentSimplexPosition(views="columns").fit(in_zarr(holes, tmp_path))


def test_tables_with_missing_cells_and_similarities_are_read_whole(table, tmp_path):
    holes = table[:, :6].copy()
    holes[3, 2] = np.nan
    expected = LatentSimplexPosition(missing="pairwise", random_state=0).fit(holes)
    for k, store in enumerate((mapped, in_zarr, in_parquet, of_dask, frame_of_dask)):
        (tmp_path / str(k)).mkdir()
        found = LatentSimplexPosition(missing="pairwise", random_state=0).fit(store(holes, tmp_path / str(k)))
        assert found.loss_ == expected.loss_
    S = np.exp(-np.square(table[:, None, :6] - table[None, :, :6]).sum(axis=2) / 10)
    expected = LatentSimplexPosition(similarity="precomputed", random_state=0).fit(S)
    found = LatentSimplexPosition(similarity="precomputed", random_state=0).fit(mapped(S, tmp_path))
    assert found.loss_ == expected.loss_


def test_stored_tables_given_again_are_read_whole(stored, table):
    model = LatentSimplexPosition(random_state=0).fit(stored)
    assert np.array_equal(model.predict(stored), model.predict(table))
    assert model.score(stored) == model.score()
    assert len(model.describe_clusters(stored)) == len(model.describe_clusters(table))
    assert model.assign_views(stored).patterns.tolist() == model.assign_views(table).patterns.tolist()


def test_a_group_is_given_again(table, tmp_path):
    group = zarr.open_group(tmp_path / "views.zarr", mode="w")
    for name, columns in (("first", slice(0, 4)), ("second", slice(4, 8))):
        group.create_array(name, shape=(50, 4), dtype=float)[:] = table[:, columns]
    model = LatentSimplexPosition(random_state=0).fit(group)
    assert np.array_equal(
        model.predict(group), model.predict({name: group[name] for name in ("first", "second")})
    )
    assert list(model.view_names_in_) == ["first", "second"]
    assert model.score(group) == model.score()


def test_a_whole_frame_keeps_names(table, tmp_path):
    frame = pd.DataFrame(table[:, :3], index=[f"s{i}" for i in range(50)], columns=list("abc"))
    frame.to_parquet(tmp_path / "named.parquet")
    pd.testing.assert_frame_equal(load_stored(tmp_path / "named.parquet", "X"), frame)
    parts = dd.concat([dd.from_pandas(frame.reset_index(drop=True), npartitions=1)] * 2)
    assert load_stored(parts, "X").index.tolist() == list(range(100))
