"""Time whole fits over the number of views, samples, patterns and clusters, and fit exponents of growth.

One size varies at a time and the others stay at its base. The exponent is the slope of log seconds over log size,
by least squares over all sizes and between the last two, where what does not grow counts least. With the paper's
settings every fit takes the same number of iterations, so that seconds are those of the same work; with the
default settings they are those of a user's fit, whose course depends on the data. Seconds are the least of a few
fits, after one that is not counted.

    python benchmarks/growth.py --out growth.json
    python benchmarks/growth.py --out growth.json --settings default --sizes views=100,200,400
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from baselines.clock import best_of, machine

from latentsimplex import LatentSimplexPosition
from latentsimplex.base.types import Array
from latentsimplex.datasets import many_views

MANY_VIEWS = {"views": 200, "samples": 150, "patterns": 8, "clusters": 8}
MANY_SAMPLES = {"views": 40, "samples": 400, "patterns": 8, "clusters": 8}
BASES = {"views": MANY_VIEWS, "samples": MANY_VIEWS, "patterns": MANY_SAMPLES, "clusters": MANY_SAMPLES}
"""Patterns and clusters grow where the M step, which alone depends on both, outweighs reading the views."""
SIZES = {
    "views": [500, 1000, 2000, 4000],
    "samples": [100, 200, 400, 800],
    "patterns": [4, 8, 16, 32],
    "clusters": [4, 8, 16, 32],
}
NEVER = 1e-12
"""A tolerance that no loss meets before the last iteration."""


class Growth(NamedTuple):
    """Seconds over one size: all of them, and the exponents over all sizes and between the last two."""

    over: str
    sizes: list[int]
    wall: list[float]
    processor: list[float]
    iterations: list[int]
    exponent: float
    last_exponent: float


def simulated(n_views: int, n_samples: int, seed: int) -> Array:
    """Return views (V, n, 2) of the paper's simulation of many views."""
    return np.asarray(many_views(n_views, n_samples, random_state=seed).views)


def fit(size: dict[str, int], views: Array, arguments: argparse.Namespace) -> LatentSimplexPosition:
    """Return the model fitted from one start, with the settings that the arguments name."""
    bounds = size["clusters"], size["patterns"]
    common = {"n_init": 1, "random_state": arguments.seed, "device": arguments.device}
    if arguments.settings == "default":
        return LatentSimplexPosition(*bounds, **common).fit(views)
    fixed = {"max_iter": arguments.iterations, "tol": NEVER}
    return LatentSimplexPosition.paper(*bounds, **fixed, **common).fit(views)


def grow(over: str, sizes: Sequence[int], arguments: argparse.Namespace) -> Growth:
    """Return the seconds of fits as one size grows."""
    wall, processor, iterations = [], [], []
    for value in sizes:
        size = {**BASES[over], over: value}
        views = simulated(size["views"], size["samples"], arguments.seed)
        seconds, found = best_of(partial(fit, size, views, arguments), arguments.repeats)
        wall.append(seconds.wall)
        processor.append(seconds.processor)
        iterations.append(found.n_iter_)
    exponents = slope(sizes, wall), slope(sizes[-2:], wall[-2:])
    return Growth(over, list(sizes), wall, processor, iterations, *exponents)


def slope(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the least-squares slope of log seconds over log size.

    >>> round(slope([1, 2, 4], [3.0, 12.0, 48.0]), 6)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def described(growth: Growth) -> str:
    """Return a result as one line."""
    times = ", ".join(
        f"{size:,}: {seconds:.3g} s" for size, seconds in zip(growth.sizes, growth.wall, strict=True)
    )
    others = ", ".join(f"{size} {name}" for name, size in BASES[growth.over].items() if name != growth.over)
    exponents = f"exponent {growth.exponent:.2f}, between the last two {growth.last_exponent:.2f}"
    return f"{growth.over} at {others} ({times}): {exponents}"


def chosen_sizes(text: str) -> tuple[str, list[int]]:
    """Return a name and at least two sizes from a text like views=500,1000."""
    name, _, listed = text.partition("=")
    sizes = [int(size) for size in listed.split(",") if size]
    if name not in SIZES or len(set(sizes)) < 2:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a growth: give one of {', '.join(SIZES)} and two or more sizes, as in views=500,1000"
        )
    return name, sizes


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the results as JSON")
    parser.add_argument("--settings", choices=["paper", "default"], default="paper")
    parser.add_argument("--iterations", type=int, default=10, help="of each fit with the paper's settings")
    parser.add_argument(
        "--sizes", type=chosen_sizes, nargs="+", help="like views=500,1000; all four unless given"
    )
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--repeats", type=int, default=2, help="fits, of which the least seconds count")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    asked = dict(arguments.sizes or SIZES)
    smallest = {name: min(sizes) for name, sizes in SIZES.items()}
    fit(smallest, simulated(smallest["patterns"], smallest["samples"], arguments.seed), arguments)
    print(f"{arguments.settings} settings, seconds of whole fits")
    rows = []
    for over, sizes in asked.items():
        rows.append(grow(over, sizes, arguments))
        print(described(rows[-1]), flush=True)
    if arguments.out:
        settings = {name: value for name, value in vars(arguments).items() if name not in ("out", "sizes")}
        report: dict[str, Any] = {"settings": settings, "bases": BASES, "machine": machine()}
        report["growth"] = [row._asdict() for row in rows]
        arguments.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
