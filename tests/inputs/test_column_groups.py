"""How views= groups columns: by labels in order, by dicts and Series of names, by the first level of column names."""

import numpy as np
import pandas as pd
import pytest

from latentsimplex import LatentSimplexPosition, load
from latentsimplex.inputs import NamedTable
from latentsimplex.inputs.views import as_views

A = np.arange(12.0).reshape(4, 3)
FRAME = pd.DataFrame(A, columns=["tp53", "brca1", "egfr"])
BY_COLUMN = {"egfr": "early", "brca1": "late", "tp53": "early"}
BY_VIEW = {"early": ["tp53", "egfr"], "late": ["brca1"]}


def assert_early_and_late(views):
    assert views.names == ["early", "late"]
    np.testing.assert_array_equal(views[0], A[:, [0, 2]])
    np.testing.assert_array_equal(views[1], A[:, [1]])


@pytest.mark.parametrize(
    "views",
    [
        BY_COLUMN,
        pd.Series(BY_COLUMN),
        pd.Series(BY_COLUMN).astype("category"),
        {**BY_COLUMN, "kras": "never"},
        BY_VIEW,
        {"early": np.array(["tp53", "egfr"]), "late": "brca1"},
        {"early": pd.Index(["tp53", "egfr"]), "late": ("brca1",)},
        pd.Index(["early", "late", "early"]),
        pd.Categorical(["early", "late", "early"]),
    ],
    ids=range(9),
)
@pytest.mark.parametrize("table", [FRAME, NamedTable(A, list(FRAME.columns))], ids=["frame", "named"])
def test_columns_are_found_by_name(views, table):
    found = as_views(table, views)
    assert_early_and_late(found)
    assert found.name_features(0) == ["tp53", "egfr"]


def test_columns_of_arrays_are_found_by_number():
    for views in ({2: "early", 1: "late", 0: "early"}, {"early": [0, 2], "late": [1]}):
        assert_early_and_late(as_views(A, views))
    assert_early_and_late(as_views(A, pd.Series(["early", "early", "late"], index=[2, 0, 1])))
    assert_early_and_late(as_views(A, pd.Series(["early", "late", "early"])))


def test_polars_series_are_labels_in_order():
    polars = pytest.importorskip("polars")
    assert_early_and_late(as_views(FRAME, polars.Series(["early", "late", "early"])))


def test_a_column_may_be_in_several_views():
    views = as_views(FRAME, {"all": list(FRAME.columns), "one": ["egfr"]})
    assert (views.names, views.widths) == (["all", "one"], [3, 1])


def test_columns_with_levels_are_views_by_the_first():
    columns = pd.MultiIndex.from_tuples([("early", 0), ("late", 0), ("early", 1)])
    frame = pd.DataFrame(A, columns=columns)
    assert_early_and_late(as_views(frame))
    assert as_views(frame, "columns").widths == [1, 1, 1]
    assert as_views(frame, {("early", 0): 0, ("late", 0): 0, ("early", 1): 1}).widths == [2, 1]
    square = pd.DataFrame(np.eye(3), columns=columns)
    assert as_views(square, precomputed=True).names == ["view0"]


REFUSED = {
    "a generator": ((label for label in "aba"), "views= is a generator, which can be read only once: give one group"),
    "an iterator": (iter("aba"), "can be read only once"),
    "a set": ({"a", "b", "c"}, "views= is a set, which has no order"),
    "lists": ([["a"], ["b"], ["a"]], r"views= gives the column 'tp53' the label \['a'\], a list: use text or numbers"),
    "no label": (["a", None, "b"], r"views= gives the column 'brca1' no label \(None\): name its view"),
    "NaN": (np.array([1, np.nan, np.nan]), "the column 'brca1' no label"),
    "NA": (pd.Series(BY_COLUMN | {"egfr": pd.NA}), "the column 'egfr' no label"),
    "a lacking column": ({"tp53": "a", "egfr": "b"}, "gives no view for 1 of the 3 columns, such as 'brca1': name"),
    "a series of other names": (pd.Series(["a", "b", "a"]), "gives no view for 3 of the 3 columns, such as 'tp53'"),
    "a repeated column": (pd.Series(list("abcd"), index=["tp53", "egfr", "egfr", "brca1"]), "more than once"),
    "an unknown column": (BY_VIEW | {"never": ["kras"]}, "puts a column 'kras' into the view 'never', and the table"),
    "a column in no view": ({"early": ["tp53"]}, "puts 2 of the 3 columns into no view, such as 'brca1': add them, or"),
    "an empty view": (BY_VIEW | {"never": []}, "gives the view 'never' no columns, or one of them twice"),
    "a column twice": (BY_VIEW | {"early": ["tp53", "egfr", "tp53"]}, "the view 'early' no columns, or one of them"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_groups(case):
    views, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        as_views(FRAME, views)


@pytest.mark.parametrize("views", [BY_COLUMN, pd.Series(BY_COLUMN), BY_VIEW], ids=["dict", "series", "views"])
def test_groups_by_name_are_kept_in_a_file(views, tmp_path):
    paper = LatentSimplexPosition.paper(2, 1, views=views, n_init=1, max_iter=2, random_state=0)
    paper.fit(FRAME).save(tmp_path / "model")
    assert_early_and_late(as_views(FRAME, load(tmp_path / "model").views))
