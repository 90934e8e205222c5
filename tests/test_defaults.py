"""The estimator as a user gets it without settings: what it finds, what it leaves alone, what does not matter."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from latentsimplex import LatentSimplexPosition
from latentsimplex.auto import choose_similarity, gaussian_clouds, temperatures
from latentsimplex.datasets import consensus_example, running_example, single_view
from latentsimplex.similarity import AutoDiffusion
from problems import same_partition

SEEDS = range(3)
MORE_SEEDS = range(20)


def fitted(data, n_clusters=6, n_patterns=3, **settings):
    return LatentSimplexPosition(n_clusters, n_patterns, **{"n_init": 1, "random_state": 0, **settings}).fit(
        data
    )


# Finding what is there, and nothing else


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("n", "p"), [(150, 1), (300, 2), (150, 3)]
)  # fewer samples in the plane are cut too often
def test_noise_has_one_cluster(n, p, seed):
    model = fitted(np.random.default_rng(seed).normal(size=(n, p)))
    assert model.n_clusters_.tolist() == [1]
    assert model.consensus_.weights.tolist() == [0]
    assert not model.labels_.any()


@pytest.mark.parametrize("seed", SEEDS)
def test_two_clear_clusters_are_two_whatever_the_bound(seed):
    truth = np.arange(60) % 2
    X = np.random.default_rng(seed).normal(size=(60, 2)) + 8 * truth[:, None]
    model = fitted(X, n_clusters=6)
    assert model.n_clusters_.tolist() == [2]
    assert same_partition(model.labels_, truth)
    assert model.memberships_[0].max(axis=1).mean() > 0.9


def running_example_is_found(n, seed):
    data = running_example(n, separation=5, random_state=seed)
    model = fitted(data.views, n_clusters=6, n_patterns=3, random_state=seed)
    assert model.view_patterns_.tolist() == [0, 0, 1]
    assert model.n_clusters_[model.view_patterns_].tolist() == [3, 3, 2]
    for v in range(3):
        assert adjusted_rand_score(data.labels[v], model.view_labels_[v]) > 0.9
    assert model.consensus_.n_clusters == 3


def test_the_running_example_is_found():
    running_example_is_found(150, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_the_running_example_is_found_with_other_seeds(seed):
    running_example_is_found(200, seed)


def test_noise_views_are_left_out_of_the_consensus():
    data = consensus_example(150, separation=4, random_state=0)
    model = fitted(data.views, n_clusters=4, n_patterns=4)
    assert model.consensus_.weights[2:].tolist() == [0] * 8
    assert model.consensus_.weights[:2].tolist() == [1, 1]
    assert (model.n_clusters_[model.view_patterns_[2:]] == 1).all()
    assert model.consensus_.excluded == [f"view{v}" for v in range(2, 10)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_noise_views_are_left_out_with_other_seeds(seed):
    data = consensus_example(300, separation=4, random_state=seed)
    model = fitted(data.views, n_clusters=5, n_patterns=5, random_state=seed)
    assert model.consensus_.weights[2:].tolist() == [0] * 8


def test_clusters_of_any_shape():
    """Two rings, one inside the other: no mean tells them apart."""
    rng = np.random.default_rng(0)
    ring = np.arange(120) % 2
    angle = 2 * np.pi * rng.uniform(size=120)
    X = ((1 + 4 * ring) + 0.15 * rng.normal(size=120))[:, None] * np.column_stack(
        [np.cos(angle), np.sin(angle)]
    )
    model = fitted(X, n_clusters=2)
    assert adjusted_rand_score(ring, model.labels_) > 0.95


# The paper's first table


def scores(setting, n_clusters, n_samples=400, seeds=SEEDS):
    """Return the NMI and the number of clusters of some seeds, and the NMI that the Bayes rule would have."""
    found, best, counts = [], [], []
    for seed in seeds:
        data = single_view(setting, n_samples, random_state=seed)
        model = fitted(data.views, n_clusters, n_patterns=1, random_state=seed)
        found.append(normalized_mutual_info_score(data.labels[0], model.labels_))
        best.append(normalized_mutual_info_score(data.labels[0], data.bayes_labels[0]))
        counts.append(int(model.n_clusters_[0]))
    return np.mean(found), np.mean(best), counts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "gap"),
    [
        ("b", 0.08),
        ("c", 0.08),
        ("d", 0.1),
        ("e", 0.3),
    ],
)
def test_two_clusters_are_told_apart_nearly_as_well_as_can_be(setting, gap):
    found, best, _ = scores(setting, 2, seeds=MORE_SEEDS)
    assert found > best - gap


@pytest.mark.slow
@pytest.mark.parametrize("setting", list("bcde"))
def test_two_clusters_are_two_with_room_for_six(setting):
    counts = scores(setting, 6, seeds=MORE_SEEDS)[2]
    assert counts.count(2) >= 0.9 * len(counts)


# What does not matter


def three_views(n=45):
    """Return three views, of which the first and the last share three clusters and the other has two."""
    rng = np.random.default_rng(0)
    three, two = np.arange(n) % 3, (np.arange(n) // 3) % 2
    centres = 9 * rng.normal(size=(3, 2))
    return [
        centres[three] + rng.normal(size=(n, 2)),
        10.0 * two[:, None] + rng.normal(size=(n, 1)),
        centres[three][:, ::-1] + rng.normal(size=(n, 2)),
    ]


@pytest.fixture(scope="module", name="model")
def _model():
    with pytest.MonkeyPatch.context() as patch:
        for module in (gaussian_clouds, temperatures, choose_similarity):
            patch.setattr(module, "N_CLOUDS", 1)  # as one_cloud does for what it is compared with
        return fitted(three_views(), n_clusters=4)


@pytest.mark.usefixtures("one_cloud")
def test_the_example_is_found(model):
    assert same_partition(model.view_patterns_, np.array([0, 1, 0]))
    assert model.n_clusters_[model.view_patterns_].tolist() == [3, 2, 3]


@pytest.mark.usefixtures("one_cloud")
def test_the_order_of_samples_does_not_matter(model):
    order = np.random.default_rng(1).permutation(45)
    again = fitted([X[order] for X in three_views()], n_clusters=4)
    assert again.view_patterns_.tolist() == model.view_patterns_.tolist()
    assert same_partition(again.labels_, model.labels_[order])
    for v in range(3):
        assert same_partition(again.view_labels_[v], model.view_labels_[v][order])
    assert isinstance(again.similarity_, AutoDiffusion)
    assert again.similarity_.features == model.similarity_.features
    assert again.similarity_.scale == model.similarity_.scale


@pytest.mark.usefixtures("one_cloud")
@pytest.mark.parametrize("order", [[2, 0, 1], [1, 2, 0]], ids=str)
def test_the_order_of_views_does_not_matter(model, order):
    data = three_views()
    again = fitted([data[v] for v in order], n_clusters=4)
    assert same_partition(again.view_patterns_, model.view_patterns_[order])
    assert again.similarity_ == model.similarity_
    for v, original in enumerate(order):
        assert same_partition(again.view_labels_[v], model.view_labels_[original])


@pytest.mark.usefixtures("one_cloud")
@pytest.mark.parametrize(
    ("n_jobs", "keep"),
    [(1, "whole"), (3, "whole"), (None, "nowhere")],
    ids=["one thread", "three threads", "little memory"],
)
def test_threads_and_memory_do_not_matter(model, n_jobs, keep, monkeypatch):
    monkeypatch.setattr("latentsimplex.stages.choose_storage", lambda size, budget: keep)
    again = fitted(three_views(), n_clusters=4, n_jobs=n_jobs)
    assert np.array_equal(again.loss_curve_, model.loss_curve_)
    assert (again.similarity_, again.temperature_) == (model.similarity_, model.temperature_)
    assert np.array_equal(again.labels_, model.labels_)
    for W, B in zip(again.memberships_, model.memberships_, strict=True):
        assert np.array_equal(W, B)


@pytest.mark.usefixtures("one_cloud")
def test_the_random_state_does_not_choose_the_similarity(model):
    again = fitted(three_views(), n_clusters=4, random_state=99)
    assert again.similarity_ == model.similarity_
    assert again.temperature_ == pytest.approx(model.temperature_)


@pytest.mark.usefixtures("one_cloud")
def test_units_and_place_do_not_matter(model):
    moved = [1000 * X + 7 for X in three_views()]
    again = fitted(moved, n_clusters=4)
    assert again.view_patterns_.tolist() == model.view_patterns_.tolist()
    assert same_partition(again.labels_, model.labels_)
    assert again.loss_ == pytest.approx(model.loss_, rel=1e-3)
