"""Score the default fit on simulated clusters of many shapes, told the number of clusters and not told it.

Each shape is a table with known clusters, which is drawn from a seed: blocks, rings, spirals, clusters that touch or
overlap, of unequal sizes and densities, in up to 30 features (``shapes/tables.py``). No public data are read.

    python benchmarks/simulated_shapes.py --seeds 2 --jobs 2 --out shapes.json     # all shapes
    python benchmarks/simulated_shapes.py --only "three blocks" spirals --seeds 1  # those whose names hold these words

=============== =======================================================================================
column          meaning
=============== =======================================================================================
n, k            how many samples and clusters are drawn
found           how many clusters LatentSimplexPosition(random_state=0) finds, for each seed
ARI             of its labels with the drawn clusters, the mean over seeds
ARI, k given    the same with n_clusters = min_clusters = k
=============== =======================================================================================

The file has core seconds of each fit too; the first fits of a fresh checkout compile loops in theirs. Data take
the seed 70000 + seed, which no experiment uses.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported: fits run side by side

import numpy as np
from shapes.tables import SHAPES, Table
from sklearn.metrics import adjusted_rand_score

from latentsimplex import LatentSimplexPosition

FRESH = 70_000
Job = tuple[str, int]
Row = dict[str, Any]


def draw_shape(name: str, seed: int) -> Table:
    """Return the table of a shape and its clusters; other shapes may come and go without changing it."""
    return SHAPES[name](np.random.default_rng([FRESH + seed, zlib.crc32(name.encode())]))


def score_fit(X: np.ndarray, truth: np.ndarray, bounds: dict[str, int]) -> Row:
    """Return how one fit scores; one that fails finds nothing, and its error is kept."""
    began = time.process_time()
    try:
        labels = LatentSimplexPosition(random_state=0, n_jobs=1, **bounds).fit([X]).labels_
    except Exception as error:
        return {"found": 0, "ari": 0.0, "error": repr(error)[:200]}
    seconds = time.process_time() - began
    ari = float(adjusted_rand_score(truth, labels))
    return {"found": len(np.unique(labels)), "ari": ari, "core_seconds": seconds}


def score_shape(job: Job) -> Row:
    """Return how the default fit of a shape scores, and the one that is told the number of clusters."""
    name, seed = job
    X, truth = draw_shape(name, seed)
    k = int(truth.max()) + 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        default, told = score_fit(X, truth, {}), score_fit(X, truth, {"n_clusters": k, "min_clusters": k})
    return {"shape": name, "seed": seed, "n": len(X), "k": k, "default": default, "told": told}


def score_all(jobs: Sequence[Job], at_a_time: int) -> Iterator[Row]:
    """Yield the scores of shapes in order, each as soon as it and those before it are there."""
    if at_a_time == 1:
        yield from map(score_shape, jobs)
        return
    with ProcessPoolExecutor(at_a_time) as pool:
        yield from pool.map(score_shape, jobs)


def render_table(rows: Sequence[Row]) -> str:
    """Return a page's table: a row for each shape, and the means over shapes."""
    lines = ["| shape | n | k | found | ARI | ARI, k given |", "|---|---|---|---|---|---|"]
    for name in dict.fromkeys(row["shape"] for row in rows):
        own = [row for row in rows if row["shape"] == name]
        found = ", ".join(str(row["default"]["found"]) for row in own)
        aris = " | ".join(f"{mean_ari(own, way):.2f}" for way in ("default", "told"))
        lines.append(f"| {name} | {own[0]['n']} | {own[0]['k']} | {found} | {aris} |")
    right = sum(row["default"]["found"] == row["k"] for row in rows)
    aris = " | ".join(f"{mean_ari(rows, way):.3f}" for way in ("default", "told"))
    return "\n".join([*lines, f"| mean | | | k in {right} of {len(rows)} | {aris} |"])


def mean_ari(rows: Sequence[Row], way: str) -> float:
    """Return the mean ARI of the default fits, or of those that are told the number of clusters."""
    return float(np.mean([row[way]["ari"] for row in rows]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Score shapes and print each as it comes, then a table with their means."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=2, help="draws of each shape")
    parser.add_argument("--jobs", type=int, default=1, help="tables at a time")
    parser.add_argument("--only", nargs="+", default=[""], help="shapes whose name holds one of these")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    names = [name for name in SHAPES if any(words in name for words in options.only)]
    if not names:
        parser.error(f"no shape has a name with {options.only}; the shapes are {', '.join(SHAPES)}")
    rows = []
    for row in score_all([(name, seed) for name in names for seed in range(options.seeds)], options.jobs):
        rows.append(row)
        print(json.dumps(row), flush=True)
    print(render_table(rows))
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
