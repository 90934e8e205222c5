"""The estimator's options: checked, and "auto" resolved, before anything is computed."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from latentsimplex.divergence import DIVERGENCES
from latentsimplex.em import Model
from latentsimplex.objective import PENALTIES

AUTO = {"divergence": "reverse", "response": "identity", "penalty": "group", "temperature": 1.0}
"""What "auto" means for each option: the paper's choice."""

NOT_BUILT = {"response": ["learned"], "penalty": ["bic"], "device": ["cuda", "mps"]}
"""Options of later releases, which must not be taken for typing errors."""


def resolve(name: str, value: Any) -> Any:
    """Return the value of an option, with "auto" replaced.

    >>> resolve("divergence", "auto"), resolve("divergence", "forward")
    ('reverse', 'forward')
    """
    return AUTO[name] if isinstance(value, str) and value == "auto" else value


def resolve_model(divergence: Any, response: Any, penalty: Any, temperature: Any) -> Model:
    """Return what is to be minimised, or raise ValueError for an option that does not exist."""
    check_choice("response", resolve("response", response), ["identity"])
    return Model(
        divergence=DIVERGENCES[
            check_choice("divergence", resolve("divergence", divergence), list(DIVERGENCES))
        ],
        penalty=PENALTIES[check_choice("penalty", resolve("penalty", penalty), list(PENALTIES))],
        temperature=check_number("temperature", resolve("temperature", temperature), above=0),
    )


def check_choice(name: str, value: Any, choices: list[Any]) -> Any:
    """Return ``value`` if it is one of ``choices``."""
    if (value is None or isinstance(value, str)) and value in choices:
        return value
    listed = ", ".join(map(repr, choices if name == "device" else ["auto", *choices]))
    if isinstance(value, str) and value in NOT_BUILT.get(name, []):
        raise ValueError(f"{name}={value!r} is not built yet: choose one of {listed}.")
    raise ValueError(f"{name}={value!r} is unknown: choose one of {listed}.")


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
