"""The recipe of the author's public notebook for many views: its settings, and what a fit by it returns.

The notebook carries no licence, so that only its facts are here, in code of our own:

- similarity exp(-dist_ij / sqrt(q_i q_j)), q_i the 30% quantile of row i of the distances, itself included;
- k-means of the views on log S, with as many groups as patterns;
- responsibilities one-hot at these groups, smoothed by 1/V, and 100 Adam steps of size 1 on theta,
  W = softmax(theta), from theta uniform in [0, 1): cross-entropy with S as the target, over n, plus R(W) with
  eps = exp(-4), about 0.018, all patterns at once;
- with fresh moments 50 steps more, eps = exp(-3), about 0.05, and before the 1st, 6th, 11th, ... an E step;
- lambda proportional to gamma + alpha - 1, alpha = 0.1, what is negative set to 1e-5;
- one start, single precision; a view's pattern is the largest of its last responsibilities.

How the steps are computed is ours, and kinder than the notebook: all patterns are one batch, statistics of the
M step are sums over views as in section 3.1 of the paper, and an E step is a matrix product instead of a
V x m array per pattern. Co-assignments are kept ``P_CLIP`` from 0 and 1, where the notebook would give NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

QUANTILE = 0.3
FIRST_STEPS, LATER_STEPS, STEPS_PER_E = 100, 50, 5
FIRST_LOG_EPSILON, LATER_LOG_EPSILON = -4.0, -3.0
RATE = 1.0
BETAS, TINY = (0.9, 0.999), 1e-8
"""Adam's own defaults."""
ALPHA, LAMBDA_FLOOR = 0.1, 1e-5
P_CLIP = 1e-6


class Found(NamedTuple):
    """Memberships (d, n, g), weights (d,), the pattern of each view (V,), and seconds by stage."""

    memberships: np.ndarray
    weights: np.ndarray
    view_patterns: np.ndarray
    seconds: dict[str, float]


def first_theta(n_patterns: int, n_samples: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Return theta (d, n, g) uniform in [0, 1)."""
    return rng.random((n_patterns, n_samples, n_clusters))


def first_responsibilities(groups: np.ndarray, n_patterns: int) -> np.ndarray:
    """Return one-hot responsibilities (V, d), smoothed by 1/V.

    >>> first_responsibilities(np.array([0, 1]), 2).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    smooth = 1 / len(groups)
    return (np.eye(n_patterns)[groups] + smooth) / (1 + n_patterns * smooth)


def pattern_weights(gamma: np.ndarray) -> np.ndarray:
    """Return lambda from the number of views of each pattern, floored where it would be negative.

    >>> pattern_weights(np.array([2.9, 0.0])).round(4).tolist()
    [1.0, 0.0]
    """
    excess = gamma + ALPHA - 1
    lam = np.where(excess < 0, LAMBDA_FLOOR, excess / excess.sum())
    return lam / lam.sum()
