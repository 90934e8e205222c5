"""Compare how sure the model and a Gaussian mixture are, on every simulation of the paper.

Both say who shares a cluster with whom in a view: the model by a default fit to all views, the mixture by the
product of its responsibilities for that view, with the number of components that the Bayesian information
criterion prefers. The oracle is the simulation's own; a constant gives all pairs the same probability. Of many
views a few are scored. Data and models take the same seed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.mixture import GaussianMixture

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import (
    Simulation,
    consensus_example,
    many_views,
    running_example,
    single_view,
)
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.uncertainty.calibration import constant_brier, pair_brier, pair_deviation, pair_reliability

MOST_COMPONENTS = 6
MIXTURE_STARTS = 5
MANY, SCORED = 300, 5
"""Views of the simulation with many, and how many of them are scored."""


class Case(NamedTuple):
    """A simulation, the bounds of its fit, and the views that are scored."""

    name: str
    data: Simulation
    n_clusters: int
    n_patterns: int
    views: list[int]


def cases(seed: int) -> Iterator[Case]:
    """Yield every simulation with one seed."""
    for setting in "abcdef":
        data = single_view(setting, 400, random_state=seed)
        yield Case(f"table 1 ({setting})", data, 2, 1, [0])
    yield Case("running example", running_example(random_state=seed), 10, 3, [0, 1, 2])
    yield Case("consensus example", consensus_example(separation=3, random_state=seed), 10, 10, [0, 1])
    yield Case("many views", many_views(MANY, random_state=seed), 10, 10, list(range(SCORED)))


def mixture_coassignment(view: np.ndarray, seed: int) -> tuple[CoAssignment, int]:
    """Return the co-assignments of the Gaussian mixture with the lowest criterion, and its components."""
    mixtures = [
        GaussianMixture(k, n_init=MIXTURE_STARTS, random_state=seed).fit(view)
        for k in range(1, MOST_COMPONENTS + 1)
    ]
    best = min(mixtures, key=lambda mixture: mixture.bic(view))
    return CoAssignment(best.predict_proba(view)), best.n_components


def measure(case: Case, seed: int) -> Iterator[dict[str, object]]:
    """Yield what each method scores on each view of a case."""
    model = LatentSimplexPosition(case.n_clusters, case.n_patterns, random_state=seed).fit(case.data.views)
    for v in case.views:
        view, truth = case.data.views[v], case.data.labels[v]
        oracle = case.data.oracle[case.data.patterns[v]]
        found = int(model.n_clusters_[model.view_patterns_[v]])
        methods = {
            "model": (model.coassignment(view=v), found),
            "mixture": mixture_coassignment(view, seed),
            "oracle": (CoAssignment(oracle), oracle.shape[1]),
        }
        for method, (P, n_clusters) in methods.items():
            curve, deviation = pair_reliability(P, truth), pair_deviation(P, oracle)
            yield {
                "case": case.name,
                "seed": seed,
                "view": v,
                "method": method,
                "clusters": n_clusters,
                "brier": pair_brier(P, truth),
                "constant": constant_brier(truth),
                "reliability": curve.brier.reliability,
                "resolution": curve.brier.resolution,
                "calibration error": curve.expected_calibration_error,
                "median deviation": deviation.median,
                "mean deviation": deviation.mean,
            }


def summary(rows: list[dict[str, Any]]) -> str:
    """Return a table of mean Brier scores and calibration errors by case and method."""
    lines = ["| simulation | constant | model | mixture | oracle |", "|---|---|---|---|---|"]
    for case in dict.fromkeys(row["case"] for row in rows):
        of_case = [row for row in rows if row["case"] == case]
        cells = [f"{np.mean([row['constant'] for row in of_case]):.3f}"]
        for method in ("model", "mixture", "oracle"):
            chosen = [row for row in of_case if row["method"] == method]
            score, error = (np.mean([row[key] for row in chosen]) for key in ("brier", "calibration error"))
            cells.append(f"{score:.3f} ({error:.3f})")
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure all simulations over seeds, print their means and write the rows as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    rows = [row for seed in range(options.seeds) for case in cases(seed) for row in measure(case, seed)]
    print(summary(rows))
    options.out.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
