"""Tables with names for columns and rows: taken as frames are, brought into one order, made of frames."""

import numpy as np
import pandas as pd
import pytest

from latentsimplex import inputs
from latentsimplex.inputs import named_table
from latentsimplex.inputs.named_table import NamedTable, align_rows, with_samples
from latentsimplex.inputs.views import as_views

NUMBERS = np.arange(6.0).reshape(3, 2)
NAMES = ["anna", "bert", "carla"]


@pytest.fixture(params=["pandas", "polars"])
def library(request):
    return pytest.importorskip(request.param)


def a_table(index, values=NUMBERS):
    return NamedTable(values, ["x", "y"], index)


def test_a_table_is_read_as_a_frame_is():
    views = as_views(a_table(NAMES), "columns")
    assert (views.names, views.sample_names, views.feature_names) == (["x", "y"], NAMES, ["x", "y"])
    np.testing.assert_array_equal(np.hstack(list(views)), NUMBERS)
    assert as_views(a_table(None)).sample_names is None


def test_rows_can_be_asked_for_by_name():
    found = a_table(NAMES).rows(["carla", "anna"])
    assert (found.index, found.columns) == (["carla", "anna"], ["x", "y"])
    np.testing.assert_array_equal(found.values, NUMBERS[[2, 0]])


def test_rows_come_in_the_order_of_the_first_table_that_names_them():
    order = [2, 0, 1]
    tables = align_rows(
        {
            "first": a_table(NAMES),
            "second": a_table([NAMES[i] for i in order], NUMBERS[order]),
        }
    )
    assert list(tables) == ["first", "second"]
    assert [table.index for table in tables.values()] == [NAMES, NAMES]
    for table in tables.values():
        np.testing.assert_array_equal(table.values, NUMBERS)


def test_tables_without_names_stay_as_they_are():
    given = {"a": a_table(None), "b": a_table(None)}
    assert align_rows(given) == given


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_other_samples_are_named(order):
    given = {"a": a_table(NAMES), "b": a_table(["anna", "bert"], NUMBERS[:2])}
    with pytest.raises(ValueError, match="b lacks 1 of the 3 samples of a, such as 'carla'"):
        align_rows({name: given[name] for name in order})


def test_repeated_names_cannot_be_put_in_order():
    tables = {"a": a_table(["x", "x"], NUMBERS[:2]), "b": a_table(["x", "y"], NUMBERS[:2])}
    with pytest.raises(ValueError, match="a has 'x' more than once"):
        align_rows(tables)


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "b", "a")])
def test_a_table_without_names_goes_by_position_only_beside_one_order(order):
    tables = {"a": a_table(None), "b": a_table(NAMES), "c": a_table(NAMES)}
    assert align_rows(tables) == tables
    tables["c"] = a_table(NAMES[::-1])
    with pytest.raises(
        ValueError, match=r"a has no row names, and (b and c|c and b) have theirs in different"
    ):
        align_rows({name: tables[name] for name in order})


def test_a_column_names_the_samples(library):
    frame = library.DataFrame({"x": NUMBERS[:, 0], "cell": NAMES, "y": NUMBERS[:, 1]})
    table = with_samples(frame, "cell")
    assert (table.columns, table.index) == (["x", "y"], NAMES)
    np.testing.assert_array_equal(table.to_numpy(), NUMBERS)
    with pytest.raises(ValueError, match="There is no column 'who': the columns are 'x', 'cell', 'y'"):
        with_samples(frame, "who")


def test_what_users_need_is_in_the_package_of_inputs():
    assert inputs.NamedTable is named_table.NamedTable
    assert inputs.with_samples is named_table.with_samples


@pytest.mark.parametrize(
    "index",
    [
        [None, "b", None],
        [1.0, np.nan, np.nan],
        pd.Index(["a", pd.NA, pd.NA], dtype="string"),
        pd.to_datetime(["2020-01-01", None, None]),
    ],
    ids=["None", "nan", "NA", "NaT"],
)
def test_rows_without_a_name_are_refused(index):
    frame = pd.DataFrame(NUMBERS, index=index)
    for data, label in ((frame, "X"), ([NUMBERS, frame], r"views\[1\]")):
        with pytest.raises(
            ValueError, match=f"^2 rows of {label} have no name, such as row .*: name each row, or drop"
        ):
            as_views(data)


def test_a_sample_may_be_called_none():
    assert as_views(pd.DataFrame(NUMBERS, index=["None", "nan", "a"])).sample_names == ["None", "nan", "a"]


def test_missing_entries_of_the_column_that_names_samples_are_refused(library):
    frame = library.DataFrame({"sample": ["a", None], "x": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"^1 row of the frame has no name, such as row 1, whose name is"):
        with_samples(frame, "sample")
