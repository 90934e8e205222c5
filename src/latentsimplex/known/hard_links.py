"""Hard constraints: must-linked samples share a row of memberships, cannot-linked ones have different clusters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from latentsimplex.base.types import Array, Indices
from latentsimplex.known.known_samples import Known
from latentsimplex.model.joint_losses import LEAST

MOST_STEPS = 200_000
"""Assignments of parted samples that are tried before their links are called too many for the clusters."""


def keep_to_links(W: Array, known: Known) -> Array:
    """Return memberships (n, g) that keep to all links of infinite weight.

    Samples that are tied share the geometric mean of their rows. Of samples that are parted, those whose most probable
    clusters are the same move: in the assignment found, a sample has nothing in clusters that those it is parted from
    were assigned to.
    """
    must, cannot = (links.pairs[np.isinf(links.weights)] for links in (known.must, known.cannot))
    if not len(must) and not len(cannot):
        return W
    n = len(W)
    ties = coo_matrix((np.ones(len(must)), (must[:, 0], must[:, 1])), shape=(n, n))
    n_groups, group = connected_components(ties, directed=False)
    sizes = np.bincount(group)
    logs = np.zeros((n_groups, W.shape[1]))
    np.add.at(logs, group, np.log(np.maximum(W, LEAST)))
    shared = np.exp(logs / sizes[:, None] - (logs / sizes[:, None]).max(axis=1, keepdims=True))
    shared /= shared.sum(axis=1, keepdims=True)
    parted = group[cannot]
    if len(parted):
        links = [f"{known.name_sample(i)} and {known.name_sample(j)}" for i, j in cannot.tolist()]
        shared = part_rows(shared, logs, parted, links)
    alone = (sizes[group] == 1) & ~np.isin(group, parted)
    return np.where(alone[:, None], W, shared[group])


def part_rows(rows: Array, logs: Array, parted: Indices, links: Sequence[str]) -> Array:
    """Return rows of memberships, those of parted samples zero where the other was assigned, and normalised."""
    chosen = assign_apart(logs, parted, links)
    rows = rows.copy()
    for a, b in np.vstack([parted, parted[:, ::-1]]).tolist():
        rows[a, chosen[b]] = 0.0
    for a in np.unique(parted).tolist():
        if rows[a].argmax() != chosen[a]:  # what is left speaks for a cluster that others may still take
            rows[a] = np.eye(rows.shape[1])[chosen[a]]
    return rows / rows.sum(axis=1, keepdims=True)


def assign_apart(logs: Array, parted: Indices, links: Sequence[str]) -> dict[int, int]:
    """Return a cluster for each parted sample, no two parted ones alike, probable ones first; ValueError if none is.

    ``links`` is what the error calls each parted pair.

    >>> assign_apart(np.log(np.array([[0.9, 0.1], [0.6, 0.4]])), np.array([[0, 1]]), ["0 and 1"])
    {0: 0, 1: 1}
    """
    others: dict[int, set[int]] = {}
    for a, b in parted.tolist():
        others.setdefault(a, set()).add(b)
        others.setdefault(b, set()).add(a)
    chosen: dict[int, int] = {}
    order = sorted(others, key=lambda a: (-len(others[a]), a))
    choices = {a: np.argsort(-logs[a], kind="stable").tolist() for a in order}
    tried = dict.fromkeys(order, 0)
    place = steps = deepest = 0
    stuck = 0, 0
    while place < len(order):
        a, g = order[place], logs.shape[1]
        steps += 1
        taken = {chosen[b] for b in others[a] if b in chosen}
        while tried[a] < g and choices[a][tried[a]] in taken:
            tried[a] += 1
        if tried[a] < g:
            chosen[a] = choices[a][tried[a]]
            tried[a] += 1
            place += 1
            continue
        if place > deepest:  # the first sample without a cluster, then those farther on
            deepest, stuck = place, (a, next(b for b in others[a] if b in chosen))
        tried[a] = 0
        place -= 1
        if place < 0 or steps > MOST_STEPS:
            link = np.flatnonzero((np.sort(parted, axis=1) == sorted(stuck)).all(axis=1))[0]
            raise ValueError(
                f"cannot_link parts samples that {g} clusters cannot keep apart, such as {links[link]}: give "
                "min_clusters, and n_clusters if it is given, a larger number, or these links a finite weight."
            )
        chosen.pop(order[place])
    return dict(sorted(chosen.items()))
