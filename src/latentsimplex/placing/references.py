"""What a fit keeps to place new samples: reference samples, how each view compares them, and what they say.

References are all samples of a fit, or landmarks where there are many: the same in all views, some of each cluster. New
samples are placed against them pattern by pattern (:mod:`latentsimplex.placing.neighbour_opinions`); views whose
pattern has no clusters tell nothing and are not kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.auto.neighbour_votes import draw_landmarks
from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.inputs.mixed_columns import GivenColumns
from latentsimplex.inputs.views import Views
from latentsimplex.placing.comparison import CHUNK, Comparison, Way, find_way, learn_comparison, learn_lines
from latentsimplex.placing.neighbour_opinions import Neighbourhood, Placed, learn_neighbourhood, place_samples

MOST_REFERENCES, LEAST_OF_CLUSTER = 5000, 20
"""Samples that are kept, and the fewest of each cluster among them."""
MOST_VIEWS = 500
"""Views of a pattern that new samples are placed by, where it has more: a mean over so many is known to a twentieth of
the spread of one. All of 50,000 would take most of the time of a fit."""


class PlacedSamples(NamedTuple):
    """Memberships of new samples in each pattern, and how far they are from all references (patterns, n)."""

    memberships: list[Array]
    remoteness: Array


@dataclass(frozen=True, eq=False)
class References:
    """Reference samples of a fit, and what places new ones against them.

    Attributes
    ----------
    rows : (m,) array
        Which samples of the fit they are.
    given : list of GivenColumns
        The columns that each view was given as.
    comparisons : dict of Comparison
        Of each of these views whose pattern has clusters, by its index.
    neighbourhoods : list of Neighbourhood, or None for a pattern without clusters
    members : list of (views,) arrays
        The views of each pattern, or some of them where they are many.
    """

    rows: Indices
    given: list[GivenColumns]
    comparisons: dict[int, Comparison]
    neighbourhoods: list[Neighbourhood | None]
    members: list[Indices]

    def place(self, tables: Sequence[Any], workers: Workers) -> PlacedSamples:
        """Return the memberships of samples (n, p) in each view, None for one that they lack, rows of NaN for some."""
        n = next(X.shape[0] for X in tables if X is not None)
        if n <= CHUNK:
            return self.place_chunk(tables, workers)

        def take(start: int) -> list[Any]:
            return [None if X is None else X[start : start + CHUNK] for X in tables]

        found = list(workers.spread(place_chunk_of, (self, workers), range(0, n, CHUNK), take))
        memberships = zip(*(part.memberships for part in found), strict=True)
        return PlacedSamples(
            [np.concatenate(own) for own in memberships],
            np.concatenate([part.remoteness for part in found], axis=1),
        )

    def place_chunk(self, tables: Sequence[Any], workers: Workers) -> PlacedSamples:
        """Return the same for a chunk of samples."""
        n = next(X.shape[0] for X in tables if X is not None)
        found = [self._place_in(l, tables, n, workers) for l in range(len(self.members))]
        return PlacedSamples([each.W for each in found], np.array([each.remoteness for each in found]))

    def _place_in(self, l: int, tables: Sequence[Any], n: int, workers: Workers) -> Placed:
        known = self.neighbourhoods[l]
        if known is None:
            return Placed(np.ones((n, 1)), np.zeros(n))
        own = [None if tables[v] is None else self.comparisons[v].place(tables[v]) for v in self.members[l]]
        if all(X is None for X in own):
            return Placed(np.tile(known.shares, (n, 1)), np.zeros(n))
        return place_samples(known, own, workers)


def place_chunk_of(state: tuple[References, Workers], tables: Sequence[Any]) -> PlacedSamples:
    """Return where a chunk of samples is placed."""
    references, workers = state
    return references.place_chunk(tables, workers)


def keep_references(
    views: Views,
    kernel: Any,
    view_patterns: np.ndarray,
    memberships: Sequence[Array],
    pattern_labels: np.ndarray,
    workers: Workers,
) -> References:
    """Return what places new samples, given the views of a fit, its similarity and what it found."""
    rows = draw_references(views, pattern_labels)
    members = list_placing_views(view_patterns, len(memberships))
    comparisons: dict[int, Comparison] = {}
    neighbourhoods: list[Neighbourhood | None] = []
    for own, W in zip(members, memberships, strict=True):
        if W.shape[1] == 1:
            neighbourhoods.append(None)
            continue
        learnt = learn_comparisons(views, own.tolist(), kernel, rows)
        comparisons |= {v: comparison for v, (comparison, _) in zip(own.tolist(), learnt, strict=True)}
        coordinates = [Z for _, Z in learnt]
        neighbourhoods.append(learn_neighbourhood(coordinates, W[rows], W.mean(axis=0), workers))
    given = [views.find_given(v) for v in range(len(views))]
    return References(rows, given, dict(sorted(comparisons.items())), neighbourhoods, members)


def list_placing_views(view_patterns: np.ndarray, n_patterns: int) -> list[Indices]:
    """Return the views of each pattern that new samples are placed by: all, or some where they are many."""
    every = [np.flatnonzero(view_patterns == l) for l in range(n_patterns)]
    return [own[sample_rows(len(own), MOST_VIEWS)] for own in every]


def draw_references(views: Views, pattern_labels: np.ndarray) -> Indices:
    """Return which samples of a fit are kept: all, or some of each cluster where they are many."""
    presence = [] if views.present is None else list(views.present.astype(np.intp))
    return draw_landmarks([*pattern_labels, *presence], MOST_REFERENCES, LEAST_OF_CLUSTER)


def learn_comparisons(
    views: Views, members: Sequence[int], kernel: Any, rows: Indices
) -> list[tuple[Comparison, np.ndarray]]:
    """Return how some views compare samples, and the coordinates of some samples; views of one feature at once."""
    way = find_way(kernel, 1)
    plain = not views.has_missing and views.present is None and not way.by_direction
    lines = [v for v in members if views.widths[v] == 1] if plain else []
    found = {}
    if lines:
        table = np.column_stack([views[v][:, 0] for v in lines])
        found = dict(zip(lines, learn_lines(table, way, rows), strict=True))
    for v in members:
        if v not in found:
            found[v] = learn_from_present(views, v, find_way(kernel, views.widths[v]), rows)
    return [found[v] for v in members]


def learn_from_present(views: Views, v: int, way: Way, rows: Indices) -> tuple[Comparison, np.ndarray]:
    """Return how a view compares samples, and the coordinates (m, r) of some, NaN for those that are absent from it."""
    samples = views.find_samples(v)
    if samples is None:
        return learn_comparison(views.table(v), way, rows)
    there = np.isin(rows, samples)
    learnt, known = learn_comparison(views.table(v), way, np.searchsorted(samples, rows[there]))
    Z = np.full((len(rows), known.shape[1]), np.nan, dtype=known.dtype)
    Z[there] = known
    return learnt, Z
