"""Kernels: one table at a time for anybody's, many at once for ours, and what is refused of either."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from latentsimplex.base.condensed import pack_pairs
from latentsimplex.similarity import (
    AutoDiffusion,
    Diffusion,
    FunctionKernel,
    Kernel,
    LocalScaling,
    Precomputed,
    as_kernel,
)
from latentsimplex.similarity.distances import FEW_FEATURES
from latentsimplex.similarity.kernel import (
    LEAST_EXPONENT,
    MOST_EXPONENT,
    S_CLIP,
    BatchKernel,
    accepts_batches,
    checked_exponents,
    clip_exponents,
    read_exponents,
    to_single,
)

X = np.random.default_rng(0).normal(size=(10, 3))


def test_exponents_are_clipped_where_similarities_would_be_certain():
    s = np.exp(-clip_exponents(np.array([0.0, 1e-9, 0.5, 100.0, np.inf])))
    np.testing.assert_allclose(s, [1 - S_CLIP, 1 - S_CLIP, np.exp(-0.5), S_CLIP, S_CLIP], rtol=1e-12)
    np.testing.assert_allclose(np.exp([-LEAST_EXPONENT, -MOST_EXPONENT]), [1 - S_CLIP, S_CLIP], rtol=1e-12)


# A kernel of one's own


class Gaussian:
    def __repr__(self):
        return "Gaussian()"

    def exponents(self, X):
        i, j = np.triu_indices(len(X), 1)
        return ((X[i] - X[j]) ** 2).sum(axis=1) * 0.3


def test_object_and_function_kernels_agree():
    own, function = as_kernel(Gaussian()), as_kernel(lambda X: rbf_kernel(X, gamma=0.3))
    assert isinstance(function, FunctionKernel)
    assert isinstance(own, Kernel)
    np.testing.assert_allclose(own.exponents(X), function.exponents(X), rtol=1e-9)


def test_named_kernels():
    assert as_kernel("local-scaling") == LocalScaling()
    assert as_kernel("precomputed") == Precomputed()
    assert as_kernel("diffusion") == Diffusion()
    kernel = LocalScaling(power=2.0, neighbour=7)
    assert as_kernel(kernel) is kernel


@pytest.mark.parametrize("unknown", ["gaussian", "auto", None, 3, LocalScaling, np.eye(3)], ids=repr)
def test_unknown_similarity(unknown):
    with pytest.raises(
        ValueError,
        match="is not a way to compare samples: "
        "choose one of 'auto', 'local-scaling', 'diffusion', 'precomputed'",
    ):
        as_kernel(unknown)


class Fixed:
    def __init__(self, r):
        self.r = r

    def exponents(self, X):
        return self.r


def test_exponents_are_checked():
    with pytest.raises(
        ValueError, match=r"shape \(3, 3\) for view 'a', but 3 samples have 3 pairs: return one value"
    ):
        checked_exponents(Fixed(np.eye(3)), np.zeros((3, 1)), "view 'a'")
    for bad in (-0.1, np.nan):
        with pytest.raises(ValueError, match=r"for view 'a' that are negative or NaN"):
            checked_exponents(Fixed([1.0, bad, 0.0]), np.zeros((3, 1)), "view 'a'")
    assert checked_exponents(Fixed([1, 0, np.inf]), np.zeros((3, 1)), "view 'a'").dtype == np.float64


# Which kernels are asked for many tables at once


class Halved(LocalScaling):
    """A kernel made of one of ours, with the signature that the protocol has."""

    def exponents(self, X):
        return 0.5 * LocalScaling.exponents(self, X)


class Watched(Diffusion):
    """Diffusion with exponents of its own, which remembers the tables it was asked for."""

    given = None

    def exponents(self, X):
        type(self).given.append(X)
        return 2.0 * super().exponents(X)


class Renamed(Diffusion):
    """Diffusion without anything of its own."""


class Own(BatchKernel):
    """A kernel of this package that is not written yet."""


BATCHED = [
    LocalScaling(),
    LocalScaling(quantile=0.3, power=2.0, standardise=True),
    LocalScaling(neighbour=3, per_feature=True),
    Diffusion(mean=0.3),
    Diffusion(neighbours=3, mean=0.15, balance=True),
    Diffusion(neighbours="sqrt", standardise=False, per_feature=True),
    AutoDiffusion("broad", ((1, "as they are"), (50, "standardised"))),
]


@pytest.mark.parametrize("kernel", [*BATCHED, Renamed()], ids=str)
def test_kernels_of_ours_accept_batches(kernel):
    assert accepts_batches(kernel)


@pytest.mark.parametrize(
    "kernel",
    [
        LocalScaling(metric="cosine"),
        Precomputed(),
        FunctionKernel(lambda X: X),
        Gaussian(),
        Halved(),
        Watched(),
        LocalScaling,
        None,
    ],
    ids=["metric", "precomputed", "function", "own", "derived", "derived diffusion", "class", "nothing"],
)
def test_others_are_asked_view_by_view(kernel):
    assert not accepts_batches(kernel)


def test_a_kernel_that_reads_no_batches_says_so():
    with pytest.raises(NotImplementedError):
        Own().exponents(X)


def test_exponents_of_one_table_are_those_of_a_batch_of_one():
    for kernel in BATCHED:
        assert np.array_equal(kernel.exponents(X), kernel.batch_exponents(X[None])[0])
        assert np.array_equal(kernel.exponents(X.tolist()), kernel.exponents(X))


@pytest.mark.parametrize("kernel_type", [Diffusion, LocalScaling])
def test_a_derived_kernel_is_asked_for_each_table_as_it_is(kernel_type):
    given = []

    class Derived(kernel_type):
        def exponents(self, X):
            given.append(X.copy())
            return 2.0 * super().exponents(X)

        def batch_exponents(self, tables, out=None):
            assert len(tables) == 1  # its own exponents call ours for one table
            return super().batch_exponents(tables, out)

    data = 1e3 * tables(3) + 1e6
    found = read_exponents(Derived(), data, str)
    assert len(given) == len(data)
    for one, table in zip(given, data, strict=True):
        assert np.array_equal(one, table)  # neither centred nor rescaled, nor of single precision
        assert one.dtype == np.float64
    expected = [2.0 * kernel_type().exponents(table) for table in data]
    np.testing.assert_array_equal(found, np.array(expected).astype(np.float32))


def test_kernels_made_of_ours_need_not_know_where_to_write():
    data = tables(2)[:2]
    out = np.empty((2, 435), dtype=np.float32)
    assert read_exponents(Halved(), data, str, out) is out
    np.testing.assert_allclose(out, 0.5 * read_exponents(LocalScaling(), data, str), rtol=1e-4, atol=1e-5)


# Several tables at once


def tables(n_features, dtype=float):
    """Return six tables of one shape: with clusters and without, with equal samples, and a constant one."""
    rng = np.random.default_rng(n_features)
    made = rng.normal(size=(6, 30, n_features))
    made[1] += 5 * (np.arange(30) % 3)[:, None]
    made[2, :12] = made[2, 0]
    made[3] = np.round(made[3])
    made[4] = 2.0
    return made.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_features", [1, FEW_FEATURES, 9])
@pytest.mark.parametrize("kernel", BATCHED, ids=str)
def test_exponents_of_several_tables_are_those_of_each(kernel, n_features, dtype):
    """To the bit: how views are batched must not show."""
    data = tables(n_features, dtype)
    together = kernel.batch_exponents(data)
    assert together.shape == (6, 30 * 29 // 2)
    assert together.dtype == dtype
    for X, r in zip(data, together, strict=True):
        assert np.array_equal(kernel.exponents(X), r)


@pytest.mark.parametrize("kernel", BATCHED, ids=str)
def test_exponents_of_tables_in_single_precision(kernel):
    """They are of the size that double precision gives, whatever unit and origin the features have."""
    data = 1e3 * tables(3) + 1e6
    found = read_exponents(kernel, data, str)
    assert found.dtype == np.float32
    expected = np.stack([kernel.exponents(X) for X in data])
    np.testing.assert_allclose(clip_exponents(found), clip_exponents(expected), rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("kernel", [*BATCHED, Gaussian()], ids=str)
def test_exponents_are_written_where_there_is_room_for_them(kernel):
    data, out = tables(3), np.empty((6, 435), dtype=np.float32)
    found = read_exponents(kernel, data, str, out)
    assert found is out
    assert np.array_equal(out, read_exponents(kernel, data, str))


def test_a_kernel_of_ones_own_reads_tables_one_by_one_as_they_are():
    data = tables(3)
    found = read_exponents(Gaussian(), data, str)
    assert found.dtype == np.float32
    for X, r in zip(data, found, strict=True):
        assert np.array_equal(Gaussian().exponents(X).astype(np.float32), r)


def test_a_kernel_of_ones_own_may_change_what_it_reads():
    class Careless:
        def exponents(self, X):
            X -= X[0]
            return pack_pairs(abs(X - X.T))

    data = tables(1)
    before = data.copy()
    read_exponents(Careless(), data, str)
    checked_exponents(Careless(), data[0], "a view")
    assert np.array_equal(data, before)


def test_what_goes_wrong_is_said_of_the_table_where_it_does():
    data = tables(3)

    def similarity(X):
        return np.full((30, 30), np.nan if np.array_equal(X, data[1]) else 0.5)

    with pytest.raises(ValueError, match="table 1: the function's result contains NaN"):
        read_exponents(FunctionKernel(similarity), data, "table {}".format)


def test_numbers_too_large_to_square_are_read_all_the_same():
    data = tables(3)
    large = read_exponents(LocalScaling(), 2.0**1000 * data, str)
    assert np.array_equal(large, read_exponents(LocalScaling(), data, str))


@pytest.mark.parametrize("p", [1, 3, 6])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_too_large_to_be_centred_are_refused(p):
    rng = np.random.default_rng(0)
    centred = rng.normal(size=(3, p))[rng.integers(0, 3, 30)] * 3 + rng.normal(size=(30, p))
    data = np.where(centred > 0, 1.7e308, -1.7e308)[None]
    assert not np.isfinite(data.mean(axis=1)).all()
    with pytest.raises(ValueError, match="rescale them"):
        read_exponents(Diffusion(standardise=False), data, lambda _: "view 'x'")


def test_single_precision_keeps_digits_of_differences():
    data = 1e8 + np.arange(6.0).reshape(3, 2)
    assert to_single(data).dtype == np.float32
    assert to_single(data).tolist() == [[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]]
    assert not to_single(np.full((3, 2), 7.0)).any()


# Tensors

torch = pytest.importorskip("torch")


def assert_same(found, expected, rtol, atol):
    """The tensor holds what the array holds, as far as clipping leaves it."""
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(clip_exponents(found.numpy()), clip_exponents(expected), rtol=rtol, atol=atol)


@pytest.mark.parametrize("n_features", [1, 3, 9])
@pytest.mark.parametrize("kernel", BATCHED, ids=str)
def test_exponents_of_tensors(kernel, n_features):
    """In double precision; where exponents are large similarities are 0 to rounding, as clipping has it.

    In many features distances that tie do so to rounding alone, so the table with ties is left out.
    """
    data = np.tile(tables(3), 3)[..., :n_features]
    data = np.delete(data, 3, axis=0) if n_features > FEW_FEATURES else data
    found = kernel.batch_exponents(torch.as_tensor(data))
    assert found.dtype == torch.float64
    assert_same(found, kernel.batch_exponents(data), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kernel", BATCHED, ids=str)
def test_exponents_of_tables_on_a_device(kernel):
    """In single precision, as in a fit."""
    data = 1e3 * tables(3) + 1e6
    found = read_exponents(kernel, torch.as_tensor(data), str)
    assert found.dtype == torch.float32
    assert_same(found, read_exponents(kernel, data, str), rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("kernel", BATCHED, ids=str)
def test_exponents_without_loops_are_those_of_loops(kernel):
    data = 1e3 * tables(3) + 1e6
    found, out = read_exponents(kernel, data, str, without_loops=True), np.empty((6, 435), np.float32)
    expected = read_exponents(kernel, data, str)
    np.testing.assert_allclose(*map(clip_exponents, (found, expected)), rtol=2e-3, atol=2e-4)
    assert read_exponents(kernel, data, str, out, without_loops=True) is out
    np.testing.assert_array_equal(out, found.astype(np.float32))


def test_a_kernel_of_ones_own_reads_arrays():
    class Squares:
        def exponents(self, X):
            assert isinstance(X, np.ndarray)
            return pack_pairs((X - X.T) ** 2)

    data = tables(1)
    expected = read_exponents(Squares(), data, str)
    assert np.array_equal(read_exponents(Squares(), torch.as_tensor(data), str), expected)


def test_single_precision_of_tensors_is_that_of_arrays():
    data = 1e3 * tables(3) + 1e6
    found = to_single(torch.as_tensor(data))
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found.numpy(), to_single(data), rtol=1e-6, atol=1e-9)
