"""Walks on neighbour graphs: lazy, symmetric, by hand, and the same in compiled loops and for tensors."""

import math

import numpy as np
import pytest

from latentsimplex.base.condensed import unpack_pairs
from latentsimplex.similarity import Diffusion
from latentsimplex.similarity.diffusion import QUANTILE, NeighbourGraph, make_walks
from latentsimplex.similarity.distances import rank_quantile
from latentsimplex.similarity.kernel import to_single
from latentsimplex.similarity.walk_powers import LEAST_WEIGHT
from reference import naive

torch = pytest.importorskip("torch")

X = np.random.default_rng(0).normal(size=(40, 3))


def test_the_walk_is_lazy_and_symmetric_and_keeps_its_mass():
    """D^(1/2) M D^(-1/2) has rows that sum to 1, with D found from M's leading eigenvector."""
    for M in Diffusion(neighbours=4).walks(np.stack([X, X**3])):
        assert np.allclose(M, M.T)
        np.testing.assert_allclose(np.diag(M), 0.5, atol=1e-9)
        values, vectors = np.linalg.eigh(M)
        assert values[-1] == pytest.approx(1)
        root = vectors[:, -1]
        np.testing.assert_allclose((M * root / root[:, None]).sum(axis=1), 1)


def test_the_walks_of_a_kernel_are_those_of_its_graph():
    tables = np.stack([X, X**3])
    graph = NeighbourGraph(4, standardise=False, per_feature=True)
    kernel = Diffusion(neighbours=0.1, standardise=False, per_feature=True)
    assert np.array_equal(kernel.walks(tables), make_walks(tables, graph))


def test_samples_as_near_as_the_last_neighbour_are_neighbours_too():
    line = np.arange(12.0)[:, None]
    lattice = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    kernel = Diffusion(neighbours=3, mean=0.2, standardise=False)
    for data in (line, lattice):
        order = np.random.default_rng(0).permutation(len(data))
        one, other = (unpack_pairs(np.exp(-kernel.exponents(d)), 1.0) for d in (data, data[order]))
        np.testing.assert_allclose(other, one[np.ix_(order, order)], atol=1e-9)
    inner = 12  # the middle of the lattice: four nearest, though three were asked for
    for table in (lattice[None], to_single(lattice)[None]):
        joined = make_walks(table, NeighbourGraph(3, False, False))[0] > 1e-6
        assert np.flatnonzero(joined[inner]).tolist() == [7, 11, 12, 13, 17]


def walk_by_hand(data, k):
    """Return M = (I + N) / 2 of the graph of the k most similar samples, in plain loops."""
    n = len(data)
    D = [[math.dist(a, b) for b in data] for a in data]
    q = [naive.local_scale([D[i][j] for j in range(n) if j != i], quantile=QUANTILE) for i in range(n)]
    weights = np.full((n, n), LEAST_WEIGHT)
    for i in range(n):
        affinity = [math.exp(-(D[i][j] ** 2) / (q[i] * q[j])) for j in range(n)]
        for j in sorted((j for j in range(n) if j != i), key=lambda j: -affinity[j])[:k]:
            weights[i, j] = weights[j, i] = affinity[j] + LEAST_WEIGHT
    degree = weights.sum(axis=1)
    return (np.eye(n) + weights / np.sqrt(np.outer(degree, degree))) / 2


@pytest.mark.parametrize("k", [2, 5, 39])
def test_a_walk_by_hand(k):
    graph = NeighbourGraph(k, standardise=False, per_feature=False)
    np.testing.assert_allclose(make_walks(X[None], graph)[0], walk_by_hand(X, k), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("per_feature", [False, True])
@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize(("n", "p"), [(3, 1), (12, 2), (70, 1), (70, 5), (70, 9)])
def test_compiled_walks_and_those_of_tensors_are_those_of_double_precision(n, p, standardise, per_feature):
    rng = np.random.default_rng(n + p)
    data = rng.normal(size=(3, n, p)) + 3 * rng.integers(3, size=(3, n, 1))
    data[1, : n // 3] = data[1, 0]  # a pile
    if p > 1:
        data[2, :, 1] = 0.25  # a feature that tells nothing
    data, graph = to_single(data), NeighbourGraph(min(5, n - 1), standardise, per_feature)
    expected = make_walks(data.astype(np.float64), graph)
    found, of_tensors = make_walks(data, graph), make_walks(torch.as_tensor(data).double(), graph)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=2e-6)
    np.testing.assert_allclose(of_tensors.numpy(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [2, 3, 12, 40, 1000])
def test_the_rank_of_a_quantile_among_the_others(n):
    below, part, _ = rank_quantile(QUANTILE, n)
    assert isinstance(below, int)
    assert 0 <= part < 1
    others = np.sort(np.random.default_rng(n).uniform(size=n - 1))
    after = others[min(below + 1, n - 2)]
    assert others[below] + part * (after - others[below]) == pytest.approx(np.quantile(others, QUANTILE))
