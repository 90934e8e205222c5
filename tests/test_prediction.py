"""Samples and views that a model was not fitted to: what the estimator says of them, before and after a file."""

import numpy as np
import pandas as pd
import pytest

from latentsimplex import LatentSimplexPosition, load
from latentsimplex.datasets import running_example
from latentsimplex.similarity import LocalScaling

QUICK = {"n_init": 1, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    return running_example(n_samples=240, random_state=0).views


@pytest.fixture(scope="module")
def model(data):
    return LatentSimplexPosition(**QUICK).fit([X[:200] for X in data])


@pytest.fixture(scope="module")
def columns():
    """A table of 24 columns, half of them with three clusters and half with two."""
    rng = np.random.default_rng(0)
    first, second = np.arange(120) % 3, np.arange(120) // 60
    return np.hstack(
        [4.0 * (first[:, None] == np.arange(12) % 3), 4.0 * np.tile(second[:, None], 12)]
    ) + rng.normal(size=(120, 24))


@pytest.fixture(scope="module")
def many(columns):
    return LatentSimplexPosition(3, 3, views="columns", **QUICK).fit(columns)


SETTINGS = {
    "default": {},
    "paper": {"similarity": "local-scaling", "divergence": "reverse", "n_clusters": 3, "n_patterns": 2},
    "one by one": {"similarity": LocalScaling(per_feature=True), "n_clusters": 3, "n_patterns": 2},
    "a function": {
        "similarity": lambda X: np.exp(-np.abs(X[:, None] - X).sum(-1)),
        "n_clusters": 3,
        "n_patterns": 2,
    },
}


@pytest.mark.parametrize("name", SETTINGS)
def test_samples_of_the_fit_are_placed_where_they_are(data, name):
    views = [X[:200] for X in data]
    fitted = LatentSimplexPosition(**QUICK, **SETTINGS[name]).fit(views)
    # features that were compared one by one are placed together, which is not quite the same
    least, most = (0.98, 0.04) if name == "one by one" else (0.99, 0.02)
    assert (fitted.predict(views) == fitted.labels_).mean() >= least
    for l, W in enumerate(fitted.memberships_):
        assert np.abs(fitted.predict_memberships(views, l) - W).mean() < most


def test_samples_among_many_views_are_placed_where_they_are(columns, many):
    assert (many.predict(columns) == many.labels_).mean() >= 0.99
    for l, W in enumerate(many.memberships_):
        assert np.abs(many.predict_memberships(columns, l) - W).mean() < 0.02


def test_new_samples_get_the_clusters_that_they_would_have_had(data, model):
    new = [X[200:] for X in data]
    everyone = LatentSimplexPosition(**QUICK).fit(data)
    labels = np.r_[model.labels_, model.predict(new)]
    assert len(set(zip(labels.tolist(), everyone.labels_.tolist(), strict=True))) <= labels.max() + 3
    same = [np.bincount(everyone.labels_[labels == k]).max() for k in range(labels.max() + 1)]
    assert sum(same) / len(labels) > 0.97
    W = model.predict_memberships(new)
    assert W.shape == (40, model.n_clusters_[0])
    np.testing.assert_allclose(W.sum(axis=1), 1)


def test_a_sample_is_placed_by_itself(data, model):
    new = [X[200:] for X in data]
    everyone = model.predict_memberships(new)
    alone = np.vstack([model.predict_memberships([X[i : i + 1] for X in new]) for i in range(5)])
    np.testing.assert_array_equal(alone, everyone[:5])
    np.testing.assert_array_equal(model.predict([X[::-1] for X in new]), model.predict(new)[::-1])


def test_a_sample_unlike_all_others_says_so(data, model):
    far = [X[:4] + 50 for X in data]
    labels, unlike = model.predict(far, return_unlike=True)
    assert (labels.shape, unlike.tolist()) == ((4,), [True] * 4)
    W, unlike = model.predict_memberships(far, return_unlike=True)
    assert unlike.all()
    np.testing.assert_allclose(W, np.tile(model.memberships_[0].mean(axis=0), (4, 1)), atol=0.02)
    assert not model.predict([X[:200] for X in data], return_unlike=True)[1][:100].all()
    assert model.predict([X[:200] for X in data], return_unlike=True)[1].mean() < 0.02


def test_a_view_may_be_absent(data, model):
    new = [X[200:] for X in data]
    both, one = model.predict_memberships(new), model.predict_memberships([new[0], None, None])
    assert (both.argmax(axis=1) == one.argmax(axis=1)).mean() > 0.85
    own = int(model.view_patterns_[2])
    shares = model.predict_memberships([new[0], new[1], None], pattern=own)
    np.testing.assert_allclose(shares, np.tile(model.memberships_[own].mean(axis=0), (40, 1)))
    assert model.predict({"view1": new[1]}).shape == (40,)


def test_samples_absent_from_views_are_rows_of_nan(data):
    fitted = LatentSimplexPosition(**QUICK, missing="pairwise").fit([X[:200] for X in data])
    new = [X[200:].copy() for X in data]
    new[0][:10] = np.nan
    absent = fitted.predict_memberships([None, new[1][:10], new[2][:10]])
    np.testing.assert_allclose(fitted.predict_memberships(new)[:10], absent, atol=1e-6)
    with pytest.raises(ValueError, match="contains NaN"):
        LatentSimplexPosition(**QUICK).fit([X[:60] for X in data]).predict(new)


def test_fit_predict_gives_the_labels_of_the_fit(data):
    fitted = LatentSimplexPosition(**QUICK)
    np.testing.assert_array_equal(fitted.fit_predict(data), fitted.labels_)


def test_without_clusters_every_sample_is_in_the_one_cluster():
    X = np.random.default_rng(0).normal(size=(60, 1))
    fitted = LatentSimplexPosition(**QUICK).fit(X)
    labels, unlike = fitted.predict(X[:5], return_unlike=True)
    assert (labels.tolist(), unlike.tolist()) == ([0] * 5, [False] * 5)
    assert fitted.predict_memberships(X[:5]).tolist() == [[1.0]] * 5


# Files


@pytest.mark.parametrize("which", ["model", "many"])
def test_a_file_places_as_the_model_does(which, data, columns, tmp_path, request):
    fitted = request.getfixturevalue(which)
    new = columns[:20] if which == "many" else [X[200:] for X in data]
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    for l in range(fitted.n_patterns_):
        np.testing.assert_array_equal(again.predict_memberships(new, l), fitted.predict_memberships(new, l))
    np.testing.assert_array_equal(again.predict(new), fitted.predict(new))
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_a_file_without_rows_of_the_data_says_so(data, model, tmp_path):
    model.save(tmp_path / "with")
    model.save(tmp_path / "without", predict=False)
    assert (tmp_path / "without").stat().st_size < (tmp_path / "with").stat().st_size
    without = load(tmp_path / "without")
    assert without.results_.references is None
    with pytest.raises(ValueError, match=r"saved with predict=False, .* save the fitted model again"):
        without.predict(data)


def test_similarities_that_were_given_place_nobody(data):
    S = [np.exp(-np.square(X[:40, None] - X[:40]).sum(-1)) for X in data]
    fitted = LatentSimplexPosition(2, 2, similarity="precomputed", **QUICK).fit(S)
    with pytest.raises(ValueError, match='similarity="precomputed" cannot place new samples'):
        fitted.predict(S)


def test_an_unknown_pattern_is_refused(data, model):
    with pytest.raises(ValueError, match="pattern=7 is unknown: the live patterns are 0 to"):
        model.predict_memberships(data, pattern=7)


# New views


def test_new_views_follow_patterns(data, model):
    rng = np.random.default_rng(1)
    views = {f"noisy {v}": X[:200] + 0.2 * rng.normal(size=(200, 2)) for v, X in enumerate(data)}
    found = model.assign_views({**views, "noise": rng.normal(size=(200, 3))})
    assert found.patterns.tolist() == [*model.view_patterns_.tolist(), -1]
    np.testing.assert_allclose(found.responsibilities.sum(axis=1), [1, 1, 1, 0], atol=1e-12)


def test_new_columns_of_a_table_are_views(columns, many):
    rng = np.random.default_rng(2)
    found = many.assign_views(np.hstack([columns[:, ::-1], rng.normal(size=(120, 4))]))
    assert found.patterns.tolist() == [*many.view_patterns_[::-1].tolist(), -1, -1, -1, -1]


def test_samples_of_new_views_are_matched_by_name(data):
    pandas = pytest.importorskip("pandas")
    names = [f"s{i}" for i in range(100)]
    frames = [pandas.DataFrame(X[:100], names) for X in data]
    fitted = LatentSimplexPosition(**QUICK).fit(frames)
    turned = fitted.assign_views([frame.iloc[::-1] for frame in frames])
    np.testing.assert_array_equal(turned.patterns, fitted.assign_views(frames).patterns)
    assert turned.patterns[0] == turned.patterns[1] == 0
    with pytest.raises(ValueError, match="lacks 1 of the 100 samples"):
        fitted.assign_views([frames[0].rename({"s3": "t3"})])
    with pytest.raises(ValueError, match="The new views have 99 samples and the model was fitted to 100"):
        fitted.assign_views([frames[0].iloc[1:]])


def test_a_kernel_that_a_file_cannot_hold_assigns_no_views(data, tmp_path):
    fitted = LatentSimplexPosition(
        2, 1, similarity=lambda X: np.exp(-np.abs(X[:, None] - X).sum(-1)), **QUICK
    )
    fitted.fit([X[:60] for X in data]).save(tmp_path / "model")
    with pytest.raises(ValueError, match="a similarity of your own that its file cannot hold"):
        load(tmp_path / "model").assign_views([data[0][:60]])
    assert load(tmp_path / "model").predict([X[:3] for X in data]).shape == (3,)


def test_a_frame_says_whose_labels_those_of_new_samples_are(data, model):
    new = [pd.DataFrame(X[200:], [f"p{i}" for i in range(40)]) for X in data]
    turned = [new[0][::-1], new[1], new[2]]
    frame = model.predict_frame(turned, "pandas").set_index("sample")
    assert frame.index.tolist() == turned[0].index.tolist()
    assert frame.columns.tolist() == [
        "consensus",
        *(f"pattern{l}" for l in range(model.n_patterns_)),
        "unlike",
    ]
    np.testing.assert_array_equal(frame.loc[new[0].index, "consensus"], model.predict(new))
    np.testing.assert_array_equal(frame["consensus"], model.predict(turned))
    assert model.predict_frame([X[200:] for X in data], "pandas")["sample"].tolist() == list(range(40))


def test_new_samples_without_a_name_are_refused(model, data):
    frames = [pd.DataFrame(X[:4], index=["a", None, "b", np.nan]) for X in data]
    with pytest.raises(
        ValueError, match=r"^2 rows of views\[0\] have no name, such as row 1, whose name is None"
    ):
        model.predict(frames)


def test_new_samples_in_a_table_of_pyarrow(many, columns):
    pyarrow = pytest.importorskip("pyarrow")
    frame = pd.DataFrame(columns).add_prefix("x")
    assert (many.predict(pyarrow.Table.from_pandas(frame)) == many.predict(frame)).all()


def test_the_pattern_of_columns_of_noise_may_be_the_heaviest():
    """As the docstring of predict_memberships says, which also says how to name another."""
    rng = np.random.default_rng(0)
    signal = 4.0 * (np.arange(120)[:, None] % 3 == np.arange(12) % 3)
    table = np.hstack([signal, np.zeros((120, 30))]) + rng.normal(size=(120, 42))
    model = LatentSimplexPosition(views="columns", **QUICK).fit(table)
    assert (model.predict_memberships(table[:2]) == 1).all()
    assert model.predict_memberships(table[:2], pattern=model.view_patterns_[0]).shape == (2, 2)
    assert "view_patterns_[v]" in model.predict_memberships.__doc__
