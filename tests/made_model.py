"""Fitted models made by hand, for tests of what is said about a fit and not of the fit itself."""

from dataclasses import replace

import numpy as np

from latentsimplex import LatentSimplexPosition
from latentsimplex.auto.cluster_tree import Level
from latentsimplex.inputs.views import as_views
from latentsimplex.placing.references import keep_references
from latentsimplex.results.consensus import form_consensus
from latentsimplex.results.results import Results, Stage
from latentsimplex.similarity import AutoDiffusion


def made_model(
    memberships,
    view_patterns,
    *,
    view_names=None,
    sample_names=None,
    stages=None,
    n_features=None,
    **settings,
):
    """A model with these memberships (a list of (n, clusters) arrays) and the pattern of each view, of one feature."""
    model = LatentSimplexPosition(**settings)
    memberships, view_patterns = [np.asarray(W, dtype=float) for W in memberships], np.asarray(view_patterns)
    n_views, d = len(view_patterns), len(memberships)
    pattern_labels = np.array([W.argmax(axis=1) for W in memberships])
    names = np.array(view_names or [f"view{v}" for v in range(n_views)], dtype=object)
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name != "verbose"}
    results = Results(
        view_names=names,
        sample_names=None if sample_names is None else np.array(sample_names, dtype=object),
        feature_names=None,
        n_features=n_features or n_views,
        view_patterns=view_patterns,
        view_responsibilities=0.1 / d + 0.9 * np.eye(d)[view_patterns],
        pattern_weights=np.bincount(view_patterns, minlength=d) / n_views,
        memberships=memberships,
        responses=[np.eye(W.shape[1]) for W in memberships],
        pattern_labels=pattern_labels,
        averaged=memberships,
        consensus=form_consensus(view_patterns, memberships, names),
        initial_view_patterns=view_patterns,
        loss_curve=np.array([30.0, 20.0, 15.0]),
        expected_loss_curve=np.array([30.0, 20.0, 15.0]),
        converged=True,
        start_losses=np.array([15.0, 15.01, 16.0]),
        start_agreement=np.array([1.0, 0.99, 0.4]),
        stages=tuple(made_stages(n_views) if stages is None else stages),
        levels=[made_levels(labels) for labels in pattern_labels],
        evidence=[np.linspace(0, 0.5, int(labels.max()) + 1) for labels in pattern_labels],
        settings=parameters,
    )
    return model._show(results)


def with_references(model, data, views="whole"):
    """The model with what places new samples, as if it had been fitted to these data."""
    found = model.results_
    references = keep_references(
        as_views(data, views),
        found.similarity,
        found.view_patterns,
        found.memberships,
        found.pattern_labels,
        n_jobs=1,
    )
    return model._show(replace(found, references=references))


def made_levels(labels):
    """One cluster, and the clusters of these labels where there are more."""
    one = Level(np.zeros(len(labels), dtype=int), 0.0)
    return [one, Level(labels, 0.5)] if labels.any() else [one]


def made_stages(n_views):
    """The stages of a default fit after a search with local walks."""
    local, mixed = (
        AutoDiffusion("local", ((1, "as they are"),)),
        AutoDiffusion("mixed", ((1, "as they are"),), 0.4),
    )
    how = {"penalty": "labels", "search": "moves", "optimizer": "mirror", "n_views": n_views}
    return [
        Stage("search", local, "forward", "learned", temperature=10.0, evidence=2.5, **how),
        Stage("refinement", mixed, "reverse", "identity", temperature=12.5, **how),
    ]


def random_model(n_samples, n_patterns, n_clusters, concentration=0.5, seed=0, **settings):
    """A model with Dirichlet memberships and a view for each pattern."""
    rng = np.random.default_rng(seed)
    memberships = rng.dirichlet([concentration] * n_clusters, size=(n_patterns, n_samples))
    return made_model(list(memberships), np.arange(n_patterns), **settings)
