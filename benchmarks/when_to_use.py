"""Score the default fit beside other ways to cluster, on data that suit one or the other: docs/when_to_use.md.

Normalised mutual information with the truth, mean and standard deviation over seeds. A seed draws the data (the
samples, where data are real) and starts the methods. MOFA+ is left out where mofapy2 is not installed.

    python benchmarks/when_to_use.py --page docs/when_to_use.md
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.util
import io
import json
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from baselines.clock import machine
from baselines.network_fusion import fuse_networks
from results_page import make_markdown, replace_section
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from latentsimplex import LatentSimplexPosition, __version__
from latentsimplex.base.types import Array
from latentsimplex.datasets import (
    consensus_example,
    load_digits,
    load_leukaemia,
    running_example,
    single_view,
)
from latentsimplex.experiments.model import nmi
from latentsimplex.experiments.peers import (
    concatenate,
    peer_labels,
    spectral_of_neighbours,
    spectral_of_similarity,
)
from latentsimplex.experiments.result import spread

MOST_COMPONENTS = 10
"""Of the mixture; the default bound of ours too."""
WIDE = 20
"""Features beyond which a mixture's covariances are diagonal."""
N_FACTORS = 10
"""Of MOFA+, and half as many as there are features at most."""
MOST_TABLES = 100
"""Views that are given to MOFA+, which is for a few tables."""
PATIENTS = 110
"""Of the 128, drawn by each seed."""


class Question(NamedTuple):
    """A clustering that is to be found.

    Ours gives one for each view: ``scored`` is the view whose labels are compared, None the consensus, "best" the
    pattern that is nearest to the truth.
    """

    name: str
    truth: np.ndarray
    scored: int | str | None = None


class Case(NamedTuple):
    """Views of some samples, and what is asked about them."""

    views: list[Array]
    questions: list[Question]


def draw_cases(seed: int, n_samples: int) -> Iterator[Case]:
    """Yield the data of a seed."""
    yield from single_tables(seed, n_samples)
    run = running_example(n_samples, random_state=seed)
    yield Case(
        run.views,
        [
            Question("running example, three views: the clusters of views 0 and 1", run.labels[0], 0),
            Question("the same views: the clusters of view 2", run.labels[2], 2),
        ],
    )
    yield Case([run.views[2]], [Question("view 2 by itself", run.labels[2])])
    both = consensus_example(n_samples, separation=3, random_state=seed)
    yield Case(
        both.views, [Question("consensus example: two views with clusters, eight of noise", both.labels[1])]
    )
    digits = load_digits(random_state=seed)
    n = 5 * n_samples // 3
    yield Case(
        [view[:n] for view in digits.views.values()], [Question(f"{n} digits, six views", digits.labels[:n])]
    )
    yield from patients(seed)


def single_tables(seed: int, n_samples: int) -> Iterator[Case]:
    """Yield tables with one view: round clusters apart and touching, a rare group, crescents."""
    angles = 2 * math.pi * np.arange(5) / 5
    ring = 3.5 / math.sin(math.pi / 5) * np.column_stack([np.cos(angles), np.sin(angles)])
    touching = single_view("c", n_samples, random_state=seed)
    sizes = [n_samples - n_samples // 10, n_samples // 10]
    tables = {
        "five round clusters, 7 sd apart": make_blobs(n_samples, centers=ring, random_state=seed),
        "two round clusters that touch, 2.8 sd apart": (touching.views[0], touching.labels[0]),
        "one sample in ten 6 sd away": make_blobs(sizes, centers=[[0, 0], [6, 0]], random_state=seed),
        "two crescents": make_moons(n_samples, noise=0.06, random_state=seed),
    }
    for name, (table, truth) in tables.items():
        yield Case([table], [Question(name, truth)])


def patients(seed: int) -> Iterator[Case]:
    """Yield the leukaemia data: 1,000 genes as one table, and every second gene as a view."""
    leukaemia = load_leukaemia()
    known = leukaemia.covariates
    drawn = np.random.default_rng(seed).permutation(np.flatnonzero(known["sex"] != ""))[:PATIENTS]
    cells = np.array([stage[0] for stage in known["BT"]])[drawn]
    expression = leukaemia.expression[drawn]
    yield Case([expression], [Question("leukaemia, 1,000 genes as one table: B or T cells", cells)])
    yield Case(
        list(expression[:, ::2].T[:, :, None]),
        [
            Question("leukaemia, 500 genes as views: B or T cells, consensus", cells),
            Question("the same: B or T cells, best pattern", cells, "best"),
            Question("the same: sex, best pattern", known["sex"][drawn], "best"),
        ],
    )


def answer(model: LatentSimplexPosition, question: Question) -> np.ndarray:
    """Return the labels of ours that a question is about."""
    if question.scored is None:
        return model.labels_
    if question.scored == "best":
        return max(model.pattern_labels_, key=lambda labels: nmi(question.truth, labels))
    return model.view_labels_[question.scored]


def kmeans(views: list[Array], k: int, seed: int) -> np.ndarray:
    """Return k-means of all standardised features, views weighing the same."""
    return peer_labels(KMeans(k, n_init=10, random_state=seed), concatenate(views, balanced=True))


def mixture(views: list[Array], k: int, seed: int) -> np.ndarray:
    """Return the Gaussian mixture that the Bayesian information criterion prefers, of the same features."""
    joined = concatenate(views, balanced=True)
    kind = "full" if joined.shape[1] <= WIDE else "diag"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of starts that have not converged
        fits = [
            GaussianMixture(m, covariance_type=kind, n_init=2, random_state=seed).fit(joined)
            for m in range(1, MOST_COMPONENTS + 1)
        ]
    return min(fits, key=lambda fit: fit.bic(joined)).predict(joined)


def spectral(views: list[Array], k: int, seed: int) -> np.ndarray:
    """Return spectral clustering of the graph of ten neighbours, by the same features."""
    return peer_labels(spectral_of_neighbours(k, seed), concatenate(views, balanced=True))


def hdbscan(views: list[Array], k: int, seed: int) -> np.ndarray:
    """Return HDBSCAN's clusters of the same features, and its noise as one more."""
    return peer_labels(HDBSCAN(copy=True), concatenate(views, balanced=True))


def fusion(views: list[Array], k: int, seed: int) -> np.ndarray | None:
    """Return spectral clustering of fused networks; None where there is one view."""
    if len(views) == 1:
        return None
    network = fuse_networks([StandardScaler().fit_transform(view) for view in views])
    return peer_labels(spectral_of_similarity(k, seed), network)


def factors(views: list[Array], k: int, seed: int) -> np.ndarray | None:
    """Return k-means of MOFA+'s factors; None where there is one view, or each gene is one."""
    if len(views) == 1 or len(views) > MOST_TABLES:
        return None
    from mofapy2.run.entry_point import entry_point

    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = entry_point()
        run.set_data_options(scale_views=True)
        run.set_data_matrix([[view] for view in views])
        run.set_model_options(factors=min(N_FACTORS, sum(view.shape[1] for view in views) // 2))
        run.set_train_options(seed=seed, quiet=True, verbose=False)
        run.build()
        run.run()
        found = run.model.nodes["Z"].getExpectation()
    return peer_labels(KMeans(k, n_init=10, random_state=seed), found)


OURS, MOFA = "latentsimplex", "MOFA+, then k-means, k given"
PEERS: dict[str, Callable[[list[Array], int, int], np.ndarray | None]] = {
    "HDBSCAN": hdbscan,
    "mixture, BIC": mixture,
    "k-means, k given": kmeans,
    "spectral, k given": spectral,
    "SNF, k given": fusion,
    MOFA: factors,
}


def measure(seeds: Sequence[int], n_samples: int) -> list[dict[str, Any]]:
    """Return a record of each question, way and seed: clusters and NMI."""
    ways = dict(PEERS)
    if importlib.util.find_spec("mofapy2") is None:
        del ways[MOFA]
        print("MOFA+ is left out because mofapy2 is not installed: pip install --no-deps mofapy2 h5py")
    records = []
    for seed in seeds:
        for case in draw_cases(seed, n_samples):
            model = LatentSimplexPosition(random_state=seed).fit(case.views)
            counts = {count(question.truth) for question in case.questions}
            found = {(way, k): ways[way](case.views, k, seed) for way in ways for k in counts}
            for question in case.questions:
                true = count(question.truth)
                labels = {OURS: answer(model, question)} | {way: found[way, true] for way in ways}
                records += [
                    {
                        "data": question.name,
                        "way": way,
                        "seed": seed,
                        "true": true,
                        "clusters": count(given),
                        "nmi": nmi(question.truth, given),
                    }
                    for way, given in labels.items()
                    if given is not None
                ]
    return records


def count(labels: np.ndarray) -> int:
    """Return the number of clusters."""
    return len(np.unique(labels))


def make_table(records: Sequence[dict[str, Any]]) -> str:
    """Return the table of the page: a row for each question, a column for each way, the best scores in bold."""
    ways = [way for way in (OURS, *PEERS) if any(record["way"] == way for record in records)]
    rows = []
    for data in dict.fromkeys(record["data"] for record in records):
        cells = {way: [r for r in records if (r["data"], r["way"]) == (data, way)] for way in ways}
        found = sorted({record["clusters"] for record in cells[OURS]})
        true = cells[OURS][0]["true"]
        scores = {way: spread(runs, "nmi") for way, runs in cells.items()}
        best = max(round(mean, 2) for mean, _ in scores.values() if mean is not None)
        rows.append([data, str(true), listed(found), *(shown(*score, best) for score in scores.values())])
    return make_markdown(["data", "clusters", "found by latentsimplex", *ways], rows)


def listed(counts: Sequence[int]) -> str:
    """Return the numbers of clusters that were found, from the least to the largest."""
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def shown(mean: float | None, sd: float | None, best: float) -> str:
    """Return a score with its spread, bold where it is the best of its row, blank where there is none."""
    if mean is None:
        return ""
    text = f"{mean:.2f}" if sd is None else f"{mean:.2f} ± {sd:.2f}"
    return f"**{text}**" if round(mean, 2) == best else text


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the results as JSON")
    parser.add_argument("--page", type=Path, help="the page whose table is to be written")
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    with threadpool_limits(1):  # where other work is done, threads of small products wait for one another
        records = measure(range(arguments.seeds), arguments.samples)
    table = make_table(records)
    print(table)
    if arguments.page:
        said = f"Version {__version__}, {datetime.date.today()}, seeds 0 to {arguments.seeds - 1}."
        text = arguments.page.read_text(encoding="utf-8")
        arguments.page.write_text(replace_section(text, "when", f"{said}\n\n{table}"), encoding="utf-8")
    if arguments.out:
        settings = {"samples": arguments.samples, "seeds": arguments.seeds}
        report = {"settings": settings, "machine": machine(), "measured": records}
        arguments.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
