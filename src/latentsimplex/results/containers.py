"""Results written into AnnData and MuData.

What :func:`write_results` adds; "lsp" is its ``key``:

=============================== =========================================================================
entry                           meaning
=============================== =========================================================================
``obs["lsp_labels"]``           consensus clusters, categorical; missing for samples that ``join="inner"`` left out
``obs["lsp_confidence"]``       mean co-assignment of a sample with the others of its cluster
``obsm["X_lsp_memberships_0"]`` probabilities of the clusters of pattern 0, the heaviest, and so on
``uns["lsp"]``                  a dict: ``pattern_weights`` and ``n_clusters`` of each pattern; ``view_names``,
                                ``view_patterns``, ``view_responsibilities`` and ``consensus_weights`` of
                                each view; ``loss``, ``converged``, ``version``; ``settings``, which is JSON
=============================== =========================================================================
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from latentsimplex._version import __version__
from latentsimplex.base.atomic_files import whole_file
from latentsimplex.base.libraries import import_optional
from latentsimplex.base.wording import count_noun, show_value
from latentsimplex.files.data_files import read_container
from latentsimplex.inputs.containers import membership_tables
from latentsimplex.results.parameters import encode_parameters
from latentsimplex.results.results import Results, results_of


def write_results(model: Any, data: Any, key: str = "lsp") -> None:
    """Add what a fit found to the AnnData or MuData that it was fitted to, which changes in place.

    Samples are matched by name: since the fit, the data may have lost some and changed their order. What an earlier fit
    wrote under the same key is replaced.
    """
    if not (hasattr(data, "obs") and hasattr(data, "obsm")):
        raise ValueError(
            f"write_results was given a {type(model).__name__} and a {type(data).__name__}: give the fitted model "
            "first and then the AnnData or MuData, write_results(model, data)."
        )
    if not isinstance(key, str):
        raise ValueError(f"key={show_value(key)} is no name for results: give text.")
    results = results_of(model)
    rows = _find_samples(results, data)
    fitted = rows >= 0
    pandas = import_optional("pandas", "Writing into AnnData or MuData")
    data.obs[f"{key}_labels"] = pandas.Categorical(
        np.where(fitted, results.labels.astype(str)[rows], None), np.unique(results.labels.astype(str))
    )
    affinities = results.consensus.coassignment.mean_by_cluster(results.labels)
    sure = affinities[np.arange(results.n_samples), results.labels]
    data.obs[f"{key}_confidence"] = np.where(fitted, sure[rows], np.nan)
    for name in membership_tables(data, key):
        del data.obsm[name]  # an earlier fit may have found more patterns
    for l, W in enumerate(results.memberships):
        data.obsm[f"X_{key}_memberships_{l}"] = np.where(fitted[:, None], W[rows], np.nan)
    data.uns[key] = {
        "pattern_weights": results.pattern_weights,
        "n_clusters": results.n_clusters,
        "view_names": results.view_names.astype(str),
        "view_patterns": results.view_patterns,
        "view_responsibilities": results.view_responsibilities,
        "consensus_weights": results.consensus.weights,
        "loss": float(results.loss),
        "converged": bool(results.converged),
        "version": __version__,
        "settings": json.dumps(encode_parameters(results.settings)),
    }


def write_copy(model: Any, path: Path, target: Path) -> None:
    """Write a copy of the AnnData or MuData in a file, with what a fit to it found."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of changes to come in others' formats
        data = read_container(path)
        write_results(model, data)
        with whole_file(target) as part, _hdf5_errors():
            data.write(part)


@contextmanager
def _hdf5_errors() -> Iterator[None]:
    """Turn what HDF5 raises where a disk is full into an OSError, by the number that its words give."""
    try:
        yield
    except RuntimeError as error:
        number = re.search(r"errno = (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error


def _find_samples(results: Results, data: Any) -> np.ndarray:
    """Return which sample of the model each sample of the data is (n_obs,), -1 for none; ValueError for other data.

    Samples are matched by name, so that the data may have fewer than the fit, or another order. Only ``join="inner"``
    leaves out samples that the data have.
    """
    own = results.sample_names
    if own is None and data.n_obs != results.n_samples:
        raise ValueError(
            f"The data have {data.n_obs} samples and the model {results.n_samples}, which have no names: give the data "
            "that it was fitted to."
        )
    names = list(map(str, data.obs_names))
    if own is None or names == list(map(str, own)):
        return np.arange(results.n_samples)
    place = {str(name): i for i, name in enumerate(own)}
    if len(place) < len(own):
        raise ValueError(
            "Several samples of the model have one name, and the data have others or another order: give the data "
            "that it was fitted to, as they were."
        )
    rows = np.array([place.get(name, -1) for name in names], dtype=np.intp)
    strange = np.flatnonzero(rows < 0)
    if len(strange) and (results.settings.get("join") != "inner" or len(strange) == len(rows)):
        raise ValueError(
            f"{len(strange)} of the {count_noun(len(rows), 'sample')} of the data are not in the model, such as "
            f"{names[strange[0]]!r}: give the data that it was fitted to, or some of their samples."
        )
    return rows
