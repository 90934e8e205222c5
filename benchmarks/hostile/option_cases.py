"""Cases of options: every parameter of the estimator with every strange value, and some together."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import matplotlib
import numpy as np
from sklearn.base import clone

from hostile.case import Case, D, E, N, fit
from latentsimplex import LatentSimplexPosition

matplotlib.use("Agg")

STRANGE: dict[str, Any] = {
    "-1": -1,
    "0": 0,
    "1.5": 1.5,
    "nan": np.nan,
    "inf": np.inf,
    "huge": 10**30,
    "word": "abc",
    "empty": "",
    "None": None,
    "True": True,
    "list": [],
    "dict": {},
    "object": object(),
    "array": np.array([1, 2]),
    "complex": 1j,
    "type": int,
    "bytes": b"auto",
    "1e400": 10**400,
}
GOOD = {
    "n_clusters": {"huge", "1e400"},
    "n_patterns": {"huge", "1e400"},
    "penalty": {"None"},
    "temperature": {"1.5", "huge"},
    "max_iter": {"huge", "1e400"},
    "tol": {"1.5", "huge"},
    "memory_limit": {"None", "huge", "1e400"},
    "n_jobs": {"None", "-1", "huge", "1e400"},
    "random_state": {"None", "0"},
    "min_clusters": {"huge", "1e400"},
    "verbose": {"-1", "0", "huge", "True", "1e400"},
    "n_landmarks": {"None", "huge", "1e400"},
    "engine": {"None"},
    "checkpoint": {"None"},
}
"""Strange values that mean something; all others are refused."""
UNSURE = {"random_state": {"True", "list"}}
LEFT_OUT = {"n_init": {"huge", "1e400"}, "checkpoint": {"word"}}
"""Values that ask for what nobody can wait for, or for a folder beside this one."""


def options() -> Iterator[Case]:
    """Every parameter with every strange value."""
    for name in inspect.signature(LatentSimplexPosition).parameters:
        for what, value in STRANGE.items():
            if name == "views" or what in LEFT_OUT.get(name, ()):
                continue
            good, unsure = what in GOOD.get(name, ()), what in UNSURE.get(name, ())
            expected = "any" if unsure else "fits" if good else "refused"
            yield Case(f"{name}={what}", lambda name=name, v=value: fit([D, E], **{name: v}), expected)
    several: dict[str, tuple[dict[str, Any], str]] = {
        "fewest above most": ({"n_clusters": 2, "min_clusters": 3}, "refused"),
        "exactly two": ({"n_clusters": 2, "min_clusters": 2}, "fits"),
        "exactly N": ({"n_clusters": N, "min_clusters": N}, "any"),
        "more than N": ({"n_clusters": 10 * N, "min_clusters": 2 * N}, "any"),
        "plain and learned": ({"search": "plain", "response": "learned"}, "refused"),
        "little memory": ({"memory_limit": 1000}, "refused"),
        "memory in words": ({"memory_limit": "a lot"}, "refused"),
        "memory in GB": ({"memory_limit": "1.5 gb"}, "fits"),
        "no such GPU": ({"device": "cuda:7"}, "refused"),
        "torch": ({"device": "torch"}, "fits"),
        "unknown keyword": ({"clusters": 3}, "refused"),
        "reverse": ({"divergence": "reverse"}, "fits"),
        "dirichlet": ({"penalty": "dirichlet"}, "fits"),
        "own similarity": (
            {"similarity": lambda x: np.exp(-np.abs(x[:, None] - x[None]).sum(axis=2))},
            "fits",
        ),
        "own, not square": ({"similarity": lambda x: x}, "refused"),
        "own, of text": ({"similarity": lambda x: "text"}, "refused"),
        "own, nan": ({"similarity": lambda x: np.full((N, N), np.nan)}, "refused"),
        "own, negative": ({"similarity": lambda x: -np.eye(N)}, "refused"),
        "a class": ({"similarity": LatentSimplexPosition}, "refused"),
        "numpy integers": ({"n_clusters": np.int64(3), "n_init": np.int32(1)}, "fits"),
        "whole float": ({"n_clusters": 3.0}, "refused"),
        "RandomState": ({"random_state": np.random.RandomState(0)}, "fits"),
        "Generator": ({"random_state": np.random.default_rng(0)}, "fits"),
    }
    for what, (settings, expected) in several.items():
        yield Case(f"options: {what}", lambda s=settings: fit([D, E], **s), expected)
    yield Case(
        "paper", lambda: fit_preset(LatentSimplexPosition.paper(3, 2, n_init=1, random_state=0)), "fits"
    )
    yield Case("paper, unknown keyword", lambda: LatentSimplexPosition.paper(spin=3), "refused")
    yield Case("clone", lambda: clone(LatentSimplexPosition(n_clusters=3)).fit(D), "fits")
    yield Case("fit without data", lambda: LatentSimplexPosition().fit(), "refused")
    yield Case("positional", lambda: LatentSimplexPosition(3, 2, 1), "refused")


def fit_preset(model: LatentSimplexPosition) -> None:
    """Fit with the settings of a model that was made elsewhere."""
    fit([D, E], **model.get_params())


FAMILIES = (options,)
