"""Categories beside numbers: compared by equality, each column counting the same."""

import numpy as np
import pytest

from latentsimplex.inputs.mixed_columns import encode_columns


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
