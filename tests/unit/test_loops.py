"""Compiled loops against plain NumPy: logarithms, pairs of a pattern, k-means, hard clusters, whole M steps."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit

from latentsimplex import compute, em
from latentsimplex.compute import cpu, cuts, large, loops, small
from latentsimplex.compute.pairs import n_pairs, pack, unpack
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import DIVERGENCES, P_CLIP
from latentsimplex.em import OPTIMIZERS, Model, Schedule
from latentsimplex.kmeans import kmeans, kmeans_draws
from latentsimplex.objective import ClusterPrice, NoPenalty
from latentsimplex.profiles import SWEEPS, divergence_left
from problems import (
    KINDS,
    identities,
    interior_memberships,
    mixed_memberships,
    random_responses,
    same_partition,
)

KIND = pytest.mark.parametrize("kind", KINDS)


# Logarithms


def logarithms(x):
    out = np.empty_like(x)
    loops.logarithms(x, out)
    return out


def test_logarithms_to_rounding():
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [
            rng.uniform(size=20_000),
            10.0 ** rng.uniform(-300, 300, size=20_000),
            1 + rng.normal(size=1000) * 10.0 ** rng.uniform(-12, -1, size=1000) / 5,
            [1.0, 0.5, 2.0, np.sqrt(0.5), np.sqrt(2.0), np.finfo(float).tiny, np.finfo(float).max, P_CLIP],
            np.nextafter([1.0, 1.0, 2.0, 0.5], [0.0, 2.0, 0.0, 1.0]),
        ]
    )
    np.testing.assert_allclose(logarithms(x), np.log(x), rtol=1e-14, atol=0)
    assert logarithms(np.ones(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("n", [0, 1, 7, 1025])
def test_logarithms_of_any_number_of_numbers_and_in_place(n):
    x = np.random.default_rng(n).uniform(0.1, 3, size=n)
    expected = np.log(x)
    np.testing.assert_allclose(logarithms(x), expected, rtol=1e-14)
    loops.logarithms(x, x)
    np.testing.assert_allclose(x, expected, rtol=1e-14)


# Pairs of a pattern


def plain_terms(W, B, gamma, stat, kind):
    """Return a(q), the sum of h(q), the objective and G W, by full matrices."""
    n, divergence = len(W), DIVERGENCES[kind]
    i, j = np.triu_indices(n, 1)
    q = np.clip(np.einsum("ia,ab,ib->i", W[i], B, W[j]), P_CLIP, 1 - P_CLIP)
    a, h = divergence.a_h(q)
    value, slope = divergence.value_slope(q, gamma, stat)
    return a, h.sum(), value.sum(), unpack(slope) @ W


@KIND
@pytest.mark.parametrize("g", [1, 2, 3, 6])
@pytest.mark.parametrize("n", [2, 3, 9, 40, loops.STRIP + 3])
def test_pairs_of_a_pattern(kind, n, g):
    """Rows are longer and shorter than a strip, clusters even and odd in number."""
    rng = np.random.default_rng(n + g)
    W = mixed_memberships(rng, n, g) if n > 2 and g > 1 else interior_memberships(rng, 1, n, g)[0]
    B = random_responses(rng, 1, g)[0]
    gamma, stat = 2.5, rng.normal(size=n_pairs(n))
    left, right = np.ascontiguousarray((W @ B).T), np.ascontiguousarray(W.T)
    a, h, value, GW = plain_terms(W, B, gamma, stat, kind)

    A = np.empty(n_pairs(n))
    assert loops.row_terms(left, right, 0, n - 1, kind == "forward", A) == pytest.approx(h, rel=1e-10)
    np.testing.assert_allclose(A, a, rtol=1e-10, atol=1e-12)
    found = np.zeros((g, n))
    total = loops.row_objective(left, right, gamma, stat, 0, n - 1, kind == "forward", found)
    assert total == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(found.T, GW, rtol=1e-9, atol=1e-10 * np.abs(GW).max())


def test_columns_that_hold_nothing_are_left_out_without_a_trace():
    """Poured out columns lie last, first or between; what is computed is as if all had been walked."""
    rng = np.random.default_rng(0)
    W = np.zeros((3, 12, 5))
    for l, kept in enumerate([[0, 1], [3, 4], [0, 2, 4]]):
        W[l][:, kept] = interior_memberships(rng, 1, 12, len(kept))[0]
    B, gamma = random_responses(rng, 3, 5), np.array([1.0, 2.0, 3.0])
    stat = rng.normal(size=(3, n_pairs(12)))
    for kind in KINDS:
        values, dW, dB = cpu.pair_objective(W, B, gamma, stat, DIVERGENCES[kind], Workers(1))
        for l in range(3):
            _, _, value, GW = plain_terms(W[l], B[l], gamma[l], stat[l], kind)
            assert values[l] == pytest.approx(value, rel=1e-10)
            np.testing.assert_allclose(dB[l], W[l].T @ GW / 2, rtol=1e-8, atol=1e-9)
            used = W[l].max(axis=0) > 0
            np.testing.assert_allclose(dW[l][:, used], (GW @ B[l])[:, used], rtol=1e-8, atol=1e-9)


# K-means


def inertia(X, labels):
    return sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum() for c in np.unique(labels))


def least_inertia(X, k):
    """Return the least inertia over all partitions into at most k clusters."""
    return min(inertia(X, np.array(labels)) for labels in product(range(k), repeat=len(X)))


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_kmeans_of_a_few_samples_is_the_best_there_is(seed, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 2))
    labels = kmeans(X, k, 50)
    assert set(labels) <= set(range(k))
    assert inertia(X, labels) == pytest.approx(least_inertia(X, k), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_lloyd_is_lloyd(seed):
    """From given centres, in plain NumPy; it ends where no sample has a nearer centre."""
    rng = np.random.default_rng(seed)
    X, centres = rng.normal(size=(60, 3)), rng.normal(size=(5, 3))
    labels, found = cuts.lloyd(X, centres.copy(), 100)
    expected = None
    while True:
        nearest = ((X[:, None] - centres) ** 2).sum(axis=-1)
        if np.array_equal(nearest.argmin(axis=1), expected):
            break
        expected = nearest.argmin(axis=1)
        centres = np.array(
            [X[expected == c].mean(axis=0) if (expected == c).any() else centres[c] for c in range(5)]
        )
    assert np.array_equal(labels, expected)
    assert found == pytest.approx(nearest.min(axis=1).sum(), rel=1e-12)


def test_an_empty_cluster_keeps_its_centre():
    X = np.array([[0.0], [1.0], [10.0]])
    labels, found = cuts.lloyd(X, np.array([[0.0], [10.0], [1000.0]]), 10)
    assert labels.tolist() == [0, 0, 1]
    assert found == pytest.approx(0.5)


def test_first_centres_are_drawn_by_their_squared_distances():
    """Far samples are drawn in proportion to the square of their distance from the first centre."""
    X = np.array([[0.0], [1.0], [3.0]])
    first = cuts.spread_centres(X, np.array([[0.0], [0.0]]))
    assert first[0] == 0
    seconds = [
        cuts.spread_centres(X, np.array([[0.0], [draw]]))[1, 0] for draw in (np.arange(1000) + 0.5) / 1000
    ]
    assert np.mean(np.array(seconds) == 3.0) == pytest.approx(9 / 10, abs=2e-3)
    assert 0.0 not in seconds
    thirds = [cuts.spread_centres(X, np.array([[start], [0.3], [0.7]])) for start in (0.0, 0.4, 0.99)]
    assert [sorted(centres[:, 0]) for centres in thirds] == [[0, 1, 3]] * 3


def test_of_two_candidates_the_one_that_leaves_less_is_a_centre():
    X = np.array([[0.0], [1.0], [3.0], [3.1]])
    near, far = 0.01, 0.9  # of the squared distances 1, 9 and 9.61 from the first centre
    for draws in ([near, far], [far, near]):
        assert cuts.spread_centres(X, np.array([[0.0, 0.0], draws]))[1, 0] > 1


def test_samples_that_coincide_do_not_stop_kmeans():
    labels = kmeans(np.ones((6, 2)), 3)
    assert len(set(labels)) == 1
    assert same_partition(kmeans(np.repeat([[0.0], [1.0]], 5, axis=0), 4), np.repeat([0, 1], 5))


def test_kmeans_is_a_function_of_the_samples():
    X = np.random.default_rng(0).normal(size=(50, 4))
    assert np.array_equal(kmeans(X, 6), kmeans(np.asfortranarray(X), 6))
    assert np.array_equal(kmeans_draws(3, 5), kmeans_draws(3, 5))
    assert ((kmeans_draws(9, 5) >= 0) & (kmeans_draws(9, 5) < 1)).all()


# Hard clusters


def refined_labels(F, labels, k, forward, sweeps):
    return cuts.refined_by(F, cuts.cluster_sums(F, labels, k), labels, forward, sweeps)


def plain_refined(F, labels, kind):
    """Return the labels, with each sample moved to where it fits best while that helps, in plain NumPy."""
    divergence = DIVERGENCES[kind]
    left = divergence_left(F, labels, divergence)
    for _ in range(SWEEPS):
        k = labels.max() + 1
        B = np.empty((k, k))
        for a, b in np.ndindex(k, k):
            block = F[np.ix_(labels == a, labels == b)]
            pairs = block.size - (len(block) if a == b else 0)
            mean = block.sum() / max(pairs, 1)
            B[a, b] = np.clip(expit(mean) if kind == "reverse" else mean, P_CLIP, 1 - P_CLIP)
        a, h = divergence.a_h(B)
        moved = np.empty_like(labels)
        for i in range(len(F)):
            others = np.arange(len(F)) != i
            costs = [(h[c, labels[others]] - F[i, others] * a[c, labels[others]]).sum() for c in range(k)]
            moved[i] = np.argmin(costs)
        moved = np.unique(moved, return_inverse=True)[1]
        if (now := divergence_left(F, moved, divergence)) >= left:
            break
        labels, left = moved, now
    return labels, left


@KIND
@pytest.mark.parametrize("seed", range(6))
def test_refined_labels(kind, seed):
    rng = np.random.default_rng(seed)
    s = rng.uniform(0.05, 0.95, size=n_pairs(20))
    F = unpack(DIVERGENCES[kind].f(-np.log(s)))
    start = rng.integers(4, size=20)
    start[:4] = np.arange(4)
    labels, left = refined_labels(F, start.copy(), 4, kind == "forward", SWEEPS)
    expected, expected_left = plain_refined(F, start, kind)
    assert np.array_equal(labels, expected)
    assert left == pytest.approx(expected_left, rel=1e-12)


@KIND
def test_clusters_that_nobody_is_in_are_no_clusters(kind):
    F = unpack(DIVERGENCES[kind].f(-np.log(np.random.default_rng(0).uniform(0.1, 0.9, size=n_pairs(8)))))
    gaps, plain = np.array([0, 3, 3, 0, 5, 5, 0, 3]), np.array([0, 1, 1, 0, 2, 2, 0, 1])
    for labels in (gaps, plain):
        found, left = refined_labels(F, labels, 6, kind == "forward", 0)
        assert np.array_equal(found, plain)
        assert left == pytest.approx(divergence_left(F, plain, DIVERGENCES[kind]), rel=1e-12)


# Whole M steps


PRICES = ClusterPrice((0.0, 3.0, 5.0, 20.0))


@KIND
@pytest.mark.parametrize("penalty", [NoPenalty(), PRICES], ids=["free", "priced"])
@pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_compiled_m_step_takes_the_steps_of_mirror_descent(kind, penalty, learned, n_jobs, monkeypatch):
    """Ten steps from the same start: rounding grows along the way, and by then is far below a millionth."""
    rng = np.random.default_rng(2)
    d, n, g = 3, 18, 4
    W = interior_memberships(rng, d, n, g)
    W[1, :, 2:] = 0.0  # two clusters poured out
    W /= W.sum(axis=-1, keepdims=True)
    B = random_responses(rng, d, g) if learned else identities(d, g)
    gamma = np.array([1.0, 4.0, 30.0])
    stat = gamma[:, None] * DIVERGENCES[kind].f(-np.log(rng.uniform(0.05, 0.95, size=(d, n_pairs(n)))))
    model = Model(DIVERGENCES[kind], penalty, learned_response=learned)
    schedule = Schedule(**OPTIMIZERS["mirror"])

    def m_step(workers):
        return em.m_step(W, B, gamma, stat, model, workers, schedule, 10, np.array([4.0, 0.5, 60.0]))

    with monkeypatch.context() as patch:
        patch.setattr(em, "has_compiled_descent", lambda stat: False)
        expected = m_step(Workers(1))
    with monkeypatch.context() as patch, Workers(n_jobs) as workers:
        patch.setattr(cpu, "THREADED_PAIRS", 1)
        patch.setattr(em, "mirror", None)  # the compiled form it must be
        found = m_step(workers)
    assert not np.allclose(expected[0], W, atol=1e-3)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-6)
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-12)
    used = W.max(axis=1) > 0
    for l in range(d):
        both = np.ix_(used[l], used[l])
        np.testing.assert_allclose(found[1][l][both], expected[1][l][both], atol=1e-6)


@KIND
@pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
def test_m_steps_of_many_pairs_take_the_steps_of_mirror_descent(kind, learned, monkeypatch):
    """Pairs are of single precision here. Steps that are too long at first are taken back on both ways."""
    rng = np.random.default_rng(3)
    d, n, g = 2, 600, 4
    W = interior_memberships(rng, d, n, g)
    W[1, :, 3] = 0.0
    W /= W.sum(axis=-1, keepdims=True)
    B = random_responses(rng, d, g) if learned else identities(d, g)
    gamma = np.array([1.0, 4.0])
    labels = rng.integers(0, 3, n)
    s = pack(np.where(np.equal.outer(labels, labels), 0.8, 0.2)) * rng.uniform(0.9, 1.1, n_pairs(n))
    stat = gamma[:, None] * DIVERGENCES[kind].f(-np.log(s))
    model = Model(DIVERGENCES[kind], PRICES, learned_response=learned)
    schedule = Schedule(**OPTIMIZERS["mirror"])

    def m_step(n_jobs):
        with Workers(n_jobs) as workers:
            return em.m_step(W, B, gamma, stat, model, workers, schedule, 12, np.array([4.0, 60.0]))

    with monkeypatch.context() as patch:
        patch.setattr(em, "has_compiled_descent", lambda stat: False)
        expected = m_step(1)
    monkeypatch.setattr(em, "mirror", None)  # the compiled form it must be
    found, threaded = m_step(1), m_step(3)
    assert not np.allclose(expected[0], W, atol=0.1)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-3)
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-5)
    np.testing.assert_allclose(found[1][:, :3, :3], expected[1][:, :3, :3], atol=1e-3)
    for one, other in zip(found, threaded, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n", [3, 520, 2000, 5000])
def test_parts_of_a_pass_have_every_pair_once(n):
    parts = large.parts_of(n)
    assert len(parts) == min(len(cpu.tiles(n)), large.MOST_PARTS)
    assert parts[0, [0, 2]].tolist() == [0, 0]
    assert parts[-1, [1, 3]].tolist() == [n - 1, n_pairs(n)]
    np.testing.assert_array_equal(parts[1:, [0, 2]], parts[:-1, [1, 3]])


def test_small_is_what_fits_in_a_tile():
    assert compute.is_small(np.zeros((3, cpu.TILE_PAIRS)))
    assert not compute.is_small(np.zeros((3, cpu.TILE_PAIRS + 1)))


def test_compiled_memberships_are_a_softmax():
    theta = 50 * np.random.default_rng(0).normal(size=(4, 30))
    W = np.empty_like(theta)
    small.memberships_of(theta, W)
    expected = np.exp(theta - theta.max(axis=0))
    np.testing.assert_allclose(W, expected / expected.sum(axis=0), rtol=1e-12)
    assert small.used_clusters(W) == len(np.unique(W.argmax(axis=0)))


@KIND
def test_a_compiled_profile_is_that_of_its_parts(kind):
    rng = np.random.default_rng(1)
    F = unpack(DIVERGENCES[kind].f(-np.log(rng.uniform(0.05, 0.95, size=n_pairs(25)))))
    U, draws = rng.normal(size=(25, 4)), kmeans_draws(3, 4)
    left, labels = small.profile_of(F, U, np.arange(25), draws, kind == "forward", 100, SWEEPS)
    assert left[0] == pytest.approx(divergence_left(F, np.zeros(25, dtype=int), DIVERGENCES[kind]), rel=1e-12)
    for k in range(2, 5):
        X = np.ascontiguousarray(U[:, :k])
        starts = [cuts.lloyd(X, cuts.spread_centres(X, draw[:k].copy()), 100) for draw in draws]
        best = min(starts, key=lambda start: start[1])[0]
        expected, expected_left = plain_refined(F, np.unique(best, return_inverse=True)[1], kind)
        assert np.array_equal(labels[k - 1], expected)
        assert left[k - 1] == pytest.approx(expected_left, rel=1e-12)
