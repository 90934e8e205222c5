"""A device of torch finds the neighbours that threads find, whatever the data."""

import numpy as np
import pytest

from latentsimplex.base.threads import Workers
from latentsimplex.neighbours import nearest_neighbours
from latentsimplex.neighbours.nearest_neighbours import search_among, search_neighbours

torch = pytest.importorskip("torch")

from latentsimplex.neighbours import torch_cells  # noqa: E402


def clusters(n, p, seed=0, k=20):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(k, p)) * 6 / np.sqrt(2 * p)
    return centres[rng.integers(k, size=n)] + rng.normal(size=(n, p))


def share_found(found, right):
    return np.mean([len(np.intersect1d(*rows)) / len(rows[1]) for rows in zip(found, right, strict=True)])


@pytest.mark.parametrize("p", [2, 20, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbours_are_those_of_threads(p, dtype):
    X = clusters(12_000, p).astype(dtype)
    X.flags.writeable = False
    found, expected = search_neighbours(X, 10, Workers(1, "cpu")), search_neighbours(X, 10)
    assert found.dtype == expected.dtype
    assert share_found(found, expected) >= 0.999
    assert (found != np.arange(len(X))[:, None]).all()


def test_few_samples_are_searched_by_threads(monkeypatch):
    monkeypatch.setattr(torch_cells, "search_on_device", None)
    assert search_neighbours(clusters(3_000, 2), 3, Workers(1, "cpu")).shape == (3_000, 3)


def test_samples_that_coincide_and_a_few_far_away(monkeypatch):
    monkeypatch.setattr(torch_cells, "AT_ONCE", 1 << 20)
    X = np.zeros((12_000, 3))
    X[:100] = clusters(100, 3)
    X[100:110] = 1e4 + clusters(10, 3)
    near = search_neighbours(X, 25, Workers(1, "cpu"))
    assert all(len(set(row)) == 25 for row in near.tolist())
    assert (near != np.arange(len(X))[:, None]).all()
    assert (np.sort(near[100:110, :9]) < 110).all()
    assert (X[near[110:]] == 0).all()


def test_digits_survive_far_from_the_origin():
    X = clusters(12_000, 2)
    right = search_neighbours(X, 5)
    moved = search_neighbours(X + np.array([1e6, -1e6]), 5, Workers(1, "cpu"))
    assert share_found(moved[::50], right[::50]) > 0.99


def test_nearest_landmarks_are_those_of_threads(monkeypatch):
    monkeypatch.setattr(nearest_neighbours, "COMPARED", 1_000)
    X = clusters(6_000, 8)
    landmarks, others = np.arange(0, 6_000, 3), np.arange(1, 6_000, 3)
    found = search_among(X, landmarks, others, 10, Workers(1, "cpu"))
    assert share_found(found, search_among(X, landmarks, others, 10)) >= 0.999


@pytest.mark.parametrize("m", [64, 32 * 50])
def test_the_least_of_each_row_in_order(m):
    heights = torch.rand((2, 5, m), generator=torch.Generator().manual_seed(0))
    expected = heights.sort(2).indices[:, :, :7]
    assert torch.equal(torch_cells.choose_least(heights, 7), expected)
