"""The two variants that experiments fit, the paper's settings and the defaults, and how they are scored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score, roc_auc_score

from latentsimplex.base.condensed import unpack_pairs
from latentsimplex.base.types import Array
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.options import PAPER
from latentsimplex.similarity import as_kernel
from latentsimplex.similarity.kernel import checked_exponents, clip_exponents

N_INIT = 2
"""Random starts of a fit. The paper says "multiple"; two keep a seed of any experiment within a minute."""


Fits = dict[str, LatentSimplexPosition]
"""A fitted model of each variant."""


def fit_paper(
    views: Any, n_clusters: int, n_patterns: int, seed: int, n_init: int = N_INIT, **settings: Any
) -> LatentSimplexPosition:
    """Return the model of the paper's text, fitted with at most these numbers of clusters and patterns.

    ``settings`` replace the paper's.
    """
    model = LatentSimplexPosition.paper(n_clusters, n_patterns, n_init=n_init, random_state=seed, **settings)
    return model.fit(views)


def fit_default(
    views: Any, n_clusters: int, n_patterns: int, seed: int, **settings: Any
) -> LatentSimplexPosition:
    """Return the model as a user gets it without settings, but for what ``settings`` replace."""
    return LatentSimplexPosition(n_clusters, n_patterns, random_state=seed, **settings).fit(views)


PAPER_SETTINGS, DEFAULT_SETTINGS = "paper settings", "default settings"
VARIANTS: dict[str, Callable[..., LatentSimplexPosition]] = {
    PAPER_SETTINGS: fit_paper,
    DEFAULT_SETTINGS: fit_default,
}
"""The two that an experiment puts side by side."""
ABOUT_VARIANTS = (
    f"Paper settings are those of its text with {N_INIT} random starts, default settings those of a user who gives "
    "none."
)


def fit_variants(views: Any, n_clusters: int, n_patterns: int, seed: int, **settings: Any) -> Fits:
    """Return both variants, fitted."""
    return {name: fit(views, n_clusters, n_patterns, seed, **settings) for name, fit in VARIANTS.items()}


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
    return np.exp(-unpack_pairs(clip_exponents(checked_exponents(kernel, view, "the view"))))


def nmi(truth: np.ndarray, labels: np.ndarray) -> float:
    """Return normalised mutual information, 0 for unrelated labels and 1 for the same partition."""
    return float(normalized_mutual_info_score(truth, labels))


def find_misplaced(labels: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return which samples differ in truth from most of their cluster; ties go to the lowest true label.

    >>> find_misplaced(np.array([0, 0, 0, 1]), np.array([5, 5, 3, 3])).tolist()
    [False, False, True, False]
    """
    counts = np.eye(labels.max() + 1)[labels].T @ np.eye(truth.max() + 1)[truth]
    return counts.argmax(axis=1)[labels] != truth


def doubt_auc(sureness: Array, wrong: np.ndarray) -> float | None:
    """Return the AUC of doubt: Pr(a misplaced sample is less sure than a correctly placed one); None if undefined.

    >>> doubt_auc(np.array([0.9, 0.2, 0.7]), np.array([False, True, False]))
    1.0
    """
    return float(roc_auc_score(wrong, -sureness)) if 0 < wrong.sum() < len(wrong) else None
