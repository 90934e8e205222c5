"""The public contract: what fit accepts, what it leaves behind and what it refuses."""

import copy
import inspect
import logging
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import homogeneity_score
from sklearn.metrics.pairwise import rbf_kernel

from latentsimplex import LatentSimplexPosition
from latentsimplex.similarity import AutoDiffusion, Diffusion, LocalScaling
from problems import same_partition

QUICK = {"n_clusters": 3, "n_patterns": 2, "n_init": 1, "max_iter": 20, "random_state": 0}


def paper(**settings):
    """Return a quick estimator with the paper's settings: nothing is chosen by the data, so it is the cheapest."""
    return LatentSimplexPosition.paper(**{**QUICK, **settings})


def two_patterns(seed=0, n=24):
    """Return four views, the first and third with three clusters and the others with two, and both truths."""
    rng = np.random.default_rng(seed)
    three, two = np.arange(n) % 3, (np.arange(n) // 3) % 2
    views = [12.0 * truth[:, None] + rng.normal(size=(n, 2)) for truth in (three, two, three, two)]
    return views, three, two


VIEWS, THREE, TWO = two_patterns()
NAMES = ["shape", "colour", "size", "weight"]


def constant_views_are_expected(count, of):
    return pytest.warns(
        UserWarning, match=f"{count} of {of} views are constant, have no clusters and are excluded"
    )


@pytest.fixture(scope="module", params=["default", "paper"], name="model")
def _model(request):
    data = {
        name: pd.DataFrame(X, index=[f"s{i}" for i in range(24)])
        for name, X in zip(NAMES, VIEWS, strict=True)
    }
    make = LatentSimplexPosition if request.param == "default" else LatentSimplexPosition.paper
    return make(**{**QUICK, "max_iter": 200}).fit(data)


# What a fit leaves behind


def test_it_finds_what_was_put_in(model):
    assert model.n_patterns_ == 2
    assert same_partition(model.view_patterns_, np.array([0, 1, 0, 1]))
    for v, truth in enumerate([THREE, TWO, THREE, TWO]):
        # a plain start may leave a cluster in two pieces, but no piece crosses a border
        assert homogeneity_score(truth, model.view_labels_[v]) == pytest.approx(1)
        assert model.search == "plain" or same_partition(truth, model.view_labels_[v])


def test_shapes(model):
    V, n, d = 4, 24, model.n_patterns_
    assert model.labels_.shape == (n,)
    assert model.pattern_labels_.shape == (d, n)
    assert model.view_labels_.shape == (V, n)
    assert model.view_patterns_.shape == model.initial_view_patterns_.shape == (V,)
    assert model.view_responsibilities_.shape == (V, d)
    assert model.pattern_weights_.shape == model.n_clusters_.shape == (d,)
    assert [W.shape for W in model.memberships_] == [(n, g) for g in model.n_clusters_]
    assert model.consensus_.weights.shape == (V,)
    assert model.consensus_.coassignment.shape == (n, n)
    assert model.loss_curve_.shape == model.expected_loss_curve_.shape == (model.n_iter_ + 1,)
    assert model.start_losses_.shape == model.start_agreement_.shape == (1,)


def test_meanings(model):
    assert np.array_equal(model.view_labels_, model.pattern_labels_[model.view_patterns_])
    assert np.array_equal(model.view_patterns_, model.view_responsibilities_.argmax(axis=1))
    np.testing.assert_allclose(model.view_responsibilities_.sum(axis=1), 1)
    assert model.pattern_weights_.sum() == pytest.approx(1)
    assert (np.diff(model.pattern_weights_) <= 0).all()
    assert set(model.view_patterns_) == set(range(model.n_patterns_))
    for labels, W in zip(model.pattern_labels_, model.memberships_, strict=True):
        np.testing.assert_allclose(W.sum(axis=1), 1)
        assert set(W.argmax(axis=1)) == set(range(W.shape[1]))
        assert set(labels) <= set(range(W.shape[1]))
    assert np.array_equal(model.labels_, model.consensus_.labels)
    assert model.loss_ == model.loss_curve_[-1]
    assert model.loss_ == model.start_losses_.min()
    assert model.start_agreement_.tolist() == [1]
    assert model.temperature_ > 0
    assert model.expected_loss_ == model.expected_loss_curve_[-1]
    assert model.converged_ == (model.n_iter_ < 200)


def test_names(model):
    assert model.view_names_in_.tolist() == NAMES
    assert model.sample_names_in_.tolist() == [f"s{i}" for i in range(24)]
    assert model.n_features_in_ == 8
    assert not hasattr(model, "feature_names_in_")


def test_consensus(model):
    assert model.consensus_.n_clusters == model.n_clusters_[model.view_patterns_].max()
    averaged = [model.results_.averaged[l] for l in model.view_patterns_]
    u = model.consensus_.weights
    expected = np.average([X @ X.T for X in averaged], axis=0, weights=u)
    np.testing.assert_allclose(model.coassignment().toarray(), expected, rtol=1e-12)
    found = np.average([model.coassignment(view=v).toarray() for v in range(4)], axis=0, weights=u)
    np.testing.assert_allclose(expected, found, atol=0.1)  # the number of clusters is hardly in doubt
    assert model.coassignment() is model.consensus_.coassignment
    own = model.consensus(weights=[1, 0, 0, 0])
    np.testing.assert_allclose(own.coassignment.toarray(), averaged[0] @ averaged[0].T, rtol=1e-12)
    assert own.excluded == NAMES[1:]


def test_coassignment_by_view_pattern_and_name(model):
    for v, name in enumerate(NAMES):
        W = model.memberships_[model.view_patterns_[v]]
        for co in (
            model.coassignment(view=v),
            model.coassignment(view=name),
            model.coassignment(view=np.int64(v)),
        ):
            assert np.array_equal(co.toarray(), W @ W.T)
    assert np.array_equal(model.coassignment(pattern=1).factor, model.memberships_[1])


def test_coassignment_refuses_what_is_not_there(model):
    with pytest.raises(ValueError, match="Both view and pattern were given"):
        model.coassignment(view=0, pattern=0)
    for view in ("taste", 4, -1, 1.0):
        message = "is unknown: give an index from 0 to 3 or the name of a view, such as 'shape'"
        with pytest.raises(ValueError, match=f"view={view!r} {message}"):
            model.coassignment(view=view)
    for pattern in (2, -1, "first"):
        with pytest.raises(ValueError, match=f"pattern={pattern!r} is unknown: the live patterns are 0 to 1"):
            model.coassignment(pattern=pattern)


def test_nothing_is_there_before_fit():
    unfitted = LatentSimplexPosition()
    for read in (
        lambda: unfitted.coassignment(),
        lambda: unfitted.consensus(),
        lambda: unfitted.view_labels_,
    ):
        with pytest.raises(NotFittedError):
            read()


def test_what_the_data_chose_is_told(model):
    if model.similarity == "auto":
        assert isinstance(model.similarity_, AutoDiffusion)
        assert [kind for kind, _ in model.similarity_.features] == [2]
        assert model.temperature_ != 1
    else:
        assert (model.similarity_, model.temperature_) == (LocalScaling(), 1.0)


def test_what_was_given_is_told():
    kernel = Diffusion(neighbours=5)
    given = paper(similarity=kernel, temperature=np.float32(7)).fit(VIEWS)
    assert given.similarity_ is kernel
    assert given.temperature_ == 7


def test_fit_predict_is_fit_and_then_labels():
    labels = paper().fit_predict(VIEWS)
    model = paper()
    assert model.fit(VIEWS) is model
    assert np.array_equal(model.labels_, labels)


def test_fitting_again_forgets_the_first_fit():
    frame = pd.DataFrame(VIEWS[0], columns=["a", "b"]).rename(index=str)
    model = paper().fit(frame)
    assert model.sample_names_in_.tolist() == [str(i) for i in range(24)]
    assert model.feature_names_in_.tolist() == ["a", "b"]
    model.fit(VIEWS)
    assert not hasattr(model, "feature_names_in_")
    assert model.sample_names_in_ is None
    assert model.view_names_in_.tolist() == ["view0", "view1", "view2", "view3"]


def test_results_are_those_of_the_last_fit():
    model = paper().fit(VIEWS)
    first = model.results_
    model.fit(VIEWS[:2])
    assert model.results_ is not first
    assert (first.n_views, model.results_.n_views) == (4, 2)
    assert model.view_patterns_ is model.results_.view_patterns


def test_a_fit_that_fails_leaves_the_one_before():
    model = paper().fit(VIEWS)
    first = model.results_
    with pytest.raises(ValueError, match="rows"):
        model.fit([VIEWS[0], VIEWS[1][:5]])
    assert model.results_ is first
    assert model.view_labels_.shape == (4, 24)


def test_a_fitted_model_is_copied_and_pickled_with_all_it_found(model):
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again.results_ is not model.results_
        assert np.array_equal(again.labels_, model.labels_)
        assert again.stages_ == model.stages_
        assert np.array_equal(again.coassignment().toarray(), model.coassignment().toarray())


def test_loss_never_rises(model):
    assert (np.diff(model.loss_curve_) <= 1e-9 * np.abs(model.loss_curve_[1:])).all()
    assert model.loss_ < model.loss_curve_[0]


def test_score_is_the_loss_negated(model):
    data = {name: pd.DataFrame(X, index=model.sample_names_in_) for name, X in zip(NAMES, VIEWS, strict=True)}
    assert model.score() == model.score(data) == model.score(data, THREE) == -model.loss_


def test_the_score_is_highest_for_one_cluster():
    """So that GridSearchCV would choose too few: the docstring says what to do instead."""
    corners = [
        6 * np.eye(4, 3)[np.arange(80) % 4] + draw
        for draw in np.random.default_rng(0).normal(size=(2, 80, 3))
    ]
    scores = {
        k: LatentSimplexPosition(k, min_clusters=k, n_init=1, random_state=0).fit(corners).score()
        for k in (1, 2, 4)
    }
    assert scores[1] == max(scores.values())
    found = LatentSimplexPosition(n_init=1, random_state=0).fit(corners)
    assert found.n_clusters_.tolist() == [4]
    assert found.evidence_[0].argmax() == 3
    assert "GridSearchCV" in LatentSimplexPosition.__doc__


def test_there_is_no_score_of_other_data(model):
    with pytest.raises(ValueError, match=r"The data have 4 views of 12 samples .* give the data of the fit"):
        model.score([X[:12] for X in VIEWS])
    with pytest.raises(NotFittedError):
        LatentSimplexPosition().score()


def test_options_reach_the_fit():
    base = paper().fit(VIEWS)
    changes = {
        "divergence": "forward",
        "penalty": None,
        "temperature": 50.0,
        "similarity": LocalScaling(quantile=0.5),
        "search": "moves",
        "n_clusters": 2,
        "n_patterns": 1,
        "max_iter": 3,
    }
    for name, value in changes.items():
        assert paper(**{name: value}).fit(VIEWS).loss_ != base.loss_, name
    explicit = {
        "divergence": "reverse",
        "penalty": "group",
        "temperature": 1.0,
        "similarity": "local-scaling",
        "response": "identity",
        "search": "plain",
    }
    assert LatentSimplexPosition(**QUICK, **explicit).fit(VIEWS).loss_ == base.loss_


def test_options_reach_a_fit_with_moves():
    settings = {**QUICK, "similarity": "local-scaling", "temperature": 0.5}
    base = LatentSimplexPosition(**settings).fit(VIEWS)
    changes = {
        "divergence": "reverse",
        "response": "identity",
        "penalty": None,
        "temperature": 3.0,
        "similarity": LocalScaling(quantile=0.5),
        "n_clusters": 2,
        "n_patterns": 1,
    }
    for name, value in changes.items():
        assert LatentSimplexPosition(**{**settings, name: value}).fit(VIEWS).loss_ != base.loss_, name
    explicit = {"divergence": "forward", "response": "learned", "penalty": "labels", "search": "moves"}
    assert LatentSimplexPosition(**settings, **explicit).fit(VIEWS).loss_ == base.loss_


def test_tolerance_stops_a_fit_early():
    assert paper(max_iter=150, tol=0.9).fit(VIEWS).n_iter_ == 100
    strict = paper(max_iter=150, tol=1e-15).fit(VIEWS)
    assert strict.n_iter_ > 100


# The preset


def test_paper_is_unfitted_and_clonable():
    model = LatentSimplexPosition.paper(4, random_state=3)
    assert isinstance(model, LatentSimplexPosition)
    assert not model.__sklearn_is_fitted__()
    assert clone(model).get_params() == model.get_params()
    assert (model.n_clusters, model.n_patterns, model.random_state) == (4, 10, 3)
    assert model.similarity == "local-scaling"
    assert model.divergence == "reverse"
    assert model.response == "identity"
    assert model.penalty == "group"
    assert model.temperature == 1
    assert model.search == "plain"


def test_paper_is_overridden_by_what_is_given():
    own = {name: object() for name in inspect.signature(LatentSimplexPosition).parameters}
    assert LatentSimplexPosition.paper(**own).get_params() == own


def test_paper_fits_without_standardising():
    a, b = (paper(similarity=s).fit(VIEWS).loss_ for s in ("local-scaling", LocalScaling(standardise=False)))
    assert a == b


# Input forms


def losses(*pairs):
    return [paper(max_iter=5, **settings).fit(data).loss_ for data, settings in pairs]


def test_forms_of_the_same_views_give_the_same_fit():
    frames = [pd.DataFrame(X) for X in VIEWS]
    table = np.hstack(VIEWS)
    groups = np.repeat(["a", "b", "c", "d"], 2)
    found = losses(
        (VIEWS, {}),
        (tuple(VIEWS), {}),
        (dict(zip(NAMES, VIEWS, strict=True)), {}),
        (np.stack(VIEWS), {}),
        (frames, {}),
        (table, {"views": groups}),
        (pd.DataFrame(table), {"views": groups.tolist()}),
    )
    assert len(set(found)) == 1


@pytest.mark.usefixtures("one_cloud")
def test_what_the_data_choose_does_not_depend_on_their_form():
    """Neither on how the views are packed nor on how they lie in memory."""
    table = np.hstack(VIEWS[:2])
    forms = [
        (VIEWS[:2], {}),
        ([np.asfortranarray(X) for X in VIEWS[:2]], {}),
        (pd.DataFrame(table), {"views": [0, 0, 1, 1]}),
        ([np.repeat(X, 2, axis=0)[::2] for X in VIEWS[:2]], {}),
    ]
    found = [LatentSimplexPosition(**{**QUICK, "max_iter": 3}, **given).fit(data) for data, given in forms]
    assert len({model.loss_ for model in found}) == 1
    assert len({model.similarity_ for model in found}) == 1
    assert len({model.temperature_ for model in found}) == 1


def test_forms_of_columns_give_the_same_fit():
    X = VIEWS[0]
    found = losses(
        (X, {"views": "columns"}), ([X[:, [0]], X[:, [1]]], {}), (X.T[:, :, None], {}), (X, {"views": [0, 1]})
    )
    assert len(set(found)) == 1


def test_forms_of_similarities_give_the_same_fit():
    S = [rbf_kernel(X, gamma=0.05) for X in VIEWS]
    precomputed = {"similarity": "precomputed"}
    found = losses((S, precomputed), (np.stack(S), precomputed), (dict(enumerate(S)), precomputed))
    assert len(set(found)) == 1
    one = losses((S[0], precomputed), (S[:1], precomputed), (pd.DataFrame(S[0]), precomputed))
    assert len(set(one)) == 1
    by_function = losses((VIEWS, {"similarity": lambda X: rbf_kernel(X, gamma=0.05)}))
    np.testing.assert_allclose(by_function, found[:1])


class Gaussian:
    def exponents(self, X):
        i, j = np.triu_indices(len(X), 1)
        return 0.05 * ((X[i] - X[j]) ** 2).sum(axis=1)


def test_a_kernel_of_ones_own():
    own, function = losses(
        (VIEWS, {"similarity": Gaussian()}), (VIEWS, {"similarity": lambda X: rbf_kernel(X, gamma=0.05)})
    )
    assert own == pytest.approx(function)


@pytest.mark.filterwarnings("ignore:Sparse views are made dense:UserWarning")
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix])
def test_sparse_views_give_the_same_fit(form):
    X = np.maximum(VIEWS[0], 0)
    found = losses((X, {}), (form(X), {}), ([form(X)], {}))
    assert len(set(found)) == 1
    columns = losses((X, {"views": "columns"}), (form(X), {"views": "columns"}))
    assert len(set(columns)) == 1


@pytest.mark.parametrize(
    "views", [sparse.csr_array(np.eye(6)), [sparse.csr_array(np.eye(6))]], ids=["one", "list"]
)
def test_who_is_told_that_sparse_views_become_dense_is_who_called_fit(views):
    with pytest.warns(UserWarning, match="Sparse views are made dense") as caught:
        paper(max_iter=2).fit(views)
    assert [warning.filename for warning in caught] == [__file__]


def test_integer_and_boolean_data():
    X = VIEWS[0].round()
    whole, floats = losses((X.astype(int), {}), (X, {}))
    assert whole == floats
    answers = X > 6
    yes, one = losses((answers, {"views": "columns"}), (answers.astype(float), {"views": "columns"}))
    assert yes == one


def test_duplicates_and_ties():
    X = np.repeat([[0.0, 0.0], [5.0, 0.0], [0.0, 9.0]], 6, axis=0)
    for make in (paper, LatentSimplexPosition):
        model = make(**{**QUICK, "max_iter": 60}).fit([X, X + 1])
        assert np.isfinite(model.loss_curve_).all()
        for start in range(0, 18, 6):
            assert len(set(model.labels_[start : start + 6])) == 1


@pytest.mark.parametrize("make", [paper, LatentSimplexPosition], ids=["paper", "default"])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_very_few_samples(n, make):
    model = make(**QUICK).fit([np.arange(float(n))[:, None], 2 * np.arange(float(n))[:, None] ** 2])
    assert model.labels_.shape == (n,)
    assert np.isfinite(model.loss_curve_).all()


@pytest.mark.usefixtures("one_cloud")
def test_upper_bounds_are_cut():
    settings = {"n_init": 1, "max_iter": 5, "random_state": 0}
    for make in (LatentSimplexPosition.paper, LatentSimplexPosition):
        model = make(n_clusters=1000, n_patterns=1000, **settings).fit([X[:12] for X in VIEWS[:2]])
        cut = make(n_clusters=12, n_patterns=2, **settings).fit([X[:12] for X in VIEWS[:2]])
        assert model.loss_ == cut.loss_
    assert model.n_clusters == 1000


# Constant views


@pytest.mark.parametrize("make", [paper, LatentSimplexPosition], ids=["paper", "default"])
def test_constant_views_are_excluded_with_one_warning(make):
    flat = np.full((24, 2), 7.0)
    data = {"flat": flat, "shape": VIEWS[0], "still": flat, "size": VIEWS[2]}
    with constant_views_are_expected(2, 4) as caught:
        model = make(**{**QUICK, "max_iter": 100}).fit(data)
    assert len(caught) == 1
    assert str(caught[0].message).endswith(": flat, still.")
    assert caught[0].filename == __file__
    assert model.consensus_.excluded == ["flat", "still"]
    assert model.consensus_.weights.tolist() == [0, 1, 0, 1]
    assert (model.view_labels_[0] == 0).all()
    assert (model.coassignment(view="flat").toarray() == 1).all()
    assert model.initial_view_patterns_[[0, 2]].tolist() == [-1, -1]
    np.testing.assert_allclose(model.view_responsibilities_.sum(axis=1), 1)
    assert model.pattern_weights_.sum() == pytest.approx(1)

    alone = make(**{**QUICK, "max_iter": 100}).fit([VIEWS[0], VIEWS[2]])
    assert model.loss_ == pytest.approx(alone.loss_, rel=1e-9)  # views are sampled in another order
    assert np.array_equal(model.labels_, alone.labels_)


def test_long_lists_of_constant_views_are_cut():
    X = np.column_stack([VIEWS[0], np.ones((24, 12))])
    with constant_views_are_expected(12, 14) as caught:
        paper(views="columns").fit(X)
    assert str(caught[0].message).endswith("x2, x3, x4, x5, x6, x7, x8, x9, x10, x11 and 2 more.")


def test_all_views_constant():
    with constant_views_are_expected(2, 2):
        model = LatentSimplexPosition().fit([np.ones((5, 2)), np.zeros((5, 1))])
    assert model.labels_.tolist() == [0] * 5
    assert model.view_labels_.tolist() == [[0] * 5] * 2
    assert model.consensus_.weights.tolist() == [0, 0]
    assert model.consensus_.excluded == ["view0", "view1"]
    assert (model.coassignment().toarray() == 1).all()
    assert (model.n_patterns_, model.n_clusters_.tolist(), model.n_iter_) == (1, [1], 0)
    assert model.converged_
    assert model.loss_ == model.loss_curve_[-1]
    assert model.temperature_ == 1  # no view sets one
    assert model.start_agreement_.tolist() == [1] * model.n_init


def test_similarities_that_are_all_one_are_a_constant_view():
    with constant_views_are_expected(1, 2):
        model = LatentSimplexPosition(**QUICK, similarity="precomputed").fit(
            [np.ones((24, 24)), rbf_kernel(VIEWS[0])]
        )
    assert model.consensus_.weights[0] == 0


# Refusals that need the estimator to see them


GOOD = rbf_kernel(VIEWS[0])
SKEWED = GOOD.copy()
SKEWED[0, 3] /= 2
REFUSED = {
    "above one": ({"a": GOOD, "b": 2 * GOOD}, r"'b': .* from .* to 2: similarities must lie in \[0, 1\]"),
    "below zero": (GOOD - 0.5, r"'view0': .*similarities must lie in \[0, 1\]"),
    "asymmetric": ([GOOD, SKEWED], r"'view1': .* is not symmetric: pass \(S \+ S.T\) / 2"),
    "not square": (np.stack([GOOD[:, :5]] * 2), r"'view0': .*has shape \(24, 5\): a similarity matrix is square"),
    "different sizes": ([GOOD, GOOD[:9, :9]], r"views\[1\] has 9 rows and views\[0\] has 24"),
    "nan": (np.where(GOOD == 1, np.nan, GOOD), "X contains NaN"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_similarities_are_named(case):
    data, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        LatentSimplexPosition(**QUICK, similarity="precomputed").fit(data)


def test_a_function_kernel_that_fails_its_checks_is_named():
    with pytest.raises(ValueError, match=r"'view0': .*to 3: similarities must lie in \[0, 1\]"):
        LatentSimplexPosition(**QUICK, similarity=lambda X: np.full((len(X), len(X)), 3.0)).fit(VIEWS[0])
    with pytest.raises(ValueError, match=r"shape \(10,\) for view 'view0', but 24 samples have 276 pairs"):
        LatentSimplexPosition(**QUICK, similarity=lambda X: np.eye(5)).fit(VIEWS[0])


def test_a_table_cannot_be_cut_twice():
    with pytest.raises(ValueError, match=re.escape("views='columns' cuts one 2-D table into views")):
        LatentSimplexPosition(**QUICK, views="columns").fit(VIEWS)


def test_a_failed_fit_leaves_no_estimates():
    model = LatentSimplexPosition(**QUICK)
    with pytest.raises(ValueError, match="rows"):
        model.fit([VIEWS[0], VIEWS[1][:5]])
    with pytest.raises(NotFittedError):
        model.coassignment()


# Progress


def test_verbose_shows_a_bar_and_quiet_shows_nothing(capsys):
    paper(max_iter=3, verbose=True).fit(VIEWS)
    shown = capsys.readouterr()
    assert "start 1 of 1" in shown.err
    assert shown.out == ""
    paper(max_iter=3).fit(VIEWS)
    shown = capsys.readouterr()
    assert shown.out == shown.err == ""


def test_iterations_are_logged(caplog):
    with caplog.at_level(logging.DEBUG, logger="latentsimplex"):
        model = paper(max_iter=3, n_init=2).fit(VIEWS)
    messages = [record.getMessage() for record in caplog.records]
    steps = sorted(message.split(" loss")[0] for message in messages if message.startswith("start"))
    assert steps == [f"start {start} iteration {i}" for start in range(2) for i in range(4)]
    assert f"loss {model.loss_:.6g}" in " ".join(messages)


def test_iterations_that_refine_memberships_are_logged_too(caplog):
    with caplog.at_level(logging.DEBUG, logger="latentsimplex"):
        model = LatentSimplexPosition(**{**QUICK, "max_iter": 3}).fit(VIEWS[:2])
    assert model.similarity_.scale in ("mixed", "fine")
    assert f"loss {model.loss_:.6g}" in caplog.records[-1].getMessage()
