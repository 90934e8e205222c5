"""scikit-learn's own checks of an estimator, none of which is expected to fail, and habits of its users."""

from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from latentsimplex import LatentSimplexPosition

QUICK = {"n_clusters": 3, "n_patterns": 2, "n_init": 1, "max_iter": 5, "random_state": 0}
DEFAULT = LatentSimplexPosition(**{**QUICK, "n_clusters": 2})

# sparse input is documented to warn, and warnings are errors here
sparse_may_warn = pytest.mark.filterwarnings("ignore:Sparse views are made dense:UserWarning")
# checks give a class for each sample, which is documented to warn
full_labels_may_warn = pytest.mark.filterwarnings("ignore:y has a class for each:UserWarning")


def name_of(check):
    return getattr(check, "func", check).__name__


@sparse_may_warn
@full_labels_may_warn
@parametrize_with_checks(
    [
        LatentSimplexPosition.paper(**QUICK),
        LatentSimplexPosition(**QUICK, views="columns", similarity="local-scaling", temperature=0.5),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


# the checks of sparse input fit a dozen times, and what the data choose takes its time
@pytest.mark.usefixtures("one_cloud")
@full_labels_may_warn
@pytest.mark.parametrize(
    "check",
    [check for _, check in estimator_checks_generator(DEFAULT) if "sparse" not in name_of(check)],
    ids=name_of,
)
def test_scikit_learn_check_of_what_the_data_choose(check):
    check(DEFAULT)


@pytest.mark.slow
@sparse_may_warn
@full_labels_may_warn
@parametrize_with_checks([LatentSimplexPosition(), LatentSimplexPosition.paper()])
def test_scikit_learn_check_of_the_defaults(estimator, check):
    check(estimator)


# Habits


@pytest.fixture
def table():
    """Six columns, the first four with one pair of clusters and the others with another."""
    rng = np.random.default_rng(0)
    first, second = np.arange(40) % 2, np.arange(40) // 20
    labels = np.column_stack([first] * 4 + [second] * 2)
    return 12.0 * labels * [1, 10, 1, 10, 1, 10] + rng.normal(size=(40, 6)) * [1, 10, 1, 10, 1, 10]


GROUPED = LatentSimplexPosition(
    3, 2, views=list("aabbcc"), similarity="local-scaling", n_init=1, random_state=0
)


def test_parameters_can_be_set_and_cloned(table):
    model = clone(GROUPED).set_params(n_clusters=2, random_state=5)
    assert (model.get_params()["n_clusters"], model.get_params()["random_state"]) == (2, 5)
    fitted = model.fit(table)
    again = clone(fitted)
    assert again.get_params() == fitted.get_params()
    assert not hasattr(again, "labels_")
    with pytest.raises(ValueError, match="Invalid parameter 'clusters'"):
        model.set_params(clusters=2)


def test_the_estimator_ends_a_pipeline(table):
    pipeline = make_pipeline(StandardScaler(), clone(GROUPED))
    labels = pipeline.fit_predict(table)
    direct = clone(GROUPED).fit(StandardScaler().fit_transform(table))
    np.testing.assert_array_equal(labels, direct.labels_)
    assert pipeline[-1].view_names_in_.tolist() == ["a", "b", "c"]
    assert pipeline[-1].view_patterns_.tolist() == [0, 0, 1]
    pipeline.set_params(latentsimplexposition__n_patterns=1)
    assert clone(pipeline).fit(table)[-1].n_patterns_ == 1


def test_names_pass_through_a_pipeline_that_keeps_them(table):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table, [f"s{i}" for i in range(40)], list("uvwxyz"))
    pipeline = make_pipeline(StandardScaler(), clone(GROUPED)).set_output(transform="pandas").fit(frame)
    assert pipeline[-1].sample_names_in_.tolist() == frame.index.tolist()
    assert pipeline[-1].feature_names_in_.tolist() == frame.columns.tolist()
    assert pipeline[-1].labels_frame()["sample"].tolist() == frame.index.tolist()


def test_what_transforms_nothing_names_no_features_out(table):
    """Memberships are of patterns whose number is found: there are no columns that a next step could rely on."""
    model = clone(GROUPED).fit(table)
    for method in ("transform", "fit_transform", "get_feature_names_out", "set_output"):
        assert not hasattr(model, method)
    pipeline = make_pipeline(StandardScaler(), model).fit(table)
    with pytest.raises(AttributeError, match="does not provide get_feature_names_out"):
        pipeline.get_feature_names_out()


class Shown(HTMLParser):
    """The text of a page, and the tags that were opened and never closed."""

    def __init__(self, page):
        super().__init__()
        self.text, self.open = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag not in ("input", "br", "img", "path", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            self.open.remove(tag)

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.text.append(data)


@pytest.mark.parametrize("fitted", [False, True])
def test_notebooks_show_the_estimator(table, fitted):
    model = clone(GROUPED)
    page = Shown((model.fit(table) if fitted else model)._repr_html_())
    assert page.open == []
    text = " ".join(page.text)
    for part in ("LatentSimplexPosition", "n_clusters", "local-scaling"):
        assert part in text
    assert ("Fitted" in text) == fitted
    assert ("Not fitted" in text) == (not fitted)


def test_a_label_for_each_of_many_columns_does_not_fill_the_screen():
    model = LatentSimplexPosition(views=["a", "b"] * 10_000)
    assert len(repr(model)) < 1000
    assert len(model._repr_html_()) < 100_000
