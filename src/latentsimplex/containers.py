"""AnnData and MuData: views out of them, and what a fit found into them.

========== ====================== ===============================================
container  ``views``              views
========== ====================== ===============================================
AnnData    "columns"              each variable (gene) of X, or of a layer
AnnData    "whole"                X, or a layer, as one view
AnnData    a column of ``var``    variables grouped by what that column says
AnnData    "layers", "obsm"       each layer; each table of ``obsm``
MuData     "modalities"           X of each modality
========== ====================== ===============================================

What :func:`write_results` adds; "lsp" is its ``key``:

=============================== =========================================================================
entry                           meaning
=============================== =========================================================================
``obs["lsp_labels"]``           consensus clusters, categorical
``obs["lsp_confidence"]``       mean co-assignment of a sample with the others of its cluster
``obsm["X_lsp_memberships_0"]`` probabilities of the clusters of pattern 0, the heaviest, and so on
``uns["lsp"]``                  a dict: ``pattern_weights`` and ``n_clusters`` of each pattern; ``view_names``,
                                ``view_patterns``, ``view_responsibilities`` and ``consensus_weights`` of
                                each view; ``loss``, ``converged``, ``version``; ``settings``, which is JSON
=============================== =========================================================================
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from latentsimplex._types import Array
from latentsimplex._version import __version__
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.frames import NamedTable, UnknownViews, aligned, optional
from latentsimplex.parameters import encode_parameters
from latentsimplex.uncertainty import model_uncertainty


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
    if _is(data, "mudata", "MuData"):
        return _modalities(data, views, layer)
    if not _is(data, "anndata", "AnnData"):
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


def write_results(model: LatentSimplexPosition, data: Any, key: str = "lsp") -> None:
    """Add what a fit found to the AnnData or MuData that it was fitted to, which changes in place.

    What an earlier fit wrote under the same key is replaced.
    """
    check_is_fitted(model)
    _check_samples(model, data)
    pandas = optional("pandas", "Writing into AnnData or MuData")
    data.obs[f"{key}_labels"] = pandas.Categorical(model.labels_.astype(str))
    data.obs[f"{key}_confidence"] = model_uncertainty(model)["affinity"]
    memberships = f"X_{key}_memberships_"
    for name in [name for name in data.obsm if re.fullmatch(rf"{re.escape(memberships)}\d+", name)]:
        del data.obsm[name]  # an earlier fit may have found more patterns
    for l, W in enumerate(model.memberships_):
        data.obsm[f"{memberships}{l}"] = W
    data.uns[key] = {
        "pattern_weights": model.pattern_weights_,
        "n_clusters": model.n_clusters_,
        "view_names": model.view_names_in_.astype(str),
        "view_patterns": model.view_patterns_,
        "view_responsibilities": model.view_responsibilities_,
        "consensus_weights": model.consensus_.weights,
        "loss": float(model.loss_),
        "converged": bool(model.converged_),
        "version": __version__,
        "settings": json.dumps(encode_parameters(model.get_params(deep=False))),
    }


def _is(data: Any, library: str, name: str) -> bool:
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
    """Return the columns of each group, in the order in which groups appear."""
    members: dict[str, list[int]] = {}
    for j, group in enumerate(groups):
        members.setdefault(group, []).append(j)
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
    tables = aligned({"the MuData": everyone, **parts})
    return {name: tables[name] for name in parts}


def _check_samples(model: LatentSimplexPosition, data: Any) -> None:
    if data.n_obs != model.n_samples_:
        raise ValueError(
            f"The data have {data.n_obs} samples and the model {model.n_samples_}: give those it was fitted to."
        )
    if model.sample_names_in_ is not None and model.sample_names_in_.tolist() != _names(data.obs_names):
        raise ValueError(
            "The samples of the data have other names, or another order, than those of the model: give the data "
            "that it was fitted to."
        )


def _listed(names: Any) -> str:
    return ", ".join(repr(str(name)) for name in names) or "none"
