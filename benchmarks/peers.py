"""Time the default fit of the digits beside other ways to cluster them, with the NMI that each reaches.

All ways but ours are told that there are ten clusters; ours is given ten as a bound. What is not installed is left
out with a line that says how to install it. Seconds are the least of a few fits; a ratio is the peer's wall time
over ours, measured in the same run.

    python benchmarks/peers.py --out peers.json --samples 1000
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from baselines.clock import best_of, machine
from sklearn.utils import check_array

from latentsimplex import LatentSimplexPosition
from latentsimplex.base.types import Array
from latentsimplex.experiments.digits import N_CLUSTERS, N_PATTERNS, draw_digits
from latentsimplex.experiments.model import nmi
from latentsimplex.experiments.peers import (
    INSTALL_MVLEARN,
    concatenate,
    coregularised_spectral,
    peer_labels,
    spectral_of_neighbours,
    spectral_of_similarity,
)

OURS = "ours"
CHAINS, SWEEPS = 2, 50
"""Of CrossCat: independent chains, and passes of each over rows and columns."""


def default_fit(views: Sequence[Array], seed: int) -> np.ndarray:
    """Return the consensus labels of the default fit."""
    return LatentSimplexPosition(N_CLUSTERS, N_PATTERNS, random_state=seed).fit(list(views)).labels_


def side_by_side(views: Sequence[Array], seed: int) -> np.ndarray:
    """Return spectral labels of the graph of nearest neighbours, all standardised features side by side."""
    return peer_labels(spectral_of_neighbours(N_CLUSTERS, seed), concatenate(views))


def balanced(views: Sequence[Array], seed: int) -> np.ndarray:
    """Return the same with every view weighing the same."""
    return peer_labels(spectral_of_neighbours(N_CLUSTERS, seed), concatenate(views, balanced=True))


def coregularised_default(views: Sequence[Array], seed: int) -> np.ndarray:
    """Return labels of mvlearn's co-regularised spectral clustering at its defaults."""
    return peer_labels(coregularised_spectral(N_CLUSTERS, seed), views)


def coregularised_neighbours(views: Sequence[Array], seed: int) -> np.ndarray:
    """Return the same with graphs of nearest neighbours."""
    return peer_labels(
        coregularised_spectral(N_CLUSTERS, seed).set_params(affinity="nearest_neighbors"), views
    )


def fusion(views: Sequence[Array], seed: int) -> np.ndarray:
    """Return spectral labels of the network that similarity network fusion makes, snfpy at its defaults."""
    from snf import compute

    def renamed(array: Any, *, force_all_finite: bool = True, **settings: Any) -> Array:
        return check_array(array, ensure_all_finite=force_all_finite, **settings)

    with patch.object(compute, "check_array", renamed):  # snfpy calls the argument by the name it had before
        network = compute.snf(*compute.make_affinity(list(views)))
    return peer_labels(spectral_of_similarity(N_CLUSTERS, seed), network)


def crosscat(views: Sequence[Array], seed: int) -> np.ndarray:
    """Return spectral labels of how often CrossCat, each column a view, has two samples in one cluster."""
    import pandas
    from lace import Engine

    columns = np.hstack(list(views))
    table = pandas.DataFrame(columns, columns=[f"column {j}" for j in range(columns.shape[1])])
    table.index = table.index.map(str)
    engine = Engine.from_df(table, n_states=CHAINS, rng_seed=seed)
    engine.update(SWEEPS, quiet=True)
    together = np.zeros((len(table), len(table)))
    for chain in range(CHAINS):
        sizes = np.bincount(engine.column_assignment(chain))
        for size, labels in zip(sizes, map(np.asarray, engine.row_assignments(chain)), strict=True):
            together += size * (labels[:, None] == labels)
    return peer_labels(spectral_of_similarity(N_CLUSTERS, seed), together / (CHAINS * columns.shape[1]))


class Way(NamedTuple):
    """A way to cluster: the module it needs and how to install it, None for what is always there."""

    labels: Callable[[Sequence[Array], int], np.ndarray]
    module: str | None = None
    install: str | None = None


WAYS = {
    OURS: Way(default_fit),
    "spectral": Way(side_by_side),
    "spectral-balanced": Way(balanced),
    "coregularised": Way(coregularised_default, "mvlearn", INSTALL_MVLEARN),
    "coregularised-neighbours": Way(coregularised_neighbours, "mvlearn", INSTALL_MVLEARN),
    "fusion": Way(fusion, "snf", "pip install --no-deps snfpy==0.2.2"),
    "crosscat": Way(crosscat, "lace", "pip install pylace"),
}


def measure(name: str, views: Sequence[Array], truth: np.ndarray, repeats: int, seed: int) -> dict[str, Any]:
    """Return the least seconds of a few fits, and the NMI of the last with the digits."""
    seconds, labels = best_of(lambda: WAYS[name].labels(views, seed), repeats)
    return {
        "way": name,
        "seconds": seconds._asdict(),
        "nmi": nmi(truth, labels),
        "clusters": len(np.unique(labels)),
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the results as JSON")
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--repeats", type=int, default=2, help="fits, of which the least seconds count")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    data = draw_digits(arguments.samples, arguments.seed)
    views = list(data.views.values())
    rows: dict[str, dict[str, Any]] = {}
    for name in (name for name in WAYS if name in arguments.ways):
        way = WAYS[name]
        if way.module is not None and importlib.util.find_spec(way.module) is None:
            print(f"{name} is left out because {way.module} is not installed: {way.install}")
            continue
        row = measure(name, views, data.labels, arguments.repeats, arguments.seed)
        if OURS in rows:
            row["ratio"] = row["seconds"]["wall"] / rows[OURS]["seconds"]["wall"]
        rows[name] = row
        print(described(row), flush=True)
    if arguments.out:
        settings = {key: value for key, value in vars(arguments).items() if key != "out"}
        report = {"settings": settings, "machine": machine(), "ways": list(rows.values())}
        arguments.out.write_text(json.dumps(report, indent=2) + "\n")


def described(row: dict[str, Any]) -> str:
    """Return a result as one line."""
    ratio = f", {row['ratio']:.3g} times ours" if "ratio" in row else ""
    wall, processor = row["seconds"]["wall"], row["seconds"]["processor"]
    return (
        f"{row['way']}: {wall:.2f} s ({processor:.2f} of processors{ratio}); NMI {row['nmi']:.3f}; "
        f"{row['clusters']} clusters"
    )


if __name__ == "__main__":
    main()
