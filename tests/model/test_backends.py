"""Which backend M steps run on."""

import sys

import pytest

from latentsimplex.base.condensed import count_pairs
from latentsimplex.base.threads import Workers
from latentsimplex.model import backends
from latentsimplex.model.backends import HOST_PAIRS, NumbaBackend, choose_backend

LARGEST_ON_HOST = 1024


def test_in_memory_m_steps_run_on_the_processor_and_need_no_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for n in (10, 10**5):
        found = choose_backend(None, n, workers := Workers(1))
        assert isinstance(found, NumbaBackend)
        assert (found.n, found.m, found.workers) == (n, count_pairs(n), workers)


def test_few_m_steps_have_no_compiled_descent():
    workers = Workers(1)
    assert choose_backend(None, 10, workers).descend is not None
    workers.without_loops = True
    assert choose_backend(None, 10, workers).descend is None


def test_few_samples_on_a_device_come_back_to_the_processor():
    assert count_pairs(LARGEST_ON_HOST) <= HOST_PAIRS < count_pairs(LARGEST_ON_HOST + 1)
    assert isinstance(choose_backend("cpu", LARGEST_ON_HOST, Workers(1)), NumbaBackend)


def test_many_samples_stay_on_their_device():
    torch = pytest.importorskip("torch")
    found = choose_backend("cpu", LARGEST_ON_HOST + 1, Workers(1))
    assert type(found).__name__ == "TorchBackend"
    assert found.kind.device == torch.device("cpu")
    assert found.descend is None
    assert not found.is_small


def test_the_number_of_pairs_decides(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(backends, "HOST_PAIRS", 0)
    assert type(choose_backend("cpu", 10, Workers(1))).__name__ == "TorchBackend"
    assert isinstance(choose_backend(None, 10, Workers(1)), NumbaBackend)
