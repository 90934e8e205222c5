"""Long walks by their leading eigenvectors beside whole matrices."""

import numpy as np
import pytest

from latentsimplex.similarity import Diffusion
from latentsimplex.similarity.diffusion import MOST_MULTIPLIED, QUANTILE, NeighbourGraph, make_walks
from latentsimplex.similarity.distances import rank_quantile
from latentsimplex.similarity.walk_eigenvectors import (
    N_EIGENVECTORS,
    Eigenvectors,
    leading_eigenvectors,
    list_steps,
    make_sparse,
    orthonormalise,
    similarity_from_eigenvectors,
    spectral_mean,
    tie_all,
    walk_lengths,
)
from latentsimplex.similarity.walk_powers import MOST_DOUBLINGS

torch = pytest.importorskip("torch")

N = MOST_MULTIPLIED + 32


def table(seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(8, 4))[rng.integers(0, 8, N)] * 4 + rng.normal(size=(N, 4))).astype(np.float32)


def nearest(neighbours=10, seed=0):
    return Diffusion(neighbours=neighbours).walks(table(seed)[None])[0]


def test_steps_are_what_a_walk_has_beyond_its_ties():
    M = nearest()
    steps = make_sparse(M)
    np.testing.assert_array_equal(steps.toarray(), np.where(M > 1e-11, M, 0))
    assert 10 * N <= steps.nnz < 25 * N
    np.testing.assert_array_equal(make_sparse(torch.as_tensor(M)).numpy(), steps.toarray())


@pytest.mark.parametrize("coinciding", [0, N // 2, N])
@pytest.mark.parametrize("p", [1, 3, 8])
def test_steps_are_listed_as_the_whole_matrix_has_them(coinciding, p):
    X = np.hstack([table(), table(1)])[:, :p]
    X[:coinciding] = X[0]
    X = np.ascontiguousarray(X)
    listed, roots = list_steps(X, 10, rank_quantile(QUANTILE, N))
    M = make_walks(X[None], NeighbourGraph(10, False, False))[0]
    np.testing.assert_allclose(tie_all(listed, roots), M, atol=1e-6)
    assert tie_all(listed, roots).min() > 0
    whole = make_sparse(M)
    if whole is None:  # samples that coincide are all near one another
        assert coinciding
        assert leading_eigenvectors(listed) is None
    else:
        np.testing.assert_allclose(listed.toarray(), whole.toarray(), atol=1e-6)


def test_a_dense_graph_has_no_eigenvectors():
    M = nearest(neighbours=1 / 7)
    assert make_sparse(M) is None
    assert leading_eigenvectors(M) is None


def test_they_are_eigenvectors():
    M = nearest().astype(np.float64)
    values, vectors = leading_eigenvectors(M)
    assert vectors.shape == (N, N_EIGENVECTORS)
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose(values[:20], np.linalg.eigvalsh(M)[::-1][:20], atol=1e-5)
    np.testing.assert_allclose(M @ vectors[:, :20], vectors[:, :20] * values[:20], atol=0.01)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-10)


def test_eigenvectors_of_tensors_make_the_similarities_of_those_of_arrays():
    M = nearest().astype(np.float64)
    found = similarity_from_eigenvectors(leading_eigenvectors(torch.as_tensor(M)), 0.1)
    expected = similarity_from_eigenvectors(leading_eigenvectors(M), 0.1)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)


def test_walks_are_followed_to_the_similarities_of_their_powers():
    M = nearest()
    S = similarity_from_eigenvectors(leading_eigenvectors(M), 0.1)
    assert S[np.triu_indices(N, 1)].mean() == pytest.approx(0.1, abs=1e-3)
    own = np.linalg.eigh(M.astype(np.float64))
    exact = similarity_from_eigenvectors(Eigenvectors(own[0][::-1].clip(0, 1), own[1][:, ::-1]), 0.1)
    np.testing.assert_allclose(S, exact, atol=0.01)


def test_short_walks_need_more_eigenvectors():
    assert similarity_from_eigenvectors(leading_eigenvectors(nearest()), 1e-3) is None


def test_walks_beyond_what_is_known_of_eigenvalues_need_more():
    """Two parts that never meet have a mean of a half at most, however long the walk."""
    values, vectors = np.ones(N_EIGENVECTORS), np.zeros((N, N_EIGENVECTORS))
    vectors[: N // 2, 0], vectors[N // 2 :, 1] = 1.0, 1.0
    assert similarity_from_eigenvectors(Eigenvectors(values, vectors / np.sqrt(N // 2)), 0.7) is None


def test_lengths_are_those_of_powers():
    lengths = walk_lengths()
    assert lengths == sorted(set(lengths))
    assert lengths[:6] == [2, 3, 4, 6, 8, 12]
    assert len(lengths) == 2 * MOST_DOUBLINGS


def test_the_mean_by_eigenvectors_is_that_of_the_matrix():
    M = nearest(seed=1)[:60, :60].astype(np.float64)
    values, vectors = np.linalg.eigh(M)
    K = vectors * values**4 @ vectors.T
    assert spectral_mean(vectors, vectors**2, values**4) == pytest.approx(
        (K / np.sqrt(np.outer(np.diag(K), np.diag(K))))[np.triu_indices(len(K), 1)].mean(), rel=1e-9
    )


@pytest.mark.parametrize("squeezed", [1.0, 1e-4, 0.0])
def test_what_is_nearly_in_line_is_made_orthonormal(squeezed):
    rng = np.random.default_rng(0)
    Q = rng.normal(size=(50, 4))
    Q[:, 3] = Q[:, 0] + squeezed * Q[:, 3]  # 0: no triangle, and the slower way
    made = orthonormalise(Q)
    np.testing.assert_allclose(made.T @ made, np.eye(4), atol=1e-7)
    np.testing.assert_allclose(made @ (made.T @ Q), Q, atol=1e-7)
