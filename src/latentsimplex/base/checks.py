"""Argument checks: each function returns what it was given, or raises a ValueError that says what to give."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wording import show_value

PROBABILITY_ROUNDING = 1e-6
"""How far probabilities may be from [0, 1], from symmetry and from adding up to 1 by rounding alone."""


def check_choice(name: str, value: Any, choices: list[Any]) -> Any:
    """Return ``value`` if it is one of ``choices``."""
    if (value is None or isinstance(value, str)) and value in choices:
        return value
    listed = ", ".join(map(repr, choices))
    raise ValueError(f"{name}={show_value(value)} is unknown: choose one of {listed}.")


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Return ``value`` if it is a whole number of at least ``least``."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise ValueError(f"{name}={show_value(value)} is not valid: give a whole number of at least {least}.")


def check_number(name: str, value: Any, above: float) -> float:
    """Return ``value`` if it is a finite number greater than ``above``."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    too_large = isinstance(value, int) and value > sys.float_info.max  # which would not become a float
    if number and not too_large and above < value < np.inf:
        return float(value)
    raise ValueError(f"{name}={show_value(value)} is not valid: give a number greater than {above:g}.")


def check_flag(name: str, value: Any) -> bool:
    """Return ``value`` if it is True or False, or a whole number, of which 0 is False."""
    if isinstance(value, (bool, int, np.bool_, np.integer)):
        return bool(value)
    raise ValueError(f"{name}={show_value(value)} is not valid: give True or False.")


def as_numbers(values: Any, name: str) -> Array:
    """Return ``values`` as an array of numbers.

    >>> as_numbers([1, 2], "weights").tolist()
    [1.0, 2.0]
    """
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{name} is {show_value(values)}, a {type(values).__name__}, which holds something else than numbers: give "
            "an array of numbers."
        ) from None


def check_jobs(n_jobs: Any) -> int | None:
    """Return ``n_jobs`` if it is None, -1 or a positive whole number; -1 is None, all cores."""
    is_all = n_jobs is None or (isinstance(n_jobs, (int, np.integer)) and n_jobs == -1)
    return None if is_all else check_count("n_jobs", n_jobs)


def make_generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy generator for any ``random_state`` that scikit-learn or NumPy knows."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    try:
        state = check_random_state(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state={show_value(random_state)} is no seed: give a whole number from 0 to 2**32 - 1, a "
            "generator or None."
        ) from None
    return np.random.default_rng(state.randint(np.iinfo(np.int32).max))


def check_memberships(W: Any, name: str = "Memberships") -> Array:
    """Return memberships as an array (n, clusters) with its rows on the simplex."""
    W = as_numbers(W, name)
    if W.ndim != 2 or 0 in W.shape:
        raise ValueError(f"{name} have shape {W.shape}: give one row per sample and one column per cluster.")
    sums_to_1 = np.allclose(W.sum(axis=1), 1, rtol=0, atol=PROBABILITY_ROUNDING)
    if not (np.isfinite(W).all() and (W >= 0).all() and sums_to_1):
        raise ValueError(
            f"{name} are negative, not finite, or do not add up to 1 in each row: give probabilities."
        )
    return W


def check_one_per_sample(values: Any, n_samples: int, name: str = "labels") -> np.ndarray:
    """Return ``values``, labels of any kind, as an array with one entry per sample."""
    values = np.asarray(values)
    if values.shape != (n_samples,):
        raise ValueError(
            f"{name} has shape {values.shape} and there are {n_samples} samples: give one entry per sample."
        )
    return values


def check_labels(labels: Any, n_samples: int, n_clusters: int | None = None) -> Indices:
    """Return labels as whole numbers from 0, one per sample, below ``n_clusters`` if that is given."""
    labels = check_one_per_sample(labels, n_samples)
    if labels.dtype.kind not in "iu" or labels.min(initial=0) < 0:
        raise ValueError(
            "labels holds something else than whole numbers of 0 or more: number the clusters from 0."
        )
    if n_clusters is not None and labels.max(initial=0) >= n_clusters:
        raise ValueError(
            f"labels holds {labels.max()} and there are {n_clusters} clusters: number them from 0 to {n_clusters - 1}."
        )
    return labels.astype(np.intp)


def renumber_labels(labels: Any) -> np.ndarray:
    """Return labels of the same partitions (..., n) with clusters numbered 0, 1, ... as they first appear.

    >>> renumber_labels([[7, 7, 2], [1, 0, 1]]).tolist()
    [[0, 0, 1], [0, 1, 0]]
    """
    given = np.asarray(labels)
    rows = given.reshape(-1, given.shape[-1])
    result = np.empty(rows.shape, dtype=np.intp)
    for row, out in zip(rows, result, strict=True):
        _, first, inverse = np.unique(row, return_index=True, return_inverse=True)
        out[:] = np.argsort(np.argsort(first))[inverse]
    return result.reshape(given.shape)
