"""Views from AnnData and MuData.

========== ====================== ===============================================
container  ``views``              views
========== ====================== ===============================================
AnnData    "columns"              each variable (gene) of X, or of a layer
AnnData    "whole"                X, or a layer, as one view
AnnData    a column of ``var``    variables grouped by what that column says
AnnData    "layers", "obsm"       each layer; each table of ``obsm``
MuData     "modalities"           X of each modality
========== ====================== ===============================================

:mod:`latentsimplex.results.containers` writes what a fit found into them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from latentsimplex.base.types import Array
from latentsimplex.inputs.named_table import NamedTable, UnknownViews, align_rows, group_columns


def views_of(data: Any, views: str | None = None, layer: str | None = None) -> dict[str, NamedTable]:
    """Return the views that an AnnData or a MuData holds, by name, for ``LatentSimplexPosition.fit``.

    Parameters
    ----------
    data : AnnData or MuData
    views : str or None
        How to cut it; see the module's table. None is "columns" for AnnData, "modalities" for MuData.
    layer : str or None
        The layer of an AnnData to take in place of X.
    """
    if is_instance_of(data, "mudata", "MuData"):
        return _modalities(data, views, layer)
    if not is_instance_of(data, "anndata", "AnnData"):
        raise ValueError(
            f"The data are {type(data).__name__}, neither AnnData nor MuData: give one of these, or pass arrays "
            "and frames to fit as they are."
        )
    if views in ("layers", "obsm"):
        if layer is not None:
            raise UnknownViews(
                f"views={views!r} takes whole tables, not layer={layer!r}: give one of the two."
            )
        return _tables(data, views)
    table = NamedTable(_values(data, layer), _names(data.var_names), _names(data.obs_names))
    if views == "whole":
        return {"X" if layer is None else layer: table}
    return _cut(table, _groups(data, "columns" if views is None else views))


def is_instance_of(data: Any, library: str, name: str) -> bool:
    """Return whether the data are of a class, without importing the library that it comes from."""
    return any(c.__name__ == name and c.__module__.split(".")[0] == library for c in type(data).__mro__)


def _names(names: Any) -> list[str]:
    return [str(name) for name in names]


def _dense(values: Any) -> Array:
    return np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=np.float64)


def _values(data: Any, layer: str | None, which: str = "The AnnData") -> Array:
    if layer is None:
        if data.X is None:
            raise ValueError(
                f'{which} has no X: give it one or, of an AnnData, take a layer, "layers" or "obsm".'
            )
        return _dense(data.X)
    if layer not in data.layers:
        raise UnknownViews(f"layer={layer!r} is unknown: the layers are {_listed(data.layers)}.")
    return _dense(data.layers[layer])


def _tables(data: Any, kind: str) -> dict[str, NamedTable]:
    """Return each layer, or each table of ``obsm``, as a view."""
    entries = {str(name): _dense(values) for name, values in getattr(data, kind).items()}
    if not entries:
        raise UnknownViews(f"The AnnData holds no {kind}: choose other views.")
    samples = _names(data.obs_names)
    return {
        name: NamedTable(values, [f"{name}{j}" for j in range(values.shape[1])], samples)
        for name, values in entries.items()
    }


def _groups(data: Any, views: str) -> list[str]:
    """Return the view that each variable belongs to."""
    if views == "columns":
        if not data.var_names.is_unique:
            raise ValueError("Some variables have the same name: call var_names_make_unique() first.")
        return _names(data.var_names)
    if views not in data.var:
        raise UnknownViews(
            f'views={views!r} is unknown: choose "columns", "whole", "layers", "obsm" or a column of var, which has '
            f"{_listed(data.var)}."
        )
    if data.var[views].isna().any():
        raise ValueError(f"The column {views!r} of var has gaps: fill them in, or drop those variables.")
    return _names(data.var[views])


def _cut(table: NamedTable, groups: list[str]) -> dict[str, NamedTable]:
    """Return a table of the columns of each group."""
    members = group_columns(groups)
    # the first view names the samples for all of them, which may be many thousands
    index = dict.fromkeys(members) | {groups[0]: table.index}
    return {
        group: NamedTable(table.values[:, columns], [table.columns[j] for j in columns], index[group])
        for group, columns in members.items()
    }


def _modalities(data: Any, views: str | None, layer: str | None) -> dict[str, NamedTable]:
    if views not in (None, "modalities") or layer is not None:
        given = f"views={views!r}" if layer is None else f"layer={layer!r}"
        raise UnknownViews(f"{given} does not go with MuData, whose views are its modalities: leave it out.")
    parts = {
        str(name): NamedTable(
            _values(part, None, f"The modality {str(name)!r}"), _names(part.var_names), _names(part.obs_names)
        )
        for name, part in data.mod.items()
    }
    everyone = NamedTable(np.empty((data.n_obs, 0)), [], _names(data.obs_names))
    tables = align_rows({"the MuData": everyone, **parts})
    return {name: tables[name] for name in parts}


def _listed(names: Any) -> str:
    return ", ".join(repr(str(name)) for name in names) or "none"
