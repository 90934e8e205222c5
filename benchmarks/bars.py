"""Measure the defaults at full size over seeds of their own, and write what was measured into docs/results.md.

A run writes a JSON list [case, seed, settings, result] per line; ``--render FILE`` turns such a file into the
section "Measured at full size" of the page. Data take the seed 80000 + seed, which no experiment and no test uses.

    python benchmarks/bars.py --seeds 20 --jobs 2 --out bars.jsonl
    python benchmarks/bars.py --render bars.jsonl
"""

from __future__ import annotations

import argparse
import json
import os
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from results_page import PAGE, TEMPLATE, format_mean, make_markdown, replace_section
from threadpoolctl import threadpool_limits

from latentsimplex import LatentSimplexPosition
from latentsimplex.base.condensed import pack_pairs
from latentsimplex.datasets import (
    consensus_example,
    load_digits,
    load_leukaemia,
    load_stick_figures,
    many_views,
    running_example,
    single_view,
)
from latentsimplex.experiments.model import doubt_auc, find_misplaced, nmi
from latentsimplex.uncertainty.calibration import pair_brier

FRESH = 80_000
EXACT = 1e-3
"""Where hard labels deviate less than this from the oracle there is nothing to say of a ratio to them."""
TOO_LARGE = 50.0
"""A ratio beyond this, in a file that keeps such ratios, is of hard labels that are right."""
COVARIATES = ("BT", "sex", "mol.biol")
SECTION = "bars"

Settings = dict[str, Any]
Result = dict[str, Any]
Job = tuple[str, int, Settings]
Line = tuple[str, int, Settings, Result]
Lines = Sequence[Line]


# What is measured


def fit(data: Any, n_clusters: int, n_patterns: int, seed: int, **settings: Any) -> LatentSimplexPosition:
    """Return the default model, fitted on one core."""
    return LatentSimplexPosition(n_clusters, n_patterns, random_state=seed, n_jobs=1, **settings).fit(data)


def table1(setting: str, seed: int, g: int) -> Result:
    """Return NMI beside that of Bayes, deviations of P from the oracle, and the clusters found."""
    data = single_view(setting, 400, random_state=FRESH + seed)
    model = fit(data.views, g, 1, FRESH + seed)
    oracle, labels = pack_pairs(data.coassignment()), model.labels_
    away = np.abs(model.coassignment(view=0).packed() - oracle)
    hard = np.abs(pack_pairs((labels[:, None] == labels).astype(float)) - oracle).mean()
    return {
        "nmi": nmi(data.labels[0], labels),
        "bayes": nmi(data.labels[0], data.bayes_labels[0]),
        "mad": np.median(away),
        "mean": away.mean(),
        "ratio": away.mean() / hard if hard >= EXACT else None,
        "k": int(model.n_clusters_[0]),
    }


def running(seed: int) -> Result:
    """Return the clusters and NMI of each view, and whether the first two views share a pattern."""
    data = running_example(separation=4, random_state=FRESH + seed)
    model = fit(data.views, 10, 3, seed)
    first, second, third = model.view_patterns_
    return {
        "k": model.n_clusters_[model.view_patterns_].tolist(),
        "together": bool(first == second != third),
        "nmi": [nmi(data.labels[v], model.view_labels_[v]) for v in range(3)],
        "bayes": [nmi(data.labels[v], data.bayes_labels[data.patterns[v]]) for v in range(3)],
    }


def consensus(seed: int, sep: float) -> Result:
    """Return whether the consensus excludes exactly the eight views of noise, and the clusters of each view."""
    data = consensus_example(separation=sep, random_state=FRESH + seed)
    model = fit(data.views, 10, 10, seed)
    excluded = (model.consensus_.weights == 0).tolist()
    return {
        "ok": excluded == [False] * 2 + [True] * 8,
        "excl": list(model.consensus_.excluded),
        "k": model.n_clusters_[model.view_patterns_].tolist(),
    }


def many(n_views: int, seed: int) -> Result:
    """Return patterns and clusters found among many views, and how P of each true pattern's views agrees."""
    data = many_views(n_views, 150, random_state=FRESH + seed)
    model = fit(data.views, 10, 10, seed)
    started = model.initial_view_patterns_ >= 0
    agreement = []
    for l in range(len(data.oracle)):
        nearest = int(np.bincount(model.view_patterns_[data.patterns == l]).argmax())
        P, truth = model.coassignment(pattern=nearest).packed(), pack_pairs(data.coassignment(l))
        correlation = 0.0 if np.ptp(P) < 1e-9 else np.corrcoef(P, truth)[0, 1]
        agreement.append((correlation, np.median(np.abs(P - truth))))
    return {
        "patterns": int(model.n_patterns_),
        "k": model.n_clusters_.tolist(),
        "nmi": nmi(data.patterns, model.view_patterns_),
        "start": nmi(data.patterns[started], model.initial_view_patterns_[started]),
        "corr": np.mean(agreement, axis=0).tolist(),
    }


def noise(n_features: int, seed: int) -> Result:
    """Return the clusters found in a cloud of 300 normal samples."""
    view = np.random.default_rng(FRESH + seed).normal(size=(300, n_features))
    return {"k": fit([view], 10, 10, seed).n_clusters_.tolist()}


def sticks(seed: int, g: int) -> Result:
    """Return how each pattern of the stick figures agrees with both of their partitions."""
    data = load_stick_figures()
    model = fit(data.views, g, 10, seed)
    return {
        "x": model.view_patterns_.tolist(),
        "k": model.n_clusters_.tolist(),
        "nmi": [[nmi(truth, labels) for truth in data.labels] for labels in model.pattern_labels_],
    }


def digits(seed: int, g: int, d: int = 6, n: int = 2000, sub: int = 0, **_: Any) -> Result:
    """Return NMI and certainty for the digits, or for ``n`` of them drawn with the seed ``sub``."""
    data = load_digits()
    chosen = np.random.default_rng(sub).permutation(len(data.labels))[:n]
    truth = data.labels[chosen]
    model = fit({name: view[chosen] for name, view in data.views.items()}, g, d, seed)
    wrong = find_misplaced(model.pattern_labels_[0], truth)
    return {
        "nmi": nmi(truth, model.labels_),
        "views": [nmi(truth, labels) for labels in model.view_labels_],
        "k": model.n_clusters_.tolist(),
        "x": model.view_patterns_.tolist(),
        "brier": pair_brier(model.coassignment(), truth),
        "auc": doubt_auc(model.memberships_[0].max(axis=1), wrong),
    }


def leukaemia(seed: int, g: int) -> Result:
    """Return how each pattern of the genes agrees with covariates; of the cell type its first letter."""
    data = load_leukaemia()
    model = fit(data.expression, g, g, seed, views="columns")
    result: Result = {
        "k": model.n_clusters_.tolist(),
        "sizes": np.bincount(model.view_patterns_).tolist(),
    }
    for name in COVARIATES:
        truth = np.array([str(value)[: 1 if name == "BT" else None] for value in data.covariates[name]])
        known = ~np.isin(truth, ["", "NA", "None"])
        result[name] = [nmi(truth[known], labels[known]) for labels in model.pattern_labels_]
    return result


def unbundled(name: str, seed: int, g: int, data: Path) -> Result:
    """Return how patterns and consensus agree with the truths of a set that does not travel with the package."""
    views, truths = UNBUNDLED[name](data)
    model = fit(views, g, 10, seed)
    return {
        "k": model.n_clusters_.tolist(),
        "x": model.view_patterns_.tolist(),
        "nmi": [[nmi(truth, labels) for truth in truths] for labels in model.pattern_labels_],
        "cons": [nmi(truth, model.labels_) for truth in truths],
    }


def read_msrc(folder: Path) -> tuple[list[np.ndarray], list[np.ndarray]]:
    stored = np.load(folder / "msrc_v1.npz")
    return [np.asarray(stored[f"view{v}"], float) for v in range(5)], [stored["y"]]


def read_nutrimouse(folder: Path) -> tuple[list[np.ndarray], list[np.ndarray]]:
    stored = np.load(folder / "nutrimouse.npz")
    return [stored["view0"], stored["view1"]], [stored["Y"][:, 0], stored["Y"][:, 1]]


def read_3sources(folder: Path) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return counts of words as tf-idf, each document of length one."""
    stored = np.load(folder / "3sources.npz")
    views = []
    for v in range(3):
        counts = np.asarray(stored[f"view{v}"], float)
        weighted = counts * np.log(len(counts) / np.maximum((counts > 0).sum(axis=0), 1))
        views.append(weighted / np.linalg.norm(weighted, axis=1, keepdims=True))
    return views, [stored["y"]]


UNBUNDLED = {"msrc": read_msrc, "nutri": read_nutrimouse, "3src": read_3sources}


# Running it


def jobs(n_seeds: int, data: Path | None) -> list[Job]:
    """Return what is to be run, the longest first."""
    todo: list[Job] = [("many2000", seed, {}) for seed in range(n_seeds)]
    todo += [("digits", 0, {"g": 10}), ("digits", 1, {"g": 10}), ("digits", 2, {"g": 10})]
    todo += [("digits", 0, {"g": 20}), ("digits", 0, {"g": 10, "n": 1000, "sub": 5}), ("leuk", 0, {"g": 30})]
    todo += [("stick", 0, {"g": g}) for g in (3, 10)]
    if data is not None:
        bounds = {"msrc": (7, 10), "nutri": (5, 10), "3src": (6,)}
        todo += [(name, 0, {"g": g}) for name, gs in bounds.items() for g in gs]
    todo += [("run", seed, {}) for seed in range(n_seeds)]
    todo += [("cons", seed, {"sep": sep}) for sep in (1, 2, 3) for seed in range(n_seeds)]
    todo += [(f"noise{p}", seed, {}) for p in (1, 2, 10) for seed in range(n_seeds)]
    for g, settings in ((2, "abcdef"), (6, "abcd")):
        todo += [(f"t1{setting}", seed, {"g": g}) for setting in settings for seed in range(n_seeds)]
    return todo


def measured(case: str, data: Path | None) -> Callable[..., Result]:
    """Return the function that a case calls with its seed and settings."""
    if case.startswith("t1"):
        return partial(table1, case[2])
    if case.startswith("many"):
        return partial(many, int(case[4:]))
    if case.startswith("noise"):
        return partial(noise, int(case[5:]))
    if case in UNBUNDLED:
        return partial(unbundled, case, data=data)
    return {
        "run": running,
        "cons": consensus,
        "stick": sticks,
        "digits": digits,
        "leuk": leukaemia,
    }[case]


def run_job(job: Job, data: Path | None = None) -> Line:
    """Return a job with its result, or with the end of its traceback."""
    case, seed, settings = job
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = measured(case, data)(seed=seed, **settings)
        except Exception:
            result = {"error": traceback.format_exc()[-600:]}
    result["secs"] = round(time.perf_counter() - began, 1)
    return case, seed, settings, result


def run(todo: Sequence[Job], out: Path, n_jobs: int, data: Path | None) -> None:
    """Run the jobs, and write a line as each ends."""
    out.parent.mkdir(parents=True, exist_ok=True)
    one_core = {"initializer": threadpool_limits, "initargs": (1,)}
    with Pool(n_jobs, **one_core) as pool, open(out, "w", encoding="utf-8") as file:
        for line in pool.imap_unordered(partial(run_job, data=data), todo):
            file.write(json.dumps(line, default=float) + "\n")
            file.flush()
            print(*line[:3], line[3].get("error", ""), f"{line[3]['secs']} s", flush=True)


# Writing it down

REAL = {
    "digits": "digits",
    "stick": "stick figures",
    "leuk": "leukaemia",
    "msrc": "msrc_v1",
    "nutri": "nutrimouse",
    "3src": "3sources",
}
HIDDEN = ("keep", "sub")
"""Settings that say nothing to a reader."""


def read(path: Path) -> list[Line]:
    """Return the lines of a file, in the order of case, settings and seed."""
    lines = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines() if text]
    return sorted(lines, key=lambda line: (line[0], json.dumps(line[2]), line[1]))


def shown(settings: Settings) -> Settings:
    """Return the settings that say something to a reader."""
    return {name: value for name, value in settings.items() if name not in HIDDEN}


def chosen(lines: Lines, case: str, **settings: Any) -> list[Result]:
    """Return the results of a case with these settings and no others, without those that failed."""
    return [
        result
        for name, _, own, result in lines
        if name == case and shown(own) == shown(settings) and "error" not in result
    ]


def said(values: Iterable[float | None]) -> str:
    """Return mean and sd of the values that there are."""
    records = [{"x": float(value)} for value in values if value is not None]
    return format_mean(records, "x") if records else ""


def share(flags: Iterable[bool]) -> str:
    """Return how many of how many."""
    known = list(flags)
    return f"{sum(known)} of {len(known)}"


def render(lines: Lines) -> str:
    """Return the section of the page: what was measured, in Markdown."""
    failed = [f"{case} with seed {seed}" for case, seed, _, result in lines if "error" in result]
    parts = [
        f"Default settings; mean ± sd over simulated data of the seeds {FRESH} and up, each fit on one core. Bayes "
        "is the score of the labels that are most probable under the true densities. A ratio to hard labels is "
        "blank where those are right. There are 400 samples in table 1, 150 in 2,000 views, 300 in the other "
        "simulations. Where g is not given, ten clusters are allowed; patterns that are allowed: one in table 1, "
        "three in the running example, six for the digits, 30 for leukaemia, ten otherwise.",
        _table1_text(lines),
        _simulations_text(lines),
        _real_text(lines),
    ]
    missing = [_in_words(case, own) for case, _, own in jobs(1, Path()) if not chosen(lines, case, **own)]
    if missing:
        parts.append(f"Not measured: {'; '.join(dict.fromkeys(missing))}.")
    if failed:
        parts.append(f"Failed, and not counted: {', '.join(failed)}.")
    return "\n\n".join(part for part in parts if part)


def _in_words(case: str, settings: Settings) -> str:
    return f"{case} ({_given(settings)})" if settings else case


def _given(settings: Settings) -> str:
    return ", ".join(f"{name}={value}" for name, value in shown(settings).items())


def _table1_text(lines: Lines) -> str:
    rows = []
    for setting in "abcdef":
        told, loose = (chosen(lines, f"t1{setting}", g=g) for g in (2, 6))
        if told:
            ratios = [r["ratio"] for r in told if r["ratio"] is not None and r["ratio"] < TOO_LARGE]
            rows.append(
                [
                    f"({setting})",
                    str(len(told)),
                    said(r["nmi"] for r in told),
                    said(r["bayes"] for r in told),
                    said(r["mad"] for r in told),
                    said(ratios) if 2 * len(ratios) > len(told) else "",
                    share(r["k"] == 2 for r in told),
                    share(r["k"] == 2 for r in loose) if loose else "",
                ]
            )
    columns = [
        "table 1",
        "seeds",
        "NMI",
        "Bayes",
        "median deviation of P",
        "mean deviation over hard labels'",
    ]
    columns += ["two clusters, g=2", "two clusters, g=6"]
    return make_markdown(columns, rows) if rows else ""


def _simulations_text(lines: Lines) -> str:
    rows = [*_running_rows(lines), *_consensus_rows(lines), *_many_rows(lines), *_noise_rows(lines)]
    return make_markdown(["simulation", "quantity", "default", "Bayes or truth"], rows) if rows else ""


def _running_rows(lines: Lines) -> list[list[str]]:
    name, results = "running example", chosen(lines, "run")
    if not results:
        return []
    return [
        [name, "views 0 and 1 together, 2 apart", share(r["together"] for r in results), "all"],
        [name, "3, 3, 2 clusters", share(r["k"] == [3, 3, 2] for r in results), "all"],
        *(
            [
                name,
                f"NMI of view {v}",
                said(r["nmi"][v] for r in results),
                said(r["bayes"][v] for r in results),
            ]
            for v in range(3)
        ),
    ]


def _consensus_rows(lines: Lines) -> list[list[str]]:
    rows = []
    for sep in (1, 2, 3):
        results = chosen(lines, "cons", sep=sep)
        if results:
            name = f"consensus example, separation {sep}"
            rows.append([name, "exactly the noise excluded", share(r["ok"] for r in results), "all"])
            rows.append([name, "clusters in view 0", said(r["k"][0] for r in results), "2"])
            rows.append([name, "clusters in view 1", said(r["k"][1] for r in results), "3"])
    return rows


def _many_rows(lines: Lines) -> list[list[str]]:
    rows = []
    for case in sorted({line[0] for line in lines if line[0].startswith("many")}):
        name, results = f"{int(case[4:]):,} views", chosen(lines, case)
        if results:
            rows += [
                [name, "five patterns", share(r["patterns"] == 5 for r in results), "all"],
                [name, "three clusters in each", share(set(r["k"]) == {3} for r in results), "all"],
                [name, "NMI of the views' patterns", said(r["nmi"] for r in results), "1"],
                [name, "NMI of the k-means start", said(r["start"] for r in results), "1"],
                [name, "correlation of P with the truth", said(r["corr"][0] for r in results), "1"],
                [name, "median absolute deviation of P", said(r["corr"][1] for r in results), "0"],
                [name, "seconds", said(r["secs"] for r in results), ""],
            ]
    return rows


def _noise_rows(lines: Lines) -> list[list[str]]:
    rows = []
    for p in (1, 2, 10):
        results = chosen(lines, f"noise{p}")
        if results:
            name = f"a cloud in {p} dimension{'s' if p > 1 else ''}"
            rows.append([name, "one cluster", share(r["k"] == [1] for r in results), "all"])
    return rows


def _real_text(lines: Lines) -> str:
    rows = [
        [
            REAL[case],
            _given(settings),
            str(seed),
            ", ".join(map(str, result["k"])),
            _scores_in_words(result),
            f"{result['secs']:.0f}",
        ]
        for case, seed, settings, result in lines
        if case in REAL and "error" not in result
    ]
    return (
        make_markdown(["data", "given", "seed", "clusters of each pattern", "found", "seconds"], rows)
        if rows
        else ""
    )


def _scores_in_words(result: Mapping[str, Any]) -> str:
    """Return what a fit of real data scored: by pattern where there are several truths or patterns."""
    if "brier" in result:
        auc = "" if result["auc"] is None else f", AUC of doubt {result['auc']:.3f}"
        return f"NMI of the consensus {result['nmi']:.3f}, Brier {result['brier']:.4f}{auc}"
    if "nmi" in result:
        best = np.max(result["nmi"], axis=0)
        text = f"best NMI of a pattern with each truth {', '.join(f'{x:.3f}' for x in best)}"
        consensus_scores = ", ".join(f"{x:.3f}" for x in result.get("cons", []))
        return f"{text}; consensus {consensus_scores}" if consensus_scores else text
    best_of = {name: max(result[name]) for name in COVARIATES if result.get(name)}
    return "best NMI of a pattern: " + ", ".join(f"{name} {x:.3f}" for name, x in best_of.items())


def main() -> None:
    """Run the battery, or write what a run measured into the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("bars.jsonl"), help="where a run writes its lines")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument(
        "--cases", default="", help="beginnings of the cases to run, with commas; all unless given"
    )
    parser.add_argument("--data", type=Path, help="folder of msrc_v1.npz, nutrimouse.npz and 3sources.npz")
    parser.add_argument("--render", type=Path, help="a file of lines to write into the page; runs nothing")
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args()
    if arguments.render is not None:
        page = arguments.page
        text = page.read_text(encoding="utf-8") if page.exists() else TEMPLATE
        page.write_text(replace_section(text, SECTION, render(read(arguments.render))), encoding="utf-8")
        return
    begins = tuple(arguments.cases.split(","))
    todo = [job for job in jobs(arguments.seeds, arguments.data) if job[0].startswith(begins)]
    run(todo, arguments.out, arguments.jobs, arguments.data)


if __name__ == "__main__":
    main()
