"""The estimator's parameters as plain JSON values, and back.

Numbers, text and None are themselves. A dict or a Series of ``views`` is a list of pairs. Kernels of this package are
written by name and fields; a kernel of the user's own is code, which a data file cannot hold, so that only its
description is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from latentsimplex.base.types import Array
from latentsimplex.inputs.column_groups import pairs_of
from latentsimplex.similarity import AutoDiffusion, Diffusion, FunctionKernel, LocalScaling, Precomputed

KERNELS: dict[str, Any] = {
    kernel.__name__: kernel for kernel in (AutoDiffusion, Diffusion, LocalScaling, Precomputed)
}


@dataclass(frozen=True)
class UnstoredKernel:
    """Stands for the similarity that a loaded model was fitted with, where that was the user's own code."""

    description: str

    def exponents(self, X: Array) -> Array:
        """Raise ValueError: the code that would compute them is not in the file."""
        raise ValueError(
            f"This model was fitted with {self.description}, a similarity of your own that its file cannot hold: "
            "pass it again with set_params(similarity=...) before fitting."
        )


def encode_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters as JSON values.

    >>> encode_parameters({"n_clusters": np.int64(3), "views": ("a", "b"), "similarity": LocalScaling(power=2.0)})
    ... # doctest: +NORMALIZE_WHITESPACE
    {'n_clusters': 3, 'views': ['a', 'b'],
     'similarity': {'kernel': 'LocalScaling', 'fields': {'quantile': 0.1, 'power': 2.0, 'neighbour': None,
                                                         'metric': 'euclidean', 'standardise': False,
                                                         'per_feature': False}}}
    """
    return {name: _encode(name, value) for name, value in parameters.items()}


def decode_parameters(encoded: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that :func:`encode_parameters` wrote, or raise ValueError."""
    return {name: _decode(name, value) for name, value in encoded.items()}


def _decode(name: str, value: Any) -> Any:
    """Return the value of a parameter, of a type that it can have been written with."""
    if name == "similarity" and isinstance(value, dict):
        return decode_kernel(value)
    if name == "random_state":
        holds = value is None or type(value) is int
    elif name == "views" and isinstance(value, list):
        if value and all(isinstance(pair, list) and len(pair) == 2 and _is_plain(pair[0]) for pair in value):
            holds = all(_is_plain(entry) or _are_plain(entry) for _, entry in value)
            value = dict(value)
        else:
            holds = _are_plain(value)
    else:
        holds = isinstance(value, str) if name == "views" else _is_plain(value)
    if not holds:
        raise ValueError(f"{name} is {value!r}")
    return value


def _encode(name: str, value: Any) -> Any:
    if name == "random_state":
        # a generator has moved on since the fit: no stored state of it would repeat that fit
        return int(value) if isinstance(value, (int, np.integer)) else None
    plain = value.item() if isinstance(value, np.generic) else value
    if _is_plain(plain):
        return plain
    if name == "similarity":
        return encode_kernel(value)
    if name == "views" and isinstance(value, Iterable):
        pairs = pairs_of(value)
        return _encode_labels(list(value) if pairs is None else [list(pair) for pair in pairs])
    raise ValueError(
        f"{name}={value!r} cannot be stored: set it to a number, text or None with set_params before fitting."
    )


def _encode_labels(labels: Any) -> Any:
    """Return a label as a number or text, and several as a list of them."""
    if isinstance(labels, np.generic):
        return labels.item()
    if _is_plain(labels):
        return labels
    if isinstance(labels, Iterable) and not isinstance(labels, (bytes, tuple)):
        return [_encode_labels(label) for label in labels]
    return str(labels)


def _are_plain(values: Any) -> bool:
    return isinstance(values, list) and all(map(_is_plain, values))


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def encode_kernel(kernel: Any) -> dict[str, Any]:
    """Return a kernel as JSON values: its name and fields, or the description of one of the user's own."""
    if type(kernel) in KERNELS.values():
        values = asdict(kernel)
        if isinstance(kernel, AutoDiffusion) or all(map(_is_plain, values.values())):
            return {"kernel": type(kernel).__name__, "fields": values}
    return {"unstored": describe_kernel(kernel)}


def describe_kernel(kernel: Any) -> str:
    """Return a name for a similarity of the user's own.

    >>> describe_kernel(np.corrcoef)
    'the function corrcoef'
    """
    if isinstance(kernel, UnstoredKernel):
        return kernel.description
    if isinstance(kernel, FunctionKernel):
        return describe_kernel(kernel.function)
    if hasattr(kernel, "__qualname__"):
        return f"the function {kernel.__qualname__}"
    # the default repr is a memory address, which says nothing in another process
    if type(kernel).__repr__ is object.__repr__:
        return f"a {type(kernel).__qualname__} object"
    return repr(kernel)


def decode_kernel(value: dict[str, Any]) -> Any:
    """Return the kernel that :func:`encode_kernel` wrote, or raise ValueError."""
    if set(value) == {"unstored"} and isinstance(value["unstored"], str):
        return UnstoredKernel(value["unstored"])
    if set(value) == {"kernel", "fields"} and value["kernel"] in KERNELS:
        kernel = KERNELS[value["kernel"]]
        for field in fields(kernel):
            if type(field.default) is bool and type(value["fields"].get(field.name, True)) is not bool:
                raise ValueError(f"{field.name} of a similarity is {value['fields'][field.name]!r}")
        return kernel(**value["fields"])
    raise ValueError(f"a parameter is {value!r}")
