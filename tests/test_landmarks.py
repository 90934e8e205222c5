"""Landmarks: fits by some of the samples agree with those by all, and very many samples are no hindrance."""

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score as nmi

from latentsimplex import LatentSimplexPosition, split_stages, stages
from latentsimplex.fitting import Fitting
from latentsimplex.options import LANDMARKS, QUICK, resolve_options
from latentsimplex.pairs.memory_budget import FitSize, choose_storage, estimate_bytes
from latentsimplex.uncertainty import pair_brier


def two_patterns(n, seed=0, k=(5, 3), p=4):
    """Return three views of n samples, two of which share k[0] clusters, and the clusters of each view."""
    rng = np.random.default_rng(seed)
    labels = [rng.integers(each, size=n) for each in k]
    truth = [labels[0], labels[0], labels[1]]
    views = []
    for y in truth:
        centres = rng.normal(size=(y.max() + 1, p)) * 4
        views.append(centres[y] + rng.normal(size=(n, p)))
    return views, truth


@pytest.mark.parametrize("seed", [0, 1])
def test_landmarks_give_the_patterns_and_clusters_of_all_samples(seed):
    views, truth = two_patterns(2_500, seed)
    by_all, by_some = (LatentSimplexPosition(random_state=0, n_landmarks=m).fit(views) for m in (None, 1_000))
    np.testing.assert_array_equal(by_all.view_patterns_, by_some.view_patterns_)
    for one, other in zip(by_all.pattern_labels_, by_some.pattern_labels_, strict=True):
        assert nmi(one, other) >= 0.98
    pattern = int(by_all.view_patterns_[0])
    briers = [pair_brier(model.coassignment(pattern=pattern), truth[0]) for model in (by_all, by_some)]
    assert briers[1] <= 1.05 * briers[0] + 1e-3


def test_memory_is_estimated_for_the_samples_whose_pairs_are_read(monkeypatch):
    """These are as many whatever the number of landmarks."""
    read, estimated = [], []
    take, measure = Fitting.take_samples, stages.measure_size
    monkeypatch.setattr(
        Fitting, "take_samples", lambda self, rows: read.append(len(rows)) or take(self, rows)
    )
    monkeypatch.setattr(
        stages, "measure_size", lambda *given: estimated.append(measure(*given)) or estimated[-1]
    )
    monkeypatch.setattr(split_stages, "REFINED_BY", 300)
    monkeypatch.setattr(stages, "REFINED_BY", 300)
    LatentSimplexPosition(random_state=0, n_landmarks=120).fit(two_patterns(600, k=(3, 2))[0])
    assert read == [300]
    assert estimated[0].n_samples == 300


def test_very_many_samples_are_fitted_by_landmarks():
    views, truth = two_patterns(QUICK + 2_000, k=(4, 2))
    model = LatentSimplexPosition(random_state=0).fit(views)
    for labels, y in zip(model.view_labels_, truth, strict=True):
        assert nmi(labels, y) > 0.95
    assert model.memberships_[0].shape[0] == QUICK + 2_000


def test_auto_is_all_samples_while_these_are_few():
    parameters = LatentSimplexPosition().get_params()
    options = resolve_options(parameters)
    assert options.count_landmarks(QUICK) is None
    assert options.count_landmarks(QUICK + 1) == LANDMARKS
    given = resolve_options({**parameters, "n_landmarks": 300})
    assert (given.count_landmarks(300), given.count_landmarks(301)) == (None, 300)
    assert resolve_options({**parameters, "n_landmarks": None}).count_landmarks(10**6) is None


@pytest.mark.parametrize("given", [5, 0, -1, 2.5, "many", True], ids=repr)
def test_too_few_landmarks_are_refused(given):
    with pytest.raises(ValueError, match=r"n_landmarks=.* is not valid: give a whole number of at least 100"):
        LatentSimplexPosition(n_landmarks=given).fit(np.eye(4))


def test_landmarks_are_for_a_few_views_whose_similarity_the_data_choose():
    X = np.random.default_rng(0).normal(size=(150, 2))
    for settings, data in (({"similarity": "local-scaling"}, X), ({}, [X] * 13)):
        with pytest.raises(ValueError, match="n_landmarks=120 is used in up to 12 views"):
            LatentSimplexPosition(n_landmarks=120, **settings).fit(data)


def test_memory_grows_with_samples_and_not_with_their_pairs():
    sizes = [FitSize(5, 2_500, 5, 2, 20, n_graphed=5_000, n_placed=n) for n in (10**5, 10**6)]
    few, many = (estimate_bytes(size, "whole") for size in sizes)
    assert few < 4e9
    assert many < 11 * few
    with pytest.raises(MemoryError, match=r"Fitting 1,000,000 samples .* at most [\d,]+ samples fit"):
        choose_storage(sizes[1], 4 * 10**9)


def test_a_limit_is_obeyed_before_anything_is_read():
    views, _ = two_patterns(QUICK + 1)
    with pytest.raises(MemoryError, match=r"Fitting 10,001 samples"):
        LatentSimplexPosition(memory_limit="20MB").fit(views)
