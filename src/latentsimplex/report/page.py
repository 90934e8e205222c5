"""The page itself: a summary and its figures through a template into one HTML file that needs no network."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from latentsimplex._types import Array
from latentsimplex.coassignment import CoAssignment
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.report import figures
from latentsimplex.report.summary import assigned_probabilities, summarise
from latentsimplex.report.words import count, number, percent, probability

MAX_DRAWN_SAMPLES = 600
MAX_DRAWN_PATTERNS = 12


def write_report(model: LatentSimplexPosition, path: str | os.PathLike[str]) -> None:
    """Write a self-contained HTML page about a fitted model to ``path``, which is used as given."""
    # a name may hold half a character, which UTF-8 cannot: the page then shows a replacement for it
    Path(path).write_bytes(render(model).encode("utf-8", errors="xmlcharrefreplace"))


def render(model: LatentSimplexPosition) -> str:
    """Return the page as text; the names in the data are escaped."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(count=count, number=number, probability=probability, percent=percent)
    template = files("latentsimplex.report").joinpath("template.html").read_text(encoding="utf-8")
    summary = summarise(model)
    return environment.from_string(template).render(**summary, figures=_draw(model))


def _draw(model: LatentSimplexPosition) -> dict[str, Any]:
    sureness = assigned_probabilities(model)
    drawn = [l for l in range(model.n_patterns_) if model.n_clusters_[l] > 1][:MAX_DRAWN_PATTERNS]
    return {
        "n_drawn": min(model.n_samples_, MAX_DRAWN_SAMPLES),
        "max_patterns": MAX_DRAWN_PATTERNS,
        "consensus": _draw_consensus(model, model.consensus_.coassignment),
        "patterns": {l: _draw_pattern(model, l, sureness[l]) for l in drawn},
        "loss": figures.loss_curve(model.loss_curve_, "Loss over iterations"),
    }


def _draw_consensus(model: LatentSimplexPosition, P: CoAssignment) -> Markup:
    labels = model.consensus_.labels
    samples = figures.display_order(labels, _mean_with_own(P, labels), MAX_DRAWN_SAMPLES)
    return figures.heatmap(P.block(samples, samples), labels[samples], "Co-assignment of the consensus")


def _mean_with_own(P: CoAssignment, labels: np.ndarray) -> Array:
    """Return each sample's mean co-assignment with the members of its own cluster."""
    members = np.eye(int(labels.max()) + 1)[labels]
    return ((P @ members) * members).sum(axis=1) / members.sum(axis=0)[labels]


def _draw_pattern(model: LatentSimplexPosition, l: int, sureness: Array) -> dict[str, Any]:
    W, labels = model.memberships_[l], model.pattern_labels_[l]
    samples = figures.display_order(labels, sureness, MAX_DRAWN_SAMPLES)
    W, labels = W[samples], labels[samples]
    return {
        "heatmap": figures.heatmap(W @ W.T, labels, f"Co-assignment under pattern {l}"),
        "bars": figures.membership_bars(W, labels, f"Memberships under pattern {l}"),
        "colours": figures.cluster_colours(W.shape[1]),
    }
