"""Golden fits: what a fit of each kind found, kept as files, so that no number moves unnoticed.

Only the public interface is used here, so that the same file runs on any version of the package.

    python tests/golden/fits.py                     # make all files anew (also: make golden)
    python tests/golden/fits.py --only paper bytes  # some of them
    python tests/golden/fits.py --compare           # how far this version is from the files, field by field
    python tests/golden/fits.py --into FOLDER       # make, or compare with, files elsewhere: of another version, say

Files are bit for bit the same when they are made twice on one machine. Another processor rounds differently, which
descents make larger: ``close`` of a fit is how far its probabilities may be off there.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import consensus_example, load_digits, many_views, running_example

FOLDER = Path(__file__).parent / "files"
CLOSE, FLAT, TIED = 1e-3, 1e-2, 5e-2
"""How far probabilities may differ from those of another processor. Descents of many views end where the loss is flat:
the consensus of 500 has been 0.0017 off. Features of the digits are whole numbers, so that many distances tie: rounding
decides which samples are neighbours, and temperatures differ by 0.004 of themselves."""

FIELDS = (
    "labels_",
    "pattern_labels_",
    "view_patterns_",
    "view_responsibilities_",
    "pattern_weights_",
    "n_clusters_",
    "initial_view_patterns_",
    "start_losses_",
    "start_agreement_",
    "loss_curve_",
    "expected_loss_curve_",
    "temperature_",
    "converged_",
)
"""What is kept of a fit, beside its memberships, responses and consensus."""


class Golden(NamedTuple):
    """A fit, whether it is too slow for the quick tests, and how close another processor comes to it."""

    fit: Callable[[], LatentSimplexPosition]
    slow: bool = False
    close: float = CLOSE


def model(n_clusters: int = 10, n_patterns: int = 10, **settings: Any) -> LatentSimplexPosition:
    """Return the default estimator with a seed."""
    return LatentSimplexPosition(n_clusters, n_patterns, random_state=0, **settings)


def paper(n_clusters: int, n_patterns: int, **settings: Any) -> LatentSimplexPosition:
    """Return the paper's estimator with a seed and fewer iterations."""
    return LatentSimplexPosition.paper(n_clusters, n_patterns, random_state=0, max_iter=60, **settings)


def few(n: int, separation: float = 5) -> list[np.ndarray]:
    """Return the three views of the running example."""
    return running_example(n_samples=n, separation=separation, random_state=1).views


def many(n: int, n_views: int = 500) -> np.ndarray:
    """Return views of five patterns (V, n, 2)."""
    return many_views(n_views=n_views, n_samples=n, random_state=1).views


def digits(n: int) -> dict[str, np.ndarray]:
    """Return the six views of some digits, of 6 to 240 features."""
    return {name: view[:n] for name, view in load_digits().views.items()}


def ten_views(n: int) -> list[np.ndarray]:
    """Return two views with clusters beside eight of noise, and one that is constant."""
    return [*consensus_example(n_samples=n, separation=3, random_state=1).views, np.ones((n, 2))]


def similarities(n: int) -> np.ndarray:
    """Return similarities (V, n, n) that fall with the distance."""
    distances = [np.linalg.norm(X[:, None] - X[None], axis=-1) for X in few(n)]
    return np.exp(-np.array(distances) / 3)


def fit_storing(keep: str, fitted: LatentSimplexPosition, data: Any) -> LatentSimplexPosition:
    """Return a fit that keeps pair values as one does that has little memory."""
    with patch("latentsimplex.stages.choose_storage", lambda size, budget: keep):
        return fitted.fit(data)


FITS: dict[str, Golden] = {
    **{f"few-{n}": Golden(lambda n=n: model().fit(few(n))) for n in (60, 100, 300, 600, 800)},
    **{
        f"many-{n}": Golden(lambda n=n: model(n_init=2).fit(many(n)), slow=n > 300, close=FLAT)
        for n in (60, 100, 300, 600, 800)
    },
    "digits-300": Golden(lambda: model().fit(digits(300)), close=TIED),
    "digits-900": Golden(lambda: model().fit(digits(900)), close=TIED),
    "noise": Golden(lambda: model().fit(ten_views(90))),
    "one-view": Golden(lambda: model().fit(few(150)[0])),
    "columns": Golden(lambda: model(views="columns").fit(np.hstack(few(80)))),
    "part-of-views": Golden(lambda: model(5, 2).fit(many(50, 300))),
    "paper": Golden(lambda: paper(3, 3).fit(few(60))),
    "paper-dirichlet": Golden(lambda: paper(3, 2, penalty="dirichlet").fit(few(60))),
    "paper-600": Golden(lambda: paper(3, 2, n_init=1).fit(few(600))),
    "merging": Golden(lambda: model(5, 3, penalty="group", n_init=1, max_iter=40).fit(few(60))),
    "mirror-group": Golden(lambda: paper(3, 3, optimizer="mirror").fit(few(60))),
    "no-penalty": Golden(lambda: model(3, 3, penalty=None).fit(few(60))),
    "reverse": Golden(lambda: model(4, 3, divergence="reverse", response="identity").fit(few(120))),
    "local-scaling": Golden(lambda: model(4, 3, similarity="local-scaling").fit(few(120))),
    "local-scaling-600": Golden(lambda: model(4, 3, similarity="local-scaling").fit(few(600))),
    "diffusion": Golden(lambda: model(4, 3, similarity="diffusion").fit(few(120))),
    "precomputed": Golden(lambda: model(4, 3, similarity="precomputed").fit(similarities(90))),
    "bytes": Golden(lambda: fit_storing("bytes", model(5, 4), many(100, 300))),
    "nowhere": Golden(lambda: fit_storing("nowhere", model(5, 4), many(60, 300))),
    "torch-60": Golden(lambda: model(device="torch").fit(few(60))),
    "torch-digits-300": Golden(lambda: model(device="torch").fit(digits(300)), close=TIED),
    "torch-1100": Golden(lambda: model(4, 3, device="torch", n_init=1).fit(few(1100)), slow=True),
}
"""Fits by name: of few and of many views, of few and of many samples, along every route that the code has."""


def found(fitted: LatentSimplexPosition) -> dict[str, np.ndarray]:
    """Return what a fit found, as arrays by name."""
    kept = {name: np.asarray(getattr(fitted, name)) for name in FIELDS}
    kept["consensus_weights"] = fitted.consensus_.weights
    kept["consensus_factor"] = fitted.consensus_.coassignment.factor
    for l, (W, B) in enumerate(zip(fitted.memberships_, fitted.responses_, strict=True)):
        kept |= {f"memberships_{l}": W, f"responses_{l}": B}
    return kept


def run(name: str) -> dict[str, np.ndarray]:
    """Run the fit of this name and return what it found."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the constant view
        return found(FITS[name].fit())


def read(name: str, folder: Path = FOLDER) -> dict[str, np.ndarray]:
    """Return what the fit of this name found when its file was made."""
    with np.load(folder / f"{name}.npz") as file:
        return dict(file)


def differences(now: dict[str, np.ndarray], before: dict[str, np.ndarray]) -> dict[str, float]:
    """Return the largest difference in each field that is not the same bit for bit; infinite for another shape.

    >>> differences({"a": np.zeros(2), "b": np.ones(1)}, {"a": np.zeros(2), "b": np.zeros(1)})
    {'b': 1.0}
    """
    far = {}
    for name in sorted(now.keys() | before.keys()):
        if name not in now or name not in before or now[name].shape != before[name].shape:
            far[name] = np.inf
        elif now[name].tobytes() != before[name].tobytes():
            far[name] = float(np.abs(now[name].astype(float) - before[name].astype(float)).max())
    return far


def main() -> None:
    """Make the files, or compare with them."""
    parser = argparse.ArgumentParser(description="Make golden fits, or compare this version with them.")
    parser.add_argument("--only", nargs="+", choices=FITS, default=list(FITS), metavar="NAME")
    parser.add_argument("--into", type=Path, default=FOLDER, metavar="FOLDER")
    parser.add_argument("--compare", action="store_true")
    arguments = parser.parse_args()
    arguments.into.mkdir(parents=True, exist_ok=True)
    for name in arguments.only:
        now = run(name)
        if arguments.compare:
            far = differences(now, read(name, arguments.into))
            print(f"{name}: {far or 'the same'}", flush=True)
        else:
            np.savez_compressed(arguments.into / f"{name}.npz", **now)
            print(f"{name}: {now['n_clusters_'].tolist()} clusters", flush=True)


if __name__ == "__main__":
    main()
