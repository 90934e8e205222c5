"""Similarities beside co-assignments: one order, one scale, and the data of the fit."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import squareform

from latentsimplex import LatentSimplexPosition, load
from latentsimplex.datasets import running_example
from latentsimplex.plots import plot_similarity
from latentsimplex.plots.similarity import expected_similarity, view_similarity
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
    with pytest.raises(
        ValueError, match="The data have 3 views of 29 samples and the model was fitted to 3 of 30"
    ):
        plot_similarity(model, data=[X[:29] for X in data])
    with pytest.raises(ValueError, match="Both similarity and data were given"):
        plot_similarity(model, np.eye(30), data=data)
    with pytest.raises(ValueError, match="data goes with a fitted model"):
        plot_similarity(CoAssignment(W), data=data)
    with pytest.raises(ValueError, match="similarity has 3 samples and the co-assignments 5"):
        plot_similarity(CoAssignment(W), np.eye(3))


def test_samples_in_another_order_are_refused(ax):
    names = [f"s{i}" for i in range(12)]
    model = random_model(12, 1, 2, sample_names=names)
    data = pd.DataFrame(np.arange(12.0)[:, None], index=names)
    with pytest.raises(ValueError, match=r"The samples of the data have other names, or another order"):
        plot_similarity(model, data=[data[::-1]], ax=ax)


def test_a_model_alone_shows_the_similarity_that_it_expects(fitted, ax):
    model, _ = fitted
    assert model.stages_[-1].response == "learned"
    plot_similarity(model, view=1, ax=ax)
    l = model.view_patterns_[1]
    members, B = model.memberships_[l], model.responses_[l]
    Q = np.array([[w @ B @ v for v in members] for w in members])
    np.fill_diagonal(Q, 1)
    np.testing.assert_allclose(expected_similarity(model, 1), Q)
    drawn = np.asarray(ax.child_axes[0].images[0].get_array())
    np.testing.assert_allclose(np.sort(drawn.ravel()), np.sort(Q.ravel()))
    assert ax.child_axes[0].get_title() == "expected similarity $W B W^T$"


def test_a_model_that_expects_coassignments_alone_asks_for_the_data():
    with pytest.raises(ValueError, match=r"A model holds no data.*give data=, what it was fitted to"):
        plot_similarity(random_model(10, 1, 2))


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
