"""Cells of neighbours and even selections, where there are too many samples for one each."""

import numpy as np
import pytest

from latentsimplex.plots.thinned import cut_into_cells, explain_selection, select_samples, thin_evenly


def test_cells_are_samples_as_long_as_they_are_few():
    cells = cut_into_cells(np.array([1, 0, 1, 0]), np.array([4, 3, 2, 1]), most=2)
    assert cells.order.tolist() == [3, 1, 2, 0]
    assert cells.starts.tolist() == [0, 1, 2, 3]
    assert cells.explain("cell", "samples") == ""


def test_cells_keep_to_clusters_and_every_cluster_has_one():
    labels = np.r_[np.zeros(1), np.ones(5000), np.full(15_000, 2)].astype(int)
    cells = cut_into_cells(labels, most=100)
    sizes = np.diff(np.r_[cells.starts, len(labels)])
    assert np.bincount(cells.groups).tolist() == [1, 25, 75]
    assert [sizes[cells.groups == k].sum() for k in range(3)] == [1, 5000, 15_000]
    assert set(sizes[1:]) == {200}
    assert cells.borders.tolist() == [0, 1, 26, 101]
    assert cells.explain("cell", "samples") == "20,001 samples: each cell is a mean over about 200"


def test_means_over_cells_are_those_of_their_samples():
    rng = np.random.default_rng(0)
    labels, values = rng.integers(3, size=50), rng.normal(size=(50, 2))
    cells = cut_into_cells(labels, values[:, 0], most=7)
    parts = np.split(cells.order, cells.starts[1:])
    np.testing.assert_allclose(cells.means(values), [values[part].mean(axis=0) for part in parts])


@pytest.mark.parametrize(("n", "most"), [(0, 3), (3, 3), (4, 3), (1000, 7), (5, 1)])
def test_a_thinned_order_is_even_and_keeps_its_ends(n, most):
    order = np.arange(n)[::-1]
    kept = thin_evenly(order, most)
    assert len(kept) == min(n, most)
    assert kept[:1].tolist() == order[:1].tolist()
    if most > 1:
        assert kept[-1:].tolist() == order[-1:].tolist()
    steps = np.abs(np.diff(kept))
    assert not len(steps) or np.ptp(steps) <= 1


def test_a_selection_has_its_share_of_every_cluster_and_of_sure_and_doubtful():
    labels, sureness = np.repeat([1, 0], [900, 100]), np.tile(np.linspace(0, 1, 100), 10)
    chosen = select_samples(labels, sureness, 100)
    assert len(chosen) == len(set(chosen.tolist())) == 100
    assert (chosen[0], chosen[-1]) == (900, 899)
    assert abs(np.bincount(labels[chosen]) - [10, 90]).max() <= 1
    for k in (0, 1):
        assert sureness[chosen][labels[chosen] == k].mean() == pytest.approx(0.5, abs=0.06)


def test_a_selection_says_what_it_is_of():
    assert explain_selection(10, 10) == ""
    assert explain_selection(5000, 20_000) == "5,000 of 20,000 samples, evenly selected"
