"""The data that the page's script draws and searches: columns of numbers as base64, names as JSON.

No matrix of pairs is kept. Memberships are, of some of the samples, and the script multiplies them: the co-assignment
of two samples under pattern l is w_i . w_j, and that of the consensus sum_l c_l w_i . w_j with c_l the share of the
consensus weights that belongs to the pattern.

Probabilities are 16-bit numbers, so that two decimals are right; 0 and 1 stand for themselves alone.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from latentsimplex.analysis.cluster_features import ClusterFeatures
from latentsimplex.base.types import Array, Indices
from latentsimplex.plots.palette import cluster_colour
from latentsimplex.plots.thinned import order_samples, select_samples
from latentsimplex.report.data_shown import rank_features
from latentsimplex.report.figures import ACCENT
from latentsimplex.report.summary import (
    assigned_probabilities,
    least_sure_first,
    next_patterns,
    sample_doubts,
    view_probabilities,
)
from latentsimplex.report.wording import LONGEST_NAME, show_name
from latentsimplex.results.results import Results
from latentsimplex.uncertainty.doubtful_samples import UNSURE, model_uncertainty

MAX_DRAWN = 600
"""Samples in a drawing, about as many as it has pixels."""
MAX_LISTED_SAMPLES = 20_000
MAX_LISTED_VIEWS = 200_000
MAX_MEMBERSHIPS = 1_200_000
"""Probabilities that the page holds, which are 3.2 MB of it."""
NAME_CHARACTERS = 4_000_000
"""All names together; where names are many and long, they are cut."""
MAX_LISTED_FEATURES = 5_000
"""Rows of the table of features, as many for each cluster."""
PRINTED_ROWS = 40
"""Rows of a long table that go to a printer."""
TOP = 65535


@dataclass(frozen=True, eq=False)
class Shown:
    """Which samples the page shows.

    Attributes
    ----------
    kept : (m,) array
        The samples whose memberships the page holds: first those that the table lists, least sure first, then
        others that are drawn.
    n_listed : int
    consensus : (drawn,) array
        The drawn samples, as places in ``kept``, in the order of the consensus figure.
    patterns : list of (drawn,) arrays
        The same samples in the order of each pattern's figures.
    scattered : (placed,) array
        The samples of the scatter plot, as places in ``kept``; none where there is no such plot.
    """

    kept: Indices
    n_listed: int
    consensus: Indices
    patterns: list[Indices]
    scattered: Indices


def choose_samples(results: Results, n_scattered: int = 0) -> Shown:
    """Return the samples to show: all where they are few, else the least sure to list and an even choice to draw.

    The scatter plot has at most ``n_scattered``.
    """
    affinity = model_uncertainty(results)["affinity"]
    drawn, scattered = (select_samples(results.labels, -affinity, most) for most in (MAX_DRAWN, n_scattered))
    listed = _listed(results, len(drawn))
    kept = np.r_[listed, np.setdiff1d(np.union1d(drawn, scattered), listed)]
    place = np.zeros(results.n_samples, dtype=np.intp)
    place[kept] = np.arange(len(kept))
    pairs = zip(results.pattern_labels, assigned_probabilities(results), strict=True)
    patterns = [place[drawn[order_samples(own[drawn], -sure[drawn])]] for own, sure in pairs]
    return Shown(kept, len(listed), place[drawn], patterns, place[scattered])


def _listed(results: Results, n_drawn: int) -> Indices:
    doubts = sample_doubts(results)
    if doubts is None:
        return np.empty(0, dtype=np.intp)
    room = MAX_MEMBERSHIPS // int(results.n_clusters.sum()) - n_drawn
    return least_sure_first(doubts)[: max(n_drawn, min(room, MAX_LISTED_SAMPLES))]


def collect_data(results: Results, shown: Shown, features: ClusterFeatures | None = None) -> dict[str, Any]:
    """Return everything that the script needs, as JSON knows it."""
    most_clusters = max(int(results.n_clusters.max()), results.consensus.n_clusters)
    return {
        "unsure": UNSURE,
        "printedRows": PRINTED_ROWS,
        "heat": list(ACCENT),
        "colours": [cluster_colour(k) for k in range(most_clusters)],
        "samples": _samples(results, shown),
        "patterns": [_pattern(results, shown, l) for l in range(results.n_patterns)],
        "consensus": _consensus(results, shown),
        "views": _views(results),
        "features": None if features is None else _features(features),
    }


def as_script(data: dict[str, Any]) -> Markup:
    """Return data as JSON that can stand in a script element: nothing in it ends the element or begins another.

    >>> print(as_script({"name": "</script>&"}))
    {"name":"\\u003c/script\\u003e\\u0026"}
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def encode_probabilities(p: Array) -> list[str]:
    """Return probabilities as a column of 16-bit numbers; only 0 and 1 themselves become the least and the greatest."""
    levels = np.clip(np.rint(p * TOP), 1, TOP - 1)
    levels = np.where(p <= 0, 0, np.where(p >= 1, TOP, levels))
    return _encode_column(levels, "u2")


def encode_whole_numbers(values: np.ndarray) -> list[str]:
    """Return whole numbers of 0 or more as a column of as few bytes as they need."""
    top = int(values.max(initial=0))
    return _encode_column(values, "u1" if top < 2**8 else "u2" if top < 2**16 else "u4")


def _encode_column(values: np.ndarray, kind: str) -> list[str]:
    content = np.ascontiguousarray(values).astype(f"<{kind}").tobytes()
    return [kind, base64.b64encode(content).decode("ascii")]


def _samples(results: Results, shown: Shown) -> dict[str, Any]:
    doubts, names = sample_doubts(results), results.sample_names
    columns = {
        "index": encode_whole_numbers(shown.kept),
        "names": None if names is None else _names(names[shown.kept]),
        "listed": shown.n_listed,
    }
    if doubts is not None:
        columns["probability"] = encode_probabilities(doubts.probability[shown.kept])
        columns["doubtful"] = encode_whole_numbers(doubts.pattern[shown.kept])
    return columns


def _pattern(results: Results, shown: Shown, l: int) -> dict[str, Any]:
    return {
        "clusters": int(results.n_clusters[l]),
        "labels": encode_whole_numbers(results.pattern_labels[l][shown.kept]),
        "memberships": encode_probabilities(results.memberships[l][shown.kept]),
        "order": encode_whole_numbers(shown.patterns[l]),
    }


def _consensus(results: Results, shown: Shown) -> dict[str, Any]:
    """Return labels and shares; without included views there are no shares, and all samples are together."""
    u = results.consensus.weights
    shares = np.bincount(results.view_patterns, weights=u, minlength=results.n_patterns)
    return {
        "labels": encode_whole_numbers(results.labels[shown.kept]),
        "shares": (shares / shares.sum()).tolist() if shares.any() else None,
        "order": encode_whole_numbers(shown.consensus),
    }


def _views(results: Results) -> dict[str, Any]:
    some = slice(MAX_LISTED_VIEWS)
    eta, patterns = results.view_responsibilities[some], results.view_patterns[some]
    columns = {
        "names": _names(results.view_names[some]),
        "pattern": encode_whole_numbers(patterns),
        "probability": encode_probabilities(view_probabilities(results)[some]),
        "weight": _encode_column(results.consensus.weights[some], "f4"),
    }
    rival = next_patterns(results)
    if rival is not None:
        columns["next"] = encode_whole_numbers(rival[some])
        columns["nextProbability"] = encode_probabilities(eta[np.arange(len(eta)), rival[some]])
    return columns


def _features(found: ClusterFeatures) -> dict[str, Any]:
    """Return the features with the largest effects of each cluster, cluster by cluster."""
    clusters, columns = rank_features(found, MAX_LISTED_FEATURES)
    kept, place = np.unique(columns, return_inverse=True)
    views, view = np.unique(found.views[kept].astype(str), return_inverse=True)
    numbers = {
        name: getattr(found, name)[clusters, columns] for name in ("mean_inside", "mean_outside", "effect")
    }
    return {
        "names": _names(found.features[kept]),
        "feature": encode_whole_numbers(place),
        "views": {"names": _names(views)},
        "view": encode_whole_numbers(view[place]),
        "cluster": encode_whole_numbers(found.clusters[clusters]),
        **{name: _encode_column(values, "f4") for name, values in numbers.items()},
    }


def _names(names: np.ndarray) -> list[str]:
    longest = int(np.clip(NAME_CHARACTERS // max(len(names), 1), 24, LONGEST_NAME))
    return [show_name(name, longest) for name in names]
