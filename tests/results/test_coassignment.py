"""The low-rank co-assignment object answers as the dense matrix would."""

import numpy as np
import pytest

from latentsimplex.results.coassignment import CoAssignment
from problems import mixed_memberships

W = mixed_memberships(np.random.default_rng(0), 9, 3)
P = W @ W.T
CO = CoAssignment(W)

INDICES = {
    "two integers": (2, 5),
    "negative": (-1, 0),
    "row": (3, slice(None)),
    "column": (slice(1, 7, 2), 4),
    "two slices": (slice(0, 3), slice(5, None)),
    "pairs": ([0, 1, 2], [3, 4, 5]),
    "array and integer": (np.array([1, 2]), 0),
    "array and slice": (np.array([1, 2]), slice(2, 6)),
    "mask": (W[:, 0] > 0.5, 1),
    "open mesh": np.ix_([0, 2], [1, 3, 5]),
}


@pytest.mark.parametrize("case", INDICES)
def test_indexing_is_that_of_the_matrix(case):
    index = INDICES[case]
    found = CO[index]
    assert np.shape(found) == np.shape(P[index])
    np.testing.assert_allclose(found, P[index], rtol=1e-13)


def test_rows_blocks_and_products():
    np.testing.assert_allclose(CO.row(4), P[4], rtol=1e-13)
    np.testing.assert_allclose(CO.block([0, 2], slice(3, 6)), P[[0, 2], 3:6], rtol=1e-13)
    assert CO.block(1, 2).shape == (1, 1)
    x = np.random.default_rng(1).normal(size=(9, 2))
    np.testing.assert_allclose(CO @ x, P @ x, rtol=1e-12)
    np.testing.assert_allclose(CO @ x[:, 0], P @ x[:, 0], rtol=1e-12)
    np.testing.assert_allclose(CO.packed(), P[np.triu_indices(9, 1)], rtol=1e-13)
    np.testing.assert_allclose(CO.toarray(), P, rtol=1e-13)


def test_shape_and_name():
    assert CO.shape == (9, 9)
    assert len(CO) == 9
    assert CO.rank == 3
    assert repr(CO) == "CoAssignment(9 samples, rank at most 3)"


def test_one_index_is_a_row_and_three_are_too_many():
    np.testing.assert_allclose(CO[2], CO.row(2), atol=1e-15)
    np.testing.assert_allclose(CO[1:3], CO.toarray()[1:3], atol=1e-15)
    with pytest.raises(IndexError, match=r"two axes, and 3 indices were given: use co\[i, j\]"):
        CO[0, 1, 2]


def test_numpy_and_loops_see_the_matrix():
    dense = CO.toarray()
    np.testing.assert_array_equal(np.asarray(CO), dense)
    np.testing.assert_allclose(list(CO), dense, atol=1e-15)
    x = np.arange(len(CO), dtype=float)
    np.testing.assert_allclose(x @ CO, x @ dense)


def test_products_with_another_number_of_samples_are_refused():
    for bad in (np.ones(3), np.ones((3, 9)), np.array(1.0), "text", np.ones((9, 1, 1))):
        with pytest.raises(ValueError, match=r"give a row per sample|give an array of numbers"):
            CO @ bad
    for bad in ([1.0, 2.0], [[1.0]]):
        with pytest.raises(ValueError, match="cannot multiply P of 9 samples: give a column per sample"):
            bad @ CO


def test_dense_matrices_are_guarded():
    assert CoAssignment(np.ones((2000, 1))).toarray().shape == (2000, 2000)
    large = CoAssignment(np.ones((30_000, 1)))
    with pytest.raises(
        MemoryError, match=r"30,000 samples takes 7\.2 GB and the limit is 2 GB: use row\(i\)"
    ):
        large.toarray()
    with pytest.raises(MemoryError):
        CO.toarray(max_bytes=647)
    assert CO.toarray(max_bytes=648).shape == (9, 9)


@pytest.mark.parametrize(
    "labels", [[0, 0, 1, 1, 2, 2, 0, 1, 2], [0] * 9, [0, 1, 1, 1, 1, 1, 1, 1, 3]], ids=str
)
def test_means_by_cluster_are_those_over_the_other_samples(labels):
    """Pair by pair: the mean of p_ij over the j of a cluster, i itself left out; 0 where nobody is left."""
    found = CO.mean_by_cluster(np.array(labels))
    assert found.shape == (9, max(labels) + 1)
    for i in range(9):
        for k in range(max(labels) + 1):
            others = [P[i, j] for j in range(9) if labels[j] == k and j != i]
            assert found[i, k] == pytest.approx(np.mean(others) if others else 0.0, abs=1e-14)
