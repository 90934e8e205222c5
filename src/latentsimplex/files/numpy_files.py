"""Arrays out of .npy and .npz files, without pickle.

Such files tell how large their arrays are: this is compared with the file and with the memory before anything is
allocated.
"""

from __future__ import annotations

import io
import math
import os
import shlex
import zipfile
from pathlib import Path
from typing import IO

import numpy as np

from latentsimplex.base.types import Array
from latentsimplex.files.file_faults import check_memory, read_or_explain
from latentsimplex.inputs.column_roles import ColumnRoles
from latentsimplex.inputs.named_table import NamedTable
from latentsimplex.inputs.numbers import NUMBERS

MOST_OF_HEADER = 2**17
"""The bytes at the beginning of an array in a file that may say what it is."""


def read_arrays(
    path: Path, name: str, memory_limit: float, roles: ColumnRoles | None = None
) -> dict[str, NamedTable] | Array:
    """Return a view for each array that is not left out or, of one with three axes, for each of its tables."""
    roles = ColumnRoles() if roles is None else roles
    found = read_or_explain(
        lambda _: _load(path, name, memory_limit, roles),
        path,
        "a file of NumPy arrays",
        "write it with np.save or np.savez",
    )
    samples = found.pop("samples") if "samples" in found and len(found) > 1 else None
    if samples is not None and samples.ndim != 1:
        raise ValueError(f"'samples' in {path.name} has {samples.ndim} axes: give one name for each sample.")
    index = None if samples is None else [str(name) for name in samples]
    if not found:
        raise ValueError(f"{path.name} holds no arrays: put a view into it, samples by features.")
    for name, array in found.items():
        drop = f" with --drop {shlex.quote(name)}" if path.suffix.lower() == ".npz" else ""
        _check_array(array, f"{name!r} in {path.name}", index, f"leave it out{drop}")
    stacked = [name for name, array in found.items() if array.ndim == 3]
    if stacked and len(found) > 1:
        raise ValueError(
            f"{stacked[0]!r} in {path.name} has three axes and is not alone: keep only that array."
        )
    if stacked and index is None:
        return found[stacked[0]]
    views = {f"view{v}": view for v, view in enumerate(found[stacked[0]])} if stacked else found
    return {
        name: NamedTable(array.astype(np.float64), [f"x{j}" for j in range(array.shape[1])], index)
        for name, array in views.items()
    }


def _load(path: Path, name: str, memory_limit: float, roles: ColumnRoles) -> dict[str, np.ndarray]:
    """Return the arrays in a file by name; a single array has the file's."""
    with open(path, "rb") as file:
        if file.read(2) != b"PK":
            return {
                name: _read_array(file, path, os.path.getsize(path), memory_limit, "it holds Python objects")
            }
        with zipfile.ZipFile(file) as archive:
            members = {
                member.filename.removesuffix(".npy"): member
                for member in archive.infolist()
                if member.filename.endswith(".npy")
            }
            roles.seen.update(members)
            kept = {own: member for own, member in members.items() if own not in roles.drop}
            check_memory(sum(member.file_size for member in kept.values()), memory_limit, path)
            found = {}
            for own, member in kept.items():
                with archive.open(member) as array:
                    objects = f"{own!r} holds Python objects, and --drop {shlex.quote(own)} leaves it out"
                    found[own] = _read_array(array, path, member.file_size, memory_limit, objects)
            return found


def _read_array(file: IO[bytes], path: Path, size: int, memory_limit: float, objects: str) -> np.ndarray:
    """Return an array that NumPy wrote, once it is known to be no larger than the ``size`` bytes that hold it.

    ``objects`` is what errors say of one that is no array of numbers or text.
    """
    file.seek(0)
    start = io.BytesIO(file.read(MOST_OF_HEADER))  # a file would set aside whatever length its header claims
    if np.lib.format.read_magic(start) == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(start)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(start)
    if dtype.hasobject:
        raise ValueError(objects)
    count = math.prod(shape)
    if min(shape, default=1) < 1:
        raise ValueError(f"it holds an array of the shape {shape}, which is empty")
    if count * max(dtype.itemsize, 1) > size - start.tell():
        raise ValueError(f"it is too short for an array of the shape {shape}")
    check_memory(count * max(dtype.itemsize, 8), memory_limit, path)
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


def _check_array(array: np.ndarray, which: str, index: list[str] | None, leave_out: str) -> None:
    if array.ndim not in (2, 3):
        axes = "1 axis" if array.ndim == 1 else f"{array.ndim} axes"
        raise ValueError(
            f"{which} has {axes} and a view has two, samples by features: reshape it, or {leave_out} if it is labels."
        )
    if array.dtype.kind not in NUMBERS:
        raise ValueError(
            f"{which} holds {array.dtype} values, and views are numbers: encode it, or {leave_out}."
        )
    if index is not None and len(index) != array.shape[-2]:
        raise ValueError(
            f"{which} has {array.shape[-2]} rows and samples has {len(index)} names: make them equal."
        )
