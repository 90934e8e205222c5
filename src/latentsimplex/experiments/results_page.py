"""One page of results: the paper's numbers, ours with its settings and by default, a peer's and the ceiling.

The page has sections between comments, each written by a command of its own, so that one can be renewed
without the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.mixture import GaussianMixture

from latentsimplex._types import Array
from latentsimplex.compute.pairs import pack
from latentsimplex.datasets import Simulation, consensus_example, many_views, running_example, single_view
from latentsimplex.experiments import consensus_example as consensus
from latentsimplex.experiments import digits, table1, views_50k
from latentsimplex.experiments import running_example as running
from latentsimplex.experiments.model import DEFAULT_SETTINGS, PAPER_SETTINGS, VARIANTS, nmi
from latentsimplex.experiments.peers import concatenated, peer_labels, peers
from latentsimplex.experiments.result import Progress
from latentsimplex.experiments.seeds import Record, seeds, spread
from latentsimplex.report.words import count

CEILING, PEER = "ceiling", "best peer"
COLUMNS = ("experiment", "quantity", "paper", "`paper()`", "default", PEER, "which peer", CEILING)

ALL_SEPARATIONS = tuple(consensus.SEPARATIONS)


@dataclass(frozen=True)
class Size:
    """How large the experiments are: samples of each, and what else makes them quick or complete."""

    n_seeds: int
    n_init: int
    running: int
    consensus: int
    single: int
    views: tuple[int, int, int, int]
    """Views, samples, true patterns and the bound on patterns."""
    digits: int
    separations: Sequence[str] = ALL_SEPARATIONS
    settings: Sequence[str] = tuple(table1.SETTINGS)


SIZES = {
    "small": Size(
        n_seeds=1,
        n_init=1,
        running=100,
        consensus=50,
        single=80,
        views=(16, 100, 2, 4),
        digits=100,
        separations=("separated",),
        settings="bdf",
    ),
    "full": Size(
        n_seeds=3, n_init=3, running=300, consensus=300, single=400, views=(2000, 150, 5, 10), digits=2000
    ),
}

Trial = Mapping[str, Record]
"""What was measured with one seed: the records of both variants, of the ceiling, and of peers by name."""


@dataclass(frozen=True)
class Part:
    """An experiment's rows: its name, the quantities shown, what the paper says and what to run for a seed.

    Of ``lower`` quantities the best peer has the lowest.
    """

    name: str
    quantities: Sequence[str]
    paper: Record
    trial: Callable[[int], Trial]
    lower: Sequence[str] = ()


def write_page(
    path: Path, size: str = "small", n_seeds: int | None = None, progress: Progress | None = None
) -> None:
    """Run the experiments of a size and rewrite its section of the page; the other sections stay as they are.

    Parameters
    ----------
    path : Path
        The page; made, with its folder, if missing.
    size : "small" or "full"
        A few samples, for a check in half a minute, or the paper's numbers of them, for a quarter of an hour.
    n_seeds : int or None
        Repetitions; None is 1 for a small page and 3 for a full one.
    progress : callable or None
        Called with a line before each part.
    """
    path = Path(path)
    text = path.read_text(encoding="utf-8") if path.exists() else TEMPLATE
    replace_section(text, size, "")  # a page without the markers is refused before anything is run
    body = section(size, n_seeds, progress)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(replace_section(text, size, body), encoding="utf-8")


def section(size: str, n_seeds: int | None = None, progress: Progress | None = None) -> str:
    """Return the section of a size: what was run, and the table in Markdown."""
    of = SIZES[size]
    chosen = seeds(of.n_seeds if n_seeds is None else n_seeds)
    rows: list[list[str]] = []
    for part in parts(of):
        if progress is not None:
            progress(f"results, {size}: {part.name}")
        rows += part_rows(part, [part.trial(seed) for seed in chosen])
    return f"{_sizes_in_words(of, len(chosen))}\n\n{markdown(COLUMNS, rows)}"


def replace_section(text: str, name: str, body: str) -> str:
    """Return a page with other text between the markers of a section.

    >>> replace_section("a <!-- results:x -->old<!-- end:x --> b", "x", "new")
    'a <!-- results:x -->\\n\\nnew\\n\\n<!-- end:x --> b'
    """
    before, begin, rest = text.partition(f"<!-- results:{name} -->")
    _, end, after = rest.partition(f"<!-- end:{name} -->")
    if not end:
        raise ValueError(
            f"The page has no section between <!-- results:{name} --> and <!-- end:{name} -->: "
            "put the two comments where it should be, or name a page that does not exist."
        )
    return f"{before}{begin}\n\n{body.strip()}\n\n{end}{after}"


def section_of(text: str, name: str) -> str:
    """Return what is between the markers of a section.

    >>> section_of("a <!-- results:x --> here <!-- end:x --> b", "x")
    'here'
    """
    return text.partition(f"<!-- results:{name} -->")[2].partition(f"<!-- end:{name} -->")[0].strip()


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown.

    >>> print(markdown(["a", "b"], [["1", "2"]]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def number(records: Sequence[Record], quantity: str) -> str:
    """Return the mean of a quantity over seeds, with the sd where there are several; blank if undefined.

    >>> number([{"x": 1.0}, {"x": 2.0}], "x"), number([{"x": 1 / 3}], "x"), number([{}], "x")
    ('1.500 ± 0.707', '0.333', '')
    """
    mean, sd = spread(records, quantity)
    if mean is None:
        return ""
    return f"{mean:.3f}" if sd is None else f"{mean:.3f} ± {sd:.3f}"


def part_rows(part: Part, trials: Sequence[Trial]) -> list[list[str]]:
    """Return a row of text for each quantity of an experiment."""
    ours = (PAPER_SETTINGS, DEFAULT_SETTINGS)
    names = [name for name in trials[0] if name not in (*ours, CEILING)]
    rows = []
    for quantity in part.quantities:
        paper = f"{part.paper[quantity]:.3f}" if quantity in part.paper else ""
        found = [number([trial[name] for trial in trials], quantity) for name in ours]
        peer = _best_peer(trials, names, quantity, lower=quantity in part.lower)
        ceiling = number([trial[CEILING] for trial in trials], quantity)
        rows.append([part.name, quantity, paper, *found, *peer, ceiling])
    return rows


def _best_peer(
    trials: Sequence[Trial], names: Sequence[str], quantity: str, *, lower: bool
) -> tuple[str, str]:
    """Return what the best peer has, on average over seeds, and its name; blanks if none measures it."""
    means = {name: spread([trial[name] for trial in trials], quantity)[0] for name in names}
    # of peers that are alike up to rounding the first is shown, on any machine
    rounded = {name: round(float(mean), 3) for name, mean in means.items() if mean is not None}
    if not rounded:
        return "", ""
    best = (min if lower else max)(rounded, key=lambda name: rounded[name])
    return number([trial[best] for trial in trials], quantity), best


def parts(of: Size) -> list[Part]:
    """Return the experiments of the page, of a size."""
    return [
        _running(of),
        *(_consensus(of, name) for name in of.separations),
        *(_single(of, setting) for setting in of.settings),
        _many_views(of),
        _digits(of),
    ]


def _running(of: Size) -> Part:
    def trial(seed: int) -> Trial:
        data = running_example(of.running, random_state=seed)
        return {
            **_fits(data, running.N_CLUSTERS, running.N_PATTERNS, seed, of, running.measure),
            CEILING: running.aim(data),
            **_peers_by_view(data, seed),
        }

    scores = [f"NMI of view {v + 1}" for v in running.VIEWS]
    counts = [f"clusters in view {v + 1}" for v in running.VIEWS]
    return Part("running example", [running.TOGETHER, *counts, *scores], running.PAPER, trial)


def _consensus(of: Size, name: str) -> Part:
    separation = consensus.SEPARATIONS[name]

    def trial(seed: int) -> Trial:
        data = consensus_example(of.consensus, separation, random_state=seed)
        truth, features = data.labels[1], concatenated(list(data.views))
        return {
            **_fits(data, 10, 10, seed, of, consensus.measure),
            CEILING: consensus.aim(data),
            **{
                peer: {consensus.CONSENSUS_NMI: nmi(truth, peer_labels(clusterer, features))}
                for peer, clusterer in peers(3, seed).items()
            },
        }

    quantities = [
        consensus.NOISE_EXCLUDED,
        consensus.OTHERS_EXCLUDED,
        consensus.CONSENSUS_CLUSTERS,
        consensus.CONSENSUS_NMI,
    ]
    paper = consensus.PAPER if name == "as-stated" else {}
    return Part(f"consensus example, separation {separation:g}", quantities, paper, trial)


def _single(of: Size, setting: str) -> Part:
    score, found = "NMI", f"clusters found, g={table1.LOOSE}"
    column = list(table1.SETTINGS).index(setting)

    def trial(seed: int) -> Trial:
        data = single_view(setting, of.single, random_state=seed)
        view, truth = data.views[0], data.labels[0]
        records: dict[str, dict[str, float]] = {
            peer: {score: nmi(truth, peer_labels(clusterer, view))}
            for peer, clusterer in peers(2, seed).items()
        }
        records["Gaussian mixture"] |= _mixture_deviations(data, seed)
        for name, fit in VARIANTS.items():
            model = fit(data.views, 2, 1, seed, n_init=of.n_init)
            records[name] = {score: nmi(truth, model.view_labels_[0]), **table1.deviations_of(data, model)}
            if setting in table1.LOOSE_SETTINGS:
                loose = fit(data.views, table1.LOOSE, 1, seed, n_init=of.n_init)
                records[name][found] = float(loose.n_clusters_[0])
        ideal = {score: nmi(truth, data.bayes_labels[0]), found: 2.0, table1.MEDIAN: 0.0, table1.MEAN: 0.0}
        return {**records, CEILING: ideal}

    deviations = [table1.MEDIAN, table1.MEAN, table1.RATIO]
    counted = [found] if setting in table1.LOOSE_SETTINGS else []
    paper = {
        score: table1.PAPER_NMI[f"LSP, {PAPER_SETTINGS}"][column],
        table1.MEDIAN: table1.PAPER_DEVIATION[f"{table1.MEDIAN}, {PAPER_SETTINGS}"][column],
    }
    return Part(f"table 1 ({setting})", [score, *deviations, *counted], paper, trial, lower=deviations)


def _many_views(of: Size) -> Part:
    n_views, n_samples, n_true, bound = of.views

    def trial(seed: int) -> Trial:
        data = many_views(n_views, n_samples, n_true, views_50k.TRUE_CLUSTERS, random_state=seed)
        ideal = {**views_50k.TRUTH, views_50k.LIVE: float(n_true)}
        return {**_fits(data, bound, bound, seed, of, views_50k.measure), CEILING: ideal}

    shown = [views_50k.LIVE, views_50k.MATCH, views_50k.CLUSTERS, views_50k.CORRELATION, views_50k.DEVIATION]
    paper = {views_50k.LIVE: views_50k.PAPER[views_50k.LIVE]} if n_true == views_50k.TRUE_PATTERNS else {}
    return Part(f"{n_views:,} views", shown, paper, trial)


def _digits(of: Size) -> Part:
    def trial(seed: int) -> Trial:
        data = digits.draw_digits(of.digits, seed)
        records: dict[str, dict[str, float]] = {CEILING: dict(digits.IDEAL)}
        for (method, given), score in digits.score_peers(data, seed).items():
            single = given in digits.VIEWS
            name = method if single else f"{method}, {given}"
            records.setdefault(name, {})[f"NMI of {given if single else digits.CONSENSUS}"] = score
        for name, fit in VARIANTS.items():
            model = fit(data.views, digits.N_CLUSTERS, digits.N_PATTERNS, seed, n_init=of.n_init)
            scores = digits.score_views(data, model, name)
            records[name] = {f"NMI of {given}": score for (_, given), score in scores.items()}
            records[name] |= digits.certainty_of(data, model)
        return records

    scores = [f"NMI of {given}" for given in (*digits.VIEWS, digits.CONSENSUS)]
    paper = {
        **dict(zip(scores, digits.PAPER_LSP, strict=True)),
        digits.LIVE: digits.PAPER_CERTAINTY[digits.LIVE],
    }
    certainty = [digits.BRIER, digits.DOUBT, digits.DOUBT_HEAVIEST]
    return Part("table 2, digits", [digits.LIVE, digits.CLUSTERS, *scores, *certainty], paper, trial)


def _fits(
    data: Simulation,
    n_clusters: int,
    n_patterns: int,
    seed: int,
    of: Size,
    measure: Callable[..., Record],
) -> Trial:
    """Return what is measured of each variant's fit."""
    return {
        name: measure(data, fit(data.views, n_clusters, n_patterns, seed, n_init=of.n_init))
        for name, fit in VARIANTS.items()
    }


def _peers_by_view(data: Simulation, seed: int) -> Trial:
    """Return the NMI of each peer in each view by itself, told the true number of clusters."""
    records: dict[str, dict[str, float]] = {}
    for v, (view, truth) in enumerate(zip(data.views, data.labels, strict=True)):
        for name, clusterer in peers(len(np.unique(truth)), seed).items():
            records.setdefault(name, {})[f"NMI of view {v + 1}"] = nmi(truth, peer_labels(clusterer, view))
    return records


def _mixture_deviations(data: Simulation, seed: int) -> Record:
    """Return how far the co-assignment of a Gaussian mixture is from the oracle's, over the pairs i < j."""
    W: Array = GaussianMixture(2, random_state=seed).fit(data.views[0]).predict_proba(data.views[0])
    deviation = np.abs(pack(W @ W.T) - pack(data.coassignment()))
    return {table1.MEDIAN: float(np.median(deviation)), table1.MEAN: float(deviation.mean())}


def _sizes_in_words(of: Size, n_seeds: int) -> str:
    n_views, n_samples, n_true, _ = of.views
    missing = [f"separation {x:g}" for name, x in consensus.SEPARATIONS.items() if name not in of.separations]
    missing += [f"table 1 ({setting})" for setting in table1.SETTINGS if setting not in of.settings]
    return (
        f"{count(n_seeds, 'seed')} with {count(of.n_init, 'start')} of each fit; samples: {of.running} in the "
        f"running example, {of.consensus} in the consensus example, {of.single} in table 1, {n_samples} in "
        f"{n_views:,} views of {n_true} patterns, {of.digits:,} digits."
        f"{' Left out: ' + ', '.join(missing) + '.' if missing else ''}"
    )


TEMPLATE = """# Results

What the paper says, what its settings (`LatentSimplexPosition.paper()`) and the defaults do here, the best peer
measured on the same data, and what no method can beat: the truth, or the score of the labels that are most
probable under the true densities. Peers are scikit-learn's clusterers, told the true number of clusters where
they take one; deviations of P from the oracle are also those of a Gaussian mixture. A blank is a number that
the paper does not give, that no peer has, or that is not defined.

## Small

Written by `latentsimplex results --size small`; the tests run the same again and compare. So few samples say
whether the code still does what it did, not how good it is.

<!-- results:small -->
<!-- end:small -->

## Full size

Written by `latentsimplex results --size full`, which takes a quarter of an hour on two cores.

<!-- results:full -->

Not run yet for this version: what has been measured at full size is in the next section.

<!-- end:full -->

## Measured at full size

Written by `benchmarks/bars.py --render`, from runs of the default settings.

<!-- results:bars -->
<!-- end:bars -->
"""
