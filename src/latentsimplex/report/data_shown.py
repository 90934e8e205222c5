"""What the page shows of the data, where it is given them: a scatter plot, and features that set clusters apart."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.extmath import randomized_svd

from latentsimplex.analysis.cluster_features import (
    ClusterFeatures,
    Given,
    find_taking_part,
    standardise_present,
)
from latentsimplex.base.types import Array, Indices
from latentsimplex.plots.thinned import thin_evenly
from latentsimplex.report.wording import show_name
from latentsimplex.results.results import Results

MAX_SCATTERED = 2_000
"""Points of the scatter plot; more would hide one another."""
MAX_JOINED = 20_000
"""Features that the scatter plot looks at."""
TOP_FEATURES, EFFECT_ROWS = 5, 40
"""Features of each cluster in the figure, and its rows at most."""


class Plane(NamedTuple):
    """Samples in the plane of the first two principal components of the data.

    Attributes
    ----------
    points : (m, 2) array
    shares : (2,) array
        Of the variance, how much each component has.
    n_views, n_features, n_joined : int
        Views that were joined, their features, and how many of these were looked at.
    """

    points: Array
    shares: Array
    n_views: int
    n_features: int
    n_joined: int


def place_samples(results: Results, given: Given, samples: Indices) -> Plane:
    """Return where samples are in the plane: features standardised, views joined so that each counts as much.

    The views are those that take part in the consensus, or all where none does.
    """
    taking = find_taking_part(results, None)[given.places]
    members = np.flatnonzero(taking if taking.any() else np.ones_like(taking)).tolist()
    widths = [given.views.widths[v] for v in members]
    chosen = np.zeros(sum(widths), dtype=bool)
    chosen[thin_evenly(np.arange(len(chosen)), MAX_JOINED)] = True
    parts = np.split(chosen, np.cumsum(widths)[:-1])
    joined = [
        standardise_present(given.take(v, np.flatnonzero(part)))[0][samples].astype(np.float32)
        / np.sqrt(part.sum())
        for v, part in zip(members, parts, strict=True)
        if part.any()
    ]
    Z = np.hstack(joined)
    Z -= Z.mean(axis=0)
    whole = float(np.square(Z).sum()) or 1.0
    U, s, _ = randomized_svd(np.pad(Z, ((0, 0), (0, max(0, 2 - Z.shape[1])))), 2, random_state=0)
    return Plane(U * s, s**2 / whole, len(members), len(chosen), int(chosen.sum()))


def rank_features(found: ClusterFeatures, most: int) -> tuple[Indices, Indices]:
    """Return the cluster, as a place among them, and the feature of up to ``most`` rows: largest effects first."""
    top = found.rank(most // max(len(found.clusters), 1))
    return np.repeat(np.arange(len(top)), top.shape[1]), top.ravel()


def list_first_features(found: ClusterFeatures) -> list[dict[str, Any]]:
    """Return the first rows of the table of features, for readers without scripts."""
    rows = zip(*rank_features(found, TOP_FEATURES * len(found.clusters)), strict=True)
    return [
        {
            "cluster": int(found.clusters[k]),
            "view": show_name(found.views[j]),
            "feature": show_name(found.features[j]),
            "mean_inside": float(found.mean_inside[k, j]),
            "mean_outside": float(found.mean_outside[k, j]),
            "effect": float(found.effect[k, j]),
        }
        for k, j in rows
    ]


def tabulate_effects(found: ClusterFeatures) -> dict[str, Any] | None:
    """Return the top features of all clusters with their effect in each of them, or None where there are none."""
    most = EFFECT_ROWS // max(len(found.clusters), 1)
    top = found.choose_top(max(1, min(most, TOP_FEATURES)))[:EFFECT_ROWS]
    if not len(top):
        return None
    effects = np.nan_to_num(found.effect[:, top])
    rows = [
        {"view": show_name(found.views[j]), "feature": show_name(found.features[j]), "effects": own.tolist()}
        for j, own in zip(top, effects.T, strict=True)
    ]
    return {"clusters": found.clusters.tolist(), "rows": rows, "largest": float(np.abs(effects).max())}
