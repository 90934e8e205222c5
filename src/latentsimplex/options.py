"""The estimator's options: checked, and "auto" resolved as far as the data need not be known."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from latentsimplex.base.checks import (
    check_choice,
    check_count,
    check_flag,
    check_jobs,
    check_number,
    make_generator,
)
from latentsimplex.base.interruption import stop_of_fits
from latentsimplex.base.libraries import is_instance_of
from latentsimplex.base.wording import show_value
from latentsimplex.inputs.named_table import JOINS
from latentsimplex.model.penalties import PENALTIES
from latentsimplex.model.problem import NEVER, OPTIMIZERS, Schedule
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.pairs.memory_budget import read_memory_limit
from latentsimplex.similarity import Kernel, as_kernel

CHOICES: dict[str, list[Any]] = {
    "missing": ["raise", "pairwise"],
    "join": list(JOINS),
    "divergence": ["auto", *DIVERGENCES],
    "response": ["auto", "identity", "learned"],
    "penalty": ["auto", *PENALTIES, "labels"],
    "search": ["auto", "plain", "moves"],
    "optimizer": ["auto", *OPTIMIZERS],
}
"""What may be given for each option that is a word."""
AUTO = {
    "divergence": "forward",
    "response": "learned",
    "penalty": "labels",
}
"""What "auto" means for each option that does not depend on the data; docs/defaults.md says why."""
PAPER = {
    "similarity": "local-scaling",
    "divergence": "reverse",
    "response": "identity",
    "penalty": "group",
    "temperature": 1.0,
    "search": "plain",
    "optimizer": "adam",
    "n_init": 3,
    "max_iter": 500,
    "tol": 0.01,
}
"""The settings of the paper's text."""
MOST_PATTERNS = 10
"""Patterns that there may be under "auto"."""
QUICK, LANDMARKS = 10_000, 5_000
"""Samples up to which "auto" compares all with all, which takes about a minute, and landmarks where there are more."""
FEWEST_LANDMARKS = 100
"""Fewer landmarks than this show too little of the clusters that there are."""
FEW_VIEWS = 12
"""Views that are looked at one by one for clusters. Among more, what they have in common tells more than each."""
SEARCHED_CLUSTERS = 10
"""The most clusters that a search among many views looks for, where no number was given."""
NO_SETTINGS = {"verbose", "engine", "checkpoint"}
"""Parameters that belong to one call of a fit, and not to the model that comes of it."""
DEVICES = re.compile(r"cpu|torch|mps|cuda(:\d+)?")


@dataclass(frozen=True)
class Choices:
    """The model and the search that were chosen, before the data are known.

    No temperature is one that the data will set; ``automatic`` holds the options that were left on "auto".
    """

    divergence: str
    response: str
    penalty: str | None
    temperature: float | None
    search: str
    automatic: frozenset[str] = frozenset()

    def for_coassignments(self) -> Choices:
        """Return the choices for similarities that are as good as co-assignments: the paper's, where left open."""
        return replace(
            self,
            divergence="reverse" if "divergence" in self.automatic else self.divergence,
            response="identity" if "response" in self.automatic else self.response,
        )


@dataclass(frozen=True)
class Options:
    """All that the estimator's parameters say, checked; no kernel is one that the data will choose.

    ``n_clusters`` and ``n_patterns`` are upper bounds that the data may lower, no ``n_clusters`` is no bound; ``views``
    and ``memory_limit`` are checked with the data. ``settings`` are the parameters as they were given, but for those
    that belong to one process alone.
    """

    n_clusters: int | None
    n_patterns: int
    min_clusters: int
    views: Any
    missing: str
    join: str
    n_landmarks: int | str | None
    engine: Any
    checkpoint: Path | None
    kernel: Kernel | None
    choices: Choices
    schedule: Schedule
    n_init: int
    device: str
    memory_limit: Any
    n_jobs: int | None
    rng: np.random.Generator
    verbose: bool
    settings: dict[str, Any]

    def count_landmarks(self, n_samples: int) -> int | None:
        """Return how many of the samples are landmarks; None is all."""
        if isinstance(self.n_landmarks, str):
            return LANDMARKS if n_samples > QUICK else None
        return None if self.n_landmarks is None or self.n_landmarks >= n_samples else self.n_landmarks

    def bound_numbers(self, n_samples: int, n_views: int) -> tuple[int, int]:
        """Return the most clusters and patterns that data of this size can have."""
        most = self.n_clusters or max(SEARCHED_CLUSTERS, self.min_clusters)
        return min(most, n_samples), min(self.n_patterns, n_views)

    def looks_for_splits(self, n_views: int) -> bool:
        """Return whether clusters are found by splits: in a few views, where the data choose the similarity."""
        priced = self.choices.penalty == "labels" and self.choices.search == "moves"
        return self.kernel is None and priced and n_views <= FEW_VIEWS

    def check_search(self) -> None:
        """Raise ValueError for what a search other than by splits does not keep to."""
        if isinstance(self.n_landmarks, int):
            where = f'in up to {FEW_VIEWS} views with similarity="auto" and penalty="auto"'
            raise ValueError(f'n_landmarks={self.n_landmarks} is used {where}: leave it at "auto" here.')


def resolve_options(parameters: Mapping[str, Any]) -> Options:
    """Return the options of an estimator with these parameters, or raise ValueError that says what to give."""
    given = dict(parameters)
    for name, choices in CHOICES.items():
        check_choice(name, given[name], choices)
    counts = {name: check_count(name, given[name]) for name in ("min_clusters", "n_init", "max_iter")}
    tol, n_jobs = check_number("tol", given["tol"], above=0), check_jobs(given["n_jobs"])
    rng, verbose = make_generator(given["random_state"]), check_flag("verbose", given["verbose"])
    bounds = {
        name: None if is_auto(given[name]) else check_count(name, given[name])
        for name in ("n_clusters", "n_patterns")
    }
    check_bounds(counts["min_clusters"], bounds["n_clusters"])
    chosen = resolve_choices(
        *(given[name] for name in ("divergence", "response", "penalty", "temperature", "search"))
    )
    optimizer = OPTIMIZERS[resolve_optimizer(given["optimizer"], chosen.penalty)]
    stop = stop_of_fits.get() or NEVER
    return Options(
        n_clusters=bounds["n_clusters"],
        n_patterns=bounds["n_patterns"] or MOST_PATTERNS,
        min_clusters=counts["min_clusters"],
        n_init=counts["n_init"],
        views=given["views"],
        missing=given["missing"],
        join=given["join"],
        n_landmarks=check_landmarks(given["n_landmarks"]),
        engine=check_engine(given["engine"]),
        checkpoint=check_checkpoint(given["checkpoint"]),
        kernel=None if is_auto(given["similarity"]) else as_kernel(given["similarity"]),
        choices=chosen,
        schedule=Schedule(max_iter=counts["max_iter"], tol=tol, stop=stop, **optimizer),
        device=check_device(given["device"]),
        memory_limit=given["memory_limit"],
        n_jobs=n_jobs,
        rng=rng,
        verbose=verbose,
        settings={name: value for name, value in given.items() if name not in NO_SETTINGS},
    )


def check_bounds(least: int, most: int | None) -> None:
    """Raise ValueError for numbers of clusters that exclude each other.

    >>> check_bounds(2, 2)
    """
    if most is not None and least > most:
        raise ValueError(
            f"min_clusters={least} is more than n_clusters={most}: give the same number for exactly so many clusters."
        )


def check_landmarks(n_landmarks: Any) -> int | str | None:
    """Return ``n_landmarks`` if it is "auto", None or a number of samples that can show clusters.

    >>> check_landmarks("auto"), check_landmarks(2000)
    ('auto', 2000)
    """
    if n_landmarks is None or is_auto(n_landmarks):
        return n_landmarks
    is_number = isinstance(n_landmarks, (int, np.integer)) and not isinstance(n_landmarks, bool)
    if not is_number or n_landmarks < FEWEST_LANDMARKS:
        raise ValueError(
            f"n_landmarks={n_landmarks!r} is not valid: give a whole number of at least {FEWEST_LANDMARKS}, "
            '"auto", or None for all samples.'
        )
    return int(n_landmarks)


def check_settings(parameters: Mapping[str, Any]) -> None:
    """Raise ValueError for parameters that no fit can have had, such as those of a file."""
    given = dict(parameters)
    if given["random_state"] is None:
        given["random_state"] = 0  # to resolve None is to draw from NumPy's global generator
    if given["memory_limit"] is not None:
        read_memory_limit(given["memory_limit"])
    resolve_options(given)


def resolve_choices(divergence: Any, response: Any, penalty: Any, temperature: Any, search: Any) -> Choices:
    """Return the choices with "auto" resolved, or raise ValueError for what plain EM cannot fit."""
    given = {"divergence": divergence, "response": response, "penalty": penalty, "temperature": temperature}
    automatic = frozenset(name for name, value in given.items() if is_auto(value))
    resolved = {**given, **{name: AUTO[name] for name in automatic if name in AUTO}}
    needs_moves = resolved["response"] == "learned" or resolved["penalty"] == "labels"
    if search == "plain" and needs_moves:
        raise ValueError(
            'search="plain" can fit neither response="learned", which begins from a spectral start, nor '
            'penalty="labels", which has no slope: leave search="auto" or set "moves".'
        )
    return Choices(
        divergence=resolved["divergence"],
        response=resolved["response"],
        penalty=resolved["penalty"],
        temperature=None if "temperature" in automatic else check_number("temperature", temperature, above=0),
        search=("moves" if needs_moves else "plain") if is_auto(search) else search,
        automatic=automatic,
    )


def is_auto(value: Any) -> bool:
    """Return whether an option was left to "auto"."""
    return isinstance(value, str) and value == "auto"


def resolve_optimizer(optimizer: str, penalty: str | None) -> str:
    """Return how memberships descend; mirror descent knows the scale of the divergence, not of a sloped penalty.

    >>> resolve_optimizer("auto", "labels"), resolve_optimizer("auto", "group")
    ('mirror', 'adam')
    """
    return ("mirror" if penalty in ("labels", None) else "adam") if is_auto(optimizer) else optimizer


def check_device(device: Any) -> str:
    """Return ``device`` if it is the name of one.

    >>> check_device("cuda:1")
    'cuda:1'
    """
    if isinstance(device, str) and DEVICES.fullmatch(device):
        return device
    raise ValueError(
        f'device={show_value(device)} is unknown: choose "cpu", "cuda", "cuda:1" and so on, "mps" or "torch".'
    )


def check_engine(engine: Any) -> Any:
    """Return ``engine`` if it is None, a client of Dask or an address.

    >>> check_engine("tcp://127.0.0.1:8786")
    'tcp://127.0.0.1:8786'
    """
    if engine is None or isinstance(engine, str) or is_instance_of(engine, "distributed", "Client"):
        return engine
    raise ValueError(
        f"engine={show_value(engine)} is no engine: give a dask.distributed.Client, the address of a Dask scheduler, "
        "or None for this process."
    )


def check_checkpoint(folder: Any) -> Path | None:
    """Return the folder of a checkpoint, which need not exist; None for none.

    >>> check_checkpoint(None), check_checkpoint("fit.checkpoint").name
    (None, 'fit.checkpoint')
    """
    if folder is None:
        return None
    if isinstance(folder, (str, os.PathLike)) and os.fspath(folder):
        return Path(os.fsdecode(folder))
    raise ValueError(
        f"checkpoint={show_value(folder)} is no folder: give its path as text or a pathlib.Path, or None."
    )
