"""Score the default fit on public data sets beside peers, told the number of clusters and not told it.

The sets are read from a folder, which is not part of this package: ``single_NAME.npz`` holds X and one or more
reference labellings y0, y1, ..., in which 0 is a noise point; ``multi_NAME.npz`` holds view00, view01, ... and y;
``peers.json`` has what peers reach.

    python benchmarks/suite.py --data FOLDER --out suite.json             # LatentSimplexPosition(random_state=0)
    python benchmarks/suite.py --data FOLDER --told --out told.json       # n_clusters = min_clusters = k
    python benchmarks/suite.py --data FOLDER --only multi --jobs 2

========================== ==========================================================================================
column                     meaning
========================== ==========================================================================================
nmi, ari                   with the classes; of several labellings the one that agrees best, noise points left out
right                      whether the number of clusters is that of a labelling
brier                      Brier score of pairs, of the consensus, over that of a constant
pair_calibration           calibration error of pairs, in ten bins
calibration                calibration error of the largest membership; of use where the number of clusters is right
========================== ==========================================================================================
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported: sets are fitted side by side

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from latentsimplex import LatentSimplexPosition

COMPARED = 1500
"""The most samples whose pairs are scored."""
BINS = 10


def read_set(path: Path) -> tuple[list[np.ndarray], list[tuple[np.ndarray, np.ndarray]]]:
    """Return the views of a set, and for each labelling the classes (n,) and which samples count."""
    with np.load(path) as held:
        views = [
            held[name].astype(float) for name in sorted(held.files) if name == "X" or name.startswith("view")
        ]
        truths = [held[name].astype(int) for name in sorted(held.files) if name.startswith("y")]
    single = path.stem.startswith("single_")
    return views, [(y, y > 0 if single else np.ones(len(y), dtype=bool)) for y in truths]


def calibration_error(stated: np.ndarray, right: np.ndarray) -> float:
    """Return the mean difference between stated probabilities and how often they are right, in bins."""
    bins = np.clip((stated * BINS).astype(int), 0, BINS - 1)
    found = [bins == i for i in np.unique(bins)]
    return float(sum(abs(stated[some].mean() - right[some].mean()) * some.mean() for some in found))


def score_set(path: Path, told: bool) -> dict[str, Any]:
    """Return how one fit of a set scores."""
    warnings.filterwarnings("ignore")
    views, truths = read_set(path)
    numbers = [len(np.unique(y[counts])) for y, counts in truths]
    bounds = {"n_clusters": numbers[0], "min_clusters": numbers[0]} if told else {}
    began = time.perf_counter()
    model = LatentSimplexPosition(random_state=0, **bounds).fit(views)
    seconds = time.perf_counter() - began
    labels = np.asarray(model.labels_)
    aris = [adjusted_rand_score(y[counts], labels[counts]) for y, counts in truths]
    y, counts = truths[int(np.argmax(aris))]
    found = len(np.unique(labels))
    row = {
        "n": len(labels),
        "views": len(views),
        "k": numbers[0],
        "found": found,
        "right": found in numbers,
        "nmi": float(normalized_mutual_info_score(y[counts], labels[counts])),
        "ari": float(max(aris)),
        "seconds": seconds,
    }
    some = np.random.default_rng(0).permutation(np.flatnonzero(counts))[:COMPARED]
    below = np.tril_indices(len(some), -1)
    stated = model.coassignment().block(some, some)[below]
    same = (y[some][:, None] == y[some])[below].astype(float)
    row["pair_calibration"] = calibration_error(stated, same)
    row["brier"] = float(np.mean((stated - same) ** 2) / max(same.var(), 1e-12))
    W = model.memberships_[0]
    right = match_classes(W.argmax(axis=1)[counts], y[counts])
    row["calibration"] = calibration_error(W.max(axis=1)[counts], right)
    return row


def match_classes(clusters: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return which samples are in the cluster that is matched with their class, one cluster for each class."""
    codes = np.unique(classes, return_inverse=True)[1]
    table = np.zeros((clusters.max() + 1, codes.max() + 1))
    np.add.at(table, (clusters, codes), 1)
    matched = np.full(len(table), -1)
    rows, columns = linear_sum_assignment(-table)
    matched[rows] = columns
    return matched[clusters] == codes


def score_or_fail(path: Path, told: bool) -> dict[str, Any]:
    """Return the scores of a set, or the error of a fit that failed."""
    try:
        return score_set(path, told)
    except Exception as error:
        return {"error": repr(error)[:200]}


def mean_of(rows: Sequence[dict[str, Any]], column: str, failed: float) -> float:
    """Return the mean of a column; a fit that failed counts as ``failed``."""
    return float(np.mean([row.get(column, failed) for row in rows]))


def render_table(rows: dict[str, dict[str, Any]], peers: dict[str, Any]) -> str:
    """Return a page's table: means over the sets of each kind, and of peers on the sets that they were run on."""
    lines = ["| sets | way | NMI | ARI |", "|---|---|---|---|"]
    for kind in ("single", "multi"):
        own = {name.split("_", 1)[1]: row for name, row in rows.items() if name.startswith(kind)}
        if not own:
            continue
        found = list(own.values())
        lines.append(
            f"| {kind}, {len(found)} | ours | {mean_of(found, 'nmi', 0):.3f} | {mean_of(found, 'ari', 0):.3f} |"
        )
        ways = sorted(
            {
                way
                for name in own
                for way, scores in peers[kind].get(name, {}).items()
                if isinstance(scores, dict)
            }
        )
        for way in ways:
            both = [
                (row, peers[kind][name][way])
                for name, row in own.items()
                if peers[kind].get(name, {}).get(way)
            ]
            nmi, ari = (np.mean([scores[column] for _, scores in both]) for column in ("nmi", "ari"))
            ours = " / ".join(
                f"{mean_of([row for row, _ in both], column, 0):.3f}" for column in ("nmi", "ari")
            )
            lines.append(f"| {kind}, {len(both)} | {way} | {nmi:.3f} | {ari:.3f} (ours {ours}) |")
    return "\n".join(lines)


def summarise(rows: dict[str, dict[str, Any]]) -> str:
    """Return a line of means for each kind of set."""
    lines = []
    for kind in ("single", "multi"):
        found = [row for name, row in rows.items() if name.startswith(kind)]
        if not found:
            continue
        lines.append(
            f"{kind}: {len(found)} sets, {sum('error' in row for row in found)} failed, "
            f"NMI {mean_of(found, 'nmi', 0):.3f}, ARI {mean_of(found, 'ari', 0):.3f}, "
            f"number right {mean_of(found, 'right', 0):.2f}, "
            f"one cluster in {sum(row.get('found') == 1 for row in found)}, "
            f"Brier over constant {mean_of(found, 'brier', 5):.2f}, below 1 in "
            f"{sum(row.get('brier', 5) < 1 for row in found)}, calibration error of pairs "
            f"{mean_of(found, 'pair_calibration', 1):.3f}, of memberships {mean_of(found, 'calibration', 1):.3f}, "
            f"{mean_of(found, 'seconds', 0):.1f} s a set"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Score sets and print a row for each, their means, and the table of a page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the folder with the sets; without it nothing is scored")
    parser.add_argument("--told", action="store_true", help="give the number of clusters")
    parser.add_argument("--only", default="", help="sets whose name holds this")
    parser.add_argument("--jobs", type=int, default=1, help="sets at a time")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    if options.data is None:
        print("No --data was given: the sets of the suite are not part of this package.")
        return
    paths = sorted(path for path in options.data.glob("*.npz") if options.only in path.stem)
    paths.sort(key=lambda path: -path.stat().st_size)  # the longest first, so that none is left for the end
    rows: dict[str, dict[str, Any]] = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        fits = {pool.submit(score_or_fail, path, options.told): path.stem for path in paths}
        for fit in as_completed(fits):
            rows[fits[fit]] = fit.result()
            print(fits[fit], json.dumps(fit.result()), flush=True)
    peers = options.data / "peers.json"
    print(summarise(rows))
    print(
        render_table(rows, json.loads(peers.read_text()) if peers.exists() else {"single": {}, "multi": {}})
    )
    if options.out:
        options.out.write_text(json.dumps(dict(sorted(rows.items())), indent=1))


if __name__ == "__main__":
    main()
