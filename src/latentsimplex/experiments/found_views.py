"""Section 6, views that are estimated: views found among the columns of one table, against columns as views."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.figure import Figure
from sklearn.metrics import adjusted_rand_score

from latentsimplex.datasets import HiddenViews, hidden_views
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.experiments.model import nmi
from latentsimplex.experiments.result import Findings, Progress, Record, Repetition, mean, over_seeds, repeat
from latentsimplex.plots import panels, plot_columns

N_VIEWS, N_NOISE, BLOCKS, N_COLUMNS = 3, 20, (6,), (3, 8)
"""Views, columns of noise, columns that are correlated without clusters, and the fewest and most columns of a view."""
FOUND, COLUMNS, WHOLE = "views found", "columns as views", "one view"
VARIANTS = {FOUND: "discover", COLUMNS: "columns", WHOLE: "whole"}
"""What the table is cut into: ``views`` of the estimator."""
GROUPED, COUNT, CLUSTERS = "ARI of columns", "views", "NMI of clusters"


@over_seeds
def run(seeds: range, say: Progress, n_samples: int = 200) -> Findings:
    """Fit one table in three ways: its views found, each column a view, and all columns one."""

    def run_seed(seed: int) -> Repetition:
        say(f"found views, seed {seed}")
        data = draw(n_samples, seed)
        fits = {name: fit(data, cut, seed) for name, cut in VARIANTS.items()}
        found = {name: measure(data, model) for name, model in fits.items()}
        return Repetition(aim(data), found, partial(_draw_figures, fits[FOUND]))

    repetitions = repeat(run_seed, seeds)
    tables = {"found-views": repetitions.compare()}
    return Findings(tables, repetitions.figures, _write_notes(repetitions.found))


def draw(n_samples: int, seed: int) -> HiddenViews:
    """Return the table of a seed."""
    return hidden_views(n_samples, N_VIEWS, N_NOISE, n_columns=N_COLUMNS, blocks=BLOCKS, random_state=seed)


def fit(data: HiddenViews, cut: str, seed: int) -> LatentSimplexPosition:
    """Return the default model of a table that is cut into views in this way."""
    return LatentSimplexPosition(views=cut, random_state=seed).fit(data.table)


def aim(data: HiddenViews) -> Record:
    """Return the truth."""
    return {GROUPED: 1.0, COUNT: float(len(data.labels)), CLUSTERS: 1.0}


def measure(data: HiddenViews, model: LatentSimplexPosition) -> Record:
    """Return how columns were grouped, noise being a group, and how well the clusters behind them were found.

    Columns that are views by themselves are grouped by pattern; those without clusters are noise. Of each true view the
    pattern that tells its clusters best counts.
    """
    groups = find_groups(model, len(data.views))
    scores = [max(nmi(truth, own) for own in model.pattern_labels_) for truth in data.labels]
    return {
        GROUPED: float(adjusted_rand_score(data.views, groups)),
        COUNT: float(len(np.unique(groups[groups >= 0]))),
        CLUSTERS: float(np.mean(scores)),
    }


def find_groups(model: LatentSimplexPosition, n_columns: int) -> np.ndarray:
    """Return the group of each column (p,), -1 for noise."""
    clustered = model.n_clusters_[model.view_patterns_] > 1
    if model.results_.found_columns is not None:
        return model.results_.found_columns.views
    if len(model.view_patterns_) == n_columns:
        return np.where(clustered, model.view_patterns_, -1)
    return np.full(n_columns, 0 if clustered[0] else -1)


def _write_notes(found: dict[str, list[Record]]) -> list[str]:
    notes = [
        f"{N_VIEWS} views of {N_COLUMNS[0]} to {N_COLUMNS[1]} columns among {N_NOISE} columns of noise and "
        f"{sum(BLOCKS)} that are correlated without clusters; no column alone has an NMI above 0.45 with the clusters "
        "of its view. Paper: section 6 names the estimation of views as future work, and gives no numbers.",
        "Noise is a group of columns for the ARI. The NMI is that of the best pattern with the clusters of each view, "
        "mean over views.",
    ]
    notes += [
        f"{name[0].upper()}{name[1:]}: columns grouped with ARI {mean(records, GROUPED):.2f} on average, "
        f"{mean(records, COUNT):.1f} views with clusters of {N_VIEWS}."
        for name, records in found.items()
    ]
    return notes


def _draw_figures(model: LatentSimplexPosition) -> dict[str, Figure]:
    figure, axes = panels(1, 1, 9.0, 3.4)
    plot_columns(model, ax=axes[0, 0])
    return {"found-views": figure}
