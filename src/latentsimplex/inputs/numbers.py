"""Numbers from arrays, frames, sparse matrices and tensors, or one sentence that says why they cannot be read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from latentsimplex.base.types import Array
from latentsimplex.base.wording import shorten_middle
from latentsimplex.inputs.mixed_columns import (
    EncodedColumns,
    encode_columns,
    reads_as_number,
    warn_of_typed_numbers,
)

LARGEST, SMALLEST = 1e150, 1e-150
"""The largest number of a table is between these, or 0: sums of squares of others overflow, or vanish."""
CATEGORIES, TEXT = {"category", "Categorical", "Enum"}, {"string", "str", "object", "String", "Utf8"}
"""What pandas and polars call types of categories, and types of text; objects may be anything."""
NUMBERS = "biuf"
"""NumPy's letters for the kinds of numbers."""
INSTEAD_OF_NAN = (
    'fit with missing="pairwise" to compare samples on the features that both have, fill them in (for instance with '
    "sklearn.impute)"
)
"""What errors say to do about missing cells."""


def read_numbers(data: Any, label: str) -> Any:
    """Return the numbers of an array, a frame or a tensor as float64, NaN for missing ones; float32 and sparse stay.

    Text, dates, spans of time and complex numbers are refused by type. ``label`` says whose they are.

    >>> read_numbers([[1, None], [True, 2.5]], "X").tolist()
    [[1.0, nan], [1.0, 2.5]]
    """
    if sparse.issparse(data):
        return _read_sparse(data, label)
    if np.ma.isMaskedArray(data):
        return np.where(np.ma.getmaskarray(data), np.nan, _as_float(data.data, label))
    if is_frame(data):
        return _read_frame(data, label)
    if hasattr(data, "detach"):  # a tensor, which may need its gradient, be on a GPU, or have 16 bits
        data = _read_tensor(data, label)
    if hasattr(data, "to_numpy"):
        return read_numbers(data.to_numpy(), label)
    return _as_float(_as_array(data, label), label)


def _read_tensor(tensor: Any, label: str) -> Any:
    """Return a tensor of torch in the memory of the host, and in one of NumPy's types."""
    try:
        tensor = tensor.detach().cpu().to_dense()
    except (NotImplementedError, RuntimeError) as error:
        reason = str(error).partition("\n")[0].rstrip(".!")
        raise ValueError(
            f"{label} is a tensor that cannot be read ({reason}): give one that holds numbers."
        ) from None
    return tensor.double() if tensor.is_floating_point() else tensor


def read_table(data: Any, label: str) -> EncodedColumns:
    """Return the numbers of a table, and the names of its columns if they have any.

    Columns that hold categories are encoded (:mod:`latentsimplex.inputs.mixed_columns`).
    """
    if not hasattr(data, "columns"):
        return EncodedColumns(read_numbers(data, label), None)
    cells, names = read_cells(data, label), [str(name) for name in data.columns]
    if sparse.issparse(cells) or cells.dtype.kind != "O":
        return EncodedColumns(cells, names)
    return encode_columns(names, [_as_column(column) for column in cells.T])


def read_cells(data: Any, label: str) -> Any:
    """Return the numbers of a table with named columns or, where some hold categories, its cells as objects (n, p).

    Categories are text, None where one is missing.
    """
    if not is_frame(data):
        cells = data.to_numpy()
        objects = isinstance(cells, np.ndarray) and cells.dtype.kind == "O" and cells.ndim == 2
        mixed = objects and any(isinstance(cell, str) for cell in cells.flat)
        return cells if mixed else read_numbers(cells, label)
    categories = _find_categories(data, label)
    if not categories:
        return read_numbers(data, label)
    others = [j for j in range(len(data.columns)) if j not in categories]
    cells = np.empty((len(data), len(data.columns)), dtype=object)
    cells[:, others] = read_numbers(data.iloc[:, others] if hasattr(data, "iloc") else data[:, others], label)
    for j, column in categories.items():
        cells[:, j] = column
    return cells


def _as_column(cells: np.ndarray) -> np.ndarray:
    """Return objects as numbers, unless they are categories."""
    return cells if any(isinstance(cell, str) for cell in cells) else cells.astype(np.float64)


def check_table(table: Any, label: str, missing: str = "raise") -> Any:
    """Return numbers as a table with a row for each sample, or raise ValueError that says what is wrong with them."""
    _check_dimensions(table, label)
    if missing == "pairwise" and not sparse.issparse(table):
        _check_known(table, label)
        check_values(table[~np.isnan(table)], label)
    else:
        check_values(table.data if sparse.issparse(table) else table, label)
    n, p = table.shape
    if p == 0:
        raise ValueError(
            f"{label} has 0 feature(s) (shape={table.shape}) while a minimum of 1 is required: leave out empty views."
        )
    if n < 2:
        raise ValueError(
            f"{label} has {n} sample(s) (n_samples={n}, shape={table.shape}) while a minimum of 2 is required "
            "to have anything to cluster."
        )
    return table


def is_missing(value: Any) -> bool:
    """Return whether a value stands for one that is missing, as None, NaN and pandas' NA do.

    >>> is_missing(None), is_missing(np.nan), is_missing("")
    (True, True, False)
    """
    return (
        value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and math.isnan(value))
    )


def _check_dimensions(table: Any, label: str) -> None:
    if table.ndim != 2:
        raise ValueError(
            f"{label} has {table.ndim} dimension(s): a view is a 2-D table with a row per sample. "
            "Reshape your data, with reshape(-1, 1) if it is one feature."
        )


def _read_sparse(data: Any, label: str) -> Any:
    """Return a sparse matrix by columns, in canonical format; the user's own stays as it is."""
    _check_dimensions(data, label)
    table = data.tocsc()
    _as_float(table.data, label)
    table = table.astype(np.float64, copy=False)
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return table


def is_frame(data: Any) -> bool:
    """Return whether data are a frame of pandas or polars, or like one."""
    return hasattr(data, "columns") and hasattr(data, "dtypes")


def _find_categories(frame: Any, label: str) -> dict[int, np.ndarray]:
    """Return the columns of a frame that hold categories, by their place; None where one is missing."""
    found = {}
    for j, dtype in enumerate(frame.dtypes):
        kind = _name_type(dtype)
        if kind in CATEGORIES or kind in TEXT:
            column = frame.iloc[:, j] if hasattr(frame, "iloc") else frame[:, j]
            values = [None if is_missing(value) else value for value in column]
            if kind in CATEGORIES or _are_words(values):
                found[j] = np.array([None if value is None else str(value) for value in values], dtype=object)
                if kind in TEXT:
                    warn_of_typed_numbers(str(frame.columns[j]), found[j], label)
    return found


def _name_type(dtype: Any) -> str:
    """Return what pandas or polars calls a type of columns, without what it is stored in."""
    name = str(dtype)
    return "category" if name.startswith("dictionary<") else re.split(r"[(\[]", name)[0]


def _are_words(values: list[Any]) -> bool:
    """Return whether all values are text; text of digits is not, since that is numbers read wrongly."""
    known = [value for value in values if value is not None]
    return all(isinstance(value, str) for value in known) and not all(map(reads_as_number, known))


def _read_frame(frame: Any, label: str) -> Array:
    """Return the numbers of a frame of pandas or polars: the one place where columns become numbers."""
    refused, has_objects = [], False
    for j, (name, dtype) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        if (
            isinstance(dtype, np.dtype) and dtype.kind == "O"
        ):  # numbers that pandas has no type for, or anything
            has_objects = True
            wrong = [value for value in frame.iloc[:, j] if not _is_number(value)]
            refused += [(name, f"{dtype} values, such as {_shown(wrong[0])}")] if wrong else []
        elif not _is_type_of_numbers(dtype):
            refused.append((name, f"{dtype} values"))
    if refused:
        (name, values), count = refused[0], len(refused)
        raise ValueError(
            f"The column {str(name)!r} of {label} holds {values}"
            f"{f', the first of {count} such columns' if count > 1 else ''}, and views are made of numbers: "
            "encode it as numbers, or leave it out."
        )
    if hasattr(frame, "isna") and not has_objects:
        return frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return _as_float(frame.to_numpy(), label)


def _is_type_of_numbers(dtype: Any) -> bool:
    """Return whether a column of this type, of pandas or of polars, holds numbers or booleans, or nothing."""
    if hasattr(dtype, "is_numeric"):  # of polars
        return bool(dtype.is_numeric()) or str(dtype) in ("Boolean", "Null")
    return dtype.kind in NUMBERS or getattr(dtype, "type", None) is Decimal


def _is_number(value: Any) -> bool:
    if isinstance(value, np.timedelta64):  # which NumPy counts among whole numbers
        return False
    return isinstance(value, (Real, Decimal, np.bool_)) or is_missing(value)


def _as_array(data: Any, label: str) -> np.ndarray:
    """Return data as an array of whatever type NumPy finds."""
    if data is None:
        raise ValueError(
            f"{label} is None: give a table with a row per sample, or leave the view out. Only predict takes None, for "
            "a view that new samples lack."
        )
    # NumPy would ask others for item after item, which of a MuData takes minutes
    if isinstance(data, Iterable) or hasattr(data, "__getitem__"):
        known = isinstance(data, (list, tuple, str, bytes)) or hasattr(data, "__array__")
        if not known and not hasattr(data, "__array_interface__"):
            raise ValueError(
                f"{label} is a {type(data).__name__}, which is no table: give an array, a data frame or a list of rows."
            )
    try:
        return np.asarray(data)
    except ValueError:
        raise ValueError(
            f"{label} has rows of different lengths: a view is a 2-D table of numbers."
        ) from None
    except (TypeError, RuntimeError) as error:
        raise ValueError(
            f"{label} is a {type(data).__name__} that NumPy cannot read ({error}): turn it into an array first."
        ) from None


def _as_float(array: np.ndarray, label: str) -> Array:
    """Return an array as float64, or float32 if it is, or raise an error that says what its values are."""
    if array.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: {label} holds complex numbers; pass real and imaginary parts."
        )
    if array.dtype.kind == "O":
        return _objects_as_float(array, label)
    if array.dtype.kind not in NUMBERS:
        raise ValueError(f"{label} holds {array.dtype} values: encode text and dates as numbers first.")
    if array.dtype == np.float32:  # which is made double a view, or a part of one, at a time
        return array
    with np.errstate(over="ignore"):  # of a wider type; what becomes infinite is found
        return array.astype(np.float64, copy=False)


def _objects_as_float(array: np.ndarray, label: str) -> Array:
    """Return Python's own numbers as float64."""
    for value in array.flat:
        if not _is_number(value):
            try:
                float(value)
            except TypeError as error:
                raise TypeError(
                    f"{label} holds values that are not numbers ({error}): encode or fill them first."
                ) from None
            except ValueError:
                pass
            raise ValueError(
                f"{label} holds {type(value).__name__} values, such as {_shown(value)}: encode text and dates as "
                "numbers first."
            )
    missing = np.array([is_missing(value) for value in array.flat], dtype=bool).reshape(array.shape)
    try:
        return np.where(missing, np.nan, array).astype(np.float64)
    except OverflowError:
        raise _too_large(label) from None


def check_values(values: Array, label: str) -> None:
    """Raise ValueError for numbers that are not finite, or so large that their squares overflow."""
    if are_moderate(values):
        return
    finite = np.isfinite(values)
    if not finite.all():
        kind, instead = "infinity (inf)", "replace them by numbers"
        if np.isnan(values).any():
            kind, instead = "NaN", INSTEAD_OF_NAN
        count = int((~finite).sum())
        raise ValueError(
            f"{label} contains {kind}: {count} of its {values.size} values are not finite numbers; {instead}, or drop "
            "those samples from every view."
        )
    raise _too_large(label) if np.abs(values).max() > LARGEST else _too_small(label)


def _check_known(table: Array, label: str) -> None:
    """Refuse a table with samples or features of which every cell is missing."""
    absent = 'drop it from every view or, where rows have names, from this one, and fit with join="outer"'
    for axis, what, instead in ((1, "sample", absent), (0, "feature", "leave it out")):
        empty = np.flatnonzero(np.isnan(table).all(axis=axis))
        if table.size and len(empty):
            raise ValueError(
                f"{label} has no value for {len(empty)} {what}(s), such as {what} {empty[0]}: {instead}."
            )


def are_moderate(values: Array, axis: Any = None) -> bool:
    """Return whether all numbers are finite, and sums of their squares numbers too: of each table along the axes."""
    if not values.size:
        return True
    if axis == (1, 2) and values.flags.c_contiguous:  # a table as one row: its ends are found sooner
        values, axis = values.reshape(len(values), -1), 1
    ends = np.array([-values.min(axis=axis), values.max(axis=axis)], dtype=np.float64)
    largest = ends.max(axis=0)
    return bool(((largest == 0) | ((largest >= SMALLEST) & (largest <= LARGEST))).all())


def _too_large(label: str) -> ValueError:
    return ValueError(
        f"{label} holds numbers larger than {LARGEST:g}, whose squares overflow: choose a larger unit, or take "
        "logarithms."
    )


def _too_small(label: str) -> ValueError:
    return ValueError(
        f"{label} holds no number beyond {SMALLEST:g}, and the squares of its numbers vanish: choose a smaller unit."
    )


def _shown(value: Any) -> str:
    return shorten_middle(repr(value), 40)
