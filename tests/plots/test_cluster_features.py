"""Features that set clusters apart, as a heatmap."""

import numpy as np
import pytest

from latentsimplex.analysis import describe_clusters
from latentsimplex.plots import panels, plot_cluster_features
from made_model import made_model
from plots.drawn import names_of, said


def drawn(model, data, **options):
    return plot_cluster_features(model, data, ax=panels(1, 1)[1][0, 0], **options)


def test_rows_are_the_top_features_and_colours_their_effects():
    rng = np.random.default_rng(0)
    W = np.eye(3)[np.repeat([0, 1, 2], 10)]
    A, B = rng.normal(size=(30, 4)) * 0.1, rng.normal(size=(30, 2)) * 0.1
    A[:10, 2] += 5
    B[10:20, 0] -= 5
    A[20:, 0] += 5
    model = made_model([W], [0, 0], view_names=["a", "b"])
    ax = drawn(model, {"a": A, "b": B}, most=1)
    assert names_of(ax) == ["x2 (a)", "x0 (b)", "x0 (a)"]
    table = describe_clusters(model, {"a": A, "b": B})
    image = np.asarray(ax.images[0].get_array())
    for row, (view, feature) in enumerate([("a", "x2"), ("b", "x0"), ("a", "x0")]):
        own = table.rows((table["view"] == view) & (table["feature"] == feature))
        assert image[row] == pytest.approx(own["effect"][np.argsort(own["cluster"])])
    assert np.diag(image) == pytest.approx([2.1, -2.1, 2.1], abs=0.1)
    assert ax.get_title() == "consensus: 3 features that set clusters apart"


def test_many_features_are_cut_and_the_figure_says_so():
    W = np.eye(12)[np.arange(60) % 12]
    X = np.random.default_rng(1).normal(size=(60, 200))
    ax = drawn(made_model([W], [0]), X)
    assert len(names_of(ax)) == 40
    assert "features, those of the first clusters" in said(ax)


def test_one_cluster_has_nothing_to_draw():
    with pytest.raises(ValueError, match="nothing that sets clusters apart"):
        drawn(made_model([np.ones((5, 1))], [0]), np.eye(5))
