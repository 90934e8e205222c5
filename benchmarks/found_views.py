"""Measure views found among the columns of a table, beside column-wise patterns and, where installed, CrossCat.

``hidden`` plants six views of 3 to 12 columns among noise and correlated columns without clusters; scores are ARI of
columns by view, noise counting as one. ``columns`` groups columns by the pattern that they follow as views of one
column each; ``pylace`` is CrossCat, by the column groups of its last state.

``truths`` are the bundled stick figures and fruit, each one table with two known clusterings: the best NMI of a pattern
with each, beside NrKmeans (ClustPy), which is told the numbers of clusters. ``time`` fits a wide and a long table.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from latentsimplex import LatentSimplexPosition
from latentsimplex.base.threads import Workers
from latentsimplex.columns.found_views import find_views
from latentsimplex.datasets import hidden_views, load_fruit, load_stick_figures

SHAPES = ((100, 19_900), (10_000, 130))
"""Samples, and columns of noise, of the tables that are timed."""
PYLACE_STATES, PYLACE_STEPS = 4, 500


def group_by_discovery(table: np.ndarray, n_jobs: int) -> np.ndarray:
    """Return the view of each column."""
    with Workers(n_jobs) as workers:
        return find_views(table, workers).views


def group_by_patterns(table: np.ndarray, n_jobs: int) -> np.ndarray:
    """Return the pattern of each column as a view of its own, -1 for one without clusters."""
    model = LatentSimplexPosition(views="columns", n_jobs=n_jobs, random_state=0).fit(table)
    patterns = model.view_patterns_
    return np.where(model.n_clusters_[patterns] > 1, patterns, -1)


def group_by_crosscat(table: np.ndarray, n_jobs: int) -> np.ndarray:
    """Return the column group of each column in the last state of pylace; a group of one is noise."""
    import pandas as pd
    from lace import Engine

    frame = pd.DataFrame(table, columns=[f"c{j}" for j in range(table.shape[1])])
    frame.index = pd.Index([f"s{i}" for i in range(len(frame))], name="ID")
    engine = Engine.from_df(frame, n_states=PYLACE_STATES, rng_seed=0)
    engine.update(PYLACE_STEPS)
    groups = np.array(engine.column_assignment(0))
    return np.where(np.bincount(groups)[groups] > 1, groups, -1)


WAYS = {"discover": group_by_discovery, "columns": group_by_patterns, "pylace": group_by_crosscat}


def measure_hidden(seed: int, way: str, n_jobs: int) -> dict[str, Any]:
    """Return how well columns of the simulation are grouped."""
    hidden = hidden_views(random_state=seed)
    began, worked = time.perf_counter(), time.process_time()
    found = WAYS[way](hidden.table, n_jobs)
    return {
        "seed": seed,
        "way": way,
        "ari": adjusted_rand_score(hidden.views, found),
        "views": len(np.unique(found[found >= 0])),
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - worked,
    }


def measure_truths(name: str, n_jobs: int) -> list[dict[str, Any]]:
    """Return the best agreement of a pattern with each known clustering: as many clusters as are found, and three."""
    data = {"stick figures": load_stick_figures, "fruit": load_fruit}[name]()
    table = np.hstack(list(data.views.values())).astype(float)
    found = []
    for k in ("auto", 3):
        exactly = {} if k == "auto" else {"n_clusters": k, "min_clusters": k}
        model = LatentSimplexPosition(views="discover", n_jobs=n_jobs, random_state=0, **exactly).fit(table)
        found.append(
            {"data": name, "way": f"discover, {k} clusters", **score(data.labels, model.pattern_labels_)}
        )
    if importlib.util.find_spec("clustpy") is not None:
        from clustpy.alternative import NrKmeans

        for seed in range(10):
            labels = NrKmeans([3, 3, 1], random_state=seed).fit(table).labels_.T
            found.append({"data": name, "way": "NrKmeans", "seed": seed, **score(data.labels, labels)})
    return found


def score(truths: np.ndarray, clusterings: np.ndarray) -> dict[str, float]:
    """Return the best NMI of a clustering with each truth."""
    return {
        f"truth{t}": max(float(normalized_mutual_info_score(truth, own)) for own in clusterings)
        for t, truth in enumerate(truths)
    }


def measure_time(n_samples: int, n_noise: int, n_jobs: int) -> dict[str, Any]:
    """Return how long a whole fit to a table of this size takes."""
    hidden = hidden_views(n_samples=n_samples, n_noise=n_noise, random_state=100)
    began, worked = time.perf_counter(), time.process_time()
    model = LatentSimplexPosition(views="discover", n_jobs=n_jobs, random_state=0).fit(hidden.table)
    return {
        "shape": list(hidden.table.shape),
        "ari": adjusted_rand_score(hidden.views, model.results_.found_columns.views),
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - worked,
    }


def main() -> None:
    """Measure what is asked for, print it and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["hidden", "truths", "time"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--ways", nargs="+", default=["discover", "columns"], choices=list(WAYS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found: list[dict[str, Any]] = []
    if "hidden" in given.what:
        found += [measure_hidden(seed, way, given.jobs) for way in given.ways for seed in range(given.seeds)]
    if "truths" in given.what:
        found += [row for name in ("stick figures", "fruit") for row in measure_truths(name, given.jobs)]
    if "time" in given.what:
        found += [measure_time(*shape, given.jobs) for shape in SHAPES]
    for row in found:
        print(row)
    if given.out is not None:
        given.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
