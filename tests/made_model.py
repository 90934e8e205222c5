"""Fitted models made by hand, for tests of what is said about a fit and not of the fit itself."""

import numpy as np

from latentsimplex import LatentSimplexPosition
from latentsimplex.similarity import Readings


def made_model(memberships, view_patterns, *, view_names=None, sample_names=None, **settings):
    """A model with these memberships (a list of (n, clusters) arrays) and the pattern of each view."""
    model = LatentSimplexPosition(**settings)
    view_patterns = np.asarray(view_patterns)
    n_views, d = len(view_patterns), len(memberships)
    model.n_samples_, model.n_features_in_ = len(memberships[0]), n_views
    model.view_names_in_ = np.array(view_names or [f"view{v}" for v in range(n_views)], dtype=object)
    model.sample_names_in_ = None if sample_names is None else np.array(sample_names, dtype=object)
    model.memberships_ = [np.asarray(W, dtype=float) for W in memberships]
    model.responses_ = [np.eye(W.shape[1]) for W in model.memberships_]
    model.n_patterns_ = d
    model.n_clusters_ = np.array([W.shape[1] for W in model.memberships_])
    model.view_patterns_ = view_patterns
    model.view_responsibilities_ = 0.1 / d + 0.9 * np.eye(d)[view_patterns]
    model.pattern_weights_ = np.bincount(view_patterns, minlength=d) / n_views
    model.pattern_labels_ = np.array([W.argmax(axis=1) for W in model.memberships_])
    model.initial_view_patterns_ = view_patterns
    model.loss_curve_ = model.expected_loss_curve_ = np.array([30.0, 20.0, 15.0])
    model.loss_ = model.expected_loss_ = 15.0
    model.n_iter_, model.converged_ = 2, True
    model.start_losses_ = np.array([15.0, 15.01, 16.0])
    model.start_agreement_ = np.array([1.0, 0.99, 0.4])
    model.similarity_ = Readings("mixed", ((1, "as they are"),), 0.4)
    model.temperature_ = 12.5
    model.consensus_ = model.consensus()
    model.labels_ = model.consensus_.labels
    return model


def random_model(n_samples, n_patterns, n_clusters, concentration=0.5, seed=0, **settings):
    """A model with Dirichlet memberships and a view for each pattern."""
    rng = np.random.default_rng(seed)
    memberships = rng.dirichlet([concentration] * n_clusters, size=(n_patterns, n_samples))
    return made_model(list(memberships), np.arange(n_patterns), **settings)
