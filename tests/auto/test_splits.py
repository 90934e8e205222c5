"""Evidence for clusters: dips between humps, slow modes, and none where there are no clusters."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from latentsimplex.auto.cluster_tree import Bounds, count_nats, grow_tree
from latentsimplex.auto.slow_modes import count_slow_modes, excess_slowness
from latentsimplex.auto.splits import (
    LEAST_CLUSTER,
    Look,
    find_split,
)
from latentsimplex.base.threads import Workers
from latentsimplex.neighbours.neighbour_graphs import find_dip


def split(*tables, **settings):
    with Workers(1) as workers:
        return find_split(tables, workers, **settings)


def clusters(n, p, k, distance, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    return distance * np.eye(k, p)[labels] + rng.normal(size=(n, p)), labels


def test_the_dip_of_a_chain_by_hand():
    """Two cliques of six joined by one edge: each hump is a clique cut in half."""
    A = np.kron(np.eye(2), np.ones((6, 6))) - np.eye(12)
    A[5, 6] = A[6, 5] = 1
    dip = find_dip(sparse.csr_matrix(A), np.arange(12.0), per_sample=4.0, least=5)
    assert dip.depth == pytest.approx(2 * (np.sqrt(9) - np.sqrt(1)) / np.sqrt(4))
    assert dip.sides.tolist() == [0] * 6 + [1] * 6
    assert dip.n_places == pytest.approx(
        12 * 31 / (2 * 35 + 1)
    )  # a clique's cuts cross 5, 8, 9, 8 and 5 edges


@pytest.mark.parametrize("p", [1, 2, 5])
def test_two_clusters_are_found_where_they_are(p):
    X, labels = (
        clusters(200, p, 2, 8.0) if p > 1 else (clusters(200, 2, 2, 8.0)[0][:, :1], np.arange(200) % 2)
    )
    found = split(X)
    assert found.strength > 1
    assert count_nats(found) > 0
    assert adjusted_rand_score(found.labels, labels) > 0.95


@pytest.mark.parametrize("draw", ["normal", "random", "exponential", "standard_cauchy"])
@pytest.mark.parametrize("p", [2, 8])
def test_clouds_of_any_shape_are_left_whole(draw, p):
    for seed in range(3):
        X = getattr(np.random.default_rng(seed), draw)(size=(200, p))
        assert split(X).strength < 1, seed


def test_slow_modes_tell_overlapping_clusters_of_many_features_apart():
    X, labels = clusters(300, 40, 4, 5.0)
    found = split(X)
    assert found.labels.max() + 1 == 4
    assert adjusted_rand_score(found.labels, labels) > 0.8


def test_no_more_clusters_at_once_than_are_asked_for():
    X, labels = clusters(300, 40, 4, 5.0)
    assert split(X, exactly=2).labels.max() + 1 == 2
    found = split(X, exactly=6)  # two more are for pieces to find
    assert adjusted_rand_score(found.labels, labels) > 0.8
    assert found.strength >= 1


def test_clusters_that_are_asked_for_without_evidence_are_not_believed():
    found = split(np.random.default_rng(0).normal(size=(300, 20)), exactly=6)
    assert found.labels.max() + 1 == 6
    assert found.strength < 1


@pytest.mark.parametrize("draw", ["uniform", "standard_normal", "standard_exponential"])
def test_points_on_a_line_are_not_cut_where_few_neighbours_break_off(draw):
    for seed in range(8):
        X = getattr(np.random.default_rng(seed), draw)(size=(1000, 1))
        assert split(X).strength < 1, seed


def test_separate_clusters_on_a_line_are_found():
    rng, labels = np.random.default_rng(0), np.arange(300) % 2
    found = split((6.0 * labels + rng.normal(size=300))[:, None])
    assert found.strength >= 1
    assert adjusted_rand_score(found.labels, labels) > 0.97


def test_views_together_show_what_each_does_not():
    views = [clusters(200, 2, 2, 3.0, seed)[0] for seed in range(4)]
    labels = np.arange(200) % 2
    alone = max(adjusted_rand_score(split(X).labels, labels) for X in views)
    assert adjusted_rand_score(split(*views).labels, labels) > max(0.9, alone)


def test_outliers_are_no_cluster():
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[: LEAST_CLUSTER - 1] += 100
    assert split(X).strength < 1


def test_too_few_samples_and_constant_views_have_no_split():
    assert split(np.random.default_rng(0).normal(size=(10, 2))) is None
    assert split(np.ones((50, 2))) is None


def test_slowness_is_measured_against_clouds():
    clouds = [np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 0.3])]
    slowness, spread, gaps = excess_slowness(np.array([0.01, 0.2, 0.3]), clouds)
    np.testing.assert_allclose(slowness, [np.log(10), 0, 0], atol=1e-12)
    assert (spread > 0).all()
    assert len(gaps) == 2


def test_the_number_of_slow_modes_is_clear_if_a_gap_follows():
    spread, gaps = np.full(5, 0.02), np.full(4, 0.02)
    assert count_slow_modes(np.array([0.5, 0.5, 0.5, 0.0, 0.0]), spread, gaps, 10.0) == (3, True)
    assert count_slow_modes(np.array([0.24, 0.22, 0.19, 0.17, 0.11]), spread, gaps, 10.0) == (4, False)
    assert count_slow_modes(np.zeros(5), spread, gaps, 10.0) == (0, False)
    far_apart = np.array([15.0, 15.0, 0.9, 0.3, 0.0])  # shapes within clusters are slow, too
    assert count_slow_modes(far_apart, spread, gaps, 10.0) == (2, True)
    last_like_clouds = np.array([0.9, 0.7, 0.6, 0.1, -0.7])  # clouds have directions between clusters as well
    assert count_slow_modes(last_like_clouds, spread, gaps, 10.0) == (4, True)
    assert count_slow_modes(np.array([0.9, 0.1, 0.1, 0.1, -0.7]), spread, gaps, 10.0) == (1, True)
    assert count_slow_modes(np.array([0.3, 0.0, 0.0, 0.0, 0.0]), spread, gaps, 2.0) == (0, False)


def test_long_shapes_are_not_cut_where_they_happen_to_be_thin():
    """Rings have many places for a dip by chance, and no cluster ends there."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        turn = 2 * np.pi * rng.random(800)
        radius = 5 + 0.1 * rng.normal(size=800)
        ring = np.column_stack([radius * np.cos(turn), radius * np.sin(turn)])
        assert split(ring).strength < 1, seed


def test_many_samples_are_split_as_a_part_of_them_is(monkeypatch):
    X, labels = clusters(900, 12, 3, 7.0)
    monkeypatch.setattr("latentsimplex.auto.splits.MOST_SAMPLES", 300)
    found = split(X)
    assert len(found.labels) == 900
    assert adjusted_rand_score(found.labels, labels) > 0.95


@pytest.mark.parametrize("seed", range(4))
def test_groups_smaller_than_neighbourhoods_are_found_by_the_gaps_between_them(seed):
    """A graph of ten neighbours joins groups of eight."""
    rng, labels = np.random.default_rng(seed), np.arange(64) % 8
    X = 20.0 * np.eye(8, 9)[labels] + rng.normal(size=(64, 9))
    with Workers(1) as workers:
        tree = grow_tree([X], Bounds(), workers)
    assert adjusted_rand_score(tree.labels, labels) == 1


def test_a_gap_needs_to_be_wider_than_those_of_clouds():
    """Of tables without clusters, few samples and heavy tails among them, none has such a gap."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        for X in (rng.lognormal(size=(100, 2)), rng.standard_t(3, size=(60, 3)), rng.random((16, 2))):
            with Workers(1) as workers:
                assert Look([X], workers, True).gap_split("as they are") is None
