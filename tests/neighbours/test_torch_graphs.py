"""Graphs on a device of torch are those of SciPy: edges, parts, slow modes, cuts."""

import numpy as np
import pytest

from latentsimplex import LatentSimplexPosition
from latentsimplex.base.threads import Workers
from latentsimplex.neighbours import nearest_neighbours, neighbour_graphs
from latentsimplex.neighbours.neighbour_graphs import (
    count_crossed_edges,
    find_neighbours,
    join_neighbours,
    leaving_share,
    slow_modes,
)

torch = pytest.importorskip("torch")

from latentsimplex.neighbours import torch_graphs  # noqa: E402
from latentsimplex.neighbours.torch_graphs import TorchGraph  # noqa: E402


@pytest.fixture(name="graphs", params=["one part", "two parts", "many parts", "absent"])
def _graphs(request, monkeypatch):
    """The graph of two views, as SciPy has it and on the device."""
    monkeypatch.setattr(neighbour_graphs, "COMPARED", 100)
    rng = np.random.default_rng(0)
    apart = {"one part": 0.0, "two parts": 50.0, "many parts": 50.0, "absent": 0.0}[request.param]
    groups = rng.integers(8 if request.param == "many parts" else 2, size=1_000)
    near = [
        neighbour_graphs.measure_neighbours(rng.normal(size=(1_000, 3)) + apart * groups[:, None], 8)[1]
        for _ in range(2)
    ]
    if request.param == "absent":
        near[1][:30] = -1
        near[1][:, -1] = -1
    return join_neighbours(near, 6), join_neighbours(near, 6, Workers(1, "cpu"))


def test_edges(graphs):
    here, there = graphs
    assert isinstance(there, TorchGraph)
    np.testing.assert_array_equal(there.toarray(), here.toarray())
    assert float(there.data.sum()) == here.data.sum()


def test_slow_modes(graphs):
    here, there = (slow_modes(graph, 3) for graph in graphs)
    np.testing.assert_allclose(there.rates, here.rates, rtol=1e-6, atol=1e-12)
    assert there.constant == pytest.approx(here.constant)
    if here.rates[0] > 1e-6 or len(here.rates) == 1:  # modes that never fade are any of their space
        np.testing.assert_allclose(abs(there.values[:, 0]), abs(here.values[:, 0]), atol=1e-4)


def test_parts(graphs):
    here, there = graphs
    for found, expected in zip(there.find_parts(), neighbour_graphs.find_parts(here), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_cuts(graphs):
    values = np.random.default_rng(1).normal(size=1_000).round(2)  # some are equal
    here, there = (count_crossed_edges(graph, values) for graph in graphs)
    for found, expected in zip(there, here, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_edges_that_leave_clusters(graphs):
    labels = np.random.default_rng(1).integers(3, size=1_000)
    here, there = (leaving_share(graph, labels) for graph in graphs)
    assert there == pytest.approx(here, rel=1e-12)


def test_a_graph_that_a_gpu_has_no_room_for_is_made_here(monkeypatch):
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 0)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 0)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1 << 20, 1 << 30))
    monkeypatch.setattr(neighbour_graphs, "COMPARED", 100)
    near = find_neighbours(np.random.default_rng(0).normal(size=(500, 2)), 10)
    assert not torch_graphs.has_room("cuda", near.size)
    assert not isinstance(join_neighbours([near], 10, Workers(1, "cuda")), TorchGraph)


def test_a_fit_by_landmarks_finds_the_same_on_a_device(monkeypatch):
    monkeypatch.setattr(neighbour_graphs, "COMPARED", 300)
    monkeypatch.setattr(nearest_neighbours, "COMPARED", 300)
    rng = np.random.default_rng(0)
    groups = rng.integers(3, size=1_200)
    views = [6 * rng.normal(size=(3, 4))[groups] + rng.normal(size=(1_200, 4)) for _ in range(2)]
    here, there = (
        LatentSimplexPosition(n_landmarks=400, random_state=0, device=device).fit(views)
        for device in ("cpu", "torch")
    )
    np.testing.assert_array_equal(there.labels_, here.labels_)
    np.testing.assert_array_equal(there.view_patterns_, here.view_patterns_)
    assert here.n_clusters_.tolist() == [3]
