"""What a fit found as one record: what it says of itself, and that everything about a model takes it."""

from dataclasses import FrozenInstanceError, fields, is_dataclass, replace

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from latentsimplex import LatentSimplexPosition, results
from latentsimplex.analysis import associate_model, audit_consensus, consensus_weights, screen_model
from latentsimplex.estimator import FITTED
from latentsimplex.report import summarise, write_report
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.results.consensus import Consensus
from latentsimplex.results.results import Results, Stage, results_of
from latentsimplex.uncertainty import model_uncertainty, pac_bayes
from made_model import made_model, made_stages

FIRST = np.array([[0.9, 0.1], [1.0, 0.0], [0.75, 0.25], [0.0, 1.0], [0.25, 0.75], [0.0, 1.0]])
SECOND = np.eye(3)[[0, 0, 1, 1, 2, 2]]


@pytest.fixture
def model():
    """Patterns of two and of three clusters; the last view has one cluster and no part in the consensus."""
    return made_model(
        [FIRST, SECOND, np.ones((6, 1))], [0, 0, 1, 2], view_names=["va", "vb", "vc", "vd"], n_init=3
    )


@pytest.fixture
def found(model):
    return model.results_


# A record


def test_results_cannot_be_changed(found):
    for name in ("memberships", "stages", "labels", "n_patterns"):
        with pytest.raises((FrozenInstanceError, AttributeError)):
            setattr(found, name, None)


def test_another_record_can_be_made_of_one(found):
    other = replace(found, sample_names=np.array(list("abcdef"), dtype=object))
    assert found.sample_names is None
    assert other.sample_names.tolist() == list("abcdef")
    assert other.memberships is found.memberships


def test_results_count_what_they_hold(found):
    assert (found.n_samples, found.n_views, found.n_patterns) == (6, 4, 3)
    assert found.n_clusters.tolist() == [2, 3, 1]
    assert repr(found) == "Results(6 samples, 4 views, patterns of 2, 3, 1 clusters)"


def test_labels_are_those_of_the_consensus_and_of_the_patterns(found):
    assert found.labels is found.consensus.labels
    assert found.view_labels.shape == (4, 6)
    for v, pattern in enumerate([0, 0, 1, 2]):
        assert np.array_equal(found.view_labels[v], found.pattern_labels[pattern])


def test_losses_and_steps_are_those_at_the_end_of_the_curves(found):
    other = replace(
        found, loss_curve=np.array([9.0, 8.0, 7.5]), expected_loss_curve=np.array([5.0, 4.0, 3.5])
    )
    assert (other.loss, other.expected_loss, other.n_iter) == (7.5, 3.5, 2)
    assert type(other.loss) is type(other.expected_loss) is float


def test_similarity_and_temperature_are_those_of_the_last_stage(found):
    first, last = found.stages
    assert found.similarity is last.similarity is not first.similarity
    assert found.temperature == last.temperature != first.temperature
    alone = replace(found, stages=(first,))
    assert (alone.similarity, alone.temperature) == (first.similarity, first.temperature)


def test_constant_views_are_those_that_had_no_start(found):
    assert np.flatnonzero(found.initial_view_patterns == -1).tolist() == []
    some = replace(found, initial_view_patterns=np.array([-1, 0, -2, -1]))
    assert np.flatnonzero(some.initial_view_patterns == -1).tolist() == [0, 3]


def test_coassignments_of_the_consensus_of_views_and_of_patterns(found):
    assert found.coassignment() is found.consensus.coassignment
    for one in (found.coassignment(pattern=1), found.coassignment("vc"), found.coassignment(view=2)):
        assert isinstance(one, CoAssignment)
        assert np.array_equal(one.factor, SECOND)
    with pytest.raises(ValueError, match="Both view and pattern were given"):
        found.coassignment(view=0, pattern=0)


def test_patterns_are_found_by_view_or_by_number(found):
    assert [found.find_pattern(view, None) for view in ("va", 1, np.int64(2), "vd")] == [0, 0, 1, 2]
    assert [found.find_pattern(None, pattern) for pattern in (None, 0, np.int64(2))] == [0, 0, 2]
    for pattern in (3, -1, "0", 1.0):
        with pytest.raises(ValueError, match="is unknown: the live patterns are 0 to 2"):
            found.find_pattern(None, pattern)


def test_views_are_found_by_name_or_by_number(found):
    assert [found.find_view(view) for view in ("va", "vd", 0, np.int64(3))] == [0, 3, 0, 3]
    for view in ("ve", 4, -1, 1.5, None):
        with pytest.raises(
            ValueError, match=r"is unknown: give an index from 0 to 3 or the name of a view, such as 'va'"
        ):
            found.find_view(view)


def test_of_views_that_share_a_name_the_first_is_found(found):
    twins = replace(found, view_names=np.array(["a", "b", "b", "a"], dtype=object))
    assert (twins.find_view("a"), twins.find_view("b")) == (0, 1)


def test_a_consensus_can_be_formed_anew(found):
    assert np.array_equal(found.reform_consensus().labels, found.labels)
    alone = found.reform_consensus([0, 0, 1, 0])
    assert isinstance(alone, Consensus)
    assert alone.excluded == ["va", "vb", "vd"]
    np.testing.assert_allclose(alone.coassignment.toarray(), SECOND @ SECOND.T)
    assert found.consensus.weights.tolist() == [1, 1, 1, 0]


def test_a_stage_says_what_it_used_and_cannot_be_changed():
    first, second = made_stages(4)
    assert (first.name, second.name) == ("search", "refinement")
    assert (first.evidence, second.evidence) == (2.5, None)
    assert first == replace(first)
    assert first != second
    with pytest.raises(FrozenInstanceError):
        first.name = "other"


def test_records_are_in_the_package_of_results():
    assert (results.Results, results.Stage) == (Results, Stage)


# Who has results


def test_an_estimator_and_its_results_give_the_same(model, found):
    assert results_of(model) is found
    assert results_of(found) is found


def test_an_estimator_that_is_not_fitted_says_so():
    with pytest.raises(NotFittedError, match="LatentSimplexPosition instance is not fitted yet"):
        results_of(LatentSimplexPosition())


def test_another_estimator_that_is_not_fitted_says_so():
    with pytest.raises(NotFittedError, match="KMeans instance is not fitted yet"):
        results_of(KMeans())


def test_another_estimator_that_is_fitted_has_no_results():
    other = KMeans(1, n_init=1).fit(np.eye(2))
    with pytest.raises(
        TypeError, match="needed and a KMeans was given: give a LatentSimplexPosition after fit"
    ):
        results_of(other)


@pytest.mark.parametrize("thing", [None, 3, "model", {"labels_": [0, 1]}, [0, 1]], ids=repr)
def test_something_else_is_no_estimator(thing):
    with pytest.raises(TypeError, match=f"needed and a {type(thing).__name__} was given"):
        results_of(thing)


def test_something_that_calls_something_else_its_results_has_none():
    class Other(KMeans):
        results_ = "none of ours"

    with pytest.raises(TypeError, match="a Other was given"):
        results_of(Other(1, n_init=1).fit(np.eye(2)))


def test_an_estimator_shows_what_its_results_hold(model, found):
    for attribute, name in FITTED.items():
        assert getattr(model, attribute) is getattr(found, name) or np.array_equal(
            getattr(model, attribute), getattr(found, name)
        )
    assert model.view_labels_.tolist() == found.view_labels.tolist()
    hidden = {field.name for field in fields(found)} - set(FITTED.values())
    assert hidden == {
        "averaged",
        "feature_names",
        "found_columns",
        "settings",
        "frame_library",
        "references",
    }


def test_the_parameters_of_a_fit_stay_when_the_estimator_gets_others(model, found):
    model.set_params(n_init=7, verbose=True)
    assert found.settings["n_init"] == 3
    assert "verbose" not in found.settings


# Everything that takes a model takes results


def written(model, folder):
    """Return the page about a model, and where it is written."""
    write_report(model, folder / "report.html")
    return (folder / "report.html").read_text(encoding="utf-8")


ASKED = {
    "uncertainty of the consensus": lambda model, folder: model_uncertainty(model),
    "uncertainty of a pattern": lambda model, folder: model_uncertainty(model, pattern=1),
    "uncertainty of a view": lambda model, folder: model_uncertainty(model, view="vb"),
    "bounds": lambda model, folder: pac_bayes(
        model, dict(zip(["va", "vb", "vc", "vd"], VIEWS, strict=True)), 0.1
    ),
    "audit": lambda model, folder: audit_consensus(model),
    "audit by weights": lambda model, folder: audit_consensus(model, [1, 2, 3, 0]),
    "weights": lambda model, folder: consensus_weights(model, "evidence"),
    "association": lambda model, folder: associate_model(model, 50, random_state=0),
    "screening": lambda model, folder: screen_model(
        model, {"sex": list("FFMMFM")}, n_permutations=50, random_state=0
    ),
    "summary": lambda model, folder: summarise(model),
    "report": written,
}
VIEWS = [np.random.default_rng(v).normal(size=(6, 1)) for v in range(4)]


def parts_of(answer):
    """Return an answer as plain values that can be compared."""
    if is_dataclass(answer):
        return {field.name: parts_of(getattr(answer, field.name)) for field in fields(answer)}
    if isinstance(answer, dict):
        return {key: parts_of(value) for key, value in answer.items()}
    return answer.tolist() if isinstance(answer, np.ndarray) else answer


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_results_are_as_good_as_the_estimator_that_holds_them(ask, model, found, tmp_path):
    assert repr(parts_of(ask(found, tmp_path))) == repr(parts_of(ask(model, tmp_path)))


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_a_model_that_is_not_fitted_has_nothing_to_say(ask, tmp_path):
    with pytest.raises(NotFittedError):
        ask(LatentSimplexPosition(), tmp_path)
