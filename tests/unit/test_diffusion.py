"""Diffusion: similarities in range that follow the shape of clusters, whatever the data look like."""

import math

import numpy as np
import pytest

from latentsimplex import LatentSimplexPosition
from latentsimplex.compute.pairs import unpack
from latentsimplex.similarity import Diffusion
from latentsimplex.similarity.diffusion import balanced
from reference import naive

X = np.random.default_rng(0).normal(size=(40, 3))


def similarity(data, **settings):
    """Return the square matrix of similarities, after what must hold for any of them."""
    data = np.asarray(data, dtype=float)
    r = Diffusion(**settings).exponents(data)
    n = len(data)
    assert r.shape == (n * (n - 1) // 2,)
    assert np.isfinite(r).all()
    assert (r >= 0).all()
    return unpack(np.exp(-r), diagonal=1.0)


def rings(n=60, seed=0):
    """Return two rings, one inside the other, and which one each sample is on."""
    rng = np.random.default_rng(seed)
    ring = np.arange(n) % 2
    angle = 2 * np.pi * np.arange(n) / n
    radius = np.where(ring == 0, 1.0, 4.0) + 0.05 * rng.normal(size=n)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), ring


def off_diagonal(S):
    return S[np.triu_indices(len(S), 1)]


def mixture_by_hand(M, mean, reached):
    """Return the similarities of the powers of M whose means enclose ``mean``, mixed to the mean that was reached."""

    def of(K):
        return K / np.sqrt(np.outer(np.diag(K), np.diag(K)))

    lengths = [2, *(length for k in range(1, 15) for length in (3 * 2 ** (k - 1), 2 ** (k + 1)))]
    powers = [np.linalg.matrix_power(M, length) for length in lengths]
    powers = [K / np.trace(K) for K in powers]
    above = next(k for k, K in enumerate(powers) if off_diagonal(of(K)).mean() >= mean)
    if above == 0:
        return of(powers[0])
    low, high = 0.0, 1.0
    for _ in range(60):
        w = (low + high) / 2
        S = of((1 - w) * powers[above - 1] + w * powers[above])
        low, high = (low, w) if off_diagonal(S).mean() > reached else (w, high)
    return S


@pytest.mark.parametrize("mean", [1e-4, 0.05, 0.1, 0.13, 0.2, 0.37, 0.6, 0.9])
def test_a_walk_that_stops_at_one_of_two_lengths(mean):
    S = similarity(X, neighbours=6, mean=mean)
    M = Diffusion(neighbours=6).walk(X[None])[0]
    np.testing.assert_allclose(S, mixture_by_hand(M, mean, off_diagonal(S).mean()), atol=1e-9)


def test_walks_of_several_tables_stop_at_their_own_lengths():
    """Clusters far apart need long walks, a cloud a short one."""
    data = np.stack([X, X + 20 * (np.arange(40) % 8)[:, None], X[:, [0, 0, 0]], X])
    kernel = Diffusion(neighbours=5, mean=0.3)
    for M, r in zip(kernel.walk(data), kernel.exponents(data), strict=True):
        S = unpack(np.exp(-r), diagonal=1.0)
        assert off_diagonal(S).mean() == pytest.approx(0.3, abs=1e-3)
        np.testing.assert_allclose(S, mixture_by_hand(M, 0.3, off_diagonal(S).mean()), atol=1e-9)


def test_the_walk_is_lazy_and_symmetric_and_keeps_its_mass():
    """D^(1/2) M D^(-1/2) has rows that sum to 1, with D found from M's leading eigenvector."""
    for M in Diffusion(neighbours=4).walk(np.stack([X, X**3])):
        assert np.allclose(M, M.T)
        np.testing.assert_allclose(np.diag(M), 0.5, atol=1e-9)
        values, vectors = np.linalg.eigh(M)
        assert values[-1] == pytest.approx(1)
        root = vectors[:, -1]
        np.testing.assert_allclose((M * root / root[:, None]).sum(axis=1), 1)


def test_samples_as_near_as_the_last_neighbour_are_neighbours_too():
    line = np.arange(12.0)[:, None]
    lattice = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    for data, k in ((line, 3), (lattice, 3)):
        order = np.random.default_rng(0).permutation(len(data))
        one, other = (similarity(d, neighbours=k, mean=0.2, standardise=False) for d in (data, data[order]))
        np.testing.assert_allclose(other, one[np.ix_(order, order)], atol=1e-9)
    joined = Diffusion(neighbours=3, standardise=False).walk(lattice[None])[0] > 1e-6
    inner = 12  # the middle of the lattice: four nearest, though three were asked for
    assert np.flatnonzero(joined[inner]).tolist() == [7, 11, 12, 13, 17]


@pytest.mark.parametrize("mean", [0.1, 0.25, 0.5])
def test_the_mean_similarity_is_the_one_asked_for(mean):
    S = similarity(X, mean=mean)
    assert S[np.triu_indices(40, 1)].mean() == pytest.approx(mean, abs=1e-3)


def test_similarities_are_positive_semi_definite():
    assert np.linalg.eigvalsh(similarity(X, mean=0.3)).min() > -1e-10


def by_hand(data, k):
    """Return the similarities of a walk of two steps, K = M^2, on the graph of the k most similar samples."""
    n = len(data)
    D = [[math.dist(a, b) for b in data] for a in data]
    q = [naive.local_scale([D[i][j] for j in range(n) if j != i], quantile=0.3) for i in range(n)]
    affinity = [[math.exp(-(D[i][j] ** 2) / (q[i] * q[j])) for j in range(n)] for i in range(n)]
    weights = np.zeros((n, n))
    for i in range(n):
        for j in sorted((j for j in range(n) if j != i), key=lambda j: -affinity[i][j])[:k]:
            weights[i, j] = weights[j, i] = affinity[i][j]
    degree = weights.sum(axis=1)
    M = (np.eye(n) + weights / np.sqrt(np.outer(degree, degree))) / 2
    K = M @ M
    return K / np.sqrt(np.outer(np.diag(K), np.diag(K)))


@pytest.mark.parametrize(
    ("neighbours", "k"), [(5, 5), (2, 2), (1, 2), (39, 39), (100, 39), (0.25, 10), (0.01, 2), ("sqrt", 6)]
)
def test_by_hand_for_a_walk_of_two_steps(neighbours, k):
    """With mean next to 0 the walk is as short as it can be."""
    S = similarity(X, neighbours=neighbours, mean=1e-9, standardise=False)
    np.testing.assert_allclose(S, by_hand(X, k), atol=1e-5)


def test_standardising_comes_before_neighbours():
    stretched = X * [1, 1000, 1e-3]
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    S = similarity(stretched, neighbours=5, mean=1e-9, standardise=True)
    np.testing.assert_allclose(S, by_hand(scaled, 5), atol=1e-5)


@pytest.mark.parametrize(
    ("neighbours", "found"),
    [(10, [1, 2, 10, 10]), (0.1, [1, 2, 4, 10]), ("sqrt", [1, 2, 6, 10]), (np.int64(3), [1, 2, 3, 3])],
)
def test_there_are_at_least_two_neighbours_and_at_most_all_others(neighbours, found):
    assert [Diffusion(neighbours=neighbours).n_neighbours(n) for n in (2, 3, 40, 100)] == found


def test_a_walk_follows_rings():
    data, ring = rings()
    S = similarity(data, neighbours=4, mean=0.3)
    same = np.equal.outer(ring, ring)
    np.fill_diagonal(same, False)
    assert S[same].mean() > 0.5
    assert S[~np.equal.outer(ring, ring)].max() < 1e-6


def test_longer_walks_are_more_similar():
    short, long = similarity(X, mean=0.1), similarity(X, mean=0.4)
    assert (long > short)[np.triu_indices(40, 1)].mean() > 0.95


def test_separate_components_stay_apart_while_their_own_samples_mix():
    data = np.concatenate([X, X + 1e4])
    S = similarity(data, neighbours=5, mean=0.4)
    assert S[:40, 40:].max() < 1e-3
    assert S[np.triu_indices(80, 1)].mean() == pytest.approx(0.4, abs=0.02)


def test_a_mean_that_components_cannot_reach_mixes_them():
    data = np.concatenate([X, X + 1e4])
    S = similarity(data, neighbours=5, mean=0.9)
    assert S[np.triu_indices(80, 1)].mean() == pytest.approx(0.9, abs=0.02)


def test_standardising_makes_features_equal():
    stretched = X * [1, 1000, 1e-3] + [0, 5, -7]
    np.testing.assert_allclose(similarity(stretched), similarity(X), atol=1e-6)
    assert not np.allclose(
        similarity(stretched, standardise=False), similarity(X, standardise=False), atol=0.05
    )


def test_without_standardising_scale_and_place_still_do_not_matter():
    moved = similarity(250 * X + 3, standardise=False)
    np.testing.assert_allclose(moved, similarity(X, standardise=False), atol=1e-6)


def test_features_one_by_one_need_no_common_scale():
    stretched = X * [1, 1000, 1e-3]
    settings = {"per_feature": True, "standardise": False}
    np.testing.assert_allclose(similarity(stretched, **settings), similarity(X, **settings), atol=1e-6)
    assert not np.allclose(similarity(X, **settings), similarity(X, standardise=False), atol=0.05)


def test_one_wild_feature_does_not_take_a_sample_out_of_its_cluster():
    data = np.repeat([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]], 20, axis=0) + X
    data[0, 0] = 1e4
    same = np.arange(1, 20)
    bounded = similarity(data, per_feature=True, standardise=False, mean=0.4)
    assert bounded[0, same].mean() > 5 * bounded[0, 20:].mean()
    # with all features in one distance the sample is equally far from both clusters
    together = similarity(data, standardise=False, mean=0.4)
    assert together[0, same].mean() < 3 * together[0, 20:].mean()


@pytest.mark.parametrize("mean", [0.08, 0.15])
def test_balance_gives_all_samples_the_same_mean(mean):
    plain, level = (similarity(X, mean=mean, balance=balance) - np.eye(40) for balance in (False, True))
    assert plain.sum(axis=0).std() > 0.05 * plain.sum(axis=0).mean()
    assert level.sum(axis=0).std() < 1e-3 * level.sum(axis=0).mean()
    assert level.mean() == pytest.approx(plain.mean(), rel=0.02)


def test_balanced_similarities_are_a_factor_for_each_sample():
    s = np.exp(-Diffusion(mean=0.2).exponents(X))
    S = unpack(s, diagonal=1.0)
    level = balanced(S[None])[0]
    off = ~np.eye(40, dtype=bool)
    assert level.max() < 1
    logs = np.log(level[off] / S[off])
    # log f_i + log f_j, solved for f by least squares, leaves nothing over
    i, j = np.nonzero(off)
    design = np.eye(40)[i] + np.eye(40)[j]
    residual = np.linalg.lstsq(design, logs, rcond=None)[1]
    assert residual == pytest.approx(0, abs=1e-10)


def test_balance_never_goes_past_one():
    S = unpack(np.array([1.0, 0.9, 0.9, 1.0, 0.9, 1.0]), diagonal=1.0)
    assert balanced(S[None]).max() <= 1


def test_order_of_samples_does_not_matter():
    order = np.random.default_rng(1).permutation(40)
    np.testing.assert_allclose(similarity(X[order]), similarity(X)[np.ix_(order, order)], atol=1e-6)


@pytest.mark.parametrize("copies", [2, 5, 20])
def test_duplicates(copies):
    data = np.concatenate([X, np.repeat(X[:1], copies, axis=0)])
    S = similarity(data, mean=0.2)
    same = [0, *range(40, 40 + copies)]
    inside = S[np.ix_(same, same)]
    outside = np.delete(S[0], same)
    assert inside.min() > outside.max()


def test_all_samples_in_two_places():
    data = np.repeat([[0.0], [1.0]], 8, axis=0)
    S = similarity(data, neighbours=3, mean=0.3)
    assert S[:8, :8].mean() > S[:8, 8:].max()


def test_constant_view_has_zero_exponents():
    assert not Diffusion().exponents(np.full((6, 2), 3.0)).any()


def test_a_constant_feature_says_nothing():
    with_constant = np.column_stack([X, np.full(len(X), 5.0)])
    np.testing.assert_allclose(similarity(with_constant), similarity(X), atol=1e-6)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_samples(n):
    similarity(X[:n])
    similarity(X[:n], neighbours=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"neighbours": 0},
        {"neighbours": -3},
        {"neighbours": 0.0},
        {"neighbours": 1.0},
        {"neighbours": 2.5},
        {"mean": 0.0},
        {"mean": 1.0},
        {"mean": 2},
    ],
    ids=str,
)
def test_parameters_out_of_range(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name} == "):
        Diffusion(**wrong)


@pytest.mark.parametrize("neighbours", ["cube", None, [3]])
def test_neighbours_of_another_type(neighbours):
    with pytest.raises(TypeError, match="neighbours must be an instance of"):
        Diffusion(neighbours=neighbours)


def test_a_model_reads_it_by_name():
    data = [rings(seed=0)[0], rings(seed=1)[0]]
    settings = {"n_clusters": 2, "n_patterns": 1, "n_init": 1, "max_iter": 3, "random_state": 0}
    named, given, other = (
        LatentSimplexPosition.paper(similarity=s, **settings).fit(data)
        for s in ("diffusion", Diffusion(), Diffusion(mean=0.3))
    )
    assert named.loss_ == given.loss_ != other.loss_
    assert named.similarity_ == Diffusion()
