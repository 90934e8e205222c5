"""Settings of a fit for the report: parameters, what "auto" came to mean, what each stage used, versions."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import fields
from importlib.metadata import version
from typing import Any

import numpy as np

from latentsimplex._version import __version__
from latentsimplex.results.parameters import describe_kernel
from latentsimplex.results.results import Results, Stage
from latentsimplex.similarity import AutoDiffusion

UNSET = {"memory_limit": "half of what is free", "n_jobs": "all cores", "random_state": "not fixed"}
"""What None stands for; elsewhere it is nothing."""
KERNELS = {"LocalScaling": "local scaling", "Diffusion": "diffusion", "Precomputed": "precomputed"}
SWITCHES = {
    "balance": "balanced",
    "standardise": "standardised",
    "per_feature": "feature by feature",
    "as_shares": "as shares",
}
"""What the options of kernels say that are on or off, where they are on."""
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def list_settings(results: Results) -> list[dict[str, str | None]]:
    """Return every parameter as text: its ``value``, and that in two parts, as ``given`` and what it ``meant``.

    Only "auto" has a meaning of its own; of others it is None.
    """
    meanings = _explain_auto(results)
    settings = []
    for name, setting in results.settings.items():
        given = _as_text(name, setting)
        meant = meanings.get(name) if given == "auto" else None
        value = given if meant is None else f"auto: {meant}"
        settings.append({"name": name, "value": value, "given": given, "meant": meant})
    return settings


def _as_text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if name == "similarity":
        return describe_similarity(value)
    if value is None:
        return UNSET.get(name, "none")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float, np.number)):
        return f"{value:.12g}"
    return f"{len(list(value))} group labels" if name == "views" else f"a {type(value).__name__}"


def _explain_auto(results: Results) -> dict[str, str]:
    """Return what "auto" stood for in this fit, stage by stage where stages differ."""
    stages = results.stages
    return {
        "similarity": _then(describe_similarity(stage.similarity) for stage in stages),
        "temperature": _then(f"{stage.temperature:.4g}" for stage in stages),
        **{
            name: _then(str(getattr(stage, name)) for stage in stages)
            for name in ("divergence", "response", "penalty", "search", "optimizer")
        },
    }


def _then(values: Iterable[str]) -> str:
    return " then ".join(dict.fromkeys(values))


def describe_stage(stage: Stage) -> dict[str, Any]:
    """Return what a stage of a fit used, as text and numbers."""
    return {
        "name": stage.name,
        "similarity": describe_similarity(stage.similarity),
        "divergence": stage.divergence,
        "response": stage.response,
        "temperature": stage.temperature,
        "n_views": stage.n_views,
        "evidence": stage.evidence,
    }


def describe_similarity(kernel: Any) -> str:
    """Return a kernel in words.

    >>> describe_similarity(AutoDiffusion("mixed", ((1, "as they are"), (6, "standardised")), 0.25))
    'diffusion at the mixed scale, mean 0.25; 1 feature as they are, 6 features standardised'
    >>> from latentsimplex.similarity import LocalScaling
    >>> describe_similarity(LocalScaling(power=2.0, standardise=True))
    'local scaling: quantile 0.1, power 2, metric euclidean, standardised'
    """
    if not isinstance(kernel, AutoDiffusion):
        name = KERNELS.get(type(kernel).__name__)
        return (
            describe_kernel(kernel) if name is None else ": ".join(filter(None, (name, _list_fields(kernel))))
        )
    mean = "" if kernel.mean is None else f", mean {kernel.mean:.3g}"
    kinds = [f"{p} feature{'s' * (p > 1)} {name}" for p, name in kernel.features]
    return f"diffusion at the {kernel.scale} scale{mean}; {', '.join(kinds)}"


def _list_fields(kernel: Any) -> str:
    """Return the fields of a kernel with their values; of switches, those that are on."""
    words = []
    for name, value in ((field.name, getattr(kernel, field.name)) for field in fields(kernel)):
        if value is True:
            words.append(SWITCHES[name])
        elif value is not None and value is not False:
            words.append(f"{name} {describe_kernel(value) if callable(value) else _as_text(name, value)}")
    return ", ".join(words)


def list_versions() -> dict[str, str]:
    """Return the versions that write the page; the fit may have been made with others."""
    libraries = {name: version(name) for name in LIBRARIES}
    return {"latentsimplex": __version__, "Python": platform.python_version(), **libraries}
