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

from latentsimplex._types import Array, Indices
from latentsimplex.coassignment import CoAssignment
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.report import figures
from latentsimplex.report.summary import (
    UNSURE,
    assigned_probabilities,
    least_sure_first,
    next_patterns,
    sample_doubts,
    view_probabilities,
)
from latentsimplex.report.words import LONGEST_NAME, name_shown

MAX_DRAWN = 600
"""Samples in a drawing, about as many as it has pixels."""
MAX_LISTED_SAMPLES = 20_000
MAX_LISTED_VIEWS = 200_000
MAX_MEMBERSHIPS = 1_200_000
"""Probabilities that the page holds, which are 3.2 MB of it."""
NAME_CHARACTERS = 4_000_000
"""All names together; where names are many and long, they are cut."""
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
    """

    kept: Indices
    n_listed: int
    consensus: Indices
    patterns: list[Indices]


def choose_samples(model: LatentSimplexPosition) -> Shown:
    """Return the samples to show: all where they are few, else the least sure to list and an even choice to draw."""
    labels = model.consensus_.labels
    together = _mean_with_own(model.consensus_.coassignment, labels)
    drawn = figures.display_order(labels, together, MAX_DRAWN)
    listed = _listed(model, len(drawn))
    kept = np.r_[listed, np.setdiff1d(drawn, listed)]
    place = np.zeros(model.n_samples_, dtype=np.intp)
    place[kept] = np.arange(len(kept))
    sureness = assigned_probabilities(model)
    patterns = [
        place[drawn[figures.display_order(own[drawn], sure[drawn], MAX_DRAWN)]]
        for own, sure in zip(model.pattern_labels_, sureness, strict=True)
    ]
    return Shown(kept, len(listed), place[drawn], patterns)


def _listed(model: LatentSimplexPosition, n_drawn: int) -> Indices:
    doubts = sample_doubts(model)
    if doubts is None:
        return np.empty(0, dtype=np.intp)
    room = MAX_MEMBERSHIPS // int(model.n_clusters_.sum()) - n_drawn
    return least_sure_first(doubts)[: max(n_drawn, min(room, MAX_LISTED_SAMPLES))]


def _mean_with_own(P: CoAssignment, labels: np.ndarray) -> Array:
    """Return each sample's mean co-assignment with the members of its own cluster."""
    sums = np.zeros((int(labels.max()) + 1, P.rank))
    np.add.at(sums, labels, P.factor)
    return (P.factor * sums[labels]).sum(axis=1) / np.bincount(labels)[labels]


def embedded(model: LatentSimplexPosition, shown: Shown) -> dict[str, Any]:
    """Return everything that the script needs, as JSON knows it."""
    most_clusters = max(int(model.n_clusters_.max()), model.consensus_.n_clusters)
    return {
        "unsure": UNSURE,
        "printedRows": PRINTED_ROWS,
        "heat": list(figures.ACCENT),
        "colours": [figures.colour(k) for k in range(most_clusters)],
        "samples": _samples(model, shown),
        "patterns": [_pattern(model, shown, l) for l in range(model.n_patterns_)],
        "consensus": _consensus(model, shown),
        "views": _views(model),
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


def probabilities(p: Array) -> list[str]:
    """Return probabilities as a column of 16-bit numbers; only 0 and 1 themselves become the least and the greatest."""
    levels = np.clip(np.rint(p * TOP), 1, TOP - 1)
    levels = np.where(p <= 0, 0, np.where(p >= 1, TOP, levels))
    return _column(levels, "u2")


def indices(values: np.ndarray) -> list[str]:
    """Return whole numbers of 0 or more as a column of as few bytes as they need."""
    top = int(values.max(initial=0))
    return _column(values, "u1" if top < 2**8 else "u2" if top < 2**16 else "u4")


def _column(values: np.ndarray, kind: str) -> list[str]:
    content = np.ascontiguousarray(values).astype(f"<{kind}").tobytes()
    return [kind, base64.b64encode(content).decode("ascii")]


def _samples(model: LatentSimplexPosition, shown: Shown) -> dict[str, Any]:
    doubts, names = sample_doubts(model), model.sample_names_in_
    some = {} if doubts is None else {
        "probability": probabilities(doubts.probability[shown.kept]),
        "doubtful": indices(doubts.pattern[shown.kept]),
    }  # fmt: skip
    return {
        "index": indices(shown.kept),
        "names": None if names is None else _names(names[shown.kept]),
        "listed": shown.n_listed,
        "count": int(model.n_samples_),
        **some,
    }


def _pattern(model: LatentSimplexPosition, shown: Shown, l: int) -> dict[str, Any]:
    return {
        "clusters": int(model.n_clusters_[l]),
        "labels": indices(model.pattern_labels_[l][shown.kept]),
        "memberships": probabilities(model.memberships_[l][shown.kept]),
        "order": indices(shown.patterns[l]),
    }


def _consensus(model: LatentSimplexPosition, shown: Shown) -> dict[str, Any]:
    """Return labels and shares; without included views there are no shares, and all samples are together."""
    u = model.consensus_.weights
    shares = np.bincount(model.view_patterns_, weights=u, minlength=model.n_patterns_)
    return {
        "labels": indices(model.consensus_.labels[shown.kept]),
        "shares": (shares / shares.sum()).tolist() if shares.any() else None,
        "order": indices(shown.consensus),
    }


def _views(model: LatentSimplexPosition) -> dict[str, Any]:
    some = slice(MAX_LISTED_VIEWS)
    eta, patterns = model.view_responsibilities_[some], model.view_patterns_[some]
    columns = {
        "pattern": indices(patterns),
        "probability": probabilities(view_probabilities(model)[some]),
        "weight": _column(model.consensus_.weights[some], "f4"),
    }
    rival = next_patterns(model)
    if rival is not None:
        columns["next"] = indices(rival[some])
        columns["nextProbability"] = probabilities(eta[np.arange(len(eta)), rival[some]])
    return {"names": _names(model.view_names_in_[some]), "count": len(model.view_names_in_), **columns}


def _names(names: np.ndarray) -> list[str]:
    longest = int(np.clip(NAME_CHARACTERS // len(names), 24, LONGEST_NAME))
    return [name_shown(name, longest) for name in names]
