"""The model as the experiments fit it, with the paper's settings and as it is, and how its labels are scored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex._types import Array
from latentsimplex.compute.pairs import unpack
from latentsimplex.estimator import PAPER, LatentSimplexPosition
from latentsimplex.similarity import as_kernel, checked_exponents, clip_exponents

N_INIT = 2
"""Random starts of a fit. The paper says "multiple"; two keep a seed of any experiment within a minute."""


def fit_paper(
    views: Any, n_clusters: int, n_patterns: int, seed: int, **settings: Any
) -> LatentSimplexPosition:
    """Return the model of the paper's text, fitted with at most these numbers of clusters and patterns.

    ``settings`` replace the paper's.
    """
    model = LatentSimplexPosition.paper(
        n_clusters, n_patterns, **{"n_init": N_INIT, "random_state": seed, **settings}
    )
    return model.fit(views)


def fit_default(
    views: Any, n_clusters: int, n_patterns: int, seed: int, **settings: Any
) -> LatentSimplexPosition:
    """Return the model as a user gets it without settings, but for what ``settings`` replace."""
    return LatentSimplexPosition(n_clusters, n_patterns, **{"random_state": seed, **settings}).fit(views)


PAPER_SETTINGS, DEFAULT_SETTINGS = "paper settings", "default settings"
VARIANTS: dict[str, Callable[..., LatentSimplexPosition]] = {
    PAPER_SETTINGS: fit_paper,
    DEFAULT_SETTINGS: fit_default,
}
"""The two that an experiment puts side by side."""


def one_cluster_loss(view: Array) -> float:
    """Return the loss of the paper's model for a single view without clusters.

    Columns that stay empty cost nothing, so this is comparable with the loss under any bound on clusters:
    a fit that is lower has found clusters that the objective prefers to none.
    """
    # with one column every membership is 1, so there is nothing to optimise or to draw
    return fit_paper([view], 1, 1, seed=0, n_init=1, max_iter=1).loss_


def paper_similarity(view: Array) -> Array:
    """Return the n x n similarities that :func:`fit_paper` reads a view as, with ones on the diagonal."""
    kernel = as_kernel(PAPER["similarity"])
    return np.exp(-unpack(clip_exponents(checked_exponents(kernel, view, "the view"))))


def nmi(truth: np.ndarray, labels: np.ndarray) -> float:
    """Return normalised mutual information, 0 for unrelated labels and 1 for the same partition.

    >>> nmi(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
    1.0
    """
    return float(normalized_mutual_info_score(truth, labels))
