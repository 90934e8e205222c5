"""Results in files: one archive of JSON and NumPy arrays (:mod:`latentsimplex.results.zip_archive`), never pickle.

``model.json`` holds the format, schema and package version, the estimator's parameters, the stages, numbers and names,
and a list of the arrays; each array is an entry of its own, like ``pattern_labels.npy`` or ``memberships/0.npy``.
A file is data from elsewhere, so all of it is checked before results are made of it.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from latentsimplex._version import __version__
from latentsimplex.auto.cluster_tree import Level
from latentsimplex.base.atomic_files import check_path, whole_file
from latentsimplex.base.checks import PROBABILITY_ROUNDING
from latentsimplex.model.penalties import PENALTIES
from latentsimplex.model.problem import OPTIMIZERS
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.placing.references import References
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.results.consensus import Consensus, check_weights
from latentsimplex.results.parameters import (
    decode_kernel,
    decode_parameters,
    encode_kernel,
    encode_parameters,
)
from latentsimplex.results.results import Results, Stage
from latentsimplex.results.saved_columns import collect_columns, restore_columns
from latentsimplex.results.saved_known import collect_known, describe_known, restore_known
from latentsimplex.results.saved_references import collect_references, describe_columns, restore_references
from latentsimplex.results.zip_archive import (
    DAMAGE,
    ForeignArchive,
    pack_archive,
    read_arrays,
    read_header,
    require,
    shorten_reason,
)

FORMAT = "latentsimplex model"
SCHEMA = 3
"""Raised by one whenever an older release could no longer read what is written."""

ARRAYS: dict[str, tuple[str, tuple[str, ...]]] = {
    "pattern_labels": ("i", ("patterns", "samples")),
    "view_patterns": ("i", ("views",)),
    "view_responsibilities": ("f", ("views", "patterns")),
    "pattern_weights": ("f", ("patterns",)),
    "initial_view_patterns": ("i", ("views",)),
    "start_losses": ("f", ("starts",)),
    "start_agreement": ("f", ("starts",)),
    "loss_curve": ("f", ("iterations",)),
    "expected_loss_curve": ("f", ("iterations",)),
    "consensus/labels": ("i", ("samples",)),
    "consensus/weights": ("f", ("views",)),
    "consensus/factor": ("f", ("samples", "rank")),
}
"""The kind and the axes of each array; those of each pattern, such as ``memberships/l``, come on top."""
OWN_ARRAYS = [name for name in ARRAYS if not name.startswith("consensus/")]
"""Those that are fields of results."""
NUMBERS: dict[str, type] = {"n_samples": int, "n_features": int, "n_patterns": int, "converged": bool}
"""Counts are at least 1."""
NAMES = {"view_names": "views", "sample_names": "samples", "feature_names": "features"}
"""What each list of names names; the last two may be missing."""
STAGES: dict[str, Callable[[Any], bool]] = {
    "name": lambda value: value in ("search", "refinement", "all views"),
    "similarity": lambda value: isinstance(value, dict),
    "divergence": lambda value: value in tuple(DIVERGENCES),
    "response": lambda value: value in ("identity", "learned"),
    "penalty": lambda value: value in (*PENALTIES, "labels"),
    "search": lambda value: value in ("plain", "moves", "splits"),
    "optimizer": lambda value: value in tuple(OPTIMIZERS),
    "temperature": lambda value: type(value) is float and value > 0,
    "n_views": lambda value: type(value) is int and value >= 0,
    "evidence": lambda value: value is None or type(value) is float,
}
"""What each field of a stage may be."""


def save_results(results: Results, path: str | os.PathLike[str], predict: bool = True) -> None:
    """Write results to ``path``, which is used as given; what places new samples only if they are to ``predict``.

    A similarity function or kernel of the user's own is not stored, only its description, and neither
    is a random generator; everything else comes back from :func:`load_results` as it was. Saving the same
    results twice gives the same bytes.
    """
    header = {
        "format": FORMAT,
        "schema": SCHEMA,
        "package_version": __version__,
        "parameters": encode_parameters(results.settings),
        "stages": [
            {**vars(stage), "similarity": encode_kernel(stage.similarity)} for stage in results.stages
        ],
        "numbers": {name: kind(getattr(results, name)) for name, kind in NUMBERS.items()},
        "names": {name: _as_list(getattr(results, name)) for name in NAMES},
        "columns": None,
        "known": describe_known(results.known),
        "loss_weights": None if results.loss_weights is None else results.loss_weights.tolist(),
    }
    arrays = _collect_arrays(results)
    if results.known is not None:
        arrays |= collect_known(results.known)
    if predict and results.references is not None:
        header["columns"] = describe_columns(results.references)
        arrays |= collect_references(results.references)
    content = pack_archive(header, arrays)
    with whole_file(path) as part:
        part.write_bytes(content)


def load_results(path: str | os.PathLike[str], check_settings: Callable[[dict[str, Any]], object]) -> Results:
    """Return the results that :func:`save_results` wrote to ``path``.

    ``check_settings`` raises TypeError or ValueError for parameters that an estimator cannot have been fitted with.

    Raises
    ------
    FileNotFoundError, PermissionError
        If there is no such file, or it may not be read.
    ValueError
        If the file is not a model, is damaged, or comes from a release that writes another schema.
    """
    shown = repr(check_path(path))
    try:
        content = _read_content(Path(path))
        header = _read_checked_header(content)
        arrays = _check_arrays(read_arrays(content), header)
        results = _restore(header, arrays)
        check_settings(results.settings)
        return results
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {shown}: give the path that save wrote.") from None
    except ForeignArchive as error:
        raise ValueError(
            f"{shown} is not a model that latentsimplex {__version__} can read: {error}."
        ) from None
    except PermissionError:
        raise
    except DAMAGE as error:
        # a KeyError puts its own words into quotes, and others have none
        reason = shorten_reason(error.args[0] if isinstance(error, KeyError) and error.args else error)
        raise ValueError(
            f"{shown} is damaged ({reason or type(error).__name__}): copy it again from where it came, or save the "
            "model again."
        ) from error


def _read_content(path: Path) -> bytes:
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


def _collect_arrays(results: Results) -> dict[str, np.ndarray]:
    consensus = results.consensus
    arrays = {name: getattr(results, name) for name in OWN_ARRAYS}
    arrays |= {
        "consensus/labels": consensus.labels,
        "consensus/weights": consensus.weights,
        "consensus/factor": consensus.coassignment.factor,
    }
    for l, (W, B) in enumerate(zip(results.memberships, results.responses, strict=True)):
        arrays |= {f"memberships/{l}": W, f"responses/{l}": B, f"evidence/{l}": results.evidence[l]}
        arrays[f"averaged/{l}"] = results.averaged[l]
        arrays[f"level_labels/{l}"] = np.array([level.labels for level in results.levels[l]])
        arrays[f"level_evidence/{l}"] = np.array([level.evidence for level in results.levels[l]])
    if results.present is not None:
        arrays["present"] = results.present.astype(np.int8)
    return arrays | collect_columns(results.found_columns)


def _as_list(names: Iterable[Any] | None) -> list[str] | None:
    return None if names is None else [str(name) for name in names]


def _read_checked_header(content: bytes) -> dict[str, Any]:
    """Return the header of a model file once its parts have the types that the rest relies on."""
    header = read_header(content)
    if header.get("format") != FORMAT:
        raise ForeignArchive("it is an archive of another program")
    schema: Any = header.get("schema")
    require(type(schema) is int and schema >= 1, f"its schema is {schema!r}")
    if schema < SCHEMA:
        raise ForeignArchive(f"it has schema {schema} of an earlier draft, not {SCHEMA}; fit the model again")
    if schema > SCHEMA:
        raise ForeignArchive(
            f"it has schema {shorten_reason(schema)} of latentsimplex {shorten_reason(header.get('package_version'))}, "
            f"and this release reads schema {SCHEMA}; upgrade latentsimplex"
        )
    for part in ("parameters", "numbers", "names"):
        require(isinstance(header.get(part), dict), f"it holds no {part}")
    for name, kind in NUMBERS.items():
        value = header["numbers"].get(name)
        of_kind, least = type(value) is kind, kind is not bool
        require(of_kind and value >= least, f"{name} is {value!r}")
    for name in NAMES:
        values = header["names"].get(name)
        strings = isinstance(values, list) and all(isinstance(value, str) for value in values)
        require(strings or (values is None and name != "view_names"), f"{name} is not a list of names")
    stages: Any = header.get("stages")
    require(isinstance(stages, list) and len(stages) > 0, "it holds no stages")
    for stage in stages:
        require(isinstance(stage, dict) and set(stage) == set(STAGES), "a stage is something else")
        for name, is_valid in STAGES.items():
            require(is_valid(stage[name]), f"the {name} of a stage is {stage[name]!r}")
        n_views = len(header["names"]["view_names"])
        require(stage["n_views"] <= n_views, f"a stage had {stage['n_views']} views of {n_views}")
    return header


def _check_arrays(arrays: dict[str, np.ndarray], header: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the arrays once each has the kind and the shape that the others imply."""
    numbers = header["numbers"]
    axes = {
        "samples": numbers["n_samples"],
        "features": numbers["n_features"],
        "patterns": numbers["n_patterns"],
        "views": len(header["names"]["view_names"]),
    }
    for name, axis in NAMES.items():
        names = header["names"].get(name)
        require(names is None or len(names) == axes[axis], f"{name} is not one name for each of the {axis}")
    # the patterns' own arrays come last and one by one, so that a false number of them ends at the first missing one
    for name, (kind, names) in chain(ARRAYS.items(), _pattern_arrays(axes["patterns"])):
        require(name in arrays, f"{name} is missing")
        array = arrays[name]
        require(array.dtype.kind == kind, f"{name} holds {array.dtype} values")
        require(array.ndim == len(names), f"{name} has {array.ndim} axes")
        # an axis that no number fixes, like the starts, has the length that is met first
        expected = tuple(axes.setdefault(axis, size) for axis, size in zip(names, array.shape, strict=True))
        may_be_empty = name.startswith("evidence/")
        require(
            array.shape == expected and (array.size > 0 or may_be_empty), f"{name} has shape {array.shape}"
        )
        require(np.isfinite(array).all(), f"{name} holds numbers that are not finite")
    _check_values(arrays, axes["patterns"])
    _check_present(arrays.get("present"), (axes["views"], axes["samples"]))
    _check_agreement(arrays, axes["patterns"])
    return arrays


def _pattern_arrays(n_patterns: int) -> Iterator[tuple[str, tuple[str, tuple[str, ...]]]]:
    """Yield the name, the kind and the axes of what each pattern has of its own."""
    for l in range(n_patterns):
        clusters = f"clusters of pattern {l}"
        yield f"memberships/{l}", ("f", ("samples", clusters))
        yield f"responses/{l}", ("f", (clusters, clusters))
        yield f"averaged/{l}", ("f", ("samples", f"averaged columns of pattern {l}"))
        yield f"evidence/{l}", ("f", (f"numbers of clusters of pattern {l}",))
        yield f"level_labels/{l}", ("i", (f"levels of pattern {l}", "samples"))
        yield f"level_evidence/{l}", ("f", (f"levels of pattern {l}",))


def _check_values(arrays: dict[str, np.ndarray], n_patterns: int) -> None:
    """Refuse probabilities that are none, and labels that point past the patterns and clusters there are."""
    memberships = [f"memberships/{l}" for l in range(n_patterns)]
    for name in ("view_responsibilities", "pattern_weights", *memberships):
        adds_up = np.abs(arrays[name].sum(axis=-1) - 1) < PROBABILITY_ROUNDING
        require((arrays[name] >= 0).all() and adds_up.all(), f"{name} are no probabilities")
    check_weights(arrays["consensus/weights"])
    n_clusters = np.array([arrays[name].shape[1] for name in memberships])
    most = 1 + PROBABILITY_ROUNDING
    bounds: dict[str, tuple[int, Any]] = {
        "view_patterns": (0, n_patterns),
        "pattern_labels": (0, n_clusters[:, None]),
        "consensus/labels": (0, len(arrays["consensus/labels"])),
        "initial_view_patterns": (-2, len(arrays["view_patterns"])),
        "start_agreement": (0, most),
        "consensus/factor": (0, most),
        **{f"{name}/{l}": (0, most) for l in range(n_patterns) for name in ("responses", "averaged")},
        **{
            f"level_labels/{l}": (0, max(len(arrays["consensus/labels"]), n_clusters[l]))
            for l in range(n_patterns)
        },
    }
    for name, (low, high) in bounds.items():
        require(np.all((arrays[name] >= low) & (arrays[name] < high)), f"{name} is out of range")


def _check_present(present: np.ndarray | None, shape: tuple[int, int]) -> None:
    """Refuse what cannot say which samples each view has; nothing says that each has all."""
    if present is not None:
        require(present.dtype.kind == "i" and present.shape == shape, "present has another form")
        require(np.isin(present, (0, 1)).all(), "present is out of range")
        require(present.any(axis=1).all(), "a view has no sample")


def _check_agreement(arrays: dict[str, np.ndarray], n_patterns: int) -> None:
    """Refuse arrays that contradict each other."""
    patterns, eta = arrays["view_patterns"], arrays["view_responsibilities"]
    most_probable = eta[np.arange(len(eta)), patterns] >= eta.max(axis=1) - PROBABILITY_ROUNDING
    require(most_probable.all(), "view_patterns are not the most probable ones")
    require(len(np.unique(patterns)) == n_patterns, "a pattern has no view")
    clustered = np.array([arrays[f"memberships/{l}"].shape[1] > 1 for l in patterns])
    weighs = arrays["consensus/weights"] > 0
    require(
        not weighs[~clustered].any() and weighs.any() == clustered.any(),
        "consensus/weights are not those of views with clusters",
    )
    labels = arrays["consensus/labels"]
    require(len(np.unique(labels)) == labels.max() + 1, "consensus/labels leave a cluster empty")
    for name in ("consensus/factor", *(f"averaged/{l}" for l in range(n_patterns))):
        with_itself = np.square(arrays[name]).sum(axis=1)
        require(
            ((with_itself > 0) & (with_itself < 1 + PROBABILITY_ROUNDING)).all(),
            f"{name} gives no probabilities",
        )


def _restore(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Results:
    """Return the results that the checked parts of a file make up."""
    names = {name: header["names"].get(name) for name in NAMES}
    weights, n_patterns = arrays["consensus/weights"], header["numbers"]["n_patterns"]
    consensus = Consensus(
        labels=arrays["consensus/labels"],
        weights=weights,
        coassignment=CoAssignment(arrays["consensus/factor"]),
        excluded=[name for name, u in zip(names["view_names"], weights, strict=True) if u == 0],
    )
    fields: dict[str, Any] = {name: arrays[name] for name in OWN_ARRAYS}
    n_features = header["numbers"]["n_features"]
    fields["found_columns"] = restore_columns(arrays, n_features, len(names["view_names"]))
    fields["present"] = arrays["present"].astype(bool) if "present" in arrays else None
    for name, values in names.items():
        fields[name] = None if values is None else np.array(values, dtype=object)
    return Results(
        n_features=n_features,
        converged=header["numbers"]["converged"],
        memberships=[arrays[f"memberships/{l}"] for l in range(n_patterns)],
        responses=[arrays[f"responses/{l}"] for l in range(n_patterns)],
        averaged=[arrays[f"averaged/{l}"] for l in range(n_patterns)],
        consensus=consensus,
        levels=[
            [
                Level(labels, float(evidence))
                for labels, evidence in zip(
                    arrays[f"level_labels/{l}"], arrays[f"level_evidence/{l}"], strict=True
                )
            ]
            for l in range(n_patterns)
        ],
        evidence=[arrays[f"evidence/{l}"] for l in range(n_patterns)],
        stages=tuple(
            Stage(**{**stage, "similarity": decode_kernel(stage["similarity"])}) for stage in header["stages"]
        ),
        settings=decode_parameters(header["parameters"]),
        references=_restore_references(header, arrays),
        known=restore_known(header.get("known"), arrays, arrays["pattern_labels"].shape),
        loss_weights=_restore_weights(header.get("loss_weights")),
        **fields,
    )


def _restore_weights(weights: Any) -> np.ndarray | None:
    """Return the weights of joint losses, where the file has any; files of before have none."""
    if weights is None:
        return None
    of_numbers = isinstance(weights, list) and all(type(own) is float and own >= 0 for own in weights)
    require(of_numbers and np.isfinite(weights).all(), "loss_weights are no weights")
    return np.array(weights)


def _restore_references(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> References | None:
    """Return what places new samples, where the file holds that."""
    if header.get("columns") is None:
        return None
    memberships = [arrays[f"memberships/{l}"] for l in range(header["numbers"]["n_patterns"])]
    n_columns = header["numbers"]["n_features"] if "columns/views" in arrays else None
    return restore_references(header["columns"], arrays, arrays["view_patterns"], memberships, n_columns)
