"""Fits with views="discover": what comes out, goes into files, and is predicted."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from latentsimplex import LatentSimplexPosition, load
from latentsimplex.cli import main
from latentsimplex.datasets import hidden_views


def discover(X, **settings):
    return LatentSimplexPosition(views="discover", random_state=0, n_jobs=1, **settings).fit(X)


@pytest.fixture(scope="module")
def frame():
    hidden = hidden_views(
        n_samples=150,
        n_views=2,
        n_noise=6,
        n_columns=(5, 6),
        n_clusters=(3, 3),
        blocks=(4,),
        random_state=100,
    )
    return pd.DataFrame(hidden.table, columns=[f"c{j}" for j in range(len(hidden.views))])


@pytest.fixture(scope="module")
def model(frame):
    return discover(frame)


def test_views_are_columns_and_the_table_counts_as_given(model, frame):
    assert len(model.view_columns_) == len(model.view_names_in_) == 2
    assert model.n_features_in_ == frame.shape[1]
    assert list(model.feature_names_in_) == list(frame.columns)
    used = np.concatenate(model.view_columns_)
    assert len(set(used)) == len(used) < frame.shape[1]


def test_the_frame_of_columns_names_views_and_noise(model, frame):
    columns = model.columns_frame()
    assert list(columns["column"]) == list(frame.columns)
    for v, own in enumerate(model.view_columns_):
        assert (columns["view"].to_numpy()[own] == v).all()
        assert (columns["gain"].to_numpy()[own] > 0).all()
    assert (columns["view"] == -1).sum() == frame.shape[1] - sum(map(len, model.view_columns_))


def test_views_that_were_given_have_no_columns_frame():
    given = LatentSimplexPosition(random_state=0).fit(np.random.default_rng(0).normal(size=(20, 2)))
    assert given.view_columns_ is None
    with pytest.raises(ValueError, match='views="discover"'):
        given.columns_frame()


def test_a_file_keeps_the_columns_and_new_rows_are_placed_by_name(model, frame, tmp_path):
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert [own.tolist() for own in again.view_columns_] == [own.tolist() for own in model.view_columns_]
    assert (again.results_.found_columns.gains == model.results_.found_columns.gains).all()
    expected = again.predict_memberships(frame)
    assert (expected.argmax(axis=1) == model.pattern_labels_[0]).mean() > 0.95
    assert (again.predict_memberships(frame[frame.columns[::-1]]) == expected).all()
    assert (again.predict_memberships(frame.to_numpy()) == expected).all()
    used = np.sort(np.concatenate(model.view_columns_))
    assert (again.predict_memberships(frame.iloc[:, used]) == expected).all()


def test_new_rows_without_some_columns_are_refused(model, frame):
    first = frame.columns[model.view_columns_[0][0]]
    with pytest.raises(ValueError, match="lacks 1 of the"):
        model.predict(frame.drop(columns=first))
    with pytest.raises(ValueError, match="expecting"):
        model.predict(frame.to_numpy()[:, 1:])
    with pytest.raises(ValueError, match="not fitted to"):
        model.predict(frame.assign(more=1.0))


def test_data_of_the_fit_are_read_again_in_the_same_views(model, frame):
    features = model.describe_clusters(frame, 0)
    assert set(features["feature"]) <= set(frame.columns)
    assert model.score(frame) == model.score()
    with pytest.raises(ValueError, match="expecting"):
        model.score(frame.iloc[:, 1:])


def test_no_view_found_is_said_and_the_table_is_one(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 8))
    with pytest.warns(UserWarning, match="No group of columns shows clusters"):
        model = discover(X)
    assert model.view_columns_ == []
    assert len(model.view_names_in_) == 1
    assert model.columns_frame()["gain"].isna().all()
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").view_columns_ == []
    assert model.predict(X[:3]).tolist() == [0, 0, 0]


def test_one_table_in_a_dict_a_list_or_a_container_is_predicted(model, frame):
    anndata = pytest.importorskip("anndata")
    expected = model.predict(frame)
    for data in ({"table": frame}, [frame], anndata.AnnData(frame.set_axis(map(str, frame.index)))):
        assert (model.predict(data) == expected).all()


def test_constant_and_rare_columns_are_in_no_view(frame):
    rare = np.random.default_rng(0).random((len(frame), 20)) < 0.015
    views = discover(np.hstack([frame, rare, np.full((len(frame), 2), 3.0)])).columns_frame()["view"]
    assert views.max() == 1
    assert (views[frame.shape[1] :] == -1).all()


@pytest.mark.parametrize(
    ("data", "settings", "said"),
    [
        ([np.eye(5), np.eye(5)], {}, "already hold 2 views"),
        (np.eye(5), {"similarity": "precomputed"}, "has none"),
        (pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]}), {}, "hold categories, such as 'b'"),
    ],
)
def test_other_data_are_refused_in_a_sentence(data, settings, said):
    with pytest.raises(ValueError, match=said):
        discover(data, **settings)


def test_the_command_finds_views_and_writes_the_columns(frame, tmp_path):
    frame.to_csv(tmp_path / "table.csv", index=False)
    arguments = [
        "fit",
        str(tmp_path / "table.csv"),
        "--views",
        "discover",
        "--out",
        str(tmp_path / "out"),
        "--quiet",
    ]
    run = CliRunner().invoke(main, arguments)
    assert run.exit_code == 0, run.output
    columns = pd.read_csv(tmp_path / "out" / "columns.csv")
    assert list(columns["column"]) == list(frame.columns)
    assert columns["view"].max() == 1
