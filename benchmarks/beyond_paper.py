"""Measure what goes beyond the paper: diffusion, the learned response, moves; docs/fidelity.md quotes it.

Every case has a known answer. Data and model take the same seed. The digits are the bundled ones, so a
number on them is one number: with moves, a fit to one pattern depends on no random draw.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score as nmi

from latentsimplex import LatentSimplexPosition
from latentsimplex.compute.pairs import pack
from latentsimplex.datasets import load_digits, many_views, running_example, single_view
from latentsimplex.experiments.model import BEYOND
from latentsimplex.similarity import Diffusion, LocalScaling

LOCAL = LocalScaling(0.3, 2.0, standardise=True)
PER_FEATURE = LocalScaling(0.3, 2.0, per_feature=True)


def beyond(n: int, seed: int, similarity: Any, g: int, d: int) -> LatentSimplexPosition:
    """Return the unfitted model with everything that goes beyond the paper, for n samples."""
    settings = {**BEYOND, "temperature": n / 2, "similarity": similarity, "random_state": seed}
    return LatentSimplexPosition(g, d, **settings)


def running(n_seeds: int, similarity: Any) -> dict[str, Any]:
    """Return how often views and clusters of the running example come out right, and NMI of each view."""
    right, scores = [], []
    for seed in range(n_seeds):
        data = running_example(random_state=seed)
        model = beyond(300, seed, similarity, 10, 3).fit(data.views)
        grouped = model.view_patterns_.tolist() == [0, 0, 1]
        right.append((grouped, grouped and model.n_clusters_.tolist() == [3, 2]))
        scores.append([nmi(a, b) for a, b in zip(data.labels, model.view_labels_, strict=True)])
    grouped_too = np.mean(right, axis=0)
    return {
        "views grouped rightly": grouped_too[0],
        "clusters right too": grouped_too[1],
        "NMI per view": np.mean(scores, axis=0).round(3).tolist(),
    }


def many(n_views: int, n_seeds: int, similarity: Any) -> list[dict[str, Any]]:
    """Return, for each seed, the patterns found among many views and how far their P is from the truth."""
    results = []
    for seed in range(n_seeds):
        data = many_views(n_views, random_state=seed)
        model = beyond(150, seed, similarity, 10, 10).fit(data.views)
        correlations, deviations = [], []
        for pattern in range(5):
            nearest = np.bincount(model.view_patterns_[data.patterns == pattern]).argmax()
            P, truth = model.coassignment(pattern=int(nearest)).packed(), pack(data.coassignment(pattern))
            correlations.append(np.corrcoef(P, truth)[0, 1])
            deviations.append(np.median(np.abs(P - truth)))
        results.append(
            {
                "patterns": model.n_patterns_,
                "clusters": model.n_clusters_.tolist(),
                "NMI of the groups": round(float(nmi(data.patterns, model.view_patterns_)), 4),
                "least correlation of P": round(float(min(correlations)), 3),
                "largest median deviation of P": round(float(max(deviations)), 3),
            }
        )
    return results


def table1(n_seeds: int, similarity: Any) -> dict[str, list[float]]:
    """Return NMI and its ceiling, median and mean deviation of P, for two clusters in settings b to f."""
    table = {}
    for setting in "bcdef":
        rows = []
        for seed in range(n_seeds):
            data = single_view(setting, random_state=seed)
            settings = {"divergence": "forward", "response": "learned", "penalty": None, "search": "moves"}
            model = LatentSimplexPosition(2, 1, similarity=similarity, random_state=seed, **settings).fit(
                data.views
            )
            away = np.abs(model.coassignment().packed() - pack(data.coassignment()))
            ceiling = nmi(data.labels[0], data.bayes_labels[0])
            rows.append([nmi(data.labels[0], model.labels_), ceiling, np.median(away), away.mean()])
        table[setting] = np.mean(rows, axis=0).round(3).tolist()
    return table


def digits(n_patterns: int) -> dict[str, Any]:
    """Return NMI with the true digits, told that there are ten: of each pattern and of the consensus."""
    data = load_digits()
    model = LatentSimplexPosition(
        10, n_patterns, similarity="diffusion", penalty=None, search="moves", n_init=1, random_state=0
    ).fit(data.views)
    return {
        "patterns of the views": model.view_patterns_.tolist(),
        "NMI of each pattern": [
            round(float(nmi(data.labels, labels)), 3) for labels in model.pattern_labels_
        ],
        "NMI of the consensus": round(float(nmi(data.labels, model.labels_)), 3),
    }


def main() -> None:
    """Measure everything, print it and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seeds", type=int, default=6)
    arguments = parser.parse_args()
    n = arguments.seeds
    measured: dict[str, Any] = {}
    cases = {
        "running example, diffusion": lambda: running(n, "diffusion"),
        "running example, local scaling": lambda: running(n, LOCAL),
        "300 views, diffusion": lambda: many(300, n, Diffusion(mean=0.2)),
        "300 views, local scaling": lambda: many(300, n, LOCAL),
        "table 1, local scaling": lambda: table1(n, LOCAL),
        "table 1, per feature": lambda: table1(n, PER_FEATURE),
        "table 1, diffusion": lambda: table1(n, Diffusion(mean=0.35)),
        "digits, two patterns": lambda: digits(2),
        "digits, one pattern": lambda: digits(1),
    }
    for name, measure in cases.items():
        measured[name] = measure()
        print(name, json.dumps(measured[name], default=float), flush=True)
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(measured, indent=2, default=float) + "\n")


if __name__ == "__main__":
    main()
