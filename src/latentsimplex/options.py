"""The estimator's options: checked, and "auto" resolved, before anything is computed."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from latentsimplex.divergence import DIVERGENCES
from latentsimplex.em import Model
from latentsimplex.objective import PENALTIES, ClusterPrice, Penalty, label_prices

AUTO = {
    "divergence": "forward",
    "response": "learned",
    "penalty": "labels",
}
"""What "auto" means for each option that does not depend on the data; docs/defaults.md says why."""

VIEW_SPREAD = 2.0
"""How much less sure of its pattern a view is than its own nats say: views of one pattern differ in more ways than
chance (docs/defaults.md)."""
DEVICES = re.compile(r"cpu|torch|mps|cuda(:\d+)?")


def resolve(name: str, value: Any) -> Any:
    """Return the value of an option, with "auto" replaced.

    >>> resolve("divergence", "auto"), resolve("divergence", "forward")
    ('forward', 'forward')
    """
    return AUTO[name] if isinstance(value, str) and value == "auto" else value


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

    def model(self, n_samples: int, n_clusters: int, temperature: float) -> Model:
        """Return what is to be minimised for data of this size."""
        if self.penalty == "labels":
            penalty: Penalty = ClusterPrice(label_prices(n_samples, n_clusters, temperature))
        else:
            penalty = PENALTIES[self.penalty]
        if "temperature" in self.automatic and self.penalty == "labels":
            # pairs share samples, and no more than that: n^2 / 2 of them are n facts about a view's pattern at least
            temperature = min(VIEW_SPREAD * temperature, max(temperature, n_samples / 2))
        return Model(DIVERGENCES[self.divergence], penalty, temperature, self.response == "learned")


def resolve_choices(divergence: Any, response: Any, penalty: Any, temperature: Any, search: Any) -> Choices:
    """Return the choices, or raise ValueError for one that does not exist or that plain EM cannot fit."""
    learned = check_choice("response", resolve("response", response), ["identity", "learned"])
    priced = check_choice("penalty", resolve("penalty", penalty), [*PENALTIES, "labels"])
    needs_moves = learned == "learned" or priced == "labels"
    if isinstance(search, str) and search == "auto":
        search = "moves" if needs_moves else "plain"
    given = {"divergence": divergence, "response": response, "penalty": penalty, "temperature": temperature}
    automatic = frozenset(name for name, value in given.items() if isinstance(value, str) and value == "auto")
    choices = Choices(
        divergence=check_choice("divergence", resolve("divergence", divergence), list(DIVERGENCES)),
        response=learned,
        penalty=priced,
        temperature=None if "temperature" in automatic else check_number("temperature", temperature, above=0),
        search=check_choice("search", search, ["plain", "moves"]),
        automatic=automatic,
    )
    if choices.search == "plain" and needs_moves:
        raise ValueError(
            'search="plain" can fit neither response="learned", which begins from a spectral start, nor '
            'penalty="labels", which has no slope: leave search="auto" or set "moves".'
        )
    return choices


def resolve_optimizer(optimizer: Any, penalty: str | None) -> str:
    """Return how memberships descend; mirror descent knows the scale of the divergence, not of a sloped penalty.

    >>> resolve_optimizer("auto", "labels"), resolve_optimizer("auto", "group")
    ('mirror', 'adam')
    """
    if isinstance(optimizer, str) and optimizer == "auto":
        return "mirror" if penalty in ("labels", None) else "adam"
    return check_choice("optimizer", optimizer, ["adam", "mirror"])


def check_choice(name: str, value: Any, choices: list[Any]) -> Any:
    """Return ``value`` if it is one of ``choices``."""
    if (value is None or isinstance(value, str)) and value in choices:
        return value
    listed = ", ".join(map(repr, ["auto", *choices]))
    raise ValueError(f"{name}={value!r} is unknown: choose one of {listed}.")


def check_device(device: Any) -> str:
    """Return ``device`` if it is the name of one.

    >>> check_device("cuda:1")
    'cuda:1'
    """
    if isinstance(device, str) and DEVICES.fullmatch(device):
        return device
    raise ValueError(
        f'device={device!r} is unknown: choose "cpu", "cuda", "cuda:1" and so on, "mps" or "torch".'
    )


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Return ``value`` if it is a whole number of at least ``least``."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise ValueError(f"{name}={value!r} is not valid: give a whole number of at least {least}.")


def check_number(name: str, value: Any, above: float) -> float:
    """Return ``value`` if it is a finite number greater than ``above``."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if number and above < value < np.inf:
        return float(value)
    raise ValueError(f"{name}={value!r} is not valid: give a number greater than {above:g}.")


def check_jobs(n_jobs: Any) -> int | None:
    """Return ``n_jobs`` if it is None, -1 or a positive whole number."""
    if n_jobs is None or n_jobs == -1:
        return None
    return check_count("n_jobs", n_jobs)


def generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy generator for any ``random_state`` that scikit-learn or NumPy knows."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
