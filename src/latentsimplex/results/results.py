"""The results of a fit as a frozen record, from which reports, plots, files and analyses read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latentsimplex.auto.cluster_tree import Level
from latentsimplex.base.checks import as_numbers
from latentsimplex.base.types import Array
from latentsimplex.inputs.column_views import take_columns
from latentsimplex.inputs.found_columns import FoundColumns
from latentsimplex.inputs.views import Views, as_views
from latentsimplex.inputs.words import keep_present
from latentsimplex.known.findings import KnownFindings
from latentsimplex.placing.references import References
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.results.consensus import Consensus, form_consensus
from latentsimplex.similarity import Precomputed

FITTED = {
    "view_names_in_": "view_names",
    "sample_names_in_": "sample_names",
    "n_samples_": "n_samples",
    "n_features_in_": "n_features",
    "labels_": "labels",
    "pattern_labels_": "pattern_labels",
    "view_patterns_": "view_patterns",
    "view_responsibilities_": "view_responsibilities",
    "pattern_weights_": "pattern_weights",
    "memberships_": "memberships",
    "responses_": "responses",
    "n_patterns_": "n_patterns",
    "n_clusters_": "n_clusters",
    "consensus_": "consensus",
    "stages_": "stages",
    "similarity_": "similarity",
    "temperature_": "temperature",
    "loss_": "loss",
    "loss_curve_": "loss_curve",
    "expected_loss_": "expected_loss",
    "expected_loss_curve_": "expected_loss_curve",
    "n_iter_": "n_iter",
    "converged_": "converged",
    "levels_": "levels",
    "evidence_": "evidence",
    "start_losses_": "start_losses",
    "start_agreement_": "start_agreement",
    "initial_view_patterns_": "initial_view_patterns",
    "present_": "present",
    "placed_": "placed",
    "view_columns_": "view_columns",
    "known_": "known",
    "loss_weights_": "loss_weights",
}
"""The attributes of a fitted estimator, and what each is called in its results."""


@dataclass(frozen=True)
class Stage:
    """What one stage of a fit used.

    Attributes
    ----------
    name : "search", "refinement" or "all views"
    similarity : kernel
        What the stage compared the samples of each view with.
    divergence, response, penalty, search, optimizer : str
        As in the estimator's parameters, with "auto" resolved; the penalty may be None.
    temperature : float
        A mean over views where it was measured.
    n_views : int
        Views that took part.
    evidence : float or None
        Where clusters were found by splits, the strength of the strongest one (1 is believed). Otherwise, where the
        data chose the similarity, how many times more clusters explain than they would in null clouds; 0 if clusters
        were asked for that the search did not find.
    """

    name: str
    similarity: Any
    divergence: str
    response: str
    penalty: str | None
    search: str
    optimizer: str
    temperature: float
    n_views: int
    evidence: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """The results of a fit: ``results_`` of an estimator, whose other fitted attributes are read from it.

    Live patterns come heaviest first, and all lists and axes of patterns are in that order.

    Attributes
    ----------
    view_names, sample_names, feature_names : arrays of str
        The last two are None where the data had no such names.
    n_features : int
    view_patterns : (V,) array
    view_responsibilities : (V, patterns) array
    pattern_weights : (patterns,) array
    memberships : list of (n, clusters) arrays
    responses : list of (clusters, clusters) arrays
    pattern_labels : (patterns, n) array
        Joint labels of each pattern; label k is column k of the memberships.
    averaged : list of (n, r) arrays
        Of each pattern X, its co-assignments averaged over numbers of clusters being X X^T; its memberships where there
        is no evidence.
    consensus : Consensus
    initial_view_patterns : (V,) array
        The k-means start of the run that was kept; -1 for a constant view, -2 for views that no search looked at.
    loss_curve, expected_loss_curve : arrays
    converged : bool
    start_losses, start_agreement : arrays
        One entry for each start that was made.
    stages : tuple of Stage
    levels : list of lists of Level
        Of each pattern, clusters from coarse to fine as (labels, evidence); the first has one cluster.
    evidence : list of arrays
        Of each pattern, what speaks for k = 1, 2, ... clusters, in nats a sample; empty where it was not measured.
    settings : dict
        The estimator's parameters at the time of the fit.
    frame_library : str or None
        "pandas" or "polars" where the data were frames, which frames of the results are too.
    present : (V, n) array of bool, or None
        Which samples each view has; None if each has all of them.
    found_columns : FoundColumns or None
        Where views were found in a table, the view of each column and what the clusters of views explain of it.
    known : KnownFindings or None
        What the fit says of labels and links that were given; None without any.
    loss_weights : array or None
        The weight of each joint loss; None without any.
    references : References or None
        What places new samples, rows of the data among it; None where that was left out of a file, or cannot be.
    """

    view_names: np.ndarray
    sample_names: np.ndarray | None
    feature_names: np.ndarray | None
    n_features: int
    view_patterns: np.ndarray
    view_responsibilities: Array
    pattern_weights: Array
    memberships: list[Array]
    responses: list[Array]
    pattern_labels: np.ndarray
    averaged: list[Array]
    consensus: Consensus
    initial_view_patterns: np.ndarray
    loss_curve: Array
    expected_loss_curve: Array
    converged: bool
    start_losses: Array
    start_agreement: Array
    stages: tuple[Stage, ...]
    levels: list[list[Level]]
    evidence: list[Array]
    settings: dict[str, Any]
    frame_library: str | None = None
    present: np.ndarray | None = None
    found_columns: FoundColumns | None = None
    references: References | None = None
    known: KnownFindings | None = None
    loss_weights: Array | None = None

    def __repr__(self) -> str:
        clusters = ", ".join(map(str, self.n_clusters))
        return f"Results({self.n_samples} samples, {self.n_views} views, patterns of {clusters} clusters)"

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.pattern_labels.shape[1]

    @property
    def placed(self) -> np.ndarray | None:
        """Which samples are in some view of each pattern (patterns, n); None if all are."""
        if self.present is None:
            return None
        return find_placed(self.present, self.view_patterns, self.n_patterns)

    @property
    def view_columns(self) -> list[np.ndarray] | None:
        """The columns of each view that was found in a table; None where views were given."""
        return None if self.found_columns is None else self.found_columns.columns

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.view_names)

    @property
    def n_patterns(self) -> int:
        """Number of live patterns."""
        return len(self.memberships)

    @property
    def n_clusters(self) -> np.ndarray:
        """Clusters of each live pattern (patterns,)."""
        return np.array([W.shape[1] for W in self.memberships])

    @property
    def labels(self) -> np.ndarray:
        """Consensus labels (n,)."""
        return self.consensus.labels

    @property
    def view_labels(self) -> np.ndarray:
        """Each view's joint labels (V, n)."""
        return self.pattern_labels[self.view_patterns]

    @property
    def similarity(self) -> Any:
        """What the last stage compared samples with."""
        return self.stages[-1].similarity

    @property
    def temperature(self) -> float:
        """The temperature of the last stage."""
        return self.stages[-1].temperature

    @property
    def loss(self) -> float:
        """The loss at the end."""
        return float(self.loss_curve[-1])

    @property
    def expected_loss(self) -> float:
        """The expected RegLoss of the paper at the end."""
        return float(self.expected_loss_curve[-1])

    @property
    def n_iter(self) -> int:
        """Steps of the curves."""
        return len(self.loss_curve) - 1

    def coassignment(self, view: int | str | None = None, pattern: int | None = None) -> CoAssignment:
        """Return co-assignment probabilities of a view, of a pattern, or (without arguments) of the consensus."""
        if view is not None and pattern is not None:
            raise ValueError("Both view and pattern were given: a co-assignment belongs to one of them.")
        if view is None and pattern is None:
            return self.consensus.coassignment
        return CoAssignment(self.memberships[self.find_pattern(view, pattern)])

    def find_pattern(self, view: int | str | None, pattern: int | None) -> int:
        """Return the index of the pattern that a view, or its own index, means; without either the heaviest."""
        if view is not None:
            return int(self.view_patterns[self.find_view(view)])
        if pattern is None:
            return 0
        if not isinstance(pattern, (int, np.integer)) or not 0 <= pattern < self.n_patterns:
            raise ValueError(
                f"pattern={pattern!r} is unknown: the live patterns are 0 to {self.n_patterns - 1}."
            )
        return int(pattern)

    def find_view(self, view: int | str) -> int:
        """Return the index of a view, given that or its name."""
        if isinstance(view, str):
            found = np.flatnonzero(self.view_names == view)
            if len(found):
                return int(found[0])
        elif isinstance(view, (int, np.integer)) and 0 <= view < self.n_views:
            return int(view)
        raise ValueError(
            f"view={view!r} is unknown: give an index from 0 to {self.n_views - 1} or the name of a view, such as "
            f"{str(self.view_names[0])!r}."
        )

    def reform_consensus(self, weights: Any = None) -> Consensus:
        """Return the consensus with the given weight of each view; None is that of the fit."""
        if weights is None:
            return self.consensus
        u = as_numbers(weights, "weights")
        return form_consensus(
            self.view_patterns, self.memberships, self.view_names, u, averaged=self.averaged
        )


def find_placed(present: np.ndarray, view_patterns: np.ndarray, n_patterns: int) -> np.ndarray | None:
    """Return which samples are in some view of each pattern (patterns, n), given those of views; None if all are.

    >>> find_placed(np.array([[True, False], [True, True]]), np.array([0, 1]), 2).tolist()
    [[True, False], [True, True]]
    """
    placed = np.array([present[view_patterns == l].any(axis=0) for l in range(n_patterns)])
    return None if placed.all() else placed


def results_of(model: Any) -> Results:
    """Return what a fitted estimator found; results stand for themselves."""
    found = model if isinstance(model, Results) else getattr(model, "results_", None)
    if isinstance(found, Results):
        return found
    if hasattr(model, "fit"):
        check_is_fitted(model)  # in scikit-learn's words, where it is an estimator
    raise TypeError(
        f"A fitted model is needed and a {type(model).__name__} was given: give a LatentSimplexPosition after fit, or "
        "what load returns."
    )


def cut_as_fitted(results: Results, data: Any) -> Views:
    """Return the views of data that are read and cut as those of a fit were."""
    settings, found = results.settings, results.found_columns
    reading = settings.get("missing", "raise"), settings.get("join", "strict")
    cut = settings["views"] if found is None else "whole"
    views = as_views(data, cut, isinstance(results.similarity, Precomputed), *reading)
    if found is None:
        return views
    _check_width(views, results)
    return take_columns(views, found)


def _check_width(views: Views, results: Results) -> None:
    if views.n_columns != results.n_features:  # in scikit-learn's words, which its checks look for
        raise ValueError(
            f"X has {views.n_columns} features, but LatentSimplexPosition is expecting {results.n_features} features "
            "as input: give the data of the fit."
        )


def read_views_again(results: Results, data: Any) -> Views:
    """Return the views of the data that a model was fitted to, given again; ValueError for other data."""
    views = cut_as_fitted(results, data)
    if views.found is None:
        _check_width(views, results)
    if (len(views), views.n_samples) != (results.n_views, results.n_samples):
        raise ValueError(
            f"The data have {len(views)} views of {views.n_samples} samples and the model was fitted to "
            f"{results.n_views} of {results.n_samples}: give the data of the fit."
        )
    for what, names, given in [
        ("views", results.view_names, views.names),
        ("samples", results.sample_names, views.sample_names),
    ]:
        if names is not None and given is not None and list(map(str, names)) != list(map(str, given)):
            raise ValueError(
                f"The {what} of the data have other names, or another order, than those of the model: give the data "
                "of the fit."
            )
    return keep_present(views, results.present)
