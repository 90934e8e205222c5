"""Tables: columns of equal length, by row, in text, in a file and in pandas."""

import csv
import sys

import numpy as np
import pytest

from latentsimplex.base.table import SHOWN_ROWS, Table


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


def test_a_table_is_its_rows_one_by_one(table):
    rows = list(table)
    assert [row[:2] for row in rows] == [("x", 3), ("yy", 10), ("z", 2)]
    assert rows[0][2] == 0.123456789
    assert np.isnan(rows[1][2])
    assert list(Table({})) == []
    assert list(Table({"a": np.array([])})) == []


def test_a_table_of_rows_keeps_every_cell_as_it_is():
    cells = [["first", 0.5, None], ["second", 2, [1, 2]], ["third", np.nan, (3,)]]
    table = Table.from_rows(["view", "score", "any"], cells)
    assert list(table.columns) == ["view", "score", "any"]
    assert all(column.dtype == object for column in table.columns.values())
    for row, given in zip(table, cells, strict=True):
        assert all(cell is one for cell, one in zip(row, given, strict=True))


def test_a_table_of_no_rows_has_its_columns():
    table = Table.from_rows(["a", "b"], [])
    assert len(table) == 0
    assert repr(table) == "a  b"
    assert table.to_text().splitlines() == ["a  b", "-  -"]


def test_rows_with_another_number_of_cells_are_refused():
    with pytest.raises(
        ValueError,
        match=r"rows\[1\] has 1 cells and there are 2 columns: give each row one cell per column\.",
    ):
        Table.from_rows(["a", "b"], [[1, 2], [3]])


def test_all_rows_as_text_with_words_to_the_left_and_numbers_to_the_right():
    n = SHOWN_ROWS + 3
    rows = [[f"view {i}", 10.0**i, i, None if i % 2 else 0.25] for i in range(n)]
    lines = Table.from_rows(["name", "score", "count", "maybe"], rows).to_text().splitlines()
    assert len(lines) == n + 2
    assert len(set(map(len, (line for line in lines if line.endswith("0"))))) == 1
    assert lines[0].split() == ["name", "score", "count", "maybe"]
    assert set(lines[1]) == {"-", " "}
    assert lines[2] == f"view 0   {'1.000':>17}      0  0.250"
    assert lines[3] == f"view 1   {'10.000':>17}      1"  # and nothing after the last entry


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


def test_a_file_may_have_fewer_digits(table, tmp_path):
    path = tmp_path / "table.csv"
    table.to_csv(path, digits=3)
    assert path.read_bytes() == b"name,count,value\r\nx,3,0.123\r\nyy,10,\r\nz,2,1e-07\r\n"


def test_a_file_of_any_cells(tmp_path):
    path = tmp_path / "table.csv"
    rows = [["a, b", None, np.float32(0.5)], ['"', np.nan, 1 / 3], ["ü", 7, np.int64(2)]]
    Table.from_rows(["text", "maybe", "number"], rows).to_csv(path, digits=4)
    with open(path, newline="", encoding="utf-8") as file:
        found = list(csv.reader(file))
    assert found[1:] == [["a, b", "", "0.5"], ['"', "", "0.3333"], ["ü", "7", "2"]]


def test_pandas(table):
    frame = pytest.importorskip("pandas").DataFrame(dict(table.columns))
    assert table.to_pandas().equals(frame)


def test_pandas_is_named_where_it_is_missing(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
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
