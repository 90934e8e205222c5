"""The stages of a fit: a search, a refinement, all views; each as was asked for, and told."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from latentsimplex import LatentSimplexPosition, load, options, stages
from latentsimplex import fitting as course
from latentsimplex.auto.choose_similarity import Choice
from latentsimplex.auto.temperatures import view_temperatures
from latentsimplex.base.threads import Workers
from latentsimplex.fitting import Fitting, Reading, make_model
from latentsimplex.inputs.views import as_views
from latentsimplex.model.backends import choose_backend
from latentsimplex.model.cluster_prices import ClusterPrice, label_prices
from latentsimplex.model.penalties import NoPenalty
from latentsimplex.model.problem import NOBODY, Expectation, Fit, State
from latentsimplex.options import resolve_options
from latentsimplex.results.results import Stage
from latentsimplex.search.runs import NATS_AT_LAST, NATS_BETWEEN, mean_coassignment
from latentsimplex.similarity import AutoDiffusion, Diffusion, LocalScaling
from problems import KINDS, same_partition

pytestmark = pytest.mark.usefixtures("one_cloud", "_as_among_many_views")

QUICK = {"n_clusters": 3, "n_patterns": 2, "n_init": 1, "max_iter": 5, "random_state": 0}
TWO = ((2, "as they are"),)


@pytest.fixture
def _as_among_many_views(monkeypatch):
    """A few views are searched as many are; how splits are found in a few is tested with them."""
    monkeypatch.setattr(options, "FEW_VIEWS", 0)


def views(n=30, distance=12.0):
    """Return two views with the same two clusters."""
    rng = np.random.default_rng(0)
    return [distance * (np.arange(n) % 2)[:, None] + rng.normal(size=(n, 2)) for _ in range(2)]


def noise(n=30):
    return [np.random.default_rng(seed).normal(size=(n, 1)) for seed in range(2)]


# Each view in its own nats


def a_fitting(data, temperature):
    """Return a quick fit at this temperature before its first stage."""
    options = resolve_options(LatentSimplexPosition(3, 2, temperature=temperature).get_params(deep=False))
    views, workers = as_views(data), Workers(1)
    backend = choose_backend(None, views.n_samples, workers)
    return Fitting(views, options, 3, 2, None, "whole", None, workers, backend, NOBODY)


@pytest.mark.parametrize("few", [1, 2])
def test_where_splits_are_looked_for_loops_for_many_views_are_not_compiled(monkeypatch, few):
    monkeypatch.setattr(options, "FEW_VIEWS", few)
    resolved = resolve_options(LatentSimplexPosition(3, 2).get_params(deep=False))
    fitting = stages.set_up(as_views(noise()), resolved, Workers(1))
    assert fitting.workers.without_loops is (few == 2)
    assert (fitting.backend.descend is None) is (few == 2)


def posed(fitting, kernel):
    """Return the choices of a fit, each view's temperature, and the problem of a search with this kernel."""
    choices = fitting.options.choices
    own = fitting.measure_temperatures(choices, kernel)
    return choices, own, *fitting.pose("search", Reading(choices, kernel, own), None)


def test_what_a_view_counts_is_the_mean_temperature_over_its_own():
    rng = np.random.default_rng(0)
    flat = np.ones((30, 2))
    fitting = a_fitting([flat, rng.normal(size=(30, 1)), flat, rng.normal(size=(30, 3))], "auto")
    choices, own, problem, informative, stage = posed(fitting, LocalScaling())
    expected = view_temperatures(fitting.views, LocalScaling(), problem.model.divergence, fitting.workers)
    assert np.array_equal(own, expected)
    assert own[1] != own[3]
    assert problem.model == make_model(choices, 30, 3, own.mean())
    assert informative.tolist() == [1, 3]
    np.testing.assert_allclose(problem.pairs.weights, own.mean() / own[[1, 3]])
    assert problem.model.penalty == ClusterPrice(label_prices(30, 3, own.mean()))
    assert (stage.temperature, stage.n_views) == (problem.model.temperature, 2)


def test_at_a_temperature_of_the_users_all_views_count_the_same():
    rng = np.random.default_rng(0)
    fitting = a_fitting([rng.normal(size=(30, 1)), rng.normal(size=(30, 3))], 2.5)
    _, own, problem, _, stage = posed(fitting, LocalScaling())
    assert own is None
    assert problem.model.temperature == stage.temperature == 2.5
    assert problem.pairs.weights.tolist() == [1, 1]


# How much samples are co-assigned


def fit_with(labels, view_patterns):
    """Return a fit with these point-wise labels (d, n) and the pattern of each view."""
    labels, view_patterns = np.array(labels), np.array(view_patterns)
    d = len(labels)
    state = State(np.eye(3)[labels], np.tile(np.eye(3), (d, 1, 1)), np.full(d, 1 / d), np.ones(d))
    eta = np.eye(d)[view_patterns]
    gamma = eta.sum(axis=0)
    return Fit(state, Expectation(eta, gamma, gamma, np.empty((d, 0)), 0.0, 0.0), [0.0], [0.0], True)


def test_the_mean_co_assignment_by_hand():
    """Clusters of 2 and 2 share (4 + 4) / 16 of all pairs, clusters of 3 and 1 share (9 + 1) / 16."""
    labels = [[0, 0, 1, 1], [2, 2, 2, 0]]
    assert mean_coassignment(fit_with(labels, [0])) == 8 / 16
    assert mean_coassignment(fit_with(labels, [1])) == 10 / 16
    assert mean_coassignment(fit_with(labels, [0, 1, 1])) == pytest.approx((8 + 10 + 10) / 3 / 16)


def test_views_without_clusters_have_no_part_in_the_mean():
    labels = [[0, 0, 1, 1], [2, 2, 2, 2]]
    assert mean_coassignment(fit_with(labels, [0, 1, 1, 1])) == 8 / 16
    assert mean_coassignment(fit_with(labels, [1, 1])) == 1


def test_patterns_that_no_view_follows_have_no_part_either():
    assert mean_coassignment(fit_with([[0, 0, 1, 1], [0, 1, 2, 2]], [0, 0])) == 8 / 16


# Two stages


@pytest.fixture
def seen(monkeypatch):
    """Record the model and the kernel of each stage of the fits that follow, as the work was done."""
    found = SimpleNamespace(models=[], kernels=[], nats=[])
    search, refit, make_pairs = (
        stages.search_from_starts,
        stages.refit_on_second_similarity,
        course.make_pairs,
    )

    def searched(problem, *arguments, **settings):
        found.models.append(problem.model)
        found.nats.append(settings["nats"])
        return search(problem, *arguments, **settings)

    def refitted(problem, *arguments):
        found.models.append(problem.model)
        return refit(problem, *arguments)

    def read(device, views, kernel, *arguments):
        found.kernels.append(kernel)
        return make_pairs(device, views, kernel, *arguments)

    monkeypatch.setattr(stages, "search_from_starts", searched)
    monkeypatch.setattr(stages, "refit_on_second_similarity", refitted)
    monkeypatch.setattr(course, "make_pairs", read)
    return found


def choose(monkeypatch, scale, evidence=3.0):
    """Have the data choose this scale, whatever they are."""
    chosen = Choice(AutoDiffusion(scale, TWO), evidence)
    monkeypatch.setattr(course, "choose_similarity", lambda *arguments: chosen)


@pytest.mark.parametrize(("found", "refined"), [("local", "mixed"), ("broad", "fine")])
def test_clusters_are_found_at_one_scale_and_refined_at_another(found, refined, seen, monkeypatch):
    choose(monkeypatch, found)
    model = LatentSimplexPosition(**QUICK).fit(views())
    assert model.n_clusters_.tolist() == [2]
    assert [kernel.scale for kernel in seen.kernels] == [found, refined]
    assert model.similarity_ is seen.kernels[-1]
    assert [stage.similarity for stage in model.stages_] == seen.kernels
    assert [stage.temperature for stage in model.stages_] == [each.temperature for each in seen.models]
    assert model.similarity_.features == TWO
    assert model.similarity_.mean == (0.5 if refined == "mixed" else None)
    assert len(seen.models) == 2
    assert model.temperature_ == seen.models[-1].temperature


def test_the_data_choose_unless_they_are_told(seen):
    model = LatentSimplexPosition(**QUICK).fit(views())
    assert seen.kernels[0].scale in ("local", "broad")
    assert model.similarity_.scale == {"local": "mixed", "broad": "fine"}[seen.kernels[0].scale]


def divergences_and_responses(seen):
    return [(model.divergence.name, model.learned_response) for model in seen.models]


def told(model):
    """Return the divergences and the responses that a fitted model tells of its stages."""
    return [(stage.divergence, stage.response == "learned") for stage in model.stages_]


def test_similarities_that_are_as_good_as_co_assignments_are_read_as_such(seen, monkeypatch):
    choose(monkeypatch, "local")
    model = LatentSimplexPosition(**QUICK).fit(views())
    assert divergences_and_responses(seen) == told(model) == [("forward", True), ("reverse", False)]
    for B in model.responses_:
        assert np.array_equal(B, np.eye(len(B)))


def test_those_that_are_not_are_read_as_before(seen, monkeypatch):
    choose(monkeypatch, "broad")
    model = LatentSimplexPosition(**QUICK).fit(views())
    assert divergences_and_responses(seen) == told(model) == [("forward", True), ("forward", True)]


@pytest.mark.parametrize("scale", ["local", "broad"])
@pytest.mark.parametrize("divergence", KINDS)
@pytest.mark.parametrize("response", ["identity", "learned"])
def test_what_the_user_gave_holds_in_both_stages(divergence, response, scale, seen, monkeypatch):
    choose(monkeypatch, scale)
    settings = {"divergence": divergence, "response": response, "temperature": 0.5}
    model = LatentSimplexPosition(**QUICK, **settings).fit(views())
    assert divergences_and_responses(seen) == told(model) == [(divergence, response == "learned")] * 2
    assert [stage.temperature for stage in seen.models] == [0.5, 0.5]
    assert model.temperature_ == 0.5


def test_the_penalty_holds_in_both_stages(seen, monkeypatch):
    choose(monkeypatch, "local")
    for penalty in ("labels", None):
        model = LatentSimplexPosition(**QUICK, penalty=penalty).fit(views())
        assert [stage.penalty for stage in model.stages_] == [penalty] * 2
    kinds = [type(model.penalty) for model in seen.models]
    assert kinds == [ClusterPrice, ClusterPrice, NoPenalty, NoPenalty]


def test_the_clusters_that_were_found_are_the_ones_that_are_refined(monkeypatch):
    choose(monkeypatch, "local")
    model = LatentSimplexPosition(**QUICK).fit(views())
    truth = np.arange(30) % 2
    assert np.array_equal(np.equal.outer(model.labels_, model.labels_), np.equal.outer(truth, truth))


def test_where_there_are_no_clusters_there_is_nothing_to_refine(seen):
    model = LatentSimplexPosition(**QUICK).fit(noise())
    assert model.n_clusters_.tolist() == [1]
    assert len(seen.kernels) == 1
    assert model.similarity_.scale in ("local", "broad")
    assert model.loss_ == model.start_losses_.min()
    (search,) = model.stages_
    assert (search.name, search.similarity) == ("search", model.similarity_)
    assert 0 < search.evidence < 2


@pytest.mark.parametrize("similarity", ["diffusion", "local-scaling", Diffusion(neighbours=5)], ids=str)
def test_a_similarity_of_the_users_choice_serves_to_the_end(similarity, seen):
    model = LatentSimplexPosition(**QUICK, similarity=similarity).fit(views())
    assert seen.kernels == [model.similarity_]
    assert model.loss_ == model.start_losses_.min()


def test_plain_em_is_one_stage(seen):
    settings = {"response": "identity", "penalty": "group", "search": "plain"}
    model = LatentSimplexPosition(**QUICK, **settings).fit(views())
    assert seen.kernels == [model.similarity_]
    assert model.similarity_.scale in ("local", "broad")


def test_constant_views_are_one_stage_without_a_search(seen):
    with pytest.warns(UserWarning, match="constant"):
        LatentSimplexPosition(**QUICK).fit(np.ones((8, 2)))
    assert seen.models == []


@pytest.mark.parametrize("scale", ["local", "broad"])
def test_little_memory_gives_the_same_in_both_stages(scale, monkeypatch):
    choose(monkeypatch, scale)
    data = views()
    kept = LatentSimplexPosition(**QUICK, temperature=0.5).fit(data)
    monkeypatch.setattr("latentsimplex.stages.choose_storage", lambda size, budget: "nowhere")
    computed = LatentSimplexPosition(**QUICK, temperature=0.5).fit(data)
    assert np.array_equal(kept.loss_curve_, computed.loss_curve_)
    assert np.array_equal(kept.memberships_[0], computed.memberships_[0])


def test_memberships_that_only_say_where_a_refinement_begins_are_known_roughly(seen):
    LatentSimplexPosition(**QUICK).fit(views())
    LatentSimplexPosition(**QUICK, similarity="diffusion").fit(views())
    assert seen.nats == [NATS_BETWEEN, NATS_AT_LAST]


# What is told of the stages


def as_resolved(stage, n_views=2):
    """Return the parts of a stage that do not depend on the data."""
    assert isinstance(stage, Stage)
    assert stage.n_views == n_views
    assert stage.temperature > 0
    return stage.name, stage.penalty, stage.search, stage.optimizer


def test_a_default_fit_is_a_search_with_evidence_and_a_refinement():
    model = LatentSimplexPosition(**QUICK).fit(views())
    search, refinement = model.stages_
    assert as_resolved(search) == ("search", "labels", "moves", "mirror")
    assert as_resolved(refinement) == ("refinement", "labels", "moves", "mirror")
    assert search.evidence > 1
    assert refinement.evidence is None
    assert (search.divergence, search.response) == ("forward", "learned")
    assert search.similarity.for_refinement(0.5).scale == refinement.similarity.scale
    assert (model.similarity_, model.temperature_) == (refinement.similarity, refinement.temperature)
    assert model.stages_ is model.results_.stages


def test_evidence_is_what_the_data_gave_for_the_similarity_they_chose(monkeypatch):
    choose(monkeypatch, "broad", evidence=7.25)
    search, refinement = LatentSimplexPosition(**QUICK).fit(views()).stages_
    assert (search.evidence, refinement.evidence) == (7.25, None)


def test_a_fit_with_the_papers_settings_is_a_search_alone():
    model = LatentSimplexPosition.paper(**QUICK).fit(views())
    assert model.stages_ == (
        Stage("search", LocalScaling(), "reverse", "identity", "group", "plain", "adam", 1.0, 2, None),
    )


@pytest.mark.parametrize("scale", ["local", "broad", "mixed", "fine"])
def test_a_kernel_like_the_datas_own_that_the_user_gives_serves_to_the_end(scale, seen):
    """Whatever its scale: it is read as any kernel, and no refinement follows."""
    kernel = AutoDiffusion(scale, TWO, 0.4 if scale == "mixed" else None)
    model = LatentSimplexPosition(**QUICK, similarity=kernel).fit(views())
    (search,) = model.stages_
    assert as_resolved(search) == ("search", "labels", "moves", "mirror")
    assert search.similarity is kernel
    assert (search.divergence, search.response) == ("forward", "learned")
    assert search.evidence is None
    assert seen.kernels == [kernel]
    assert divergences_and_responses(seen) == told(model) == [("forward", True)]


def test_a_plain_search_has_evidence_where_the_data_chose_its_similarity():
    settings = {"response": "identity", "penalty": "group", "search": "plain"}
    (search,) = LatentSimplexPosition(**QUICK, **settings).fit(views()).stages_
    assert as_resolved(search) == ("search", "group", "plain", "adam")
    assert search.evidence > 1


def test_constant_views_take_no_part_in_any_stage():
    with pytest.warns(UserWarning, match="constant"):
        model = LatentSimplexPosition(**QUICK).fit([*views(), np.ones((30, 1))])
    assert [stage.n_views for stage in model.stages_] == [2, 2]


def test_constant_views_alone_are_a_search_among_none():
    with pytest.warns(UserWarning, match="constant"):
        (search,) = LatentSimplexPosition(**QUICK).fit(np.ones((8, 2))).stages_
    assert (search.name, search.n_views) == ("search", 0)


# More views than a search looks at


def many_views(n_views, n=24):
    """Return views of two patterns in turn, three clusters or two, and the pattern of each."""
    rng = np.random.default_rng(3)
    three, two = np.arange(n) % 3, (np.arange(n) // 3) % 2
    patterns = np.arange(n_views) % 2
    centres = [6.0 * np.array([[0, 0], [1, 0], [0, 1]])[three], 7.0 * np.array([[0, 0], [1, 1]])[two]]
    return [centres[l] + rng.normal(size=(n, 2)) for l in patterns], patterns, [three, two]


@pytest.mark.parametrize("similarity", ["auto", "local-scaling"])
def test_all_views_get_the_right_pattern_though_a_search_looks_at_few(similarity, monkeypatch):
    monkeypatch.setattr(stages, "SEARCHED_VIEWS", 6)
    data, patterns, labels = many_views(60)
    model = LatentSimplexPosition(**QUICK, similarity=similarity).fit(data)
    searched = model.initial_view_patterns_ >= 0
    assert searched.sum() == 2 * 6
    assert same_partition(model.view_patterns_, patterns)
    for v in range(60):
        assert same_partition(model.view_labels_[v], labels[patterns[v]])
    assert model.view_responsibilities_.shape == (60, 2)
    assert model.pattern_weights_ == pytest.approx([0.5, 0.5], abs=0.02)


def test_a_search_looks_at_all_views_where_they_are_few_enough_or_it_has_no_moves(monkeypatch):
    monkeypatch.setattr(stages, "SEARCHED_VIEWS", 6)
    data, _, _ = many_views(13)
    assert (LatentSimplexPosition(**QUICK).fit(data[:12]).initial_view_patterns_ >= 0).all()
    assert (LatentSimplexPosition(**QUICK).fit(data).initial_view_patterns_ >= 0).sum() == 12
    assert (LatentSimplexPosition.paper(**QUICK).fit(data).initial_view_patterns_ >= 0).all()


def test_which_views_are_searched_is_drawn_by_the_random_state(monkeypatch):
    monkeypatch.setattr(stages, "SEARCHED_VIEWS", 6)
    data, _, _ = many_views(40)
    first, again, other = (
        LatentSimplexPosition(**{**QUICK, "random_state": seed}, similarity="local-scaling").fit(data)
        for seed in (0, 0, 1)
    )
    assert np.array_equal(first.initial_view_patterns_, again.initial_view_patterns_)
    assert np.array_equal(first.loss_curve_, again.loss_curve_)
    assert not np.array_equal(first.initial_view_patterns_ >= 0, other.initial_view_patterns_ >= 0)


def test_a_few_views_that_vary_are_found_among_many_that_do_not(monkeypatch):
    """The search among few may see constant views alone; it then looks at all."""
    monkeypatch.setattr(stages, "SEARCHED_VIEWS", 1)
    (one, _), _, (three, _) = many_views(2)
    data = [np.ones_like(one) for _ in range(40)]
    data[17] = one
    with pytest.warns(UserWarning, match="constant"):
        model = LatentSimplexPosition(**QUICK, similarity="local-scaling").fit(data)
    assert same_partition(model.view_labels_[17], three)
    assert np.flatnonzero(model.initial_view_patterns_ >= 0).tolist() == [17]


def test_the_loss_in_the_end_is_that_of_all_views(monkeypatch):
    monkeypatch.setattr(stages, "SEARCHED_VIEWS", 6)
    data, _, _ = many_views(60)
    seen = []
    finish = course.finish_on_all_views

    def finished(problem, fit, listener):
        seen.append((len(problem.pairs), len(fit.expectation.eta), problem.model.temperature))
        return finish(problem, fit, listener)

    monkeypatch.setattr(course, "finish_on_all_views", finished)
    model = LatentSimplexPosition(**QUICK, similarity="local-scaling").fit(data)
    assert seen == [(60, 12, model.temperature_)]


@pytest.mark.parametrize(
    ("similarity", "names"),
    [("auto", ["search", "refinement", "all views"]), ("local-scaling", ["search", "all views"])],
)
def test_the_last_stage_takes_in_all_views(similarity, names, tmp_path, monkeypatch):
    monkeypatch.setattr(stages, "SEARCHED_VIEWS", 6)
    data, _, _ = many_views(60)
    model = LatentSimplexPosition(**QUICK, similarity=similarity).fit(data)
    assert [stage.name for stage in model.stages_] == names
    assert [stage.n_views for stage in model.stages_] == [12] * (len(names) - 1) + [60]
    before, last = model.stages_[-2:]
    assert last.similarity is before.similarity
    assert (last.divergence, last.response, last.temperature) == (
        before.divergence,
        before.response,
        before.temperature,
    )
    assert [stage.evidence is not None for stage in model.stages_] == [
        similarity == "auto",
        *[False] * (len(names) - 1),
    ]
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").stages_ == model.stages_


def test_each_stage_is_announced(caplog, monkeypatch):
    monkeypatch.setattr(stages, "SEARCHED_VIEWS", 6)
    data, _, _ = many_views(60)
    with caplog.at_level("DEBUG", logger="latentsimplex"):
        LatentSimplexPosition(**QUICK).fit(data)
    announced = ["grouping the views", "refining memberships", "taking in all views"]
    assert [message for message in caplog.messages if message in announced] == announced


# Missing cells and categories


def three_groups(share, seed=0):
    """Return three groups of samples with a share of the cells missing, and their labels."""
    rng, groups = np.random.default_rng(seed), np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, 5)) + 6 * np.eye(5)[groups]
    return np.where(rng.random(X.shape) < share, np.nan, X), groups


def test_clusters_are_found_with_missing_cells():
    X, groups = three_groups(0.1)
    model = LatentSimplexPosition(missing="pairwise", random_state=0).fit(X)
    assert model.n_clusters_.tolist() == [3]
    assert adjusted_rand_score(groups, model.labels_) > 0.85


@pytest.mark.parametrize("similarity", ["auto", "local-scaling", "diffusion"])
def test_pairwise_changes_nothing_where_no_cell_is_missing(similarity):
    X, _ = three_groups(0)
    one, other = (
        LatentSimplexPosition(4, missing=missing, similarity=similarity, n_init=1, random_state=0).fit(
            [X, X[:, :2]]
        )
        for missing in ("raise", "pairwise")
    )
    assert np.array_equal(one.memberships_[0], other.memberships_[0])


def test_missing_cells_are_refused_unless_they_are_allowed():
    X, _ = three_groups(0.1)
    with pytest.raises(ValueError, match=r'X contains NaN.*missing="pairwise"'):
        LatentSimplexPosition().fit(X)
    X[4] = np.nan
    with pytest.raises(
        ValueError,
        match=r'no value for 1 sample\(s\), such as sample 4: drop it from every view or.*join="outer"',
    ):
        LatentSimplexPosition(missing="pairwise").fit(X)
    X[4], X[:, 2] = 0, np.nan
    with pytest.raises(ValueError, match=r"no value for 1 feature\(s\), such as feature 2: leave it out"):
        LatentSimplexPosition(missing="pairwise").fit(X)
    X[:, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        LatentSimplexPosition(missing="pairwise").fit(X)


def test_categories_and_numbers_find_clusters_together():
    pandas = pytest.importorskip("pandas")
    rng, groups = np.random.default_rng(0), np.repeat([0, 1, 2], 40)
    frame = pandas.DataFrame(
        {
            "size": 3.0 * groups + rng.normal(size=120),
            "colour": np.array(["red", "green", "blue"])[(groups + (rng.random(120) < 0.1)) % 3],
            "kind": pandas.Categorical(np.array(["a", "b", "c"])[(groups + (rng.random(120) < 0.1)) % 3]),
            "flag": groups > 0,
        }
    )
    model = LatentSimplexPosition(random_state=0).fit(frame)
    assert model.n_clusters_.tolist() == [3]
    assert adjusted_rand_score(groups, model.labels_) > 0.8
    assert model.feature_names_in_.tolist() == ["size", "colour", "kind", "flag"]
    columns = LatentSimplexPosition(views="columns", random_state=0).fit(frame)
    assert columns.results_.view_names.tolist() == ["size", "colour", "kind", "flag"]
