"""Fitted models in files: one archive of JSON and NumPy arrays (:mod:`latentsimplex.archive`), never pickle.

``model.json`` holds the format, schema and package version, the parameters, numbers and names, and a
list of the arrays; each array is an entry of its own, like ``labels_.npy`` or ``memberships_/0.npy``.
A file is data from elsewhere, so all of it is checked before a model is made of it.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latentsimplex._version import __version__
from latentsimplex.archive import DAMAGE, ForeignArchive, pack, read_arrays, read_header, short
from latentsimplex.coassignment import CoAssignment
from latentsimplex.consensus import Consensus
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.parameters import decode_kernel, decode_parameters, encode_kernel, encode_parameters

FORMAT = "latentsimplex model"
SCHEMA = 1
"""Raised by one whenever an older release could no longer read what is written."""

ARRAYS: dict[str, tuple[str, tuple[str, ...]]] = {
    "labels_": ("i", ("samples",)),
    "pattern_labels_": ("i", ("patterns", "samples")),
    "view_patterns_": ("i", ("views",)),
    "view_responsibilities_": ("f", ("views", "patterns")),
    "pattern_weights_": ("f", ("patterns",)),
    "n_clusters_": ("i", ("patterns",)),
    "initial_view_patterns_": ("i", ("views",)),
    "start_losses_": ("f", ("starts",)),
    "start_agreement_": ("f", ("starts",)),
    "loss_curve_": ("f", ("iterations",)),
    "expected_loss_curve_": ("f", ("iterations",)),
    "consensus_/labels": ("i", ("samples",)),
    "consensus_/weights": ("f", ("views",)),
    "consensus_/factor": ("f", ("samples", "rank")),
}
"""The kind and the axes of each array; ``memberships_/l`` and ``responses_/l`` of each pattern come on top."""

NUMBERS: dict[str, type] = {
    "n_samples_": int,
    "n_features_in_": int,
    "n_patterns_": int,
    "n_iter_": int,
    "converged_": bool,
    "loss_": float,
    "expected_loss_": float,
    "temperature_": float,
}

SUM_TOLERANCE = 1e-6
"""Probabilities add up to 1 within this much."""
NAMES = {"view_names_in_": "views", "sample_names_in_": "samples", "feature_names_in_": "features"}
"""What each list of names names; the last two may be missing."""


def save(model: LatentSimplexPosition, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to ``path``, which is used as given.

    A similarity function or kernel of the user's own is not stored, only its description, and neither
    is a random generator; everything else comes back from :func:`load` as it was. Saving the same
    model twice gives the same bytes.
    """
    check_is_fitted(model)
    header = {
        "format": FORMAT,
        "schema": SCHEMA,
        "package_version": __version__,
        "parameters": encode_parameters(model.get_params(deep=False)),
        "similarity": encode_kernel(model.similarity_),
        "numbers": {name: kind(getattr(model, name)) for name, kind in NUMBERS.items()},
        "names": {name: _as_list(getattr(model, name, None)) for name in NAMES},
    }
    # made in memory first, so that an error on the way leaves an older file at this path as it was
    content = pack(header, _collect_arrays(model))
    Path(path).write_bytes(content)


def load(path: str | os.PathLike[str]) -> LatentSimplexPosition:
    """Return the fitted model that :func:`save` wrote to ``path``.

    Raises
    ------
    FileNotFoundError, PermissionError
        If there is no such file, or it may not be read.
    ValueError
        If the file is not a model, is damaged, or comes from a newer release that writes another schema.

    Examples
    --------
    >>> import tempfile
    >>> model = LatentSimplexPosition(n_clusters=2, n_init=1, random_state=0)
    >>> _ = model.fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model")
    ...     again = load(f"{folder}/model")
    >>> bool((again.labels_ == model.labels_).all())
    True
    """
    shown = repr(os.fspath(path))
    try:
        content = _content(Path(path))
        header = _checked_header(content)
        arrays = _checked_arrays(read_arrays(content), header)
        return _restored(header, arrays)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {shown}: give the path that save wrote.") from None
    except ForeignArchive as error:
        raise ValueError(
            f"{shown} is not a model that latentsimplex {__version__} can read: {error}."
        ) from None
    except PermissionError:
        raise
    except DAMAGE as error:
        raise ValueError(
            f"{shown} is damaged ({short(error)}): copy it again from where it came, or save the model again."
        ) from error


def _content(path: Path) -> bytes:
    """Return what is in a file, which is not read before it looks like an archive: it might have no end."""
    if path.is_dir():
        raise ForeignArchive("it is a folder")
    if path.exists() and not path.is_file():
        raise ForeignArchive("it is no plain file")
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise ForeignArchive("it is no zip archive, or not all of one")
        file.seek(0)
        return file.read()


def _collect_arrays(model: LatentSimplexPosition) -> dict[str, np.ndarray]:
    consensus = model.consensus_
    parts = {
        "consensus_/labels": consensus.labels,
        "consensus_/weights": consensus.weights,
        "consensus_/factor": consensus.coassignment.factor,
    }
    arrays = {name: parts[name] if name in parts else getattr(model, name) for name in ARRAYS}
    for l, (W, B) in enumerate(zip(model.memberships_, model.responses_, strict=True)):
        arrays |= {f"memberships_/{l}": W, f"responses_/{l}": B}
    return arrays


def _as_list(names: Iterable[Any] | None) -> list[str] | None:
    return None if names is None else [str(name) for name in names]


def _checked_header(content: bytes) -> dict[str, Any]:
    """Return the header of a model file once its parts have the types that the rest relies on."""
    header = read_header(content)
    if header.get("format") != FORMAT:
        raise ForeignArchive("it is an archive of another program")
    schema: Any = header.get("schema")
    _require(type(schema) is int and schema >= 1, f"its schema is {schema!r}")
    if schema > SCHEMA:
        raise ForeignArchive(
            f"it has schema {short(schema)} of latentsimplex {short(header.get('package_version'))}, and this release "
            f"reads up to schema {SCHEMA}; upgrade latentsimplex"
        )
    for part in ("parameters", "similarity", "numbers", "names"):
        _require(isinstance(header.get(part), dict), f"it holds no {part}")
    for name, kind in NUMBERS.items():
        value = header["numbers"].get(name)
        _require(type(value) is kind, f"{name} is {value!r}")
    names = {name: header["names"].get(name) for name in NAMES}
    for name, values in names.items():
        strings = isinstance(values, list) and all(isinstance(value, str) for value in values)
        _require(strings or (values is None and name != "view_names_in_"), f"{name} is not a list of names")
    return header


def _checked_arrays(arrays: dict[str, np.ndarray], header: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the arrays once each has the kind and the shape that the others imply."""
    numbers = header["numbers"]
    axes = {
        "samples": numbers["n_samples_"],
        "features": numbers["n_features_in_"],
        "patterns": numbers["n_patterns_"],
        "views": len(header["names"]["view_names_in_"]),
        "iterations": numbers["n_iter_"] + 1,
    }
    for name, axis in NAMES.items():
        names = header["names"].get(name)
        _require(names is None or len(names) == axes[axis], f"{name} is not one name for each of the {axis}")
    # the patterns' own arrays come last and one by one, so that a false number of them ends at the first missing one
    for name, (kind, names) in chain(ARRAYS.items(), _pattern_arrays(axes["patterns"])):
        _require(name in arrays, f"{name} is missing")
        array = arrays[name]
        _require(array.dtype.kind == kind, f"{name} holds {array.dtype} values")
        _require(array.ndim == len(names), f"{name} has {array.ndim} axes")
        # an axis that no number fixes, like the starts, has the length that is met first
        expected = tuple(axes.setdefault(axis, size) for axis, size in zip(names, array.shape, strict=True))
        _require(array.shape == expected and array.size > 0, f"{name} has shape {array.shape}")
        _require(bool(np.isfinite(array).all()), f"{name} holds numbers that are not finite")
    _check_shares(arrays, axes["patterns"])
    _check_indices(arrays, axes["patterns"])
    return arrays


def _pattern_arrays(n_patterns: int) -> Iterator[tuple[str, tuple[str, tuple[str, ...]]]]:
    """Yield the name, the kind and the axes of what each pattern has of its own."""
    for l in range(n_patterns):
        clusters = f"clusters of pattern {l}"
        yield f"memberships_/{l}", ("f", ("samples", clusters))
        yield f"responses_/{l}", ("f", (clusters, clusters))


def _check_shares(arrays: dict[str, np.ndarray], n_patterns: int) -> None:
    """Refuse probabilities that are none."""
    shares = ["view_responsibilities_", "pattern_weights_", *(f"memberships_/{l}" for l in range(n_patterns))]
    for name in shares:
        sums = arrays[name].sum(axis=-1)
        holds = bool((arrays[name] >= 0).all()) and bool((np.abs(sums - 1) < SUM_TOLERANCE).all())
        _require(holds, f"{name} are no probabilities")
    _require(bool((arrays["consensus_/weights"] >= 0).all()), "consensus_/weights are negative")


def _check_indices(arrays: dict[str, np.ndarray], n_patterns: int) -> None:
    """Refuse labels that point past the patterns and clusters there are."""
    columns = [arrays[f"memberships_/{l}"].shape[1] for l in range(n_patterns)]
    _require(arrays["n_clusters_"].tolist() == columns, "n_clusters_ and memberships_ disagree")
    n_samples, n_views = len(arrays["labels_"]), len(arrays["view_patterns_"])
    bounds: dict[str, tuple[int, Any]] = {
        "view_patterns_": (0, n_patterns),
        "pattern_labels_": (0, arrays["n_clusters_"][:, None]),
        "labels_": (0, n_samples),
        "consensus_/labels": (0, n_samples),
        "initial_view_patterns_": (-2, n_views),
    }
    for name, (low, high) in bounds.items():
        _require(bool(np.all((arrays[name] >= low) & (arrays[name] < high))), f"{name} is out of range")


def _restored(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> LatentSimplexPosition:
    """Return the estimator that the checked parts of a file make up."""
    model = LatentSimplexPosition(**decode_parameters(header["parameters"]))
    model.similarity_ = decode_kernel(header["similarity"])
    for name in NUMBERS:
        setattr(model, name, header["numbers"][name])
    for name in NAMES:
        names = header["names"].get(name)
        if names is not None:
            setattr(model, name, np.array(names, dtype=object))
        elif name == "sample_names_in_":
            model.sample_names_in_ = None
    for name in ARRAYS:
        if not name.startswith("consensus_/"):
            setattr(model, name, arrays[name])
    model.memberships_ = [arrays[f"memberships_/{l}"] for l in range(model.n_patterns_)]
    model.responses_ = [arrays[f"responses_/{l}"] for l in range(model.n_patterns_)]
    weights = arrays["consensus_/weights"]
    model.consensus_ = Consensus(
        labels=arrays["consensus_/labels"],
        weights=weights,
        coassignment=CoAssignment(arrays["consensus_/factor"]),
        excluded=[name for name, u in zip(model.view_names_in_, weights, strict=True) if u == 0],
    )
    return model


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
