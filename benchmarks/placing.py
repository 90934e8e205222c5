"""Measure how new samples are placed: samples of a fit given as new, half of the digits held out, 30,000 at once.

Samples of a fit are placed by the rule for new ones. Of the digits, one half is fitted and the other half placed, and
both are compared with a fit to all of them, on the half that was held out. The probabilities of the right digit are
compared with how often they are right. Speed is that of 30,000 samples in three views of 100 features against 5,000
references, and of 50,000 new views of one feature and 100 samples, in seconds and in seconds of all processors, over
two: the latter is what two idle cores would take.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex import LatentSimplexPosition
from latentsimplex.base.threads import Workers
from latentsimplex.datasets import load_digits, many_views, running_example
from latentsimplex.placing.sample_memberships import learn_neighbourhood, place_samples
from latentsimplex.uncertainty.calibration import membership_reliability

N_CLUSTERS, SEPARATION = 12, 7.0
"""Clusters of the simulation, and the mean distance of their centres in standard deviations."""
PLACED, REFERENCES, WIDTHS = 30_000, 5_000, (100, 100, 100)
NEW_VIEWS = 50_000


class Case(NamedTuple):
    """Data of a fit, and the settings that it takes."""

    name: str
    data: Any
    settings: dict[str, Any]


def cases(seed: int) -> Iterator[Case]:
    """Yield data with one seed; the digits have one only."""
    if seed == 0:
        yield Case("digits", load_digits().views, {})
    yield Case("running example", running_example(random_state=seed).views, {})
    yield Case("12 clusters", twelve_clusters(seed), {})
    yield Case("columns as views", columns(seed), {"views": "columns"})
    yield Case("300 views", many_views(300, random_state=seed).views, {})


def twelve_clusters(seed: int) -> list[np.ndarray]:
    """Return three views of 1,500 samples in Gaussian clusters."""
    rng = np.random.default_rng(seed)
    labels, views = rng.integers(N_CLUSTERS, size=1500), []
    for p in (5, 20, 50):
        centres = rng.normal(size=(N_CLUSTERS, p))
        gaps = np.linalg.norm(centres[:, None] - centres, axis=-1)[np.triu_indices(N_CLUSTERS, 1)]
        views.append(SEPARATION / gaps.mean() * centres[labels] + rng.normal(size=(1500, p)))
    return views


def columns(seed: int) -> np.ndarray:
    """Return a table of 200 samples with 40 columns of three clusters, 30 of two others, and 30 of noise."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(3, size=200), rng.integers(2, size=200)
    table = rng.normal(size=(200, 100))
    table[:, :40] += 3.0 * (first[:, None] == rng.integers(3, size=40))
    table[:, 40:70] += 3.0 * second[:, None]
    return table


def place_again(case: Case, seed: int) -> dict[str, Any]:
    """Return how the samples of a fit are placed, given as new ones."""
    model = LatentSimplexPosition(random_state=seed, **case.settings).fit(case.data)
    gaps = [
        float(np.abs(model.predict_memberships(case.data, l) - W).mean())
        for l, W in enumerate(model.memberships_)
    ]
    labels, unlike = model.predict(case.data, return_unlike=True)
    return {
        "case": case.name,
        "seed": seed,
        "same label": float((labels == model.labels_).mean()),
        "membership difference": float(np.average(gaps, weights=model.n_clusters_ > 1)),
        "unlike": float(unlike.mean()),
    }


def hold_out(seeds: int) -> Iterator[dict[str, Any]]:
    """Yield how the digits that a fit to a random half of them did not see are placed, beside a fit to all."""
    digits = load_digits()
    everyone = LatentSimplexPosition(random_state=0).fit(digits.views)
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(digits.labels))
        seen, held = np.sort(order[:1000]), np.sort(order[1000:])
        model = LatentSimplexPosition(random_state=0).fit({name: X[seen] for name, X in digits.views.items()})
        new, truth = {name: X[held] for name, X in digits.views.items()}, digits.labels[held]
        found = {
            "all": (everyone.labels_[held], everyone.memberships_[0][held]),
            "placed": (model.predict(new), model.predict_memberships(new)),
        }
        row: dict[str, Any] = {"case": "half of the digits", "seed": seed}
        for way, (labels, W) in found.items():
            row[f"NMI, {way}"] = float(normalized_mutual_info_score(truth, labels))
            row[f"calibration error, {way}"] = membership_reliability(W, truth).expected_calibration_error
        yield row


def measure_speed() -> dict[str, Any]:
    """Return how long many samples take."""
    rng = np.random.default_rng(0)
    labels = rng.integers(10, size=REFERENCES + PLACED)
    views = [
        (rng.normal(size=(10, p))[labels] + rng.normal(size=(len(labels), p))).astype(np.float32)
        / np.sqrt(2 * p)
        for p in WIDTHS
    ]
    W = 0.95 * np.eye(10)[labels[:REFERENCES]] + 0.005
    with Workers(2) as workers:
        known = learn_neighbourhood([X[:REFERENCES] for X in views], W, W.mean(axis=0), workers)
        place_samples(known, [X[:10] for X in views], workers)  # which compiles
        start, busy = time.perf_counter(), time.process_time()
        placed = place_samples(known, [X[REFERENCES:] for X in views], workers)
    return {
        "case": "speed",
        "seconds": time.perf_counter() - start,
        "seconds of both cores": (time.process_time() - busy) / 2,
        "right": float((placed.W.argmax(axis=1) == labels[REFERENCES:]).mean()),
    }


def assign_many() -> dict[str, Any]:
    """Return how long it takes to assign many new views of one feature to patterns, and how many are right."""
    rng = np.random.default_rng(0)
    truths = [rng.integers(3, size=100), rng.integers(2, size=100)]
    kinds = rng.integers(3, size=NEW_VIEWS)  # of the first pattern, of the second, noise
    table = rng.normal(size=(100, NEW_VIEWS))
    for kind, gap in enumerate((3.0, 4.0)):
        table[:, kinds == kind] += gap * truths[kind][:, None]
    model = LatentSimplexPosition(views="columns", n_init=1, random_state=0).fit(table[:, :200])
    model.assign_views(table[:, :1000])  # which compiles
    start, busy = time.perf_counter(), time.process_time()
    found = model.assign_views(table).patterns
    wall, busy = time.perf_counter() - start, time.process_time() - busy
    pattern_of = [np.bincount(found[(kinds == kind) & (found >= 0)]).argmax() for kind in (0, 1)]
    expected = np.array([*pattern_of, -1])[kinds]
    return {
        "case": "new views",
        "seconds": wall,
        "seconds of both cores": busy / 2,
        "right": float((found == expected).mean()),
        "noise that follows a pattern": float((found[kinds == 2] >= 0).mean()),
    }


def summary(rows: list[dict[str, Any]]) -> str:
    """Return means and standard deviations over seeds, one line for each case."""
    lines = []
    for case in dict.fromkeys(row["case"] for row in rows):
        of_case = [row for row in rows if row["case"] == case]
        cells = [
            f"{name} {np.mean([row[name] for row in of_case]):.4f} ({np.std([row[name] for row in of_case]):.4f})"
            for name in of_case[0]
            if name not in ("case", "seed")
        ]
        lines.append(f"{case}, {len(of_case)} runs: " + ", ".join(cells))
    return "\n".join(lines)


def main() -> None:
    """Measure all cases over seeds, print their means and write the rows as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    rows = [measure_speed(), assign_many()]
    rows += [place_again(case, seed) for seed in range(options.seeds) for case in cases(seed)]
    rows += hold_out(options.seeds)
    print(summary(rows))
    options.out.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
