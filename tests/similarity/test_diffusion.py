"""Diffusion: similarities in range that follow the shape of clusters, in either precision."""

import math

import numpy as np
import pytest

from latentsimplex import LatentSimplexPosition
from latentsimplex.base.condensed import unpack_pairs
from latentsimplex.base.threads import Workers
from latentsimplex.base.wide_table import WideTable
from latentsimplex.similarity import Diffusion
from latentsimplex.similarity.diffusion import MOST_MULTIPLIED, exponents_of
from latentsimplex.similarity.kernel import accepts_batches, read_exponents, to_single
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
    return unpack_pairs(np.exp(-r), diagonal=1.0)


def rings(n=60, seed=0):
    """Return two rings, one inside the other, and which one each sample is on."""
    rng = np.random.default_rng(seed)
    ring = np.arange(n) % 2
    angle = 2 * np.pi * np.arange(n) / n
    radius = np.where(ring == 0, 1.0, 4.0) + 0.05 * rng.normal(size=n)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), ring


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
    assert [Diffusion(neighbours=neighbours).count_neighbours(n) for n in (2, 3, 40, 100)] == found


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


def test_exponents_of_similarities_are_positive_but_for_none():
    S = np.array([[[1.0, 1.0, 0.5], [1.0, 1.0, 0.0], [0.5, 0.0, 1.0]]])
    r = exponents_of(S)
    assert r.shape == (1, 3)
    assert 0 < r[0, 0] < 1e-11
    assert r[0, 1] == pytest.approx(np.log(2))
    assert np.isfinite(r[0, 2])


def test_similarities_are_balanced_where_that_is_asked_for():
    tables = np.stack([X, np.random.default_rng(1).normal(size=(40, 3))])
    for kernel in (Diffusion(mean=0.2), Diffusion(mean=0.2, balance=True)):
        np.testing.assert_array_equal(
            exponents_of(kernel.similarities(tables)), kernel.batch_exponents(tables)
        )
    level = kernel.similarities(tables) * (1 - np.eye(40))
    assert (level.sum(axis=1).std(axis=1) < 1e-3 * level.sum(axis=1).mean(axis=1)).all()


# In single precision, compiled


KERNELS = [
    Diffusion(),
    Diffusion(neighbours=1 / 7, mean=0.2),
    Diffusion(neighbours="sqrt", mean=0.12, standardise=False),
    Diffusion(mean=0.3, balance=True),
    Diffusion(standardise=False, per_feature=True),
]


def table(n, p, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(3, p))[rng.integers(0, 3, n)] * 3 + rng.normal(size=(n, p))


def similarities(kernel, X):
    return np.exp(-kernel.exponents(X))


@pytest.mark.parametrize("kernel", KERNELS, ids=range(5))
@pytest.mark.parametrize(("n", "p"), [(3, 1), (5, 2), (40, 1), (60, 3), (60, 9)])
def test_single_precision_reads_as_double_does(kernel, n, p):
    data = table(n, p)
    found = similarities(kernel, to_single(data))  # compiled
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, similarities(kernel, data), atol=2e-5)


@pytest.mark.parametrize("n", [MOST_MULTIPLIED, MOST_MULTIPLIED + 1])
def test_both_sides_of_the_number_of_samples_whose_walks_are_multiplied(n):
    data = table(n, 2)
    found = similarities(KERNELS[0], to_single(data))
    assert found.mean() == pytest.approx(KERNELS[0].mean, abs=0.01)
    np.testing.assert_allclose(found, similarities(KERNELS[0], data), atol=0.02)


@pytest.mark.parametrize("kernel", KERNELS, ids=range(5))
def test_samples_that_coincide_are_as_similar_to_each_other_as_can_be(kernel):
    data = np.repeat(table(6, 2), 8, axis=0)
    S = similarities(kernel, to_single(data))
    assert np.isfinite(S).all()
    np.testing.assert_allclose(S, similarities(kernel, data), atol=1e-4)


@pytest.mark.parametrize("kernel", KERNELS, ids=range(5))
def test_constant_views_and_features(kernel):
    constant = np.full((30, 2), 7.0, dtype=np.float32)
    assert not kernel.exponents(constant).any()
    data = np.c_[table(30, 2), np.full(30, 3.0)]
    np.testing.assert_allclose(similarities(kernel, to_single(data)), similarities(kernel, data), atol=2e-5)


def test_two_samples():
    data = np.array([[0.0], [1.0]], dtype=np.float32)
    for kernel in KERNELS:
        found = similarities(kernel, data)
        assert found.shape == (1,)
        assert 0 <= found[0] <= 1


@pytest.mark.parametrize("kernel", KERNELS, ids=range(5))
def test_several_tables_are_read_one_by_one_where_they_are_wanted(kernel):
    data = np.stack([to_single(table(25, 2, seed)) for seed in range(3)])
    data[1] = 0.25  # a constant view among others
    out = np.empty((3, 300), dtype=np.float32)
    assert kernel.batch_exponents(data, out) is out
    np.testing.assert_array_equal(out, [kernel.exponents(one) for one in data])
    assert not out[1].any()
    np.testing.assert_array_equal(out, kernel.batch_exponents(data))


def test_what_many_samples_are_written_into_is_what_is_returned():
    data = to_single(table(MOST_MULTIPLIED + 1, 2))[None]
    out = np.empty((1, (MOST_MULTIPLIED + 1) * MOST_MULTIPLIED // 2), dtype=np.float32)
    assert KERNELS[0].batch_exponents(data, out) is out
    np.testing.assert_array_equal(out, KERNELS[0].batch_exponents(data))


def test_threads_have_matrices_of_their_own():
    data = [to_single(table(40 + seed % 2, 2, seed)) for seed in range(16)]
    with Workers(4) as workers:
        found = list(workers.map(KERNELS[0].exponents, data))
    for r, one in zip(found, data, strict=True):
        np.testing.assert_array_equal(r, KERNELS[0].exponents(one))


@pytest.mark.parametrize("mean", [0.2, 0.5])
def test_parts_that_never_meet_are_joined_in_very_long_walks(mean):
    """Eight groups on a line have a mean of about an eighth while walks stay within them."""
    data = np.repeat(np.arange(8.0) * 100, 6)[:, None] + np.tile(np.arange(6.0), 8)[:, None]
    kernel = Diffusion(neighbours=2, mean=mean)
    assert similarities(kernel, to_single(data)).mean() == pytest.approx(mean, abs=0.04)


def test_features_on_very_different_scales():
    """Compared one by one, a feature's scale says nothing, even where its squares would vanish."""
    data = table(40, 2) * [1.0, 1e-25]
    kernel = KERNELS[4]
    np.testing.assert_allclose(similarities(kernel, to_single(data)), similarities(kernel, data), atol=1e-4)


def test_wide_tables_are_compared_as_shares_as_narrow_ones_are():
    X = np.random.default_rng(0).poisson(1.0, size=(15, 60)).astype(float)
    kernel = Diffusion(neighbours=4, mean=0.3, standardise=False, as_shares=True)
    narrow, table = kernel.narrow(WideTable(X))
    np.testing.assert_allclose(narrow.exponents(table), kernel.exponents(X), rtol=1e-6)


def test_shares_are_read_by_compiled_loops_too():
    tables = np.random.default_rng(0).poisson(1.0, size=(2, 40, 12)).astype(float)
    kernel = Diffusion(neighbours=4, mean=0.3, standardise=False, as_shares=True)
    assert accepts_batches(kernel.by_differences(tables)[0])
    found = read_exponents(kernel, tables, str)
    np.testing.assert_allclose(np.exp(-found), np.exp(-kernel.batch_exponents(tables)), atol=1e-4)


def test_negative_numbers_are_refused_by_the_name_of_their_view():
    tables = np.array([[[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]]])
    kernel = Diffusion(standardise=False, as_shares=True)
    with pytest.raises(ValueError, match="view 'a': A view has negative numbers"):
        read_exponents(kernel, tables, lambda _: "view 'a'")
