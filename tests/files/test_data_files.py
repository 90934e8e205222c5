"""Data files of every kind give the numbers and names that were written, and bad ones one clear sentence."""

import csv
import gzip
import re

import numpy as np
import pytest

from latentsimplex.base import libraries
from latentsimplex.files.data_files import read_data
from latentsimplex.inputs.column_roles import ColumnRoles
from latentsimplex.inputs.named_table import UnknownViews
from latentsimplex.inputs.views import as_views

NUMBERS = np.array([[1.5, -2.0, 1e-7], [0.0, 3.25, 4.0], [7.0, 8.0, 1e12]])
COLUMNS = ["age", "height", "the weight, in kg"]
SAMPLES = ["anna", "bert", "carla"]


def write_table(path, header, rows, delimiter=","):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows([header, *rows])
    return path


def named_rows():
    return [[name, *row] for name, row in zip(SAMPLES, NUMBERS.tolist(), strict=True)]


def holds(path, columns=COLUMNS, samples=SAMPLES):
    ((name, table),) = read_data([path]).data.items()
    assert name == path.stem
    np.testing.assert_array_equal(table.to_numpy(), NUMBERS)
    assert (table.columns, table.index) == (columns, samples)
    return True


# Text


@pytest.mark.parametrize(("suffix", "delimiter"), [("csv", ","), ("tsv", "\t"), ("CSV", ",")])
def test_text_with_sample_names(tmp_path, suffix, delimiter):
    path = write_table(tmp_path / f"data.{suffix}", ["who", *COLUMNS], named_rows(), delimiter)
    assert holds(path)


def test_text_without_sample_names(tmp_path):
    path = write_table(tmp_path / "data.csv", COLUMNS, NUMBERS.tolist())
    assert holds(path, samples=None)


@pytest.mark.parametrize("name", ["", "Sample", "id"])
def test_a_first_column_of_numbers_names_samples_where_its_name_says_so(tmp_path, name):
    rows = [[i, *row] for i, row in enumerate(NUMBERS.tolist())]
    path = write_table(tmp_path / "data.csv", [name, *COLUMNS], rows)
    assert holds(path, samples=["0", "1", "2"])


def test_row_names_as_r_writes_them(tmp_path):
    path = write_table(tmp_path / "data.tsv", COLUMNS, named_rows(), "\t")
    assert holds(path)


def test_text_of_pandas_and_of_a_spreadsheet(tmp_path):
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame(NUMBERS, SAMPLES, COLUMNS).to_csv(tmp_path / "a.csv")
    assert holds(tmp_path / "a.csv")
    text = (tmp_path / "a.csv").read_text() + "\n\n"
    (tmp_path / "b.csv").write_text(text.replace("\n", "\r\n"), encoding="utf-8-sig", newline="")
    assert holds(tmp_path / "b.csv")


def test_a_table_of_unnamed_columns_as_pandas_writes_it(tmp_path):
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame(NUMBERS).to_csv(tmp_path / "a.csv")
    assert holds(tmp_path / "a.csv", columns=["0", "1", "2"], samples=["0", "1", "2"])
    pandas.DataFrame(NUMBERS).to_csv(tmp_path / "b.csv", index=False)
    assert holds(tmp_path / "b.csv", columns=["0", "1", "2"], samples=None)


def test_columns_may_be_called_by_whole_numbers(tmp_path):
    path = write_table(tmp_path / "data.csv", ["patient", 2001, 2002, 2010], named_rows())
    assert holds(path, columns=["2001", "2002", "2010"])


@pytest.mark.parametrize(("suffix", "delimiter"), [("csv.gz", ","), ("TSV.GZ", "\t")])
def test_text_that_is_compressed(tmp_path, suffix, delimiter):
    plain = write_table(tmp_path / "plain", ["who", *COLUMNS], named_rows(), delimiter)
    path = tmp_path / f"data.{suffix}"
    path.write_bytes(gzip.compress(plain.read_bytes()))
    ((name, table),) = read_data([path]).data.items()
    assert (name, table.columns, table.index) == ("data", COLUMNS, SAMPLES)
    np.testing.assert_array_equal(table.to_numpy(), NUMBERS)


def test_compressed_text_that_is_cut_or_no_such_thing(tmp_path):
    plain = write_table(tmp_path / "plain", ["who", *COLUMNS], named_rows() * 100)
    content = gzip.compress(plain.read_bytes())
    damaged = content[:40] + bytes(30) + content[70:]
    for name, bad in {"cut": content[:-20], "text": b"a,b\n1,2\n", "damaged": damaged}.items():
        path = tmp_path / f"{name}.csv.gz"
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=rf"{name}\.csv\.gz is not a whole gzip file"):
            read_data([path])


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            [[1, 2], ["", 4], [5, 6]],
            "data.csv has nothing in the column 'a' of row 2: fit with --missing pairwise to compare",
        ),
        ([[1.5, "NA"], [3, "n/a"], [5, 6]], "in the column 'b' of row 1, the first of 2 such cells"),
        (
            [[1.5, 2], [3, "-inf"], [5, 6]],
            "data.csv has an infinite number in the column 'b' of row 2: replace",
        ),
    ],
)
def test_gaps_are_refused_with_where_they_are(tmp_path, cells, message):
    path = write_table(tmp_path / "data.csv", ["a", "b"], cells)
    with pytest.raises(ValueError, match=message):
        read_data([path])


def test_a_gap_in_any_kind_of_file_is_said_to_be_in_it(tmp_path):
    gappy = np.where(NUMBERS == 0.0, np.nan, NUMBERS)
    np.savez(tmp_path / "data.npz", left=NUMBERS, right=gappy, samples=SAMPLES)
    message = r"'right' in data\.npz has nothing in the column 'x0' of sample 'bert'"
    with pytest.raises(ValueError, match=message):
        read_data([tmp_path / "data.npz"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no samples"),
        ("a,b\n", "has no samples"),
        ("1,2\n3,4\n", "begins with a line of numbers"),
        ("anna,1.5,2\nbert,3,4\n", "begins with a line of numbers"),
        ("1\n2\n", "begins with a line of numbers"),
        ("1,5;2,5\n3;4\n", "begins with a line of numbers"),
        ("a;b, c\n1;2,5\n3;4\n", "The first line of data.csv has commas and semicolons: put quotes"),
        ("id;b;c\n1;1.5;2\n2;1,5;3\n", "data.csv has points and commas in its numbers"),
        ("a;b;c\n1;1.234,5;2\n2;1;3\n", "Line 2 of data.csv has '1.234.5' in the column 'b'"),
        ("a\tb\n1\t1,5\n2\t2\n", "Line 2 of data.csv has '1,5' in the column 'b'"),
        ("who\nanna\nbert\n", "data.csv has no columns of numbers"),
        ("a,b\n1,2\n3\n", "Line 3 of data.csv has 1 cells, the first line 2"),
        ("a,b\n1,2\n\n\n3,four\n", "Line 5 of data.csv has 'four' in the column 'b'"),
        ("a,b\n1,\x00\n", "data.csv"),
    ],
)
def test_text_that_is_no_table_is_one_sentence(tmp_path, text, message):
    (tmp_path / "data.csv").write_text(text)
    with pytest.raises(ValueError, match=message) as raised:
        read_data([tmp_path / "data.csv"])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("kind", ["csv", "tsv"])
@pytest.mark.parametrize(
    "text",
    [
        "who,age,size\nanna,1.5,2\nbert,3,4\n",
        "who\tage\tsize\nanna\t1.5\t2\nbert\t3\t4\n",
        "who;age;size\nanna;1.5;2\nbert;3;4\n",
        "who;age;size\nanna;1,5;2\nbert;3;4,0\n",
        '"who";"age";"size"\n"anna";1,5;2\n"bert";3;4\n',
        "age;size\nanna;1,5;2\nbert;3;4\n",
    ],
)
def test_the_first_line_tells_what_stands_between_columns(tmp_path, kind, text):
    path = tmp_path / f"data.{kind}"
    path.write_text(text)
    table = read_data([path]).data["data"]
    assert (table.values.tolist(), table.index) == ([[1.5, 2.0], [3.0, 4.0]], ["anna", "bert"])
    assert table.columns == ["age", "size"]


def test_names_of_columns_may_hold_the_other_mark(tmp_path):
    (tmp_path / "a.csv").write_text("who,P1;P2;P3;P4,P5\nanna,1,2\nbert,3,4\n")
    assert read_data([tmp_path / "a.csv"]).data["a"].columns == ["P1;P2;P3;P4", "P5"]
    (tmp_path / "b.csv").write_text("who;size, in m;age\nanna;1,5;2,5\nbert;3;4\n")
    assert read_data([tmp_path / "b.csv"]).data["b"].columns == ["size, in m", "age"]
    (tmp_path / "c.tsv").write_text("who\tsize, in m; about\nanna\t1.5\nbert\t3\n")
    assert read_data([tmp_path / "c.tsv"]).data["c"].columns == ["size, in m; about"]


# Which column names the samples


def test_whole_numbers_that_differ_are_taken_as_names_with_a_warning(tmp_path):
    path = write_table(tmp_path / "a.csv", ["number", "x"], [[103, 1.5], [101, 2], [102, 3]])
    with pytest.warns(
        UserWarning, match="'number' of a.csv .* say --index number to confirm it, or --no-index"
    ):
        table = read_data([path]).data["a"]
    assert (table.columns, table.index) == (["x"], ["103", "101", "102"])
    for roles in (ColumnRoles(index="number"), ColumnRoles(no_index=True), ColumnRoles(drop=("number",))):
        table = read_data([path], roles=roles).data["a"]
        assert table.index == (["103", "101", "102"] if roles.index else None)
        assert table.columns == (["number", "x"] if roles.no_index else ["x"])


@pytest.mark.parametrize("first", [[1, 1, 2], [1.5, 2, 3]])
def test_other_numbers_are_a_feature(tmp_path, first):
    path = write_table(tmp_path / "a.csv", ["a", "b"], [[cell, 0.5] for cell in first])
    assert read_data([path]).data["a"].columns == ["a", "b"]


def test_one_column_alone_is_a_feature(tmp_path):
    path = write_table(tmp_path / "a.csv", ["a"], [[1], [2], [3]])
    assert read_data([path]).data["a"].columns == ["a"]


@pytest.mark.parametrize("header", ["patient_id", "PatientID", "subject id", "ID", "Patient"])
def test_a_name_that_says_so_needs_no_warning(tmp_path, header):
    path = write_table(tmp_path / "a.csv", [header, "x"], [[7, 1], [9, 2], [8, 3]])
    assert read_data([path]).data["a"].index == ["7", "9", "8"]


def test_a_typo_does_not_turn_numbers_into_names(tmp_path):
    rows = [[30.5, 1], ["3l", 2], [32, 3]]
    path = write_table(tmp_path / "a.csv", ["age", "x"], rows)
    message = r"Line 3 of a\.csv has '3l' in the column 'age', which also holds numbers: correct it, or say --index age"
    with pytest.raises(ValueError, match=message):
        read_data([path])
    assert read_data([path], roles=ColumnRoles(index="age")).data["a"].index == ["30.5", "3l", "32"]


def test_what_looks_like_a_number_to_python_alone_is_text(tmp_path):
    path = write_table(tmp_path / "a.csv", ["who", "x"], [["1_1", 1], ["1_2", 2]])
    assert read_data([path]).data["a"].index == ["1_1", "1_2"]
    path = write_table(tmp_path / "b.csv", ["who", "x"], [["a", "1_0"], ["b", 2]])
    with pytest.raises(ValueError, match="'1_0' in the column 'x', which is not a number"):
        read_data([path])


def test_a_count_of_rows_gives_way_to_ids(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"patient_id": [7, 9, 8], "x": [1.0, 2.0, 3.0]})
    frame.to_csv(tmp_path / "a.csv")
    assert (table := read_data([tmp_path / "a.csv"]).data["a"]).index == ["7", "9", "8"]
    assert table.columns == ["x"]
    frame.iloc[::-1].to_parquet(tmp_path / "b.parquet")
    assert (table := read_data([tmp_path / "b.parquet"]).data["b"]).index == ["8", "9", "7"]
    assert table.columns == ["x"]


def test_ids_elsewhere_are_said_to_be_a_feature(tmp_path):
    path = write_table(tmp_path / "a.csv", ["", "x", "sample_id"], [[0, 1.5, 7], [1, 2.5, 9]])
    with pytest.warns(
        UserWarning, match="'sample_id' of a.csv was taken as a feature: say --index sample_id"
    ):
        read_data([path])
    table = read_data([path], roles=ColumnRoles(index="sample_id")).data["a"]
    assert (table.columns, table.index) == (["x"], ["7", "9"])


def test_text_columns_can_be_left_out(tmp_path):
    path = write_table(tmp_path / "a.csv", ["id", "x", "sex"], [[7, 1.5, "f"], [9, 2.5, "m"]])
    assert read_data([path]).data["a"].values.tolist() == [[1.5, "f"], [2.5, "m"]]
    assert read_data([path], roles=ColumnRoles(drop=("sex",))).data["a"].columns == ["x"]


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (ColumnRoles(index="who"), "--index who: a.csv has no such column but 'id', 'x'; choose one of them"),
        (ColumnRoles(drop=("y",)), "--drop y: no file has such a column or array"),
    ],
)
def test_columns_that_are_not_there_are_refused(tmp_path, roles, message):
    path = write_table(tmp_path / "a.csv", ["id", "x"], [[7, 1.5], [9, 2.5]])
    with pytest.raises(UnknownViews, match=message):
        read_data([path], roles=roles)


def test_columns_are_of_tables_alone(tmp_path):
    np.save(tmp_path / "a.npy", NUMBERS)
    with pytest.raises(UnknownViews, match="--drop is for"):
        read_data([tmp_path / "a.npy"], roles=ColumnRoles(drop=("x0",)))


def test_files_with_integer_ids_are_matched_by_them(tmp_path):
    """In any order, in any format, as whole numbers or as what programs make of them."""
    pandas = pytest.importorskip("pandas")
    ids, rng = np.array([12, 7, 30, 4]), np.random.default_rng(0)
    x = rng.normal(size=4)
    frame = pandas.DataFrame({"number": ids, "x": x, "more": 1})
    orders = [rng.permutation(4) for _ in range(4)]
    frame.iloc[orders[0]].to_csv(tmp_path / "a.csv", index=False)
    frame.iloc[orders[1]].to_csv(tmp_path / "b.tsv", index=False, sep="\t")
    frame.iloc[orders[2]].astype(float).to_parquet(tmp_path / "c.parquet", index=False)
    frame.iloc[orders[3]].to_csv(tmp_path / "d.csv", index=False, sep=";", decimal=",")
    paths = [tmp_path / name for name in ("a.csv", "b.tsv", "c.parquet", "d.csv")]
    views = as_views(*read_data(paths, roles=ColumnRoles(index="number", drop=("more",))))
    assert views.sample_names == [str(name) for name in ids[orders[0]]]
    for view in views:
        np.testing.assert_allclose(view[:, 0], x[orders[0]], rtol=1e-12)
    with pytest.warns(UserWarning, match="number"):
        again = as_views(*read_data(paths))
    np.testing.assert_array_equal(again[1], again[3])


def test_samples_of_one_name_are_warned_of(tmp_path):
    path = write_table(tmp_path / "data.csv", ["who", *COLUMNS], [*named_rows(), named_rows()[0]])
    with pytest.warns(UserWarning, match=r"Several samples of data\.csv are called 'anna'"):
        assert len(read_data([path]).data["data"].index) == 4


def test_views_of_one_name_are_warned_of(tmp_path):
    path = write_table(tmp_path / "data.csv", ["who", "age", "age", "height"], named_rows())
    read_data([path])
    with pytest.warns(UserWarning, match=r"Several columns of data\.csv are called 'age'"):
        assert as_views(*read_data([path], "columns")).names == ["age", "age", "height"]


def test_text_in_another_encoding_is_refused(tmp_path):
    (tmp_path / "data.csv").write_bytes("höhe,b\n1,2\n".encode("latin-1"))
    with pytest.raises(ValueError, match="not text in UTF-8"):
        read_data([tmp_path / "data.csv"])


# How a table is cut


@pytest.fixture
def table_file(tmp_path):
    return write_table(tmp_path / "data.csv", ["who", *COLUMNS], named_rows())


def test_columns_are_views(table_file):
    views = as_views(*read_data([table_file], "columns"))
    assert (views.names, views.sample_names, views.widths) == (COLUMNS, SAMPLES, [1, 1, 1])


def test_groups_come_from_a_file_in_any_order(table_file, tmp_path):
    groups = write_table(
        tmp_path / "groups.csv",
        ["column", "view"],
        [[COLUMNS[2], "body"], ["age", "time"], ["height", "body"]],
    )
    views = as_views(*read_data([table_file], str(groups)))
    assert (views.names, views.widths) == (["time", "body"], [1, 2])
    np.testing.assert_array_equal(views[1], NUMBERS[:, 1:])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([["age", "a"], ["height", "b"]], "gives no view for the column 'the weight, in kg' of data.csv"),
        ([["agee", "a"]], "names a column 'agee' that data.csv does not have"),
        ([["age", "a", "b"]], "Line 2 of groups.csv has 3 cells"),
    ],
)
def test_groups_that_do_not_match_are_refused(table_file, tmp_path, lines, message):
    groups = write_table(tmp_path / "groups.csv", ["column", "view"], lines)
    with pytest.raises(ValueError, match=message):
        read_data([table_file], str(groups))


def test_an_unknown_cut_is_refused(table_file):
    with pytest.raises(
        UnknownViews, match="views='colums' is unknown: choose whole, columns, discover or a CSV file"
    ):
        read_data([table_file], "colums")


# NumPy


def test_each_array_of_an_archive_is_a_view(tmp_path):
    np.savez(tmp_path / "data.npz", left=NUMBERS, right=NUMBERS[:, :1].astype(int), samples=SAMPLES)
    views = as_views(*read_data([tmp_path / "data.npz"]))
    assert (views.names, views.widths, views.sample_names) == (["left", "right"], [3, 1], SAMPLES)
    np.testing.assert_array_equal(views[0], NUMBERS)


@pytest.mark.parametrize("name", ["data.npy", "data.npz"])
def test_three_axes_are_views(tmp_path, name):
    stacked = np.arange(24.0).reshape(2, 4, 3)
    (np.save if name.endswith("y") else np.savez)(tmp_path / name, stacked)
    views = as_views(*read_data([tmp_path / name]))
    assert (len(views), views.n_samples, views.widths) == (2, 4, [3, 3])
    np.testing.assert_array_equal(views[1], stacked[1])


def test_three_axes_with_sample_names(tmp_path):
    np.savez(tmp_path / "data.npz", np.arange(24.0).reshape(2, 3, 4), samples=SAMPLES)
    views = as_views(*read_data([tmp_path / "data.npz"]))
    assert (views.names, views.sample_names) == (["view0", "view1"], SAMPLES)


def test_the_content_of_a_file_counts_not_which_of_numpys_names_it_has(tmp_path):
    with open(tmp_path / "data.npz", "wb") as file:
        np.save(file, NUMBERS)
    with open(tmp_path / "data.npy", "wb") as file:
        np.savez(file, left=NUMBERS, right=NUMBERS)
    assert as_views(*read_data([tmp_path / "data.npz"])).widths == [3]
    assert as_views(*read_data([tmp_path / "data.npy"])).names == ["left", "right"]


@pytest.mark.parametrize("name", ["data.npy", "data.npz"])
def test_one_table_of_numpy_can_be_cut(tmp_path, name):
    (np.save if name.endswith("y") else np.savez)(tmp_path / name, NUMBERS)
    assert as_views(*read_data([tmp_path / name], "columns")).names == ["x0", "x1", "x2"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": NUMBERS, "labels": np.arange(3)}, "'labels' in data.npz has 1 axis and a view has two"),
        ({"a": NUMBERS, "b": np.zeros((2, 3, 1))}, "'b' in data.npz has three axes and is not alone"),
        ({"a": np.array([["x", "y"]])}, "holds <U1 values"),
        (
            {"a": np.array([[None]])},
            r"not a file of NumPy arrays that can be read \('a' holds Python objects, and --drop a leaves",
        ),
        ({"a": NUMBERS, "samples": SAMPLES[:2]}, "'a' in data.npz has 3 rows and samples has 2 names"),
        ({}, "holds no arrays"),
    ],
)
def test_an_archive_of_something_else_is_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "data.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        read_data([tmp_path / "data.npz"])


@pytest.mark.parametrize("name", ["data.npy", "data.npz"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 something", b"something else"])
def test_a_file_that_is_not_numpy_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name} is not a file of NumPy arrays"):
        read_data([tmp_path / name])


def test_views_cannot_be_cut_again(tmp_path):
    np.savez(tmp_path / "data.npz", left=NUMBERS, right=NUMBERS)
    with pytest.raises(ValueError, match=r"cuts one table, but data.npz holds several views"):
        read_data([tmp_path / "data.npz"], "columns")


# Several files


def test_each_file_is_a_view_with_samples_in_the_order_of_the_first(tmp_path):
    first = write_table(tmp_path / "blood.csv", ["who", *COLUMNS], named_rows())
    second = write_table(tmp_path / "urine.tsv", ["who", *COLUMNS], named_rows()[::-1], "\t")
    views = as_views(*read_data([first, second]))
    assert (views.names, views.sample_names) == (["blood", "urine"], SAMPLES)
    for view in views:
        np.testing.assert_array_equal(view, NUMBERS)


def test_files_with_other_samples_are_refused(tmp_path):
    first = write_table(tmp_path / "a.csv", ["who", *COLUMNS], named_rows())
    second = write_table(tmp_path / "b.csv", ["who", *COLUMNS], named_rows()[:2])
    for paths in ([first, second], [second, first]):
        with pytest.raises(ValueError, match="b lacks 1 of the 3 samples of a, such as 'carla'"):
            read_data(paths)


@pytest.mark.parametrize(
    ("names", "views", "message"),
    [
        (["a.csv", "folder/a.csv"], "whole", "Two files are called 'a'"),
        (["a.csv", "b.csv"], "columns", "2 files were given: each is a view"),
        (["a.csv", "two.npz"], "whole", "two.npz holds several views"),
        (
            ["a.xlsx"],
            "whole",
            r"a.xlsx is of no known kind: give .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .npy, .npz, .h5ad, .h5mu",
        ),
    ],
)
def test_files_that_do_not_go_together(tmp_path, names, views, message):
    (tmp_path / "folder").mkdir()
    for name in ["a.csv", "b.csv", "folder/a.csv", "a.xlsx"]:
        write_table(tmp_path / name, ["who", *COLUMNS], named_rows())
    np.savez(tmp_path / "two.npz", left=NUMBERS, right=NUMBERS)
    with pytest.raises(ValueError, match=message):
        read_data([tmp_path / name for name in names], views)


def test_a_folder_is_said_to_be_one(tmp_path):
    (tmp_path / "data.csv").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder: give the files in it"):
        read_data([tmp_path / "data.csv"])


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_data([tmp_path / "nowhere.csv"])


# Parquet


def test_parquet_of_pandas(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame(NUMBERS, SAMPLES, COLUMNS).to_parquet(tmp_path / "a.parquet")
    assert holds(tmp_path / "a.parquet")
    pandas.DataFrame(NUMBERS, columns=COLUMNS).to_parquet(tmp_path / "b.parquet")
    assert holds(tmp_path / "b.parquet", samples=["0", "1", "2"])
    pandas.DataFrame(NUMBERS, range(5, 8), COLUMNS).to_parquet(tmp_path / "c.parquet")
    assert holds(tmp_path / "c.parquet", samples=["5", "6", "7"])
    index = pandas.MultiIndex.from_product([["a"], [1, 2, 3]])
    pandas.DataFrame(NUMBERS, index, COLUMNS).to_parquet(tmp_path / "d.parquet")
    assert holds(tmp_path / "d.parquet", samples=["('a', 1)", "('a', 2)", "('a', 3)"])
    pandas.DataFrame(NUMBERS, [4, 1, 2], COLUMNS).rename_axis("number").to_parquet(tmp_path / "e.parquet")
    assert holds(tmp_path / "e.parquet", samples=["4", "1", "2"])


def test_parquet_of_polars(tmp_path):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"who": SAMPLES, **dict(zip(COLUMNS, NUMBERS.T, strict=True))})
    frame.write_parquet(tmp_path / "a.parquet")
    assert holds(tmp_path / "a.parquet")
    frame.drop("who").with_columns(polars.lit("x").alias("text")).write_parquet(tmp_path / "b.parquet")
    table = read_data([tmp_path / "b.parquet"]).data["b"]
    assert table.columns[-1] == "text"
    assert table.values[:, -1].tolist() == ["x"] * len(NUMBERS)
    assert table.values[:, :-1].astype(float).tolist() == NUMBERS.tolist()


@pytest.mark.parametrize("kind", ["datetime64[us]", "timedelta64[us]"])
def test_dates_in_parquet_are_no_numbers(tmp_path, kind):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"id": [1, 2], "x": [0.5, 1.5], "when": np.array([1, 2], kind)})
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(
        ValueError, match=r"'when' of a\.parquet holds values of the type (timestamp|duration)"
    ):
        read_data([tmp_path / "a.parquet"])


def test_whatever_numbers_parquet_has(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    columns = {
        "id": [3, 1],
        "flag": [True, False],
        "small": np.array([1, 2], "int8"),
        "half": np.array([1, 2], "f2"),
    }
    pandas.DataFrame({**columns, "whole": pandas.array([5, 6], "Int64")}).to_parquet(tmp_path / "a.parquet")
    assert read_data([tmp_path / "a.parquet"]).data["a"].values.tolist() == [[1, 1, 1, 5], [0, 2, 2, 6]]


@pytest.mark.parametrize("content", [b"", b"something else", b"PAR1 something else PAR1"])
def test_parquet_that_is_damaged(tmp_path, content):
    (tmp_path / "a.parquet").write_bytes(content)
    message = r"a\.parquet is not a parquet file that can be read \(.*\): write it again\."
    with pytest.raises(ValueError, match=message) as raised:
        read_data([tmp_path / "a.parquet"])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("kind", "library"), [("h5ad", "anndata"), ("h5mu", "mudata")])
@pytest.mark.parametrize("content", [b"", b"something else", b"\x89HDF\r\n\x1a\n something else"])
def test_a_container_that_is_damaged(tmp_path, kind, library, content):
    pytest.importorskip(library)
    path = tmp_path / f"a.{kind}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"a\.{kind} is not a file of {library} that can be read") as raised:
        read_data([path])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "library"), [("a.parquet", "pyarrow"), ("a.h5ad", "anndata"), ("a.h5mu", "mudata")]
)
def test_a_library_that_is_missing_is_named_with_how_to_get_it(tmp_path, monkeypatch, name, library):
    def missing(wanted):
        raise ModuleNotFoundError(f"No module named {wanted!r}")

    (tmp_path / name).write_bytes(b"")
    monkeypatch.setattr(libraries, "import_module", missing)
    how = r'pip install "latentsimplex\[containers\]"\.'
    with pytest.raises(ImportError, match=rf"Reading \.\w+ needs {library} \(.*\): {how}"):
        read_data([tmp_path / name])


# Words and missing cells in text


def test_columns_of_words_are_categories(tmp_path):
    (tmp_path / "a.csv").write_text("id,size,colour\n7,1.5,\n9,,red\n8,2.5,blue\n")
    with pytest.raises(
        ValueError, match=r"nothing in the column 'colour' of sample '7', the first of 2 such cells"
    ):
        read_data([tmp_path / "a.csv"])
    table = read_data([tmp_path / "a.csv"], missing="pairwise").data["a"]
    assert table.index == ["7", "9", "8"]
    assert table.values[:, 1].tolist() == [None, "red", "blue"]
    assert np.array_equal(table.values[:, 0].astype(float), [1.5, np.nan, 2.5], equal_nan=True)


def test_words_may_have_commas_where_numbers_have_them(tmp_path):
    (tmp_path / "a.csv").write_text("id;size;note\n7;1,5;St. Ann, west\n9;2,5;east\n")
    table = read_data([tmp_path / "a.csv"]).data["a"]
    assert table.values.tolist() == [[1.5, "St. Ann, west"], [2.5, "east"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,x\n1,2.5\n2,red\n", "Line 3 of a.csv has 'red' in the column 'x', which is not a number"),
        ("id,x\n1,red\n2,2.5\n", "Line 3 of a.csv has '2.5' in the column 'x', which holds words before"),
        ("id,x\n1,12:30\n2,12:45\n", "Line 2 of a.csv has '12:30' in the column 'x', which is not a number"),
    ],
)
def test_numbers_and_words_in_one_column_are_a_mistake(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_data([tmp_path / "a.csv"])


def test_arrays_may_be_left_out(tmp_path):
    classes = np.array(["a", None, "b"], dtype=object)
    for y in (classes, np.arange(3)):
        np.savez(tmp_path / "data.npz", left=NUMBERS, right=NUMBERS, y=y)
        with pytest.raises(
            ValueError, match=r"(leave it out with --drop y if it is labels|and --drop y leaves it out)"
        ):
            read_data([tmp_path / "data.npz"])
        found = as_views(*read_data([tmp_path / "data.npz"], roles=ColumnRoles(drop=("y",))))
        assert found.names == ["left", "right"]
    for roles, message in (
        (ColumnRoles(drop=("y", "z")), "--drop z: no file has such a column or array"),
        (ColumnRoles(index="y"), "--index and --no-index are for .csv, .tsv and .parquet"),
    ):
        with pytest.raises(UnknownViews, match=message):
            read_data([tmp_path / "data.npz"], roles=roles)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "s|a|b\np|1|2\n",
            "was read as one column, 's|a|b', and seems to have vertical bars between columns: put",
        ),
        (
            "s a b\np 1  2\n",
            "was read as one column, 's a b', and seems to have spaces between columns: put commas",
        ),
        ("a b\np 1 2\n", "was read as one column, 'a b', and seems to have spaces between columns"),
        (
            '"s;a"\n"p;1,5"\n',
            "and seems to have semicolons between columns: take away the quotes around its lines",
        ),
        (
            "s,a,b\np;1.5;2.5\n",
            "has commas between columns, and line 2 seems to have semicolons: put commas in every",
        ),
        (
            "s;a;b\np\t1\t2\n",
            "has semicolons between columns, and line 2 seems to have tabs: put semicolons in",
        ),
        (
            "s\ta\tb\np,1,2\n",
            "has tabs between columns, and line 2 seems to have commas: put tabs in every line",
        ),
        ("time\n10:30\n", "has no columns of numbers"),
    ],
)
def test_separators_that_are_not_read_are_named(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=re.escape(message)):
        read_data([tmp_path / "a.csv"])
