"""Powers of walks at the mean that is wanted, by hand, and the same in compiled loops."""

import numpy as np
import pytest

from latentsimplex.base.condensed import unpack_pairs
from latentsimplex.similarity import Diffusion, _walk_loops
from latentsimplex.similarity.kernel import to_single
from latentsimplex.similarity.walk_powers import (
    BALANCING_STEPS,
    LEAST_WEIGHT,
    MIXING_STEPS,
    MOST_DOUBLINGS,
    balance_rows,
    double_lengths,
    mean_of_product,
    mean_of_square,
    mix_powers,
    off_diagonal_mean,
    similarities_at_mean,
    walk_to_mean,
)

X = np.random.default_rng(0).normal(size=(40, 3))


def off_diagonal(S):
    return S[np.triu_indices(len(S), 1)]


def similarity_of(K):
    return K / np.sqrt(np.outer(np.diag(K), np.diag(K)))


def mean_similarity(K):
    return np.array([off_diagonal(similarity_of(one)).mean() for one in K])


def mixture_by_hand(M, mean, reached):
    """Return the similarities of the powers of M whose means enclose ``mean``, mixed to the mean reached."""
    lengths = [2, *(length for k in range(1, 15) for length in (3 * 2 ** (k - 1), 2 ** (k + 1)))]
    powers = [np.linalg.matrix_power(M, length) for length in lengths]
    powers = [K / np.trace(K) for K in powers]
    above = next(k for k, K in enumerate(powers) if off_diagonal(similarity_of(K)).mean() >= mean)
    if above == 0:
        return similarity_of(powers[0])
    low, high = 0.0, 1.0
    for _ in range(60):
        w = (low + high) / 2
        S = similarity_of((1 - w) * powers[above - 1] + w * powers[above])
        low, high = (low, w) if off_diagonal(S).mean() > reached else (w, high)
    return S


@pytest.mark.parametrize("mean", [1e-4, 0.05, 0.1, 0.13, 0.2, 0.37, 0.6, 0.9])
def test_a_walk_that_stops_at_one_of_two_lengths(mean):
    kernel = Diffusion(neighbours=6, mean=mean)
    M = kernel.walks(X[None])
    S = similarities_at_mean(M, mean)[0]
    np.testing.assert_allclose(S, mixture_by_hand(M[0], mean, off_diagonal(S).mean()), atol=1e-9)
    np.testing.assert_allclose(unpack_pairs(np.exp(-kernel.exponents(X)), 1.0), S, atol=1e-9)


def test_walks_of_several_tables_stop_at_their_own_lengths():
    """Clusters far apart need long walks, a cloud a short one."""
    data = np.stack([X, X + 20 * (np.arange(40) % 8)[:, None], X[:, [0, 0, 0]], X])
    kernel = Diffusion(neighbours=5, mean=0.3)
    for M, r in zip(kernel.walks(data), kernel.batch_exponents(data), strict=True):
        S = unpack_pairs(np.exp(-r), diagonal=1.0)
        assert off_diagonal(S).mean() == pytest.approx(0.3, abs=1e-3)
        np.testing.assert_allclose(S, mixture_by_hand(M, 0.3, off_diagonal(S).mean()), atol=1e-9)


def test_walks_double_until_the_next_doubling_would_reach_the_mean():
    walks = Diffusion(neighbours=5).walks(np.stack([X, X + 20 * (np.arange(40) % 8)[:, None]]))
    half, power, shortest, longest = double_lengths(walks, 0.14, 40)
    np.testing.assert_allclose(longest, mean_similarity(power @ power), rtol=1e-9)
    np.testing.assert_allclose(shortest, [-1, mean_similarity(power)[1]], rtol=1e-9)
    np.testing.assert_allclose(power, half @ half, rtol=1e-9)
    assert (mean_similarity(power @ power) >= 0.14).all()
    longer = [not np.allclose(one, M) for one, M in zip(half, walks, strict=True)]
    assert (mean_similarity(power)[longer] < 0.14).all()
    assert longer == [False, True]


@pytest.mark.parametrize("mean", [0.0, 0.12, 0.2, 1.0])
def test_a_mean_between_those_of_three_powers_is_that_of_a_mixture_of_two(mean):
    """The powers are L, 3L/2 and 2L, and each walk has a choice of its own."""
    walks = Diffusion(neighbours=4).walks(np.stack([X, X**3]))
    half, power, *_ = double_lengths(walks, mean, 40)
    K, roots = walk_to_mean(walks, mean)
    powers = [power, power @ half, power @ power]
    for v in range(2):
        first = 0 if mean_similarity(powers[1])[v] >= mean else 1
        pair = np.array([powers[first][v].ravel(), powers[first + 1][v].ravel()])
        shares = np.linalg.lstsq(pair.T, K[v].ravel(), rcond=None)[0]
        np.testing.assert_allclose(shares @ pair, K[v].ravel(), atol=1e-12)
        assert (shares > -1e-9).all()
        np.testing.assert_allclose(roots[v], np.diag(K[v]) ** -0.5, rtol=1e-9)


def test_mean_similarities_by_hand():
    K = np.array([X @ X.T + 3 * np.eye(40), np.exp(-abs(X[:, :1] - X[:, 0]))])
    np.testing.assert_allclose(mean_of_square(K, 40), mean_similarity(K @ K), rtol=1e-12)
    power = K @ K
    np.testing.assert_allclose(mean_of_product(K, power, 40), mean_similarity(K @ power), rtol=1e-12)
    assert off_diagonal_mean(5.0 + 20 * 0.3, 5) == pytest.approx(0.3)


@pytest.mark.parametrize(("mean", "expected"), [(0.0, "shorter"), (0.99, "longer")])
@pytest.mark.parametrize("left", [0, 1])
def test_a_mean_out_of_reach_is_that_of_one_power_alone(mean, expected, left):
    M = Diffusion(neighbours=4).walks(X[None])
    half, power = M, M @ M
    first = (half, power)[left]
    ends = mean_similarity(first @ half), mean_similarity(first @ power)
    less, more, roots = mix_powers(first, half, power, mean, 40, *ends)
    assert (less > 0).tolist() == [expected == "shorter"]
    assert (more > 0).tolist() == [expected == "longer"]
    K = first @ (less[:, None, None] * half + more[:, None, None] * power)
    np.testing.assert_allclose(roots[0], np.diag(K[0]) ** -0.5, rtol=1e-12)


# Balance


def test_balanced_similarities_are_a_factor_for_each_sample():
    s = np.exp(-Diffusion(mean=0.2).exponents(X))
    S = unpack_pairs(s, diagonal=1.0)
    level = balance_rows(S[None])[0]
    off = ~np.eye(40, dtype=bool)
    assert level.max() < 1
    logs = np.log(level[off] / S[off])
    # log f_i + log f_j, solved for f by least squares, leaves nothing over
    i, j = np.nonzero(off)
    design = np.eye(40)[i] + np.eye(40)[j]
    residual = np.linalg.lstsq(design, logs, rcond=None)[1]
    assert residual == pytest.approx(0, abs=1e-10)


def test_balance_never_goes_past_one():
    S = unpack_pairs(np.array([1.0, 0.9, 0.9, 1.0, 0.9, 1.0]), diagonal=1.0)
    assert balance_rows(S[None]).max() <= 1


# In compiled loops


def table(n, p, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(3, p))[rng.integers(0, 3, n)] * 3 + rng.normal(size=(n, p))


def powers(n=70, neighbours=4):
    """Return a walk of n samples and its square, as wide as the loops want them."""
    wide = -(-n // _walk_loops.LANES) * _walk_loops.LANES
    M = np.zeros((wide, wide), dtype=np.float32)
    M[:n, :n] = Diffusion(neighbours=neighbours).walks(to_single(table(n, 2))[None])[0]
    return M, M @ M


def lists(n):
    """Return room for the lists of what is significant in each row."""
    columns = n + _walk_loops.AT_ONCE
    return np.empty((n, columns), np.uint16), np.empty((n, columns), np.float32), np.empty(n, np.int64)


@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("n", [5, 70, 96])
def test_the_upper_half_of_a_product_of_powers(n, listed, left):
    both = powers(n)
    left, right = both[left], both[1]
    who, share, many = lists(n)
    out = np.full_like(right, np.nan)
    _walk_loops.list_significant(left, n, _walk_loops.NEGLIGIBLE, who, share, many)
    _walk_loops.write_product(left, listed, who, share, many, right, out)
    np.testing.assert_allclose(np.triu(out[:n, :n]), np.triu(left.astype(float) @ right)[:n, :n], atol=1e-6)


@pytest.mark.parametrize("neighbours", [3, 60])
def test_squares_of_powers_are_whole_and_of_unit_mean_return(neighbours):
    """Few entries are listed, many are not."""
    n = 90
    M, _ = powers(n, neighbours)
    out = np.zeros_like(M)
    share = _walk_loops.count_significant(M, n, _walk_loops.NEGLIGIBLE)
    assert share == (M > _walk_loops.NEGLIGIBLE).sum() / n**2
    assert (share < _walk_loops.MOST_LISTED) == (neighbours == 3)
    _walk_loops.square_power(M, _walk_loops.NEGLIGIBLE, *lists(n), out)
    expected = M.astype(float) @ M
    np.testing.assert_allclose(out, expected * n / np.trace(expected), atol=1e-5)


def test_what_is_significant_is_listed_row_by_row():
    M, _ = powers(30)
    who, share, many = lists(30)
    _walk_loops.list_significant(M, 30, 1e-3, who, share, many)
    for i in range(30):
        expected = np.flatnonzero(M[i, :30] > 1e-3)
        assert who[i, : many[i]].tolist() == expected.tolist()
        assert np.array_equal(share[i, : many[i]], M[i, expected])
        whole = max(-(-many[i] // _walk_loops.AT_ONCE), 1) * _walk_loops.AT_ONCE
        assert not share[i, many[i] : whole].any()


@pytest.mark.parametrize("longer", [False, True])
def test_compiled_means_are_those_of_arrays(longer):
    n = 70
    half, power = powers(n)
    own, other, roots = np.empty(n), np.empty(n), np.zeros(len(half), dtype=np.float32)
    H, P = np.float64(half[:n, :n]), np.float64(power[:n, :n])
    left = power if longer else half
    K = np.float64(left[:n, :n]) @ (0.7 * H + 0.3 * P)
    assert _walk_loops.write_products_of_rows(left, half, n, own) == pytest.approx(own.mean(), rel=1e-6)
    _walk_loops.write_products_of_rows(left, power, n, other)
    np.testing.assert_allclose(0.7 * own + 0.3 * other, np.diag(K), rtol=1e-5)
    found = _walk_loops.mean_of_mixture(half, power, longer, own, other, 0.7, 0.3, LEAST_WEIGHT, roots)
    assert found == pytest.approx(mean_similarity(K[None])[0], rel=1e-5)
    np.testing.assert_allclose(roots[:n], np.diag(K) ** -0.5, rtol=1e-5)
    assert _walk_loops.mean_of_square(half, n, LEAST_WEIGHT) == pytest.approx(
        mean_of_square(H[None], n)[0], rel=1e-5
    )


@pytest.mark.parametrize("longer", [False, True])
@pytest.mark.parametrize("share", [-0.2, 0.0, 0.31, 1.0, 1.2])
def test_a_compiled_mixture_is_found_where_arrays_find_it(share, longer):
    n = 70
    half, power = powers(n)
    H, P = np.float64(half[None, :n, :n]), np.float64(power[None, :n, :n])
    left = P if longer else H
    ends = mean_similarity(np.concatenate([left @ H, left @ P]))
    mean = ends[0] + share * (ends[1] - ends[0])
    roots = np.zeros(len(half), dtype=np.float32)
    found = _walk_loops.find_mixture(half, power, longer, n, mean, *ends, MIXING_STEPS, LEAST_WEIGHT, roots)
    less, more, expected = mix_powers(left, H, P, mean, n, ends[:1], ends[1:])
    np.testing.assert_allclose(found, [less[0], more[0]], rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(roots[:n], expected[0], rtol=1e-4)
    K = left @ (found[0] * H + found[1] * P)
    assert mean_similarity(K)[0] == pytest.approx(np.clip(mean, *ends), abs=1e-5)


@pytest.mark.parametrize("mean", [1e-4, 0.1, 0.3, 0.6])
def test_a_compiled_walk_to_a_mean_is_that_of_arrays(mean):
    n = 70
    M, _ = powers(n)
    expected = similarities_at_mean(np.float64(M[None, :n, :n]), mean)[0]
    spare = np.full((4, *M.shape), 0.0, dtype=np.float32)
    K, roots = _walk_loops.walk_to_mean(
        M.copy(), mean, MOST_DOUBLINGS, MIXING_STEPS, LEAST_WEIGHT, spare, *lists(n)
    )
    found = K[:n, :n] * np.outer(roots, roots)
    np.testing.assert_allclose(off_diagonal(found), off_diagonal(expected), atol=2e-5)


def test_compiled_balance_is_that_of_arrays():
    n = 70
    _, K = powers(n)
    roots = np.float32(np.diag(K)[:n] ** -0.5)
    S = np.float64(K[:n, :n]) * np.outer(roots, roots)
    expected = balance_rows(S[None])[0]
    _walk_loops.balance_rows(K, roots, BALANCING_STEPS, LEAST_WEIGHT)
    found = np.minimum(K[:n, :n] * np.outer(roots, roots), 1.0)
    np.testing.assert_allclose(off_diagonal(found), off_diagonal(expected), atol=2e-5)
