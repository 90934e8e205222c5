"""The choice of a similarity for "auto": the candidate with the most evidence for clusters.

A similarity suits views if clusters explain much more of them than of null clouds compared in the same way
(:mod:`latentsimplex.auto.gaussian_clouds`). A few views of each kind, a number of features, decide for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from latentsimplex.auto.explained_divergence import Request, explain_tables
from latentsimplex.auto.gaussian_clouds import (
    CLOUD_SAMPLES,
    N_CLOUDS,
    SEED,
    draw_clouds,
    measure_shape,
)
from latentsimplex.auto.shared_clusters import SharedClusters
from latentsimplex.auto.temperatures import CLOUD_CLUSTERS, sample_views, temperature_from_gains
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array
from latentsimplex.base.wide_table import WideTable, find_varying
from latentsimplex.inputs.views import Views
from latentsimplex.inputs.words import holds_words
from latentsimplex.pairs.divergence import Divergence
from latentsimplex.similarity.auto_diffusion import SEARCH_SCALES, AutoDiffusion

BOUNDED, CLEARLY = "one by one", 1.2
"""A wild value of one feature moves no other feature's part of this comparison, but can pass for evidence in others."""
COMPARED_CLOUDS = 3
COMPARED_FEATURES = 128
"""Features one by one are a mean over features, which so many of them, drawn at random, show well enough."""


class Choice(NamedTuple):
    """The similarity that was chosen, and the evidence for clusters under it: how many times more they explain."""

    similarity: AutoDiffusion
    evidence: float


def choose_similarity(
    views: Views,
    candidates: Mapping[int, Sequence[AutoDiffusion]],
    n_clusters: int,
    divergence: Divergence,
    workers: Workers,
) -> Choice:
    """Return the scale, and the comparison of features for each kind of view, by the evidence for clusters.

    The scale is one for all views, so that their divergences add up; features are compared as suits each kind.
    """
    sample = sample_views(views)
    if not sample:  # nothing but constant views, which no similarity changes
        return Choice(AutoDiffusion("local", ((1, "as they are"),)), 1.0)
    by_scale: dict[str, dict[int, dict[str, float]]] = {scale: {} for scale in SEARCH_SCALES}
    for p, members in sample.items():
        tables = [views.held_table(v) for v in members]
        measured = measure_evidence(tables, candidates[p], n_clusters, divergence, workers)
        for candidate, evidence in zip(candidates[p], measured, strict=True):
            by_scale[candidate.scale].setdefault(p, {})[candidate.features[0][1]] = evidence
    means = {
        scale: float(np.mean([np.log(max(by_comparison.values())) for by_comparison in kinds.values()]))
        for scale, kinds in by_scale.items()
    }
    scale = max(means, key=lambda name: means[name])
    features = tuple((p, prefer_bounded(by_comparison)) for p, by_comparison in by_scale[scale].items())
    return Choice(AutoDiffusion(scale, features), float(np.exp(means[scale])))


def choose_comparisons(views: Views, shared: SharedClusters) -> AutoDiffusion:
    """Return the scale and the comparisons of features with which clusters were found, or none were."""
    trees = [
        (group.members, group.tree) for group in reversed(shared.groups)
    ]  # the largest has the last word
    if shared.others is not None:
        trees.insert(0, (tuple(range(len(views))), shared.others))
    features = {}
    for members, tree in trees:
        for v in members:
            features[views.widths[v]] = tree.comparison
    for v, p in enumerate(views.widths):  # of views that are as wide, shares suit words alone
        if features[p] == "as shares" and not holds_words(views.held_table(v)):
            features[p] = "standardised"
    is_broad = bool(shared.groups) and all(group.tree.is_broad for group in shared.groups)
    return AutoDiffusion("broad" if is_broad else "local", tuple(sorted(features.items())))


def prefer_bounded(evidence: Mapping[str, float]) -> str:
    """Return the comparison with the most evidence, the bounded one unless another has clearly more.

    >>> [prefer_bounded({"standardised": evidence, "one by one": 2.0}) for evidence in (2.1, 3.0)]
    ['one by one', 'standardised']
    """
    best = max(evidence, key=evidence.__getitem__)
    return BOUNDED if evidence[best] < CLEARLY * evidence.get(BOUNDED, 0.0) else best


def measure_evidence(
    tables: Sequence[Array | WideTable],
    candidates: Sequence[AutoDiffusion],
    n_clusters: int,
    divergence: Divergence,
    workers: Workers,
) -> list[float]:
    """Return the evidence for clusters in views of a kind under each candidate.

    It is how many times more clusters explain than they do in clouds, at the best number of them, a geometric mean over
    the views. All that is to be read is read side by side.
    """
    if n_clusters < 2:
        return [1.0] * len(candidates)
    bounded = [candidate.features[0][1] == BOUNDED for candidate in candidates]
    compared = {kind: _compared_tables(tables, kind, workers) for kind in set(bounded)}
    requests: list[Request] = []
    for candidate, kind in zip(candidates, bounded, strict=True):
        some, clouds = compared[kind]
        requests += [Request(X, candidate, CLOUD_CLUSTERS) for X in clouds]
        requests += [Request(X, candidate, n_clusters) for X in some]
    gains = iter(explain_tables(requests, divergence, workers))
    found = []
    for kind in bounded:
        some, clouds = compared[kind]
        of_clouds, of_views = list(islice(gains, len(clouds))), list(islice(gains, len(some)))
        found.append(_evidence(of_clouds, of_views, len(some[0])) if some else 1.0)
    return found


def _compared_tables(
    tables: Sequence[Array | WideTable], bounded: bool, workers: Workers
) -> tuple[list[Array | WideTable], list[Array]]:
    """Return what a choice looks at of views of a kind, and clouds like the first; nothing if that is too little."""
    n = min(len(X) for X in tables)
    some = [X for X in (_sample_table(X, bounded, min(n, CLOUD_SAMPLES)) for X in tables) if X.shape[1]]
    if not some or len(some[0]) < 3:
        return [], []
    shapes = workers.map(measure_shape, some[:COMPARED_CLOUDS])
    return some, [cloud for shape in shapes for cloud in draw_clouds(shape, len(some[0]))]


def _sample_table(X: Array | WideTable, bounded: bool, n: int | None = None) -> Array | WideTable:
    """Return as many samples of a view, n if that is given, and of its features that vary, as a choice needs."""
    rng = np.random.default_rng(SEED)
    rows = rng.permutation(len(X))[: CLOUD_SAMPLES if n is None else n]
    if isinstance(X, WideTable) and X.shape[1] <= len(X):
        return _sample_table(X.take(rows).to_dense(), bounded, len(rows))
    if isinstance(X, WideTable):
        X = X.take(rows) if len(rows) < len(X) else X
        varying = np.flatnonzero(X.find_varying())
        some = varying[rng.permutation(len(varying))[:COMPARED_FEATURES]]
        return X.take(features=some).to_dense() if bounded or not len(some) else X
    X = X[rows]
    X = X[:, find_varying(X)]
    return X[:, rng.permutation(X.shape[1])[:COMPARED_FEATURES]] if bounded else X


def _evidence(of_clouds: list[Array], of_views: list[Array], n: int) -> float:
    """Return the evidence by what clusters explain of clouds and of views of n samples."""
    by_shape = [of_clouds[i : i + N_CLOUDS] for i in range(0, len(of_clouds), N_CLOUDS)]
    T = np.mean([temperature_from_gains(gains, n, n) for gains in by_shape])
    ratios = [(gain / (n * np.log(np.arange(2, len(gain) + 2)) * T)).max() for gain in of_views]
    return float(np.exp(np.mean(np.log(np.maximum(ratios, np.finfo(float).tiny)))))
