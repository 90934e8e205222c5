"""Arrays and tensors: one function for both, which gives tensors what it gives arrays."""

import numpy as np
import pytest

from latentsimplex.base import arrays

torch = pytest.importorskip("torch")


def tensor(x, dtype=None):
    return torch.as_tensor(np.asarray(x), dtype=dtype)


def assert_same(found, expected, rtol=1e-12, atol=1e-12):
    """The tensor holds what the array holds."""
    assert arrays.is_tensor(found)
    np.testing.assert_allclose(found.numpy(), expected, rtol=rtol, atol=atol)


def test_which_module_and_which_kind():
    assert arrays.array_namespace(torch.zeros(2)) is torch
    assert arrays.array_namespace(np.zeros(2)) is np
    assert arrays.is_tensor(torch.zeros(2))
    assert not arrays.is_tensor(np.zeros(2))
    assert not arrays.is_tensor([torch.zeros(2)])


def test_triton_is_for_single_precision_on_a_gpu():
    for x in (np.zeros(2, dtype=np.float32), torch.zeros(2), torch.zeros(2, dtype=torch.float64)):
        assert not arrays.runs_triton(x)


def test_triton_needs_a_compiler(monkeypatch):
    monkeypatch.setattr(arrays.shutil, "which", lambda name: None)
    arrays.triton_works.cache_clear()
    assert not arrays.triton_works()
    arrays.triton_works.cache_clear()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_converted_values_take_library_and_precision(dtype):
    values = arrays.convert_like(np.array([1.0, 2.5]), torch.zeros(3, dtype=dtype))
    assert values.dtype == dtype
    assert values.tolist() == [1.0, 2.5]
    back = arrays.convert_like(values, np.zeros(1, dtype=np.float32))
    assert isinstance(back, np.ndarray)
    assert back.dtype == np.float32
    assert back.tolist() == [1.0, 2.5]
    assert arrays.convert_like([1, 2], np.zeros(1, dtype=np.float32)).dtype == np.float32


def test_values_of_the_right_kind_are_not_copied():
    for x in (np.ones(3), torch.ones(3)):
        found = arrays.convert_like(x, x)
        found[0] = 7.0
        assert x[0] == 7.0


def test_what_comes_to_the_host_is_an_array_of_double_precision():
    for x in (torch.ones(2, dtype=torch.float32), np.ones(2, dtype=np.float32), torch.ones(2)):
        assert isinstance(arrays.to_host(x), np.ndarray)
        assert arrays.to_host(x).dtype == np.float64


def test_double_precision_of_either_kind():
    assert arrays.to_double(torch.ones(2)).dtype == torch.float64
    assert arrays.to_double(np.ones(2, dtype=np.float32)).dtype == np.float64


@pytest.mark.parametrize("name", ["softmax", "sigmoid", "diagonals"])
def test_functions_of_square_tables(name):
    x = 5 * np.random.default_rng(0).normal(size=(3, 6, 6))
    function = getattr(arrays, name)
    assert_same(function(tensor(x)), function(x))


def test_softmax_and_sigmoid_by_hand():
    x = np.array([[0.3, -1.0, 2.0]])
    np.testing.assert_allclose(arrays.softmax(x), np.exp(x) / np.exp(x).sum(), rtol=1e-14)
    np.testing.assert_allclose(arrays.sigmoid(x), 1 / (1 + np.exp(-x)), rtol=1e-14)
    assert x.tolist() == [[0.3, -1.0, 2.0]]


@pytest.mark.parametrize("k", range(6))
def test_numbers_by_rank(k):
    x = np.random.default_rng(k).integers(0, 4, size=(50, 6)).astype(float)  # many ties
    rows = np.sort(x, axis=-1)
    assert np.array_equal(arrays.kth_smallest(x, k), rows[:, k])
    assert_same(arrays.kth_smallest(tensor(x), k), rows[:, k])
    for own, found, rank in zip(
        arrays.kth_and_next_smallest(x, k),
        arrays.kth_and_next_smallest(tensor(x), k),
        (k, min(k + 1, 5)),
        strict=True,
    ):
        assert np.array_equal(own, rows[:, rank])
        assert_same(found, rows[:, rank])


def test_softmax_and_sigmoid_survive_large_numbers():
    x = np.array([[1e4, -1e4, 0.0], [-800.0, -800.0, -801.0]])
    for name in ("softmax", "sigmoid"):
        assert np.isfinite(getattr(arrays, name)(x)).all()
        assert_same(getattr(arrays, name)(tensor(x)), getattr(arrays, name)(x))


def test_diagonals_are_views():
    for x in (np.zeros((2, 3, 3)), torch.zeros(2, 3, 3)):
        arrays.diagonals(x)[:] = 4.0
        assert np.array_equal(np.asarray(x), np.tile(4.0 * np.eye(3), (2, 1, 1)))


def test_stacked_vectors():
    rows = [np.arange(3.0), np.ones(3)]
    assert arrays.stack(rows).tolist() == [[0, 1, 2], [1, 1, 1]]
    assert_same(arrays.stack([tensor(row) for row in rows]), arrays.stack(rows))
