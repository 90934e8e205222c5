"""Which features set the clusters apart: their means inside and outside of each cluster, and effect sizes.

============ ================ ========== =======================================================
symbol       name             shape      meaning
============ ================ ========== =======================================================
x            ``X``            n x p      features of a view; a missing cell has no part in anything
c            ``labels``       n          cluster of each sample
e_kj         ``effect``       k x p      (mean of x_j in cluster k - mean elsewhere) / sd of x_j
============ ================ ========== =======================================================

The standard deviation is that over all samples, which is 0 for a constant feature alone: its effect is 0. For one
cluster features come in the order that Cohen's d, the correlation with being inside, and the t statistic have too.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.base.partial_table import PartialTable
from latentsimplex.base.table import Table
from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wide_table import to_dense
from latentsimplex.inputs.views import Views
from latentsimplex.inputs.words import keep_present
from latentsimplex.results.results import Results, cut_as_fitted, results_of
from latentsimplex.similarity import Precomputed

PART_ENTRIES = 1 << 21
"""Entries of the features that are looked at at a time."""


def describe_clusters(model: Any, X: Any, pattern: int | None = None) -> Table:
    """Return which features set each cluster apart, with effect sizes (standardised mean differences).

    Samples belong to the cluster of their label. The features are those of the views that take part: of the
    consensus, the views with a weight; of a pattern, the views that follow it. They were used to find the
    clusters, so that effects describe these and are no tests of whether there are any.

    Parameters
    ----------
    model : fitted LatentSimplexPosition
    X : views
        The data as given to ``fit``. Named samples and views may come in another order.
    pattern : int or None
        A live pattern's index, heaviest first; None is the consensus.

    Returns
    -------
    Table
        A row for each cluster and feature, by cluster and then by the size of the effect: ``cluster``, ``view``,
        ``feature``, ``mean_inside`` and ``mean_outside`` of the cluster, and ``effect``, their difference in
        standard deviations of the feature over all samples. It is empty where there is a single cluster.
        In a view with categories, each is a feature, such as "colour=red", and means are those of the numbers that
        a fit compares.

    Examples
    --------
    >>> from latentsimplex import LatentSimplexPosition
    >>> X = np.array([[9.0 * (i // 9) + i % 9 / 20, 5.0] for i in range(18)])
    >>> describe_clusters(LatentSimplexPosition(2, n_init=1, random_state=0).fit(X), X)
    cluster  view   feature  mean_inside  mean_outside  effect
    0        view0  x0       0.2          9.2           -1.999
    0        view0  x1       5            5             0
    1        view0  x0       9.2          0.2           1.999
    1        view0  x1       5            5             0
    """
    results = results_of(model)
    found = measure_features(results, read_again(results, X), pattern)
    cluster = np.repeat(found.clusters, len(found.features))
    order = np.lexsort((-np.nan_to_num(np.abs(found.effect)).ravel(), cluster))
    column = order % max(len(found.features), 1)
    measured = {
        name: getattr(found, name).ravel()[order] for name in ("mean_inside", "mean_outside", "effect")
    }
    return Table(
        {
            "cluster": cluster[order],
            "view": found.views[column],
            "feature": found.features[column],
            **measured,
        }
    )


class ClusterFeatures(NamedTuple):
    """Features inside and outside of clusters.

    Attributes
    ----------
    clusters : (k,) array
        Empty where there is a single one, which nothing sets apart.
    views, features : (p,) arrays of str
        The view that each feature is of, and its name.
    mean_inside, mean_outside, effect : (k, p) arrays
        nan where all cells are missing inside or outside.
    """

    clusters: Indices
    views: np.ndarray
    features: np.ndarray
    mean_inside: Array
    mean_outside: Array
    effect: Array

    def rank(self, most: int) -> Indices:
        """Return the features with the largest effects of each cluster, largest first (k, up to ``most``)."""
        return np.argsort(-np.nan_to_num(np.abs(self.effect)), axis=1, kind="stable")[:, :most]

    def choose_top(self, most: int) -> Indices:
        """Return the first ``most`` features of each cluster that have any effect, cluster by cluster, each once."""
        sizes = np.nan_to_num(np.abs(self.effect))
        chosen = dict.fromkeys(
            j for k, own in enumerate(self.rank(most).tolist()) for j in own if sizes[k, j] > 0
        )
        return np.array(list(chosen), dtype=np.intp)


def measure_features(results: Results, given: Given, pattern: int | None = None) -> ClusterFeatures:
    """Return how the features of the views that take part differ between clusters."""
    labels = (
        results.labels if pattern is None else results.pattern_labels[results.find_pattern(None, pattern)]
    )
    clusters = np.unique(labels)
    members = np.flatnonzero(find_taking_part(results, pattern)[given.places]).tolist()
    if len(clusters) == 1 or not members:
        clusters, members = clusters[:0], []
    inside = (labels[:, None] == clusters).astype(np.float64)
    nothing = np.empty((3, len(clusters), 0))
    measured = np.concatenate(
        [nothing, *(_compare(X, inside) for v in members for X in given.parts(v))], axis=-1
    )
    units = [given.views.find_units(v) for v in members]
    scale, centre = np.concatenate([np.empty((2, 0)), *units], axis=-1)
    measured[:2] = scale * measured[:2] + centre
    features = np.array([name for v in members for name in given.views.name_features(v)], dtype=object)
    widths = [given.views.widths[v] for v in members]
    views = np.repeat(results.view_names[given.places[members]], widths) if members else features
    return ClusterFeatures(clusters, views, features, *measured)


def find_taking_part(results: Results, pattern: int | None) -> np.ndarray:
    """Return (V,) whether each view takes part in the consensus or, where one is given, follows a pattern."""
    if pattern is None:
        return results.consensus.weights > 0
    return results.view_patterns == results.find_pattern(None, pattern)


class Given(NamedTuple):
    """The data of a fit, given again.

    Attributes
    ----------
    views : Views
    places : (views,) array
        Which view of the model each of them is.
    rows : (n,) array or slice
        Where each sample of the model is in them.
    """

    views: Views
    places: Indices
    rows: Indices | slice

    def take(self, v: int, features: Any) -> Array:
        """Return some features of a view as an array, its rows in the order of the model's samples."""
        columns = to_dense(self.views.load(v)[:, features])
        samples = self.views.find_samples(v)
        if samples is not None:
            columns = PartialTable(columns, samples, self.views.n_samples).spread(columns, np.nan)
        return columns[self.rows]

    def parts(self, v: int) -> Iterator[Array]:
        """Yield a view (n, p) in parts of a few features."""
        size = max(1, PART_ENTRIES // self.views.n_samples)
        for start in range(0, self.views.widths[v], size):
            yield self.take(v, slice(start, start + size))


def read_again(results: Results, X: Any) -> Given:
    """Return the data of a fit, given again, with samples and views matched by name where they have names."""
    if isinstance(results.similarity, Precomputed):
        raise ValueError(
            "The model was fitted to precomputed similarities, which have no features: compare the samples of its "
            "labels_ in the data that the similarities came from."
        )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse views")  # the fit has said so
        views = cut_as_fitted(results, X)
    if views.n_samples != results.n_samples:
        raise ValueError(
            f"The data have {views.n_samples} samples and the model has {results.n_samples}: give the data that it "
            "was fitted to."
        )
    places = _find_places(views.names, results.view_names, "view")
    rows: Indices | slice = slice(None)
    if views.sample_names is not None and results.sample_names is not None:
        rows = _find_places(results.sample_names, views.sample_names, "sample")
    if results.present is not None:
        present = np.empty_like(results.present)
        present[:, rows] = results.present[places]
        views = keep_present(views, present)
    return Given(views, places, rows)


def _find_places(names: Iterable[str], among: Iterable[str], what: str) -> Indices:
    """Return where each name is among others; names that are the same one by one may come more than once."""
    names, among = list(names), list(among)
    if names == among:
        return np.arange(len(among))
    place = {name: i for i, name in enumerate(among)}
    unknown = [name for name in names if name not in place]
    if unknown or len(place) < len(among):
        problem = f"such as {unknown[0]!r}" if unknown else "and some have one name"
        raise ValueError(
            f"The {what}s of the data are not those of the model, {problem}: give the data that it was fitted to."
        )
    return np.array([place[name] for name in names], dtype=np.intp)


def _compare(X: Array, inside: Array) -> Array:
    """Return (3, k, p): the mean of each feature inside and outside of each cluster, and the effect."""
    Z, mean, sd, present = standardise_present(X)
    counts, sums = inside.T @ present, inside.T @ Z
    with np.errstate(invalid="ignore"):  # 0 / 0 where nothing is known
        within = sums / counts
        without = (Z.sum(axis=0) - sums) / (present.sum(axis=0) - counts)
    return np.stack([mean + sd * within, mean + sd * without, within - without])


def standardise_present(X: Array) -> tuple[Array, Array, Array, np.ndarray]:
    """Return features with mean 0 and variance 1, their means and standard deviations, and which cells are there.

    Missing cells and constant features become 0.
    """
    present = ~np.isnan(X)
    counts = np.maximum(present.sum(axis=0), 1)
    varying = np.fmax.reduce(X, axis=0) > np.fmin.reduce(X, axis=0)
    mean = np.where(present, X, 0).sum(axis=0) / counts
    Z = np.where(present & varying, X - mean, 0)
    sd = np.sqrt(np.square(Z).sum(axis=0) / counts)
    return Z / np.where(sd > 0, sd, 1), mean, sd, present
