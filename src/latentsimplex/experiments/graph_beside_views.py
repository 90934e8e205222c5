"""Section 6, a combined loss: a graph of the samples beside the views, with a weight that is given or found."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.figure import Figure
from sklearn.cluster import SpectralClustering

from latentsimplex.datasets import Simulation, running_example
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.experiments.model import nmi
from latentsimplex.experiments.peers import peer_labels
from latentsimplex.experiments.result import Findings, Progress, Record, Repetition, mean, over_seeds, repeat
from latentsimplex.model.joint_losses import BlockModel
from latentsimplex.plots import panels, plot_heatmap

SEPARATION = 3.5
"""Standard deviations between the centres of clusters: they are found, and some samples lie between them."""
GOOD, RANDOM, OTHER = "graph of the clusters", "random graph", "graph of other communities"
GRAPHS = {GOOD: (0.1, 0.02), RANDOM: (0.05, 0.05), OTHER: (0.1, 0.02)}
"""How probable an edge is within a community, and between two."""
ALONE, GRAPH_ALONE, GIVEN, FOUND = "views alone", "graph alone", "both, weight 1", "both, weight found"
WEIGHTS = {GIVEN: 1.0, FOUND: "auto"}


@over_seeds
def run(seeds: range, say: Progress, n_samples: int = 300) -> Findings:
    """Fit the running example with graphs beside its views, one that tells of clusters and two that do not."""

    def run_seed(seed: int) -> Repetition:
        say(f"graph beside views, seed {seed}")
        data = running_example(n_samples, SEPARATION, random_state=seed)
        graphs = draw_graphs(data, seed)
        return Repetition(aim(data), measure(data, graphs, seed), partial(_draw_figures, data, graphs))

    repetitions = repeat(run_seed, seeds)
    tables = {"graph-beside-views": repetitions.compare()}
    return Findings(tables, repetitions.figures, _write_notes(repetitions.found))


def score_of(graph: str) -> str:
    """Return the name of a score."""
    return f"NMI of view 0, {graph}"


def weight_of(graph: str) -> str:
    """Return the name of a weight."""
    return f"weight, {graph}"


def draw_graphs(data: Simulation, seed: int) -> dict[str, np.ndarray]:
    """Return the adjacency of each graph: of the clusters of views 0 and 1, of chance, and of other communities."""
    rng, truth = np.random.default_rng([seed, 6]), data.labels[0]
    communities = {GOOD: truth, RANDOM: truth, OTHER: rng.permutation(truth)}
    graphs = {}
    for name, (within, between) in GRAPHS.items():
        own = communities[name]
        chance = np.where(own[:, None] == own, within, between)
        edges = np.triu(rng.random(chance.shape) < chance, 1)
        graphs[name] = (edges + edges.T).astype(float)
    return graphs


def aim(data: Simulation) -> Record:
    """Return the scores of labels that are Bayes-optimal by the views alone, and weights of 0 for useless graphs."""
    best = nmi(data.labels[0], data.bayes_labels[data.patterns[0]])
    return {
        **{score_of(name): best for name in GRAPHS},
        weight_of(GOOD): 1.0,
        **dict.fromkeys([weight_of(RANDOM), weight_of(OTHER)], 0.0),
    }


def measure(data: Simulation, graphs: dict[str, np.ndarray], seed: int) -> dict[str, Record]:
    """Return how well the clusters of views 0 and 1 are found by the views, by each graph, and by both."""
    truth = data.labels[0]
    alone = nmi(truth, LatentSimplexPosition(random_state=seed).fit(data.views).view_labels_[0])
    found: dict[str, Record] = {ALONE: {score_of(name): alone for name in graphs}}
    for name, adjacency in graphs.items():
        spectral = SpectralClustering(len(np.unique(truth)), affinity="precomputed", random_state=seed)
        found.setdefault(GRAPH_ALONE, {})[score_of(name)] = nmi(truth, peer_labels(spectral, adjacency))
        for variant, weight in WEIGHTS.items():
            joined = LatentSimplexPosition(random_state=seed).fit(
                data.views, losses=BlockModel(adjacency, weight)
            )
            assert joined.loss_weights_ is not None
            record = found.setdefault(variant, {})
            record[score_of(name)] = nmi(truth, joined.view_labels_[0])
            record[weight_of(name)] = float(joined.loss_weights_[0])
    return found


def _write_notes(found: dict[str, list[Record]]) -> list[str]:
    weights = ", ".join(f"{mean(found[FOUND], weight_of(name)):.2f} ({name})" for name in GRAPHS)
    return [
        f"The running example with centres {SEPARATION:g} standard deviations apart, and graphs whose edges are drawn "
        "pair by pair. Paper: section 6 names combined losses as future work, and gives no numbers.",
        "The ceiling is that of labels that are most probable given views 0 and 1 without a graph; with the graph of "
        "the clusters more is possible. The graph alone is clustered by spectral clustering, told the number.",
        f"Weights that were found, on average: {weights}.",
    ]


def _draw_figures(data: Simulation, graphs: dict[str, np.ndarray]) -> dict[str, Figure]:
    """Draw the graphs, samples in the order of the true clusters of view 0."""
    figure, axes = panels(1, len(graphs), 3.4, 3.4)
    for ax, (name, adjacency) in zip(axes[0], graphs.items(), strict=True):
        plot_heatmap(adjacency, data.labels[0], title=name, ax=ax)
    return {"graph-beside-views": figure}
