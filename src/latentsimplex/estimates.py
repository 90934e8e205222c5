"""From the end of EM to what the user reads (section 3, equation 10 and after).

The model speaks of d patterns with g columns each; the user gets the live ones, heaviest first, with
the columns that some sample uses, and every view, constant ones included, in one of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentsimplex._types import Array, Indices
from latentsimplex.em import State
from latentsimplex.labels import trim, used_columns


class Estimates(NamedTuple):
    """Live patterns only, heaviest first.

    ``view_patterns`` (V,), ``responsibilities`` (V, patterns), ``weights`` (patterns,), ``memberships``, a list
    of (n, clusters) arrays, and ``responses``, a list of (clusters, clusters) arrays.
    """

    view_patterns: np.ndarray
    responsibilities: Array
    weights: Array
    memberships: list[Array]
    responses: list[Array]


def estimate(eta: Array, state: State) -> Estimates:
    """Return x_hat = argmax eta and what it leaves alive; ties of weight go to the first view's pattern.

    >>> eta = np.array([[0.9, 0.1, 0.0], [0.8, 0.2, 0.0]])
    >>> lam = np.array([0.7, 0.2, 0.1])
    >>> found = estimate(eta, State(np.ones((3, 4, 1)), np.ones((3, 1, 1)), lam, np.ones(3)))
    >>> found.view_patterns.tolist(), found.weights.tolist()
    ([0, 0], [1.0])
    """
    W, B, lam, _ = state
    x_hat = np.argmax(eta, axis=1)
    order = _heaviest_first(x_hat, lam)
    columns = [used_columns(W[l]) for l in order]
    position = np.zeros(len(lam), dtype=np.intp)
    position[order] = np.arange(len(order))
    kept = eta[:, order]
    return Estimates(
        view_patterns=position[x_hat],
        responsibilities=kept / kept.sum(axis=1, keepdims=True),
        weights=lam[order] / lam[order].sum(),
        memberships=[trim(W[l]) for l in order],
        responses=[B[l][np.ix_(kept, kept)] for l, kept in zip(order, columns, strict=True)],
    )


def others(some: Indices, n: int) -> Indices:
    """Return the numbers below n that are not among some.

    >>> others(np.array([2, 0]), 4).tolist()
    [1, 3]
    """
    left = np.ones(n, dtype=bool)
    left[some] = False
    return np.flatnonzero(left)


def with_constant_views(
    found: Estimates | None, informative: Indices, n_views: int, n_samples: int
) -> Estimates:
    """Return the estimates of all views, given those of the informative ones.

    Constant views have no clusters. They follow the pattern that has one cluster, which is added if
    EM found none, so that weights remain the shares of all views.
    """
    constant = others(informative, n_views)
    if found is None:
        ones = np.ones((n_samples, 1))
        one = np.ones((1, 1))
        return Estimates(np.zeros(n_views, dtype=np.intp), np.ones((n_views, 1)), np.ones(1), [ones], [one])
    if not len(constant):
        return found
    memberships, responses = list(found.memberships), list(found.responses)
    single = [l for l, W in enumerate(memberships) if W.shape[1] == 1]
    if not single:
        single = [len(memberships)]
        memberships.append(np.ones((n_samples, 1)))
        responses.append(np.ones((1, 1)))
    d = len(memberships)
    eta = np.zeros((n_views, d))
    eta[informative, : found.responsibilities.shape[1]] = found.responsibilities
    eta[constant, single[0]] = 1
    lam = np.zeros(d)
    lam[: len(found.weights)] = found.weights * len(informative) / n_views
    lam[single[0]] += len(constant) / n_views
    x_hat = np.argmax(eta, axis=1)
    order = _heaviest_first(x_hat, lam)
    return Estimates(
        view_patterns=np.argsort(order)[x_hat],
        responsibilities=eta[:, order],
        weights=lam[order],
        memberships=[memberships[l] for l in order],
        responses=[responses[l] for l in order],
    )


def _heaviest_first(x_hat: np.ndarray, lam: Array) -> np.ndarray:
    """Return the patterns that some view follows by falling weight, ties by first view."""
    live, first_view = np.unique(x_hat, return_index=True)
    return live[np.lexsort((first_view, -lam[live]))]
