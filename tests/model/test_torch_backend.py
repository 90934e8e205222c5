"""M steps with tensors give what those of the processor give."""

import numpy as np
import pytest

from latentsimplex.base.arrays import is_tensor
from latentsimplex.base.condensed import count_pairs
from latentsimplex.base.threads import Workers
from latentsimplex.model.backends import NumbaBackend
from latentsimplex.pairs.divergence import DIVERGENCES, P_CLIP
from problems import KINDS, identities, interior_memberships, random_responses

torch = pytest.importorskip("torch")

from latentsimplex.model.torch_backend import (  # noqa: E402
    TorchBackend,
    expected_similarities,
    sum_off_diagonal,
)

KIND = pytest.mark.parametrize("kind", KINDS)
LEARNED = pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
PRECISION = pytest.mark.parametrize(
    ("precision", "rtol"), [(torch.float64, 1e-9), (torch.float32, 1e-4)], ids=["double", "single"]
)


def a_problem(learned, d=3, n=15, g=3):
    """Return W, B, mass and stat, with probabilities away from 1, where clips of the precisions differ."""
    rng = np.random.default_rng(1)
    B = random_responses(rng, d, g) if learned else identities(d, g)
    return (
        interior_memberships(rng, d, n, g),
        B,
        np.array([1.0, 2.0, 7.0])[:d],
        rng.normal(size=(d, count_pairs(n))),
    )


def backend_of(precision):
    backend = TorchBackend("cpu")
    backend.kind = backend.kind.to(precision)  # which is single in a fit
    return backend


def assert_same(found, expected, rtol):
    assert is_tensor(found)
    np.testing.assert_allclose(found.numpy(), expected, rtol=rtol, atol=rtol * np.abs(expected).max())


@PRECISION
@LEARNED
@KIND
def test_pair_terms(kind, learned, precision, rtol):
    W, B, _, _ = a_problem(learned)
    A, H = backend_of(precision).pair_terms(W, B, DIVERGENCES[kind])
    expected_A, expected_H = NumbaBackend(15, Workers(1)).pair_terms(W, B, DIVERGENCES[kind])
    assert A.dtype == precision
    assert_same(A, expected_A, rtol)
    assert isinstance(H, np.ndarray)
    np.testing.assert_allclose(H, expected_H, rtol=rtol)


@PRECISION
@LEARNED
@KIND
def test_objective_and_gradients(kind, learned, precision, rtol):
    W, B, mass, stat = a_problem(learned)
    backend = backend_of(precision)
    evaluate, like = backend.pair_objective(mass, torch.as_tensor(stat, dtype=precision), DIVERGENCES[kind])
    assert is_tensor(like)
    assert like.dtype == precision
    found = evaluate(torch.as_tensor(W, dtype=precision), torch.as_tensor(B, dtype=precision))
    expected = NumbaBackend(15, Workers(1)).pair_objective(mass, stat, DIVERGENCES[kind])[0](W, B)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == precision
        assert_same(one, other, rtol)


@pytest.mark.parametrize("n", [100, 520])
@KIND
def test_more_samples_than_double_precision_is_for(kind, n):
    """Both are of single precision then, one in tiles and the other in whole matrices."""
    W, B, mass, stat = a_problem(True, n=n)
    stat = np.abs(stat)
    tensors = [torch.as_tensor(x, dtype=torch.float32) for x in (W, B)]
    numba, backend = NumbaBackend(n, Workers(1)), TorchBackend("cpu")
    found = backend.pair_objective(mass, torch.as_tensor(stat).float(), DIVERGENCES[kind])[0](*tensors)
    expected = numba.pair_objective(mass, stat, DIVERGENCES[kind])[0](W, B)
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other, 1e-4)
    (A, H), (expected_A, expected_H) = (b.pair_terms(W, B, DIVERGENCES[kind]) for b in (backend, numba))
    assert_same(A, expected_A, 1e-4)
    np.testing.assert_allclose(H, expected_H, rtol=1e-5)


def test_rows_of_statistics_that_are_one_and_the_same_share_one_matrix():
    W, B, mass, stat = a_problem(True)
    shared = torch.as_tensor(stat[:1]).expand(3, -1)
    evaluate, squares = TorchBackend("cpu").pair_objective(mass, shared, DIVERGENCES["forward"])
    assert squares.stride(0) == 0
    apart, _ = TorchBackend("cpu").pair_objective(mass, shared.clone(), DIVERGENCES["forward"])
    tensors = torch.as_tensor(W), torch.as_tensor(B)
    for one, other in zip(evaluate(*tensors), apart(*tensors), strict=True):
        torch.testing.assert_close(one, other)


def test_inner_products_are_added_up_in_double_precision():
    stats = np.random.default_rng(0).normal(size=(4, 105)).astype(np.float32)
    found = TorchBackend("cpu").inner_products(list(torch.as_tensor(stats)))
    expected = NumbaBackend(15, Workers(1)).inner_products(list(stats.astype(float)))
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-9)


def test_statistics_stay_where_they_are():
    stat = torch.ones(2, 6)
    assert TorchBackend("cpu").place(stat) is stat


def test_every_step_of_descent_is_asked_for():
    backend = TorchBackend("cpu")
    assert backend.descend is None
    assert not backend.is_small
    assert backend.loss_rounding == NumbaBackend(1000, Workers(1)).loss_rounding


def test_expected_similarities_stay_off_0_and_1():
    W = torch.eye(2)[[0, 0, 1]]
    q = expected_similarities(W, torch.eye(2))
    assert q.min() == np.float32(P_CLIP)
    assert q.max() == 1 - torch.finfo(torch.float32).eps
    wide = expected_similarities(W.double(), torch.eye(2, dtype=torch.float64))
    assert wide.min() == P_CLIP
    assert 1 - 1e-9 < wide.max() < 1


def test_sums_off_the_diagonal():
    square = torch.arange(9.0).reshape(3, 3)
    total = sum_off_diagonal(square)
    assert total == 36 - 12
    assert total.dtype == torch.float64
