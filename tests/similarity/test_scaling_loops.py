"""The parts of local scaling in compiled loops, against NumPy."""

import numpy as np
import pytest

from latentsimplex.similarity import _scaling_loops as loops
from latentsimplex.similarity.distances import rank_quantile
from latentsimplex.similarity.kernel import to_single


def tables(n, p, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) + 3 * rng.integers(2, size=(n, 1))


@pytest.mark.parametrize("seed", range(20))
def test_numbers_in_order(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    bits = (
        rng.integers(-5, 6, n, dtype=np.int32)
        if seed % 2
        else rng.integers(-(2**31), 2**31, n, dtype=np.int32)
    )
    if seed % 3 == 0:
        bits[0], bits[-1] = -(2**31), 2**31 - 1
    for near in (0, 0x3F800000, -(2**31), 2**31 - 1, int(bits[0])):
        assert [loops.select_kth(bits, k, near) for k in range(n)] == np.sort(bits).tolist()


@pytest.mark.parametrize("seed", range(10))
def test_bandwidths_are_quantiles(seed):
    rng = np.random.default_rng(seed)
    others = (
        rng.integers(1, 6, (4, 30)) if seed % 2 else rng.random((4, 30)) * 10.0 ** rng.integers(-3, 4, (4, 1))
    )
    rows = np.insert(others, 0, 0.0, axis=1).astype(np.float32)
    below, part = divmod(0.3 * 29, 1)
    q = np.empty(4)
    loops.write_bandwidths(rows, int(below), part, 0.3, q)
    np.testing.assert_allclose(q, np.quantile(rows[:, 1:], 0.3, axis=1), rtol=1e-6)


def test_the_bandwidth_of_a_pile_is_a_share_of_the_way_out():
    rows = np.array([[0, 0, 0, 0, 0, 0, 4, 8], np.zeros(8)], dtype=np.float32)
    q = np.empty(2)
    loops.write_bandwidths(rows, 1, 0.5, 0.3, q)
    np.testing.assert_allclose(q, [1.2, 1.0])


@pytest.mark.parametrize("seed", range(12))
def test_bandwidths_on_a_line_are_those_of_distances(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    X = rng.normal(size=(n, 1)).astype(np.float32)
    X = [X, X.round(), np.zeros_like(X), X.round(1)][seed % 4]
    distances, q, expected = np.empty((n, n), dtype=np.float32), np.empty(n), np.empty(n)
    below, part, share = rank_quantile(0.3, n)
    loops.write_distances(X, 4, 0, n, distances)
    loops.write_bandwidths(distances, below, part, share, expected)
    loops.write_line_bandwidths(X[:, 0].copy(), below, part, share, q)
    np.testing.assert_array_equal(q, expected)


@pytest.mark.parametrize("n", [1, 2, 3, 40, 500])
def test_numbers_are_sorted_with_where_they_stood(n):
    given = np.random.default_rng(n).integers(0, n, n).astype(np.float32)
    found, order = np.empty_like(given), np.empty(n, dtype=np.int64)
    loops.sort_numbers(given, found, order)
    assert np.array_equal(found, np.sort(given))
    assert np.array_equal(given[order], found)
    assert np.array_equal(np.sort(order), np.arange(n))


@pytest.mark.parametrize("p", [1, 4, 5, 30])
def test_distances(p):
    X = to_single(tables(20, p))
    found = np.empty((20, 20), dtype=np.float32)
    loops.write_distances(X, 4, 0, 20, found)
    np.testing.assert_allclose(found, np.linalg.norm(X[:, None] - X, axis=-1), rtol=1e-5, atol=1e-6)
    part = np.empty((8, 20), dtype=np.float32)
    loops.write_distances(X, 4, 5, 12, part)
    np.testing.assert_array_equal(part[:7], found[5:12])


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("rows", [20, 7, 1])
def test_scaled_distances_by_hand_with_rows_of_any_number_at_once(power, rows):
    X = to_single(tables(20, 3))
    D = np.linalg.norm(X[:, None].astype(float) - X, axis=-1)
    below, part = divmod(0.3 * 18, 1)
    q = np.array([np.quantile(np.delete(row, i), 0.3) for i, row in enumerate(D)])
    i, j = np.triu_indices(20, 1)
    found = np.empty(190, np.float32)
    loops.write_scaled_distances(X, 4, int(below), part, 0.3, power, np.empty((rows, 20), np.float32), found)
    np.testing.assert_allclose(found, (D[i, j] / np.sqrt(q[i] * q[j])) ** power, rtol=1e-5)


def test_similarities_are_added_up_and_become_exponents_again():
    r = np.array([0.0, 0.5, 3.0, 70.0, 1e6], dtype=np.float32)
    total = np.full(5, 0.25, dtype=np.float32)
    loops.add_similarities(r, 0.5, total)
    np.testing.assert_allclose(total, 0.25 + 0.5 * np.exp(-r.astype(float)), rtol=1e-6)
    s = np.array([1.0, 1.5, 0.3, 0.0, 1e-30], dtype=np.float32)
    loops.take_logarithms(s, 1e-20)
    np.testing.assert_allclose(s, -np.log([1.0, 1.0, 0.3, 1e-20, 1e-20]), rtol=1e-6, atol=1e-7)
