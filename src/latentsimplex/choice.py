"""Which similarity "auto" is, and the temperature that goes with a similarity: both by clouds without clusters.

A reading of a view is good if clusters explain much more of its similarities than they would in a cloud
read in the same way (:mod:`latentsimplex.reference`). Of each kind of view, a number of features, a few
views decide for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np

from latentsimplex._types import Array
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import Divergence
from latentsimplex.known import Known
from latentsimplex.reference import (
    CLOUD_CLUSTERS,
    CLOUD_SAMPLES,
    CLOUDS,
    SEED,
    Request,
    Spread,
    clouds,
    gains_of,
    reads_clouds,
    spread,
    temperature_of,
    temperatures,
)
from latentsimplex.similarity import Kernel, Readings
from latentsimplex.similarity.readings import FEATURES
from latentsimplex.views import Views

KINDS = 8
"""The most kinds of view that are looked at: all kinds in between go with the nearest."""
VIEWS_OF_A_KIND, CLOUDED = 24, 12
"""The most views of a kind that are looked at, and of those the ones that clouds are made of."""
FOUND_AT = ("local", "broad")
"""The scales that clusters are looked for at."""
BOUNDED, CLEARLY = "one by one", 1.2
"""A wild value of one feature moves no other feature's part of this reading, but can pass for evidence in others."""
COMPARED_CLOUDS = 3
COMPARED_FEATURES = 128
"""Features one by one are a mean over features, which so many of them, drawn at random, show well enough."""


def choose_readings(views: Views, n_clusters: int, divergence: Divergence, workers: Workers) -> Readings:
    """Return the scale, and the reading of features for each kind of view, by the evidence for clusters.

    The scale is one for all views, so that their divergences add up; the features are read as suits each kind.
    """
    sample = sample_views(views)
    if not sample:  # nothing but constant views, which no reading changes
        return Readings("local", ((1, "as they are"),))
    found: dict[str, dict[int, dict[str, float]]] = {scale: {} for scale in FOUND_AT}
    for p, members in sample.items():
        tables = [views[v] for v in members]
        ways = [(scale, name) for scale in FOUND_AT for name in _readings_of(p)]
        measured = evidence_by_reading(tables, ways, n_clusters, divergence, workers)
        for (scale, name), value in zip(ways, measured, strict=True):
            found[scale].setdefault(p, {})[name] = value
    best = {
        scale: np.mean([np.log(max(by_reading.values())) for by_reading in kinds.values()])
        for scale, kinds in found.items()
    }
    scale = max(best, key=lambda name: best[name])
    return Readings(scale, tuple((p, _preferred(by_reading)) for p, by_reading in found[scale].items()))


def _preferred(evidence: dict[str, float]) -> str:
    """Return the reading with the most evidence, the bounded one unless another has clearly more.

    >>> _preferred({"standardised": 2.1, "one by one": 2.0}), _preferred({"standardised": 3.0, "one by one": 2.0})
    ('one by one', 'standardised')
    """
    best = max(evidence, key=evidence.__getitem__)
    return BOUNDED if evidence[best] < CLEARLY * evidence.get(BOUNDED, 0.0) else best


def view_temperatures(
    views: Views,
    kernel: Kernel,
    divergence: Divergence,
    workers: Workers,
    shapes: Known[Spread] | None = None,
) -> Array:
    """Return the temperature of each view (V,): its own for a few of each kind, their mean for the others.

    Shapes of views, by their number, are those of any kernel's clouds.
    """
    sample = {p: members[:CLOUDED] for p, members in sample_views(views).items()}
    if not sample:
        return np.ones(len(views))
    chosen = [v for members in sample.values() for v in members]
    names = [f"view {views.names[v]!r}" for v in chosen]
    tables, known = [views[v] for v in chosen], Known[Spread](0) if shapes is None else shapes
    found_shapes = None
    if reads_clouds(kernel):
        found_shapes = list(
            workers.imap(lambda i: known.get(chosen[i], lambda: spread(tables[i])), range(len(chosen)))
        )
    measured = temperatures(tables, kernel, divergence, workers, names, found_shapes)
    own = dict(zip(chosen, measured.tolist(), strict=True))
    kinds = np.array(list(sample))
    means = np.array([np.mean([own[v] for v in members]) for members in sample.values()])
    found = means[np.argmin(np.abs(np.log(kinds)[:, None] - np.log(views.widths)), axis=0)]
    found[chosen] = measured
    return found


def sample_views(views: Views) -> dict[int, list[int]]:
    """Return a few views of each of a few kinds, by number of features; constant views tell nothing."""
    order, widths = np.random.default_rng(SEED).permutation(len(views)), np.array(views.widths)
    kinds = np.unique(widths)
    spaced = np.linspace(0, len(kinds) - 1, min(KINDS, len(kinds))).round().astype(int)
    sample: dict[int, list[int]] = {}
    for p in kinds[spaced].tolist():
        telling = (int(v) for v in order[widths[order] == p] if np.ptp(views[int(v)], axis=0).any())
        if found := list(islice(telling, VIEWS_OF_A_KIND)):
            sample[p] = found
    return sample


def evidence_by_reading(
    views: Sequence[Array],
    ways: Sequence[tuple[str, str]],
    n_clusters: int,
    divergence: Divergence,
    workers: Workers,
) -> list[float]:
    """Return the evidence for clusters in views of a kind read in several ways, each a scale and a way with features.

    It is how many times more clusters explain than they do in clouds, at the best number of them, a geometric mean over
    the views. All that is to be read is read side by side.
    """
    if n_clusters < 2:
        return [1.0] * len(ways)
    compared = {
        bounded: _compared(views, bounded, workers) for bounded in {name == BOUNDED for _, name in ways}
    }
    requests: list[Request] = []
    for scale, name in ways:
        some, like = compared[name == BOUNDED]
        kernel = Readings(scale, ((views[0].shape[1], name),))
        requests += [Request(X, kernel, CLOUD_CLUSTERS) for X in like]
        requests += [Request(X, kernel, n_clusters) for X in some]
    gains = iter(gains_of(requests, divergence, workers))
    found = []
    for _, name in ways:
        some, like = compared[name == BOUNDED]
        of_clouds, of_views = list(islice(gains, len(like))), list(islice(gains, len(some)))
        found.append(_evidence(of_clouds, of_views, len(some[0])) if some else 1.0)
    return found


def _compared(views: Sequence[Array], bounded: bool, workers: Workers) -> tuple[list[Array], list[Array]]:
    """Return what a choice looks at of views of a kind, and clouds like the first; nothing if that is too little."""
    some = [X for X in (_some(X, bounded) for X in views) if X.size]
    if not some or len(some[0]) < 3:
        return [], []
    shapes = workers.imap(spread, some[:COMPARED_CLOUDS])
    return some, [cloud for shape in shapes for cloud in clouds(shape, len(some[0]))]


def _evidence(of_clouds: list[Array], of_views: list[Array], n: int) -> float:
    """Return the evidence by what clusters explain of clouds and of views of n samples."""
    T = np.mean([temperature_of(of_clouds[i : i + CLOUDS], n, n) for i in range(0, len(of_clouds), CLOUDS)])
    ratios = [(gain / (n * np.log(np.arange(2, len(gain) + 2)) * T)).max() for gain in of_views]
    return float(np.exp(np.mean(np.log(np.maximum(ratios, np.finfo(float).tiny)))))


def _some(X: Array, bounded: bool) -> Array:
    """Return as many samples of a view, and of its features that vary, as a choice needs."""
    rng = np.random.default_rng(SEED)
    X = X[rng.permutation(len(X))[:CLOUD_SAMPLES]]
    X = X[:, np.ptp(X, axis=0) > 0]
    return X[:, rng.permutation(X.shape[1])[:COMPARED_FEATURES]] if bounded else X


def _readings_of(n_features: int) -> list[str]:
    """Return the readings that differ: of one feature there is but one."""
    return ["as they are"] if n_features == 1 else list(FEATURES)
