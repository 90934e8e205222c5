"""Fits with labels of some samples, links between samples, and other losses."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from latentsimplex import LatentSimplexPosition, load
from latentsimplex.datasets import running_example
from latentsimplex.model.joint_losses import BlockModel, CovariatePrior

N = 150


def make_views(distance=2.6, seed=0, n_views=2):
    """Views of two clouds that they do not tell apart by themselves, and of one far away."""
    rng = np.random.default_rng(seed)
    truth = np.arange(N) % 3
    centres = np.array([[0.0, 0.0], [distance, 0.0], [25.0, 0.0]])
    return [centres[truth] + rng.normal(size=(N, 2)) for _ in range(n_views)], truth


def some_labels(truth, per_class, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.full(len(truth), -1)
    for c in np.unique(truth):
        labels[rng.choice(np.flatnonzero(truth == c), per_class, replace=False)] = c
    return labels


def fit(views, *given, **named):
    return LatentSimplexPosition(n_init=1, random_state=0, n_jobs=1).fit(views, *given, **named)


@pytest.fixture(scope="module")
def far_apart():
    return make_views(distance=12.0)


def test_nothing_given_changes_nothing(far_apart):
    views, _ = far_apart
    alone, asked = fit(views), fit(views, y=[None] * N, must_link=[], cannot_link=None, losses=[])
    np.testing.assert_array_equal(alone.memberships_[0], asked.memberships_[0])
    assert alone.loss_ == asked.loss_
    assert alone.known_ is None
    assert asked.known_ is None


def test_labels_name_clusters_and_leave_new_classes(far_apart):
    views, truth = far_apart
    y = np.where(some_labels(truth, 4) == 2, -1, some_labels(truth, 4))
    names = np.array(["left", "middle"], dtype=object)
    model = fit(views, [None if c < 0 else names[c] for c in y])
    known = model.known_
    assert known.pattern == 0
    assert known.pattern_probabilities[0] > 0.9
    assert sorted(map(str, known.cluster_classes)) == ["None", "left", "middle"]
    for name, kind in zip(names, (0, 1), strict=True):
        cluster = known.cluster_classes.tolist().index(name)
        assert (model.labels_[truth == kind] == cluster).mean() > 0.95
    assert adjusted_rand_score(model.labels_, truth) > 0.95


def test_a_wrong_label_is_found(far_apart):
    views, truth = far_apart
    y = some_labels(truth, 8)
    wrong = int(np.flatnonzero(y == 0)[0])
    y[wrong] = 1
    known = fit(views, y).known_
    assert np.nanargmax(known.label_doubts) == wrong
    assert known.label_doubts[wrong] > 0.5
    assert known.predicted[wrong] == 0
    frame = fit(views, y).doubts_frame("pandas")
    assert frame["sample"].iloc[0] == wrong
    assert frame["given"].iloc[0] == "1"
    assert frame["found"].iloc[0] == "0"


def test_labels_tell_apart_what_views_do_not():
    views, truth = make_views()
    y = some_labels(truth, 10)
    alone, informed = fit(views), fit(views, y)
    rest = y < 0
    assert alone.n_clusters_[0] == 2
    assert informed.n_clusters_[0] == 3
    assert adjusted_rand_score(informed.labels_[rest], truth[rest]) > adjusted_rand_score(
        alone.labels_[rest], truth[rest]
    )


def test_hard_links_are_kept_to(far_apart):
    views, _ = far_apart
    ties, parts = [(0, 1), (2, 4)], [(3, 6), (5, 8)]  # against the views, all of them
    model = fit(views, must_link=(ties, np.inf), cannot_link=(parts, np.inf))
    for labels in (model.labels_, model.pattern_labels_[model.known_.pattern]):
        assert all(labels[i] == labels[j] for i, j in ties)
        assert all(labels[i] != labels[j] for i, j in parts)
    assert model.known_.link_doubts.tolist() == [0, 0, 0, 0]


def test_the_consensus_of_several_patterns_keeps_to_hard_links():
    views = running_example(n_samples=90, separation=7, random_state=0).views
    alone = fit(views)
    i, j, k = (np.flatnonzero(alone.labels_ == c)[0] for c in range(3))
    twin = np.flatnonzero(alone.labels_ == 0)[1]
    model = fit(views, must_link=([(i, j)], np.inf), cannot_link=([(i, twin), (j, k)], np.inf))
    labels = model.labels_
    assert model.n_patterns_ == 2
    assert labels[i] == labels[j]
    assert labels[i] != labels[twin]
    assert labels[j] != labels[k]
    others = np.setdiff1d(np.arange(90), [i, j, k, twin])
    assert adjusted_rand_score(labels[others], alone.labels_[others]) == 1


def test_wrong_soft_links_are_doubted_and_named(far_apart):
    views, truth = far_apart
    frames = [pd.DataFrame(X, index=[f"s{i}" for i in range(N)]) for X in views]
    same = [(f"s{3 * i}", f"s{3 * i + 3}") for i in range(10)]
    model = fit(frames, must_link=[*same, ("s0", "s2")], cannot_link=[("s1", "s3")])
    frame = model.doubts_frame("pandas")
    assert frame[["kind", "sample", "other"]].iloc[0].tolist() == ["must-link", "s0", "s2"]
    assert frame["probability_wrong"].iloc[0] > 0.5 > frame["probability_wrong"].iloc[1]
    assert adjusted_rand_score(model.labels_, truth) > 0.95


def test_a_search_takes_labels_too():
    """Among many views, and with a similarity of one's own, labels join EM's loss."""
    views, truth = make_views(distance=12.0, n_views=3)
    y = some_labels(truth, 5)
    model = LatentSimplexPosition(4, 2, similarity="local-scaling", n_init=1, random_state=0).fit(views, y)
    known = model.known_
    assert known.pattern is not None
    assert np.nanmax(known.label_doubts) < 0.5
    assert adjusted_rand_score(model.pattern_labels_[known.pattern], truth) > 0.9


def test_a_class_for_each_sample_warns(far_apart):
    views, truth = far_apart
    with pytest.warns(UserWarning, match="y has a class for each of the 150 samples, and the fit uses them"):
        model = fit(views, truth)
    assert adjusted_rand_score(model.labels_, truth) == 1


def test_fit_predict_uses_labels(far_apart):
    views, _ = far_apart
    model = LatentSimplexPosition(n_init=1, random_state=0, n_jobs=1)
    labels = model.fit_predict(views, must_link=([(0, 1)], np.inf))
    assert labels[0] == labels[1]


def test_a_graph_beside_the_views_moves_memberships():
    """Edges within true clusters make memberships surer of what views leave open."""
    views, truth = make_views(distance=4.0, seed=1)
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((N, N)) < np.where(truth[:, None] == truth, 0.3, 0.01), 1)
    alone, joined = fit(views), fit(views, losses=BlockModel(A + A.T))
    assert not np.array_equal(alone.memberships_[0], joined.memberships_[0])
    assert adjusted_rand_score(joined.labels_, truth) >= adjusted_rand_score(alone.labels_, truth)


def test_covariates_join_as_a_prior(far_apart):
    views, truth = far_apart
    model = fit(views, losses=[CovariatePrior(truth.astype(float))])
    assert adjusted_rand_score(model.labels_, truth) > 0.95


def draw_edges(communities, within, between, seed=0):
    P = np.where(communities[:, None] == communities, within, between)
    edges = np.triu(np.random.default_rng(seed).random(P.shape) < P, 1)
    return edges + edges.T


def list_many_views(n_views=14, seed=3):
    """More views than are searched by splits, of three clusters that overlap."""
    rng = np.random.default_rng(seed)
    truth = np.arange(60) % 3
    return [4.0 * np.eye(3)[truth] + rng.normal(size=(60, 3)) for _ in range(n_views)], truth


@pytest.mark.parametrize("make", [lambda: make_views(distance=4.0, seed=1), list_many_views])
def test_a_useless_graph_leaves_the_fit_as_it_is_and_a_good_one_counts(make):
    views, truth = make()
    rng = np.random.default_rng(5)
    alone = fit(views)
    useless = fit(views, losses=BlockModel(draw_edges(rng.permutation(truth), 0.3, 0.02)))
    assert useless.loss_weights_.tolist() == [0.0]
    for own, without in zip(useless.memberships_, alone.memberships_, strict=True):
        np.testing.assert_array_equal(own, without)
    told = fit(
        views, losses=[BlockModel(draw_edges(truth, 0.4, 0.01)), CovariatePrior(rng.normal(size=len(truth)))]
    )
    assert told.loss_weights_[0] > 0.1
    assert told.loss_weights_[1] == 0
    assert not np.array_equal(told.memberships_[0], alone.memberships_[0])
    assert adjusted_rand_score(told.labels_, truth) >= adjusted_rand_score(alone.labels_, truth)


def test_a_weight_that_is_given_is_kept_and_saved(far_apart, tmp_path):
    views, truth = far_apart
    model = fit(views, losses=BlockModel(draw_edges(truth, 0.1, 0.1), weight=0.5))
    assert model.loss_weights_.tolist() == [0.5]
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").loss_weights_.tolist() == [0.5]
    assert fit(views).loss_weights_ is None


def test_losses_without_clusters_have_no_weight():
    views = [np.random.default_rng(0).normal(size=(N, 2))]
    with pytest.warns(UserWarning, match="no clusters"):
        model = fit(views, losses=BlockModel(draw_edges(np.arange(N) % 2, 0.3, 0.01)))
    assert model.loss_weights_.tolist() == [0.0]


def test_losses_of_other_samples_are_refused(far_apart):
    with pytest.raises(ValueError, match=r"losses\[0\] does not fit 150 samples"):
        fit(far_apart[0], losses=[BlockModel(np.zeros((4, 4)))])


def test_what_a_fit_says_of_labels_is_saved(far_apart, tmp_path):
    views, truth = far_apart
    y = [None if c < 0 else "abc"[c] for c in some_labels(truth, 3)]
    model = fit(views, y, must_link=[(0, 3)], cannot_link=([(1, 2)], np.inf))
    model.save(tmp_path / "model")
    again = load(tmp_path / "model").known_
    for name, value in vars(model.known_).items():
        np.testing.assert_array_equal(getattr(again, name), value)
    assert load(tmp_path / "model").doubts_frame("pandas").equals(model.doubts_frame("pandas"))


def test_a_checkpoint_belongs_to_what_was_given(far_apart, tmp_path):
    views, truth = far_apart
    y = some_labels(truth, 3)
    model = LatentSimplexPosition(n_init=1, random_state=0, n_jobs=1, checkpoint=tmp_path / "kept")
    first = model.fit(views, y).known_
    assert model.fit(views, y).known_.label_doubts.tolist() == pytest.approx(
        first.label_doubts.tolist(), nan_ok=True
    )
    with pytest.raises(ValueError, match="checkpoint"):
        model.fit(views, np.where(y == 0, -1, y))
    with pytest.raises(ValueError, match="checkpoint"):
        model.fit(views, y, losses=CovariatePrior(truth))


def test_labels_join_clusters_where_views_have_different_samples():
    """Samples that a view lacks are no cluster of it: the five clusters of the first are two by their labels."""
    rng = np.random.default_rng(0)
    five, two = rng.integers(0, 5, N), rng.integers(0, 2, N)
    names = [f"s{i}" for i in range(N)]
    first = pd.DataFrame(rng.normal(size=(N, 5)) + 8 * rng.normal(size=(5, 5))[five], index=names)
    second = pd.DataFrame(rng.normal(size=(N, 4)) + 6 * rng.normal(size=(2, 4))[two], index=names)
    y = {f"s{i}": int(five[i] > 1) for i in range(0, N - 30, 2)}
    model = LatentSimplexPosition(join="outer", n_init=1, random_state=0, n_jobs=1)
    model.fit([first[:-30], second[20:]], y)
    assert model.known_.pattern == 0
    assert model.n_clusters_.tolist() == [2, 2]
    assert adjusted_rand_score(model.pattern_labels_[0][:-30], five[:-30] > 1) > 0.9


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_labels_keep_to_a_number_of_clusters_that_was_asked_for(n_clusters):
    views, truth = make_views()
    model = LatentSimplexPosition(n_clusters, min_clusters=n_clusters, n_init=1, random_state=0, n_jobs=1)
    assert model.fit(views, some_labels(truth, 12)).n_clusters_.tolist() == [n_clusters]


def test_losses_that_join_nothing_are_told():
    """Views without clusters have no memberships that a loss could move."""
    rng = np.random.default_rng(0)
    graph = np.kron(np.eye(2), np.ones((40, 40)))
    with pytest.warns(UserWarning, match="losses= had no memberships to join"):
        model = LatentSimplexPosition(random_state=0).fit(rng.normal(size=(80, 5)), losses=BlockModel(graph))
    assert model.n_clusters_.tolist() == [1]
