"""Similarities that the user brings: read without their diagonal, and refused where they are none."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from latentsimplex.similarity import FunctionKernel, Precomputed

X = np.random.default_rng(0).normal(size=(10, 3))
S = rbf_kernel(X, gamma=0.3)


def test_precomputed_returns_minus_the_logarithm():
    i, j = np.triu_indices(len(S), 1)
    np.testing.assert_allclose(np.exp(-Precomputed().exponents(S)), S[i, j])


def test_precomputed_does_not_read_the_diagonal():
    other = S.copy()
    np.fill_diagonal(other, 0)
    assert np.array_equal(Precomputed().exponents(other), Precomputed().exponents(S))


def test_precomputed_zeros_and_ones():
    r = Precomputed().exponents(np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]]))
    assert r.tolist() == [0, np.inf, np.inf]
    assert not np.signbit(r[0])


ABOVE, BELOW, SKEWED = S.copy(), S.copy(), S.copy()
ABOVE[0, 1] = ABOVE[1, 0] = 1.5
BELOW[0, 1] = BELOW[1, 0] = -0.25
SKEWED[0, 1] += 0.01

REFUSED = {
    "above": (ABOVE, r"to 1\.5: similarities must lie in \[0, 1\]; turn distances into similarities"),
    "below": (BELOW, r"from -0\.25 to 1: similarities must lie in \[0, 1\]"),
    "asymmetric": (SKEWED, r"not symmetric: pass \(S \+ S\.T\) / 2"),
    "not square": (S[:, :4], r"shape \(10, 4\): a similarity matrix is square, one row per sample"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_similarities(case):
    matrix, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        Precomputed().exponents(matrix)
    with pytest.raises(ValueError, match=message):
        FunctionKernel(lambda X: matrix).exponents(X)


def test_asymmetry_of_rounding_is_allowed():
    rounded = S * (1 + 1e-13 * np.random.default_rng(0).normal(size=S.shape))
    np.testing.assert_allclose(
        Precomputed().exponents(np.minimum(rounded, 1)), Precomputed().exponents(S), atol=1e-9
    )


def test_values_beyond_one_by_rounding_are_taken_for_one():
    rounded = np.where(np.eye(4) == 1, 1.0, 0.5) + 4e-16
    rounded[0, 1] = rounded[1, 0] = 1 + 4e-16
    assert Precomputed().exponents(rounded)[0] == 0


@pytest.mark.parametrize("some", [True, False])
def test_a_function_that_returns_nan(some):
    matrix = np.where(np.eye(10) == 1, np.nan, 0.5) if some else np.full((10, 10), np.nan)
    with pytest.raises(ValueError, match="NaN"):
        FunctionKernel(lambda X: matrix).exponents(X)
