"""The one estimator: check the options, run the stages (:mod:`latentsimplex.stages`), show what was found."""

from __future__ import annotations

import os
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import Tags

from latentsimplex.auto.cluster_tree import Level
from latentsimplex.base.types import Array
from latentsimplex.engines.dask_stages import run_on_cluster
from latentsimplex.inputs.column_groups import is_word
from latentsimplex.known.findings import KnownFindings
from latentsimplex.known.known_samples import Given
from latentsimplex.options import PAPER, check_settings, resolve_options
from latentsimplex.outputs import GivesOutputs
from latentsimplex.prediction import PlacesNewData
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.results.consensus import Consensus
from latentsimplex.results.fit_warnings import warn_of_unused_losses, warn_of_weak_results
from latentsimplex.results.results import FITTED, Results, Stage, read_views_again, results_of
from latentsimplex.results.save_load import load_results
from latentsimplex.resuming import resume_stages
from latentsimplex.similarity import Precomputed
from latentsimplex.stages import run_stages


class LatentSimplexPosition(GivesOutputs, PlacesNewData, ClusterMixin, BaseEstimator):
    """Multi-view clustering with uncertainty: the latent simplex position model.

    Each view of the same samples becomes a similarity matrix, read as a rough estimate of who shares a
    cluster with whom. The model finds a few patterns P = W W^T, memberships W on the simplex, and
    which pattern each view follows; the views with clusters combine into a consensus.

    Parameters
    ----------
    n_clusters, n_patterns : "auto" or int
        The most clusters of a pattern, and the most patterns. "auto" is as many as the data show: up to ten patterns
        and, among more than 12 views or with a similarity of your own, up to ten clusters. ``GridSearchCV`` chooses no
        number of clusters, for ``score`` prefers few, and one most of all: take "auto", and look at ``evidence_``.
    min_clusters : int
        The fewest clusters where there are any; ``n_clusters = min_clusters = k`` is exactly k.
    views : "whole", "columns", "discover", one label per column, or a dict
        How a single 2-D table is cut into views. "discover" finds them: columns that show clusters together, grouped by
        which clusters, and others in none (``view_columns_``). Columns with one label form a view. A pandas Series or a
        dict from columns to views is matched by the names of the columns; a dict from views to lists of columns works
        too. Columns with several levels form a view for each first level. For AnnData also "layers", "obsm", or a
        column of ``var`` (:mod:`latentsimplex.inputs.containers`).
    missing : "raise" or "pairwise"
        What to do about missing cells (NaN): refuse them, or compare two samples on the features that both have.
    join : "strict", "inner" or "outer"
        Named samples that not all views have: refuse them, keep the samples that all views have, or keep all of them,
        each in the views that have it (``present_``).
    n_landmarks : "auto", int or None
        Samples that all others are placed against in broad graphs; all of them shape graphs of the nearest neighbours.
        "auto" is 5,000 beyond 10,000 samples, and none up to there; None compares all with all. For up to 12 views.
    engine : None, dask.distributed.Client or str
        Who does the work: this process, or the workers of a Dask cluster, given as a client or as the address of its
        scheduler (``pip install "latentsimplex[dask]"``). Labels are the same. ``save`` does not keep it.
    checkpoint : str, path or None
        A folder, new or of an earlier fit: state is kept there, and a fit of the same data and settings goes on from
        it, with or without an engine. The folder of a fit that has ended gives its result (:doc:`/long_fits`).
    similarity : "auto", "local-scaling", "diffusion", "precomputed", a kernel object or a function
        How a view becomes similarities; see :mod:`latentsimplex.similarity`. "auto" chooses diffusion at
        one of two scales, and how features are compared, by the evidence for clusters.
    divergence : "auto", "reverse" or "forward"
        KL(P || S), the paper's, or KL(S || P). "auto" is "forward", and "reverse" after a search with local walks.
    response : "auto", "identity" or "learned"
        What similarity to expect given memberships: in the paper, the co-assignment probability itself; "learned" gives
        each pair of clusters its own, q = w_i^T B w_j. "auto" is "learned", and "identity" after local walks.
    penalty : "auto", "labels", "group", "dirichlet" or None
        The price of writing down the labels of k clusters, the paper's group penalty that empties columns, a
        Dirichlet(0.1) prior on rows, or nothing. "auto" is "labels".
    temperature : "auto" or float
        Divergences are divided by it in the E step, and the price of labels is in its units; 1 is the paper. "auto"
        measures it on null clouds; with "labels" it is doubled, up to n/2, for the choice of a view's pattern.
    search : "auto", "plain" or "moves"
        "plain" is the paper's: random memberships, then EM. "moves" starts from spectral clustering and changes
        clusters and patterns while the loss falls. "auto" is "moves" with a learned response or the penalty "labels".
    optimizer : "auto", "adam" or "mirror"
        How memberships descend: Adam, the paper's choice, or mirror descent with momentum, which needs fewer
        steps. "auto" is "mirror" unless the penalty has a gradient, for which its step sizes are not made.
    n_init : int
        Number of starts; the one with the lowest loss is kept.
    max_iter : int
        Largest number of EM iterations of a start; with moves, of each run of EM between them.
    tol : float
        A plain start has converged when its loss falls by less than this share over 100 iterations.
    device : "cpu", "cuda", "mps" or "torch"
        Where to compute: on the processor, on a GPU (``pip install "latentsimplex[gpu]"``), or with
        torch on the processor. "cuda:0" and "cuda:1" name GPUs. Results are the same up to rounding.
    memory_limit : int, str or None
        What a fit may take beside the data: bytes, or a string like "2GB"; None is half of what is free, by
        the machine, the limits of the process and those of its container. Pair values that do not fit are kept
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
        Joint labels of each live pattern, heaviest pattern first: spectral clustering of its co-assignments, which
        takes all pairs into account. Near a border they may differ from the largest of ``memberships_``.
    view_labels_ : (V, n) array
        Each view's labels, those of its pattern.
    view_patterns_ : (V,) array
        The live pattern that each view follows.
    view_responsibilities_ : (V, patterns) array
        Pr(view follows pattern).
    pattern_weights_ : (patterns,) array
        Mixture weights lambda: how probable each pattern is for a view before its data are seen.
    memberships_ : list of (n, clusters) arrays
        Pr(sample in cluster), one array per live pattern; column k is label k.
    responses_ : list of (clusters, clusters) arrays
        Expected similarity between and within the clusters of each pattern; the identity unless learned.
    n_patterns_, n_clusters_ : int, (patterns,) array
        Number of live patterns, and of the clusters of each.
    consensus_ : Consensus
        Labels, co-assignments and weights of the consensus (:class:`latentsimplex.results.Consensus`).
    stages_ : tuple of Stage
        What each stage of the fit used: similarity, divergence, response, penalty, temperature, evidence for
        clusters (:class:`latentsimplex.results.Stage`).
    levels_, evidence_ : list of lists of (labels, evidence), list of arrays
        The clusters of each pattern from coarse to fine, and what speaks for 1, 2, ... of them, in nats a sample. Where
        that was not measured, among more than twelve views or with a similarity of one's own, ``evidence_`` is empty
        and the levels, one cluster and the clusters found, have an evidence of 0.
    similarity_ : kernel
        What the last stage compared the samples of each view with.
    temperature_ : float
        That of the last stage, a mean over views where it was measured.
    loss_, loss_curve_ : float, array
        What EM minimises: -(1/beta) sum_v log sum_l lambda_l exp(-beta K_vl) + penalties. It
        belongs to the last stage and, where there are two, cannot be compared with ``start_losses_``.
    expected_loss_, expected_loss_curve_ : float, array
        The expected RegLoss of the paper's text; of the last stage.
    n_iter_, converged_ : int, bool
        Steps of the curves; with moves, those that lowered the loss.
    start_losses_, start_agreement_ : (n_init,) arrays
        The loss that each start of the search ended with, and how far its clusters agree with those of the best start:
        NMI, mean over views. One start that agrees with itself where clusters are found by splits.
    initial_view_patterns_ : (V,) array
        The k-means start of the run that was kept; -1 for a constant view, -2 for views beyond those that a
        search with moves looks at (100 for each of ``n_patterns``).
    view_names_in_, sample_names_in_ : arrays of str
        ``sample_names_in_`` is None where the data had no row names.
    n_samples_, n_features_in_, feature_names_in_ : int, int, array of str where one table had named columns
    present_ : (V, n) array of bool, or None
        Which samples each view has; None if each has all of them.
    placed_ : (patterns, n) array of bool, or None
        Which samples are in some view of each pattern; None if all. Others have the pattern's shares as memberships.
    view_columns_ : list of integer arrays, or None
        With ``views="discover"``, the columns of each view that was found, none where the whole table is one; None
        where views were given.
    known_ : KnownFindings or None
        What the fit says of labels and links (:class:`latentsimplex.known.findings.KnownFindings`); None without any.
    loss_weights_ : array or None, the weights of ``losses``, as given or as found
    results_ : Results, all of the above as one record

    Examples
    --------
    >>> from latentsimplex.datasets import running_example
    >>> data = running_example(n_samples=60, separation=8, random_state=0)
    >>> model = LatentSimplexPosition(n_clusters=3, n_patterns=3, n_init=1, random_state=0).fit(data.views)
    >>> model.view_labels_.shape, model.memberships_[0].shape[0]
    ((3, 60), 60)
    """

    results_: Results
    labels_: np.ndarray
    pattern_labels_: np.ndarray
    view_patterns_: np.ndarray
    view_responsibilities_: Array
    pattern_weights_: Array
    memberships_: list[Array]
    responses_: list[Array]
    n_patterns_: int
    n_clusters_: np.ndarray
    consensus_: Consensus
    stages_: tuple[Stage, ...]
    levels_: list[list[Level]]
    evidence_: list[Array]
    similarity_: Any
    temperature_: float
    loss_: float
    loss_curve_: Array
    expected_loss_: float
    expected_loss_curve_: Array
    n_iter_: int
    converged_: bool
    start_losses_: Array
    start_agreement_: Array
    initial_view_patterns_: np.ndarray
    view_names_in_: np.ndarray
    sample_names_in_: np.ndarray | None
    feature_names_in_: np.ndarray
    n_samples_: int
    n_features_in_: int
    present_: np.ndarray | None
    placed_: np.ndarray | None
    view_columns_: list[np.ndarray] | None
    known_: KnownFindings | None
    loss_weights_: Array | None

    def __init__(
        self,
        n_clusters: int | str = "auto",
        n_patterns: int | str = "auto",
        *,
        min_clusters: int = 1,
        views: Any = "whole",
        missing: str = "raise",
        join: str = "strict",
        n_landmarks: int | str | None = "auto",
        engine: Any = None,
        checkpoint: Any = None,
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
        self.min_clusters = min_clusters
        self.views = views
        self.missing = missing
        self.join = join
        self.n_landmarks = n_landmarks
        self.engine = engine
        self.checkpoint = checkpoint
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

    def fit(
        self, X: Any, y: Any = None, must_link: Any = None, cannot_link: Any = None, losses: Any = None
    ) -> LatentSimplexPosition:
        """Fit the model to views of the same samples, and to what is known of some samples.

        Parameters
        ----------
        X : views
            A list or dict of (n, p) arrays or frames, a (V, n, p) array, one 2-D array or frame (see
            ``views``), an AnnData, a MuData (a view for each modality), or similarities where
            ``similarity="precomputed"``. Rows of frames are matched by name, unless every index is 0, ..., n - 1.
        y : (n,) sequence, optional
            The classes of some samples: numbers or text, -1 or None where unknown. They may be wrong, and are not all
            the classes there may be (``known_``, docs/partial_labels.md). A Series is matched by name.
        must_link, cannot_link : pairs (m, 2) or lists of samples, optional
            Samples, by index or by name, that are in one cluster, or in different ones. ``(links, weight)`` counts each
            so many times; a weight of ``inf`` is kept to exactly.
        losses : list, optional
            Further terms of the loss, for the samples in their order: a graph beside the views
            (:class:`latentsimplex.model.joint_losses.BlockModel`), covariates, or your own (``loss_weights_``).

        Returns
        -------
        self
        """
        options = resolve_options(self.get_params(deep=False))
        given = Given(y, must_link, cannot_link, losses)
        if options.checkpoint is not None:
            results = resume_stages(X, options, given)
        elif options.engine is not None:
            results = run_on_cluster(X, options, given)
        else:
            results = run_stages(X, options, given)
        warn_of_weak_results(results, self.min_clusters)
        if losses is not None:
            warn_of_unused_losses(results)
        return self._show(results)

    def fit_predict(self, X: Any, y: Any = None, **given: Any) -> np.ndarray:
        """Return the labels of a fit with the same arguments (n,)."""
        return self.fit(X, y, **given).labels_

    def _show(self, results: Results) -> LatentSimplexPosition:
        """Set the attributes of a fitted estimator."""
        self.results_ = results
        for attribute, name in FITTED.items():
            setattr(self, attribute, getattr(results, name))
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if results.feature_names is not None:
            self.feature_names_in_ = results.feature_names
        return self

    @property
    def view_labels_(self) -> np.ndarray:
        """Each view's joint labels (V, n)."""
        return results_of(self).view_labels

    def coassignment(self, view: int | str | None = None, pattern: int | None = None) -> CoAssignment:
        """Return co-assignment probabilities of a view, of a pattern, or (without arguments) of the consensus.

        Parameters
        ----------
        view : int or str
            A view's index or name.
        pattern : int
            A live pattern's index, heaviest first.
        """
        return results_of(self).coassignment(view, pattern)

    def consensus(self, weights: Array | None = None) -> Consensus:
        """Return the consensus with the given weight of each view; None is that of the fit."""
        return results_of(self).reform_consensus(weights)

    def score(self, X: Any = None, y: Any = None) -> float:
        """Return how well the model fits: the loss, negated, so that higher is better.

        It compares fits to the same data with the same number of clusters, similarity, divergence and response, such as
        those of several seeds. Losses of other fits are in other units (``stages_``), and new samples have no loss.
        ``X`` may be left out; where given it must be the data of the fit. ``y`` is ignored.
        """
        if X is not None:
            read_views_again(results_of(self), X)
        return -results_of(self).loss

    def __sklearn_clone__(self) -> LatentSimplexPosition:
        """Return an unfitted estimator with the same parameters; a client is shared, as there is no copy of one."""
        clone = BaseEstimator.__sklearn_clone__(copy(self))  # which leaves the client out
        clone.engine = self.engine
        return clone

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "results_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        similarity = self.similarity
        tags.input_tags.pairwise = is_word(similarity, "precomputed") or isinstance(similarity, Precomputed)
        tags.input_tags.sparse = True
        return tags


def load(path: str | os.PathLike[str]) -> LatentSimplexPosition:
    """Return the fitted model that ``save`` wrote to ``path``.

    Raises
    ------
    FileNotFoundError, PermissionError
        If there is no such file, or it may not be read.
    ValueError
        If the file is not a model, is damaged, or comes from a release that writes another schema.

    Examples
    --------
    >>> import tempfile
    >>> model = LatentSimplexPosition(n_clusters=2, n_init=1, random_state=0)
    >>> _ = model.fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model")
    ...     again = load(f"{folder}/model")
    >>> bool((again.labels_ == model.labels_).all())
    True
    """
    results = load_results(
        path, lambda given: check_settings(LatentSimplexPosition(**given).get_params(False))
    )
    return LatentSimplexPosition(**results.settings)._show(results)
