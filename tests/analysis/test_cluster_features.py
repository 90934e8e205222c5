"""Features that set clusters apart: means and effects by hand, names, orders, and what cannot be described."""

import time
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from latentsimplex import LatentSimplexPosition
from latentsimplex.analysis import describe_clusters
from made_model import made_model

LABELS = np.array([0, 0, 1, 1, 2, 2])
W = np.eye(3)[LABELS]


def rows_of(table):
    return {(k, view, feature): (a, b, e) for k, view, feature, a, b, e in table}


def test_means_and_effects_by_hand():
    X = np.array([[1.0, 0, 7], [3, 1, 7], [10, 0, 7], [12, 1, 7], [0, 0, 7], [4, 4, 7]])
    table = describe_clusters(made_model([W], [0]), X)
    assert list(table.columns) == ["cluster", "view", "feature", "mean_inside", "mean_outside", "effect"]
    found = rows_of(table)
    for k in range(3):
        for j in range(2):
            own = W[:, k] == 1
            inside, outside = X[own, j].mean(), X[~own, j].mean()
            expected = (inside, outside, (inside - outside) / X[:, j].std())
            assert found[k, "view0", f"x{j}"] == pytest.approx(expected)
        assert found[k, "view0", "x2"] == (7, 7, 0)


def test_rows_come_by_cluster_and_then_by_the_size_of_the_effect():
    table = describe_clusters(made_model([W], [0]), np.random.default_rng(0).normal(size=(6, 9)))
    assert table["cluster"].tolist() == np.repeat([0, 1, 2], 9).tolist()
    for k in range(3):
        sizes = np.abs(table["effect"][table["cluster"] == k])
        assert (np.diff(sizes) <= 0).all()


def test_the_consensus_has_the_views_that_take_part_and_a_pattern_those_that_follow_it():
    two = np.eye(2)[[0, 1, 0, 1, 0, 1]]
    model = made_model([W, two, np.ones((6, 1))], [0, 1, 2], view_names=["a", "b", "flat"])
    data = {name: np.random.default_rng(0).normal(size=(6, 2)) for name in ("a", "b", "flat")}
    assert set(describe_clusters(model, data)["view"]) == {"a", "b"}
    second = describe_clusters(model, data, pattern=1)
    assert (set(second["view"]), set(second["cluster"])) == ({"b"}, {0, 1})
    assert len(describe_clusters(model, data, pattern=2)) == 0
    with pytest.raises(ValueError, match="pattern=3 is unknown"):
        describe_clusters(model, data, pattern=3)


def test_no_clusters_give_an_empty_table_with_its_columns():
    table = describe_clusters(made_model([np.ones((6, 1))], [0]), np.eye(6))
    assert (len(table), len(table.columns)) == (0, 6)


def test_names_of_features_come_from_frames():
    values = np.random.default_rng(0).normal(size=(6, 2))
    model = made_model([W], [0, 0], view_names=["a", "b"])
    data = {
        "a": pd.DataFrame(values, columns=["age", "height"]),
        "b": pl.DataFrame(values, schema=["x", "y"]),
    }
    table = describe_clusters(model, data)
    assert set(zip(table["view"], table["feature"], strict=True)) == {
        ("a", "age"), ("a", "height"), ("b", "x"), ("b", "y"),
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["columns", "groups"])
def test_a_table_that_was_cut_keeps_the_names_of_its_columns(kind):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(6, 3)), columns=["p", "q", "r"])
    views, names = ("columns", ["p", "q", "r"]) if kind == "columns" else (["g", "h", "g"], ["g", "h"])
    model = made_model([W], [0] * len(names), view_names=names, views=views)
    table = describe_clusters(model, frame)
    pairs = set(zip(table["view"], table["feature"], strict=True))
    assert pairs == {(v, v) for v in "pqr"} if kind == "columns" else {("g", "p"), ("g", "r"), ("h", "q")}
    unnamed = describe_clusters(
        made_model([W], [0] * 2, view_names=["g", "h"], views=["g", "h", "g"]), frame.to_numpy()
    )
    assert set(zip(unnamed["view"], unnamed["feature"], strict=True)) == {
        ("g", "x0"),
        ("g", "x2"),
        ("h", "x1"),
    }


def test_samples_and_views_are_matched_by_name():
    rng = np.random.default_rng(0)
    names = list("abcdef")
    frames = {v: pd.DataFrame(rng.normal(size=(6, 2)), index=names) for v in ("one", "two")}
    model = made_model([W], [0, 0], view_names=["one", "two"], sample_names=names)
    expected = rows_of(describe_clusters(model, frames))
    moved = {v: frames[v].iloc[::-1] for v in ("two", "one")}
    found = rows_of(describe_clusters(model, moved))
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        assert found[key] == pytest.approx(row)


def test_samples_that_a_view_was_read_without_have_no_part():
    """Such as samples without a word, whose rows of zeros the fit left out."""
    X = np.arange(12.0).reshape(6, 2)
    frames = {v: pd.DataFrame(X, index=list("abcdef")) for v in ("one", "two")}
    model = made_model([W], [0, 0], view_names=["one", "two"], sample_names=list("abcdef"))
    present = np.ones((2, 6), dtype=bool)
    present[0, 1] = False  # sample b, of cluster 0, in view "one"
    model._show(replace(model.results_, present=present))
    for given in (frames, {v: frames[v].iloc[::-1] for v in ("two", "one")}):
        found = rows_of(describe_clusters(model, given))
        assert found[0, "one", "0"][0] == X[0, 0]
        assert found[0, "two", "0"][0] == X[:2, 0].mean()


def test_data_of_another_fit_are_refused():
    model = made_model([W], [0], view_names=["one"], sample_names=list("abcdef"))
    with pytest.raises(ValueError, match="5 samples and the model has 6"):
        describe_clusters(model, {"one": np.eye(5)})
    with pytest.raises(ValueError, match="views of the data are not those of the model, such as 'other'"):
        describe_clusters(model, {"other": np.eye(6)})
    with pytest.raises(ValueError, match="samples of the data are not those of the model, such as 'a'"):
        describe_clusters(model, {"one": pd.DataFrame(np.eye(6), index=list("ghijkl"))})


def test_similarities_have_no_features():
    fit = LatentSimplexPosition(2, similarity="precomputed", n_init=1, max_iter=2, random_state=0)
    S = np.kron(np.eye(2), np.ones((3, 3)))
    with pytest.raises(ValueError, match="precomputed similarities, which have no features"):
        describe_clusters(fit.fit(S), S)


def test_huge_numbers_and_sparse_tables_are_described():
    X = np.outer(LABELS == 0, [1e140, 1.0])
    assert rows_of(describe_clusters(made_model([W], [0]), X))[0, "view0", "x0"] == pytest.approx(
        (1e140, pytest.approx(0, abs=1e126), 3 / np.sqrt(2))
    )
    model = made_model([W], [0])
    assert rows_of(describe_clusters(model, sparse.csr_matrix(X))) == rows_of(describe_clusters(model, X))


def test_missing_cells_have_no_part():
    from latentsimplex.analysis.cluster_features import standardise_present

    X = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])
    Z, mean, sd, present = standardise_present(X)
    np.testing.assert_allclose(Z, [[-1, 0], [1, 0], [0, 0]])
    assert (mean[0], sd[0], present.sum()) == (2, 1, 2)


def test_categories_and_missing_cells_as_a_fit_takes_them():
    colour = ["red", "red", "blue", "blue", "green", "green"]
    frame = pd.DataFrame({"size": [1.0, np.nan, 5, 6, 9, 9], "colour": colour})
    found = rows_of(describe_clusters(made_model([W], [0], missing="pairwise"), frame))
    assert {feature for _, _, feature in found} == {"size", "colour=blue", "colour=green", "colour=red"}
    assert found[0, "view0", "colour=red"][2] == pytest.approx(3 / np.sqrt(2))
    size = frame["size"]
    assert found[0, "view0", "size"][2] == pytest.approx((1 - size[2:].mean()) / size.std(ddof=0))


def test_a_model_gives_a_frame():
    X = np.random.default_rng(0).normal(size=(6, 2))
    model = made_model([W], [0])
    assert isinstance(model.describe_clusters(X), pd.DataFrame)
    assert isinstance(model.describe_clusters(X, pattern=0, backend="polars"), pl.DataFrame)
    assert model.describe_clusters(X)["effect"].tolist() == describe_clusters(model, X)["effect"].tolist()


def test_many_features_and_many_views_are_quick():
    X = np.random.default_rng(0).normal(size=(60, 20_000))
    W = np.eye(3)[np.arange(60) % 3]
    views = made_model([W], [0] * 5_000, view_names=[f"x{j}" for j in range(5_000)], views="columns")
    began = time.perf_counter()
    assert len(describe_clusters(made_model([W], [0]), X)) == 60_000
    assert len(describe_clusters(views, X[:, :5_000])) == 15_000
    assert time.perf_counter() - began < 10
