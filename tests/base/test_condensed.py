"""Pairs of samples in a row, in SciPy's order, and the tiles that cut a triangle of them."""

import numpy as np
import pytest

from latentsimplex.base.condensed import (
    MOST_INDEXED,
    TILE_PAIRS,
    count_pairs,
    count_samples,
    cut_into_tiles,
    first_pair_of_row,
    pack_pairs,
    unpack_pairs,
)

torch = pytest.importorskip("torch")


def test_packed_pairs_are_in_scipys_order():
    square = np.arange(25).reshape(5, 5)
    square = square + square.T
    packed = pack_pairs(square)
    i, j = np.triu_indices(5, 1)
    assert np.array_equal(packed, square[i, j])
    assert [first_pair_of_row(k, 5) for k in range(5)] == [0, 4, 7, 9, 10]
    np.fill_diagonal(square, 7)
    assert np.array_equal(unpack_pairs(packed, diagonal=7), square)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 768, 10**5, 10**8])
def test_numbers_of_pairs_and_of_samples(n):
    assert count_pairs(n) == sum(range(n)) if n < 10**6 else count_pairs(n) == n * (n - 1) // 2
    assert count_samples(count_pairs(n)) == n


@pytest.mark.parametrize("n", [2, 5, MOST_INDEXED + 1])
def test_packing_and_unpacking(n):
    square = np.random.default_rng(n).normal(size=(2, n, n)).astype(np.float32)
    square += square.swapaxes(-1, -2)
    rows, columns = np.triu_indices(n, 1)
    for x in (square, torch.as_tensor(square)):
        assert np.array_equal(np.asarray(pack_pairs(x)), square[:, rows, columns])
        assert np.array_equal(np.asarray(pack_pairs(x[0])), square[0, rows, columns])
    packed = pack_pairs(square[0])
    np.testing.assert_array_equal(
        unpack_pairs(torch.as_tensor(packed), 7.0).numpy(), unpack_pairs(packed, 7.0)
    )


@pytest.mark.parametrize("n", [2, 3, 50, 1000])
def test_tiles_cover_the_triangle_once(n):
    tiles = cut_into_tiles(n)
    assert [row for tile in tiles for row in range(tile.start, tile.stop)] == list(range(n - 1))
    assert [pair for tile in tiles for pair in range(tile.first, tile.last)] == list(range(count_pairs(n)))
    assert all((tile.stop - tile.start) * (n - tile.start) <= TILE_PAIRS for tile in tiles)


def test_a_row_longer_than_a_tile_is_a_tile():
    n = TILE_PAIRS + 5
    assert [(tile.start, tile.stop) for tile in cut_into_tiles(n)[:5]] == [(i, i + 1) for i in range(5)]
