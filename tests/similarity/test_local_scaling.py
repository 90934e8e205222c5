"""Local scaling: by hand, whatever the scale and place, with piles of samples, and in compiled loops."""

import numpy as np
import pytest

from latentsimplex.base.condensed import pack_pairs, unpack_pairs
from latentsimplex.similarity import LocalScaling
from latentsimplex.similarity.kernel import to_single
from latentsimplex.similarity.local_scaling import ROWS_AT_ONCE

X = np.random.default_rng(0).normal(size=(10, 3))


def test_paper_and_zelnik_manor_forms_by_hand():
    line = np.array([[0.0], [1.0], [3.0]])
    # distances 1, 3, 2; nearest others 1, 1, 2
    nearest = LocalScaling(neighbour=1)
    np.testing.assert_allclose(nearest.exponents(line), [1, 3 / np.sqrt(2), 2 / np.sqrt(2)])
    squared = LocalScaling(neighbour=1, power=2)
    np.testing.assert_allclose(squared.exponents(line), [1, 9 / 2, 4 / 2])
    median = LocalScaling(quantile=0.5)
    np.testing.assert_allclose(median.exponents(line), [1 / np.sqrt(3), 3 / np.sqrt(5), 2 / np.sqrt(3.75)])


def test_does_not_depend_on_scale_place_or_rotation():
    kernel = LocalScaling()
    rotation, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    np.testing.assert_allclose(kernel.exponents(100 * X @ rotation + 7), kernel.exponents(X), rtol=1e-10)


def test_standardising_makes_features_equal():
    stretched = X * [1, 1000, 1e-3]
    kernel = LocalScaling(standardise=True)
    np.testing.assert_allclose(kernel.exponents(stretched), kernel.exponents(X), rtol=1e-10)
    assert not np.allclose(LocalScaling().exponents(stretched), LocalScaling().exponents(X))


def test_standardising_leaves_constant_features_out():
    with_constant = np.column_stack([X, np.full(len(X), 5.0)])
    kernel = LocalScaling(standardise=True)
    np.testing.assert_allclose(kernel.exponents(with_constant), kernel.exponents(X), rtol=1e-10)


def test_constant_view_has_zero_exponents():
    assert not LocalScaling().exponents(np.full((6, 2), 3.0)).any()


def test_duplicates_are_certain_neighbours_and_others_keep_finite_exponents():
    doubled = np.concatenate([X, X[:6], X[:6]])
    r = LocalScaling(quantile=0.1).exponents(doubled)
    assert np.isfinite(r).all()
    i, j = np.triu_indices(len(doubled), 1)
    same = (doubled[i] == doubled[j]).all(axis=1)
    assert (r[same] == 0).all()
    assert (r[~same] > 0).all()


def test_piles_of_coinciding_samples_are_told_apart():
    """All positive distances lie between the piles, so only a bandwidth of their own can keep them apart."""
    piles = np.repeat([[0.0], [1.0]], 20, axis=0)
    s = unpack_pairs(np.exp(-LocalScaling().exponents(piles)), diagonal=1.0)
    assert s[0, 1] == s[30, 39] == 1
    assert s[0, 39] < 1e-4


@pytest.mark.parametrize(
    "wrong",
    [{"quantile": 0}, {"quantile": 1.0}, {"quantile": -0.5}, {"power": 0}, {"power": -1.0}, {"neighbour": 0}],
    ids=str,
)
def test_parameters_out_of_range(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name} == "):
        LocalScaling(**wrong)


def test_distances_that_are_given_have_no_features():
    with pytest.raises(
        ValueError, match=r'per_feature=True compares features, and metric="precomputed" has none'
    ):
        LocalScaling(per_feature=True, metric="precomputed")


def test_neighbour_may_be_a_numpy_integer():
    assert np.array_equal(
        LocalScaling(neighbour=np.int64(3)).exponents(X), LocalScaling(neighbour=3).exponents(X)
    )


@pytest.mark.parametrize("settings", [{}, {"power": 2.0, "neighbour": 4}, {"standardise": True}], ids=str)
def test_per_feature_is_the_mean_of_features_alone(settings):
    alone = [np.exp(-LocalScaling(**settings).exponents(X[:, [k]])) for k in range(3)]
    together = np.exp(-LocalScaling(per_feature=True, **settings).exponents(X))
    np.testing.assert_allclose(together, (alone[0] + alone[1] + alone[2]) / 3, rtol=1e-12)


def test_per_feature_needs_no_common_scale():
    kernel = LocalScaling(per_feature=True)
    np.testing.assert_allclose(kernel.exponents(X * [1, 1000, 1e-3]), kernel.exponents(X), rtol=1e-9)


def test_per_feature_bounds_what_one_wild_value_does():
    wild = X.copy()
    wild[0, 0] = 1e9
    before, after = (np.exp(-LocalScaling(per_feature=True).exponents(data)) for data in (X, wild))
    assert np.abs(after - before).max() <= 1 / 3
    assert not LocalScaling(per_feature=True).exponents(np.full((6, 2), 3.0)).any()


def test_tables_of_another_metric_are_read_one_by_one():
    kernel = LocalScaling(metric="cityblock")
    assert not kernel.sees_differences_alone
    assert LocalScaling().sees_differences_alone
    both = np.stack([X, X**3])
    assert np.array_equal(kernel.batch_exponents(both), [kernel.exponents(one) for one in both])


def test_square_exponents_of_tables_with_any_axes_before():
    data = np.random.default_rng(0).normal(size=(2, 3, 12, 2))
    for kernel in (LocalScaling(), LocalScaling(per_feature=True, standardise=True)):
        nested = kernel.square(data)
        assert nested.shape == (2, 3, 12, 12)
        packed = pack_pairs(nested.reshape(6, 12, 12))
        assert np.array_equal(packed, kernel.batch_exponents(data.reshape(6, 12, 2)))


# In compiled loops


def tables(n, p, b=1):
    rng = np.random.default_rng(0)
    return rng.normal(size=(b, n, p)) + 3 * rng.integers(2, size=(b, n, 1))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"quantile": 0.3, "power": 2.0},
        {"quantile": 0.3, "power": 1.5, "standardise": True},
        {"neighbour": 7},
        {"per_feature": True, "quantile": 0.3},
    ],
    ids=str,
)
@pytest.mark.parametrize(("n", "p"), [(30, 1), (30, 3), (30, 9), (2 * ROWS_AT_ONCE + 3, 6)])
def test_exponents_are_those_of_double_precision(settings, n, p):
    kernel, data = LocalScaling(**settings), to_single(tables(n, p, b=2))
    expected = kernel.batch_exponents(data.astype(np.float64))
    found = kernel.batch_exponents(data)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-6)
    out = np.empty(expected.shape, dtype=np.float32)
    assert kernel.batch_exponents(data, out) is out
    np.testing.assert_array_equal(out, found)


def test_a_constant_feature_compares_nothing():
    data = to_single(tables(20, 2))
    with_constant = np.concatenate([data, np.full((1, 20, 1), 0.5, np.float32)], axis=2)
    kernel = LocalScaling(per_feature=True)
    np.testing.assert_array_equal(kernel.batch_exponents(with_constant), kernel.batch_exponents(data))
    assert not kernel.batch_exponents(np.full((1, 5, 2), 0.5, np.float32)).any()
