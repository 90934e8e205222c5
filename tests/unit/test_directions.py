"""Long walks by their directions beside whole matrices, and what is known of them."""

import numpy as np
import pytest

from latentsimplex.known import Known
from latentsimplex.similarity import Diffusion, Readings
from latentsimplex.similarity.diffusion import MOST_MULTIPLIED
from latentsimplex.similarity.directions import (
    KNOWN_BYTES,
    Directions,
    followed,
    leading_directions,
    orthonormal,
    steps_of,
)
from latentsimplex.similarity.readings import Remembering

N = MOST_MULTIPLIED + 32


def table(seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(8, 4))[rng.integers(0, 8, N)] * 4 + rng.normal(size=(N, 4))).astype(np.float32)


def nearest(neighbours=10, seed=0):
    return Diffusion(neighbours=neighbours).walk(table(seed)[None])[0]


def test_steps_are_what_a_walk_has_beyond_its_ties():
    M = nearest()
    steps = steps_of(M)
    np.testing.assert_array_equal(steps.toarray(), np.where(M > 1e-11, M, 0))
    assert 10 * N <= steps.nnz < 25 * N


def test_a_dense_graph_has_no_directions():
    M = nearest(neighbours=1 / 7)
    assert steps_of(M) is None
    assert leading_directions(M) is None


def test_directions_are_eigenvectors():
    M = nearest().astype(np.float64)
    values, vectors = leading_directions(M)
    np.testing.assert_allclose(values[:20], np.linalg.eigvalsh(M)[::-1][:20], atol=1e-5)
    np.testing.assert_allclose(M @ vectors[:, :20], vectors[:, :20] * values[:20], atol=0.01)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-10)


def test_walks_are_followed_to_the_similarities_of_their_powers():
    M = nearest()
    S = followed(leading_directions(M), 0.1)
    assert S[np.triu_indices(N, 1)].mean() == pytest.approx(0.1, abs=1e-3)
    own = np.linalg.eigh(M.astype(np.float64))
    exact = followed(Directions(own[0][::-1].clip(0, 1), own[1][:, ::-1]), 0.1)
    np.testing.assert_allclose(S, exact, atol=0.01)


def test_short_walks_need_more_directions():
    assert followed(leading_directions(nearest()), 1e-3) is None


@pytest.mark.parametrize("squeezed", [1.0, 1e-4, 0.0])
def test_what_is_nearly_in_line_is_made_orthonormal(squeezed):
    rng = np.random.default_rng(0)
    Q = rng.normal(size=(50, 4))
    Q[:, 3] = Q[:, 0] + squeezed * Q[:, 3]  # 0: no triangle, and the slower way
    made = orthonormal(Q)
    np.testing.assert_allclose(made.T @ made, np.eye(4), atol=1e-7)
    np.testing.assert_allclose(made @ (made.T @ Q), Q, atol=1e-7)


def test_a_second_reading_of_a_graph_looks_for_no_walk(monkeypatch):
    known, X = Known(KNOWN_BYTES), table()
    first = Readings("local", ((4, "standardised"),))
    second = first.drawing(0.2)
    expected = second.exponents(X)
    np.testing.assert_array_equal(Remembering(first, known).exponents(X), first.exponents(X))
    monkeypatch.setattr(Diffusion, "walk", lambda *_: pytest.fail("the walk is known"))
    np.testing.assert_array_equal(Remembering(second, known).exponents(X), expected)
    assert np.exp(-expected).mean() == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize("other", ["table", "neighbours", "standardise"])
def test_other_tables_and_graphs_are_not_known(other):
    known = Known(KNOWN_BYTES)
    Diffusion().exponents(table(), known=known)
    kernel = {"neighbours": Diffusion(neighbours=12), "standardise": Diffusion(standardise=False)}.get(other)
    kernel, X = kernel or Diffusion(), table(seed=other == "table")
    np.testing.assert_array_equal(kernel.exponents(X, known=known), kernel.exponents(X))
