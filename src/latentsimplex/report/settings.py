"""What a fit was asked to do, what "auto" came to mean, and the versions at hand."""

from __future__ import annotations

import inspect
import platform
from importlib.metadata import version
from typing import Any

from latentsimplex._version import __version__
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.options import resolve_choices, resolve_optimizer
from latentsimplex.similarity import Readings

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def settings_of(model: LatentSimplexPosition) -> list[dict[str, str | None]]:
    """Return every parameter as text: its ``value``, and that in two parts, as ``given`` and what it ``meant``.

    Only "auto" has a meaning of its own; of others it is None.
    """
    names = inspect.signature(LatentSimplexPosition).parameters
    meant = _meant(model)
    return [_setting(name, getattr(model, name), meant) for name in names]


def _setting(name: str, value: Any, meant: dict[str, str]) -> dict[str, str | None]:
    given = _as_text(name, value)
    if given != "auto":
        return {"name": name, "value": given, "given": given, "meant": None}
    return {"name": name, "value": f"auto: {meant[name]}", "given": given, "meant": meant[name]}


def _as_text(name: str, value: Any) -> str:
    if name == "views" and not isinstance(value, str):
        return f"{len(list(value))} group labels"
    return value if isinstance(value, str) else repr(value)


def _meant(model: LatentSimplexPosition) -> dict[str, str]:
    """Return what "auto" stood for in this fit: once, or to find clusters and then to draw them."""
    found = resolve_choices(model.divergence, model.response, model.penalty, model.temperature, model.search)
    kernel = model.similarity_
    drawn = found.for_coassignments() if isinstance(kernel, Readings) and kernel.scale == "mixed" else found
    return {
        "similarity": repr(kernel),
        "temperature": f"{model.temperature_:.4g}",
        "divergence": " then ".join(dict.fromkeys([found.divergence, drawn.divergence])),
        "response": " then ".join(dict.fromkeys([found.response, drawn.response])),
        "penalty": str(found.penalty),
        "search": found.search,
        "optimizer": resolve_optimizer(model.optimizer, found.penalty),
    }


def versions() -> dict[str, str]:
    """Return the versions that write the page; the fit may have been made with others."""
    libraries = {name: version(name) for name in LIBRARIES}
    return {"latentsimplex": __version__, "Python": platform.python_version(), **libraries}
