"""Walks on a GPU, a row at a time, beside the same for tensors of any kind and double precision.

There is nothing to test without an NVIDIA card and Triton.
"""

import numpy as np
import pytest

from latentsimplex import LatentSimplexPosition
from latentsimplex.base.arrays import runs_triton
from latentsimplex.base.condensed import pack_pairs
from latentsimplex.datasets import running_example
from latentsimplex.similarity import Diffusion
from latentsimplex.similarity.distances import rank_quantile
from latentsimplex.similarity.kernel import clip_exponents, to_single

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if not torch.cuda.is_available():
    pytest.skip("there is no NVIDIA card here", allow_module_level=True)

from latentsimplex.similarity import _triton_walks  # noqa: E402
from latentsimplex.similarity._triton_walks import sum_rows  # noqa: E402


def tables(n, p, b=3):
    rng = np.random.default_rng(n + p)
    X = rng.normal(size=(b, n, p)) + 3 * rng.integers(3, size=(b, n, 1))
    X[1, : n // 3] = X[1, 0]  # a pile
    if p > 1:
        X[2, :, 1] = 0.25  # a feature that tells nothing
    return to_single(X)


def test_tensors_of_single_precision_on_a_card_go_this_way():
    assert runs_triton(torch.zeros(2, device="cuda"))
    assert not runs_triton(torch.zeros(2, device="cuda", dtype=torch.float64))


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize(("n", "p"), [(3, 1), (12, 2), (150, 2), (150, 1), (257, 5), (700, 16)])
def test_walks(n, p, one_by_one):
    X, kernel = tables(n, p), Diffusion(neighbours=min(5, n - 1), per_feature=one_by_one)
    found = kernel.walks(torch.as_tensor(X, device="cuda")).cpu().numpy()
    np.testing.assert_allclose(found, kernel.walks(X.astype(np.float64)), atol=2e-6)


@pytest.mark.parametrize("mean", [0.1, 0.4])
@pytest.mark.parametrize(("n", "p"), [(12, 2), (150, 2), (400, 3)])
def test_exponents(n, p, mean):
    X, kernel = tables(n, p), Diffusion(neighbours=min(10, n // 3), mean=mean)
    found = kernel.batch_exponents(torch.as_tensor(X, device="cuda")).cpu().numpy()
    expected = kernel.batch_exponents(X.astype(np.float64))
    np.testing.assert_allclose(
        np.exp(-clip_exponents(found)), np.exp(-clip_exponents(expected)), atol=2e-4, rtol=1e-3
    )


@pytest.mark.parametrize("n", [2, 5, 150, 700])
def test_walks_may_be_wider_by_rows_and_columns_of_zero(n):
    X = torch.as_tensor(tables(n, 2), device="cuda")
    given = (False, *rank_quantile(0.3, n), min(4, n - 1), 1e-6, 1e-12)
    found, wide = _triton_walks.make_walks_by_triton(X, *given), n + 3
    beside = _triton_walks.make_walks_by_triton(X, *given, wide)
    assert beside.shape[1:] == (wide, wide)
    assert torch.equal(beside[:, :n, :n], found)
    assert not beside[:, n:].any()
    assert not beside[:, :, n:].any()


@pytest.mark.parametrize("n", [3, 152, 700, 2000])
def test_sums_of_rows(n):
    one, other = torch.rand((2, 3, n, n), device="cuda")
    x = torch.rand((3, n), device="cuda")
    found = *sum_rows(one, other, x), sum_rows(one, other)[0]
    expected = (one @ x[..., None])[..., 0], (other @ x[..., None])[..., 0], (one * other).sum(-1)
    for each, same in zip(found, expected, strict=True):
        torch.testing.assert_close(each, same, rtol=1e-4, atol=1e-4)


def test_exponents_of_similarities_of_some_samples():
    K, roots = torch.rand((2, 44, 44), device="cuda"), torch.rand((2, 44), device="cuda")
    found = _triton_walks.pack_exponents(K, roots, 40, 0.0, 1e-30)
    S = (K * roots[:, :, None] * roots[:, None])[:, :40, :40]
    torch.testing.assert_close(found, -torch.log(pack_pairs(S).clip(1e-30, 1.0)), rtol=1e-4, atol=1e-5)


def test_a_fit_is_that_of_the_processor():
    views = running_example(n_samples=150, random_state=0).views
    here, there = (LatentSimplexPosition(6, 3, device=d, random_state=0).fit(views) for d in ("cpu", "cuda"))
    np.testing.assert_array_equal(here.view_patterns_, there.view_patterns_)
    np.testing.assert_array_equal(here.labels_, there.labels_)
