"""Section 6, a combined loss: labels of some samples, against none and against label spreading."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.figure import Figure
from sklearn.metrics import roc_auc_score
from sklearn.semi_supervised import LabelSpreading

from latentsimplex.datasets import Simulation, running_example
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.experiments.model import nmi
from latentsimplex.experiments.peers import concatenate
from latentsimplex.experiments.result import Findings, Progress, Record, Repetition, mean, over_seeds, repeat
from latentsimplex.plots import panels, plot_memberships
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.uncertainty.calibration import pair_reliability

SEPARATION = 3.0
"""Standard deviations between the centres of clusters, which views do not always tell apart by themselves."""
NONE, MOST, WRONG = "no labels", "20 of a class", "20, a tenth wrong"
VARIANTS = {NONE: (0, 0.0), "5 of a class": (5, 0.0), MOST: (20, 0.0), WRONG: (20, 0.1)}
"""Labels of each class, and the share of them that is wrong."""
SCORE, PEER = "NMI of view 0", "NMI of label spreading"
CALIBRATION, PATTERN, DOUBT = (
    "calibration error of pairs",
    "labels speak of views 0 and 1",
    "AUC of wrong labels",
)


@over_seeds
def run(seeds: range, say: Progress, n_samples: int = 300) -> Findings:
    """Fit the running example with no, few and many labels of the clusters that views 0 and 1 share."""

    def run_seed(seed: int) -> Repetition:
        say(f"labels of some samples, seed {seed}")
        data = running_example(n_samples, SEPARATION, random_state=seed)
        given = {name: draw_labels(data.labels[0], *how, seed) for name, how in VARIANTS.items()}
        fits = {name: fit(data, y, seed) for name, (y, _) in given.items()}
        found = {name: measure(data, model, *given[name]) for name, model in fits.items()}
        return Repetition(aim(data), found, partial(_draw_figures, data, fits))

    repetitions = repeat(run_seed, seeds)
    tables = {"some-labels": repetitions.compare()}
    return Findings(tables, repetitions.figures, _write_notes(repetitions.found))


def draw_labels(truth: np.ndarray, per_class: int, wrong: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels of some samples of each class (n,), -1 elsewhere, and which of them are wrong.

    No more than half of a class is labelled.
    """
    rng, classes = np.random.default_rng([seed, per_class]), np.unique(truth)
    y, is_wrong = np.full(len(truth), -1), np.zeros(len(truth), dtype=bool)
    for c in classes:
        own = np.flatnonzero(truth == c)
        y[rng.choice(own, min(per_class, len(own) // 2), replace=False)] = c
    labelled = np.flatnonzero(y >= 0)
    changed = rng.choice(labelled, round(wrong * len(labelled)), replace=False)
    y[changed] = (y[changed] + rng.integers(1, len(classes), size=len(changed))) % len(classes)
    is_wrong[changed] = True
    return y, is_wrong


def fit(data: Simulation, y: np.ndarray, seed: int) -> LatentSimplexPosition:
    """Return the default model with labels."""
    return LatentSimplexPosition(random_state=seed).fit(data.views, y if (y >= 0).any() else None)


def aim(data: Simulation) -> Record:
    """Return what a perfect method would get: Bayes-optimal labels, and a name for each wrong label."""
    best = nmi(data.labels[0], data.bayes_labels[data.patterns[0]])
    return {SCORE: best, PEER: best, CALIBRATION: 0.0, PATTERN: 1.0, DOUBT: 1.0}


def measure(data: Simulation, model: LatentSimplexPosition, y: np.ndarray, is_wrong: np.ndarray) -> Record:
    """Return how well the samples without labels are clustered, and the wrong labels found."""
    truth, rest, labelled = data.labels[0], y < 0, np.flatnonzero(y >= 0)
    W = model.memberships_[model.view_patterns_[0]]
    found = {
        SCORE: nmi(truth[rest], model.view_labels_[0][rest]),
        CALIBRATION: pair_reliability(CoAssignment(W[rest]), truth[rest]).expected_calibration_error,
    }
    if len(labelled):
        assert model.known_ is not None
        spread = LabelSpreading(kernel="knn", n_neighbors=7, max_iter=200)
        spread.fit(concatenate(list(data.views[:2])), y)
        found[PEER] = nmi(truth[rest], spread.transduction_[rest])
        found[PATTERN] = float(model.known_.pattern in model.view_patterns_[:2])
    if is_wrong.any():
        assert model.known_ is not None
        found[DOUBT] = float(roc_auc_score(is_wrong[labelled], model.known_.label_doubts[labelled]))
    return found


def _write_notes(found: dict[str, list[Record]]) -> list[str]:
    none, most = mean(found[NONE], SCORE), mean(found[MOST], SCORE)
    return [
        f"The running example with centres {SEPARATION:g} standard deviations apart; labels are of the three clusters "
        "that views 0 and 1 share, and scores of the samples without labels. Paper: section 6 names a combined, "
        "semi-supervised loss as future work, and gives no numbers.",
        "Label spreading is told the number of clusters by its labels, and which views these are about: it is given "
        "views 0 and 1 alone.",
        f"With 20 labels of a class the NMI is {most:.2f} on average, without any {none:.2f}. Where views show no "
        "clusters, few labels do not tell where these part.",
    ]


def _draw_figures(data: Simulation, fits: dict[str, LatentSimplexPosition]) -> dict[str, Figure]:
    """Draw memberships in the pattern of view 0, samples in the order of its true clusters."""
    figure, axes = panels(1, len(fits), 3.2, 3.2)
    for ax, (name, model) in zip(axes[0], fits.items(), strict=True):
        W = model.memberships_[model.view_patterns_[0]]
        plot_memberships(W, data.labels[0], W.argmax(axis=1), title=name, ax=ax)
    figure.colorbar(axes[0, 0].images[0], ax=axes, shrink=0.8, label="probability")
    return {"some-labels": figure}
