"""The course of a fit: the search on one similarity, then the drawing of borders on another, as was asked for."""

from types import SimpleNamespace

import numpy as np
import pytest

from latentsimplex import LatentSimplexPosition, plan
from latentsimplex.compute.threads import Workers
from latentsimplex.em import Expectation, Fit, Schedule, State
from latentsimplex.engines.local import LocalPairs
from latentsimplex.objective import ClusterPrice, NoPenalty, label_prices
from latentsimplex.options import resolve_choices
from latentsimplex.plan import mean_coassignment
from latentsimplex.search import NOBODY
from latentsimplex.similarity import Diffusion, LocalScaling, Readings
from latentsimplex.views import as_views
from problems import KINDS, same_partition

pytestmark = pytest.mark.usefixtures("one_cloud")

QUICK = {"n_clusters": 3, "n_patterns": 2, "n_init": 1, "max_iter": 5, "random_state": 0}
TWO = ((2, "as they are"),)


def views(n=30, distance=12.0):
    """Return two views with the same two clusters."""
    rng = np.random.default_rng(0)
    return [distance * (np.arange(n) % 2)[:, None] + rng.normal(size=(n, 2)) for _ in range(2)]


def noise(n=30):
    return [np.random.default_rng(seed).normal(size=(n, 1)) for seed in range(2)]


# Each view in its own nats


def a_plan(data, temperature):
    """Return the plan of a quick fit at this temperature."""
    choices = resolve_choices("auto", "auto", "auto", temperature, "auto")
    return plan.Plan(as_views(data), choices, Schedule(), 3, 2, 1, True, Workers(1), NOBODY)


def test_what_a_view_counts_is_the_mean_temperature_over_its_own():
    rng = np.random.default_rng(0)
    flat = np.ones((30, 2))
    course = a_plan([flat, rng.normal(size=(30, 1)), flat, rng.normal(size=(30, 3))], "auto")
    own = course._temperatures(course.choices, LocalScaling())
    model, pairs = course._problem(course.choices, LocalScaling(), own)
    expected = plan.view_temperatures(course.views, LocalScaling(), model.divergence, course.workers)
    assert np.array_equal(own, expected)
    assert own[1] != own[3]
    assert model == course.choices.model(30, 3, own.mean())
    assert pairs.informative.tolist() == [1, 3]
    np.testing.assert_allclose(pairs.weights, own.mean() / own[[1, 3]])
    assert model.penalty == ClusterPrice(label_prices(30, 3, own.mean()))


def test_at_a_temperature_of_the_users_all_views_count_the_same():
    rng = np.random.default_rng(0)
    course = a_plan([rng.normal(size=(30, 1)), rng.normal(size=(30, 3))], 2.5)
    own = course._temperatures(course.choices, LocalScaling())
    model, pairs = course._problem(course.choices, LocalScaling(), own)
    assert own is None
    assert model.temperature == 2.5
    assert pairs.weights.tolist() == [1, 1]


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
def stages(monkeypatch):
    """Record the model and the kernel of each stage of the fits that follow."""
    seen = SimpleNamespace(models=[], kernels=[])
    best_of, go_on, scanned = plan.best_of, plan.go_on, LocalPairs.__init__

    def searched(pairs, n_clusters, n_patterns, model, *arguments, **settings):
        seen.models.append(model)
        return best_of(pairs, n_clusters, n_patterns, model, *arguments, **settings)

    def drawn(pairs, fit, model, *arguments):
        seen.models.append(model)
        return go_on(pairs, fit, model, *arguments)

    def read(self, views, kernel, *arguments):
        seen.kernels.append(getattr(kernel, "readings", kernel))
        scanned(self, views, kernel, *arguments)

    monkeypatch.setattr(plan, "best_of", searched)
    monkeypatch.setattr(plan, "go_on", drawn)
    monkeypatch.setattr(LocalPairs, "__init__", read)
    return seen


def choose(monkeypatch, scale):
    """Have the data choose this scale, whatever they are."""
    monkeypatch.setattr(plan, "choose_readings", lambda *arguments: Readings(scale, TWO))


@pytest.mark.parametrize(("found", "drawn"), [("local", "mixed"), ("broad", "fine")])
def test_clusters_are_found_at_one_scale_and_drawn_at_another(found, drawn, stages, monkeypatch):
    choose(monkeypatch, found)
    model = LatentSimplexPosition(**QUICK).fit(views())
    assert model.n_clusters_.tolist() == [2]
    assert [kernel.scale for kernel in stages.kernels] == [found, drawn]
    assert model.similarity_ is stages.kernels[-1]
    assert model.similarity_.features == TWO
    assert model.similarity_.mean == (0.5 if drawn == "mixed" else None)
    assert len(stages.models) == 2
    assert model.temperature_ == stages.models[-1].temperature


def test_the_data_choose_unless_they_are_told(stages):
    model = LatentSimplexPosition(**QUICK).fit(views())
    assert stages.kernels[0].scale in ("local", "broad")
    assert model.similarity_.scale == {"local": "mixed", "broad": "fine"}[stages.kernels[0].scale]


def divergences_and_responses(stages):
    return [(model.divergence.name, model.learned_response) for model in stages.models]


def test_similarities_that_are_as_good_as_co_assignments_are_read_as_such(stages, monkeypatch):
    choose(monkeypatch, "local")
    model = LatentSimplexPosition(**QUICK).fit(views())
    assert divergences_and_responses(stages) == [("forward", True), ("reverse", False)]
    for B in model.responses_:
        assert np.array_equal(B, np.eye(len(B)))


def test_those_that_are_not_are_read_as_before(stages, monkeypatch):
    choose(monkeypatch, "broad")
    LatentSimplexPosition(**QUICK).fit(views())
    assert divergences_and_responses(stages) == [("forward", True), ("forward", True)]


@pytest.mark.parametrize("scale", ["local", "broad"])
@pytest.mark.parametrize("divergence", KINDS)
@pytest.mark.parametrize("response", ["identity", "learned"])
def test_what_the_user_gave_holds_in_both_stages(divergence, response, scale, stages, monkeypatch):
    choose(monkeypatch, scale)
    settings = {"divergence": divergence, "response": response, "temperature": 0.5}
    model = LatentSimplexPosition(**QUICK, **settings).fit(views())
    assert divergences_and_responses(stages) == [(divergence, response == "learned")] * 2
    assert [stage.temperature for stage in stages.models] == [0.5, 0.5]
    assert model.temperature_ == 0.5


def test_the_penalty_holds_in_both_stages(stages, monkeypatch):
    choose(monkeypatch, "local")
    for penalty in ("labels", None):
        LatentSimplexPosition(**QUICK, penalty=penalty).fit(views())
    kinds = [type(model.penalty) for model in stages.models]
    assert kinds == [ClusterPrice, ClusterPrice, NoPenalty, NoPenalty]


def test_the_clusters_that_were_found_are_the_ones_that_are_drawn(monkeypatch):
    choose(monkeypatch, "local")
    model = LatentSimplexPosition(**QUICK).fit(views())
    truth = np.arange(30) % 2
    assert np.array_equal(np.equal.outer(model.labels_, model.labels_), np.equal.outer(truth, truth))


def test_where_there_are_no_clusters_there_is_nothing_to_draw(stages):
    model = LatentSimplexPosition(**QUICK).fit(noise())
    assert model.n_clusters_.tolist() == [1]
    assert len(stages.kernels) == 1
    assert model.similarity_.scale in ("local", "broad")
    assert model.loss_ == model.start_losses_.min()


@pytest.mark.parametrize("similarity", ["diffusion", "local-scaling", Diffusion(neighbours=5)], ids=str)
def test_a_similarity_of_the_users_choice_serves_to_the_end(similarity, stages):
    model = LatentSimplexPosition(**QUICK, similarity=similarity).fit(views())
    assert stages.kernels == [model.similarity_]
    assert model.loss_ == model.start_losses_.min()


def test_plain_em_is_one_stage(stages):
    settings = {"response": "identity", "penalty": "group", "search": "plain"}
    model = LatentSimplexPosition(**QUICK, **settings).fit(views())
    assert stages.kernels == [model.similarity_]
    assert model.similarity_.scale in ("local", "broad")


def test_constant_views_are_one_stage_without_a_search(stages):
    with pytest.warns(UserWarning, match="constant"):
        LatentSimplexPosition(**QUICK).fit(np.ones((8, 2)))
    assert stages.models == []


@pytest.mark.parametrize("scale", ["local", "broad"])
def test_a_low_memory_limit_gives_the_same_in_both_stages(scale, monkeypatch):
    choose(monkeypatch, scale)
    data = views()
    kept, computed = (
        LatentSimplexPosition(**QUICK, temperature=0.5, memory_limit=limit).fit(data)
        for limit in ("1GB", 435 * 8 * (4 * 2 + 12) + 10)
    )
    assert np.array_equal(kept.loss_curve_, computed.loss_curve_)
    assert np.array_equal(kept.memberships_[0], computed.memberships_[0])


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
    monkeypatch.setattr(plan, "SEARCHED_VIEWS", 6)
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
    monkeypatch.setattr(plan, "SEARCHED_VIEWS", 6)
    data, _, _ = many_views(13)
    assert (LatentSimplexPosition(**QUICK).fit(data[:12]).initial_view_patterns_ >= 0).all()
    assert (LatentSimplexPosition(**QUICK).fit(data).initial_view_patterns_ >= 0).sum() == 12
    assert (LatentSimplexPosition.paper(**QUICK).fit(data).initial_view_patterns_ >= 0).all()


def test_which_views_are_searched_is_drawn_by_the_random_state(monkeypatch):
    monkeypatch.setattr(plan, "SEARCHED_VIEWS", 6)
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
    monkeypatch.setattr(plan, "SEARCHED_VIEWS", 1)
    (one, _), _, (three, _) = many_views(2)
    data = [np.ones_like(one) for _ in range(40)]
    data[17] = one
    with pytest.warns(UserWarning, match="constant"):
        model = LatentSimplexPosition(**QUICK, similarity="local-scaling").fit(data)
    assert same_partition(model.view_labels_[17], three)
    assert np.flatnonzero(model.initial_view_patterns_ >= 0).tolist() == [17]


def test_the_loss_in_the_end_is_that_of_all_views(monkeypatch):
    monkeypatch.setattr(plan, "SEARCHED_VIEWS", 6)
    data, _, _ = many_views(60)
    seen = []
    settle = plan.settle

    def settled(pairs, fit, model, *arguments):
        seen.append((len(pairs), len(fit.expectation.eta), model.temperature))
        return settle(pairs, fit, model, *arguments)

    monkeypatch.setattr(plan, "settle", settled)
    model = LatentSimplexPosition(**QUICK, similarity="local-scaling").fit(data)
    assert seen == [(60, 12, model.temperature_)]
