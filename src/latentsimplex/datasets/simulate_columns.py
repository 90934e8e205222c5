"""One wide table with views hidden among its columns, whose clusters no column shows alone.

====== ============ ======== ==================================================
symbol name here    shape    what it is
====== ============ ======== ==================================================
x      table        (n, p)   the data
v_j    views        (p,)     the view of each column, -1 for noise
c^(v)  labels       (V, n)   the true cluster of each sample in view v
====== ============ ======== ==================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex.base.kmeans import kmeans

MOST_ALONE, LEAST_ALONE = 0.45, 0.05
"""The most and the least that a column of a view says of its clusters alone, as NMI."""
TRIES = 30
"""How often centres are drawn; the widest apart are kept where no draw is as wide as it should be."""
BLOCK_FACTORS, BLOCK_NOISE = 2, 0.7
"""Directions that the columns of a block without clusters share, and the standard deviation of what they do not."""


@dataclass(frozen=True, eq=False)
class HiddenViews:
    """A simulated table together with the views behind it.

    Attributes
    ----------
    table : (n_samples, p) array
    views : (p,) array of int
        The view that each column belongs to, -1 for noise and for columns that are correlated without clusters.
    labels : (n_views, n_samples) array of int
        The true cluster of each sample in each view.
    """

    table: np.ndarray
    views: np.ndarray
    labels: np.ndarray


def hidden_views(
    n_samples: int = 300,
    n_views: int = 6,
    n_noise: int = 40,
    separation: float = 4.5,
    n_columns: tuple[int, int] = (3, 12),
    n_clusters: tuple[int, int] = (2, 4),
    blocks: tuple[int, ...] = (8, 8),
    random_state: int | np.random.Generator | None = None,
) -> HiddenViews:
    """A table with views of a few columns each, among columns of noise and correlated columns without clusters.

    Clusters are Gaussian with unit variance, as equal in size as may be, and independent between views. Their centres
    are normal, at distances of ``separation`` or more; centres are then drawn together in each column that says more of
    the clusters than ``MOST_ALONE`` (NMI of the most probable cluster given this column alone, or of its k-means,
    whichever is more), and apart where it says less than ``LEAST_ALONE``. In views of few columns they are therefore
    somewhat nearer. Correlated columns are normal, with two factors in common. Units of columns differ, and
    their order is random.

    Parameters
    ----------
    n_samples : int
    n_views, n_noise : int
        Views, and columns of independent noise.
    separation : float
        Distance between the nearest centres of a view, in standard deviations.
    n_columns, n_clusters : pair of int
        The least and the most columns and clusters of a view, all numbers between them being equally probable.
    blocks : tuple of int
        The columns of each correlated block without clusters.
    random_state : int, Generator or None

    Returns
    -------
    HiddenViews

    Examples
    --------
    >>> hidden = hidden_views(n_samples=60, n_views=2, n_noise=5, random_state=0)
    >>> hidden.table.shape[1] == len(hidden.views), hidden.labels.shape
    (True, (2, 60))
    """
    most = n_clusters[1]
    if not 2 <= n_clusters[0] <= most <= n_samples:
        raise ValueError(
            f"n_clusters={n_clusters} is not valid: give the least and the most clusters of a view, between 2 and "
            f"n_samples={n_samples}."
        )
    if not 1 <= n_columns[0] <= n_columns[1]:
        raise ValueError(
            f"n_columns={n_columns} is not valid: give the least and the most columns, 1 or more."
        )
    rng = np.random.default_rng(random_state)
    parts, labels = [], []
    for _ in range(n_views):
        k, p = (int(rng.integers(least, most + 1)) for least, most in (n_clusters, n_columns))
        labels.append(rng.permutation(np.arange(n_samples) % k))
        parts.append(_draw_view(rng, labels[-1], k, p, separation))
    views = np.repeat(np.arange(n_views), [part.shape[1] for part in parts])
    for width in blocks:
        factors, loadings = (
            rng.normal(size=(n_samples, BLOCK_FACTORS)),
            rng.normal(size=(BLOCK_FACTORS, width)),
        )
        parts.append(factors @ loadings + BLOCK_NOISE * rng.normal(size=(n_samples, width)))
    parts.append(rng.normal(size=(n_samples, n_noise)))
    table = np.hstack(parts)
    views = np.concatenate([views, np.full(table.shape[1] - len(views), -1)])
    order = rng.permutation(len(views))
    units = np.exp(rng.normal(size=len(views)))
    return HiddenViews((table * units)[:, order], views[order], np.array(labels).reshape(n_views, n_samples))


def say_alone(column: np.ndarray, centres: np.ndarray, labels: np.ndarray) -> float:
    """Return what a column says of clusters alone, as NMI: by the nearest of their centres (k,), or by k-means."""
    nearest = np.abs(column[:, None] - centres).argmin(axis=1)
    told = nearest, kmeans(column[:, None], len(centres))
    return float(max(normalized_mutual_info_score(labels, each) for each in told))


def _draw_view(rng: np.random.Generator, labels: np.ndarray, k: int, p: int, separation: float) -> np.ndarray:
    """Return the columns of a view, of several draws the one whose centres are as wide apart as asked, or widest."""
    widest, best = -1.0, np.empty((len(labels), p))
    for _ in range(TRIES):
        centres = rng.normal(size=(k, p))
        centres *= separation / _nearest_distance(centres)
        noise = rng.normal(size=(len(labels), p))
        for j in range(p):
            while say_alone(centres[labels, j] + noise[:, j], centres[:, j], labels) > MOST_ALONE:
                centres[:, j] *= 0.95
            while say_alone(centres[labels, j] + noise[:, j], centres[:, j], labels) < LEAST_ALONE:
                centres[:, j] *= 1.1
        reached = _nearest_distance(centres)
        if reached > widest:
            widest, best = reached, centres[labels] + noise
        if reached >= separation:
            break
    return best


def _nearest_distance(centres: np.ndarray) -> float:
    distances = np.linalg.norm(centres[:, None] - centres, axis=-1)
    return float(distances[np.triu_indices(len(centres), 1)].min())
