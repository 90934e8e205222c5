"""Findings about labels and links in a model file: class names and numbers in its header, the rest as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex.known.findings import KnownFindings
from latentsimplex.results.zip_archive import require

ARRAYS: dict[str, tuple[str, tuple[str, ...]]] = {
    "pattern_probabilities": ("f", ("patterns and none",)),
    "class_table": ("f", ("clusters", "classes")),
    "cluster_classes": ("i", ("clusters",)),
    "labels": ("i", ("samples",)),
    "label_doubts": ("f", ("samples",)),
    "predicted": ("i", ("samples",)),
    "links": ("i", ("links", "two")),
    "together": ("i", ("links",)),
    "link_weights": ("f", ("links",)),
    "link_doubts": ("f", ("links",)),
}
"""The kind and the axes of each array."""


def describe_known(known: KnownFindings | None) -> dict[str, Any] | None:
    """Return what the header holds; classes come back as text."""
    if known is None:
        return None
    return {
        "classes": [str(name) for name in known.classes],
        "pattern": known.pattern,
        "label_error": known.label_error,
        "link_error": known.link_error,
    }


def collect_known(known: KnownFindings) -> dict[str, np.ndarray]:
    """Return the arrays."""
    place = {name: c for c, name in enumerate(known.classes)}
    arrays: dict[str, np.ndarray] = {name: getattr(known, name) for name in ARRAYS}
    arrays["cluster_classes"] = np.array(
        [place.get(name, -1) for name in known.cluster_classes], dtype=np.intp
    )
    arrays["together"] = known.together.astype(np.int8)
    return {f"known/{name}": array for name, array in arrays.items()}


def restore_known(header: Any, arrays: dict[str, np.ndarray], shape: tuple[int, int]) -> KnownFindings | None:
    """Return what a file says of labels and links, once checked; ``shape`` is the number of patterns and of samples."""
    if header is None:
        return None
    n_patterns, n = shape
    names, pattern = header["classes"], header["pattern"]
    require(isinstance(names, list) and all(isinstance(name, str) for name in names), "classes are no names")
    require(
        pattern is None or (type(pattern) is int and 0 <= pattern < n_patterns),
        f"known pattern is {pattern!r}",
    )
    axes = {"patterns and none": n_patterns + 1, "samples": n, "classes": len(names), "two": 2}
    found: dict[str, Any] = {}
    for name, (kind, own) in ARRAYS.items():
        array = arrays[f"known/{name}"]
        expected = tuple(axes.setdefault(axis, size) for axis, size in zip(own, array.shape, strict=True))
        require(array.dtype.kind == kind and array.shape == expected, f"known/{name} has another form")
        found[name] = array
    for name, most in {"labels": len(names), "predicted": len(names), "cluster_classes": len(names)}.items():
        require(((found[name] >= -1) & (found[name] < most)).all(), f"known/{name} is out of range")
    require(((found["links"] >= 0) & (found["links"] < n)).all(), "known/links is out of range")
    doubts = np.concatenate([found["label_doubts"][found["labels"] >= 0], found["link_doubts"]])
    require(((doubts >= 0) & (doubts <= 1)).all(), "known doubts are no probabilities")
    errors = [header["label_error"], header["link_error"]]
    require(all(type(error) is float and 0 <= error <= 1 for error in errors), "known errors are no shares")
    classes: np.ndarray = np.array([*names, None], dtype=object)
    found["cluster_classes"] = classes[found["cluster_classes"]]
    found["together"] = found["together"].astype(bool)
    return KnownFindings(
        pattern=pattern, classes=classes[:-1], label_error=errors[0], link_error=errors[1], **found
    )
