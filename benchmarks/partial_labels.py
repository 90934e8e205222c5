"""Measure what labels of some samples, links between samples and a graph beside the views do for a fit.

Cases: three weaker views of the digits with 1, 5 and 20 labels of each class, also with a tenth of them wrong; with 2
and 5% of all pairs linked, and of the pairs of a fifth of the samples; labels about one of three patterns; graphs and
covariates beside two views, with a weight of 1 and with one that is found; and, with ``--cora``, words and citations.
Scores are of samples that nothing was said of, where there are any. Beside the model: label spreading on all
features, standardised and each view over sqrt(p), with the better of two kernels, and pairwise constrained k-means
(Basu et al. 2004), which are told the number of classes.

    python benchmarks/partial_labels.py --draws 10 --out partial_labels.json
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import load_digits
from latentsimplex.experiments.model import nmi
from latentsimplex.model.joint_losses import BlockModel, CovariatePrior
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.uncertainty.calibration import pair_reliability

VIEWS = ("fou", "zer", "mor")
LABELS, WRONG, LINKED, PART = (1, 5, 20), 0.1, (0.02, 0.05), 0.2
SEED = 70_000
"""Draws begin here, which no test uses."""
ROUNDS = 30
Row = dict[str, Any]


def draw_labels(
    truth: np.ndarray, per_class: int, wrong: float, rng: np.random.Generator
) -> tuple[np.ndarray, ...]:
    """Return labels of some samples of each class, -1 elsewhere, and which of them are wrong."""
    classes = np.unique(truth)
    rows = np.concatenate([rng.choice(np.flatnonzero(truth == c), per_class, False) for c in classes])
    labels, is_wrong = np.full(len(truth), -1), np.zeros(len(truth), dtype=bool)
    labels[rows] = truth[rows]
    changed = rng.choice(rows, round(wrong * len(rows)), replace=False)
    labels[changed] = (labels[changed] + rng.integers(1, len(classes), len(changed))) % len(classes)
    is_wrong[changed] = True
    return labels, is_wrong


def draw_links(
    truth: np.ndarray, rows: np.ndarray, share: float, rng: np.random.Generator
) -> tuple[np.ndarray, ...]:
    """Return a share of the pairs of some samples: those together, and those apart."""
    i, j = np.triu_indices(len(rows), 1)
    chosen = rng.choice(len(i), round(share * len(i)), replace=False)
    pairs = np.column_stack([rows[i[chosen]], rows[j[chosen]]])
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    return pairs[same], pairs[~same]


def score(model: LatentSimplexPosition, truth: np.ndarray, rest: np.ndarray) -> Row:
    """Return NMI, the calibration error of pairs and the number of clusters, for some of the samples."""
    P = CoAssignment(model.coassignment().factor[rest])
    return {
        "nmi": nmi(truth[rest], model.labels_[rest]),
        "calibration error": pair_reliability(P, truth[rest]).expected_calibration_error,
        "clusters": int(model.consensus_.n_clusters),
    }


def join_features(views: dict[str, np.ndarray]) -> np.ndarray:
    """Return all features side by side, standardised, each view over sqrt(p)."""
    return np.hstack([StandardScaler().fit_transform(X) / np.sqrt(X.shape[1]) for X in views.values()])


def spread_labels(X: np.ndarray, labels: np.ndarray, truth: np.ndarray) -> float:
    """Return the NMI of the better of two label spreadings, chosen by the truth: an upper bound of either."""
    rest = labels < 0
    kernels: list[Row] = [{"kernel": "knn", "n_neighbors": 7}, {"kernel": "rbf", "gamma": 20}]
    found = [LabelSpreading(max_iter=200, **kernel).fit(X, labels).transduction_ for kernel in kernels]
    return max(nmi(truth[rest], each[rest]) for each in found)


def constrained_kmeans(
    X: np.ndarray, k: int, must: np.ndarray, cannot: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return pairwise constrained k-means (PCKmeans): centres from chunks of must-links, each broken link costs one.

    A cost of 1 is one mean squared distance to the nearest centre.
    """
    n = len(X)
    ties = (
        sparse.coo_matrix((np.ones(len(must)), (must[:, 0], must[:, 1])), shape=(n, n)) if len(must) else None
    )
    group = sparse.csgraph.connected_components(ties, directed=False)[1] if ties is not None else np.arange(n)
    largest = np.argsort(-np.bincount(group))[:k]
    centres = np.array([X[group == c].mean(axis=0) for c in largest])
    links = [sparse.coo_matrix((np.ones(len(p)), (p[:, 0], p[:, 1])), shape=(n, n)) for p in (must, cannot)]
    tied, parted = (((each + each.T) > 0).astype(float).tocsr() for each in links)
    labels = np.full(n, -1)
    for _ in range(ROUNDS):
        distances = (
            np.square(X[:, None] - centres).sum(axis=2)
            if n * k * X.shape[1] < 1e8
            else np.array([np.square(X - centre).sum(axis=1) for centre in centres]).T
        )
        scale, before = distances.min(axis=1).mean(), labels.copy()
        for i in rng.permutation(n):
            cost = distances[i] / scale
            near = labels[tied.indices[tied.indptr[i] : tied.indptr[i + 1]]]
            far = labels[parted.indices[parted.indptr[i] : parted.indptr[i + 1]]]
            cost = cost + (near >= 0).sum() - np.bincount(near[near >= 0], minlength=k)
            labels[i] = np.argmin(cost + np.bincount(far[far >= 0], minlength=k))
        if (labels == before).all():
            break
        centres = np.array(
            [X[labels == c].mean(axis=0) if (labels == c).any() else centres[c] for c in range(k)]
        )
    return labels


def fit(views: Any, n_clusters: Any = "auto", min_clusters: int = 1, **given: Any) -> LatentSimplexPosition:
    """Return the default model, told a number of clusters where one is given."""
    told = {"n_clusters": n_clusters, "min_clusters": min_clusters}
    return LatentSimplexPosition(random_state=0, **told).fit(views, **given)


def measure_labels(draws: int) -> Iterator[Row]:
    """Yield scores on digits with labels of each class, right ones and a tenth wrong."""
    digits = load_digits()
    views, truth = {name: digits.views[name] for name in VIEWS}, digits.labels
    X, everyone = join_features(views), np.ones(len(truth), dtype=bool)
    yield {"case": "no labels", "draw": 0, **score(fit(views), truth, everyone)}
    for draw in range(draws):
        for per_class, wrong in [*((k, 0.0) for k in LABELS), (LABELS[-1], WRONG)]:
            rng = np.random.default_rng([SEED, draw, per_class])
            labels, is_wrong = draw_labels(truth, per_class, wrong, rng)
            rows, rest = np.flatnonzero(labels >= 0), labels < 0
            model = fit(views, y=labels)
            first = [rows[labels[rows] == c] for c in np.unique(truth)]
            must = np.array([(own[0], each) for own in first for each in own[1:]]).reshape(-1, 2)
            apart = np.array([(a[0], b[0]) for a in first for b in first if a[0] < b[0]])
            kmeans = constrained_kmeans(X, len(first), must, apart, rng)
            yield {
                "case": f"{per_class} labels of a class" + (", a tenth wrong" if wrong else ""),
                "draw": draw,
                **score(model, truth, rest),
                "label spreading": spread_labels(X, labels, truth),
                "constrained k-means": nmi(truth[rest], kmeans[rest]),
                "AUC of doubt": roc_auc_score(is_wrong[rows], model.known_.label_doubts[rows])
                if wrong
                else None,
            }


def measure_links(draws: int) -> Iterator[Row]:
    """Yield scores on digits with a share of pairs linked: of all samples, and of a fifth of them."""
    digits = load_digits()
    views, truth = {name: digits.views[name] for name in VIEWS}, digits.labels
    X, n = join_features(views), len(truth)
    for draw in range(draws):
        for share in LINKED:
            for part in (1.0, PART):
                rng = np.random.default_rng([SEED, draw, round(100 * share), round(100 * part)])
                rows = np.sort(rng.choice(n, round(part * n), replace=False))
                must, cannot = draw_links(truth, rows, share, rng)
                rest = np.ones(n, dtype=bool) if part == 1 else ~np.isin(np.arange(n), rows)
                model = fit(views, must_link=must, cannot_link=cannot)
                kmeans = constrained_kmeans(X, len(np.unique(truth)), must, cannot, rng)
                yield {
                    "case": f"{share:.0%} of pairs of {'all samples' if part == 1 else 'a fifth of the samples'}",
                    "draw": draw,
                    **score(model, truth, rest),
                    "constrained k-means": nmi(truth[rest], kmeans[rest]),
                }


def measure_patterns(draws: int) -> Iterator[Row]:
    """Yield whether labels about one of three patterns name it, and leave the others as they were."""
    n, centres = 240, np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])
    for draw in range(draws):
        rng = np.random.default_rng([SEED, draw])
        patterns, spoken = [rng.integers(3, size=n) for _ in range(3)], draw % 3
        views = [centres[own] + rng.normal(size=(n, 2)) for own in patterns for _ in range(2)]
        labels, _ = draw_labels(patterns[spoken], LABELS[1], 0.0, rng)
        alone, model = fit(views), fit(views, y=labels)
        others = [v for v in range(len(views)) if v // 2 != spoken]
        same = (np.array_equal(alone.view_labels_[v], model.view_labels_[v]) for v in others)
        yield {
            "case": "labels about one of three patterns",
            "draw": draw,
            "named": model.known_.pattern == model.view_patterns_[2 * spoken],
            "others unchanged": all(same),
        }


def draw_graph(
    communities: np.ndarray, within: float, between: float, rng: np.random.Generator
) -> np.ndarray:
    """Return the adjacency of a graph with so many edges within communities and between them."""
    edges = np.triu(
        rng.random((len(communities),) * 2) < np.where(communities[:, None] == communities, within, between),
        1,
    )
    return (edges + edges.T).astype(float)


def measure_weights(draws: int) -> Iterator[Row]:
    """Yield scores of two views of three clusters with a graph, or covariates, that tell of the clusters or do not."""
    n, centres = 240, 3.0 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    everyone = np.ones(n, dtype=bool)
    for draw in range(draws):
        rng = np.random.default_rng([SEED, draw, n])
        truth, other = rng.integers(3, size=(2, n))
        views = [centres[truth] + rng.normal(size=(n, 2)) for _ in range(2)]
        shift = np.array([-1.0, 0.0, 1.0])[truth]
        beside: dict[str, tuple[Any, Any]] = {
            "graph of the clusters": (BlockModel, draw_graph(truth, 0.1, 0.02, rng)),
            "faint graph of the clusters": (BlockModel, draw_graph(truth, 0.06, 0.03, rng)),
            "random graph": (BlockModel, draw_graph(truth, 0.05, 0.05, rng)),
            "graph of other communities": (BlockModel, draw_graph(other, 0.2, 0.02, rng)),
            "covariate of the clusters": (CovariatePrior, shift + 0.5 * rng.normal(size=n)),
            "five covariates of noise": (CovariatePrior, rng.normal(size=(n, 5))),
        }
        alone = fit(views, n_clusters=3, min_clusters=3)
        yield {"case": "views alone", "draw": draw, **score(alone, truth, everyone)}
        for name, (loss, told) in beside.items():
            for weight in (1.0, "auto"):
                model = fit(views, n_clusters=3, min_clusters=3, losses=loss(told, weight=weight))
                found = {"weight": model.loss_weights_[0], **score(model, truth, everyone)}
                yield {"case": f"{name}, weight {weight}", "draw": draw, **found}


def measure_cora(path: Path) -> Iterator[Row]:
    """Yield scores on Cora: words, citations as a table, both as views, and words with citations as a graph."""
    with np.load(path, allow_pickle=False) as data:
        arrays = {name: data[name] for name in data.files}
    truth = np.unique(arrays.pop("y"), return_inverse=True)[1]
    graph, words = arrays["view00"], arrays["view01"]
    everyone = np.ones(len(truth), dtype=bool)
    ways = {
        "words": (words, {}),
        "citations": (graph, {}),
        "both as views": ({"words": words, "citations": graph}, {}),
    }
    for weight in (1.0, "auto"):
        ways[f"words, citations as a graph, weight {weight}"] = (words, {"losses": BlockModel(graph, weight)})
    for name, (views, given) in ways.items():
        model = fit(views, **given)
        weights = {} if model.loss_weights_ is None else {"weight": model.loss_weights_[0]}
        yield {"case": f"Cora: {name}", "draw": 0, **weights, **score(model, truth, everyone)}


def summarise(rows: list[Row]) -> str:
    """Return a table of means over draws, with standard deviations."""
    names = list(dict.fromkeys(name for row in rows for name in row if name not in ("case", "draw")))
    lines = ["| case | draws | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    for case in dict.fromkeys(row["case"] for row in rows):
        own = [row for row in rows if row["case"] == case]
        cells = []
        for name in names:
            values = [float(row[name]) for row in own if row.get(name) is not None]
            cells.append(f"{np.mean(values):.3f} ± {np.std(values):.3f}" if values else "")
        lines.append(f"| {case} | {len(own)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print means over draws and write the rows as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--cases", nargs="+", default=["labels", "links", "patterns", "weights"])
    parser.add_argument("--cora", type=Path, help="A file with citations view00, words view01 and classes y.")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="sklearn")
    measures = {
        "labels": measure_labels,
        "links": measure_links,
        "patterns": measure_patterns,
        "weights": measure_weights,
    }
    rows: list[Row] = []
    for case in options.cases:
        for row in measures[case](options.draws):
            rows.append(row)
            options.out.write_text(json.dumps(rows, indent=2, default=float))
    if options.cora is not None:
        rows += measure_cora(options.cora)
        options.out.write_text(json.dumps(rows, indent=2, default=float))
    print(summarise(rows))


if __name__ == "__main__":
    main()
