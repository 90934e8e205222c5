"""Which columns make up which view, in a model file: arrays whose names begin with ``columns``."""

from __future__ import annotations

import numpy as np

from latentsimplex.inputs.found_columns import FoundColumns
from latentsimplex.results.zip_archive import require


def collect_columns(found: FoundColumns | None) -> dict[str, np.ndarray]:
    """Return the arrays to store; none where views were given."""
    return {} if found is None else {"columns/views": found.views, "columns/gains": found.gains}


def restore_columns(arrays: dict[str, np.ndarray], n_columns: int, n_views: int) -> FoundColumns | None:
    """Return what a file says of the columns of a table, once it is checked; None where views were given."""
    if "columns/views" not in arrays:
        return None
    require("columns/gains" in arrays, "columns/gains is missing")
    views, gains = arrays["columns/views"], arrays["columns/gains"]
    require(views.dtype.kind == "i" and views.shape == (n_columns,), "columns/views has another form")
    require(gains.dtype.kind == "f" and gains.ndim == 2, "columns/gains has another form")
    is_whole = gains.shape[1] == 0 and n_views == 1
    require(
        gains.shape[0] == n_columns and (gains.shape[1] == n_views or is_whole),
        "columns/gains has another shape",
    )
    require(bool(np.isfinite(gains).all()), "columns/gains holds numbers that are not finite")
    found = np.unique(views[views >= 0])
    require(
        bool((views >= -1).all()) and np.array_equal(found, np.arange(gains.shape[1])),
        "columns/views is out of range",
    )
    return FoundColumns(views, gains)
