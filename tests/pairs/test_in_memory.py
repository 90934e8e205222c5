"""Blocks of pair values: what is kept of them and how, and passes over them beside NumPy."""

import numpy as np
import pytest

from latentsimplex.base.compiled import STRIP
from latentsimplex.base.condensed import count_pairs
from latentsimplex.base.threads import Workers
from latentsimplex.datasets import many_views
from latentsimplex.inputs.views import as_views
from latentsimplex.model.backends import choose_backend
from latentsimplex.pairs import in_memory
from latentsimplex.pairs._pass_loops import NEGLIGIBLE, add_weighted_sums, multiply_strips
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.pairs.in_memory import InMemoryPairs, ViewReader
from latentsimplex.similarity import Diffusion, FunctionKernel, LocalScaling
from latentsimplex.similarity.kernel import LEAST_EXPONENT, MOST_EXPONENT
from problems import read_pairs

FORWARD = DIVERGENCES["forward"]
STORAGES = ("whole", "bytes", "nowhere")


def some_views(V=12, n=20):
    return np.asarray(many_views(V, n_samples=n, random_state=0).views)


def all_blocks(pairs):
    """Return F (V, m) of all blocks, after checking that they come in order and without gaps."""
    blocks, start = [], 0
    for rows, F in pairs.blocks():
        assert (rows.start, rows.stop - rows.start) == (start, len(F))
        assert len(F)
        start = rows.stop
        blocks.append(F)
    assert start == len(pairs)
    return np.concatenate(blocks)


@pytest.fixture(name="small_blocks")
def _small_blocks(monkeypatch):
    monkeypatch.setattr(InMemoryPairs, "block_values", 3 * 190)  # three views of twenty samples


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kernel", [Diffusion(), LocalScaling()], ids=["diffusion", "local scaling"])
@pytest.mark.parametrize("constant", [[], [1], [0, 1, 2, 7], [3, 4, 5, 11], list(range(11))], ids=str)
@pytest.mark.parametrize("keep", ["whole", "nowhere"])
def test_blocks_hold_the_values_of_the_views_that_tell_something(kernel, constant, keep):
    X = some_views()
    X[constant] = 3.0
    pairs = read_pairs(X, kernel, FORWARD, keep=keep)
    telling = np.setdiff1d(np.arange(len(X)), constant)
    np.testing.assert_array_equal(pairs.informative, telling)
    assert len(pairs) == len(telling)
    alone = [read_pairs(X[v : v + 1], kernel, FORWARD) for v in telling]
    for v, f in enumerate(all_blocks(pairs)):
        np.testing.assert_array_equal(f, alone[v].values(0))
        np.testing.assert_array_equal(f, pairs.values(v))
        assert pairs.constants[v] == alone[v].constants[0]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", DIVERGENCES)
@pytest.mark.parametrize("constant", [[], [4], [1, 4, 10], [0, 1, 2, 7], [3, 4, 5]], ids=str)
@pytest.mark.parametrize("kernel", [Diffusion(), LocalScaling()], ids=["diffusion", "local scaling"])
def test_blocks_are_the_same_however_they_are_kept(kernel, constant, kind):
    """Whole or nowhere to the last bit, in bytes within half a level; constant views stand between others."""
    X, divergence = some_views(), DIVERGENCES[kind]
    X[constant] = 3.0
    whole, in_bytes, nowhere = (read_pairs(X, kernel, divergence, keep=keep) for keep in STORAGES)
    bounds = [[rows for rows, _ in pairs.blocks()] for pairs in (whole, in_bytes, nowhere)]
    assert bounds[0] == bounds[1] == bounds[2]
    F, coarse, again = map(all_blocks, (whole, in_bytes, nowhere))
    assert F.dtype == coarse.dtype == again.dtype == np.float32
    assert np.array_equal(again, F)
    level = abs(np.subtract(*divergence.f(np.array([LEAST_EXPONENT, MOST_EXPONENT])))) / 255
    assert 0 < np.abs(coarse - F).max() <= level / 2 * (1 + 1e-4)
    for pairs, values in ((whole, F), (in_bytes, coarse), (nowhere, again)):
        assert np.array_equal(pairs.informative, whole.informative)
        assert np.array_equal(pairs.constants, whole.constants)
        for v in range(len(pairs)):
            assert np.array_equal(pairs.values(v), values[v])


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("keep", STORAGES)
def test_members_are_read_in_their_order_with_their_own_weights(keep):
    X = some_views()
    X[[2, 6]] = 3.0
    members, weights = np.array([9, 2, 3, 0, 6, 11]), np.linspace(1, 2, 12)
    pairs = read_pairs(X, LocalScaling(), FORWARD, keep=keep, weights=weights, members=members)
    telling = [9, 3, 0, 11]
    assert pairs.informative.tolist() == telling
    assert np.array_equal(pairs.weights, weights[telling])
    expected = all_blocks(read_pairs(X[telling], LocalScaling(), FORWARD, keep=keep))
    assert np.array_equal(all_blocks(pairs), expected)
    assert np.array_equal(read_pairs(X, LocalScaling(), FORWARD).weights, np.ones(10))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(("keep", "size"), [("whole", 4), ("bytes", 1), ("nowhere", 0)])
def test_what_is_kept_takes_no_more_memory_than_was_budgeted(keep, size):
    """And a constant view does not keep the memory of its neighbours."""
    X = some_views()
    X[4] = 3.0
    pairs = read_pairs(X, Diffusion(), FORWARD, keep=keep)
    values = sum(block.size for block in pairs._kept)
    assert sum(block.nbytes for block in pairs._kept) == size * (len(X) - 1) * 190
    assert values == (0 if keep == "nowhere" else (len(X) - 1) * 190)
    held = {id(F if F.base is None else F.base): (F if F.base is None else F.base) for F in pairs._kept}
    # of what was read at once, the room of a constant view is left at the end
    assert sum(F.nbytes for F in held.values()) <= size * len(X) * 190


@pytest.mark.parametrize("keep", STORAGES)
def test_nothing_but_constant_views(keep):
    pairs = read_pairs(np.ones((3, 6, 2)), LocalScaling(), FORWARD, keep=keep)
    assert len(pairs) == 0
    assert list(pairs.blocks()) == []
    assert pairs.informative.shape == pairs.constants.shape == pairs.weights.shape == (0,)


@pytest.mark.parametrize("keep", STORAGES)
def test_kernels_of_ones_own_are_asked_again_only_where_nothing_is_kept(keep):
    asked = []

    def similarity(X):
        asked.append(None)
        return np.exp(-abs(X - X.T))

    X = some_views(4)[..., :1]
    pairs = read_pairs(X, FunctionKernel(similarity), FORWARD, keep=keep)
    first = all_blocks(pairs)
    assert np.array_equal(all_blocks(pairs), first)
    assert len(asked) == (12 if keep == "nowhere" else 4)


def test_a_view_that_is_not_there():
    with pytest.raises(IndexError):
        read_pairs(some_views(3), LocalScaling(), FORWARD).values(3)


def test_pair_values_know_where_m_steps_run():
    views, workers = as_views(some_views(3)), Workers(1)
    backend = choose_backend(None, 20, workers)
    pairs = InMemoryPairs(ViewReader(views, LocalScaling(), FORWARD, workers), backend)
    assert pairs.backend is backend
    assert pairs.workers is workers
    assert pairs.n_samples == 20
    assert pairs.zeros(2).shape == (2, 190)
    assert pairs.zeros(2).dtype == np.float64


# Passes over views


@pytest.fixture(name="passes")
def _passes():
    """Pair values whose passes are over blocks given by hand."""
    with Workers(2) as workers:
        yield read_pairs(some_views(2), LocalScaling(), FORWARD, workers)


@pytest.mark.parametrize("d", [1, 3, 4, 5, 9])
@pytest.mark.parametrize("V", [1, 2, 7, 33])
def test_products_and_sums(d, V, passes):
    rng = np.random.default_rng(0)
    m = max(4000, 80_000 // V)  # enough for compiled loops, and few views without a copy of the patterns
    F, A = rng.random((V, m), dtype=np.float32), rng.random((d, m))
    eta = rng.dirichlet(np.ones(d), V)
    found = passes.multiply(F, A)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, F.astype(float) @ A.T, rtol=1e-5)
    stat = np.ones((d, m))
    passes.add_statistics(stat, eta, F)
    np.testing.assert_allclose(stat, 1 + eta.T @ F, rtol=1e-5)


@pytest.mark.parametrize("shape", [(3, 66), (5, in_memory.LEAST_PAIRS - 1), (200, 500)], ids=str)
def test_products_and_sums_of_few_pairs_are_of_double_precision(shape, passes):
    rng = np.random.default_rng(0)
    F, A = rng.normal(size=shape).astype(np.float32), rng.normal(size=(3, shape[1]))
    eta = rng.uniform(size=(shape[0], 3))
    np.testing.assert_allclose(passes.multiply(F, A), F.astype(float) @ A.T, rtol=1e-12, atol=1e-12)
    stat = np.zeros((3, shape[1]))
    passes.add_statistics(stat, eta, F)
    np.testing.assert_allclose(stat, eta.T @ F.astype(float), rtol=1e-12, atol=1e-12)


def test_blocks_that_are_not_contiguous_make_no_difference(passes):
    rng = np.random.default_rng(0)
    F, A = rng.random((9, 16_000), dtype=np.float32), rng.random((3, 16_000))
    eta, turned = rng.random((9, 3)), np.asfortranarray(F)
    assert np.array_equal(passes.multiply(turned, A), passes.multiply(F, A))
    stats = [np.zeros((3, 16_000)) for _ in range(2)]
    passes.add_statistics(stats[0], eta, F)
    passes.add_statistics(stats[1], np.asfortranarray(eta), turned)
    assert np.array_equal(*stats)


def test_pieces_of_views_and_pairs_make_no_difference(passes, monkeypatch):
    rng = np.random.default_rng(0)
    F, A = rng.random((70, 3000), dtype=np.float32), rng.random((3, 3000))
    eta = rng.random((70, 3))

    def statistics():
        stat = np.zeros((3, 3000))
        passes.add_statistics(stat, eta, F)
        return stat

    whole, sums = passes.multiply(F, A), statistics()
    monkeypatch.setattr(in_memory, "CHUNK_VIEWS", 6)
    np.testing.assert_array_equal(passes.multiply(F, A), whole)
    monkeypatch.setattr(in_memory, "CHUNK_PAIRS", STRIP)
    np.testing.assert_allclose(passes.multiply(F, A), whole, rtol=1e-12)
    monkeypatch.setattr(in_memory, "SUMMED_VALUES", 70 * STRIP)
    np.testing.assert_array_equal(statistics(), sums)


@pytest.mark.parametrize("d", [4, 8])
@pytest.mark.parametrize("V", [1, 2, 5])
def test_products_of_some_views_over_some_pairs(V, d):
    rng = np.random.default_rng(V)
    F, A = rng.random((V, 3000), dtype=np.float32), rng.random((d, 3000), dtype=np.float32)
    found = multiply_strips(F, A, V // 2, V, 100, 2900)
    np.testing.assert_allclose(found, F[V // 2 :, 100:2900].astype(float) @ A[:, 100:2900].T, rtol=1e-5)


def test_sums_touch_no_other_pairs():
    rng = np.random.default_rng(0)
    F, eta, stat = rng.random((7, 3000), dtype=np.float32), rng.random((7, 2)), np.full((2, 3000), 5.0)
    add_weighted_sums(F, eta, 100, 2900, stat)
    np.testing.assert_allclose(stat[:, 100:2900], 5 + eta.T @ F[:, 100:2900], rtol=1e-6)
    assert (np.delete(stat, np.arange(100, 2900), axis=1) == 5).all()


def test_views_that_do_not_follow_a_pattern_are_not_heard():
    """A share that is lost in rounding is left out, and one that is all a pattern has is not."""
    F = np.array([[1.0] * 8, [2.0] * 8], dtype=np.float32)
    stat = np.zeros((2, 8))
    assert NEGLIGIBLE > 1e-13
    add_weighted_sums(F, np.array([[1.0, 1e-30], [1e-13, 3e-30]]), 0, 8, stat)
    np.testing.assert_array_equal(stat[0], 1.0)
    np.testing.assert_allclose(stat[1], 7e-30, rtol=1e-6)


def test_a_pass_has_every_pair_of_large_views():
    """Products with ones are sums, over several chunks and strips with rests."""
    n = 300
    views = many_views(6, n_samples=n, random_state=0).views
    pairs = read_pairs(views, LocalScaling(), FORWARD)
    ((_, F),) = pairs.blocks()
    assert F.shape == (6, count_pairs(n))
    np.testing.assert_allclose(
        pairs.multiply(F, np.ones((1, count_pairs(n))))[:, 0], F.sum(axis=1, dtype=float), rtol=1e-6
    )
