"""Measure fits to views that lack samples, beside imputation and, where it is installed, the package iMML.

Of every view a share of the samples is absent, drawn at random; each sample stays in one view at least. The model is
told nothing but which samples each view has (``join="outer"``). Beside it, absent rows are filled in by means, by
nearest neighbours or by iterated regression (scikit-learn's, on the joined views, features standardised), and the same
model is fitted to what results. The methods of iMML are told the number of clusters.

The digits are six views of 500 of the bundled images; simulations have three views of four overlapping clusters, or of
a continuum, in which any number of clusters but one is wrong.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  (scikit-learn's way to allow the next line)
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.metrics import normalized_mutual_info_score
from suite import calibration_error, match_classes

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import load_digits
from latentsimplex.inputs.named_table import NamedTable

SHARES = (0.0, 0.1, 0.3, 0.5)
SAMPLES, CLUSTERS, FEATURES, VIEWS, SEPARATION = 600, 4, 5, 3, 3.5
DIGITS = 500
REGRESSED_FEATURES = 60
"""Iterated regression takes minutes with more features than this, and is left out."""
PEERS = ("DAIMC", "EEIMVC", "IMSR", "LFIMVC", "NEMO", "OPIMC", "PIMVC", "SIMCADC")
"""Methods of iMML for incomplete views that need neither Octave nor a network, nor (as SUMO does) minutes for 200
samples."""


def simulate(seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Return views of overlapping clusters, at equal distances in each view, and the clusters."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(CLUSTERS, size=SAMPLES)
    views = []
    for _ in range(VIEWS):
        turn = np.linalg.qr(rng.normal(size=(FEATURES, FEATURES)))[0]
        centres = SEPARATION / np.sqrt(2) * turn[:CLUSTERS]
        views.append(centres[truth] + rng.normal(size=(SAMPLES, FEATURES)))
    return views, truth


def draw_digits(seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the six views of some of the bundled digits, and which digits they are."""
    digits = load_digits()
    some = np.random.default_rng(seed).permutation(len(digits.labels))[:DIGITS]
    return [np.asarray(view)[some] for view in digits.views.values()], np.asarray(digits.labels)[some]


def draw_continuum(seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Return views of a skewed continuum, three exponential factors, in which all samples are one cluster."""
    rng = np.random.default_rng(seed)
    factors = rng.exponential(size=(SAMPLES, 3))
    views = [
        factors @ rng.normal(size=(3, FEATURES)) + rng.normal(size=(SAMPLES, FEATURES)) / 2
        for _ in range(VIEWS)
    ]
    return views, np.zeros(SAMPLES, dtype=int)


DATA: dict[str, Callable[[int], tuple[list[np.ndarray], np.ndarray]]] = {
    "simulation": simulate,
    "digits": draw_digits,
    "continuum": draw_continuum,
}


def draw_presence(n_views: int, n_samples: int, share: float, seed: int) -> np.ndarray:
    """Return which samples each view has (V, n): a random share is absent, but no sample from all views."""
    rng = np.random.default_rng([seed, 1])
    present = rng.random((n_views, n_samples)) >= share
    nowhere = np.flatnonzero(~present.any(axis=0))
    present[rng.integers(n_views, size=len(nowhere)), nowhere] = True
    return present


def fit_present(views: Sequence[np.ndarray], present: np.ndarray, seed: int) -> LatentSimplexPosition:
    """Return the model fitted to the samples that each view has."""
    tables = {
        f"view{v}": NamedTable(
            X[own], [f"x{j}" for j in range(X.shape[1])], [str(i) for i in np.flatnonzero(own)]
        )
        for v, (X, own) in enumerate(zip(views, present, strict=True))
    }
    return LatentSimplexPosition(join="outer", random_state=seed).fit(tables)


def fit_imputed(
    views: Sequence[np.ndarray], present: np.ndarray, seed: int, imputer: Any
) -> LatentSimplexPosition:
    """Return the model fitted to views whose absent rows were filled in."""
    parts = []
    for X, own in zip(views, present, strict=True):
        spread = X[own].std(axis=0)
        Z = (X - X[own].mean(axis=0)) / (spread + (spread == 0))
        Z[~own] = np.nan
        parts.append(Z)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of regressions that have not converged
        filled = imputer.fit_transform(np.hstack(parts))
    ends = np.cumsum([X.shape[1] for X in views])[:-1]
    return LatentSimplexPosition(random_state=seed).fit(np.split(filled, ends, axis=1))


def score(model: LatentSimplexPosition, truth: np.ndarray) -> dict[str, Any]:
    """Return how well labels and memberships agree with the truth, samples in the order of the model."""
    W = model.memberships_[0]
    right = match_classes(W.argmax(axis=1), truth)
    return {
        "nmi": float(normalized_mutual_info_score(truth, model.labels_)),
        "calibration error": calibration_error(W.max(axis=1), right),
        "mean probability": float(W.max(axis=1).mean()),
        "clusters": int(model.n_clusters_[0]),
    }


def run_peer(name: str, views: Sequence[np.ndarray], present: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Return the labels of a method of iMML, told the number of clusters; views are standardised."""
    import pandas

    method = getattr(importlib.import_module("imml.cluster"), name)
    tables = []
    for X, own in zip(views, present, strict=True):
        spread = X[own].std(axis=0)
        Z = (X - X[own].mean(axis=0)) / (spread + (spread == 0))
        Z[~own] = np.nan
        tables.append(pandas.DataFrame(Z))
    clusterer: ClusterMixin = method(n_clusters=k, random_state=seed)
    return np.asarray(clusterer.fit_predict(tables))


def measure(data: str, share: float, seed: int, ways: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row for each way to deal with absent samples."""
    views, truth = DATA[data](seed)
    present = draw_presence(len(views), len(truth), share, seed)
    imputers = {"means": SimpleImputer(), "neighbours": KNNImputer()}
    if sum(X.shape[1] for X in views) <= REGRESSED_FEATURES:
        imputers["regression"] = IterativeImputer(random_state=seed)
    rows = []
    for way in ways:
        begun = time.perf_counter()
        if way == "absent":
            model = fit_present(views, present, seed)
            found = score(model, truth[model.sample_names_in_.astype(int)])
        elif way in imputers:
            if share == 0:
                continue
            found = score(fit_imputed(views, present, seed, imputers[way]), truth)
        elif way in PEERS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    labels = run_peer(way, views, present, len(np.unique(truth)), seed)
                except ValueError as error:  # DAIMC and others take no view of fewer features than clusters
                    print(f"{way} on {data}: {error}", flush=True)
                    continue
            found = {"nmi": float(normalized_mutual_info_score(truth, labels))}
        else:
            continue
        seconds = time.perf_counter() - begun
        rows.append({"data": data, "share": share, "seed": seed, "way": way, "seconds": seconds, **found})
        print(rows[-1], flush=True)
    return rows


def render_table(rows: Sequence[dict[str, Any]], column: str) -> str:
    """Return a table of means and standard deviations over seeds: a line for each way, a column for each share."""
    shares = sorted({row["share"] for row in rows})
    lines = [
        "| data | absent samples | " + " | ".join(f"{share:.0%}" for share in shares) + " |",
        "|---|---|" + "---|" * len(shares),
    ]
    for data, way in dict.fromkeys((row["data"], row["way"]) for row in rows):
        cells = []
        for share in shares:
            found = [
                row[column]
                for row in rows
                if (row["data"], row["way"], row["share"]) == (data, way, share) and column in row
            ]
            cells.append(f"{np.mean(found):.3f} ± {np.std(found):.3f}" if found else "")
        if any(cells):
            lines.append(f"| {data} | {way} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure all ways over seeds, print means and write the rows as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--shares", nargs="+", type=float, default=list(SHARES))
    peers = list(PEERS) if importlib.util.find_spec("imml") else []
    parser.add_argument("--ways", nargs="+", default=["absent", "means", "neighbours", "regression", *peers])
    options = parser.parse_args()
    rows = [
        row
        for data in options.data
        for share in options.shares
        for seed in range(options.seeds)
        for row in measure(data, share, seed, options.ways)
    ]
    for column in ("nmi", "calibration error", "clusters"):
        print(f"{column}\n{render_table(rows, column)}")
    options.out.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
