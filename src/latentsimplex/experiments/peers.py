"""The clusterers that the tables compare with: nine of scikit-learn in Table 1, spectral ones in Table 2."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
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
from sklearn.preprocessing import StandardScaler

from latentsimplex.base.types import Array


def make_peers(n_clusters: int, seed: int) -> dict[str, Any]:
    """Return the clusterers, unfitted, in the order of the table.

    Everything is at scikit-learn's default except the number of clusters, given to those that take
    one, and the seed, given to those that draw random numbers.
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


N_NEIGHBOURS = 10
INSTALL_MVLEARN = "pip install --no-deps mvlearn==0.5.0 seaborn"
"""Without its dependencies, because mvlearn pins old ones; seaborn is the only one that is missing."""


def spectral_of_similarity(n_clusters: int, seed: int) -> SpectralClustering:
    """Return spectral clustering of an n x n matrix of similarities, unfitted."""
    return SpectralClustering(n_clusters, affinity="precomputed", random_state=seed)


def spectral_of_neighbours(n_clusters: int, seed: int) -> SpectralClustering:
    """Return spectral clustering of the graph that joins a sample with its nearest neighbours, unfitted."""
    return SpectralClustering(
        n_clusters, affinity="nearest_neighbors", n_neighbors=N_NEIGHBOURS, random_state=seed
    )


def coregularised_spectral(n_clusters: int, seed: int) -> Any | None:
    """Return mvlearn's co-regularised spectral clustering of several views at its defaults, unfitted.

    None where mvlearn is not installed: see ``INSTALL_MVLEARN``.
    """
    try:
        cluster = importlib.import_module("mvlearn.cluster")
    except ImportError:
        return None
    return cluster.MultiviewCoRegSpectralClustering(n_clusters, random_state=seed)


def concatenate(views: Sequence[Array], *, balanced: bool = False) -> Array:
    """Return the standardised features of all views side by side.

    With ``balanced`` those of a view of p features are divided by sqrt(p), so that all views weigh the same.

    >>> views = [np.array([[0.0], [2.0]]), np.array([[1.0, 0.0], [3.0, 0.0]])]
    >>> concatenate(views, balanced=True).round(2).tolist()
    [[-1.0, -0.71, 0.0], [1.0, 0.71, 0.0]]
    """
    scaled = [StandardScaler().fit_transform(view) for view in views]
    return np.hstack([view / np.sqrt(view.shape[1]) for view in scaled] if balanced else scaled)


def peer_labels(clusterer: Any, view: Array | Sequence[Array]) -> np.ndarray:
    """Return a clusterer's labels of a view, or of several together for one that takes several.

    What DBSCAN and OPTICS call noise counts as a cluster.

    Warnings are not shown: that a default does not suit a setting is what the table measures.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clusterer.fit_predict(view)
