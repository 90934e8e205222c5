"""Count how often the default fit finds the clusters of simulated tables, and none where there are none.

================ ==============================================================================================
case             what is drawn, and what counts as right
================ ==============================================================================================
noise            one cloud of some shape, p features, n samples: one cluster
rare             Gaussian clusters of 90 and 10, or 97 and 3, in a hundred, 300 samples, 5.5 apart: two, ARI 0.9
many             k Gaussian clusters of 40 in ten features, 7 apart: k, or one more or fewer
small            k Gaussian clusters of few samples, 10 apart: ARI 0.9
beside noise     one view of three clusters beside nine of noise: no view of noise in a pattern with clusters
running          the paper's running example: two views that share three clusters, one with two
table1           settings c and f of the paper's Table 1: two clusters
order            three weak views of noise and clusters, samples and views permuted: the same labels
factors          200 columns that follow 1 to 3 factors of some shape, 120 samples: one cluster in all patterns
columns          40 of 200 columns have k clusters each 2 apart, 100 follow two factors: one pattern with k, ARI 0.9
patterns         300 views in the plane of five patterns of k mixed clusters: five patterns, and k in each
own centres      views of some patterns of k clusters, whose centres each view has elsewhere: all, ARI 0.8
================ ==============================================================================================

    python benchmarks/found_clusters.py --seeds 20 --jobs 2 --out found.json

Data take the seed 90000 + seed, which no experiment and no test uses.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported: fits run side by side

import numpy as np
from sklearn.metrics import adjusted_rand_score

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import many_views, running_example, single_view

FRESH = 90_000
SHAPES = ("normal", "uniform", "exponential", "lognormal", "t3", "poisson", "elongated")
Job = tuple[str, dict[str, Any], int]


def draw_noise(rng: np.random.Generator, shape: str, n: int, p: int) -> np.ndarray:
    """Return a table (n, p) without clusters."""
    if shape == "elongated":
        return rng.normal(size=(n, p)) * np.geomspace(10, 1, p)
    draws = {
        "normal": lambda: rng.normal(size=(n, p)),
        "uniform": lambda: rng.random((n, p)),
        "exponential": lambda: rng.exponential(size=(n, p)),
        "lognormal": lambda: rng.lognormal(size=(n, p)),
        "t3": lambda: rng.standard_t(3, size=(n, p)),
        "poisson": lambda: rng.poisson(5.0, size=(n, p)).astype(float),
    }
    return draws[shape]()


def draw_centres(rng: np.random.Generator, k: int, p: int, distance: float) -> np.ndarray:
    """Return k centres (k, p) that are no nearer to one another than a distance, and not much farther."""
    spread = distance
    while True:
        for _ in range(50):
            centres = rng.normal(size=(k, p)) * spread / 2
            gaps = np.linalg.norm(centres[:, None] - centres, axis=-1)
            if (gaps[np.triu_indices(k, 1)] >= distance).all():
                return centres
        spread *= 1.05


def fit(views: Sequence[np.ndarray]) -> LatentSimplexPosition:
    """Return the default fit."""
    return LatentSimplexPosition(random_state=0, n_jobs=1).fit(list(views))


def is_right(case: str, settings: dict[str, Any], seed: int) -> bool:
    """Return whether one fit finds what it should."""
    rng = np.random.default_rng(FRESH + seed)
    if case == "noise":
        return fit([draw_noise(rng, **settings)]).n_clusters_.max() == 1
    if case == "rare":
        labels = (np.arange(300) < 300 * settings["share"]).astype(int)
        shift = np.full(settings["p"], 5.5 / np.sqrt(settings["p"]))
        found = fit([rng.normal(size=(300, settings["p"])) + labels[:, None] * shift]).labels_
        return found.max() == 1 and adjusted_rand_score(labels, found) > 0.9
    if case == "many":
        k = settings["k"]
        labels = np.arange(40 * k) % k
        X = draw_centres(rng, k, 10, 7.0)[labels] + rng.normal(size=(40 * k, 10))
        return abs(int(fit([X]).n_clusters_.max()) - k) <= 1
    if case == "small":
        k, size, p = settings["k"], settings["size"], settings["p"]
        labels = np.repeat(np.arange(k), size)
        X = draw_centres(rng, k, p, 10.0)[labels] + rng.normal(size=(k * size, p))
        return adjusted_rand_score(labels, fit([X]).labels_) > 0.9
    if case == "beside noise":
        labels, p = np.arange(300) % 3, settings["p"]
        good = draw_centres(rng, 3, p, 6.0)[labels] + rng.normal(size=(300, p))
        model = fit([good, *(rng.normal(size=(300, p)) for _ in range(9))])
        clustered = model.n_clusters_[model.view_patterns_] > 1
        return bool(clustered[0]) and not clustered[1:].any()
    if case == "running":
        model = fit(running_example(separation=4, random_state=FRESH + seed).views)
        first, second, third = model.view_patterns_
        return bool(first == second != third) and model.n_clusters_[[first, third]].tolist() == [3, 2]
    if case == "factors":
        factors = draw_noise(rng, settings["shape"], 120, settings["n_factors"])
        X = factors @ rng.normal(size=(settings["n_factors"], 200)) + rng.normal(size=(120, 200))
        return fit(np.split(X, 200, axis=1)).n_clusters_.max() == 1
    if case == "columns":
        k, X = settings["k"], rng.normal(size=(120, 200))
        labels = np.arange(120) % k
        X[:, :40] += np.sqrt(2) * rng.normal(size=(k, 40))[labels]
        X[:, 40:140] += rng.normal(size=(120, 2)) @ rng.normal(size=(2, 100))
        model = fit(np.split(X, 200, axis=1))
        found = [own for own in model.pattern_labels_ if own.max() > 0]
        return len(found) == 1 and found[0].max() == k - 1 and adjusted_rand_score(labels, found[0]) > 0.9
    if case == "patterns":
        views = many_views(300, 150, n_clusters=settings["k"], random_state=FRESH + seed).views
        return fit(list(views)).n_clusters_.tolist() == [settings["k"]] * 5
    if case == "own centres":
        d, k = settings["patterns"], settings["k"]
        clusterings = [rng.permutation(np.arange(240) % k) for _ in range(d)]
        truth = np.arange(settings["views"]) % d
        views = [
            settings["spread"] * rng.normal(size=(k, 10))[clusterings[l]] + rng.normal(size=(240, 10))
            for l in truth
        ]
        model = fit(views)
        found = [model.pattern_labels_[l] for l in model.view_patterns_]
        agreements = [adjusted_rand_score(clusterings[l], own) for l, own in zip(truth, found, strict=True)]
        return adjusted_rand_score(truth, model.view_patterns_) == 1 and min(agreements) > 0.8
    if case == "table1":
        return fit(
            single_view(settings["setting"], random_state=FRESH + seed).views
        ).n_clusters_.tolist() == [2]
    labels = np.arange(200) % 2
    views = [rng.normal(size=(200, 3)) + 2.5 * labels[:, None] * np.eye(3)[0] for _ in range(2)]
    views.append(rng.normal(size=(200, 3)))
    order = rng.permutation(200)
    one, other = fit(views).labels_, fit([views[v][order] for v in rng.permutation(3)]).labels_
    return adjusted_rand_score(one[order], other) == 1


def list_jobs(n_seeds: int) -> list[Job]:
    """Return all fits: noise and centres of many clusters have fewer seeds, since they have many settings."""
    few = range(max(1, n_seeds // 4))
    jobs: list[Job] = [
        ("noise", {"shape": shape, "p": p, "n": n}, seed)
        for shape in SHAPES
        for p in (1, 2, 3, 5, 20)
        for n in (100, 300, 1000)
        if shape != "elongated" or p > 1
        for seed in few
    ]
    jobs += [("many", {"k": k}, seed) for k in (60, 30, 15) for seed in range(max(1, n_seeds // 2))]
    for seed in range(n_seeds):
        jobs += [("rare", {"share": share, "p": p}, seed) for share in (0.1, 0.03) for p in (2, 10)]
        jobs += [("beside noise", {"p": p}, seed) for p in (2, 5, 20)]
        jobs += [
            ("small", {"k": k, "size": size, "p": p}, seed)
            for k, size, p in ((3, 10, 2), (3, 10, 20), (6, 12, 6), (12, 8, 6), (20, 5, 6))
        ]
        jobs += [("table1", {"setting": setting}, seed) for setting in "cf"]
        jobs += [("running", {}, seed), ("order", {}, seed)]
        jobs += [
            ("factors", {"shape": shape, "n_factors": n}, seed)
            for shape in ("normal", "uniform", "exponential", "t3")
            for n in (1, 2, 3)
            if seed in few
        ]
        jobs += [(case, {"k": k}, seed) for case in ("columns", "patterns") for k in (2, 3)]
        jobs += [
            ("own centres", {"views": views, "patterns": d, "k": k, "spread": spread}, seed)
            for views, d, k, spread in ((6, 2, 5, 1), (6, 3, 8, 1), (60, 3, 6, 3), (100, 4, 4, 1))
        ]
    return sorted(jobs, key=lambda job: job[0] != "many")  # the longest first


def run_job(job: Job) -> bool:
    """Return whether a fit is right; one that fails is not."""
    warnings.filterwarnings("ignore")
    return bool(is_right(*job))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all fits and print, for each case and setting, how many are right."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    jobs = [job for job in list_jobs(options.seeds) if options.only in job[0]]
    with ProcessPoolExecutor(options.jobs) as pool:
        right = list(pool.map(run_job, jobs))
    counts: dict[str, list[int]] = {}
    for (case, settings, _), each in zip(jobs, right, strict=True):
        names = [f"{case} {' '.join(f'{name}={value}' for name, value in settings.items())}".strip()]
        if case == "noise":
            names = [f"noise {settings['shape']}", f"noise p={settings['p']}", f"noise n={settings['n']}"]
        for name in names:
            counts.setdefault(name, [0, 0])
            counts[name][0] += each
            counts[name][1] += 1
    for name, (found, of) in sorted(counts.items()):
        print(f"{name}: {found} of {of}")
    wrong = [list(job) for job, each in zip(jobs, right, strict=True) if not each]
    if options.out:
        options.out.write_text(json.dumps({"counts": counts, "wrong": wrong}, indent=1))


if __name__ == "__main__":
    main()
