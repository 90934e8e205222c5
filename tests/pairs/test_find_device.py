"""Which pair values a device has, and which device it is."""

import sys

import numpy as np
import pytest

from latentsimplex.base.threads import Workers
from latentsimplex.inputs.views import as_views
from latentsimplex.model.backends import choose_backend
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.pairs.in_memory import InMemoryPairs
from latentsimplex.pairs.on_device import DevicePairs, find_device, import_torch, make_pairs
from latentsimplex.similarity import LocalScaling
from problems import clustered_views

torch = pytest.importorskip("torch")


def test_torch_on_the_processor_is_a_device():
    assert find_device("torch") == "cpu"


@pytest.mark.parametrize("device", ["cuda", "cuda:1", "mps", "torch"])
def test_devices_need_torch(device, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        ImportError, match=r'need PyTorch, which is not installed: pip install "latentsimplex\[gpu\]"'
    ):
        find_device(device)


@pytest.mark.parametrize("device", ["cuda", "cuda:1", "mps"])
def test_a_device_that_is_not_there(device, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(
        ValueError, match=rf'device="{device}" needs .*this machine shows none: leave device="cpu"'
    ):
        find_device(device)


@pytest.mark.parametrize("device", ["cuda", "cuda:1", "mps"])
def test_a_device_that_is_there(device, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert find_device(device) == device


def test_torch_is_torch():
    assert import_torch() is torch


@pytest.mark.parametrize(("device", "kind"), [(None, InMemoryPairs), ("cpu", DevicePairs)])
@pytest.mark.parametrize("keep", ["whole", "bytes", "nowhere"])
def test_pair_values_of_a_device_are_made_with_all_that_was_asked_for(device, kind, keep):
    views, workers = as_views(clustered_views(np.random.default_rng(0), 12, 4)), Workers(1)
    backend = choose_backend(device, 12, workers)
    weights, members = np.array([1.0, 2.0, 3.0, 4.0]), np.array([3, 1])
    arguments = (views, LocalScaling(), DIVERGENCES["reverse"], workers, backend, keep)
    pairs = make_pairs(device, *arguments, weights, members)
    assert type(pairs) is kind
    assert (pairs.workers, pairs.backend, pairs.n_samples) == (workers, backend, 12)
    assert pairs.informative.tolist() == [3, 1]
    assert pairs.weights.tolist() == [4.0, 2.0]
    everything = make_pairs(device, *arguments)
    assert everything.informative.tolist() == [0, 1, 2, 3]
    assert everything.weights.tolist() == [1.0] * 4
    np.testing.assert_array_equal(np.asarray(pairs.values(0)), np.asarray(everything.values(3)))
