"""How the samples of views are compared."""

import numpy as np
import pytest
from scipy import sparse

from latentsimplex.base.wide_table import WideTable
from latentsimplex.similarity.comparisons import compare_samples, list_comparisons


def test_counts_of_words_are_compared_as_shares():
    words = np.random.default_rng(0).poisson(0.1, size=(30, 25)).astype(float)
    assert list_comparisons([words]) == list_comparisons([words, words - 1]) == ["as shares"]
    assert list_comparisons([words - 1]) == list_comparisons([words + 1]) == ["standardised", "as they are"]


@pytest.mark.parametrize("make", [np.asarray, sparse.csc_array])
def test_wide_tables_are_compared_as_narrow_ones_are(make):
    X = np.random.default_rng(0).poisson(1.0, size=(12, 50)).astype(float)
    for comparison in ("as they are", "standardised", "as shares"):
        wide = compare_samples(WideTable(make(X)), comparison)
        distances = [np.linalg.norm(Z[:, None] - Z, axis=-1) for Z in (wide, compare_samples(X, comparison))]
        ratio = distances[0][0, 1:] / distances[1][0, 1:]  # a table may be measured in another unit
        np.testing.assert_allclose(ratio, ratio[0])
