"""Categories beside numbers: compared by equality, each column counting the same."""

import re
import warnings

import numpy as np
import pytest

from latentsimplex.files.data_files import read_data
from latentsimplex.inputs.mixed_columns import encode_columns
from latentsimplex.inputs.views import as_views


def encode(columns):
    return encode_columns(list(columns), list(columns.values()))


def labels(*values):
    return np.array(values, dtype=object)


def squared_differences(found, j):
    """Return the squared distances of samples in what became of one column."""
    X = found.table[:, [k for k, origin in enumerate(found.origins) if origin == j]]
    return np.square(X[:, None] - X[None]).sum(-1)


def test_numbers_alone_stay_as_they_are():
    found = encode({"a": np.array([1.0, 5.0]), "b": np.array([np.nan, 2.0])})
    assert np.array_equal(found.table, [[1, np.nan], [5, 2]], equal_nan=True)
    assert (found.names, found.origins, found.units) == (["a", "b"], None, None)


def test_each_column_counts_the_same_over_random_pairs():
    rng = np.random.default_rng(0)
    found = encode(
        {
            "size": 7 * rng.normal(size=400) + 3,
            "colour": labels("red", "blue", "green", "grey")[rng.choice(4, 400, p=[0.6, 0.2, 0.1, 0.1])],
            "sex": labels("f", "m")[rng.choice(2, 400, p=[0.9, 0.1])],
        }
    )
    assert found.names == ["size", "colour=blue", "colour=green", "colour=grey", "colour=red", "sex=m"]
    for j in range(3):
        assert squared_differences(found, j).mean() == pytest.approx(2)


def test_categories_are_compared_by_equality():
    found = encode({"colour": labels("red", "blue", "green", "red", "blue", "green")})
    squares = squared_differences(found, 0)
    equal = np.equal.outer([0, 1, 2, 0, 1, 2], [0, 1, 2, 0, 1, 2])
    assert not squares[equal].any()
    assert len(np.unique(squares[~equal].round(12))) == 1


def test_what_is_missing_is_missing_in_all_that_becomes_of_a_column():
    found = encode({"colour": labels("red", None, "blue", "green", "red", "blue", "green")})
    assert np.isnan(found.table[1]).all()
    assert not np.isnan(np.delete(found.table, 1, axis=0)).any()
    sizes = encode({"size": np.array([1.0, np.nan, 3.0]), "sex": labels("f", "m", None)}).table
    assert np.isnan(sizes).tolist() == [[False, False], [True, False], [False, True]]


def test_constant_columns_say_nothing():
    found = encode({"size": np.array([2.0, 2.0, 2.0]), "colour": labels("red", "red", "red")})
    assert not found.table.any()


def test_names_of_samples_are_no_categories():
    with pytest.raises(ValueError, match=r"'who' has 4 different texts in 5 samples.*make it the index"):
        encode({"who": labels("ann", "bob", "cid", "dan", "ann")})


def test_units_undo_the_encoding():
    sizes, colours = np.array([1.0, 4.0, 10.0, 2.0]), labels("red", "blue", "red", "blue")
    found = encode({"size": sizes, "colour": colours})
    own = found.table * found.units[0] + found.units[1]
    np.testing.assert_allclose(own, np.column_stack([sizes, colours == "red"]))


TENTHS = [f"{number:.1f}" for number in np.random.default_rng(0).integers(0, 20, 60) / 10]
TYPED = {
    "commas": [number.replace(".", ",") for number in TENTHS],
    "bounds": ["<0.3" if float(number) < 0.3 else number for number in TENTHS],
    "thousands": [f"{1000 + 100 * float(number):,.0f}".replace(",", " ") for number in TENTHS],
    "percent": [f"{number} %" for number in TENTHS],
    "words": ["unknown", *TENTHS[1:]],
}
"""Numbers as people type them."""
FIRST_UNREAD = {
    "commas": "1,7",
    "bounds": "<0.3",
    "thousands": "1 170",
    "percent": "1.7 %",
    "words": "unknown",
}
CATEGORIES = {
    "ages": ["<18", "18-30", "30-50", ">50"],
    "two": ["<18", ">=18"],
    "children": [*"0123" * 3, "3+"],
    "grades": ["1a", "1b", "2", "3"],
    "genotypes": ["0/0", "0/1", "1/1"],
    "versions": ["1.2.3", "1.2.4", "2.0.0"],
    "words": ["red", "blue"],
    "codes": [*(f"{code}.{part}" for code in range(250, 260) for part in range(2)), "V58.6"],
    "houses": [*map(str, range(1, 20)), "12a"],
}


def a_frame(library, column):
    return library.DataFrame({"size": np.arange(60.0) % 7, "marker": column})


@pytest.mark.parametrize("name", TYPED)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_numbers_that_were_typed_as_text_are_told(library, name):
    library = pytest.importorskip(library)
    said = (
        "The column 'marker' of X holds text that is nearly all numbers, with cells such as "
        f"{FIRST_UNREAD[name]!r}, and was taken as categories: turn its cells into numbers"
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(said)}"):
        as_views(a_frame(library, TYPED[name]))


@pytest.mark.parametrize("name", CATEGORIES)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_categories_are_taken_without_a_word(library, name):
    library = pytest.importorskip(library)
    as_views(a_frame(library, (CATEGORIES[name] * 60)[:60]))


def test_a_column_of_the_type_category_is_taken_without_a_word():
    pandas = pytest.importorskip("pandas")
    as_views(a_frame(pandas, pandas.Categorical(TYPED["commas"])))


def test_numbers_that_were_typed_as_text_are_told_of_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    a_frame(pandas, TYPED["commas"]).to_parquet(tmp_path / "a.parquet")
    with pytest.warns(
        UserWarning, match=r"^The column 'marker' of a\.parquet holds text that is nearly all numbers"
    ):
        read_data([tmp_path / "a.parquet"])
    a_frame(pandas, pandas.Categorical(TYPED["commas"])).to_parquet(tmp_path / "a.parquet")
    read_data([tmp_path / "a.parquet"])


def test_typed_numbers_that_differ_are_not_called_names():
    """One sentence, and no warning beside it."""
    pandas = pytest.importorskip("pandas")
    numbers = [f"{k / 7:.3f}".replace(".", ",") for k in range(60)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(
            ValueError, match=r"60 different texts in 60 samples, which are nearly all numbers"
        ):
            as_views(a_frame(pandas, numbers))
