"""Prediction by a fitted model: memberships and labels of new samples, and the patterns that new views follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from latentsimplex.base.libraries import make_frame
from latentsimplex.base.table import Table
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array
from latentsimplex.engines.chunk_workers import find_workers
from latentsimplex.inputs.column_groups import is_word
from latentsimplex.inputs.mixed_columns import GivenColumns
from latentsimplex.inputs.named_table import match_rows
from latentsimplex.inputs.views import Views, as_views, is_collection
from latentsimplex.placing.comparison import CHUNK
from latentsimplex.placing.new_tables import read_new_samples
from latentsimplex.placing.new_views import AssignedViews, KnownPatterns, assign_views
from latentsimplex.placing.references import References
from latentsimplex.results.consensus import label_new_samples
from latentsimplex.results.joint_labels import extend_labels
from latentsimplex.results.parameters import UnstoredKernel
from latentsimplex.results.results import Results, results_of
from latentsimplex.similarity import Precomputed


class Prediction(NamedTuple):
    """New samples under a fitted model.

    Attributes
    ----------
    labels : (m,) array
        Consensus labels.
    pattern_labels : (patterns, m) array
        Joint labels of each pattern.
    memberships : list of (m, clusters) arrays, one for each pattern
    unlike : (patterns, m) array of bool
        Whether a sample is unlike all that the views of a pattern had seen; never in a pattern without clusters.
    consensus_unlike : (m,) array of bool
        Whether it is so in every pattern that has a part in the consensus.
    sample_names : list of str or None
    """

    labels: np.ndarray
    pattern_labels: np.ndarray
    memberships: list[Array]
    unlike: np.ndarray
    consensus_unlike: np.ndarray
    sample_names: list[str] | None


def predict_samples(results: Results, data: Any, n_jobs: int | None = None, engine: Any = None) -> Prediction:
    """Return labels and memberships of new samples, in any form that :mod:`latentsimplex.placing.new_tables` reads.

    Very many are placed by the workers of a cluster, if there is an engine.
    """
    references = find_references(results)
    settings = results.settings
    new = read_new_samples(
        data,
        references.given,
        list(results.view_names),
        settings["views"] if results.found_columns is None else "whole",
        settings.get("missing", "raise"),
        join_of_new_samples(results),
        find_table_columns(results),
    )
    with find_workers(engine if new.n_samples > CHUNK else None, n_jobs) as workers:
        placed = references.place(new.tables, workers)
    weights = results.consensus.weights
    labels = label_new_samples(
        results.labels, results.view_patterns, weights, results.memberships, placed.memberships
    )
    by_pattern = zip(results.memberships, results.pattern_labels, placed.memberships, strict=True)
    unlike = placed.remoteness > 1
    heard = np.unique(results.view_patterns[weights > 0])
    return Prediction(
        labels,
        np.array([extend_labels(*each) for each in by_pattern]),
        placed.memberships,
        unlike,
        unlike[heard].all(axis=0) & (len(heard) > 0),
        new.names,
    )


def prediction_table(found: Prediction) -> Table:
    """Return a table with a row for each new sample: its name, its labels, and whether it is unlike the others."""
    names = found.sample_names
    patterns = {f"pattern{l}": labels for l, labels in enumerate(found.pattern_labels)}
    return Table(
        {
            "sample": np.arange(len(found.labels)) if names is None else np.array(names, dtype=object),
            "consensus": found.labels,
            **patterns,
            "unlike": found.consensus_unlike.astype(int),
        }
    )


def join_of_new_samples(results: Results) -> str:
    """Return how views of new samples are joined: where those of the fit were, none of the new ones is left out."""
    return "strict" if results.settings.get("join", "strict") == "strict" else "outer"


def find_table_columns(results: Results) -> GivenColumns | None:
    """Return the columns of the table that views were found in; None where views were given."""
    if results.found_columns is None:
        return None
    names = None if results.feature_names is None else results.feature_names.tolist()
    return GivenColumns(results.n_features, names)


def is_of_one_table(results: Results) -> bool:
    """Return whether a model was fitted to one table, as one view or cut into several."""
    given = find_references(results).given
    return (
        len(given) == 1 or results.found_columns is not None or all(own.places is not None for own in given)
    )


def find_references(results: Results) -> References:
    """Return what places new samples, or raise ValueError that says why there is nothing."""
    if isinstance(results.similarity, Precomputed):
        raise ValueError(
            'A model of similarity="precomputed" cannot place new samples, whose features it does not know: fit to '
            "features, or fit again with the new samples among the others."
        )
    if results.references is None:
        raise ValueError(
            "This model was saved with predict=False, without the rows of the data that place new samples: save the "
            "fitted model again with predict=True."
        )
    return results.references


class PlacesNewData:
    """The methods of a fitted estimator that take samples, or views, that it was not fitted to."""

    n_jobs: int | None
    engine: Any

    def predict(self, X: Any, return_unlike: bool = False) -> Any:
        """Return consensus labels (m,) of new samples, each placed by itself against those of the fit.

        Samples that have names are matched by them, and are in the order in which the views of the fit, the first of
        them first, name them: ``predict_frame`` says which is which.

        Parameters
        ----------
        X : views of new samples
            In any form that ``fit`` takes; views by name or in the order of the fit, columns by name where both have
            names. A view that they lack is None in a list and left out of a dict. Samples that not all views have are
            told by name where the fit had ``join="outer"`` or ``"inner"``, and none is left out; with
            ``missing="pairwise"`` a row of nothing but NaN is one that a view lacks, and so is one without a word in a
            table of words. A sample that no view of a pattern has is given the shares of its clusters.
        return_unlike : bool
            Return also whether each sample (m,) is unlike anything that the fit had seen: farther from its nearest
            samples than 99% of these are among themselves, in every pattern that has a part in the consensus.
        """
        found = predict_samples(results_of(self), X, self.n_jobs, self.engine)
        return (found.labels, found.consensus_unlike) if return_unlike else found.labels

    def predict_frame(self, X: Any, backend: str | None = None) -> Any:
        """Return a frame with a row for each new sample: its name, its consensus label and that in each pattern.

        ``unlike`` is 1 for a sample that is unlike anything that the fit had seen. ``X`` is as for ``predict``, and
        ``backend`` as for ``labels_frame``.
        """
        results = results_of(self)
        table = prediction_table(predict_samples(results, X, self.n_jobs, self.engine))
        return make_frame(table, backend or results.frame_library)

    def predict_memberships(self, X: Any, pattern: int | None = None, return_unlike: bool = False) -> Any:
        """Return the probability of each cluster of a pattern (m, clusters) for new samples.

        Parameters
        ----------
        X : views of new samples, as for ``predict``
        pattern : int or None
            A live pattern's index. None is 0, the heaviest, which most views follow. With ``views="columns"`` that is
            often the pattern of noise, with a single cluster: ``n_clusters_`` says how many each pattern has, and
            ``view_patterns_[v]`` is the pattern of view v.
        return_unlike : bool
            Return also whether each sample (m,) is unlike anything that the views of the pattern had seen. The farther
            it is, the nearer its memberships are to the shares of the clusters, which are also those of a
            sample that no view of the pattern has.
        """
        results = results_of(self)
        l = results.find_pattern(None, pattern)
        found = predict_samples(results, X, self.n_jobs, self.engine)
        return (found.memberships[l], found.unlike[l]) if return_unlike else found.memberships[l]

    def assign_views(self, views: Any) -> AssignedViews:
        """Return which patterns new views of the samples of the fit follow, and how probable each pattern is.

        ``views`` are in any form that ``fit`` takes; samples are matched by name where both have names, and are in the
        order of the fit elsewhere. A view follows a pattern only if neighbours in it share its clusters more often than
        by chance: others get -1 and a row of 0, also where the fit has a pattern without clusters.

        Returns
        -------
        AssignedViews
            The named tuple (patterns (V,), responsibilities (V, patterns)).
        """
        return assign_new_views(results_of(self), views, self.n_jobs)


def assign_new_views(results: Results, data: Any, n_jobs: int | None = None) -> AssignedViews:
    """Return which patterns of a fit new views of its samples follow."""
    settings, kernel = results.settings, results.similarity
    if isinstance(kernel, UnstoredKernel):
        kernel.exponents(np.empty((0, 0)))  # which says that the file does not hold it
    cut = "columns" if is_word(settings["views"], "columns") else "whole"
    is_table = not is_collection(data) and not isinstance(data, Mapping)
    precomputed = isinstance(kernel, Precomputed)
    views = as_views(data, cut if is_table else "whole", precomputed, settings.get("missing", "raise"))
    views = match_samples(views, results.sample_names, results.n_samples, precomputed)
    last = results.stages[-1]
    known = KnownPatterns(
        results.pattern_labels,
        results.memberships,
        results.responses,
        results.pattern_weights,
        last.divergence,
        last.temperature,
    )
    with Workers(n_jobs) as workers:
        return assign_views(views, kernel, known, workers)


def match_samples(views: Views, names: np.ndarray | None, n_samples: int, precomputed: bool) -> Views:
    """Return views with their samples in the order of a fit, or raise ValueError for other samples."""
    if views.n_samples != n_samples:
        raise ValueError(
            f"The new views have {views.n_samples} samples and the model was fitted to {n_samples}: give views of the "
            "same samples."
        )
    if names is None or views.sample_names is None:
        return views
    matched = match_rows(["the fit", "the new views"], [list(map(str, names)), views.sample_names])
    if matched.orders[1] is None:
        return views
    rows = np.array(matched.orders[1])
    moved = views.take_samples(rows)
    return replace(moved, load=lambda v: views.load(v)[rows][:, rows]) if precomputed else moved
