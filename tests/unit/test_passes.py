"""Passes over views and work on many samples, in single precision, beside NumPy and the loops of double precision."""

import numpy as np
import pytest

from latentsimplex.compute import cpu, loops, passes, tiles
from latentsimplex.compute.pairs import n_pairs
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import DIVERGENCES
from problems import KINDS

KIND = pytest.mark.parametrize("kind", KINDS)


@pytest.mark.parametrize("d", [1, 3, 4, 5, 9])
@pytest.mark.parametrize("V", [1, 2, 7, 33])
def test_products_and_sums(d, V):
    rng = np.random.default_rng(0)
    m = 4000
    F, A = rng.random((V, m), dtype=np.float32), rng.random((d, m))
    eta = rng.dirichlet(np.ones(d), V)
    with Workers(2) as workers:
        np.testing.assert_allclose(cpu.pair_products(F, A, workers), F.astype(float) @ A.T, rtol=1e-5)
        stat = np.ones((d, m))
        cpu.add_statistics(stat, eta, F, workers)
    np.testing.assert_allclose(stat, 1 + eta.T @ F, rtol=1e-5)


def test_pieces_of_views_and_pairs_make_no_difference(monkeypatch):
    rng = np.random.default_rng(0)
    F, A = rng.random((70, 3000), dtype=np.float32), rng.random((3, 3000))
    with Workers(2) as workers:
        whole = cpu.pair_products(F, A, workers)
        monkeypatch.setattr(cpu, "CHUNK_VIEWS", 6)
        np.testing.assert_array_equal(cpu.pair_products(F, A, workers), whole)
        monkeypatch.setattr(cpu, "CHUNK_PAIRS", passes.STRIP)
        np.testing.assert_allclose(cpu.pair_products(F, A, workers), whole, rtol=1e-12)


def test_views_that_do_not_follow_a_pattern_are_not_heard():
    """A share that is lost in rounding is left out, and one that is all a pattern has is not."""
    F = np.array([[1.0] * 8, [2.0] * 8], dtype=np.float32)
    stat = np.zeros((2, 8))
    passes.add_sums(F, np.array([[1.0, 1e-30], [1e-13, 3e-30]]), 0, 8, stat)
    np.testing.assert_array_equal(stat[0], 1.0)
    np.testing.assert_allclose(stat[1], 7e-30, rtol=1e-6)


def a_pattern(n, g, seed=0):
    rng = np.random.default_rng(seed)
    W = rng.dirichlet(np.full(g, 0.3), n).T
    B = np.full((g, g), 0.05) + 0.7 * np.eye(g)
    return np.ascontiguousarray(B @ W), np.ascontiguousarray(W), rng.random(n_pairs(n)) * 2


def in_single(*arrays):
    return [array.astype(np.float32) for array in arrays]


@KIND
@pytest.mark.parametrize(("n", "g"), [(2, 1), (3, 2), (4, 3), (9, 5), (1030, 2), (1031, 3)])
def test_a_tile_is_as_in_double_precision(kind, n, g):
    left, right, stat = a_pattern(n, g)
    forward = kind == "forward"
    expected, found = np.zeros((g, n)), np.zeros((g, n), dtype=np.float32)
    total = loops.row_objective(left, right, 1.5, stat, 0, n - 1, forward, expected)
    value = tiles.tile_objective(*in_single(left, right), 1.5, *in_single(stat), 0, n - 1, forward, found)
    assert value == pytest.approx(total, rel=1e-5)
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())

    A, single_A = np.empty(n_pairs(n)), np.empty(n_pairs(n), dtype=np.float32)
    h = loops.row_terms(left, right, 0, n - 1, forward, A)
    assert tiles.tile_terms(*in_single(left, right), 0, n - 1, forward, single_A) == pytest.approx(
        h, rel=1e-5
    )
    np.testing.assert_allclose(single_A, A, rtol=1e-4, atol=1e-5)


@KIND
@pytest.mark.parametrize("cut", [1, 2, 5, 6])
def test_rows_of_a_tile_add_up(kind, cut):
    left, right, stat = in_single(*a_pattern(8, 3))
    forward = kind == "forward"
    whole, parts = np.zeros((3, 8), dtype=np.float32), np.zeros((3, 8), dtype=np.float32)
    total = tiles.tile_objective(left, right, 1.0, stat, 0, 7, forward, whole)
    at = n_pairs(8) - n_pairs(8 - cut)
    sums = [
        tiles.tile_objective(left, right, 1.0, stat[:at], 0, cut, forward, parts),
        tiles.tile_objective(left, right, 1.0, stat[at:], cut, 7, forward, parts),
    ]
    assert sum(sums) == pytest.approx(total, rel=1e-5)
    np.testing.assert_allclose(parts, whole, atol=1e-5 * np.abs(whole).max())


@KIND
def test_many_samples_have_the_gradient_of_few(kind, monkeypatch):
    """The same problem in both precisions: what changes is rounding."""
    rng = np.random.default_rng(1)
    W, B = rng.dirichlet(np.ones(3), (2, 40)), np.stack([0.1 + 0.6 * np.eye(3)] * 2)
    gamma, stat = np.array([2.0, 3.0]), rng.random((2, n_pairs(40)))

    def objective():
        return cpu.pair_objective(W, B, gamma, cpu.prepared(stat), DIVERGENCES[kind], Workers(1))

    expected = objective()
    terms = cpu.pair_terms(W, B, DIVERGENCES[kind], Workers(1))
    monkeypatch.setattr(cpu, "MANY_PAIRS", 0)
    monkeypatch.setattr(cpu, "TILE_PAIRS", 0)
    assert cpu.prepared(stat).dtype == np.float32
    for found, exact in zip(objective(), expected, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-4 * np.abs(exact).max())
    for found, exact in zip(cpu.pair_terms(W, B, DIVERGENCES[kind], Workers(1)), terms, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-5)


def test_logarithms_of_single_precision():
    x = np.logspace(-9, 0, 400, dtype=np.float32)
    np.testing.assert_allclose(
        [tiles.log_of(one) for one in x], np.log(x.astype(float)), rtol=3e-6, atol=1e-7
    )
