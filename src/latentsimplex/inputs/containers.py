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

``LatentSimplexPosition(views=...)`` takes the same words for an AnnData, and groups of variables as of any table. Its
"whole" leaves a MuData as it is, in modalities. :mod:`latentsimplex.results.containers` writes what a fit found into
them, and what it wrote is never a view.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from latentsimplex.base.libraries import is_instance_of
from latentsimplex.base.types import Array
from latentsimplex.inputs.column_groups import group_columns, is_word
from latentsimplex.inputs.named_table import NamedTable, UnknownViews, align_rows, name_rows
from latentsimplex.inputs.numbers import read_numbers


def views_of(
    data: Any, views: str | None = None, layer: str | None = None, join: str = "strict"
) -> dict[str, NamedTable]:
    """Return the views that an AnnData or a MuData holds, by name, for ``LatentSimplexPosition.fit``.

    Parameters
    ----------
    data : AnnData or MuData
    views : str or None
        How to cut it; see the module's table. None is "columns" for AnnData, "modalities" for MuData.
    layer : str or None
        The layer of an AnnData to take in place of X.
    join : "strict", "inner" or "outer"
        Whether all modalities of a MuData must have the same samples; ``fit`` is then given the same word.
    """
    if is_mudata(data):
        return _modalities(data, views, layer, join)
    if not is_anndata(data):
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
    values = _dense(_values(data, layer), "X" if layer is None else f"layers[{layer!r}]")
    table = NamedTable(values, _names(data.var_names), _samples(data))
    if views == "whole":
        return {"X" if layer is None else layer: table}
    return _cut(table, _groups(data, "columns" if views is None else views))


def open_container(data: Any, views: Any, join: str = "strict") -> tuple[Any, Any]:
    """Return the tables of an AnnData or a MuData and how they are still to be cut; other data as they are."""
    if is_mudata(data):
        return views_of(data, None if is_word(views, "whole") else views, join=join), "whole"
    if not is_anndata(data):
        return data, views
    if not isinstance(views, str) or views in ("whole", "columns"):
        return anndata_table(data), views
    return views_of(data, views), "whole"


def anndata_table(data: Any) -> NamedTable:
    """Return X of an AnnData with its names, sparse where it is."""
    return NamedTable(_values(data, None), _names(data.var_names), _samples(data))


def is_anndata(data: Any) -> bool:
    """Return whether the data are an AnnData."""
    return is_instance_of(data, "anndata", "AnnData")


def is_mudata(data: Any) -> bool:
    """Return whether the data are a MuData."""
    return is_instance_of(data, "mudata", "MuData")


def membership_tables(data: Any, key: str) -> list[str]:
    """Return the names in ``obsm`` of the memberships that were written under a key."""
    return [name for name in data.obsm if re.fullmatch(rf"X_{re.escape(key)}_memberships_\d+", name)]


def _names(names: Any) -> list[str]:
    return [str(name) for name in names]


def _samples(data: Any) -> list[str]:
    return name_rows(data.obs_names, f"the {type(data).__name__}", is_made_text=True)


def _dense(values: Any, label: str) -> Array:
    numbers = read_numbers(values, label)
    return numbers.toarray() if sparse.issparse(numbers) else numbers


def _values(data: Any, layer: str | None, which: str = "The AnnData") -> Any:
    """Return X or a layer, sparse where it is."""
    if layer is not None:
        if layer not in data.layers:
            raise UnknownViews(f"layer={layer!r} is unknown: the layers are {_listed(_layers(data))}.")
        return data.layers[layer]
    if data.X is None:
        raise ValueError(
            f'{which} has no X: give it one or, of an AnnData, take a layer, "layers" or "obsm".'
        )
    return data.to_memory().X if data.isbacked else data.X


def _layers(data: Any) -> list[str]:
    """Return the names of the layers; newer releases of anndata list X among them, as None."""
    return [name for name in data.layers if name is not None]


def _tables(data: Any, kind: str) -> dict[str, NamedTable]:
    """Return each layer, or each table of ``obsm``, as a view, but for results of fits before."""
    if kind == "layers":
        entries = {name: data.layers[name] for name in _layers(data)}
    else:
        written = {name for key in _written_keys(data) for name in membership_tables(data, key)}
        entries = {name: data.obsm[name] for name in data.obsm if name not in written}
    if not entries:
        raise UnknownViews(f"The AnnData holds no {kind} to take as views: choose other views.")
    tables = {name: _dense(values, f"{kind}[{name!r}]") for name, values in entries.items()}
    # the first view names the samples for all of them
    index = dict.fromkeys(tables) | {next(iter(tables)): _samples(data)}
    return {
        name: NamedTable(values, [f"{name}{j}" for j in range(values.shape[1])], index[name])
        for name, values in tables.items()
    }


def _written_keys(data: Any) -> list[str]:
    """Return the keys under which results of fits were written."""
    return [
        key
        for key, entry in data.uns.items()
        if isinstance(entry, Mapping) and {"view_patterns", "consensus_weights"} <= set(entry)
    ]


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


def _modalities(data: Any, views: str | None, layer: str | None, join: str) -> dict[str, NamedTable]:
    if views not in (None, "modalities") or layer is not None:
        given = f"views={views!r}" if layer is None else f"layer={layer!r}"
        raise UnknownViews(f"{given} does not go with MuData, whose views are its modalities: leave it out.")
    parts = {
        str(name): NamedTable(
            _dense(_values(part, None, f"The modality {str(name)!r}"), f"X of the modality {str(name)!r}"),
            _names(part.var_names),
            _samples(part),
        )
        for name, part in data.mod.items()
    }
    if join != "strict":
        return parts
    everyone = NamedTable(np.empty((data.n_obs, 0)), [], _samples(data))
    tables = align_rows({"the MuData": everyone, **parts})
    return {name: tables[name] for name in parts}


def _listed(names: Any) -> str:
    return ", ".join(repr(str(name)) for name in names) or "none"
