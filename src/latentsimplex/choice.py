"""Which similarity "auto" is, and the temperature that goes with a similarity: both by clouds without clusters.

A reading of a view is good if clusters explain much more of its similarities than they would in a cloud
read in the same way (:mod:`latentsimplex.reference`). Of each kind of view, a number of features, a few
views decide for all.
"""

from __future__ import annotations

import numpy as np

from latentsimplex._types import Array
from latentsimplex.divergence import Divergence
from latentsimplex.profiles import profile
from latentsimplex.reference import CLOUD_SAMPLES, SEED, temperature
from latentsimplex.similarity import Kernel, Readings, checked_exponents, clip_exponents
from latentsimplex.similarity.readings import FEATURES
from latentsimplex.views import Views

KINDS, VIEWS_OF_A_KIND = 8, 3
"""The most kinds of view, and views of each, that are looked at: all kinds in between go with the nearest."""
BOUNDED, CLEARLY = "one by one", 1.2
"""A wild value of one feature moves no other feature's part of this reading, but can pass for evidence in others."""
COMPARED_FEATURES = 32
"""Features one by one are a mean over features, which so many of them, drawn at random, show well enough."""


def choose_readings(views: Views, n_clusters: int, divergence: Divergence) -> Readings:
    """Return the scale, and the reading of features for each kind of view, by the evidence for clusters.

    The scale is one for all views, so that their divergences add up; the features are read as suits each kind.
    """
    sample = sample_views(views)
    if not sample:  # nothing but constant views, which no reading changes
        return Readings("local", ((1, "as they are"),))
    evidence: dict[str, dict[int, dict[str, float]]] = {}
    for scale in ("local", "broad"):
        evidence[scale] = {
            p: {
                features: float(
                    np.mean(
                        [_evidence(views[v], scale, features, n_clusters, divergence) for v in members]
                    )
                )
                for features in _readings_of(p)
            }
            for p, members in sample.items()
        }
    best = {
        scale: np.mean([np.log(max(found.values())) for found in by_kind.values()])
        for scale, by_kind in evidence.items()
    }
    scale = max(best, key=lambda name: best[name])
    return Readings(scale, tuple((p, _preferred(found)) for p, found in evidence[scale].items()))


def _preferred(evidence: dict[str, float]) -> str:
    """Return the reading with the most evidence, the bounded one unless another has clearly more.

    >>> _preferred({"standardised": 2.1, "one by one": 2.0}), _preferred({"standardised": 3.0, "one by one": 2.0})
    ('one by one', 'standardised')
    """
    best = max(evidence, key=evidence.__getitem__)
    return BOUNDED if evidence[best] < CLEARLY * evidence.get(BOUNDED, 0.0) else best


def choose_temperature(views: Views, kernel: Kernel, divergence: Divergence) -> float:
    """Return the mean temperature of the views, from a few of each kind."""
    kinds = sample_views(views).values()
    if not kinds:
        return 1.0
    return float(np.mean([np.mean([temperature(views[v], kernel, divergence) for v in kind]) for kind in kinds]))


def sample_views(views: Views) -> dict[int, list[int]]:
    """Return a few views of each of a few kinds, by number of features; constant views tell nothing."""
    kinds: dict[int, list[int]] = {}
    for v in np.random.default_rng(SEED).permutation(len(views)).tolist():
        kinds.setdefault(views.widths[v], []).append(v)
    spaced = np.linspace(0, len(kinds) - 1, min(KINDS, len(kinds))).round().astype(int)
    chosen = {sorted(kinds)[i]: kinds[sorted(kinds)[i]] for i in spaced}
    sample: dict[int, list[int]] = {}
    for p, members in chosen.items():
        telling = (v for v in members if np.ptp(views[v], axis=0).any())
        found = [v for v, _ in zip(telling, range(VIEWS_OF_A_KIND), strict=False)]
        if found:
            sample[p] = found
    return sample


def _readings_of(n_features: int) -> list[str]:
    """Return the readings that differ: of one feature there is but one."""
    return ["as they are"] if n_features == 1 else list(FEATURES)


def _evidence(X: Array, scale: str, features: str, n_clusters: int, divergence: Divergence) -> float:
    """Return how many times more clusters explain in a view than in its cloud, at the best number of them."""
    rng = np.random.default_rng(SEED)
    X = X[rng.permutation(len(X))[:CLOUD_SAMPLES]]
    X = X[:, np.ptp(X, axis=0) > 0]
    if features == BOUNDED:
        X = X[:, rng.permutation(X.shape[1])[:COMPARED_FEATURES]]
    n, p = X.shape
    k = np.arange(2, min(n_clusters, n - 1) + 1)
    if not (len(k) and p):
        return 1.0
    kernel = Readings(scale, ((p, features),))
    r = clip_exponents(checked_exponents(kernel, X, "a view"))
    gains = profile(divergence.f(r), int(k[-1]), divergence).gains[1:]
    ratios = gains / (n * np.log(k) * temperature(X, kernel, divergence))
    return float(max(ratios.max(), np.finfo(float).tiny))
