"""Some views of other pair values: what all have in common, and their own rows of the rest."""

import numpy as np
import pytest

from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.pairs.in_memory import InMemoryPairs, SubsetPairs
from latentsimplex.similarity import LocalScaling
from problems import ArrayPairs, clustered_views, read_pairs

FORWARD = DIVERGENCES["forward"]


@pytest.mark.parametrize("members", [[0], [3], [0, 1, 2, 3, 4, 5, 6], [1, 2], [0, 3, 6], [2, 5]], ids=str)
@pytest.mark.parametrize("block", [1, 2, 3, 7])
def test_blocks_have_the_rows_of_the_members(members, block):
    F, members = np.random.default_rng(0).normal(size=(7, 15)), np.array(members)
    subset = SubsetPairs(ArrayPairs(F, block), members)
    assert len(subset) == len(members)
    assert np.array_equal(subset.constants, members)
    found, start = [], 0
    for rows, values in subset.blocks():
        assert (rows.start, rows.stop - rows.start) == (start, len(values))
        start = rows.stop
        found.append(values)
    assert np.array_equal(np.concatenate(found), F[members])
    for v, member in enumerate(members):
        assert np.array_equal(subset.values(v), F[member])


def test_a_block_of_members_alone_is_no_copy():
    pairs = ArrayPairs(np.random.default_rng(0).normal(size=(6, 15)), block=3)
    subset = SubsetPairs(pairs, np.array([0, 3, 4, 5]))
    shared = [np.shares_memory(values, pairs.F) for _, values in subset.blocks()]
    assert shared == [False, True]


@pytest.mark.parametrize("keep", ["whole", "bytes", "nowhere"])
def test_the_rest_is_that_of_the_pair_values(keep, monkeypatch):
    monkeypatch.setattr(InMemoryPairs, "block_values", 2 * 190)
    views = clustered_views(np.random.default_rng(0), 20, 5)
    pairs = read_pairs(views, LocalScaling(), FORWARD, keep=keep, weights=np.linspace(1, 2, 5))
    members = np.array([1, 2, 4])
    subset = SubsetPairs(pairs, members)
    assert (subset.n_samples, subset.workers, subset.backend) == (20, pairs.workers, pairs.backend)
    assert np.array_equal(subset.weights, pairs.weights[members])
    assert np.array_equal(subset.constants, pairs.constants[members])
    whole = np.concatenate([F for _, F in pairs.blocks()])
    assert np.array_equal(np.concatenate([F for _, F in subset.blocks()]), whole[members])
    assert np.array_equal(subset.values(2), whole[4])
    eta, stat = np.random.default_rng(1).random((3, 2)), subset.zeros(2)
    for rows, F in subset.blocks():
        subset.add_statistics(stat, eta[rows], F)
        np.testing.assert_allclose(subset.multiply(F, stat), pairs.multiply(F, stat))
    np.testing.assert_allclose(stat, eta.T @ whole[members].astype(float), rtol=1e-6)
