"""M steps on the processor: precisions, tiles, threads and empty columns make no difference but rounding."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from latentsimplex import LatentSimplexPosition
from latentsimplex.base import condensed
from latentsimplex.base.condensed import TILE_PAIRS, count_pairs, cut_into_tiles, pack_pairs, unpack_pairs
from latentsimplex.base.threads import Workers
from latentsimplex.datasets import many_views
from latentsimplex.model import backends as numba_backend
from latentsimplex.model.backends import (
    DOUBLE_ROUNDING,
    MANY,
    SINGLE_ROUNDING,
    NumbaBackend,
    make_sides,
)
from latentsimplex.model.cluster_prices import ClusterPrice
from latentsimplex.model.penalties import NoPenalty
from latentsimplex.model.problem import Model, Patterns
from latentsimplex.pairs.divergence import DIVERGENCES, P_CLIP
from problems import KINDS, identities, interior_memberships, random_responses

KIND = pytest.mark.parametrize("kind", KINDS)


def plain_terms(W, B, mass, stat, kind):
    """Return a(q), the sum of h(q), the objective and its gradients in W and a free B, by full matrices."""
    i, j = np.triu_indices(len(W), 1)
    q = np.clip(np.einsum("ia,ab,ib->i", W[i], B, W[j]), P_CLIP, 1 - P_CLIP)
    a, h = DIVERGENCES[kind].a_and_h(q)
    value, slope = DIVERGENCES[kind].value_and_slope(q, mass, stat)
    GW = unpack_pairs(slope) @ W
    return a, h.sum(), value.sum(), GW @ B, W.T @ GW / 2


def patterns_of(d, n, g, seed=0):
    rng = np.random.default_rng(seed)
    mass = rng.uniform(1, 4, size=d)
    return Patterns(
        interior_memberships(rng, d, n, g), random_responses(rng, d, g), mass, rng.random((d, count_pairs(n)))
    )


def evaluate(backend, patterns, kind):
    function, _ = backend.pair_objective(patterns.mass, patterns.stat, DIVERGENCES[kind])
    return function(patterns.W, patterns.B)


@KIND
@pytest.mark.parametrize("n", [2, 9, 40])
def test_terms_and_gradients_are_those_of_full_matrices(kind, n):
    patterns, backend = patterns_of(3, n, 3), NumbaBackend(n, Workers(1))
    A, H = backend.pair_terms(patterns.W, patterns.B, DIVERGENCES[kind])
    values, dW, dB = evaluate(backend, patterns, kind)
    assert A.dtype == np.float64
    for l, one in enumerate(zip(*patterns[:4], strict=True)):
        a, h, value, expected_dW, expected_dB = plain_terms(*one, kind)
        np.testing.assert_allclose(A[l], a, rtol=1e-10, atol=1e-12)
        assert H[l] == pytest.approx(h, rel=1e-10)
        assert values[l] == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(dW[l], expected_dW, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(dB[l], expected_dB, rtol=1e-8, atol=1e-10)


def test_columns_that_hold_nothing_are_left_out_without_a_trace():
    """Poured out columns lie last, first or between; what is computed is as if all had been walked."""
    rng = np.random.default_rng(0)
    W = np.zeros((3, 12, 5))
    for l, kept in enumerate([[0, 1], [3, 4], [0, 2, 4]]):
        W[l][:, kept] = interior_memberships(rng, 1, 12, len(kept))[0]
    patterns = Patterns(
        W, random_responses(rng, 3, 5), np.array([1.0, 2.0, 3.0]), rng.normal(size=(3, count_pairs(12)))
    )
    for kind in KINDS:
        values, dW, dB = evaluate(NumbaBackend(12, Workers(1)), patterns, kind)
        for l, one in enumerate(zip(*patterns[:4], strict=True)):
            _, _, value, expected_dW, expected_dB = plain_terms(*one, kind)
            assert values[l] == pytest.approx(value, rel=1e-10)
            np.testing.assert_allclose(dB[l], expected_dB, rtol=1e-8, atol=1e-9)
            used = W[l].max(axis=0) > 0
            np.testing.assert_allclose(dW[l][:, used], expected_dW[:, used], rtol=1e-8, atol=1e-9)


def test_clipped_pairs_are_still_pulled_back():
    """Two samples that are surely apart, under a statistic that wants them together."""
    patterns = Patterns(np.array([[[1.0, 0.0], [0.0, 1.0]]]), identities(1, 2), np.ones(1), np.array([[3.0]]))
    _, gradient, _ = evaluate(NumbaBackend(2, Workers(1)), patterns, "reverse")
    assert gradient[0, 0, 1] < 0
    assert gradient[0, 1, 0] < 0


# Precisions and sizes


def test_small_is_what_fits_in_a_tile():
    most = condensed.count_samples(TILE_PAIRS)
    assert count_pairs(most) <= TILE_PAIRS < count_pairs(most + 1)
    assert NumbaBackend(most, Workers(1)).is_small
    assert not NumbaBackend(most + 1, Workers(1)).is_small


def test_losses_of_many_pairs_are_known_to_single_precision():
    most = condensed.count_samples(MANY)
    assert NumbaBackend(most, Workers(1)).loss_rounding == DOUBLE_ROUNDING
    assert NumbaBackend(most + 1, Workers(1)).loss_rounding == SINGLE_ROUNDING


@pytest.mark.parametrize(("n", "terms", "steps"), [(91, "f8", "f8"), (92, "f4", "f8"), (513, "f4", "f4")])
def test_precisions_by_the_number_of_samples(n, terms, steps):
    """As the table in the module has them."""
    backend, patterns = NumbaBackend(n, Workers(1)), patterns_of(1, n, 2)
    A, H = backend.pair_terms(patterns.W, patterns.B, DIVERGENCES["reverse"])
    assert A.dtype == np.dtype(terms)
    assert H.dtype == np.float64
    _, kind = backend.pair_objective(patterns.mass, patterns.stat, DIVERGENCES["reverse"])
    assert kind.dtype == np.dtype(steps)
    values, dW, dB = evaluate(backend, patterns, "reverse")
    assert values.dtype == dW.dtype == dB.dtype == np.float64


@KIND
def test_many_samples_have_the_gradient_of_few(kind, monkeypatch):
    """The same problem in both precisions: what changes is rounding."""
    rng = np.random.default_rng(1)
    patterns = Patterns(
        rng.dirichlet(np.ones(3), (2, 40)),
        np.stack([0.1 + 0.6 * np.eye(3)] * 2),
        np.array([2.0, 3.0]),
        rng.random((2, count_pairs(40))),
    )

    def compute():
        backend = NumbaBackend(40, Workers(1))
        terms = backend.pair_terms(patterns.W, patterns.B, DIVERGENCES[kind])
        return backend, evaluate(backend, patterns, kind), terms

    _, expected, terms = compute()
    monkeypatch.setattr(numba_backend, "MANY", 0)
    monkeypatch.setattr(numba_backend, "TILE_PAIRS", 0)
    backend, found, single_terms = compute()
    assert backend._in_precision(patterns.stat).dtype == np.float32
    for one, exact in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, exact, rtol=1e-4, atol=1e-4 * np.abs(exact).max())
    for one, exact in zip(single_terms, terms, strict=True):
        np.testing.assert_allclose(one, exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n", [20, 600])
def test_rows_of_statistics_that_are_one_and_the_same_share_their_memory(n):
    row = np.random.default_rng(0).random(count_pairs(n))
    shared = np.broadcast_to(row, (50, count_pairs(n)))
    backend = NumbaBackend(n, Workers(1))
    found = backend._in_precision(shared)
    assert found.shape == shared.shape
    assert found.strides[0] == 0
    assert found.dtype == (np.float64 if backend.is_small else np.float32)
    np.testing.assert_array_equal(found[49], row.astype(found.dtype))
    one = as_strided(row, (1, len(row)), (0, row.strides[0]))
    assert backend._in_precision(one).shape == (1, len(row))


def test_statistics_of_tensors_come_to_this_machine():
    torch = pytest.importorskip("torch")
    found = NumbaBackend(4, Workers(1)).place(torch.ones(2, 6))
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float64
    stat = np.ones((2, 6))
    assert NumbaBackend(4, Workers(1)).place(stat) is stat


def test_sides_of_a_product():
    patterns = patterns_of(2, 7, 3)
    for precision in (np.float64, np.float32):
        left, right = make_sides(patterns.W, patterns.B, precision)
        assert left.dtype == right.dtype == precision
        assert left.flags.c_contiguous
        assert right.flags.c_contiguous
        q = left.swapaxes(-1, -2) @ right
        np.testing.assert_allclose(q, patterns.W @ patterns.B @ patterns.W.swapaxes(-1, -2), rtol=1e-5)


@pytest.mark.parametrize("n", [20, 400])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_inner_products(n, n_jobs):
    stats = list(np.random.default_rng(0).normal(size=(4, count_pairs(n))))
    with Workers(n_jobs) as workers:
        found = NumbaBackend(n, workers).inner_products(stats)
    np.testing.assert_allclose(found, np.array(stats) @ np.array(stats).T, rtol=1e-12, atol=1e-9)
    assert np.array_equal(found, found.T)
    assert NumbaBackend(n, Workers(1)).inner_products([]).shape == (0, 0)


# Threads and tiles


@KIND
@pytest.mark.parametrize("tile", [1, 7, 50, 1 << 17])
def test_tiles_of_any_size_give_the_whole(kind, tile, monkeypatch):
    patterns = patterns_of(2, 30, 3)
    expected = evaluate(NumbaBackend(30, Workers(1)), patterns, kind)
    terms = NumbaBackend(30, Workers(1)).pair_terms(patterns.W, patterns.B, DIVERGENCES[kind])
    monkeypatch.setattr(condensed, "TILE_PAIRS", tile)
    cut_into_tiles.cache_clear()
    try:
        backend = NumbaBackend(30, Workers(1))
        found = (*evaluate(backend, patterns, kind), *backend.pair_terms(*patterns[:2], DIVERGENCES[kind]))
    finally:
        cut_into_tiles.cache_clear()
    for one, other in zip(found, (*expected, *terms), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@KIND
@pytest.mark.parametrize("n", [400, 900])
def test_threads_give_the_same_bits(kind, n):
    """With several tiles, in double and in single precision."""
    assert len(cut_into_tiles(n)) > 1 or n < 512
    patterns, found = patterns_of(3, n, 3), []
    for n_jobs in (1, 3):
        with Workers(n_jobs) as workers:
            backend = NumbaBackend(n, workers)
            found.append(
                (
                    *evaluate(backend, patterns, kind),
                    *backend.pair_terms(patterns.W, patterns.B, DIVERGENCES[kind]),
                )
            )
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)


# Descent


def blocks_of(n, d, kind, seed=0):
    """Return patterns of three noisy blocks that memberships have not found yet."""
    rng = np.random.default_rng(seed)
    labels, mass = rng.integers(0, 3, n), rng.uniform(1, 4, size=d)
    s = pack_pairs(np.where(np.equal.outer(labels, labels), 0.8, 0.2)) * rng.uniform(0.9, 1.1, count_pairs(n))
    stat = mass[:, None] * DIVERGENCES[kind].f(-np.log(s))
    return Patterns(interior_memberships(rng, d, n, 4), random_responses(rng, d, 4), mass, stat)


@KIND
def test_single_precision_is_for_searches_with_enough_pairs(kind):
    model = Model(DIVERGENCES[kind], NoPenalty(), learned_response=True)
    for n, differs in ((20, False), (120, True)):
        patterns = blocks_of(n, 2, kind)
        backend, rate = NumbaBackend(n, Workers(1)), np.full(2, 0.5)
        exact = backend.descend(patterns, model, np.zeros(4), 4, rate, single_precision=False)
        rough = backend.descend(patterns, model, np.zeros(4), 4, rate, single_precision=True)
        assert np.array_equal(exact[0], rough[0]) != differs
        for one, other in zip(exact, rough, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-3)


@pytest.mark.parametrize("n", [40, 600])
def test_descent_leaves_what_it_was_given(n):
    patterns = blocks_of(n, 2, "forward")
    before = [part.copy() for part in patterns[:4]]
    rate = np.full(2, 0.5)
    backend = NumbaBackend(n, Workers(1))
    prices = np.arange(4.0)
    model = Model(DIVERGENCES["forward"], ClusterPrice(tuple(prices)), learned_response=True)
    W, B, rates = backend.descend(patterns, model, prices, 3, rate, single_precision=False)
    for part, was in zip(patterns[:4], before, strict=True):
        assert np.array_equal(part, was)
    assert rate.tolist() == [0.5, 0.5]
    assert W.shape == patterns.W.shape
    np.testing.assert_allclose(W.sum(axis=-1), 1, rtol=1e-6)
    assert B.shape == patterns.B.shape
    assert rates.shape == (2,)


@pytest.mark.parametrize("n", [40, 600])
def test_descent_leaves_columns_that_hold_nothing_empty(n):
    patterns = blocks_of(n, 2, "forward")
    patterns.W[1, :, 2:] = 0.0
    patterns.W[:] /= patterns.W.sum(axis=-1, keepdims=True)
    model = Model(DIVERGENCES["forward"], NoPenalty(), learned_response=True)
    W, B, _ = NumbaBackend(n, Workers(1)).descend(patterns, model, np.zeros(4), 5, np.full(2, 0.5), False)
    assert not W[1, :, 2:].any()
    assert np.array_equal(B[1, 2:], patterns.B[1, 2:])
    assert W[0].min() > 0


def test_a_search_is_rough_and_what_is_reported_is_not(monkeypatch):
    asked, descend = [], NumbaBackend.descend

    def watched(self, *arguments):
        asked.append(arguments[-1])
        return descend(self, *arguments)

    monkeypatch.setattr(NumbaBackend, "descend", watched)
    views = np.asarray(many_views(14, n_samples=60, random_state=0).views)
    LatentSimplexPosition(4, 3, random_state=0, n_init=1).fit(views)
    assert asked[0]
    assert not asked[-1]
