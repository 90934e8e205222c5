"""Measure the paper's experiments with its settings, the defaults and other methods, and write docs/results.md.

The page has sections between comments, each written by a command of its own, so that one can be renewed without the
others: those of a size here, that of the defaults at full size by ``bars.py``.

    python benchmarks/results_page.py --size small
    python benchmarks/results_page.py --size full --seeds 3
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.mixture import GaussianMixture

from latentsimplex.base.atomic_files import whole_file
from latentsimplex.base.checks import check_count
from latentsimplex.base.wording import count_noun
from latentsimplex.datasets import Simulation, consensus_example, many_views, running_example
from latentsimplex.experiments import consensus_example as consensus
from latentsimplex.experiments import digits, table1, views_50k
from latentsimplex.experiments import running_example as running
from latentsimplex.experiments.model import DEFAULT_SETTINGS, PAPER_SETTINGS, fit_variants, nmi
from latentsimplex.experiments.peers import concatenate, make_peers, peer_labels
from latentsimplex.experiments.result import AIM, Progress, Record, be_silent, spread
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.uncertainty.calibration import pair_deviation

PAGE = Path(__file__).parents[1] / "docs" / "results.md"
COLUMNS = ("experiment", "quantity", "paper", "`paper()`", "default", "best peer", "which peer", "ceiling")


# The experiments


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
    separations: Sequence[str]
    settings: Sequence[str]

    def describe(self, n_seeds: int) -> str:
        """Return in words what is run, and what of the full page is not."""
        n_views, n_samples, n_true, _ = self.views
        missing = [
            f"separation {x:g}" for name, x in consensus.SEPARATIONS.items() if name not in self.separations
        ]
        missing += [f"table 1 ({setting})" for setting in table1.SETTINGS if setting not in self.settings]
        return (
            f"{count_noun(n_seeds, 'seed')} with {count_noun(self.n_init, 'start')} of each fit; samples: "
            f"{self.running} in the running example, {self.consensus} in the consensus example, {self.single} in "
            f"table 1, {n_samples} in {n_views:,} views of {n_true} patterns, {self.digits:,} digits."
            f"{' Left out: ' + ', '.join(missing) + '.' if missing else ''}"
        )


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
        n_seeds=3,
        n_init=3,
        running=300,
        consensus=300,
        single=400,
        views=(2000, 150, 5, 10),
        digits=2000,
        separations=("as-stated", "separated"),
        settings="abcdef",
    ),
}

Records = Mapping[str, Record]
"""What was measured with one seed: the records of both variants, of the aim, and of peers by name."""


@dataclass(frozen=True)
class Part:
    """An experiment's rows: its name, the quantities shown, what the paper says and what to run for a seed.

    Of ``lower`` quantities the best peer has the lowest.
    """

    name: str
    quantities: Sequence[str]
    paper: Record
    run_seed: Callable[[int], Records]
    lower: Sequence[str] = ()


def list_parts(of: Size) -> list[Part]:
    """Return the experiments of the page, of a size."""
    return [
        _make_running_part(of),
        *(_make_consensus_part(of, name) for name in of.separations),
        *(_make_single_view_part(of, setting) for setting in of.settings),
        _make_many_views_part(of),
        _make_digits_part(of),
    ]


def _make_running_part(of: Size) -> Part:
    def run_seed(seed: int) -> Records:
        data = running_example(of.running, random_state=seed)
        fits = fit_variants(data.views, running.N_CLUSTERS, running.N_PATTERNS, seed, n_init=of.n_init)
        return {
            **{name: running.measure(data, model) for name, model in fits.items()},
            AIM: running.aim(data),
            **_score_peers_by_view(data, seed),
        }

    scores = [f"NMI of view {v}" for v in running.VIEWS]
    counts = [f"clusters in view {v}" for v in running.VIEWS]
    return Part("running example", [running.TOGETHER, *counts, *scores], running.PAPER, run_seed)


def _make_consensus_part(of: Size, name: str) -> Part:
    separation = consensus.SEPARATIONS[name]

    def run_seed(seed: int) -> Records:
        data = consensus_example(of.consensus, separation, random_state=seed)
        truth, features = data.labels[1], concatenate(list(data.views))
        fits = fit_variants(data.views, 10, 10, seed, n_init=of.n_init)
        return {
            **{variant: consensus.measure(data, model) for variant, model in fits.items()},
            AIM: consensus.aim(data),
            **{
                peer: {consensus.CONSENSUS_NMI: nmi(truth, peer_labels(clusterer, features))}
                for peer, clusterer in make_peers(3, seed).items()
            },
        }

    quantities = [
        consensus.NOISE_EXCLUDED,
        consensus.OTHERS_EXCLUDED,
        consensus.CONSENSUS_CLUSTERS,
        consensus.CONSENSUS_NMI,
    ]
    paper = consensus.PAPER if name == "as-stated" else {}
    return Part(f"consensus example, separation {separation:g}", quantities, paper, run_seed)


def _make_single_view_part(of: Size, setting: str) -> Part:
    def run_seed(seed: int) -> Records:
        data, _, records = table1.try_setting(setting, of.single, seed, n_init=of.n_init)
        records["Gaussian mixture"] |= _measure_mixture(data, seed)
        return records

    column = list(table1.SETTINGS).index(setting)
    deviations = [table1.MEDIAN, table1.MEAN, table1.RATIO]
    counts = [table1.FOUND] if setting in table1.LOOSE_SETTINGS else []
    paper = {
        table1.NMI: table1.PAPER[f"LSP, {PAPER_SETTINGS}"][column],
        table1.MEDIAN: table1.PAPER[f"{table1.MEDIAN}, {PAPER_SETTINGS}"][column],
    }
    quantities = [table1.NMI, *deviations, *counts]
    return Part(f"table 1 ({setting})", quantities, paper, run_seed, lower=deviations)


def _make_many_views_part(of: Size) -> Part:
    n_views, n_samples, n_true, bound = of.views

    def run_seed(seed: int) -> Records:
        data = many_views(n_views, n_samples, n_true, views_50k.TRUE_CLUSTERS, random_state=seed)
        fits = fit_variants(data.views, bound, bound, seed, n_init=of.n_init)
        ideal = {**views_50k.TRUTH, views_50k.LIVE: float(n_true)}
        return {**{name: views_50k.measure(data, model) for name, model in fits.items()}, AIM: ideal}

    shown = [views_50k.LIVE, views_50k.MATCH, views_50k.CLUSTERS, views_50k.CORRELATION, views_50k.DEVIATION]
    paper = {views_50k.LIVE: views_50k.PAPER[views_50k.LIVE]} if n_true == views_50k.TRUE_PATTERNS else {}
    return Part(f"{n_views:,} views", shown, paper, run_seed)


def _make_digits_part(of: Size) -> Part:
    def run_seed(seed: int) -> Records:
        data = digits.draw_digits(of.digits, seed)
        records: dict[str, Record] = {AIM: digits.IDEAL}
        for (method, given), score in digits.score_peers(data, seed).items():
            if given in digits.VIEWS:
                records.setdefault(method, {})[f"NMI of {given}"] = score
            else:
                records[f"{method}, {given}"] = {f"NMI of {digits.CONSENSUS}": score}
        fits = fit_variants(data.views, digits.N_CLUSTERS, digits.N_PATTERNS, seed, n_init=of.n_init)
        return {**records, **{name: digits.measure(data, model) for name, model in fits.items()}}

    paper = {f"NMI of {given}": score for given, score in digits.PAPER_LSP.items()}
    certainty = [digits.BRIER, digits.DOUBT, digits.DOUBT_HEAVIEST]
    quantities = [digits.LIVE, digits.CLUSTERS, *paper, *certainty]
    return Part("table 2, digits", quantities, {**paper, **digits.PAPER_CERTAINTY}, run_seed)


def _score_peers_by_view(data: Simulation, seed: int) -> Records:
    """Return the NMI of each peer in each view by itself, told the true number of clusters."""
    records: dict[str, Record] = {}
    for v, (view, truth) in enumerate(zip(data.views, data.labels, strict=True)):
        for name, clusterer in make_peers(len(np.unique(truth)), seed).items():
            records.setdefault(name, {})[f"NMI of view {v}"] = nmi(truth, peer_labels(clusterer, view))
    return records


def _measure_mixture(data: Simulation, seed: int) -> Record:
    """Return how far the co-assignment of a Gaussian mixture is from the oracle's, over the pairs i < j."""
    W = GaussianMixture(2, random_state=seed).fit(data.views[0]).predict_proba(data.views[0])
    found = pair_deviation(CoAssignment(W), data.oracle[0])
    return {table1.MEDIAN: found.median, table1.MEAN: found.mean}


# The page


def write_page(
    path: Path, size: str = "small", n_seeds: int | None = None, progress: Progress | None = None
) -> None:
    """Run the experiments of a size and rewrite its section of the page; the other sections stay as they are.

    Parameters
    ----------
    path : Path
        The page; made, with its folder, if missing.
    size : "small" or "full"
        A few samples, for a quick check, or as many as the paper has, which takes much longer.
    n_seeds : int or None
        Repetitions; None is 1 for a small page and 3 for a full one.
    progress : callable or None
        Called with a line before each part.
    """
    path = Path(path)
    text = path.read_text(encoding="utf-8") if path.exists() else TEMPLATE
    replace_section(text, size, "")  # a page without the markers is refused before anything is run
    body = make_section(size, n_seeds, progress)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as part:
        part.write_text(replace_section(text, size, body), encoding="utf-8")


def make_section(size: str, n_seeds: int | None = None, progress: Progress | None = None) -> str:
    """Return the section of a size: what was run, and the table in Markdown."""
    of = SIZES[size]
    seeds = range(of.n_seeds if n_seeds is None else check_count("n_seeds", n_seeds))
    rows: list[list[str]] = []
    say = progress or be_silent
    for part in list_parts(of):
        say(f"results, {size}: {part.name}")
        rows += make_rows(part, [part.run_seed(seed) for seed in seeds])
    return f"{of.describe(len(seeds))}\n\n{make_markdown(COLUMNS, rows)}"


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


def make_markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown.

    >>> print(make_markdown(["a", "b"], [["1", "2"]]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def format_mean(records: Sequence[Record], quantity: str) -> str:
    """Return the mean of a quantity over seeds, with the sd where there are several; blank if undefined.

    >>> format_mean([{"x": 1.0}, {"x": 2.0}], "x"), format_mean([{"x": 1 / 3}], "x"), format_mean([{}], "x")
    ('1.500 ± 0.707', '0.333', '')
    """
    mean, sd = spread(records, quantity)
    if mean is None:
        return ""
    return f"{mean:.3f}" if sd is None else f"{mean:.3f} ± {sd:.3f}"


def make_rows(part: Part, measured: Sequence[Records]) -> list[list[str]]:
    """Return a row of text for each quantity of an experiment."""
    ours = (PAPER_SETTINGS, DEFAULT_SETTINGS)
    names = [name for name in measured[0] if name not in (*ours, AIM)]
    rows = []
    for quantity in part.quantities:
        paper = f"{part.paper[quantity]:.3f}" if quantity in part.paper else ""
        found = [format_mean([records[name] for records in measured], quantity) for name in ours]
        peer = _find_best_peer(measured, names, quantity, lower=quantity in part.lower)
        ceiling = format_mean([records[AIM] for records in measured], quantity)
        rows.append([part.name, quantity, paper, *found, *peer, ceiling])
    return rows


def _find_best_peer(
    measured: Sequence[Records], names: Sequence[str], quantity: str, *, lower: bool
) -> tuple[str, str]:
    """Return what the best peer has, on average over seeds, and its name; blanks if none measures it."""
    means = {name: spread([records[name] for records in measured], quantity)[0] for name in names}
    # of peers that are alike up to rounding the first is shown, on any machine
    rounded = {name: round(float(mean), 3) for name, mean in means.items() if mean is not None}
    if not rounded:
        return "", ""
    best = (min if lower else max)(rounded, key=lambda name: rounded[name])
    return format_mean([records[best] for records in measured], quantity), best


TEMPLATE = """# Results

What the paper reports, what its settings (`LatentSimplexPosition.paper()`) and the defaults give here, the best
other method (peer) measured on the same data, and a ceiling that no method can beat: the truth, or the score of the
labels that are most probable under the true densities. Peers are scikit-learn's clusterers, given the true number of
clusters where they take one; where P is compared with the oracle's, a Gaussian mixture is one too. "Mean deviation
over that of hard labels" is a ratio: below 1, probabilities are closer to the oracle's than hard labels are. A blank
is a number that the paper does not give, that no peer has, or that is not defined.

## Small

Written by `benchmarks/results_page.py --size small`; the tests run it again and compare. With so few samples these
numbers show whether the code still gives the same results, not how good they are.

<!-- results:small -->
<!-- end:small -->

## Full size

Written by `benchmarks/results_page.py --size full`, which takes a quarter of an hour on two cores.

<!-- results:full -->

Not run yet for this version: what has been measured at full size is in the next section.

<!-- end:full -->

## Measured at full size

Written by `benchmarks/bars.py --render`, from runs of the default settings.

<!-- results:bars -->
<!-- end:bars -->
"""


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--size", choices=SIZES, default="small", help="few samples, or as many as the paper has"
    )
    parser.add_argument(
        "--seeds", type=int, help="repetitions; 1 for a small page and 3 for a full one unless given"
    )
    parser.add_argument("--page", type=Path, default=PAGE, help="the page; only one of its sections changes")
    arguments = parser.parse_args()
    write_page(arguments.page, arguments.size, arguments.seeds, lambda line: print(line, file=sys.stderr))
    print(f"Results, {arguments.size}: {arguments.page}")


if __name__ == "__main__":
    main()
