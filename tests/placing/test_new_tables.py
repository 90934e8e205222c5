"""New samples in any form, read as the views of a fit were; what is wrong with them in one sentence."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from latentsimplex.inputs.named_table import NamedTable
from latentsimplex.inputs.views import as_views
from latentsimplex.placing.new_tables import read_new_samples

BLOOD, URINE = ["age", "iron", "salt"], ["acid", "water"]


def named(values, columns, index=None):
    return NamedTable(np.asarray(values, dtype=float), list(columns), index)


def read(fitted, new, views="whole", missing="raise"):
    """Read new samples for a model that was fitted to some data."""
    known = as_views(fitted, views)
    given = [known.find_given(v) for v in range(len(known))]
    return read_new_samples(new, given, known.names, views, missing)


@pytest.fixture
def fitted():
    rng = np.random.default_rng(0)
    return {"blood": named(rng.normal(size=(6, 3)), BLOOD), "urine": named(rng.normal(size=(6, 2)), URINE)}


@pytest.fixture
def arrays(fitted):
    return [table.values for table in fitted.values()]


# Forms


def test_views_and_columns_come_in_any_order_of_names(fitted):
    new = {"urine": named([[1, 2]], ["water", "acid"]), "blood": named([[3, 4, 5]], ["salt", "age", "iron"])}
    found = read(fitted, new)
    assert [table.tolist() for table in found.tables] == [[[4, 5, 3]], [[2, 1]]]


def test_a_view_that_is_left_out_is_absent(fitted, arrays):
    assert read(fitted, {"urine": fitted["urine"]}).tables[0] is None
    assert read(arrays, [None, arrays[1]]).tables[0] is None
    assert read(arrays, {"view1": arrays[1]}).tables[0] is None


def test_samples_are_matched_by_name(fitted):
    new = {
        "blood": named([[1, 2, 3], [4, 5, 6]], BLOOD, ["x", "y"]),
        "urine": named([[1, 2], [3, 4]], URINE, ["y", "x"]),
    }
    found = read(fitted, new)
    assert found.names == ["x", "y"]
    assert found.tables[1].tolist() == [[3, 4], [1, 2]]


def test_a_table_is_cut_as_that_of_the_fit_was():
    cut = ["b", "a", "b"]
    by_place = read(np.arange(12.0).reshape(4, 3), np.array([[1, 2, 3]]), cut)
    assert [table.tolist() for table in by_place.tables] == [[[1, 3]], [[2]]]
    table = named(np.arange(12).reshape(4, 3), "xyz")
    by_name = read(table, named([[3, 1, 2]], "zxy"), cut)
    assert [each.tolist() for each in by_name.tables] == [[[1, 3]], [[2]]]
    assert read(table, named([[1, 3]], "xz"), cut).tables[1] is None
    assert [each.tolist() for each in read(table, np.array([[1, 2, 3]]), cut).tables] == [[[1, 3]], [[2]]]


def test_sparse_and_stacked_tables():
    X = np.arange(12.0).reshape(4, 3)
    found = read(X, sparse.csr_array(X[:2]), "columns")
    assert [table.toarray().tolist() for table in found.tables][2] == [[2.0], [5.0]]
    stack = np.arange(24.0).reshape(2, 4, 3)
    assert read(stack, stack[:, :1]).tables[1].tolist() == [[12, 13, 14]]


def test_categories_are_encoded_as_those_of_the_fit():
    cells = np.array([[1.0, "red"], [3.0, "blue"], [2.0, "red"], [2.0, "green"]] * 3, dtype=object)
    fitted = NamedTable(cells, ["size", "colour"])
    table = as_views(fitted)[0]
    found = read(fitted, NamedTable(cells[:3][:, ::-1], ["colour", "size"])).tables[0]
    np.testing.assert_allclose(found, table[:3])
    unknown = read(fitted, NamedTable(np.array([[2.0, "purple"]], dtype=object), ["size", "colour"])).tables[
        0
    ]
    assert unknown[0, 1:].tolist() == [0, 0, 0]


def test_frames_and_containers(fitted):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[3.0, 4.0, 5.0]], ["s1"], ["salt", "age", "iron"])
    found = read({"blood": fitted["blood"]}, frame)
    assert (found.tables[0].tolist(), found.names) == ([[4, 5, 3]], ["s1"])
    anndata = pytest.importorskip("anndata")
    data = anndata.AnnData(np.array([[3.0, 4.0, 5.0]]), var=pandas.DataFrame(index=["salt", "age", "iron"]))
    assert read(fitted["blood"], data, "columns").tables[0].tolist() == [[4]]


def test_rows_of_missing_cells_are_samples_that_a_view_lacks(arrays):
    new = [arrays[0][:2], np.array([[np.nan, np.nan], [1, 2]])]
    assert np.isnan(read(arrays, new, missing="pairwise").tables[1][0]).all()


# What is wrong


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ({"sweat": np.ones((1, 3))}, "There is no view 'sweat' in the model: its views are 'blood', 'urine'"),
        ({}, "lack every view: give at least one"),
        ([None, None], "lack every view: give at least one"),
        ([np.ones((1, 3))], "The data hold 1 view, and the model was fitted to 2"),
        ({"urine": np.ones((1, 3))}, "X has 3 features, but LatentSimplexPosition is expecting 2 features"),
        (
            {"urine": named([[1, 2, 3]], [*URINE, "iron"])},
            "has 1 columns that the model was not fitted to, such as 'iron'",
        ),
        ({"urine": named([[1]], ["acid"])}, "lacks 1 of the 2 features of the view 'urine', such as 'water'"),
        ({"urine": [[1.0, np.nan]]}, "contains NaN"),
        ({"urine": [[1.0, np.inf]]}, r"contains infinity \(inf\)"),
        ({"urine": [["a", "b"]]}, "encode text"),
        ({"urine": np.ones((0, 2))}, "has 0 sample"),
        (
            {"urine": np.ones((1, 2)), "blood": np.ones((2, 3))},
            "urine'\\] has 1 rows and .* has 2: all views",
        ),
        (np.ones((1, 5)), "X is one table, and the model was fitted to 2 views: give a list"),
    ],
)
def test_bad_samples_are_one_sentence(fitted, new, message):
    with pytest.raises(ValueError, match=message):
        read(fitted, new)


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (np.ones((2, 2)), "X has 2 features, but LatentSimplexPosition is expecting 3 features"),
        (np.ones(3), "Reshape your data"),
        (named([[1, 2, 3, 4]], "wxyz"), "has 1 columns that the model was not fitted to, such as 'w'"),
        (named([[1, 2]], "xy"), "lacks 1 of the 2 features of the view 'b', such as 'z'"),
        (named([[1, 2, 3]], "xxy"), "same name"),
    ],
)
def test_bad_tables_are_one_sentence(new, message):
    with pytest.raises(ValueError, match=message):
        read(named(np.arange(12).reshape(4, 3), "xyz"), new, ["b", "a", "b"])


@pytest.mark.parametrize("new", [None, pd.DataFrame(index=["s"])])
def test_one_table_that_is_none_lacks_every_view(new):
    fitted = named(np.arange(12).reshape(4, 3), "xyz")
    with pytest.raises(ValueError, match="The new samples lack every view: give at least one"):
        read(fitted, new, ["b", "a", "b"])


def test_a_sample_that_no_view_has_is_named(arrays):
    new = [np.array([[1.0, 2, 3], [np.nan] * 3]), np.array([[1.0, 2], [np.nan] * 2])]
    with pytest.raises(
        ValueError, match="1 of the 2 new samples, such as sample 1, have no value in any view"
    ):
        read(arrays, new, missing="pairwise")
