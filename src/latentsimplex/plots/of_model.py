"""What figures read off a fitted model: a view, a pattern or the consensus, as arrays.

Every figure takes a fitted model, with ``view=`` or ``pattern=`` to say which part of it, or the arrays
themselves. Patterns and clusters carry the numbers that they have in the model's attributes, from 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeGuard

import numpy as np

from latentsimplex._types import Array, Indices
from latentsimplex.coassignment import CoAssignment
from latentsimplex.consensus import Consensus
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.plots.marks import counted, shorten
from latentsimplex.uncertainty import model_uncertainty


class Part(NamedTuple):
    """A view, a pattern or the consensus: its name, co-assignments, labels, and how sure each sample is.

    ``measure`` says what sureness is: the probability of the sample's cluster, or for the consensus, which has
    no memberships, its mean co-assignment with the others of its cluster.
    """

    name: str
    P: CoAssignment
    labels: Indices
    sureness: Array
    measure: str


def is_model(source: Any) -> TypeGuard[LatentSimplexPosition]:
    """Return whether a figure was given a model and not arrays."""
    return isinstance(source, LatentSimplexPosition)


def part_of(model: LatentSimplexPosition, view: int | str | None, pattern: int | None) -> Part:
    """Return a view's or a pattern's part of a fitted model, or without either that of the consensus."""
    P = model.coassignment(view, pattern)
    table = model_uncertainty(model, view, pattern)
    if view is None and pattern is None:
        name, column, measure = (
            consensus_name(model.consensus_),
            "affinity",
            "mean co-assignment with its cluster",
        )
    else:
        l = followed(model, view, pattern)
        followers = counted(int((model.view_patterns_ == l).sum()), "view")
        name = f"pattern {l}, {followers}"
        if view is not None:
            name = f"{shorten(str(model.view_names_in_[model._view_index(view)]))}, pattern {l}"
        column, measure = "probability", "probability of its cluster"
    return Part(name, P, table["cluster"], table[column], measure)


def membership_part(model: LatentSimplexPosition, view: int | str | None, pattern: int | None) -> Part:
    """Return :func:`part_of` with the heaviest pattern in place of the consensus, which has no memberships."""
    return part_of(model, view, 0 if view is None and pattern is None else pattern)


def followed(model: LatentSimplexPosition, view: int | str | None, pattern: int | None) -> int:
    """Return the pattern that is meant by one of the two."""
    return int(model.view_patterns_[model._view_index(view)]) if view is not None else int(pattern or 0)


def refuse_part(view: int | str | None, pattern: int | None) -> None:
    """Raise ValueError where arrays come with a part of a model."""
    if view is not None or pattern is not None:
        raise ValueError(
            "view= and pattern= choose a part of a fitted model, and arrays were given: leave them out."
        )


def square(matrix: Any, what: str) -> Array:
    """Return a matrix as an array, or raise ValueError if it has not one row and column for each sample."""
    matrix = np.asarray(matrix, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(
            f"{what} has shape {matrix.shape}: give a fitted model, or a square matrix with a row and a column "
            "for each sample."
        )
    return matrix


def one_each(labels: Any, n_samples: int) -> np.ndarray:
    """Return labels as an array, or raise ValueError unless there is one a sample."""
    labels = np.asarray(labels)
    if labels.shape != (n_samples,):
        raise ValueError(
            f"labels has shape {labels.shape} and there are {n_samples} samples: give one label each."
        )
    return labels


def consensus_name(consensus: Consensus) -> str:
    """Return how many views a consensus is of."""
    kept, total = int(np.count_nonzero(consensus.weights)), len(consensus.weights)
    return f"consensus of {'' if kept == total else f'{kept:,} of '}{counted(total, 'view')}"
