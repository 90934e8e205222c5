"""Settings of a fit for the report: parameters, what "auto" came to mean, what each stage used, versions."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from latentsimplex._version import __version__
from latentsimplex.results.parameters import describe_kernel
from latentsimplex.results.results import Results, Stage
from latentsimplex.similarity import AutoDiffusion

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
    if name == "views" and not isinstance(value, str):
        return f"{len(list(value))} group labels"
    return value if isinstance(value, str) else repr(value)


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
    """Return a kernel in words where the data chose it, and otherwise as it was given.

    >>> describe_similarity(AutoDiffusion("mixed", ((1, "as they are"), (6, "standardised")), 0.25))
    'diffusion at the mixed scale, mean 0.25; 1 feature as they are, 6 features standardised'
    """
    if not isinstance(kernel, AutoDiffusion):
        return describe_kernel(kernel)
    mean = "" if kernel.mean is None else f", mean {kernel.mean:.3g}"
    kinds = [f"{p} feature{'s' * (p > 1)} {name}" for p, name in kernel.features]
    return f"diffusion at the {kernel.scale} scale{mean}; {', '.join(kinds)}"


def list_versions() -> dict[str, str]:
    """Return the versions that write the page; the fit may have been made with others."""
    libraries = {name: version(name) for name in LIBRARIES}
    return {"latentsimplex": __version__, "Python": platform.python_version(), **libraries}
