"""Neighbours that are looked for in cells are nearly all of the nearest, whatever the data and the threads."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from latentsimplex.base.threads import Workers
from latentsimplex.neighbours import nearest_neighbours
from latentsimplex.neighbours.cell_plan import CROWDED, LARGEST_CELL
from latentsimplex.neighbours.nearest_neighbours import (
    COMPARED,
    group_into_cells,
    search_among,
    search_neighbours,
)
from latentsimplex.neighbours.neighbour_graphs import find_neighbours


def clusters(n, p, seed=0, k=20):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(k, p)) * 6 / np.sqrt(2 * p)
    return centres[rng.integers(k, size=n)] + rng.normal(size=(n, p))


def share_found(found, right):
    return np.mean([len(np.intersect1d(*rows)) / len(rows[1]) for rows in zip(found, right, strict=True)])


@pytest.mark.parametrize("p", [2, 20, 100])
def test_most_of_the_nearest_are_found(p):
    X = clusters(12_000, p)
    near = search_neighbours(X, 10)
    some = np.arange(0, len(X), 40)
    right = NearestNeighbors(n_neighbors=11, algorithm="brute").fit(X).kneighbors(X[some])[1][:, 1:]
    assert share_found(near[some], right) >= 0.95
    assert (near != np.arange(len(X))[:, None]).all()
    distances = np.linalg.norm(X[:, None] - X[near], axis=2)
    assert (np.diff(distances, axis=1) >= -1e-3).all()  # the nearest first


def test_threads_change_nothing():
    X = clusters(12_000, 5)
    with Workers(3) as workers:
        threaded = search_neighbours(X, 10, workers)
    np.testing.assert_array_equal(threaded, search_neighbours(X, 10))


def test_very_many_samples_are_searched_in_cells_and_others_compared_with_all(monkeypatch):
    calls = []
    monkeypatch.setattr(
        "latentsimplex.neighbours.neighbour_graphs.search_neighbours",
        lambda X, k, workers: calls.append(len(X)) or np.zeros((len(X), k), dtype=int),
    )
    X = np.random.default_rng(0).normal(size=(COMPARED + 1, 2))
    find_neighbours(X, 3)
    find_neighbours(X[:-1], 3)
    find_neighbours(X[:3000], 3, quickly=True)
    find_neighbours(X[:3000], 300, quickly=True)
    assert calls == [COMPARED + 1, 3000]


def test_samples_that_coincide_are_neighbours_and_crowd_no_cell():
    X = np.zeros((12_000, 3))
    X[:100] = clusters(100, 3)
    cells = group_into_cells(X, Workers(1))
    assert np.diff(cells.starts).max() <= CROWDED * LARGEST_CELL + 1
    np.testing.assert_array_equal(np.sort(cells.rows), np.arange(len(X)))
    near = search_neighbours(X, 5)
    assert (X[near[100:]] == 0).all()
    assert all(len(set(row)) == 5 for row in near[:200].tolist())


def test_digits_survive_far_from_the_origin():
    X = clusters(12_000, 2) + np.array([1e6, -1e6])
    right = search_neighbours(X - np.array([1e6, -1e6]), 5)
    assert share_found(search_neighbours(X, 5)[::50], right[::50]) > 0.99


def test_nearest_landmarks_are_those_of_all_comparisons(monkeypatch):
    X = clusters(6_000, 8)
    landmarks, others = np.arange(0, 6_000, 3), np.arange(1, 6_000, 3)
    exact = search_among(X, landmarks, others, 10)
    monkeypatch.setattr(nearest_neighbours, "COMPARED", 1_000)
    assert share_found(search_among(X, landmarks, others, 10), exact) >= 0.95
