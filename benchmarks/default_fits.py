"""Time default fits of the kinds that users feel, beside another checkout of the package.

Each fit runs in a process of its own. With ``--against``, the fits of two checkouts take turns, so that both meet the
same load, and a ratio is the seconds of this one over those of the other: the median over rounds, with the least and
the most. Seconds of the processor are of all threads. ``first`` cases begin without compiled loops and time the same
fit twice: what the first takes beyond the second is compilation.

    python benchmarks/default_fits.py digits many-clusters --rounds 3 --against ../other/src --out fits.json
    python benchmarks/default_fits.py first-views first-columns
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from baselines.clock import machine

from latentsimplex import LatentSimplexPosition
from latentsimplex.base.types import Array
from latentsimplex.datasets import load_digits, many_views

SOURCE = Path(__file__).resolve().parents[1] / "src"


class Case(NamedTuple):
    """Data, the settings of the fit, and whether it is the first after an installation."""

    data: Callable[[], Any]
    settings: dict[str, Any]
    is_first: bool = False


def draw_clusters(n: int, k: int, widths: tuple[int, ...], apart: float) -> list[Array]:
    """Return views of n samples that share k clusters, normal and round, about so many standard deviations apart."""
    rng = np.random.default_rng(0)
    labels = rng.integers(k, size=n)
    return [
        rng.normal(size=(n, p)) + (rng.normal(size=(k, p)) * apart / np.sqrt(2 * p))[labels] for p in widths
    ]


def draw_columns(n_views: int) -> Array:
    """Return a table (150, V) whose columns have clusters of five patterns."""
    return np.ascontiguousarray(np.asarray(many_views(n_views, 150, random_state=0).views)[:, :, 0].T)


CASES = {
    "digits": Case(lambda: load_digits().views, {}),
    "many-clusters": Case(lambda: draw_clusters(1600, 100, (10,) * 3, 20.0), {}),
    "many-samples": Case(lambda: draw_clusters(5000, 10, (20,) * 6, 6.0), {"n_landmarks": None}),
    "columns": Case(lambda: draw_columns(5000), {"views": "columns"}),
    "many-views": Case(lambda: np.asarray(many_views(5000, 150, random_state=0).views), {}),
    "first-views": Case(lambda: load_digits().views, {}, True),
    "first-columns": Case(lambda: draw_columns(300), {"views": "columns"}, True),
}


def run_case(name: str) -> dict[str, Any]:
    """Return the seconds of a fit, and a digest of what it found."""
    case = CASES[name]
    X = case.data()
    if not case.is_first:  # compiled loops are loaded from files, and counted in no fit
        LatentSimplexPosition(random_state=0, max_iter=2, **case.settings).fit(X)
    start, processor = time.perf_counter(), time.process_time()
    model = LatentSimplexPosition(random_state=0, **case.settings).fit(X)
    took = {"wall": time.perf_counter() - start, "processor": time.process_time() - processor}
    if case.is_first:
        processor = time.process_time()
        LatentSimplexPosition(random_state=0, **case.settings).fit(X)
        took["compilation"] = took["processor"] - (time.process_time() - processor)
    found = model.labels_.tobytes() + model.view_patterns_.tobytes()
    clusters = model.n_clusters_.tolist()
    return {**took, "clusters": clusters, "labels": hashlib.blake2b(found, digest_size=6).hexdigest()}


def in_own_process(name: str, source: Path) -> dict[str, Any]:
    """Return the result of a case with the package of a checkout."""
    with tempfile.TemporaryDirectory() as folder:
        compiled = {"NUMBA_CACHE_DIR": folder} if CASES[name].is_first else {}
        child = subprocess.run(
            [sys.executable, __file__, "--only", name],
            env={**os.environ, "PYTHONPATH": str(source), **compiled},
            capture_output=True,
            text=True,
            check=True,
        )
    return json.loads(child.stdout.splitlines()[-1])


def compare(name: str, rounds: int, other: Path | None) -> dict[str, Any]:
    """Return the rounds of a case, and the seconds of this checkout over those of the other."""
    rows = []
    for _ in range(rounds):
        rows.append({"ours": in_own_process(name, SOURCE)})
        if other is not None:
            rows[-1]["other"] = in_own_process(name, other)
    found: dict[str, Any] = {"case": name, "rounds": rows}
    for kind in ("wall", "processor", "compilation") if other is not None else ():
        if kind in rows[0]["ours"]:
            ratios = sorted(row["ours"][kind] / row["other"][kind] for row in rows)
            found[kind] = {"median": float(np.median(ratios)), "least": ratios[0], "most": ratios[-1]}
    return found


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="case", help=f"all unless given: {', '.join(CASES)}")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--against", type=Path, help="the folder src of another checkout")
    parser.add_argument("--out", type=Path, help="where to write the results as JSON")
    parser.add_argument("--only", choices=CASES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        print(json.dumps(run_case(arguments.only)))
        return
    unknown = [name for name in arguments.cases if name not in CASES]
    if unknown:
        parser.error(f"no case {unknown[0]!r}: choose from {', '.join(CASES)}")
    results = []
    for name in arguments.cases or CASES:
        results.append(compare(name, arguments.rounds, arguments.against))
        print(json.dumps(results[-1]), flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps({"machine": machine(), "cases": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
