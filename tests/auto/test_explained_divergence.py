"""What k hard clusters explain of a group of views, against sums over pairs in plain loops."""

import numpy as np
import pytest
from scipy.special import expit

from latentsimplex.auto import _cluster_loops as loops
from latentsimplex.auto.explained_divergence import (
    MOST_SWEEPS,
    explain,
    explain_each,
    gains_up_to,
    random_vectors,
    refine_labels,
    remaining_divergence,
    spectral_clusters,
    spectral_coordinates,
)
from latentsimplex.base.condensed import count_pairs, pack_pairs, unpack_pairs
from latentsimplex.base.kmeans import LLOYD_ITERATIONS, draw_starts, kmeans
from latentsimplex.base.kmeans_loops import lloyd, spread_centres
from latentsimplex.pairs.divergence import DIVERGENCES, P_CLIP
from latentsimplex.similarity import Diffusion, LocalScaling
from latentsimplex.similarity.kernel import clip_exponents
from problems import KINDS, block_values, same_partition
from reference import naive

torch = pytest.importorskip("torch")

KIND = pytest.mark.parametrize("kind", KINDS)
N = 13


def random_values(seed, kind, n=N):
    """Return f(s) (m,) of similarities without any structure."""
    s = np.random.default_rng(seed).uniform(0.02, 0.98, size=count_pairs(n))
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
    left = remaining_divergence(unpack_pairs(f), labels, DIVERGENCES[kind])
    assert left == pytest.approx(naive_left(f, labels, kind), rel=1e-10)


@KIND
@pytest.mark.parametrize("move", [-0.01, 0.01])
def test_no_other_response_leaves_less(kind, move):
    labels = np.arange(N) % 3
    f = random_values(0, kind)
    assert naive_left(f, labels, kind, move) > remaining_divergence(
        unpack_pairs(f), labels, DIVERGENCES[kind]
    )


@KIND
@pytest.mark.parametrize("seed", range(3))
def test_gains_are_what_the_labels_take_away(kind, seed):
    f = random_values(seed, kind)
    found = explain(f, 5, DIVERGENCES[kind])
    one = naive_left(f, np.zeros(N, dtype=int), kind)
    for k in range(1, 6):
        expected = one - naive_left(f, found.labels[k - 1], kind)
        assert found.gains[k - 1] == pytest.approx(expected, rel=1e-5, abs=1e-5)


@KIND
def test_one_cluster_takes_nothing_away_and_more_never_add(kind):
    for seed in range(5):
        found = explain(random_values(seed, kind), 6, DIVERGENCES[kind])
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
    found = explain(random_values(0, kind), 1, DIVERGENCES[kind])
    assert found.gains.tolist() == [0]
    assert found.labels.shape == (1, N)


@KIND
@pytest.mark.parametrize("g", [2, 5, 20])
def test_the_clusters_there_are_explain_most_of_what_can_be_explained(kind, g):
    rng = np.random.default_rng(1)
    truth = rng.permutation(np.arange(40) % 4)
    found = explain(block_values(truth, kind, noise=0.3, rng=rng), g, DIVERGENCES[kind])
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
    labels, left = refine_labels(unpack_pairs(f), wrong, DIVERGENCES[kind])
    assert same_partition(labels, truth)
    assert left == pytest.approx(naive_left(f, truth, kind), rel=1e-10)
    assert wrong[0] == 1  # what was given is left as it was


@KIND
@pytest.mark.parametrize("seed", range(5))
def test_moving_samples_never_leaves_more(kind, seed):
    F = unpack_pairs(random_values(seed, kind))
    start = np.random.default_rng(seed).permutation(np.arange(N) % 4)
    labels, left = refine_labels(F, start, DIVERGENCES[kind])
    assert left <= remaining_divergence(F, start, DIVERGENCES[kind])
    assert left == pytest.approx(remaining_divergence(F, labels, DIVERGENCES[kind]), rel=1e-12)


@KIND
def test_what_is_explained_is_a_function_of_the_values(kind):
    f = random_values(2, kind, n=40)
    first, again = explain(f.copy(), 5, DIVERGENCES[kind]), explain(f, 5, DIVERGENCES[kind])
    assert np.array_equal(first.gains, again.gains)
    assert np.array_equal(first.labels, again.labels)


@KIND
def test_the_order_of_samples_does_not_matter(kind):
    rng = np.random.default_rng(3)
    truth, order = np.arange(30) % 3, rng.permutation(30)
    F = unpack_pairs(block_values(truth, kind, noise=0.3, rng=rng))
    here = explain(F[np.triu_indices(30, 1)], 3, DIVERGENCES[kind])
    there = explain(F[np.ix_(order, order)][np.triu_indices(30, 1)], 3, DIVERGENCES[kind])
    np.testing.assert_allclose(there.gains, here.gains, rtol=1e-5)
    assert same_partition(there.labels[2], here.labels[2][order])


def test_samples_that_coincide_make_fewer_clusters_without_a_warning():
    f = block_values(np.repeat([0, 1], 10), "forward", within=1 - 1e-4, between=1e-4)
    found = explain(f, 5, DIVERGENCES["forward"])
    assert np.isfinite(found.gains).all()
    assert same_partition(found.labels[1], np.repeat([0, 1], 10))


def similarities(n, n_blocks, noise, rng):
    """Return a similarity of blocks with noise; of one block it is noise alone."""
    labels = np.arange(n) % n_blocks
    return unpack_pairs(
        expit(pack_pairs(4.0 * np.equal.outer(labels, labels) - 2) + noise * rng.normal(size=count_pairs(n)))
    )


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
    U = exact_coordinates(unpack_pairs(divergence.mean(f)), 2)
    _, left = refine_labels(unpack_pairs(f), kmeans(U, 2), divergence)
    expected = remaining_divergence(unpack_pairs(f), np.zeros(n, dtype=int), divergence) - left
    assert explain(f, 2, divergence).gains[1] > 0.95 * expected


@pytest.mark.parametrize(
    "kernel", [LocalScaling(), Diffusion(), Diffusion(neighbours=1 / 7, mean=0.2)], ids=str
)
@pytest.mark.parametrize("n_features", [1, 2])
def test_clouds_explain_what_they_would_with_exact_eigenvectors(kernel, n_features):
    """The yardstick of temperatures: a cut of a cloud must not look worse than it is."""
    divergence, g = DIVERGENCES["forward"], 6
    X = np.random.default_rng(0).normal(size=(150, n_features))
    f = divergence.f(clip_exponents(kernel.exponents(X)))
    U = exact_coordinates(unpack_pairs(f), g)
    one = remaining_divergence(unpack_pairs(f), np.zeros(150, dtype=int), divergence)
    expected = [
        one - refine_labels(unpack_pairs(f), kmeans(U[:, :k], k), divergence)[1] for k in range(2, g + 1)
    ]
    np.testing.assert_allclose(explain(f, g, divergence).gains[1:], expected, rtol=0.02)


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


# Compiled


def refine(F, labels, k, forward, sweeps):
    return loops.refine(F, loops.sum_by_cluster(F, labels, k), labels, forward, sweeps)


def plain_refined(F, labels, kind):
    """Return the labels, with each sample moved to where it fits best while that helps, in plain NumPy."""
    divergence = DIVERGENCES[kind]
    left = remaining_divergence(F, labels, divergence)
    for _ in range(MOST_SWEEPS):
        k = labels.max() + 1
        B = np.empty((k, k))
        for a, b in np.ndindex(k, k):
            block = F[np.ix_(labels == a, labels == b)]
            pairs = block.size - (len(block) if a == b else 0)
            mean = block.sum() / max(pairs, 1)
            B[a, b] = np.clip(expit(mean) if kind == "reverse" else mean, P_CLIP, 1 - P_CLIP)
        a, h = divergence.a_and_h(B)
        moved = np.empty_like(labels)
        for i in range(len(F)):
            others = np.arange(len(F)) != i
            costs = [(h[c, labels[others]] - F[i, others] * a[c, labels[others]]).sum() for c in range(k)]
            moved[i] = np.argmin(costs)
        moved = np.unique(moved, return_inverse=True)[1]
        if (now := remaining_divergence(F, moved, divergence)) >= left:
            break
        labels, left = moved, now
    return labels, left


@KIND
@pytest.mark.parametrize("seed", range(6))
def test_compiled_and_other_refined_labels_are_those_of_plain_loops(kind, seed):
    rng = np.random.default_rng(seed)
    F = unpack_pairs(random_values(seed, kind, 20))
    start = rng.integers(4, size=20)
    start[:4] = np.arange(4)
    expected, expected_left = plain_refined(F, start, kind)
    compiled = refine(F, start.copy(), 4, kind == "forward", MOST_SWEEPS)
    for labels, left in (compiled, refine_labels(F, start, DIVERGENCES[kind])):
        assert np.array_equal(labels, expected)
        assert left == pytest.approx(expected_left, rel=1e-12)


@KIND
def test_clusters_that_nobody_is_in_are_no_clusters(kind):
    F = unpack_pairs(random_values(0, kind, 8))
    gaps, plain = np.array([0, 3, 3, 0, 5, 5, 0, 3]), np.array([0, 1, 1, 0, 2, 2, 0, 1])
    for labels in (gaps, plain):
        found, left = refine(F, labels, 6, kind == "forward", 0)
        assert np.array_equal(found, plain)
        assert left == pytest.approx(remaining_divergence(F, plain, DIVERGENCES[kind]), rel=1e-12)


def test_empty_clusters_are_dropped_and_the_others_keep_their_order():
    labels, sizes = loops.drop_empty(np.array([4, 1, 4, 2]), 6)
    assert labels.tolist() == [2, 0, 2, 1]
    assert sizes.tolist() == [1, 1, 2]
    sums = np.arange(12.0).reshape(6, 2)
    assert loops.keep_used_sums(sums, np.array([4, 1, 4, 2]), 3).tolist() == [[2, 3], [4, 5], [8, 9]]


@pytest.mark.parametrize("moving", [0, 1, 5, 12])
def test_sums_follow_the_samples_that_move(moving):
    """Few are carried over one by one, many are added up anew, and a cluster may be left empty."""
    rng = np.random.default_rng(moving)
    F = unpack_pairs(rng.normal(size=count_pairs(18)))
    before = np.arange(18) % 3
    before[0], before[1:][before[1:] == 2] = 2, 1  # the last cluster has one sample
    after = before.copy()
    after[:moving] = 0
    numbers, sizes = loops.drop_empty(after, 3)
    sums = loops.sum_by_cluster(F, before, 3)
    found = loops.update_sums(F, sums, before, after, numbers, len(sizes))
    np.testing.assert_allclose(found, loops.sum_by_cluster(F, numbers, len(sizes)), atol=1e-12)
    np.testing.assert_allclose(found, np.eye(len(sizes))[numbers].T @ F, atol=1e-12)
    assert found.shape == (3 if moving == 0 else 2, 18)


@KIND
def test_block_terms_are_those_of_the_best_responses(kind):
    F, labels = unpack_pairs(random_values(0, kind, 12)), np.arange(12) % 3
    a, h, left = loops.find_block_terms(
        loops.sum_by_cluster(F, labels, 3), labels, np.bincount(labels).astype(float), kind == "forward"
    )
    Z = np.eye(3)[labels]
    pairs = np.outer(Z.sum(axis=0), Z.sum(axis=0)) - np.diag(Z.sum(axis=0))
    q = np.clip(DIVERGENCES[kind].mean(Z.T @ F @ Z / pairs), P_CLIP, 1 - P_CLIP)
    for found, expected in zip((a, h), DIVERGENCES[kind].a_and_h(q), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    assert left == pytest.approx(remaining_divergence(F, labels, DIVERGENCES[kind]), rel=1e-12)


@KIND
def test_what_is_cut_and_refined_is_that_of_its_parts(kind):
    rng = np.random.default_rng(1)
    F = unpack_pairs(DIVERGENCES[kind].f(-np.log(rng.uniform(0.05, 0.95, size=count_pairs(25)))))
    U, draws = rng.normal(size=(4, 25)), draw_starts(3, 4)
    left, labels = np.empty(4), np.empty((4, 25), np.intp)
    loops.cut_and_refine(
        F, U, np.arange(25), draws, kind == "forward", LLOYD_ITERATIONS, MOST_SWEEPS, left, labels
    )
    one = remaining_divergence(F, np.zeros(25, dtype=int), DIVERGENCES[kind])
    assert left[0] == pytest.approx(one, rel=1e-12)
    for k in range(2, 5):
        starts = [lloyd(U[:k], spread_centres(U[:k], draw[:k].copy()), LLOYD_ITERATIONS) for draw in draws]
        best = min(starts, key=lambda start: start[1])[0]
        expected, expected_left = plain_refined(F, np.unique(best, return_inverse=True)[1], kind)
        assert np.array_equal(labels[k - 1], expected)
        assert left[k - 1] == pytest.approx(expected_left, rel=1e-12)


def test_first_vectors_are_always_the_same():
    assert random_vectors(30, 4).shape == (30, 4)
    assert np.array_equal(random_vectors(30, 4), random_vectors.__wrapped__(30, 4))


# Tensors


@KIND
def test_tensors_explain_what_arrays_do(kind):
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.arange(36) % 4)
    f = block_values(truth, kind, noise=0.3, rng=rng)
    found, expected = (explain(x, 5, DIVERGENCES[kind]) for x in (torch.as_tensor(f), f))
    assert isinstance(found.gains, np.ndarray)
    assert isinstance(found.labels, np.ndarray)
    np.testing.assert_allclose(found.gains[:4], expected.gains[:4], rtol=1e-5)
    assert same_partition(found.labels[3], truth)
    for k in range(4):
        assert same_partition(found.labels[k], expected.labels[k])


@pytest.mark.parametrize("kind", KINDS)
def test_gains_without_loops_are_those_of_loops(kind):
    X = np.random.default_rng(0).normal(size=(3, 60, 2))
    r = Diffusion().batch_exponents(X.astype(np.float32))
    for found, expected in zip(
        gains_up_to(5, r, DIVERGENCES[kind], without_loops=True),
        gains_up_to(5, r, DIVERGENCES[kind]),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_spectral_coordinates_of_tensors_up_to_signs():
    rng = np.random.default_rng(0)
    S = unpack_pairs(DIVERGENCES["forward"].f(-np.log(rng.uniform(0.1, 0.9, size=count_pairs(20)))))
    found, expected = spectral_coordinates(torch.as_tensor(S), 4), spectral_coordinates(S, 4)
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found * signs, expected, atol=1e-8)


@KIND
def test_views_explained_together_are_as_each_alone(kind):
    f = np.array([random_values(seed, kind) for seed in range(3)])
    for found, alone in zip(explain_each(f, 4, DIVERGENCES[kind]), f, strict=True):
        expected = explain(alone, 4, DIVERGENCES[kind])
        assert np.array_equal(found.labels, expected.labels)
        np.testing.assert_allclose(found.gains, expected.gains, rtol=1e-6)
