"""Compare how sure the model and a Gaussian mixture are, on the six settings of Table 1.

Both say who shares a cluster with whom: the model by a default fit with two clusters at most, the mixture by the
product of its responsibilities, with the number of components that the Bayesian information criterion prefers.
The oracle knows the true densities; a constant gives all pairs the same probability. Data and models take the
same seed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.mixture import GaussianMixture

from latentsimplex import LatentSimplexPosition
from latentsimplex.calibration import constant_brier, pair_brier, pair_deviation, pair_reliability
from latentsimplex.coassignment import CoAssignment
from latentsimplex.datasets import single_view

SETTINGS = "abcdef"
MOST_COMPONENTS = 6
MIXTURE_STARTS = 5


def model_coassignment(view: np.ndarray, seed: int) -> tuple[CoAssignment, int]:
    """Return the co-assignments of a default fit with two clusters at most, and how many it has."""
    model = LatentSimplexPosition(n_clusters=2, random_state=seed).fit([view])
    return model.coassignment(view=0), int(model.n_clusters_[0])


def mixture_coassignment(view: np.ndarray, seed: int) -> tuple[CoAssignment, int]:
    """Return the co-assignments of the Gaussian mixture with the lowest criterion, and its components."""
    mixtures = [
        GaussianMixture(k, n_init=MIXTURE_STARTS, random_state=seed).fit(view)
        for k in range(1, MOST_COMPONENTS + 1)
    ]
    best = min(mixtures, key=lambda mixture: mixture.bic(view))
    return CoAssignment(best.predict_proba(view)), best.n_components


def measure(setting: str, seed: int, n_samples: int) -> Iterator[dict[str, object]]:
    """Yield what each method scores on one data set."""
    data = single_view(setting, n_samples, random_state=seed)
    truth, oracle = data.labels[0], data.oracle[0]
    constant = constant_brier(truth)
    methods = {
        "model": model_coassignment(data.views[0], seed),
        "mixture": mixture_coassignment(data.views[0], seed),
        "oracle": (CoAssignment(oracle), oracle.shape[1]),
    }
    for method, (P, n_clusters) in methods.items():
        curve, deviation = pair_reliability(P, truth), pair_deviation(P, oracle)
        yield {
            "setting": setting,
            "seed": seed,
            "method": method,
            "clusters": n_clusters,
            "brier": pair_brier(P, truth),
            "constant": constant,
            "reliability": curve.brier.reliability,
            "resolution": curve.brier.resolution,
            "calibration error": curve.expected_calibration_error,
            "median deviation": deviation.median,
            "mean deviation": deviation.mean,
        }


def main() -> None:
    """Measure all settings over seeds and write the rows as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=400)
    options = parser.parse_args()
    rows = []
    for setting in SETTINGS:
        for seed in range(options.seeds):
            for row in measure(setting, seed, options.samples):
                rows.append(row)
                shown = (f"{value:.4f}" if isinstance(value, float) else value for value in row.values())
                print(*shown, sep="  ", flush=True)
    options.out.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
