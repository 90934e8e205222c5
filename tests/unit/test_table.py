"""Tables: columns of equal length, in text, in a file and in pandas."""

import csv

import numpy as np
import pytest

from latentsimplex.table import SHOWN_ROWS, Table


@pytest.fixture
def table():
    return Table(
        {
            "name": np.array(["x", "yy", "z"], dtype=object),
            "count": np.array([3, 10, 2]),
            "value": np.array([0.123456789, np.nan, 1e-7]),
        }
    )


def test_length_and_columns(table):
    assert len(table) == 3
    assert table["count"].tolist() == [3, 10, 2]
    assert len(Table({})) == 0


def test_rows_by_position_mask_and_slice(table):
    assert table.rows([2, 0])["name"].tolist() == ["z", "x"]
    assert table.rows(np.array([True, False, True]))["count"].tolist() == [3, 2]
    assert table.rows(slice(1))["name"].tolist() == ["x"]
    assert list(table.rows([0]).columns) == list(table.columns)


def test_text_is_aligned(table):
    assert repr(table).splitlines() == [
        "name  count  value",
        "x     3      0.1235",
        "yy    10     nan",
        "z     2      1e-07",
    ]


def test_text_shows_the_first_rows_and_counts_the_rest():
    lines = repr(Table({"i": np.arange(SHOWN_ROWS + 1234)})).splitlines()
    assert lines[0] == "i"
    assert [int(line) for line in lines[1:-1]] == list(range(SHOWN_ROWS))
    assert lines[-1] == "... and 1,234 more rows"


def test_an_empty_table_shows_its_columns():
    assert repr(Table({"a": np.array([]), "b": np.array([])})) == "a  b"


def test_a_file_gives_the_same_numbers_back(table, tmp_path):
    path = tmp_path / "table.csv"
    table.to_csv(path)
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["name", "count", "value"]
    assert [row[:2] for row in rows[1:]] == [["x", "3"], ["yy", "10"], ["z", "2"]]
    assert rows[2][2] == ""
    assert [float(rows[1][2]), float(rows[3][2])] == [0.123456789, 1e-7]


def test_pandas(table):
    frame = pytest.importorskip("pandas").DataFrame(dict(table.columns))
    assert table.to_pandas().equals(frame)


def test_pandas_is_named_where_it_is_missing(table, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match="to_pandas needs pandas: install it"):
        table.to_pandas()


def test_refused_columns():
    with pytest.raises(ValueError, match=r"Columns differ in length \('a' 2, 'b' 3\)"):
        Table({"a": np.zeros(2), "b": np.zeros(3)})
    with pytest.raises(ValueError, match="Column 'a' has 2 axes"):
        Table({"a": np.zeros((2, 2))})


def test_unknown_column(table):
    with pytest.raises(KeyError, match="no column 'size': choose one of 'name', 'count', 'value'"):
        table["size"]
