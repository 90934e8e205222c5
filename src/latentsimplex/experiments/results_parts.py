"""The experiments of the page of results: of what size, which quantities, and what is run for a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.mixture import GaussianMixture

from latentsimplex.base.wording import count_noun
from latentsimplex.datasets import Simulation, consensus_example, many_views, running_example
from latentsimplex.experiments import consensus_example as consensus
from latentsimplex.experiments import digits, table1, views_50k
from latentsimplex.experiments import running_example as running
from latentsimplex.experiments.model import PAPER_SETTINGS, fit_variants, nmi
from latentsimplex.experiments.peers import concatenate, make_peers, peer_labels
from latentsimplex.experiments.result import AIM, Record
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.uncertainty.calibration import pair_deviation


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
