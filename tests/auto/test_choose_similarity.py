"""Which similarity "auto" is: the candidate that shows clusters best, and the evidence for them."""

from types import SimpleNamespace

import numpy as np
import pytest

from latentsimplex.auto import choose_similarity as of_choice
from latentsimplex.auto.choose_similarity import (
    BOUNDED,
    CLEARLY,
    choose_comparisons,
    choose_similarity,
    measure_evidence,
    prefer_bounded,
)
from latentsimplex.auto.shared_clusters import ClusteredViews, SharedClusters
from latentsimplex.auto.temperatures import measure_temperatures
from latentsimplex.base.threads import Workers
from latentsimplex.datasets import single_view
from latentsimplex.inputs.views import as_views
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.similarity import AutoDiffusion
from latentsimplex.similarity.auto_diffusion import SEARCH_COMPARISONS, SEARCH_SCALES, list_candidates

FORWARD = DIVERGENCES["forward"]
WORKERS = Workers(1)


def choose(data, n_clusters=3, n_jobs=1, kind="forward"):
    views = as_views(data)
    with Workers(n_jobs) as workers:
        return choose_similarity(views, list_candidates(views.widths), n_clusters, DIVERGENCES[kind], workers)


def chosen(data, **settings):
    return choose(data, **settings).similarity


def clusters(n, k, p, distance=6.0, seed=0):
    """Return k clusters in p dimensions, and which one each sample is in."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    return distance * rng.normal(size=(k, p))[labels] + rng.normal(size=(n, p)), labels


# The similarity


def test_one_feature_is_compared_in_the_only_way():
    assert chosen(clusters(40, 2, 1)[0]).features == ((1, "as they are"),)


def test_each_kind_has_a_comparison_of_its_own():
    X, _ = clusters(40, 2, 3)
    found = chosen([X[:, :1], X, X[:, :2]])
    assert [p for p, _ in found.features] == [1, 2, 3]
    assert found.scale in ("local", "broad")


@pytest.mark.parametrize("seed", range(2))
def test_features_on_wildly_different_scales_are_not_compared_as_they_are(seed):
    """The feature that counts most by its unit shows no clusters; the others do."""
    X, _ = clusters(60, 3, 4, seed=seed)
    X[:, 0] = 1e4 * np.random.default_rng(seed).normal(size=60)
    assert chosen(X).features[0][1] != "as they are"


@pytest.mark.parametrize("seed", range(2))
def test_features_with_heavy_tails_are_compared_one_by_one(seed):
    X = single_view("f", 120, random_state=seed).views[0]
    assert chosen(X, n_clusters=2).features == ((2, "one by one"),)


def test_features_whose_scale_tells_clusters_are_not_made_equal():
    """Clusters lie along one feature, and forty more of small variance would drown it once they are equal."""
    rng = np.random.default_rng(0)
    X = 0.1 * rng.normal(size=(60, 40))
    X[:, 0] = 10 * (np.arange(60) % 2) + 0.3 * rng.normal(size=60)
    assert chosen(X, n_clusters=2).features[0][1] == "as they are"


def evidence(views, scale, features, n_clusters, divergence, workers):
    candidates = [AutoDiffusion(scale, ((views[0].shape[1], features),))]
    (found,) = measure_evidence(views, candidates, n_clusters, divergence, workers)
    return found


def test_there_is_more_evidence_in_clusters_than_in_noise():
    X, _ = clusters(60, 3, 2)
    noise = np.random.default_rng(1).normal(size=(60, 2))
    for scale in ("local", "broad"):
        with_clusters, without = (
            evidence([Y], scale, "standardised", 4, FORWARD, WORKERS) for Y in (X, noise)
        )
        assert with_clusters > 1.3 * without
        assert without == pytest.approx(1, abs=0.4)


def test_evidence_is_a_geometric_mean_over_views_measured_by_the_clouds_of_all():
    views = [clusters(40, 2, 2, distance, seed=1)[0] for distance in (2.0, 6.0)]
    both = evidence(views, "broad", "as they are", 3, FORWARD, WORKERS)
    again = evidence(views[::-1], "broad", "as they are", 3, FORWARD, WORKERS)
    alone = [evidence([X], "broad", "as they are", 3, FORWARD, WORKERS) for X in views]
    kernel = AutoDiffusion("broad", ((2, "as they are"),))
    rng = np.random.default_rng(0)
    order = rng.permutation(40)
    clouds = measure_temperatures([X[order] for X in views], kernel, FORWARD, WORKERS)
    assert both == pytest.approx(np.sqrt(np.prod(alone) * np.prod(clouds)) / clouds.mean(), rel=1e-9)
    assert again == pytest.approx(both, rel=1e-9)


@pytest.mark.parametrize(("n", "n_clusters"), [(2, 3), (3, 3), (10, 1)])
def test_without_a_choice_of_clusters_there_is_no_evidence(n, n_clusters):
    X = np.random.default_rng(0).normal(size=(n, 2))
    found = evidence([X], "local", "standardised", n_clusters, FORWARD, WORKERS)
    assert found == 1 if n == 2 or n_clusters == 1 else found > 0
    assert chosen(X, n_clusters=n_clusters).features[0][0] == 2


def test_nothing_but_constant_views():
    found = choose([np.ones((6, 2)), np.zeros((6, 3))])
    assert found == (AutoDiffusion("local", ((1, "as they are"),)), 1.0)


def test_a_constant_feature_does_not_count():
    X, _ = clusters(40, 2, 2)
    flat = np.column_stack([X, np.full(40, 1e6)])
    assert evidence([flat], "local", "standardised", 3, FORWARD, WORKERS) == pytest.approx(
        evidence([X], "local", "standardised", 3, FORWARD, WORKERS), rel=0.1
    )


def test_the_choice_is_the_same_each_time_and_on_any_number_of_threads():
    data = [clusters(40, 3, p, 4.0)[0] for p in (1, 2, 2)]
    np.random.seed(1)  # noqa: NPY002
    first = choose(data)
    np.random.seed(2)  # noqa: NPY002
    assert choose(data) == choose(data, n_jobs=3) == first


@pytest.mark.parametrize("kind", DIVERGENCES)
def test_a_choice_for_either_divergence(kind):
    assert chosen(clusters(40, 2, 2)[0], kind=kind).scale in ("local", "broad")


# The evidence that comes with it


def all_evidence(data, n_clusters=3):
    """Return the evidence of every candidate for each kind of view, by scale."""
    views = as_views(data)
    found = {scale: {} for scale in SEARCH_SCALES}
    for p, candidates in list_candidates(views.widths).items():
        tables = [X for X in views if X.shape[1] == p]
        measured = measure_evidence(tables, candidates, n_clusters, FORWARD, WORKERS)
        for candidate, value in zip(candidates, measured, strict=True):
            found[candidate.scale].setdefault(p, {})[candidate.features[0][1]] = value
    return found


@pytest.mark.parametrize("distance", [1.0, 6.0])
def test_the_scale_is_the_one_with_the_most_evidence_a_geometric_mean_over_kinds(distance):
    data = [clusters(40, 3, p, distance, seed=p)[0] for p in (1, 2, 5)]
    by_scale = all_evidence(data)
    means = {
        scale: np.exp(np.mean([np.log(max(found.values())) for found in kinds.values()]))
        for scale, kinds in by_scale.items()
    }
    similarity, evidence = choose(data)
    assert evidence == pytest.approx(max(means.values()), rel=1e-9)
    assert means[similarity.scale] == max(means.values())
    assert similarity.features == tuple(
        (p, prefer_bounded(found)) for p, found in by_scale[similarity.scale].items()
    )


def test_clusters_further_apart_have_more_evidence():
    near, far = (choose(clusters(60, 3, 2, distance)[0]).evidence for distance in (1.0, 8.0))
    noise = choose(np.random.default_rng(1).normal(size=(60, 2))).evidence
    assert far > near
    assert far > 1.3 * noise


def test_the_evidence_of_one_kind_does_not_drown_that_of_another():
    """Of two kinds each counts the same, however many views it has."""
    (one, _), (other, _) = clusters(40, 3, 1, 6.0), clusters(40, 3, 3, 1.0)
    few, many = choose([one, other]), choose([one, *[other] * 4])
    assert many.similarity == few.similarity
    assert many.evidence == pytest.approx(few.evidence, rel=1e-6)


def test_candidates_are_measured_together_as_alone():
    X, _ = clusters(40, 3, 2)
    candidates = list_candidates([2])[2]
    together = measure_evidence([X], candidates, 3, FORWARD, WORKERS)
    alone = [measure_evidence([X], [candidate], 3, FORWARD, WORKERS)[0] for candidate in candidates]
    assert together == alone
    assert len(together) == len(SEARCH_SCALES) * len(SEARCH_COMPARISONS)


def test_fewer_candidates_are_a_choice_of_fewer():
    views = as_views(clusters(40, 3, 2)[0])
    candidates = {2: [AutoDiffusion(scale, ((2, "standardised"),)) for scale in SEARCH_SCALES]}
    found = choose_similarity(views, candidates, 3, FORWARD, WORKERS)
    assert found.similarity.features == ((2, "standardised"),)


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ({"as they are": 3.0}, "as they are"),
        ({"standardised": 2.0, BOUNDED: 2.0}, BOUNDED),
        ({"standardised": 2.0 * CLEARLY - 0.01, BOUNDED: 2.0}, BOUNDED),
        ({"standardised": 2.0 * CLEARLY + 0.01, BOUNDED: 2.0}, "standardised"),
        ({"standardised": 5.0, "as they are": 6.0, BOUNDED: 1.0}, "as they are"),
    ],
    ids=str,
)
def test_the_bounded_comparison_is_preferred_unless_another_is_clearly_better(evidence, expected):
    assert prefer_bounded(evidence) == expected


def test_many_features_one_by_one_are_judged_by_some_of_them(monkeypatch):
    monkeypatch.setattr(of_choice, "COMPARED_FEATURES", 3)
    X = np.random.default_rng(0).normal(size=(20, 9))
    assert of_choice._sample_table(X, True).shape == (20, 3)
    assert of_choice._sample_table(X, False).shape == (20, 9)
    X[:, 4] = 7.0
    assert of_choice._sample_table(X, False).shape == (20, 8)


def test_many_samples_are_judged_by_some_of_them(monkeypatch):
    monkeypatch.setattr(of_choice, "CLOUD_SAMPLES", 15)
    X = np.random.default_rng(0).normal(size=(40, 2))
    found = of_choice._sample_table(X, False)
    assert found.shape == (15, 2)
    assert {row.tobytes() for row in found} <= {row.tobytes() for row in X}


def test_the_comparison_of_views_with_clusters_is_not_that_of_noise_of_the_same_width():
    def tree(comparison):
        return SimpleNamespace(comparison=comparison, is_broad=False)

    views = as_views([np.random.default_rng(seed).normal(size=(20, 5)) for seed in range(2)])
    groups = [ClusteredViews((0,), tree("as they are"))]
    found = choose_comparisons(views, SharedClusters(groups, tree("standardised")))
    assert found.features == ((5, "as they are"),)
    assert choose_comparisons(views, SharedClusters([], tree("standardised"))).features == (
        (5, "standardised"),
    )
