"""The HTML page: summary, drawings and data, put through a template into one file that needs no network."""

from __future__ import annotations

import base64
import hashlib
import os
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from latentsimplex.analysis.cluster_features import ClusterFeatures, Given, measure_features, read_again
from latentsimplex.base.atomic_files import whole_file
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wording import count_noun
from latentsimplex.plots.palette import cluster_colour
from latentsimplex.plots.thinned import thin_evenly
from latentsimplex.report import figures
from latentsimplex.report.audit import summarise_audit
from latentsimplex.report.data_shown import (
    MAX_SCATTERED,
    list_first_features,
    place_samples,
    tabulate_effects,
)
from latentsimplex.report.page_data import (
    MAX_LISTED_VIEWS,
    PRINTED_ROWS,
    Shown,
    as_script,
    choose_samples,
    collect_data,
)
from latentsimplex.report.summary import SURE, assigned_probabilities, find_consensus_pattern, summarise
from latentsimplex.report.wording import change, number, percent, probability, short
from latentsimplex.results.results import Results, results_of
from latentsimplex.uncertainty.doubtful_samples import UNSURE

SCRIPTS = ("words.js", "data.js", "drawings.js", "table.js", "page.js")
STILL_SAMPLES = 150
STILL_PATTERNS = 12
"""What is drawn for readers without scripts: few samples of few patterns, for the sake of the file's size."""
COARSE = 300
"""A heatmap of fewer samples shows them as squares."""

BIBTEX = """@article{duan2020latent,
  author  = {Duan, Leo L.},
  title   = {Latent Simplex Position Model: High Dimensional Multi-view Clustering with Uncertainty Quantification},
  journal = {Journal of Machine Learning Research},
  volume  = {21},
  number  = {38},
  pages   = {1--25},
  year    = {2020},
  url     = {https://jmlr.org/papers/v21/19-239.html}
}"""


def write_report(model: Any, path: str | os.PathLike[str], data: Any = None) -> None:
    """Write a self-contained HTML page about a fitted model to ``path``, which is used as given.

    Parameters
    ----------
    model : fitted LatentSimplexPosition
    path : str or path
    data : views or None
        The data as given to ``fit``: the page then has a scatter plot of them, and the features that set clusters
        apart.
    """
    # a setting may hold half a character, which UTF-8 cannot: the page then shows a replacement for it
    content = render(model, data).encode("utf-8", errors="xmlcharrefreplace")
    with whole_file(path) as part:
        part.write_bytes(content)


def render(model: Any, data: Any = None) -> str:
    """Return the page about a fitted model as text; the names in the data are escaped."""
    results = results_of(model)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        count=count_noun,
        number=number,
        probability=probability,
        percent=percent,
        change=change,
        short=short,
        colour=cluster_colour,
    )
    summary = summarise(results)
    given = None if data is None else read_again(results, data)
    features = None if given is None else measure_features(results, given)
    shown = choose_samples(results, 0 if given is None else MAX_SCATTERED)
    style, script = _asset("page.css"), _script()
    return environment.from_string(_asset("template.html")).render(
        **summary,
        sure=SURE,
        most_views=max(pattern["n_views"] for pattern in summary["patterns"]),
        audit=summarise_audit(results),
        figures=_draw(results, shown),
        scatter=None if given is None else _draw_scatter(results, given, shown),
        features=None
        if given is None or features is None
        else _show_features(results, given, features, summary["consensus"]["pattern"]),
        n_listed=shown.n_listed,
        max_listed_views=MAX_LISTED_VIEWS,
        printed_rows=PRINTED_ROWS,
        bibtex=BIBTEX,
        data=as_script(collect_data(results, shown, features)),
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
    )


def _asset(name: str) -> str:
    return files("latentsimplex.report").joinpath(name).read_text(encoding="utf-8")


def _script() -> str:
    return "\n".join(['"use strict";\n(() => {', *map(_asset, SCRIPTS), "})();"])


def _policy(style: str, script: str) -> str:
    """Return the page's rule for browsers: this style and this script, images within the page, and nothing else."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _draw(results: Results, shown: Shown) -> dict[str, Any]:
    sureness = assigned_probabilities(results)
    clustered = np.flatnonzero(results.n_clusters > 1).tolist()
    still = clustered[:STILL_PATTERNS]
    own = find_consensus_pattern(results)
    X, samples = results.consensus.coassignment.factor, shown.kept[shown.consensus]
    return {
        "n_drawn": len(samples),
        "consensus": _heatmap(X, results.labels, samples, True) if clustered and own is None else None,
        "patterns": {l: _draw_pattern(results, shown, l, sureness[l], l in still) for l in clustered},
        "loss": figures.loss_curve(results.loss_curve),
    }


def _draw_scatter(results: Results, given: Given, shown: Shown) -> dict[str, Any]:
    samples = shown.kept[shown.scattered]
    plane = place_samples(results, given, samples)
    described = "Samples in the plane of the first two principal components, coloured by cluster"
    return {
        **plane._asdict(),
        "drawing": figures.scatter(plane.points, results.labels[samples], shown.scattered, described),
        "n_drawn": len(samples),
    }


def _show_features(
    results: Results, given: Given, found: ClusterFeatures, consensus_pattern: int | None
) -> dict[str, Any]:
    """Return the top features of the consensus, and those of each pattern that it is not."""
    others = [l for l in range(results.n_patterns) if results.n_clusters[l] > 1 and l != consensus_pattern]
    return {
        "consensus": tabulate_effects(found),
        "rows": list_first_features(found),
        "n_features": len(found.features),
        "patterns": {l: tabulate_effects(measure_features(results, given, l)) for l in others},
    }


def _draw_pattern(results: Results, shown: Shown, l: int, sureness: Array, still: bool) -> dict[str, Any]:
    W, labels = results.memberships[l], results.pattern_labels[l]
    samples = shown.kept[shown.patterns[l]]
    return {
        **_heatmap(W, labels, samples, still),
        "bars": figures.bars_picture(W[thin_evenly(samples, STILL_SAMPLES)]) if still else None,
        "histogram": figures.histogram(sureness, UNSURE),
        "simplex": figures.simplex(W[samples], labels[samples], f"Samples in the simplex of pattern {l}")
        if W.shape[1] in figures.SIMPLEX_CLUSTERS
        else None,
    }


def _heatmap(X: Array, labels: np.ndarray, samples: Indices, still: bool) -> dict[str, Any]:
    """Return what stands around and, for readers without scripts, in a heatmap of X X^T."""
    few = X[thin_evenly(samples, STILL_SAMPLES)]
    ordered = labels[samples]
    return {
        "coarse": len(samples) < COARSE,
        "heatmap": figures.heatmap_picture(few @ few.T) if still else None,
        "frames": figures.frames(ordered),
        "strip": figures.strip(ordered),
        "upright": figures.strip(ordered, upright=True),
    }
