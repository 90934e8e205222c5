"""Compare the memory that a fit says it needs with what it takes, each case in a process of its own.

The peak is that of the resident memory of a process over what it was before the fit, with the data and the compiled
loops in it. Each view has clusters of its own, so that a fit uses the patterns that it may.

    python benchmarks/memory.py --out memory.json
    python benchmarks/memory.py --cases "one view, 1,000 samples" "sparse and wide"
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from latentsimplex import LatentSimplexPosition, stages
from latentsimplex.pairs.memory_budget import FitSize, Storage, choose_storage, estimate_bytes


class Case(NamedTuple):
    """The shape of the data, the share of numbers that are not 0 where they are sparse, and the settings of a fit.

    Views ``in_file`` are memory-mapped, in single precision.
    """

    n_views: int
    n_samples: int
    n_features: int
    n_jobs: int
    filled: float | None = None
    settings: Mapping[str, Any] = MappingProxyType({})
    in_file: bool = False


QUICK = {"n_init": 1, "n_clusters": 3}
CASES = {
    "one view, 200 samples": Case(1, 200, 500, 1),
    "one view, 1,000 samples": Case(1, 1000, 20, 1),
    "one view, 3,000 samples": Case(1, 3000, 5, 2, settings=QUICK),
    "six views": Case(6, 1000, 20, 1, settings=QUICK),
    "six views, two threads": Case(6, 1000, 20, 2, settings=QUICK),
    "twelve views, three patterns": Case(12, 1000, 20, 2, settings={**QUICK, "n_patterns": 3}),
    "many views": Case(2000, 200, 2, 2, settings={**QUICK, "n_patterns": 3}),
    "many features": Case(4, 800, 800, 2, settings=QUICK),
    "wide": Case(3, 200, 40_000, 2, settings=QUICK),
    "sparse and wide": Case(3, 60, 1_000_000, 1, 0.01, QUICK),
    "sparse and wide, two threads": Case(2, 1000, 20_000, 2, 0.01, {**QUICK, "similarity": "local-scaling"}),
    "sparse, many samples": Case(1, 20_000, 20_000, 1, 0.005),
    "in a file, many samples": Case(1, 50_000, 1000, 1, in_file=True),
}


def draw_view(case: Case, seed: int) -> Any:
    """Return a view with three clusters of its own."""
    rng = np.random.default_rng(seed)
    n, p = case.n_samples, case.n_features
    centres = 3 * np.eye(3)[rng.integers(3, size=n)]
    if case.filled is None:
        return rng.normal(size=(n, p)) + centres @ (rng.normal(size=(3, p)) * (rng.random(p) < 0.3))
    # samples of a cluster have their numbers in the same third of the features
    stored = max(1, int(case.filled * p))
    columns = rng.integers(p // 3, size=(n, stored)) + p // 3 * centres.argmax(axis=1)[:, None]
    rows = np.repeat(np.arange(n), stored)
    return sparse.csr_array((rng.random(n * stored), (rows, columns.ravel())), shape=(n, p))


def map_file(X: np.ndarray) -> np.memmap:
    """Return a table as a memory-mapped file that is gone when it is closed."""
    with tempfile.NamedTemporaryFile() as file:
        X.astype(np.float32).tofile(file)
        mapped = np.memmap(file.name, np.float32, "r", shape=X.shape)
    mapped.max()  # the file is in memory before the fit
    return mapped


def measure_case(case: Case) -> dict[str, float]:
    """Return the estimate and the peak of a fit in megabytes."""
    data = [draw_view(case, seed) for seed in range(case.n_views)]
    if case.in_file:
        data = [map_file(X) for X in data]
    model = LatentSimplexPosition(n_jobs=case.n_jobs, random_state=0, **case.settings)
    small = case._replace(n_views=min(case.n_views, 20), n_features=min(case.n_features, 50))
    for n in (40, 800):  # what is imported and compiled is there
        LatentSimplexPosition(**{**QUICK, **case.settings}).fit(
            [draw_view(small._replace(n_samples=n), seed) for seed in range(small.n_views)]
        )
    sizes: list[FitSize] = []

    def choose_and_tell(size: FitSize, budget: int) -> Storage:
        sizes.append(size)
        return choose_storage(size, budget)

    stages.choose_storage = choose_and_tell  # what the fit itself takes its size for
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what is free goes back to the system
    before = read_status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
    model.fit(data)
    peak = read_status("VmHWM") - before
    return {"estimate": estimate_bytes(sizes[0], "whole") / 1e6, "peak": peak / 1e6}


def read_status(name: str) -> int:
    """Return a size of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def main() -> None:
    """Run the cases one after the other and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--here", choices=CASES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        warnings.simplefilter("ignore")
        print(json.dumps(measure_case(CASES[arguments.here])))
        return
    found = {}
    print(f"{'case':32}{'estimate':>10}{'peak':>8} MB{'estimate / peak':>17}")
    for name in arguments.cases:
        command = [sys.executable, __file__, "--here", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
        measured = json.loads(done.stdout)
        found[name] = {**measured, "ratio": measured["estimate"] / measured["peak"]}
        print("{:32}{estimate:10.0f}{peak:8.0f}{ratio:20.2f}".format(name, **found[name]), flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
