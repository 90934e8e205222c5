"""Time and memory of fits to very many samples, what they find, and how they agree with fits that compare all.

Each case runs in a process of its own, whose peak memory is that of the case. Seconds of the processor are beside those
of the wall, since other work on the machine changes the second alone.

    python benchmarks/many_samples.py simulated --samples 100000 --views 5
    python benchmarks/many_samples.py simulated --samples 20000 1000000 --views 6 --device cuda
    python benchmarks/many_samples.py growth --samples 20000 40000 80000 160000 --out growth.json
    python benchmarks/many_samples.py agreement --samples 2000 5000 10000 --landmarks 1500 --data mnist_4views.npz
    python benchmarks/many_samples.py rare --samples 100000 --clusters 3 --views 3 --features 5 --seeds 10
    python benchmarks/many_samples.py digits --data mnist_4views.npz
    python benchmarks/many_samples.py neighbours --samples 100000 --features 2 20 100
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import product, starmap
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from baselines.clock import machine
from growth import slope
from scipy import sparse
from sklearn.metrics import normalized_mutual_info_score
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from latentsimplex import LatentSimplexPosition
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array
from latentsimplex.neighbours.nearest_neighbours import search_neighbours
from latentsimplex.pairs.on_device import find_device
from latentsimplex.uncertainty import pair_brier

Found = dict[str, Any]
KINDS = (("first", 20), ("first", 20), ("first", 10), ("second", 10), (None, 5))
"""The clusters that each simulated view shows, and its features; the last one is noise."""
APART = 6.0
"""How far centres are from each other, about, in standard deviations of a cluster."""
RARE = 1000
"""One sample in so many is of the rare group."""


def simulate(n: int, n_views: int, seed: int) -> tuple[list[Array], list[np.ndarray | None]]:
    """Return views of n samples, ten clusters in the first three and four others in the fourth, and their clusters."""
    rng = np.random.default_rng(seed)
    labels = {"first": rng.integers(10, size=n), "second": rng.integers(4, size=n), None: None}
    views, truth = [], []
    for kind, p in (KINDS * n_views)[:n_views]:
        y, X = labels[kind], rng.normal(size=(n, p))
        if y is not None:
            X += (rng.normal(size=(y.max() + 1, p)) * APART / np.sqrt(2 * p))[y]
        views.append(X.astype(np.float32))
        truth.append(y)
    return views, truth


def fit(views: Any, **settings: Any) -> tuple[LatentSimplexPosition, Found]:
    """Return a fitted model, and what the fit took."""
    start, processor = time.perf_counter(), time.process_time()
    model = LatentSimplexPosition(random_state=0, **settings).fit(views)
    took = {"wall": time.perf_counter() - start, "processor": time.process_time() - processor}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return model, {**took, "gigabytes": peak, "load": os.getloadavg()[0]}


def describe(model: LatentSimplexPosition, truth: list[np.ndarray | None]) -> Found:
    """Return the patterns of views, numbers of clusters, and the NMI of each view that has clusters."""
    scores = [
        float(normalized_mutual_info_score(y, labels))
        for y, labels in zip(truth, model.view_labels_, strict=True)
        if y is not None
    ]
    return {"patterns": model.view_patterns_.tolist(), "clusters": model.n_clusters_.tolist(), "nmi": scores}


def run_simulated(arguments: argparse.Namespace) -> list[Found]:
    """Fit simulated views of each size."""
    rows = []
    for n in arguments.samples:
        views, truth = simulate(n, arguments.views, arguments.seed)
        model, took = fit(views, device=arguments.device)
        case = {"samples": n, "views": arguments.views, "device": arguments.device}
        rows.append({**case, **took, **describe(model, truth)})
    return rows


def run_growth(arguments: argparse.Namespace) -> list[Found]:
    """Fit each size in a process of its own, and add the exponents of time and memory."""
    rows = []
    for n in arguments.samples:
        given = ["simulated", "--samples", str(n), "--views", str(arguments.views)]
        command = [sys.executable, __file__, *given, "--seed", str(arguments.seed)]
        rows += json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    measured = ("wall", "processor", "gigabytes")
    exponents = {name: slope(arguments.samples, [row[name] for row in rows]) for name in measured}
    return [*rows, {"exponents": exponents}]


def run_agreement(arguments: argparse.Namespace) -> list[Found]:
    """Compare fits by landmarks with fits that compare all samples, of simulated views and of parts of files."""
    todo: list[tuple[int, Any]] = [
        (n, simulated) for n in arguments.samples for simulated in ((2, 1), (5, 2), (10, 2), (20, 3), (30, 1))
    ]
    for path in arguments.data or ():
        sizes = {min(n, len(read_views(path)[1])) for n in arguments.samples}
        todo += [(n, path) for n in sorted(sizes)]
    compare = partial(compare_routes, landmarks=arguments.landmarks, seed=arguments.seed)
    if arguments.jobs == 1:
        return list(starmap(compare, todo))
    with Pool(arguments.jobs, threadpool_limits, (1,)) as pool:
        return pool.starmap(compare, sorted(todo, key=lambda job: -job[0]), chunksize=1)


def compare_routes(n: int, source: tuple[int, int] | Path, landmarks: int, seed: int) -> Found:
    """Return how a fit by landmarks agrees with one that compares all: patterns, labels, Brier scores of pairs."""
    if isinstance(source, Path):
        views, y = read_views(source)
        some = np.random.default_rng(seed).permutation(len(y))[:n]
        views, truth = {name: X[some] for name, X in views.items()}, [y[some]] * len(views)
        row: Found = {"samples": n, "data": source.stem}
    else:
        views, truth = separate_clusters(n, *source, seed)
        row = {"samples": n, "true clusters": source[0], "true patterns": source[1]}
    exact, by_landmarks = (
        LatentSimplexPosition(random_state=0, n_jobs=1, n_landmarks=m).fit(views) for m in (None, landmarks)
    )
    row["same patterns"] = bool((exact.view_patterns_ == by_landmarks.view_patterns_).all())
    row["clusters"] = [model.n_clusters_.tolist() for model in (exact, by_landmarks)]
    both = zip(exact.view_labels_, by_landmarks.view_labels_, strict=True)
    row["nmi"] = min(float(normalized_mutual_info_score(*pair)) for pair in both)
    row["brier"] = [
        float(np.mean([pair_brier(model.coassignment(view=v), y) for v, y in enumerate(truth)]))
        for model in (exact, by_landmarks)
    ]
    return row


def read_views(path: Path) -> tuple[dict[str, Any], np.ndarray]:
    """Return the views of a file and the classes ``y``; ``NAME_data``, ``NAME_indices`` and so on are sparse."""
    file = np.load(path)
    views: dict[str, Any] = {
        name: file[name].astype(np.float32) for name in file.files if file[name].ndim == 2 and name != "y"
    }
    for name in (key.removesuffix("_data") for key in file.files if key.endswith("_data")):
        parts = tuple(file[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
        views[name] = sparse.csr_matrix(
            (parts[0].astype(np.float32), *parts[1:]), shape=file[f"{name}_shape"]
        )
    return views, file["y"]


def separate_clusters(n: int, k: int, n_patterns: int, seed: int) -> tuple[list[Array], list[np.ndarray]]:
    """Return two views of each pattern, k clusters in six features, and their clusters."""
    rng = np.random.default_rng([seed, n, k])
    views, truth = [], []
    for _ in range(n_patterns):
        y = rng.integers(k, size=n)
        for _ in range(2):
            views.append(rng.normal(size=(n, 6)) + (rng.normal(size=(k, 6)) * 3)[y])
            truth.append(y)
    return views, truth


def run_rare(arguments: argparse.Namespace) -> list[Found]:
    """Look for a group of one sample in a thousand, six standard deviations away from the nearest cluster or more."""
    rows = []
    for n, k, p in product(arguments.samples, arguments.clusters, arguments.features):
        for seed in range(arguments.seed, arguments.seed + arguments.seeds):
            views, y = add_rare_group(n, k, arguments.views, p, seed)
            model, took = fit(views)
            shared = [share_of_union(labels, y == k) for labels in model.view_labels_]
            case = {"samples": n, "clusters": k, "views": len(views), "features": p, "seed": seed}
            found = {"found": model.n_clusters_.tolist(), "patterns": model.view_patterns_.tolist()}
            rows.append({**case, **found, "shared of union": shared, **took})
    return rows


def add_rare_group(n: int, k: int, n_views: int, p: int, seed: int) -> tuple[list[Array], np.ndarray]:
    """Return views of k round clusters and the rare group, and who is of which; each view has centres of its own.

    Each centre is ``APART`` from an earlier one, and no nearer to any other.
    """
    rng = np.random.default_rng([seed, k, n_views, p])
    y = rng.integers(k, size=n)
    y[: n // RARE] = k
    views = []
    for _ in range(n_views):
        centres = np.zeros((k + 1, p))
        for j in range(1, k + 1):
            apart = 0.0
            while apart < APART - 1e-9:
                direction = rng.normal(size=p)
                centres[j] = APART * direction / np.linalg.norm(direction) + centres[rng.integers(j)]
                apart = np.linalg.norm(centres[:j] - centres[j], axis=1).min()
        views.append((rng.normal(size=(n, p)) + centres[y]).astype(np.float32))
    return views, y


def share_of_union(labels: np.ndarray, group: np.ndarray) -> float:
    """Return the samples that a group and the cluster most like it share, over those of either."""
    sizes, inside = np.bincount(labels), np.bincount(labels[group], minlength=labels.max() + 1)
    return float((inside / (sizes + group.sum() - inside)).max())


def run_digits(arguments: argparse.Namespace) -> list[Found]:
    """Fit all samples of a file of views with classes ``y``; beside it, a fit of 5,000 by which others are placed."""
    views, y = read_views(arguments.data[0])
    model, took = fit(views)
    rows = [{"method": "landmarks", **took, **score(y, model.labels_)}]
    some = np.random.default_rng(arguments.seed).permutation(len(y))[:5000]
    part, took = fit({name: X[some] for name, X in views.items()})
    Z = np.hstack([X / X.std() for X in views.values()])
    nearest = NearestNeighbors(n_neighbors=10).fit(Z[some]).kneighbors(Z, return_distance=False)
    votes = np.eye(part.labels_.max() + 1)[part.labels_][nearest].sum(axis=1)
    return [*rows, {"method": "5,000 and nearest neighbours", **took, **score(y, votes.argmax(axis=1))}]


def score(y: np.ndarray, labels: np.ndarray) -> Found:
    """Return the NMI with classes, and the number of clusters."""
    return {"nmi": float(normalized_mutual_info_score(y, labels)), "clusters": len(np.unique(labels))}


def run_neighbours(arguments: argparse.Namespace) -> list[Found]:
    """Measure which share of the ten nearest neighbours is found, in clusters and in a cloud."""
    rows = []
    for n in arguments.samples:
        for p in arguments.features:
            for name in ("clusters", "cloud"):
                rng = np.random.default_rng([arguments.seed, p])
                X = rng.normal(size=(n, p))
                if name == "clusters":
                    X += (rng.normal(size=(20, p)) * APART / np.sqrt(2 * p))[rng.integers(20, size=n)]
                start = time.process_time()
                with Workers(
                    device=None if arguments.device == "cpu" else find_device(arguments.device)
                ) as workers:
                    near = search_neighbours(X, 10, workers)
                seconds, some = time.process_time() - start, rng.permutation(n)[:500]
                right = NearestNeighbors(n_neighbors=11, algorithm="brute").fit(X).kneighbors(X[some])[1]
                pairs = zip(near[some], right[:, 1:], strict=True)
                recall = float(np.mean([len(np.intersect1d(*pair)) / 10 for pair in pairs]))
                rows.append(
                    {"samples": n, "features": p, "data": name, "recall": recall, "processor": seconds}
                )
    return rows


CASES: dict[str, Callable[[argparse.Namespace], list[Found]]] = {
    "simulated": run_simulated,
    "growth": run_growth,
    "agreement": run_agreement,
    "rare": run_rare,
    "digits": run_digits,
    "neighbours": run_neighbours,
}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--samples", type=int, nargs="+", default=[20_000])
    parser.add_argument("--views", type=int, default=5)
    parser.add_argument("--clusters", type=int, nargs="+", default=[1], help="beside a rare group")
    parser.add_argument("--features", type=int, nargs="+", default=[2, 20, 100])
    parser.add_argument(
        "--landmarks", type=int, default=1500, help="in fits that are compared with exact ones"
    )
    parser.add_argument("--device", default="cpu", help="of simulated fits and of neighbours")
    parser.add_argument("--data", type=Path, nargs="+", help="files of views (.npz) with classes y")
    parser.add_argument("--jobs", type=int, default=1, help="processes that compare routes side by side")
    parser.add_argument("--seeds", type=int, default=10, help="of rare groups")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="where to write the results as JSON")
    arguments = parser.parse_args()
    rows = CASES[arguments.case](arguments)
    print(json.dumps(rows, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
