"""Fits killed at random moments (kill -9) and started again: whether they end with the same labels, and time lost.

Each fit runs in a process of its own. It is killed once, at a moment drawn from the time that a fit takes, and started
again with the same checkpoint. Beside it, what keeping a checkpoint costs: fits with and without one, in turn.

    python benchmarks/kill_and_resume.py --out kill_and_resume.json
    python benchmarks/kill_and_resume.py --cases splits --kills 3
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from baselines.clock import machine

from latentsimplex import LatentSimplexPosition
from latentsimplex.checkpoints import piece_folder

Found = dict[str, Any]
SEED = 0
BETWEEN_WRITES = 2.0
"""Seconds between two times of writing: these fits are short, and there is to be something to go on from."""


def make_clusters(n: int, n_views: int, n_features: int) -> list[np.ndarray]:
    """Return views of which every third has four clusters and the others ten."""
    rng = np.random.default_rng(SEED)
    labels = rng.integers(10, size=n), rng.integers(4, size=n)
    centres = [rng.normal(size=(10, n_features)) * 3 for _ in range(n_views)]
    return [centres[v][labels[v % 3 == 2]] + rng.normal(size=(n, n_features)) for v in range(n_views)]


def read_case(case: str) -> tuple[Any, dict[str, Any]]:
    """Return the data and the settings of a case."""
    if case == "splits":
        return make_clusters(1000, 3, 10), {}
    if case == "landmarks":
        return make_clusters(30_000, 2, 20), {}
    if case == "search":
        return np.array(make_clusters(150, 300, 2)), {"n_clusters": 10, "n_patterns": 5, "n_init": 5}
    if case == "plain":
        settings = {
            "similarity": "local-scaling",
            "penalty": "group",
            "response": "identity",
            "temperature": 1.0,
        }
        return make_clusters(400, 6, 5), {"n_clusters": 10, "n_init": 4, **settings}
    return np.array(make_clusters(100, 3000, 2)), {"n_clusters": 6, "n_patterns": 5, "n_init": 3}


CASES = ("splits", "landmarks", "search", "plain", "many")


def fit_case(case: str, folder: str | None, out: str) -> None:
    """Fit a case, and write what was found and how long it took."""
    piece_folder.BETWEEN_WRITES = BETWEEN_WRITES
    data, settings = read_case(case)
    writing = time_writing()
    start = time.perf_counter()
    model = LatentSimplexPosition(random_state=0, checkpoint=folder, **settings).fit(data)
    took = time.perf_counter() - start
    np.savez(
        out,
        took=took,
        writing=sum(writing),
        labels=model.labels_,
        pattern_labels=model.pattern_labels_,
        memberships=np.concatenate([W.ravel() for W in model.memberships_]),
        loss=model.loss_,
    )


def time_writing() -> list[float]:
    """Return a list that will have the seconds of each piece that is written."""
    times: list[float] = []
    write = piece_folder.write_piece

    def write_timed(*arguments: Any) -> None:
        start = time.perf_counter()
        write(*arguments)
        times.append(time.perf_counter() - start)

    piece_folder.write_piece = write_timed
    return times


def start_fit(case: str, folder: Path | None, out: Path) -> subprocess.Popen[bytes]:
    """Start a fit in a process of its own."""
    command = [sys.executable, __file__, "--fit", case, "--into", str(out)]
    return subprocess.Popen(command + ([] if folder is None else ["--folder", str(folder)]))


class Cost(NamedTuple):
    """Seconds of the wall, and of the processor, which other work on the machine changes less."""

    wall: float
    processor: float


def clock() -> Cost:
    """Return the time now, and the processor time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(time.perf_counter(), used.ru_utime + used.ru_stime)


def since(start: Cost) -> Cost:
    """Return what has passed since a reading of the clock."""
    now = clock()
    return Cost(now.wall - start.wall, now.processor - start.processor)


def run_fit(case: str, folder: Path | None, out: Path) -> tuple[Found, Cost]:
    """Return what a fit in a process of its own found, and what the whole process took."""
    start = clock()
    if start_fit(case, folder, out).wait() != 0:
        raise RuntimeError(f"the fit of {case} failed")
    took = since(start)
    with np.load(out) as found:
        return dict(found), took


def run_killed(case: str, folder: Path, out: Path, after: float) -> tuple[Found, Cost] | float:
    """Return what a fit found that is killed after some seconds and started again, and what both processes took.

    A fit that ended before that is no such fit: the seconds that it took are returned.
    """
    start, process = clock(), start_fit(case, folder, out)
    try:
        if process.wait(after) != 0:
            raise RuntimeError(f"the fit of {case} failed")
        return since(start).wall
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    found, _ = run_fit(case, folder, out)
    return found, since(start)


def are_same(one: Found, other: Found, names: tuple[str, ...]) -> bool:
    """Return whether two fits found the same."""
    return all(np.array_equal(one[name], other[name]) for name in names)


def measure(case: str, kills: int, repeats: int, rng: np.random.Generator) -> Found:
    """Return how many fits of a case that were killed ended with the same labels and bits, and what that cost."""
    with TemporaryDirectory() as scratch:
        path = Path(scratch)
        run_fit(case, None, path / "warm.npz")
        plain, kept = [], []
        for i in range(repeats):
            plain.append(run_fit(case, None, path / "plain.npz"))
            kept.append(run_fit(case, path / f"whole{i}", path / "kept.npz"))
        expected, longest = plain[0][0], min(took.wall for _, took in kept)
        again, _ = run_fit(case, path / "whole0", path / "again.npz")
        moments: list[float] = []
        runs: list[tuple[Found, Cost]] = []
        while len(runs) < kills:
            after = float(rng.uniform(0, longest))
            found = run_killed(case, path / f"killed{len(runs)}", path / "killed.npz", after)
            if isinstance(found, float):
                longest = found
                shutil.rmtree(path / f"killed{len(runs)}")
                continue
            moments.append(after)
            runs.append(found)
    whole = float(np.median([took.processor for _, took in kept]))
    fits = [found for found, _ in runs]
    return {
        "case": case,
        "kills": kills,
        "same labels": sum(are_same(each, expected, ("labels", "pattern_labels")) for each in fits),
        "same bits": sum(are_same(each, expected, ("labels", "memberships", "loss")) for each in fits),
        "moments": [round(after, 2) for after in moments],
        "seconds of a fit": [round(float(found["took"]), 3) for found, _ in plain],
        "seconds with a checkpoint": [round(float(found["took"]), 3) for found, _ in kept],
        "seconds of writing": [round(float(found["writing"]), 4) for found, _ in kept],
        "seconds of a fit that has ended": round(float(again["took"]), 3),
        "core seconds of a process": round(whole, 2),
        "core seconds lost": [round(took.processor - whole, 2) for _, took in runs],
        "load": os.getloadavg()[0],
    }


def main() -> None:
    """Kill fits and print what came of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", default=["splits", "search"], choices=CASES)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=2, help="fits with and without a checkpoint")
    parser.add_argument("--seed", type=int, default=SEED, help="of the moments")
    parser.add_argument("--out", type=Path)
    for name in ("--fit", "--folder", "--into"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.fit:
        fit_case(given.fit, given.folder, given.into)
        return
    rng, measured = np.random.default_rng(given.seed), []
    for case in given.cases:
        measured.append(measure(case, given.kills, given.repeats, rng))
        print(json.dumps(measured[-1], indent=1))
    n, same = (sum(each[name] for each in measured) for name in ("kills", "same labels"))
    print(f"{same} of {n} fits that were killed at a random moment ended with the same labels")
    if given.out:
        given.out.write_text(json.dumps({"machine": machine(), "cases": measured}, indent=1))


if __name__ == "__main__":
    main()
