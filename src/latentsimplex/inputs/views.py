"""Views of the same samples: data in any form, turned into a sequence of named (n, p) arrays.

========================================= =============================================
input                                     views
========================================= =============================================
list or tuple of 2-D arrays or frames     one each, named view0, view1, ...
dict of them                              one each, named by the keys
(V, n, p) array, (V, n, n) precomputed    one each
2-D array or frame, ``views="whole"``     a single view
the same, ``views="columns"``             one per column
the same, ``views=[label, ...]``          one per distinct label, in order of appearance
========================================= =============================================

A frame is anything with ``columns`` and ``to_numpy`` (pandas, polars). Sparse input stays sparse and
is made dense one view at a time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from latentsimplex.base.libraries import FRAME_LIBRARIES
from latentsimplex.base.types import Array, Indices
from latentsimplex.inputs.named_table import group_columns


@dataclass(frozen=True)
class Views(Sequence[Array]):
    """Views of the same samples: ``views[v]`` is a dense float64 array (n, p_v).

    >>> data = as_views({"height": [[1.0], [2.0]], "shape": [[0.0, 1.0], [1.0, 0.0]]})
    >>> len(data), data.n_samples, data.names, data[1].shape
    (2, 2, ['height', 'shape'], (2, 2))
    """

    names: list[str]
    sample_names: list[str] | None
    feature_names: list[str] | None
    n_samples: int
    widths: list[int]
    load: Callable[[int], Array]
    stack: Array | None = None
    frame_library: str | None = None

    def __len__(self) -> int:
        return len(self.names)

    def tables(self, members: Indices) -> Array:
        """Return some views that have one number of features as an array (b, n, p): not to change."""
        if self.stack is None:
            return np.stack([self.load(int(v)) for v in members])
        in_a_row = len(members) > 0 and bool((np.diff(members) == 1).all())
        return self.stack[members[0] : members[-1] + 1] if in_a_row else self.stack[members]

    def __getitem__(self, v: Any) -> Any:
        if not 0 <= v < len(self):
            raise IndexError(f"view {v} of {len(self)}")
        return self.load(v)


def as_views(data: Any, views: Any = "whole", precomputed: bool = False) -> Views:
    """Return the views of ``data``, or raise one clear error.

    Parameters
    ----------
    data : any input form of the module's table
    views : "whole", "columns" or one label per column
        How to cut a single table into views.
    precomputed : bool
        Each view is an n x n similarity; one 2-D array is then one view.
    """
    if not (views in ("whole", "columns") if isinstance(views, str) else hasattr(views, "__iter__")):
        raise ValueError(f'views={views!r} is unknown: use "whole", "columns" or one group label per column.')
    if _is_plain_stack(data) and _is_whole(views):
        return _from_stack(data)
    if isinstance(data, Mapping) and not sparse.issparse(data):  # SciPy's DOK matrices are dicts too
        parts, labels = list(data.values()), [f"views[{key!r}]" for key in data]
        names = [str(key) for key in data]
    elif _is_collection(data):
        parts = list(data)
        labels = [f"views[{v}]" for v in range(len(parts))]
        names = [f"view{v}" for v in range(len(parts))]
    else:
        return _from_table(data, views, precomputed)
    if not _is_whole(views):
        raise ValueError(
            f"views={_short(views)} cuts one 2-D table into views, but the data already hold {len(parts)} views: "
            'leave views="whole".'
        )
    return _from_parts(parts, labels, names)


def _is_whole(views: Any) -> bool:
    return isinstance(views, str) and views == "whole"


def _is_collection(data: Any) -> bool:
    if isinstance(data, np.ndarray):
        return data.ndim == 3
    # a plain list of lists of numbers is one table; a list of tables is a collection of views
    return isinstance(data, (list, tuple)) and (
        not data or _n_dimensions(data[0]) != 1 or hasattr(data[0], "shape")
    )


def _n_dimensions(item: Any) -> int:
    if hasattr(item, "shape"):
        return len(item.shape)
    if isinstance(item, (list, tuple)):
        return 1 + (_n_dimensions(item[0]) if len(item) else 0)
    return 0


def _from_parts(parts: list[Any], labels: list[str], names: list[str]) -> Views:
    if not parts:
        raise ValueError("The data hold no views (an empty collection): pass at least one table of samples.")
    tables = [_table(part, label) for part, label in zip(parts, labels, strict=True)]
    first = tables[0].shape[0]
    for table, label in zip(tables, labels, strict=True):
        if table.shape[0] != first:
            raise ValueError(
                f"{label} has {table.shape[0]} rows and {labels[0]} has {first}: "
                "all views must describe the same samples."
            )
    _warn_if_sparse(tables)
    return Views(
        names=names,
        sample_names=_shared_sample_names(parts, labels),
        feature_names=None,
        n_samples=first,
        widths=[table.shape[1] for table in tables],
        load=lambda v: _dense(tables[v]),
        frame_library=_find_frame_library(parts),
    )


def _is_plain_stack(data: Any) -> bool:
    """Return whether the data are a (V, n, p) array without fault; others go the way that finds the fault."""
    plain = type(data) is np.ndarray and data.ndim == 3 and data.dtype in (np.float64, np.float32)
    return plain and data.size > 0 and data.shape[1] > 1 and bool(np.isfinite(data).all())


def _from_stack(data: Array) -> Views:
    stack = np.ascontiguousarray(data, dtype=np.float64)
    V, n, p = stack.shape
    names = [f"view{v}" for v in range(V)]
    return Views(names, None, None, n, [p] * V, lambda v: stack[v], stack)


def _from_table(data: Any, views: Any, precomputed: bool) -> Views:
    table = _table(data, "X")
    _warn_if_sparse([table])
    n, p = table.shape
    columns = [str(c) for c in data.columns] if hasattr(data, "columns") else None
    if _is_whole(views):
        names, widths, load = ["view0"], [p], lambda v: _dense(table)
    elif precomputed:
        raise ValueError(
            f'views={_short(views)} cuts a table into views, but with similarity="precomputed" a 2-D array is one '
            "n x n similarity: pass a list of similarities or a (V, n, n) array."
        )
    else:
        by_column = table.tocsc() if sparse.issparse(table) else table
        labels = range(p) if isinstance(views, str) else list(views)
        if len(labels) != p:
            raise ValueError(
                f"views= has {len(labels)} group labels and the table has {p} columns: give one label per column."
            )
        groups = group_columns(labels)
        names = columns or [f"x{j}" for j in range(p)] if isinstance(views, str) else [str(g) for g in groups]
        indices = list(groups.values())
        widths = [len(group) for group in indices]

        def load(v: int) -> Array:
            return _dense(by_column[:, indices[v]])

    return Views(names, row_names(data), columns, n, widths, load, None, _find_frame_library([data]))


def _table(data: Any, label: str) -> Any:
    """Return a checked 2-D float array, or a checked sparse matrix as it is."""
    if sparse.issparse(data):
        _check_numbers(_as_float(data.tocsr().data, label), label)
        table = data.tocsr().astype(np.float64)
    else:
        table = _as_float(_plain(data), label)
        if table.ndim != 2:
            raise ValueError(
                f"{label} has {table.ndim} dimension(s): a view is a 2-D table with a row per sample. "
                "Reshape your data, with reshape(-1, 1) if it is one feature."
            )
        _check_numbers(table, label)
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


def _plain(data: Any) -> Any:
    """Return the values of a frame or array with what is missing as NaN, where it says what is missing."""
    if np.ma.isMaskedArray(data):
        return np.ma.filled(data.astype(np.float64), np.nan)
    if hasattr(data, "to_numpy") and hasattr(data, "isna"):
        with suppress(TypeError, ValueError):
            return data.to_numpy(dtype=np.float64, na_value=np.nan)
    return data.to_numpy() if hasattr(data, "to_numpy") else data


def _as_float(values: Any, label: str) -> Array:
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(
            f"{label} has rows of different lengths: a view is a 2-D table of numbers."
        ) from None
    if array.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: {label} holds complex numbers; pass real and imaginary parts."
        )
    if array.dtype.kind in "USmM":
        raise ValueError(f"{label} holds {array.dtype} values: encode text and dates as numbers first.")
    try:
        return array.astype(np.float64, copy=False)
    except ValueError as error:
        raise ValueError(f"{label} holds values that are not numbers ({error}): encode them first.") from None
    except TypeError as error:
        raise TypeError(
            f"{label} holds values that are not numbers ({error}): encode or fill them first."
        ) from None


def _check_numbers(values: Array, label: str) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        kind = "NaN" if np.isnan(values).any() else "infinity (inf)"
        count = int((~finite).sum())
        raise ValueError(
            f"{label} contains {kind}: {count} of its {values.size} values are not finite numbers; "
            "fill them in (for instance with sklearn.impute) or drop those samples from every view."
        )


def _dense(table: Any) -> Array:
    # sums over another layout in memory round otherwise, and equal views are to give equal fits
    return np.ascontiguousarray(table.toarray() if sparse.issparse(table) else table)


def _warn_if_sparse(tables: Sequence[Any]) -> None:
    if any(sparse.issparse(table) for table in tables):
        warnings.warn("Sparse views are made dense one at a time while fitting.", UserWarning, stacklevel=6)


def _find_frame_library(parts: list[Any]) -> str | None:
    """Return the library that frames among the parts come from, or None where there are none."""
    libraries = (type(part).__module__.partition(".")[0] for part in parts)
    return next((library for library in libraries if library in FRAME_LIBRARIES), None)


def row_names(data: Any) -> list[str] | None:
    """Return a frame's row names, or None where it has only the default count."""
    index = getattr(data, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return [str(name) for name in index]


def _shared_sample_names(parts: list[Any], labels: list[str]) -> list[str] | None:
    named = [(label, names) for part, label in zip(parts, labels, strict=True) if (names := row_names(part))]
    for label, names in named[1:]:
        if names != named[0][1]:
            same = sorted(names) == sorted(named[0][1])
            remedy = (
                "put them in one order, for instance with .loc" if same else "keep the samples they share"
            )
            raise ValueError(
                f"{label} and {named[0][0]} have different row names{' (the same in another order)' if same else ''}: "
                f"all views must describe the same samples in the same order; {remedy}."
            )
    return named[0][1] if named else None


def _short(views: Any) -> str:
    return repr(views) if isinstance(views, str) else "[one label per column]"
