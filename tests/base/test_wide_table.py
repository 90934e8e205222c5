"""Wide tables: read in parts, an array or sparse, and the same either way."""

import numpy as np
import pytest
from scipy import sparse

from latentsimplex.base import wide_table
from latentsimplex.base.wide_table import WideTable, is_wide, join_tables

FORMS = [np.array, sparse.csc_array, sparse.csc_matrix]


@pytest.fixture
def X():
    """A table of 20 samples: features that are full, thin, constant and all 0."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(20, 60)) * (rng.random((20, 60)) < 0.05)
    table[:, :7] = rng.normal(size=(20, 7))
    table[:, 7], table[:, 8] = 3.0, 0.0
    return table


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(wide_table, "PART_ENTRIES", 20 * 5)


@pytest.mark.parametrize("form", FORMS)
def test_parts_are_the_table(X, form):
    table, found = WideTable(form(X)), np.full_like(X, np.nan)
    for features, columns in table.parts():
        assert sparse.issparse(columns) or columns.size <= 100
        found[:, features] = columns.toarray() if sparse.issparse(columns) else columns
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(table.to_dense(), X)
    assert table.find_varying().tolist() == (np.ptp(X, axis=0) > 0).tolist()


@pytest.mark.parametrize("form", FORMS)
def test_some_samples_and_features(X, form):
    rows, features = np.array([3, 1, 19]), np.array([0, 50, 7])
    found = WideTable(form(X)).take(rows, features)
    np.testing.assert_array_equal(found.to_dense(), X[rows][:, features])


def test_stored_zeros_do_not_vary():
    X = sparse.csc_array(np.eye(30, 40))
    X.data[3] = 0.0
    assert WideTable(X).find_varying().tolist() == [j < 30 and j != 3 for j in range(40)]


def test_entries_of_a_table(X):
    assert WideTable(X).count_entries() == (0, 100)
    filled = (np.count_nonzero(X, axis=0) > 2).sum()
    assert WideTable(sparse.csc_array(X)).count_entries() == (np.count_nonzero(X), min(20 * filled, 100))


def test_a_wide_table_has_more_features_than_samples_and_many_numbers(monkeypatch):
    monkeypatch.setattr(wide_table, "WIDE_ENTRIES", 50)
    assert [is_wide(np.zeros(shape)) for shape in [(5, 11), (5, 10), (11, 5), (8, 8)]] == [
        True,
        False,
        False,
        False,
    ]
    assert is_wide(sparse.csc_array((5, 11)))
    assert not is_wide(np.full((5, 11), np.nan))  # missing cells are compared otherwise


def test_tables_of_a_batch(X):
    assert join_tables([X, X]).shape == (2, 20, 60)
    assert np.shares_memory(join_tables([X]), X)
    assert join_tables([WideTable(X)]) == WideTable(X)
