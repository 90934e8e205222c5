"""Pieces in files: what was written comes back to the last bit, and damage is told."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from latentsimplex.checkpoints.pieces import DAMAGE, OtherPiece, make_key, read_piece, write_piece


class Pair(NamedTuple):
    first: object
    second: object


@dataclass(frozen=True)
class Record:
    name: str
    pair: Pair


def test_what_was_written_comes_back_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(2, 3, 4)), np.asfortranarray(rng.normal(size=(3, 4))), np.empty((0, 2))]
    numbers = [0.1 + 0.2, -np.inf, 3, True, None, "as they are", np.float64(1 / 3), np.int64(7)]
    value = Record("some", Pair((arrays, numbers), Pair(np.arange(3, dtype=np.int32), [])))
    write_piece(tmp_path / "a.npz", "key", value)
    found = read_piece(tmp_path / "a.npz", "key", (Record, Pair))
    assert found.name == "some"
    (same, plain), rest = found.pair
    for mine, yours in zip(arrays, same, strict=True):
        np.testing.assert_array_equal(mine, yours, strict=True)
        # sums over another layout in memory would round otherwise
        assert mine.flags["F_CONTIGUOUS"] == yours.flags["F_CONTIGUOUS"]
    assert plain == numbers
    assert isinstance(rest, Pair)
    assert rest.first.dtype == np.int32


def test_a_piece_of_another_key_and_types_that_are_not_named(tmp_path):
    write_piece(tmp_path / "a.npz", "key", Pair(1, 2))
    with pytest.raises(OtherPiece):
        read_piece(tmp_path / "a.npz", "other", (Pair,))
    with pytest.raises(DAMAGE):
        read_piece(tmp_path / "a.npz", "key")


def test_what_cannot_be_a_piece_leaves_no_file(tmp_path):
    with pytest.raises(TypeError, match="a function is no part of a piece"):
        write_piece(tmp_path / "a.npz", "key", [make_key])
    with pytest.raises(TypeError, match="a ndarray is no part of a piece"):
        write_piece(tmp_path / "a.npz", "key", np.array([None]))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.95])
def test_a_file_that_ends_early_is_damaged(tmp_path, share):
    path = tmp_path / "a.npz"
    write_piece(path, "key", np.arange(1000.0))
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(DAMAGE):
        read_piece(path, "key")


def test_a_bit_that_has_turned_over_is_damage(tmp_path):
    path = tmp_path / "a.npz"
    write_piece(path, "key", np.arange(1000.0))
    content = bytearray(path.read_bytes())
    content[2000] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(DAMAGE):
        read_piece(path, "key")


def test_keys_tell_apart_what_differs():
    some = np.arange(6)
    different = [
        ("a", some),
        ("b", some),
        ("a", some[::-1]),
        ("a", some.reshape(2, 3)),
        ("a", some.astype(np.int32)),
        ("a", (some,)),
        ("a",),
        ("a", None, some),
        ("a", 1),
        ("a", 1.0),
        ("a", (1, 2), 3),
        ("a", 1, (2, 3)),
        ("a", "1"),
    ]
    assert len({make_key(*each) for each in different}) == len(different)
    assert make_key("a", some[::2]) == make_key("a", some[::2].copy())
