"""Similarities beside co-assignments: one order, one scale, and the data of the fit."""

import numpy as np
import pytest
from scipy.spatial.distance import squareform

from latentsimplex import LatentSimplexPosition, load
from latentsimplex.datasets import running_example
from latentsimplex.plots import plot_similarity
from latentsimplex.plots.similarity import view_similarity
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.similarity import LocalScaling
from made_model import random_model
from plots.drawn import BY_CLUSTER, LABELS, W


@pytest.fixture(scope="module", name="fitted")
def _fitted():
    data = running_example(n_samples=30, separation=8, random_state=0).views
    model = LatentSimplexPosition(3, 2, similarity=LocalScaling(), n_init=1, max_iter=5, random_state=0)
    return model.fit(data), data


def test_similarity_is_drawn_beside_the_coassignment_in_one_order(ax):
    S = np.sqrt(W @ W.T)
    plot_similarity(CoAssignment(W), S, LABELS, ax=ax)
    left, right = ax.child_axes[:2]
    order = np.ix_(BY_CLUSTER, BY_CLUSTER)
    np.testing.assert_allclose(left.images[0].get_array(), S[order])
    np.testing.assert_allclose(right.images[0].get_array(), (W @ W.T)[order])
    assert left.images[0].get_clim() == right.images[0].get_clim() == (0, 1)
    assert (left.get_title(), right.get_title()) == ("similarity $S$", "co-assignment $P$")


def test_similarity_of_a_model_is_computed_from_its_data(fitted, ax):
    model, data = fitted
    plot_similarity(model, data=data, view="view2", ax=ax)
    S = squareform(np.exp(-LocalScaling().exponents(data[2]))) + np.eye(30)
    drawn = np.asarray(ax.child_axes[0].images[0].get_array())
    np.testing.assert_allclose(np.sort(drawn.ravel()), np.sort(S.ravel()), atol=1e-5)
    np.testing.assert_allclose(view_similarity(model, data, "view2"), S, atol=1e-5)
    assert ax.get_title().startswith("view2, pattern")


def test_similarity_wants_the_data_of_the_fit(fitted):
    model, data = fitted
    with pytest.raises(ValueError, match="data holds 2 views of 30 samples"):
        plot_similarity(model, data=data[:2])
    with pytest.raises(ValueError, match="either similarity"):
        plot_similarity(model)
    with pytest.raises(ValueError, match="data goes with a fitted model"):
        plot_similarity(CoAssignment(W), data=data)
    with pytest.raises(ValueError, match="similarity has 3 samples and the co-assignments 5"):
        plot_similarity(CoAssignment(W), np.eye(3))


def test_similarity_of_too_many_samples_is_refused_before_it_is_computed():
    model = random_model(5001, 1, 2)
    with pytest.raises(MemoryError, match="5,001 samples"):
        view_similarity(model, [np.zeros((5001, 1))])


def test_similarity_that_a_file_cannot_hold_is_asked_for(tmp_path):
    data = [np.random.default_rng(0).normal(size=(8, 2))]

    def own(X):
        return np.exp(-np.abs(X[:, :1] - X[:, 0]))

    model = LatentSimplexPosition(2, 1, similarity=own, n_init=1, max_iter=2, random_state=0).fit(data)
    np.testing.assert_allclose(view_similarity(model, data), own(data[0]), atol=1e-6)
    model.save(tmp_path / "a.model")
    with pytest.raises(ValueError, match="cannot hold the function"):
        view_similarity(load(tmp_path / "a.model"), data)
