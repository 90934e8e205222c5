"""A header and named arrays in one zip archive: ``model.json`` and an ``.npy`` entry for each array.

Nothing here knows what the arrays mean. Whatever is wrong with the bytes of an archive raises one of ``DAMAGE``.
No entry is ever unpickled, evaluated or written to disk, and none is unpacked before it is
known to be of the size that it should have. Equal contents give equal bytes.
"""

from __future__ import annotations

import io
import json
import math
import re
import struct
import textwrap
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

HEADER = "model.json"
NPY = b"\x93NUMPY\x01\x00"
"""How NumPy's files begin, in the version that has all arrays of numbers."""
ORDERS: tuple[Literal["C", "F"], ...] = ("C", "F")
NUMBERS = re.compile(r"[<>|](i[1248]|f[48])")
"""NumPy's names for the types that arrays may have."""
MOST_OF_HEADER, MOST_OF_ARRAYS = 2**23, 2**28
"""Bytes that the header, and that all entries together, may have once they are unpacked, whatever their ratio to ..."""
TIMES_HEADER, TIMES_ARRAYS = 30, 100
"""... the size of the file; beyond that, so many times its size: text, and probabilities, do not pack better."""

DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, AttributeError, EOFError, LookupError, MemoryError),
    *(ArithmeticError, OSError, RuntimeError, TypeError, ValueError),
)
"""All that the zip and JSON readers raise on bytes that were not meant for them."""


class ForeignArchive(ValueError):
    """The bytes are whole, or at least readable, but not an archive of ours."""


def pack_archive(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return an archive of a header of JSON values and of arrays, whose shapes and types the header lists.

    >>> content = pack_archive({"format": "example"}, {"x": np.arange(3)})
    >>> read_header(content)["format"], read_arrays(content)["x"].tolist()
    ('example', [0, 1, 2])
    """
    listed = {name: {"dtype": array.dtype.str, "shape": list(array.shape)} for name, array in arrays.items()}
    text = json.dumps({**header, "arrays": listed}, indent=1, allow_nan=False)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _write(archive, HEADER, text.encode("ascii"))
        for name, array in arrays.items():
            entry = io.BytesIO()
            np.save(entry, array, allow_pickle=False)
            _write(archive, f"{name}.npy", entry.getvalue())
    return buffer.getvalue()


def _write(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    # a ZipInfo of its own carries no clock time, which would make equal archives differ
    archive.writestr(zipfile.ZipInfo(name), content, compress_type=zipfile.ZIP_DEFLATED)


def read_header(content: bytes) -> dict[str, Any]:
    """Return the header of an archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if HEADER not in archive.namelist():
            raise ForeignArchive(f"it is a zip archive without {HEADER}")
        _check_entries(archive, len(content))
        header = json.loads(_entry(archive, HEADER), parse_constant=_finite, parse_float=_finite)
    if not isinstance(header, dict):
        raise ForeignArchive(f"its {HEADER} holds something else")
    return header


def read_arrays(content: bytes) -> dict[str, np.ndarray]:
    """Return the arrays that the header of an archive lists, by name."""
    listed: Any = read_header(content).get("arrays")
    require(isinstance(listed, dict), f"its {HEADER} lists no arrays")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: _array(archive, name, description) for name, description in listed.items()}


def require(holds: bool | np.bool_, otherwise: str) -> None:
    """Raise ValueError, with what is wrong, unless something holds."""
    if not holds:
        raise ValueError(otherwise)


def shorten_reason(reason: Any) -> str:
    """Return a reason in one line that is not long, whatever bytes it came from.

    >>> shorten_reason("a\\x1b[2J\\nb" + "c" * 200)
    'a[2J'
    """
    printable = "".join(c if c.isprintable() or c.isspace() else "" for c in str(reason)[:1000])
    return textwrap.shorten(printable, 120, placeholder=" ...").rstrip(". ")


def _finite(number: str) -> float:
    """Return a number of the header, which may be neither NaN nor infinite."""
    require(math.isfinite(float(number)), f"its {HEADER} holds {number}")
    return float(number)


def _check_entries(archive: zipfile.ZipFile, n_bytes: int) -> None:
    """Refuse entries that are there twice, packed in ways that we do not use, or larger than they can be."""
    for name, times in Counter(archive.namelist()).items():
        require(times == 1, f"it holds {name} twice")
    entries = archive.infolist()
    for entry in entries:
        ours = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        require(ours, f"{entry.filename} is packed in a way that is not ours")
    header, every = archive.getinfo(HEADER).file_size, sum(entry.file_size for entry in entries)
    too_large = f"too large for a file of {n_bytes} bytes"
    require(header <= max(MOST_OF_HEADER, TIMES_HEADER * n_bytes), f"its {HEADER} is {too_large}")
    require(every <= max(MOST_OF_ARRAYS, TIMES_ARRAYS * n_bytes), f"its entries are {too_large}")


def _entry(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return an entry, and never unpack more of it than it says to have: what reads all of it at once may."""
    with archive.open(name) as file:
        return file.read(archive.getinfo(name).file_size)


def _array(archive: zipfile.ZipFile, name: str, description: Any) -> np.ndarray:
    """Return the array in an entry, once the entry is what NumPy writes for an array of that type and shape."""
    listed = f"{name} is listed as {shorten_reason(description)}"
    require(_describes_numbers(description), f"{listed}, which is no array of numbers")
    dtype, shape = np.dtype(description["dtype"]), tuple(description["shape"])
    n_bytes = dtype.itemsize * math.prod(shape)
    entry = f"{name}.npy"
    require(n_bytes < archive.getinfo(entry).file_size, f"{name} has too few bytes for its shape")
    content = _entry(archive, entry)
    start = len(content) - n_bytes
    for order in ORDERS:
        if _is_npy(content[:start], dtype, shape, order):
            return np.frombuffer(content, dtype, offset=start).reshape(shape, order=order).copy(order)
    raise ValueError(f"{name} is not of the shape and type that {HEADER} lists")


def _describes_numbers(description: Any) -> bool:
    """Return whether a part of a header describes an array of numbers: nobody knows what a file says."""
    if not isinstance(description, dict) or set(description) != {"dtype", "shape"}:
        return False
    dtype, shape = description["dtype"], description["shape"]
    lengths = isinstance(shape, list) and len(shape) <= 2 and all(type(n) is int and n >= 0 for n in shape)
    return lengths and isinstance(dtype, str) and NUMBERS.fullmatch(dtype) is not None


def _is_npy(before: bytes, dtype: np.dtype, shape: tuple[int, ...], order: str) -> bool:
    """Return whether these bytes stand before the numbers in NumPy's file of such an array."""
    words = f"{{'descr': {dtype.str!r}, 'fortran_order': {order == 'F'}, 'shape': {shape!r}, }}"
    length = struct.pack("<H", len(before) - len(NPY) - 2)
    if before[: len(NPY) + 2] != NPY + length:
        return False
    # versions of NumPy pad with different numbers of spaces
    return before[len(NPY) + 2 :].translate(None, b" \n") == words.replace(" ", "").encode("ascii")
