"""The one estimator: validate, fit, set attributes. The mathematics is in :mod:`latentsimplex.em`."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from latentsimplex import options
from latentsimplex._types import Array
from latentsimplex.coassignment import CoAssignment
from latentsimplex.compute.threads import Workers
from latentsimplex.consensus import Consensus, form_consensus
from latentsimplex.em import OPTIMIZERS, Schedule
from latentsimplex.engines import engine_on
from latentsimplex.engines.memory import memory_budget, storage
from latentsimplex.estimates import estimate, others, with_constant_views
from latentsimplex.frames import library_of
from latentsimplex.interruption import stop_of_fits
from latentsimplex.labels import joint_labels
from latentsimplex.plan import Plan
from latentsimplex.progress import reporting
from latentsimplex.search import Search
from latentsimplex.similarity import Precomputed, as_kernel
from latentsimplex.views import Views, as_views

PAPER = {
    "similarity": "local-scaling",
    "divergence": "reverse",
    "response": "identity",
    "penalty": "group",
    "temperature": 1.0,
    "search": "plain",
    "optimizer": "adam",
    "n_init": 3,
    "max_iter": 500,
    "tol": 0.01,
}


class LatentSimplexPosition(ClusterMixin, BaseEstimator):
    """Multi-view clustering with uncertainty: the latent simplex position model.

    Each view of the same samples becomes a similarity matrix, read as a rough estimate of who shares a
    cluster with whom. The model finds a few patterns P = W W^T, memberships W on the simplex, and
    which pattern each view follows; the views with clusters combine into a consensus.

    Parameters
    ----------
    n_clusters, n_patterns : int
        Upper bounds on the clusters of a pattern and on the patterns; cut to the number of samples
        and of views.
    views : "whole", "columns" or one label per column
        How a single 2-D table is cut into views.
    similarity : "auto", "local-scaling", "diffusion", "precomputed", a kernel object or a function
        How a view becomes similarities; see :mod:`latentsimplex.similarity`. "auto" chooses diffusion at
        one of two scales, and how features are read, by how much more clusters explain than in a cloud
        without any; a second stage, at another scale, then draws the borders of what was found.
    divergence : "auto", "reverse" or "forward"
        KL(P || S), the paper's, or KL(S || P). "auto" is "forward"; after a search with local walks the
        second stage has "reverse".
    response : "auto", "identity" or "learned"
        How similarities answer to memberships: the paper takes them as the co-assignments themselves;
        "learned" gives each pair of clusters a similarity of its own, q = w_i^T B w_j. "auto" is
        "learned"; after a search with local walks the second stage has "identity".
    penalty : "auto", "labels", "group", "dirichlet" or None
        The price of writing down the labels of k clusters, the paper's group penalty that empties
        columns, a Dirichlet(0.1) prior on rows, or nothing. "auto" is "labels".
    temperature : "auto" or float
        Divergences are divided by it in the E step, and the price of labels is in its units; 1 is the
        paper. "auto" measures it on clouds without clusters; with "labels" it is twice that, n/2 at most,
        where a view's pattern is concerned.
    search : "auto", "plain" or "moves"
        "plain" is the paper's: random memberships, then EM. "moves" starts from spectral clustering and
        changes clusters and patterns for as long as the loss falls. "auto" is "moves" where the response
        is learned or the penalty is "labels", which need it, and "plain" otherwise.
    optimizer : "auto", "adam" or "mirror"
        How memberships descend: Adam, the paper's choice, or mirror descent with momentum, which needs fewer
        steps. "auto" is "mirror" unless the penalty has a slope, for which its steps are not made.
    n_init : int
        Starts, of which the lowest loss is kept.
    max_iter : int
        Most EM iterations of a start; with moves, of each run between them.
    tol : float
        A plain start has converged when its loss falls by less than this share over 100 iterations; one
        with moves goes on until it has settled.
    device : "cpu", "cuda", "mps" or "torch"
        Where to compute: on the processor, on a graphics card (``pip install "latentsimplex[gpu]"``), or with
        torch on the processor. "cuda:1" is the second card. Answers are the same up to rounding.
    memory_limit : int, str or None
        Bytes, or a string like "2GB"; None is half of what is free. Pair values that do not fit are kept
        as one of 256 levels each, or, where that is too much, computed again in each pass.
    n_jobs : int or None
        Threads; None is all cores. The result does not depend on it.
    random_state : int, RandomState, Generator or None
    verbose : bool
        Show progress: a bar in a terminal or a notebook, elsewhere a few lines on standard error.

    Attributes
    ----------
    labels_ : (n,) array
        Consensus labels.
    pattern_labels_ : (patterns, n) array
        Joint labels of each live pattern, heaviest pattern first.
    view_labels_ : (V, n) array
        Each view's labels, those of its pattern.
    view_patterns_ : (V,) array
    view_responsibilities_ : (V, patterns) array
        Pr(view follows pattern).
    pattern_weights_ : (patterns,) array
    memberships_ : list of (n, clusters) arrays
        Pr(sample in cluster), one array per live pattern; column k is label k.
    responses_ : list of (clusters, clusters) arrays
        Expected similarity between and within the clusters of each pattern; the identity unless learned.
    n_patterns_ : int
    n_clusters_ : (patterns,) array
    consensus_ : Consensus
    similarity_ : kernel
        What the last stage read the views with.
    temperature_ : float
        The temperature of the last stage, a mean over views where it was measured.
    loss_, loss_curve_ : float, array
        What EM descends: -(1/beta) sum_v log sum_l lambda_l exp(-beta K_vl) + penalties. It
        belongs to the last stage and, where there are two, cannot be compared with ``start_losses_``.
    expected_loss_, expected_loss_curve_ : float, array
        The expected RegLoss of the paper's text; of the last stage.
    n_iter_, converged_ : int, bool
        Steps of the curves; with moves, those that lowered the loss.
    start_losses_ : (n_init,) array
        The loss that each start of the search ended with.
    start_agreement_ : (n_init,) array
        How far each start clusters the samples of the views as the best one does: NMI, mean over views.
    initial_view_patterns_ : (V,) array
        The k-means start of the run that was kept; -1 for a constant view, -2 for views beyond those that a
        search with moves looks at (100 for each of ``n_patterns``).
    view_names_in_, sample_names_in_ : arrays of str
        ``sample_names_in_`` is None where the data had no row names.

    Examples
    --------
    >>> from latentsimplex.datasets import running_example
    >>> data = running_example(n_samples=60, separation=8, random_state=0)
    >>> model = LatentSimplexPosition(n_clusters=3, n_patterns=3, n_init=1, random_state=0).fit(data.views)
    >>> model.view_labels_.shape, model.memberships_[0].shape[0]
    ((3, 60), 60)
    """

    _frame_library: str | None = None
    """Where frames in the data came from, which frames of the results come from too."""

    def __init__(
        self,
        n_clusters: int = 10,
        n_patterns: int = 10,
        *,
        views: Any = "whole",
        similarity: Any = "auto",
        divergence: str = "auto",
        response: str = "auto",
        penalty: str | None = "auto",
        temperature: float | str = "auto",
        search: str = "auto",
        optimizer: str = "auto",
        n_init: int = 3,
        max_iter: int = 500,
        tol: float = 0.01,
        device: str = "cpu",
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_patterns = n_patterns
        self.views = views
        self.similarity = similarity
        self.divergence = divergence
        self.response = response
        self.penalty = penalty
        self.temperature = temperature
        self.search = search
        self.optimizer = optimizer
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.device = device
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(cls, n_clusters: int = 10, n_patterns: int = 10, **settings: Any) -> LatentSimplexPosition:
        """Return an unfitted estimator with the settings of the paper's text; what is given overrides them.

        >>> LatentSimplexPosition.paper(penalty="dirichlet").divergence
        'reverse'
        """
        return cls(n_clusters, n_patterns, **{**PAPER, **settings})

    def fit(self, X: Any, y: Any = None) -> LatentSimplexPosition:
        """Fit the model to views of the same samples.

        Parameters
        ----------
        X : views
            A list or dict of (n, p) arrays or frames, a (V, n, p) array, one 2-D array or frame (see
            ``views``), or similarities where ``similarity="precomputed"``.
        y : ignored

        Returns
        -------
        self
        """
        automatic = isinstance(self.similarity, str) and self.similarity == "auto"
        kernel = None if automatic else as_kernel(self.similarity)
        choices = options.resolve_choices(
            self.divergence, self.response, self.penalty, self.temperature, self.search
        )
        schedule = Schedule(
            max_iter=options.check_count("max_iter", self.max_iter),
            tol=options.check_number("tol", self.tol, 0),
            stop=stop_of_fits.get(),
            **OPTIMIZERS[options.resolve_optimizer(self.optimizer, choices.penalty)],
        )
        n_init = options.check_count("n_init", self.n_init)
        device = options.check_device(self.device)
        rng = options.generator(self.random_state)
        data = as_views(X, self.views, precomputed=isinstance(kernel, Precomputed))
        g = min(options.check_count("n_clusters", self.n_clusters), data.n_samples)
        d = min(options.check_count("n_patterns", self.n_patterns), len(data))
        keep = storage(len(data), data.n_samples, d, memory_budget(self.memory_limit))
        engine = engine_on(device)

        with (
            Workers(options.check_jobs(self.n_jobs)) as workers,
            reporting(bool(self.verbose), n_init) as listener,
        ):
            plan = Plan(data, choices, schedule, g, d, n_init, keep, workers, listener, engine)
            found = plan.run(kernel, rng)
        self._frame_library = library_of(X)
        self._set_names(data)
        self._set_estimates(found.search, found.informative)
        self._set_course(found.search, found.informative)
        self.similarity_, self.temperature_ = found.kernel, found.temperature
        return self

    def _set_names(self, data: Views) -> None:
        self.view_names_in_ = np.array(data.names, dtype=object)
        self.sample_names_in_ = (
            None if data.sample_names is None else np.array(data.sample_names, dtype=object)
        )
        self.n_samples_ = data.n_samples
        self.n_features_in_ = data.n_features
        if data.feature_names is not None:
            self.feature_names_in_ = np.array(data.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _set_estimates(self, search: Search | None, informative: np.ndarray) -> None:
        found = None
        if search is not None:
            found = estimate(search.fit.expectation.eta, search.fit.state)
        n_views = len(self.view_names_in_)
        self._warn_constant(others(informative, n_views))
        found = with_constant_views(found, informative, n_views, self.n_samples_)
        self.view_patterns_ = found.view_patterns
        self.view_responsibilities_ = found.responsibilities
        self.pattern_weights_ = found.weights
        self.memberships_ = found.memberships
        self.responses_ = found.responses
        self.n_patterns_ = len(found.memberships)
        self.n_clusters_ = np.array([W.shape[1] for W in found.memberships])
        self.pattern_labels_ = np.array([joint_labels(W) for W in found.memberships])
        self.consensus_ = self.consensus()
        self.labels_ = self.consensus_.labels

    def _set_course(self, search: Search | None, informative: np.ndarray) -> None:
        self.initial_view_patterns_ = np.full(len(self.view_names_in_), -1)
        if search is None:
            curve, expected, self.converged_ = [0.0], [0.0], True
            self.start_losses_, self.start_agreement_ = np.zeros(self.n_init), np.ones(self.n_init)
        else:
            self.initial_view_patterns_[informative] = -2
            self.initial_view_patterns_[search.searched] = search.start_labels
            fit = search.fit
            curve, expected, self.converged_ = fit.loss_curve, fit.expected_loss_curve, bool(fit.converged)
            self.start_losses_, self.start_agreement_ = search.start_losses, search.start_agreement
        self.loss_curve_, self.expected_loss_curve_ = np.array(curve), np.array(expected)
        self.loss_, self.expected_loss_ = float(curve[-1]), float(expected[-1])
        self.n_iter_ = len(curve) - 1

    def _warn_constant(self, constant: np.ndarray) -> None:
        if len(constant):
            names = [str(self.view_names_in_[v]) for v in constant]
            listed = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
            warnings.warn(
                f"{len(names)} of {len(self.view_names_in_)} views are constant, have no clusters and are excluded: "
                f"{listed}.",
                UserWarning,
                stacklevel=4,
            )

    @property
    def view_labels_(self) -> np.ndarray:
        """Each view's joint labels (V, n)."""
        check_is_fitted(self)
        return self.pattern_labels_[self.view_patterns_]

    def coassignment(self, view: int | str | None = None, pattern: int | None = None) -> CoAssignment:
        """Return co-assignment probabilities of a view, of a pattern, or (without arguments) of the consensus.

        Parameters
        ----------
        view : int or str
            A view's index or name.
        pattern : int
            A live pattern's index, heaviest first.
        """
        check_is_fitted(self)
        if view is not None and pattern is not None:
            raise ValueError("Both view and pattern were given: a co-assignment belongs to one of them.")
        if view is None and pattern is None:
            return self.consensus_.coassignment
        if view is not None:
            pattern = int(self.view_patterns_[self._view_index(view)])
        elif not isinstance(pattern, (int, np.integer)) or not 0 <= pattern < self.n_patterns_:
            raise ValueError(
                f"pattern={pattern!r} is unknown: the live patterns are 0 to {self.n_patterns_ - 1}."
            )
        return CoAssignment(self.memberships_[pattern])

    def _view_index(self, view: int | str) -> int:
        if isinstance(view, str):
            found = np.flatnonzero(self.view_names_in_ == view)
            if len(found):
                return int(found[0])
        elif isinstance(view, (int, np.integer)) and 0 <= view < len(self.view_names_in_):
            return int(view)
        raise ValueError(
            f"view={view!r} is unknown: give an index from 0 to {len(self.view_names_in_) - 1} or one of "
            f"view_names_in_, such as {str(self.view_names_in_[0])!r}."
        )

    def consensus(self, weights: Array | None = None) -> Consensus:
        """Return the consensus with the given weight of each view; None weighs views with clusters equally."""
        check_is_fitted(self, "memberships_")
        return form_consensus(self.view_patterns_, self.memberships_, self.view_names_in_, weights)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, without pickle; :func:`latentsimplex.load` reads it."""
        from latentsimplex.io import save

        save(self, path)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a self-contained HTML page about the fit."""
        from latentsimplex.report import write_report

        write_report(self, path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "memberships_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.similarity, Precomputed) or (
            isinstance(self.similarity, str) and self.similarity == "precomputed"
        )
        tags.input_tags.sparse = True
        return tags

    def labels_frame(self, backend: str | None = None) -> Any:
        """Return a frame with a row for each sample: its consensus cluster and its cluster under each pattern.

        ``backend`` is "pandas" or "polars"; None is the library of the data's own frames or, where there were none
        and in a model from a file, the one that is installed, pandas where both are.
        """
        from latentsimplex.frames import as_frame, labels_table

        return as_frame(labels_table(self), backend or self._frame_library)

    def memberships_frame(self, pattern: int = 0, backend: str | None = None) -> Any:
        """Return a frame with a row for each sample: the probability of each cluster of a pattern."""
        from latentsimplex.frames import as_frame, memberships_table

        return as_frame(memberships_table(self, pattern), backend or self._frame_library)

    def views_frame(self, backend: str | None = None) -> Any:
        """Return a frame with a row for each view: its pattern, how sure that is, and its part in the consensus."""
        from latentsimplex.frames import as_frame, views_table

        return as_frame(views_table(self), backend or self._frame_library)
