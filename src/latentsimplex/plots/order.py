"""The order of samples in a figure of rows, and where its clusters meet."""

from __future__ import annotations

import numpy as np


def sample_order(labels: np.ndarray, within: np.ndarray | None = None) -> np.ndarray:
    """Return the samples sorted by cluster, and by ``within`` where they share one.

    >>> sample_order(np.array([1, 0, 0]), np.array([0.5, 0.9, 0.1])).tolist()
    [2, 1, 0]
    """
    return np.argsort(labels, kind="stable") if within is None else np.lexsort((within, labels))


def cluster_edges(labels: np.ndarray) -> np.ndarray:
    """Return where one cluster ends and the next begins once samples are sorted, in pixel coordinates.

    >>> cluster_edges(np.array([1, 0, 0, 2])).tolist()
    [1.5, 2.5]
    """
    _, sizes = np.unique(labels, return_counts=True)
    return np.cumsum(sizes)[:-1] - 0.5
