"""What figures read off a fitted model, or off arrays: a view, a pattern or the consensus.

A model is a fitted estimator or its results. Patterns and clusters carry the numbers that they have there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np
from sklearn.base import BaseEstimator

from latentsimplex.base.checks import as_numbers, check_memberships, check_one_per_sample
from latentsimplex.base.types import Array
from latentsimplex.base.wording import count_noun, shorten_middle
from latentsimplex.plots.marks import NAME_LETTERS
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.results.consensus import Consensus
from latentsimplex.results.results import Results, results_of


class HasResults(Protocol):
    """A fitted estimator, as far as figures look at one."""

    @property
    def results_(self) -> Results:
        """What the fit found."""


FittedModel = HasResults | Results


class Part(NamedTuple):
    """A view, a pattern or the consensus of a model, or the arrays that were given in its place.

    It has the name that titles call it by and the labels of its clusters (n,); arrays have "" and None. Values are
    co-assignments or memberships (n, clusters).
    """

    name: str
    values: Any
    labels: np.ndarray | None

    def choose_labels(self, given: Any) -> np.ndarray | None:
        """Return the labels that were given, or its own."""
        return self.labels if given is None else check_one_per_sample(given, len(self.values))

    def make_title(self, what: str, given: str | None) -> str:
        """Return the title that was given, or what is drawn and of which part; nothing for arrays."""
        if given is not None:
            return given
        return f"{what}: {self.name}" if self.name else ""


def is_model(source: Any) -> TypeGuard[FittedModel]:
    """Return whether a figure was given an estimator, fitted or not, or results, and not arrays."""
    return isinstance(source, (Results, BaseEstimator)) or hasattr(source, "results_")


def find_part(model: FittedModel, view: int | str | None, pattern: int | None) -> Part:
    """Return the co-assignments of a view or a pattern, or without either those of the consensus."""
    results = results_of(model)
    P = results.coassignment(view, pattern)
    if view is None and pattern is None:
        return Part(name_consensus(results.consensus), P, results.labels)
    l = results.find_pattern(view, pattern)
    if view is None:
        name = f"pattern {l}, {count_followers(results)[l]}"
    else:
        own_name = str(results.view_names[results.find_view(view)])
        name = f"{shorten_middle(own_name, NAME_LETTERS)}, pattern {l}"
    return Part(name, P, results.pattern_labels[l])


def read_coassignments(
    source: FittedModel | CoAssignment | Array, view: int | str | None, pattern: int | None
) -> Part:
    """Return a part of a model, or co-assignments that were given as such."""
    if is_model(source):
        return find_part(source, view, pattern)
    refuse_part(view, pattern)
    P = source if isinstance(source, CoAssignment) else check_square(source, "The co-assignment")
    return Part("", P, None)


def read_memberships(source: FittedModel | Array, view: int | str | None, pattern: int | None) -> Part:
    """Return the memberships of a view or a pattern, or without either of the heaviest, or those that were given."""
    if is_model(source):
        part = find_part(source, view, 0 if view is None and pattern is None else pattern)
        return part._replace(values=part.values.factor)
    refuse_part(view, pattern)
    return Part("", check_memberships(source), None)


def refuse_part(view: int | str | None, pattern: int | None) -> None:
    """Raise ValueError where arrays come with a part of a model."""
    if view is not None or pattern is not None:
        raise ValueError(
            "view= and pattern= choose a part of a fitted model, and arrays were given: leave them out."
        )


def check_square(matrix: Any, what: str) -> Array:
    """Return a matrix as an array, or raise ValueError if it has not one row and column for each sample."""
    matrix = as_numbers(matrix, what)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(
            f"{what} has shape {matrix.shape}: give a fitted model, or a square matrix with a row and a column "
            "for each sample."
        )
    return matrix


def name_views(names: Sequence[Any] | np.ndarray | None, n_views: int, argument: str) -> list[str]:
    """Return the names of views as text, or their numbers; ValueError unless each view has a name."""
    named = range(n_views) if names is None else names
    if len(named) != n_views:
        raise ValueError(
            f"{argument} holds {len(named)} names and there are {n_views} views: give one name each."
        )
    return list(map(str, named))


def count_followers(results: Results) -> list[str]:
    """Return in words how many views follow each pattern."""
    followers = np.bincount(results.view_patterns, minlength=results.n_patterns)
    return [count_noun(int(views), "view") for views in followers]


def name_consensus(consensus: Consensus) -> str:
    """Return how many views a consensus is of."""
    kept, total = int(np.count_nonzero(consensus.weights)), len(consensus.weights)
    return f"consensus of {'' if kept == total else f'{kept:,} of '}{count_noun(total, 'view')}"
