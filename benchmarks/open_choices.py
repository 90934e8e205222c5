"""Measure the choices that the paper's text leaves open; docs/fidelity.md quotes the results.

Three questions, each on data with a known answer: which bandwidth and which bounds the similarities
should have, how Adam should step, and how far from the barycentre the memberships should start. Data
and model take the same seed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex import LatentSimplexPosition
from latentsimplex.base.condensed import pack_pairs
from latentsimplex.base.threads import Workers
from latentsimplex.datasets import many_views, single_view
from latentsimplex.inputs.views import as_views
from latentsimplex.model.backends import NumbaBackend
from latentsimplex.model.penalties import PENALTIES
from latentsimplex.model.problem import Fit, Model, Problem, Schedule, drop_unused_columns
from latentsimplex.pairs import in_memory
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.pairs.in_memory import InMemoryPairs, ViewReader
from latentsimplex.results.joint_labels import joint_labels
from latentsimplex.search import states
from latentsimplex.search.multistart import search_from_starts
from latentsimplex.similarity import LocalScaling

PAPER = Model(DIVERGENCES["reverse"], PENALTIES["group"])
SIMILARITIES = [(q, clip) for q in (0.02, 0.05, 0.1) for clip in (1e-2, 1e-4, 1e-8)]
SIMILARITIES += [(q, 1e-4) for q in (0.2, 0.3, 0.5)]
PATTERNS = [(0.05, 1e-4), (0.05, 1e-8), (0.1, 1e-4), (0.1, 1e-8), (0.3, 1e-4)]
STEPS = [(0.03, 5), (0.1, 1), (0.1, 5), (0.1, 20), (0.3, 5), (1.0, 5)]
SCALES = [3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.001]


def clipped(clip: float) -> AbstractContextManager[Any]:
    """Return a context in which fits keep similarities this far from 0 and 1."""
    bounds = {"LEAST_EXPONENT": float(-np.log1p(-clip)), "MOST_EXPONENT": float(-np.log(clip))}
    return patch.multiple(in_memory, **bounds)


def similarity(quantile: float, clip: float, n_seeds: int = 3) -> dict[str, float]:
    """Return mean NMI and mean MAD of P from the oracle over the settings of Table 1."""
    scores = []
    with clipped(clip):
        for setting in "abcdef":
            for seed in range(n_seeds):
                data = single_view(setting, random_state=seed)
                model = LatentSimplexPosition.paper(
                    2, 1, similarity=LocalScaling(quantile), n_init=1, max_iter=100, random_state=seed
                ).fit(data.views)
                deviation = np.abs(model.coassignment(view=0).packed() - pack_pairs(data.coassignment()))
                nmi = normalized_mutual_info_score(data.labels[0], model.labels_)
                scores.append((nmi, np.median(deviation)))
    nmi, mad = np.mean(scores, axis=0)
    return {"quantile": quantile, "clip": clip, "nmi": nmi, "mad": mad}


def patterns(quantile: float, clip: float, n_seeds: int = 6) -> dict[str, float]:
    """Return in how many seeds exactly the five patterns of 500 views are found, and the mean NMI."""
    scores = []
    with clipped(clip):
        for seed in range(n_seeds):
            data = many_views(500, random_state=seed)
            model = LatentSimplexPosition.paper(
                similarity=LocalScaling(quantile), n_init=1, max_iter=100, random_state=seed
            ).fit(data.views)
            scores.append(normalized_mutual_info_score(data.patterns, model.view_patterns_))
    return {
        "quantile": quantile,
        "clip": clip,
        "exact": np.sum(np.array(scores) > 1 - 1e-9),
        "nmi": np.mean(scores),
    }


def run(setting: str, n_clusters: int, schedule: Schedule, seed: int) -> tuple[Fit, np.ndarray]:
    """Return one run of EM on a setting of Table 1, and the true labels."""
    data = single_view(setting, random_state=seed)
    with Workers() as workers:
        reader = ViewReader(as_views(data.views), LocalScaling(), PAPER.divergence, workers)
        pairs = InMemoryPairs(reader, NumbaBackend(reader.n_samples, workers))
        problem, rng = Problem(pairs, PAPER, schedule), np.random.default_rng(seed)
        return search_from_starts(problem, n_clusters, 1, 1, rng).fit, data.labels[0]


def steps(rate: float, n_steps: int, n_seeds: int = 2) -> dict[str, float]:
    """Return the mean loss that 150 EM iterations reach with two clusters, by setting."""
    schedule = Schedule(max_iter=150, tol=0, steps=n_steps, rate=rate)
    losses = {
        setting: float(
            np.mean([run(setting, 2, schedule, seed)[0].loss_curve[-1] for seed in range(n_seeds)])
        )
        for setting in "bcdf"
    }
    return {"rate": rate, "steps": n_steps, **losses}


def start(scale: float, n_seeds: int = 2) -> dict[str, float]:
    """Return mean final losses with two clusters (b, f) and ten (b), and for ten the NMI and the clusters left."""
    rows = []
    with patch.object(states, "START_SCALE", scale):
        for seed in range(n_seeds):
            schedule = Schedule(max_iter=150, tol=0)
            two = [run(setting, 2, schedule, seed)[0].loss_curve[-1] for setting in "bf"]
            fit, truth = run("b", 10, schedule, seed)
            W = drop_unused_columns(fit.state.W[0])
            nmi = normalized_mutual_info_score(truth, joint_labels(W))
            rows.append((*two, fit.loss_curve[-1], nmi, W.shape[1]))
    names = ("b with 2", "f with 2", "b with 10", "nmi", "clusters")
    return {"scale": scale, **dict(zip(names, np.mean(rows, axis=0), strict=True))}


def measure() -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the name of each question with one row of its answer."""
    for quantile, clip in SIMILARITIES:
        yield "similarity", similarity(quantile, clip)
    for quantile, clip in PATTERNS:
        yield "patterns", patterns(quantile, clip)
    for rate, n_steps in STEPS:
        yield "steps", steps(rate, n_steps)
    for scale in SCALES:
        yield "start", start(scale)


def main() -> None:
    """Measure everything and write it as JSON, one list of rows a question."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    results: dict[str, list[dict[str, float]]] = {}
    for question, row in measure():
        row = {name: float(value) for name, value in row.items()}
        results.setdefault(question, []).append(row)
        print(question, *(f"{name} {value:.6g}" for name, value in row.items()), sep="  ", flush=True)
        out.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
