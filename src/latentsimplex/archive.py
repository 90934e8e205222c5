"""A header and named arrays in one zip archive: ``model.json`` and an ``.npy`` entry for each array.

Nothing here knows what the arrays mean. Whatever is wrong with the bytes of an archive is a ValueError
with a short reason, and no entry is ever unpickled. Equal contents give equal bytes.
"""

from __future__ import annotations

import io
import json
import struct
import textwrap
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

HEADER = "model.json"

DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError, EOFError, LookupError, MemoryError),
    *(OSError, OverflowError, RuntimeError, SyntaxError, TypeError, ValueError),
)
"""All that the zip, JSON and NumPy readers raise on bytes that were not meant for them."""


class ForeignArchive(ValueError):
    """The bytes are whole, or at least readable, but not an archive of ours."""


def pack(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return an archive of a header of JSON values and of arrays, whose shapes and types the header lists.

    >>> content = pack({"format": "example"}, {"x": np.arange(3)})
    >>> read_header(content)["format"], read_arrays(content)["x"].tolist()
    ('example', [0, 1, 2])
    """
    listed = {name: _description(array) for name, array in arrays.items()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _write(archive, HEADER, json.dumps({**header, "arrays": listed}, indent=1).encode("ascii"))
        for name, array in arrays.items():
            _write(archive, f"{name}.npy", _npy_bytes(array))
    return buffer.getvalue()


def read_header(content: bytes) -> dict[str, Any]:
    """Return the header of an archive."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise ForeignArchive("it is no zip archive, or not all of one")
    with _opened(content) as archive:
        if HEADER not in archive.namelist():
            raise ForeignArchive(f"it is a zip archive without {HEADER}")
        header = json.loads(archive.read(HEADER))
    if not isinstance(header, dict):
        raise ForeignArchive(f"its {HEADER} holds something else")
    return header


def read_arrays(content: bytes) -> dict[str, np.ndarray]:
    """Return the arrays that the header of an archive lists, by name."""
    listed = read_header(content).get("arrays")
    if not isinstance(listed, dict):
        raise ValueError(f"its {HEADER} lists no arrays")
    arrays = {}
    with _opened(content) as archive:
        for name, description in listed.items():
            entry = io.BytesIO(archive.read(f"{name}.npy"))
            arrays[name] = np.lib.format.read_array(entry, allow_pickle=False)
            if _description(arrays[name]) != description:
                raise ValueError(f"{name} is not of the shape and type that {HEADER} lists")
    return arrays


@contextmanager
def _opened(content: bytes) -> Iterator[zipfile.ZipFile]:
    """Yield the archive, turning every error of its readers into a ValueError."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield archive
    except ForeignArchive:
        raise
    except DAMAGE as error:
        text = error.args[0] if isinstance(error, KeyError) and error.args else error
        reason = textwrap.shorten(str(text), 120, placeholder=" ...").rstrip(".")
        raise ValueError(reason or type(error).__name__) from error


def _description(array: np.ndarray) -> dict[str, Any]:
    return {"dtype": array.dtype.str, "shape": list(array.shape)}


def _npy_bytes(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _write(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    # a ZipInfo of its own carries no clock time, which would make equal archives differ
    archive.writestr(zipfile.ZipInfo(name), content, compress_type=zipfile.ZIP_DEFLATED)
