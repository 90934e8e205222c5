"""Time the hot loops against plain NumPy and plain torch on the same arrays.

Three loops: packed pair values from raw views, the fused E pass over a block of views, and the gradient in the
memberships of a pattern. Seconds are the least of a few calls, after one that is not counted; a ratio is the
baseline's wall time over ours, measured in the same run. All ways must agree, or the script fails.

    python benchmarks/kernels.py --out kernels.json --shapes 2000x150 8x2000 4x8000
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from baselines import kernels_numpy
from baselines.clock import Seconds, best_of, machine
from scipy.spatial.distance import squareform
from scipy.special import softmax

from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array
from latentsimplex.datasets import many_views
from latentsimplex.inputs.views import as_views
from latentsimplex.model.backends import NumbaBackend
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.pairs.in_memory import InMemoryPairs, ViewReader
from latentsimplex.similarity import LocalScaling

# The functions under test. Nothing below this section knows their names; each returns what its baseline does.


def our_pair_values(views: Array, divergence: str, workers: Workers) -> Callable[[], Array]:
    """Return a call that computes F (b, m) from raw views (b, n, p)."""
    pairs = open_pairs(views, divergence, workers)
    return lambda: np.concatenate([F for _, F in pairs.blocks()])


def open_pairs(views: Array, divergence: str, workers: Workers) -> InMemoryPairs:
    """Return the pair values of views (b, n, p), computed anew in each pass."""
    reader = ViewReader(as_views(views), LocalScaling(), DIVERGENCES[divergence], workers)
    return InMemoryPairs(reader, NumbaBackend(reader.n_samples, workers), keep="nowhere")


def our_e_pass(
    F: Array, A: Array, H: Array, const: Array, u: Array, lam: Array, beta: float, pairs: InMemoryPairs
) -> tuple[Array, Array]:
    """Return eta (b, d) and stat (d, m), as an E step does for one block."""
    K = u[:, None] * (H - pairs.multiply(F, A) + const[:, None])
    eta = softmax(np.log(lam) - beta * K, axis=1)
    stat = np.zeros_like(A)
    pairs.add_statistics(stat, u[:, None] * eta, F)
    return eta, stat


def our_gradient(
    W: Array, gamma: float, stat: Array, divergence: str, workers: Workers
) -> tuple[float, Array]:
    """Return the value and the gradient (n, g) of one pattern, from packed statistics (m,)."""
    backend, mass = NumbaBackend(len(W), workers), np.array([gamma])
    evaluate, _ = backend.pair_objective(mass, stat[None], DIVERGENCES[divergence])
    values, dW, _ = evaluate(W[None], np.eye(W.shape[1])[None])
    return float(values[0]), dW[0]


# The work

OURS, NUMPY, TORCH = "ours", "NumPy", "torch"
CONCENTRATION = 0.3
SHORTEST = 0.2
"""Seconds that the calls of one way take together, at least."""
TOLERANCE = 1e-3
"""Largest relative difference between two ways; single precision is well below it."""


class Work(NamedTuple):
    """One measurement: what it is, and a call for each way; all return arrays that must agree."""

    what: dict[str, Any]
    calls: dict[str, Callable[[], Any]]


class Setting(NamedTuple):
    """The baselines' precision and torch's device (None without torch), and the threads of ours."""

    dtype: str
    device: str | None
    workers: Workers

    def tensors(self, *arrays: Array) -> list[Any]:
        """Return the arrays as torch's, on its device."""
        import torch

        return [torch.as_tensor(array.astype(self.dtype), device=self.device) for array in arrays]

    def finish(self) -> None:
        """Wait for the device."""
        if self.device is not None and self.device != "cpu":
            import torch

            torch.cuda.synchronize()


def measurements(
    shapes: Sequence[tuple[int, int]], n_patterns: int, n_clusters: int, seed: int, setting: Setting
) -> Iterator[Work]:
    """Yield the work for each shape (views, samples): both divergences where they differ in what is computed."""
    for V, n in shapes:
        rng = np.random.default_rng(seed)
        views = np.asarray(many_views(V, n, random_state=rng).views)
        W = rng.dirichlet(np.full(n_clusters, CONCENTRATION), size=(n_patterns, n))
        for divergence in DIVERGENCES:
            yield pair_values_work(views, divergence, setting)
        F = kernels_numpy.pair_values(views, "forward")
        yield e_pass_work(F, W, open_pairs(views[:1], "forward", setting.workers), setting)
        for divergence in DIVERGENCES:
            f = kernels_numpy.pair_values(views[:1], divergence)[0]
            yield gradient_work(W[0], f, divergence, setting)


def pair_values_work(views: Array, divergence: str, setting: Setting) -> Work:
    """Return the computation of F from raw views."""
    calls: dict[str, Callable[[], Any]] = {
        OURS: our_pair_values(views, divergence, setting.workers),
        NUMPY: partial(kernels_numpy.pair_values, views.astype(setting.dtype), divergence),
    }
    if setting.device is not None:
        from baselines import kernels_torch

        calls[TORCH] = partial(kernels_torch.pair_values, *setting.tensors(views), divergence)
    what = {"kernel": "pair values", "divergence": divergence, "views": len(views), "samples": views.shape[1]}
    return Work(what, calls)


def e_pass_work(F: Array, W: Array, pairs: InMemoryPairs, setting: Setting) -> Work:
    """Return the E pass over F for the patterns W; ``pairs`` are of any views of so many samples.

    The temperature makes responsibilities graded: where they are 0 or 1 there is nothing left to compare, and
    just before that they magnify the rounding of single precision.
    """
    n, beta = W.shape[1], 10 / F.shape[1]
    P = np.stack([squareform(square, checks=False) for square in W @ W.transpose(0, 2, 1)]).clip(
        1e-6, 1 - 1e-6
    )
    A, H = np.log(P) - np.log1p(-P), -np.log1p(-P).sum(axis=1)
    rest = (H, np.zeros(len(F)), np.ones(len(F)), np.full(len(W), 1 / len(W)))
    arrays = (F, A, *rest)
    calls: dict[str, Callable[[], Any]] = {
        # a fit keeps pair values in single precision
        OURS: partial(our_e_pass, F.astype(np.float32), *arrays[1:], beta, pairs),
        NUMPY: partial(kernels_numpy.e_pass, *(array.astype(setting.dtype) for array in arrays), beta),
    }
    if setting.device is not None:
        from baselines import kernels_torch

        calls[TORCH] = partial(kernels_torch.e_pass, *setting.tensors(*arrays), beta)
    return Work({"kernel": "E pass", "views": len(F), "samples": n, "patterns": len(W)}, calls)


def gradient_work(W: Array, f: Array, divergence: str, setting: Setting) -> Work:
    """Return the gradient of a pattern with the statistics of two views like ``f``."""
    gamma, stat = 2.0, 2 * f
    square = squareform(stat)
    calls: dict[str, Callable[[], Any]] = {
        OURS: partial(our_gradient, W, gamma, stat, divergence, setting.workers),
        NUMPY: partial(
            kernels_numpy.membership_gradient,
            W.astype(setting.dtype),
            gamma,
            square.astype(setting.dtype),
            divergence,
        ),
    }
    if setting.device is not None:
        from baselines import kernels_torch

        W_t, square_t = setting.tensors(W, square)
        calls[TORCH] = partial(kernels_torch.membership_gradient, W_t, gamma, square_t, divergence)
    n, g = W.shape
    return Work({"kernel": "gradient", "divergence": divergence, "samples": n, "clusters": g}, calls)


# Measuring it


def measure(work: Work, repeats: int, setting: Setting) -> dict[str, Any]:
    """Return the seconds of each way, the ratios to ours, and how far each result is from ours."""
    seconds: dict[str, Seconds] = {}
    results: dict[str, list[Array]] = {}
    for way, call in work.calls.items():
        timed = {OURS: time_ours, NUMPY: time_numpy, TORCH: time_torch}[way]
        seconds[way], found = timed(call, repeats, setting)
        results[way] = as_arrays(found)
    baselines = [way for way in seconds if way != OURS]
    return {
        **work.what,
        "seconds": {way: own._asdict() for way, own in seconds.items()},
        "ratio": {way: seconds[way].wall / seconds[OURS].wall for way in baselines},
        "difference": {way: difference(results[way], results[OURS]) for way in baselines},
    }


def time_ours(call: Callable[[], Any], repeats: int, setting: Setting) -> tuple[Seconds, Any]:
    """Return seconds and result with our threads, inside which BLAS has one; the baselines' has all."""
    with setting.workers:
        call()
        return best_of(call, repeats, at_least=SHORTEST)


def time_numpy(call: Callable[[], Any], repeats: int, setting: Setting) -> tuple[Seconds, Any]:
    """Return seconds and result."""
    call()
    return best_of(call, repeats, at_least=SHORTEST)


def time_torch(call: Callable[[], Any], repeats: int, setting: Setting) -> tuple[Seconds, Any]:
    """Return seconds and result; on the CPU with one thread or with all, whichever is faster.

    Beside other work on the machine torch's threads wait for each other, up to a thousand times too long.
    """
    import torch

    everything = torch.get_num_threads()
    measured = []
    for threads in (1, everything) if setting.device == "cpu" else (everything,):
        torch.set_num_threads(threads)
        call()
        measured.append(best_of(call, repeats, setting.finish, SHORTEST))
    return min(measured, key=lambda timed: timed[0].wall)


def as_arrays(found: Any) -> list[Array]:
    """Return what a way gave, one array or several of any library, in double precision."""
    parts = found if isinstance(found, tuple) else (found,)
    return [np.asarray(part.cpu() if hasattr(part, "cpu") else part, dtype=np.float64) for part in parts]


def difference(one: list[Array], other: list[Array]) -> float:
    """Return the largest of the parts' relative differences in norm."""
    away = [np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in zip(one, other, strict=True)]
    return float(max(away))


def described(row: dict[str, Any]) -> str:
    """Return a measurement as one line."""
    sizes = ", ".join(
        f"{row[name]:,} {name}" for name in ("views", "samples", "patterns", "clusters") if name in row
    )
    title = f"{row['kernel']}, {row['divergence']}" if "divergence" in row else row["kernel"]
    against = "; ".join(
        f"{way} {row['seconds'][way]['wall']:.3g} s ({ratio:.1f} times, differs by {row['difference'][way]:.0e})"
        for way, ratio in row["ratio"].items()
    )
    return f"{title} ({sizes}): ours {row['seconds'][OURS]['wall']:.3g} s; {against}"


def shape(text: str) -> tuple[int, int]:
    """Return views and samples from a text like 8x2000."""
    views, samples = map(int, text.split("x"))
    return views, samples


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the results as JSON")
    parser.add_argument("--shapes", type=shape, nargs="+", default=[(1000, 150), (4, 2000), (2, 4000)])
    parser.add_argument("--patterns", type=int, default=10)
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--dtype", choices=["float64", "float32"], default="float64", help="of the baselines")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="of torch")
    parser.add_argument("--repeats", type=int, default=5, help="calls, of which the least seconds count")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    has_torch = importlib.util.find_spec("torch") is not None
    if not has_torch:
        print("torch is left out: it is not installed")
    setting = Setting(arguments.dtype, arguments.device if has_torch else None, Workers())
    rows = []
    for work in measurements(
        arguments.shapes, arguments.patterns, arguments.clusters, arguments.seed, setting
    ):
        rows.append(measure(work, arguments.repeats, setting))
        print(described(rows[-1]), flush=True)
    if arguments.out:
        settings = {"dtype": arguments.dtype, "device": setting.device, "repeats": arguments.repeats}
        arguments.out.write_text(
            json.dumps({"settings": settings, "machine": machine(), "rows": rows}, indent=2) + "\n"
        )
    if not all(away < TOLERANCE for row in rows for away in row["difference"].values()):
        raise SystemExit(f"results differ by more than {TOLERANCE:g}")


if __name__ == "__main__":
    main()
