"""The nine clusterers of scikit-learn that Table 1 compares with."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.cluster import (
    DBSCAN,
    OPTICS,
    AffinityPropagation,
    AgglomerativeClustering,
    Birch,
    KMeans,
    MeanShift,
    SpectralClustering,
)
from sklearn.mixture import GaussianMixture

from latentsimplex._types import Array


def peers(n_clusters: int, seed: int) -> dict[str, Any]:
    """Return the clusterers, unfitted, in the order of the table.

    Everything is at scikit-learn's default except the number of clusters, given to those that take
    one, and the seed, given to those that draw random numbers.

    >>> len(peers(2, seed=0))
    9
    """
    return {
        "K-means": KMeans(n_clusters, random_state=seed),
        "Affinity propagation": AffinityPropagation(random_state=seed),
        "Mean-shift": MeanShift(),
        "Agglomerative clustering": AgglomerativeClustering(n_clusters),
        "DBSCAN": DBSCAN(),
        "OPTICS": OPTICS(),
        "Gaussian mixture": GaussianMixture(n_clusters, random_state=seed),
        "Birch": Birch(n_clusters=n_clusters),
        "Spectral clustering": SpectralClustering(n_clusters, random_state=seed),
    }


def peer_labels(clusterer: Any, view: Array) -> np.ndarray:
    """Return a clusterer's labels of a view; what DBSCAN and OPTICS call noise counts as a cluster.

    Warnings are not shown: that a default does not suit a setting is what the table measures.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clusterer.fit_predict(view)
