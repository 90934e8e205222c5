"""Views that lack samples: joined by name, fitted, kept, told of in frames, files, plots and the report."""

import anndata
import mudata
import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex import LatentSimplexPosition, load, split_stages
from latentsimplex.cli import main
from latentsimplex.inputs import with_samples
from latentsimplex.plots import plot_presence
from latentsimplex.plots.similarity import view_similarity
from latentsimplex.report import describe, summarise
from latentsimplex.report.page import render
from latentsimplex.results import write_results
from latentsimplex.uncertainty import pac_bayes

N = 120


def draw_views(n_views=3, separation=7.0, n_samples=N):
    """Return views of three clusters as frames with named rows, and the clusters by name."""
    rng = np.random.default_rng(0)
    truth = np.arange(n_samples) % 3
    centres = separation * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    names = [f"s{i}" for i in range(n_samples)]
    views = {
        f"v{v}": pd.DataFrame(centres[truth] + rng.normal(size=(n_samples, 2)), names, ["x", "y"])
        for v in range(n_views)
    }
    return views, pd.Series(truth, names)


def drop_samples(views, share=0.3, seed=0):
    """Return views that lack some samples each, and who is where (V, n); each sample stays in some view."""
    rng = np.random.default_rng(seed)
    present = rng.random((len(views), N)) >= share
    present[0, ~present.any(axis=0)] = True
    return {name: X[own] for (name, X), own in zip(views.items(), present, strict=True)}, present


@pytest.fixture(scope="module")
def absent():
    views, truth = draw_views()
    data, _ = drop_samples(views)
    return LatentSimplexPosition(join="outer", random_state=0).fit(data), data, truth


def test_clusters_are_found_and_present_says_who_was_where(absent):
    model, data, truth = absent
    assert normalized_mutual_info_score(truth[model.sample_names_in_], model.labels_) > 0.9
    assert model.present_.shape == (3, N)
    for own, X in zip(model.present_, data.values(), strict=True):
        assert set(model.sample_names_in_[own]) == set(X.index)
    assert model.placed_ is None


def test_samples_are_in_the_order_of_their_first_appearance(absent):
    model, data, _ = absent
    expected = dict.fromkeys(name for X in data.values() for name in X.index)
    assert model.sample_names_in_.tolist() == list(expected)


def test_the_order_of_rows_changes_nothing_but_theirs(absent):
    model, data, _ = absent
    turned = {name: X[::-1] for name, X in data.items()}
    again = LatentSimplexPosition(join="outer", random_state=0).fit(turned)
    own = pd.Series(model.labels_, model.sample_names_in_)
    other = pd.Series(again.labels_, again.sample_names_in_)[own.index]
    assert normalized_mutual_info_score(own, other) > 0.95


def test_views_that_have_everyone_are_fitted_as_without_a_join():
    views, _ = draw_views()
    plain, outer, inner = (
        LatentSimplexPosition(join=join, random_state=0).fit(views) for join in ("strict", "outer", "inner")
    )
    for joined in (outer, inner):
        assert joined.present_ is None
        assert joined.placed_ is None
        np.testing.assert_array_equal(plain.memberships_[0], joined.memberships_[0])
        assert list(joined.memberships_frame().columns) == list(plain.memberships_frame().columns)


def test_a_view_that_shares_no_sample_is_refused():
    """Nothing tells which of its clusters are which of the others'."""
    data, _ = drop_samples(draw_views()[0])
    data["v2"].index = data["v2"].index.str.upper()
    with pytest.raises(ValueError, match=r"No sample of views\['v2'\] is in another view .*upper and lower"):
        LatentSimplexPosition(join="outer").fit(data)


def test_strict_names_the_other_two():
    data, _ = drop_samples(draw_views()[0])
    with pytest.raises(ValueError, match=r'fit with join="inner" .* or with join="outer" to keep all'):
        LatentSimplexPosition().fit(data)


def test_inner_keeps_the_samples_that_all_views_have():
    data, present = drop_samples(draw_views()[0])
    model = LatentSimplexPosition(join="inner", random_state=0).fit(data)
    assert model.sample_names_in_.tolist() == [f"s{i}" for i in np.flatnonzero(present.all(axis=0))]
    assert model.present_ is None


def test_inner_needs_samples_that_all_views_have():
    views, _ = draw_views(2)
    with pytest.raises(ValueError, match=r'0 samples of views\[.v0.\] are in all views.*join="outer"'):
        LatentSimplexPosition(join="inner").fit({"v0": views["v0"][:60], "v1": views["v1"][60:]})


@pytest.mark.parametrize("join", ["inner", "outer"])
def test_arrays_of_different_lengths_have_no_names_to_go_by(join):
    with pytest.raises(ValueError, match=f"has 30 rows and .* has 40, and nothing names them.*join='{join}'"):
        LatentSimplexPosition(join=join).fit([np.zeros((40, 2)), np.zeros((30, 2))])


def test_arrays_of_one_length_need_no_names():
    X = draw_views()[0]["v0"].to_numpy()
    model = LatentSimplexPosition(join="outer", random_state=0).fit([X, X])
    assert model.present_ is None


def test_a_view_of_a_few_samples_is_refused():
    views, _ = draw_views()
    views["v2"] = views["v2"][:4]
    with pytest.raises(
        ValueError, match=r"views\['v2'\] has 4 of the samples.*5 samples or more, or leave it"
    ):
        LatentSimplexPosition(join="outer").fit(views)


def test_an_unknown_join_is_refused():
    with pytest.raises(ValueError, match="join='left'"):
        LatentSimplexPosition(join="left").fit(np.eye(5))


def test_frames_of_polars_with_a_column_of_names(absent):
    model, data, _ = absent
    frames = {
        name: with_samples(pl.from_pandas(X.reset_index(names="sample")), "sample")
        for name, X in data.items()
    }
    again = LatentSimplexPosition(join="outer", random_state=0).fit(frames)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.present_, model.present_)


def draw_two_patterns():
    """Return two views of two clusterings each; some samples are in views of one clustering alone."""
    rng = np.random.default_rng(1)
    names = np.array([f"s{i}" for i in range(N)])
    clusterings = [np.arange(N) % 3, rng.permutation(np.arange(N) % 2)]
    views = {
        f"{l}{v}": pd.DataFrame(9.0 * np.eye(3)[own][:, :2] + rng.normal(size=(N, 2)), names)
        for l, own in enumerate(clusterings)
        for v in range(2)
    }
    for v in range(2):
        views[f"1{v}"] = views[f"1{v}"][:90]
    return views, clusterings


@pytest.fixture(scope="module")
def two_patterns():
    views, clusterings = draw_two_patterns()
    return LatentSimplexPosition(join="outer", random_state=0).fit(views), views, clusterings


def test_samples_in_no_view_of_a_pattern_have_its_shares_and_a_flag(two_patterns):
    model, _, clusterings = two_patterns
    first, second = model.view_patterns_[0], model.view_patterns_[2]
    assert model.view_patterns_.tolist() == [first, first, second, second]
    np.testing.assert_array_equal(model.placed_[first], True)
    np.testing.assert_array_equal(model.placed_[second], np.arange(N) < 90)
    W = model.memberships_[second]
    np.testing.assert_allclose(W[90:], np.tile(W[:90].mean(axis=0), (30, 1)))
    assert normalized_mutual_info_score(clusterings[1][:90], model.pattern_labels_[second, :90]) > 0.9
    assert normalized_mutual_info_score(clusterings[0], model.pattern_labels_[first]) > 0.9
    assert (model.pattern_labels_[second, 90:] == W[:90].mean(axis=0).argmax()).all()
    for levels in model.levels_:
        assert all(level.labels.min() >= 0 for level in levels)


def test_frames_show_who_was_where(two_patterns):
    model, _, _ = two_patterns
    second = int(model.view_patterns_[2])
    assert model.memberships_frame(second)["placed"].tolist() == [True] * 90 + [False] * 30
    assert model.labels_frame()["views"].tolist() == [4] * 90 + [2] * 30
    assert model.views_frame()["samples"].tolist() == [120, 120, 90, 90]


def test_the_report_shows_who_was_where(two_patterns):
    model, views, _ = two_patterns
    page = render(model, views)
    assert "Which samples each view has" in page
    assert f'30 samples are in no view of <a href="#pattern-{model.view_patterns_[2]}">' in page
    assert "12% of samples are absent from a view on average, 90 samples in all views" in describe(
        summarise(model)
    )


def test_the_report_says_nothing_where_all_are_there():
    model = LatentSimplexPosition(random_state=0).fit(draw_views()[0])
    assert summarise(model)["presence"] is None
    assert 'id="presence"' not in render(model)


def test_a_saved_model_knows_who_was_where(two_patterns, tmp_path):
    model, _, _ = two_patterns
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.present_, model.present_)
    np.testing.assert_array_equal(again.placed_, model.placed_)
    assert again.join == "outer"


def test_features_of_clusters_are_those_of_samples_that_are_there(absent):
    model, data, _ = absent
    found = model.describe_clusters(data)
    labels = pd.Series(model.labels_, model.sample_names_in_)[data["v1"].index]
    row = found[(found.cluster == 0) & (found.view == "v1") & (found.feature == "x")].iloc[0]
    assert row.mean_inside == pytest.approx(data["v1"]["x"][labels == 0].mean())


def test_presence_is_drawn(two_patterns):
    model, _, _ = two_patterns
    ax = plot_presence(model)
    assert ax.get_title() == "90 of 120 samples are in all views"
    shares = np.asarray(ax.images[0].get_array())
    assert shares.shape == (4, N)
    assert shares.mean(axis=1).tolist() == [1, 1, 0.75, 0.75]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["00", "01", "10", "11"]
    everyone = plot_presence(LatentSimplexPosition(random_state=0).fit(draw_views()[0]))
    assert everyone.get_title() == "120 of 120 samples are in all views"


def test_similarities_of_absent_samples_are_nan(absent):
    model, data, _ = absent
    S = view_similarity(model, data, "v1")
    there = model.present_[1]
    assert np.isfinite(S[np.ix_(there, there)]).all()
    assert np.isnan(S[~there]).all()


def test_theorem_1_needs_everyone(absent):
    model, data, _ = absent
    with pytest.raises(ValueError, match=r'absent from views.*join="inner"'):
        pac_bayes(model, data, 0.1)


def make_mudata(data):
    return mudata.MuData({name: anndata.AnnData(X) for name, X in data.items()})


@pytest.mark.filterwarnings("ignore")
def test_the_union_of_the_cells_of_a_mudata(absent):
    model, data, _ = absent
    mdata = make_mudata(data)
    again = LatentSimplexPosition(join="outer", random_state=0).fit(mdata)
    order = [list(mdata.obs_names).index(name) for name in again.sample_names_in_]
    for own, name in zip(again.present_, data, strict=True):
        np.testing.assert_array_equal(own, np.asarray(mdata.obsmap[name]).ravel()[order] > 0)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    write_results(again, mdata)
    assert mdata.obs["lsp_labels"][model.sample_names_in_].tolist() == model.labels_.astype(str).tolist()


@pytest.mark.filterwarnings("ignore")
def test_cells_that_inner_left_out_of_a_mudata_are_missing_in_its_results():
    data, present = drop_samples(draw_views()[0])
    mdata = make_mudata(data)
    write_results(LatentSimplexPosition(join="inner", random_state=0).fit(mdata), mdata)
    kept = [f"s{i}" for i in np.flatnonzero(present.all(axis=0))]
    assert set(mdata.obs_names[mdata.obs["lsp_labels"].notna()]) == set(kept)
    assert np.isnan(mdata.obsm["X_lsp_memberships_0"]).any(axis=1).sum() == mdata.n_obs - len(kept)
    model, part = (
        LatentSimplexPosition(join="outer", random_state=0).fit(data),
        make_mudata({"a": data["v0"]}),
    )
    write_results(model, part)
    assert part.obs["lsp_labels"].notna().all()
    other = make_mudata({"a": data["v0"].rename(index={"s0": "x"})})
    with pytest.raises(ValueError, match="of the data are not in the model, such as 'x'"):
        write_results(model, other)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["csv", "parquet", "h5mu"])
def test_files_on_the_command_line(absent, tmp_path, kind):
    model, data, _ = absent
    if kind == "h5mu":
        files = [tmp_path / "cells.h5mu"]
        make_mudata(data).write(files[0])
    else:
        files = [tmp_path / f"{name}.{kind}" for name in data]
        for path, X in zip(files, data.values(), strict=True):
            named = X.rename_axis("sample")
            named.to_csv(path) if kind == "csv" else named.to_parquet(path)
    arguments = ["fit", *map(str, files), "--join", "outer", "--out", str(tmp_path / "out"), "--quiet"]
    ended = CliRunner().invoke(main, arguments)
    assert ended.exit_code == 0, ended.output
    found = load(tmp_path / "out" / "fit.model")
    np.testing.assert_array_equal(found.labels_, model.labels_)
    presence = pd.read_csv(tmp_path / "out" / "presence.csv", index_col="sample")
    np.testing.assert_array_equal(presence.to_numpy().T, model.present_)
    refused = CliRunner().invoke(main, [word for word in arguments if word not in ("--join", "outer")])
    assert refused.exit_code == 1
    assert "--join outer" in refused.output


@pytest.mark.parametrize(
    "settings",
    [
        {"similarity": "local-scaling", "search": "plain", "penalty": "group", "response": "identity"},
        {"similarity": "diffusion"},
    ],
)
def test_a_similarity_that_is_given(settings):
    views, truth = draw_views()
    data, _ = drop_samples(views)
    model = LatentSimplexPosition(3, 2, join="outer", random_state=0, n_init=1, **settings).fit(data)
    assert normalized_mutual_info_score(truth[model.sample_names_in_], model.labels_) > 0.8


def test_precomputed_similarities_lack_rows_and_columns():
    views, truth = draw_views(separation=9.0)
    data, _ = drop_samples(views)
    similar = {}
    for name, X in data.items():
        gaps = np.linalg.norm(X.to_numpy()[:, None] - X.to_numpy(), axis=-1)
        similar[name] = pd.DataFrame(np.exp(-gaps / 4), X.index, X.index)
    model = LatentSimplexPosition(3, 1, join="outer", similarity="precomputed", random_state=0).fit(similar)
    assert normalized_mutual_info_score(truth[model.sample_names_in_], model.labels_) > 0.8


def test_a_search_among_many_views():
    views, truth = draw_views(14, separation=5.0)
    data, _ = drop_samples(views, 0.5)
    model = LatentSimplexPosition(5, 3, join="outer", random_state=0, n_init=1).fit(data)
    assert model.n_patterns_ == 1
    assert normalized_mutual_info_score(truth[model.sample_names_in_], model.labels_) > 0.9


def test_many_samples_are_placed_against_some_of_them(absent, monkeypatch):
    model, data, truth = absent
    monkeypatch.setattr(split_stages, "REFINED_BY", 50)
    monkeypatch.setattr(split_stages, "REFINED_CLUSTER", 5)
    placed = LatentSimplexPosition(join="outer", random_state=0).fit(data)
    np.testing.assert_array_equal(placed.present_, model.present_)
    assert normalized_mutual_info_score(truth[placed.sample_names_in_], placed.labels_) > 0.9


def test_exactly_so_many_clusters(absent):
    _, data, _ = absent
    model = LatentSimplexPosition(4, min_clusters=4, join="outer", random_state=0).fit(data)
    assert model.n_clusters_.tolist() == [4]


@pytest.mark.slow
def test_memberships_of_samples_in_fewer_views_are_wider():
    found = []
    for seed in range(3):
        data, _ = drop_samples(draw_views(separation=3.0)[0], 0.5, seed)
        model = LatentSimplexPosition(join="outer", random_state=0).fit(data)
        counts, largest = model.present_.sum(axis=0), model.memberships_[0].max(axis=1)
        found.append(largest[counts == 3].mean() - largest[counts == 1].mean())
    assert np.mean(found) > 0.02


def test_who_is_where_makes_no_clusters():
    """Two views of noise that share some samples: graphs of samples and of clouds are filled in alike."""
    pandas = pytest.importorskip("pandas")
    for seed in range(3):
        rng = np.random.default_rng(seed)
        views = {
            name: pandas.DataFrame(
                rng.normal(size=(170, 4)), index=[f"s{i}" for i in range(start, start + 170)]
            )
            for name, start in (("first", 0), ("last", 130))
        }
        assert LatentSimplexPosition(join="outer", random_state=0).fit(views).n_clusters_.max() == 1, seed


def test_new_samples_may_lack_views_as_those_of_the_fit_do():
    rng, groups = np.random.default_rng(0), np.arange(240) % 3
    names = np.array([f"s{i}" for i in range(240)])
    views = {
        name: pd.DataFrame(6 * np.eye(3)[groups] + rng.normal(size=(240, 3)), index=names)[
            rng.random(240) > 0.3
        ]
        for name in ("a", "b", "c")
    }
    model = LatentSimplexPosition(join="outer", random_state=0).fit(views)
    assert (model.predict(views) == model.labels_).mean() > 0.98
    few = {name: table.iloc[:40] for name, table in views.items()}
    assert len(model.predict(few)) == len(set().union(*(table.index for table in few.values())))
