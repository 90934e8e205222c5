"""A piece of a fit in a file: named tuples of arrays, numbers and text as one ``.npz`` archive, without pickle.

What holds the arrays is written as JSON, the skeleton: an array is its number, a tuple or a record the name of its type
and its parts. Only types that the reader names are made of a skeleton again. Numbers come back to the last bit.
"""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

import numpy as np

from latentsimplex.base.atomic_files import whole_file

SKELETON = "skeleton"
"""The entry that holds the JSON; arrays are entries ``a0``, ``a1``, ..."""
DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, AttributeError, EOFError, LookupError, MemoryError),
    *(OSError, RuntimeError, TypeError, ValueError),
)
"""All that reading an archive raises on bytes that were not meant for it."""
KEY_BYTES = 16
"""Bytes of a key: two different ones are never met that are equal by chance."""


class OtherPiece(Exception):
    """A file holds the piece of another key."""


def write_piece(path: Path, key: str, value: Any) -> None:
    """Write a piece and its key, whole or not at all.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_piece(Path(folder, "a.npz"), "k", (1.5, None, np.arange(3)))
    ...     read_piece(Path(folder, "a.npz"), "k")
    (1.5, None, array([0, 1, 2]))
    """
    arrays: list[np.ndarray] = []
    text = json.dumps({"key": key, "value": _pack(value, arrays)})
    named: dict[str, Any] = {f"a{i}": array for i, array in enumerate(arrays)}
    named[SKELETON] = np.frombuffer(text.encode(), dtype=np.uint8)
    with whole_file(path) as part, part.open("wb") as file:
        np.savez(file, **named)


def read_piece(path: Path, key: str, types: Sequence[type] = ()) -> Any:
    """Return the piece in a file, of tuples, lists and these types.

    Raises OtherPiece where it is the piece of another key, and one of ``DAMAGE`` where it is none.
    """
    with path.open("rb") as file:
        return read_open_piece(file, key, types)


def read_open_piece(file: IO[bytes], key: str, types: Sequence[type] = ()) -> Any:
    """Return the piece in an open file, as :func:`read_piece` does."""
    with np.load(file, allow_pickle=False) as archive:
        skeleton = json.loads(archive[SKELETON].tobytes().decode())
        if skeleton["key"] != key:
            raise OtherPiece
        known = {each.__name__: each for each in (list, tuple, *types)}
        return _unpack(skeleton["value"], archive, known)


def _pack(value: Any, arrays: list[np.ndarray]) -> Any:
    """Return the skeleton of a value, whose arrays are appended to the list."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        parts = list(value)
    elif is_dataclass(value):
        parts = [getattr(value, field.name) for field in fields(value)]
    else:
        raise TypeError(f"a {type(value).__name__} is no part of a piece")
    return {"type": type(value).__name__, "parts": [_pack(part, arrays) for part in parts]}


def _unpack(skeleton: Any, arrays: Mapping[str, np.ndarray], types: dict[str, type]) -> Any:
    """Return the value of a skeleton."""
    if not isinstance(skeleton, dict):
        return skeleton
    if "array" in skeleton:
        return arrays[f"a{skeleton['array']}"]
    kind, parts = types[skeleton["type"]], [_unpack(part, arrays, types) for part in skeleton["parts"]]
    return kind(parts) if kind in (list, tuple) else kind(*parts)


def make_key(*parts: Any) -> str:
    """Return a key of plain values, arrays and tuples of them: equal ones have equal keys.

    >>> make_key("split", np.arange(3)) == make_key("split", np.arange(3)) != make_key("split", np.arange(4))
    True
    """
    digest = blake2b(digest_size=KEY_BYTES)
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
        elif isinstance(part, (tuple, list)):
            digest.update(make_key(*part).encode())
        else:
            digest.update(repr(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()
