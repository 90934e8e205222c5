"""Fits on a Dask cluster of this machine beside fits of this process: time, kills, memory, traffic.

``speed`` alternates fits to views of the simulation of 50,000 views, by threads and by worker processes of one thread.
``kills`` ends a worker with SIGKILL at random moments of a fit and compares all that is found. ``memory`` fits
columns that only workers ever hold and takes the peak of this process, in which client and scheduler run. ``traffic``
counts the bytes that leave and reach this process in each pass, beside what :func:`predict_traffic` says of any size.

    python benchmarks/dask_engine.py --out dask_engine.json
    python benchmarks/dask_engine.py --cases memory --columns 200000
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import signal
import sys
import time
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
from baselines.clock import machine

from latentsimplex import LatentSimplexPosition
from latentsimplex.base.condensed import count_pairs
from latentsimplex.datasets import many_views
from latentsimplex.engines.dask_cluster import Cluster
from latentsimplex.engines.sharded_pairs import ShardedPairs
from latentsimplex.engines.sharded_views import cut_into_shards

N_CLUSTERS = N_PATTERNS = 10
WARM_VIEWS = 1100
"""More than a search looks at: all that is compiled or loaded once is, on every worker."""
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


def make_cluster(n_workers: int, memory: str) -> Any:
    """Return a cluster of worker processes with one thread each, on loopback."""
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=memory,
    )


def fit(views: Any, seed: int, **settings: Any) -> LatentSimplexPosition:
    return LatentSimplexPosition(N_CLUSTERS, N_PATTERNS, random_state=seed, **settings).fit(views)


def same(one: LatentSimplexPosition, other: LatentSimplexPosition) -> bool:
    """Return whether two fits have the same labels of samples and the same patterns of views."""
    labels = np.array_equal(one.labels_, other.labels_)
    return labels and np.array_equal(one.view_patterns_, other.view_patterns_)


def measure_speed(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return seconds of fits by threads and by as many workers, taking turns."""
    from distributed import Client

    views = np.asarray(many_views(arguments.views, arguments.samples, random_state=arguments.seed).views)
    rows = []
    for count in arguments.workers:
        with make_cluster(count, arguments.memory) as cluster, Client(cluster) as client:
            fit(views[:WARM_VIEWS], arguments.seed, engine=client)
            fit(views[:WARM_VIEWS], arguments.seed, n_jobs=count)
            for _ in range(arguments.repeats):
                started, own = time.perf_counter(), time.process_time()
                local = fit(views, arguments.seed, n_jobs=count)
                here = time.perf_counter() - started, time.process_time() - own
                before, own = sum(client.run(time.process_time).values()), time.process_time()
                started = time.perf_counter()
                found = fit(views, arguments.seed, engine=client, n_jobs=count)
                there = time.perf_counter() - started
                spent = sum(client.run(time.process_time).values()) - before
                rows.append(
                    {
                        "workers": count,
                        "local": {"wall": here[0], "processor": here[1]},
                        "cluster": {
                            "wall": there,
                            "of workers": spent,
                            "of this process": time.process_time() - own,
                        },
                        "ratio": there / here[0],
                        "same": same(local, found),
                    }
                )
                print(rows[-1], flush=True)
    return rows


def measure_kills(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how many fits in which a worker was killed at a random moment found the same, to the last bit."""
    from distributed import Client

    rng = np.random.default_rng(arguments.seed)
    views = np.asarray(many_views(arguments.killed_views, 100, random_state=arguments.seed).views)
    with make_cluster(2, arguments.memory) as cluster, Client(cluster) as client:
        started = time.perf_counter()
        expected = fit(views, arguments.seed, engine=client)
        takes = time.perf_counter() - started
    moments, alike, bits, came_too_late = [], 0, 0, 0
    for _ in range(
        arguments.kills
    ):  # a cluster each: the nanny of a killed worker need not bring it back in time
        with make_cluster(2, arguments.memory) as cluster, Client(cluster) as client:
            victim = int(rng.choice(list(client.run(os.getpid).values())))
            moments.append(float(rng.uniform(0.02, 0.98)))
            timer = Timer(moments[-1] * takes, os.kill, (victim, signal.SIGKILL))
            timer.start()
            found = fit(views, arguments.seed, engine=client)
            came_too_late += timer.is_alive()
            timer.cancel()
            alike += same(found, expected)
            bits += np.array_equal(found.view_responsibilities_, expected.view_responsibilities_)
            print(
                f"killed at {moments[-1]:.2f} of {takes:.1f} s: {alike} alike, {bits} to the last bit",
                flush=True,
            )
    return {
        "kills": arguments.kills,
        "after the fit": came_too_late,
        "same labels": alike,
        "same bits": bits,
        "moments": moments,
        "seconds": takes,
    }


def make_columns(block: np.ndarray, n_samples: int, block_info: Any = None) -> np.ndarray:
    """Return columns with two or three clusters, in two patterns, made by whoever needs them."""
    start, stop = block_info[None]["array-location"][1]
    rng = np.random.default_rng(start)
    of_pattern = (np.arange(n_samples) % 2, np.arange(n_samples) // (n_samples // 3 + 1))
    columns = [3.0 * of_pattern[j % 2] for j in range(start, stop)]
    return np.column_stack(columns) + rng.normal(size=(n_samples, stop - start))


def measure_memory(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the peak of this process, client and scheduler, in a fit to columns that workers make."""
    import dask.array as da
    from distributed import Client

    n, V = arguments.column_samples, arguments.columns
    lazy = da.map_blocks(
        make_columns,
        da.zeros((n, V), chunks=(n, 2000)),
        n_samples=n,
        dtype=float,
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_UNIT
    with make_cluster(2, arguments.memory) as cluster, Client(cluster) as client:
        started = time.perf_counter()
        found = LatentSimplexPosition(4, 4, views="columns", random_state=0, n_init=1, engine=client).fit(
            lazy
        )
        seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_UNIT
    right = float((found.view_patterns_ == np.arange(V) % 2).mean())
    return {
        "columns": V,
        "samples": n,
        "bytes": {"before": before, "peak": peak},
        "seconds": seconds,
        "patterns": found.n_patterns_,
        "clusters": found.n_clusters_.tolist(),
        "columns in their pattern": max(right, 1 - right),
    }


def predict_traffic(V: int, n: int, d: int, g: int, p: int = 1, drawn: int | None = None) -> dict[str, float]:
    """Return the bytes and operations of a fit, for a pass and in all, by the sizes of its arrays.

    Of very many samples so many are ``drawn`` for the fit, and the others are placed afterwards.
    """
    held = min(n, drawn or n)
    m, shards = count_pairs(held), len(cut_into_shards(held, [p] * V))
    state, rows = 8 * d * (held * g + g * g + 1), 8 * V * d
    return {
        "shards": shards,
        "pair values": 4.0 * V * m,
        "sent by the client in a pass": state,
        "reaching workers in a pass": float(state * shards),
        "added up on workers in a pass": 8.0 * d * m * (shards - 1),
        "reaching the client in a pass": 8.0 * d * m + rows,
        "operations of a pass": 4.0 * V * m * d,
    }


def measure_traffic(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the bytes of a pass as they were pickled, beside what is predicted."""
    from distributed import Client

    sent, back, passes = [], [], []
    submit, gather, pass_over = Cluster.submit, Cluster.gather, ShardedPairs.pass_over

    def count_submitted(self: Cluster, function: Any, *given: Any) -> Any:
        if passes and function.__name__ == "give_back":
            sent.append(sum(len(pickle.dumps(each)) for each in given))
        return submit(self, function, *given)

    def count_gathered(self: Cluster, futures: Any) -> Any:
        found = gather(self, futures)
        if passes and type(found[0]).__name__ == "Passed":
            back.append(len(pickle.dumps(found)))
        return found

    def count_passes(self: ShardedPairs, *given: Any) -> Any:
        passes.append((len(self), self.n_samples, len(given[0].W)))
        return pass_over(self, *given)

    Cluster.submit, Cluster.gather, ShardedPairs.pass_over = count_submitted, count_gathered, count_passes
    views = np.asarray(many_views(arguments.killed_views, 100, random_state=arguments.seed).views)
    try:
        with make_cluster(2, arguments.memory) as cluster, Client(cluster) as client:
            found = fit(views, arguments.seed, engine=client)
    finally:
        Cluster.submit, Cluster.gather, ShardedPairs.pass_over = submit, gather, pass_over
    V, n, d = passes[-1]
    predicted = predict_traffic(V, n, d, found.memberships_[0].shape[1], p=2)
    return {
        "passes": len(passes),
        "sent": {"measured": float(np.mean(sent)), "predicted": predicted["sent by the client in a pass"]},
        "back": {"measured": float(np.mean(back)), "predicted": predicted["reaching the client in a pass"]},
        "of 10^6 views of 10^5 samples": predict_traffic(10**6, 10**5, 10, 10, drawn=2000),
    }


CASES = {"speed": measure_speed, "kills": measure_kills, "memory": measure_memory, "traffic": measure_traffic}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the results as JSON")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--views", type=int, default=20_000)
    parser.add_argument("--samples", type=int, default=150)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--killed-views", type=int, default=3000)
    parser.add_argument("--columns", type=int, default=200_000)
    parser.add_argument("--column-samples", type=int, default=100)
    parser.add_argument("--memory", default="3GB", help="the limit of a worker")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    found = {case: CASES[case](arguments) for case in arguments.cases}
    for case, result in found.items():
        print(f"{case}: {json.dumps(result, indent=2)}")
    if arguments.out:
        arguments.out.write_text(json.dumps({"machine": machine(), **found}, indent=2))


if __name__ == "__main__":
    main()
