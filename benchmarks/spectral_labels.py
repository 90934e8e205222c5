"""Time spectral labels through the thin SVD of W against spectral clustering of the dense P = W W^T.

Both embed the samples by the leading eigenvectors of the same normalised affinity, P's own diagonal
kept, and run the same k-means. The dense way is timed twice: with all eigenvectors, as the plain
method asks for, and with the leading ones only, which is the best a dense solver can do. P itself is
formed before the clock starts. Ratios are of processor time in one thread, so that other work on the
machine does not enter; wall times stand beside them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from latentsimplex.base.types import Array
from latentsimplex.results.joint_labels import KMEANS_STARTS, spectral_labels

SHARPNESS = 3.0
"""Weight of the own cluster in a row's Dirichlet parameter: clusters overlap, but can be told apart."""


def memberships(n: int, g: int, seed: int) -> Array:
    """Return rows drawn from Dirichlet distributions, each leaning towards one of g clusters."""
    rng = np.random.default_rng(seed)
    own = np.eye(g)[rng.permutation(np.arange(n) % g)]
    draws = rng.gamma(0.3 + SHARPNESS * own)
    return draws / draws.sum(axis=1, keepdims=True)


def dense_labels(P: Array, g: int, all_vectors: bool) -> np.ndarray:
    """Return spectral labels through the eigenvectors of the n x n matrix."""
    root_degree = np.sqrt(P.sum(axis=1))
    affinity = P / root_degree / root_degree[:, None]
    n = len(P)
    _, vectors = eigh(affinity, subset_by_index=None if all_vectors else [n - g, n - 1])
    embedding = vectors[:, -g:] / root_degree[:, None]
    return KMeans(g, n_init=KMEANS_STARTS, random_state=0).fit_predict(embedding)


def timed(function: Callable[[], np.ndarray], repeats: int = 1) -> tuple[dict[str, float], np.ndarray]:
    """Return the median processor and wall seconds of several calls, and the last result."""
    seconds = []
    for _ in range(repeats):
        wall, processor = perf_counter(), process_time()
        labels = function()
        seconds.append((process_time() - processor, perf_counter() - wall))
    processor, wall = np.median(seconds, axis=0)
    return {"processor": float(processor), "wall": float(wall)}, labels


def same_partition(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether each label of one goes with exactly one label of the other."""
    pairs = {*zip(a.tolist(), b.tolist(), strict=True)}
    return len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))


def measure(n: int, g: int, seed: int, repeats: int) -> dict[str, Any]:
    """Return the seconds of the three ways in one run, their ratios and whether the partitions agree."""
    W = memberships(n, g, seed)
    P = W @ W.T
    with threadpool_limits(1):
        spectral_labels(W, g)  # the first call pays for loading libraries
        thin, labels = timed(lambda: spectral_labels(W, g), repeats)
        dense, by_all = timed(lambda: dense_labels(P, g, all_vectors=True))
        leading, by_leading = timed(lambda: dense_labels(P, g, all_vectors=False))
    return {
        "n": n,
        "g": g,
        "seconds": {"thin_svd": thin, "dense": dense, "dense_leading": leading},
        "ratio": dense["processor"] / thin["processor"],
        "ratio_leading": leading["processor"] / thin["processor"],
        "identical_partition": same_partition(labels, by_all) and same_partition(labels, by_leading),
    }


def described(row: dict[str, Any]) -> str:
    """Return a measurement as one line."""
    thin, dense, leading = (
        f"{row['seconds'][way]['processor']:.3g} s" for way in ("thin_svd", "dense", "dense_leading")
    )
    return (
        f"n {row['n']}, {row['g']} clusters: thin SVD {thin}; dense {dense} ({row['ratio']:.0f} times); dense with "
        f"leading eigenvectors only {leading} ({row['ratio_leading']:.0f} times); "
        f"partitions {'identical' if row['identical_partition'] else 'DIFFER'}"
    )


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the results as JSON")
    parser.add_argument("--n", type=int, default=3000)
    parser.add_argument("--clusters", type=int, nargs="+", default=[3, 10])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--repeats", type=int, default=5, help="calls of the thin way, of which the median counts"
    )
    arguments = parser.parse_args()
    results = []
    for g in arguments.clusters:
        results.append(measure(arguments.n, g, arguments.seed, arguments.repeats))
        print(described(results[-1]), flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=2) + "\n")
    if not all(row["identical_partition"] for row in results):
        raise SystemExit("the partitions differ")


if __name__ == "__main__":
    main()
