"""Reference samples that a fit keeps to place new ones: how each view compares them, and their memberships.

References are all samples of a fit, or landmarks where there are many: the same in all views, some of each cluster. New
samples are placed against them pattern by pattern (:mod:`latentsimplex.placing.sample_memberships`); views whose
pattern has no clusters tell nothing and are not kept. How far neighbours are believed is learnt when it is first asked
for, by the first prediction or by saving: most fits are never asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.auto.landmarks import draw_landmarks
from latentsimplex.base.kmeans import sample_rows
from latentsimplex.base.threads import Workers, cached_property
from latentsimplex.base.types import Array, Indices
from latentsimplex.inputs.mixed_columns import GivenColumns
from latentsimplex.inputs.views import Views
from latentsimplex.placing.comparison import (
    CHUNK,
    Comparison,
    Way,
    find_way,
    learn_alike,
    learn_comparison,
)
from latentsimplex.placing.sample_memberships import Neighbourhood, Placed, learn_neighbourhood, place_samples
from latentsimplex.placing.squared_distances import FEW_FEATURES

MOST_REFERENCES, LEAST_OF_CLUSTER = 5000, 20
"""Samples that are kept, and the fewest of each cluster among them."""
WORTH_THREADS = 500_000
"""Numbers of views from which on these are compared by several threads, as many tables in memory at a time as there
are."""
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
    learn : callable
        Gives the neighbourhoods, when they are first asked for.
    members : list of (views,) arrays
        The views of each pattern, or some of them where they are many.
    """

    rows: Indices
    given: list[GivenColumns]
    comparisons: dict[int, Comparison]
    learn: Callable[[], list[Neighbourhood | None]]
    members: list[Indices]

    @cached_property
    def neighbourhoods(self) -> list[Neighbourhood | None]:
        """How far neighbours are believed in each pattern; None for one without clusters."""
        return self.learn()

    def place(self, tables: Sequence[Any], workers: Workers) -> PlacedSamples:
        """Return the memberships of samples (n, p) in each view, None for one that they lack, rows of NaN for some."""
        n = next(X.shape[0] for X in tables if X is not None)
        if n <= CHUNK:
            return self.place_chunk(tables, workers)

        def take(start: int) -> list[Any]:
            return [None if X is None else X[start : start + CHUNK] for X in tables]

        _ = self.neighbourhoods  # learnt once, before chunks are sent to others who would learn it too
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
    n_jobs: int | None = None,
) -> References:
    """Return what places new samples, given the views of a fit, its similarity and what it found."""
    rows = draw_references(views, pattern_labels)
    members = list_placing_views(view_patterns, len(memberships))
    clustered = [own for own, W in zip(members, memberships, strict=True) if W.shape[1] > 1]
    asked = np.sort(np.concatenate([np.empty(0, dtype=np.intp), *clustered])).tolist()
    learnt = dict(zip(asked, learn_comparisons(views, asked, kernel, rows, n_jobs), strict=True))
    coordinates = [[learnt[v][1] for v in own.tolist()] if len(own) else [] for own in clustered]
    known = [(W[rows], W.mean(axis=0)) for W in memberships]
    given = views.list_given()
    learn = partial(learn_neighbourhoods, coordinates, known, n_jobs)
    return References(rows, given, {v: learnt[v][0] for v in asked}, learn, members)


def learn_neighbourhoods(
    coordinates: Sequence[Sequence[np.ndarray]], known: Sequence[tuple[Array, Array]], n_jobs: int | None
) -> list[Neighbourhood | None]:
    """Return how far neighbours are believed in each pattern, None for one without clusters.

    Of each pattern, ``known`` are memberships of references (m, g) and shares of clusters (g,); ``coordinates`` (m, r)
    of each view are those of patterns with clusters.
    """
    views = iter(coordinates)
    with Workers(n_jobs) as workers:
        return [
            learn_neighbourhood(next(views), W, shares, workers) if W.shape[1] > 1 else None
            for W, shares in known
        ]


def list_placing_views(view_patterns: np.ndarray, n_patterns: int) -> list[Indices]:
    """Return the views of each pattern that new samples are placed by: all, or some where they are many."""
    every = [np.flatnonzero(view_patterns == l) for l in range(n_patterns)]
    return [own[sample_rows(len(own), MOST_VIEWS)] for own in every]


def draw_references(views: Views, pattern_labels: np.ndarray) -> Indices:
    """Return which samples of a fit are kept: all, or some of each cluster where they are many."""
    presence = [] if views.present is None else list(views.present.astype(np.intp))
    return draw_landmarks([*pattern_labels, *presence], MOST_REFERENCES, LEAST_OF_CLUSTER)


def learn_comparisons(
    views: Views, members: Sequence[int], kernel: Any, rows: Indices, n_jobs: int | None = 1
) -> list[tuple[Comparison, np.ndarray]]:
    """Return how some views compare samples, and the coordinates of some samples; narrow views of one width at once."""
    found: dict[int, tuple[Comparison, np.ndarray]] = {}
    for p in sorted({views.widths[v] for v in members if views.widths[v] <= FEW_FEATURES}):
        alike, way = [v for v in members if views.widths[v] == p], find_way(kernel, p)
        if views.has_missing or views.present is not None or way.scales_rows:
            continue
        table = np.hstack(list(np.asarray(views.tables(np.array(alike)))))
        found |= zip(alike, learn_alike(table, p, way, rows), strict=True)
    left = [v for v in members if v not in found]

    def learn(v: int) -> tuple[Comparison, np.ndarray]:
        return learn_from_present(views, v, find_way(kernel, views.widths[v]), rows)

    if views.n_samples * sum(views.widths[v] for v in left) <= WORTH_THREADS:
        found |= zip(left, map(learn, left), strict=True)
    else:
        with Workers(n_jobs) as workers:
            found |= zip(left, workers.map(learn, left), strict=True)
    return [found[v] for v in members]


def learn_from_present(views: Views, v: int, way: Way, rows: Indices) -> tuple[Comparison, np.ndarray]:
    """Return how a view compares samples, and the coordinates (m, r) of some, NaN for those that are absent from it."""
    samples = views.find_samples(v)
    if samples is None:
        return learn_comparison(views.held_table(v), way, rows)
    there = np.isin(rows, samples)
    learnt, known = learn_comparison(views.held_table(v), way, np.searchsorted(samples, rows[there]))
    Z = np.full((len(rows), known.shape[1]), np.nan, dtype=known.dtype)
    Z[there] = known
    return learnt, Z
