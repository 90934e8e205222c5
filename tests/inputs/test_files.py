"""Data files of every kind give the numbers and names that were written, and bad ones one clear sentence."""

import csv
import gzip

import numpy as np
import pytest

from latentsimplex.base import libraries
from latentsimplex.inputs import files
from latentsimplex.inputs.files import read_data
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
        ([[1, 2], ["", 4], [5, 6]], "data.csv has no number in the column 'a' of row 2: fill it in"),
        ([[1, "NA"], [3, "n/a"], [5, 6]], "in the column 'b' of row 1, the first of 2 such cells"),
        ([[1, 2], [3, "-inf"], [5, 6]], "data.csv has an infinite number in the column 'b' of row 2"),
    ],
)
def test_gaps_are_refused_with_where_they_are(tmp_path, cells, message):
    path = write_table(tmp_path / "data.csv", ["a", "b"], cells)
    with pytest.raises(ValueError, match=message):
        read_data([path])


def test_a_gap_in_any_kind_of_file_is_said_to_be_in_it(tmp_path):
    gappy = np.where(NUMBERS == 0.0, np.nan, NUMBERS)
    np.savez(tmp_path / "data.npz", left=NUMBERS, right=gappy, samples=SAMPLES)
    message = r"'right' in data\.npz has no number in the column 'x0' of sample 'bert'"
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
        ("a;b\n1;2\n3;4\n", "data.csv has a semicolon between its columns: write it with commas"),
        ("a\tb\n1\t2\n3\t4\n", "data.csv has a tab between its columns: call it .tsv"),
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


def test_commas_in_a_file_for_tabs_are_noticed(tmp_path):
    path = write_table(tmp_path / "data.tsv", ["who", *COLUMNS[:2]], [["anna", 1, 2], ["bert", 3, 4]])
    with pytest.raises(ValueError, match=r"data\.tsv has a comma between its columns: call it \.csv"):
        read_data([path])


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
    with pytest.raises(UnknownViews, match="views='colums' is unknown: choose whole, columns or a CSV file"):
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
        ({"a": np.array([[None]])}, r"not a file of NumPy arrays of numbers \(it holds Python objects\)"),
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
    np.save(tmp_path / "third.npy", NUMBERS)
    views = as_views(*read_data([first, second, tmp_path / "third.npy"]))
    assert (views.names, views.sample_names) == (["blood", "urine", "third"], SAMPLES)
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


@pytest.fixture(params=["pandas", "polars"])
def reading_library(request, monkeypatch):
    """Read parquet with one library, whichever else is installed."""
    pytest.importorskip(request.param)
    if request.param == "pandas":
        pytest.importorskip("pyarrow")
    else:
        monkeypatch.setattr(files, "find_spec", lambda name: None)
    return request.param


def test_parquet_of_pandas(tmp_path, reading_library):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame(NUMBERS, SAMPLES, COLUMNS).to_parquet(tmp_path / "a.parquet")
    assert holds(tmp_path / "a.parquet")
    pandas.DataFrame(NUMBERS, columns=COLUMNS).to_parquet(tmp_path / "b.parquet")
    assert holds(tmp_path / "b.parquet", samples=None)


def test_parquet_of_polars(tmp_path, reading_library):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"who": SAMPLES, **dict(zip(COLUMNS, NUMBERS.T, strict=True))})
    frame.write_parquet(tmp_path / "a.parquet")
    assert holds(tmp_path / "a.parquet")
    frame.drop("who").with_columns(polars.lit("x").alias("text")).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"The column 'text' of b.parquet holds something else than numbers"):
        read_data([tmp_path / "b.parquet"])


@pytest.mark.parametrize("content", [b"", b"something else", b"PAR1 something else PAR1"])
def test_parquet_that_is_damaged(tmp_path, reading_library, content):
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
    ("name", "library"), [("a.parquet", "polars"), ("a.h5ad", "anndata"), ("a.h5mu", "mudata")]
)
def test_a_library_that_is_missing_is_named_with_how_to_get_it(tmp_path, monkeypatch, name, library):
    def missing(wanted):
        raise ModuleNotFoundError(f"No module named {wanted!r}")

    (tmp_path / name).write_bytes(b"")
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    monkeypatch.setattr(libraries, "import_module", missing)
    how = r'pip install "latentsimplex\[containers\]"\.'
    with pytest.raises(ImportError, match=rf"Reading \.\w+ needs {library} \(.*\): {how}"):
        read_data([tmp_path / name])
