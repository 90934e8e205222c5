"""Large tables, sparse, of single precision or memory-mapped, are read as they are, and fitted like arrays."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from latentsimplex import LatentSimplexPosition
from latentsimplex.base import wide_table
from latentsimplex.base.wide_table import WideTable
from latentsimplex.inputs.fingerprint import fingerprint_views
from latentsimplex.inputs.views import as_views
from latentsimplex.pairs.memory_budget import estimate_bytes, measure_size
from latentsimplex.similarity import comparisons, leading_coordinates
from latentsimplex.stages import are_mapped


@pytest.fixture
def counts():
    """Words of 300 samples, a third of them on each of three topics."""
    rng = np.random.default_rng(0)
    rates = np.full((3, 60), 0.05)
    for topic in range(3):
        rates[topic, topic * 20 : topic * 20 + 20] = 1.0
    table = rng.poisson(rates[np.arange(300) % 3]).astype(np.float32)
    table[:3, 0] += 1
    return table


@pytest.fixture
def few_are_large(monkeypatch):
    """Tables of more than 40 features and 100 samples are large, and have 40 coordinates."""
    monkeypatch.setattr(wide_table, "WIDE_ENTRIES", 1000)
    monkeypatch.setattr(wide_table, "MANY_SAMPLES", 100)
    monkeypatch.setattr(comparisons, "MOST_EXACT", 100)
    for module in (wide_table, leading_coordinates):
        monkeypatch.setattr(module, "MANY_FEATURES", 40)


def store(table, folder):
    """Return a table as a memory-mapped file."""
    np.save(folder / "table.npy", table)
    return np.load(folder / "table.npy", mmap_mode="r")


@pytest.mark.usefixtures("few_are_large")
def test_all_forms_are_fitted_alike(counts, tmp_path):
    labels = []
    for table in (counts.astype(float), counts, store(counts, tmp_path), sparse.csr_array(counts)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = LatentSimplexPosition(n_landmarks=120, n_jobs=1, random_state=0).fit([table])
        labels.append(model.labels_)
    assert len(np.unique(labels[0])) == 3
    assert all((own == labels[0]).all() for own in labels)


@pytest.mark.usefixtures("few_are_large")
def test_sparse_tables_are_made_dense_where_no_clusters_are_looked_for_in_them(counts):
    table = sparse.csr_array(counts)
    assert isinstance(as_views([table]).held_table(0), WideTable)
    with pytest.warns(UserWarning, match="made dense") as caught:
        LatentSimplexPosition.paper(max_iter=2).fit([table])
    assert [warning.filename for warning in caught if "made dense" in str(warning.message)] == [__file__]


@pytest.mark.usefixtures("few_are_large")
def test_clusters_are_looked_for_in_the_table_itself(counts, tmp_path):
    mapped = store(counts, tmp_path)
    assert are_mapped([mapped])
    assert not are_mapped([mapped, counts])
    (tmp_path / "whole").mkdir()
    assert not are_mapped(
        store(counts.astype(np.int8), tmp_path / "whole")
    )  # numbers, which are read in parts
    views = as_views([counts, mapped])
    for v, given in enumerate((counts, mapped)):
        table = views.table_of_all(v)
        assert isinstance(table, WideTable)
        assert np.shares_memory(table.X, given)
        assert isinstance(views.table(v), np.ndarray)  # as similarities that were chosen want it
        assert views[v].dtype == np.float64


def test_small_tables_of_single_precision_become_double(counts):
    views = as_views([counts])
    assert views.table_of_all(0).dtype == views[0].dtype == np.float64
    assert np.shares_memory(views.load(0), counts)


def test_data_are_the_same_in_single_and_double_precision(counts):
    single, double = (fingerprint_views(as_views([X])) for X in (counts, counts.astype(float)))
    assert single == double


def test_a_sparse_table_needs_no_memory_for_what_it_does_not_store():
    X = sparse.random_array((12_000, 9_000), density=1e-4, rng=np.random.default_rng(0))
    size = measure_size(as_views([X]), None, 10, 1, 2500, 5000)
    assert size.n_turned == size.n_placed == 12_000
    assert estimate_bytes(size, "whole") < 8 * 12_000 * 9_000
    assert estimate_bytes(size._replace(n_turned=24_000), "whole") > estimate_bytes(size, "whole")
