"""Profiles: what k hard clusters explain of a group of views, against sums over pairs in plain loops."""

import numpy as np
import pytest
from scipy.special import expit

from latentsimplex.compute.pairs import n_pairs, pack, unpack
from latentsimplex.divergence import DIVERGENCES, P_CLIP
from latentsimplex.kmeans import kmeans
from latentsimplex.profiles import (
    divergence_left,
    profile,
    refined,
    spectral_clusters,
    spectral_coordinates,
)
from latentsimplex.similarity import Diffusion, LocalScaling, clip_exponents
from problems import KINDS, block_values, same_partition
from reference import naive

KIND = pytest.mark.parametrize("kind", KINDS)
N = 13


def random_values(seed, kind, n=N):
    """Return f(s) (m,) of similarities without any structure."""
    s = np.random.default_rng(seed).uniform(0.02, 0.98, size=n_pairs(n))
    return DIVERGENCES[kind].f(-np.log(s))


def naive_left(f, labels, kind, move=0.0):
    """Return sum_{i<j} [h(q) - f a(q)], q the probability that suits the mean f of each pair of clusters.

    ``move`` shifts every q, which must make it worse.
    """
    pairs = naive.packed_pairs(len(labels))
    members = {}
    for pair, (i, j) in enumerate(pairs):
        members.setdefault(tuple(sorted((labels[i], labels[j]))), []).append(f[pair])
    total = 0.0
    for values in members.values():
        mean = sum(values) / len(values)
        q = float(expit(mean)) if kind == "reverse" else mean
        q = min(max(q + move, P_CLIP), 1 - P_CLIP)
        total += sum(naive.template_h(q, kind) - value * naive.template_a(q, kind) for value in values)
    return total


@KIND
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [1, 2, 5, N])
def test_what_labels_leave_is_the_sum_over_pairs(kind, seed, k):
    labels = np.random.default_rng(seed).permutation(np.arange(N) % k)
    f = random_values(seed, kind)
    left = divergence_left(unpack(f), labels, DIVERGENCES[kind])
    assert left == pytest.approx(naive_left(f, labels, kind), rel=1e-10)


@KIND
@pytest.mark.parametrize("move", [-0.01, 0.01])
def test_no_other_response_leaves_less(kind, move):
    labels = np.arange(N) % 3
    f = random_values(0, kind)
    assert naive_left(f, labels, kind, move) > divergence_left(unpack(f), labels, DIVERGENCES[kind])


@KIND
@pytest.mark.parametrize("seed", range(3))
def test_gains_are_what_the_labels_take_away(kind, seed):
    f = random_values(seed, kind)
    found = profile(f, 5, DIVERGENCES[kind])
    one = naive_left(f, np.zeros(N, dtype=int), kind)
    for k in range(1, 6):
        expected = one - naive_left(f, found.labels[k - 1], kind)
        assert found.gains[k - 1] == pytest.approx(expected, rel=1e-5, abs=1e-5)


@KIND
def test_one_cluster_takes_nothing_away_and_more_never_add(kind):
    for seed in range(5):
        found = profile(random_values(seed, kind), 6, DIVERGENCES[kind])
        assert found.gains.shape == (6,)
        assert found.labels.shape == (6, N)
        assert found.gains[0] == 0
        assert not found.labels[0].any()
        assert (found.gains >= 0).all()
        for k in range(1, 7):
            used = np.unique(found.labels[k - 1])
            assert np.array_equal(used, np.arange(len(used)))
            assert len(used) <= k


@KIND
def test_a_single_cluster_needs_no_eigenvectors(kind):
    found = profile(random_values(0, kind), 1, DIVERGENCES[kind])
    assert found.gains.tolist() == [0]
    assert found.labels.shape == (1, N)


@KIND
@pytest.mark.parametrize("g", [2, 5, 20])
def test_the_clusters_there_are_explain_most_of_what_can_be_explained(kind, g):
    rng = np.random.default_rng(1)
    truth = rng.permutation(np.arange(40) % 4)
    found = profile(block_values(truth, kind, noise=0.3, rng=rng), g, DIVERGENCES[kind])
    if g >= 4:
        assert same_partition(found.labels[3], truth)
        steps = np.diff(found.gains)
        assert steps[:3].min() > 3 * steps[3:].max(initial=0.0)


@KIND
def test_a_sample_in_the_wrong_cluster_is_moved(kind):
    rng = np.random.default_rng(0)
    truth = np.arange(24) % 3
    f = block_values(truth, kind, noise=0.2, rng=rng)
    wrong = truth.copy()
    wrong[[0, 7]] = (wrong[[0, 7]] + 1) % 3
    labels, left = refined(unpack(f), wrong, DIVERGENCES[kind])
    assert same_partition(labels, truth)
    assert left == pytest.approx(naive_left(f, truth, kind), rel=1e-10)
    assert wrong[0] == 1  # what was given is left as it was


@KIND
@pytest.mark.parametrize("seed", range(5))
def test_moving_samples_never_leaves_more(kind, seed):
    F = unpack(random_values(seed, kind))
    start = np.random.default_rng(seed).permutation(np.arange(N) % 4)
    labels, left = refined(F, start, DIVERGENCES[kind])
    assert left <= divergence_left(F, start, DIVERGENCES[kind])
    assert left == pytest.approx(divergence_left(F, labels, DIVERGENCES[kind]), rel=1e-12)


@KIND
def test_a_profile_is_a_function_of_the_values(kind):
    f = random_values(2, kind, n=40)
    first, again = profile(f.copy(), 5, DIVERGENCES[kind]), profile(f, 5, DIVERGENCES[kind])
    assert np.array_equal(first.gains, again.gains)
    assert np.array_equal(first.labels, again.labels)


@KIND
def test_the_order_of_samples_does_not_matter(kind):
    rng = np.random.default_rng(3)
    truth, order = np.arange(30) % 3, rng.permutation(30)
    F = unpack(block_values(truth, kind, noise=0.3, rng=rng))
    here = profile(F[np.triu_indices(30, 1)], 3, DIVERGENCES[kind])
    there = profile(F[np.ix_(order, order)][np.triu_indices(30, 1)], 3, DIVERGENCES[kind])
    np.testing.assert_allclose(there.gains, here.gains, rtol=1e-5)
    assert same_partition(there.labels[2], here.labels[2][order])


def test_samples_that_coincide_make_fewer_clusters_without_a_warning():
    f = block_values(np.repeat([0, 1], 10), "forward", within=1 - 1e-4, between=1e-4)
    found = profile(f, 5, DIVERGENCES["forward"])
    assert np.isfinite(found.gains).all()
    assert same_partition(found.labels[1], np.repeat([0, 1], 10))


def similarities(n, n_blocks, noise, rng):
    """Return a similarity of blocks with noise; of one block it is noise alone."""
    labels = np.arange(n) % n_blocks
    return unpack(expit(pack(4.0 * np.equal.outer(labels, labels) - 2) + noise * rng.normal(size=n_pairs(n))))


def exact_coordinates(S, g):
    """Return the eigenvectors of the g largest eigenvalues, over root degrees."""
    root = np.sqrt(S.sum(axis=1))
    _, vectors = np.linalg.eigh(S / np.outer(root, root))
    return vectors[:, ::-1][:, :g] / root[:, None]


@pytest.mark.parametrize(("n", "g"), [(30, 16), (30, 30), (4, 4), (2, 1)])
@pytest.mark.parametrize("n_blocks", [1, 3])
def test_coordinates_are_eigenvectors_where_there_is_room_for_all(n, g, n_blocks):
    S = similarities(n, n_blocks, 1.0, np.random.default_rng(n + g))
    root = np.sqrt(S.sum(axis=1))[:, None]
    U = spectral_coordinates(S, g) * root
    assert U.shape == (n, g)
    np.testing.assert_allclose(np.abs((U * exact_coordinates(S, g) * root).sum(axis=0)), 1, atol=1e-6)


@KIND
@pytest.mark.parametrize("n_views", [1, 6])
@pytest.mark.parametrize("n", [18, 40])
def test_weak_clusters_explain_what_they_would_with_exact_eigenvectors(kind, n, n_views):
    """Their eigenvalue is positive, but smaller than those below 0 are large."""
    rng, divergence = np.random.default_rng(0), DIVERGENCES[kind]
    labels = np.arange(n) % 2
    f = np.mean([block_values(labels, kind, 0.45, 0.35, 0.5, rng) for _ in range(n_views)], axis=0)
    U = exact_coordinates(unpack(divergence.mean(f)), 2)
    _, left = refined(unpack(f), kmeans(U, 2), divergence)
    expected = divergence_left(unpack(f), np.zeros(n, dtype=int), divergence) - left
    assert profile(f, 2, divergence).gains[1] > 0.95 * expected


@pytest.mark.parametrize(
    "kernel", [LocalScaling(), Diffusion(), Diffusion(neighbours=1 / 7, mean=0.2)], ids=str
)
@pytest.mark.parametrize("n_features", [1, 2])
def test_clouds_explain_what_they_would_with_exact_eigenvectors(kernel, n_features):
    """The yardstick of temperatures: a cut of a cloud must not look worse than it is."""
    divergence, g = DIVERGENCES["forward"], 6
    X = np.random.default_rng(0).normal(size=(150, n_features))
    f = divergence.f(clip_exponents(kernel.exponents(X)))
    U = exact_coordinates(unpack(f), g)
    one = divergence_left(unpack(f), np.zeros(150, dtype=int), divergence)
    expected = [one - refined(unpack(f), kmeans(U[:, :k], k), divergence)[1] for k in range(2, g + 1)]
    np.testing.assert_allclose(profile(f, g, divergence).gains[1:], expected, rtol=0.02)


@pytest.mark.parametrize("n_blocks", [2, 4])
def test_coordinates_of_blocks_are_eigenvectors(n_blocks):
    S = similarities(60, n_blocks, 0.5, np.random.default_rng(0))
    root = np.sqrt(S.sum(axis=1))[:, None]
    found, expected = spectral_coordinates(S, n_blocks) * root, exact_coordinates(S, n_blocks) * root
    np.testing.assert_allclose(np.abs((found * expected).sum(axis=0)), 1, atol=1e-6)


def test_spectral_clusters_of_blocks():
    truth = np.random.default_rng(0).permutation(np.arange(21) % 3)
    S = np.where(np.equal.outer(truth, truth), 0.9, 0.05) - 0.9 * np.eye(21)
    assert same_partition(spectral_clusters(S, 3), truth)
    assert not spectral_clusters(S, 1).any()
