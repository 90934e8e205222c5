"""Time whole fits of many views, from raw arrays to labels, against the author's recipe.

The data are the simulation of 50,000 views (section 5 of the paper) with as many views as asked for. Each case
runs in a process of its own, so that its peak of memory is its own; seconds are the least of a few fits in that
process, and a ratio is the recipe's wall time over ours, measured in the same run. With ``--warm`` a fit of a few
views comes first and is not counted: what is compiled or loaded once is then left out.

    python benchmarks/whole_fit.py --out whole_fit.json --views 2000 --warm
    python benchmarks/whole_fit.py --out whole_fit.json --views 50000 --warm --device cuda
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from baselines.clock import best_of, machine

from latentsimplex import LatentSimplexPosition
from latentsimplex.base.types import Array
from latentsimplex.datasets import many_views
from latentsimplex.experiments.model import nmi

N_CLUSTERS = N_PATTERNS = 10
WARM_VIEWS = 100
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in a unit of ru_maxrss."""


class Fit(NamedTuple):
    """What a fit found: the pattern of each view, the clusters of each live pattern, and seconds by stage."""

    view_patterns: np.ndarray
    n_clusters: list[int]
    stages: dict[str, float]


# The cases


def default_fit(views: Array, arguments: argparse.Namespace) -> Fit:
    """Fit with the default settings."""
    return _of_model(LatentSimplexPosition(N_CLUSTERS, N_PATTERNS, **_settings(arguments)).fit(views))


def paper_fit(views: Array, arguments: argparse.Namespace) -> Fit:
    """Fit with the settings of the paper's text."""
    return _of_model(LatentSimplexPosition.paper(N_CLUSTERS, N_PATTERNS, **_settings(arguments)).fit(views))


def numpy_recipe(views: Array, arguments: argparse.Namespace) -> Fit:
    """Fit by the recipe in NumPy."""
    from baselines import recipe_numpy

    return _of_recipe(recipe_numpy.fit(views, N_CLUSTERS, N_PATTERNS, arguments.seed))


def torch_recipe(views: Array, arguments: argparse.Namespace) -> Fit:
    """Fit by the recipe in torch."""
    from baselines import recipe_torch

    return _of_recipe(recipe_torch.fit(views, N_CLUSTERS, N_PATTERNS, arguments.seed, arguments.device))


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "device": arguments.device,
        "memory_limit": arguments.memory_limit,
        "random_state": arguments.seed,
    }


def _of_model(model: LatentSimplexPosition) -> Fit:
    return Fit(model.view_patterns_, model.n_clusters_.tolist(), {})


def _of_recipe(found: Any) -> Fit:
    live, sizes = np.unique(found.view_patterns, return_counts=True)
    by_size = live[np.argsort(-sizes, kind="stable")]
    clusters = [len(np.unique(found.memberships[l].argmax(axis=1))) for l in by_size]
    return Fit(found.view_patterns, clusters, found.seconds)


OURS: dict[str, Callable[[Array, argparse.Namespace], Fit]] = {"default": default_fit, "paper": paper_fit}
RECIPES: dict[str, Callable[[Array, argparse.Namespace], Fit]] = {
    "recipe-numpy": numpy_recipe,
    "recipe-torch": torch_recipe,
}
CASES = {**OURS, **RECIPES}


def available(device: str) -> list[str]:
    """Return the cases that can run on a device, torch being installed or not."""
    has_torch = importlib.util.find_spec("torch") is not None
    left_out = set() if has_torch else {"recipe-torch"}
    if device != "cpu":
        left_out.add("recipe-numpy")
    return [case for case in CASES if case not in left_out]


def require_cuda() -> None:
    """Exit unless torch is installed and sees a device."""
    if importlib.util.find_spec("torch") is not None:
        import torch

        if torch.cuda.is_available():
            return
    raise SystemExit("--device cuda needs torch and a CUDA device that it sees: use --device cpu.")


# One case, in a process of its own


def run_case(case: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the least seconds of a few fits, what the last one found, and the peak of memory."""
    data = many_views(arguments.views, arguments.samples, random_state=arguments.seed)
    views = np.asarray(data.views)
    fit, on_cuda = CASES[case], arguments.device == "cuda"
    if arguments.warm:
        fit(views[:WARM_VIEWS], arguments)
    if on_cuda:
        import torch

        torch.cuda.reset_peak_memory_stats()
    before = peak_bytes()
    seconds, found = best_of(lambda: fit(views, arguments), arguments.repeats)
    return {
        "case": case,
        "seconds": seconds._asdict(),
        "stages_of_last": found.stages,
        "nmi": nmi(data.patterns, found.view_patterns),
        "patterns": len(found.n_clusters),
        "clusters": found.n_clusters,
        "bytes": {
            "before": before,
            "peak": peak_bytes(),
            "device": torch.cuda.max_memory_allocated() if on_cuda else None,
        },
    }


def peak_bytes() -> int:
    """Return the most memory that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_UNIT


# All of them


def in_own_process(case: str) -> dict[str, Any]:
    """Return the result of a case run with the arguments of this process, or the last line of its error."""
    child = subprocess.run(
        [sys.executable, __file__, *sys.argv[1:], "--only", case], capture_output=True, text=True
    )
    if child.returncode:
        return {"case": case, "error": (child.stderr.strip().splitlines() or ["no message"])[-1]}
    return json.loads(child.stdout.splitlines()[-1])


def ratios(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return, for each of our cases, the wall time of each recipe over its own."""
    wall = {row["case"]: row["seconds"]["wall"] for row in rows if "error" not in row}
    return {
        ours: {recipe: wall[recipe] / wall[ours] for recipe in RECIPES if recipe in wall}
        for ours in OURS
        if ours in wall
    }


def described(row: dict[str, Any]) -> str:
    """Return a result as one line."""
    if "error" in row:
        return f"{row['case']}: failed with {row['error']}"
    held = row["bytes"]
    memory = f"peak {held['peak'] / 1e6:,.0f} MB, {held['before'] / 1e6:,.0f} MB of it before"
    if held["device"] is not None:
        memory += f", {held['device'] / 1e6:,.0f} MB on the device"
    stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in row["stages_of_last"].items())
    return (
        f"{row['case']}: {row['seconds']['wall']:.2f} s ({row['seconds']['processor']:.2f} of processors"
        f"{'; ' + stages if stages else ''}); NMI {row['nmi']:.4f}; {row['patterns']} patterns of "
        f"{', '.join(map(str, row['clusters']))} clusters; {memory}"
    )


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the results as JSON")
    parser.add_argument("--views", type=int, default=2000)
    parser.add_argument("--samples", type=int, default=150)
    parser.add_argument("--cases", nargs="+", choices=CASES, help="all that can run unless given")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--memory-limit", help='memory_limit of our fits, like "2GB"')
    parser.add_argument("--repeats", type=int, default=2, help="fits, of which the least seconds count")
    parser.add_argument("--warm", action="store_true", help=f"first fit {WARM_VIEWS} views, uncounted")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=CASES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        print(json.dumps(run_case(arguments.only, arguments)))
        return
    if arguments.device == "cuda":
        require_cuda()
    rows = []
    for case in arguments.cases or available(arguments.device):
        rows.append(in_own_process(case))
        print(described(rows[-1]), flush=True)
    found = ratios(rows)
    for ours, against in found.items():
        for recipe, ratio in against.items():
            print(f"{recipe} takes {ratio:.3g} times as long as {ours}")
    if arguments.out:
        settings = {name: value for name, value in vars(arguments).items() if name not in ("out", "only")}
        report = {"settings": settings, "machine": machine(), "cases": rows, "ratios": found}
        arguments.out.write_text(json.dumps(report, indent=2) + "\n")
    failed = [row["case"] for row in rows if "error" in row]
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
