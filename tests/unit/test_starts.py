"""Where EM starts: kinds of views by k-means, memberships near the barycentre or by spectral clustering."""

import numpy as np
import pytest

from latentsimplex.compute.pairs import pack, unpack
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import DIVERGENCES
from latentsimplex.em import Schedule
from latentsimplex.engines import local
from latentsimplex.engines.local import LocalPairs
from latentsimplex.search import spectral_state
from latentsimplex.similarity import LocalScaling
from latentsimplex.starts import (
    PURITY,
    RESPONSE_CLIP,
    block_means,
    kmeans_labels,
    random_memberships,
    spectral_memberships,
)
from latentsimplex.views import as_views
from problems import KINDS, clustered_views, make_problem, same_partition

KIND = pytest.mark.parametrize("kind", KINDS)


def pairs_of(data, keep=True):
    return LocalPairs(as_views(data), LocalScaling(), DIVERGENCES["reverse"], Workers(1), keep)


def repeated_views(seed, repeats, n=20):
    """Return views in three kinds, one after another, and the kind of each."""
    rng = np.random.default_rng(seed)
    kinds = clustered_views(rng, n, 3)
    views = [X + 0.01 * rng.normal(size=X.shape) for _ in range(repeats) for X in kinds]
    return views, np.tile(np.arange(3), repeats)


def blocks(labels, within=0.8, between=0.05, seed=None):
    """Return similarities (m,) in blocks, a little uneven if seeded."""
    S = np.where(np.equal.outer(labels, labels), within, between)
    noise = 0.0 if seed is None else 0.02 * np.random.default_rng(seed).uniform(-1, 1, size=S.shape)
    return pack(S + noise + np.transpose(noise))


def pair_values(s, kind):
    return DIVERGENCES[kind].f(-np.log(s))


# Spectral memberships


@KIND
@pytest.mark.parametrize("sizes", [(12, 12), (20, 5, 9), (8, 8, 8, 8), (40, 30, 20, 10)], ids=str)
def test_spectral_memberships_find_separate_blocks(kind, sizes):
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    g = len(sizes)
    W, B = spectral_memberships(pair_values(blocks(labels, seed=1), kind), g, DIVERGENCES[kind])
    assert W.shape == (len(labels), g)
    assert same_partition(W.argmax(axis=1), labels)
    np.testing.assert_allclose(W.max(axis=1), PURITY)
    np.testing.assert_allclose(W.sum(axis=1), 1)
    np.testing.assert_allclose(B, B.T, rtol=1e-12)
    np.testing.assert_allclose(B, np.where(np.eye(g) == 1, 0.8, 0.05), atol=0.05)


@KIND
def test_one_cluster_has_the_mean_similarity(kind):
    s = np.random.default_rng(0).uniform(0.1, 0.9, size=45)
    W, B = spectral_memberships(pair_values(s, kind), 1, DIVERGENCES[kind])
    assert np.array_equal(W, np.ones((10, 1)))
    np.testing.assert_allclose(B, [[s.mean()]])


@KIND
@pytest.mark.parametrize(("n", "g"), [(2, 2), (3, 2), (3, 3), (9, 3), (9, 8), (9, 9), (10, 3)])
def test_as_many_clusters_as_there_are_samples(kind, n, g):
    s = np.random.default_rng(n + g).uniform(0.05, 0.95, size=n * (n - 1) // 2)
    W, B = spectral_memberships(pair_values(s, kind), g, DIVERGENCES[kind])
    assert W.shape == (n, g)
    assert len(np.unique(W.argmax(axis=1))) == g
    assert ((B >= RESPONSE_CLIP) & (B <= 1 - RESPONSE_CLIP)).all()


def test_spectral_memberships_are_a_function_of_the_similarities():
    s = np.random.default_rng(3).uniform(0.05, 0.95, size=30 * 29 // 2)
    first, again = (spectral_memberships(s.copy(), 4, DIVERGENCES["forward"]) for _ in range(2))
    assert np.array_equal(first[0], again[0])
    assert np.array_equal(first[1], again[1])


def test_block_means_by_hand():
    S = unpack(np.array([0.4, 0.2, 0.3, 0.6, 0.1, 0.8]))
    # samples 0 and 1 in the first cluster, 2 and 3 in the second, none in the third
    B = block_means(S, np.array([0, 0, 1, 1]), 3)
    np.testing.assert_allclose(B[:2, :2], [[0.4, 0.3], [0.3, 0.8]])
    assert (B[2] == RESPONSE_CLIP).all()


def test_block_means_stay_off_zero_and_one_and_forgive_single_samples():
    S = unpack(np.array([1.0, 0.0, 0.0]))
    B = block_means(S, np.array([0, 0, 1]), 2)
    assert B.tolist() == [[1 - RESPONSE_CLIP, RESPONSE_CLIP], [RESPONSE_CLIP, RESPONSE_CLIP]]


@pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
def test_a_spectral_state_has_patterns_for_views_that_are_there(learned):
    problem = make_problem(8, learned=learned)
    pairs = problem.pairs()
    labels = np.zeros(len(pairs), dtype=int)
    state = spectral_state(pairs, labels, 3, 2, problem.model, Schedule(first_steps=5))
    assert state.lam.tolist() == [1, 0]
    np.testing.assert_allclose(state.W[1], 1 / 3)
    np.testing.assert_allclose(state.W.sum(axis=-1), 1)
    assert np.array_equal(state.B[1], np.eye(3))
    assert np.array_equal(state.B[0], np.eye(3)) == (not learned)


# K-means of views


@pytest.mark.parametrize("seed", range(5))
def test_kmeans_finds_kinds_of_views(seed):
    views, kinds = repeated_views(seed, 4)
    assert same_partition(kmeans_labels(pairs_of(views), 3, np.random.default_rng(seed)), kinds)


def test_kmeans_is_the_same_in_blocks(monkeypatch):
    views, _ = repeated_views(1, 4)
    whole = kmeans_labels(pairs_of(views), 4, np.random.default_rng(0))
    monkeypatch.setattr(local, "BLOCK_VALUES", 3 * 190)
    pieces = pairs_of(views, keep=False)
    assert [rows.stop - rows.start for rows, _ in pieces.blocks()] == [3, 3, 3, 3]
    assert np.array_equal(kmeans_labels(pieces, 4, np.random.default_rng(0)), whole)


@pytest.mark.parametrize("seed", range(4))
def test_kmeans_ends_where_no_view_has_a_nearer_centre(seed):
    rng = np.random.default_rng(seed)
    pairs = pairs_of(rng.normal(size=(25, 8, 1)))  # no kinds to find, so the first centres are not the last
    labels = kmeans_labels(pairs, 3, rng)
    F = np.concatenate([F for _, F in pairs.blocks()])
    centres = np.array([F[labels == k].mean(axis=0) for k in range(3)])
    distances = ((F[:, None] - centres) ** 2).sum(axis=-1)
    assert np.array_equal(distances.argmin(axis=1), labels)


def test_kmeans_edges():
    views, _ = repeated_views(0, 1)
    pairs, rng = pairs_of(views), np.random.default_rng(0)
    assert kmeans_labels(pairs, 1, rng).tolist() == [0, 0, 0]
    assert kmeans_labels(pairs, 3, rng).tolist() == [0, 1, 2]


def test_kmeans_of_equal_views():
    X = clustered_views(np.random.default_rng(0), 10, 1)[0]
    labels = kmeans_labels(pairs_of([X] * 5), 3, np.random.default_rng(0))
    assert len(set(labels.tolist())) == 1


def test_starts_are_near_the_barycentre():
    W = random_memberships(2, 50, 4, np.random.default_rng(0))
    assert W.shape == (2, 50, 4)
    np.testing.assert_allclose(W, 0.25, atol=0.02)
    assert W.std() > 1e-4
